"""The one MLX thread: order, idle work, errors, and nothing kept alive."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import wait

import pytest

from mlxcel_lab.engine.worker import mlx_thread


def _blocked():
    """Occupies the thread until the returned event is set."""
    go, entered = threading.Event(), threading.Event()
    mlx_thread().submit(lambda: (entered.set(), go.wait(10)))
    assert entered.wait(10)
    return go


def test_there_is_one_thread_a_process():
    names = {mlx_thread().run(lambda: threading.current_thread().name) for _ in range(3)}
    assert names == {"mlx"}
    assert mlx_thread() is mlx_thread()


def test_work_runs_in_the_order_of_its_submission():
    seen = []
    go = _blocked()
    jobs = [mlx_thread().submit(lambda i=i: seen.append(i)) for i in range(20)]
    go.set()
    wait(jobs)
    assert seen == list(range(20))


def test_idle_work_waits_for_every_turn():
    seen = []
    go = _blocked()
    idle = mlx_thread().submit_idle(lambda: seen.append("idle"))
    turns = [mlx_thread().submit(lambda i=i: seen.append(i)) for i in range(3)]
    go.set()
    wait([idle, *turns])
    assert seen == [0, 1, 2, "idle"]


def test_idle_work_can_see_that_a_turn_waits():
    entered, submitted = threading.Event(), threading.Event()

    def idle():
        alone = mlx_thread().is_wanted
        entered.set()
        submitted.wait(10)
        return alone, mlx_thread().is_wanted

    future = mlx_thread().submit_idle(idle)
    entered.wait(10)
    turn = mlx_thread().submit(lambda: None)
    submitted.set()
    assert future.result() == (False, True)
    turn.result()


def test_idle_work_can_be_withdrawn_before_it_starts():
    seen = []
    go = _blocked()
    idle = mlx_thread().submit_idle(lambda: seen.append("idle"))
    assert idle.cancel()
    go.set()
    mlx_thread().submit(lambda: None).result()
    assert seen == []


def test_an_error_reaches_who_asked_and_the_thread_goes_on():
    with pytest.raises(ZeroDivisionError):
        mlx_thread().run(lambda: 1 // 0)
    assert mlx_thread().run(lambda: 7) == 7


def test_work_on_the_thread_itself_runs_at_once():
    assert mlx_thread().run(lambda: mlx_thread().run(lambda: 3)) == 3


def test_the_waiting_thread_keeps_nothing_of_its_last_job_alive():
    class Big:
        pass

    big = Big()
    gone = weakref.ref(big)
    mlx_thread().submit(lambda big=big: None).result()
    del big
    # The next job starts only after the thread has dropped the last one.
    mlx_thread().run(lambda: None)
    gc.collect()
    assert gone() is None
