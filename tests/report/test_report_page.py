"""The report in a browser: quiet, usable with mouse and keyboard, and readable at any size."""

import re
from itertools import pairwise

import numpy as np
import pytest

from tamis.report.page.page import write_report
from tests.report.browser import Browser, needs_browser
from tests.report.test_report_content import ODD, make_table

pytestmark = [pytest.mark.slow, needs_browser]

ALL = ("sensitivity", "specificity", "ppv", "npv")
# Pairs of neighbouring blocks that overlap, as text.
_OVERLAPS = """
(() => {
  const found = [];
  const visible = (e) => e.getClientRects().length > 0;
  const blocks = "body, main, section, .grid, .controls, .small-plots, .numbers, tr";
  for (const parent of document.querySelectorAll(blocks)) {
    const boxes = [...parent.children].filter(visible).map((e) => [e, e.getBoundingClientRect()])
      .filter(([e, r]) => r.width > 1 && r.height > 1 && !e.classList.contains("skip"));
    for (let i = 0; i < boxes.length; i++)
      for (let j = i + 1; j < boxes.length; j++) {
        const [a, b] = [boxes[i][1], boxes[j][1]];
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const name = (k) => boxes[k][0].outerHTML.slice(0, 60);
        if (x > 1 && y > 1) found.push(name(i) + " | " + name(j));
      }
  }
  return found;
})()
"""
# Contrast of all text with the background behind it, where it is below 4.5.
_CONTRAST = """
(() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const f = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const behind = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      const a = c.length > 3 ? c[3] : 1;
      if (a > 0) layers.unshift([c, a]);
    }
    let base = [255, 255, 255];
    for (const [c, a] of layers) base = base.map((v, k) => v * (1 - a) + c[k] * a);
    return base;
  };
  const bad = [];
  const texts = "h1, h2, h3, h4, p, li, td, th, dt, dd, a, code, span, summary, label, figcaption";
  for (const e of document.querySelectorAll(texts)) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(ratio.toFixed(2) + " " + e.outerHTML.slice(0, 80));
  }
  return bad;
})()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    pytest.importorskip("matplotlib")
    from tamis import compare

    X, y = make_table()
    comparison = compare(
        X,
        y,
        methods=["centers", "medians", "most-frequent"],
        subgroups={"sex": np.where(np.arange(len(y)) % 4 < 2, "f", "m")},
        learning_curve=True,
        cv=3,
        repeats=1,
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(comparison, path, run="run", command="tamis fit x.csv", about="For us.")
    return path


@pytest.fixture(scope="module")
def browser(page):
    with Browser() as opened:
        opened.open(page)
        yield opened


def text(browser, selector):
    return browser.evaluate(f"document.querySelector({selector!r}).innerText")


def test_the_page_makes_no_errors_and_no_requests(browser):
    assert browser.errors == [] and browser.requests == []


def test_names_stay_text(browser):
    assert browser.evaluate("document.querySelectorAll('script').length") == 2
    assert ODD in text(browser, "#panel")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_nothing_overlaps_or_sticks_out(browser, width, scheme):
    browser.set_size(width)
    browser.set_media(scheme)
    assert browser.overflow() == []
    assert browser.evaluate(_OVERLAPS) == []
    assert browser.evaluate(_CONTRAST) == []


def test_the_curve_with_its_legend_fits_a_phone_and_tables_show_that_they_scroll(browser):
    browser.set_size(360)
    wide = "document.querySelector('#curve-picture .wide')"
    assert browser.evaluate(f"{wide}.scrollWidth <= {wide}.clientWidth")
    shadow = "getComputedStyle(document.querySelector('#models .wide')).backgroundAttachment"
    assert browser.evaluate(shadow) == "local, local, scroll, scroll"


def test_headings_are_in_order_and_everything_has_a_name(browser):
    levels = browser.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map(e => Number(e.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    unnamed = browser.evaluate(
        "[...document.querySelectorAll('input, select')].filter(e => !e.labels.length).length"
        " + [...document.querySelectorAll('svg')].filter(e => !e.ariaLabel).length"
        " + [...document.querySelectorAll('th')].filter(e => !e.scope).length"
    )
    assert unnamed == 0
    ids = browser.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(set(ids)) == len(ids)


def test_the_slider_of_the_curve_moves_by_keyboard_and_mouse(browser):
    browser.set_size(1440)
    browser.evaluate("document.getElementById('level').focus()")
    browser.press("Home")
    assert text(browser, "#level-label") == "1"
    assert browser.evaluate("document.querySelectorAll('#level-features li').length") == 1
    assert "--n-features 1 " in text(browser, "#level-command") or (
        "recommended" in text(browser, "#level-is")
    )
    first, ring = text(browser, "#level-score"), browser.evaluate("ring.getAttribute('cx')")
    browser.press("ArrowRight")
    assert text(browser, "#level-label") == "2"
    assert browser.evaluate("document.querySelectorAll('#level-features li').length") == 2
    assert browser.evaluate("Number(ring.getAttribute('cx'))") > float(ring)
    browser.press("End")
    assert text(browser, "#level-label") == "4"
    browser.click("#level")  # in the middle of the slider
    assert text(browser, "#level-label") in ("2", "3")
    said = [text(browser, "#level-is") for key in ("Home", "End") if browser.press(key) is None]
    assert "Chosen after seeing the curve." in said
    assert first != text(browser, "#level-score")


def test_the_ring_is_on_the_mark_of_the_choice(browser):
    browser.open(browser.evaluate("location.href"))
    away = browser.evaluate(
        "(() => { const at = (e) => { const r = e.getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2]; };"
        " const [x, y] = at(document.getElementById('ring'));"
        " return Math.min(...[...document.querySelectorAll('#curve-picture use')]"
        ".map(e => { const [u, v] = at(e); return Math.hypot(u - x, v - y); })); })()"
    )
    assert away < 2


def select_second(browser, name):
    browser.evaluate(
        f"(() => {{ const e = document.getElementById('{name}'); e.value = '1';"
        " e.dispatchEvent(new Event('change')); })()"
    )


def test_another_method_and_another_class_can_be_selected(browser):
    for select, shown in (("method", "#level-score"), ("positive", "#class-1")):
        before = text(browser, shown)
        select_second(browser, select)
        assert text(browser, shown) != before
    assert browser.evaluate("document.getElementById('class-0').hidden")
    assert browser.evaluate("document.querySelectorAll('#class-1 svg').length") == 4


def test_predictive_values_follow_prevalence_and_threshold(browser):
    def numbers(*names):
        told = [text(browser, f"#at-{name}") for name in names or ALL]
        return [float(re.match(r"[\d.]+", one)[0]) / 100 for one in told]

    select_second(browser, "positive")
    browser.evaluate("document.getElementById('prevalence').focus()")
    browser.press("Home")
    assert text(browser, "#prevalence-label") == "0.1\u00a0%"
    se, sp, ppv, npv = numbers()
    assert ppv == pytest.approx(se * 0.001 / (se * 0.001 + (1 - sp) * 0.999), abs=1e-3)
    browser.press("End")
    assert numbers()[:2] == [se, sp] and numbers()[2] > ppv and numbers()[3] < npv
    browser.evaluate("document.getElementById('threshold').focus()")
    browser.press("Home")
    assert text(browser, "#threshold-label") == "0.01" and numbers()[0] >= se
    browser.press("End")
    assert text(browser, "#threshold-label") == "0.99" and numbers("specificity") >= [sp]
    assert browser.errors == []
