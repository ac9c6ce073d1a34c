"""A rope on a drum: the pull that its friction holds (L. Euler 1769; J. A. Eytelwein), of a chain of balls that slide, and by three ways to touch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jourdain as jd

#: Radius of the drum and of the balls, and the tension at one end.
DRUM, BALL, HELD = 0.1, 0.002, 10.0


def chain(n: int, angle: float, law: Any) -> tuple[jd.Model, dict[str, float]]:
    """Balls that do not turn, on the drum along an angle, with rods between them, held by a tension and pulled by another along the next sides of their polygon."""
    m = jd.Model("capstan", gravity=(0, 0, 0))
    m.ground.shapes.append(jd.cylinder(DRUM, 0.2).rotated("x", np.pi / 2))
    pull, d = m.parameter("pull", HELD), angle / n
    a = np.pi / 2 + angle / 2 - d * (np.arange(n) + 0.5)
    places = (DRUM + BALL) * np.c_[np.cos(a), 0 * a, np.sin(a)]
    balls, start = [], {}
    for i, p in enumerate(places):
        carriage, ball = m.body(f"carriage{i}", mass=1e-4, inertia=(1e-9,) * 3), m.body(f"ball{i}", shape=jd.sphere(BALL, density=3e4))
        m.prismatic(f"x{i}", m.ground, carriage, axis="x")
        m.prismatic(f"z{i}", carriage, ball, axis="z")
        if balls:
            m.close(f"rod{i}", balls[-1], ball, "rod", length=2 * (DRUM + BALL) * math.sin(d / 2))
        balls.append(ball)
        start |= {f"x{i}.displacement": float(p[0]), f"z{i}.displacement": float(p[2])}
    first, last = (np.array([math.sin(s), 0.0, -math.cos(s)]) * sign for s, sign in ((a[0] + d / 2, -1.0), (a[-1] - d / 2, 1.0)))
    m.load("hold", balls[0], force=tuple(float(HELD * x) for x in first))
    m.load("pull", balls[-1], force=tuple(pull * float(x) for x in last))
    m.contact("drum", balls, m.ground, law=law)
    return m, start


def most(n: int, angle: float, friction: float) -> float:
    """T e^{μφ} of a polygon: (T₂ − T₁) cos ½δ = μ (T₁ + T₂) sin ½δ at every ball."""
    t = friction * math.tan(0.5 * angle / n)
    return HELD * ((1 + t) / (1 - t)) ** n


@pytest.mark.parametrize(("n", "angle", "friction"), [(6, np.pi / 2, 0.3), (12, np.pi, 0.3), (24, np.pi, 0.2)])
def test_what_a_drum_holds(n: int, angle: float, friction: float) -> None:
    m, start = chain(n, angle, jd.contact.rigid(friction=friction))
    s, low, high = m.compile(), HELD, 8 * HELD
    for _ in range(32):
        middle = 0.5 * (low + high)
        s.set_parameters(pull=middle)
        try:
            s.equilibrium(start)
            low = middle
        except jd.SolverError as error:
            assert "slides on 'ground'" in str(error)
            high = middle
    assert low == pytest.approx(most(n, angle, friction), rel=1e-9)
    assert low == pytest.approx(HELD * math.exp(friction * angle), rel=1.2 * friction * angle**3 / (12 * n**2) + 1e-9)


WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "moreau": (jd.contact.rigid(friction=0.3), {"method": "moreau", "step": 5e-4}),
    "nonsmooth": (jd.contact.rigid(friction=0.3), {"method": "nonsmooth-generalized-alpha", "step": 5e-4}),
    "bristles": (jd.contact.kelvin_voigt(1e6, 5.0, friction=jd.contact.bristle(0.3, 1e6, 5.0)), {"method": "radau"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_slips_above_that_and_stays_below(way: str) -> None:
    law, run = WAYS[way]
    n, angle = 6, np.pi / 2
    m, start = chain(n, angle, law)
    s, moved = m.compile(), []
    for part in (0.97, 1.03):
        s.set_parameters(pull=part * most(n, angle, 0.3))
        sol = s.simulate(start, 0.02, **run)
        moved.append(max(float(np.abs(sol[f"x{i}.displacement"] - start[f"x{i}.displacement"]).max()) for i in range(n)))
    assert (
        moved[0] < {"moreau": 1e-9, "nonsmooth": 1e-6, "bristles": 2e-5}[way]
    )  # free steps are bent by the drum before they are taken back
    assert moved[1] > 20 * max(moved[0], 1e-6)
