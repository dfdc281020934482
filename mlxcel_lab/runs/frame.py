"""All runs of a sweep as one frame: parameters and results, typed, read when it is asked for.

The folders are hive partitions, so that a filter on a parameter opens only the files of the runs that it leaves. Runs
of other parameters, or whose results have other columns or types, lie under other names and are put below each other
with the missing columns null.
"""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import polars as pl


def runs_frame(root: str | Path) -> pl.LazyFrame:
    """Parameters and results of every done run below a folder or an fsspec URL, lazily.

    A folder without any run raises a ValueError. Result columns of different types become their common supertype.
    """
    if "://" in str(root):
        frames = [frame.lazy() for frame in _remote(str(root))]
    else:
        folder = os.path.abspath(root)
        groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for path, layout in _results(folder, _names(folder)):
            groups[layout].append(path)
        frames = [_scan(sorted(paths), layout) for layout, paths in sorted(groups.items())]
    if not frames:
        raise ValueError(
            f"no finished run below {root}: give the folder that a sweep wrote, like runs/20_thrash"
        )
    return frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")


def _names(folder: str) -> tuple[str, ...]:
    return tuple(name for part in Path(folder).parts if (name := _name(part)))


def _name(part: str) -> str:
    """`name=` of a partition, `name~` of a value that only the file itself holds, else nothing."""
    for mark in "=~":
        if mark in part:
            return part[: part.index(mark) + 1]
    return ""


def _results(folder: str, names: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each result below the folder, and its layout: the names on its path and the result's own name."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".parquet"):
                yield entry.path, (*names, entry.name)
            elif entry.is_dir() and not entry.name.startswith("."):
                name = _name(entry.name)
                yield from _results(entry.path, (*names, name) if name else names)


def _scan(paths: list[str], layout: tuple[str, ...]) -> pl.LazyFrame:
    """Runs of one layout. The file says the types, since it holds every parameter as a column too."""
    types = pl.read_parquet_schema(paths[0])
    hive = [name[:-1] for name in layout[:-1] if name.endswith("=")]
    schema = {name: types.get(name, pl.String()) for name in hive}
    scanned = pl.scan_parquet(paths, hive_partitioning=True, hive_schema=schema, glob=False)
    # In the order of the file, and without what the path above the runs happens to say.
    return scanned.select(list(types))


def _remote(root: str) -> Iterator[pl.DataFrame]:
    from .results import UrlResults

    for content in UrlResults(root).results():
        yield pl.read_parquet(io.BytesIO(content))
