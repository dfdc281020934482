"""The lab's warnings in a notebook: one plain line each, instead of the red box that stderr becomes."""

from __future__ import annotations

import logging


class _Lines(logging.Handler):
    """Prints, so that a line lands under the cell that runs, wherever stdout is by then."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"{record.levelname.lower()}: {record.getMessage()}")


_LOGGER = logging.getLogger("mlxcel_lab")
_LINES = _Lines(logging.WARNING)


def register() -> None:
    """Show warnings as lines, once however often it is called."""
    _LOGGER.addHandler(_LINES)


def unregister() -> None:
    _LOGGER.removeHandler(_LINES)
