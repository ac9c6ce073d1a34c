"""Exact gradients of equilibria, assembled positions and modes: closed forms, and differences of runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library


def agree(run: jd.Analysis, criteria: dict[str, Any], wrt: list[str], close: float = 1e-7) -> Any:
    exact, other = run.gradient(criteria, wrt), run.gradient(criteria, wrt, method="differences")
    assert exact.method == "implicit" and other.method == "differences"
    scale = np.maximum(np.abs(exact.matrix), 1e-3 * np.abs(exact.matrix).max(axis=1, keepdims=True) + 1e-9)
    assert (np.abs(exact.matrix - other.matrix) / scale).max() < close
    assert dict(exact.values) == pytest.approx(dict(other.values), rel=1e-13)
    return exact


def oscillator() -> jd.System:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    z = m.prismatic("z", m.ground, m.body("mass", mass=m.parameter("m", 2.0)), axis="z")
    m.joint_spring(z, m.parameter("k", 50.0), damping=m.parameter("c", 1.0))
    return m.compile()


def test_modes_of_an_oscillator() -> None:
    """s = −c/2m + i √(k/m − c²/4m²), ω = √(k/m), ζ = c/(2 √(k m))."""
    m, k, c = 2.0, 50.0, 1.0
    criteria = {"re": cr.eigenvalue(0), "im": cr.eigenvalue(0, "imag"), "f": cr.frequency(0), "zeta": cr.damping_ratio(0)}
    g = jd.Analysis(oscillator(), "modal", {}).gradient(criteria, ["m", "k", "c"])
    w, wd = np.sqrt(k / m), np.sqrt(k / m - c**2 / (4 * m**2))
    assert g["re"] == pytest.approx([c / (2 * m**2), 0.0, -1 / (2 * m)], abs=1e-13)
    assert g["im"] == pytest.approx(np.array([-k / m**2 + c**2 / (2 * m**3), 1 / m, -c / (2 * m**2)]) / (2 * wd), rel=1e-11)
    assert g["f"] == pytest.approx(np.array([-w / (2 * m), w / (2 * k), 0.0]) / (2 * np.pi), abs=1e-12)
    zeta = c / (2 * np.sqrt(k * m))
    assert g["zeta"] == pytest.approx([-zeta / (2 * m), -zeta / (2 * k), zeta / c], rel=1e-10)


def hanging() -> jd.Model:
    """Two pendulums with springs, a motor with a state of its own, and a sensor."""
    m = library.double_pendulum()
    first, second = m.joints.values()
    m.force(first, m.parameter("torque", 1.5) - m.parameter("stiff", 8.0) * first.position - 0.4 * first.velocity)
    m.joint_spring(second, m.parameter("soft", 3.0), damping=0.2)
    lag = m.state("lag", 0.0)
    m.rate(lag, m.parameter("gain", 2.0) * second.position - 3.0 * lag)
    m.force(second, -m.parameter("pull", 0.7) * lag, name="pull")
    return m


def test_an_equilibrium_and_small_motions_about_it() -> None:
    s = hanging().compile()
    q = s.coordinate_names
    wrt = ["m1", "l1", "l2", "torque", "stiff", "soft", "gain", "pull"]
    run = jd.Analysis(s, "equilibrium", {})
    agree(
        run,
        {"a": cr.value(f"{q[0]} + s*{q[1]}^2", s=0.5), "lag": cr.value("lag"), "p": cr.value("stiff*'shoulder.angle'")},
        [*wrt, "a.s"],
        3e-7,
    )
    modes = jd.Analysis(s, "modal", {q[0]: 0.3, q[1]: -0.2})
    agree(
        modes,
        {"re": cr.eigenvalue(1), "im": cr.eigenvalue(2, "imag"), "f": cr.frequency(-1), "zeta": cr.damping_ratio(-1)},
        [*wrt, *q],
        3e-6,
    )


LOOPS: dict[str, tuple[Callable[[], jd.Model], dict[str, float], list[str]]] = {
    "four-bar": (library.four_bar, {"crank.angle": 0.5}, ["crank", "coupler", "rocker", "crank.angle"]),
    "slider-crank": (library.slider_crank, {"crank.angle": 0.7}, ["crank_length", "rod_length", "piston_mass", "crank.angle"]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name: str) -> None:
    make, given, wrt = LOOPS[name]
    m = make()
    m.joint_spring(m.joints["crank"], 30.0, rest=0.4, damping=0.3)
    s = m.compile()
    last = s.coordinate_names[-1]
    agree(jd.Analysis(s, "assemble", given), {"last": cr.value(f"'{last}'^2")}, wrt)
    agree(jd.Analysis(s, "equilibrium", given), {"last": cr.value(f"'{last}'")}, wrt[:-1], 1e-6)
    agree(jd.Analysis(s, "modal", given), {"im": cr.eigenvalue(0, "imag"), "re": cr.eigenvalue(0)}, wrt, 1e-5)


def test_a_double_eigenvalue() -> None:
    """Two equal oscillators with a coupling k₀: growing k₀ raises one frequency and leaves the other; growing k₁ alone splits them."""
    m = jd.Model("pair", gravity=(0, 0, 0))
    x, y = (m.prismatic(n, m.ground, m.body(f"{n} mass", mass=1.0), axis="x") for n in "xy")
    for j, n in ((x, "k1"), (y, "k2")):
        m.joint_spring(j, m.parameter(n, 9.0))
    k0 = m.parameter("k0", 0.0)
    m.force(x, -k0 * (x.position - y.position), name="to x")
    m.force(y, -k0 * (y.position - x.position), name="to y")
    run = jd.Analysis(m.compile(), "modal", {})
    g = run.gradient({"low": cr.eigenvalue(0, "imag"), "high": cr.eigenvalue(1, "imag")}, ["k0", "k1", "k2"])
    assert g["low"] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9) and g["high"] == pytest.approx([2 / 6, 1 / 6, 1 / 6], rel=1e-9)
    assert any("of the group" in n for n in g.notes)
    up = run.evaluate({"high": cr.eigenvalue(1, "imag")}, {"k0": 1e-6})["high"]
    assert (up - 3.0) / 1e-6 == pytest.approx(1 / 3, rel=1e-5)


def test_what_is_not_carried_goes_by_differences_and_says_so() -> None:
    s = oscillator()
    g = jd.Analysis(s, "modal", {}, preferred=["z"]).gradient({"f": cr.frequency(0)}, ["k"])
    assert g.method == "differences" and "option 'preferred'" in g.notes[0]
    free = jd.Model("free", gravity=(0, 0, 0))
    free.prismatic("z", free.ground, free.body("mass", mass=free.parameter("m", 2.0)), axis="z")
    h = jd.Analysis(free.compile(), "modal", {}).gradient({"f": cr.frequency(0)}, ["m"])
    assert h.method == "differences" and "rigid" in h.notes[0] and h["f", "m"] == 0.0


def pushed() -> jd.System:
    m = jd.Model("pushed", gravity=(0, 0, 0))
    z = m.prismatic("z", m.ground, m.body("mass", mass=m.parameter("m", 2.0)), axis="z")
    m.joint_spring(z, m.parameter("k", 50.0), damping=m.parameter("c", 1.0))
    m.force(z, m.input("F"))
    return m.compile()


def test_entries_and_responses_of_an_oscillator() -> None:
    """ẍ = (F − c ẋ − k x)/m and H = 1/(k − m ω² + i c ω): −ω²·(−H²), −H², −iω H²."""
    m, k, c = 2.0, 50.0, 1.0
    s = pushed()
    g = jd.Analysis(s, "linearise", {}).gradient(
        {"stiff": cr.entry("A", "z.displacement_rate", "z.displacement"), "damp": cr.entry("A", 1, 1), "push": cr.entry("B", 1, "F"), "rate": cr.entry("A", 0, 1)},
        ["m", "k", "c"],
    )  # fmt: skip
    expected = np.array([[k / m**2, -1 / m, 0], [c / m**2, 0, -1 / m], [-1 / m**2, 0, 0], [0, 0, 0]])
    assert g.method == "implicit" and np.abs(g.matrix - expected).max() < 1e-14
    f = 0.9
    w = 2 * np.pi * f
    H = 1 / (k - m * w**2 + 1j * c * w)
    slopes = -(H**2) * np.array([-(w**2), 1.0, 1j * w])
    g = jd.Analysis(s, "frequency_response", "F", "z.displacement", [0.5, f, 2.0], {}).gradient(
        {"size": cr.response(f), "turn": cr.response(f, "phase"), "re": cr.response(f, "real"), "top": cr.response()}, ["m", "k", "c"]
    )
    size = (np.conj(H) * slopes).real / abs(H)
    expected = np.array([size, (np.conj(H) * slopes).imag / abs(H) ** 2, slopes.real, size])
    assert np.abs(g.matrix / expected - 1).max() < 1e-12 and g.values["size"] == pytest.approx(abs(H), rel=1e-13)


def test_linear_systems_of_trees_and_loops() -> None:
    """Entries of all matrices, and responses, of a moving tree with a state of the user and of a closed loop."""
    m = hanging()
    first, second = m.joints.values()
    m.force(first, m.input("M"), name="motor")
    m.output("height", first.position**2 + jd.sin(second.position) * second.velocity)
    s = m.compile()
    q, v = s.coordinate_names, s.velocity_names
    at = {q[0]: 0.3, q[1]: -0.2, v[0]: 0.7, "lag": 0.1}
    wrt = ["m1", "l2", "stiff", "gain", "pull", *q, v[0]]
    outputs = ["height", q[1], v[1], "lag", "shoulder.angle_acc"]
    matrices = {f"{x}{i}{j}": cr.entry(x, i, j) for x, i, j in [("A", 2, 0), ("A", 3, 1), ("A", 2, 4), ("A", 4, 1), ("B", 2, 0), ("B", 3, 0), ("C", 0, 0), ("C", 0, 3), ("C", 4, 1), ("D", 4, 0)]}  # fmt: skip
    agree(jd.Analysis(s, "linearise", at, outputs=outputs), matrices, wrt, 1e-6)
    agree(
        jd.Analysis(s, "frequency_response", "M", "shoulder.angle_acc", [0.2, 1.3], at),
        {"a": cr.response(1.3), "p": cr.response(0.2, "phase")},
        wrt,
        1e-6,
    )
    loop = library.four_bar()
    loop.joint_spring(loop.joints["crank"], 30.0, rest=0.4, damping=0.3)
    loop.force(loop.joints["crank"], loop.input("M"), name="motor")
    s = loop.compile()
    given, wrt = {"crank.angle": 0.5}, ["crank", "coupler", "rocker", "crank.angle"]
    last = s.coordinate_names[-1]
    entries = {"a": cr.entry("A", 1, 0), "b": cr.entry("B", 1, 0), "c": cr.entry("C", 0, 0), "d": cr.entry("D", 1, 0)}
    force = "loop.1.multiplier"
    agree(jd.Analysis(s, "linearise", given, outputs=[last, force]), entries, wrt, 1e-5)
    agree(
        jd.Analysis(s, "frequency_response", "M", last, [0.7], given),
        {"r": cr.response(0.7, "real"), "i": cr.response(0.7, "imag")},
        wrt,
        1e-5,
    )


def test_inverse_dynamics_of_a_pendulum() -> None:
    """τ = m l² φ̈ + m g l sin φ with φ = b t²: the actuator's root of mean square, its largest and last value."""
    m = jd.Model("arm", gravity=(0, -9.81, 0))
    mass, length, b = m.parameter("m", 2.0), m.parameter("l", 0.7), m.parameter("b", 1.3)
    m.revolute("hinge", m.ground, m.body("arm", mass=mass, com=(0, -length, 0)), axis="z")
    times = np.linspace(0.0, 1.0, 11)
    run = jd.Analysis(m.compile(), "inverse_dynamics_along", {"hinge": b * m.time**2}, None, times)
    g = run.gradient({"last": cr.final("hinge.actuator"), "top": cr.largest("abs(hinge.angle.actuator)"), "rms": cr.rms("hinge.actuator"), "at": cr.at(0.5, "hinge.angle_rate*hinge.actuator")}, ["m", "l", "b"])  # fmt: skip
    M, L, B, G = 2.0, 0.7, 1.3, 9.81
    phi = B * times**2
    tau = M * L**2 * 2 * B + M * G * L * np.sin(phi)
    slopes = np.array([tau / M, 4 * M * L * B + M * G * np.sin(phi), 2 * M * L**2 + M * G * L * np.cos(phi) * times**2]).T
    w = np.full(11, 0.1)
    w[[0, -1]] = 0.05
    rms = np.sqrt(w @ tau**2)
    assert g.method == "implicit" and g.values["rms"] == pytest.approx(rms, rel=1e-12)
    assert np.allclose(g["last"], slopes[-1], rtol=1e-11) and np.allclose(g["top"], slopes[np.argmax(tau)], rtol=1e-11)
    assert np.allclose(g["rms"], (w * tau) @ slopes / rms, rtol=1e-11)
    assert np.allclose(g["at"], slopes[5] * 2 * B * 0.5 + np.array([0, 0, 1.0]) * tau[5], rtol=1e-11)


