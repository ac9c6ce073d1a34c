"""Live view: a simulation that is watched while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from jourdain.errors import InputError
from jourdain.view.scene import Scene
from jourdain.view.scenes.from_solution import scene_of
from jourdain.view.server import Server, serve

if TYPE_CHECKING:
    from jourdain.results.solution import Solution
    from jourdain.systems.state import State
    from jourdain.systems.system import System

#: Seconds of wall time after which the page hears news, and most pieces of a run.
NEWS = 0.1
MOST_PIECES = 2000
#: Status of a run that a terminal event ended.
ENDED = "event"


def watch(
    system: System, x0: State | Mapping[str, Any] | None, t: float, method: str | None = None, *, plots: Sequence[Any] = (),
    trace: Sequence[str] = (), forces: Sequence[str] = (), stress: Mapping[str, str] | str | None = None, exaggerate: float = 1.0,
    pace: float | None = None, open_browser: bool = True,
    on_start: Callable[[Server], None] | None = None, **options: Any,
) -> tuple[Solution, Server]:  # fmt: skip
    """Simulates for ``t`` seconds and shows the motion in the browser meanwhile; returns the solution and the server, which stays open.

    ``pace`` = 1 keeps to real time, 0.1 to slow motion; without it the run goes as fast as it can.  ``plots``, ``trace``,
    ``forces``, ``stress`` and ``exaggerate`` are those of :func:`~jourdain.view.scenes.from_solution.scene_of`, other ``options`` those of ``system.simulate``.
    The solution is the same as without being watched up to the steps at which the pieces meet.
    """
    if options.get("times") is not None or options.get("outputs") is not None:
        raise InputError("watch: the page is fed piece by piece; resample the solution afterwards: sol.resample(101)")
    if not t > 0 or (pace is not None and not pace > 0):
        raise InputError(f"watch: the duration {t} s and the pace {pace} must be positive")
    piece = max(t / MOST_PIECES, min(t / 200, 1 / 30))
    began = time.perf_counter()
    pieces = [system.simulate(x0, piece, method, **options)]
    start = float(pieces[0].t[0])
    shown: dict[str, Any] = {
        "plots": plots,
        "trace": trace,
        "forces": forces,
        "stress": stress,
        "exaggerate": exaggerate,
        "fine": 0,
        "pieces": True,
    }
    server = serve(scene_of(pieces[0], **shown), open_browser, live=True)
    try:
        if on_start is not None:
            on_start(server)
        while (left := start + t - float(pieces[-1].t[-1])) > 1e-9 * t and pieces[-1].metadata.get("status") != ENDED:
            begin = time.perf_counter()
            pieces.append(system.simulate(pieces[-1], min(piece, left), method, **options))
            send(server, scene_of(pieces[-1], **shown))
            spent = time.perf_counter() - begin
            piece = max(t / MOST_PIECES, min(piece * min(2.0, NEWS / max(spent, 1e-6)), pace * NEWS if pace else t / 20))
            if pace is not None:
                time.sleep(max(0.0, (float(pieces[-1].t[-1]) - start) / pace - (time.perf_counter() - began)))
    except BaseException:
        server.close()
        raise
    server.finish()
    return joined(pieces), server


def joined(pieces: list[Solution]) -> Solution:
    """The pieces as one solution, joined in pairs so that channels computed on demand are not nested deep."""
    while len(pieces) > 1:
        pairs = [a + b for a, b in zip(pieces[::2], pieces[1::2], strict=False)]
        pieces = pairs + ([pieces[-1]] if len(pieces) % 2 else [])
    return pieces[0]


def send(server: Server, scene: Scene) -> None:
    """Everything a piece of motion holds after its first sample, which the page has already."""
    run = scene.runs[0]
    poses = {name: (track.positions[1:], track.quaternions[1:]) for name, track in run.bodies.items()}  # type: ignore[index]
    channels = {c.name: c.values[1:] for c in run.channels}  # type: ignore[index]
    arrows = {name: (foot[1:], vector[1:]) for name, (foot, vector) in run.arrows.items()}  # type: ignore[index]
    bent = {name: np.asarray(track)[1:] for name, track in run.amplitudes.items()}
    with suppress(IndexError):
        server.append(run.times[1:], poses, channels, arrows, bent)  # type: ignore[index]


__all__ = ["ENDED", "joined", "send", "watch"]
