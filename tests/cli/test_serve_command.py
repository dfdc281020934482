"""`mlxcel-lab serve` as a process of its own: its start-up log, its stats, its end."""

import signal
import subprocess
import sys

import pytest

from mlxcel_lab.experiments import serving

COMMAND = [sys.executable, "-m", "mlxcel_lab.cli", "serve"]


def test_the_environment_alone_sets_the_budget_and_log_and_stats_show_it():
    """Pull request 1151's own check: 41943040 / 7 / 123 and no flags."""
    names = ("CAPACITY_BYTES", "MAX_ENTRIES", "TTL")
    values = (41943040, 7, 123)
    environment = {f"MLXCEL_PROMPT_CACHE_SNAPSHOT_{n}": str(v) for n, v in zip(names, values, strict=True)}
    log, stats = serving.startup("dense", environment)
    for field, value in zip(("capacity_bytes", "max_entries", "ttl_seconds"), values, strict=True):
        assert f"snapshot_{field}={value} (environment)" in log[0]
        assert stats[f"snapshot_{field}"] == value


def test_a_flag_beats_the_environment_and_says_so_and_a_bad_value_there_is_warned_of():
    environment = {
        "MLXCEL_PROMPT_CACHE_SNAPSHOT_MAX_ENTRIES": "7",
        "MLXCEL_PROMPT_CACHE_SNAPSHOT_TTL": "soon",
    }
    log, stats = serving.startup("dense", environment, "--prompt-cache-snapshot-max-entries", "9")
    text = "\n".join(log)
    assert "beats MLXCEL_PROMPT_CACHE_SNAPSHOT_MAX_ENTRIES (7)" in text
    assert "WARNING" in text
    assert "MLXCEL_PROMPT_CACHE_SNAPSHOT_TTL='soon'" in text
    assert (stats["snapshot_max_entries"], stats["snapshot_ttl_seconds"]) == (9, 7200)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["dense", "--port", "99999"], 2, "--port"),
        (["dense", "--prompt-cache-snapshot-ttl", "soon"], 2, "'soon'"),
        (["dense", "--api-key", ""], 1, "API key is empty"),
        (["nobody"], 1, "unknown model 'nobody'"),
        (["dense", "--threads", "4"], 2, "--threads"),
    ],
    ids=["port", "flag", "key", "model", "unknown"],
)
def test_a_bad_call_is_one_line_that_names_the_value(arguments, status, says):
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True)
    assert done.returncode == status
    assert says in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(how):
    process = subprocess.Popen([*COMMAND, "dense", "--port", "0"], stderr=subprocess.PIPE, text=True)
    seen = []
    for line in process.stderr:
        seen.append(line)
        if "listening on" in line:
            break
    process.send_signal(how)
    rest = process.communicate()[1]
    assert "Traceback" not in "".join(seen) + rest
    assert rest.count("mlxcel-lab: stopped") == (
        how == signal.SIGINT
    )  # SIGTERM ends it as the signal that it is
    assert process.returncode in (0, -signal.SIGTERM)
