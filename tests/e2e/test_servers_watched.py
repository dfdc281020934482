"""The dashboard on servers, in a real browser: the lab's own journal, and a foreign server's counters."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import nbformat
import pytest

from mlxcel_lab.engine import Engine, load
from mlxcel_lab.serve import BackgroundServer, ServerSettings
from mlxcel_lab.store import Note, SnapshotStore

pytestmark = pytest.mark.e2e
SYSTEM = {
    "role": "system",
    "content": "You are a patient guide of the mountains and keep your answers short.",
}


def _write(lab, name, address):
    cell = nbformat.v4.new_code_cell(
        "%load_ext mlxcel_lab\nfrom mlxcel_lab.view.dashboard import Dashboard\n"
        f"dash = Dashboard({address!r})\ndash"
    )
    python = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=python), lab.server.root / name)


def _talk(url, turns):
    for user in ("alice", "bob"):
        messages = [SYSTEM, {"role": "user", "content": "Where does the path begin?"}]
        for _ in range(turns):
            body = {"model": "dense", "messages": messages, "user": user, "max_tokens": 6}
            reply = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=60).raise_for_status().json()
            messages += [reply["choices"][0]["message"], {"role": "user", "content": "And then?"}]


def test_a_running_server_is_watched_while_it_serves(lab):
    store = SnapshotStore()
    with BackgroundServer(Engine(load("dense"), store), ServerSettings("dense")) as url:
        _talk(url, 1)
        _write(lab, "served.ipynb", url)
        lab.open("served.ipynb")
        lab.run_all()
        lab.page.get_by_text("alice", exact=True).first.wait_for()
        before = store.stats().supersedes
        _talk(url, 3)
        assert store.stats().supersedes > before
        last = sum(not isinstance(event, Note) for event in store.journal)
        lab.page.get_by_text(f"event {last} of {last}").first.wait_for()
        lab.screenshot("dashboard-served")


def test_a_foreign_servers_counters_are_drawn_and_their_limits_said(lab):
    store = SnapshotStore()

    class Counters(BaseHTTPRequestHandler):
        def do_GET(self):
            known = self.path == "/v1/cache/stats"
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(json.dumps(store.stats_payload()).encode() if known else b"")

        def log_message(self, *_):
            """Quiet."""

    foreign = ThreadingHTTPServer(("127.0.0.1", 0), Counters)
    thread = threading.Thread(target=foreign.serve_forever)
    thread.start()
    try:
        with BackgroundServer(Engine(load("dense"), store), ServerSettings("dense")) as url:
            _write(lab, "foreign.ipynb", f"http://127.0.0.1:{foreign.server_port}")
            lab.open("foreign.ipynb")
            lab.run_all()
            _talk(url, 3)
            lab.page.get_by_text("superseded", exact=True).first.wait_for()
            lab.page.get_by_text("What counters can't tell").click()
            lab.page.get_by_text("why a lookup missed").wait_for()
            lab.screenshot("dashboard-foreign")
    finally:
        foreign.shutdown()
        foreign.server_close()
        thread.join()
