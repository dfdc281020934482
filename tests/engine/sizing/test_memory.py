"""Free memory is what the machine says, within what a container allows; weights are counted as they are stored."""

import pytest

from mlxcel_lab.engine.geometry import build
from mlxcel_lab.engine.sizing import free_memory, memory, weights_bytes

from ..families import DENSE, GEOMETRIES


def _machine(root, available_kib, limit=None, used=0):
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable:   {available_kib} kB\n")
    if limit is not None:
        (root / "sys/fs/cgroup").mkdir(parents=True)
        (root / "sys/fs/cgroup/memory.max").write_text(f"{limit}\n")
        (root / "sys/fs/cgroup/memory.current").write_text(f"{used}\n")
    return memory._ram(root)


def test_this_machine_has_memory_and_says_how_it_is_known():
    free = free_memory()
    assert free.bytes > 0
    assert free.source


def test_ram_is_what_is_available_rather_than_what_is_free(tmp_path):
    assert _machine(tmp_path, 4096).bytes == 4096 * 1024


@pytest.mark.parametrize(
    ("limit", "used", "left"), [("max", 5, 4 << 20), (3 << 20, 1 << 20, 2 << 20), (1, 9, 0)]
)
def test_a_containers_limit_counts_where_it_is_lower(tmp_path, limit, used, left):
    assert _machine(tmp_path, 4096, limit, used).bytes == left


def test_weights_are_counted_in_their_type_or_in_the_configs_quantisation():
    whole = weights_bytes(GEOMETRIES["dense"])
    assert weights_bytes(build(DENSE, "float32")) == 2 * whole
    quantised = weights_bytes(build({**DENSE, "quantization": {"bits": 4, "group_size": 64}}))
    assert whole * 4.5 / 16 <= quantised < whole * 0.3
