"""Beams: closed forms of statics and vibrations, and the numbers of the slider-crank's rod."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.structures.statics import Held

STEEL = jd.structures.STEEL
ROD = jd.structures.Material(2.0e11, 0.3, 7705.0)


def rod(elements: int = 10, **options):
    return jd.structures.beam((0, 0, 0), (0.305, 0, 0), section=jd.structures.circle(0.0064), material=ROD, elements=elements, **options)


def tip(part, load):
    """Displacement of the end of a cantilever under a load there."""
    held = Held(part.K, part.dofs.of([0]))
    forces = np.zeros(len(part.dofs))
    forces[part.dofs.of([part.node("end")])] = load
    return held.solve(forces)[part.dofs.of([part.node("end")])]


@pytest.mark.parametrize("elements", [1, 3])
def test_cantilever_has_the_textbook_deflection(elements: int) -> None:
    L, E, G = 0.7, STEEL.E, STEEL.G
    s = jd.structures.rectangle(0.02, 0.05)
    for theory, shear in (("euler-bernoulli", 0.0), ("timoshenko", 1.0)):
        part = jd.structures.beam((0, 0, 0), (L, 0, 0), s, STEEL, elements=elements, theory=theory)
        fy = L**3 / (3 * E * s.Iz) + shear * L / (s.shear_y * G * s.area)
        fz = L**3 / (3 * E * s.Iy) + shear * L / (s.shear_z * G * s.area)
        expected = np.diag([L / (E * s.area), fy, fz, L / (G * s.torsion), L / (E * s.Iy), L / (E * s.Iz)])
        expected[1, 5] = expected[5, 1] = L**2 / (2 * E * s.Iz)
        expected[2, 4] = expected[4, 2] = -(L**2) / (2 * E * s.Iy)
        found = np.array([tip(part, f) for f in np.eye(6)]).T
        assert_allclose(found, expected, rtol=1e-9, atol=1e-18)


def test_direction_of_a_beam_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    along = jd.structures.beam((0, 0, 0), (1, 0, 0), jd.structures.rectangle(0.02, 0.03), STEEL, elements=6, theory="timoshenko")
    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    other = jd.structures.beam(
        (1, 2, 3), np.array((1, 2, 3)) + direction, jd.structures.rectangle(0.02, 0.03), STEEL, elements=6, theory="timoshenko"
    )
    assert_allclose(other.frequencies(8), along.frequencies(8), rtol=1e-9)
    assert_allclose(np.linalg.eigvalsh(other.inertia), np.linalg.eigvalsh(along.inertia), rtol=1e-10)
    assert_allclose(other.com, np.array((1, 2, 3)) + direction / 2, rtol=1e-12)


def test_17_T8_frequencies_of_ten_elements() -> None:
    """The relative error of mode k with n elements is (kπ/n)⁴/1440."""
    section = jd.structures.circle(0.0064)
    exact = np.array([(k * np.pi / 0.305) ** 2 * np.sqrt(ROD.E * section.Iz / (ROD.density * section.area)) for k in (1, 2)])
    for n in (10, 20):
        found = rod(n).reduce(2, frame="pinned", bending="y").frequencies
        law = np.array([(k * np.pi / n) ** 4 / 1440 for k in (1, 2)])
        assert_allclose(found / exact - 1, law, rtol=0.02)
    assert_allclose(exact, [864.866, 3459.465], rtol=2e-6)


def test_17_modal_numbers_of_the_rod() -> None:
    """Ends stay on the axis, modal mass μL/2, ∫sin and ∫x sin as coupling with the rigid motion."""
    L, part = 0.305, rod(40)
    body = part.reduce(2, frame="pinned", bending="y")
    assert part.mass == pytest.approx(0.0756, rel=1e-5)
    for end in ("start", "end"):
        assert np.abs(body.points[end].phi_t).max() < 1e-12
    slopes = body.points["start"].phi_r[2]
    signs = np.sign(slopes)
    assert_allclose(signs * slopes, np.pi / L * np.array([1, 2]), rtol=1e-5)
    assert_allclose(body.M_ee, np.diag([part.mass / 2] * 2), rtol=1e-5, atol=1e-12)
    mu = part.mass / L
    assert_allclose(signs * body.s1[1], [mu * 2 * L / np.pi, 0.0], rtol=1e-5, atol=1e-12)
    assert_allclose(signs * body.D0[2], [mu * L**2 / np.pi, -mu * L**2 / (2 * np.pi)], rtol=1e-5)


def test_closed_forms_of_vibration() -> None:
    """βL of clamped, free and pinned beams; torsion and axial frequencies of a bar (consistent mass: from above)."""
    L, s = 1.0, jd.structures.circle(0.01)
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), s, STEEL, elements=40)
    scale = np.sqrt(STEEL.E * s.Iz / (STEEL.density * s.area)) / L**2
    free = np.sqrt(part.reduce(3, bending="z").frequencies / scale)
    assert_allclose(free, [4.730041, 7.853205, 10.995608], rtol=2e-6)
    clamped = np.sqrt(part.reduce(3, frame="tangent", bending="z").frequencies / scale)
    assert_allclose(clamped, [1.875104, 4.694091, 7.854757], rtol=2e-6)
    waves = part.reduce(80).frequencies
    for speed in (np.sqrt(STEEL.E / STEEL.density), np.sqrt(STEEL.G / STEEL.density)):
        expected = np.pi * speed / L * (1 + (np.pi / 40) ** 2 / 24)
        assert np.abs(waves / expected - 1).min() < 1e-6


def test_a_tapered_beam_converges_and_its_statics_are_exact() -> None:
    """Cone held at its thick end: tip deflection F L³/(3 E I₀) · d₀/d₁ for a conical bar; frequencies converge."""
    L, d0, d1 = 1.0, 0.04, 0.02
    cone = lambda s: jd.structures.circle(d0 + (d1 - d0) * s)
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), cone, STEEL, elements=8)
    I0 = jd.structures.circle(d0).Iz
    assert tip(part, [0, 1, 0, 0, 0, 0])[1] == pytest.approx(L**3 / (3 * STEEL.E * I0) * d0 / d1, rel=1e-6)
    volume = np.pi * L / 12 * (d0**2 + d0 * d1 + d1**2)
    assert part.mass == pytest.approx(STEEL.density * volume, rel=1e-12)
    errors = [jd.structures.beam((0, 0, 0), (L, 0, 0), cone, STEEL, elements=n).frequencies(1)[0] for n in (4, 8, 16, 32)]
    assert np.log2((errors[0] - errors[1]) / (errors[1] - errors[2])) > 3.5


def test_timoshenko_beam_has_the_frequencies_of_its_theory() -> None:
    """Pinned Timoshenko beam: the quartic's lower root, with κ and rotary inertia."""
    L, s = 1.0, jd.structures.rectangle(0.05, 0.1)
    part = jd.structures.beam((0, 0, 0), (L, 0, 0), s, STEEL, elements=60, theory="timoshenko")
    k = np.pi / L
    a, b = STEEL.E * s.Iy / (STEEL.density * s.area), s.Iy / s.area
    ratio = STEEL.E / (s.shear_z * STEEL.G)
    # ρI/(κAG) ω⁴ − (A + ρ … ) form: (b² ratio ρ/E) ω⁴ − (1 + b k² (1 + ratio)) ω² + a k⁴ = 0
    poly = [b * STEEL.density / (s.shear_z * STEEL.G), -(1 + b * k**2 * (1 + ratio)), a * k**4]
    exact = np.sqrt(min(np.roots(poly).real))
    assert part.reduce(1, frame="pinned", bending="z").frequencies[0] == pytest.approx(exact, rel=1e-5)


def test_offset_moves_the_mass_and_not_the_nodes() -> None:
    part = jd.structures.beam((0, 0, 0), (1, 0, 0), jd.structures.circle(0.02), STEEL, elements=4, offset=(0, 0.1, -0.2))
    assert_allclose(part.com, (0.5, 0.1, -0.2), rtol=1e-12)
    plain = jd.structures.beam((0, 0, 0), (1, 0, 0), jd.structures.circle(0.02), STEEL, elements=4)
    assert_allclose(part.inertia, plain.inertia, rtol=1e-9, atol=1e-12)
    assert_allclose(part.frequencies(6), plain.frequencies(6), rtol=1e-8)
