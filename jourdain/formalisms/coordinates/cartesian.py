"""Cartesian (absolute) coordinates: centre of mass and orientation of every body, all joints as constraints.

Orientation by Euler parameters (with their norm as a constraint row), by a rotation vector (exchanged for its complement when it
grows), or, when the model moves in a plane, by one angle.  M is block-diagonal: m 1 and HᵀJH with ω′ = H(x) ẋ in body axes
(Nikravesh, Computer-Aided Analysis of Mechanical Systems, 1988; Géradin and Cardona, Flexible Multibody Dynamics, 2001).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import InputError, ModelError
from ...model.bodies import Body
from ...model.elastic.flexible import FlexibleBody
from ...model.model import Model
from ...symbolic.expr import HALF, ONE, ZERO, Expr, add, div, mul, neg, sub, symbol, where
from ...symbolic.functions import cos, sin, sqrt
from ...symbolic.graph import evaluate, free_symbols, substitute
from ...symbolic.vectors import AXES, IDENTITY, NULL, Inertia, Matrix, Vector, axis_rotation, quaternion_rotation, steiner
from ..equations import Row
from ..modal_inertia import modal_inertia
from ..tree.kinematics import Kinematics
from ..tree.links import LinkMotion, inertial_moment
from ..tree.tree import Tree
from .absolute import AbsoluteEquations, BodyPose, Quaternion
from .descriptor import BodyMotion, Descriptor, add_entry, add_rods, add_rotors, joint_values

#: Square of the angle below which a rotation vector's functions are taken from their series.
SMALL = 0.01


@dataclass(frozen=True)
class Chart:
    """Orientation of a body in some coordinates.

    ``columns`` are those of H, ω′ = H ẋ in body axes; ``bias`` is Ḣẋ (None: zero); ``norm`` the row that coordinates must meet.
    """

    names: tuple[str, ...]
    rotation: Matrix
    world_rate: Vector
    body_rate: Vector
    columns: list[Vector]
    bias: Vector | None = None
    norm: Expr | None = None


def euler_parameters(x: tuple[Expr, ...], xd: tuple[Expr, ...]) -> Chart:
    """e₀…e₃ with eᵀe = 1; ω′ = 2Gė and Ġė = 0, so that M depends on e alone and no bias appears."""
    e, ed = Quaternion.of(x), Quaternion.of(xd)
    norm = mul(HALF, sub(e.norm, ONE))
    return Chart(("e0", "e1", "e2", "e3"), quaternion_rotation(*x), e.world_rate(ed), e.body_rate(ed), e.body_columns(), None, norm)


def rotation_vector(x: tuple[Expr, ...], xd: tuple[Expr, ...]) -> Chart:
    """ψ with R = 1 + a ψ̃ + b ψ̃², ω′ = (1 − b ψ̃ + c ψ̃²) ψ̇; a = sin ψ/ψ, b = (1 − cos ψ)/ψ², c = (1 − a)/ψ²."""
    psi, rate = Vector(*x), Vector(*xd)
    square = psi.dot(psi)
    a, b, c = _trigonometric(square)
    skew, skew2 = _skew(psi), _skew_square(psi)
    R = IDENTITY + skew * a + skew2 * b
    T = IDENTITY + skew * neg(b) + skew2 * c
    body = T @ rate
    T_rate = _rate_of(T, x, xd)
    return Chart(("psi_x", "psi_y", "psi_z"), R, T.T @ rate, body, [T.column(j) for j in range(3)], T_rate @ rate)


def _trigonometric(square: Expr) -> tuple[Expr, Expr, Expr]:
    """sin ψ/ψ, (1 − cos ψ)/ψ², (ψ − sin ψ)/ψ³ as functions of ψ², by series near zero."""
    near = square < SMALL
    safe = where(near, ONE, square)
    angle = sqrt(safe)
    found = []
    a = div(sin(angle), angle)
    far = (a, div(sub(ONE, cos(angle)), safe), div(sub(ONE, a), safe))
    for k, exact in enumerate(far):
        total = ZERO
        series = []
        for i in range(6):
            factorial = float(np.prod(np.arange(1, 2 * i + k + 2, dtype=float)))
            series.append((-1.0) ** i / factorial)
        for s in reversed(series):
            total = add(mul(total, square), _number(s))
        found.append(where(near, total, exact))
    return found[0], found[1], found[2]


def _number(value: float) -> Expr:
    return ONE * value  # type: ignore[no-any-return]


def _skew(v: Vector) -> Matrix:
    return Matrix((Vector(ZERO, neg(v.z), v.y), Vector(v.z, ZERO, neg(v.x)), Vector(neg(v.y), v.x, ZERO)))


def _skew_square(v: Vector) -> Matrix:
    """v vᵀ − (v·v) 1."""
    square = v.dot(v)
    rows = [[sub(mul(v[i], v[j]), square if i == j else ZERO) for j in range(3)] for i in range(3)]
    return Matrix.of(rows)


def _rate_of(M: Matrix, x: tuple[Expr, ...], xd: tuple[Expr, ...]) -> Matrix:
    from ...symbolic.derivatives import jvp

    e = jvp(M.entries, dict(zip(x, xd, strict=True)))
    return Matrix.of([e[0:3], e[3:6], e[6:9]])


# --- planar models -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plane:
    """The plane in which all bodies move: normal axis 0, 1, 2, with every body's rotation and height when all joints are at zero."""

    normal: int
    rotations: dict[str, Matrix]
    heights: dict[str, Expr]

    @property
    def axes(self) -> tuple[int, int]:
        """The two axes in the plane."""
        return (self.normal + 1) % 3, (self.normal + 2) % 3


