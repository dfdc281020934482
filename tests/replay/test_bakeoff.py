"""The bake-off's tables, the advice drawn from curves, and their pictures."""

from __future__ import annotations

import polars as pl
import pytest

from mlxcel_lab.replay.advice import GIB, advise, next_gib
from mlxcel_lab.replay.bakeoff import bake_off, published_setting, standings, verdicts
from mlxcel_lab.replay.capacity import curves
from mlxcel_lab.replay.costs import CostModel
from mlxcel_lab.replay.generators import generate
from mlxcel_lab.replay.peers import beside_mlx_lm
from mlxcel_lab.replay.resolved import linear_size
from mlxcel_lab.view import replay_charts

SIZE = linear_size(5_000_000, 1_000)
RULES = ("off", "session", "origin", "learned")


@pytest.fixture(scope="module")
def fought() -> pl.DataFrame:
    traces = {kind: generate(kind, requests=250, sessions=8, seed=77) for kind in ("append_only", "thinking")}
    return bake_off(traces, SIZE, RULES, steps=3)


def test_every_rule_meets_every_trace_at_every_budget(fought: pl.DataFrame) -> None:
    assert fought.height == 2 * 4 * len(RULES)
    assert sorted(fought["step"].unique()) == [0, 1, 2, 3]


def test_the_learned_rule_is_near_the_better_fixed_rule_on_traffic_of_either_habit(
    fought: pl.DataFrame,
) -> None:
    table = verdicts(fought)
    assert table["ahead"].min() > -0.03
    assert table.filter(trace="thinking", step=0)["verdict"].item() == "win"


def test_standings_count_each_trace_and_budget_once(fought: pl.DataFrame) -> None:
    table = standings(fought)
    assert table["against"].to_list() == ["off", "session", "origin"]
    assert (table["win"] + table["tie"] + table["loss"]).to_list() == [8, 8, 8]


def test_a_rule_is_behind_the_rule_that_beats_it(fought: pl.DataFrame) -> None:
    table = verdicts(fought, "session", ["origin"]).filter(trace="thinking", step=2)
    assert table["verdict"].item() == "loss"
    assert table["ahead"].item() == pytest.approx(table["session"].item() - table["best"].item())


def test_in_the_published_setting_each_fixed_rule_has_traffic_that_it_is_wrong_for() -> None:
    extends, drops = published_setting(requests=400, seed=5).iter_rows(named=True)
    assert extends["session"] > extends["origin"]
    assert drops["session"] < drops["origin"]
    assert min(extends["learned"] - extends["origin"], drops["learned"] - drops["origin"]) > 0


@pytest.fixture(scope="module")
def curve() -> pl.DataFrame:
    trace = generate("append_only", requests=200, sessions=8, seed=3)
    return curves(
        trace, SIZE, [GIB // 16, GIB // 4, GIB], RULES, costs=CostModel.of_throughput(1000), workers=1
    )


def test_the_advice_is_the_least_memory_that_comes_close_to_the_best(curve: pl.DataFrame) -> None:
    advice = advise(curve, within=0.01)
    best = curve["token_hit_rate"].max()
    smaller = curve.filter(pl.col("capacity_bytes") < advice.capacity_bytes)
    assert advice.token_hit_rate >= best - 0.01
    assert smaller.is_empty() or smaller["token_hit_rate"].max() < best - 0.01
    assert f"rule '{advice.rule}'" in advice.reason
    assert advice.flags.startswith(f"--prompt-cache-supersede {advice.rule} ")


def test_advice_keeps_to_the_memory_there_is(curve: pl.DataFrame) -> None:
    assert advise(curve, at_most=GIB // 16).capacity_bytes == GIB // 16
    with pytest.raises(
        ValueError, match="smallest simulated budget is 67,108,864 bytes: expected one of at most 1"
    ):
        advise(curve, at_most=1)
    with pytest.raises(ValueError, match="none of the rules lru, fifo was simulated"):
        advise(curve, rules=("lru", "fifo"))


def test_the_next_gib_is_read_off_between_the_budgets_and_buys_nothing_beyond_them(
    curve: pl.DataFrame,
) -> None:
    quarter = next_gib(curve, GIB // 4, GIB * 3 // 4)
    off = curve.filter(rule="off").sort("capacity_bytes")["tokens_saved"].to_list()
    row = quarter.filter(rule="off").row(0, named=True)
    assert row["tokens_bought"] == off[2] - off[1]
    assert row["seconds_bought"] == pytest.approx(row["tokens_bought"] / 1000)
    assert next_gib(curve, GIB)["tokens_bought"].to_list() == [0] * len(RULES)


def test_mlx_lms_cache_stands_beside_ours_on_the_same_bytes() -> None:
    table = beside_mlx_lm({"chat": generate("append_only", requests=80)}, SIZE, ["origin"])
    assert table["rule"].to_list() == ["origin", "mlx-lm, same bytes", "mlx-lm, default"]
    assert table["token_hit_rate"].is_between(0, 1).all()


def test_pictures_are_drawn_of_every_table(fought: pl.DataFrame, curve: pl.DataFrame) -> None:
    beside = fought.filter(step=1)
    for chart in (
        replay_charts.ahead(verdicts(fought)),
        replay_charts.capacity(curve, current=GIB),
        replay_charts.side_by_side(beside),
        replay_charts.over_time(
            pl.DataFrame({"time": [0.0, 1.0], "rule": ["a", "a"], "token_hit_rate": [0.1, 0.2]})
        ),
    ):
        assert chart.to_dict()["config"]["background"] == "transparent"
