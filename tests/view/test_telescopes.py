"""Invented shapes of sliders: barrels thicker than rods that stay in them, rails, and colours that neighbours do not share."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.view import state_scene
from jourdain.view.scenes.from_solution import COLOURS


def boom() -> jd.Model:
    m = jd.Model("boom")
    boom = m.body("boom", mass=100.0, com=(1.5, 0, 0.3), inertia=(10, 300, 300))
    barrel = m.body("barrel", mass=10.0, com=(0.4, 0, 0), inertia=(0.1, 3, 3))
    rod = m.body("rod", mass=5.0, com=(-0.4, 0, 0), inertia=(0.1, 1, 1))
    m.revolute("foot", m.ground, boom, axis="y")
    m.revolute("a", m.ground.at(0.4, 0, -0.6), barrel, axis="y")
    m.prismatic("stroke", barrel, rod, axis="x")
    m.revolute("b", rod, boom.at(1.6, 0, 0.1), axis="y")
    return m


def test_a_barrel_is_thicker_than_its_rod_which_never_leaves_it() -> None:
    s = boom().compile()
    start = s.assemble({"foot": -0.4}, guess={"a": -0.6, "stroke": 1.4})
    sol = s.simulate(start, t=0.3)
    scene = sol.scene()
    barrel, rod = (next(x for x in scene.body(n).shapes if x.kind == "cylinder") for n in ("barrel", "rod"))
    assert barrel.sizes["radius"] > 1.5 * rod.sizes["radius"]
    stroke = np.abs(sol["stroke.displacement"])
    assert barrel.sizes["length"] < stroke.min() and rod.sizes["length"] < stroke.min()
    assert barrel.sizes["length"] + rod.sizes["length"] > stroke.max()
    # they begin at their own hinges and point towards each other
    inward = np.sign(sol["stroke.displacement"][0])
    assert barrel.position == pytest.approx((inward * barrel.sizes["length"] / 2, 0, 0), abs=1e-12)
    assert rod.position == pytest.approx((-inward * rod.sizes["length"] / 2, 0, 0), abs=1e-12)


def test_a_body_on_which_another_slides_has_a_rail() -> None:
    m = jd.Model("yoke")
    crank, yoke, block = (
        m.body("crank", mass=1.0, com=(0.05, 0, 0), inertia=(0.01,) * 3),
        m.body("yoke", mass=1.0),
        m.body("block", mass=0.2),
    )
    m.revolute("main", m.ground, crank, axis="y")
    m.prismatic("guide", m.ground, yoke, axis="x")
    m.revolute("pin", crank.at(0.1, 0, 0), block, axis="y")
    m.prismatic("slot", yoke, block, axis="z")
    s = m.compile()
    scene = state_scene(s, s.assemble({"main": 0.6}))
    shapes = scene.body("yoke").shapes
    assert [x.kind for x in scene.body("block").shapes] != ["cylinder", "sphere"]  # the yoke is no hydraulic cylinder
    (slot,) = (x for x in shapes if x.kind == "cylinder" and x.sizes["length"] > 4 * x.sizes["radius"])
    assert abs(slot.position[2]) < 0.5 * slot.sizes["length"]  # it passes through the yoke's own frame, beside the block


def test_neighbours_have_different_colours() -> None:
    m = jd.Model("star", gravity=(0, 0, 0))
    hub = m.body("hub", mass=1.0)
    m.free("fly", m.ground, hub)
    for i in range(3 * len(COLOURS)):
        m.revolute(f"j{i}", hub.at(1, i, 0), m.body(f"b{i}", mass=1.0, com=(1, 0, 0)), axis="z")
    scene = state_scene(m.compile())
    assert all(b.colour != scene.body("hub").colour for b in scene.bodies if b.name.startswith("b"))


def test_bodies_of_several_joints_are_rods_from_joint_to_joint() -> None:
    """A boom with brackets is no tube of its inertia, and no rod is longer than it must be to join all."""
    m = jd.Model("brackets")
    boom = m.body("boom", mass=100.0, com=(1.5, 0, 0.3), inertia=(10, 300, 300))
    m.revolute("foot", m.ground, boom, axis="y")
    points = [(0.0, 0.0, 0.0), (1.6, 0.0, 0.1), (3.0, 0.0, 0.2), (1.4, 0.0, 0.7)]
    for i, p in enumerate(points[1:]):
        m.revolute(f"pin{i}", boom.at(*p), m.body(f"arm{i}", mass=1.0, com=(0.5, 0, 0), inertia=(0.1,) * 3), axis="y")
    shapes = state_scene(m.compile()).body("boom").shapes
    rods = [x for x in shapes if x.kind == "capsule"]
    lengths = sorted(np.linalg.norm(np.subtract(points[a], points[b])) for a, b in ((0, 3), (3, 1), (1, 2)))
    assert sorted(x.sizes["length"] for x in rods) == pytest.approx(lengths)
    assert {x.kind for x in shapes} == {"capsule"}


def test_a_body_that_flies_is_a_solid() -> None:
    m = jd.Model("car")
    chassis = m.body("chassis", mass=100.0, inertia=(10, 40, 45))
    m.free("fly", m.ground, chassis)
    for i, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        m.revolute(f"axle{i}", chassis.at(x, 0.7 * y, 0), m.body(f"wheel{i}", mass=1.0, inertia=(0.1, 0.2, 0.1)), axis="y")
    assert "box" in {x.kind for x in state_scene(m.compile()).body("chassis").shapes}
