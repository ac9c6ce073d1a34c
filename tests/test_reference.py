"""The reference of the tests against closed forms and differences: nobody else checks the checker."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from tests.reference import ReferenceTree, skew

STEP = 1e-6


def mechanism(rng: np.random.Generator, driven: bool) -> jd.Model:
    """Every kind of joint, turned frames on both sides, three joints declared from their far end."""
    m = jd.Model("all", gravity=(0.3, -1.0, -9.81))

    def body(name: str) -> jd.Body:
        A = rng.normal(size=(3, 3))
        return m.body(name, mass=rng.uniform(1, 2), com=rng.normal(size=3), inertia=A @ A.T + 10 * np.eye(3))

    b = [body(f"b{i}") for i in range(11)]
    m.free("free", m.ground.at(1, 2, 3, ("x", 0.3)), b[0].at(0.1, 0.2, 0.3, ("y", 0.5)))
    leader = m.revolute("turn", b[0].at(0, 1, 0), b[1].at(0.3, 0, 0.1, ("z", 1)), axis=(1, 2, 3), rotor_inertia=0.2, gear_ratio=3)
    m.helical("screw", b[1], b[2].at(0.3, 0, 0.1, ("z", 1)), pitch=0.7, axis="y")
    m.spherical("ball", b[3].at(0.2, 0.1, 0.4, ("x", 1)), b[1].at(0.2, 0.1, 0.9, ("x", 2)))
    m.universal("cardan", b[3], b[4].at(1, 0, 0))
    m.planar("plane", b[4], b[5].at(1, 0, 0), plane="xz")
    m.revolute("follower", b[2].at(0, 0, 1), b[6].at(1, 0, 0), axis="x", mimic=(leader, -2.0, 0.3))
    m.free("free2", b[7].at(0.2, 0.1, 0.4, ("x", 1)), b[6].at(1, 0, 0))
    m.cylindrical("tube", b[8].at(0, 1, 0), b[7].at(1, 0, 1), axis="x")
    crank = m.revolute("crank", b[8], b[9].at(0, 1, 0), axis="y")
    m.prismatic("slide", b[9], b[10], axis=(1, 0, 1))
    if driven:
        m.drive(crank, lambda t: 0.4 * jd.sin(2 * t))
    else:
        m.lock(crank, 0.3)
    return m


def test_velocities_and_accelerations_are_derivatives(rng: np.random.Generator) -> None:
    tree = ReferenceTree(mechanism(rng, driven=True))
    q, v, a = tree.random_state(rng)
    t, h = 0.37, STEP
    ends = [(q + k * h * tree.position_rate(q, v), v + k * h * a, t + k * h) for k in (1, -1)]
    for name in tree.model.bodies:
        omega, velocity = tree.frame_velocity(name, q, v, t)
        alpha, acceleration = tree.frame_acceleration(name, q, v, a, t)
        (R1, p1), (R0, p0) = (tree.frame_pose(name, x, s) for x, _, s in ends)
        R, _ = tree.frame_pose(name, q, t)
        np.testing.assert_allclose((p1 - p0) / (2 * h), velocity, atol=1e-7)
        np.testing.assert_allclose((R1 - R0) / (2 * h) @ R.T, skew(omega), atol=1e-7)
        (w1, v1), (w0, v0) = (tree.frame_velocity(name, x, y, s) for x, y, s in ends)
        np.testing.assert_allclose((w1 - w0) / (2 * h), alpha, atol=1e-6)
        np.testing.assert_allclose((v1 - v0) / (2 * h), acceleration, atol=1e-6)


def test_energy_power_and_inertia(rng: np.random.Generator) -> None:
    tree = ReferenceTree(mechanism(rng, driven=False))
    q, v, a = tree.random_state(rng)
    M, tau = tree.mass_matrix(q), tree.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(M @ a + tree.bias(q, v), tau, atol=1e-11 * np.abs(tau).max())
    assert tree.kinetic_energy(q, v) == pytest.approx(0.5 * v @ M @ v, rel=1e-13)
    assert np.linalg.eigvalsh(M)[0] > 0

    def energy(k: int) -> float:
        x, y = q + k * STEP * tree.position_rate(q, v), v + k * STEP * a
        return tree.kinetic_energy(x, y) + tree.potential_energy(x)

    assert (energy(1) - energy(-1)) / (2 * STEP) == pytest.approx(tau @ v, rel=1e-6)
    np.testing.assert_allclose(tree.forward_dynamics(q, v, tau), a, atol=1e-9)


def test_external_wrench_does_virtual_work(rng: np.random.Generator) -> None:
    tree = ReferenceTree(mechanism(rng, driven=False))
    q, v, a = tree.random_state(rng)
    force, torque = rng.normal(size=3), rng.normal(size=3)
    with_it = tree.inverse_dynamics(q, v, a, wrenches={"b5": (force, torque)})
    J = tree.frame_jacobian("b5", q)
    np.testing.assert_allclose(tree.inverse_dynamics(q, v, a) - with_it, J.T @ np.concatenate([torque, force]), atol=1e-9)


def test_double_pendulum_closed_form() -> None:
    m = jd.Model("double", gravity=(0, -9.81, 0))
    l1, l2, m1, m2 = 0.7, 0.9, 1.3, 0.8
    a, b = m.body("a", mass=m1, com=(l1, 0, 0)), m.body("b", mass=m2, com=(l2, 0, 0))
    m.revolute("j1", m.ground, a)
    m.revolute("j2", a.at(l1, 0, 0), b)
    q, v = np.array([0.3, -0.8]), np.array([1.2, 0.7])
    c, s = l1 * l2 * np.cos(q[1]), l1 * l2 * np.sin(q[1])
    expected = [[(m1 + m2) * l1**2 + m2 * (l2**2 + 2 * c), m2 * (l2**2 + c)], [m2 * (l2**2 + c), m2 * l2**2]]
    g2 = m2 * 9.81 * l2 * np.cos(q.sum())
    bias = [-m2 * s * v[1] * (2 * v[0] + v[1]) + (m1 + m2) * 9.81 * l1 * np.cos(q[0]) + g2, m2 * s * v[0] ** 2 + g2]
    tree = ReferenceTree(m)
    np.testing.assert_allclose(tree.mass_matrix(q), expected, atol=1e-14)
    np.testing.assert_allclose(tree.bias(q, v), bias, atol=1e-13)
