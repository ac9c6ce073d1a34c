"""How far a long job is: a bar on a terminal, or in the cell of a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol, Self

from jourdain.shown import in_notebook

#: Seconds between two drawings in a notebook.
PAUSE = 0.1


class Bar:
    """A bar up to ``total``, in whatever unit, with words that change; use it in a ``with`` statement."""

    def __init__(self, total: float, words: str, done: float = 0.0, error: bool = False) -> None:
        self._shown: _Shown = _Cell(total, words, done) if in_notebook() else _Terminal(total, words, done, error)

    def show(self, done: float, words: str) -> None:
        """Moves the bar."""
        self._shown.show(done, words)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._shown.end()


class TimeBar(Bar):
    """A bar in simulated time."""

    def __init__(self, t0: float, t1: float) -> None:
        super().__init__(abs(t1 - t0) or 1.0, f"t = {t0:.4g} s")
        self._t0 = t0

    def at(self, t: float) -> None:
        """Moves the bar to a time."""
        self.show(abs(t - self._t0), f"t = {t:.4g} s")


class _Shown(Protocol):
    def show(self, done: float, words: str) -> None: ...

    def end(self) -> None: ...


class _Terminal:
    def __init__(self, total: float, words: str, done: float, error: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bars = Progress(TextColumn("{task.fields[words]}"), BarColumn(), TimeRemainingColumn(), console=Console(stderr=error))
        self._task = self._bars.add_task("", total=total, words=words)
        self._bars.update(self._task, completed=done)
        self._bars.start()

    def show(self, done: float, words: str) -> None:
        self._bars.update(self._task, completed=done, words=words)

    def end(self) -> None:
        self._bars.stop()


class _Cell:
    """An element that every front end draws by itself, put in place again and again: it needs no widgets."""

    def __init__(self, total: float, words: str, done: float) -> None:
        self._display: Any = import_module("IPython.display")
        self._total, self._first = total, done
        self._began, self._last = time.monotonic(), 0.0
        self._now = (done, words)
        self._handle = self._display.display(self._drawn(), display_id=True)

    def _drawn(self) -> Any:
        done, words = self._now
        spent, share = time.monotonic() - self._began, done / self._total
        rate = (done - self._first) / spent if spent > 0 else 0.0
        left = f"{spent:.1f} s" if done >= self._total else f"{(self._total - done) / rate:.0f} s left" if rate > 0 else ""
        bar = f'<progress value="{share:.4f}" max="1" style="width:18em;vertical-align:middle"></progress>'
        return self._display.HTML(f"<span>{escape(words)} {bar} {100 * share:.0f} % {left}</span>")

    def show(self, done: float, words: str) -> None:
        self._now = (done, words)
        if time.monotonic() - self._last > PAUSE:
            self._last = time.monotonic()
            self._handle.update(self._drawn())

    def end(self) -> None:
        self._handle.update(self._drawn())


def somebody_looks() -> bool:
    """Whether a bar would be seen: on a terminal, or in a notebook."""
    return in_notebook() or sys.stderr.isatty()


class Tick(Protocol):
    """What is called at the end of a piece of work."""

    def __call__(self, words: str = "") -> None: ...


@contextmanager
def counted(what: str, total: int, done: int = 0, wanted: bool = True) -> Iterator[Tick]:
    """A function that is called once for each of ``total`` pieces of work, maybe with words; it shows a bar where somebody looks."""
    if not wanted or not somebody_looks():
        yield lambda words="": None
        return
    with Bar(max(total, 1), f"{what} {done}/{total}", done, error=True) as bar:
        count = done

        def tick(words: str = "") -> None:
            nonlocal count
            count += 1
            bar.show(count, f"{what} {count}/{total}" + (f", {words}" if words else ""))

        yield tick


__all__ = ["Bar", "Tick", "TimeBar", "counted", "somebody_looks"]
