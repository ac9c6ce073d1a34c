"""Forces of contacts as arrows where bodies touch, and who touched whom."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ..scene import Arrow, Scene

#: Most instants at which contacts are looked for again, and most arrows of a contact.
INSTANTS, MOST = 300, 240
#: Impacts are drawn no longer than so many times the force that nine of ten do not exceed.
LONGEST = 3.0


def add_contact_arrows(scene: Scene, shown: Sequence[tuple[Any, np.ndarray]], contact: str, at: float | None = None) -> None:
    """Arrows of a contact's forces, on bodies at the points where they touch; on their origins where a solution has not kept every step.

    ``shown`` are solutions as they were computed, with the instants that the scene has.  The bodies know whom they touched.  With ``at`` contacts are looked for at
    that instant alone, as a picture needs them.
    """
    for (solution, times), run in zip(shown, scene.runs, strict=True):
        try:
            tracks, pairs = _points(solution, times, contact, at)
        except InputError:  # samples of a run, or one that was read from a file
            tracks, pairs = _on_bodies(solution, times, contact, run), {}
        _shorten([vectors for _, vectors in tracks.values()])
        known = {a.name for a in scene.arrows}
        for name, track in tracks.items():
            run.arrows[name] = track
            if name not in known:
                scene.arrows.append(Arrow(name, bodies=pairs.get(name)))
        scene.unseen = sorted({*scene.unseen, *(pair for name, pair in pairs.items() if name not in tracks)})
        _tell(scene, set(pairs.values()))


def _points(
    solution: Any, times: np.ndarray, contact: str, at: float | None
) -> tuple[dict[str, tuple[np.ndarray, np.ndarray]], dict[str, tuple[str, str]]]:
    """Place and force of every point of every pair of bodies, and the pairs; where a pair touches at several points they are numbered."""
    table = solution.contacts
    chosen = np.unique(np.linspace(0, len(times) - 1, min(INSTANTS, len(times))).round().astype(int)) if at is None else np.zeros(1, int)
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    pairs: dict[str, tuple[str, str]] = {}
    for k, first in enumerate(chosen):
        last = chosen[k + 1] if k + 1 < len(chosen) else len(times)
        count: dict[tuple[str, str], int] = {}
        for touch in table.at(float(np.clip(times[first] if at is None else at, solution.t[0], solution.t[-1]))):
            if touch.contact != contact or touch.state == "open":
                continue
            a, b, force = touch.body_a, touch.body_b, touch.force
            if a == "ground":
                a, b, force = b, a, -force
            count[a, b] = number = count.get((a, b), 0) + 1
            name = f"{contact}: {b} on {a}" + (f", {number}" if number > 1 else "")
            pairs[name] = a, b
            if name not in found and len(found) >= MOST:
                continue
            place, vector = found.setdefault(name, (np.zeros((len(times), 3)), np.zeros((len(times), 3))))
            place[first:last], vector[first:last] = touch.point, force
    if len(pairs) > len(found):
        warnings.warn(
            f"forces of contact '{contact}': {len(found)} of {len(pairs)} points of contact have an arrow; under the mouse bodies tell of the others "
            "by name alone; a contact of its own for the bodies of interest has them all",
            RuntimeWarning,
            stacklevel=2,
        )
    return found, pairs


def _on_bodies(solution: Any, times: np.ndarray, contact: str, run: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Net forces on bodies, from channels, at their origins."""
    found: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for body, track in run.bodies.items():
        name = f"{contact}.{body}.force"
        if name in solution and len(found) < MOST:
            forces = np.column_stack([np.interp(times, solution.t, column) for column in solution[name].T])
            found[f"{contact}: on {body}"] = (np.asarray(track.positions, float).copy(), forces)
    return found


def _shorten(forces: list[np.ndarray]) -> None:
    """Cuts the peaks of impacts, which would leave nothing to be seen of other forces, in place."""
    lengths = np.concatenate([np.linalg.norm(f, axis=1) for f in forces] or [np.zeros(0)])
    acting = lengths[lengths > 0.0]
    if acting.size:
        longest = LONGEST * float(np.quantile(acting, 0.9))
        for f in forces:
            size = np.linalg.norm(f, axis=1)
            f[size > longest] *= (longest / size[size > longest])[:, None]


def _tell(scene: Scene, pairs: set[tuple[str, str]]) -> None:
    """Writes into what is shown of a body whom it touched."""
    for body in scene.bodies:
        others = sorted({b if a == body.name else a for a, b in pairs if body.name in (a, b)})
        if others:
            body.info["touches"] = ", ".join(others[:8]) + (f" and {len(others) - 8} more" if len(others) > 8 else "")


__all__ = ["add_contact_arrows"]
