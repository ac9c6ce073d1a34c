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


THEORIES = ("euler-bernoulli", "rayleigh", "timoshenko")


@pytest.mark.parametrize("frame", ["tangent", "mean axes"])
@pytest.mark.parametrize("theory", THEORIES)
@pytest.mark.parametrize(("elements", "modes"), [(1, 0), (1, 3), (5, 2)])
def test_own_weight(elements: int, modes: int, theory: str, frame: str) -> None:
    """A cantilever under its weight q: V(x) = −q (L − x) and M(x) = ½ q (L − x)², to rounding with one element, however many modes."""
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), SECTION, STEEL, elements=elements, theory=theory)
    body = part.reduce(modes, frame=frame, **({"at": "start"} if frame == "tangent" else {}))
    g, q = np.array([0.0, 0.0, 9.81]), STEEL.density * SECTION.area * 9.81
    wall = np.array([0.0, 0.0, q * L, 0.0, -0.5 * q * L**2, 0.0])
    start = body.points["start"]
    f = start.phi_t.T @ wall[:3] + start.phi_r.T @ wall[3:] - body.s1.T @ g
    e = np.linalg.solve(body.stiffness, f) if modes else np.zeros(0)
    found = body.recovery(points=["start"]).values(e, acceleration=g, loads={"start": wall})
    x = np.linspace(0, L, elements + 1)
    assert_allclose(found[:, [2, 8]], np.column_stack([-q * (L - x[:-1]), -q * (L - x[1:])]), atol=1e-10 * q * L)
    assert_allclose(found[:, [4, 10]], 0.5 * q * np.column_stack([(L - x[:-1]) ** 2, (L - x[1:]) ** 2]), atol=1e-10 * q * L**2)


@pytest.mark.parametrize("elements", [1, 4])
def test_rotating_rod_has_the_axial_force_of_the_textbook(elements: int) -> None:
    """N(x) = ½ ρ A Ω² (L² − x²) about the clamped end, at the ends of elements; so does a hanging rod, N(x) = ρ A g (L − x)."""
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), SECTION, STEEL, elements=elements)
    rec = part.reduce(0, frame="tangent", at="start").recovery(points=[])
    x, mass = np.linspace(0, L, elements + 1), STEEL.density * SECTION.area
    ends = np.column_stack([x[:-1], x[1:]])
    assert_allclose(rec.values(np.zeros(0), omega=(0, 0, 12.0))[:, [0, 6]], 72.0 * mass * (L**2 - ends**2), atol=1e-9 * mass)
    assert_allclose(rec.values(np.zeros(0), acceleration=(-9.81, 0, 0))[:, [0, 6]], 9.81 * mass * (L - ends), atol=1e-9 * mass)


def test_a_tapered_rod_in_angular_acceleration() -> None:
    """M(x) = −α ∫ₓᴸ ρ A(s) s (s − x) ds of a cone-like rod in two elements, by quadrature of its own."""
    taper = jd.structures.taper(jd.structures.rectangle(0.03, 0.03), jd.structures.rectangle(0.01, 0.02))
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), taper, STEEL, elements=2)
    found = part.reduce(0, frame="tangent", at="start").recovery(points=[]).values(np.zeros(0), angular_acceleration=(0, 0, 3.0))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    for row, column, x in ((0, 5, 0.0), (0, 11, 0.5 * L), (1, 5, 0.5 * L), (1, 11, L)):
        s, ds = x + 0.5 * (L - x) * (nodes + 1.0), 0.5 * (L - x) * weights
        area = np.array([taper(t / L).area for t in s])
        expected = -3.0 * STEEL.density * np.sum(area * s * (s - x) * ds)
        assert found[row, column] == pytest.approx(expected, abs=2e-4 * 3.0 * STEEL.density * 1e-3)


def test_forces_of_vibration_end_at_the_reactions() -> None:
    """The base is shaken: at every instant the tip is free and the wall carries what the reactions say, with two elements and few modes."""
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), SECTION, STEEL, elements=2)
    m = jd.Model("shaken", gravity=(0, 0, -9.81))
    link = m.flexible_body("link", part, frame="tangent", at="start", modes=3, bending="z")
    slide = m.prismatic("slide", m.ground, link.node("start"), axis="z")
    m.drive(slide, lambda t: 1e-4 * jd.sin(400.0 * t))
    s = m.compile()
    sol = s.simulate(s.state({"link.mode1": 2e-4, "link.mode2": 1e-5}), t=0.02, rtol=1e-9)
    found = s.recover(sol, "link")
    force = found["Vz@start"][:, 0]
    reaction = sol["slide.drive_force"]
    assert_allclose(force, -reaction, atol=1e-8 * np.abs(reaction).max())
    assert np.ptp(force) > 1.0
    assert_allclose(found["Mz@end"][:, -1], 0.0, atol=1e-9)
    for channel, size in (("Vz@end", np.abs(force).max()), ("My@end", np.abs(found["My@start"]).max())):
        assert_allclose(found[channel][:, -1], 0.0, atol=1e-8 * size)


def test_von_mises_of_bending_and_torsion() -> None:
    round_bar = jd.structures.circle(0.02)
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), round_bar, STEEL, elements=4)
    body = part.reduce(0, frame="tangent", at="start")
    found = body.recovery(points=["end"]).von_mises(np.zeros(0), loads={"end": (0, 30.0, 40.0, 7.0, 0, 0)})
    sigma = 50.0 * L * 0.01 / round_bar.Iz
    tau = 7.0 * 0.01 / round_bar.torsion
    assert found[0] == pytest.approx(np.hypot(sigma, np.sqrt(3) * tau), rel=1e-8)
