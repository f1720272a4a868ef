"""The questionnaire as a page on this machine: `tamis ask --web`.

The page holds the model and does all the work, so the server keeps nothing of a visitor. It
answers only on 127.0.0.1, only under a random path, and only to requests for that host.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_LARGEST = 1 << 20
_ID = re.compile(r"[0-9a-f-]{36}")


class AskServer(ThreadingHTTPServer):
    """Serves one page, and hands the answers that it sends to a function.

    `make_page`: makes the page, given the path that receives answers (None: nothing is received).
    `receive`: called with the id of a conversation and its answers; ValueError refuses them.
    `port`: 0: any free one.
    """

    daemon_threads = True

    def __init__(
        self,
        make_page: Callable[[str | None], str],
        receive: Callable[[str, list[Any]], None] | None = None,
        port: int = 0,
    ) -> None:
        self.path = f"/{secrets.token_urlsafe(24)}/"
        log = None if receive is None else f"{self.path}log"
        self.page, self.receive = make_page(log).encode(), receive
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def url(self) -> str:
        """Address of the page, with its token."""
        return f"http://127.0.0.1:{self.server_address[1]}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    server: AskServer
    server_version, sys_version = "tamis", ""
    timeout = 30

    def do_GET(self):
        """Send the page."""
        if self._is_known(self.server.path):
            self._reply(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")

    def do_HEAD(self):
        """Send the headers of the page."""
        self.do_GET()

    def do_POST(self):
        """Receive answers."""
        if self.server.receive is None:
            self._reply(HTTPStatus.NOT_FOUND)
            return
        if not self._is_known(f"{self.server.path}log"):
            return
        origin = self.headers.get("Origin")
        if origin is not None and origin not in self._origins():
            self._reply(HTTPStatus.FORBIDDEN)
            return
        try:
            size = int(self.headers.get("Content-Length", ""))
        except ValueError:
            size = -1
        if not 0 <= size <= _LARGEST:
            self._reply(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE if size > 0 else HTTPStatus.BAD_REQUEST
            )
            return
        try:
            given = json.loads(self.rfile.read(size))
            known = isinstance(given, dict) and set(given) == {"id", "answers"}
            if not known or not isinstance(given["answers"], list):
                raise ValueError("unknown content")
            if not isinstance(given["id"], str) or not _ID.fullmatch(given["id"]):
                raise ValueError("unknown id")
            self.server.receive(given["id"], given["answers"])
        except (ValueError, RecursionError):
            self._reply(HTTPStatus.BAD_REQUEST)
            return
        self._reply(HTTPStatus.NO_CONTENT)

    def _origins(self):
        port = self.server.server_address[1]
        return [f"http://{host}:{port}" for host in ("127.0.0.1", "localhost")]

    def _is_known(self, path):
        """Whether the request is for this host and path; otherwise it is refused.

        Another host name would mean that a page elsewhere had its name point to this machine.
        """
        if f"http://{self.headers.get('Host')}" not in self._origins():
            self._reply(HTTPStatus.FORBIDDEN)
            return False
        if not secrets.compare_digest(self.path.encode(), path.encode()):
            self._reply(HTTPStatus.NOT_FOUND)
            return False
        return True

    def _reply(self, status, content=b"", kind="text/plain"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Referrer-Policy", "same-origin")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        # The page states in a meta element what it may load; frames can only be refused here.
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format, *args):
        """Say nothing: addresses hold the token."""