def find_plane(model: Model) -> Plane | None:
    """The coordinate plane in which every joint of the tree keeps its bodies, if there is one."""
    tree = Tree(model, freed=True)
    if any(c.is_quaternion for c in tree.coordinates) or not model.bodies or tree.flexible:
        return None
    k = Kinematics(tree)
    zero = dict.fromkeys(tree.q, ZERO)
    motions: list[tuple[str, np.ndarray]] = []
    for branch in model.topology.branches:
        R = Matrix.of(np.array(substitute(k.rotation(branch.joint.parent).entries, zero), dtype=object).reshape(3, 3))
        for motion in branch.joint.motions:
            axis = R @ motion.axis
            if not all(e.is_number for e in axis):
                return None
            motions.append((motion.kind, np.array([float(e) for e in axis])))
    for n in range(3):
        if all(abs(abs(axis[n]) - 1.0) < 1e-12 if kind == "R" else abs(axis[n]) < 1e-12 for kind, axis in motions):
            bodies = model.bodies.values()
            rotations = {b.name: Matrix.of(np.array(substitute(k.rotation(b).entries, zero), dtype=object).reshape(3, 3)) for b in bodies}
            heights = {b.name: substitute([k.position(b.at(*mass_centre(b)))[n]], zero)[0] for b in bodies}
            return Plane(n, rotations, heights)
    return None


# --- the formulation ---------------------------------------------------------------------------------------------


def mass_centre(body: Body) -> Vector:
    """The point that coordinates tell the place of, in body axes: the centre of mass; the origin for a body without mass or one that bends."""
    if body.mass is ZERO or body.moment.is_zero or isinstance(body, FlexibleBody):
        return NULL
    return Vector(*(div(e, body.mass) for e in body.moment))


def central_inertia(body: Body) -> Inertia:
    """Inertia about the centre of mass, in body axes."""
    return body.inertia - steiner(body.moment, mass_centre(body))


