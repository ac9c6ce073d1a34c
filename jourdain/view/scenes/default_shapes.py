"""Shapes invented for bodies without any: rods between joint points, and solids with the same inertia; bearings on the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...model.bodies import Body as ModelBody
from ...model.bodies import Frame as ModelFrame
from ...model.joints import Joint
from ...model.model import Model
from ...symbolic.graph import evaluate, free_symbols
from ..rotation import Array
from ..shape import Shape, box, capsule, cone, cylinder, prism, sphere

#: Radius of an invented rod relative to the model's typical length.
ROD = 0.04
#: Longest edge of an invented solid relative to the model's typical length (unless its points reach further).
LARGEST = 0.7
#: A cylinder so many times longer than thick is a link.
SLENDER = 2.5
#: Two principal inertias closer than this (relative) make a body of revolution.
SAME = 1e-3
#: Thinnest edge of an invented box relative to its longest.
THINNEST = 0.06
#: Most points of a body that rods join; one with more is drawn as a solid with arms.
MOST_RODS = 8


class Numbers:
    """Numbers of a model's expressions for given parameter values."""

    def __init__(self, model: Model, parameters: Mapping[str, float] | None = None) -> None:
        self.values = dict(zip(model.parameter_set.symbols, model.parameter_set.values(parameters), strict=True))

    def __call__(self, e: Any) -> float:
        if not hasattr(e, "op"):
            return float(e)
        if e.op == "const":
            return float(e.data)
        return float(evaluate(e, {s: self.values[s] for s in free_symbols([e]) if s in self.values}))  # a body that bends has thousands

    def vector(self, v: Any) -> Array:
        """Three expressions as an array."""
        return np.array([self(e) for e in v])

    def matrix(self, R: Any) -> Array:
        """A 3×3 matrix of expressions as an array."""
        return np.array([self(e) for e in R.entries]).reshape(3, 3)

    def com(self, body: ModelBody) -> Array:
        """Centre of mass in the body's frame, m (its origin where it has no mass)."""
        mass = self(body.mass)
        return self.vector(body.moment) / mass if mass > 0 else np.zeros(3)


def joint_points(model: Model, body: ModelBody, number: Numbers) -> list[Array]:
    """Different points of a body that joints, loops, links, loads or named frames use, in its frame."""
    frames: list[ModelFrame] = [*body.frames.values()]
    for joint in model.joints.values():
        frames += [joint.parent, joint.child]
    for c in model.constraints.values():
        frames += [f for f in (getattr(c, "a", None), getattr(c, "b", None)) if f is not None]
    for load in model.loads.values():
        frames += load.frames
    return distinct([number.vector(f.position) for f in frames if f.body is body])


def distinct(points: Sequence[Array], tolerance: float = 1e-9) -> list[Array]:
    """The points without repetitions."""
    found: list[Array] = []
    for p in points:
        if all(np.linalg.norm(p - o) > tolerance for o in found):
            found.append(p)
    return found


def model_size(model: Model, number: Numbers) -> float:
    """A length typical of the model, m: the median distance of points on a body, else that of equivalent boxes."""
    spans, edges = [], []
    for body in model.bodies.values():
        points = [*joint_points(model, body, number), number.com(body)]
        far = max((float(np.linalg.norm(a - b)) for a in points for b in points), default=0.0)
        spans += [far] if far > 1e-9 else []
        edges.append(float(equivalent_box(body, number)[0].max()))
    large = [e for e in edges if e > 1e-9]
    return float(np.median(spans or large or [1.0]))


def equivalent_box(body: ModelBody, number: Numbers) -> tuple[Array, Array]:
    """Edges (m) and axes (columns) of the uniform box with the body's mass and inertia: Iₓ = m(l_y² + l_z²)/12."""
    mass = number(body.mass)
    if mass <= 0:
        return np.zeros(3), np.eye(3)
    xx, yy, zz, xy, xz, yz = (number(e) for e in body.inertia.entries)
    c = number.com(body)
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - mass * (c @ c * np.eye(3) - np.outer(c, c))
    if np.abs(J - np.diag(np.diag(J))).max() <= 1e-9 * np.abs(J).max(initial=1e-300):
        moments, axes = np.diag(J), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(J)
        axes = axes * np.sign(np.linalg.det(axes))
    squares = 6.0 * (moments.sum() - 2.0 * moments) / mass
    small = 1e-9 * max(float(np.abs(moments).max()) / mass, 1e-30)
    return np.sqrt(np.where(squares > small, squares, 0.0)), axes


