"""Headless Chromium through its DevTools protocol, with the standard library alone."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    " ": (32, " "),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
    "PageUp": (33, ""),
    "PageDown": (34, ""),
    "End": (35, ""),
    "Home": (36, ""),
}


def find_browser() -> str | None:
    """Path of Chromium or Chrome; None if there is none."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


needs_browser = pytest.mark.skipif(
    find_browser() is None or os.name != "posix",
    reason="no Chromium on this machine: run `make browser`",
)


class Browser:
    """One page of a headless browser.

    Attributes
    ----------
    errors : list of str
        Errors and warnings on the console, exceptions, and blocked or failed requests.
    requests : list of str
        Addresses that were requested, without those given to `open`.
    """

    def __init__(self, width: int = 1440, height: int = 900, timeout: float = 60) -> None:
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._size, self._timeout = (width, height), timeout
        self._last, self._buffer, self._loaded, self._opened = 0, b"", False, set()

    def __enter__(self) -> Browser:
        self._folder = tempfile.mkdtemp(prefix="tamis-browser-")
        words = [find_browser(), "--headless", "--remote-debugging-pipe", "--disable-gpu"]
        words += [f"--user-data-dir={self._folder}", "--no-first-run", "--hide-scrollbars"]
        words += ["--disable-background-networking", "--disable-dev-shm-usage"]
        words += ["--no-sandbox"] if os.geteuid() == 0 else []
        (theirs_in, ours_out), (ours_in, theirs_out) = map(_above_ten, (os.pipe(), os.pipe()))
        self._process = os.posix_spawn(
            words[0],
            [*words, "about:blank"],
            os.environ | {"HOME": self._folder},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, theirs_in, 3),  # where Chromium reads its commands
                (os.POSIX_SPAWN_DUP2, theirs_out, 4),
            ],
            setpgroup=0,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out, self._session = ours_in, ours_out, None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.set_size(*self._size)
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._out)
        os.close(self._in)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        shutil.rmtree(self._folder, ignore_errors=True)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the protocol and return its result; events are noted."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        end = time.monotonic() + self._timeout
        while True:
            reply = self._read(end)
            if reply.get("id") == self._last:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']['message']}")
                return reply["result"]

    def open(self, page: str | os.PathLike[str]) -> None:
        """Open a file or an address, and wait until it is loaded."""
        url = str(page) if "://" in str(page) else Path(page).resolve().as_uri()
        self._opened.add(url)
        self._loaded = False
        failure = self.send("Page.navigate", url=url).get("errorText")
        if failure:
            raise RuntimeError(f"{url}: {failure}")
        end = time.monotonic() + self._timeout
        while not self._loaded:
            self._read(end)

    def evaluate(self, script: str) -> Any:
        """Value of an expression of JavaScript; a promise is waited for."""
        reply = self.send(
            "Runtime.evaluate",
            expression=script,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return reply["result"].get("value")

    def set_size(self, width: int, height: int = 900) -> None:
        """Set the size of the window, in pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def set_media(self, scheme: str = "light", media: str = "") -> None:
        """Prefer "light" or "dark" colours; `media` may be "print"."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)

    def click(self, selector: str) -> None:
        """Click with the mouse on the middle of an element."""
        place = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def press(self, key: str, shift: bool = False) -> None:
        """Press a key, such as "Tab", "Enter", "ArrowRight" or "a"."""
        code, text = _KEYS.get(key, (ord(key[0].upper()), key))
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        about["modifiers"] = 8 if shift else 0
        self.send("Input.dispatchKeyEvent", type="keyDown", **about, text=text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **about)

    def write(self, text: str) -> None:
        """Write a text where the cursor is."""
        self.send("Input.insertText", text=text)

    def screenshot(self, path: str | os.PathLike[str], whole: bool = True) -> None:
        """Write the page, or only the window, as a PNG file."""
        reply = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(reply["data"]))

    def overflow(self) -> list[str]:
        """Elements that stick out of the page on the right, where it would have to be scrolled."""
        return self.evaluate(
            "(() => { const w = document.documentElement.clientWidth;"
            " if (document.documentElement.scrollWidth <= w) return [];"
            " return [...document.querySelectorAll('body *')]"
            "  .filter(e => e.getBoundingClientRect().right > w + 1)"
            "  .map(e => e.tagName + '.' + e.className + '#' + e.id); })()"
        )

    def _read(self, end: float) -> dict[str, Any]:
        """The next message; events are noted on the way."""
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"the browser did not answer within {self._timeout:g} s.")
            block = os.read(self._in, 1 << 20)
            if not block:
                raise RuntimeError("the browser has ended.")
            self._buffer += block
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method: str | None, event: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            url = event["request"]["url"]
            if url not in self._opened and not url.startswith(("data:", "blob:")):
                self.requests.append(url)
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(one.get("value")) for one in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.errors.append(event["entry"]["text"])


def _above_ten(pipe):
    """The two ends of a pipe with numbers that cannot be 3 or 4."""
    import fcntl

    ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in pipe]
    for end in pipe:
        os.close(end)
    return ends
