"""The chunks of a prefill."""

from itertools import pairwise

import hypothesis.strategies as st
from hypothesis import given

from mlxcel_lab.engine.forward import chunk_ends

counts = st.integers(0, 60)


@given(start=counts, more=counts, split=st.none() | counts, step=st.integers(1, 20))
def test_chunks_cover_a_prefill_in_steps_and_stop_at_the_split(start, more, split, step):
    end = start + more
    ends = [*chunk_ends(start, end, split, step)]
    stops = [start, *ends]
    assert stops[-1] == end
    assert all(0 < b - a <= step for a, b in pairwise(stops))
    assert (split in ends) or split is None or not start < split < end
    assert len(ends) <= -(-more // step) + 1
