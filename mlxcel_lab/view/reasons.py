"""Why the selected turn got no more: explanations for a run whose messages are known, or for a journal alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..explain import Asked, Explanation, explain, what_ended
from ..store import Journal
from ..store.events import Inserted, LookedUp
from ..store.types import Diverged, NoCandidate, Outcome, TokenVector
from .cache_run import CacheRun


class Reasons:
    """Explanations of one journal's lookups, each worked out once. With `run` they know messages and tokenizer."""

    def __init__(self, journal: Journal, run: CacheRun | None = None) -> None:
        self._journal, self._run = journal, run
        self._known: dict[int, Explanation | None] = {}
        self._asked: list[Asked] = []

    def of(self, looked: LookedUp) -> Explanation | None:
        """None where there is nothing to explain: all was served that could be, or no tokens were kept."""
        if looked.seq not in self._known:
            found = self._by_messages(looked)
            self._known[looked.seq] = self._by_tokens(looked) if found is _UNKNOWN else found
        return self._known[looked.seq]

    def _by_messages(self, looked: LookedUp) -> Any:
        """From the turn that made the lookup; _UNKNOWN where there is none (it was cancelled, or isn't ours)."""
        turns = self._run.turns if self._run else []
        for index, (turn, _) in enumerate(turns):
            if turn.events and turn.events[0].seq <= looked.seq <= turn.events[-1].seq:
                asked = self._asked_until(index)
                return what_ended(
                    turn.outcome, asked[index], tokenizer=self._tokenizer, earlier=asked[:index],
                    journal=self._journal, seq=looked.seq,
                )  # fmt: skip
        return _UNKNOWN

    def _asked_until(self, index: int) -> list[Asked]:
        assert self._run is not None
        for turn, messages in self._run.turns[len(self._asked) : index + 1]:
            key = self._run.engine.key(turn.session)
            asked = Asked.rendered(self._tokenizer, key, messages)
            self._asked.append(asked.answered(turn.completion, turn.text))
        return self._asked[: index + 1]

    def _by_tokens(self, looked: LookedUp) -> Explanation | None:
        if looked.outcome == "hit" or looked.tokens is None:
            return None
        events = self._before(looked)
        outcome = _outcome(looked, events)
        if outcome is None:
            return None
        asked = Asked(looked.key, looked.tokens)
        return explain(outcome, asked, tokenizer=_IdsAsText(), journal=self._journal, seq=looked.seq)

    def _before(self, looked: LookedUp) -> list[Any]:
        return self._journal.since(-1)[: looked.seq + 1 - self._journal.first_seq]

    @property
    def _tokenizer(self) -> Any:
        assert self._run is not None
        return self._run.engine.model.tokenizer


class _IdsAsText:
    """Stands in for a tokenizer where a journal is all there is: a token's text is its number."""

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(str(i) for i in ids) + " "


_UNKNOWN = object()


def _outcome(looked: LookedUp, events: Sequence[Any]) -> Outcome | None:
    """The miss as the store answered it; None where the stored tokens weren't kept."""
    if looked.ghost is not None and getattr(looked.ghost, "tokens", None) is None:
        return None
    if looked.outcome == "no_candidate":
        return NoCandidate(looked.ghost)
    stored = _stored(looked.snapshot_id, events)
    if stored is None or looked.snapshot_id is None:
        return None
    return Diverged(looked.common_prefix_len, looked.stored_len, looked.snapshot_id, stored, looked.ghost)


def _stored(snapshot_id: int | None, events: Sequence[Any]) -> TokenVector | None:
    for event in reversed(events):
        if isinstance(event, Inserted) and event.snapshot_id == snapshot_id:
            return event.tokens
    return None
