"""What a running study tells its live page: rows as they come, how far it is, how long the rest will take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from ..view.server import Server

Watch = bool | Callable[[str], Any]

#: Seconds between two messages to a page.
PAUSE = 0.25


class News:
    """Rows, failures and stages of a study for its page, if it has one."""

    def __init__(self, what: str, page: Server | None = None) -> None:
        self.page = page
        self.failed, self.failure = 0, ""
        self.stage, self.done, self.total = what, 0, 0
        self._new: list[dict[str, Any]] = []
        self._begun = self._last = time.monotonic()
        self._stage = (self._begun, 0)

    def begin(self, what: str, total: int, done: int = 0) -> None:
        """A stage of so many pieces, some of which are done."""
        self.stage, self.done, self.total = what, done, total
        self._stage = (time.monotonic(), done)

    @property
    def left(self) -> float | None:
        """Seconds that this stage will take, by what its pieces took; None while nothing is known."""
        begun, first = self._stage
        done = self.done - first
        return None if done < 1 else (time.monotonic() - begun) / done * (self.total - self.done)

    @property
    def runs(self) -> int:
        """Runs of this call."""
        return self.done - self._stage[1]

    @property
    def judged(self) -> Mapping[str, Any]:
        """What is said of the rows as a whole: front, best, hypervolume."""
        return {"front": [], "best": None, "volume": None, "reference": None}

    def row(self, values: Sequence[float] | np.ndarray, variables: Sequence[float] | np.ndarray, ok: bool = True, **more: Any) -> None:
        """A row for the page."""
        if self.page is not None:
            self._new.append({"y": _plain(values), "x": _plain(variables), "ok": ok, **more})

    def fail(self, message: str) -> None:
        """A run that failed."""
        self.failed, self.failure = self.failed + 1, message

    def tell(self, at_once: bool = False, end: str = "") -> None:
        """News for the page."""
        now = time.monotonic()
        if self.page is None or (now - self._last < PAUSE and not at_once):
            return
        self._last = now
        self.page.tell(
            {
                "new": self._new, "stage": self.stage, "done": self.done, "total": self.total, "left": self.left, "spent": now - self._begun,
                "runs": self.runs, "failed": self.failed, "failure": self.failure, **self.judged, "end": end,
            }
        )  # fmt: skip
        self._new = []

    def end(self, how: str) -> None:
        """The last news."""
        if self.page is not None:
            self.tell(at_once=True, end=how)
            self.page.finish()

    @contextmanager
    def told(self) -> Iterator[None]:
        """A study whose end is told, however it comes."""
        try:
            yield
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt)
            self.end("interrupted; the same call goes on if it has a store" if stopped else f"ended by an error: {error}")
            raise
        self.end("done")


def _plain(values: Sequence[float] | np.ndarray) -> list[float | None]:
    """Numbers as a page can take them."""
    return [float(x) if math.isfinite(x) else None for x in values]


def check_watch(what: str, watch: Any) -> None:
    """Refuses what is no wish for a page."""
    if not isinstance(watch, bool) and not callable(watch):
        raise InputError(
            f"{what}: watch = {watch!r} must be True (opens a page in the browser) or a function of its address, such as print"
        )


__all__ = ["News", "Watch", "check_watch"]
