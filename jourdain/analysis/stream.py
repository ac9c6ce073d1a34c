"""Long runs whose results go to a file as they are made."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..results.solution import Solution
from ..results.stream_file import StreamFile
from ..systems.outputs.energy_balance import BOOKS
from ..systems.run import SimulationError, SimulationInterrupted

if TYPE_CHECKING:
    from ..systems.system import System

#: Channels that go on from piece to piece, whatever they begin with in each.
CUMULATIVE = (*BOOKS, "contacts.dissipated", "step.energy.dissipated", "step.energy.supplied")


def stream(
    system: System, path: str | Path, x0: Any = None, t: float | Sequence[float] | None = None, method: str | None = None, *,
    pieces: int = 20, names: Sequence[str] | None = None, inputs: Mapping[str, Any] | None = None, **options: Any,
) -> Solution:  # fmt: skip
    """Simulates as :func:`.simulate` does, in ``pieces`` of equal length that go on from each other, and adds the rows of each to a .h5 or .parquet file.

    ``names`` are the channels that are kept (energies, figures of contacts and those that need no further computation, where
    they are not given).  What was done is in the file, also where a run
    fails or is interrupted by Ctrl-C; the solution of the last piece is returned.
    """
    if not isinstance(pieces, int) or pieces < 1:
        raise InputError(f"stream '{system.model.name}': pieces = {pieces!r} must be a whole number, 1 or more")
    if t is None:
        raise InputError(f"stream '{system.model.name}': for how long? give t= in seconds, or (start, end)")
    for word in ("times", "outputs"):
        if word in options:
            raise InputError(f"stream '{system.model.name}': there is no option '{word}'; every step of a piece is written")
    begin, end = (0.0, float(t)) if isinstance(t, (int, float)) else map(float, t)
    ends = np.linspace(begin, end, pieces + 1)
    file, kept, sol = StreamFile(path, names), _Books(), x0
    try:
        for a, b in pairwise(ends):
            try:
                sol = system.simulate(sol, (float(a), float(b)), method, inputs=inputs, **options)
            except (SimulationError, SimulationInterrupted) as error:
                if error.solution is not None:
                    with _undisturbed():
                        file.add(kept.of(error.solution, names))
                raise
            with _undisturbed():
                file.add(kept.of(sol, names))
            options.pop("overlap", None)
    finally:
        with _undisturbed():
            file.close()
    return sol  # type: ignore[no-any-return]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Puts Ctrl-C off until rows are written whole."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt


class _Books:
    """What is kept of pieces, with books that go on from the first to the last."""

    def __init__(self) -> None:
        self.last: dict[str, float] = {}

    def of(self, sol: Solution, names: Sequence[str] | None) -> Solution:
        """The channels by names, or energies, figures of contacts and what the piece holds already."""
        if names is None:
            names = [n for n in sol.names if n.startswith(("energy.", "contacts.")) or sol.channel(n).computed]
        books = {}
        for name in sol.names(*names) if len(sol) else ():
            if name in CUMULATIVE:
                values = sol[name]
                values = values + (self.last.get(name, values[0]) - values[0])
                books[name], self.last[name] = sol.channel(name).like(lambda x=values: x), float(values[-1])
        return (sol.with_channels(**books) if books else sol).select(*names)


__all__ = ["stream"]
