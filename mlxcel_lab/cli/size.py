"""`mlxcel-lab size`: what a model's snapshots cost, from its config.json alone, and the budget to set."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from .lists import WholeNumbers

if TYPE_CHECKING:
    from ..engine.geometry import Geometry
    from ..engine.sizing import Allocator, Recommendation


@click.command("size")
@click.argument("model")
@click.option(
    "--tokens",
    default="1k,8k,128k",
    show_default=True,
    type=WholeNumbers(thousands=True),
    help="Prompt lengths, as a list.",
)
@click.option("--calls", help="The bytes after exact forward calls instead, like 94+45x1, layer by layer.")
@click.option("--conversations", type=click.IntRange(1), help="Recommend a budget that keeps as many warm.")
@click.option(
    "--turns", type=click.IntRange(1), default=1, show_default=True, help="Turns of such a conversation."
)
@click.option(
    "--reply-tokens", type=click.IntRange(0), default=0, show_default=True, help="Tokens of each reply."
)
@click.option(
    "--rule", default="origin", show_default=True, help="The supersede rule: off, session or origin."
)
@click.option(
    "--rendered-anew", is_flag=True, help="The template renders past replies anew: they don't match."
)
@click.option("--trimmed", is_flag=True, help="Plan with snapshots cut to the tokens they hold.")
@click.option("--allocator", default="mlx-lm", show_default=True, help="Whose allocation: mlx-lm or mlxcel.")
@click.option("--dtype", help="Type of the activations. Default: the config's own, else bfloat16.")
@click.option(
    "--free", "free_bytes", type=click.IntRange(0), help="Memory to plan with, in bytes. Default: measured."
)
@click.option(
    "--fill", is_flag=True, help="Give fields that the config lacks and the size doesn't need neutral values."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(model: str, dtype: str | None, allocator: str, fill: bool, as_json: bool, **options: Any) -> None:
    """Print what a snapshot of MODEL costs, and with --conversations the budget to set.

    MODEL is a config.json or its folder, a lab model, a known geometry like kimi-k3, or a hub id. No weights are
    needed. The budget is planned for the longest of --tokens.
    """
    from ..engine.classes import put_off_loading

    put_off_loading()
    from ..engine.geometry import build
    from ..engine.neutral import MissingFields
    from ..engine.sizing import find_config
    from ..engine.sizing.allocators import find_allocator

    try:
        chosen = find_allocator(allocator)
        geometry = build(find_config(model), dtype, fill=fill)
    except MissingFields as error:
        raise click.UsageError(str(error).replace("pass fill=True", "add --fill")) from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    told = {
        "model": model,
        "dtype": geometry.dtype,
        "allocator": chosen.name,
        **_sizes(geometry, chosen, options),
    }
    told |= {"filled": geometry.filled, "notes": list(geometry.notes)}
    advice = _advice(geometry, chosen, options)
    if as_json:
        click.echo(json.dumps({**told, "budget": advice and advice.to_dict()}, indent=2))
    else:
        _show(told, advice)


def _sizes(geometry: Geometry, allocator: Allocator, options: dict[str, Any]) -> dict[str, Any]:
    from ..engine.sizing import snapshot_bytes
    from ..engine.sizing.report import growth_rows, layer_rows, size_rows

    if options["calls"] is None:
        return {
            "sizes": size_rows(geometry, allocator, options["tokens"]),
            "growth": growth_rows(geometry, allocator),
        }
    held = snapshot_bytes(geometry, options["calls"], allocator=allocator)
    total = {"calls": held.calls, "tokens": held.tokens, "allocated": held.allocated, "trimmed": held.trimmed}
    return {"sizes": [{**total, **held.by_kind()}], "layers": layer_rows(held)}


def _advice(geometry: Geometry, allocator: Allocator, options: dict[str, Any]) -> Recommendation | None:
    from ..engine.sizing import recommend

    if options["conversations"] is None:
        return None
    return recommend(
        geometry, options["conversations"], max(options["tokens"]), options["turns"],
        reply_tokens=options["reply_tokens"], append_only=not options["rendered_anew"], rule=options["rule"],
        allocator=allocator, trimmed=options["trimmed"], free_bytes=options["free_bytes"],
    )  # fmt: skip


def _show(told: dict[str, Any], advice: Recommendation | None) -> None:
    from ..engine.sizing.report import as_table

    click.echo(f"{told['model']}: bytes of a snapshot in {told['dtype']}, {told['allocator']}'s allocation\n")
    click.echo("\n\n".join(as_table(told[name]) for name in ("sizes", "growth", "layers") if name in told))
    for note in told["notes"]:
        click.echo(f"\n{note}", nl=False)
    if told["filled"]:
        given = ", ".join(f"{name}={value}" for name, value in told["filled"].items())
        click.echo(f"\nfilled with neutral values, which don't matter for the size: {given}", nl=False)
    click.echo()
    if advice is not None:
        click.echo(as_table([{"each conversation keeps": s.origin, "tokens": s.tokens, "bytes": s.size_bytes}
                             for s in advice.snapshots]))  # fmt: skip
        click.echo(f"\n{advice.advice}")
        click.echo(
            f"mlxcel's model-aware default: {advice.mlxcel.capacity_bytes:,} B, {advice.mlxcel.reason}."
        )
        if advice.capacity_bytes:
            click.echo(f"--prompt-cache-snapshot-capacity-bytes {advice.capacity_bytes}")
