"""A turn as it runs on the MLX thread: look up, restore, prefill, decode, donate.

Donations wait until the turn has ended, so a turn that is cancelled or fails leaves the store's snapshots as they were.
That it looked something up stays: in the journal and in the counters, and what it found has been used then. Taking that
back would part the store from its journal, from which every view and replay tells the recency.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..store import SnapshotStore, as_tokens
from ..store.search import CanTruncate
from ..store.types import CacheKey, Hit, InsertResult, Origin, Outcome, Snapshot, TokenVector
from .chat import history_boundary, render
from .donations import Donations
from .dry import DryModel
from .encoding import Encoder
from .forward import Chooser, DryPass, ForwardPass, LivePass, chunk_ends
from .models import LabModel
from .reply import Drawn, Reply, Scripted
from .request import DEFAULT_MAX_TOKENS, Request
from .state import CapturedState
from .stream import Emit
from .turn import Turn
from .words import reason

_NO_TOKENS = as_tokens([])


@dataclass(frozen=True)
class _Asked:
    """A request, rendered and looked up. `boundary`: where the history ends in the prompt."""

    request: Request
    script: list[int] | None
    prompt: TokenVector
    outcome: Outcome
    boundary: int | None

    @property
    def cached(self) -> int:
        return self.outcome.cached_tokens if isinstance(self.outcome, Hit) else 0


@dataclass(frozen=True)
class Running:
    """A model and a store, and the turns that bring them together. One turn at a time, on the MLX thread."""

    model: LabModel | DryModel
    store: SnapshotStore
    prefill_step: int
    clock: Callable[[], float]
    trim: bool
    encoder: Encoder

    def check(self, request: Request) -> None:
        """Refuses what this model can't answer, before anything is counted."""
        if request.reply is None and isinstance(self.model, DryModel):
            raise ValueError("a dry engine computes nothing: give it the reply (reply=…)")
        if request.reply is not None and not isinstance(request.reply, str):
            self.check_ids("reply", request.reply)

    def check_ids(self, what: str, tokens: Sequence[int] | TokenVector) -> None:
        """Refuses token ids that the model has no embedding for, by the first of them."""
        vector, size = as_tokens(tokens), _vocabulary(self.model)
        outside = vector[(vector < 0) | (vector >= size)]
        if len(outside):
            raise ValueError(f"{what}: token {outside[0]} is outside of the vocabulary of {size} tokens")

    def turn(self, request: Request, key: CacheKey, emit: Emit, cancel: threading.Event) -> Turn:
        """Answers a request. `emit` gets text and progress; `cancel` is looked at before every forward call."""
        started, first_seq = self.clock(), self.store.journal.next_seq
        asked = self._ask(request, key)
        forward = self._begin(asked)
        emit((asked.cached, len(asked.prompt)))
        donations = Donations(self.store, self.clock)
        for done in self._prefill(forward, asked.prompt[:-1], asked.cached, asked.boundary, cancel):
            emit((done, len(asked.prompt)))
            if done == asked.boundary:
                donations.take(forward, done, Origin.BOUNDARY)
        reply, first_token_at = self._answer(forward, asked, emit, cancel)
        if reply.finish_reason != "cancelled":
            donations.take(forward, len(asked.prompt) + len(reply.tokens), Origin.COMPLETION)
            donations.give(key)
        ended = self.clock()
        turn = Turn(
            session=request.session,
            prompt_tokens=len(asked.prompt),
            cached_tokens=asked.cached,
            completion_tokens=len(reply.tokens),
            prompt=asked.prompt,
            completion=as_tokens(reply.tokens),
            text=reply.text,
            outcome=asked.outcome,
            reason=reason(asked.outcome, len(asked.prompt)),
            events=tuple(self.store.journal.since(first_seq - 1)),
            seconds_to_first_token=(ended if first_token_at is None else first_token_at) - started,
            seconds=ended - started,
            seconds_donating=donations.seconds,
            finish_reason=str(reply.finish_reason),
            boundary_tokens=asked.boundary,
            key=key,
            request=request,
        )
        self.store.note("turn", turn.figures(request.messages[-1]), key)
        return turn

    def extend(self, key: CacheKey, tokens: TokenVector, cancel: threading.Event) -> InsertResult | None:
        """See `Engine.extend`."""
        entry = self.store.longest_prefix(key, tokens)
        if entry is None or not isinstance(entry.snapshot.state, CapturedState):
            return None
        start = entry.snapshot.num_tokens
        forward = self._pass(entry.snapshot.state, tokens[:start])
        for _ in self._prefill(forward, tokens, start, None, cancel):
            pass
        if cancel.is_set():
            return None
        donations = Donations(self.store, self.clock)
        donations.take(forward, len(tokens), Origin.BOUNDARY)
        (result,) = donations.give(key)
        return result

    @cached_property
    def _can_truncate(self) -> CanTruncate | None:
        """None where no state of this model can ever be cut: the store needn't ask of one snapshot after the other."""
        return _allowed if self._pass(None, _NO_TOKENS).ever_truncates else None

    def _ask(self, request: Request, key: CacheKey) -> _Asked:
        tokenizer = self.model.tokenizer
        script = request.script(tokenizer)
        kwargs = request.template_kwargs
        # What the template refuses raises here, before anything is counted.
        prompt = render(tokenizer, request.messages, request.tools, encoder=self.encoder, **kwargs)
        outcome = self.store.lookup(key, prompt, self._can_truncate, reserve=1)
        return _Asked(request, script, prompt, outcome, self._boundary(request, prompt))

    def _boundary(self, request: Request, prompt: TokenVector) -> int | None:
        if not (self.store.config.enabled and self.store.config.boundary):
            return None
        return history_boundary(
            self.model.tokenizer,
            request.messages,
            request.tools,
            prompt=prompt,
            min_prefix_tokens=self.store.config.min_prefix_tokens,
            encoder=self.encoder,
            **request.template_kwargs,
        )

    def _begin(self, asked: _Asked) -> ForwardPass:
        if not isinstance(asked.outcome, Hit):
            return self._pass(None, _NO_TOKENS)
        state = asked.outcome.snapshot.state
        if not isinstance(state, CapturedState):
            raise ValueError(
                f"snapshot {asked.outcome.snapshot_id} holds {state!r}, not a captured state: an engine's store can't "
                "also hold snapshots made by hand under its keys"
            )
        return self._pass(state, asked.prompt[: asked.cached])

    def _pass(self, state: CapturedState | None, tokens: TokenVector) -> ForwardPass:
        if isinstance(self.model, DryModel):
            return DryPass(self.model.geometry, state, tokens, trim=self.trim)
        return LivePass(self.model.model, state, tokens, trim=self.trim)

    def _prefill(
        self,
        forward: ForwardPass,
        tokens: TokenVector,
        start: int,
        split: int | None,
        cancel: threading.Event,
    ) -> Iterator[int]:
        """Forwards tokens[start:] in chunks that also end at `split`; yields how many tokens are in, after each."""
        for end in chunk_ends(start, len(tokens), split, self.prefill_step):
            if cancel.is_set():
                break
            forward.forward(tokens[start:end])
            start = end
            yield end

    def _answer(
        self, forward: ForwardPass, asked: _Asked, emit: Emit, cancel: threading.Event
    ) -> tuple[Reply, float | None]:
        """The reply, and when its first token was there."""
        request, script, first_token_at = asked.request, asked.script, None
        usual = DEFAULT_MAX_TOKENS if script is None else len(script)
        reply = Reply(self.model.tokenizer, request.max_tokens or usual, request.stop)
        if not cancel.is_set():
            choose: Chooser = Drawn(request.sampling) if script is None else Scripted(script)
            for token in forward.decode(asked.prompt[-1:], reply.max_tokens, choose):
                first_token_at = self.clock() if first_token_at is None else first_token_at
                emit(reply.add(token))
                if reply.finish_reason or cancel.is_set():
                    break
        emit(reply.cut_off())
        return reply, first_token_at


def _allowed(snapshot: Snapshot, num_tokens: int) -> bool:
    return isinstance(snapshot.state, CapturedState) and snapshot.state.can_truncate(num_tokens)


def _vocabulary(model: LabModel | DryModel) -> int:
    """How many token ids there are: a model may have more rows than its tokenizer has tokens."""
    told = (model.config.get("text_config") or model.config).get("vocab_size") or 0
    return max(int(told), len(model.tokenizer))
