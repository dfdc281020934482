"""mlx-lm's own server on our store: its rule, and the flags that it refuses."""

import pytest

from mlxcel_lab.config import resolve
from mlxcel_lab.serve.mlx_lm_server import prompt_cache, run_server


def test_the_rule_is_by_cache_type_unless_another_one_is_asked_for():
    assert prompt_cache(resolve({}, {})).store.rule.name == "cache_type"
    assert prompt_cache(resolve({"supersede": "off"}, {})).store.rule.name == "off"


@pytest.mark.parametrize("argument", ["--prompt-cache-size", "--prompt-cache-bytes=5"])
def test_the_peers_budget_flags_are_refused_since_they_would_do_nothing(argument):
    with pytest.raises(
        ValueError, match="the store's budget is set by --prompt-cache-snapshot-capacity-bytes"
    ):
        run_server([argument, "1"], resolve({}, {}))
