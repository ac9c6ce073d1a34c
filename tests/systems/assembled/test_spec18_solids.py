"""Spec 18, T12: forces of a solid between two states by Simo and Tarnow's formula, rigid motions, and periods in steps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.elements import Solid, hexahedron, lame
from jourdain.solvers.stepping import frame as ap
from jourdain.solvers.stepping.kernels import evaluate
from jourdain.systems.assembled.march import March

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)], float)
LAW = lame(1e5, 0.3)


def cube() -> jd.AssembledSystem:
    s = jd.AssembledSystem("cube")
    s.mesh(Solid(hexahedron()), "cube", CORNERS, [range(8)], density=1e3, **LAW)
    return s


def force(run: object, x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
    """Generalised forces (8, 3) of a step from one state to another, without inertia."""
    r = run
    r.vec.q0, r.vec.q1 = x0.ravel(), x1.ravel()  # type: ignore[attr-defined]
    r.vec.u, r.vec.excess, r.count.which = (x1 - x0).ravel(), np.zeros(24), ap.RESIDUAL  # type: ignore[attr-defined]
    evaluate.call(r.address)  # type: ignore[attr-defined]
    return np.array(r.r / r.scheme.kappa).reshape(8, 3)  # type: ignore[attr-defined]


def by_hand(x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
    """∫ F̄ S̄ ∇N with F̄ = ½ (F₀ + F₁), S̄ = λ tr Ē + 2μ Ē and Ē = ½ (E₀ + E₁), by 2 × 2 × 2 points."""
    total, c = np.zeros((8, 3)), 2.0 * CORNERS - 1.0
    for xi in c / np.sqrt(3.0):
        factor = 0.5 * (1.0 + c * xi)
        slopes = np.stack([0.5 * c[:, a] * np.delete(factor, a, axis=1).prod(axis=1) for a in range(3)], -1) * 2.0
        F0, F1 = x0.T @ slopes, x1.T @ slopes
        E = 0.25 * (F0.T @ F0 + F1.T @ F1) - 0.5 * np.eye(3)
        S = LAW["lame"] * np.trace(E) * np.eye(3) + 2.0 * LAW["shear"] * E
        total += 0.125 * slopes @ (0.5 * (F0 + F1) @ S).T
    return total


@pytest.fixture(scope="module")
def run() -> object:
    return March(cube(), 1.0, 0.01).run


def test_18_T12_forces_are_those_of_simo_and_tarnow(run: object) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        x0, x1 = CORNERS + 0.2 * rng.uniform(-1, 1, (2, 8, 3))
        found, expected = force(run, x0, x1), by_hand(x0, x1)
        np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_18_T12_rigid_motions_are_free_and_turn_the_forces(run: object) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        R, shift = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
        turned = CORNERS @ R.T + shift
        assert np.abs(force(run, turned, turned + rng.normal(size=3))).max() < 1e-9 * LAW["lame"]
        x0, x1 = CORNERS + 0.2 * rng.uniform(-1, 1, (2, 8, 3))
        expected = force(run, x0, x1) @ R.T
        np.testing.assert_allclose(force(run, x0 @ R.T + shift, x1 @ R.T + shift), expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("turn", [0.2, 0.5])
def test_18_T12_periods_are_those_of_the_mesh_longer_by_the_step(turn: float) -> None:
    """A bar that swings in its first mode of the mesh with a small amplitude: ω̃ h = 2 arctan(ω h/2), longer periods by (ω h)²/12."""
    places = np.array([(0.5 * i, 0.4 * j, 0.3 * k) for i in range(5) for j in range(2) for k in range(2)])
    at = lambda i, j, k: 4 * i + 2 * j + k
    cells = [[at(i + int(a), int(b), int(c)) for a, b, c in CORNERS] for i in range(4)]
    s = jd.AssembledSystem("bar")
    nodes = s.mesh(Solid(hexahedron()), "bar", places, cells, fixed=range(4), density=1e3, **LAW)
    modes = s.modal(count=1)
    omega, shape = 2.0 * np.pi * float(modes.frequencies[0]), np.real(modes.shapes[:, 0])
    q0 = places.ravel()
    s.set_state(q0, 1e-7 * omega * shape / np.abs(shape).max())
    h = turn / omega
    sol = s.simulate(60 * h, h)
    x = np.hstack([sol[f"bar.{k}"] for k in range(len(nodes))])
    along = (x - q0) @ shape
    t = sol.t
    slow = 2.0 / h * np.arctan(0.5 * omega * h)
    basis = np.stack([np.sin(slow * t), np.cos(slow * t)], -1)
    amplitude, *_ = np.linalg.lstsq(basis, along, rcond=None)
    assert np.abs(basis @ amplitude - along).max() < 1e-4 * np.abs(along).max()
    assert omega / slow - 1.0 == pytest.approx(turn**2 / 12.0, rel=0.05)
