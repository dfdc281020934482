"""`mlxcel-lab size`: the table, the budget, JSON for programs, and errors that say what to do."""

import json

import pytest
from click.testing import CliRunner

from mlxcel_lab.cli.size import command
from mlxcel_lab.engine.sizing import find_config, snapshot_bytes


def _size(*arguments):
    return CliRunner().invoke(command, [*map(str, arguments)])


def _json(*arguments):
    result = _size(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_the_table_has_a_row_for_each_length_and_says_how_each_kind_grows():
    result = _size("qwen3.5-0.8b", "--tokens", "72,1k")
    assert result.exit_code == 0, result.output
    assert "22,683,648" in result.output
    assert "3,145,728 B, growing by 3,145,728 B every 256 tokens (12,288 B a token)" in result.output
    assert "recurrent    18,874,368 B whatever the length" in result.output


def test_json_holds_the_sizes_of_the_breakdown():
    told = _json("gemma-3-4b", "--tokens", "1320", "--allocator", "mlxcel")
    assert told["sizes"][0]["allocated"] == 188_253_128
    assert told["budget"] is None


def test_exact_calls_are_answered_layer_by_layer():
    told = _json("gemma-4-31b-it", "--calls", "94+45x1", "--allocator", "mlxcel")
    assert told["sizes"][0]["allocated"] == 307_693_200
    assert [row["layers"] for row in told["layers"][:3]] == ["0-4", "5", "6-10"]


def test_a_budget_is_recommended_for_conversations():
    result = _size("dense", "--tokens", "1k", "--conversations", 3, "--turns", 2, "--free", 10**12)
    assert result.exit_code == 0, result.output
    told = _json("dense", "--tokens", "1k", "--conversations", 3, "--turns", 2, "--free", 10**12)["budget"]
    assert (
        told["capacity_bytes"] == told["wanted_bytes"] == 3 * sum(s["size_bytes"] for s in told["snapshots"])
    )
    assert f"--prompt-cache-snapshot-capacity-bytes {told['capacity_bytes']}" in result.output
    assert told["advice"] in result.output
    assert "mlxcel's model-aware default:" in result.output


def test_memory_that_holds_no_snapshot_recommends_no_flag():
    result = _size("dense", "--conversations", 3, "--free", 0)
    assert "No snapshot can be kept." in result.output
    assert "--prompt-cache-snapshot-capacity-bytes" not in result.output


def test_a_config_file_is_sized_and_what_was_filled_is_said(tmp_path):
    config = {k: v for k, v in find_config("smollm2-135m").items() if k != "rms_norm_eps"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    lacking = _size(tmp_path)
    assert lacking.exit_code == 2
    assert "lacks rms_norm_eps: add --fill to give them neutral values" in lacking.output
    filled = _size(tmp_path, "--fill")
    assert f"{snapshot_bytes(config, '999+1', fill=True).allocated:,}" in filled.output
    assert "filled with neutral values, which don't matter for the size: rms_norm_eps=1e-05" in filled.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonesuch"], "no config for 'nonesuch'"),
        (["dense", "--tokens", "1k,many"], "'1k,many': expected whole numbers"),
        (["dense", "--tokens", "0"], "'0': expected whole numbers (8k for 8000), 1 or more"),
        (["dense", "--allocator", "vllm"], "unknown allocator 'vllm'"),
        (["dense", "--dtype", "int4"], "unknown dtype 'int4'"),
        (["dense", "--conversations", "0"], "0 is not in the range"),
    ],
)
def test_a_bad_argument_is_a_usage_error_that_names_it(arguments, message):
    result = _size(*arguments)
    assert result.exit_code == 2
    assert message in result.output
