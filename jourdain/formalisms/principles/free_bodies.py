"""What every principle starts from: the bodies with their motion, and the forces that act on each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from ...errors import InputError
from ...model.bodies import Body, Frame, MassGiven
from ...model.constraints import Closure
from ...model.elastic.bending import refuse_flexible
from ...model.model import Model
from ...symbolic.derivatives import jacobian
from ...symbolic.expr import ONE, ZERO, Expr, add, mul, symbol, unary
from ...symbolic.graph import substitute
from ...symbolic.vectors import IDENTITY, NULL, Inertia, Matrix, Vector, steiner
from ..equations import Equations, Row
from ..tree.kinematics import GROUND, Kinematics
from ..tree.links import Wrench
from ..tree.newton_euler import link_motions, reflected_inertias
from ..tree.tree import Tree

#: The symbols of quasi-velocities and multipliers, so that derivations of one model can be compared.
_KNOWN: WeakKeyDictionary[Model, dict[tuple[str, str], Expr]] = WeakKeyDictionary()


def shared_symbol(model: Model, name: str, kind: str) -> Expr:
    """A symbol that is the same in all derivations of a model."""
    known = _KNOWN.setdefault(model, {})
    if (name, kind) not in known:
        known[(name, kind)] = symbol(name, kind)
    return known[(name, kind)]


def total(items: Iterable[Expr]) -> Expr:
    """The sum of some expressions."""
    result = ZERO
    for e in items:
        result = add(result, e)
    return result


def combination(factors: Iterable[Expr], items: Iterable[Expr]) -> Expr:
    """Σ factor·item."""
    return total(mul(f, e) for f, e in zip(factors, items, strict=True))


@dataclass(frozen=True)
class FreeBody:
    """A rigid body by itself: mass properties about its centre of mass, its motion, and the applied forces on it.

    ``position``, ``velocity``, ``acceleration`` (of the centre of mass), ``force`` and ``torque`` (about it) have world components;
    ``omega``, ``alpha``, ``own_acceleration`` and ``inertia`` components along the body's own axes.
    """

    body: Body
    link: int
    mass: Expr
    inertia: Inertia
    centre: Frame
    rotation: Matrix
    position: Vector
    velocity: Vector
    acceleration: Vector
    omega: Vector
    alpha: Vector
    own_acceleration: Vector
    weight: Vector
    force: Vector
    torque: Vector

    @property
    def name(self) -> str:
        """The body's name in the model."""
        return self.body.name

    @property
    def has_mass(self) -> bool:
        """Whether it resists acceleration."""
        return self.mass is not ZERO or not self.inertia.is_zero

    @property
    def spin_moment(self) -> Vector:
        """I ω̇ + ω × I ω, in the body's own axes (Euler)."""
        return (self.inertia @ self.alpha) + self.omega.cross(self.inertia @ self.omega)

    @property
    def world_spin_moment(self) -> Vector:
        """I ω̇ + ω × I ω, in world axes."""
        moment = self.spin_moment
        return moment if self.rotation is IDENTITY or moment.is_zero else self.rotation @ moment

    def own(self, v: Vector) -> Vector:
        """World components as components along the body's own axes."""
        return v if v.is_zero or self.rotation is IDENTITY else self.rotation.T @ v


class _LoadsOnBodies(Equations):
    """The model's equations, with a record of which wrench each load puts on which body (world axes, about the centre of mass)."""

    def __init__(self, model: Model, positive: Iterable[Expr]) -> None:
        super().__init__(model)
        self.on_bodies: dict[str, Wrench] = {}
        self._positive = {e: value for p in positive for e, value in ((unary("abs", p), p), (unary("sign", p), ONE))}

    @cached_property
    def rows(self) -> list[Row]:
        """The constraints, with what is taken as positive written so."""
        rows = Equations.rows.func(self)  # type: ignore[attr-defined]
        if not self._positive:
            return rows  # type: ignore[no-any-return]
        simple = substitute([r.expression for r in rows], self._positive)
        return [replace(r, expression=e) for r, e in zip(rows, simple, strict=True)]

    def add_wrench(self, frame: Frame, force: Vector, torque: Vector, base: int, wrenches: dict[int, Wrench]) -> None:
        super().add_wrench(frame, force, torque, base, wrenches)
        add_wrench(self.kinematics, self.on_bodies, frame, frame.body, force, torque, base)


def add_wrench(kinematics: Kinematics, found: dict[str, Wrench], at: Frame, body: Body, force: Vector, torque: Vector, base: int) -> None:
    """Adds a force at a frame's origin and a torque (axes of a link) to the wrench about a body's centre of mass (world axes)."""
    if body.is_ground:
        return
    if base != GROUND:
        R = kinematics.link_rotation(base)
        force, torque = R @ force, R @ torque
    centre = centre_of(body)
    if at.body is body:
        arm = kinematics.rotation(body) @ (at.position - centre.position)
    else:
        arm = kinematics.position(at) - kinematics.position(centre)
    before = found.get(body.name, (NULL, NULL))
    found[body.name] = (before[0] + force, before[1] + torque + arm.cross(force))


def centre_of(body: Body) -> Frame:
    """The frame at the centre of mass (at the origin of a massless body)."""
    if body.mass is ZERO or body.moment.is_zero:
        return body.origin
    [given] = body.contributions if len(body.contributions) == 1 else [None]
    c = given.com if isinstance(given, MassGiven) else body.moment * (1.0 / body.mass)
    return Frame(body, c, IDENTITY)


