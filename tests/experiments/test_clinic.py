"""The clinic: every cause is shown by a conversation, and each conversation shows the cause it is there for."""

import pytest

from mlxcel_lab.experiments.clinic import clinic
from mlxcel_lab.explain import Cause
from mlxcel_lab.view.misses import TokenStrip

CASES = list(clinic())


def test_every_cause_but_unknown_has_a_case():
    assert {case.cause for case in CASES} == set(Cause) - {Cause.UNKNOWN}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.cause.value)
def test_each_case_shows_its_cause_and_tells_its_story(case):
    assert case.told.cause is case.cause
    assert case.story.endswith(".")
    assert case.told.advice in repr(TokenStrip(case.told))
