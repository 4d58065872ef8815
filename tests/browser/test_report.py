"""The page that explains a job, in a real browser: what a reader can do with it, and what it never does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.reports import HOSTILE, everything, large, written

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PHONE = {"width": 375, "height": 740}
DESK = {"width": 1280, "height": 900}


class Reader:
    """Opens pages and notes what the browser complains of and what a page asks of the network."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self._browser, self._folder = browser, folder
        self.complaints: list[str] = []
        self.asked: list[str] = []

    def open(self, made: bytes, **how: Any) -> Page:
        page = self._browser.new_page(**{"viewport": DESK, **how})
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(written(self._folder, made))
        return page


@pytest.fixture
def reader(browser: Browser, tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(browser, tmp_path)
    yield reader
    assert reader.complaints == []
    assert [url for url in reader.asked if not url.startswith(("file:", "data:"))] == []


def test_it_opens_with_its_drawings(reader: Reader) -> None:
    page = reader.open(everything())
    assert page.title() == "a word · Bellwren"
    assert page.locator("#forecast canvas").count() == 1
    assert page.locator("#supersteps canvas").count() == 1
    headings = page.locator("h2").all_inner_texts()
    assert headings[:4] == ["At a glance", "Failures", "Timeline", "Forecast and outcome"]
    assert {"Supersteps", "Stages", "Cost", "Workers"} <= set(headings)


def test_pointing_at_a_bar_says_what_it_is(reader: Reader) -> None:
    page = reader.open(everything())
    page.locator(".bar.backup").hover()
    assert "map, task 2 (backup, committed)" in page.locator("#detail").inner_text()


def test_pointing_at_the_forecast_gives_its_figures(reader: Reader) -> None:
    page = reader.open(everything())
    page.locator("#forecast .u-over").hover(position={"x": 2, "y": 50})
    said = page.locator("#forecast .u-legend").inner_text()
    assert "18" in said  # seconds of one worker
    page.locator("#forecast .u-over").hover(position={"x": 2, "y": 60})


def test_a_kind_of_bars_can_be_hidden_and_shown(reader: Reader) -> None:
    page = reader.open(everything())
    box = page.get_by_label("own task")
    assert page.locator(".bar.home").first.is_visible()
    box.uncheck()
    assert not page.locator(".bar.home").first.is_visible()
    assert page.locator(".bar.failed").first.is_visible()
    box.check()
    assert page.locator(".bar.home").first.is_visible()


def test_the_keyboard_reaches_everything(reader: Reader) -> None:
    page = reader.open(everything())
    reached = []
    while "body" not in reached and len(reached) < 40:  # behind the last one the page itself has the focus
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.tagName.toLowerCase()"))
        if reached[-1] == "svg":
            page.keyboard.press("ArrowRight")
            first = page.locator("#detail").inner_text()
            page.keyboard.press("ArrowRight")
            second = page.locator("#detail").inner_text()
            page.keyboard.press("ArrowLeft")
            assert first.startswith("map, worker 0")
            assert second.startswith("map, task 0")
            assert page.locator("#detail").inner_text() == first
        if reached[-1] == "summary":
            page.keyboard.press("Enter")
    assert reached.count("input") == page.locator("input").count()
    assert page.locator("details[open]").count() == page.locator("details").count()


@pytest.mark.parametrize("made", [everything, large])
def test_a_phone_shows_it_without_moving_the_page_sideways(reader: Reader, made: Any) -> None:
    page = reader.open(made(), viewport=PHONE, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    names = page.locator(".lane").first
    assert names.evaluate("one => parseFloat(getComputedStyle(one).fontSize)") >= 11
    page.locator(".timeline").evaluate("one => one.scrollLeft = 200")
    assert names.is_visible()
    assert page.locator(".lanes").bounding_box()["x"] >= 0  # the names stay in sight
    page.locator(".bar").last.tap(force=True)
    assert page.locator("#detail").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_by_day_and_by_night(reader: Reader, scheme: str) -> None:
    page = reader.open(everything(), color_scheme=scheme)
    paper = luminance(page, "body", "backgroundColor")
    assert (paper < 0.1) == (scheme == "dark")
    for place in ("h1", "td", ".lane", "#detail", "#forecast .u-legend"):
        ink = luminance(page, place, "color")
        lighter, darker = max(ink, paper), min(ink, paper)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, place  # WCAG 2.1, AA


def luminance(page: Page, place: str, what: str) -> float:
    """Relative luminance of a colour, as WCAG 2.1 has it."""
    css = page.locator(place).first.evaluate(f"one => getComputedStyle(one).{what}")
    parts = [float(one) / 255 for one in css[css.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_markup_in_the_users_data_is_text(reader: Reader) -> None:
    page = reader.open(everything(HOSTILE))
    for one in page.locator("summary").all():
        one.click()
    page.locator(".bar").first.hover(force=True)
    assert page.title().startswith("</script>")
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == HOSTILE


def test_a_thousand_workers_are_one_page(reader: Reader) -> None:
    made = large()
    assert len(made) < 1_000_000
    page = reader.open(made)
    assert page.locator(".lane").count() == 100
    page.locator(".bar.home").first.hover(force=True)
    assert page.locator("#detail").inner_text() == "map · worker 0 to 9: own task, 100 in all"
