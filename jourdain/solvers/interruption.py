"""What a run hears between chunks of native steps: Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from importlib import import_module
from types import TracebackType
from typing import Any

#: About how long (s) native code runs before Python is asked whether to go on.
CHUNK_TIME = 0.1
_SIGINT = int(signal.SIGINT)
# the C function itself: the conversion of enumerations around it takes longer than many a run
_set_handler: Callable[[int, Any], Any] = import_module("_signal").signal


class Interruption:
    """Turns the first Ctrl-C into a flag that is read between chunks; a second one raises at once."""

    def __init__(self) -> None:
        self.heard = False

    def _note(self, number: int, where: Any) -> None:
        if self.heard:
            raise KeyboardInterrupt
        self.heard = True

    def __enter__(self) -> Interruption:
        self._main = threading.get_ident() == threading.main_thread().ident
        self._before = _set_handler(_SIGINT, self._note) if self._main else None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._main:
            _set_handler(_SIGINT, self._before if self._before is not None else signal.default_int_handler)


def in_chunks(run: Callable[[int, int], int], steps: int) -> int:
    """Runs native steps some at a time until all are done, one fails or Ctrl-C is heard.

    ``run(first, last)`` does the steps from one to another and returns how many are done in all; what it returns short of the last is
    where it failed, given back here as −1 less that number.
    """
    done, chunk = 0, 64
    with Interruption() as interruption:
        while done < steps and not interruption.heard:
            begun, last = time.perf_counter(), min(done + chunk, steps)
            done = run(done, last)
            if done < last:
                return -1 - done
            chunk = max(1, int(chunk * min(8.0, CHUNK_TIME / max(time.perf_counter() - begun, 1e-9))))
    return done
