"""Refusing a parameter's value: in one sentence that names it and says what was expected."""

import pytest

from mlxcel_lab.experiments.values import one_of, within


def test_what_is_expected_passes():
    one_of("rule", "off", ("off", "origin"))
    one_of("mode", "", ["", "plain"])
    within("turns", 1, 1)
    within("turns", 4, 1, 4)


@pytest.mark.parametrize(
    ("refused", "sentence"),
    [
        (
            lambda: one_of("rule", "none", ("off", "origin")),
            "rule is 'none': expected one of 'off', 'origin'",
        ),
        (lambda: within("turns", 0, 1), "turns is 0: expected 1 or more"),
        (lambda: within("turns", 5, 1, 4), "turns is 5: expected 1 to 4"),
    ],
)
def test_anything_else_is_refused(refused, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        refused()
