"""Reactions where constraints are equations of sensors, link lengths and joints that close loops: what a free joint transmits is nothing, and all formulations agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd

FORMULATIONS = ["semi-recursive", "cartesian", "natural", "directors"]


def bodies() -> tuple[jd.Model, Any, Any, Any]:
    """An arm on a ball joint, a second one on its hinge, and a body that is free."""
    m = jd.Model("held by equations", gravity=(0.5, -1.0, -9.81))
    arm, hand, loose = (m.body(n, mass=1.5, com=(0.1, 0.05, -0.2), inertia=(0.2, 0.25, 0.3)) for n in ("arm", "hand", "loose"))
    m.spherical("shoulder", m.ground.at(0, 0, 1), arm, orientation="xyz")
    m.revolute("elbow", arm.at(0.5, 0.1, 0), hand, axis=(0.6, 0, 0.8))
    m.free("free", m.ground, loose, orientation="xyz")
    return m, arm, hand, loose


def pulley(m: jd.Model, arm: Any, hand: Any, loose: Any) -> None:
    m.pulley("held", arm.at(0.3, 0, 0), m.ground.at(0, 0, 2), loose.at(0.1, 0.2, 0), hand.at(0.2, 0, 0), length=5.0)


def surface(m: jd.Model, arm: Any, hand: Any, loose: Any) -> None:
    m.point_on_surface("held", loose.at(0.1, 0.2, 0), lambda x, y, z: x**2 + 2 * y**2 + 3 * z**2 - 2.0, on=hand.at(0.1, 0.2, 0.3))


def orientation(m: jd.Model, arm: Any, hand: Any, loose: Any) -> None:
    s = m.sensor("turned", loose, hand)
    m.constraint("held", s.rotation[0, 1] + 0.5 * s.rotation[2, 0] + 0.3 * s.x - 0.2)


def length(m: jd.Model, arm: Any, hand: Any, loose: Any) -> None:
    line = m.link("line", hand.at(0.3, 0, 0), loose.at(0, 0.2, 0), arm.at(0, 0.1, 0.1), law=lambda z, rate, t: -0.2 * rate)
    m.rope_length(line, 2.0 + 0.1 * m.time)


def rolling(m: jd.Model, arm: Any, hand: Any, loose: Any) -> None:
    s = m.sensor("seen", loose.at(0.1, 0.1, 0), hand)
    m.nonholonomic("held", s.velocity[0] * s.y - 0.5 * s.velocity[2] + 0.4 * s.angular_velocity[1])


def cut_gear(m: jd.Model, arm: Any, hand: Any, loose: Any) -> None:
    crank, rod = (m.body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1)) for n in ("crank", "rod"))
    m.revolute("crank", m.ground.at(3, 0, 0), crank, axis="y")
    m.revolute("rod", crank.at(0.3, 0, 0), rod, axis="y")
    closing = m.revolute("closing", m.ground.at(3.4, 0, 0), rod.at(0.3, 0, 0), axis="y", cut=True)
    wheel = m.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    other = m.revolute("wheel", m.ground.at(2, 0, 0), wheel, axis=(0, 0.6, 0.8))
    m.gear("held", other, closing, 0.7, 0.3)


@pytest.mark.parametrize("hold", [pulley, surface, orientation, length, rolling, cut_gear])
def test_forces_of_equations_act_on_the_bodies_they_speak_of(hold: Callable[..., None]) -> None:
    def made(formulation: str) -> Any:
        m, *given = bodies()
        hold(m, *given)
        return m.compile(formulation=formulation)

    s = made("recursive")
    rng = np.random.default_rng(3)
    guess = {n: float(x) for n, x in zip(s.coordinate_names, rng.uniform(-0.8, 0.8, s.nq), strict=True)}
    rates = {n: float(x) for n, x in zip(s.velocity_names[:3], rng.normal(size=3), strict=True)}
    start = s.assemble(guess=guess, velocities=rates)
    expected = s.reactions(start)
    largest = max(np.abs(np.concatenate(w)).max() for w in expected.values())
    assert max(abs(x) for x in s.multipliers(start).values()) > 0.1
    np.testing.assert_allclose(np.concatenate(expected["free"]), 0.0, atol=1e-9 * largest)
    np.testing.assert_allclose(expected["shoulder"][1], 0.0, atol=1e-9 * largest)
    sol = s.simulate(start, 0.01, times=[0.0, 0.01])
    assert np.abs(sol["free.reaction"]).max() < 1e-8 * largest
    np.testing.assert_allclose(sol["elbow.reaction"][0], expected["elbow"][0], atol=1e-8 * largest)
    for formulation in FORMULATIONS:
        f = made(formulation)
        found = f.reactions(f.reference.state(start))
        for name, wrench in expected.items():
            np.testing.assert_allclose(
                np.concatenate(found[name]), np.concatenate(wrench), atol=1e-7 * largest, err_msg=f"{formulation} {name}"
            )
