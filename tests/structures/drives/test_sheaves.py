"""Sheaves as plates, by influence numbers and by modes; shafts on bearings with play."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jourdain.errors import InputError
from jourdain.structures.drives.annular_plate import AnnularPlate
from jourdain.structures.drives.ritz_sheave import RitzSheave
from jourdain.structures.drives.shaft import Bearing, Shaft


def unit(harmonics: int = 20) -> AnnularPlate:
    return AnnularPlate(0.25, 1.0, 1.0, harmonics=harmonics)


def test_T11_influence_numbers() -> None:
    scale = unit().rigidity
    for dphi, expected in ((0.0, 0.03512), (math.pi / 2, -0.001057), (math.pi, -0.001001)):
        assert abs(scale * unit().influence(0.6875, 0.6875, dphi) - expected) < 6e-7 + 2e-5 * abs(expected)
    for k, expected in ((0, 0.007033), (1, 0.021934), (2, 0.030737), (5, 0.034511), (10, 0.034994)):
        assert abs(scale * unit(k).influence(0.6875, 0.6875, 0.0) - expected) < 6e-7
    for r, r0 in ((0.5, 0.6875), (0.6875, 0.5)):
        assert abs(scale * unit(10).influence(r, r0, 0.7) - 0.0080108061) < 1e-10


def test_T11_reciprocity_and_energy() -> None:
    rng = np.random.default_rng(1)
    plate = AnnularPlate(0.02, 0.08, 0.015)
    r, phi = rng.uniform(0.025, 0.08, 30), rng.uniform(0, 2 * math.pi, 30)
    pairs = plate.influence(r[:, None], r, phi[:, None] - phi)
    assert_allclose(pairs, pairs.T, rtol=1e-9, atol=1e-10 * pairs.max())
    w = plate.matrix(r, phi)
    assert_allclose(w, pairs, rtol=1e-6, atol=1e-9 * pairs.max())
    assert np.linalg.eigvalsh(w).min() > -1e-12 * w.max()
    f = rng.uniform(0, 300, 30)
    work = 0.5 * sum(f[i] * sum(plate.influence(r[i], r, phi[i] - phi) * f) for i in range(30))
    assert abs(0.5 * f @ w @ f - work) < 1e-6 * work


def test_uniform_load_on_a_circle_by_finite_differences() -> None:
    """Harmonic 0 solves D ∇⁴w = q: checked against a beam-like difference solution of the annulus."""
    plate, r0, n = unit(0), 0.6, 4000
    x = np.linspace(0.25, 1.0, n + 1)
    h = x[1] - x[0]
    w = plate.harmonic(0, x, np.full(x.size, r0)) * plate.rigidity
    slope, curve = np.gradient(w, h), np.gradient(np.gradient(w, h), h)
    shear = np.gradient(curve + slope / x, h)
    inside, outside = np.argmin(abs(x - 0.45)), np.argmin(abs(x - 0.8))
    assert abs(shear[outside]) < 1e-4
    assert abs(-2 * math.pi * x[inside] * shear[inside] - 1.0) < 1e-3  # the unit force goes inwards to the hub
    assert abs(w[0]) < 1e-15 and abs(slope[0]) < 1e-3
    moment = curve[-10] + 0.3 * slope[-10] / x[-10]
    assert abs(moment) < 2e-3


def test_T21_modes_go_to_influence_numbers() -> None:
    plate = AnnularPlate(0.02, 0.08, 0.015, harmonics=8)
    r, phi = np.full(9, 0.055), np.linspace(0.0, math.pi, 9)
    exact = plate.matrix(r, phi)
    errors, highest = [], []
    for modes in (3, 9, 27, 81, 200):
        ritz = RitzSheave(plate, modes)
        errors.append(np.abs(ritz.matrix(r, phi) - exact).max() / exact.max())
        highest.append(ritz.frequencies[-1])
    assert all(b < a for a, b in pairwise(errors))
    assert errors[0] > 0.3 and errors[-1] < 2e-3
    assert highest[0] > 1e3 and highest[-1] > 1e6  # the price: far beyond what is of interest
    # the lowest one of a clamped-free annulus, a/b = 1/4, ν = 0.3: λ² ≈ 5.5 for one nodal diameter is below the axisymmetric one
    assert RitzSheave(plate, 1).frequencies[0] < RitzSheave(plate, 40).frequencies[-1]


def test_T17_simply_supported_shaft() -> None:
    shaft = Shaft([(0.16, 0.04)], [Bearing(0.0, 1e13), Bearing(0.16, 1e13)])
    EI, force = shaft.EI[0], 5000.0
    bent = shaft.deflect([(0.08, force, 0.0)])
    assert abs(bent.at(0.08) - force * 0.16**3 / (48 * EI) - force / 2e13) < 1e-9 * force * 0.16**3 / EI
    assert abs(bent.slope_at(0.0) - force * 0.16**2 / (16 * EI)) < 1e-7 * force * 0.16**2 / EI
    turned = shaft.deflect([(0.08, 1j * force, 0.0)])
    assert_allclose(turned.u, 1j * bent.u, atol=1e-15)


def test_T17_stepped_shaft_against_many_segments() -> None:
    steps = [(0.05, 0.03), (0.07, 0.045), (0.04, 0.025)]
    fine = [(length / 20, d) for length, d in steps for _ in range(20)]
    bearings = [Bearing(0.01, 2e8), Bearing(0.15, 1e8)]
    loads = [(0.06, 3000 + 1000j, 20.0), (0.1, -500j, 5j)]
    a, b = Shaft(steps, bearings).deflect(loads), Shaft(fine, bearings).deflect(loads)
    for z in (0.01, 0.06, 0.1, 0.15):
        assert abs(a.at(z) - b.at(z)) < 1e-6 * abs(a.at(z))
        assert abs(a.slope_at(z) - b.slope_at(z)) < 1e-6 * abs(a.slope_at(z))
    assert abs(a.reactions.sum() + sum(f for _, f, _ in loads)) < 1e-6 * 3000


def test_T17_clearance() -> None:
    """A third bearing with play carries nothing until the shaft has moved by it."""
    bearings = [Bearing(0.0, 1e12), Bearing(0.16, 1e12), Bearing(0.08, 1e8, 20e-6)]
    shaft = Shaft([(0.16, 0.04)], bearings)
    free = 20e-6 * 48 * shaft.EI[0] / 0.16**3
    below, above = shaft.deflect([(0.08, 0.99 * free, 0.0)]), shaft.deflect([(0.08, 2 * free, 0.0)])
    assert abs(below.reactions[2]) == 0.0
    assert abs(above.reactions[2]) > 0.2 * free
    assert abs(abs(above.at(0.08)) - 20e-6 - abs(above.reactions[2]) / 1e8) < 1e-12
    # two bearings with play: the shaft sinks by it, along the load
    loose = Shaft([(0.16, 0.04)], [Bearing(0.0, 1e9, 1e-5), Bearing(0.16, 1e9, 1e-5)]).deflect([(0.08, 3000 + 4000j, 0.0)])
    assert abs(loose.u[0] - (1e-5 + 2500 / 1e9) * (0.6 + 0.8j)) < 1e-12


def test_bad_input() -> None:
    for make in (lambda: AnnularPlate(0.1, 0.05, 0.01), lambda: AnnularPlate(0.01, 0.05, -1.0), lambda: unit().influence(0.1, 0.5, 0.0),
                 lambda: RitzSheave(unit(2), 0), lambda: Shaft([], []), lambda: Shaft([(0.1, 0.02)], [Bearing(0.0)]),
                 lambda: Shaft([(0.1, 0.02)], [Bearing(0.0), Bearing(0.2)]), lambda: Shaft([(0.1, 0.02)], [Bearing(0.0), Bearing(0.1, -1.0)]),
                 lambda: Shaft([(0.1, 0.02)], [Bearing(0.0), Bearing(0.1)]).deflect([(0.3, 1.0, 0.0)])):  # fmt: skip
        with pytest.raises(InputError):
            make()
