"""The page in a real browser: what strangers' names do to it, sorting, dark, paper, narrow."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fix_reports import AT, HOSTILE, SCOPE, read_of
from playwright.sync_api import Browser, Page, sync_playwright

from satchel_warehouse.reports import drawing
from satchel_warehouse.reports.catalog import REPORTS
from satchel_warehouse.reports.page import page

CHROMIUM = shutil.which("chromium")
NEEDS_CHROMIUM = pytest.mark.skipif(not CHROMIUM, reason="needs the system package chromium")
NONCE = bytes(range(16))
NAMES = ("planner", "coder", "reviewer", "desk", "laptop")


def made(name: str, names: tuple[str, ...] = NAMES, **given: object) -> str:
    return page(read_of(REPORTS[name], names, **given), drawing.svg, NONCE)  # type: ignore[arg-type]


class _Tags(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def hostile() -> str:
    return made("overview", HOSTILE, rows=15)


def test_the_page_needs_nothing_else_and_holds_no_foreign_tag(hostile: str) -> None:
    parsed = _Tags()
    parsed.feed(hostile)
    count = {tag: sum(one == tag for one, _ in parsed.tags) for tag, _ in parsed.tags}
    assert count["script"] == count["style"] == 1
    assert count["h1"] == 1
    assert not count.keys() & {"img", "iframe", "object", "embed", "form", "base", "use", "image"}
    every = [
        (key, value or "") for _, attributes in parsed.tags for key, value in attributes.items()
    ]
    assert not [key for key, _ in every if key.startswith("on") or key == "style"]
    links = [value for key, value in every if key in ("href", "src", "action", "xlink:href")]
    assert all(link.startswith("#") or link == "data:," for link in links)
    ids = [value for key, value in every if key == "id"]
    assert len(set(ids)) == len(ids)
    assert "{{ 7 * 7 }}" in hostile, "a name is no template"
    assert "49 {%" not in hostile
    assert "\x1b" not in hostile
    assert "\u202e" not in hostile
    style = hostile.partition("<style")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_only_what_bears_the_nonce_may_run(hostile: str) -> None:
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', hostile)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    nonces = set(re.findall(r"nonce-([^']+)'", policy)) | set(
        re.findall(r'nonce="([^"]+)"', hostile)
    )
    assert nonces == {"AAECAwQFBgcICQoLDA0ODw=="}


def test_an_empty_warehouse_gives_a_readable_page() -> None:
    for report in REPORTS.values():
        empty = made(report.name, rows=0)
        assert "There is nothing to report yet" in empty
        assert "<svg" not in empty
        for section in report.sections:
            assert section.empty.split("`")[0].split("'")[0] in empty


def test_the_head_of_the_overview_says_it_in_short() -> None:
    text = made("overview")
    head = text.partition('id="short-title"')[2].partition("</ul>")[0]
    links = re.findall(r'href="#(\w+)"', head)
    assert tuple(links) == REPORTS["overview"].short
    assert "tasks came in" in head
    for report in REPORTS.values():
        assert set(report.short) <= {section.name for section in report.sections}


def test_how_fresh_it_is_is_told() -> None:
    assert "2026-11-30 11:00 UTC" in made("machines")
    for report in REPORTS.values():
        never = made(report.name, fresh=False)
        assert "never made ready" in never
        assert "There is nothing to report yet" not in never
        for section in report.sections:
            assert section.live or section.empty.split("`")[0].split("'")[0] not in never
        values = re.findall(r'class="value">([^<]*)<', never)
        assert values == [
            "7" if tile.column.name in report.live else "–" for tile in report.tiles
        ], "what is not known is no number"
    late = type(SCOPE)(since=SCOPE.since, until=SCOPE.until, at=AT.replace(month=12))
    assert "made ready 30 d ago" in made("machines", scope=late)


def test_a_long_table_says_where_the_rest_is() -> None:
    long = made("knowledge", rows=450)
    assert "200 rows of 450" in long
    assert "satchel report run knowledge --format csv --section latest_changes" in long


# ---- in the browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, hostile: str) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "hostile.html").write_text(hostile, "utf-8")
    (folder / "machines.html").write_text(made("machines"), "utf-8")
    return folder


class Opened:
    """A page in the browser, with all that it complained of or asked the network for."""

    def __init__(self, browser: Browser, file: Path, **given: object) -> None:
        self.page: Page = browser.new_page(**given)  # type: ignore[arg-type]
        self.troubles: list[str] = []
        self.page.on("console", lambda said: self.troubles.append(said.text))
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", lambda asked: self._asked(asked.url))
        self.page.goto(file.as_uri())

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:")):
            self.troubles.append(url)

    def column(self, number: int) -> list[str]:
        cells = self.page.locator(f"#standing tbody tr td:nth-child({number})")
        return [cell or "" for cell in cells.evaluate_all("all => all.map(c => c.dataset.sort)")]


@NEEDS_CHROMIUM
def test_names_hurt_nobody(browser: Browser, files: Path) -> None:
    opened = Opened(browser, files / "hostile.html")
    opened.page.wait_for_timeout(200)
    assert opened.troubles == []
    assert opened.page.evaluate("window.hurt") is None
    assert opened.page.locator("h1").all_inner_texts() == ["Overview"]
    assert "<script>window.hurt = 1</script>" in opened.page.inner_text("body")


@NEEDS_CHROMIUM
def test_what_slipped_in_would_not_run(browser: Browser, files: Path, tmp_path: Path) -> None:
    """The policy holds even where the escaping should fail."""
    text = (files / "hostile.html").read_text("utf-8")
    slipped = '<script>window.hurt = 1</script><img src="x" onerror="window.hurt = 2">'
    (tmp_path / "slipped.html").write_text(text.replace("</main>", slipped + "</main>"), "utf-8")
    opened = Opened(browser, tmp_path / "slipped.html")
    opened.page.wait_for_timeout(200)
    assert opened.page.evaluate("window.hurt") is None
    assert any("Content Security Policy" in said for said in opened.troubles)


@NEEDS_CHROMIUM
def test_a_table_is_sorted_by_its_headings(browser: Browser, files: Path) -> None:
    opened = Opened(browser, files / "machines.html")
    opened.page.evaluate("document.querySelector('#standing details').open = true")
    head = opened.page.locator("#standing thead th")
    before = opened.column(7)
    number = head.nth(6)
    number.get_by_role("button").click()
    assert number.get_attribute("aria-sort") == "descending", "of numbers the largest first"
    assert opened.column(7) == sorted(before, key=int, reverse=True)
    number.get_by_role("button").press("Enter")
    assert number.get_attribute("aria-sort") == "ascending"
    assert opened.column(7) == sorted(before, key=int)
    head.nth(1).get_by_role("button").press("Space")
    assert opened.column(2) == sorted(opened.column(2))
    assert number.get_attribute("aria-sort") is None
    assert opened.page.inner_text("#told").endswith("sorted by Host, ascending")
    assert opened.troubles == []


@NEEDS_CHROMIUM
def test_dark_paper_and_narrow(browser: Browser, files: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    bar = "getComputedStyle(document.querySelector('svg [fill=\"var(--c1)\"]')).fill"
    light = Opened(browser, files / "hostile.html", color_scheme="light").page
    dark = Opened(browser, files / "hostile.html", color_scheme="dark").page
    colours = [(page.evaluate(ground), page.evaluate(bar)) for page in (light, dark)]
    assert colours[0][0] == "rgb(255, 255, 255)"
    assert colours[0][0] != colours[1][0]
    assert colours[0][1] != colours[1][1], "a chart takes the page's colours"
    dark.emulate_media(media="print", color_scheme="dark")
    assert dark.evaluate(bar) == colours[0][1], "on paper it is light"
    assert not dark.locator("nav").is_visible()
    assert dark.pdf(format="A4").startswith(b"%PDF")
    wide = Opened(browser, files / "machines.html", viewport={"width": 1280, "height": 900}).page
    table = "document.querySelector('#standing .scroll:has(table)')"
    assert wide.evaluate(f"{table}.scrollWidth - {table}.clientWidth") <= 0, "no column is hidden"
    phone = {"width": 360, "height": 700}
    narrow = Opened(browser, files / "hostile.html", viewport=phone).page
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 360


@NEEDS_CHROMIUM
def test_a_screen_reader_finds_its_way(browser: Browser, files: Path) -> None:
    page = Opened(browser, files / "machines.html").page
    assert page.locator("html").get_attribute("lang") == "en"
    for section in REPORTS["machines"].sections:
        region = page.get_by_role("region", name=section.title, exact=True)
        assert region.count() == 1
        assert region.get_by_role("heading", level=2).inner_text() == section.title
    assert page.locator("svg:not([aria-hidden=true])").count() == 0
    assert page.locator("figure figcaption").count() == page.locator("figure").count() > 0
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("th:not([scope=col])").count() == 0
