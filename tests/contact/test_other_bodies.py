"""Spec 05, T15 and T16: beams by modes; plates, compact cylinders and rods by finite elements; any structure."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.contact.elastic import point_compliance, revolved_solid
from jourdain.contact.meshes import cylinder_section, sphere_section

C = jd.contact

BALL = C.ball(0.015, E=210e9, nu=0.3, density=7780.0)
BEAM = C.beam(0.9765, 0.01, E=67.7e9, density=2696.0)
PLATE = C.plate(0.2, 0.0051, E=72.55e9, density=2710.0)
#: The "ball" of the source: a compact cylinder.
COMPACT = C.cylinder(0.07368, 0.03648, E=70.5e9, density=2710.0)


def test_T15_frequencies_of_the_beam() -> None:
    omega, _ = BEAM.elastic().modes(5, 0.0)
    assert abs(omega[0] / (2 * np.pi) / 94 - 1) < 0.01
    assert_allclose(omega / (2 * np.pi), [93.5, 257.1, 502.5, 827.2, 1229.6], rtol=1e-3)
    every, _ = BEAM.elastic().modes(None, 100e3)
    assert len(every) == 85
    assert len(BEAM.modal().omega) == 42  # symmetric ones


def first(e) -> tuple[float, float]:
    """Velocities of ball and beam after the first of the contacts."""
    p = e.contacts[0].impulse
    return e.speed - p / BALL.mass, p / BEAM.mass


def test_T15_two_impacts() -> None:
    e = jd.restitution(BALL, BEAM, 0.3, hardening=1.7)
    assert len(e.contacts) == 2
    assert_allclose([[1e3 * c.begin, 1e3 * c.end] for c in e.contacts], [[0, 0.142], [1.154, 1.368]], atol=2e-3)
    assert e.contacts[1].end < 1.5e-3
    ball, beam = first(e)
    assert 0.058 < ball < 0.062
    assert 0.032 < beam < 0.034
    assert 0.30 < e.value < 0.38
    assert_allclose(e.value, 0.333, atol=2e-3)
    assert 0.77 < e.loss < 0.80
    assert e.history.finished
    assert_allclose(e.energy_in_waves, e.loss * 0.5 * BALL.mass * 0.09, rtol=1e-7)
    assert_allclose(first(jd.restitution(BALL, BEAM, 0.314, hardening=1.7)), [0.062, 0.0335], rtol=5e-3)


@pytest.mark.parametrize(("speed", "value"), [(0.25, 0.363), (0.28, 0.347), (0.31, 0.325), (0.32, 0.318), (0.35, 0.328)])
def test_T15_speeds(speed: float, value: float) -> None:
    assert_allclose(jd.restitution(BALL, BEAM, speed, hardening=1.7).value, value, atol=2e-3)


def test_T15_without_hardening_the_second_impact_vanishes() -> None:
    e = jd.restitution(BALL, BEAM, 0.3, until=2e-3)
    assert sum(c.impulse for c in e.contacts[1:]) < 1e-3 * e.contacts[0].impulse
    assert -0.05 < e.value < 0.0  # negative: the ball follows the beam, and is not clipped


def test_beam_struck_off_the_middle() -> None:
    """The rigid beam turns: 1/m_e = 1/m + x²/J."""
    part = C.beam(1.0, 0.01, E=7e10, density=2700.0, at=0.75)
    m = part.mass
    J = m * (1.0 / 12 + 0.01**2 / 4)
    assert_allclose(1 / part.effective_mass, 1 / m + 0.25**2 / J, rtol=1e-6)
    e = jd.restitution(BALL, part, 0.3)
    assert_allclose(e.energy_in_waves, e.loss * 0.5 * BALL.mass * 0.09, rtol=1e-6)


def test_T16_plate() -> None:
    omega, _ = PLATE.elastic().modes(1, 0.0)
    assert 4800 < omega[0] / (2 * np.pi) < 4900
    assert_allclose(1 / PLATE.elastic().mobility, PLATE.mass, rtol=1e-12)
    e = jd.restitution(BALL, PLATE, 0.3, "finite elements", size=0.005)
    assert abs(e.value - 0.967) < 0.01
    assert_allclose(e.value, 0.974, atol=1.5e-3)
    assert_allclose(e.energy_in_waves, e.loss * 0.5 * BALL.mass * 0.09, rtol=0.02)
    values = [jd.restitution(BALL, PLATE, v, "finite elements", size=0.01).value for v in (0.05, 0.2, 0.8)]
    assert values[0] > values[1] > values[2]


def test_T16_plate_by_modes() -> None:
    """The modes of the same grid up to a frequency far above that of the contact: the same impact but for its local yielding."""
    e = jd.restitution(BALL, PLATE, 0.3, cutoff=100e3)
    assert abs(e.value - 0.967) < 0.01
    assert_allclose(e.energy_in_waves, e.loss * 0.5 * BALL.mass * 0.09, rtol=1e-6)


@pytest.mark.parametrize("speed", [0.05, 0.3, 0.8])
def test_T16_compact_body(speed: float) -> None:
    """Nothing of Hertz's is put in: ball and cylinder are elements, and still touch as long and as hard as he says."""
    e = jd.restitution(BALL, COMPACT, speed, "finite elements", contact="penalty", quiet=1e-5)
    assert 0.99 < e.value < 1.001
    hertz = jd.restitution(BALL, COMPACT, speed, "rigid")
    assert_allclose(e.duration, hertz.duration, rtol=0.04)
    assert_allclose(e.largest_force, hertz.largest_force, rtol=0.03)


