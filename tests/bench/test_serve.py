"""The server's benchmark, small: both sides do the same work, and only one of them reuses."""

from click.testing import CliRunner
from polars import read_parquet

from mlxcel_lab.bench.serve import command
from mlxcel_lab.engine import backend


def test_it_prints_its_conditions_both_sides_and_their_ratio(tmp_path):
    sizes = {"conversations": 2, "turns": 2, "clients": 2, "system-words": 40, "max-tokens": 2}
    arguments = [
        "dense",
        *(text for name, value in sizes.items() for text in (f"--{name}", str(value))),
        "--out",
    ]
    result = CliRunner().invoke(command, [*arguments, str(tmp_path)])
    assert result.exit_code == 0, result.output
    for shown in (
        "model:",
        "traffic:",
        "machine:",
        "versions:",
        "cold  2 and on",
        "warm  2 and on",
        "/ warm",
    ):
        assert shown in result.output
    assert (", OpenBLAS" in result.output) == backend.has_openblas
    frame = read_parquet(tmp_path / "results.parquet")
    sides = {side: rows for (side,), rows in frame.group_by("side")}
    assert sides["cold"]["prompt_tokens"].sort().to_list() == sides["warm"]["prompt_tokens"].sort().to_list()
    assert sides["cold"]["cached_tokens"].sum() == 0 < sides["warm"]["cached_tokens"].sum()
    assert (frame["first_token"] <= frame["total"]).all()