def test_motions_and_forces_of_loops() -> None:
    """A driven four-bar: positions, velocities, accelerations, the crank's torque, multipliers and holding torques against differences."""
    m = library.four_bar()
    m.joint_spring(m.joints["rocker"], m.parameter("k", 30.0), rest=0.4, damping=0.3)
    speed = m.parameter("speed", 2.0)
    s = m.compile()
    times, wrt = np.linspace(0.0, 0.4, 9), ["crank", "coupler", "rocker", "speed"]
    motion = {"crank": 0.5 + speed * m.time + 0.3 * m.time**2}
    near = {"crank.angle": 0.5}
    last = s.coordinate_names[-1]
    kinds = {
        "p": cr.final(f"'{last}'"),
        "v": cr.at(0.2, f"'{last}_rate'^2"),
        "a": cr.largest(f"{last}_acc"),
        "i": cr.integral(f"s*'{last}'^2", s=2.0),
    }
    near = s.assemble({"crank.angle": 0.5})
    agree(jd.Analysis(s, "kinematics", times, motion, near), kinds, [*wrt, "i.s"], 1e-6)
    forces = {"t": cr.rms("crank.actuator"), "l": cr.at(0.2, "'loop.1.multiplier'"), "r": cr.smallest("crank.actuator*crank.angle_rate")}
    agree(jd.Analysis(s, "inverse_dynamics_along", motion, ["crank"], times, near), forces, [*wrt, "k"], 1e-6)
    hold = jd.Analysis(s, "static_forces", {"crank.angle": 0.5}, ["crank"])
    agree(hold, {"t": cr.value("crank.actuator"), "l": cr.value("'loop.1.multiplier'")}, ["crank", "coupler", "k", "crank.angle"], 1e-6)
    many = jd.Analysis(s, "static_forces", {"crank.angle": 0.5}).gradient({"t": cr.value("crank.actuator")}, ["k"])
    assert many.method == "differences" and "least norm" in many.notes[0]