def inertia_about_centre(body: Body, centre: Frame) -> Inertia:
    """The inertia about the centre of mass, in the body's axes: as given where it was given so."""
    [given] = body.contributions if len(body.contributions) == 1 else [None]
    if isinstance(given, MassGiven) and given.about == "com" and given.rotation.is_identity:
        return given.inertia
    return body.inertia - steiner(centre.position * body.mass, centre.position)


class Mechanics:
    """Bodies, coordinates, applied forces and constraints of a model, as the principles need them."""

    def __init__(self, model: Model, positive: Iterable[Expr] = ()) -> None:
        refuse_flexible(model, "a derivation step by step", "give it with rigid=True, or print s.equations(...)")
        self.model = model
        self.eq = _LoadsOnBodies(model, positive)
        self.tree, self.kinematics = self.eq.tree, self.eq.kinematics
        if self.tree.nv == 0:
            raise InputError(f"model '{model.name}' has no free coordinate, hence no equation of motion")
        self.q, self.v, self.a, self.t = self.eq.q, self.eq.v, self.eq.a, self.eq.t
        #: forces of laws at joints, one for each velocity
        self.joint_forces = self.eq.joint_forces
        self.rows = self.eq.rows
        self.multipliers = [shared_symbol(model, f"lambda_{i + 1}", "input") for i in range(len(self.rows))]
        for row, entries in zip(self.rows, self.jacobian, strict=True):
            if any(e.deps & velocities_of(self.v) for e in entries):
                raise InputError(f"constraint '{row.name}' is not linear in the velocities; the principles here need J(q, t) v + b = 0")

    @cached_property
    def jacobian(self) -> list[list[Expr]]:
        """J = ∂(constraint velocity)/∂v, row by row."""
        return jacobian(self.eq.constraint_velocities, self.v)

    @property
    def constraint_names(self) -> list[str]:
        """Names of the scalar constraints."""
        return [r.name for r in self.rows]

    @cached_property
    def rotors(self) -> dict[int, Expr]:
        """Inertia n²J of rotors, seen at their velocities."""
        return reflected_inertias(self.tree)

    @cached_property
    def all_bodies(self) -> list[FreeBody]:
        """Every body, parents first, whether it moves or not."""
        own_tree = Tree(self.model, regroup=False, share=False)
        motions = link_motions(own_tree, gravity=False)
        return [self._free_body(branch.body, own_tree, motions) for branch in self.model.topology.branches]

    def _free_body(self, body: Body, own_tree: Tree, motions: list) -> FreeBody:  # type: ignore[type-arg]
        k = self.kinematics
        centre = centre_of(body)
        at = own_tree.place(centre)
        omega = alpha = own = NULL
        if at.link >= 0:
            motion = motions[at.link]
            into = (lambda w: w) if at.rotation.is_identity else (lambda w: at.rotation.T @ w)
            omega, alpha = into(motion.omega), into(motion.omega_dot)
            own = into(motion.acceleration + motion.at(at.position))
        force, torque = self.eq.on_bodies.get(body.name, (NULL, NULL))
        return FreeBody(
            body, at.link, body.mass, inertia_about_centre(body, centre), centre, k.rotation(body), k.position(centre), k.velocity(centre),
            k.acceleration(centre), omega, alpha, own, self.model.gravity * body.mass, force, torque,
        )  # fmt: skip

    @cached_property
    def bodies(self) -> list[FreeBody]:
        """Bodies that move and have mass or feel a force."""
        return [b for b in self.all_bodies if b.link >= 0 and (b.has_mass or not b.force.is_zero or not b.torque.is_zero)]

    @cached_property
    def constraint_wrenches(self) -> dict[str, Wrench]:
        """What loop closures put on each body for the multipliers λ (world axes, about the centre of mass)."""
        found: dict[str, Wrench] = {}
        by_name = dict(zip(self.constraint_names, self.multipliers, strict=True))
        for closure in self.eq.closures:
            base, force, torque = self.eq.closure_wrench(closure, by_name)
            if force.is_zero and torque.is_zero:
                continue
            add_wrench(self.kinematics, found, closure.b, closure.b.body, force, torque, base)
            add_wrench(self.kinematics, found, closure.b, closure.a.body, -force, -torque, base)
        return found

    @cached_property
    def equation_rows(self) -> list[int]:
        """Constraints given as equations: their forces act along the coordinates, λ ∂w/∂v."""
        closed = {f"{c.name}[{i}]" for c in self.eq.closures if isinstance(c, Closure) for i in range(1, 7)}
        return [i for i, r in enumerate(self.rows) if r.name not in closed]

    def constraint_forces(self, rows: Iterable[int] | None = None) -> list[Expr]:
        """Jᵀλ, one for each velocity."""
        chosen = range(len(self.rows)) if rows is None else rows
        return [total(mul(self.jacobian[i][k], self.multipliers[i]) for i in chosen) for k in range(len(self.v))]

    def rotor_forces(self) -> list[Expr]:
        """n²J v̇ of rotors, one for each velocity."""
        return [mul(self.rotors.get(k, ZERO), a) for k, a in enumerate(self.a)]


def velocities_of(symbols: Iterable[Expr]) -> int:
    """The dependency bits of some symbols."""
    bits = 0
    for s in symbols:
        bits |= s.deps
    return bits
