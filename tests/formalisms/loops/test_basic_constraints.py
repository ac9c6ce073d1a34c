"""The library of basic constraints: joints as sums, and every row's Jacobian against the derivative of its equation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import ModelError
from jourdain.formalisms.coordinates.cartesian import cartesian
from jourdain.formalisms.loops import basic_constraints as bc
from jourdain.formalisms.loops.loop_closure import closure_rows
from jourdain.model.constraints import Closure
from jourdain.model.values import unit_axis
from jourdain.symbolic.derivatives import jvp
from jourdain.symbolic.expr import symbol
from jourdain.symbolic.functions import cos, sin
from jourdain.symbolic.graph import evaluate
from jourdain.symbolic.vectors import AXES

AXIS = unit_axis((0.6, 0.0, 0.8), "axis")
DATA = {"universal": (AXES[0], AXES[1]), "rod": 0.7} | dict.fromkeys(("revolute", "cylindrical", "prismatic", "planar", "parallel"), AXIS)


@cache
def scene() -> Any:
    """Two free bodies in Cartesian coordinates with Euler parameters, and frames on them."""
    m = jd.Model("two bodies")
    bodies = [m.body(n, mass=1.0, inertia=(1, 1, 1)) for n in "ab"]
    for b in bodies:
        m.free(f"{b.name}.free", m.ground, b)
    d = cartesian(m, "euler-parameters")
    return d.equations, bodies[0].at(0.1, 0.2, -0.3, rotation=("x", 0.4)), bodies[1].at(-0.2, 0.1, 0.3, rotation=("y", -0.7))


def numbers(equations: Any, seed: int) -> dict[Any, float]:
    """Random coordinates with unit Euler parameters, and rates that keep them so."""
    rng = np.random.default_rng(seed)
    values: dict[Any, float] = {}
    for k in range(2):
        e = rng.normal(size=4)
        e /= np.linalg.norm(e)
        rate = rng.normal(size=4)
        rate -= (e @ rate) * e
        x, xd = [*rng.normal(size=3), *e], [*rng.normal(size=3), *rate]
        values |= dict(zip(equations.q[7 * k : 7 * k + 7], x, strict=True)) | dict(zip(equations.v[7 * k : 7 * k + 7], xd, strict=True))
    return values


@pytest.mark.parametrize("kind", [k for k in bc.SUMS if k != "free"])
def test_joints_are_sums(kind: str) -> None:
    """The library writes exactly the rows (the same expressions) that close joints, in the same order."""
    eq, a, b = scene()
    closure = Closure(kind, kind, a, b, jd.model.values.value(0.7, "length") if kind == "rod" else DATA.get(kind))
    rows, sums = closure_rows(eq.kinematics, closure), bc.joint_constraints(eq.kinematics, closure)
    assert len(rows) == len(sums) == sum(n for _, n in bc.SUMS[kind])
    values = numbers(eq, 1)
    for row, item in zip(rows, sums, strict=True):
        for mine, theirs in (
            (item.h, row.h),
            *zip(item.parts[0].force, row.force, strict=True),
            *zip(item.parts[0].torque, row.torque, strict=True),
        ):
            x, y = evaluate([mine, theirs], values)
            assert float(x) == pytest.approx(float(y), abs=1e-14)


def library() -> list[bc.BasicConstraint]:
    eq, a, b = scene()
    pair, ground = bc.Pair(eq.kinematics, a, b), eq.model.ground
    hinges = [bc.Pair(eq.kinematics, ground.at(0, 0, 0), f) for f in (a, b)]
    surface = bc.point_on_surface(pair, lambda x, y, z: x**2 + 2 * y**2 + sin(z) - 1.0)
    return [
        bc.dot1(pair, AXES[0], AXIS), bc.dot2(pair, AXIS), bc.distance(pair, 0.8), bc.angle(pair, AXES[2], 0.3), bc.displacement(pair, AXIS, 0.1), surface,
        bc.gear(hinges[0], AXES[2], hinges[1], AXES[0], -2.0, 0.1), bc.rack(hinges[0], AXES[2], hinges[1], AXES[0], 0.05),
    ]  # fmt: skip


@pytest.mark.parametrize("item", [c for c in library() if c.name not in ("angle", "gear", "rack")], ids=lambda c: c.name)
def test_jacobians_everywhere(item: bc.BasicConstraint) -> None:
    """Rows that say the same off the constraint: ḣ from twists equals the time derivative of h."""
    eq, *_ = scene()
    for seed in range(3):
        exact, found = evaluate([jvp([item.h], eq.flow)[0], item.velocity(eq.kinematics)], numbers(eq, seed))
        assert float(found) == pytest.approx(float(exact), rel=1e-11, abs=1e-12)


def test_angles_of_hinges() -> None:
    """An angle's row is exact where the axes are parallel: gears and racks between hinges of one direction."""
    m = jd.Model("hinges")
    for i, n in enumerate("ab"):
        m.revolute(n, m.ground.at(0, float(i), 0), m.body(n, mass=1.0, inertia=(1, 1, 1)), axis="z")
    d = cartesian(m, "planar")
    eq = d.equations
    first, second = (bc.Pair(eq.kinematics, m.joints[n].parent, m.joints[n].child) for n in "ab")
    rng = np.random.default_rng(0)
    values = dict(zip((*eq.q, *eq.v), rng.uniform(-1, 1, 2 * len(eq.q)), strict=True))
    for item in (
        bc.gear(first, AXES[2], second, AXES[2], -2.0, 0.3),
        bc.rack(first, AXES[2], second, AXES[0], 0.05),
        bc.angle(first, AXES[2], 0.1),
    ):
        exact, found = evaluate([jvp([item.h], eq.flow)[0], item.velocity(eq.kinematics)], values)
        assert float(found) == pytest.approx(float(exact), abs=1e-12)
    theta = [values[s] for s in eq.q if s.name.endswith("theta")]
    h = float(evaluate([bc.gear(first, AXES[2], second, AXES[2], -2.0, 0.3).h], values)[0])
    assert h == pytest.approx(theta[1] + 2 * theta[0] - 0.3, abs=1e-12)


