"""From the run of an assembled system to a scene: bodies by directors or in a plane, points as balls, edges of point bodies, springs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ..rotation import quaternion_from_matrix
from ..scene import Body, Channel, Link, Plot, Point, Run, Scene, Track
from ..shape import Shape, box, sphere
from .default_shapes import distinct, rod

#: Channels drawn beside the motion when none are named.
BOOKS = ("energy.kinetic", "energy.potential", "energy.total")


def assembled_scene(
    solution: Any, plots: Sequence[str] | Sequence[Sequence[str]] = (), trace: Sequence[str] = (), colours: Sequence[str] = (), **options: Any,
) -> Scene:  # fmt: skip
    """The motion of an assembled system; ``trace`` names coordinates whose path is drawn.

    Each block of coordinates that is a body or a point is shown with the shape given with it.  Shapes of other bodies are invented: a box of
    their inertia and rods to the points that joints and springs use; springs, dampers and the edges of bodies made of points are links.
    """
    system = solution.system
    points = _points(system)
    size = _extent(solution, points)
    bodies: list[Body] = []
    tracks: dict[str, Track] = {}
    for h in system.handles:
        track = _track(solution, h)
        if track is not None:
            shapes = (
                [h.shape] if isinstance(h.shape, Shape) else list(h.shape) if h.shape is not None else _invented(system, h, points, size)
            )
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
    run.events = [(e.t, e.name) for e in solution.events]
    links = _links(system, tracks, size)
    scene = Scene(
        system.name,
        bodies,
        points=[Point(n, n) for n in trace],
        links=links,
        runs=[run],
        plots=[Plot(g) for g in groups],
        up=_up(solution, system),
    )
    for key, value in options.items():
        setattr(scene, key, value)
    return scene


def _up(solution: Any, system: Any) -> str:
    """The axis against gravity: y for systems that move in a plane x, y."""
    weights = [n["gravity"] for n in system.constants if "gravity" in n and np.any(n["gravity"])]
    if weights:
        return "xyz"[int(np.argmax(np.abs(weights[0])))]
    return "y" if any(f"{h.name}.angle" in solution or h.size == 2 for h in system.handles) else "z"


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


def _point(given: np.ndarray) -> np.ndarray:
    return np.concatenate([given, np.zeros(3 - len(given))])


def _sides(system: Any) -> Iterator[tuple[Any, list[tuple[Any, np.ndarray]]]]:
    """Elements between two points, with the block (None: the ground) and the place in it of each."""
    for instance, numbers in zip(system.instances, system.constants, strict=True):
        if getattr(instance.element, "a", None) is None or getattr(instance.element, "b", None) is None:
            continue
        sides = []
        for side in "ab":
            given = numbers.get(f"point_{side}")
            handle = instance.blocks.get(side)
            if given is None and handle is not None and handle.size in (2, 3):
                given = np.zeros(3)
            if given is not None and len(given) in (2, 3):
                sides.append((handle, _point(given)))
        if len(sides) == 2:
            yield instance, sides


def _points(system: Any) -> dict[str, list[np.ndarray]]:
    """Points of bodies that elements use, in body axes."""
    found: dict[str, list[np.ndarray]] = {h.name: [] for h in system.handles}
    for _, sides in _sides(system):
        for handle, place in sides:
            if handle is not None:
                found[handle.name].append(place)
    return {n: distinct(points) for n, points in found.items()}


def _extent(solution: Any, points: Mapping[str, Sequence[np.ndarray]]) -> float:
    """Size of the mechanism as it starts, m; of a body alone, that of the region it moves in (it may fall far)."""
    tracks = [np.asarray(t.positions) for t in (_track(solution, h) for h in solution.system.handles) if t is not None]
    if not tracks:
        return 1.0
    arms = [2.0 * float(np.linalg.norm(p)) for places in points.values() for p in places]
    start = max(float(np.ptp([x[0] for x in tracks], axis=0).max()), *arms, 0.0)
    return start or max(float(np.ptp(tracks[0], axis=0).max()), 1e-3)


def _invented(system: Any, h: Any, points: Mapping[str, list[np.ndarray]], size: float) -> list[Shape]:
    """A ball for a point, rods between the points of a body; if these are few or many, the box of its inertia with rods to them."""
    own = [
        n for i, n in zip(system.instances, system.constants, strict=True)
        if i.blocks.get("body") is h and "euler" in n and np.sum(n["mass"]) > 0.0
    ]  # fmt: skip
    if h.size in (2, 3):
        return [sphere(0.02 * size)]
    places = points[h.name]
    if 1 < len(places) < 5:
        return [rod(a, b, 0.02 * size) for i, a in enumerate(places) for b in places[i + 1 :]]
    if not own:
        return [box(0.12 * size, 0.05 * size, 0.03 * size)]
    mass = float(np.sum(own[0]["mass"]))
    c = _point(own[0]["moment"] / mass)
    edges, axes = _box(own[0]["euler"], mass, c, size)
    arms = [rod(c, p, 0.012 * size) for p in places if np.linalg.norm(p - c) > 1e-6 * size]
    if edges.max() < 0.03 * size:
        return [sphere(0.03 * size, p=c), *arms]
    return [box(*edges, p=c, R=axes), *arms]


def _box(euler: np.ndarray, mass: float, c: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Edges and axes of the box with a body's second moments of mass, neither thinner nor larger than can be seen."""
    E = np.zeros((3, 3))
    if len(euler) == 3:
        E[0, 0], E[1, 1], E[0, 1] = euler
    else:
        E[0, 0], E[1, 1], E[2, 2], E[0, 1], E[0, 2], E[1, 2] = euler
    E = E + np.triu(E, 1).T - mass * np.outer(c, c)
    moments, axes = np.linalg.eigh(E)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    edges = np.sqrt(12.0 * np.maximum(moments, 0.0) / mass)
    edges *= min(1.0, 0.5 * size / max(float(edges.max()), 1e-300))
    return np.maximum(edges, 0.06 * float(edges.max())), axes


def _links(system: Any, tracks: Mapping[str, Track], size: float) -> list[Link]:
    """Springs and dampers between points, and the edges of bodies made of points."""
    found = []
    for instance, sides in _sides(system):
        kind = "damper" if "damping" in instance.element.constants else "spring"
        shown = all(h is None or h.name in tracks for h, _ in sides)
        if shown and not instance.element.rows() and instance.element.name in ("PointPotential", "PointDashpot"):
            a, b = ((None if h is None else h.name, p) for h, p in sides)
            found.append(Link(instance.name, kind, a, b, radius=0.02 * size))
    for instance in system.instances:
        if instance.element.name == "PointBody":
            names = [h.name for h in instance.blocks.values()]
            for i, a in enumerate(names):
                found += [
                    Link(f"{instance.name} {a} {b}", "rod", (a, np.zeros(3)), (b, np.zeros(3)), radius=0.008 * size) for b in names[i + 1 :]
                ]
    return found


__all__ = ["assembled_scene"]
