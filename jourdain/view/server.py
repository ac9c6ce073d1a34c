"""The page served on loopback, with motion appended while a simulation runs (live view)."""

from __future__ import annotations

import json
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jourdain.errors import InputError, JourdainError, short
from jourdain.reals import reals
from jourdain.view.page import page_html
from jourdain.view.rotation import normalised
from jourdain.view.scene import Run, Scene

HOST = "127.0.0.1"
HEARTBEAT = 10.0
#: Seconds after which a client that says nothing, or takes nothing, is left.
CLIENT_TIME = 30.0
#: The page is in one piece: nothing is loaded from elsewhere, and nothing is sent but the questions for news.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; style-src 'unsafe-inline'; img-src data: blob:; "
    "font-src data:; connect-src 'self' data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
#: Most bytes of a question.
MOST_ASKED = 1 << 20
#: Most clients at a time: each has a thread.
MOST_CLIENTS = 64
Pose = tuple[ArrayLike, ArrayLike]
Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Server:
    """A page on loopback: `url`, `append` for live motion, `finish` when it is over, `close`; a context manager."""

    def __init__(self, html: str, bodies: set[str], port: int = 0, answer: Answer | None = None) -> None:
        self._html = html.encode()
        #: Who answers what the page asks: one thread, since runs share a system.
        self._answer, self._worker = answer, ThreadPoolExecutor(1, "jourdain-answer")
        self._bodies = bodies
        self._history: list[str] = []
        self._news = threading.Condition()
        self._last_time = -np.inf
        self._finished = False
        #: What the address must end with: other programs of the machine do not know it.
        self.token = secrets.token_urlsafe(16)
        self._http = _listener(port, _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()
        self.url = f"http://{HOST}:{self._http.server_address[1]}/{self.token}/"

    def append(
        self,
        times: ArrayLike,
        poses: Mapping[str, Pose],
        channels: Mapping[str, ArrayLike] | None = None,
        arrows: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        amplitudes: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Show further motion: times (n), for each body positions (n, 3) and quaternions (n, 4), channel values (n).

        ``arrows`` gives feet (n, 3) and vectors (n, 3), ``amplitudes`` those of surfaces (n, k); traces of points on bodies grow by
        themselves.
        """
        t = np.atleast_1d(reals(times, "live view: times"))
        if t.size == 0:
            return
        if t.ndim != 1 or not np.isfinite(t).all():
            raise InputError("live view: times must be a row of finite seconds")
        if np.any(np.diff(t) < 0) or t[0] < self._last_time:
            raise InputError(f"live view: time {t[0]:g} s comes before {self._last_time:g} s, which is shown already")
        data: dict[str, Any] = {"times": t.tolist(), "bodies": {}, "channels": {}, "arrows": {}}
        for name, pose in _named(poses, "poses").items():
            if name not in self._bodies:
                raise InputError(f"live view: no body '{name}' in the scene; there are {sorted(self._bodies)}")
            position, quaternion = _pair(pose, f"body '{name}'", "positions and quaternions")
            rows = np.column_stack([_rows(position, t, 3, f"body '{name}'"), normalised(_rows(quaternion, t, 4, f"body '{name}'"))])
            data["bodies"][name] = rows.tolist()
        for name, values in _named(channels, "channels").items():
            column = np.atleast_1d(reals(values, f"live view, channel '{name}'"))
            if column.shape != t.shape:
                raise InputError(f"live view, channel '{name}': {column.size} values for {t.size} times")
            data["channels"][name] = [float(v) if np.isfinite(v) else None for v in column]
        for name, pair in _named(arrows, "arrows").items():
            parts = _pair(pair, f"arrow '{name}'", "feet and vectors")
            data["arrows"][name] = np.column_stack([_rows(part, t, 3, f"arrow '{name}'") for part in parts]).tolist()
        if amplitudes:
            bent = {name: np.atleast_2d(reals(x, f"amplitudes of '{name}'")) for name, x in _named(amplitudes, "amplitudes").items()}
            data["amplitudes"] = {name: _rows(x, t, x.shape[-1], f"amplitudes of '{name}'").tolist() for name, x in bent.items()}
        self._send(json.dumps(data, separators=(",", ":")))
        self._last_time = float(t[-1])

    def tell(self, news: Mapping[str, Any]) -> None:
        """Hand the page news in a form of its own (JSON); numbers that are not finite become null."""
        self._send(json.dumps(_finite(news), separators=(",", ":"), allow_nan=False))

    def answer(self, question: bytes) -> bytes:
        """The answer to a question of the page, both JSON; an error becomes words."""
        assert self._answer is not None
        try:
            asked = json.loads(question)
            if not isinstance(asked, dict):
                raise InputError(f"the page asked {asked!r}; a question is an object")
            found = self._worker.submit(self._answer, asked).result()
        except Exception as error:  # a question may be anything, and whoever asked is the one to hear of it
            found = {"error": str(error) if isinstance(error, (JourdainError, ValueError)) else f"{type(error).__name__}: {error}"}
        return json.dumps(_finite(found), separators=(",", ":"), allow_nan=False).encode()

    def finish(self) -> None:
        """Tell the page that the motion is complete; it stays served."""
        with self._news:
            self._finished = True
            self._news.notify_all()

    def close(self) -> None:
        """Stop serving and free the port; may be called twice."""
        if self._thread.is_alive():
            self.finish()
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()
            self._worker.shutdown(cancel_futures=True)

    def __repr__(self) -> str:
        return f"<page at {self.url}; close() ends it>" if self._thread.is_alive() else f"<page that was at {self.url}; closed>"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _send(self, message: str) -> None:
        with self._news:
            if self._finished:
                raise InputError("live view: the motion was finished; start another server to show more")
            self._history.append(message)
            self._news.notify_all()

    def _has_more(self, sent: int) -> bool:
        return self._finished or len(self._history) > sent

    def events(self, sent: int = 0) -> Iterator[str]:
        """Server-sent events for one page: what was appended after the first `sent` messages, then what comes."""
        while True:
            with self._news:
                self._news.wait_for(partial(self._has_more, sent), HEARTBEAT)
                messages, finished = self._history[sent:], self._finished
            for message in messages:
                sent += 1
                yield f"id: {sent}\ndata: {message}\n\n"
            if finished:
                yield "event: end\ndata: {}\n\n"
                return
            if not messages:
                yield ": waiting\n\n"


def serve(
    view: Scene | str, open_browser: bool = True, *, live: bool = False, port: int = 0, theme: str = "auto",
    controls: dict[str, Any] | None = None, answer: Answer | None = None,
) -> Server:  # fmt: skip
    """Serve a scene (or a ready page) on 127.0.0.1 and open it in the browser; live lets `append` extend the motion.

    ``controls`` are sliders and buttons of the page, and ``answer`` the function that hears what is done with them.

    >>> from jourdain.view.scene import Body
    >>> with serve(Scene("block", bodies=[Body("block")]), open_browser=False) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """
    if not isinstance(view, (str, Scene)):
        raise InputError(f"{short(view)} is no scene; give one, or the text of a page")
    if isinstance(view, str):
        if live:
            raise InputError("live view: give the scene, not its page")
        server = Server(view, set(), port, answer)
    else:
        if live and not view.runs:
            view.runs.append(Run([], {}, name="live"))
        server = Server(page_html(view, live=live, theme=theme, controls=controls), {body.name for body in view.bodies}, port, answer)
    if open_browser:
        webbrowser.open(server.url)
    return server


def _finite(news: Any) -> Any:
    """News without numbers that JSON does not know."""
    if isinstance(news, Mapping):
        return {name: _finite(x) for name, x in news.items()}
    if isinstance(news, (list, tuple)):
        return [_finite(x) for x in news]
    return None if isinstance(news, float) and not np.isfinite(news) else news


def _named(given: Mapping[str, Any] | None, what: str) -> Mapping[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"live view: {what} are given by name, as in {{'name': …}}, not as {short(given)}")
    return given or {}


def _pair(given: Any, what: str, parts: str) -> tuple[Any, Any]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise InputError(f"live view, {what}: give a pair of {parts}, not {short(given)}")
    return given[0], given[1]


def _rows(values: ArrayLike, times: np.ndarray, width: int, what: str) -> np.ndarray:
    """One row of numbers for each time; for one time the row alone will do."""
    rows = np.atleast_2d(reals(values, f"live view, {what}"))
    if rows.shape != (len(times), width) or not np.isfinite(rows).all():
        finite = "" if np.isfinite(rows).all() else "not finite, "
        raise InputError(
            f"live view, {what}: {len(times)} rows of {width} finite numbers are needed, one for each time; these are {finite}{rows.shape}"
        )
    return rows


def _whole_number(text: str | None) -> int:
    """A number of a request's head, -1 where it is none or has more digits than any that we sent."""
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 12 else -1


class _Listener(ThreadingHTTPServer):
    """A server that says nothing where a client has gone before it was answered, and hangs up on more clients than it has room for."""

    daemon_threads = True

    def __init__(self, *given: Any) -> None:
        self._room = threading.Semaphore(MOST_CLIENTS)
        super().__init__(*given)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._room.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _listener(port: int, handler: type[BaseHTTPRequestHandler]) -> _Listener:
    if not isinstance(port, int) or not 0 <= port < 2**16:
        raise InputError(f"port = {short(port)}: give a whole number below 65536; 0 takes a free one")
    try:
        return _Listener((HOST, port), handler)
    except OSError as error:
        raise InputError(f"port {port} cannot be taken ({error.strerror}); port=0 takes a free one") from error


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = CLIENT_TIME

        def setup(self) -> None:
            # each letter that comes late begins `timeout` anew: a question as a whole has no longer than that
            self._patience = threading.Timer(CLIENT_TIME, self._hang_up)
            self._patience.daemon = True
            self._patience.start()
            super().setup()

        def finish(self) -> None:
            self._patience.cancel()
            super().finish()

        def _hang_up(self) -> None:
            with suppress(OSError):
                self.request.shutdown(socket.SHUT_RDWR)

        def _foreign(self) -> bool:
            # a name other than loopback means that a foreign page reached us through its own domain
            host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            return host not in (HOST, "localhost")

        def do_POST(self) -> None:
            own = {f"http://{name}:{server._http.server_address[1]}" for name in (HOST, "localhost")}
            size = _whole_number(self.headers.get("Content-Length"))
            if self._foreign() or self.headers.get("Origin") not in own:
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path != f"/{server.token}/ask" or server._answer is None:
                self.send_error(HTTPStatus.NOT_FOUND)
            elif self.headers.get_content_type() != "application/json":
                self.send_error(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
            elif not 0 <= size <= MOST_ASKED:
                self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            else:
                question = self.rfile.read(size)
                self._patience.cancel()
                self._reply(server.answer(question), "application/json")

        def do_GET(self) -> None:
            self._patience.cancel()
            if self._foreign():
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path == f"/{server.token}/":
                self._reply(server._html, "text/html; charset=utf-8")
            elif self.path == f"/{server.token}/events":
                self._stream()
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def _reply(self, body: bytes, kind: str) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self._end_headers()
            self.wfile.write(body)

        def _end_headers(self) -> None:
            self.send_header("Cache-Control", "no-store")
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()

        def _stream(self) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/event-stream")
            self._end_headers()
            try:
                # a page that lost its connection says which message it saw last
                for event in server.events(max(0, _whole_number(self.headers.get("Last-Event-ID")))):
                    self.wfile.write(event.encode())
                    self.wfile.flush()
            except OSError:
                return

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler
