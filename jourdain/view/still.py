"""One instant of a scene as lines in world components: links with their coils, traces so far, arrows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from jourdain.view.camera import Extent, default_camera, extent
from jourdain.view.rotation import Array, matrix_from_quaternion
from jourdain.view.scene import Arrow, Body, Camera, Link, Run, Scene, Track, locate
from jourdain.view.scenes.surface import coloured, stops_of

ARROW_SHARE = 0.3
SPRING_SHARE = 0.022
COIL_SEGMENTS = 14
# a motion this many times larger than what is seen at an instant does not set the distance of a still
APART = 1.5


def still_camera(scene: Scene, t: float, aspect: float) -> Camera | None:
    """A camera for one instant where that of the whole motion would make it tiny, traces so far included.

    Where something has flown so far that the instant itself is wide, it looks at what is together. None where the usual camera shows
    the instant well, so that stills of one machine are seen from the same place.
    """
    if not scene.runs or scene.camera is not None or scene.follow is not None:
        return None
    whole = extent(scene)
    now = replace(scene, runs=[_at(scene, run, t) for run in scene.runs])
    if not whole.is_journey and whole.size <= APART * extent(now).size:
        return None
    together = _together(now, whole.model_size)
    if len(together) < len(_shown(now)) or whole.is_journey:  # traces lead away
        runs = [replace(run, points={}, links={}, bodies={n: b for n, b in run.bodies.items() if n in together}) for run in now.runs]
        now = replace(now, bodies=[b for b in now.bodies if b.name in together], runs=runs, links=[])
    return default_camera(now, aspect, extent(now))


def _shown(scene: Scene) -> list[Body]:
    return [b for b in scene.bodies if b.shapes or b.surface is not None]


def _together(scene: Scene, size: float) -> set[str]:
    """Names of the largest group of bodies with gaps below half the model's size between them, by the balls around them."""
    balls: dict[str, tuple[Array, float]] = {}
    for body in _shown(scene):
        one = extent(replace(scene, bodies=[body], links=[], runs=[replace(scene.runs[0], points={}, links={})]))
        balls[body.name] = 0.5 * (one.model_low + one.model_high), 0.5 * one.model_size
    groups: list[set[str]] = []
    for name, (centre, radius) in balls.items():
        near = [g for g in groups if any(np.linalg.norm(balls[n][0] - centre) - balls[n][1] - radius < 0.5 * size for n in g)]
        groups = [g for g in groups if g not in near] + [{name}.union(*near)]
    return max(groups, key=len, default=set())


def _at(scene: Scene, run: Run, t: float) -> Run:
    """A run that holds an instant, and points at the corners of its traces so far."""
    i, f = locate(np.asarray(run.times), t)
    nearest = min(i + int(f > 0.5), len(np.asarray(run.times)) - 1)
    k = slice(nearest, nearest + 1)
    bodies = {n: Track(np.asarray(b.positions)[k], np.asarray(b.quaternions)[k]) for n, b in run.bodies.items()}
    lines: dict[str, ArrayLike] = {n: np.asarray(line)[k] for n, line in run.links.items()}
    paths = [path for _, path in traces(scene, t)]
    corners: dict[str, ArrayLike] = {
        f"{j}{side}": ends[None] for j, path in enumerate(paths) for side, ends in enumerate((path.min(axis=0), path.max(axis=0)))
    }
    bent: dict[str, ArrayLike] = {n: np.asarray(a)[k] for n, a in run.amplitudes.items()}
    return Run([t], bodies, run.name, corners, lines, amplitudes=bent)


def links(scene: Scene, t: float) -> list[tuple[Link, Array]]:
    """Every link and its line (n, 3) at time t; springs are coils."""
    size = extent(scene).model_size
    lines = []
    for link in scene.links:
        track = scene.runs[0].links.get(link.name) if scene.runs else None
        if track is not None:
            points = np.asarray(track)
            i, f = locate(np.asarray(scene.runs[0].times), t)
            line = (1 - f) * points[i] + f * points[min(i + 1, len(points) - 1)]
        else:
            line = np.stack([scene.place(*anchor, node, t) for anchor, node in zip((link.a, link.b), link.nodes, strict=True)])
        if link.kind.startswith("spring") and len(line) == 2:
            line = coil(line[0], line[1], link.radius or SPRING_SHARE * size, link.coils)
        lines.append((link, line))
    return lines


