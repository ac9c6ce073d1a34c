"""A headless Chromium driven over its DevTools protocol with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from jourdain.errors import SolverError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
FLAGS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--remote-debugging-address=127.0.0.1",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--hide-scrollbars",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "about:blank",
)


def find_chromium() -> str | None:
    """Path of an installed Chromium or Chrome, or None; the variable JOURDAIN_CHROMIUM goes first."""
    given = os.environ.get("JOURDAIN_CHROMIUM")
    if given:
        return given
    return next((path for path in map(shutil.which, NAMES) if path), None)


#: A look at the page for a condition every so many ms of the page's own time.
LOOK = 20


class Browser:
    """One headless browser with one page; use it in a `with` statement.

    Nothing here waits for a clock: conditions are looked for in turns of the page's own event loop, which come as slowly as a busy machine
    lets them. ``timeout`` (s) is how long Chromium may be silent, and how long a condition may take where nothing else is running.
    ``page`` is the ``address`` of a page that another program keeps open: it is used instead of a browser of one's own, and stays open.
    """

    def __init__(self, size: tuple[int, int] = (1280, 720), timeout: float = 120.0, page: str = "") -> None:
        self.timeout = timeout
        self.messages: list[str] = []
        self._count = self._loads = 0
        self._process: subprocess.Popen[bytes] | None = None
        if not page:
            self._start(size)
        try:
            self.address = page or self._page_address()
            self._socket = _WebSocket(self.address, timeout)
            for domain in ("Page", "Runtime", "Log"):
                self.call(f"{domain}.enable")
            self.resize(size)
        except BaseException:
            self.close()
            raise

    def _start(self, size: tuple[int, int]) -> None:
        executable = find_chromium()
        if executable is None:
            raise SolverError("no Chromium found; install the package 'chromium' or set JOURDAIN_CHROMIUM")
        self._folder = tempfile.TemporaryDirectory(prefix="jourdain-view-", ignore_cleanup_errors=True)
        flags = [*FLAGS[:-1], f"--user-data-dir={self._folder.name}", f"--window-size={size[0]},{size[1]}", FLAGS[-1]]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            # Chromium refuses to run its sandbox as root
            flags.insert(0, "--no-sandbox")
        self._process = subprocess.Popen([executable, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _page_address(self) -> str:
        """The page's WebSocket address, from the port that Chromium writes into its profile folder; it starts while that folder grows."""
        file = Path(self._folder.name) / "DevToolsActivePort"
        size, end = 0, time.monotonic() + self.timeout
        while time.monotonic() < end:
            grown = sum(len(files) for _, _, files in os.walk(self._folder.name))
            if grown != size:
                size, end = grown, time.monotonic() + self.timeout
            if self._process is not None and self._process.poll() is not None:
                raise SolverError(f"Chromium ended at once (code {self._process.returncode}); try it by hand")
            lines = file.read_text().split() if file.exists() else []
            if lines:
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                with opener.open(f"http://127.0.0.1:{lines[0]}/json/list", timeout=self.timeout) as reply:
                    pages = [target for target in json.load(reply) if target["type"] == "page"]
                if pages:
                    return str(pages[0]["webSocketDebuggerUrl"])
            time.sleep(0.05)
        raise SolverError(f"Chromium did not start: it has done nothing for {self.timeout:g} s")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one DevTools command and return its result; console errors that arrive meanwhile go to `messages`."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while (reply := self._receive(method)).get("id") != self._count:
            self._notice(reply)
        if "error" in reply:
            raise SolverError(f"Chromium, {method}: {reply['error'].get('message')}")
        result: dict[str, Any] = reply["result"]
        return result

    def _receive(self, what: str) -> dict[str, Any]:
        try:
            message: dict[str, Any] = json.loads(self._socket.receive())
        except TimeoutError:
            raise SolverError(f"Chromium, {what}: no answer, and nothing else, for {self.timeout:g} s") from None
        return message

    def _notice(self, event: dict[str, Any]) -> None:
        data = event.get("params", {})
        if event.get("method") == "Page.loadEventFired":
            self._loads += 1
        elif event.get("method") == "Runtime.exceptionThrown":
            details = data["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description") or details["text"])
        elif event.get("method") == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            self.messages.append(" ".join(str(a.get("value", a.get("description", ""))) for a in data["args"]))
        elif event.get("method") == "Log.entryAdded" and data["entry"]["level"] == "error":
            self.messages.append(data["entry"]["text"])

    def resize(self, size: tuple[int, int], ratio: float = 1.0) -> None:
        """Set the page's size in px and the device pixels per px."""
        self.call("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=ratio, mobile=False)

    def go(self, url: str) -> None:
        """Go to a page and wait until it is loaded."""
        before = self._loads
        self.call("Page.navigate", url=url)
        while self._loads == before:
            self._notice(self._receive(url[:80]))

    def open(self, url: str) -> None:
        """Go to a page with a viewer and wait until it is ready; it stands still unless its address says otherwise."""
        self.go(url if "#" in url else f"{url}#still")
        self.wait("window.jourdain !== undefined || document.querySelector('#loading.failed') !== null")
        if not self.evaluate("window.jourdain !== undefined"):
            raise SolverError(f"viewer page: {self.evaluate('document.querySelector(`#loading span`).textContent')}")

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression (awaited) in the page."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text")
            raise SolverError(f"viewer page: {text}")
        return reply["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        look = f"new Promise((done, failed) => setTimeout(() => {{ try {{ done(Boolean({expression})) }} catch (e) {{ failed(e) }} }}, {LOOK}))"
        for _ in range(int(1000 * self.timeout / LOOK)):
            if self.evaluate(look):
                return
        raise SolverError(f"viewer page: '{expression}' did not become true; {self.messages[-3:]}")

    def key(self, key: str) -> None:
        """Press and release a key such as " " or "ArrowRight"."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def click(self, x: float, y: float) -> None:
        """Click the left mouse button at a point of the page in px."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, x: float, y: float) -> None:
        """Move the mouse to a point of the page in px."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, kind: str = "png") -> bytes:
        """The page as a PNG or JPEG file."""
        quality = {"quality": 93} if kind == "jpeg" else {}
        return base64.b64decode(self.call("Page.captureScreenshot", format=kind, **quality)["data"])

    def close(self) -> None:
        """End the browser and remove its profile; a page of another program is left as it is."""
        if hasattr(self, "_socket"):
            self._socket.close()
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class _WebSocket:
    """As much of a WebSocket client (RFC 6455) as the DevTools protocol needs: text both ways, over loopback."""

    def __init__(self, address: str, timeout: float) -> None:
        host, _, path = address.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self._socket = socket.create_connection((name, int(port)), timeout)
        self._buffer = b""
        nonce = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {nonce}\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        self._socket.sendall(request.encode())
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise SolverError("Chromium refused the DevTools connection")

    def _fill(self) -> None:
        part = self._socket.recv(1 << 18)
        if not part:
            raise SolverError("Chromium closed the DevTools connection")
        self._buffer += part

    def _take(self, count: int) -> bytes:
        if len(self._buffer) < count:
            parts, have = [self._buffer], len(self._buffer)
            while have < count:
                part = self._socket.recv(1 << 20)
                if not part:
                    raise SolverError("Chromium closed the DevTools connection")
                parts.append(part)
                have += len(part)
            self._buffer = b"".join(parts)
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def send(self, text: str) -> None:
        data, mask = text.encode(), os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x81, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x81, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x81, 0x80 | 127, size)
        key = int.from_bytes(mask * (size // 4 + 1), "big") >> (8 * (4 - size % 4) if size % 4 else 32)
        masked = (int.from_bytes(data, "big") ^ key).to_bytes(size, "big")
        self._socket.sendall(head + mask + masked)

    def receive(self) -> str:
        parts = []
        while True:
            first, second = self._take(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack("!H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._take(8))[0]
            data = self._take(size)
            if first & 0x0F in (0, 1):
                parts.append(data)
                if first & 0x80:
                    return b"".join(parts).decode()
            elif first & 0x0F == 8:
                raise SolverError("Chromium closed the DevTools connection")

    def close(self) -> None:
        self._socket.close()
