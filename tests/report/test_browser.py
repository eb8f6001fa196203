"""The page in a real browser: headless Chromium.

The page is in a frame as wide as a phone. A script outside the frame acts like a reader and records
what it sees; Chromium then prints the document.
"""

import html as html_texts
import json
import re
import subprocess

import pytest

from browser import CHROMIUM, QUIET
from needs import needs_chromium
from polytomy.report import report_html
from polytomy.trials import Results
from report.cases import make_results
from report.pages import parse_page

FLAGS = [*QUIET, "--enable-logging=stderr", "--dump-dom"]
TRY = """
const frame = document.querySelector("iframe"), seen = {};
frame.addEventListener("load", () => {
  const page = frame.contentDocument, view = frame.contentWindow, root = page.documentElement;
  const find = (selector) => page.querySelector(selector);
  const colour = (selector, name) => view.getComputedStyle(find(selector))[name];
  const isShown = (id) => find(`#${id} table`).checkVisibility({contentVisibilityAuto: true});
  seen.width = view.innerWidth;
  const overflow = () => root.scrollWidth - root.clientWidth;
  seen.overflow_closed = overflow();
  page.querySelectorAll("details").forEach((each) => { each.open = true; });
  seen.overflow_open = overflow();
  seen.tabs_overflows = [...page.querySelectorAll("[role=tab]")].map((tab) => {
    tab.click();
    return overflow();
  });
  const box = find("#measure-accuracy .scroll");

  find("#measure-accuracy-tab").click();
  seen.wide_box = box.scrollWidth > box.clientWidth;
  const table = find("#measure-accuracy table");
  const number = (row) => row.querySelector(".badge").textContent;
  const order = () => [...table.tBodies[0].rows].map(number).join("");
  const head = table.tHead.rows[0].cells[2], button = head.querySelector("button");
  seen.orders = [[head.getAttribute("aria-sort"), order()]];
  for (let k = 0; k < 3; k += 1) {
    button.click();
    seen.orders.push([head.getAttribute("aria-sort"), order()]);
  }
  table.tHead.rows[0].cells[0].querySelector("button").click();
  seen.by_name = order();
  seen.sorted_heads = table.querySelectorAll("[aria-sort]").length;
  button.focus();
  seen.is_reached_by_keyboard = page.activeElement === button && button.tabIndex === 0;

  seen.shown = ["measure-accuracy", "measure-log_loss"].map(isShown);
  find("#measure-log_loss-tab").click();
  seen.shown_after = ["measure-accuracy", "measure-log_loss"].map(isShown);
  const tab = find("#measure-log_loss-tab");
  tab.dispatchEvent(new view.KeyboardEvent("keydown", {key: "ArrowLeft", bubbles: true}));
  seen.after_key = [page.activeElement.id, isShown("measure-accuracy")];
  seen.selected = page.querySelectorAll(
    "#measures > .tab-group > .tabs [aria-selected=true]",
  ).length;

  seen.colours = [
    colour("body", "backgroundColor"), colour("body", "color"),
    colour(".plot .end:not(.tick)", "fill"), colour(".ours circle", "fill"),
    colour(".matrix .right", "background-color"),
  ];
  seen.alerts = page.querySelectorAll("script").length;
  document.querySelector("pre").textContent = JSON.stringify(seen);
});
"""

pytestmark = needs_chromium


def browse(html, folder, *flags, script=TRY):
    """Return what the script saw, and the messages on the browser's console."""
    frame = html_texts.escape(html)
    outside = folder / "outside.html"
    outside.write_text(
        '<!DOCTYPE html><meta charset="utf-8"><pre></pre>'
        f'<iframe style="width:360px;height:700px;border:0" srcdoc="{frame}"></iframe>'
        f"<script>{script}</script>",
        encoding="utf-8",
    )
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *FLAGS, *flags, profile, outside.as_uri()],
        capture_output=True,
        timeout=60,
        check=True,
    )
    seen = re.search(r"<pre>(.*?)</pre>", done.stdout.decode(), re.S)[1]
    console = [line for line in done.stderr.decode().splitlines() if ":CONSOLE" in line]
    return json.loads(html_texts.unescape(seen)) if seen else None, console


