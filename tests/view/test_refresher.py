"""The thread that brings news to the screen."""

import threading

import pytest

from mlxcel_lab.view.refresher import Refresher


class Stepped:
    """A pause that ends when the test says so, and tells that it was reached."""

    def __init__(self):
        self.reached, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.seconds = []

    def __call__(self, seconds):
        self.seconds.append(seconds)
        self.reached.release()
        self.go.acquire()


def _refresher(refresh, **options):
    pause, errors = Stepped(), []
    made = Refresher(refresh, on_error=errors.append, pause=pause, **options)
    return made, pause, errors


def _end(refresher, pause):
    refresher.close()
    pause.go.release()


def test_a_hundred_touches_during_one_pause_give_one_more_refresh():
    seen = []
    refresher, pause, _ = _refresher(lambda: seen.append(1))
    refresher.touch()
    pause.reached.acquire()
    for _ in range(100):
        refresher.touch()
    pause.go.release()
    pause.reached.acquire()
    assert len(seen) == 2
    _end(refresher, pause)


@pytest.mark.parametrize(("took", "wanted"), [(0.001, 0.05), (0.1, 0.1 * 3), (2.0, 1.0)])
def test_the_pause_is_the_interval_or_three_times_what_the_refresh_took_up_to_a_second(took, wanted):
    times = iter([10.0, 10.0 + took])
    refresher, pause, _ = _refresher(lambda: None, interval=0.05, clock=lambda: next(times))
    refresher.touch()
    pause.reached.acquire()
    assert pause.seconds == [pytest.approx(wanted)]
    _end(refresher, pause)


def test_an_error_is_told_and_the_next_refresh_still_comes():
    calls = []

    def refresh():
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("no canvas")

    refresher, pause, errors = _refresher(refresh)
    for _ in range(2):
        refresher.touch()
        pause.reached.acquire()
        pause.go.release()
    assert [str(error) for error in errors] == ["no canvas"]
    assert len(calls) == 2
    _end(refresher, pause)


def test_a_watching_one_looks_without_being_touched():
    seen = threading.Semaphore(0)
    refresher, pause, _ = _refresher(seen.release, watch_seconds=0.001)
    refresher.start()
    seen.acquire()
    _end(refresher, pause)


def test_a_closed_one_starts_no_thread():
    seen = []
    refresher, _, _ = _refresher(lambda: seen.append(1))
    refresher.close()
    refresher.touch()
    assert refresher._thread is None
    assert seen == []
