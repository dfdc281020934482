"""`mlxcel-lab config` shows what a server with these flags and this environment would run with."""

import json

from click.testing import CliRunner

from mlxcel_lab.cli.config import command

ENVIRONMENT = {"MLXCEL_PROMPT_CACHE_MIN_PREFIX": "9", "MLXCEL_PROMPT_CACHE_SNAPSHOT_TTL": "soon"}


def test_values_and_sources_are_shown_one_a_line():
    done = CliRunner().invoke(command, ["--no-prompt-cache"], env=ENVIRONMENT)
    rows = {line.split()[0]: line.split()[1:3] for line in done.stdout.splitlines()}
    assert rows["enabled"] == ["False", "flag"]
    assert rows["min_prefix_tokens"] == ["9", "environment"]
    assert rows["snapshot_ttl_seconds"] == ["7200", "default"]
    assert "warning: MLXCEL_PROMPT_CACHE_SNAPSHOT_TTL='soon': expected" in done.stderr


def test_json_has_values_sources_and_messages():
    flags = ["--json", "--prompt-cache-min-prefix", "0", "--prompt-cache-enabled"]
    shown = json.loads(CliRunner().invoke(command, flags, env=ENVIRONMENT).stdout)
    assert shown["values"]["min_prefix_tokens"] == 0
    assert shown["sources"]["enabled"] == "flag"
    assert [m["level"] for m in shown["messages"]] == ["info", "warning", "warning"]
