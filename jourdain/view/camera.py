"""How large the scene is and where to look at it from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jourdain.view.rotation import Array, matrix_from_quaternion
from jourdain.view.scene import Body, Camera, Run, Scene, Track

FOV = 35.0
SAMPLES = 200
# a motion this many times longer than the model is followed instead of fitted
JOURNEY = 6.0
_STEPS = np.array(np.meshgrid(*[(-1.0, -0.5, 0.0, 0.5, 1.0)] * 3)).reshape(3, -1).T
DIRECTIONS = _STEPS[np.max(np.abs(_STEPS), axis=1) == 1.0]
DIRECTIONS = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)


@dataclass
class Extent:
    """Corners of the box around the whole motion, the size of the model at the start (its diagonal), and the ground."""

    low: Array
    high: Array
    model_low: Array
    model_high: Array
    #: points (n, 3) of the motion that reach furthest in many directions
    outline: Array

    @property
    def size(self) -> float:
        """Diagonal of the box around the whole motion, in m."""
        return float(np.linalg.norm(self.high - self.low)) or 1.0

    @property
    def model_size(self) -> float:
        """Diagonal of the box around the model at the start, in m."""
        return float(np.linalg.norm(self.model_high - self.model_low)) or 1.0

    @property
    def is_journey(self) -> bool:
        """Whether the model travels so far that a camera fitted to the motion would not show it."""
        return self.size > JOURNEY * self.model_size


def up_vector(scene: Scene) -> Array:
    """The unit vector that points up, from the scene's `up` such as "z" or "-z"."""
    up = np.zeros(3)
    up["xyz".index(scene.up[-1])] = -1.0 if scene.up.startswith("-") else 1.0
    return up


def extent(scene: Scene) -> Extent:
    """The space the scene takes, from the corners of every body over at most 200 samples of every run."""
    start, motion = [], []
    for body in scene.bodies:
        corners = _corners(body)
        rest = _placed(corners, np.asarray(body.position)[None], np.asarray(body.quaternion)[None])
        tracks = [run.bodies[body.name] for run in scene.runs if body.name in run.bodies]
        for k, track in enumerate(tracks):
            positions, quaternions = np.asarray(track.positions), np.asarray(track.quaternions)
            chosen = np.unique(np.linspace(0, len(positions) - 1, SAMPLES).astype(int))
            placed = _placed(corners, positions[chosen], quaternions[chosen])
            if body.surface is not None:
                run = next(r for r in scene.runs if r.bodies.get(body.name) is track)
                placed = np.concatenate([placed, _bent(scene, body, run, track, chosen)], axis=1)
            motion.append(placed.reshape(-1, 3))
            if k == 0:
                start.append(placed[0])
        if not tracks:
            motion.append(rest[0])
            if scene.follow is None:  # a followed body is looked at, not the landscape it travels through
                start.append(rest[0])
    for run in scene.runs:
        for line in (*run.links.values(), *run.points.values()):
            points = np.asarray(line)
            motion.append(points.reshape(-1, 3))
            start.append(points[:1].reshape(-1, 3))
    for link in scene.links:
        start += [np.asarray(anchor[1])[None] for anchor in (link.a, link.b) if anchor[0] is None]
    if not start:
        start = [np.array([[-0.5, -0.5, -0.5], [0.5, 0.5, 0.5]])]
    first, every = np.concatenate(start), np.concatenate(start + motion)
    return Extent(every.min(axis=0), every.max(axis=0), first.min(axis=0), first.max(axis=0), _outline([*start, *motion]))


def _outline(blocks: Sequence[Array]) -> Array:
    """The points that lie farthest in some direction; of blocks whose boxes reach no farther than what is known no point is looked at."""
    farthest, points = np.full(len(DIRECTIONS), -np.inf), np.zeros((len(DIRECTIONS), 3))
    for block in blocks:
        low, high = block.min(axis=0), block.max(axis=0)
        reach = DIRECTIONS @ (0.5 * (low + high)) + np.abs(DIRECTIONS) @ (0.5 * (high - low))
        may = np.flatnonzero(reach > farthest)
        if may.size:
            along = block @ DIRECTIONS[may].T
            place = along.argmax(axis=0)
            value = along[place, np.arange(may.size)]
            new = value > farthest[may]
            farthest[may[new]], points[may[new]] = value[new], block[place[new]]
    return np.unique(points, axis=0)


