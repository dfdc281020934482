"""The command line as a whole: help at once, one-line errors, the right exit status."""

import gzip
import json
import subprocess
import sys
from importlib import metadata

import pytest
from click.testing import CliRunner

from mlxcel_lab import cli as package
from mlxcel_lab.cli import bench, cli, main
from mlxcel_lab.config import SETTINGS


@pytest.fixture
def call(monkeypatch, capsys):
    """Call `mlxcel-lab` as the console script does: (exit status, stdout, stderr)."""

    def call(*args):
        monkeypatch.setattr(sys, "argv", ["mlxcel-lab", *args])
        with pytest.raises(SystemExit) as left:
            main()
        return (left.value.code, *capsys.readouterr())

    return call


@pytest.mark.parametrize("name", [*package._COMMANDS])
def test_every_command_loads_and_has_help(call, name):
    status, out, _ = call(name, "--help")
    assert status == 0
    assert "Usage:" in out


@pytest.mark.parametrize("name", [*bench._MEASUREMENTS])
def test_every_measurement_loads_and_has_help(call, name):
    status, out, _ = call("bench", name, "--help")
    assert status == 0
    assert "Usage:" in out


def test_help_lists_every_command_and_imports_none_of_them():
    code = (
        "import sys; from click.testing import CliRunner; from mlxcel_lab.cli import cli\n"
        "print(CliRunner().invoke(cli, ['--help']).output)\n"
        "assert not {'mlx', 'polars', 'papermill', 'mlxcel_lab.cli.run'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name, (_, line) in package._COMMANDS.items():
        assert name in done.stdout
        assert line.split()[0] in done.stdout


@pytest.mark.parametrize(
    ("args", "status", "told"),
    [
        (["nonsense"], 2, "No such command 'nonsense'"),
        (
            ["config", "--prompt-cache-snapshot-ttl", "-1"],
            2,
            "--prompt-cache-snapshot-ttl='-1': expected a finite number of seconds, 0 or more",
        ),
        (["config", "--prompt-cache-supersede", "newest"], 2, "expected one of off, session, origin"),
        (["config", "--capacity", "1"], 2, "No such option"),
        (["run", "nowhere"], 2, "no notebook 'nowhere'"),
        (["--port", "70000"], 2, "70000"),
        (["--port", "1234", "config"], 2, "are not for 'config'"),
        (["bench", "nonsense"], 2, "No such command 'nonsense'"),
    ],
)
def test_an_error_is_one_line_that_names_the_value(call, args, status, told):
    code, out, err = call(*args)
    assert code == status
    assert told in err
    assert err.startswith("mlxcel-lab: ")
    assert err.count("\n") == 1
    assert out == ""


TALK = json.dumps([{"role": "user", "content": "Why? " * 200}]).encode()
WHOLE = gzip.compress(TALK)
BROKEN = {
    "cut off": WHOLE[:-20],
    "no gzip behind its first bytes": b"\x1f\x8b" + TALK,
    "damaged": WHOLE[:20] + b"\xff" * 8 + WHOLE[28:],
    "wrong checksum": WHOLE[:-8] + b"\0" * 8,
    "no UTF-8": "Schöne Grüße".encode("latin-1"),
    "no JSON": b"{",
    "a number": b"7",
    "an empty object": b"{}",
    "empty": b"",
}
READERS = {
    "run {}": "x.ipynb",
    "run 01_dashboard -f {}": "x.yaml",
    "sweep 20_thrash --dry-run -f {}": "x.yaml",
    "misses {}": "x.jsonl",
    "trace info {}": "x.jsonl",
    "trace info {} ": "x.parquet",
    "size {}": "x.json",
    "bench turn {}": "x.json",
}


@pytest.mark.parametrize(
    ("line", "content"),
    [
        pytest.param(line, content, id=f"{line}: {what}")
        for line in READERS
        for what, content in BROKEN.items()
        # An empty object is a file that gives nothing, or a config whose missing fields are named.
        if not (content == b"{}" and ("-f" in line or line.startswith("size")))
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_that_names_it(call, tmp_path, line, content):
    name = READERS[line]
    file = tmp_path / name
    file.write_bytes(content)
    code, out, err = call(*(part.format(file) for part in line.split()))
    assert code in (1, 2)
    assert err.startswith("mlxcel-lab: ")
    assert str(file) in err
    assert err.count("\n") == 1
    assert out == ""


def test_config_has_every_flag_of_the_table_with_its_environment_and_default():
    shown = CliRunner().invoke(cli, ["config", "--help"]).output
    for setting in SETTINGS:
        if setting.flag:
            assert setting.flag in shown
            assert setting.environment in " ".join(shown.split())


def test_version_is_the_packages():
    from mlxcel_lab import __version__

    assert __version__ in CliRunner().invoke(cli, ["--version"]).output
    assert __version__ == metadata.version("mlxcel_lab")
