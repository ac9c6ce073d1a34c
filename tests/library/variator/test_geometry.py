"""Path and estimates of a belt drive: the numbers of the table, and belts that do not fit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library.variator.geometry import Path, largest_torque, path_of, ring_slip, span_torque, thrust_of
from jourdain.library.variator.parts import Elements, Hydraulics, Plates, Pulley, Rings, Table, Tilting
from jourdain.solvers.belt.layers import find_strains
from jourdain.solvers.belt.line import find_line
from jourdain.structures.drives.annular_plate import AnnularPlate

OMEGA = 2000 * math.pi / 30
TABLE = [
    (1.00, 54.367, 54.367, 180.0, 180.0, 155.00, 199.39, 0.0),
    (2.16, 33.427, 72.203, 151.03, 208.97, 150.07, 122.59, -0.12372),
    (0.50, 70.768, 35.384, 206.39, 153.61, 150.91, 259.53, 0.23038),
]


@pytest.mark.parametrize(("i", "r_dr", "r_dn", "wrap_dr", "wrap_dn", "span", "torque", "slip"), TABLE)
def test_T1_T2_table(i, r_dr, r_dn, wrap_dr, wrap_dn, span, torque, slip) -> None:
    path = path_of(i, 0.6516, 0.155)
    assert_allclose([path.r_dr * 1e3, path.r_dn * 1e3], [r_dr, r_dn], atol=6e-4)
    assert_allclose(np.degrees(path.wraps), [wrap_dr, wrap_dn], atol=6e-3)
    assert abs(path.span * 1e3 - span) < 6e-3
    assert abs(path.length - 0.6516) < 1e-12
    assert abs(largest_torque(path.r_dr, 20e3, 0.09, math.radians(11)) / torque - 1) < 1e-4
    found = ring_slip(OMEGA, i, path.r_dr, path.r_dn, 1.1e-3)
    assert abs(found - slip) < 6e-6
    assert abs(found - OMEGA * 1.1e-3 * (1 - i) / i) < 1e-12


def test_estimates() -> None:
    assert span_torque(0.05, -2000.0, 0.0, 4000.0, 4100.0) == pytest.approx(105.0)
    assert thrust_of(2475.0, math.pi, math.radians(11)) == pytest.approx(20e3, rel=1e-3)
    assert thrust_of(3685.0, math.pi, math.radians(11), 0.09) == pytest.approx(20e3, rel=1e-3)


def test_thrust_for_a_torque() -> None:
    """C6: the driven pulley clamps by (2), so that a torque is the wanted part of M*."""
    cvt = jd.library.push_belt_variator(ratio=2.16).clamped_for("150 N m", 0.6)
    assert 150.0 / cvt.largest_torque()[1] == pytest.approx(0.6, rel=1e-12)
    with pytest.raises(InputError, match="torque_ratio = 0 must be positive"):
        cvt.clamped_for(100.0, 0)
    with pytest.raises(InputError, match="not zero"):
        cvt.clamped_for(0.0, 0.5)


def test_path_is_closed_and_smooth() -> None:
    path = path_of(2.16, 0.6516, 0.155)
    s = np.linspace(0, path.length, 20001)
    x = path.points(s)
    assert_allclose(np.linalg.norm(np.diff(x, axis=0), axis=1), path.length / 20000, rtol=1e-4)
    assert_allclose(x[0], x[-1], atol=1e-9)
    assert_allclose(path.points(s, 1e-3)[100] - x[100], 1e-3 * x[100] / path.r_dr, atol=1e-12)


@pytest.mark.parametrize("ratio", [1.0, 2.16])
def test_T3_lengths_of_layers(ratio: float) -> None:
    """A uniform displacement makes the closed line longer by 2π w; rings differ by 2π h, whatever the ratio."""
    b = jd.library.push_belt_variator(ratio=ratio).start()
    for w in (0.0, 2e-4):
        b.q[:] = 0.0
        b.q[:24] = w
        find_line(b)
        find_strains(b.path, b.layers)
        assert abs(b.layers.lines[0] - b.path.step.sum() - 2 * math.pi * w) < 1e-12
        assert_allclose(np.diff(b.layers.lines[1:]), 2 * math.pi * b.layers.thickness, rtol=1e-9)
        assert abs(b.layers.lines[1] - b.layers.lines[0] - 2 * math.pi * (b.layers.saddle + b.layers.thickness / 2)) < 1e-12


def test_sheaves_and_oil() -> None:
    r, phi = np.full(5, 0.05), np.linspace(0, 1, 5)
    plate = AnnularPlate(0.02, 0.08, 0.015, harmonics=6)
    grid = np.linspace(0.03, 0.07, 41)
    table = Table(grid, np.array([plate.harmonic(k, np.repeat(grid, 41), np.tile(grid, 41)).reshape(41, 41) for k in range(7)]))
    assert_allclose(table.matrix(r, phi), plate.matrix(r, phi), rtol=1e-6)
    assert_allclose(Plates(plate).matrix(r, phi), 2 * plate.matrix(r, phi))
    w = Tilting(3e5).matrix(r, phi)
    assert_allclose(w, 0.05**2 * np.cos(phi[:, None] - phi) / 3e5)
    assert np.linalg.eigvalsh(Tilting(3e5, shift=0.01).matrix(r, phi)).min() > -1e-15
    oil = Hydraulics(spring=500.0)
    radius = np.linspace(oil.inner, oil.outer, 20001)
    p = 0.5 * oil.density * 300.0**2 * (radius**2 - oil.free_surface**2)
    assert oil.centrifugal * 300.0**2 == pytest.approx(np.trapezoid(2 * math.pi * radius * p, radius), rel=1e-6)
    assert oil.area * oil.pressure(20e3, 300.0) + 500.0 + oil.centrifugal * 9e4 == pytest.approx(20e3)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: jd.library.push_belt_variator(ratio=5.0), "outside the sheaves"),
        (lambda: jd.library.push_belt_variator(ratio=-1.0), "positive"),
        (lambda: jd.library.push_belt_variator(centres=0.33), "too short"),
        (lambda: jd.library.push_belt_variator(centres=0.12), "too long"),
        (lambda: jd.library.push_belt_variator(thrust=-5.0), "thrust"),
        (lambda: jd.library.push_belt_variator(wedge=11.0), "degrees"),
        (lambda: jd.library.push_belt_variator(bending="exact"), "first_order"),
        (lambda: jd.library.push_belt_variator(thrusts=5.0), "unknown"),
        (lambda: Path(0.1, 0.06, 0.06), "fit"),
        (lambda: Pulley(sheaves=3.0), "matrix"),
        (lambda: jd.library.push_belt_variator().steady(), "torque_ratio"),
        (lambda: jd.library.push_belt_variator().steady(math.nan), "finite"),
        (lambda: jd.library.push_belt_variator().steady(0.5, speed="3 m"), "rad/s"),
        (lambda: jd.library.push_belt_variator().steady(0.5, t=-1.0), "t = -1.0 must be a positive time"),
        (lambda: jd.library.push_belt_variator().steady("10 N m"), "a torque with its unit is torque="),
        (lambda: jd.library.push_belt_variator(pulleys=Pulley()), "two Pulley"),
        (lambda: jd.library.push_belt_variator(levels=-1), "levels = -1 must be a whole number from 0 on"),
        (lambda: jd.library.push_belt_variator(rings=Rings(length=0.7)).start(), r"would lie 6\.\d mm above the saddles .* about 0\.658"),
        (lambda: jd.library.push_belt_variator(rings=Rings(length=0.63)).start(), "below the saddles"),
        (lambda: Tilting(-3e5), "stiffness = -300000 must be positive"),
        (lambda: Plates(sheaves=0), "sheaves = 0 must be positive"),
        (lambda: Hydraulics(free_surface=0.04), "must rise in this order"),
        (lambda: Hydraulics(inner=0.07), "must rise in this order"),
        (lambda: Hydraulics(density=-1.0), "density = -1"),
        (lambda: Table([0.05, 0.03], np.zeros((2, 2, 2))), "radii must rise"),
        (lambda: Elements(count=10.5), "count = 10.5 must be a whole number"),
        (lambda: jd.library.element_belt(jd.library.push_belt_variator(), torque=math.nan), "must be finite"),
    ],
)
def test_bad_input(make, told: str) -> None:
    with pytest.raises((InputError, ValueError), match=told):
        make()
