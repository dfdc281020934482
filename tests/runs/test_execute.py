"""Runs in real kernels: done, failed, dead and interrupted."""

import json

import nbformat
import polars as pl
import pytest
from nbformat.sign import NotebookNotary

from mlxcel_lab.runs.execute import Interrupted, execute
from mlxcel_lab.runs.kernels import Kernels
from mlxcel_lab.runs.pool import run_all, run_here
from mlxcel_lab.runs.record import RunRecord
from mlxcel_lab.runs.results import NOTEBOOK, RECORD, FolderResults
from mlxcel_lab.runs.spec import Experiment


@pytest.fixture
def results(tmp_path):
    return FolderResults(tmp_path / "runs")


def _files(results, spec):
    folder = results._root / spec.folder
    return {path.name for path in folder.iterdir()}, nbformat.read(folder / NOTEBOOK, as_version=4)


def test_a_run_leaves_a_signed_notebook_its_typed_result_and_a_full_record(results, make_notebook):
    code = (
        "import mlxcel_lab\nmlxcel_lab.hand_over([{'total': size * 10, 'rule': rule, 'loudness': str(loud)}])"
    )
    notebook = make_notebook(
        code, parameters="size: int = 2\nrule: str = 'off'\nloud: bool = True\nseed: int = 7"
    )
    spec = Experiment.load(notebook).spec({"size": 3, "loud": False})
    record = run_here(spec, results)
    assert record.done, record.error
    names, executed = _files(results, spec)
    assert names == {NOTEBOOK, record.result, RECORD}
    with NotebookNotary() as notary:
        assert notary.check_signature(executed)
    frame = pl.read_parquet(results.read(spec.folder, record.result))
    assert frame.to_dicts() == [
        {"total": 30, "loudness": "False", "size": 3, "rule": "off", "loud": False, "seed": 7}
    ]
    assert RunRecord.from_json(results.read(spec.folder, RECORD)) == record
    saved = json.loads(results.read(spec.folder, RECORD))
    assert saved["parameters"] == {"size": 3, "rule": "off", "loud": False, "seed": 7}
    assert (saved["status"], saved["seed"], saved["rows"], saved["error"]) == ("done", 7, 1, None)
    assert {"mlxcel_lab", "python", "polars"} <= set(saved["versions"])
    assert 0 <= saved["cells_seconds"] <= saved["seconds"]


def test_a_failed_run_keeps_its_notebook_with_the_error_and_the_others_go_on(results, make_notebook):
    notebook = make_notebook(
        "import mlxcel_lab\nassert size != 2, 'two\\nis broken'\nif size == 3:\n    import os; os._exit(9)\n"
        "if size < 5: mlxcel_lab.hand_over({'total': 99 if size == 4 else size, 'size': size + (size == 4)})"
    )
    experiment = Experiment.load(notebook)
    specs = [experiment.spec({"size": size}) for size in (1, 2, 3, 4, 5)]
    records = {spec.parameters["size"]: record for spec, record in run_all(specs, results, workers=2)}
    assert [records[size].status for size in sorted(records)] == [
        "done",
        "failed",
        "failed",
        "failed",
        "failed",
    ]
    assert records[2].error == "In [3]: AssertionError: two is broken"
    assert "DeadKernelError" in records[3].error
    assert "column 'size' has a parameter's name but not its value" in records[4].error
    assert "handed nothing over" in records[5].error
    for spec in specs[1:3]:
        names, executed = _files(results, spec)
        assert names == {NOTEBOOK, RECORD}
        errors = [o.ename for c in executed.cells for o in c.get("outputs", []) if o.output_type == "error"]
        assert errors == ["AssertionError" if spec is specs[1] else "DeadKernelError"]


def test_once_the_kernels_are_killed_a_run_leaves_nothing(results, tiny):
    kernels = Kernels()
    kernels.kill()
    with pytest.raises(Interrupted):
        execute(Experiment.load(tiny).spec({}), results, kernels)
    assert not results._root.exists()


def test_an_interrupt_ends_the_kernels_and_keeps_what_was_done(results, tiny):
    specs = [Experiment.load(tiny).spec({"size": size}) for size in range(4)]
    seen, given = [], []

    def run(spec, results, kernels):
        given.append(kernels)
        seen.append(spec)
        return execute(spec, results, kernels) if len(seen) == 1 else pytest.fail("ran after the interrupt")

    runs = run_all(specs[:1], results, 1, run)
    spec, record = next(runs)
    with pytest.raises(KeyboardInterrupt):
        runs.throw(KeyboardInterrupt)
    assert record.done
    assert given[0].killed
    assert results.read(spec.folder, RECORD)
