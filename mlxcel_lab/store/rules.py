"""Supersede rules side by side: which older snapshots of a conversation a newer one replaces.

The store offers a rule only what may be superseded at all: resident snapshots of the same bucket and the same session
(never of session None) whose tokens are strict prefixes of the newcomer's, shortest first.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..config import SUPERSEDE_RULES
from .types import CacheKey, Outcome, Snapshot, TokenVector


class SupersedeRule:
    """Base of all rules: supersedes nothing, admits everything, learns nothing."""

    name = "off"

    def admits(self, key: CacheKey, newcomer: Snapshot) -> bool:
        """Whether the newcomer is worth storing; a refusal is counted as rejected(`rule`)."""
        return True

    def supersedes(self, key: CacheKey, newcomer: Snapshot, ancestor: Snapshot) -> bool:
        """Whether `newcomer` replaces `ancestor`, one of its strict prefixes in the same conversation."""
        return False

    def saw_lookup(self, key: CacheKey, tokens: TokenVector, outcome: Outcome) -> None:
        """Called after each lookup, so that a rule can learn."""

    def saw_insert(self, key: CacheKey, newcomer: Snapshot) -> None:
        """Called for each snapshot offered, admitted or not, so that a rule can learn."""

    def explain(self, key: CacheKey) -> str:
        """What the rule does for this key and why, in words."""
        return "every snapshot stays until the budget or its age removes it"


class Off(SupersedeRule):
    """Never: a conversation's snapshots pile up until the budget evicts them."""


class PerSession(SupersedeRule):
    """mlxcel pull request 1151's own text: a longer snapshot replaces every strict prefix of its conversation."""

    name = "session"

    def supersedes(self, key: CacheKey, newcomer: Snapshot, ancestor: Snapshot) -> bool:
        return True

    def explain(self, key: CacheKey) -> str:
        return "a conversation's newer snapshot replaces all of its strict prefixes"


class PerOrigin(SupersedeRule):
    """As `session`, but only among snapshots of the same origin, so that a completion can't delete a boundary."""

    name = "origin"

    def supersedes(self, key: CacheKey, newcomer: Snapshot, ancestor: Snapshot) -> bool:
        return newcomer.origin == ancestor.origin

    def explain(self, key: CacheKey) -> str:
        return "a conversation's newer snapshot replaces its strict prefixes of the same origin"


_RULES: dict[str, type[SupersedeRule]] = {rule.name: rule for rule in (Off, PerSession, PerOrigin)}
_LEARNED = "learned"  # in a module of its own, which builds on this one


def rule_names() -> tuple[str, ...]:
    return SUPERSEDE_RULES


def make_rule(name: str | SupersedeRule) -> SupersedeRule:
    """The rule of that name; a rule object is handed through, so that one's own fits in."""
    if isinstance(name, SupersedeRule):
        return name
    if name == _LEARNED:
        from .learned import Learned

        return Learned()
    if name not in _RULES:
        raise ValueError(f"unknown supersede rule {name!r}: expected one of {', '.join(rule_names())}")
    return _RULES[name]()


__all__: Sequence[str] = ("Off", "PerOrigin", "PerSession", "SupersedeRule", "make_rule", "rule_names")
