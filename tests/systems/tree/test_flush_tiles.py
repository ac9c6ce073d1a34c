"""Tiles laid side by side are one floor: what slides or rolls over them does not meet their edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jourdain as jd

BODIES: dict[str, Any] = {
    "box": jd.box(0.2, 0.14, 0.1, density=1e3), "cylinder": jd.cylinder(0.06, 0.1, density=1e3), "sphere": jd.sphere(0.05, density=1e3),
    "capsule": jd.capsule(0.05, 0.1, density=1e3).rotated("x", np.pi / 2),
}  # fmt: skip


def floor(kind: str) -> list[Any]:
    if kind == "plane":
        return [jd.plane()]
    tile = jd.box(0.25, 4.0, 0.2) if kind == "boxes" else jd.mesh(jd.box(0.25, 4.0, 0.2).tessellate(3))
    return [tile.at(0.125 + 0.25 * i, 0.0, -0.1) for i in range(-8, 0)]


@pytest.mark.parametrize("method", ["moreau", "nonsmooth-generalized-alpha"])
@pytest.mark.parametrize("tiles", ["boxes", "hulls"])
@pytest.mark.parametrize("body", BODIES)
def test_tiles_are_a_plane(body: str, tiles: str, method: str) -> None:
    found = []
    for kind in (tiles, "plane"):
        m = jd.Model("slide")
        m.ground.shapes += floor(kind)
        m.free("f", m.ground, m.body("b", shape=BODIES[body]))
        m.contact("floor", m.bodies["b"], m.ground, law=jd.contact.rigid(friction=0.2))
        start = {"f.x": -1.53, "f.y": 0.07, "f.z": 0.05, "f.x_rate": 2.0, "f.y_rate": 0.3}
        found.append(m.compile().simulate(start, 0.6, method=method, step=1e-3))
    exact = 1e-9 if body in ("box", "cylinder") else 3e-4  # what rolls is up to a part of its size before an edge
    for name in ("f.x", "f.y", "f.z", "f.x_rate"):
        assert found[0][name][-1] == pytest.approx(found[1][name][-1], abs=exact)
    if body == "box":
        assert found[0]["f.x_rate"][-1] == pytest.approx(2.0 - 0.2 * 9.81 * 0.6 * 2.0 / np.hypot(2.0, 0.3), rel=1e-9)


def test_a_step_up_is_met() -> None:
    """A tile that is 1 mm higher stops what is held upright."""
    m = jd.Model("step")
    m.ground.shapes += [jd.box(2.0, 4.0, 0.2).at(-1.0, 0, -0.1), jd.box(2.0, 4.0, 0.2).at(1.0, 0, -0.099)]
    slide = m.body("slide", mass=1e-3, inertia=(1e-6, 1e-6, 1e-6))
    m.prismatic("x", m.ground, slide, axis="x")
    m.prismatic("z", slide, m.body("b", shape=BODIES["box"]), axis="z")
    m.contact("floor", m.bodies["b"], m.ground, law=jd.contact.rigid())
    sol = m.compile().simulate(
        {"x.displacement": -0.5, "z.displacement": 0.05, "x.displacement_rate": 2.0}, 0.5, method="moreau", step=1e-3
    )
    assert sol["x.displacement"][-1] == pytest.approx(-0.1, abs=1e-6)
    assert sol["x.displacement_rate"][-1] == pytest.approx(0.0, abs=1e-9)
    assert sol["z.displacement"][-1] == pytest.approx(0.05, abs=1e-9)


def test_a_block_falls_beside_a_wall_it_is_flush_with() -> None:
    m = jd.Model("shaft")
    m.ground.shapes += [jd.plane(), jd.box(1.0, 1.0, 1.0).at(0.6, 0, 0.5)]
    m.free("f", m.ground, m.body("b", shape=BODIES["box"]))
    m.contact("walls", m.bodies["b"], m.ground, law=jd.contact.rigid(friction=0.5))
    sol = m.compile().simulate({"f.x": 0.0, "f.z": 1.5}, 0.4, method="moreau", step=1e-3)
    assert sol["f.z"][-1] == pytest.approx(1.5 - 0.5 * 9.81 * 0.4**2, abs=1e-9)


@pytest.mark.parametrize("beyond", [1e-5, 1e-3, 4e-3, 0.02, 0.05])
def test_a_ball_strikes_an_edge_beside_its_face(beyond: float) -> None:
    """It was taken for a tile at the height of the next one where the ball reaches less than 0.2 % of its size below the face: it struck late, deep in the edge, or not at all."""
    m, radius, drop, e = jd.Model("edge"), 0.05, 0.3, 0.6
    m.ground.shapes.append(jd.box(0.4, 0.4, 0.2).at(0, 0, -0.1))
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(radius, density=1000.0)))
    m.contact("hit", law=jd.contact.rigid(restitution=e))
    x, below = 0.2 + beyond * radius, math.sqrt(1.0 - beyond**2)  # the centre, and the cosine between the normal and that of the face
    fall, speed = math.sqrt(2.0 * drop / 9.81), math.sqrt(2.0 * drop * 9.81)
    sol = m.compile().simulate({"f.x": x, "f.z": radius * below + drop}, fall + 0.01, rtol=1e-11, atol=1e-13)
    assert abs(sol.contacts.impacts[0].t - fall) < 1e-8
    after = np.array([0.0, -speed]) + (1.0 + e) * speed * below * np.array([beyond, below])
    np.testing.assert_allclose([sol["f.x_rate"][-1], sol["f.z_rate"][-1]], after - [0.0, 9.81 * 0.01], atol=1e-7)
