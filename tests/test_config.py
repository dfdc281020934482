"""The configuration's table, and what happens to values that are missing, contradictory or bad."""

import logging
from dataclasses import FrozenInstanceError, asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.config import SETTINGS, PromptCacheConfig, resolve

TTL = "MLXCEL_PROMPT_CACHE_SNAPSHOT_TTL"
CAPACITY = "MLXCEL_PROMPT_CACHE_SNAPSHOT_CAPACITY_BYTES"
NUMBERS = [s for s in SETTINGS if s.zero]


def test_the_defaults_are_those_of_the_table():
    assert asdict(resolve(environ={}).config) == {
        "enabled": True,
        "min_prefix_tokens": 32,
        "snapshot_capacity_bytes": 536_870_912,
        "snapshot_max_entries": 4096,
        "snapshot_ttl_seconds": 7200,
        "supersede": "origin",
        "boundary": True,
        "warmup": True,
    }


def test_every_field_has_a_row_and_every_row_a_field():
    assert [s.field for s in SETTINGS] == list(asdict(PromptCacheConfig()))


def test_flag_beats_environment_beats_default_and_says_so():
    resolved = resolve({"snapshot_capacity_bytes": 7}, {CAPACITY: "5", "MLXCEL_PROMPT_CACHE_MIN_PREFIX": "9"})
    assert resolved.config.snapshot_capacity_bytes == 7
    assert resolved.sources["snapshot_capacity_bytes"] == "flag"
    assert (resolved.config.min_prefix_tokens, resolved.sources["min_prefix_tokens"]) == (9, "environment")
    assert resolved.sources["supersede"] == "default"
    [message] = resolved.messages
    assert message.level == logging.INFO
    assert message.text == f"--prompt-cache-snapshot-capacity-bytes (7) beats {CAPACITY} (5)"


@pytest.mark.parametrize("bad", ["", "many", "-1", "1.5", "1_000", "0x10", "٣", "1e3"])
def test_an_environment_value_that_does_not_parse_is_warned_of_and_ignored(bad):
    resolved = resolve(environ={CAPACITY: bad})
    assert resolved.config.snapshot_capacity_bytes == 536_870_912
    assert resolved.sources["snapshot_capacity_bytes"] == "default"
    [message] = resolved.messages
    assert message.level == logging.WARNING
    assert message.text.startswith(f"{CAPACITY}={bad!r}:")
    assert message.text.endswith("; ignored")


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda s: s.field)
@pytest.mark.parametrize("bad", [-1, "-1", "x", "", True, float("nan"), float("inf"), [1], b"1"])
def test_a_bad_flag_raises_and_names_flag_and_value(setting, bad):
    with pytest.raises(ValueError, match="expected") as caught:
        resolve({setting.field: bad}, {})
    assert f"{setting.flag}={bad!r}" in str(caught.value)


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda s: s.field)
def test_zero_is_accepted_and_warned_of_once(setting):
    for resolved in (resolve({setting.field: 0}, {}), resolve(environ={setting.environment: "0"})):
        assert getattr(resolved.config, setting.field) == 0
        assert [m.text for m in resolved.messages] == [f"{setting.field} is 0: {setting.zero}"]
        assert resolved.messages[0].level == logging.WARNING


@pytest.mark.parametrize("field", ["boundary", "warmup"])
def test_only_1_disables_boundary_and_warmup_and_no_flag_does(field):
    [name] = [s.environment for s in SETTINGS if s.field == field]
    assert getattr(resolve(environ={name: "1"}).config, field) is False
    assert getattr(resolve(environ={name: "0"}).config, field) is True
    other = resolve(environ={name: "true"})
    assert (getattr(other.config, field), other.sources[field]) == (True, "default")
    assert "expected 1 to disable" in other.messages[0].text
    with pytest.raises(ValueError, match=f"{field} has no flag: set {name}=1"):
        resolve({field: False}, {})


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.field)
def test_space_around_a_text_means_nothing(setting):
    text = {"supersede": "off", "snapshot_ttl_seconds": "0.5"}.get(setting.field, "1")
    bare, padded = (resolve(environ={setting.environment: t}) for t in (text, f" {text}\n"))
    assert (bare.config, bare.sources) == (padded.config, padded.sources)
    assert padded.sources[setting.field] == "environment"


