"""Natural coordinates: Cartesian coordinates of points and components of unit vectors, shared between neighbouring bodies.

García de Jalón and Bayo, *Kinematic and Dynamic Simulation of Multibody Systems* (1994).  A hinge is one point and one unit vector that
belong to both bodies, a ball joint one point: such joints need no equations.  There are no angles, the constraints are at most
quadratic and the mass matrix is constant.  Rules for choosing the coordinates:

* a point at every hinge, ball and universal joint, shared by the two bodies (fixed points on the ground are numbers);
* a point at each end of a rod that is removed;
* a unit vector along every hinge or cylinder axis, shared likewise;
* bodies joined by a slider or welded have the same orientation, hence the same vectors: a body on a slider is a point;
* a body (with those of its orientation) needs one point and three independent directions among its unit vectors and the differences
  of its points; unit vectors of its own are added where these do not suffice, and in a plane one direction is enough;
* what a body has beyond that is tied to it by linear equations.

With the directions aᵢ and their components bᵢ in the body, R = [a₁ a₂ a₃][b₁ b₂ b₃]⁻¹ is linear in the coordinates, and the body is
rigid when aᵢ·aⱼ = bᵢ·bⱼ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import ModelError
from ...model.bodies import Body, Frame
from ...model.constraints import Closure
from ...model.model import Model
from ...symbolic.derivatives import sparse_jacobian
from ...symbolic.expr import HALF, ZERO, Expr, add, div, mul, sub, symbol
from ...symbolic.graph import evaluate
from ...symbolic.vectors import AXES, IDENTITY, NULL, Matrix, Vector
from ..equations import Row
from ..loops.loop_closure import cut_joint_closure
from ..tree.kinematics import GROUND
from .absolute import AbsoluteEquations, AbsoluteKinematics, BodyPose, JointPart, MixedCoordinates
from .cartesian import find_plane, mass_centre
from .descriptor import BodyMotion, Descriptor, add_entry, add_rods, add_rotors, joint_values

#: Directions count as independent when the volume they span (of unit vectors) exceeds this.
INDEPENDENT = 0.1
#: By how much the cosine between a body's axis and the plane's normal may differ from one.
UPRIGHT = 1e-12


class Item(NamedTuple):
    """A point or unit vector of a body: components in the body's axes, and world components with their rates."""

    local: Vector
    world: Vector
    rate: Vector
    name: str


class Declared(NamedTuple):
    """A joint or closure as a kind, two frames and an axis."""

    name: str
    kind: str
    a: Frame
    b: Frame
    axis: Vector | None


@dataclass
class Orientation:
    """Bodies that never turn against each other: constant rotations into the axes of the first, and their common directions."""

    bodies: dict[str, Matrix]
    fixed: bool
    vectors: list[Item] = field(default_factory=list)
    rotation: Matrix = IDENTITY
    rate: Matrix | None = None


#: How many rows of a joint (in the order of loop_closure.joint_rows) sharing makes superfluous: (first kept, end of kept).
_KEPT = {
    "ball": (3, 3), "spherical": (3, 3), "revolute": (5, 5), "universal": (3, 4), "prismatic": (0, 2), "cylindrical": (0, 2), "planar": (0, 1),
    "fixed": (6, 6), "body": (6, 6),
}  # fmt: skip
#: Rows of a joint of each kind.
_ROWS = {
    "ball": 3, "spherical": 3, "revolute": 5, "universal": 4, "prismatic": 5, "cylindrical": 4, "planar": 3, "fixed": 6, "body": 6,
}  # fmt: skip
_SAME_POINT = ("ball", "spherical", "revolute", "universal", "fixed", "body")
_SAME_AXIS = ("revolute", "cylindrical", "planar")
_SAME_ORIENTATION = ("prismatic", "fixed", "body")