def invented_shapes(model: Model, body: ModelBody, number: Numbers, size: float) -> list[Shape]:
    """Shapes of a body that has none: rods through its points, and a ball, disk or box where its mass is."""
    points, c = joint_points(model, body, number), number.com(body)
    heavy = number(body.mass) > 0
    if not heavy and len(points) < 2:
        return []
    if len(points) > 1 and _in_line([*points, c]):
        ends = _ends(points)
        shapes = [rod(*ends, ROD * size)]
        if heavy and not _near_segment(c, *ends):
            shapes.append(rod(ends[0], c, 0.6 * ROD * size))
        if heavy and equivalent_box(body, number)[0].max() < 0.05 * np.linalg.norm(ends[1] - ends[0]):
            shapes.append(sphere(0.13 * size, p=c))
        return shapes
    if 1 < len(points) < 4:
        return _frame_of_rods(points, size)
    if 1 < len(points) <= MOST_RODS and not _floats(body):
        pairs = _spanning_tree(points)
        spine = [rod(a, b, ROD * size) for a, b in pairs]
        if heavy and not any(_beside_segment(c, a, b, 0.25 * size) for a, b in pairs):
            near = min(points, key=lambda p: float(np.linalg.norm(p - c)))
            spine += [rod(near, c, 0.6 * ROD * size), sphere(0.13 * size, p=c)]
        return spine
    solid = _solid(body, number, size, points)
    arms = [rod(c, p, 0.6 * ROD * size) for p in points if np.linalg.norm(p - c) > 1e-6 * size and not _covers(solid, p, c)]
    return [solid, *arms]


def _frame_of_rods(points: list[Array], size: float) -> list[Shape]:
    pairs = [(a, b) for i, a in enumerate(points) for b in points[i + 1 :]]
    return [rod(a, b, ROD * size) for a, b in pairs]


def _spanning_tree(points: list[Array]) -> list[tuple[Array, Array]]:
    """The shortest pairs of points that connect all (Prim): from joint to joint, as a designer would join them."""
    inside, outside, pairs = points[:1], points[1:], []
    while outside:
        a, k = min(((a, k) for a in inside for k in range(len(outside))), key=lambda ak: float(np.linalg.norm(ak[0] - outside[ak[1]])))
        pairs.append((a, outside[k]))
        inside.append(outside.pop(k))
    return pairs


def _floats(body: ModelBody) -> bool:
    """Whether a body moves freely on the ground, as the chassis of a car or the trunk of a robot."""
    own = [j for j in body.model.joints.values() if j.child.body is body]
    return any(j.parent.body.is_ground and sum(len(c.v) for c in j.coordinates) >= 6 for j in own)


def _solid(body: ModelBody, number: Numbers, size: float, points: list[Array]) -> Shape:
    """A ball for a point mass, a disk for a wheel, else the box of equal inertia, all at the centre of mass; a block for what slides."""
    c = number.com(body)
    slides = any(j.child.body is body and j.kind == "prismatic" for j in body.model.joints.values())
    edges, axes = equivalent_box(body, number)
    longest = float(edges.max())
    reach = max((float(np.linalg.norm(p - c)) for p in points), default=0.0)
    if longest < 0.05 * max(size, reach) or longest > 30.0 * max(size, 1e-9):
        return _block(0.3 * size, c) if slides else sphere(0.13 * max(size, 0.5 * reach), p=c)
    pairs = [(i, j, k) for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) if abs(edges[i] - edges[j]) <= SAME * longest]
    edges = np.maximum(edges, THINNEST * longest) * min(1.0, max(LARGEST * size, 2.6 * reach) / longest)
    longest = float(edges.max())
    if len(pairs) == 3 and slides:  # a ball would seem to roll, and a large one hide what it slides on
        return _block(min(longest, 0.4 * size), c)
    if len(pairs) == 3:
        return sphere(0.5 * longest * np.sqrt(5.0 / 3.0), p=c)
    if len(pairs) == 1:
        i, j, k = pairs[0]
        R = np.column_stack([axes[:, i], axes[:, j], axes[:, k]])
        # a disk of radius r has the inertia of a square plate with edge r √3
        radius, length = float(edges[i]) / np.sqrt(3.0), float(edges[k])
        if length > SLENDER * 2.0 * radius and any(abs((p - c) @ axes[:, k]) > 0.35 * length for p in points):
            radius = min(radius, 1.5 * ROD * size)  # a link that hangs on one end, as thin as links between joints
        return cylinder(radius, length, p=c, R=R * np.sign(np.linalg.det(R)))
    # a chassis is seen through, so that what hangs on it can be seen
    return box(*(float(e) for e in edges), p=c, R=axes, opacity=0.5 if len(points) > 4 else 1.0)


