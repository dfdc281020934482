"""Sweeps on a real Dask scheduler with two real worker processes, one of which dies in the middle."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from nbformat.sign import NotebookNotary

from mlxcel_lab.runs import cluster
from mlxcel_lab.runs.cluster import check_workers, problem_here, run_on_worker
from mlxcel_lab.runs.results import NOTEBOOK, RECORD, open_results
from mlxcel_lab.runs.spec import Experiment
from mlxcel_lab.runs.sweeps import sweep

distributed = pytest.importorskip("distributed")

# Each run leaves two lines: that it has begun, and that it came to its end. Between them run 0 tells its worker's
# process and its kernel's through one pipe, and waits at another one for the word to go on.
LOGGED = """
import os, mlxcel_lab
log = open(folder + f"/{size}.log", "a")
print("begun", file=log, flush=True)
if size == 0:
    with open(folder + "/who", "w") as who:
        print(os.getppid(), os.getpid(), file=who)
    open(folder + "/go").read()
print("ended", file=log, flush=True)
mlxcel_lab.hand_over({"doubled": size * 2})
"""


@contextmanager
def _process(*args, cwd):
    process = subprocess.Popen([sys.executable, "-m", "distributed.cli." + args[0], *args[1:]], cwd=cwd)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def dask(tmp_path):
    """A scheduler on loopback: its address, and a function that starts a worker there."""
    file = tmp_path / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    with (
        _process("dask_scheduler", *options, cwd=tmp_path),
        distributed.Client(scheduler_file=str(file), timeout=60) as client,  # waits for the file
    ):
        yield client


@contextmanager
def _workers(client, tmp_path, count=2):
    address = client.scheduler.address
    options = [address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path)]
    with _all_of([_process("dask_worker", *options, cwd=tmp_path) for _ in range(count)]) as started:
        client.wait_for_workers(count, timeout=60)
        yield started


@contextmanager
def _all_of(contexts):
    started = [context.__enter__() for context in contexts]
    try:
        yield started
    finally:
        for context in contexts:
            context.__exit__(None, None, None)


def _logged(folder, size):
    with suppress(FileNotFoundError):
        return (folder / f"{size}.log").read_text().splitlines()
    return []


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_costs_no_run_and_makes_none_twice(dask, tmp_path, make_notebook):
    logs, runs = tmp_path / "logs", tmp_path / "runs"
    logs.mkdir()
    who, go = logs / "who", logs / "go"
    os.mkfifo(who)
    os.mkfifo(go)
    notebook = make_notebook(LOGGED, parameters="size: int = 0\nfolder: str = ''\n")
    with _workers(dask, tmp_path) as workers:
        killed = []

        def kill_the_holder():
            """Kill the worker that holds run 0, once it has begun; let run 0 end at its next try only."""
            pid, kernel = map(int, who.read_text().split())
            killed.append(next(worker for worker in workers if worker.pid == pid))
            orphan = psutil.Process(kernel)
            os.kill(pid, signal.SIGKILL)
            orphan.wait(60)
            assert who.read_text() != f"{pid} {kernel}\n"  # its next try
            go.write_text("go")

        killer = threading.Thread(target=kill_the_holder, daemon=True)
        killer.start()
        result = sweep(
            notebook,
            {"size": range(4)},
            defaults={"folder": str(logs)},
            runs=runs,
            scheduler=dask.scheduler.address,
        )
        killer.join()
        assert killed[0].wait() == -signal.SIGKILL
    assert result.failed == ()
    frame = result.frame().select("size", "doubled").sort("size").collect()
    assert frame.rows() == [(size, 2 * size) for size in range(4)]
    # The run that its worker took along began twice and came to its end once; what else that worker had done stays.
    assert _logged(logs, 0) == ["begun", "begun", "ended"]
    assert all(_logged(logs, size) == ["begun", "ended"] for size in range(1, 4))
    _assert_signed(runs)
    assert sweep(notebook, {"size": range(4)}, defaults={"folder": str(logs)}, runs=runs).skipped == 4


def _assert_signed(runs):
    for path in runs.rglob(NOTEBOOK):
        with NotebookNotary() as notary:
            assert notary.check_signature(nbformat.read(path, as_version=4))


def test_a_run_whose_worker_never_comes_back_is_a_kept_failure(tiny, tmp_path):
    class Lost:
        def cancelled(self):
            return False

        def exception(self):
            return RuntimeError("killed four times")

    results = open_results(tmp_path / "runs")
    spec = Experiment.load(tiny).spec({})
    record = cluster._record(Lost(), spec, results)
    assert record.error == "RuntimeError: killed four times"
    notebook = nbformat.reads(results.read(spec.folder, NOTEBOOK).decode(), as_version=4)
    assert [o.evalue for c in notebook.cells for o in c.get("outputs", [])] == ["killed four times"]


def test_what_an_earlier_try_has_written_is_not_run_again(tiny, tmp_path, monkeypatch):
    spec, root = Experiment.load(tiny).spec({}), str(tmp_path / "runs")
    tries = []

    def once(spec, results, sign):
        tries.append(spec)
        record = cluster.give_up(spec, results, RuntimeError("x"))
        done = type(record)(**{**_fields(record), "status": "done", "error": None})
        results.put(spec.folder, {RECORD: done.to_json()})
        return done

    monkeypatch.setattr(cluster, "execute", once)
    assert run_on_worker(spec, root) == run_on_worker(spec, root)
    assert len(tries) == 1


def _fields(record):
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def test_another_package_an_input_that_differs_and_a_folder_not_shared_are_named(tiny, tmp_path):
    trace = tmp_path / "trace.jsonl"
    trace.write_text("one")
    spec = Experiment.load(tiny).spec({"rule": str(trace)})
    assert problem_here([spec], str(tmp_path), None) is None
    assert "doesn't see the results" in problem_here([spec], str(tmp_path), "marker")
    trace.write_text("another")
    assert f"{trace} isn't there or differs" in problem_here([spec], str(tmp_path), None)
    other = type(spec)(**{**_fields(spec), "package": "0.0.0+other"})
    assert "the sweep was made with 0.0.0+other" in problem_here([other], str(tmp_path), None)


class _Client:
    """A client whose workers are there, with the package or without, and find a problem or none."""

    def __init__(self, installed, problem=None):
        self.installed, self.problem = installed, problem

    def run(self, function):
        return self.installed

    def submit(self, function, payload, *, pure, workers):
        return SimpleNamespace(result=lambda: self.problem)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([{"a": False, "b": True}], "mlxcel_lab isn't installed on a: install"),
        ([{"a": True}, "trace isn't there"], "a: trace isn't there"),
        ([{}], "the cluster has no workers"),
    ],
)
def test_a_cluster_that_will_not_do_is_refused_and_the_check_leaves_nothing(tiny, tmp_path, answers, told):
    with pytest.raises(ValueError, match=told):
        check_workers(_Client(*answers), [Experiment.load(tiny).spec({})], str(tmp_path / "runs"))
    assert list((tmp_path / "runs").glob("*")) == []


def test_a_scheduler_that_went_away_is_no_failure_of_the_run(tiny, tmp_path):
    gone = SimpleNamespace(cancelled=lambda: True)
    with pytest.raises(ConnectionError, match="the same sweep goes on from there"):
        cluster._record(gone, Experiment.load(tiny).spec({}), open_results(tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()


def test_no_scheduler_at_the_address_is_one_clear_error(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_CONNECT_SECONDS", 0.2)
    with pytest.raises(ValueError, match=r"no Dask scheduler at tcp://127\.0\.0\.1:9: "):
        sweep(tiny, {"size": [1]}, runs=tmp_path, scheduler="tcp://127.0.0.1:9")
