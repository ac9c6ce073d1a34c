"""One Chromium for all pictures of a program: it starts with the first, and ends with the program or when nobody has wanted one for a while."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jourdain.errors import SolverError
from jourdain.view.chromium import Browser, find_chromium
from jourdain.view.page import page_html
from jourdain.view.scene import Scene

#: Variable with the address of a page for pictures that another program keeps open.
LENT = "JOURDAIN_PAGE"
#: Seconds without a picture after which the browser ends.
IDLE = 60.0


class _Darkroom:
    """A browser with the page of a viewer, whose scene is exchanged from picture to picture; shared by threads, one at a time."""

    def __init__(self) -> None:
        self.turn = threading.RLock()
        self.browser: Browser | None = None
        self.process = 0
        self.timer: threading.Timer | None = None

    def open(self, size: tuple[int, int]) -> Browser:
        if self.process != os.getpid():  # a fork has its parent's browser, which is not its own to use or to end
            self.browser, self.process = None, os.getpid()
        if self.browser is None:
            self.browser = _lent(size) or with_viewer(size)
        self.browser.resize(size)
        return self.browser

    def close(self) -> None:
        with self.turn:
            browser, self.browser = self.browser, None
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            if browser is not None and self.process == os.getpid():
                browser.close()

    def rest(self) -> None:
        """Ends the browser after a while, unless it is wanted again."""
        self.timer = threading.Timer(IDLE, self.close)
        self.timer.daemon = True
        self.timer.start()


def _lent(size: tuple[int, int]) -> Browser | None:
    """The page that another program keeps open for this one, if it is there."""
    address = os.environ.get(LENT, "")
    try:
        return Browser(size, page=address) if address else None
    except (OSError, SolverError):
        return None


def with_viewer(size: tuple[int, int]) -> Browser:
    """A browser with the page of a viewer that is ready for pictures."""
    browser = Browser(size)
    try:
        with tempfile.TemporaryDirectory(prefix="jourdain-picture-") as folder:
            page = Path(folder) / "viewer.html"
            page.write_text(page_html(Scene("picture"), theme="light"), encoding="utf-8")
            browser.open(page.as_uri() + "#picture")
    except BaseException:
        browser.close()
        raise
    return browser


_room = _Darkroom()
atexit.register(_room.close)


@contextmanager
def kept_browser(size: tuple[int, int]) -> Iterator[Browser]:
    """The browser for pictures of that size in px; one that fails is ended, so that the next picture has a new one."""
    with _room.turn:
        if _room.timer is not None:
            _room.timer.cancel()
            _room.timer = None
        try:
            yield _room.open(size)
        except BaseException:
            _room.close()
            raise
        _room.rest()


@contextmanager
def lent_page(size: tuple[int, int] = (1280, 720)) -> Iterator[dict[str, str]]:
    """What to add to the environment of programs, one at a time, so that they take pictures on a page kept open here; nothing without Chromium."""
    if find_chromium() is None:
        yield {}
        return
    with with_viewer(size) as browser:
        yield {LENT: browser.address}


def close_browser() -> None:
    """Ends the browser for pictures now."""
    _room.close()


__all__ = ["close_browser", "kept_browser", "lent_page"]