@pytest.mark.parametrize(
    ("text", "seconds"), [("0.5", 0.5), (".5", 0.5), ("5.", 5), ("+.25", 0.25), ("7", 7)]
)
def test_seconds_may_have_a_fraction_however_it_is_written(text, seconds):
    assert resolve(environ={TTL: text}).config.snapshot_ttl_seconds == seconds


@pytest.mark.parametrize("bad", [".", "-.5", "1e3", "0x1", "nan", "1.5.2", "half"])
def test_what_is_no_number_of_seconds_is_told_what_would_be(bad):
    [message] = resolve(environ={TTL: bad}).messages
    assert message.text == f"{TTL}={bad!r}: expected a finite number of seconds, 0 or more; ignored"


@pytest.mark.parametrize("field", ["enabled", "boundary", "warmup"])
@pytest.mark.parametrize("bad", [0, 1, None, 1.0])
def test_a_switch_given_as_a_value_is_true_or_false(field, bad):
    with pytest.raises(ValueError, match=f"{field}={bad!r}: expected true or false"):
        PromptCacheConfig(**{field: bad})


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("OFF", False), ("no", False)])
def test_enabled_reads_the_usual_words(text, value):
    assert resolve(environ={"MLXCEL_PROMPT_CACHE_ENABLED": text}).config.enabled is value


def test_unknown_settings_and_fields_are_refused():
    with pytest.raises(
        ValueError, match=r"unknown setting 'capacity': expected one of enabled, min_prefix_tokens"
    ):
        resolve({"capacity": 1}, {})
    with pytest.raises(TypeError, match="capacity"):
        PromptCacheConfig(capacity=1)


def test_an_unknown_rule_is_refused_with_the_rules_there_are():
    with pytest.raises(
        ValueError, match=r"--prompt-cache-supersede='newest': expected one of off, session, origin"
    ):
        resolve({"supersede": "newest"}, {})


@pytest.mark.parametrize(
    "bad",
    [{"snapshot_capacity_bytes": -1}, {"snapshot_capacity_bytes": "5"}, {"enabled": 1}, {"boundary": "1"},
     {"snapshot_ttl_seconds": float("nan")}, {"min_prefix_tokens": 1.0}, {"snapshot_max_entries": True},
     {"supersede": None}],
    ids=str,
)  # fmt: skip
def test_the_config_itself_refuses_bad_values(bad):
    with pytest.raises(ValueError, match="expected") as caught:
        PromptCacheConfig(**bad)
    assert next(iter(bad)) in str(caught.value)


def test_the_config_is_frozen():
    with pytest.raises(FrozenInstanceError):
        PromptCacheConfig().enabled = False


def test_a_flag_of_none_was_not_given():
    assert resolve({"snapshot_max_entries": None}, {}).sources["snapshot_max_entries"] == "default"


def test_the_start_up_log_says_every_value_and_its_source(caplog):
    with caplog.at_level(logging.INFO, logger="mlxcel_lab.config"):
        resolve({"snapshot_ttl_seconds": 0}, {"MLXCEL_LAB_SUPERSEDE": "off"}).log()
    warning, values = caplog.records
    assert warning.levelno == logging.WARNING
    assert "supersede=off (environment)" in values.message
    assert "snapshot_ttl_seconds=0 (flag)" in values.message
    assert all(f"{s.field}=" in values.message for s in SETTINGS)


def test_a_notebook_shows_values_sources_and_messages_escaped():
    shown = resolve(environ={"MLXCEL_LAB_SUPERSEDE": "<b>"})._repr_html_()
    assert "<td>supersede</td><td>origin</td><td>default</td>" in shown
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


@given(st.sampled_from(NUMBERS), st.integers(0, 2**64), st.integers(0, 2**64))
def test_a_number_means_the_same_as_text_in_the_environment_as_a_flag_and_as_a_value(setting, number, other):
    assert getattr(resolve(environ={setting.environment: str(number)}).config, setting.field) == number
    flagged = resolve({setting.field: str(number)}, {setting.environment: str(other)}).config
    assert flagged == PromptCacheConfig(**{setting.field: number})


@given(st.dictionaries(st.sampled_from([s.environment for s in SETTINGS]), st.text(max_size=8)))
def test_no_environment_whatever_makes_a_start_fail(environ):
    resolved = resolve(environ=environ)
    for setting in SETTINGS:
        if resolved.sources[setting.field] == "default":
            assert getattr(resolved.config, setting.field) == getattr(PromptCacheConfig(), setting.field)
