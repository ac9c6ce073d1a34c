"""Energy and momentum: against dense sums about the world's origin, and by power balance and conservation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import InputError, ModelError
from jourdain.formalisms.tree.energy import kinetic_energy, potential_energy
from jourdain.formalisms.tree.kinematics import Kinematics
from jourdain.formalisms.tree.momentum import (
    angular_momentum,
    centre_of_mass_acceleration,
    centre_of_mass_position,
    centre_of_mass_velocity,
    centroidal_bias,
    centroidal_inertia,
    centroidal_momentum_matrix,
    linear_momentum,
    momentum_rate,
)
from jourdain.formalisms.tree.newton_euler import inverse_dynamics
from jourdain.formalisms.tree.tree import Tree
from jourdain.symbolic.derivatives import jvp
from jourdain.symbolic.vectors import quaternion_rotation
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, values, vector_of
from tests.reference import ReferenceTree, skew

TIGHT = 1e-11


def time_derivative(tree, expressions):
    """d/dt by the chain rule: q̇ = N v, v̇ = a, ṫ = 1."""
    direction = dict(zip(tree.v, tree.a, strict=True)) | {tree.model.time: 1.0}
    for c in tree.coordinates:
        if c.is_quaternion:
            e0, e1, e2, e3 = c.q
            x, y, z = c.v
            rates = (
                -e1 * x - e2 * y - e3 * z,
                e0 * x + e2 * z - e3 * y,
                e0 * y + e3 * x - e1 * z,
                e0 * z + e1 * y - e2 * x,
            )
            direction |= {s: 0.5 * r for s, r in zip(c.q, rates, strict=True)}
        else:
            direction[c.q[0]] = c.v[0]
    return jvp(list(expressions), direction)


def driven_rotor_energy(model, reference, t):
    """Energy of rotors at prescribed joints, which the reference leaves out."""
    total = 0.0
    for joint in model.joints.values():
        inertia = reference._numbers([joint.drive.reflected_inertia])[0]
        if inertia and (c := joint.motions[-1].coordinate).motion is not None:
            total += 0.5 * inertia * reference._prescribed(c, t)[1] ** 2
    return total


@settings(max_examples=25)
@given(random_trees(), st.integers(0, 10**6))
def test_energy_and_momentum_equal_dense_sums(model, seed):
    tree = Tree(model)
    k = Kinematics(tree)
    rng = np.random.default_rng(seed)
    q, v, a = random_state(tree, rng)
    t = 0.4
    changed = {p.name: p.value * rng.uniform(0.9, 1.2) for p in model.parameter_set}
    reference = ReferenceTree(model, changed)
    known = values(model, tree, q, v, a, t, changed)
    T, V = vector_of([kinetic_energy(k), potential_energy(k)], known)
    assert error(T, reference.kinetic_energy(q, v, t) + driven_rotor_energy(model, reference, t)) < TIGHT
    size = reference.total_mass * 10.0
    assert error(V, reference.potential_energy(q, t), size) < TIGHT
    p, h = reference.momentum(q, v, t)
    c = reference.centre_of_mass(q, t)
    scale = float(np.abs(p).max() + np.abs(h).max())
    assert error(vector_of([*linear_momentum(k)], known), p, scale) < TIGHT
    assert error(vector_of([*angular_momentum(k)], known), h, scale) < TIGHT
    assert error(vector_of([*angular_momentum(k, about="com")], known), h - np.cross(c, p), scale) < TIGHT
    assert error(vector_of([*centre_of_mass_position(k)], known), c, 1.0) < TIGHT
    assert error(vector_of([*centre_of_mass_velocity(k)], known), p / reference.total_mass, 1.0) < TIGHT


@settings(max_examples=20)
@given(random_trees(prescribed=False), st.integers(0, 10**6))
def test_power_balance(model, seed):
    """dE/dt = φ·v for every motion, when nothing is prescribed."""
    tree = Tree(model)
    k = Kinematics(tree)
    known = values(model, tree, *random_state(tree, np.random.default_rng(seed)))
    phi = inverse_dynamics(tree)
    (rate,) = time_derivative(tree, [kinetic_energy(k) + potential_energy(k)])
    power = vector_of(phi, known) * vector_of(tree.v, known)
    assert error(vector_of([rate], known), power.sum(), float(np.abs(power).sum())) < TIGHT


@settings(max_examples=20)
@given(random_trees(prescribed=False), st.integers(0, 10**6))
def test_centroidal_map(model, seed):
    """(p, h_G) = A_G v, and its time derivative is A_G a + Ȧ_G v."""
    tree = Tree(model)
    k = Kinematics(tree)
    q, v, a = random_state(tree, np.random.default_rng(seed))
    known = values(model, tree, q, v, a)
    A = matrix_of(centroidal_momentum_matrix(k), known)
    h = [*linear_momentum(k), *angular_momentum(k, about="com")]
    size = float(np.abs(A).max() * np.abs(v).sum())
    assert error(A @ v, vector_of(h, known), size) < TIGHT
    rate = vector_of(time_derivative(tree, h), known)
    bias = vector_of(centroidal_bias(k), known)
    assert error(A @ a + bias, rate, size + float(np.abs(bias).max())) < TIGHT
    acceleration = vector_of([*centre_of_mass_acceleration(k)], known)
    assert error(acceleration * ReferenceTree(model).total_mass, rate[:3], size + float(np.abs(bias).max())) < TIGHT


@settings(max_examples=15)
@given(random_trees(), st.integers(0, 10**6))
def test_momentum_rate_with_prescribed_motion(model, seed):
    tree = Tree(model)
    k = Kinematics(tree)
    known = values(model, tree, *random_state(tree, np.random.default_rng(seed)), t=0.7)
    force, moment = momentum_rate(k)
    rates = time_derivative(tree, [*linear_momentum(k), *angular_momentum(k)])
    expected = vector_of(rates, known)
    assert error(vector_of([*force, *moment], known), expected, 1.0) < TIGHT


@settings(max_examples=15)
@given(random_trees(), st.integers(0, 10**6))
def test_centroidal_inertia(model, seed):
    tree = Tree(model)
    q, v, a = random_state(tree, np.random.default_rng(seed))
    reference = ReferenceTree(model)
    s = reference.kinematics(q, t=0.2)
    total = sum(reference.spatial_inertia(n, s.pose[n]) for n in model.bodies)
    c = reference.centre_of_mass(q, 0.2)
    expected = total[:3, :3] + total[3, 3] * skew(c) @ skew(c)
    known = values(model, tree, q, v, a, 0.2)
    found = matrix_of([list(row) for row in centroidal_inertia(Kinematics(tree)).matrix()], known)
    assert error(found, expected, float(np.abs(total).max())) < TIGHT


def free_chain(gravity=(0.0, 0.0, 0.0)):
    """A free body carrying two more on joints."""
    m = jd.Model("flyer", gravity=gravity)
    hub = m.body("hub", mass=2.0, com=(0.1, 0.0, -0.2), inertia=(0.3, 0.2, 0.4))
    arm = m.body("arm", mass=1.0, com=(0.4, 0.1, 0.0), inertia=(0.05, 0.1, 0.08))
    tip = m.body("tip", mass=0.5, com=(0.0, 0.2, 0.1), inertia=(0.02, 0.01, 0.02))
    m.free("fly", m.ground, hub)
    m.revolute("shoulder", hub.at(0.2, 0.0, 0.3), arm, axis=(1.0, 2.0, -1.0))
    m.prismatic("slide", arm.at(0.8, 0.0, 0.0), tip, axis="z")
    return m


def test_free_bodies_keep_energy_and_momentum(rng):
    """With accelerations of free flight (φ = 0) every rate of E, p and h vanishes."""
    model = free_chain()
    tree = Tree(model)
    k = Kinematics(tree)
    q, v, _ = random_state(tree, rng)
    a = ReferenceTree(model).forward_dynamics(q, v, np.zeros(tree.nv))
    known = values(model, tree, q, v, a)
    conserved = [kinetic_energy(k), *linear_momentum(k), *angular_momentum(k), *angular_momentum(k, about="com")]
    rates = vector_of(time_derivative(tree, conserved), known)
    assert np.abs(rates).max() < 1e-11 * np.abs(vector_of(conserved, known)).max() * np.abs(a).max()
    assert np.abs(vector_of(tree.a, known)).max() > 0.1


def test_free_fall_accelerates_the_centre_of_mass_by_gravity(rng):
    model = free_chain(gravity=(1.0, -2.0, -9.0))
    tree = Tree(model)
    q, v, _ = random_state(tree, rng)
    a = ReferenceTree(model).forward_dynamics(q, v, np.zeros(tree.nv))
    found = vector_of([*centre_of_mass_acceleration(Kinematics(tree))], values(model, tree, q, v, a))
    assert np.allclose(found, [1.0, -2.0, -9.0], rtol=1e-11)


def test_driven_rotor_turns_with_its_joint():
    m = jd.Model("drive")
    wheel = m.body("wheel", inertia=(0.0, 0.0, 3.0))
    hinge = m.revolute("hinge", m.ground, wheel, rotor_inertia=0.01, gear_ratio=10.0)
    m.drive(hinge, lambda t: 2.0 * t)
    T = kinetic_energy(Kinematics(Tree(m)))
    assert float(T) == pytest.approx(0.5 * (3.0 + 100 * 0.01) * 4.0, rel=1e-14)


def test_quaternion_direction_of_the_test_is_right(rng):
    """q̇ used above gives Ṙ = R ω̃."""
    model = free_chain()
    tree = Tree(model)
    q, v, a = random_state(tree, rng)
    c = next(c for c in tree.coordinates if c.is_quaternion)
    R = quaternion_rotation(*c.q)
    known = values(model, tree, q, v, a)
    rate = vector_of(time_derivative(tree, R.entries), known).reshape(3, 3)
    omega = vector_of(c.v, known)
    assert error(rate, vector_of(R.entries, known).reshape(3, 3) @ skew(omega)) < 1e-14


def test_errors_say_what_to_do():
    m = jd.Model("ghost")
    m.revolute("hinge", m.ground, m.body("nothing"))
    k = Kinematics(Tree(m))
    with pytest.raises(ModelError, match="'ghost' has no mass"):
        centre_of_mass_position(k)
    with pytest.raises(InputError, match="about 'hub' is unknown"):
        angular_momentum(k, about="hub")
