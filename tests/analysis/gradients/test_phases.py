"""Gradients of runs in which joints let go and engage: closed forms, and differences of runs by the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library
from jourdain.analysis.gradients.runs import NotCarried

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
#: Options of compile and of simulate.
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dopri5": ({}, TIGHT),
    "rk4": ({}, {"method": "rk4", "step": 0.02}),
    "radau": ({}, {"method": "radau", **TIGHT}),
    "adams": ({}, {"method": "adams", **TIGHT}),
    "cartesian": ({"formulation": "cartesian"}, TIGHT),
    "natural": ({"formulation": "natural"}, TIGHT),
    "directors": ({"formulation": "directors"}, {"step": 2e-3}),
}


def carts() -> jd.Model:
    """Two carts that couple where they meet, and part again at a given place; a push acts on the second while it is alone."""
    m = jd.Model("carts", gravity=(0, 0, 0))
    a, b = m.body("a", mass=m.parameter("ma", 2.0)), m.body("b", mass=m.parameter("mb", 3.0))
    ra, rb = (m.prismatic(n, m.ground, body, axis="x") for n, body in (("ra", a), ("rb", b)))
    between = rb.position - ra.position - m.parameter("gap", 0.5)
    coupling = m.constraint("coupling", between)
    m.release(coupling)
    m.event("couple", between, direction=-1, engage=coupling)
    m.event("part", ra.position - m.parameter("place", 3.0), direction=1, release=coupling)
    m.force(rb, jd.where(m.engaged(coupling) > 0.5, 0.0, m.parameter("F", 1.5)))
    return m


def both(run: jd.Analysis, criteria: dict[str, Any], wrt: list[str], **more: Any) -> Any:
    """The adjoint gradient, equal to the forward one."""
    forward, adjoint = (run.gradient(criteria, wrt, method=n, **more) for n in ("forward", "adjoint"))
    scale = np.abs(forward.matrix).max(axis=1, keepdims=True) + 1e-300
    assert (np.abs(forward.matrix - adjoint.matrix) / scale).max() < 1e-11
    return adjoint


@pytest.mark.parametrize("way", WAYS)
def test_carts_that_couple_and_part(way: str) -> None:
    """An impact without rebound where they meet at v_a t = x_b − gap + F t²/(2 m_b), together to the place, then b is pushed again."""

    def closed(ma: float, mb: float, gap: float, place: float, F: float, xb: float, va: float) -> np.ndarray:
        a, T = F / (2 * mb), 4.0
        met = (va - np.sqrt(va**2 - 4 * a * (xb - gap))) / (2 * a)
        v = (ma * va + F * met) / (ma + mb)
        parted = met + (place - va * met) / v
        way = va**2 * met + v**2 * (T - met)
        return np.array([place + gap + v * (T - parted) + a * (T - parted) ** 2, way, parted])

    compiled, given = WAYS[way]
    run = jd.Analysis(carts().compile(**compiled), "simulate", {"rb.displacement": 2.0, "ra.displacement_rate": 2.0}, t=4.0, **given)
    criteria = {"end": cr.final("rb.displacement"), "way": cr.integral("ra.displacement_rate^2"), "parted": cr.event_time("part")}
    wrt = ["ma", "mb", "gap", "place", "F", "rb.displacement", "ra.displacement_rate"]
    for at, changes in (([2.0, 3.0, 0.5, 3.0, 1.5, 2.0, 2.0], {}), ([2.3, 3.0, 0.5, 2.9, 1.5, 2.0, 2.0], {"ma": 2.3, "place": 2.9})):
        g = both(run, criteria, wrt, values=changes)
        h = 1e-5 * np.eye(7)
        exact = np.array([(closed(*(at + e)) - closed(*(at - e))) / 2e-5 for e in h]).T
        assert np.array(list(g.values.values())) == pytest.approx(closed(*at), rel=1e-7)
        assert g.matrix == pytest.approx(exact, rel=2e-7, abs=2e-8)


def catch() -> jd.Model:
    """A double pendulum in space whose end is caught by a plane in which it goes on sliding, and let go again."""
    m = jd.Model("catch")
    arm = m.body("arm", mass=m.parameter("mass", 1.2), com=(0, 0, -0.4), inertia=(0.03, 0.03, 0.005))
    tip = m.body("tip", mass=0.5, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.002))
    m.spherical("s", m.ground, arm)
    j = m.revolute("j", arm.at(0, 0, -m.parameter("L", 0.8)), tip, axis=(0.2, 1, 0))
    away = m.sensor("bob", tip.at(0, 0, -0.4)).x - m.parameter("wall_x", 0.3)
    wall = m.constraint("wall", away)
    m.release(wall)
    m.event("caught", away, direction=1, engage=wall)
    m.event("off", m.time - m.parameter("late", 0.6), direction=1, release=wall)
    m.joint_spring(j, m.parameter("c", 3.0), damping=0.1)
    return m


@pytest.mark.parametrize("method", ["dopri5", "rk4"])
def test_a_catch_in_space(method: str) -> None:
    start = {"j.angle": -0.3, "j.angle_rate": -0.5, "s.orientation.omega_y": -1.2, "s.orientation.omega_x": 0.4}
    options = {"method": method, **({"step": 2e-3} if method == "rk4" else TIGHT)}
    run = jd.Analysis(catch().compile(), "simulate", start, t=0.8, **options)
    criteria = {"end": cr.final("j.angle"), "low": cr.integral("bob.z"), "push": cr.integral("j.angle_acc^2")}
    g = both(run, criteria, ["mass", "L", "wall_x", "late", "c", "j.angle", "j.angle_rate"])
    assert [p["released"] for p in g.result.metadata["phases"]] == [["wall"], [], ["wall"]]
    others = run.gradient(criteria, list(g.variables), method="differences")
    size = np.maximum(np.abs(g.matrix), 1e-2 * np.abs(g.matrix).max(axis=1, keepdims=True))
    assert (np.abs(g.matrix - others.matrix) / size).max() < 1e-6


@pytest.mark.parametrize("way", ["dopri5", "radau"])
@pytest.mark.parametrize("law", ["instant", "place", "bend"])
def test_laws_that_jump_and_bend_in_phases(law: str, way: str) -> None:
    """A torque that is switched on the way of a slider-crank whose pin lets go: derivatives of runs that meet the switch, too."""
    m = library.slider_crank()
    crank, at, F = m.joints["crank"], m.parameter("at", 0.0575 if law == "instant" else 0.7), m.parameter("F", 0.006)
    m.event("part", crank.position - m.parameter("when", 0.9), direction=1, release=m.constraints["pin"])
    switched = {
        "instant": jd.where(m.time > at, F, -0.003),
        "place": jd.where(crank.position > at, F, -0.003),
        "bend": F * abs(crank.position - at),
    }
    m.force(crank, switched[law])
    compiled, given = WAYS[way]
    run = jd.Analysis(m.compile(**compiled), "simulate", {"crank.angle": 0.5, "crank.angle_rate": 3.5}, t=0.25, **given)
    criteria, wrt = (
        {"rate": cr.final("crank.angle_rate"), "way": cr.integral("piston.displacement_rate^2")},
        ["when", "crank_length", "at", "F"],
    )
    g = both(run, criteria, wrt)
    assert (
        len(g.result.metadata["phases"]) == 2 and len(g.switches) == 1
    )  # beside memories, here whether the pin is engaged, bends count as jumps
    h = 1e-5
    for j, name in enumerate(wrt):
        up, down = (run.gradient(criteria, ["F"], values={name: g.variables[name] + x}).values for x in (h, -h))
        others = np.array([(up[n] - down[n]) / (2 * h) for n in criteria])
        assert g.matrix[:, j] == pytest.approx(others, rel=2e-5, abs=1e-5 * np.abs(g.matrix).max()), name


def test_what_phases_do_not_carry_is_told() -> None:
    run = jd.Analysis(carts().compile(), "simulate", {"rb.displacement": 2.0, "ra.displacement_rate": 2.0}, t=4.0)
    with pytest.raises(NotCarried, match="reads 'ra.reaction.y' in a run in which joints let go"):
        run.gradient({"f": cr.final("ra.reaction.y")}, ["ma"], method="adjoint")
    with pytest.raises(jd.InputError, match=r"joints let go|events"):
        run.hessian({"x": cr.final("rb.displacement")}, ["ma"])
    m = carts()
    for name in "ab":
        m.bodies[name].add_collision(jd.sphere(0.1))
    m.contact("touch", m.bodies["a"], m.bodies["b"], law=jd.contact.rigid())
    with pytest.raises(NotCarried, match="rigid contact 'touch' beside joints that let go"):
        jd.Analysis(m.compile(), "simulate", {"rb.displacement": 2.0, "ra.displacement_rate": 2.0}, t=0.1).gradient(
            {"x": cr.final("rb.displacement")}, ["ma"], method="adjoint"
        )


@pytest.mark.parametrize("way", ["dopri5", pytest.param("radau", marks=pytest.mark.slow)])
def test_a_ball_that_is_caught_while_it_touches_the_floor(way: str) -> None:
    """It falls, slides and couples with a cart on a spring: contacts by penalty before and behind."""
    m = jd.Model("catch")
    b, c = m.body("ball", mass=m.parameter("mb", 0.5), inertia=(2e-3, 2e-3, 2e-3)), m.body("cart", mass=m.parameter("mc", 1.0))
    ball, cart = m.planar("ball", m.ground, b, plane="xz"), m.prismatic("cart", m.ground, c, axis="x")
    m.joint_spring(cart, m.parameter("k", 30.0), damping=1.0)
    b.add_collision(jd.sphere(0.1))
    m.ground.add_collision(jd.plane())
    rub = jd.contact.regularised(m.parameter("mu", 0.3), 0.05)
    m.contact(
        "floor", b, m.ground, law=jd.contact.hunt_crossley(stiffness=m.parameter("K", 5e3), damping=m.parameter("loss", 0.3), friction=rub)
    )
    between = cart.position - ball.coordinates[0].q[0] + m.parameter("gap", 0.25)
    coupling = m.constraint("coupling", between)
    m.release(coupling)
    m.event("couple", between, direction=-1, engage=coupling)
    start = {"ball.z": 0.102, "ball.x_rate": 1.5}
    run = jd.Analysis(m.compile(), "simulate", start, t=0.4, **WAYS[way][1])
    assert len(run.run().metadata["phases"]) == 2
    criteria = {"x": cr.final("ball.x"), "turn": cr.final("ball.angle"), "way": cr.integral("'cart.displacement_rate'^2")}
    g = both(run, criteria, ["mb", "mc", "k", "K", "loss", "mu", "gap", *start])
    for j, (name, at) in enumerate(g.variables.items()):
        h = 1e-4 * max(abs(at), 0.1)
        up, down = (run.evaluate(criteria, {name: at + x}) for x in (h, -h))
        others = np.array([(up[n] - down[n]) / (2 * h) for n in criteria])
        assert g.matrix[:, j] == pytest.approx(others, rel=1e-3, abs=1e-4 * np.abs(g.matrix).max()), name
