"""A real JupyterLab, a real Chromium, and no network: what the browser tests share.

`lab` is the page of one test. It opens notebooks of a copy of the project's, drives the menus as a person does, keeps
screenshots under `artefacts/` (or $MLXCEL_LAB_ARTEFACTS), and at the end asserts that no request left the machine.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from urllib.parse import urlparse

import pytest

from mlxcel_lab.paths import notebooks_dir

REPOSITORY = Path(__file__).parents[2]
HERE = ("127.0.0.1", "localhost")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
# Cells outside the viewport are otherwise not in the page at all, and news are asked for on the internet.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
}


def _free_port():
    with socket.socket() as probe:
        probe.bind((HERE[0], 0))
        return probe.getsockname()[1]


class LabServer:
    """JupyterLab on a free port with folders of its own; `root` is what its file browser shows."""

    def __init__(self, folder):
        self.folder, self.root = folder, folder / "root"
        self.url = f"http://{HERE[0]}:{_free_port()}"
        shutil.copytree(notebooks_dir(), self.root / "notebooks")
        for name, values in SETTINGS.items():
            self.write_setting(name, values)

    def write_setting(self, name, values):
        path = self.folder / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))

    def command(self):
        port = urlparse(self.url).port
        options = f"--no-browser --allow-root --ServerApp.ip={HERE[0]} --ServerApp.port={port}"
        options += " --ServerApp.port_retries=0 --IdentityProvider.token= --ServerApp.disable_check_xsrf=True"
        return [sys.executable, "-m", "jupyterlab", *options.split(), f"--ServerApp.root_dir={self.root}"]

    def environ(self):
        names = {"CONFIG_DIR": "config", "DATA_DIR": "data", "RUNTIME_DIR": "runtime"}
        folders = {f"JUPYTER_{name}": str(self.folder / sub) for name, sub in names.items()}
        folders["JUPYTERLAB_SETTINGS_DIR"] = str(self.folder / "settings")
        folders["JUPYTERLAB_WORKSPACES_DIR"] = str(self.folder / "workspaces")
        return {**os.environ, **folders, "IPYTHONDIR": str(self.folder / "ipython")}

    def shut_down_kernels(self):
        """So that the next test, and the next theme, begins with a fresh kernel and a free machine."""
        with urllib.request.urlopen(f"{self.url}/api/sessions") as answer:
            sessions = [session["id"] for session in json.load(answer)]
        for session in sessions:
            request = urllib.request.Request(f"{self.url}/api/sessions/{session}", method="DELETE")
            urllib.request.urlopen(request).close()


_RUN_ENDED = """() =>
  document.querySelector('.jp-OutputArea-output[data-mime-type*="error"]') !== null
  || [...document.querySelectorAll(".jp-CodeCell .jp-InputArea-prompt")].every((p) => /\\d/.test(p.textContent))"""


class LabPage:
    """One browser page on that server, with a person's verbs."""

    def __init__(self, page, server, artefacts):
        self.page, self.server, self.artefacts = page, server, artefacts
        self.abroad = []
        page.on("request", self._note_request)
        page.set_default_timeout(60_000)

    def _note_request(self, request):
        url = urlparse(request.url)
        if url.scheme in ("http", "https", "ws", "wss") and url.hostname not in HERE:
            self.abroad.append(request.url)

    def open(self, path, theme="light"):
        """Opens a notebook (relative to the server's root) in that theme and waits for its kernel."""
        self.server.write_setting("apputils-extension/themes", {"theme": THEMES[theme]})
        self.page.goto(f"{self.server.url}/lab/tree/{path}?reset")
        self.page.locator(".jp-Notebook").wait_for()
        self.wait_until_idle()

    def wait_until_idle(self, seconds=60):
        self.page.locator("#jp-main-statusbar", has_text="| Idle").wait_for(timeout=seconds * 1000)

    def menu(self, menu, item):
        self.page.get_by_role("menuitem", name=menu, exact=True).first.click()
        self.page.locator(".lm-Menu-item", has_text=item).first.click()

    def run_all(self, seconds=240):
        """Run > Run All Cells, until every code cell has been executed; an error in a cell fails the test at once."""
        self.menu("Run", "Run All Cells")
        self.page.wait_for_function(_RUN_ENDED, timeout=seconds * 1000)
        assert not self._errors(), self._errors()[0]
        self.wait_until_idle()

    def _errors(self):
        return self.page.locator('.jp-OutputArea-output[data-mime-type*="error"]').all_inner_texts()

    def save(self):
        self.menu("File", "Save Notebook")
        self.page.locator(".lm-DockPanel .lm-TabBar-tab.lm-mod-current:not(.jp-mod-dirty)").wait_for()

    def screenshot(self, name):
        """A picture of the notebook in its whole length, among the artefacts; returns its path."""
        bottom = "document.querySelector('.jp-Notebook .jp-WindowedPanel-inner').scrollHeight"
        self.page.set_viewport_size({"width": 1280, "height": self.page.evaluate(bottom) + 120})
        cells = [cell.bounding_box() for cell in self.page.locator(".jp-Notebook .jp-Cell").all()]
        first, last = cells[0], cells[-1]
        clip = {"x": first["x"], "y": first["y"], "width": first["width"]}
        path = self.artefacts / f"{name}.png"
        self.page.screenshot(path=path, clip={**clip, "height": last["y"] + last["height"] - first["y"]})
        return path


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory):
    server = LabServer(tmp_path_factory.mktemp("jupyterlab"))
    process = subprocess.Popen(
        server.command(), env=server.environ(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    said = []
    listener = threading.Thread(
        target=said.extend, args=(process.stdout,)
    )  # a full pipe would stop JupyterLab
    try:
        for line in process.stdout:
            said.append(line)
            if "is running at" in line:
                break
        else:
            pytest.fail("".join(said))
        listener.start()
        yield server
    finally:
        process.terminate()
        process.wait(timeout=30)
        if listener.ident is not None:
            listener.join()


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium on the PATH: install one (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def artefacts():
    folder = Path(os.environ.get("MLXCEL_LAB_ARTEFACTS", REPOSITORY / "artefacts"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def lab(lab_server, browser, artefacts):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    lab = LabPage(page, lab_server, artefacts)
    yield lab
    page.close()
    lab_server.shut_down_kernels()
    assert lab.abroad == [], "a request left the machine"