class NaturalCoordinates:
    """The choice of points and unit vectors for a model, the bodies' poses in them and the rows that keep bodies rigid."""

    def __init__(self, model: Model, kept: Sequence[str] = ()) -> None:
        """``kept`` names the joints whose bodies share nothing: they are closed by equations of their own."""
        self.model = model
        self.plane = find_plane(model)
        #: Axis normal to the plane of a planar model.
        self.normal = None if self.plane is None else self.plane.normal
        self._parameters = {p.symbol: p.value for p in model.parameter_set}
        self.x: list[Expr] = []
        self.xd: list[Expr] = []
        #: Which body's point (or vector, without its position) each triple of coordinates is: body, components, is a point.
        self.sources: list[tuple[int, str, Vector, bool]] = []
        self.shared = [d for d in _declared(model) if d.name not in kept and d.kind in _KEPT]
        self.points: dict[str, list[Item]] = {b.name: [] for b in model.bodies.values()}
        self.groups = self._orientations()
        for d in self.shared:
            if d.kind in _SAME_POINT:
                self._share_point(d)
            if d.kind in _SAME_AXIS and self.normal is None:
                self._share_axis(d)
        for closure in model.constraints.values():
            if isinstance(closure, Closure) and closure.kind == "rod":
                self._mark(closure.a, f"{closure.name}.a")
                self._mark(closure.b, f"{closure.name}.b")
        for body in model.bodies.values():
            if not self.points[body.name]:
                self.points[body.name].append(self._new(f"{body.name}.point", body, mass_centre(body), True))
        self.rows: list[Row] = []
        self._directions: set[str] = set()
        for group in self.groups:
            if not group.fixed:
                self._orient(group)
        self._tie_the_rest()

    # -- choosing -------------------------------------------------------------------------------------------------

    def _numbers(self, v: Vector) -> np.ndarray:
        return np.array(evaluate(list(v), self._parameters), dtype=float)

    def _orientations(self) -> list[Orientation]:
        """Groups of bodies connected by sliders and welds."""
        ground = self.model.ground.name
        group = {name: Orientation({name: self._upright(name)}, name == ground) for name in (ground, *self.model.bodies)}
        for d in self.shared:
            if d.kind in _SAME_ORIENTATION:
                a, b = group[d.a.body.name], group[d.b.body.name]
                if a is b:
                    continue
                if b.fixed:
                    d, a, b = Declared(d.name, d.kind, d.b, d.a, d.axis), b, a
                # R_a A = R_b B: the axes of b's group in those of a's
                turn = a.bodies[d.a.body.name] @ d.a.rotation @ (b.bodies[d.b.body.name] @ d.b.rotation).T
                for name, R in b.bodies.items():
                    a.bodies[name] = turn @ R
                    group[name] = a
        self._group = group
        return list({id(g): g for g in group.values()}.values())

    def _upright(self, name: str) -> Matrix:
        """The rotation of a body's axes into axes of which, in a plane, that normal to it is one: in the first position where its own are turned out of the plane."""
        if self.plane is None or name not in self.plane.rotations:
            return IDENTITY
        R = self.plane.rotations[name]
        upright = R[self.plane.normal, self.plane.normal]
        return IDENTITY if upright.is_number and float(upright) > 1.0 - UPRIGHT else R

    def _new(self, name: str, body: Body, local: Vector, point: bool) -> Item:
        """A new point or unit vector as coordinates; in a plane the component normal to it stays what it is in the first position."""
        first = len(self.x)
        axes = [i for i in range(3) if i != self.normal]
        letters = [f"{name}.{'xyz'[i]}" for i in axes]
        self.x += [symbol(n, "position") for n in letters]
        self.xd += [symbol(f"{n}_rate", "velocity") for n in letters]
        self.sources.append((first, body.name, local, point))
        world, rate = [ZERO] * 3, [ZERO] * 3
        for k, i in enumerate(axes):
            world[i], rate[i] = self.x[first + k], self.xd[first + k]
        if self.normal is not None and point:
            world[self.normal] = self._height(body, local)
        return Item(local, Vector(*world), Vector(*rate), name)

    def _height(self, body: Body, local: Vector) -> Expr:
        """The constant component normal to the plane of a body's point."""
        assert self.plane is not None
        arm = self.plane.rotations[body.name] @ (local - mass_centre(body))
        return add(self.plane.heights[body.name], arm[self.plane.normal])

    def _share_point(self, d: Declared) -> None:
        """One point for both bodies; on the ground it is a number, and a point a body has already is used again."""
        for mine, other in ((d.a, d.b), (d.b, d.a)):
            if mine.body.is_ground:
                self._add_point(other, mine.position, NULL, d.name)
                return
        for mine, other in ((d.a, d.b), (d.b, d.a)):
            known = _same_place(self.points[mine.body.name], mine.position)
            if known is not None:
                self._add_point(other, known.world, known.rate, known.name)
                return
        item = self._new(d.name, d.a.body, d.a.position, True)
        self.points[d.a.body.name].append(item)
        self._add_point(d.b, item.world, item.rate, d.name)

    def _add_point(self, frame: Frame, world: Vector, rate: Vector, name: str) -> None:
        self.points[frame.body.name].append(Item(frame.position, world, rate, name))

    def _mark(self, frame: Frame, name: str) -> None:
        """A point of one body's own."""
        points = self.points.get(frame.body.name)
        if points is not None and _same_place(points, frame.position) is None:
            points.append(self._new(name, frame.body, frame.position, True))

    def _share_axis(self, d: Declared) -> None:
        """One unit vector for both orientations; a number where one of them is fixed."""
        assert d.axis is not None
        sides = [(f, self._group[f.body.name]) for f in (d.a, d.b)]
        local = [g.bodies[f.body.name] @ (f.rotation @ d.axis) for f, g in sides]
        for i in (0, 1):
            if sides[i][1].fixed:
                sides[1 - i][1].vectors.append(Item(local[1 - i], local[i], NULL, d.name))
                return
        for i in (0, 1):
            known = _same_place(sides[i][1].vectors, local[i])
            if known is not None:
                sides[1 - i][1].vectors.append(known._replace(local=local[1 - i]))
                return
        item = self._new(f"{d.name}.axis", d.a.body, d.a.rotation @ d.axis, False)
        for (_, group), v in zip(sides, local, strict=True):
            group.vectors.append(item._replace(local=v))

    # -- bodies ---------------------------------------------------------------------------------------------------

    def _orient(self, group: Orientation) -> None:
        """Chooses the directions of a group, adds unit vectors where they do not suffice, and writes R and the rows of rigidity."""
        wanted = 3 if self.normal is None else 1
        chosen: list[Item] = []
        for item in (*self._differences(group), *group.vectors):
            if len(chosen) < wanted and self._volume([*chosen, item]) > INDEPENDENT:
                chosen.append(item)
        first = next(iter(group.bodies))
        while len(chosen) < wanted:
            axes = [Vector.of(e) for k, e in enumerate(np.eye(3)) if k != self.normal]
            local = max(axes, key=lambda e: self._volume([*chosen, Item(e, e, NULL, "")]))
            own = self._new(f"{first}.direction{len(chosen) + 1}", self.model.bodies[first], group.bodies[first].T @ local, False)
            chosen.append(own._replace(local=local))
        group.vectors = [v for v in group.vectors if v not in chosen]
        self._directions |= {v.name for v in chosen}
        basis = chosen if self.normal is None else self._completed(chosen[0])
        inverse = _inverse(Matrix.from_columns(*(i.local for i in basis)))
        group.rotation = Matrix.from_columns(*(i.world for i in basis)) @ inverse
        group.rate = Matrix.from_columns(*(i.rate for i in basis)) @ inverse
        for i, a in enumerate(chosen):
            for b in chosen[i:]:
                row = mul(HALF, sub(a.world.dot(b.world), a.local.dot(b.local)))
                self._add_row(f"{first}: {a.name} · {b.name}", row)

    def _completed(self, item: Item) -> list[Item]:
        """A direction in the plane, the one normal to it there, and the plane's normal."""
        assert self.normal is not None
        n = AXES[self.normal]
        return [item, Item(n.cross(item.local), n.cross(item.world), n.cross(item.rate), ""), Item(n, n, NULL, "")]

    def _differences(self, group: Orientation) -> list[Item]:
        """From the first point of each body to its others, in the group's axes (in a plane: along it)."""
        found = []
        for name, R in group.bodies.items():
            items = self.points[name]
            for p in items[1:]:
                local, world = R @ (p.local - items[0].local), p.world - items[0].world
                found.append(Item(self._flat(local), self._flat(world), p.rate - items[0].rate, f"{items[0].name}–{p.name}"))
        return found

    def _flat(self, v: Vector) -> Vector:
        return Vector(*(ZERO if i == self.normal else e for i, e in enumerate(v)))

    def _volume(self, items: Sequence[Item]) -> float:
        """Volume spanned by the unit vectors along some directions; zero for a direction without length."""
        columns = np.array([self._numbers(i.local) for i in items])
        lengths = np.linalg.norm(columns, axis=1)
        if lengths.min() < 1e-9:
            return 0.0
        columns /= lengths[:, None]
        return float(np.sqrt(max(np.linalg.det(columns @ columns.T), 0.0)))

    def _tie_the_rest(self) -> None:
        """Linear equations for vectors and points that are not among the directions."""
        for group in self.groups:
            if group.fixed:
                continue
            for v in group.vectors:
                self._add_rows(f"{v.name} on {next(iter(group.bodies))}", v.world - group.rotation @ v.local)
        for name, items in self.points.items():
            R = self._group[name].rotation @ self._group[name].bodies[name]
            for p in items[1:]:
                if f"{items[0].name}–{p.name}" not in self._directions or self._group[name].fixed:
                    self._add_rows(f"{p.name} on {name}", p.world - items[0].world - R @ (p.local - items[0].local))

    def _add_rows(self, name: str, v: Vector) -> None:
        for i, e in enumerate(v):
            if i != self.normal:
                self._add_row(f"{name}.{'xyz'[i]}", e)

    def _add_row(self, name: str, e: Expr) -> None:
        """A row unless it holds by itself or another body has it already (the unit length of a shared vector)."""
        if e.is_number:
            if abs(float(e)) > 1e-9:
                raise ModelError(f"natural coordinates: '{name}' cannot be met: {float(e):g} = 0")
        elif all(r.expression is not e for r in self.rows):
            self.rows.append(Row(name, e, False))

    @property
    def poses(self) -> dict[str, BodyPose]:
        """The bodies' poses, linear in the coordinates."""
        found = {}
        for name in self.model.bodies:
            group = self._group[name]
            R = group.rotation @ group.bodies[name]
            start = self.points[name][0]
            found[name] = BodyPose(start.world, R, start.rate, self._spin(name, R), start.local)
        return found

    def _spin(self, name: str, R: Matrix) -> Vector:
        """ω = ½ Σ rᵢ × ṙᵢ of the columns of a rotation."""
        rate = self.rotation_rate(name)
        if rate is None:
            return NULL
        total = NULL
        for i in range(3):
            total = total + R.column(i).cross(rate.column(i))
        return total * HALF

    def rotation_rate(self, name: str) -> Matrix | None:
        """Ṙ of a body; None where it does not turn."""
        group = self._group[name]
        return None if group.rate is None else group.rate @ group.bodies[name]

    def values(self, motion: BodyMotion) -> tuple[list[float], list[float]]:
        """The coordinates and their rates in numbers, from the bodies' poses and twists."""
        x, xd = np.zeros((2, len(self.x)))
        order = {name: i for i, name in enumerate(self.model.bodies)}
        body = np.array([order[name] for _, name, _, _ in self.sources], dtype=np.int64)
        firsts = np.array([first for first, *_ in self.sources], dtype=np.int64)
        points = np.array([float(point) for *_, point in self.sources])[:, None]
        local = np.array(evaluate([e for _, _, vector, _ in self.sources for e in vector], dict(motion.parameters)), dtype=float)
        world = np.einsum("sij,sj->si", motion.rotation[body], local.reshape(-1, 3))
        rate = np.cross(motion.angular_velocity[body], world) + points * motion.velocity[body]
        world += points * motion.position[body]
        for k, i in enumerate(i for i in range(3) if i != self.normal):
            x[firsts + k], xd[firsts + k] = world[:, i], rate[:, i]
        return x.tolist(), xd.tolist()


