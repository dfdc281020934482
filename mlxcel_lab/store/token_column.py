"""Token vectors as one polars column of lists and back, without a Python object a token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from .types import TokenVector


def to_column(name: str, vectors: Sequence[TokenVector | None]) -> pl.Series:
    """A column of int32 lists; None becomes null, an empty vector an empty list."""
    lengths = np.array([0 if v is None else len(v) for v in vectors], np.int64)
    given = [v for v in vectors if v is not None]
    flat = np.concatenate(given) if given else np.empty(0, np.int32)
    cells = pl.DataFrame({"row": np.repeat(np.arange(len(vectors)), lengths), name: flat})
    lists = cells.group_by("row", maintain_order=True).agg(name)
    absent = pl.DataFrame(
        {"row": np.arange(len(vectors)), "absent": np.array([v is None for v in vectors], bool)}
    )
    filled = pl.when("absent").then(None).otherwise(pl.col(name).fill_null(pl.lit([], pl.List(pl.Int32))))
    return absent.join(lists, on="row", how="left", maintain_order="left").select(filled.alias(name))[name]


def from_column(column: pl.Series) -> list[TokenVector | None]:
    """The vectors; they are views of one array, read-only like all of the store's."""
    lengths = column.list.len().fill_null(0).to_numpy()
    flat = column.explode().drop_nulls().to_numpy().astype(np.int32)  # a copy that numpy owns
    flat.flags.writeable = False
    ends = lengths.cumsum(dtype=np.int64).tolist()
    starts = [0, *ends][:-1]
    there = column.is_not_null().to_list()
    return [flat[a:b] if given else None for a, b, given in zip(starts, ends, there, strict=True)]
