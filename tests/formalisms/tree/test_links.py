"""Sorts of links: what they answer agrees with S and with the derivatives of their place, and a new sort is one class.

The last part declares a sort that the package does not have, a screw as one link that turns and slides at once, and puts it
through every formalism: the same joint as two links with a common coordinate must give the same numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.formalisms.coordinates.semi_recursive import REFERENCES, SemiRecursive
from jourdain.formalisms.equations import Equations, project_wrenches
from jourdain.formalisms.tree.articulated_body import accelerations
from jourdain.formalisms.tree.composite_body import mass_matrix
from jourdain.formalisms.tree.coriolis import coriolis_matrix, gravity_vector
from jourdain.formalisms.tree.derivatives import graph_derivatives, recursive_derivatives
from jourdain.formalisms.tree.kinematics import Kinematics
from jourdain.formalisms.tree.links import (
    SORTS,
    AxisFreedom,
    AxisLink,
    Field,
    LinkMotion,
    Map,
    Relative,
    RotationFreedom,
    TranslationFreedom,
)
from jourdain.formalisms.tree.mass_factor import SparseFactor
from jourdain.formalisms.tree.momentum import centroidal_momentum_matrix
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.formalisms.tree.reactions import driving_forces, joint_reactions
from jourdain.formalisms.tree.regressor import regressor
from jourdain.formalisms.tree.tree import Tree
from jourdain.model.joints import Motion
from jourdain.symbolic.derivatives import jvp
from jourdain.symbolic.expr import ONE, ZERO, Expr, constant, symbol
from jourdain.symbolic.vectors import NO_INERTIA, NULL, AxisTurn, Inertia, Matrix, Turn, Vector
from jourdain.systems.tree.looped import LoopedTree
from tests.formalisms.strategies import error, matrix_of, random_state, values, vector_of

PITCH = 0.37
#: Forces on the seven velocities of the machine below.
TAU = [symbol(f"tau{i}", "input") for i in range(7)]


# --- a sort of link that the package does not have ---------------------------------------------------------------


class ScrewFreedom(AxisFreedom):
    """S = {h e; e}: every answer is that of the rotation plus h times that of the translation."""

    __slots__ = ("slide", "turn")

    def __init__(self, index: int, axis: int, ratio: Expr) -> None:
        super().__init__(index, axis, ratio)
        self.turn, self.slide = RotationFreedom(index, axis, ratio), TranslationFreedom(index, axis, ratio)

    def _pair(self, name: str, *given: object) -> tuple[Vector, Vector]:
        (a, b), (c, d) = getattr(self.turn, name)(*given), getattr(self.slide, name)(*given)
        return a + c * PITCH, b + d * PITCH

    def _field(self, name: str, *given: object) -> Field:
        a, b = getattr(self.turn, name)(*given), getattr(self.slide, name)(*given)
        return Field(a.x + b.x * PITCH, a.alpha + b.alpha * PITCH, a.a + b.a * PITCH)

    def project(self, force: Vector, moment: Vector) -> Expr:
        return moment[self.axis] + PITCH * force[self.axis]

    def along(self, turned: Map, force: Vector, moment: Vector) -> Expr:
        return turned(self.unit).dot(moment + force * PITCH)

    def change(self, force: Vector, moment: Vector) -> tuple[Vector, Vector]:
        return self._pair("change", force, moment)

    def velocities(self, turned: Map, arm: Vector) -> tuple[Vector, Vector]:
        return self._pair("velocities", turned, arm)

    def moved(self, a: Vector, alpha: Vector, by: Expr) -> tuple[Vector, Vector]:
        return a + self.unit * (PITCH * by), alpha + self.unit * by

    def by_position(self, axes: LinkMotion, acceleration: Vector) -> Field:
        return self._field("by_position", axes, acceleration)

    def by_rate(self, change: Map) -> Field:
        return self._field("by_rate", change)

    def by_acceleration(self) -> Field:
        return self._field("by_acceleration")

    def asked(self, m: Expr, s: Vector, I: Inertia) -> tuple[Vector, Vector]:
        return self._pair("asked", m, s, I)

    def articulated(self, A: Inertia, B: Matrix, C: Inertia, force: Vector, moment: Vector) -> tuple[Vector, Vector, Expr, Expr]:
        Ua, Uw = B.column(self.axis) + A.column(self.axis) * PITCH, C.column(self.axis) + B.rows[self.axis] * PITCH
        return Ua, Uw, self.project(Ua, Uw), self.project(force, moment)

    def reading(self, P: Vector, E: Matrix) -> Vector:
        return self.turn.reading(P, E) + self.slide.reading(P, E) * PITCH


class Screw(AxisLink):
    """Turns by θ and slides by h θ."""

    letter = "H"
    freedom = ScrewFreedom

    def own_turn(self) -> Turn | None:
        return AxisTurn.by(self.axis, self.displacement)

    @property
    def slide(self) -> Vector:
        return self.along_axis(PITCH * self.displacement)

    @property
    def turning_axes(self) -> tuple[int, ...]:
        return (self.axis,)

    @property
    def sliding_axes(self) -> tuple[int, ...]:
        return (self.axis,)

    def relative(self, acceleration: bool = True) -> Relative:
        rate, rate2 = self.rates(acceleration)
        return Relative(rate, rate2, rate * PITCH, rate2 * PITCH)

    def driving_force(self, force: Vector, moment: Vector) -> Expr:
        return moment[self.axis] + PITCH * force[self.axis]

    def unfelt(self, continued: bool) -> tuple[Expr, Vector, Inertia]:
        return ZERO, NULL, NO_INERTIA

    def remembered(self) -> list[Expr]:
        turn = AxisTurn.by(self.axis, self.displacement)
        return [turn.c, turn.s, self.displacement]

    def recalled(self, numbers: Sequence[Expr]) -> Turn | None:
        self.displacement = numbers[2]
        return AxisTurn(self.axis, numbers[0], numbers[1])


# --- one freedom -------------------------------------------------------------------------------------------------


def six(v: Vector, w: Vector) -> np.ndarray:
    return np.array([float(e) for e in (*v, *w)])


def random_vector(rng: np.random.Generator) -> Vector:
    return Vector.of(rng.normal(size=3))


def skew(v: np.ndarray) -> np.ndarray:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


@pytest.mark.parametrize("sort", [RotationFreedom, TranslationFreedom, ScrewFreedom])
@pytest.mark.parametrize("axis", range(3))
def test_a_freedom_answers_products_with_its_column_of_the_motion_subspace(sort, axis):
    """S = {v; ω} at the origin, from ``velocities``; all other answers are matrix products with it."""
    rng = np.random.default_rng(axis)
    f = sort(0, axis, ONE)
    S = six(*f.velocities(lambda v: v, NULL))
    force, moment, arm = (random_vector(rng) for _ in range(3))
    w = six(force, moment)
    assert np.isclose(float(f.project(force, moment)), S @ w, rtol=1e-15)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turned = lambda v: Vector.of(R @ [float(e) for e in v])
    assert np.isclose(float(f.along(turned, turned(force), turned(moment))), S @ w, rtol=1e-14)
    v, omega = f.velocities(turned, turned(arm))
    velocity = S[:3] + np.cross(S[3:], six(arm, NULL)[:3])
    np.testing.assert_allclose(six(v, omega), np.concatenate([R @ velocity, R @ S[3:]]), rtol=0, atol=1e-14)
    np.testing.assert_allclose(six(*f.moved(force, moment, constant(0.3))), w + 0.3 * S, rtol=1e-15)
    crf = np.block([[skew(S[3:]), np.zeros((3, 3))], [skew(S[:3]), skew(S[3:])]])
    np.testing.assert_allclose(six(*f.change(force, moment)), crf @ w, rtol=0, atol=1e-15)


@pytest.mark.parametrize("sort", [RotationFreedom, TranslationFreedom, ScrewFreedom])
@pytest.mark.parametrize("axis", range(3))
def test_a_freedom_answers_products_of_its_column_with_inertias(sort, axis):
    """M S of a rigid mass, and U = I_A S, SᵀU, Sᵀp of an articulated body."""
    rng = np.random.default_rng(axis)
    f = sort(0, axis, ONE)
    S = six(*f.velocities(lambda v: v, NULL))
    m, s = constant(rng.uniform(1, 2)), random_vector(rng)
    A, C = (Inertia(*(constant(x) for x in rng.normal(size=6))) for _ in range(2))
    B = Matrix.of(rng.normal(size=(3, 3)))
    force, moment = random_vector(rng), random_vector(rng)

    def number(M: Matrix) -> np.ndarray:
        return np.array([float(e) for e in M.entries]).reshape(3, 3)

    cross = skew(six(s, NULL)[:3])
    rigid = np.block([[float(m) * np.eye(3), -cross], [cross, number(C.matrix())]])
    np.testing.assert_allclose(six(*f.asked(m, s, C)), rigid @ S, rtol=0, atol=1e-15)
    body = np.block([[number(A.matrix()), number(B)], [number(B).T, number(C.matrix())]])
    Ua, Uw, D, p = f.articulated(A, B, C, force, moment)
    np.testing.assert_allclose(six(Ua, Uw), body @ S, rtol=0, atol=1e-15)
    np.testing.assert_allclose([float(D), float(p)], [S @ body @ S, S @ six(force, moment)], rtol=1e-13)
    E, P = Matrix.of(rng.normal(size=(3, 3))), random_vector(rng)
    expected = number(E).T @ S[3:] + np.cross(six(P, NULL)[:3], S[:3])
    np.testing.assert_allclose(six(f.reading(P, E), NULL)[:3], expected, rtol=0, atol=1e-14)


# --- one link ----------------------------------------------------------------------------------------------------


def moving_link(sort: type, axis: int):
    """A link of a sort with symbols for its coordinate, behind a parent with a constant turn and offset; (link, q → q̇, v → v̇)."""
    link = sort(0, "link", -1, axis, AxisTurn.by((axis + 1) % 3, 0.4), Vector.of((0.3, -0.2, 0.5)))
    q, v, a = ([symbol(f"{n}{i}", kind) for i in range(size)] for n, kind, size in (
        ("q", "position", sort.positions), ("v", "velocity", sort.velocities), ("a", "acceleration", sort.velocities)))  # fmt: skip
    link.move(q, v, a, ONE, ZERO, 0)
    turn = link.own_turn()
    link.turns = [*link.turns, turn] if turn is not None else link.turns
    if sort.positions == 4:
        e0, ev, w = q[0], Vector(*q[1:]), Vector(*v)
        rates = [-0.5 * ev.dot(w), *((w * e0 + ev.cross(w)) * 0.5)]
    else:
        rates = list(v)
    return link, dict(zip(q, rates, strict=True)), dict(zip(v, a, strict=True))


def numbers(link, flow: dict, rates: dict, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=len(flow))
    q = q / np.linalg.norm(q) if len(q) == 4 else q
    return dict(zip((*flow, *rates, *rates.values()), (*q, *rng.normal(size=2 * len(rates))), strict=True))


ALL = [*SORTS.values(), Screw]


@pytest.mark.parametrize("sort", ALL)
@pytest.mark.parametrize("axis", range(3))
def test_relative_motion_is_the_derivative_of_the_place(sort, axis):
    """ω from Ṙ = R ω̃, velocity and accelerations from the position in the parent's axes."""
    link, flow, rates = moving_link(sort, axis)
    own = link.relative()
    known = numbers(link, flow, rates, axis)
    columns = [link.out(e) for e in (Vector.of(row) for row in np.eye(3))]
    position = link.out(link.slide)

    def rate(v: Vector) -> Vector:
        return Vector(*jvp(list(v), {**flow, **rates}))

    for column, e in zip(columns, (Vector.of(row) for row in np.eye(3)), strict=True):
        first, second = rate(column), rate(rate(column))
        w = own.omega
        np.testing.assert_allclose(vector_of(list(first), known), vector_of(list(link.out(w.cross(e))), known), atol=1e-13)
        expected = own.omega_dot.cross(e) + w.cross(w.cross(e))
        np.testing.assert_allclose(vector_of(list(second), known), vector_of(list(link.out(expected)), known), atol=1e-12)
    np.testing.assert_allclose(vector_of(list(rate(position)), known), vector_of(list(link.out(own.velocity)), known), atol=1e-13)
    second = vector_of(list(rate(rate(position))), known)
    np.testing.assert_allclose(second, vector_of(list(link.out(own.acceleration)), known), atol=1e-12)


