"""What a sweep has to do: its runs, which of them are done already, and about how long the rest will take."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from statistics import median

from .grid import Sweep
from .record import RunRecord
from .results import RECORD, Results
from .spec import Experiment, RunSpec

_SAMPLE = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """`todo` is what never ran, failed, or ran with other inputs; `seconds_a_run` is None without an earlier run."""

    experiment: Experiment
    done: tuple[RunSpec, ...]
    todo: tuple[RunSpec, ...]
    failed_before: int
    changed: int
    seconds_a_run: float | None

    def seconds(self, workers: int) -> float | None:
        """An estimate of the whole on that many workers."""
        return None if self.seconds_a_run is None else self.seconds_a_run * len(self.todo) / workers

    def describe(self, workers: int) -> str:
        """One line: how many runs, how many of them are left and why, and the estimate."""
        total = len(self.done) + len(self.todo)
        again = self.failed_before or self.changed
        why = f" ({self.failed_before} failed before, {self.changed} changed)" if again else ""
        seconds = self.seconds(workers)
        on = "one worker" if workers == 1 else f"{workers} workers"
        told = "no earlier run to estimate from" if seconds is None else f"about {duration(seconds)} on {on}"
        return f"{self.experiment.name}: {total} runs, {len(self.done)} done, {len(self.todo)} to run{why}, {told}"


def make_plan(experiment: Experiment, sweep: Sweep, results: Results) -> Plan:
    """Check every run of the sweep, then look up what is done. Raises a ValueError before anything runs."""
    if not experiment.hands_over:
        raise ValueError(
            f"{experiment.name} hands no result over: let its last cell call mlxcel_lab.hand_over(result)"
        )
    # By folder: two ways to write the same values are one run.
    specs = {spec.folder: spec for spec in map(experiment.spec, sweep.combinations())}
    if not specs:
        raise ValueError("nothing to sweep: give at least one grid or case")
    records = {folder: _record(results, folder) for folder in specs}
    done = {f for f, r in records.items() if r and r.done and r.fingerprint == specs[f].fingerprint}
    earlier = [r for f, r in records.items() if r and f not in done]
    return Plan(
        experiment,
        tuple(spec for folder, spec in specs.items() if folder in done),
        tuple(spec for folder, spec in specs.items() if folder not in done),
        sum(not r.done for r in earlier),
        sum(r.done for r in earlier),
        _seconds_a_run(experiment.name, results, [r for r in records.values() if r]),
    )


def _record(results: Results, folder: str) -> RunRecord | None:
    raw = results.read(folder, RECORD)
    return RunRecord.from_json(raw) if raw else None


def _seconds_a_run(name: str, results: Results, records: list[RunRecord]) -> float | None:
    """The median of this sweep's earlier runs, else of some others of this notebook."""
    found = [r for r in records if r.done]
    if not found:
        sampled = map(RunRecord.from_json, islice(results.records(name), _SAMPLE))
        found = [r for r in sampled if r and r.done]
    return median(r.seconds for r in found) if found else None


def duration(seconds: float) -> str:
    """`42 s`, `12 min`, `3.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