def test_twist_jacobian_fills_the_coordinate_jacobian() -> None:
    """∂ḣ/∂(v, ω) of each body times the body's own Jacobian is the row of the constraint."""
    eq, a, b = scene()
    item = bc.dot2(bc.Pair(eq.kinematics, a, b), AXIS)
    values = numbers(eq, 4)
    total = 0.0
    for name, (F, T) in item.twist_jacobian(eq.kinematics).items():
        body = eq.model.bodies[name]
        v, w = eq.kinematics.velocity(body), eq.kinematics.angular_velocity(body)
        total += float(evaluate([F.dot(v) + T.dot(w)], values)[0])
    assert total == pytest.approx(float(evaluate(jvp([item.h], eq.flow), values)[0]), abs=1e-12)


def test_curves_and_cams() -> None:
    """Two circles touch when their centres are r₁ + r₂ apart; a point on a circle is at its radius."""
    m = jd.Model("cam")
    for n in "ab":
        m.planar(n, m.ground, m.body(n, mass=1.0, inertia=(1, 1, 1)))
    eq = cartesian(m, "planar").equations
    s, r = symbol("s", "position"), symbol("r", "position")
    pair = bc.Pair(eq.kinematics, m.bodies["a"].origin, m.bodies["b"].origin)
    rows = bc.cam(pair, lambda x: (0.5 * cos(x), 0.5 * sin(x)), s, lambda x: (0.3 * cos(x), 0.3 * sin(x)), r)
    direction = 0.7
    named = {x.name: x for x in eq.q}
    place = {
        "a.x": 0.1,
        "a.y": -0.2,
        "a.theta": 0.4,
        "b.x": 0.1 + 0.8 * np.cos(direction),
        "b.y": -0.2 + 0.8 * np.sin(direction),
        "b.theta": -0.9,
    }
    values = {named[k]: x for k, x in place.items()} | {s: direction - 0.4, r: direction + np.pi + 0.9}
    assert np.abs(evaluate([c.h for c in rows], values)).max() < 1e-12
    moved = values | {s: direction - 0.3}
    assert np.abs(evaluate([c.h for c in rows], moved)).max() > 1e-2
    on_circle = bc.point_on_curve(pair, lambda x: (0.8 * cos(x), 0.8 * sin(x), None), s)
    assert np.abs(evaluate([c.h for c in on_circle], values)).max() < 1e-12 and len(on_circle) == 2


def test_words() -> None:
    assert bc.explain("rod") == "rod = distance (1): 1 equation, 5 freedoms left"
    with pytest.raises(ModelError, match="kind 'helical' is no sum"):
        bc.explain("helical")
    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1)), axis="y")
    d = cartesian(m, "planar")
    table = bc.jacobian_by_name(d.equations, d.labels)
    assert sorted(table) == ["hinge[1]", "hinge[3]"] and sorted(table["hinge[1]"]) == ["bob.theta", "bob.x"]