def ground_height(scene: Scene, space: Extent) -> float:
    """Height of the ground plane along `up`: as given, or just below the lowest point of the motion."""
    if scene.ground is not None:
        return scene.ground
    up = up_vector(scene)
    lowest = float(min(up @ space.low, up @ space.high))
    if -0.02 * space.model_size <= lowest <= 1e-9 * space.model_size:
        return min(lowest, 0.0)
    if _stands(scene, up, lowest + 1e-6 * space.model_size):
        return lowest
    return lowest - 0.06 * min(space.size, 2 * space.model_size)


def _stands(scene: Scene, up: Array, height: float) -> bool:
    """Whether a body that never moves reaches down to that height, and so stands on the ground."""
    for body in scene.bodies:
        if not (body.shapes or body.surface) or any(body.name in run.bodies for run in scene.runs):
            continue
        placed = _placed(_corners(body), np.asarray(body.position)[None], np.asarray(body.quaternion)[None])
        if float(np.min(placed @ up)) <= height:
            return True
    return False


def default_camera(scene: Scene, aspect: float = 16 / 9, space: Extent | None = None) -> Camera:
    """A camera that shows the whole motion: from the side for a planar one, else obliquely from above; ``space`` where it is known."""
    if scene.camera is not None:
        return scene.camera
    space = extent(scene) if space is None else space
    closely = space.is_journey or scene.follow is not None
    low, high = (space.model_low, space.model_high) if closely else (space.low, space.high)
    up = up_vector(scene)
    view = _direction(high - low, up)
    right = np.cross(up, view)
    right /= np.linalg.norm(right)
    above = np.cross(view, right)
    target = 0.5 * (low + high)
    box = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
    corners = (box if closely else space.outline) - target
    tangent = np.tan(np.radians(FOV) / 2)
    across, over, toward = corners @ right, corners @ above, corners @ view
    distance = float(np.max(toward + np.maximum(np.abs(across) / aspect, np.abs(over)) / tangent))
    margin = 1.5 if closely else 1.08
    return Camera(target + max(margin * distance, 1e-6) * view, target, FOV)


def _direction(span: Array, up: Array) -> Array:
    """Unit vector from the target to the camera for a box of that span."""
    axis = int(np.argmax(np.abs(up)))
    side = [k for k in range(3) if k != axis]
    thin = min(side, key=lambda k: span[k])
    wide = side[0] if thin == side[1] else side[1]
    flat = span[thin] < 0.35 * max(span[wide], span[axis])
    direction = np.zeros(3)
    normal = np.zeros(3)
    normal[thin] = 1.0
    other = np.cross(up, normal)
    if flat:
        # seen along the normal, from where the remaining axis points right
        sign = 1.0 if other[wide] > 0 else -1.0
        direction = sign * normal + 0.42 * np.abs(other) + 0.3 * up
    else:
        first = np.eye(3)[(axis + 1) % 3]
        second = np.cross(up, first)
        direction = 0.62 * first - second + 0.52 * up
    unit: Array = direction / np.linalg.norm(direction)
    return unit


def _corners(body: Body) -> Array:
    """The vertices of a body that reach furthest in 98 directions."""
    parts = [shape.triangles()[0] for shape in body.shapes]
    if body.surface is not None:
        parts.append(body.surface.deformed(body.rest))
    if not parts:
        return np.zeros((1, 3))
    vertices = np.concatenate(parts)
    return np.asarray(vertices[_outermost(vertices)])


def _outermost(vertices: Array) -> Any:
    return np.unique(np.argmax(vertices @ DIRECTIONS.T, axis=0))


def _bent(scene: Scene, body: Body, run: Run, track: Track, chosen: Any) -> Array:
    """Outermost vertices of a surface (t, n, 3) in the world, as they move with its deformation."""
    surface = body.surface
    assert surface is not None
    index = _outermost(surface.vertices)
    amplitudes = np.asarray(run.amplitudes[body.name])[chosen] if body.name in run.amplitudes else np.tile(body.rest, (len(chosen), 1))
    bent = surface.vertices[index] + scene.exaggeration * np.einsum(
        "nak,tk->tna", surface.shapes[index], amplitudes[:, : surface.amplitudes]
    )
    rotations = matrix_from_quaternion(np.asarray(track.quaternions)[chosen])
    return np.einsum("tij,tkj->tki", rotations, bent) + np.asarray(track.positions)[chosen][:, None]


def _placed(corners: Array, positions: Array, quaternions: Array) -> Array:
    rotations = matrix_from_quaternion(quaternions)
    placed: Array = np.einsum("tij,kj->tki", rotations, corners) + positions[:, None]
    return placed
