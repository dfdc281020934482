"""Any result against any parameters, out of the frame of a sweep's runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

if TYPE_CHECKING:
    import altair as alt

Kind = Literal["line", "bar", "surface"]
_STEP = 60


def compare(
    frame: pl.LazyFrame | pl.DataFrame,
    result: str,
    x: str,
    by: str | None = None,
    panel: str | None = None,
    *,
    kind: Kind | None = None,
) -> alt.Chart | alt.LayerChart | alt.FacetChart:
    """Draw the mean of a result over `x`, one colour for each value of `by`, one panel for each of `panel`.

    Numbers on x make lines, other values bars; `kind="surface"` makes a field of coloured cells of x and `by`. Where
    runs (or rows of a run) share a place, the band or whisker spans the least and the greatest. An unknown column, or
    a result that isn't a number, raises a ValueError.
    """
    keys = [key for key in (x, by, panel) if key is not None]
    rows = _aggregate(frame, result, keys)
    kind = kind or ("line" if rows.schema[x].is_numeric() else "bar")
    if kind not in get_args(Kind):
        raise ValueError(f"kind={kind!r}: expected {', '.join(get_args(Kind))}")
    if kind == "surface" and by is None:
        raise ValueError("a surface has two sides: give a second parameter as `by`")
    return _finish(_DRAW[kind](rows, result, x, by), rows, result, keys, panel)


def _aggregate(frame: pl.LazyFrame | pl.DataFrame, result: str, keys: list[str]) -> pl.DataFrame:
    lazy = frame.lazy()
    schema = lazy.collect_schema()
    for name in (result, *keys):
        if name not in schema:
            raise ValueError(f"no column {name!r}: expected one of {', '.join(schema)}")
    if not (schema[result].is_numeric() or schema[result] == pl.Boolean):
        raise ValueError(f"{result} is {schema[result]}: a result to compare is a number")
    if len(set(keys)) < len(keys):
        raise ValueError(f"{', '.join(keys)}: each parameter can be used once")
    value = pl.col(result).cast(pl.Float64)
    least, most = value.min().alias("least"), value.max().alias("most")
    # A list has no place on an axis but by its text.
    texts = [
        pl.col(k).list.eval(pl.element().cast(pl.String)).list.join(", ") for k in keys if _is_list(schema[k])
    ]
    grouped = (
        lazy.with_columns(texts).group_by(keys).agg(value.mean().alias("mean"), least, most, runs=pl.len())
    )
    return grouped.sort(keys).collect()


def _is_list(kind: pl.DataType) -> bool:
    return isinstance(kind, pl.List)


def _line(rows: pl.DataFrame, result: str, x: str, by: str | None) -> Any:
    import altair as alt

    base = alt.Chart(rows).encode(x=alt.X(f"{x}:Q", title=x), **_colour(rows, by))
    y = alt.Y("mean:Q", title=result)
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("least:Q", title=result), y2="most:Q")
    line = base.mark_line(point=alt.OverlayMarkDef(size=60)).encode(y=y, tooltip=_facts(rows))
    return alt.layer(band, line) if (rows["runs"] > 1).any() else line


def _bar(rows: pl.DataFrame, result: str, x: str, by: str | None) -> Any:
    import altair as alt

    from ..view import theme

    offset: dict[str, Any] = {"xOffset": alt.XOffset(f"{by}:N")} if by else {}
    base = alt.Chart(rows).encode(x=alt.X(f"{x}:N", title=x, axis=alt.Axis(labelAngle=0)), **offset)
    y = alt.Y("mean:Q", title=result)
    bars = base.mark_bar(cornerRadiusEnd=3).encode(y=y, tooltip=_facts(rows), **_colour(rows, by))
    whiskers = base.mark_rule(strokeWidth=2, color=theme.INK).encode(
        y=alt.Y("least:Q", title=result), y2="most:Q"
    )
    return alt.layer(bars, whiskers) if (rows["runs"] > 1).any() else bars


def _surface(rows: pl.DataFrame, result: str, x: str, by: str | None) -> Any:
    import altair as alt

    base = alt.Chart(rows).encode(
        x=alt.X(f"{x}:O", title=x, axis=alt.Axis(labelAngle=0)), y=alt.Y(f"{by}:O", title=by)
    )
    shade = alt.Color("mean:Q", title=result, scale=alt.Scale(scheme="viridis"))
    cells = base.mark_rect(stroke="white", strokeWidth=1).encode(color=shade, tooltip=_facts(rows))
    # Viridis runs from dark to bright: the figure on a cell is white on its lower half and black on its upper.
    middle = (float(rows["mean"].min() or 0) + float(rows["mean"].max() or 0)) / 2  # type: ignore[arg-type]
    ink = alt.condition(f"datum.mean > {middle}", alt.value("black"), alt.value("white"))
    figures = base.mark_text().encode(text=alt.Text("mean:Q", format=".4~g"), color=ink)
    return alt.layer(cells, figures).properties(width=alt.Step(_STEP), height=alt.Step(_STEP * 0.8))


_DRAW = {"line": _line, "bar": _bar, "surface": _surface}


def _colour(rows: pl.DataFrame, by: str | None) -> dict[str, Any]:
    import altair as alt

    from ..view import theme

    colours = list(theme.SESSION_COLOURS)
    if by is None:
        return {"color": alt.value(colours[0])}
    values = rows[by].unique(maintain_order=True).to_list()
    spread = [colours[i % len(colours)] for i in range(len(values))]
    return {"color": alt.Color(f"{by}:N", title=by, scale=alt.Scale(domain=values, range=spread))}


def _facts(rows: pl.DataFrame) -> list[str]:
    return [f"{name}:{'Q' if kind.is_numeric() else 'N'}" for name, kind in rows.schema.items()]


def _finish(chart: Any, rows: pl.DataFrame, result: str, keys: list[str], panel: str | None) -> Any:
    import altair as alt

    from ..view import theme

    if panel:
        chart = chart.facet(column=alt.Column(f"{panel}:N", title=panel))
    runs = f"{rows['runs'].sum():,} rows"
    title = alt.TitleParams(f"{result} by {', '.join(keys)}", subtitle=runs, anchor="start")
    return chart.properties(title=title).configure(**theme.altair_config())