def _declared(model: Model) -> list[Declared]:
    closures = [cut_joint_closure(j) for j in model.joints.values() if j.kind in _KEPT]
    closures += [c for c in model.constraints.values() if isinstance(c, Closure) and not c.ignore]
    return [Declared(c.name, c.kind, c.a, c.b, c.data if isinstance(c.data, Vector) else None) for c in closures]


def _same_place(items: Sequence[Item], local: Vector) -> Item | None:
    return next((i for i in items if all(a is b for a, b in zip(i.local, local, strict=True))), None)


def _inverse(m: Matrix) -> Matrix:
    """Inverse by cofactors."""
    a, b, c = (m.column(i) for i in range(3))
    rows = (b.cross(c), c.cross(a), a.cross(b))
    determinant = a.dot(rows[0])
    return Matrix(tuple(Vector(*(div(e, determinant) for e in row)) for row in rows))  # type: ignore[arg-type]


class LinearKinematics(AbsoluteKinematics):
    """Kinematics of bodies whose rotation matrices are linear in the coordinates: ẋ_P = ẋ_0 + Ṙ X, without angular velocities."""

    def __init__(
        self, model: Model, poses: Mapping[str, BodyPose], flow: Mapping[Expr, Expr], rates: Callable[[str], Matrix | None]
    ) -> None:
        super().__init__(model, poses, flow)
        self._rates = rates

    def velocity(self, frame: Frame | Body, base: int = GROUND) -> Vector:
        """Velocity of the frame's origin, linear in the rates with constant coefficients."""
        body = frame.body if isinstance(frame, Frame) else frame
        pose = self.pose(frame)
        rate = None if body.is_ground else self._rates(body.name)
        step = (frame.position if isinstance(frame, Frame) else NULL) - pose.reference
        return pose.velocity if rate is None or step.is_zero else pose.velocity + rate @ step


