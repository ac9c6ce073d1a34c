"""Geometric stiffening against closed forms: Euler's load, strings, Southwell's coefficient."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
from numpy.testing import assert_allclose

import jourdain as jd

STEEL = jd.structures.STEEL
SECTION = jd.structures.circle(0.01)
L = 1.0


def beam(elements: int = 20):
    return jd.structures.beam((0, 0, 0), (L, 0, 0), SECTION, STEEL, elements=elements)


def test_euler_load_and_frequency_under_tension() -> None:
    """Pinned beam: ω₁ √(1 + N/P_E); it buckles at N = −P_E = −π² E I / L²."""
    euler = np.pi**2 * STEEL.E * SECTION.Iz / L**2
    body = beam().reduce(3, frame="pinned", bending="y")
    unit = body.geometric_stiffness(["end"]).of("end.fx")
    assert_allclose(sl.eigh(body.stiffness, unit, eigvals_only=True)[0], euler, rtol=2e-6)
    for N in (-0.5 * euler, 0.3 * euler, 2 * euler):
        square = sl.eigh(body.stiffness + N * unit, body.M_ee, eigvals_only=True)
        assert np.sqrt(square[0]) == pytest.approx(body.frequencies[0] * np.sqrt(1 + N / euler), rel=2e-6)


def test_southwell_slope_of_a_rotating_beam() -> None:
    """Clamped at the axis, out of the plane: ω² = ω₀² + S Ω² with S → 1.193 of the first mode (Southwell & Gough), 6.478 of the second."""
    x, w = np.polynomial.legendre.leggauss(200)
    x, w = 0.5 * (x + 1), 0.5 * w
    exact = []
    for b in (1.8751040687, 4.6940911330):
        r = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
        psi = np.cosh(b * x) - np.cos(b * x) - r * (np.sinh(b * x) - np.sin(b * x))
        slope = b * (np.sinh(b * x) + np.sin(b * x) - r * (np.cosh(b * x) - np.cos(b * x)))
        exact.append(np.sum(w * 0.5 * (1 - x**2) * slope**2) / np.sum(w * psi**2))
    errors = []
    for n in (20, 40):
        body = beam(n).reduce(2, frame="tangent", at="start", bending="z")
        errors.append(np.diag(body.geometric_stiffness([]).matrix(omega=(0, 0, 1))) / np.diag(body.M_ee) / exact - 1)
    assert_allclose(exact, [1.193, 6.478], rtol=1e-3)
    assert_allclose(errors[0] / errors[1], 4.0, rtol=0.02)  # the axial force is constant within an element
    assert np.abs(errors[1]).max() < 6e-4


def test_rotation_about_the_beam_stiffens_nothing() -> None:
    body = beam().reduce(2, frame="tangent", at="start", bending="z")
    assert np.abs(body.geometric_stiffness([]).of("omegaxx")).max() < 1e-12 * body.mass


def test_gravity_hangs_and_stands() -> None:
    """A hanging beam is stiffer: the mean tension is half its weight; standing it is softer by the same."""
    body = beam().reduce(1, frame="tangent", at="start", bending="y")
    hanging = body.geometric_stiffness([]).matrix(acceleration=(-9.81, 0, 0))  # gravity along +x: proper acceleration −x
    assert hanging[0, 0] > 0
    assert_allclose(body.geometric_stiffness([]).matrix(acceleration=(9.81, 0, 0)), -hanging)


def test_mean_axes_need_the_loads_at_points_alone() -> None:
    """A free rod pulled at both ends by N: constant tension; pulled at one end: it falls linearly (relief by inertia)."""
    body = beam(40).reduce(2, bending="y")
    g = body.geometric_stiffness(["start", "end"])
    assert np.abs(g.matrices[:6]).max() < 1e-10 * np.abs(g.matrices).max()
    both = g.matrix(loads={"start": (-1, 0, 0, 0, 0, 0), "end": (1, 0, 0, 0, 0, 0)})
    x, w = np.polynomial.legendre.leggauss(60)
    nodes = body.part.nodes[:, 0]
    rows = body.part.dofs.table
    slopes = []  # Hermite slopes at Gauss points, written out again
    for i in range(len(nodes) - 1):
        h = nodes[i + 1] - nodes[i]
        s = 0.5 * (x + 1)
        v1, t1, v2, t2 = (body.shapes[rows[j, c]] for j, c in ((i, 1), (i, 5), (i + 1, 1), (i + 1, 5)))
        N = np.array([(-6 * s + 6 * s**2) / h, 1 - 4 * s + 3 * s**2, (6 * s - 6 * s**2) / h, -2 * s + 3 * s**2])
        slopes.append((nodes[i] + h * s, 0.5 * h * w, N.T @ np.array([v1, t1, v2, t2])))
    at = np.concatenate([a for a, _, _ in slopes])
    weight = np.concatenate([b for _, b, _ in slopes])
    slope = np.concatenate([c for _, _, c in slopes])
    assert_allclose(both, np.einsum("g,gi,gj->ij", weight, slope, slope), rtol=1e-9, atol=1e-12)
    one = g.matrix(loads={"end": (1, 0, 0, 0, 0, 0)})
    assert_allclose(one, np.einsum("g,gi,gj->ij", weight * at / L, slope, slope), rtol=1e-3, atol=1e-6)


def test_matrices_alone_have_no_geometric_stiffness() -> None:
    part = beam(3)
    plain = jd.structures.Structure(part.nodes, part.M, part.K, name="plate")
    with pytest.raises(jd.InputError, match="plate: it has matrices and no elements"):
        plain.reduce(2).geometric_stiffness()
