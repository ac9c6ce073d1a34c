"""Evolution on problems of the literature whose fronts are known (Deb et al. 2002)."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.analysis.design.front import hypervolume, undominated
from jourdain.solvers.optimisers.pymoo_evolution import evolve

pytest.importorskip("pymoo")
NONE = np.zeros((0,))


def zdt(number: int):
    def judge(X: np.ndarray):
        g = 1 + 9 * X[:, 1:].mean(axis=1)
        r = X[:, 0] / g
        h = {1: 1 - np.sqrt(r), 2: 1 - r**2, 3: 1 - np.sqrt(r) - r * np.sin(10 * np.pi * X[:, 0])}[number]
        return np.column_stack([X[:, 0], g * h]), np.zeros((len(X), 0))

    return judge


@pytest.mark.parametrize("number", [1, 2, 3])
def test_zdt(number: int) -> None:
    judge = zdt(number)
    X = evolve(judge, np.zeros(10), np.ones(10), 2, 0, population=60, generations=120, seed=1)
    F = judge(X)[0]
    x = np.linspace(0, 1, 4001)
    exact = judge(np.column_stack([x, np.zeros((4001, 9))]))[0]
    exact = exact[undominated(exact, 0.0)]
    corner = np.array([1.1, 1.1])
    assert hypervolume(F, corner) > 0.98 * hypervolume(exact, corner)
    assert len(F) > 40 and undominated(F, 0.0).all()


def test_the_same_seed_gives_the_same_bits() -> None:
    ask = (zdt(1), np.zeros(5), np.ones(5), 2, 0, 20, 10)
    assert evolve(*ask, 3).tobytes() == evolve(*ask, 3).tobytes() != evolve(*ask, 4).tobytes()


def schaffer(X):
    x = X[:, 0]
    return np.column_stack([x**2, (x - 2) ** 2]), np.zeros((len(X), 0))


def binh_korn(X):
    x, y = X.T
    return np.column_stack([4 * x**2 + 4 * y**2, (x - 5) ** 2 + (y - 5) ** 2]), np.column_stack(
        [(x - 5) ** 2 + y**2 - 25, 7.7 - (x - 8) ** 2 - (y + 3) ** 2]
    )


def srinivas(X):
    x, y = X.T
    return np.column_stack([2 + (x - 2) ** 2 + (y - 1) ** 2, 9 * x - (y - 1) ** 2]), np.column_stack([x**2 + y**2 - 225, x - 3 * y + 10])


def tanaka(X):
    x, y = X.T
    return X.copy(), np.column_stack([1 + 0.1 * np.cos(16 * np.arctan2(x, y)) - x**2 - y**2, (x - 0.5) ** 2 + (y - 0.5) ** 2 - 0.5])


@pytest.mark.parametrize(
    ("judge", "low", "high", "constraints", "corner"),
    [
        (schaffer, [-10.0], [10.0], 0, [4.4, 4.4]),
        (binh_korn, [0.0, 0.0], [5.0, 3.0], 2, [140.0, 55.0]),
        (srinivas, [-20.0, -20.0], [20.0, 20.0], 2, [250.0, 20.0]),
        (tanaka, [1e-6, 1e-6], [np.pi, np.pi], 2, [1.2, 1.2]),
    ],
)
def test_fronts_by_a_fine_grid(judge, low, high, constraints, corner) -> None:
    low, high, corner = np.array(low), np.array(high), np.array(corner)
    X = evolve(judge, low, high, 2, constraints, population=100, generations=100, seed=1)
    F, G = judge(X)
    assert (G <= 1e-12).all() and undominated(F, 0.0).all()
    axes = np.meshgrid(*[np.linspace(a, b, 1201 if len(low) > 1 else 20001) for a, b in zip(low, high, strict=True)])
    grid = np.column_stack([a.ravel() for a in axes])
    f, g = judge(grid)
    f = f[(g <= 0).all(axis=1)]
    f = f[np.lexsort((f[:, 1], f[:, 0]))]
    f = f[f[:, 1] < np.concatenate([[np.inf], np.minimum.accumulate(f[:, 1])[:-1]])]
    assert hypervolume(F, corner) > 0.985 * hypervolume(f, corner)
