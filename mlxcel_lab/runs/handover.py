"""How a notebook hands its result over: one call, in its last cell, that works under whatever runs it.

The result travels in the notebook itself, as one more representation of a displayed table. So it needs no folder, no
environment and no runner: Jupyter shows the table, plain papermill and nbmake keep it in the output notebook, and
`mlxcel-lab run` and `sweep` take it from there. `result_of` reads it back from any executed notebook.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import nbformat
import polars as pl

MIME = "application/vnd.mlxcel-lab.result+json"
LARGEST_BYTES = 64 * 2**20

Rows: TypeAlias = pl.DataFrame | pl.LazyFrame | Sequence[Mapping[str, Any]] | Mapping[str, Any]


def hand_over(result: Rows) -> None:
    """Hand over a notebook's result: a polars frame, a list of rows as dicts, or one dict. Call it once.

    Also displays it. A result beyond 64 MiB is refused: hand over its summary and write the rest to a file.
    """
    frame = _frame(result)
    packed = io.BytesIO()
    frame.write_parquet(packed)
    if packed.tell() > LARGEST_BYTES:
        size = f"{packed.tell():,} bytes of at most {LARGEST_BYTES:,}"
        raise ValueError(
            f"the result is too large ({size}): hand over a summary, and write the rest to a file"
        )
    _display(frame, base64.b64encode(packed.getvalue()).decode())


def result_of(notebook: str | Path | nbformat.NotebookNode) -> pl.DataFrame | None:
    """The result that an executed notebook handed over; None if it handed over none.

    A notebook that handed over more than one raises a ValueError, rather than one of them being taken.
    """
    is_read = isinstance(notebook, nbformat.NotebookNode)
    node: Any = notebook if is_read else nbformat.read(str(notebook), as_version=4)
    outputs = (output for cell in node.cells for output in cell.get("outputs", []))
    packed = [output["data"][MIME] for output in outputs if MIME in output.get("data", {})]
    if len(packed) > 1:
        raise ValueError(f"the notebook handed over {len(packed)} results: call hand_over once")
    return pl.read_parquet(io.BytesIO(base64.b64decode(packed[0]["parquet"]))) if packed else None


def _frame(result: Rows) -> pl.DataFrame:
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, Mapping):
        result = [result]
    if not isinstance(result, pl.DataFrame):
        if isinstance(result, str) or not all(isinstance(row, Mapping) for row in result):
            raise TypeError(
                f"cannot hand over {type(result).__name__}: expected a polars frame, or rows as dicts"
            )
        result = pl.DataFrame(list(result), infer_schema_length=None)
    if not result.width:
        raise ValueError("the result has no columns: hand over at least one row with one value")
    return result


def _display(frame: pl.DataFrame, packed: str) -> None:
    from IPython import get_ipython
    from IPython.display import display

    if get_ipython() is None:  # a plain script
        print(frame)
        return
    result = {"parquet": packed, "rows": frame.height, "columns": frame.columns}
    with pl.Config(
        tbl_hide_column_data_types=True, tbl_hide_dataframe_shape=True, tbl_rows=40, tbl_cols=20,
        thousands_separator=True,
    ):  # fmt: skip
        display({MIME: result, "text/plain": str(frame), "text/html": frame._repr_html_()}, raw=True)
