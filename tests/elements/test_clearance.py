"""Cavities and play: the numbers of the blob, Hertz' law, products of axes by matrices, which step touches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from jourdain.elements.carriers import Directors, Ground, Particle, Tetrahedron
from jourdain.elements.clearance import Cavity, RevoluteClearance, SphericalClearance, angular_play, blob, constraint_of_wall, hertz
from jourdain.elements.discrete.mean_value import mean_value_beta
from jourdain.elements.element import symbols_of
from jourdain.symbolic import evaluate, symbols
from jourdain.symbolic.derivatives import gradient, jacobian
from jourdain.symbolic.graph import substitute
from tests.elements.readings import Reading, rotations

BLOB = {"scale": [50.0, 50.0, 50.0], "offset": 1.1}


def blob_value(x: float, y: float, z: float) -> float:
    element = Cavity(blob, {"scale": 3, "offset": 1}, Ground(), Particle())
    s = symbols_of(element)
    at = dict(zip(s.scale, BLOB["scale"], strict=True)) | {s.offset: 1.1}
    u = symbols("x y z")
    return float(evaluate(blob(*u, s), at | dict(zip(u, (x, y, z), strict=True))))


def test_blob_geometry() -> None:
    assert blob_value(0, 0, 0) == pytest.approx(-0.6212, abs=5e-5)
    assert brentq(lambda y: blob_value(0, y, 0), 0.03, 0.06) == pytest.approx(0.04200, abs=5e-6)
    assert brentq(lambda x: blob_value(x, 0, 0), 0.005, 0.03) == pytest.approx(0.01390, abs=5e-6)
    radii = [brentq(lambda x, y=y: blob_value(x, y, 0), 0.001, 0.04) for y in np.linspace(0.0, 0.04, 201)]
    assert max(radii) == pytest.approx(0.02008, abs=5e-6)
    assert np.linspace(0.0, 0.04, 201)[int(np.argmax(radii))] == pytest.approx(0.0216, abs=2e-4)
    neck, tip = brentq(lambda x: blob_value(x, 0, 0), 0.005, 0.03), brentq(lambda y: blob_value(0, y, 0), 0.03, 0.06)
    slope_neck = (blob_value(neck + 1e-6, 0, 0) - blob_value(neck - 1e-6, 0, 0)) / 2e-6
    slope_tip = (blob_value(0, tip + 1e-6, 0) - blob_value(0, tip - 1e-6, 0)) / 2e-6
    assert slope_neck == pytest.approx(69.5, abs=0.1)
    assert slope_tip == pytest.approx(99.9, abs=0.2)


def test_hertz_law_and_rest() -> None:
    (g,) = symbols("g")
    k = 1e7
    force = gradient(hertz(g, g * 0.0 + k, 1.5), [g])[0]
    assert float(evaluate(force, {g: 1e-4})) == pytest.approx(k * 1e-4**1.5, rel=1e-14)
    assert float(evaluate(force, {g: -1e-4})) == 0.0
    assert float(evaluate(force, {g: 1.000e-4})) == pytest.approx(10.0, rel=1e-12)  # a kilogram rests under 10 m/s²


def test_impact_on_a_sphere_gives_the_speed_back() -> None:
    """Spec numbers: 1 m/s, 1 kg, k = 1e7, n = 1.5: deepest 1.733e-3 m, in contact for 5.10e-3 s; rebound exact for any step."""
    element = SphericalClearance(Ground(), Particle())
    constants = {"point_a": [0, 0, 0], "radius": 0.04, "stiffness": 1e7}
    r = Reading(element, np.zeros(3), np.ones(3), constants)
    u, w = symbols("start end")
    push = r.potential_expressions()[2]
    along = dict.fromkeys([*r.x0[:2], *r.x1[:2]], 0.0) | {r.x0[2]: u, r.x1[2]: w}
    push = substitute([push], along)[0]
    slope = jacobian([push], [w])[0][0]

    def fly(h: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
        x, v = [0.0390001], [1.0]
        for _ in range(steps):
            end = x[-1] + h * v[-1]
            for _ in range(60):
                f, df = (float(q) for q in evaluate([push, slope], {u: x[-1], w: end}))
                change = (2 / h**2 * (end - x[-1]) - 2 / h * v[-1] + f) / (2 / h**2 + df)
                end -= change
                if abs(change) < 1e-17:
                    break
            v.append(2 * (end - x[-1]) / h - v[-1])
            x.append(end)
        return np.array(x), np.array(v)

    x, v = fly(2e-5, 400)
    depth = x.max() - 0.04
    assert depth == pytest.approx(1.733e-3, rel=5e-3)
    assert depth == pytest.approx((2.5 / 2e7) ** 0.4, rel=1e-3)
    assert 2e-5 * np.count_nonzero(x > 0.04) == pytest.approx(5.10e-3, rel=5e-3)
    assert v[-1] == pytest.approx(-1.0, abs=1e-11)
    coarse = fly(2e-3, 6)[1]
    assert abs(coarse[-1]) == pytest.approx(1.0, abs=1e-11)


def test_both_ends_inside_give_no_force_even_at_the_centre() -> None:
    r = Reading(SphericalClearance(Ground(), Particle()), np.zeros(3), np.zeros(3), {"point_a": [0, 0, 0], "radius": 0.1, "stiffness": 1e7})
    assert np.array_equal(r.potential_gradient(), np.zeros(3))


def test_products_of_axes_by_constant_matrices() -> None:
    """q·Γ₁q = e_A·e_B and q·Γ₂q = r·e_A (eqs. 50–57 with the corrected blocks) against the vectors of the element."""
    rng = np.random.default_rng(41)
    a, b = rng.normal(size=(2, 4, 3))
    joint = RevoluteClearance(Tetrahedron(), Tetrahedron())
    constants = joint.place(a[0], rng.normal(size=3), a, b)
    constants["point_b"] = Tetrahedron().locate(b, b[0])
    X, Y = constants["frame_a"][6:], constants["frame_b"][6:]
    I3 = np.eye(3)
    C_A, C_B = (np.kron([-sum(c), *c], I3) for c in (X, Y))
    P_A, P_B = np.kron([[1, 0]], np.eye(12)), np.kron([[0, 1]], np.eye(12))
    P = np.kron([[1, 0, 0, 0]], I3)
    gamma1, gamma2 = P_A.T @ C_A.T @ C_B @ P_B, (P_B - P_A).T @ P.T @ C_A @ P_A
    for _ in range(5):
        q = np.concatenate([((a - a[0]) @ R.T + t).ravel() for R, t in zip(rotations(rng, 2), rng.normal(size=(2, 3)), strict=True)])
        r = Reading(joint, q, q, {**constants, "angular_play": 0.2, "angular_stiffness": 1e7})
        v = joint.vectors(r.s, r.s)
        first, second = r.numbers([v.a[2].dot(v.b[2]), v.gap.dot(v.a[2])])
        assert q @ gamma1 @ q == pytest.approx(float(first), rel=1e-12)
        assert q @ gamma2 @ q == pytest.approx(float(second), rel=1e-12)


def test_beta_on_entering_and_leaving() -> None:
    """The mean-value point lies near the end that touches."""
    element = Cavity(blob, {"scale": 3, "offset": 1}, Ground(), Particle(), exponent=4.0, form="beta")
    inside, wall = [0.0, 0.0, 0.0], [0.0, 0.0435, 0.0]
    r = Reading(element, inside, wall, {**BLOB, "point_a": [0, 0, 0], "frame_a": np.eye(3).ravel(), "stiffness": 1e7})
    phi = constraint_of_wall(element.phi(r.s, r.s), r.s.stiffness, 4.0)
    beta = float(r.numbers([mean_value_beta(phi, r.x, r.x0, r.x1)])[0])
    assert 0.9 < beta < 1.0
    back = Reading(element, wall, inside, {**BLOB, "point_a": [0, 0, 0], "frame_a": np.eye(3).ravel(), "stiffness": 1e7})
    phi = constraint_of_wall(element.phi(back.s, back.s), back.s.stiffness, 4.0)
    assert float(back.numbers([mean_value_beta(phi, back.x, back.x0, back.x1)])[0]) == pytest.approx(1.0 - beta, abs=1e-9)


def test_reaction_on_the_carrier_acts_at_the_contact_point() -> None:
    """With equal ends: force on the point and the carrier are opposite with a common line of action."""
    rng = np.random.default_rng(42)
    element = Cavity(blob, {"scale": 3, "offset": 1}, Directors(), Particle(), form="rules")
    R, x = rotations(rng, 1)[0], rng.normal(size=3)
    point = x + R @ np.array([0.005, 0.043, 0.002])
    q = np.concatenate([x, R.T.ravel(), point])
    r = Reading(element, q, q, {**BLOB, "point_a": [0, 0, 0], "frame_a": np.eye(3).ravel(), "stiffness": 1e7})
    f = r.potential_gradient().reshape(5, 3)
    assert np.linalg.norm(f[4]) > 1.0
    assert f[0] == pytest.approx(-f[4], rel=1e-12)
    moment = sum(np.cross(d, g) for d, g in zip(R.T, f[1:4], strict=True))
    assert moment == pytest.approx(np.cross(point - x, -f[4]), rel=1e-9)


def test_play_left_to_a_flanged_journal() -> None:
    assert angular_play(0.0, 0.0, 1e-4, 2e-4, 0.05, 0.02) == pytest.approx(min(2e-4 / 0.05, 2e-4 / 0.02))
    assert angular_play(2e-4, 0.0, 1e-4, 2e-4, 0.05, 0.02) == 0.0
    assert math.isclose(angular_play(0.0, 1.9e-4, 1e-4, 2e-4, 0.05, 0.02), 1e-5 / 0.02)