@pytest.mark.parametrize("sort", ALL)
@pytest.mark.parametrize("axis", range(3))
def test_motion_bias_and_forces_of_a_link_fit_together(sort, axis):
    """motion = carried + bias + S a; ``inwards`` and ``add_forces`` are the transposes of ``carried`` and of S (virtual power)."""
    link, flow, rates = moving_link(sort, axis)
    rng = np.random.default_rng(axis)
    known = numbers(link, flow, rates, axis)
    before = LinkMotion(*(random_vector(rng) for _ in range(3)))
    a, alpha = link.carried(before.acceleration, before.omega_dot)
    bias, bias2 = link.bias(before.omega)
    a, alpha = a + bias, alpha + bias2
    for freedom, x in zip(link.freedoms, rates.values(), strict=True):
        a, alpha = freedom.moved(a, alpha, x)
    motion = link.motion(before)
    np.testing.assert_allclose(vector_of([*motion.acceleration, *motion.omega_dot], known), vector_of([*a, *alpha], known), atol=1e-13)
    omega = link.into(before.omega) + link.relative().omega
    np.testing.assert_allclose(vector_of(list(motion.omega), known), vector_of(list(omega), known), atol=1e-14)
    general = super(type(link), link).motion(before) if type(link) is not Screw else motion
    np.testing.assert_allclose(vector_of(list(general.acceleration), known), vector_of(list(motion.acceleration), known), atol=1e-13)
    force, moment, v, w = (random_vector(rng) for _ in range(4))
    f, n = link.inwards(force, moment)
    a, alpha = link.carried(v, w)
    power = [f.dot(v) + n.dot(w), force.dot(a) + moment.dot(alpha)]
    np.testing.assert_allclose(*vector_of(power, known), rtol=1e-13)
    forces = [ZERO] * link.velocities
    link.add_forces(forces, force, moment)
    u, s = NULL, NULL
    for i, freedom in enumerate(link.freedoms):
        u, s = freedom.moved(u, s, constant(0.7 + i))
    shares = sum(x * (0.7 + i) for i, x in enumerate(forces))
    np.testing.assert_allclose(*vector_of([shares, force.dot(u) + moment.dot(s)], known), rtol=1e-13)