def test_T16_penalty_does_not_matter() -> None:
    soft, stiff = (jd.restitution(BALL, COMPACT, 0.3, "finite elements", contact="penalty", penalty=p, quiet=1e-5) for p in (1.0, 10.0))
    assert abs(stiff.impulse / soft.impulse - 1) < 0.01
    assert abs(stiff.duration / soft.duration - 1) < 0.05


def test_T16_rod_of_rings_against_waves() -> None:
    rod = C.rod(0.55, 0.01, E=70.5e9, density=2710.0)
    waves = jd.restitution(BALL, rod, 0.3, "waves")
    e = jd.restitution(BALL, rod, 0.3, "finite elements", contact="penalty", quiet=1e-5)
    assert abs(e.impulse / waves.impulse - 1) < 0.02
    assert_allclose(e.duration, waves.duration, rtol=0.04)


def test_T16_a_grid_of_rings_does_not_yield_twice() -> None:
    """With Hertz's law at a node, the yielding of the grid under the node is taken out: elements of any size give one impulse."""
    rod = C.rod(0.55, 0.01, E=70.5e9, density=2710.0)
    coarse, fine = (jd.restitution(BALL, rod, 0.3, "finite elements", size=h, quiet=1e-5) for h in (0.005, 0.0025))
    assert_allclose(fine.impulse, coarse.impulse, rtol=2e-4)
    assert_allclose(fine.largest_force, coarse.largest_force, rtol=1e-3)
    assert_allclose(fine.impulse, jd.restitution(BALL, rod, 0.3, "waves").impulse, rtol=0.01)
    with pytest.raises(jd.InputError, match="'rod'.*larger size="):
        jd.restitution(BALL, rod, 0.3, "finite elements", size=0.001)


def test_point_compliance() -> None:
    """It goes as 1/size and does not depend on how much of the half-space is solved."""
    material = jd.structures.Material(7e10, 0.33, 2700.0)
    one = point_compliance((0.004, 0.004), material)
    assert_allclose(point_compliance((0.002, 0.002), material), 2 * one, rtol=1e-10)
    assert_allclose(point_compliance((0.004, 0.004), material, cells=32), one, rtol=1e-4)


# -- grids -----------------------------------------------------------------------------------------------------------


