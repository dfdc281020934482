"""The dashboard in a real JupyterLab and a real browser: what a person does with it, offline."""

import re

import papermill
import pytest
from playwright.sync_api import expect

from mlxcel_lab.paths import notebooks_dir

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
NOTEBOOK = "notebooks/01_dashboard.ipynb"
STOPPED = re.compile(r"^[0-9] of 1[01] messages$")


class Board:
    """The dashboard on the page: its picture, and a person's verbs."""

    def __init__(self, lab, theme="light"):
        self.lab, self.page = lab, lab.page
        lab.open(NOTEBOOK, theme)
        lab.run_all(240)
        self.root = self.page.locator(".mlxl").first
        self.all = self.page.locator(".mlxl-controls").first
        self.page.set_viewport_size({"width": 1280, "height": 1900})  # the whole dashboard is in sight
        self.root.scroll_into_view_if_needed()

    def expect(self, name, value):
        expect(self.root).to_have_attribute(f"data-{name}", value)

    def number(self, name):
        return int(self.root.get_attribute(f"data-{name}"))

    def press(self, button):
        self.page.locator(f"button.mlxl-{button}").click()

    def says(self, text):
        expect(self.all).to_contain_text(text)

    def click_at(self, panel, x, y):
        """A click on a panel's canvas; x counts from its left edge in shares of its width, y in pixels."""
        box = self.root.locator("canvas.mlxl-over").nth(panel).bounding_box()
        self.page.mouse.click(box["x"] + x * box["width"], box["y"] + y)

    def colours(self):
        """How many colours the first picture has: an empty canvas has one."""
        return self.root.locator("canvas").first.evaluate(
            """canvas => {
                const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
                return new Set(new Uint32Array(data.buffer)).size;
            }"""
        )

    def shot(self, name):
        self.all.screenshot(path=self.lab.artefacts / f"dashboard-{name}.png")


def _visit_moments(board):
    slider = board.root.get_by_role("slider", name="Event")
    slider.fill("20")
    board.expect("cursor", "20")
    board.says("event 21 of 56")
    slider.press("ArrowRight")
    board.expect("cursor", "21")
    board.root.focus()
    board.page.keyboard.press("Home")
    board.expect("cursor", "0")
    board.says("Turn 1 · A")
    board.says("first request")
    board.page.keyboard.press("Space")
    expect(board.root).not_to_have_attribute("data-cursor", "0")
    board.page.keyboard.press("Space")
    board.page.keyboard.press("End")
    board.expect("cursor", "-1")
    board.says("Turn 10 · B")


def _click_an_eviction(board):
    board.click_at(0, 0.995, 212)  # the rail's row of evictions, beyond the last one
    expect(board.root).not_to_have_attribute("data-cursor", "-1")
    board.says("evicted for the budget")
    board.says("Raise the budget by what was missing")
    board.says("155 of 177 tokens come from snapshot")
    board.shot("clicked")


def _hover_and_zoom(board):
    box = board.root.locator("canvas.mlxl-over").first.bounding_box()
    board.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60)
    expect(board.root.get_by_role("tooltip")).to_contain_text("·")
    draws = board.number("draws")
    board.page.mouse.move(box["x"] + 300, box["y"] + 60)
    board.page.mouse.down()
    board.page.mouse.move(box["x"] + 450, box["y"] + 60, steps=4)
    board.page.mouse.up()
    expect(board.root).not_to_have_attribute("data-draws", str(draws))
    board.shot("zoomed")
    board.page.mouse.dblclick(box["x"] + 300, box["y"] + 60)


def _compare_two_budgets(board):
    board.page.locator(".mlxl-controls .widget-toggle-button", has_text="origin").nth(1).click()
    board.expect("panels", "1")  # nothing differs now
    handle = board.page.locator(".mlxl-controls .noUi-handle").nth(1)
    handle.focus()
    for _ in range(4):
        handle.press("ArrowLeft")
    board.expect("panels", "2")
    board.says("supersede origin, budget 1.5 snapshots")
    board.says("supersede origin, budget 2.5 snapshots")
    board.says("10 of 10 messages")
    board.shot("budgets")


def _step_stop_and_type(board):
    board.press("reset")
    board.expect("events", "0")
    board.press("step")
    board.says("1 of 10 messages")
    board.press("run")
    stop = board.page.locator("button.mlxl-stop")
    expect(stop).to_be_enabled()
    board.press("stop")
    expect(stop).to_be_disabled()
    expect(board.page.locator(".mlxl-status")).to_have_text(STOPPED)
    before = board.number("events")
    board.page.get_by_placeholder("Type a message").fill("And in June, is it still quiet there?")
    board.press("send")
    board.says("of 11 messages")
    board.says("And in June, is it still quiet there?")
    assert board.number("events") > before
    board.shot("typed")


def test_a_person_travels_in_time_asks_why_compares_stops_and_talks(lab):
    board = Board(lab)
    board.says("40 % hit rate")
    board.says("80 % hit rate")
    board.shot("story-light")
    _visit_moments(board)
    _click_an_eviction(board)
    _hover_and_zoom(board)
    _compare_two_budgets(board)
    _step_stop_and_type(board)


def test_the_story_is_drawn_in_the_dark_theme_too(lab):
    board = Board(lab, "dark")
    board.expect("events", "56")
    board.expect("panels", "2")
    assert board.colours() > 20
    board.shot("story-dark")


def test_an_executed_notebook_that_nobody_trusts_shows_the_picture(lab, lab_server):
    executed = lab_server.root / "executed.ipynb"
    papermill.execute_notebook(
        notebooks_dir() / "01_dashboard.ipynb",
        executed,
        {"model": "dry/gated-delta"},
        kernel_name="python3",
        progress_bar=False,
    )
    lab.open("executed.ipynb")
    picture = lab.page.locator(".jp-OutputArea img[src^='data:image/png']").first
    picture.wait_for()
    assert picture.evaluate("image => image.naturalWidth") > 600
    assert lab.page.locator(".mlxl").count() == 0
    lab.screenshot("dashboard-untrusted")
