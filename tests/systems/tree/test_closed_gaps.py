"""Gaps that an impact without rebound closes in the positions: bodies are not pushed into others for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jourdain as jd

RADIUS, STEP = 0.05, 2e-3


def balls(places: np.ndarray, radii: list[float], gravity: float, friction: float, walls: str) -> tuple[jd.System, dict[str, float]]:
    """Balls before walls, and where they start."""
    m, start = jd.Model("balls", gravity=(0.0, 0.0, -gravity)), dict[str, float]()
    m.ground.shapes += [jd.plane(axis) for axis in walls.split()]
    for i, (place, radius) in enumerate(zip(places, radii, strict=True)):
        m.free(f"f{i}", m.ground, m.body(f"b{i}", shape=jd.sphere(radius, density=1000.0)))
        start |= {f"f{i}.{c}": float(x) for c, x in zip("xyz", place, strict=True)}
    m.contact("all", law=jd.contact.rigid(friction=friction))
    return m.compile(), start


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("room", [5e-4, 1e-3, 2e-3])
def test_a_ball_that_strikes_the_floor_is_not_drawn_into_one_in_the_corner(room: float, friction: float) -> None:
    """A small ball comes into a corner and a large one onto the floor beside it, which goes on towards the small one; gaps are those of the step's middle."""
    speed, small, over = 2.0, 0.02, 2e-3
    corner = np.array([-small, 0.0, small])
    up, apart = RADIUS + over - small, RADIUS + small + room
    other = corner + [-math.sqrt(apart**2 - up**2), 0.0, up]
    way = 0.5 * STEP * speed * np.array([1.0, 0.0, -1.0])
    s, start = balls(np.array([other, corner]) - way, [RADIUS, small], 0.0, friction, "z -x")
    start |= {f"f{i}.{c}_rate": sign * speed for i in range(2) for c, sign in (("x", 1.0), ("z", -1.0))}
    sol = s.simulate(start, 10 * STEP, "moreau", step=STEP)
    assert sol["contacts.depth"].max() < 1e-4 * RADIUS
    assert abs(sol["energy.error"]).max() < 1e-12 * sol["contacts.dissipated"][-1]


@pytest.mark.parametrize("seed", [2, 3])
def test_a_pile_that_falls_together_stays_shallow(seed: int) -> None:
    n, side = 60, 5
    grid = np.array([(i % side, (i // side) % side, i // side**2) for i in range(n)], dtype=float)
    shift = np.random.default_rng(seed).uniform(-0.1, 0.1, (n, 3)) * [1.0, 1.0, 0.0]
    s, start = balls(RADIUS * (grid * [2.3, 2.3, 2.2] + [0.0, 0.0, 1.1] + shift), [RADIUS] * n, 9.81, 0.5, "z")
    sol = s.simulate(start, 0.8, "moreau", step=STEP, tolerance=1e-3)
    assert sol["contacts.depth"].max() < 4e-4 * RADIUS
    assert abs(sol["energy.error"]).max() < 1e-12 * sol["contacts.dissipated"][-1]
