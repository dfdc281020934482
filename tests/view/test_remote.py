"""A server's journal, followed from outside: the copy shows what the original shows."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from mlxcel_lab.serve import BackgroundServer, ServerSettings
from mlxcel_lab.store import Bucket, CacheKey, Journal, Snapshot, SnapshotStore
from mlxcel_lab.view.dashboard import Dashboard
from mlxcel_lab.view.remote import NoJournalError, RemoteJournal, client_for, is_address

KEY = CacheKey(Bucket(model_id="m"), "alice")


@pytest.fixture
def follow():
    """`follow(store)` gives a client of a real server on that store's routes; with `api_key` a guarded one."""
    running = []

    class Only:
        """An engine that only has a store: these routes ask for no more."""

        def __init__(self, store):
            self.store = store

    def start(store, api_key=None):
        server = BackgroundServer(Only(store), ServerSettings("none", api_key))
        running.append(server)
        return client_for(server.__enter__(), api_key)

    yield start
    for server in running:
        server.__exit__(None, None, None)


def _grow(store, first, last):
    for length in range(first, last):
        store.insert(KEY, Snapshot([1] * (40 + length), 100))
        store.lookup(KEY, [1] * (41 + length))


@pytest.mark.parametrize("max_events", [None, 7])
def test_the_copy_shows_what_the_original_shows_also_where_old_events_were_folded(follow, max_events):
    store = SnapshotStore(journal=Journal(max_events))
    _grow(store, 0, 6)
    follower = RemoteJournal(follow(store))
    _grow(store, 6, 8)
    follower.update()
    assert follower.journal.first_seq <= store.journal.first_seq
    last = store.journal.next_seq - 1
    assert follower.journal.next_seq - 1 == last
    assert [e.snapshot_id for e in follower.journal.state_at(last)] == [
        e.snapshot_id for e in store.journal.state_at(last)
    ]
    assert follower.journal.config_at(last) == store.journal.config_at(last)
    if max_events is None:
        assert follower.journal.frame().events.equals(store.journal.frame().events)


def test_an_update_with_nothing_new_changes_nothing(follow):
    store = SnapshotStore()
    follower = RemoteJournal(follow(store))
    follower.update()
    assert len(follower.journal) == len(store.journal) == 1


def _answers(handler):
    return httpx.Client(base_url="http://lab", transport=httpx.MockTransport(handler))


def test_a_server_that_started_anew_is_told_from_one_where_nothing_happens():
    lines = ['{"kind": "base", "first_seq": 5, "settings": {}, "entries": [], "hits": []}\n', ""]

    def handler(request):
        return httpx.Response(200, text=lines.pop(0), headers={"X-Next-Seq": "2"})

    follower = RemoteJournal(_answers(handler))
    with pytest.raises(ValueError, match="has started anew"):
        follower.update()


def test_a_gap_in_the_events_is_an_error():
    rows = [
        '{"kind": "base", "first_seq": 0, "settings": {}, "entries": [], "hits": []}\n',
        '{"kind": "note", "seq": 3, "time": 0.0, "key": null, "topic": "t", "data": {}}\n',
    ]
    follower = RemoteJournal(
        _answers(lambda _: httpx.Response(200, text=rows.pop(0), headers={"X-Next-Seq": "9"}))
    )
    with pytest.raises(ValueError, match="event 0 is missing, the server sent 3"):
        follower.update()


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(404),
        httpx.Response(200, text="{}"),
        httpx.Response(200, text="[]"),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, text=""),
    ],
    ids=["none", "other", "no object", "a page", "empty"],
)
def test_a_server_without_a_journal_is_told_apart(answer):
    with pytest.raises(NoJournalError):
        RemoteJournal(_answers(lambda _: answer))


def test_an_unreachable_server_raises_as_such():
    def refuse(request):
        raise httpx.ConnectError("refused")

    with pytest.raises(httpx.ConnectError):
        RemoteJournal(_answers(refuse))


def test_addresses_are_told_from_files():
    assert is_address("http://127.0.0.1:8080")
    assert not is_address("runs/journal.parquet")
    assert not is_address(SnapshotStore())


def test_a_dashboard_attaches_to_an_address(follow):
    store = SnapshotStore()
    address = str(follow(store).base_url)
    dashboard = Dashboard(address)
    _grow(store, 0, 3)
    dashboard.refresh()
    assert len(dashboard.journals[0]) == len(store.journal)
    dashboard.close()


def test_a_guarded_server_is_watched_with_its_key_and_followed(follow):
    store = SnapshotStore()
    address = str(follow(store, api_key="sesame").base_url)
    dashboard = Dashboard(address, api_key="sesame")
    _grow(store, 0, 3)
    dashboard.refresh()
    assert len(dashboard.journals[0]) == len(store.journal)
    dashboard.close()


@pytest.mark.parametrize(
    ("options", "said"), [({}, "wants an API key"), ({"api_key": "wrong"}, "refuses this API key")]
)
def test_a_guarded_server_says_that_it_wants_its_key_and_how_to_give_it(follow, options, said):
    address = str(follow(SnapshotStore(), api_key="sesame").base_url)
    with pytest.raises(ValueError, match=rf"{said} \(401\): give its own as api_key='...'"):
        Dashboard(address, **options)


def test_whoever_watched_and_is_gone_leaves_no_connection_open(follow):
    client = follow(SnapshotStore())
    RemoteJournal(client).update()
    assert client._transport._pool.connections == []


@pytest.mark.parametrize("status", [301, 418, 429, 500, 503])
def test_a_server_that_answers_neither_yes_nor_no_is_not_taken_for_one_with_a_journal(status):
    """An answer such as 503 says nothing of a journal: neither that there is one, nor that there is none."""
    with pytest.raises(ValueError, match=f"answers /v1/cache/events with {status}") as refused:
        RemoteJournal(_answers(lambda _: httpx.Response(status)))
    assert not isinstance(refused.value, NoJournalError)


def test_a_key_is_refused_where_no_server_is_watched():
    with pytest.raises(TypeError, match="api_key is for a server"):
        Dashboard(SnapshotStore(), api_key="sesame")


def test_a_dashboard_on_a_server_that_has_only_counters_shows_those():
    class Counters(BaseHTTPRequestHandler):
        def do_GET(self):
            known = self.path == "/v1/cache/stats"
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(json.dumps(SnapshotStore().stats_payload()).encode() if known else b"")

        def log_message(self, *_):
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Counters)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    dashboard = Dashboard(address)
    assert dashboard.children == (dashboard.counters,)
    assert dashboard.counters.watch.latest["snapshot_entries"] == 0
    assert repr(dashboard) == "Dashboard(counters only)"
    dashboard.close()
    with pytest.raises(NoJournalError):
        Dashboard(SnapshotStore(), address)
    server.shutdown()
    server.server_close()
    thread.join()