def _block(edge: float, c: Array) -> Shape:
    return box(edge, edge, edge, p=c)


def _covers(solid: Shape, p: Array, c: Array) -> bool:
    """Whether a point lies within the ball around an invented solid (so that no arm to it is needed)."""
    vertices = solid.triangles()[0] - c
    towards = (p - c) / np.linalg.norm(p - c)
    return bool(np.max(vertices @ towards) >= np.linalg.norm(p - c))


def _in_line(points: list[Array]) -> bool:
    p = np.array(points) - points[0]
    scale = float(np.linalg.norm(p, axis=1).max())
    return scale == 0 or float(np.linalg.svd(p, compute_uv=False)[1]) <= 1e-6 * scale


def _ends(points: list[Array]) -> tuple[Array, Array]:
    """The two points furthest from each other."""
    pairs = [(a, b) for a in points for b in points]
    return max(pairs, key=lambda ab: float(np.linalg.norm(ab[0] - ab[1])))


def _near_segment(p: Array, a: Array, b: Array) -> bool:
    s = float((p - a) @ (b - a) / ((b - a) @ (b - a)))
    return -0.05 <= s <= 1.05


def _beside_segment(p: Array, a: Array, b: Array, distance: float) -> bool:
    """Whether a point lies within a distance of a segment."""
    s = min(1.0, max(0.0, float((p - a) @ (b - a) / ((b - a) @ (b - a)))))
    return bool(np.linalg.norm(p - a - s * (b - a)) <= distance)


def aligned(z: Array) -> Array:
    """A rotation whose third axis points along z."""
    z = z / np.linalg.norm(z)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def rod(a: Array, b: Array, radius: float) -> Shape:
    """A rod with round ends between two points."""
    return capsule(radius, float(np.linalg.norm(b - a)), p=0.5 * (a + b), R=aligned(b - a))


# --- what stands on the ground -----------------------------------------------------------------------------------


def bearing(p: Array, axis: Array | None, up: Array, size: float, below: bool) -> list[Shape]:
    """What carries a joint: two plates of a clevis beside a level axis, else a cone; it stands below or hangs above."""
    h, w = 0.3 * size, 0.15 * size
    u = up if below else -up
    plate = box(2.6 * w, 2.6 * w, 0.03 * size, p=p - h * u, R=aligned(u))
    if axis is None or abs(axis @ up) > 0.7:
        return [cone(0.8 * w, 0.25 * w, 0.92 * h, p=p - 0.54 * h * u, R=aligned(u)), plate]
    R = np.column_stack([np.cross(u, axis), u, axis])
    outline = [(-w, -h), (w, -h), (0.45 * w, 0.3 * w), (0.2 * w, 0.5 * w), (-0.2 * w, 0.5 * w), (-0.45 * w, 0.3 * w)]
    return [prism(outline, 0.025 * size, p=p + side * 0.095 * size * axis, R=R) for side in (-1, 1)] + [plate]


def rail(p: Array, axis: Array, low: float, high: float, size: float) -> Shape:
    """The straight guide of a slider that moves from ``low`` to ``high`` (m) along its axis."""
    a, b = p + (low - 0.4 * size) * axis, p + (high + 0.4 * size) * axis
    return cylinder(0.02 * size, float(np.linalg.norm(b - a)), p=0.5 * (a + b), R=aligned(axis))


def joint_axis(joint: Joint, number: Numbers) -> Array | None:
    """Axis of a joint of one motion in the parent body's frame, or None."""
    if not joint.motions or joint.kind not in ("revolute", "prismatic", "cylindrical", "helical"):
        return None
    axis = number.matrix(joint.parent.rotation) @ number.vector(joint.motions[-1].axis)
    return np.asarray(axis / np.linalg.norm(axis))
