"""A reply while it is made: which token comes next, the text so far, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from .backend import mx

# isort: split
from mlx_lm.sample_utils import make_sampler
from mlx_lm.tokenizer_utils import NaiveStreamingDetokenizer

from .forward import Sampler


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. Temperature 0 is greedy; `seed` makes other draws repeat."""

    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        if not _is(Real, self.temperature) or not 0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature={self.temperature!r}: expected a finite number, 0 or more")
        if not _is(Real, self.top_p) or not 0 < self.top_p <= 1:
            raise ValueError(f"top_p={self.top_p!r}: expected a number above 0, at most 1")
        if self.seed is not None and not (_is(Integral, self.seed) and 0 <= self.seed < 1 << 64):
            raise ValueError(f"seed={self.seed!r}: expected a whole number from 0 to 2**64 - 1, or None")


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


class Drawn:
    """The model's own choice, drawn by mlx-lm's sampler."""

    script = None

    def __init__(self, sampling: Sampling) -> None:
        if sampling.seed is not None:
            mx.random.seed(int(sampling.seed))
        # mlx-lm takes 0 as "no top-p"; 1 would sort the vocabulary for nothing.
        top_p = 0.0 if sampling.top_p == 1 else sampling.top_p
        self.sampler: Sampler = make_sampler(temp=sampling.temperature, top_p=top_p)


class Scripted:
    """A given reply, forced through the sampler hook: the model runs, and its logits are ignored."""

    def __init__(self, script: Sequence[int]) -> None:
        self.script = script
        self._next = 0

    def sampler(self, logprobs: Any) -> Any:
        # generate_step asks one step ahead: past the end it gets the last token again, which is never forwarded.
        token = self.script[min(self._next, len(self.script) - 1)]
        self._next += 1
        return mx.array([token])


class Reply:
    """Collects the tokens of a reply: text as it grows, without the stop token or a stop string.

    `finish_reason` is None while it goes on, then "stop" or "length".
    """

    def __init__(self, tokenizer: Any, max_tokens: int, stop: Sequence[str]) -> None:
        self.tokens: list[int] = []
        self.text = ""
        self.finish_reason: str | None = None
        # Not the tokenizer's own detokenizer: mlx-lm's for byte-level BPE drops a reply's first space, and the reply
        # would re-tokenise to other tokens than those that were forwarded.
        self._detokenizer = NaiveStreamingDetokenizer(tokenizer)
        self._stop_tokens = tokenizer.eos_token_ids
        self.max_tokens = max_tokens
        self._stop = stop
        self._hold = max((len(one) - 1 for one in stop), default=0)

    def add(self, token: int) -> str:
        """Takes the next token; the text that is certain now and wasn't before."""
        self.tokens.append(token)
        if token in self._stop_tokens:
            return self._end("stop")
        self._detokenizer.add_token(token)
        text = self._detokenizer.text
        if (at := self._stopped_at(text)) is not None:
            return self._grow(text[:at], "stop")
        if len(self.tokens) == self.max_tokens:
            return self._end("length")
        # A stop string may have begun in what is held back, which is all of it while the text is shorter than that.
        return self._grow(text[: max(len(text) - self._hold, 0)])

    def cut_off(self) -> str:
        """Ends a reply that was cancelled; the text that was held back."""
        return "" if self.finish_reason else self._end("cancelled")

    def _end(self, reason: str) -> str:
        self._detokenizer.finalize()  # may bring text that was held back: the rest of a character, a last space
        text = self._detokenizer.text
        return self._grow(text[: self._stopped_at(text)], reason)

    def _grow(self, text: str, reason: str | None = None) -> str:
        more, self.text = text[len(self.text) :], max(text, self.text, key=len)
        self.finish_reason = reason
        return more

    def _stopped_at(self, text: str) -> int | None:
        return min((at for one in self._stop if (at := text.find(one)) >= 0), default=None)