@pytest.mark.parametrize("sort", ALL)
def test_a_link_finds_its_place_again_from_the_numbers_it_remembers(sort):
    link, flow, rates = moving_link(sort, 1)
    known = numbers(link, flow, rates, 5)
    row = [constant(x) for x in vector_of(link.remembered(), known)]
    assert len(row) <= 9
    slide, turn = vector_of(list(link.slide), known), link.own_turn()
    again = sort(0, "again", -1, 1, None, NULL)
    found = again.recalled(row + [ZERO] * (9 - len(row)))
    np.testing.assert_allclose(vector_of(list(again.slide), {}), slide, rtol=1e-15, atol=0)
    assert (found is None) == (turn is None)
    if turn is not None:
        np.testing.assert_allclose(vector_of(found.matrix().entries, {}), vector_of(turn.matrix().entries, known), atol=1e-15)


@pytest.mark.parametrize("sort", ALL)
def test_what_a_joint_cannot_feel_has_no_share_in_its_own_force(sort):
    """The unfelt mass, fixed to the parent instead, asks the same force of the link's own freedoms: none that depends on q."""
    link, flow, rates = moving_link(sort, 2)
    rng = np.random.default_rng(2)
    link.mass, link.own_moment = constant(1.3), random_vector(rng)
    link.own_inertia = Inertia(*(constant(x) for x in rng.normal(size=6)))
    link.mass, link.moment, link.inertia = link.unfelt(False)
    before = LinkMotion(*(random_vector(rng) for _ in range(3)))
    own = link.inertial_wrench(link.motion(before))
    f, n = link.inwards(*own)
    known, other = (numbers(link, flow, rates, seed) for seed in (1, 2))
    forces = [ZERO] * link.velocities
    link.add_forces(forces, *own)
    np.testing.assert_allclose(vector_of(forces, known), 0.0, atol=1e-13)
    np.testing.assert_allclose(vector_of([*f, *n], known), vector_of([*f, *n], other), atol=1e-13)


