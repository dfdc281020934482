"""mlx-lm's classes are found without its loading machinery, and are the ones that it would choose itself."""

import json
import subprocess
import sys

import pytest
from mlx_lm import utils

from mlxcel_lab.engine import classes
from mlxcel_lab.engine.sizing import find_config, known_configs


def _run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_the_tables_read_from_its_source_are_its_own():
    assert classes._table("MODEL_REMAPPING") == utils.MODEL_REMAPPING
    assert classes._table("MODEL_ARCHITECTURE_REMAPPING") == utils.MODEL_ARCHITECTURE_REMAPPING
    assert classes._table("NO_SUCH_TABLE") == {}


@pytest.mark.parametrize(
    "config",
    [
        *(
            {"model_type": find_config(name)["model_type"]}
            for name in ("kimi-k3", "gemma-3-4b", "rwkv7-world-0.1b")
        ),
        {"model_type": "mistral"},
        {"model_type": "bailing_hybrid", "architectures": ["BailingMoeV3ForCausalLM"]},
        {"model_type": "bailing_hybrid", "architectures": "Other"},
        {"model_type": "nonesuch"},
    ],
)
def test_both_ways_choose_the_same_classes(config, monkeypatch):
    def chosen(choose):
        try:
            return choose(config)
        except ValueError as error:
            return str(error)

    own = chosen(utils._get_classes)
    monkeypatch.delitem(sys.modules, "mlx_lm.utils")
    assert chosen(classes.model_classes) == own


def test_sizing_loads_none_of_what_loading_a_model_needs_and_it_is_there_when_asked_for():
    told = _run(
        "import json, sys; from mlxcel_lab.engine.classes import put_off_loading; put_off_loading()\n"
        "from mlxcel_lab.engine.sizing import find_config, snapshot_bytes\n"
        "size = snapshot_bytes(find_config('qwen3.5-0.8b'), 72).allocated\n"
        "early = 'transformers' in sys.modules\n"
        "import mlx_lm; load = mlx_lm.load\n"
        "print(json.dumps([size, early, load.__module__, 'transformers' in sys.modules]))"
    )
    assert told == [22_683_648, False, "mlx_lm.utils", True]


def test_nothing_is_put_off_where_it_was_loaded_before():
    package = sys.modules["mlx_lm"]
    classes.put_off_loading()
    assert sys.modules["mlx_lm"] is package


def test_every_known_geometry_has_a_class():
    assert all(classes.model_classes(find_config(name)) for name in known_configs())
