"""Random trees of random joints for property tests, and random states of them.

Hypothesis draws the structure (bodies, who carries whom, joint kinds, features) so that a failure shrinks to a small
tree; the numbers come from a generator seeded by one drawn integer, so that they are generic and never special.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import jourdain as jd
from jourdain.formalisms.tree.tree import Tree
from jourdain.model import Frame, Joint, Model
from jourdain.model.bodies import Body
from jourdain.symbolic.expr import Expr

Array = np.ndarray

SINGLE = ("revolute", "prismatic", "helical")
KINDS = (
    "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "spherical zxz", "free",
    "free xyz", "sequence", "fixed",
)  # fmt: skip
#: Kinds that cannot be declared from child to parent or prescribed by a function of time.
QUATERNION = ("spherical", "free")


class _Numbers:
    """Random numbers of a model; some become parameters."""

    def __init__(self, model: Model, seed: int, share: float) -> None:
        self.model = model
        self.rng = np.random.default_rng(seed)
        self.share = share

    def number(self, low: float, high: float) -> Any:
        """A number in an interval, or a new parameter with that value."""
        x = float(self.rng.uniform(low, high))
        if self.rng.random() >= self.share:
            return x
        return self.model.parameter(f"p{len(self.model.parameter_set)}", x)

    def vector(self, size: float) -> tuple[Any, Any, Any]:
        """Three numbers; each may be zero."""
        x, y, z = (self.number(-size, size) if self.rng.random() < 0.8 else 0.0 for _ in range(3))
        return x, y, z

    def axis(self, skew: bool) -> Any:
        """A coordinate axis with either sign, or a skew one."""
        if skew:
            return tuple(float(x) for x in self.rng.normal(size=3))
        return str(self.rng.choice(["x", "y", "z", "-x", "-y", "-z"]))

    def rotation(self) -> Any:
        """A turn about a coordinate axis, or two of them."""
        pairs = [(self.axis(False), self.number(-3.0, 3.0)) for _ in range(int(self.rng.integers(1, 3)))]
        return pairs[0] if len(pairs) == 1 else pairs

    def inertia(self, size: float) -> Array:
        """A full inertia tensor of some distribution of mass: it obeys the triangle inequality."""
        covariance = self.rng.normal(size=(3, 3)) * size
        second = covariance @ covariance.T + 0.1 * size**2 * np.eye(3)
        return np.trace(second) * np.eye(3) - second


def add_mass(body: Body, numbers: _Numbers) -> None:
    """A physically valid mass, centre of mass and inertia."""
    tensor = numbers.inertia(0.3)
    scale = numbers.number(1.0, 3.0)
    body.add_mass(numbers.number(0.5, 3.0), numbers.vector(0.5), [[scale * float(e) for e in row] for row in tensor])


def _frame(body: Body, numbers: _Numbers, offset: bool, turned: bool) -> Frame:
    position = numbers.vector(0.6) if offset else (0.0, 0.0, 0.0)
    return body.at(*position, rotation=numbers.rotation() if turned else None)


def _options(kind: str, numbers: _Numbers, skew: bool) -> tuple[str, dict[str, Any]]:
    """Name of the kind in the model, and its options."""
    if kind in ("revolute", "prismatic", "cylindrical"):
        return kind, {"axis": numbers.axis(skew)}
    if kind == "helical":
        return kind, {"axis": numbers.axis(skew), "pitch": numbers.number(0.1, 1.0)}
    if kind == "universal":
        return kind, {"axes": ("x", "y") if not skew else ((1.0, 0.2, 0.0), (-0.2, 1.0, 0.3))}
    if kind == "planar":
        return kind, {"plane": str(numbers.rng.choice(["xy", "xz", "yz"]))}
    if kind == "sequence":
        return kind, {"sequence": ["Tx", "Rz", "Ry"] if skew else ["Tz", "Rx", "Ty"]}
    name, _, orientation = kind.partition(" ")
    return name, {"orientation": orientation} if orientation else {}


def _prescribe(model: Model, joint: Joint, numbers: _Numbers, how: str) -> None:
    """Drives the joint's first coordinate by a function of time, or locks it."""
    c = joint.coordinates[0]
    short = c.names[0].removeprefix(joint.name + ".")
    a, b, w = numbers.number(-0.5, 0.5), numbers.number(-0.5, 0.5), numbers.number(0.5, 2.0)
    if how == "driven":
        model.drive(joint, lambda t: a + b * jd.sin(w * t + 0.3), coordinate=short)
    else:
        model.lock(joint, a, coordinate=short)


