"""`mlxcel-lab bench replay` prints its conditions, our side and the peer's."""

from __future__ import annotations

from click.testing import CliRunner

from mlxcel_lab.bench.replay import command
from mlxcel_lab.paths import data_dir


def test_the_bench_prints_times_rates_and_the_peer() -> None:
    trace = str(data_dir() / "traces" / "forks.parquet")
    shown = CliRunner().invoke(
        command, [trace, "--budgets", "6", "--rules", "origin,learned", "--workers", "1"]
    )
    assert shown.exit_code == 0, shown.output
    for words in (
        "reading:",
        "resolving:",
        "12 simulations of 150 requests",
        "learned",
        "shipped default, 10 entries",
    ):
        assert words in shown.output