def _weighted() -> jd.Model:
    m = library.slider_crank(gravity=9.81)
    m.joint_spring(m.joints["crank"], m.parameter("k", 5.0), damping=m.parameter("d", 0.1))
    m.force(m.joints["crank"], m.input("F"))
    return m


@cache
def _of_verbs(formulation: str) -> dict[str, Any]:
    """Gradients of all verbs without time, of one mechanism."""
    s, piston, crank = _weighted().compile(formulation=formulation), "piston.displacement", {"crank.angle": 0.4}
    plans: dict[str, tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]] = {
        "equilibrium": (({"crank.angle": 0.3},), {}, {"a": cr.value("crank.angle"), "p": cr.value(piston)}),
        "modal": (({"crank.angle": 0.0},), {}, {"f": cr.frequency(0), "z": cr.damping_ratio(0)}),
        "linearise": ((crank,), {"inputs": ["F"], "outputs": [piston]}, {"a": cr.entry("A", 1, 0), "b": cr.entry("B", 1, 0)}),
        "frequency_response": (("F", piston, [1.0, 5.0]), {"state": crank}, {"h": cr.response(5.0, "abs")}),
        "assemble": ((crank,), {}, {"p": cr.value(piston), "r": cr.value("rod.angle")}),
        "static_forces": ((crank,), {"actuators": ["crank"]}, {"t": cr.value("crank.actuator")}),
    }
    return {
        verb: jd.Analysis(s, verb, *args, **options).gradient(criteria, ["k", "rod_mass", "crank_length"])
        for verb, (args, options, criteria) in plans.items()
    }


