"""Factors kept from step to step where making them is dear: fewer of them, the same motion, the same books."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.elements import Solid, hexahedron, lame
from jourdain.systems.assembled.march import March


def block(n: int) -> jd.AssembledSystem:
    """n³ soft hexahedra that hang on one side and fall."""
    line = np.linspace(0.0, 0.1, n + 1)
    places = np.stack(np.meshgrid(line, line, line, indexing="ij"), -1).reshape(-1, 3)
    i, j, k = (x.ravel() for x in np.meshgrid(*[range(n)] * 3, indexing="ij"))
    at = lambda a, b, c: ((i + a) * (n + 1) + j + b) * (n + 1) + k + c
    corners = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
    s = jd.AssembledSystem("block")
    held = np.flatnonzero(places[:, 0] < 1e-9)
    s.mesh(
        Solid(hexahedron()),
        "b",
        places,
        np.stack([at(*c) for c in corners], -1),
        fixed=held,
        density=1e3,
        gravity=(0, 0, -9.81),
        **lame(2e4, 0.3),
    )
    return s


def ran(s: jd.AssembledSystem, keep: bool, t: float, h: float, **options: object) -> jd.Solution:
    march = March(s, t, h, **options)  # type: ignore[arg-type]
    march.run.lu.frame.cost = 40.0 if keep else 0.0  # type: ignore[union-attr]  # as dear as in large blocks
    return march.go().solution


def positions(sol: jd.Solution) -> np.ndarray:
    return np.hstack([sol[n] for n in sol.names if n.startswith("b.") and n.count(".") == 1])


@pytest.fixture(scope="module")
def soft() -> jd.AssembledSystem:
    return block(4)


@pytest.mark.parametrize("method", ["energy-momentum", "midpoint", "generalized-alpha"])
def test_motion_and_energy_are_those_of_fresh_factors(soft: jd.AssembledSystem, method: str) -> None:
    kept, fresh = (ran(soft, keep, 0.3, 0.01, method=method) for keep in (True, False))
    # the free side sinks by a quarter of the size of the block
    assert np.abs(positions(fresh)[-1] - positions(fresh)[0]).max() > 0.02
    np.testing.assert_allclose(positions(kept), positions(fresh), atol=1e-9)
    assert kept.statistics["factorisations"] < fresh.statistics["factorisations"]
    if method == "energy-momentum":
        assert np.ptp(kept["energy.total"]) < 1e-13
        assert kept.statistics["factorisations"] <= 0.7 * kept.statistics["steps"]


def test_steps_that_change_make_new_factors(soft: jd.AssembledSystem) -> None:
    kept, fresh = (ran(soft, keep, 0.2, 0.02, adaptive=True, rtol=1e-3, atol=1e-5) for keep in (True, False))
    assert len(kept.t) == len(fresh.t) and np.ptp(np.diff(kept.t)) > 1e-4
    np.testing.assert_allclose(positions(kept)[-1], positions(fresh)[-1], atol=1e-9)


def test_a_run_that_goes_on_is_the_same(soft: jd.AssembledSystem) -> None:
    whole = soft.simulate(0.2, 0.01)
    half = soft.simulate(0.1, 0.01)
    system = soft.copy()
    memory = half.restart
    march = March(system, 0.2, 0.01, start=0.1, memory=memory)
    rest = march.go().solution
    np.testing.assert_allclose(positions(rest)[-1], positions(whole)[-1], atol=1e-11)


def test_stale_factors_are_told_and_made_anew(soft: jd.AssembledSystem) -> None:
    """A blow between two pieces of a run: factors made for another matrix do not pass for good ones."""
    march = March(soft, 0.1, 0.01)
    run = march.run
    run.lu.frame.made_for, run.lu.frame.cost = 0.01, 1e9  # type: ignore[union-attr]
    run.lu.fronts.factors[:] *= 7.0  # type: ignore[union-attr]
    found, fresh = march.go().solution, ran(soft, False, 0.1, 0.01)
    np.testing.assert_allclose(positions(found), positions(fresh), atol=1e-9)
    assert np.ptp(found["energy.total"]) < 1e-13