# --- a new sort in every formalism -------------------------------------------------------------------------------


def machine(screw: str) -> jd.Model:
    """A branched tree with screws inside and at a tip, closed by a ball joint and with a rod with mass; ``screw`` one or two links."""
    m = jd.Model("machine", gravity=(0.7, -1.1, -9.81))
    rng = np.random.default_rng(7)

    def body(name: str) -> jd.model.Body:
        second = rng.normal(size=(3, 3)) * 0.3
        second = second @ second.T
        return m.body(name, mass=rng.uniform(1, 2), com=rng.normal(size=3) * 0.2, inertia=np.trace(second) * np.eye(3) - second)

    def helical(name: str, a, b, **options) -> None:
        joint = m.helical(name, a, b, pitch=PITCH * 2 * np.pi, **options)
        if screw == "one link":
            turn = joint.motions[-1]
            joint.motions = (Motion("H", turn.axis, turn.coordinate, turn.ratio, turn.offset),)

    base, arm, nut, tip, side = (body(n) for n in ("base", "arm", "nut", "tip", "side"))
    m.revolute("hinge", m.ground, base, axis="z")
    helical("lead", base.at(0.3, 0.1, 0, rotation=("x", 0.4)), arm, axis="y", rotor_inertia=0.02)
    m.spherical("ball", arm.at(0, 0.5, 0.1), nut)
    helical("tail", nut.at(0.2, 0, 0.3, rotation=("y", 0.7)), tip.at(0.1, 0, -0.2), axis="-x")
    m.prismatic("rail", base.at(0, 0.4, 0), side, axis=(1.0, 0.3, -0.2))
    m.rod("rod", tip.at(0.1, 0.2, 0), side.at(0, 0.1, 0.3), 0.9, mass=0.4)
    m.close("loop", nut.at(0.1, 0.3, 0), side.at(0.4, 0, 0), "ball")
    m.spring("spring", tip.at(0.2, 0, 0), m.ground.at(1, 1, 0), stiffness=50.0, length=0.6, damping=2.0)
    m.load("push", arm.at(0.1, 0, 0), force=(1.0, 2.0, -0.5), torque=(0.1, 0.2, 0.3), axes=tip, reaction=side)
    m.force(m.joints["tail"], lambda x, v, t: -3.0 * x - 0.2 * v)
    return m


