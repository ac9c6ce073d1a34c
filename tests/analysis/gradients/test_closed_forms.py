"""Gradients of motions against closed forms: oscillators, falling and bouncing masses, switches of force laws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.gradients.simulated import GradientWarning

BOTH = pytest.mark.parametrize("method", ["forward", "adjoint"])
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def slider(name: str = "mass", gravity: float = 0.0) -> tuple[jd.Model, jd.Joint]:
    m = jd.Model(name, gravity=(0, 0, -gravity))
    return m, m.prismatic("z", m.ground, m.body("mass", mass=m.parameter("m", 2.0, "kg")), axis="z")


def oscillator() -> jd.Model:
    m, z = slider()
    m.joint_spring(z, m.parameter("k", 50.0, "N/m"), damping=m.parameter("c", 1.0, "N s/m"))
    return m


@BOTH
def test_free_vibration(method: str) -> None:
    run = jd.Analysis(oscillator().compile(), "simulate", {"z.displacement": 0.3, "z.displacement_rate": -0.2}, t=2.0, **TIGHT)
    m, k, c, x0, v0 = 2.0, 50.0, 1.0, 0.3, -0.2

    def x(t: float, m: float, k: float, c: float, x0: float, v0: float) -> complex:
        d = c / (2 * m)
        w = np.emath.sqrt(k / m - d * d)
        return np.exp(-d * t) * (x0 * np.cos(w * t) + (v0 + d * x0) / w * np.sin(w * t))

    wrt = ["m", "k", "c", "z.displacement", "z.displacement_rate"]
    g = run.gradient({"end": cr.final("z.displacement"), "at": cr.at(0.77, "z.displacement")}, wrt, method=method)
    for row, t in ((g["end"], 2.0), (g["at"], 0.77)):
        values = [m, k, c, x0, v0]
        wanted = [np.imag(x(t, *[p + 1e-20j * (i == j) for i, p in enumerate(values)])) / 1e-20 for j in range(5)]
        assert row == pytest.approx(wanted, rel=1e-9, abs=1e-11)


@BOTH
def test_the_comfort_integral_of_an_oscillator(method: str) -> None:
    """∫ẍ² dt of x″ + c x′ + k x = 0 from x = 0, x′ = 1 is c/2 + k/(2c)."""
    m, z = slider()
    k, c = m.parameter("k", 4.0), m.parameter("c", 3.0)
    m.joint_spring(z, 2.0 * k, damping=2.0 * c)  # of a mass of 2 kg
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement_rate": 1.0}, t=40.0, **TIGHT)
    g = run.gradient({"f": cr.integral("z.displacement_acc^2")}, ["k", "c"], method=method)
    assert g.values["f"] == pytest.approx(3.0 / 2 + 4.0 / 6, rel=1e-10)
    assert g["f"] == pytest.approx([1 / 6.0, 0.5 - 4.0 / 18], rel=1e-9)


@BOTH
def test_a_falling_mass(method: str) -> None:
    """The time of a fall is √(2H/g); criteria that end with it."""
    m, z = slider(gravity=9.81)
    m.event("ground", z.position + m.parameter("H", 3.0, "m"), direction=-1, terminal=True)
    run = jd.Analysis(m.compile(), "simulate", {}, t=5.0, **TIGHT)
    H, g0 = 3.0, 9.81
    T = np.sqrt(2 * H / g0)
    criteria = {
        "T": cr.end_time(),
        "event": cr.event_time("ground"),
        "v": cr.final("z.displacement_rate"),
        "area": cr.integral("z.displacement"),
        "mean": cr.mean("z.displacement"),
        "rms": cr.rms("z.displacement_rate"),
        "fastest": cr.smallest("z.displacement_rate"),
    }
    g = run.gradient(criteria, ["H", "gravity_z", "m", "initial:z.displacement_rate"], method=method)
    by_g = -1.0  # gravity_z is −g
    assert g["T"] == pytest.approx([T / (2 * H), by_g * -T / (2 * g0), 0.0, 1 / g0], rel=1e-9, abs=1e-12)
    assert g["event"] == pytest.approx(g["T"], rel=1e-13, abs=1e-15)
    assert g["v"] == pytest.approx([-g0 / (g0 * T), by_g * -H / (g0 * T), 0.0, 0.0], rel=1e-9, abs=1e-11)
    assert g["fastest"] == pytest.approx(g["v"], rel=1e-12, abs=1e-12)
    assert g["area"][:2] == pytest.approx([-g0 * T**2 / 2 * T / (2 * H), by_g * (-(T**3) / 6 + g0 * T**2 / 2 * T / (2 * g0))], rel=1e-9)
    assert g["mean"][:2] == pytest.approx([-1 / 3, 0.0], rel=1e-9, abs=1e-11)
    assert g["rms"][:2] == pytest.approx([np.sqrt(g0 * 2 / 3) / (2 * np.sqrt(H)), by_g * np.sqrt(2 * H / 3) / (2 * np.sqrt(g0))], rel=1e-9)


@BOTH
def test_a_bouncing_ball(method: str) -> None:
    """Height, speed and time of the n-th impact from H with restitution e."""
    m, z = slider(gravity=9.81)
    e = m.parameter("e", 0.8)
    m.event("bounce", z.position, direction=-1, jump={z.velocity: -e * z.velocity})
    H, g0, r = 1.5, 9.81, 0.8
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": H}, t=2.6, **TIGHT)
    n = len(run.run().events)
    assert n == 3
    g = run.gradient({"time": cr.event_time("bounce", n), "height": cr.final("z.displacement")}, ["e", "z.displacement"], method=method)

    def when(e: complex, H: complex) -> complex:
        return np.sqrt(2 * H / g0) * (1 + 2 * sum(e**i for i in range(1, n)))

    def height(e: complex, H: complex) -> complex:
        dt = 2.6 - when(e, H)
        return e**n * np.sqrt(2 * g0 * H) * dt - 0.5 * g0 * dt**2

    for name, f in (("time", when), ("height", height)):
        wanted = [np.imag(f(r + 1e-20j, H)) / 1e-20, np.imag(f(r, H + 1e-20j)) / 1e-20]
        assert g[name] == pytest.approx(wanted, rel=1e-8), name


@BOTH
def test_a_force_that_is_switched_by_a_place(method: str) -> None:
    """The rate jumps where nothing else does: a mass that is pushed until it passes a line; saltation by hand."""
    m, z = slider()
    F, a = m.parameter("F", 4.0, "N"), m.parameter("a", 0.5, "m")
    m.force(z, jd.where(z.position < a, F, 0.0))
    m.event("line", z.position - a)
    run = jd.Analysis(m.compile(), "simulate", {}, t=2.0, **TIGHT)
    g = run.gradient({"x": cr.final("z.displacement"), "v": cr.final("z.displacement_rate")}, ["F", "a", "m"], method=method)

    def x(F: complex, a: complex, m: complex) -> complex:
        tau = np.sqrt(2 * a * m / F)
        return a + F / m * tau * (2.0 - tau)

    def v(F: complex, a: complex, m: complex) -> complex:
        return np.sqrt(2 * a * F / m)

    for name, f in (("x", x), ("v", v)):
        values = [4.0, 0.5, 2.0]
        wanted = [np.imag(f(*[p + 1e-20j * (i == j) for i, p in enumerate(values)])) / 1e-20 for j in range(3)]
        assert g[name] == pytest.approx(wanted, rel=1e-8), name


@BOTH
def test_the_period_of_a_pendulum(method: str) -> None:
    """T = 4√(l/g) K(sin α/2) at the second passage of the lowest point; dK/dk = E/(k(1 − k²)) − K/k."""
    from scipy.special import ellipe, ellipk

    m = jd.Model("pendulum")
    length = m.parameter("l", 0.7, "m")
    bob = m.body("bob", mass=1.0, com=(0, 0, -length))
    hinge = m.revolute("hinge", m.ground, bob, axis="y")
    m.event("low", hinge.position, direction=1)
    alpha, g0, l0 = 2.0, 9.81, 0.7
    run = jd.Analysis(m.compile(), "simulate", {"hinge.angle": alpha}, t=4.0, **TIGHT)
    g = run.gradient({"T": cr.event_time("low")}, ["l", "hinge.angle"], method=method)
    k = np.sin(alpha / 2)
    T = 3 * np.sqrt(l0 / g0) * ellipk(k * k)
    by_k = ellipe(k * k) / (k * (1 - k * k)) - ellipk(k * k) / k
    assert g.values["T"] == pytest.approx(T, rel=1e-9)
    assert g["T"] == pytest.approx([T / (2 * l0), 3 * np.sqrt(l0 / g0) * by_k * np.cos(alpha / 2) / 2], rel=1e-8)


def test_a_grazing_event_is_told_and_a_touching_one_refused() -> None:
    m, z = slider()
    m.joint_spring(z, 50.0)
    m.event("top", z.position - m.parameter("h", 0.3 * (1.0 - 1e-14), "m"))
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement_rate": 1.5}, t=0.6, **TIGHT)
    if len(run.run().events):
        with pytest.warns(GradientWarning, match="grazes"):
            g = run.gradient({"x": cr.final("z.displacement")}, ["h"])
        assert np.isfinite(g.matrix).all()


def braked(law: str) -> jd.Model:
    """A mass thrown against dry friction and a spring: its velocity changes sign inside the run."""
    m, z = slider()
    F = m.parameter("F", 3.0, "N")
    m.joint_spring(z, m.parameter("k", 50.0, "N/m"))
    v = z.velocity
    friction = {"where": jd.where(v > 0, F, -F), "sign": F * jd.sign(v)}[law]
    m.force(z, -friction, name="friction")
    return m


@BOTH
@pytest.mark.parametrize("law", ["where", "sign"])
def test_dry_friction_without_an_event(method: str, law: str) -> None:
    """x = −F/k + A cos(ωt + φ) until it turns, then about +F/k; plain differentiation misses the turning point."""
    run = jd.Analysis(braked(law).compile(), "simulate", {"z.displacement": 0.1, "z.displacement_rate": 2.0}, t=0.8, **TIGHT)
    g = run.gradient({"x": cr.final("z.displacement"), "I": cr.integral("z.displacement")}, ["F", "k", "m"], method=method)
    assert len(g.switches) == 1

    def x(F: complex, k: complex, m: complex) -> complex:
        w, x0, v0 = np.sqrt(k / m), 0.1, 2.0
        tau = np.arctan(v0 / (w * (x0 + F / k))) / w
        top = -F / k + (x0 + F / k) * np.cos(w * tau) + v0 / w * np.sin(w * tau)
        return F / k + (top - F / k) * np.cos(w * (0.8 - tau))

    values = [3.0, 50.0, 2.0]
    wanted = [np.imag(x(*[p + 1e-20j * (i == j) for i, p in enumerate(values)])) / 1e-20 for j in range(3)]
    assert g["x"] == pytest.approx(wanted, rel=1e-7)


@BOTH
def test_a_force_that_is_switched_without_an_event(method: str) -> None:
    """The same as with an event, and the integral of what is switched."""
    m, z = slider()
    F, a = m.parameter("F", 4.0, "N"), m.parameter("a", 0.5, "m")
    m.force(z, jd.where(z.position < a, F, 0.0))
    m.output("push", jd.where(z.position < a, F, 0.0))
    run = jd.Analysis(m.compile(), "simulate", {}, t=2.0, **TIGHT)
    g = run.gradient({"x": cr.final("z.displacement"), "impulse": cr.integral("push")}, ["F", "a", "m"], method=method)

    def x(F: complex, a: complex, m: complex) -> complex:
        tau = np.sqrt(2 * a * m / F)
        return a + F / m * tau * (2.0 - tau)

    def impulse(F: complex, a: complex, m: complex) -> complex:
        return np.sqrt(2 * a * m * F)

    for name, f in (("x", x), ("impulse", impulse)):
        values = [4.0, 0.5, 2.0]
        wanted = [np.imag(f(*[p + 1e-20j * (i == j) for i, p in enumerate(values)])) / 1e-20 for j in range(3)]
        assert g[name] == pytest.approx(wanted, rel=1e-7), name


@BOTH
def test_an_integrand_that_is_switched(method: str) -> None:
    """The time above a line: ∫ where(x > a, 1, 0) dt of a thrown mass."""
    m, _ = slider(gravity=9.81)
    m.parameter("a", 0.3, "m")
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement_rate": 4.0}, t=0.8, **TIGHT)
    g = run.gradient({"above": cr.integral("where(z.displacement > a, 1, 0)")}, ["a", "z.displacement_rate"], method=method)
    root = np.sqrt(16.0 - 2 * 9.81 * 0.3)
    assert g.values["above"] == pytest.approx(2 * root / 9.81, rel=1e-9)
    assert g["above"] == pytest.approx([-2 / root, 2 * 4.0 / (9.81 * root)], rel=1e-8)
    assert len(g.switches) == 2


WAYS = {
    "dopri5": ("recursive", {"method": "dopri5", "rtol": 1e-8, "atol": 1e-10}, 1e-6),
    "dop853": ("recursive", {"method": "dop853", "rtol": 1e-8, "atol": 1e-10}, 1e-6),
    "radau": ("recursive", {"method": "radau", "rtol": 1e-8, "atol": 1e-10}, 1e-6),
    "rk4": ("recursive", {"method": "rk4", "step": 2e-3}, 1e-4),
    "semi-recursive": ("semi-recursive", {"rtol": 1e-8, "atol": 1e-10}, 1e-6),
    "cartesian": ("cartesian", {"rtol": 1e-8, "atol": 1e-10}, 1e-6),
    "natural": ("natural", {"rtol": 1e-8, "atol": 1e-10}, 1e-6),
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("law", ["maximum", "where", "abs", "stop"])
@pytest.mark.parametrize("way", list(WAYS))
def test_steps_end_where_laws_bend(way: str, law: str, method: str) -> None:
    """A mass flies d, touches a spring for half a period and flies back: x = −v (T − d/v − π/ω); steps over the bends had slopes wrong by up to a third."""
    m, z = slider()
    k = m.parameter("k", 5e3, "N/m")
    push = {
        "maximum": jd.maximum(z.position, 0.0),
        "where": jd.where(z.position > 0, z.position, 0.0),
        "abs": 0.5 * (abs(z.position) + z.position),
    }
    if law == "stop":
        m.stop(z, upper=0.0, stiffness=k)
    else:
        m.force(z, -k * push[law])
    formulation, settings, tolerance = WAYS[way]
    start = {"z.displacement": -0.3, "z.displacement_rate": 2.0}
    run = jd.Analysis(m.compile(formulation=formulation), "simulate", start, t=0.35, **settings)
    g = run.gradient({"x": cr.final("z.displacement")}, ["k", "m", "z.displacement", "z.displacement_rate"], method=method)
    x = -2.0 * (0.35 - 0.15 - np.pi * np.sqrt(2.0 / 5e3))
    wanted = [-np.pi * np.sqrt(2.0 / 5e3) / 5e3, np.pi / np.sqrt(2.0 * 5e3), -1.0, (x - 2.0 * 0.15) / 2.0]
    assert g.values["x"] == pytest.approx(x, rel=tolerance)
    assert g["x"] == pytest.approx(wanted, rel=tolerance)
    assert not g.switches


@pytest.mark.parametrize("formulation", ["directors", "semi-recursive"])
def test_bends_that_steps_cannot_meet(formulation: str) -> None:
    """Runs that cannot end their steps on a surface are walked along by steps that do: a slider meets an elastic stop."""
    m, z = slider()
    m.stop(z, upper=0.0, stiffness=5e3)
    step = {"step": 2e-3} if formulation == "directors" else {"rtol": 1e-9, "atol": 1e-11}
    run, plain = (
        jd.Analysis(m.compile(formulation=f), "simulate", {"z.displacement": -0.3, "z.displacement_rate": 2.0}, t=0.16, **o)
        for f, o in ((formulation, step), ("recursive", {"method": "dop853", "rtol": 1e-12, "atol": 1e-14}))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, known = (
            r.gradient({"x": cr.final("z.displacement"), "v": cr.final("z.displacement_rate")}, ["m"]).matrix for r in (run, plain)
        )
    np.testing.assert_allclose(found, known, rtol=1e-6)


def test_bends_are_no_switches() -> None:
    s = jd.library.plane_vehicle().compile()
    g = jd.Analysis(s, "simulate", {}, t=0.5).gradient({"c": cr.integral("abs(front.travel)")}, ["d_F"])
    assert not g.switches


@pytest.mark.parametrize("method", ["dopri5", "dop853", "rk4", "radau"])
def test_integrands_that_bend_and_jump(method: str) -> None:
    """Of x = x₀ cos(√c t), which falls below 0.3 at acos(0.3/x₀)/√c: the time before, the area, and ∫|x − 0.3|; stages at the end of a step are not beyond."""

    def exact(c: float, x0: float, T: float = 1.2) -> np.ndarray:
        w = np.sqrt(c)
        met, area = np.arccos(0.3 / x0) / w, lambda t: x0 * np.sin(w * t) / w
        return np.array([met, area(met), 2 * (area(met) - 0.3 * met) - area(T) + 0.3 * T])

    m = jd.Model("mass", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("b", mass=1.0), axis="x")
    m.joint_spring(x, m.parameter("c", 4.0))
    options = {"step": 0.02} if method == "rk4" else {"rtol": 1e-8, "atol": 1e-10}
    run = jd.Analysis(m.compile(), "simulate", {"x.displacement": 1.0}, t=1.2, method=method, **options)
    above = x.position > 0.3
    criteria = {
        "time": cr.integral(jd.where(above, 1.0, 0.0)),
        "area": cr.integral(jd.where(above, x.position, 0.0 * x.position)),
        "way": cr.integral("abs(x.displacement - 0.3)"),
    }
    h = 1e-6
    slopes = np.array([(exact(4 + h, 1) - exact(4 - h, 1)) / (2 * h), (exact(4, 1 + h) - exact(4, 1 - h)) / (2 * h)]).T
    for way in ("forward", "adjoint"):
        g = run.gradient(criteria, ["c", "x.displacement"], method=way)
        assert list(g.values.values()) == pytest.approx(exact(4, 1), rel=1e-7)
        assert g.matrix == pytest.approx(slopes, rel=2e-7, abs=3e-8)


@pytest.mark.parametrize("way", ["dopri5", "dop853", "radau", "adams"])
@pytest.mark.parametrize(("mu", "push"), [(0.6, 3.0), (2.5, 3.0), (0.05, 8.0)])
def test_dry_friction_at_every_tolerance(mu: float, push: float, way: str) -> None:
    """The run meets the surface by steps as short as 10⁻¹¹ s, whose last stages may lie beyond it: slopes were off by b₆ of the jump, by 7 % at most tolerances."""

    def place(mu: float) -> float:
        stop = 1.0 / (push + mu)  # speed 1 is used up, and then it is pushed back
        return 0.5 * stop - 0.5 * (push - mu) * (1.0 - stop) ** 2

    m = jd.Model("block")
    x = m.prismatic("x", m.ground, m.body("b", mass=1.0), axis="x")
    m.force(x, -m.parameter("mu", mu) * jd.sign(x.velocity) - push)
    s = m.compile()
    exact = (place(mu + 1e-6) - place(mu - 1e-6)) / 2e-6
    for rtol in (1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12):
        run = jd.Analysis(s, "simulate", {"x.displacement_rate": 1.0}, t=1.0, rtol=rtol, atol=rtol / 100, method=way)
        g = run.gradient({"end": cr.final("x.displacement")}, ["mu"], method="adjoint")
        assert g["end", "mu"] == pytest.approx(exact, rel=1e-4 if rtol > 1e-6 else 1e-6), rtol