class NaturalEquations(AbsoluteEquations):
    """A model's equations in natural coordinates; joints met by sharing have no rows."""

    def __init__(self, model: Model) -> None:
        self.natural = NaturalCoordinates(model, _chained(model))
        super().__init__(model, self.natural.x, self.natural.xd, self.natural.poses, self.natural.rows)
        flow = {**self.flow, **dict(zip(self.v, self.a, strict=True))}
        self.kinematics = LinearKinematics(model, self.poses, flow, self.natural.rotation_rate)

    @cached_property
    def parts(self) -> list[JointPart]:
        """Rows of joints and closures that sharing does not meet already."""
        kinds = {d.name: d.kind for d in self.natural.shared}
        every = super().parts
        return [p for p in every if p.owner not in kinds or _stays(kinds[p.owner], int(p.row.name.rsplit("[", 1)[1][:-1]) - 1)]


def _stays(kind: str, number: int) -> bool:
    """Whether a row of a shared joint is still needed; a row behind its own ties its coordinate."""
    first, end = _KEPT[kind]
    return first <= number < end or number >= _ROWS[kind]


def _chained(model: Model) -> list[str]:
    """Joints of several motions whose coordinates are unknowns of their own: six rows hold them, nothing is shared."""
    mixed = MixedCoordinates(model, (), ())
    return [
        j.name for j in model.joints.values()
        if j.kind not in ("revolute", "prismatic", "fixed") and any(mixed.keeps(c) for c in j.coordinates)
    ]  # fmt: skip