def without_rod(screw: str) -> jd.Model:
    m = machine(screw)
    del m.constraints["rod"]
    return m


@pytest.fixture
def screws(monkeypatch):
    monkeypatch.setitem(SORTS, "H", Screw)


def both(quantity, make=machine, seed: int = 0) -> list[np.ndarray]:
    """Numbers of a quantity for the screw as two links and as one."""
    found = []
    for screw in ("two links", "one link"):
        m = make(screw)
        tree = Tree(m)
        assert len(tree.links) == {"two links": 7, "one link": 5}[screw]
        known = values(m, tree, *random_state(tree, np.random.default_rng(seed)), t=0.3)
        known |= {s: 0.5 + i for i, s in enumerate(TAU)}
        found.append(np.array([float(x) for x in jd.evaluate(flat(quantity(m)), known)]))
    return found


def flat(x) -> list[Expr]:
    return [x] if isinstance(x, Expr) else [e for y in (x.values() if isinstance(x, dict) else x) for e in flat(y)]


def frames(m: jd.Model) -> list:
    k = Kinematics(Tree(m))
    names = ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration", "jacobian")
    return [getattr(k, n)(b) for b in m.bodies.values() for n in names] + [k.rotation(b).entries for b in m.bodies.values()]


def by_both_ways(m: jd.Model) -> list:
    eq = Equations(m)
    J, rates = eq.rates_by_unit_velocities
    return [[J.get((i, j), ZERO) for i in range(len(eq.rows)) for j in range(len(eq.v))], rates]


QUANTITIES = {
    "inverse dynamics": lambda m: inverse_dynamics(Tree(m)),
    "mass matrix": lambda m: mass_matrix(Tree(m)),
    "gravity": lambda m: gravity_vector(Tree(m)),
    "coriolis": lambda m: coriolis_matrix(Tree(m)),
    "derivatives by the graph": lambda m: graph_derivatives(Tree(m)),
    "frames": frames,
    "loads": lambda m: Equations(m).generalised_forces,
    "loops": by_both_ways,
    "centroidal momentum": lambda m: centroidal_momentum_matrix(Kinematics(Tree(m))),
    "reactions": lambda m: [(r.force, r.torque) for r in joint_reactions(m).values()],
    **{f"semi-recursive {r}": lambda m, r=r: [SemiRecursive(m, r).mass_matrix, SemiRecursive(m, r).forces] for r in REFERENCES},
}
#: These know no rods with mass.
PLAIN = {
    "derivatives": lambda m: recursive_derivatives(Tree(m)),
    "regressor": lambda m: regressor(Tree(m, regroup=False)),
}


@pytest.mark.parametrize("name", [*QUANTITIES, *PLAIN])
@pytest.mark.parametrize("seed", range(2))
def test_a_new_sort_of_link_serves_every_formalism(screws, name, seed):
    """A screw as one link that turns and slides gives what a slider and a hinge with one coordinate give."""
    make = machine if name in QUANTITIES else without_rod
    two, one = both({**QUANTITIES, **PLAIN}[name], make, seed)
    assert len(two) > 0
    assert error(one, two) < 1e-12


