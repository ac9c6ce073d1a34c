"""Starts in singular positions: which velocities a motion can have there, by second order and by going there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.library.mechanisms import bricard, four_bar, n_four_bar
from jourdain.systems.tree.branches import BranchError, singular_position


def linkage(a: float, b: float, c: float, d: float, gravity: float = 0.0, torque: float = 0.0) -> Any:
    """Four bars, compiled: crank a (with a torque), coupler b, rocker c, ground d."""
    m = jd.Model("linkage", gravity=(0, -gravity, 0))
    bars = [
        m.body(n, mass=10 * l, com=(l / 2, 0, 0), inertia=(0, 10 * l**3 / 12, 10 * l**3 / 12)) for n, l in (("a", a), ("b", b), ("c", c))
    ]
    m.revolute("A", m.ground, bars[0], axis="z")
    m.revolute("B", bars[0].at(a, 0, 0), bars[1], axis="z")
    m.revolute("D", m.ground.at(d, 0, 0), bars[2], axis="z")
    m.close("loop", bars[1].at(b, 0, 0), bars[2].at(c, 0, 0), "ball")
    m.force(m.joints["A"], torque)
    return m.compile()


FLAT: dict[str, Any] = {"fixed": {"A": 0.0}, "guess": {"B": 0.0, "D": 0.0}}


def flat(s: Any, **options: Any) -> Any:
    return s.assemble(**FLAT, **options)


def test_assemble_lists_the_branches() -> None:
    """A parallelogram in line goes on as one, or as an antiparallelogram, whose rocker turns at a ratio of (a + b)/(a − b) (poles)."""
    s = linkage(0.1, 0.3, 0.1, 0.3)
    with pytest.raises(BranchError, match=r"branch=.*A\.angle_rate = 5, B\.angle_rate = -5, D\.angle_rate = 5") as raised:
        flat(s, velocities={"A": 5.0})
    found = [b.v for b in raised.value.branches]
    ratio = (0.1 + 0.3) / (0.1 - 0.3)
    np.testing.assert_allclose(found, [[5, -5, 5], [5, 5 * ratio, 5 * ratio]], atol=1e-9)
    for k, v in enumerate(found):
        x = flat(s, velocities={"A": 5.0}, branch=k)
        np.testing.assert_allclose(x.v, v, atol=1e-9)
        assert len(x.report.branches) == 2 and "branches of the motion meet" in str(x.report)
    with pytest.raises(BranchError, match="not number 2"):
        flat(s, velocities={"A": 5.0}, branch=2)
    with pytest.raises(BranchError, match="none has the given velocities"):
        flat(s, velocities={"A": 5.0, "D": 2.0})
    np.testing.assert_allclose(flat(s, velocities={"A": 5.0, "D": 5.0}).v, [5, -5, 5], atol=1e-9)
    with pytest.raises(jd.InputError, match="not singular"):
        s.assemble({"A": 0.3}, guess={"B": -0.3, "D": 0.3}, velocities={"A": 5.0}, branch=0)


@settings(max_examples=10, deadline=None)
@given(a=st.floats(0.1, 0.5), b=st.floats(0.1, 0.5), kite=st.booleans())
def test_branches_are_the_limits_of_motions_nearby(a: float, b: float, kite: bool) -> None:
    """Tangents of second order against velocities in closed positions beside the singular one."""
    if abs(a - b) < 0.02:
        return
    s = linkage(*((a, b, b, a) if kite else (a, b, a, b)))
    place = singular_position(s, flat(s))
    assert place is not None
    for v in place.velocities([], [], 1.0):
        beside = s.configuration.integrate(place.q, 1e-3 * v)
        name = ("A", "B", "D")[int(np.argmax(np.abs(v)))]
        values = dict(zip(("A", "B", "D"), beside, strict=True))
        x = s.assemble({name: values.pop(name)}, guess=values, velocities={name: v[np.argmax(np.abs(v))]})
        np.testing.assert_allclose(x.v, v, atol=5e-2)


@pytest.mark.parametrize("formulation", ["projected", "reduced", "closed"])
@pytest.mark.parametrize("branch", [0, 1])
def test_simulate_goes_on_along_the_branch(formulation: str, branch: int) -> None:
    s = linkage(0.1, 0.3, 0.1, 0.3, gravity=9.81)
    x = flat(s, velocities={"A": 30.0}, branch=branch)
    sol = s.simulate(x, 0.5, "dop853", rtol=1e-10, reduction=formulation, outputs=11)
    assert np.ptp(sol["energy.total"]) < 1e-6 * np.abs(sol["energy.kinetic"]).max()
    parallel = np.abs(sol["A.angle"] - sol["D.angle"]).max() < 1e-6
    assert parallel == (branch == 0)
    expected = s.simulate(x, 0.5, "dop853", rtol=1e-12, atol=1e-13, outputs=11)
    np.testing.assert_allclose(sol["D.angle"], expected["D.angle"], atol=1e-5)


@pytest.mark.parametrize("formulation", [None, "cartesian", "natural", "directors", "semi-recursive"])
def test_simulate_refuses_velocities_of_no_motion(formulation: str | None) -> None:
    s = linkage(0.1, 0.3, 0.1, 0.3)
    bad = flat(s).with_values(v=np.array([5.0, -6.0, 2.0]))  # J v = 0
    run = s if formulation is None else s.model.compile(formulation=formulation)
    with pytest.raises(BranchError, match="no motion has these velocities") as raised:
        run.simulate(bad, 0.1)
    assert len(raised.value.branches) == 4  # two tangents, both ways
    for b in raised.value.branches:
        assert np.linalg.norm(b.v) == pytest.approx(np.linalg.norm(bad.v))


def test_rest_in_a_singular_position() -> None:
    """At rest without forces it stays; a force that drives it off every branch is refused."""
    still = linkage(0.1, 0.3, 0.1, 0.3)
    assert still.simulate(flat(still), 0.1)["A.angle"][-1] == 0.0
    s = linkage(0.1, 0.3, 0.1, 0.3, torque=1.0)
    with pytest.raises(BranchError, match="at rest in a singular position"):
        s.simulate(flat(s), 0.1)


def test_three_branches_of_a_chain() -> None:
    s = n_four_bar(2).compile()
    a = math.pi / 2
    with pytest.raises(BranchError) as raised:
        s.assemble({"A0": a}, guess={"A1": a, "A2": a, "B0": -a, "B1": -a}, velocities={"A0": 1.0})
    found = np.array([b.v for b in raised.value.branches])
    assert np.abs(found - [1, 1, 1, -1, -1]).max(axis=1).min() < 1e-9  # all uprights parallel
    assert len(found) >= 3


def test_regular_and_redundant_positions_are_left_alone() -> None:
    for model, fixed, guess in (
        (four_bar(), {"crank": 1.0}, {"coupler": -0.5, "rocker": 1.5}),
        (bricard(), {"P1": 0.3}, {"P2": -0.25, "P3": 0.3, "P4": -0.25, "P5": 0.3}),
    ):
        s = model.compile()
        x = s.assemble(fixed, guess=guess, velocities={next(iter(fixed)): 1.0})
        assert singular_position(s, x) is None and x.report.branches == []
