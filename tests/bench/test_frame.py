"""The measurement of frames: its traffic is what it says, and its table has a row a length."""

import polars as pl
import pytest
from click.testing import CliRunner

from mlxcel_lab.bench import frame, frame_page
from mlxcel_lab.bench.frame_traffic import RESIDENT, SNAPSHOT_BYTES, events
from mlxcel_lab.cli.bench import command
from mlxcel_lab.view.frames import FrameModel


def test_its_traffic_is_a_journal_with_every_common_kind_under_its_budget():
    made = events(3000)
    assert [event.seq for event in made] == list(range(3001))
    model = FrameModel()
    model.feed(made)
    counts = model.counts_at(len(model))
    assert min(counts[kind] for kind in ("hit", "no_candidate", "inserted", "superseded", "evicted")) > 50
    assert (
        model.events["total"].max() == (RESIDENT + 1) * SNAPSHOT_BYTES
    )  # between an insert and its eviction


def test_the_table_has_a_row_for_each_length(tmp_path, monkeypatch):
    drawn = {name: [1.0] for name in ("load", "redraw", "cursor")}
    monkeypatch.setattr(frame, "measure_page", lambda state, folder, rounds: drawn)
    out = tmp_path / "deep" / "frame.parquet"
    result = CliRunner().invoke(
        command, ["frame", "--events", "50,20000", "--rounds", "1", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    table = pl.read_parquet(out)
    assert table["events"].to_list() == [50, 20_000]
    assert (table["events/s in"] > 0).all()
    assert table["kB sent"][1] < 1000


def test_without_a_browser_it_says_what_it_did_not_measure(monkeypatch):
    monkeypatch.setattr(frame_page.shutil, "which", lambda name: None)
    result = CliRunner().invoke(command, ["frame", "--events", "10", "--rounds", "1"])
    assert "redraws weren't measured" in result.output


@pytest.mark.parametrize("text", ["many", "0", "", "10,-1"])
def test_a_bad_length_is_a_usage_error(text):
    result = CliRunner().invoke(command, ["frame", "--events", text])
    assert result.exit_code == 2
    assert "expected whole numbers" in result.output
