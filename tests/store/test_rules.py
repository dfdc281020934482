"""The supersede rules side by side, on the same question."""

from __future__ import annotations

import pytest

from mlxcel_lab.store import Origin, SupersedeRule, make_rule, rule_names

from .making import A, snap

BOUNDARY, COMPLETION = snap([1, 2], origin=Origin.BOUNDARY), snap([1, 2, 3], origin=Origin.COMPLETION)


@pytest.mark.parametrize(("name", "same_origin", "other_origin"), [
    ("off", False, False), ("session", True, True), ("origin", True, False),
])  # fmt: skip
def test_each_rule_by_its_name(name: str, same_origin: bool, other_origin: bool) -> None:
    rule = make_rule(name)
    assert rule.name == name
    assert rule.supersedes(A, COMPLETION, COMPLETION) is same_origin
    assert rule.supersedes(A, COMPLETION, BOUNDARY) is other_origin
    assert rule.admits(A, COMPLETION)
    assert rule.explain(A)


def test_all_rules_have_names_and_words_of_their_own() -> None:
    assert {"off", "session", "origin"} <= {*rule_names()}
    assert [make_rule(name).name for name in rule_names()] == [*rule_names()]
    words = [make_rule(name).explain(A) for name in rule_names()]
    assert len(set(words)) == len(words)


def test_a_rule_object_is_handed_through_and_an_unknown_name_refused() -> None:
    own = SupersedeRule()
    assert make_rule(own) is own
    with pytest.raises(
        ValueError, match=r"unknown supersede rule 'both': expected one of off, session, origin"
    ):
        make_rule("both")
