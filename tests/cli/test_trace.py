"""`mlxcel-lab trace`: info, convert, generate, and what they say of what they can't read."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from mlxcel_lab.cli.trace import command
from mlxcel_lab.paths import data_dir
from mlxcel_lab.replay.readers import read_trace


def test_info_says_what_is_in_a_file_and_which_lines_were_not_read(tmp_path: Path) -> None:
    text = (data_dir() / "traces" / "mooncake.jsonl").read_text() + "{broken\n"
    (tmp_path / "m.jsonl").write_text(text)
    shown = CliRunner().invoke(command, ["info", str(tmp_path / "m.jsonl")])
    assert shown.exit_code == 0
    assert "requests         60" in shown.output
    assert "problems         1" in shown.output
    assert "line 61: not JSON" in shown.output
    assert "assumed: sessions inferred by prefix" in shown.output


def test_a_generated_trace_is_read_back(tmp_path: Path) -> None:
    made = CliRunner().invoke(
        command, ["generate", "agent+forks", str(tmp_path / "t.parquet"), "--requests", "40"]
    )
    assert made.exit_code == 0, made.output
    assert len(read_trace(tmp_path / "t.parquet")) == 40


def test_a_converted_trace_is_the_same_trace(tmp_path: Path) -> None:
    source = data_dir() / "traces" / "bailian.jsonl"
    assert CliRunner().invoke(command, ["convert", str(source), str(tmp_path / "b.parquet")]).exit_code == 0
    assert read_trace(tmp_path / "b.parquet").requests.equals(read_trace(source).requests)


def test_an_unknown_kind_or_format_is_a_usage_error(tmp_path: Path) -> None:
    kind = CliRunner().invoke(command, ["generate", "chat", str(tmp_path / "t.parquet")])
    format_ = CliRunner().invoke(
        command, ["info", str(data_dir() / "traces" / "README.md"), "--format", "vllm"]
    )
    for result, words in ((kind, "unknown kind 'chat'"), (format_, "unknown format 'vllm'")):
        assert result.exit_code == 2
        assert words in result.output