def natural(model: Model) -> Descriptor:
    """The equations of a model in natural coordinates.

    >>> from jourdain.library import slider_crank
    >>> d = natural(slider_crank())
    >>> d.labels, len(d.constraints)
    (('rod.x', 'rod.y', 'pin.x', 'pin.y'), 3)
    """
    equations = NaturalEquations(model)
    mass, force = mass_entries(equations, equations.natural.rotation_rate), list(equations.generalised_forces)
    add_rods(equations, mass, force)
    labels = [s.name for s in equations.q]

    def coordinates_of(motion: BodyMotion) -> tuple[np.ndarray, np.ndarray]:
        x, xd = equations.natural.values(motion)
        joint, joint_rates = joint_values(equations.mixed, motion)
        return np.array(x + joint), np.array(xd + joint_rates)

    return Descriptor("natural", equations, tuple(labels), mass, force, coordinates_of)


def mass_entries(equations: AbsoluteEquations, rates: Callable[[str], Matrix | None]) -> dict[tuple[int, int], Expr]:
    """The constant mass matrix Σ Jᵀ(μ ⊗ 1)J of the bodies: J of the velocity of its point and of Ṙ, μ = [[m, sᵀ], [s, P]]."""
    found: dict[tuple[int, int], Expr] = {}
    for name, pose in equations.poses.items():
        body = equations.model.bodies[name]
        rate = rates(name)
        columns = [] if rate is None else [rate.column(i) for i in range(3)]
        J = sparse_jacobian([e for v in (pose.velocity, *columns) for e in v], equations.v)
        mu = _moments(body, pose.reference)
        for (r, i), a in J.items():
            for (s, j), b in J.items():
                if i <= j and r % 3 == s % 3:
                    add_entry(found, i, j, mul(mul(a, b), mu[r // 3][s // 3]))
    add_rotors(equations, found)
    return found


def _moments(body: Body, about: Vector) -> list[list[Expr]]:
    """Mass, first and second moments [[m, sᵀ], [s, P]] about a point, P = ∫ X Xᵀ dm = ½ tr(I) 1 − I."""
    m, S, inertia = body.mass, body.moment, body.inertia.matrix()
    half_trace = mul(HALF, add(add(inertia[0, 0], inertia[1, 1]), inertia[2, 2]))
    s = S - about * m
    mu: list[list[Expr]] = [[m, *s]]
    for i in range(3):
        row: list[Expr] = [s[i]]
        for j in range(3):
            p = sub(half_trace if i == j else ZERO, inertia[i, j])
            p = add(sub(sub(p, mul(S[i], about[j])), mul(about[i], S[j])), mul(m, mul(about[i], about[j])))
            row.append(p)
        mu.append(row)
    return mu


__all__ = ["NaturalCoordinates", "NaturalEquations", "natural"]
