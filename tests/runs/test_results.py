"""Results on a folder and behind a URL: whole or not at all."""

import uuid

import pytest

from mlxcel_lab.runs.results import RECORD, FolderResults, UrlResults, open_results


@pytest.fixture(params=["folder", "url"])
def results(request, tmp_path):
    return open_results(tmp_path / "runs" if request.param == "folder" else f"memory://{uuid.uuid4()}/runs/")


def test_what_is_put_is_read_and_the_rest_is_not_there(results):
    results.put("nb/x=1", {"a": b"1", RECORD: b"{}"})
    assert results.read("nb/x=1", "a") == b"1"
    assert results.read("nb/x=1", "b") is None
    assert results.read("nb/x=2", RECORD) is None


def test_a_second_run_replaces_the_whole_first(results):
    results.put("nb/x=1", {"a": b"1", "b": b"1", RECORD: b"1"})
    results.put("nb/x=1", {"a": b"2", RECORD: b"2"})
    assert [results.read("nb/x=1", name) for name in ("a", "b", RECORD)] == [b"2", None, b"2"]


def test_a_write_that_fails_leaves_the_earlier_run_and_no_trace(tmp_path):
    results = FolderResults(tmp_path)
    results.put("nb/x=1", {"a": b"1"})
    with pytest.raises(TypeError):
        results.put("nb/x=1", {"a": b"2", "b": "not bytes"})
    assert results.read("nb/x=1", "a") == b"1"
    assert [p.name for p in tmp_path.iterdir()] == ["nb"]


def test_behind_a_url_the_record_is_written_last(monkeypatch):
    results = UrlResults(f"memory://{uuid.uuid4()}")
    written = []
    monkeypatch.setattr(
        results._fs, "pipe_file", lambda path, content: written.append(path.rsplit("/", 1)[1])
    )
    results.put("nb", {RECORD: b"", "z": b"", "a": b""})
    assert written[-1] == RECORD
    assert set(written) == {RECORD, "z", "a"}


def test_where_is_the_folder_or_the_url(tmp_path):
    assert open_results(tmp_path).where("nb") == str(tmp_path / "nb")
    assert open_results("memory://x/").where("nb") == "memory://x/nb"
