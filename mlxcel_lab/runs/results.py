"""Where results lie: a local or shared folder, or any fsspec URL. A run is written whole or not at all.

On a folder a run is written aside and renamed into place. Object stores have no rename, so there `run.json` is written
last: a run without it doesn't exist.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

RECORD = "run.json"
NOTEBOOK = "notebook.ipynb"
RESULT = "result-{}.parquet"  # of the digest of its columns and their types; see `frame`


class Results(Protocol):
    """A root below which runs lie in folders of their own."""

    root: str

    def put(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Write a run's files, replacing the whole run that is there."""

    def read(self, folder: str, name: str) -> bytes | None:
        """The contents of one of a run's files; None where there is none."""

    def remove(self, folder: str) -> None:
        """Remove that folder and what is in it."""

    def records(self, folder: str) -> Iterator[bytes]:
        """The contents of each run.json below that folder, in no order."""

    def where(self, folder: str) -> str:
        """The folder, as a person would open it."""


def open_results(root: str | Path) -> Results:
    """The results below a folder, or below a URL like `s3://bucket/runs` (needs the extra `cluster`)."""
    return UrlResults(str(root)) if "://" in str(root) else FolderResults(root)


class FolderResults:
    """Results below a folder."""

    def __init__(self, root: str | Path) -> None:
        self.root = str(root)
        self._root = Path(root)

    def put(self, folder: str, files: Mapping[str, bytes]) -> None:
        target = self._root / folder
        aside = self._root / f".writing-{uuid.uuid4().hex}"
        aside.mkdir(parents=True)
        try:
            for name, content in files.items():
                (aside / name).write_bytes(content)
            target.parent.mkdir(parents=True, exist_ok=True)
            self._replace(aside, target)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _replace(self, aside: Path, target: Path) -> None:
        # A folder can't be renamed over a full one. Dying between the two renames loses the old run, which was to be
        # replaced anyway, and leaves no half of either: the next sweep runs it again.
        old = aside.with_name(aside.name + "-old")
        if target.exists():
            target.rename(old)
        aside.rename(target)
        shutil.rmtree(old, ignore_errors=True)

    def read(self, folder: str, name: str) -> bytes | None:
        try:
            return (self._root / folder / name).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, folder: str) -> None:
        shutil.rmtree(self._root / folder, ignore_errors=True)

    def records(self, folder: str) -> Iterator[bytes]:
        return (path.read_bytes() for path in (self._root / folder).rglob(RECORD))

    def where(self, folder: str) -> str:
        return str(self._root / folder)


class UrlResults:
    """Results below a URL of any file system that fsspec knows."""

    def __init__(self, root: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise ImportError(f"{root} needs fsspec: pip install 'mlxcel_lab[cluster]'") from None
        self.root = root.rstrip("/")
        self._fs, self._path = fsspec.core.url_to_fs(self.root)

    def put(self, folder: str, files: Mapping[str, bytes]) -> None:
        target = f"{self._path}/{folder}"
        if self._fs.exists(target):
            self._fs.rm(target, recursive=True)
        self._fs.makedirs(target, exist_ok=True)
        for name in sorted(files, key=lambda name: name == RECORD):
            self._fs.pipe_file(f"{target}/{name}", files[name])

    def read(self, folder: str, name: str) -> bytes | None:
        try:
            content: bytes = self._fs.cat_file(f"{self._path}/{folder}/{name}")
        except FileNotFoundError:
            return None
        return content

    def remove(self, folder: str) -> None:
        self._fs.rm(f"{self._path}/{folder}", recursive=True)

    def records(self, folder: str) -> Iterator[bytes]:
        return (self._fs.cat_file(path) for path in self._fs.glob(f"{self._path}/{folder}/**/{RECORD}"))

    def where(self, folder: str) -> str:
        return f"{self.root}/{folder}"

    def results(self) -> Iterator[bytes]:
        """The contents of each result below the URL."""
        return (self._fs.cat_file(path) for path in self._fs.glob(f"{self._path}/**/*.parquet"))