class CartesianBody:
    """Coordinates of one body, its pose in them and its terms of M and Q."""

    def __init__(self, body: Body, rotation: str, plane: Plane | None) -> None:
        self.body = body
        self.centre = mass_centre(body)
        self.plane = plane
        self.places = plane.axes if plane is not None else (0, 1, 2)
        turns = {"planar": ("theta",), "euler-parameters": ("e0", "e1", "e2", "e3"), "rotation-vector": ("psi_x", "psi_y", "psi_z")}[
            rotation
        ]
        names = [*("xyz"[i] for i in self.places), *turns]
        self.labels = [f"{body.name}.{n}" for n in names]
        self.x = tuple(symbol(n, "position") for n in self.labels)
        self.xd = tuple(symbol(f"{n}_rate", "velocity") for n in self.labels)
        k = len(self.places)
        self.chart = self._planar_chart() if plane is not None else CHARTS[rotation](self.x[k:], self.xd[k:])
        position, velocity = [ZERO] * 3, [ZERO] * 3
        for i, s, d in zip(self.places, self.x, self.xd, strict=False):
            position[i], velocity[i] = s, d
        if plane is not None:
            position[plane.normal] = plane.heights[body.name]
        self.pose = BodyPose(Vector(*position), self.chart.rotation, Vector(*velocity), self.chart.world_rate, self.centre)

    def _planar_chart(self) -> Chart:
        assert self.plane is not None
        normal, start = AXES[self.plane.normal], self.plane.rotations[self.body.name]
        own = start.T @ normal
        R = axis_rotation(list(normal), self.x[2])
        rotation = R if start.is_identity else R @ start
        return Chart(("theta",), rotation, normal * self.xd[2], own * self.xd[2], [own])

    @property
    def rows(self) -> list[Row]:
        """The norm of Euler parameters."""
        return [] if self.chart.norm is None else [Row(f"{self.body.name}.norm", self.chart.norm, False)]

    def add_terms(self, at: int, mass: dict[tuple[int, int], Expr], force: list[Expr]) -> None:
        """m 1 and HᵀJH into M; −Hᵀ(ω′ × Jω′ + J Ḣẋ) into Q."""
        k = len(self.places)
        for i in range(k):
            add_entry(mass, at + i, at + i, self.body.mass)
        J = central_inertia(self.body)
        columns = self.chart.columns
        if J.is_zero:
            return
        momenta = [J @ c for c in columns]
        for i, c in enumerate(columns):
            for j in range(i, len(columns)):
                add_entry(mass, at + k + i, at + k + j, c.dot(momenta[j]))
        if self.plane is not None:
            return
        w = self.chart.body_rate
        torque = w.cross(J @ w)
        if self.chart.bias is not None:
            torque = torque + J @ self.chart.bias
        for i, c in enumerate(columns):
            force[at + k + i] = sub(force[at + k + i], c.dot(torque))

    @cached_property
    def _constants(self) -> tuple[list[Expr], list[Expr]]:
        """Centre of mass and, in a plane, the orientation at the angle zero; the parameters that they depend on."""
        fixed = [*self.centre, *(() if self.plane is None else self.plane.rotations[self.body.name].entries)]
        return fixed, free_symbols(fixed)

    def _fixed(self, parameters: Mapping[Expr, float]) -> np.ndarray:
        """Their numbers."""
        fixed, needed = self._constants
        return np.array(evaluate(fixed, {s: parameters[s] for s in needed}), dtype=float)

    def values(self, motion: BodyMotion, i: int) -> tuple[list[float], list[float]]:
        """Numbers of the coordinates and rates from the body's pose and twist."""
        fixed = self._fixed(motion.parameters)
        R, w = motion.rotation[i], motion.angular_velocity[i]
        r, (wx, wy, wz) = R @ fixed[:3], w
        v = motion.velocity[i] + (wy * r[2] - wz * r[1], wz * r[0] - wx * r[2], wx * r[1] - wy * r[0])
        p = motion.position[i] + r
        x, xd = [float(p[j]) for j in self.places], [float(v[j]) for j in self.places]
        if self.plane is not None:
            start = fixed[3:].reshape(3, 3)
            turn, (a, b) = R @ start.T, self.plane.axes
            return [*x, float(np.arctan2(turn[b, a], turn[a, a]))], [*xd, float(w[self.plane.normal])]
        e = quaternion_of(R)
        if len(self.chart.columns) == 4:
            return [*x, *e], [*xd, *_quaternion_rate(e, R.T @ w)]
        psi = rotation_vector_of(e)
        return [*x, *psi], [*xd, *np.linalg.solve(body_rate_matrix(psi), R.T @ w)]


