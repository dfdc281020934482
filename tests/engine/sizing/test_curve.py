"""A curve is learnt exactly from few values, or refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.engine.sizing.curve import learn
from mlxcel_lab.engine.sizing.model import describe

_HORIZON = 1 << 17
_FIRST = st.integers(1, 60)
_UNIT = st.integers(1, 10**9)
_PROBES = st.lists(st.integers(0, 3 * _HORIZON), min_size=5, max_size=20)


def _learn_and_compare(value, first, probes):
    asked = []

    def ask(n):
        asked.append(n)
        return value(n)

    curve = learn(ask, first, _HORIZON)
    counts = [*range(first, first + 700), *(first + p for p in probes)]
    assert curve(counts).tolist() == [value(n) for n in counts]
    assert len(asked) < 300
    return curve


@given(fixed=_UNIT, first=_FIRST, probes=_PROBES)
def test_a_state_of_fixed_size_is_one_piece(fixed, first, probes):
    assert len(_learn_and_compare(lambda n: fixed, first, probes).pieces) == 1


@given(unit=_UNIT, step=st.sampled_from([16, 64, 256, 1000]), first=_FIRST, probes=_PROBES)
def test_steps_are_learnt_from_wherever_they_begin_and_go_on_for_ever(unit, step, first, probes):
    curve = _learn_and_compare(lambda n: -(-n // step) * step * unit, first, probes)
    assert (curve.period, curve.rise) == (step, step * unit)


@given(unit=_UNIT, cap=st.integers(400, 9000), ahead=st.sampled_from([0, 255]), first=_FIRST, probes=_PROBES)
def test_a_window_is_a_line_up_to_its_cap(unit, cap, ahead, first, probes):
    assert len(_learn_and_compare(lambda n: min(n + ahead, cap) * unit, first, probes).pieces) == 2


@given(unit=_UNIT, first=_FIRST, probes=_PROBES)
def test_a_line_needs_no_more_than_one_piece(unit, first, probes):
    assert len(_learn_and_compare(lambda n: unit * (n + 7), first, probes).pieces) == 1


@given(unit=_UNIT, window=st.integers(64, 512), block=st.sampled_from([512, 2048]), probes=_PROBES)
def test_a_sawtooth_is_found_to_repeat(unit, window, block, probes):
    def teeth(n):
        last = (n - 1) % block + 1
        return unit * (n if n <= block else window if last == 1 else window - 1 + last)

    assert _learn_and_compare(teeth, 1, probes).rise == 0


def test_a_function_without_such_a_rule_is_refused_rather_than_approximated():
    with pytest.raises(ValueError, match="no exact rule found"):
        learn(lambda n: n * n, 1, _HORIZON)


def test_a_length_before_the_first_is_refused():
    with pytest.raises(ValueError, match="begins at 5 tokens, not at 4"):
        learn(lambda n: n, 5, _HORIZON)([9, 4])


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda n: 5000, "5,000 B whatever the length"),
        (lambda n: -(-n // 256) * 2560, "2,560 B, growing by 2,560 B every 256 tokens (10 B a token)"),
        (lambda n: 12 * n, "12 B a token"),
        (lambda n: min(n, 1024) * 8, "8 B, growing by 8 B a token up to 8,192 B at 1,025 tokens"),
        (lambda n: min(-(-n // 256), 4) * 100, "100 B, growing in steps up to 400 B at 769 tokens"),
        (lambda n: (n - 1) % 64 + 1, "between 1 B and 64 B, every 64 tokens"),
    ],
)
def test_a_curve_says_in_words_what_grows_in_which_steps_up_to_where(value, words):
    assert describe(learn(value, 1, _HORIZON)) == words