def test_a_new_sort_of_link_in_articulated_bodies(screws):
    """Articulated bodies take one link for one coordinate: the reference is the mass matrix of two."""

    def reference(m: jd.Model) -> list[Expr]:
        tree = Tree(m)
        bias = inverse_dynamics(tree, acceleration=False)
        return SparseFactor(mass_matrix(tree)).solve([t - c for t, c in zip(TAU, bias, strict=True)])

    two = both(reference, without_rod)[0]
    one = both(lambda m: accelerations(Tree(m), TAU) if len(Tree(m).links) == 5 else [], without_rod)[1]
    assert error(one, two) < 1e-11


def test_a_new_sort_of_link_in_loops_over_arrays(screws):
    """The looped form takes its steps from the sort: inverse dynamics, mass matrix, accelerations, poses."""
    found = []
    for screw in ("two links", "one link"):
        m = without_rod(screw)
        tree = Tree(m, regroup=False, share=False)
        q, v, a = random_state(tree, np.random.default_rng(4))
        looped = LoopedTree(tree)
        last = looped.poses(q)
        at = [tree.places[b].link for b in m.bodies]
        found.append([looped.inverse_dynamics(q, v, a), looped.mass_matrix(q), looped.accelerations(q, v, a), last[0][at], last[1][at]])
    for two, one in zip(*found, strict=True):
        assert error(one, two) < 1e-11


def test_a_new_sort_of_link_is_driven(screws):
    """The force that keeps a driven screw on its motion, and that of a locked one."""

    def driven(screw: str) -> jd.Model:
        m = without_rod(screw)
        m.drive(m.joints["lead"], lambda t: 0.3 + 0.5 * jd.sin(2.0 * t))
        m.lock(m.joints["tail"], 0.4)
        return m

    two, one = both(driving_forces, driven)
    assert len(two) == 2
    assert error(one, two) < 1e-12


def test_wrenches_reach_the_coordinates_through_a_new_sort(screws):
    """Sᵀ of wrenches on all links by the sweep and by the Jacobians of the bodies' frames."""
    m = machine("one link")
    tree = Tree(m, regroup=False)
    known = values(m, tree, *random_state(tree, np.random.default_rng(1)))
    k = Kinematics(tree)
    force, torque = Vector.of((0.3, -0.7, 0.2)), Vector.of((0.1, 0.5, -0.4))
    for body in m.bodies.values():
        link, f, n = k.wrench_on_link(body, force, torque)
        swept = vector_of(project_wrenches(tree, {link: (f, n)}), known)
        J = k.jacobian(body)
        np.testing.assert_allclose(swept, vector_of([t.dot(force) + r.dot(torque) for t, r in zip(*J, strict=True)], known), atol=1e-13)


# --- nobody compares sorts ---------------------------------------------------------------------------------------


def test_no_formalism_compares_sorts_of_links():
    """Outside of ``links/`` nobody compares a letter or asks for the class of a link."""
    room = Path(jd.__file__).parent
    found = []
    for file in [*room.rglob("formalisms/**/*.py"), *room.rglob("systems/tree/*.py"), *room.rglob("analysis/*.py")]:
        if file.parent.name == "links":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            compared = isinstance(node, ast.Compare) and any(isinstance(x, ast.Attribute) and x.attr == "letter" for x in ast.walk(node))
            asked = isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and "Link" in ast.unparse(node.args[1])
            if compared or (asked and "LinkForce" not in ast.unparse(node)):
                found.append(f"{file.name}:{node.lineno}: {ast.unparse(node)}")
    assert found == []


def test_formula_of_the_matrix_of_a_screw(screws):
    """A body on a screw at rest: M = I + h² m about the axis."""
    m = jd.Model("nut", gravity=(0, 0, 0))
    nut = m.body("nut", mass=2.0, inertia=(0.3, 0.2, 0.1))
    joint = m.revolute("screw", m.ground, nut, axis="x")
    joint.motions = (Motion("H", joint.motions[0].axis, joint.motions[0].coordinate),)
    assert matrix_of(mass_matrix(Tree(m)), {})[0, 0] == pytest.approx(0.3 + PITCH**2 * 2.0, rel=1e-15)