class CartesianFlexibleBody(CartesianBody):
    """A flexible body: place of its floating frame, with the modes among the joint coordinates."""

    def add_modal_terms(self, at: int, equations: AbsoluteEquations, mass: dict[tuple[int, int], Expr], force: list[Expr]) -> None:
        """The 6 + m rows of :class:`~jourdain.formalisms.modal_inertia.ModalInertia` in the body's coordinates."""
        assert isinstance(self.body, FlexibleBody)
        modal, R = modal_inertia(self.body), self.chart.rotation
        turns = [(at + 3 + i, c) for i, c in enumerate(self.chart.columns)]
        modes = [equations.mixed._velocity_index[id(c)] for c in self.body.modes]
        for i in range(3):
            add_entry(mass, at + i, at + i, modal.mass)
        for k, (i, c) in enumerate(turns):
            for j, e in enumerate(R @ c.cross(modal.s)):
                add_entry(mass, at + j, i, e)
            for other, d in turns[k:]:
                add_entry(mass, i, other, c.dot(modal.J @ d))
            for j, D in zip(modes, modal.D, strict=True):
                add_entry(mass, i, j, c.dot(D))
        for k, j in enumerate(modes):
            for i, e in enumerate(R @ modal.s_by[k]):
                add_entry(mass, at + i, j, e)
            for other in range(k, len(modes)):
                add_entry(mass, j, modes[other], modal.M[k][other])
        w, still = self.chart.body_rate, [ZERO] * len(modes)
        motion = LinkMotion(w, self.chart.bias or NULL, NULL)
        f, n = modal.wrench(w, still)
        f, n = f + motion.at(modal.s), n + inertial_moment(modal.J, motion)
        for i, e in enumerate(R @ f):
            force[at + i] = sub(force[at + i], e)
        for i, c in turns:
            force[i] = sub(force[i], c.dot(n))
        rows = modal.forces(w, motion.omega_dot, R.T @ -equations.model.gravity, still)
        for j, e in zip(modes, rows, strict=True):
            force[j] = sub(force[j], e)


CHARTS: dict[str, Any] = {"euler-parameters": euler_parameters, "rotation-vector": rotation_vector}