@st.composite
def random_trees(
    draw: st.DrawFn,
    max_bodies: int = 6,
    joints: Sequence[str] = KINDS,
    parameters: bool = True,
    prescribed: bool = True,
    mimic: bool = True,
    massless: bool = True,
    rotors: bool = True,
    reverse: bool = True,
) -> Model:
    """A tree of up to ``max_bodies`` bodies (and massless ones between them) with at least one free coordinate.

    Massless bodies stand behind a joint of one freedom and carry a massive body on a skew joint of one freedom, so
    that the mass matrix stays positive definite.
    """
    model = Model("random", gravity=(0.7, -1.1, -9.81))
    numbers = _Numbers(model, draw(st.integers(0, 2**31)), 0.4 if parameters else 0.0)
    bodies = [model.ground]
    leaders: list[Joint] = []
    for i in range(draw(st.integers(1, max_bodies))):
        parent = bodies[draw(st.integers(0, i), label="parent")]
        first = i == 0
        kind = draw(st.sampled_from([k for k in joints if not (first and k == "fixed")]), label="kind")
        body = model.body(f"b{i}")
        add_mass(body, numbers)
        offset, turned, skew = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
        if massless and draw(st.integers(0, 5)) == 5:
            between = model.body(f"n{i}")
            extra = draw(st.sampled_from(["revolute", "prismatic"]))
            model.joint(extra, f"n{i}", _frame(parent, numbers, offset, True), between, axis=numbers.axis(skew))
            parent, kind, offset, turned, skew = between, "revolute", True, True, True
        a, b = _frame(parent, numbers, offset, turned), _frame(body, numbers, offset, turned and draw(st.booleans()))
        name, options = _options(kind, numbers, skew)
        extra_options: dict[str, Any] = {}
        if rotors and name in SINGLE and draw(st.integers(0, 3)) == 3:
            extra_options = {"rotor_inertia": numbers.number(0.01, 0.05), "gear_ratio": numbers.number(1.0, 5.0)}
        may_follow = leaders and name in ("revolute", "prismatic") and not extra_options
        if mimic and may_follow and draw(st.integers(0, 3)) == 3:
            leader = draw(st.sampled_from(leaders))
            extra_options["mimic"] = (leader, numbers.number(-2.0, 2.0), numbers.number(-0.5, 0.5))
        if reverse and kind not in QUATERNION and draw(st.integers(0, 4)) == 4:
            a, b = b, a
        joint = model.joint(name, f"j{i}", a, b, **options, **extra_options)
        follows = "mimic" in extra_options
        if name in ("revolute", "prismatic") and not follows:
            leaders.append(joint)
        prescribable = not first and not follows and kind not in (*QUATERNION, "fixed")
        if prescribed and prescribable and draw(st.integers(0, 4)) == 4:
            _prescribe(model, joint, numbers, draw(st.sampled_from(["driven", "locked"])))
        bodies.append(body)
    return model


def random_state(tree: Tree, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Random q (unit quaternions), v and a in the order of the tree.

    Numbers of q keep away from 0 and ±π/2, where sequences of turns are singular.
    """
    q = [np.zeros(0)]
    for c in tree.coordinates:
        x = rng.normal(size=len(c.q))
        q.append(x / np.linalg.norm(x) if c.is_quaternion else np.sign(x) * rng.uniform(0.3, 1.2, 1))
    return np.concatenate(q), rng.normal(size=tree.nv), rng.normal(size=tree.nv)


def values(
    model: Model, tree: Tree, q: Array, v: Array, a: Array, t: Any = 0.0, parameters: Mapping[str, float] | None = None
) -> dict[Expr, Any]:
    """Values of all symbols of a model for :func:`jourdain.symbolic.evaluate`; arrays may be complex."""
    known: dict[Expr, Any] = {model.time: t}
    known.update(zip(tree.q, q, strict=True))
    known.update(zip(tree.v, v, strict=True))
    known.update(zip(tree.a, a, strict=True))
    known.update(zip(model.parameter_set.symbols, model.parameter_set.values(parameters), strict=True))
    return known


def retract(tree: Tree, q: Array, step: Array) -> Array:
    """q moved along velocity directions, first order exact: e ∘ (1, ½δ) for a quaternion.

    ``step`` may be complex, and may hold several displacements as columns.
    """
    moved, i, j = [np.zeros((0, *step.shape[1:]))], 0, 0
    for c in tree.coordinates:
        if c.is_quaternion:
            (e0, e1, e2, e3), (x, y, z) = q[i : i + 4], 0.5 * step[j : j + 3]
            scalar = e0 - e1 * x - e2 * y - e3 * z
            vector = (e1 + e0 * x + e2 * z - e3 * y, e2 + e0 * y + e3 * x - e1 * z, e3 + e0 * z + e1 * y - e2 * x)
            moved.append(np.array([scalar, *vector]))
        else:
            moved.append(q[i : i + 1] + step[j : j + 1])
        i, j = i + len(c.q), j + len(c.v)
    return np.concatenate(moved)


def matrix_of(rows: Sequence[Sequence[Expr]], known: Mapping[Expr, Any]) -> Array:
    """Numbers of a table of expressions."""
    flat = jd.evaluate([e for row in rows for e in row], known)
    return np.array(flat).reshape(len(rows), -1)


def vector_of(items: Sequence[Expr], known: Mapping[Expr, Any]) -> Array:
    """Numbers of a list of expressions, with columns where values are arrays."""
    return np.array(np.broadcast_arrays(*jd.evaluate(list(items), known)))


def error(found: Any, expected: Any, scale: float = 0.0) -> float:
    """Largest difference relative to the largest entry (at least ``scale``)."""
    found, expected = np.asarray(found), np.asarray(expected)
    size = max(float(np.abs(expected).max(initial=0.0)), scale)
    return float(np.abs(found - expected).max(initial=0.0)) / (size or 1.0)