def coil(a: Array, b: Array, radius: float, coils: int) -> Array:
    """Points (n, 3) of a helix from a to b with straight ends over a tenth of its length."""
    length = float(np.linalg.norm(b - a))
    if length == 0.0:
        return np.stack([a, b])
    axis = (b - a) / length
    side = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    side /= np.linalg.norm(side)
    over = np.cross(axis, side)
    u = np.linspace(0.0, 1.0, coils * COIL_SEGMENTS + 1)
    r = radius * np.minimum(1.0, 3 * coils * np.minimum(u, 1 - u))
    angle = 2 * np.pi * coils * u
    along = length * (0.1 + 0.8 * u)
    helix = a + np.outer(along, axis) + np.outer(r * np.cos(angle), side) + np.outer(r * np.sin(angle), over)
    return np.concatenate([a[None], helix, b[None]])


def traces(scene: Scene, t: float) -> list[tuple[str, Array]]:
    """Names and paths (n, 3) of traced points up to time t."""
    if not scene.runs:
        return []
    run = scene.runs[0]
    chosen = np.asarray(run.times) <= t
    paths = []
    for point in scene.points:
        if point.name in run.points:
            path = np.asarray(run.points[point.name])[chosen]
        elif point.body is not None and point.body in run.bodies:
            track = run.bodies[point.body]
            rotations = matrix_from_quaternion(np.asarray(track.quaternions)[chosen])
            local = np.tile(np.asarray(point.position), (int(chosen.sum()), 1))
            if point.node is not None and point.body in run.amplitudes:
                node, bent = scene.node(point.body, point.node), np.asarray(run.amplitudes[point.body])[chosen]
                local = np.array([node.moved(p, e, scene.exaggeration) for p, e in zip(local, bent, strict=True)])
            path = np.einsum("tij,tj->ti", rotations, local) + np.asarray(track.positions)[chosen]
        else:
            continue
        if point.trace and len(path) > 1:
            paths.append((point.name, path))
    return paths


def arrows(scene: Scene, t: float) -> list[tuple[Array, Array]]:
    """Foot and tip of every arrow at time t."""
    ends = []
    space = extent(scene)
    for arrow in scene.arrows:
        track = scene.runs[0].arrows.get(arrow.name) if scene.runs else None
        if track is None:
            continue
        i, f = locate(np.asarray(scene.runs[0].times), t)
        j = min(i + 1, len(np.asarray(scene.runs[0].times)) - 1)
        foot, vector = ((1 - f) * np.asarray(part)[i] + f * np.asarray(part)[j] for part in track)
        ends.append((foot, foot + arrow_scale(scene, space, arrow) * vector))
    return ends


def arrow_scale(scene: Scene, space: Extent, arrow: Arrow) -> float:
    """m per unit: as given, or so that the longest arrow of the same kind takes 30 % of the model."""
    if arrow.scale:
        return arrow.scale
    names = {other.name for other in scene.arrows if other.kind == arrow.kind}
    longest = 0.0
    for run in scene.runs:
        for name in names & run.arrows.keys():
            vectors = np.asarray(run.arrows[name][1])
            longest = max(longest, float(np.max(np.linalg.norm(vectors, axis=1), initial=0.0)))
    return ARROW_SHARE * space.model_size / longest if longest else 1.0


def skin(scene: Scene, body: Body, t: float) -> tuple[Array, Array | None]:
    """Vertices (n, 3) of a body's surface in its frame at time t, and their colours (n, 3) where it shows a field."""
    surface = body.surface
    assert surface is not None
    amplitudes = scene.amplitudes(body.name, t)
    vertices = surface.deformed(amplitudes, scene.exaggeration)
    if surface.shown is None:
        return vertices, None
    shown = surface.field(surface.shown)
    return vertices, coloured(shown.values(amplitudes), *scene.field_range(shown.name), stops_of(shown))