def cartesian(model: Model, rotation: str = "auto") -> Descriptor:
    """The equations of a model in Cartesian coordinates.

    ``rotation``: "euler-parameters", "rotation-vector", "planar" (x, y, θ; only for models that move in a coordinate plane), or "auto":
    planar where possible, else Euler parameters.

    >>> from jourdain.library.mechanisms import pendulum
    >>> cartesian(pendulum(), "euler-parameters").labels[-4:]
    ('bob.e0', 'bob.e1', 'bob.e2', 'bob.e3')
    """
    if rotation not in ("auto", "planar", *CHARTS):
        raise InputError(f"rotation '{rotation}' of Cartesian coordinates is unknown; use auto, planar, {', '.join(CHARTS)}")
    plane = find_plane(model) if rotation in ("auto", "planar") else None
    if rotation == "planar" and plane is None:
        raise ModelError(f"model '{model.name}' does not move in a coordinate plane; use rotation='euler-parameters'")
    kind = "planar" if plane is not None else ("euler-parameters" if rotation == "auto" else rotation)
    bodies = [(CartesianFlexibleBody if isinstance(b, FlexibleBody) else CartesianBody)(b, kind, plane) for b in model.bodies.values()]
    equations = AbsoluteEquations(
        model, [s for b in bodies for s in b.x], [s for b in bodies for s in b.xd], {b.body.name: b.pose for b in bodies},
        [r for b in bodies for r in b.rows],
    )  # fmt: skip
    mass: dict[tuple[int, int], Expr] = {}
    force = list(equations.generalised_forces)
    charts: list[tuple[int, int, int]] = []
    at = 0
    for b in bodies:
        if isinstance(b, CartesianFlexibleBody):
            b.add_modal_terms(at, equations, mass, force)
        else:
            b.add_terms(at, mass, force)
        at += len(b.x)
        if kind == "rotation-vector":
            charts.append((at - 3, at - 2, at - 1))
    add_rotors(equations, mass)
    add_rods(equations, mass, force)
    labels = [label for b in bodies for label in b.labels] + [n for c in equations.mixed.coordinates for n in c.names]

    def coordinates_of(motion: BodyMotion) -> tuple[np.ndarray, np.ndarray]:
        x: list[float] = []
        xd: list[float] = []
        for i, b in enumerate(bodies):
            own, rates = b.values(motion, i)
            x, xd = x + own, xd + rates
        joint, joint_rates = joint_values(equations.mixed, motion)
        return np.array(x + joint), np.array(xd + joint_rates)

    return Descriptor(
        f"cartesian ({kind})", equations, tuple(labels), mass, force, coordinates_of, tuple(charts), None if plane is None else plane.normal
    )


# --- numbers -----------------------------------------------------------------------------------------------------


def quaternion_of(R: np.ndarray) -> list[float]:
    """Unit quaternion (scalar first, largest entry positive) of a rotation matrix, from its largest diagonal combination."""
    t = np.array([np.trace(R), R[0, 0], R[1, 1], R[2, 2]])
    k = int(np.argmax(t))
    off = (R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    if k == 0:
        e = np.array([1.0 + t[0], *off])
    else:
        i = k - 1
        j, m = (i + 1) % 3, (i + 2) % 3
        e = np.zeros(4)
        e[0], e[1 + i] = off[i], 1.0 + R[i, i] - R[j, j] - R[m, m]
        e[1 + j], e[1 + m] = R[i, j] + R[j, i], R[i, m] + R[m, i]
    return [float(x) for x in e / np.linalg.norm(e)]


def _quaternion_rate(e: list[float], w: np.ndarray) -> list[float]:
    v = np.array(e[1:])
    return [-0.5 * float(v @ w), *(float(x) for x in 0.5 * (e[0] * w + np.cross(v, w)))]


def rotation_vector_of(e: list[float]) -> list[float]:
    """The rotation vector (length at most π) of a unit quaternion."""
    v = np.array(e[1:]) * (1.0 if e[0] >= 0 else -1.0)
    sine = float(np.linalg.norm(v))
    if sine < 1e-12:
        return [float(x) for x in 2.0 * v]
    return [float(x) for x in 2.0 * np.arctan2(sine, abs(e[0])) / sine * v]


def body_rate_matrix(psi: Any) -> np.ndarray:
    """T(ψ) with ω′ = T ψ̇."""
    psi = np.asarray(psi, dtype=float)
    n = float(np.linalg.norm(psi))
    S = np.array([[0.0, -psi[2], psi[1]], [psi[2], 0.0, -psi[0]], [-psi[1], psi[0], 0.0]])
    b = 0.5 * float(np.sinc(0.5 * n / np.pi)) ** 2
    c = 1.0 / 6.0 - n * n / 120.0 if n < 1e-4 else (1.0 - np.sin(n) / n) / n**2
    return np.eye(3) - b * S + c * (S @ S)


__all__ = ["CHARTS", "CartesianBody", "Chart", "Plane", "cartesian", "central_inertia", "find_plane", "mass_centre"]
