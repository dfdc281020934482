"""A real server on a lab model, on a free port of this machine, and the real OpenAI client."""

import httpx
import openai
import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.engine import Engine, load
from mlxcel_lab.serve import BackgroundServer, ServerSettings
from mlxcel_lab.store import Journal, SnapshotStore

MODEL = "gated-delta"
SYSTEM = {
    "role": "system",
    "content": "You are a patient guide of the mountains. Answer in one short sentence, and never mention the sea.",
}


def make_engine(name=MODEL, max_events=None, **config):
    """An engine whose warm-ups are off, so that what a test counts is what its requests did."""
    journal = Journal(max_events=max_events, keep_tokens=False)
    store = SnapshotStore(PromptCacheConfig(**{"warmup": False, **config}), journal=journal)
    return Engine(load(name), store)


class Served:
    """A running server, as a test sees it."""

    def __init__(self, server, engine, api_key="none"):
        self.url = url = server.__enter__()
        self._server = server
        self.engine = engine
        self.http = httpx.Client(base_url=url, timeout=30)
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key=api_key, max_retries=0, timeout=60)

    def stop(self):
        self._server.__exit__(None, None, None)

    @property
    def stats(self):
        return self.http.get("/v1/cache/stats").json()

    def chat(self, messages, **options):
        return self.openai.chat.completions.create(
            **{"model": MODEL, "max_tokens": 6, "messages": messages, **options}
        )


@pytest.fixture
def serve():
    """`serve(engine=…, **settings)` starts a server; it stops when the test ends."""
    running = []

    def start(engine=None, **settings):
        engine = engine or make_engine()
        running.append(Served(BackgroundServer(engine, ServerSettings(MODEL, **settings)), engine))
        return running[-1]

    yield start
    for served in running:
        served.http.close()
        served.openai.close()
        served.stop()
        served.engine.close()


@pytest.fixture
def served(serve):
    return serve()
