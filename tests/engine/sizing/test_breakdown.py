"""A breakdown adds up by layer and by kind, and tells allocation from what is held."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab.engine.geometry import GeometryError
from mlxcel_lab.engine.sizing import ALLOCATORS, parse_calls, snapshot_bytes
from mlxcel_lab.engine.sizing.allocators import find_allocator
from mlxcel_lab.engine.sizing.calls import format_calls

from ..families import DENSE, FAMILIES, GATED, GEOMETRIES

_CALLS = st.lists(st.integers(1, 400), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("text", "calls"),
    [(72, (72,)), ("72", (72,)), ("94+3x1", (94, 1, 1, 1)), (" 2x256 + 5", (256, 256, 5)), ([7, 1], (7, 1))],
)
def test_calls_are_read_from_numbers_texts_and_lists(text, calls):
    assert parse_calls(text) == calls


@given(_CALLS)
def test_calls_survive_being_written_and_read(calls):
    assert parse_calls(format_calls(calls)) == tuple(calls)


@pytest.mark.parametrize("calls", [0, "", "1+", "94+x1", "5-2", [], [3, 0], "0x5"])
def test_calls_that_mean_nothing_are_refused(calls):
    with pytest.raises(ValueError, match="calls="):
        parse_calls(calls)


@settings(max_examples=20)
@given(family=st.sampled_from(sorted(FAMILIES)), calls=_CALLS, allocator=st.sampled_from(sorted(ALLOCATORS)))
def test_a_breakdown_adds_up_by_kind_and_by_layer(family, calls, allocator):
    breakdown = snapshot_bytes(GEOMETRIES[family], calls, allocator=allocator)
    for trimmed, total in ((False, breakdown.allocated), (True, breakdown.trimmed)):
        assert sum(breakdown.by_kind(trimmed=trimmed).values()) == total
        assert sum(breakdown.by_layer(trimmed=trimmed).values()) == total
    assert breakdown.trimmed <= breakdown.allocated
    assert breakdown.tokens == sum(calls)


@settings(max_examples=20)
@given(family=st.sampled_from(sorted(FAMILIES)), calls=_CALLS)
def test_on_mlx_lm_the_parts_are_what_its_caches_call_their_size(family, calls):
    cache = GEOMETRIES[family].cache_after(calls)
    assert snapshot_bytes(GEOMETRIES[family], calls).allocated == sum(entry.nbytes for entry in cache)


@pytest.mark.parametrize(
    ("family", "kinds"),
    [
        ("dense", {"kv"}),
        ("window", {"kv", "window"}),
        ("hybrid", {"kv", "recurrent", "convolution"}),
        ("gated", {"kv", "recurrent", "convolution"}),
        ("chunked", {"kv", "window"}),
    ],
)
def test_the_kinds_of_a_family_are_told_apart(family, kinds):
    assert set(snapshot_bytes(GEOMETRIES[family], 40).by_kind()) == kinds


def test_trimmed_keys_and_values_hold_the_tokens_and_a_window_no_more_than_its_size():
    per_token = snapshot_bytes(GEOMETRIES["dense"], 1).trimmed
    assert snapshot_bytes(GEOMETRIES["dense"], 300).trimmed == 300 * per_token
    window = [
        snapshot_bytes(GEOMETRIES["window"], n).by_kind(trimmed=True)["window"] for n in (299, 300, 900)
    ]
    assert window[0] < window[1] == window[2]


def test_mlxcel_holds_the_recurrent_state_in_half_the_bytes_and_adds_no_scalars_to_hybrids():
    ours, theirs = (
        snapshot_bytes(GEOMETRIES["gated"], 40, allocator=a).by_kind() for a in ("mlx-lm", "mlxcel")
    )
    assert theirs == {**ours, "recurrent": ours["recurrent"] // 2}


def test_mlxcel_adds_scalars_to_windows_and_full_layers():
    assert snapshot_bytes(GEOMETRIES["window"], 40, allocator="mlxcel").by_kind()["scalars"] == 2 * 32 + 8


def test_the_allocators_split_a_prompt_as_their_servers_do():
    assert ALLOCATORS["mlxcel"].split(5000, 2) == (5000, 1, 1)
    assert ALLOCATORS["mlx-lm"].split(5000, 2) == (2048, 2048, 903, 1, 1, 1)
    assert ALLOCATORS["mlx-lm"].split(1) == (1,)
    assert ALLOCATORS["mlx-lm"].split(2049) == (2048, 1)


@pytest.mark.parametrize(("prompt", "generated"), [(0, 1), (5, -1)])
def test_a_prompt_of_nothing_is_refused(prompt, generated):
    with pytest.raises(ValueError, match="a prompt of 1 token or more"):
        ALLOCATORS["mlx-lm"].split(prompt, generated)


def test_an_unknown_allocator_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown allocator 'vllm': expected one of mlx-lm, mlxcel"):
        snapshot_bytes(GEOMETRIES["dense"], 4, allocator="vllm")
    assert find_allocator(ALLOCATORS["mlxcel"]).name == "mlxcel"


@pytest.mark.parametrize("bits", [4, 8])
def test_quantised_keys_and_values_are_counted_with_their_scales(bits):
    config = {**DENSE, "hidden_size": 256}  # heads of 64: one group of 64 numbers
    whole, small = (snapshot_bytes(config, [300, 1], kv_bits=b) for b in (None, bits))
    assert (
        small.allocated == whole.allocated * (bits + 0.5) / 16
    )  # a scale and a bias of 16 bits for each group
    assert small.trimmed == small.allocated * 301 // 512


def test_a_window_that_mlx_lm_cannot_quantise_says_so():
    with pytest.raises(GeometryError, match="can't hold this cache in 4 bits"):
        snapshot_bytes(GEOMETRIES["window"], 40, kv_bits=4)


def test_a_breakdown_shows_itself_in_a_line_and_in_a_table():
    breakdown = snapshot_bytes(GATED, "94+45x1")
    assert repr(breakdown).startswith("<Breakdown 94+45x1 on mlx-lm: ")
    html = breakdown._repr_html_()
    assert f"{breakdown.allocated:,}" in html
    assert "convolution" in html
