"""The engine: a model, a store, and conversations answered from both."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..config import AUTO, PromptCacheConfig
from ..store import SnapshotStore, as_tokens
from ..store.types import Bucket, CacheKey, InsertResult, TokenVector
from .chat import template_signature, warmup_target
from .dry import DryModel
from .encoding import Encoder
from .forward import PREFILL_STEP
from .messages import Message, Messages, Tools
from .models import LabModel
from .reply import Sampling
from .request import Request
from .running import Running
from .stream import Emit, Stream
from .turn import Turn
from .warmup import WarmUps, WarmUpStats
from .worker import mlx_thread


class Engine:
    """A model that answers conversations, reusing what a snapshot store holds of them.

    `store`: one to share; without it the engine makes its own from `config`, whose capacity may be `auto`: it is
    resolved here, logged and noted in the journal. `prefill_step` bounds the tokens of one forward call. `trim` keeps
    of keys and values what the tokens need, not all that is allocated. `clock` gives seconds for the turns' timings.
    Warm-ups (where the configuration has them on) run by themselves while nothing else does with `background`, and
    otherwise when `warm_up_idle` is called. `reply_message` makes of a reply's text and the tools the message that the
    client will send back; without it, the text alone is it.
    """

    def __init__(
        self,
        model: LabModel | DryModel,
        store: SnapshotStore | None = None,
        config: PromptCacheConfig | None = None,
        *,
        prefill_step: int = PREFILL_STEP,
        trim: bool = False,
        clock: Callable[[], float] = time.perf_counter,
        background: bool = False,
        reply_message: Callable[[str, Tools | None], Message] | None = None,
    ) -> None:
        if store is not None and config is not None:
            raise ValueError("give either a store or a config: a store has its own")
        if prefill_step < 1:
            raise ValueError(f"prefill_step={prefill_step!r}: expected a whole number, 1 or more")
        self.model = model
        self.store = _own_store(config, model, trim) if store is None else store
        self._running = Running(model, self.store, prefill_step, clock, trim, Encoder(model.tokenizer))
        self._reply_message = reply_message
        self._warm_ups = WarmUps(self._running.extend, self.store, background=background)

    def chat(
        self,
        messages: Messages,
        session: str | None = None,
        max_tokens: int | None = None,
        *,
        on_token: Callable[[str], None] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        cancel: threading.Event | None = None,
        **options: Any,
    ) -> Turn:
        """Answers a conversation and donates what it computed. See `stream` for the options.

        `on_token(text)` and `on_progress(done, total)` run in the caller's thread; an error in one, or an interrupt,
        cancels the turn. `cancel` ends it at the next step, with finish_reason "cancelled".

        A turn that is cancelled or fails donates and replaces nothing. Its lookup stands as any other's does: counted,
        journalled, and with a hit the snapshot's own (its hits and its recency), whatever became of the turn.
        """
        stream = self.stream(messages, session, max_tokens, on_progress=on_progress, cancel=cancel, **options)
        try:
            for piece in stream:
                if on_token is not None:
                    on_token(piece)
        except BaseException:
            stream.close()
            raise
        return stream.turn

    def stream(
        self,
        messages: Messages,
        session: str | None = None,
        max_tokens: int | None = None,
        *,
        tools: Tools | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        reply: str | Sequence[int] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Stream:
        """As `chat`, as an iterator over the reply's text; its `turn` is the Turn.

        `max_tokens` bounds the reply (None: 64, or all of a given reply). `reply` is a scripted reply: a text, to which
        the end of the turn is added, or exact token ids; the model runs over it. `stop`: texts that end the reply.

        What can't be answered raises a ValueError or TypeError before anything is counted. A RuntimeError on the MLX
        thread itself, where waiting for the turn would never end.
        """
        if mlx_thread().is_current:
            raise RuntimeError(
                "a turn can't be asked for on the MLX thread, which would wait for itself: ask elsewhere"
            )
        request = Request(
            messages=tuple(messages),  # callers append to theirs while the turn and its warm-up still need it
            session=session,
            max_tokens=max_tokens,
            tools=tools,
            template_kwargs=dict(template_kwargs or {}),
            sampling=Sampling(temperature, top_p, seed),
            stop=(stop,) if isinstance(stop, str) else tuple(stop),
            reply=reply,
        )
        self._running.check(request)
        key = self.key(session, tools, template_kwargs)
        self._warm_ups.turn_comes(key)
        return Stream(
            lambda emit, cancelled: mlx_thread().submit(
                lambda: self._turn(request, key, emit, cancelled), cancelled
            ),
            cancel,
            on_progress,
        )

    def warm_up_idle(self) -> WarmUpStats:
        """Run the warm-ups that wait, or wait for those that run in the background; what became of all so far."""
        return self._warm_ups.run_waiting()

    def extend(
        self, key: CacheKey, tokens: TokenVector, cancel: threading.Event | None = None
    ) -> InsertResult | None:
        """Forwards `tokens` from the longest stored snapshot that is a prefix of them, and donates a boundary snapshot.

        No lookup is counted. None where nothing stored is such a prefix, or where `cancel` came in between.
        """
        vector = as_tokens(tokens)
        self._running.check_ids("tokens", vector)
        return mlx_thread().run(lambda: self._running.extend(key, vector, cancel or threading.Event()))

    def key(
        self,
        session: str | None = None,
        tools: Tools | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> CacheKey:
        """The store's key of a conversation with this model, template, tools and template arguments."""
        signature = template_signature(self.model.tokenizer, tools, **(template_kwargs or {}))
        return CacheKey(Bucket(model_id=self.model.model_id, template_sig=str(signature)), session)

    def close(self) -> None:
        """Gives up the states that the store holds."""
        self.store.clear()

    def _turn(self, request: Request, key: CacheKey, emit: Emit, cancel: threading.Event) -> Turn:
        turn = self._running.turn(request, key, emit, cancel)
        if self.store.config.enabled and self.store.config.warmup and turn.finish_reason != "cancelled":
            self._warm_ups.ask(key, lambda: self._next_beginning(request, turn.text))
        return turn

    def _next_beginning(self, request: Request, text: str) -> TokenVector:
        tokenizer, kwargs = self.model.tokenizer, request.template_kwargs
        said = text if self._reply_message is None else self._reply_message(text, request.tools)
        encoder = self._running.encoder
        return warmup_target(tokenizer, request.messages, said, request.tools, encoder=encoder, **kwargs)

    def __repr__(self) -> str:
        return f"Engine({self.model.name!r}, {self.store!r})"


def _own_store(config: PromptCacheConfig | None, model: LabModel | DryModel, trim: bool) -> SnapshotStore:
    if config is None or config.snapshot_capacity_bytes != AUTO:
        return SnapshotStore(config)
    from .sizing.auto import auto_capacity, with_capacity

    capacity = auto_capacity(model, trimmed=trim)
    store = SnapshotStore(with_capacity(config, capacity))
    store.note("capacity", capacity.to_dict())
    return store
