"""Section forces and stresses of reduced bodies, with the static share."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd

STEEL = jd.structures.STEEL
L = 0.8
SECTION = jd.structures.rectangle(0.02, 0.03)


def cantilever(modes: int, **options):
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), SECTION, STEEL, elements=8)
    return part.reduce(modes, frame="tangent", at="start", **options)


@pytest.mark.parametrize("modes", [0, 1, 5])
def test_section_forces_under_a_tip_load_need_no_mode(modes: int) -> None:
    """At rest under a load the static share makes forces exact for every number of modes; the modes' part cancels."""
    body = cantilever(modes)
    load = np.array([3.0, 5.0, -7.0, 0.2, 0.3, -0.4])
    e = (
        np.linalg.solve(body.stiffness, body.points["end"].phi_t.T @ load[:3] + body.points["end"].phi_r.T @ load[3:])
        if modes
        else np.zeros(0)
    )
    found = body.recovery(points=["end"]).values(e, loads={"end": load})
    x = np.linspace(0, L, 9)
    for k in range(8):
        for at, columns in ((x[k], slice(0, 6)), (x[k + 1], slice(6, 12))):
            arm = L - at
            expected = [3.0, 5.0, -7.0, 0.2, 0.3 + 7.0 * arm, -0.4 + 5.0 * arm]
            assert_allclose(found[k, columns], expected, atol=1e-7)


def test_without_static_share_forces_are_wrong() -> None:
    body = cantilever(3)
    load = np.array([0.0, 5.0, 0, 0, 0, 0])
    e = np.linalg.solve(body.stiffness, body.points["end"].phi_t.T @ load[:3])
    left_out = body.recovery(points=["end"], static=False).values(e, loads={"end": load})
    assert abs(left_out[0, 1] / 5.0 - 1) > 0.05  # shear force at the root


def test_own_weight() -> None:
    """Gravity as proper acceleration: bending moment at the root m g L/2, in the limit of small elements."""
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), SECTION, STEEL, elements=64)
    body = part.reduce(2, frame="tangent", at="start")
    rec = body.recovery(points=[])
    e = np.linalg.solve(body.stiffness, -(body.s1.T @ np.array([0, 0, 9.81])))
    found = rec.values(e, acceleration=(0, 0, 9.81))
    assert found[0, 4] == pytest.approx(body.mass * 9.81 * L / 2, rel=1e-3)  # My(0) = −∫ x f dx with f = −m g/L


def test_rotating_rod_has_the_axial_force_of_the_textbook() -> None:
    """N(x) = ½ ρ A Ω² (L² − x²) about the clamped end."""
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), SECTION, STEEL, elements=32)
    body = part.reduce(0, frame="tangent", at="start")
    found = body.recovery(points=[]).values(np.zeros(0), omega=(0, 0, 12.0))
    x = np.linspace(0, L, 33)
    middle = 0.5 * (x[1:] + x[:-1])
    expected = 0.5 * STEEL.density * SECTION.area * 144.0 * (L**2 - middle**2)
    assert_allclose(found[:, 0], expected, rtol=1e-3, atol=1e-3 * expected[0])


def test_von_mises_of_bending_and_torsion() -> None:
    round_bar = jd.structures.circle(0.02)
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), round_bar, STEEL, elements=4)
    body = part.reduce(0, frame="tangent", at="start")
    found = body.recovery(points=["end"]).von_mises(np.zeros(0), loads={"end": (0, 30.0, 40.0, 7.0, 0, 0)})
    sigma = 50.0 * L * 0.01 / round_bar.Iz
    tau = 7.0 * 0.01 / round_bar.torsion
    assert found[0] == pytest.approx(np.hypot(sigma, np.sqrt(3) * tau), rel=1e-8)
