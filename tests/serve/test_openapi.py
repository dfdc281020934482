"""Whatever the server's own OpenAPI description allows or forbids: an answer, never a failure of the server."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from mlxcel_lab.serve import BackgroundServer, ServerSettings

from .conftest import MODEL, make_engine

OPERATIONS = {
    "/v1/chat/completions": 120,  # path -> how many requests are tried
    "/v1/cache/events": 25,
    "/v1/cache/entries": 5,
    "/v1/cache/reset": 5,
    "/v1/cache/stats": 5,
    "/v1/models": 5,
    "/health": 5,
    "/metrics": 5,
}


@pytest.fixture(scope="module")
def schema():
    engine = make_engine("dense")
    with BackgroundServer(engine, ServerSettings(MODEL, max_tokens=4, default_max_tokens=2)) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")
    engine.close()


def _operation(schema, path):
    (operation,) = (o.ok() for o in schema.get_all_operations() if o.ok().path == path)
    return operation


def test_every_route_that_the_server_describes_is_tried(schema):
    assert {o.ok().path for o in schema.get_all_operations()} == set(OPERATIONS)


@pytest.mark.slow
@pytest.mark.parametrize("path", OPERATIONS)
@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
def test_no_request_makes_the_server_fail(schema, path):
    seen = set()

    @settings(
        max_examples=OPERATIONS[path], deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=_operation(schema, path).as_strategy())
    def try_one(case):
        if isinstance(case.body, dict) and isinstance(case.body.get("model"), str):
            case.body["model"] = MODEL  # else nearly every request ends at an unknown model
        if isinstance(case.query, dict):
            case.query.pop("follow", None)  # that answer never ends by itself
        answer = case.call()
        seen.add(answer.status_code)
        assert answer.status_code < 500, answer.text

    try_one()
    assert 200 in seen, f"only {sorted(seen)}: no request came through"
