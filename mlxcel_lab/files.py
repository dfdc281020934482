"""Reading the files that people give: what is wrong with one becomes a single sentence that names it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GZIP = b"\x1f\x8b"
BROKEN_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
"""What reading a gzip file raises where it was cut off or damaged."""


def read_text(path: str | Path) -> str:
    """The file's text, unpacked where it is gzipped. Raises ValueError where it isn't whole or isn't UTF-8."""
    raw = Path(path).read_bytes()
    try:
        return (gzip.decompress(raw) if raw.startswith(GZIP) else raw).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} isn't UTF-8 text: {error.reason} at byte {error.start}") from error
    except BROKEN_GZIP as error:
        raise ValueError(f"{path} is a broken gzip file: {error}") from error


@contextmanager
def reading_parquet(path: str | Path) -> Iterator[None]:
    """Around reading a parquet file: ValueError where it is none."""
    from polars.exceptions import PolarsError

    try:
        yield
    except PolarsError as error:
        raise ValueError(f"{path} isn't a parquet file that can be read: {error}") from error
