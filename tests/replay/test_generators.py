"""Synthetic traffic: the same seed makes the same trace, and each kind keeps of a turn what it says."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mlxcel_lab.replay.conversations import KINDS, Lengths
from mlxcel_lab.replay.generators import ARRIVALS, generate
from mlxcel_lab.replay.resolved import linear_size, resolve
from mlxcel_lab.replay.simulation import Budget, simulate
from mlxcel_lab.replay.trace import common_ids

ENDLESS = Budget(2**60, 2**60, ttl_seconds=0, min_prefix_tokens=0)


def _hits(kind: str, donate: str) -> float:
    resolved = resolve(generate(kind, requests=200, sessions=5), linear_size(1, 0), donate=donate)
    return simulate(resolved, "off", ENDLESS).hits / len(resolved)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_the_same_seed_makes_the_same_trace(kind: str, arrivals: str) -> None:
    one, two, other = (generate(kind, requests=60, arrivals=arrivals, seed=seed) for seed in (3, 3, 4))
    assert one.requests.equals(two.requests)
    assert not one.requests.equals(other.requests)


def test_completions_serve_where_replies_are_kept_and_nowhere_else() -> None:
    assert _hits("append_only", "completion") > 0.9
    assert _hits("thinking", "completion") == 0
    assert _hits("thinking", "boundary") > 0.9
    assert 0.3 < _hits("agent", "completion") < _hits("agent", "both")
    assert _hits("volatile", "both") == 0


def test_a_shared_system_prompt_is_the_same_for_all() -> None:
    for shared, common in ((True, 1500), (False, 0)):
        trace = generate("append_only", requests=40, arrivals="round_robin", shared_system=shared)
        first, second = list(trace.rows())[:2]
        assert common_ids(first.prompt, second.prompt) == common


def test_agents_compact_and_call_subagents() -> None:
    trace = generate("agent", requests=400, sessions=3, lengths=Lengths(context=6000))
    assert trace.info()["kinds"]["subagent"] > 5
    lengths = trace.requests.filter(session="s0")["prompt_tokens"].to_list()
    assert any(later < earlier / 2 for earlier, later in pairwise(lengths))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "chat"}, "unknown kind 'chat'"),
        ({"kind": "forks", "arrivals": "poisson"}, "unknown arrivals 'poisson'"),
        ({"kind": "forks", "sessions": 0}, "0 sessions"),
        ({"kind": []}, "no kind"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        generate(**arguments)  # type: ignore[arg-type]
