"""A config is found wherever its name may point, or refused with a reason."""

import json

import pytest

from mlxcel_lab.engine.configs import find, find_config, known_configs
from mlxcel_lab.engine.geometry import build
from mlxcel_lab.engine.sizing import snapshot_bytes

from .families import WINDOW, known


def test_a_config_is_found_by_mapping_path_folder_lab_model_and_known_name(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(WINDOW))
    for place in (WINDOW, tmp_path, tmp_path / "config.json", str(tmp_path)):
        assert find_config(place) == WINDOW
    assert find_config("gated-delta")["model_type"] == "qwen3_5"
    assert find_config("Kimi-K3")["model_type"] == "kimi_k3"


def test_a_tagged_float_is_read_as_the_float_it_is(tmp_path):
    (tmp_path / "config.json").write_text('{"time_step_limit": [0.0, {"__float__": "Infinity"}]}')
    assert find_config(tmp_path)["time_step_limit"] == [0.0, float("inf")]


@pytest.mark.parametrize("text", ["[1]", "{", ""])
def test_a_file_that_is_no_config_is_refused(text, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=r"config\.json (isn't a config\.json|holds a list)"):
        find_config(tmp_path)


def test_an_unknown_name_is_refused_with_what_would_be_known():
    with pytest.raises(ValueError, match=r"no config for 'kimi-k2'.* known geometries \(kimi-k3"):
        find_config("kimi-k2")


def test_a_lab_models_config_has_the_type_of_its_weights():
    assert build(find_config("gated-delta")).dtype == "float32"
    assert build(find_config("qwen3.5-0.8b")).dtype == "bfloat16"


def test_a_hub_id_without_a_hub_says_what_to_do(monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(
        ValueError, match=r"config\.json of 'nobody/nothing' couldn't be fetched .* give the path"
    ):
        find_config("nobody/nothing")


@pytest.fixture(scope="module")
def references(shared_dir):
    """The geometry of each reference config, or the reason why there is none."""
    built = {}
    for path in sorted((shared_dir / "configs").glob("*.json")):
        try:
            built[path.stem] = build(find_config(path), fill=True)
        except ValueError as error:
            built[path.stem] = str(error)
    return built


def test_every_reference_config_gives_a_breakdown_or_a_reason(references):
    reasons = {name: built for name, built in references.items() if isinstance(built, str)}
    assert set(reasons) == {"step-3.7-flash"}
    assert "Model type step3p7 not supported" in reasons["step-3.7-flash"]
    for geometry in (built for built in references.values() if not isinstance(built, str)):
        breakdown = snapshot_bytes(geometry, [300, 1])
        assert 0 < breakdown.trimmed <= breakdown.allocated


def test_a_known_geometry_has_the_size_of_the_reference_config(references):
    for name in set(references) & set(known_configs()):
        for calls in ("72", "300+2x1", "2600"):
            assert snapshot_bytes(references[name], calls).rows() == snapshot_bytes(known(name), calls).rows()


def test_a_shipped_name_means_itself_whatever_lies_in_the_working_folder(tmp_path, monkeypatch):
    for name in ("dense", "qwen3.5-0.8b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(WINDOW))
    monkeypatch.chdir(tmp_path)
    for name in ("dense", "qwen3.5-0.8b"):
        assert find(name).config != find(f"./{name}").config == WINDOW
        assert (find(name).folder, find(f"./{name}").name) == (None, name)


def test_a_mapping_is_named_by_its_type_and_content():
    one, same, other = (find({**WINDOW, "head_dim": n}).name for n in (8, 8, 16))
    assert one == same != other
    assert one.startswith(f"{WINDOW['model_type']}-")
