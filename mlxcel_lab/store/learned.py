"""The learned rule: what a conversation's snapshots were good for decides which are kept, and what the budget costs.

Neither of the fixed rules is right in general. Where the next prompt goes on from the reply, a boundary beside the
completion is a second snapshot for nothing; where the template drops the reasoning, the completion is. With memory to
spare everything may stay. `survival` counts, `policy` decides, and this class names vectors by digests of their tokens.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .policy import Choice, Learning, Pressure, Room
from .rules import SupersedeRule
from .survival import NOTHING, Held, Mark
from .types import CacheKey, Hit, Origin, Outcome, Snapshot, TokenVector

_ROOMS = {
    Room.ALL: "nothing is superseded, since the budget costs nothing",
    Room.RUNGS: "the newest of each origin and older boundaries at doubling lengths stay",
    Room.NEWEST: "the newest snapshot of each origin stays",
    Room.LEAF: "only the newest {leaf} stays",
}


class Learned(SupersedeRule):
    """Learns by bucket and conversation; what it does of its own accord can be switched off by `learning`.

    It is behind a fixed rule before it has seen some dozens of requests, and by a few points where prompts often fall
    back to older boundaries while memory is short: where one habit and a tight budget are certain, name the rule.

    It costs a digest of the tokens a lookup and an insert, and remembers digests, never tokens. Session None is left
    alone: whose prompt goes on from whose reply is unknown there.
    """

    name = "learned"

    def __init__(self, learning: Learning | None = None) -> None:
        self.learning = learning or Learning()
        self._survival = self.learning.survival()
        self._pressure = Pressure(self.learning)
        self._newcomer: Snapshot | None = None
        self._last_rung = 0

    def admits(self, key: CacheKey, newcomer: Snapshot) -> bool:
        return newcomer.origin is not Origin.COMPLETION or not self.choice(key).declines

    def supersedes(self, key: CacheKey, newcomer: Snapshot, ancestor: Snapshot) -> bool:
        room = self.choice(key).room
        if room is Room.LEAF:
            return True
        if room is Room.ALL or newcomer.origin != ancestor.origin:
            return False
        return room is Room.NEWEST or not self._stays_as_rung(newcomer, ancestor)

    def _stays_as_rung(self, newcomer: Snapshot, ancestor: Snapshot) -> bool:
        # The store asks about a newcomer's ancestors shortest first: the last rung kept is all there is to remember.
        if newcomer is not self._newcomer:
            self._newcomer, self._last_rung = newcomer, 0
        stays = newcomer.origin is Origin.BOUNDARY and ancestor.num_tokens >= 2 * self._last_rung
        if stays:
            self._last_rung = ancestor.num_tokens
        return stays

    def saw_lookup(self, key: CacheKey, tokens: TokenVector, outcome: Outcome) -> None:
        if key.session is None:
            return
        cached = outcome.cached_tokens if isinstance(outcome, Hit) else 0
        held = self._held(key, tokens)
        finding = self.learning.judge(
            len(tokens), *self._survival.saw_request(key.bucket, key, len(tokens), held)
        )
        self._pressure.saw_request(key.bucket, key, finding, cached)

    def saw_insert(self, key: CacheKey, newcomer: Snapshot) -> None:
        self._newcomer = None
        if key.session is None:
            return
        mark = Mark(
            newcomer.num_tokens, _digests(newcomer.tokens, [newcomer.num_tokens])[newcomer.num_tokens]
        )
        held = self._held(key, newcomer.tokens)
        number = self._survival.saw_offer(key, mark, newcomer.origin, held)
        self._pressure.saw_offer(key, number)

    def choice(self, key: CacheKey) -> Choice:
        """What the rule does with this conversation's snapshots now."""
        return self._pressure.choice(key) if key.session is not None else Choice(Room.ALL)

    def evidence(self, key: CacheKey) -> dict[str, Any]:
        """What the rule has seen for this key, as plain values: tokens that each kind of snapshot would have served."""
        seen = self._survival.seen(key.bucket, self._survival.trail(key).tally)
        pressure = self._pressure
        return {
            "requests": round(seen.requests, 1),
            "asked_tokens": round(seen.asked),
            "completion_tokens": round(seen.completion),
            "boundary_tokens": round(seen.boundary),
            "either_tokens": round(seen.either),
            "older_boundary_tokens": round(seen.rung),
            "lost_to_budget_share": pressure.lost / pressure.asked if pressure.asked else 0.0,
            "requests_since_loss": None
            if pressure.last_loss is None
            else pressure.requests - pressure.last_loss,
        }

    def explain(self, key: CacheKey) -> str:
        seen, choice = self.evidence(key), self.choice(key)
        if key.session is None:
            return "without a session nothing is learned and nothing is superseded"
        share = {name: seen[f"{name}_tokens"] / max(1, seen["asked_tokens"]) for name in _SHARES}
        told = ", ".join(f"{words} {share[name]:.0%}" for name, words in _SHARES.items())
        does = _ROOMS[choice.room].format(leaf=choice.leaf.value)
        declined = "; completions are not stored" if choice.declines else ""
        return (
            f"of about {seen['requests']:.0f} requests' tokens would have been served by {told}; "
            f"the budget costs {seen['lost_to_budget_share']:.1%}: {does}{declined}"
        )

    def _held(self, key: CacheKey, tokens: TokenVector) -> Held:
        lengths = [m.num_tokens for m in self._survival.trail(key).marks() if m.num_tokens < len(tokens)]
        names = _digests(tokens, lengths)
        return lambda mark: mark is not NOTHING and names.get(mark.num_tokens) == mark.name


_SHARES = {
    "completion": "the last completion",
    "boundary": "the last boundary",
    "older_boundary": "older boundaries where neither did",
}


def _digests(tokens: TokenVector, lengths: list[int]) -> dict[int, bytes]:
    """Digests of a vector's prefixes of those lengths (ascending), in one pass."""
    digest, at, names = hashlib.blake2b(digest_size=16), 0, {}
    raw = np.ascontiguousarray(tokens, dtype=np.int32)
    for length in lengths:
        digest.update(raw[at:length].data)
        at, names[length] = length, digest.digest()
    return names
