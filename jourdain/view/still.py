"""One instant of a scene as lines in world components: links with their coils, traces so far, arrows."""

from __future__ import annotations

import numpy as np

from jourdain.view.camera import Extent, extent
from jourdain.view.rotation import Array, matrix_from_quaternion
from jourdain.view.scene import Arrow, Body, Link, Scene, locate
from jourdain.view.surface import coloured, stops_of

ARROW_SHARE = 0.3
SPRING_SHARE = 0.022
COIL_SEGMENTS = 14


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
