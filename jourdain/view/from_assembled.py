"""From the run of an assembled system to a scene: bodies by directors, points as small spheres, bars between the ends of point bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from .rotation import quaternion_from_matrix
from .scene import Body, Channel, Plot, Point, Run, Scene, Track
from .shape import Shape, box, sphere

#: Channels drawn beside the motion when none are named.
BOOKS = ("energy.kinetic", "energy.potential", "energy.total")


def assembled_scene(
    solution: Any, plots: Sequence[str] | Sequence[Sequence[str]] = (), trace: Sequence[str] = (), colours: Sequence[str] = (), **options: Any,
) -> Scene:  # fmt: skip
    """The motion of an assembled system; ``trace`` names coordinates whose path is drawn.

    Each block of coordinates that is a body or a point is shown with the shape given with it, or a plain one.
    """
    system = solution.system
    size = _extent(solution)
    bodies: list[Body] = []
    tracks: dict[str, Track] = {}
    for h in system.handles:
        track = _track(solution, h)
        if track is not None:
            shapes = [h.shape] if isinstance(h.shape, Shape) else list(h.shape) if h.shape is not None else [_plain(solution, h, size)]
            bodies.append(Body(h.name, shapes, colour=colours[len(bodies) % len(colours)] if colours else None))
            tracks[h.name] = track
    if not bodies:
        raise InputError(f"system '{system.name}' has no bodies or points to see: its coordinates are single numbers")
    unknown = [n for n in trace if n not in tracks]
    if unknown:
        raise InputError(f"there are no coordinates '{unknown[0]}' to trace; use {', '.join(tracks)}")
    groups = [[p] if isinstance(p, str) else list(p) for p in plots] or [list(BOOKS)]
    names = sorted({n for g in groups for n in g})
    run = Run(solution.t, tracks, channels=[Channel(n, solution[n], solution.channel(n).unit) for n in names])
    scene = Scene(system.name, bodies, points=[Point(n, n) for n in trace], runs=[run], plots=[Plot(g) for g in groups])
    for key, value in options.items():
        setattr(scene, key, value)
    return scene


def _track(solution: Any, h: Any) -> Track | None:
    """Poses of a block: of a body with directors, a planar body, or a point."""
    if f"{h.name}.rotation" in solution:
        return Track(solution[f"{h.name}.position"], quaternion_from_matrix(solution[f"{h.name}.rotation"]))
    if f"{h.name}.angle" in solution:
        half = 0.5 * solution[f"{h.name}.angle"]
        still = np.zeros_like(half)
        return Track(_spatial(solution[f"{h.name}.position"]), np.column_stack([np.cos(half), still, still, np.sin(half)]))
    if h.size in (2, 3) and h.name in solution:
        return Track(_spatial(solution[h.name]))
    return None


def _spatial(x: np.ndarray) -> np.ndarray:
    return x if x.shape[1] == 3 else np.column_stack([x, np.zeros(len(x))])


def _extent(solution: Any) -> float:
    """Size of the region the bodies move in, m."""
    tracks = [t.positions for t in (_track(solution, h) for h in solution.system.handles) if t is not None]
    if not tracks:
        return 1.0
    points = np.concatenate(tracks)
    return max(float(np.ptp(points, axis=0).max()), 1e-3)


def _plain(solution: Any, h: Any, size: float) -> Shape:
    if h.size in (2, 3):
        return sphere(0.02 * size)
    return box(0.12 * size, 0.05 * size, 0.03 * size)


__all__ = ["assembled_scene"]