@pytest.mark.parametrize("formulation", ["semi-recursive", "cartesian", "natural", "directors"])
def test_verbs_without_time_in_every_formulation(formulation: str) -> None:
    """Exact in all of them (they had been differences, and static forces in directors an error about shapes)."""
    for verb, g in _of_verbs(formulation).items():
        own = _of_verbs("recursive")[verb]
        assert g.method == own.method == "implicit", (verb, g.notes)
        assert list(g.values.values()) == pytest.approx(list(own.values.values()), rel=1e-6)
        np.testing.assert_allclose(g.matrix, own.matrix, rtol=1e-7, atol=1e-9 * np.abs(own.matrix).max(), err_msg=verb)
        assert any(f"in the {formulation} formulation" in note for note in g.notes)


def _hanging(looped: bool) -> tuple[jd.Model, list[str]]:
    """A body on a ball joint with a quaternion and a hinge, or a spatial four-bar whose rod may turn about itself."""
    m = jd.Model("hanging")
    b = m.body("b", mass=m.parameter("mb", 1.0), com=(0.3, 0.02, 0.1), inertia=(0.1, 0.12, 0.15))
    if not looped:
        m.spherical("s", m.ground, b)
        c = m.body("c", mass=0.5, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
        k = m.revolute("k", b.at(0, 0, m.parameter("l", 0.4)), c, axis="x")
        m.joint_spring(k, m.parameter("kk", 30.0))
        m.force(k, m.input("F"))
        return m, ["mb", "l", "kk"]
    a = m.body("a", mass=1.0, com=(0.1, 0, 0), inertia=(0.02, 0.03, 0.025))
    c = m.body("c", mass=0.8, com=(0.2, 0, 0), inertia=(0.02, 0.04, 0.03))
    j = m.revolute("j", m.ground, a, axis="z")
    m.revolute("k", m.ground.at(0.9, 0.2, 0.1), c, axis=(0.1, 1, 0.2))
    m.spherical("s", a.at(m.parameter("la", 0.25), 0, 0), b)
    m.spherical("cut", b.at(m.parameter("lb", 0.9), 0, 0), c.at(0.5, 0, 0))
    m.joint_spring(j, m.parameter("kk", 30.0), damping=0.5)
    m.force(j, m.input("F"))
    return m, ["mb", "la", "lb", "kk"]


@pytest.mark.parametrize("looped", [False, True])
@pytest.mark.parametrize("verb", ["modal", "frequency_response"])
def test_small_motions_of_quaternions(verb: str, looped: bool) -> None:
    """Free turns of a loop that are a quaternion's were held (modes by a factor of three); a response ended in a bare error."""
    m, wrt = _hanging(looped)
    s = m.compile()
    if verb == "modal":
        run, criteria = jd.Analysis(s, "modal", {}), {"f": cr.frequency(-1), "d": cr.eigenvalue(-1, "imag")}
    else:
        run, criteria = (
            jd.Analysis(s, "frequency_response", "F", "k.angle", [0.4, 1.5]),
            {"a": cr.response(0.4), "p": cr.response(1.5, "real")},
        )
    g = run.gradient(criteria, wrt)
    for j, (name, at) in enumerate(g.variables.items()):
        steps = (1e-4 * at, 5e-5 * at)
        one, two = (np.subtract(*(list(run.evaluate(criteria, {name: at + x}).values()) for x in (h, -h))) / (2 * h) for h in steps)
        assert g.matrix[:, j] == pytest.approx((4 * two - one) / 3, rel=1e-5, abs=1e-6 * np.abs(g.matrix).max()), name