def test_rings_pass_the_patch_test() -> None:
    """u_r = a r, u_z = b z has constant strains: inner nodes feel no force, and the energy is that of the volume."""
    rng = np.random.default_rng(2)
    r, z = np.linspace(0, 0.02, 5), np.linspace(0, 0.05, 6)
    nodes, cells = cylinder_section(0.02, 0.05, r, z)
    inner = (nodes[:, 0] > 1e-6) & (nodes[:, 0] < 0.0199) & (nodes[:, 1] > 1e-6) & (nodes[:, 1] < 0.0499)
    nodes[inner] += 0.001 * rng.uniform(-1, 1, (int(inner.sum()), 2))
    material = jd.structures.Material(7e10, 0.33, 2700.0)
    e = revolved_solid("ring", nodes, cells, material, 1.0)
    a, b = 1e-4, -2e-4
    u = np.zeros(e.K.shape[0])
    u[e.along] = b * nodes[:, 1]
    radial = np.setdiff1d(np.arange(len(u)), e.along)
    off_axis = nodes[:, 0] > 1e-12
    u[radial] = a * nodes[off_axis, 0]
    force = e.K @ u
    assert np.abs(force[e.along[inner]]).max() < 1e-9 * np.abs(force).max()
    E, nu = material.E, material.nu
    strain = np.array([a, b, a])
    stress = E / ((1 + nu) * (1 - 2 * nu)) * ((1 - 2 * nu) * strain + nu * strain.sum())
    assert_allclose(0.5 * u @ force, 0.5 * strain @ stress * np.pi * 0.02**2 * 0.05, rtol=1e-6)


def test_ball_of_rings() -> None:
    """Volume and the first breathing mode of a solid sphere: ω = x c_p/R with tan x / x = 1/(1 − x² c_p²/4c_s²) (Lamb 1881)."""
    from scipy.optimize import brentq

    R, corner = 0.015, 0.015 * np.sqrt(0.5)
    nodes, cells = sphere_section(R, np.linspace(0, corner, 25), np.linspace(0, 1, 49))
    material = jd.structures.Material(210e9, 0.3, 7780.0)
    e = revolved_solid("ball", nodes, cells, material, BALL.mass)
    cp2 = material.E * 0.7 / (1.3 * 0.4) / 7780
    cs2 = material.G / 7780
    x = brentq(lambda y: np.tan(y) / y * (1 - y * y * cp2 / (4 * cs2)) - 1, 2.0, 3.1)
    omega, shapes = e.modes(12, 0.0)
    expected = x * np.sqrt(cp2) / R
    assert np.abs(omega / expected - 1).min() < 0.005


def test_any_structure_by_its_modes() -> None:
    """A beam made by jd.structures is struck as the beam made here; by elements too, to the accuracy of lumped masses."""
    section = jd.structures.circle(0.02)
    part = jd.structures.beam(
        (0, 0, 0), (0.9765, 0, 0), section, jd.structures.Material(67.7e9, 0.33, 2696.0), elements=60, theory="timoshenko"
    )
    body = C.structure(part, "middle", "-z", E=67.7e9, nu=0.33, radii=(0.01, None))
    here = C.beam(0.9765, 0.01, E=67.7e9, density=2696.0, elements=60)
    options = {"cutoff": 20e3, "until": 1e-3}
    a, b = jd.restitution(BALL, body, 0.3, **options), jd.restitution(BALL, here, 0.3, **options)
    assert_allclose(C.hertz_stiffness(BALL, body), C.hertz_stiffness(BALL, here), rtol=1e-12)
    assert_allclose(a.impulse, b.impulse, rtol=1e-3)  # another shear coefficient
    by_elements = jd.restitution(BALL, body, 0.3, "finite elements", until=5e-4, quiet=1e-5)
    assert_allclose(
        by_elements.contacts[0].impulse, jd.restitution(BALL, body, 0.3, cutoff=100e3, until=5e-4).contacts[0].impulse, rtol=0.02
    )


def test_block_struck_off_its_centre() -> None:
    part = jd.structures.block((0.1, 0.04, 0.02), (5, 2, 1), jd.structures.STEEL)
    body = C.structure(part, (0.1, 0.04, 0.02), "-z", E=2.1e11, nu=0.3)
    arm = np.array([0.1, 0.04, 0.02]) - part.com
    turned = np.cross(arm, [0, 0, -1])
    assert_allclose(1 / body.effective_mass, 1 / part.mass + turned @ np.linalg.solve(part.inertia, turned), rtol=1e-6)
    e = jd.restitution(BALL, body, 0.1)
    assert_allclose(e.energy_in_waves, e.loss * 0.5 * BALL.mass * 0.01, rtol=1e-6)
