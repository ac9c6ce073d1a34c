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
from ..systems.run import SimulationError, SimulationInterrupted
from ..systems.state import State
from .simulate import span_of

if TYPE_CHECKING:
    from ..systems.system import System


def stream(
    system: System, path: str | Path, x0: Any = None, t: float | str | Sequence[float | str] | None = None, method: str | None = None, *,
    pieces: int = 20, names: Sequence[str] | None = None, inputs: Mapping[str, Any] | None = None, **options: Any,
) -> Solution:  # fmt: skip
    """Simulates as :func:`.simulate` does, in ``pieces`` of equal length that go on from each other, and adds the rows of each to a .h5 or .parquet file.

    ``names`` are the channels that are kept (energies, figures of contacts and those that need no further computation in the first piece, where
    they are not given).  What was done is in the file, also where a run fails or is interrupted by Ctrl-C; the solution of the last piece is returned.
    """
    if not isinstance(pieces, int) or pieces < 1:
        raise InputError(f"stream '{system.model.name}': pieces = {pieces!r} must be a whole number, 1 or more")
    if t is None:
        raise InputError(f"stream '{system.model.name}': for how long? give t= in seconds, or (start, end)")
    for word in ("times", "outputs"):
        if word in options:
            raise InputError(f"stream '{system.model.name}': there is no option '{word}'; every step of a piece is written")
    ends = np.linspace(*span_of(system.model.name, _begun(x0), t), pieces + 1)
    file, sol = StreamFile(path, names), x0
    try:
        for a, b in pairwise(ends):
            try:
                sol = system.simulate(sol, (float(a), float(b)), method, inputs=inputs, **options)
            except (SimulationError, SimulationInterrupted) as error:
                if error.solution is not None:
                    with _undisturbed():
                        file.add(error.solution)
                raise
            with _undisturbed():
                file.add(sol)
            options.pop("overlap", None)
    finally:
        with _undisturbed():
            file.close()
    return sol  # type: ignore[no-any-return]


def _begun(x0: Any) -> float:
    """The time of a start; named values begin at zero."""
    return float(x0.t[-1]) if isinstance(x0, Solution) else x0.t if isinstance(x0, State) else 0.0


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


__all__ = ["stream"]
