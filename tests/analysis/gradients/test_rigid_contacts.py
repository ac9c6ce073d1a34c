"""Gradients through rigid contacts: impacts, sliding, sticking and lifting with the active set held, against closed forms and differences of whole runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.gradients.runs import NotCarried

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
G = 9.81


def on_floor(law: Callable[[jd.Model], Any], shape: Any = None, axes: str = "xz", turns: bool = False, slope: float = 0.0) -> jd.Model:
    """A body on sliders along axes, which may turn about y, above a floor."""
    m = jd.Model("body", gravity=(G * np.sin(slope), 0, -G * np.cos(slope)))
    before: Any = m.ground
    for k, axis in enumerate(axes):
        last = k == len(axes) - 1 and not turns
        b = m.body("b" if last else f"slide_{axis}", mass=m.parameter("mass", 1.0) if last else 1e-12, inertia=(1, 1, 1) if last else None)
        m.prismatic(axis, before, b, axis=axis)
        before = b
    if turns:
        b = m.body("b", mass=m.parameter("mass", 1.0), inertia=(0.004, m.parameter("I", 0.004), 0.004))
        m.revolute("turn", before, b, axis="y")
        before = b
    before.add_collision(shape or jd.sphere(0.1))
    m.ground.add_collision(jd.plane())
    m.contact("floor", before, m.ground, law=law(m))
    return m


def both(m: jd.Model, start: dict[str, float], t: float, criteria: dict[str, Any], wrt: list[str], **options: Any) -> Any:
    """The gradient forwards, which is that of the adjoint to rounding."""
    run = jd.Analysis(m.compile(), "simulate", start, t=t, **(TIGHT | options))
    forward, adjoint = (run.gradient(criteria, wrt, method=n) for n in ("forward", "adjoint"))
    size = np.abs(forward.matrix).max(axis=1, keepdims=True) + 1e-9
    assert (np.abs(adjoint.matrix - forward.matrix) / size).max() < 1e-11
    return forward


def slopes(f: Callable[..., float], at: list[float]) -> list[float]:
    """Derivatives of a closed form."""
    found = []
    for j, x in enumerate(at):
        h = 1e-6 * max(abs(x), 1e-3)
        up, down = ([*at[:j], x + s * h, *at[j + 1 :]] for s in (1, -1))
        found.append((f(*up) - f(*down)) / (2 * h))
    return found


@pytest.mark.parametrize("method", ["dopri5", "rk4", "adams"])
def test_a_bouncing_ball(method: str) -> None:
    """After n impacts: tₙ = t₁ (1 + 2e + … + 2eⁿ⁻¹), speed eⁿ v; by height, restitution, gravity and radius."""

    def closed(h: float, e: float, g: float, r: float, T: float = 1.6) -> float:
        v, t = np.sqrt(2 * g * (h - r)), np.sqrt(2 * (h - r) / g)
        for _ in range(10):
            v *= e
            if t + 2 * v / g > T:
                return float(r + v * (T - t) - g * (T - t) ** 2 / 2)
            t += 2 * v / g
        raise AssertionError

    m = jd.Model("ball", gravity=(0, 0, -1.0))
    b = m.body("b", mass=m.parameter("mass", 2.0))
    z = m.prismatic("z", m.ground, b, axis="z")
    m.force(z, -m.parameter("mass_force", 2.0 * (G - 1.0)))
    b.add_collision(jd.sphere(m.parameter("r", 0.1)))
    m.ground.add_collision(jd.plane())
    m.contact("floor", b, m.ground, law=jd.contact.rigid(restitution=m.parameter("e", 0.7)))
    options = {"method": method, **({"step": 0.01} if method == "rk4" else {})}
    g = both(m, {"z.displacement": 1.1}, 1.6, {"end": cr.final("z.displacement")}, ["z.displacement", "e", "mass_force", "r"], **options)
    exact = slopes(closed, [1.1, 0.7, G, 0.1])
    exact[2] /= 2.0
    assert g.values["end"] == pytest.approx(closed(1.1, 0.7, G, 0.1), rel=1e-7)
    assert g.matrix[0] == pytest.approx(exact, rel=2e-6)


def test_restitution_that_depends_on_the_speed() -> None:
    """e = a/(1 + b v): one impact from a height h."""

    def closed(h: float, a: float, b: float, T: float = 0.7) -> float:
        v, t = np.sqrt(2 * G * h), np.sqrt(2 * h / G)
        rest = T - t
        return float(v * a / (1 + b * v) * rest - G * rest**2 / 2)

    m = jd.Model("ball", gravity=(0, 0, -G))
    ball = m.body("b", mass=1.0)
    m.prismatic("z", m.ground, ball, axis="z")
    ball.add_collision(jd.sphere(0.1))
    m.ground.add_collision(jd.plane())
    a, b = m.parameter("a", 0.9), m.parameter("fade", 0.05)
    m.contact("floor", ball, m.ground, law=jd.contact.rigid(restitution=lambda v: a / (1 + b * v)))
    g = both(m, {"z.displacement": 1.1}, 0.7, {"end": cr.final("z.displacement - 0.1")}, ["z.displacement", "a", "fade"])
    assert g.matrix[0] == pytest.approx(slopes(closed, [1.0, 0.9, 0.05]), rel=1e-6)


def test_sliding_to_rolling() -> None:
    """A ball that slides with v₀ rolls from t = v₀/(μ g (1 + m r²/I)) on with v = v₀/(1 + I/(m r²)), 5/7 of v₀ where it is full."""

    def closed(v: float, mu: float, I: float, T: float = 0.8, r: float = 0.1) -> float:
        t = v / (mu * G * (1 + r**2 / I))
        end = v - mu * G * t
        return float(v * t - mu * G * t**2 / 2 + end * (T - t))

    m = on_floor(lambda m: jd.contact.rigid(friction=m.parameter("mu", 0.2)), turns=True)
    start = {"z.displacement": 0.1, "x.displacement_rate": 2.0}
    criteria = {"x": cr.final("x.displacement"), "v": cr.final("x.displacement_rate"), "push": cr.integral("x.displacement_acc")}
    g = both(m, start, 0.8, criteria, ["x.displacement_rate", "mu", "I"])
    assert g["x"] == pytest.approx(slopes(closed, [2.0, 0.2, 0.004]), rel=1e-6)
    assert g["v", "x.displacement_rate"] == pytest.approx(5 / 7, rel=1e-9)
    assert g["push", "x.displacement_rate"] == pytest.approx(5 / 7 - 1, rel=1e-8)
    assert any("closed at the start" in n for n in g.notes)


def test_a_block_stops_on_a_slope() -> None:
    """Four corners slide down a slope with v₀ and stop: x = v₀²/(2 g (μ cos α − sin α))."""
    slope, mu = 0.2, 0.4
    m = on_floor(lambda m: jd.contact.rigid(friction=m.parameter("mu", mu)), jd.box(0.4, 0.3, 0.2), slope=slope)
    start = {"z.displacement": 0.1, "x.displacement_rate": 2.0}
    g = both(m, start, 1.5, {"x": cr.final("x.displacement"), "mid": cr.at(0.3, "x.displacement")}, ["x.displacement_rate", "mu"])
    brake = G * (mu * np.cos(slope) - np.sin(slope))
    assert g.matrix[0] == pytest.approx([2.0 / brake, -2.0 * G * np.cos(slope) / brake**2], rel=1e-6)
    assert g.matrix[1] == pytest.approx([0.3, -G * np.cos(slope) * 0.3**2 / 2], rel=1e-7)


def test_two_balls() -> None:
    """An oblique impact with restitution: impulses along the line of centres alone."""

    def closed(v: float, e: float, a: float, b: float, y: float, T: float = 0.6) -> float:
        t = (1.0 - np.sqrt(0.2**2 - y**2)) / v
        n = np.array([-np.sqrt(0.2**2 - y**2), -y]) / 0.2  # from the second to the first
        p = -(1 + e) * v * n[0] / (1 / a + 1 / b)
        return float(1.0 - p * n[0] / b * (T - t) + 2.0 * (y - p * n[1] / b * (T - t)))

    m = jd.Model("two", gravity=(0, 0, 0))
    balls = []
    for i, mass in enumerate((1.0, 2.0)):
        slide, ball = m.body(f"slide{i}", mass=1e-12), m.body(f"b{i}", mass=m.parameter(f"m{i}", mass))
        m.prismatic(f"x{i}", m.ground, slide, axis="x")
        m.prismatic(f"y{i}", slide, ball, axis="y")
        ball.add_collision(jd.sphere(0.1))
        balls.append(ball)
    m.contact("hit", *balls, law=jd.contact.rigid(restitution=m.parameter("e", 0.8)))
    start = {"x0.displacement_rate": 3.0, "x1.displacement": 1.0, "y1.displacement": 0.05}
    wrt = ["x0.displacement_rate", "e", "m0", "m1", "y1.displacement"]
    g = both(m, start, 0.6, {"x": cr.final("x1.displacement + 2*y1.displacement")}, wrt)
    assert g.values["x"] == pytest.approx(closed(3.0, 0.8, 1.0, 2.0, 0.05), rel=1e-9)
    assert g.matrix[0] == pytest.approx(slopes(closed, [3.0, 0.8, 1.0, 2.0, 0.05]), rel=1e-6)


@pytest.mark.parametrize("axes", ["xz", "xyz"])
def test_a_pull_that_grows_lets_slip(axes: str) -> None:
    """F = k t pulls a block that rests until k t = μ₀ m g: then m ẍ = k t − μ m g."""

    def closed(k: float, mu: float, rest: float, mass: float, T: float = 1.0) -> float:
        t = rest * mass * G / k
        s = T - t
        return float(((rest - mu) * G * s**2 / 2) + k * s**3 / (6 * mass))

    m = on_floor(lambda m: jd.contact.rigid(friction=m.parameter("mu", 0.3), static=m.parameter("held", 0.4)), axes=axes)
    pull = m.parameter("k", 8.0)
    ways = {"xz": {"x": 1.0}, "xyz": {"x": 0.8, "y": 0.6}}[axes]
    for axis, part in ways.items():
        m.force(m.joints[axis], part * pull * m.time)
    along = " + ".join(f"{part}*{axis}.displacement" for axis, part in ways.items())
    g = both(m, {"z.displacement": 0.1}, 1.0, {"x": cr.final(along)}, ["k", "mu", "held", "mass"])
    exact = slopes(closed, [8.0, 0.3, 0.4, 1.0])
    assert g.matrix[0] == pytest.approx(exact, rel=2e-5 if axes == "xyz" else 1e-6)


def test_a_lift_that_grows_lets_go() -> None:
    """F = k t lifts a ball from the floor where k t = m g: z = k (t − m g/k)³/(6 m)."""
    m = on_floor(lambda m: jd.contact.rigid(), axes="z")
    m.force(m.joints["z"], m.parameter("k", 12.0) * m.time)
    g = both(m, {"z.displacement": 0.1}, 1.2, {"z": cr.final("z.displacement - 0.1")}, ["k", "mass"])
    closed = lambda k, mass, T=1.2: k * (T - mass * G / k) ** 3 / (6 * mass)
    assert g.values["z"] == pytest.approx(closed(12.0, 1.0), rel=1e-6)
    assert g.matrix[0] == pytest.approx(slopes(closed, [12.0, 1.0]), rel=1e-6)


def test_a_stop_of_a_joint() -> None:
    """A mass on a spring strikes a stop at its middle: after it the amplitude is e times as large."""
    m = jd.Model("stop", gravity=(0, 0, 0))
    b = m.body("b", mass=m.parameter("mass", 2.0))
    x = m.prismatic("x", m.ground, b, axis="x", limits=(None, 0.0))
    m.stops(joints=[x], law=jd.contact.rigid(restitution=m.parameter("e", 0.6)))
    m.joint_spring(x, m.parameter("c", 50.0))
    g = both(m, {"x.displacement": -0.5}, 0.6, {"x": cr.final("x.displacement")}, ["c", "mass", "e", "x.displacement"])
    closed = lambda c, mass, e, start, T=0.6: e * start * np.sin(np.sqrt(c / mass) * T - np.pi / 2)
    assert g.values["x"] == pytest.approx(closed(50.0, 2.0, 0.6, -0.5), rel=1e-8)
    assert g.matrix[0] == pytest.approx(slopes(closed, [50.0, 2.0, 0.6, -0.5]), rel=1e-6)


def test_a_ball_tied_to_a_slide() -> None:
    """x = k z ties a slide to a ball: it falls with g m/(m + M k²), and bounces with its own e."""

    def closed(m: float, M: float, k: float, e: float, T: float = 0.9) -> float:
        g = G * m / (m + M * k**2)
        v, t = np.sqrt(2 * g * 0.5), np.sqrt(2 * 0.5 / g)
        while t + 2 * e * v / g < T:
            v, t = e * v, t + 2 * e * v / g
        return float(e * v * (T - t) - g * (T - t) ** 2 / 2)

    m = jd.Model("tied", gravity=(0, 0, -G))
    ball, slide = m.body("ball", mass=m.parameter("m", 2.0)), m.body("slide", mass=m.parameter("M", 1.5))
    z, x = m.prismatic("z", m.ground, ball, axis="z"), m.prismatic("x", m.ground, slide, axis="x")
    m.constraint("tie", x.position - m.parameter("k", 0.5) * z.position)
    ball.add_collision(jd.sphere(0.1))
    m.ground.add_collision(jd.plane())
    m.contact("floor", ball, m.ground, law=jd.contact.rigid(restitution=m.parameter("e", 0.7)))
    criteria = {"z": cr.final("z.displacement - 0.1"), "push": cr.at(0.2, "x.displacement_acc")}
    g = both(m, {"z.displacement": 0.6}, 0.9, criteria, ["m", "M", "k", "e"])
    assert g.values["z"] == pytest.approx(closed(2.0, 1.5, 0.5, 0.7), rel=1e-7)
    assert g["z"] == pytest.approx(slopes(closed, [2.0, 1.5, 0.5, 0.7]), rel=1e-6)
    pull = lambda m, M, k, e: -k * G * m / (m + M * k**2)
    assert g["push"] == pytest.approx(slopes(pull, [2.0, 1.5, 0.5, 0.7]), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("driven", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_loop_that_lands(driven: bool) -> None:
    """A four-bar with two feet falls onto a floor: one foot and then both, sliding, sticking, lifting; its crank is driven, or on a spring."""
    m = jd.Model("walker", gravity=(0, 0, -G))
    base, link, other = (m.body(n, mass=m.parameter(f"m_{n}", x), com=c, inertia=(0.01, m.parameter(f"I_{n}", 0.01), 0.01)) for n, x, c in (("base", 1.5, (0.2, 0, 0)), ("link", 0.4, (0, 0, -0.15)), ("other", 0.4, (0, 0, -0.15))))  # fmt: skip
    frame, foot, H = (
        m.body("frame", mass=1e-9),
        m.body("foot", mass=0.3, com=(0.2, 0, 0), inertia=(0.001, 0.004, 0.004)),
        m.parameter("H", 0.3),
    )
    slide = m.body("slide", mass=1e-9)
    m.prismatic("x", m.ground, slide, axis="x")
    m.prismatic("z", slide, frame, axis="z")
    m.revolute("turn", frame, base, axis="y")
    crank = m.revolute("crank", base, link, axis="y")
    m.revolute("rocker", base.at(0.4, 0, 0), other, axis="y")
    m.revolute("knee", link.at(0, 0, -H), foot, axis="y")
    m.close("pin", foot.at(0.4, 0, 0), other.at(0, 0, -H), "revolute", axis="y")
    swing = m.parameter("swing", 0.3 if driven else 8.0)
    m.drive(crank, 0.2 + swing * jd.sin(12 * m.time)) if driven else m.joint_spring(crank, swing, damping=0.05)
    for at in (-0.03, 0.43):
        foot.add_collision(jd.sphere(0.03).at(at, 0, -0.02))
    m.ground.add_collision(jd.plane())
    m.contact("sole", foot, m.ground, law=jd.contact.rigid(friction=m.parameter("mu", 0.9 if driven else 0.4)))
    start = {"z.displacement": 0.37, "x.displacement_rate": 0.6, "turn.angle": 0.05}
    if not driven:
        start |= {"crank.angle": 0.2, "crank.angle_rate": 0.5}
    criteria = {"end": cr.final("x.displacement"), "way": cr.integral("turn.angle_rate^2"), "push": cr.at(0.25, "x.displacement_acc")}
    wrt = ["swing", "turn.angle"] if driven else ["m_base", "I_link", "H", "swing", "mu", "x.displacement_rate", "turn.angle"]
    g = both(m, start, 0.6 if driven else 0.5, criteria, wrt)
    g.check(1e-5)
    assert len(g.result.contacts._run._history) > 2


@pytest.mark.parametrize(
    "wrt", [["mu", "e"], pytest.param(["mu", "e", "mass", "j.z", "j.x_rate", "j.orientation.omega_x"], marks=pytest.mark.slow)]
)
def test_a_ball_in_space(wrt: list[str]) -> None:
    """Thrown with a spin: impacts that slide along a way of their own, ever faster ones, sliding and rolling at last; quaternions; against whole runs."""
    m = jd.Model("ball", gravity=(0, 0, -G))
    b = m.body("b", mass=m.parameter("mass", 1.0), inertia=(0.004,) * 3)
    m.free("j", m.ground, b)
    b.add_collision(jd.sphere(0.1))
    m.ground.add_collision(jd.plane())
    m.contact("floor", b, m.ground, law=jd.contact.rigid(friction=m.parameter("mu", 0.15), restitution=m.parameter("e", 0.3)))
    start = {"j.z": 0.4, "j.x_rate": 2.0, "j.y_rate": 0.7, "j.orientation.omega_x": 3.0, "j.orientation.omega_z": 2.0}
    criteria = {"x": cr.final("j.x"), "y": cr.final("j.y"), "spin": cr.integral("j.x_rate*j.orientation.omega_y")}
    g = both(m, start, 0.9, criteria, wrt)
    g.check(1e-5)
    assert any("ever faster" in n for n in g.notes)


def test_what_is_not_carried_is_told() -> None:
    m = on_floor(lambda m: jd.contact.rigid(friction=0.3), jd.cylinder(0.1, 0.2))
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.15}, t=0.3)
    with pytest.raises(NotCarried, match="a cylinder on a plane, which is not carried yet"):
        run.gradient({"z": cr.final("z.displacement")}, ["mass"], method="adjoint")
    m = on_floor(lambda m: jd.contact.rigid(friction=0.3, rolling=0.01), turns=True)
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.15}, t=0.3)
    with pytest.raises(NotCarried, match="couples against rolling"):
        run.gradient({"z": cr.final("z.displacement")}, ["mass"], method="adjoint")
    m = on_floor(lambda m: jd.contact.rigid())
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.15}, t=0.1)
    with pytest.raises(NotCarried, match="reads 'z.reaction.z' beside rigid contacts, whose forces it transmits"):
        run.gradient({"z": cr.final("z.reaction.z")}, ["mass"], method="adjoint")
    with pytest.raises(jd.InputError, match="knows no (rigid )?contacts"):
        run.evaluate({"z": cr.final("z.reaction.z")})
    with pytest.raises(jd.InputError, match="reads forces of contact|Fz"):
        run.gradient({"z": cr.final("floor.b.Fz")}, ["mass"], method="adjoint")


@pytest.mark.parametrize(
    "law, method",
    [(jd.contact.rigid(friction=0.3), given) for given in ({"method": "moreau", "step": 1e-3}, {"method": "dopri5"}, {"method": "dop853"})]
    + [(jd.contact.linear(1e4), {"method": "dopri5"}), (jd.contact.linear(1e4), {"method": "radau"})],
    ids=str,
)
def test_bodies_that_are_moved_apart_at_the_start_are_not_differentiated(law: Any, method: dict[str, Any]) -> None:
    """A ball that slides where it is put onto the floor: its way has nothing of the height that it was given; 0.3 came of it."""
    m = jd.Model("ball")
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)))
    m.contact("floor", law=law)
    s, way, wrt = m.compile(), {"way": cr.final("f.x")}, ["f.z", "f.x_rate"]
    run = jd.Analysis(s, "simulate", {"f.z": 0.03, "f.x_rate": 0.5}, t=0.1, overlap="push apart", **method)
    with pytest.raises(NotCarried, match=r"moved apart, which is not differentiated.*method='differences'"):
        run.gradient(way, wrt=wrt)
    found = run.gradient(way, wrt=wrt, method="differences")["way"]
    apart = jd.Analysis(s, "simulate", {"f.z": 0.3, "f.x_rate": 0.5}, t=0.05, overlap="push apart", **method)
    assert abs(found[0]) < 1e-9 and found[1] > 0.08
    np.testing.assert_allclose(apart.gradient(way, wrt=wrt)["way"], [0.0, 0.05], atol=1e-9)  # it has not fallen onto the floor yet
