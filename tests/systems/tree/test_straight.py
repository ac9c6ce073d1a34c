"""Elimination as straight-line code against kernels with pivoting: accelerations, projections, and who answers near dead points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.formalisms.functions.straight import surety
from jourdain.systems.tree import projected
from jourdain.systems.tree.projected import NativeSystem
from jourdain.systems.tree.straight import straight_order


def free_loop() -> jd.Model:
    """A four-bar on a floating frame whose orientation is a quaternion."""
    m = jd.Model("four-bar in space", gravity=(0, 0, -9.81))
    frame = m.body("frame", mass=3.0, inertia=(0.2, 0.3, 0.4))
    m.free("float", m.ground, frame)
    rods = [
        m.body(n, mass=0.5, com=(x / 2, 0, 0), inertia=(1e-3, 0.02, 0.02)) for n, x in (("crank", 0.3), ("coupler", 0.8), ("rocker", 0.7))
    ]
    m.revolute("a", frame, rods[0], axis="z")
    m.revolute("b", rods[0].at(0.3, 0, 0), rods[1], axis="z")
    m.revolute("c", frame.at(0.9, 0, 0), rods[2], axis="z")
    m.close("loop", rods[1].at(0.8, 0, 0), rods[2].at(0.7, 0, 0), "ball")
    return m


MODELS: dict[str, Any] = {
    "andrews": library.andrews, "two four-bars": library.n_four_bar, "slider-crank": library.slider_crank,
    "five-link": library.five_link_suspension, "quaternion": free_loop,
}  # fmt: skip


def both(system: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[NativeSystem, NativeSystem]:
    """Native functions with straight-line code and without."""
    straight = NativeSystem(system)
    with monkeypatch.context() as without:
        without.setattr(projected, "straight_order", lambda s: ())
        general = NativeSystem(system)
    assert straight._order and not general._order
    return straight, general


@pytest.mark.parametrize("name", MODELS)
def test_the_same_rates_and_projections(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = MODELS[name]().compile()
    straight, general = both(system, monkeypatch)
    rng, compared, sure = np.random.default_rng(3), 0, 0
    f = system.function("straight_rates", order=straight._order)
    for _ in range(600):
        x = np.concatenate([system.configuration.random(rng), rng.normal(size=system.nv), np.zeros(system.nz)])
        if general.project(0.0, x, x) != 0:
            continue
        a, b = np.zeros_like(x), np.zeros_like(x)
        assert straight.rhs(0.0, x, a) == general.rhs(0.0, x, b)
        np.testing.assert_allclose(a, b, atol=1e-11 * np.abs(b).max())
        y = x + 1e-7 * rng.normal(size=x.size)
        z = y.copy()
        assert straight.project(0.0, y, y) == general.project(0.0, z, z) == 0
        np.testing.assert_allclose(y, z, atol=1e-11)
        compared, sure = compared + 1, sure + int(f(np.zeros(1), x, system.input_values())[1][0] > 0.0)
    assert compared > 25, compared
    assert sure > compared / 3


def test_the_number_that_tells_belongs_to_the_order_and_the_position() -> None:
    """The compiled number changes its sign where the numerical one passes 1, wherever masses and lengths put that."""
    system = library.four_bar(crank=0.02, density=7.0).compile()
    order, rng = straight_order(system), np.random.default_rng(1)
    signs = set()
    for _ in range(400):
        q = system.configuration.random(rng)
        x = np.concatenate([q, np.zeros(system.nv)])
        M, _, J, *_ = system.function("descriptor")(np.zeros(1), x, system.input_values())
        expected = surety(J.tolist(), J != 0.0, np.diag(M).tolist(), order)
        told = system.function("straight_rates", order=order)(np.zeros(1), x, system.input_values())[1][0]
        if abs(expected - 1.0) > 1e-9:
            assert (told > 0.0) == (expected > 1.0)
            signs.add(told > 0.0)
    assert signs == {True, False}


def test_through_dead_points_and_singular_positions() -> None:
    """Two four-bars pass the position in which all bars lie in one line: energy is kept, whoever computes."""
    system = library.n_four_bar().compile()
    uprights = dict.fromkeys((n for n in system.model.joints if n.startswith("A")), 0.0)
    start = system.assemble(uprights, velocities=dict.fromkeys(uprights, -1.0))
    sol = system.simulate(start, 10.0, method="dop853", rtol=1e-10, atol=1e-12)
    energy = sol["energy.total"]
    assert np.abs(energy - energy[0]).max() < 1e-6


def test_rows_that_repeat_others_are_left_to_pivoting() -> None:
    system = library.bricard().compile()
    assert NativeSystem(system, start=system.assemble())._order == ()


def test_runs_do_not_depend_on_earlier_ones() -> None:
    """The order is one of the equations: a run after others from elsewhere gives the same bits as alone."""
    first, second = library.four_bar().compile(), library.four_bar().compile()
    places = [s.assemble({"crank": 1.0}, velocities={"crank": 3.0}) for s in (first, second)]
    first.simulate(first.assemble({"crank": 2.5}, velocities={"crank": -1.0}), 0.5)
    a, b = (s.simulate(p, 1.0, rtol=1e-8) for s, p in zip((first, second), places, strict=True))
    assert np.array_equal(a["crank.angle"], b["crank.angle"])
