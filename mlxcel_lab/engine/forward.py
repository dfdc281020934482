"""A forward pass in the making: a cache, and the exact tokens that were forwarded into it.

`LivePass` runs a model; `DryPass` only grows the shapes of its cache. Both are driven the way mlx-lm generates: all of
the prompt but its last token in chunks, then one token a call. What a snapshot claims is read off here, so it can't
claim a token that was sampled but never forwarded, nor miss one that was (`generate_step` runs one step ahead).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from .backend import mx

# isort: split
from mlx_lm.generate import generate_step, generation_stream, wired_limit
from mlx_lm.models.cache import make_prompt_cache

from ..store.types import Origin, Snapshot, TokenVector
from .geometry import Geometry
from .state import CapturedState, capture, measure
from .truncation import ever

PREFILL_STEP = 2048  # tokens a forward call, as in mlx-lm
Sampler = Callable[[Any], Any]


def chunk_ends(start: int, end: int, split: int | None = None, step: int = PREFILL_STEP) -> Iterator[int]:
    """Where each chunk of a prefill from `start` to `end` ends: after `step` tokens, at `split`, and at `end`."""
    while start < end:
        stop = min(start + step, end)
        start = split if split is not None and start < split < stop else stop
        yield start


class ForwardPass(Protocol):
    """What a turn needs of a model: forward a chunk, decode, and say what is held."""

    def forward(self, tokens: TokenVector) -> None:
        """Forwards these tokens and waits until their state is there."""

    def decode(self, tail: TokenVector, max_tokens: int, choose: Chooser) -> Iterator[int]:
        """Forwards the prompt's tail, then yields tokens one by one, each of them forwarded when it is yielded."""

    @property
    def size_bytes(self) -> int:
        """What a snapshot would hold now."""

    @property
    def ever_truncates(self) -> bool:
        """Whether a state of this model can be cut to fewer tokens at all."""

    def snapshot(self, origin: Origin, *, with_state: bool = True) -> Snapshot:
        """A detached snapshot of what was forwarded up to now; without its state, size and tokens alone."""


class Chooser(Protocol):
    """Which token comes next: `sampler` for a model's logits, `script` where the reply is given."""

    @property
    def sampler(self) -> Sampler: ...

    @property
    def script(self) -> Sequence[int] | None: ...


class _Pass:
    """What both share: the cache, the tokens in it, and snapshots of them."""

    dry: bool

    def __init__(self, cache: list[Any], tokens: TokenVector, trim: bool) -> None:
        self.cache = cache
        self._trim = trim
        self._forwarded: list[Any] = [tokens]

    @property
    def size_bytes(self) -> int:
        return measure(self.cache, trim=self._trim)

    @property
    def ever_truncates(self) -> bool:
        return all(ever(layer) for layer in self.cache)

    def snapshot(self, origin: Origin, *, with_state: bool = True) -> Snapshot:
        tokens = np.concatenate([np.asarray(part, dtype=np.int32) for part in self._forwarded])
        self._forwarded = [tokens]
        if not with_state:
            return Snapshot(tokens, self.size_bytes, origin)
        state = capture(self.cache, len(tokens), dry=self.dry, trim=self._trim)
        return Snapshot(tokens, state.nbytes, origin, state)


class LivePass(_Pass):
    """Runs a real model, starting from a restored state or from nothing. Lives on the MLX thread."""

    dry = False

    def __init__(self, model: Any, start: CapturedState | None, tokens: TokenVector, *, trim: bool) -> None:
        super().__init__(
            make_prompt_cache(model) if start is None else start.restore(len(tokens)), tokens, trim
        )
        self._model = model

    def __call__(self, tokens: Any, cache: Any, **options: Any) -> Any:
        """The model as `generate_step` sees it: every call is noted."""
        self._forwarded.append(tokens[0])
        return self._model(tokens, cache=cache, **options)

    def forward(self, tokens: TokenVector) -> None:
        with mx.stream(generation_stream):
            self(mx.array(tokens)[None], cache=self.cache)
            mx.eval([layer.state for layer in self.cache])
        mx.clear_cache()

    def decode(self, tail: TokenVector, max_tokens: int, choose: Chooser) -> Iterator[int]:
        model: Any = self  # generate_step asks no more of a model than to be called
        streams: Any = [generation_stream]
        with wired_limit(self._model, streams):
            steps: Any = generate_step(
                mx.array(tail), model, max_tokens=max_tokens, sampler=choose.sampler, prompt_cache=self.cache
            )
            for token, _ in steps:
                yield token


class DryPass(_Pass):
    """Grows the shapes of a cache, exactly as the model's class would, and computes nothing."""

    dry = True

    def __init__(
        self, geometry: Geometry, start: CapturedState | None, tokens: TokenVector, *, trim: bool
    ) -> None:
        super().__init__(geometry.new_cache() if start is None else start.restore(len(tokens)), tokens, trim)
        self._geometry = geometry

    def forward(self, tokens: TokenVector) -> None:
        self._geometry.advance(self.cache, len(tokens))
        self._forwarded.append(tokens)

    def decode(self, tail: TokenVector, max_tokens: int, choose: Chooser) -> Iterator[int]:
        assert choose.script is not None  # refused when asked for
        self.forward(tail)
        for token in choose.script[:max_tokens]:
            self.forward(np.array([token], dtype=np.int32))
            yield token
