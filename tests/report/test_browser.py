"""The browser that the other tests use: it sees requests, errors, keys and what sticks out."""

import pytest

from tests.report.browser import Browser, needs_browser

pytestmark = [pytest.mark.slow, needs_browser]

_PAGE = """<!doctype html><title>t</title><input id=a><button id=b onclick="n=1">b</button>
<script>n = 0; console.error("wrong"); fetch("file:///nowhere.txt").catch(e => 0); m = 2</script>
<p id=w style="width:900px">wide</p>"""


def test_the_browser_notes_what_happens_and_acts(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(_PAGE)
    with Browser(360) as browser:
        browser.open(page)
        assert browser.evaluate("Promise.resolve(n + m)") == 2
        assert "wrong" in browser.errors
        assert browser.requests == ["file:///nowhere.txt"]
        assert "P.#w" in browser.overflow()
        browser.click("#b")
        assert browser.evaluate("n") == 1
        browser.press("Tab", shift=True)
        browser.write("text")
        browser.press("x")
        assert browser.evaluate("document.querySelector('#a').value") == "textx"
        browser.set_media("dark")
        assert browser.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        browser.screenshot(tmp_path / "page.png")
        assert (tmp_path / "page.png").read_bytes()[:4] == b"\x89PNG"
        with pytest.raises(RuntimeError, match="nothere"):
            browser.evaluate("nothere.x")
