"""`bench turn`: conversations of exact length, ratios that mean what they say, and a run on a lab model."""

import json
from dataclasses import replace

import polars as pl
import pytest
from click.testing import CliRunner

from mlxcel_lab.bench.turn import command
from mlxcel_lab.bench.turn_measure import Effort, Measured, Talker, measure
from mlxcel_lab.bench.turn_report import results
from mlxcel_lab.engine.chat import render
from mlxcel_lab.engine.models import load_lab_tokenizer
from mlxcel_lab.paths import data_dir

MEASURED = Measured(
    history_tokens=1000, new_tokens=50, cold=2.0, restored=0.22, new_alone=0.19, going_on=0.2, snapshot_bytes=10**9,
    copy_out=0.02, copy_in=0.02, plain_copy=0.01, turn=4.0, donating=0.04, identical=True,
)  # fmt: skip


@pytest.mark.parametrize("tokens", [40, 41, 200])
def test_a_conversation_has_exactly_the_tokens_asked_for(tokens):
    tokenizer = load_lab_tokenizer()
    assert len(render(tokenizer, Talker(tokenizer).user([], tokens))) == tokens


def test_a_follow_up_adds_exactly_the_new_tokens():
    tokenizer = load_lab_tokenizer()
    first = Talker(tokenizer).user([], 60)
    assert len(render(tokenizer, Talker(tokenizer).user(first, 30, start=60))) == 90


def test_the_limit_is_the_new_tokens_alone_and_one_copy():
    assert MEASURED.limit == pytest.approx(0.2)
    assert MEASURED.over_limit == pytest.approx(1.1)
    assert MEASURED.over_going_on == pytest.approx(0.22 / 0.21)
    assert MEASURED.donating_share == pytest.approx(0.04 / 3.96)


@pytest.mark.parametrize(
    ("change", "column"), [({"restored": 0.24}, "within_limit"), ({"donating": 0.09}, "donating_met")]
)
def test_targets_are_judged_on_both_sides_of_their_bound(change, column):
    frame = results("m", [MEASURED, replace(MEASURED, **change)])
    assert frame[column].to_list() == [True, False]


def test_copies_are_told_in_gigabytes_a_second():
    (row,) = results("m", [MEASURED]).iter_rows(named=True)
    assert (row["out_gbs"], row["in_gbs"], row["plain_gbs"]) == pytest.approx((50, 50, 100))


def test_a_run_on_a_lab_model_prints_and_writes_what_it_measured(tmp_path):
    options = ["--history", "40", "--new", "20", "--repeats", "1", "--reply", "4", "--out", str(tmp_path)]
    done = CliRunner().invoke(command, ["gated-delta", *options], catch_exceptions=False)
    frame = pl.read_parquet(tmp_path / "gated-delta.parquet")
    assert frame["identical"].to_list() == [True]
    assert frame["new"].to_list() == [20]
    assert "1 of 1 bit-identical" in done.output
    assert str(tmp_path) in done.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "history"),
    [("chunked", 40), ("dense", 2100), ("falcon-h1", 40), ("mamba2", 40), ("sliding-window", 40)],
)
def test_restored_logits_are_bit_identical_on_every_lab_model(name, history):
    from mlxcel_lab.bench.turn_model import model_to_measure

    # The long history is prefilled in more than one chunk.
    effort = Effort((history,), (20,), repeats=1, reply=4)
    (measured,) = measure(model_to_measure(name, "float32"), effort)
    assert measured.identical
    assert measured.snapshot_bytes > 0


def test_a_config_runs_at_its_own_widths_with_seeded_weights(tmp_path):
    config = json.loads((data_dir() / "models" / "dense" / "config.json").read_text())
    path = tmp_path / "wide.json"
    path.write_text(json.dumps({**config, "hidden_size": 128}))
    options = ["--dtype", "bfloat16", "--history", "40", "--new", "20", "--repeats", "1", "--reply", "4"]
    CliRunner().invoke(command, [str(path), *options, "--out", str(tmp_path)], catch_exceptions=False)
    (row,) = pl.read_parquet(tmp_path / "wide.parquet").iter_rows(named=True)
    assert row["identical"]


@pytest.mark.parametrize("value", ["0", "a", "", "10,-1"])
def test_lengths_that_are_none_are_a_usage_error(value):
    done = CliRunner().invoke(command, ["gated-delta", "--history", value])
    assert done.exit_code == 2
    assert "expected whole numbers" in done.output
