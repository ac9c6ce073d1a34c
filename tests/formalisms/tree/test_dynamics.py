"""Dynamics and kinematics of random trees against each other, the dense reference, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.formalisms.tree.articulated_blocks import accelerations
from jourdain.formalisms.tree.composite_body import mass_matrix
from jourdain.formalisms.tree.kinematics import GROUND, Kinematics, centre_of_mass
from jourdain.formalisms.tree.mass_factor import accelerations_by_factor
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.formalisms.tree.tree import Tree
from jourdain.native import compile_function
from jourdain.symbolic import operations, substitute, symbols
from jourdain.symbolic.expr import ZERO
from jourdain.symbolic.function import Argument, Result, SymbolicFunction
from jourdain.symbolic.graph import topological
from jourdain.symbolic.normal import equal
from jourdain.symbolic.vectors import Vector
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, retract, values, vector_of
from tests.reference import ReferenceTree

seeds = st.integers(0, 10**6)
T = 0.7


def at(model, tree, seed):
    q, v, a = random_state(tree, np.random.default_rng(seed))
    return q, v, a, values(model, tree, q, v, a, T)


def force_symbols(tree):
    return symbols([f"tau{i}" for i in range(tree.nv)], "input")


# --- two ways to every number ------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(random_trees(), seeds)
def test_joint_forces_mass_matrix_and_bias_agree_with_the_reference(model, seed):
    tree, reference = Tree(model), ReferenceTree(model)
    q, v, a, known = at(model, tree, seed)
    phi = vector_of(inverse_dynamics(tree), known)
    M = matrix_of(mass_matrix(tree), known)
    c = vector_of(inverse_dynamics(tree, acceleration=False), known)
    assert error(phi, reference.inverse_dynamics(q, v, a, T)) < 1e-12
    assert error(M, reference.mass_matrix(q, T)) < 1e-12
    assert error(c, reference.bias(q, v, T)) < 1e-12
    assert error(M @ a + c, phi) < 1e-12


@settings(max_examples=50)
@given(random_trees(), seeds)
def test_mass_matrix_is_symmetric_and_positive_definite(model, seed):
    tree = Tree(model)
    *_, known = at(model, tree, seed)
    M = matrix_of(mass_matrix(tree), known)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0


@settings(max_examples=40)
@given(random_trees(), seeds)
def test_accelerations_by_articulated_bodies_and_by_factor_agree(model, seed):
    tree = Tree(model)
    q, v, _, known = at(model, tree, seed)
    tau = force_symbols(tree)
    forces = np.random.default_rng(seed + 1).normal(size=tree.nv)
    known |= dict(zip(tau, forces, strict=True))
    expected = ReferenceTree(model).forward_dynamics(q, v, forces, T)
    assert error(vector_of(accelerations_by_factor(tree, tau), known), expected, 1.0) < 1e-11
    assert error(vector_of(accelerations(tree, tau), known), expected, 1.0) < 1e-11


@settings(max_examples=30)
@given(random_trees(prescribed=False), seeds)
def test_power_of_joint_forces_is_the_rate_of_energy(model, seed):
    """τ·v = dE/dt, the rate by complex step along the motion; E itself checked with the reference."""
    tree, reference = Tree(model), ReferenceTree(model)
    q, v, a, known = at(model, tree, seed)
    _, moment = centre_of_mass(Kinematics(tree))
    potential = -model.gravity.dot(moment)
    M = mass_matrix(tree)

    def energy(q, v):
        now = values(model, tree, q, v, a, T)
        return 0.5 * v @ matrix_of(M, now) @ v + jd.evaluate(potential, now)

    total = reference.kinetic_energy(q, v) + reference.potential_energy(q)
    assert energy(q, v) == pytest.approx(total, rel=1e-12, abs=1e-11)
    h = 1e-30
    rate = energy(retract(tree, q, 1j * h * v), v + 1j * h * a).imag / h
    tau = vector_of(inverse_dynamics(tree), known)
    assert rate == pytest.approx(tau @ v, rel=1e-11, abs=1e-11 * float(np.abs(tau) @ np.abs(v)))


@settings(max_examples=25)
@given(random_trees(), seeds)
def test_regrouping_and_shared_frames_change_nothing(model, seed):
    plain = Tree(model, regroup=False, share=False)
    *_, known = at(model, plain, seed)
    phi, M = vector_of(inverse_dynamics(plain), known), matrix_of(mass_matrix(plain), known)
    for regroup, share in ((True, True), (True, False), (False, True)):
        tree = Tree(model, regroup=regroup, share=share)
        assert error(vector_of(inverse_dynamics(tree), known), phi) < 1e-12
        assert error(matrix_of(mass_matrix(tree), known), M) < 1e-12


@settings(max_examples=25)
@given(random_trees(), seeds)
def test_parameters_change_without_deriving_again(model, seed):
    tree = Tree(model)
    phi, M = inverse_dynamics(tree), mass_matrix(tree)
    rng = np.random.default_rng(seed)
    q, v, a = random_state(tree, rng)
    changes = {p.name: p.value * rng.uniform(0.8, 1.2) for p in model.parameter_set}
    known, reference = values(model, tree, q, v, a, T, changes), ReferenceTree(model, changes)
    assert error(vector_of(phi, known), reference.inverse_dynamics(q, v, a, T)) < 1e-12
    assert error(matrix_of(M, known), reference.mass_matrix(q, T)) < 1e-12


@settings(max_examples=25)
@given(random_trees(), seeds)
def test_external_wrenches(model, seed):
    """A force and a torque on a body, by inverse and by forward dynamics."""
    tree, reference = Tree(model), ReferenceTree(model)
    q, v, a, known = at(model, tree, seed)
    rng = np.random.default_rng(seed + 2)
    body = list(model.bodies.values())[int(rng.integers(len(model.bodies)))]
    force, torque = rng.normal(size=3), rng.normal(size=3)
    link, f, n = Kinematics(tree).wrench_on_link(body, Vector.of(force), Vector.of(torque))
    external = {link: (f, n)} if link >= 0 else {}
    expected = reference.inverse_dynamics(q, v, a, T, {body.name: (force, torque)})
    assert error(vector_of(inverse_dynamics(tree, external), known), expected) < 1e-12
    tau = force_symbols(tree)
    known |= dict(zip(tau, expected, strict=True))
    assert error(vector_of(accelerations(tree, tau, external), known), a, 1.0) < 1e-11


def test_rotor_of_a_following_joint_turns_with_its_ratio(rng):
    """The rotor of a joint that follows another at ratio r turns n·r times as fast as the leader: inertia (n r)² J."""
    m = jd.Model("gear")
    first = m.body("first", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    second = m.body("second", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    leader = m.revolute("leader", m.ground, first)
    m.revolute("follower", m.ground, second, mimic=(leader, 3.0, 0.0), rotor_inertia=0.01, gear_ratio=2.0)
    tree = Tree(m)
    q, v, a = random_state(tree, rng)
    known = values(m, tree, q, v, a)
    own = 0.1 + 0.01
    assert matrix_of(mass_matrix(tree), known)[0, 0] == pytest.approx(own + 9.0 * (own + 4.0 * 0.01), rel=1e-14)
    assert error(matrix_of(mass_matrix(tree), known), ReferenceTree(m).mass_matrix(q)) < 1e-14


# --- kinematics --------------------------------------------------------------------------------------------------


def numbers(vector, known):
    return vector_of(list(vector), known)


def columns(vectors, known):
    return np.array([numbers(c, known) for c in vectors]).T


class Motion:
    """World pose, velocities and accelerations of a frame by the reference."""

    def __init__(self, reference, frame, q, v, a):
        self.R, self.p = reference.frame_pose(frame, q, T)
        self.omega, self.v = reference.frame_velocity(frame, q, v, T)
        self.alpha, self.a = reference.frame_acceleration(frame, q, v, a, T)
        J = reference.frame_jacobian(frame, q, T)
        self.J_omega, self.J_v = J[:3], J[3:]

    def relative_to(self, base):
        """ω, v, α, a and Jacobians seen by an observer on the base, world axes."""
        r, W = self.p - base.p, base.omega
        omega = self.omega - W
        v = self.v - base.v - np.cross(W, r)
        alpha = self.alpha - base.alpha - np.cross(W, omega)
        a = self.a - base.a - np.cross(base.alpha, r) - np.cross(W, np.cross(W, r)) - 2.0 * np.cross(W, v)
        J_v = self.J_v - base.J_v - np.cross(base.J_omega, r, axisa=0, axisc=0)
        return omega, v, alpha, a, self.J_omega - base.J_omega, J_v


@settings(max_examples=30)
@given(random_trees(), seeds, st.booleans())
def test_frame_kinematics_relative_to_any_link(model, seed, share):
    """Pose, velocity, acceleration, J̇v and Jacobian of a frame relative to the ground and each link that carries it."""
    rng = np.random.default_rng(seed + 3)
    body = list(model.bodies.values())[int(rng.integers(len(model.bodies)))]
    frame = body.frame("tip", rng.normal(size=3), [("x", float(rng.normal())), ("z", float(rng.normal()))])
    tree, reference = Tree(model, share=share), ReferenceTree(model)
    q, v, a, known = at(model, tree, seed)
    kinematics = Kinematics(tree)
    tip, slow = Motion(reference, frame, q, v, a), Motion(reference, frame, q, v, 0 * a)
    carriers = {tree.places[b.name].link: b for b in model.bodies.values()}
    for base in [GROUND, *tree.ancestors(kinematics.place(frame).link)]:
        carrier = model.ground if base == GROUND else carriers.get(base)
        if carrier is None:  # a link inside a joint, with no body of its own
            continue
        place = kinematics.place(carrier)
        seat = Motion(reference, carrier, q, v, a)
        axes = seat.R @ np.array([numbers(row, known) for row in place.rotation.rows]).T
        origin = seat.p - axes @ numbers(place.position, known)
        omega, velocity, alpha, acceleration, J_omega, J_v = tip.relative_to(seat)
        _, _, alpha0, acceleration0, _, _ = slow.relative_to(Motion(reference, carrier, q, v, 0 * a))
        found_R = np.array([numbers(row, known) for row in kinematics.rotation(frame, base).rows])
        t_columns, r_columns = kinematics.jacobian(frame, base)
        checks = [
            (found_R, axes.T @ tip.R),
            (numbers(kinematics.position(frame, base), known), axes.T @ (tip.p - origin)),
            (numbers(kinematics.angular_velocity(frame, base), known), axes.T @ omega),
            (numbers(kinematics.velocity(frame, base), known), axes.T @ velocity),
            (numbers(kinematics.angular_acceleration(frame, base), known), axes.T @ alpha),
            (numbers(kinematics.acceleration(frame, base), known), axes.T @ acceleration),
            (numbers(kinematics.angular_acceleration(frame, base, acceleration=False), known), axes.T @ alpha0),
            (numbers(kinematics.acceleration(frame, base, acceleration=False), known), axes.T @ acceleration0),
            (columns(r_columns, known), axes.T @ J_omega),
            (columns(t_columns, known), axes.T @ J_v),
        ]
        size = 1.0 + max(float(np.abs(seat.a).max()), float(np.abs(tip.a).max()))
        assert max(error(found, expected, size) for found, expected in checks) < 1e-12


# --- native code -------------------------------------------------------------------------------------------------


@settings(max_examples=4)
@given(random_trees(max_bodies=3), seeds)
def test_native_code_equals_the_evaluator(model, seed):
    tree = Tree(model)
    nv, parameters = tree.nv, model.parameter_set
    tau = force_symbols(tree)
    M = mass_matrix(tree)
    f = SymbolicFunction(
        "dynamics",
        (
            Argument("q", tree.q), Argument("v", tree.v), Argument("a", tree.a), Argument("tau", tuple(tau)),
            Argument("t", (model.time,)), Argument("p", parameters.symbols),
        ),
        (
            Result("phi", tuple(inverse_dynamics(tree)), (nv,)),
            Result("M", tuple(e for row in M for e in row), (nv, nv)),
            Result("acceleration", tuple(accelerations_by_factor(tree, tau)), (nv,)),
        ),
    )  # fmt: skip
    compiled = compile_function(f, parameters.values())
    rng = np.random.default_rng(seed)
    states = [random_state(tree, rng) for _ in range(11)]
    q, v, a = (np.array([s[i] for s in states]) for i in range(3))
    forces, t = rng.normal(size=(11, nv)), rng.uniform(size=(11, 1))
    known = values(model, tree, q.T, v.T, a.T, t[:, 0]) | dict(zip(tau, forces.T, strict=True))
    flat = [np.broadcast_to(x, 11) for x in jd.evaluate(f.expressions, known)]
    expected = np.array(flat).T
    batch = compiled(q, v, a, forces, t)
    assert error(np.concatenate([x.reshape(11, -1) for x in batch], axis=1), expected) < 1e-12
    for k in (0, 7):
        single = compiled(q[k], v[k], a[k], forces[k], t[k])
        assert error(np.concatenate([x.ravel() for x in single]), expected[k]) < 1e-12


# --- closed forms ------------------------------------------------------------------------------------------------


def at_rest(tree, outputs):
    """Outputs with velocities and accelerations zero."""
    return substitute(outputs, dict.fromkeys(tree.v + tree.a, ZERO))


def test_pendulum():
    """(J + m l²) θ̈ + m g l sin θ."""
    model = jd.Model("pendulum", gravity=(0, 0, -9.81))
    m, l, J = model.parameters(m=2.0, l=0.5, J=0.1)
    bob = model.body("bob", mass=m, com=(0, 0, -l), inertia=(J, J, J))
    hinge = model.revolute("hinge", model.ground, bob, axis="y")
    g = -model.gravity.z
    expected = (J + m * l**2) * hinge.acceleration + m * g * l * jd.sin(hinge.position)
    assert equal(inverse_dynamics(Tree(model))[0], expected)


def test_double_pendulum():
    """Two point masses on massless rods, angles relative (Goldstein; Spong, Hutchinson and Vidyasagar)."""
    model = jd.Model("double pendulum", gravity=(0, -9.81, 0))
    m1, m2, l1, l2 = model.parameters(m1=1.0, m2=0.7, l1=0.5, l2=0.4)
    upper = model.body("upper", mass=m1, com=(0, -l1, 0))
    lower = model.body("lower", mass=m2, com=(0, -l2, 0))
    j1 = model.revolute("j1", model.ground, upper, axis="z")
    j2 = model.revolute("j2", upper.at(0, -l1, 0), lower, axis="z")
    (q1, q2), (v1, v2) = ((j1.position, j2.position), (j1.velocity, j2.velocity))
    a1, a2, g = j1.acceleration, j2.acceleration, -model.gravity.y
    M12 = m2 * (l2**2 + l1 * l2 * jd.cos(q2))
    M11 = (m1 + m2) * l1**2 + m2 * l2**2 + 2 * m2 * l1 * l2 * jd.cos(q2)
    h = m2 * l1 * l2 * jd.sin(q2)
    G2 = m2 * g * l2 * jd.sin(q1 + q2)
    G1 = (m1 + m2) * g * l1 * jd.sin(q1) + G2
    phi1 = M11 * a1 + M12 * a2 - h * (2 * v1 * v2 + v2**2) + G1
    phi2 = M12 * a1 + m2 * l2**2 * a2 + h * v1**2 + G2
    for share in (True, False):
        tree = Tree(model, share=share)
        assert [equal(f, e) for f, e in zip(inverse_dynamics(tree), (phi1, phi2), strict=True)] == [True, True]
        M = mass_matrix(tree)
        assert equal(M[0][0], M11) and equal(M[0][1], M12) and equal(M[1][1], m2 * l2**2)


@pytest.mark.parametrize("orientation", ["zxz", "quaternion"])
def test_gyroscope_in_steady_precession(orientation):
    """A heavy top precesses steadily at ψ̇ with spin φ̇ when I₃(φ̇ + ψ̇ cos θ)ψ̇ − I₁ψ̇² cos θ = m g l (Goldstein §5.7)."""
    mass, l, I1, I3, theta, precession, g = 0.8, 0.1, 0.02, 0.005, 0.6, 3.0, 9.81
    model = jd.Model("top", gravity=(0, 0, -g))
    top = model.body("top")
    top.add_mass(mass, (0, 0, l), (I1, I1, I3), about="origin")
    model.spherical("tip", model.ground, top, orientation=orientation)
    tree = Tree(model)
    c, s = np.cos(theta), np.sin(theta)
    spin = (mass * g * l + I1 * precession**2 * c) / (I3 * precession) - precession * c
    psi, phi = 0.4, 1.1
    if orientation == "zxz":
        q, v, a = np.array([psi, theta, phi]), np.array([precession, 0.0, spin]), np.zeros(3)
    else:
        half = 0.5 * np.array([psi + phi, psi - phi, theta])
        q = np.array([
            np.cos(half[2]) * np.cos(half[0]), np.sin(half[2]) * np.cos(half[1]),
            np.sin(half[2]) * np.sin(half[1]), np.cos(half[2]) * np.sin(half[0]),
        ])  # fmt: skip
        v = np.array([precession * s * np.sin(phi), precession * s * np.cos(phi), precession * c + spin])
        a = precession * s * spin * np.array([np.cos(phi), -np.sin(phi), 0.0])
    tau = force_symbols(tree)
    known = values(model, tree, q, v, a) | dict.fromkeys(tau, 0.0)
    scale = mass * g * l
    assert error(vector_of(inverse_dynamics(tree), known), np.zeros(3), scale) < 1e-13
    assert error(vector_of(accelerations(tree, tau), known), a, scale / I1) < 1e-13
    faster = values(model, tree, q, 1.1 * v, a)
    assert error(vector_of(inverse_dynamics(tree), faster), np.zeros(3), scale) > 1e-3


def puma() -> tuple[jd.Model, dict]:
    """PUMA 560 in modified Denavit–Hartenberg frames (Armstrong, Khatib and Burdick 1986), parameters symbolic."""
    model = jd.Model("puma", gravity=(0, 0, -9.81))
    lengths = {"a2": 0.4318, "a3": -0.0203, "d2": 0.2435, "d3": -0.0934, "d4": 0.4331}
    masses = {"m2": 17.40, "m3": 6.04, "m4": 0.82, "m5": 0.34, "m6": 0.09}
    centres = {"rx2": 0.068, "ry2": 0.006, "rz2": -0.016, "ry3": -0.070, "rz3": 0.014, "rz4": -0.019, "rz6": 0.032}
    p = {n: model.parameter(n, x) for n, x in (lengths | masses | centres).items()}
    com = {
        2: (p["rx2"], p["ry2"], p["rz2"]), 3: (0, p["ry3"], p["rz3"]), 4: (0, 0, p["rz4"]), 5: (0, 0, 0),
        6: (0, 0, p["rz6"]),
    }  # fmt: skip
    table = [(0, 0, 0), (-90, 0, p["d2"]), (0, p["a2"], p["d3"]), (90, p["a3"], p["d4"]), (-90, 0, 0), (90, 0, 0)]
    before = model.ground
    for i, (twist, a, d) in enumerate(table, start=1):
        c, s = {0: (1, 0), 90: (0, 1), -90: (0, -1)}[twist]
        R = [[1, 0, 0], [0, c, -s], [0, s, c]]
        body = model.body(f"link{i}")
        if i > 1:
            body.add_mass(p[f"m{i}"], com[i])
        model.revolute(f"q{i}", before.at(a, -s * d, c * d, rotation={"matrix": R}), body, axis="z")
        before = body
    return model, p


def test_gravity_of_the_puma_560():
    """The published gravity terms g1…g5 as symbolic equality (Armstrong, Khatib and Burdick 1986, table A3)."""
    model, p = puma()
    tree = Tree(model)
    g = -model.gravity.z
    q2, q3, q4, q5 = (model.joints[f"q{i}"].position for i in (2, 3, 4, 5))
    hand = p["m4"] + p["m5"] + p["m6"]
    g1 = -g * ((p["m3"] + hand) * p["a2"] + p["m2"] * p["rx2"])
    g2 = g * (p["m3"] * p["ry3"] - hand * p["d4"] - p["m4"] * p["rz4"])
    g3, g4, g5 = g * p["m2"] * p["ry2"], -g * hand * p["a3"], -g * p["m6"] * p["rz6"]
    S2, C2, S23, C23 = jd.sin(q2), jd.cos(q2), jd.sin(q2 + q3), jd.cos(q2 + q3)
    S4, C4, S5, C5 = jd.sin(q4), jd.cos(q4), jd.sin(q5), jd.cos(q5)
    G3 = g2 * S23 + g4 * C23 + g5 * (S23 * C5 + C23 * C4 * S5)
    expected = [0.0, g1 * C2 + g3 * S2 + G3, G3, -g5 * S23 * S4 * S5, g5 * (C23 * S5 + S23 * C4 * C5), 0.0]
    for regroup in (True, False):
        tree = Tree(model, regroup=regroup)
        found = at_rest(tree, inverse_dynamics(tree))
        assert [equal(f, e) for f, e in zip(found, expected, strict=True)] == [True] * 6


# --- planar chains -----------------------------------------------------------------------------------------------


def planar_chain(n: int) -> jd.Model:
    model = jd.Model("planar")
    place = model.ground.origin
    for i in range(n):
        m, l, c, J = model.parameters(**{f"m{i}": 1.0, f"l{i}": 0.3, f"c{i}": 0.1, f"J{i}": 0.01})
        body = model.body(f"b{i}", mass=m, com=(c, 0, 0.02), inertia=(0.01, J, 0.012, 0.001, 0, 0.002))
        model.revolute(f"j{i}", place, body, axis="y")
        place = body.at(l, 0, 0)
    return model


def angles_of(e, tree):
    """Indices of the angles of which e is the plain sum."""
    if e.op == "add":
        return sorted(i for x in e.args for i in angles_of(x, tree))
    return [tree.q.index(e)]


def test_planar_chain_has_no_nested_rotations():
    """Only sines and cosines of sums of consecutive angles, one pair for each link, and no product of two of them."""
    n = 10
    tree = Tree(planar_chain(n))
    for outputs in (inverse_dynamics(tree), [e for row in mass_matrix(tree) for e in row]):
        nodes = topological(outputs)
        turns = [e for e in nodes if e.op in ("sin", "cos")]
        sums = [angles_of(e.args[0], tree) for e in turns]
        assert len(turns) <= 2 * n
        assert all(s == list(range(s[0], s[-1] + 1)) for s in sums)
        assert max(len(s) for s in sums) == n - 1
        wave = {e.id for e in turns}
        assert not [e for e in nodes if e.op == "mul" and all(x.id in wave for x in e.args)]


def test_operations_of_a_planar_chain_grow_linearly():
    counts = [operations(inverse_dynamics(Tree(planar_chain(n)))).flops for n in (5, 10, 15, 20)]
    steps = np.diff(counts)
    assert steps[0] == steps[1] == steps[2]
    assert steps[0] <= 5 * 55


def test_sums_of_angles_save_operations_in_the_mass_matrix():
    shared, nested = (
        operations([e for row in mass_matrix(Tree(planar_chain(20), share=share)) for e in row]).flops for share in (True, False)
    )
    assert shared < 0.8 * nested