@pytest.fixture(scope="module")
def light(html, tmp_path_factory):
    return browse(html, tmp_path_factory.mktemp("light"))


@pytest.fixture(scope="module")
def dark(html, tmp_path_factory):
    return browse(html, tmp_path_factory.mktemp("dark"), "--force-dark-mode")


def test_the_page_never_scrolls_sideways_on_a_phone(light):
    seen, _ = light
    assert seen["width"] == 360
    assert seen["overflow_closed"] == seen["overflow_open"] == 0
    assert len(seen["tabs_overflows"]) > 10
    assert set(seen["tabs_overflows"]) == {0}
    assert seen["wide_box"]


def test_long_names_do_not_widen_the_page(tmp_path):
    long = "W" * 90
    whole = make_results(2)
    text = json.dumps([whole.records, whole.pairs, whole.datasets, whole.facts, whole.manifest])
    for name in ("sat", "one-vs-one", "least-squares", "b&b"):
        text = text.replace(f'"{name}"', f'"{name}{long}"')
    records, pairs, *others = json.loads(text)
    results = Results(records, [tuple(pair) for pair in pairs], *others)
    seen, _ = browse(report_html(results), tmp_path)
    assert seen["overflow_closed"] == seen["overflow_open"] == 0
    assert set(seen["tabs_overflows"]) == {0}


def test_clicking_a_heading_sorts_and_a_third_click_restores_the_order(light):
    seen, _ = light
    # On own & <b>, pair 1 is best, pair 3 second, and pair 2 was not measured.
    assert seen["orders"] == [
        [None, "123"],
        ["descending", "132"],
        ["ascending", "312"],
        [None, "123"],
    ]
    assert seen["by_name"] == "123"
    assert seen["sorted_heads"] == 1
    assert seen["is_reached_by_keyboard"]


def test_mouse_and_keyboard_select_the_panel_that_is_shown(light):
    seen, _ = light
    assert seen["shown"] == [True, False]
    assert seen["shown_after"] == [False, True]
    assert seen["after_key"] == ["measure-accuracy-tab", True]
    assert seen["selected"] == 1


def test_dark_mode_changes_the_colours_of_page_and_figures(light, dark):
    def brightness(colour):
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 765

    ours, theirs = light[0]["colours"], dark[0]["colours"]
    assert all(one != other for one, other in zip(ours, theirs, strict=True))
    assert brightness(ours[0]) > 0.9 > 0.2 > brightness(ours[1])
    assert brightness(theirs[0]) < 0.2 < 0.8 < brightness(theirs[1])
    # Text in figures contrasts with the background of the page.
    assert brightness(ours[2]) < 0.3
    assert brightness(theirs[2]) > 0.7


def test_the_console_is_empty_and_no_label_is_run(light, dark):
    assert light[1] == dark[1] == []
    assert light[0]["alerts"] == 1


def test_the_console_is_watched(html, tmp_path):
    """The check above can fail: an error of a script reaches the console."""
    _, console = browse(html, tmp_path, script="throw new Error('seen')")
    assert any("seen" in line for line in console)


def test_only_the_scripts_of_the_page_run(html, tmp_path):
    changed = html.replace("</main>", "<script>document.title = 'changed'</script></main>")
    script = """
    const frame = document.querySelector("iframe");
    frame.addEventListener("load", () => {
      document.querySelector("pre").textContent = JSON.stringify(frame.contentDocument.title);
    });
    """
    title, console = browse(changed, tmp_path, script=script)
    assert title == parse_page(html).find("title")[0].text
    assert any("Content Security Policy" in line for line in console)


def test_without_scripts_all_panels_are_visible(html, tmp_path):
    script = """
    const frame = document.querySelector("iframe");
    frame.addEventListener("load", () => {
      const panels = [...frame.contentDocument.querySelectorAll(".panel")];
      const shown = panels.map((each) => each.lastElementChild.checkVisibility());
      document.querySelector("pre").textContent = JSON.stringify(shown);
    });
    """
    still = re.sub(r"<script>.*?</script>", "", html, flags=re.S)
    shown, console = browse(still, tmp_path, script=script)
    assert len(shown) > 10
    assert all(shown)
    assert console == []
