"""Algebraic unknowns beside coordinates and states: against closed forms, root finding from outside, and the implicit-function theorem."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import lambertw

import jourdain as jd
from jourdain.errors import InputError, ModelError, SolverError
from jourdain.systems.tree.projected import NativeSystem

TIGHT = {"rtol": 1e-11, "atol": 1e-13}
METHODS: list[tuple[str, dict[str, Any], float]] = [
    ("dopri5", TIGHT, 1e-9), ("adams", TIGHT, 1e-8), ("radau", TIGHT, 1e-9), ("rosenbrock", TIGHT, 1e-8), ("rk4", {"step": 1e-3}, 1e-8),
    ("velocity-verlet", {"step": 1e-4}, 1e-4), ("rosenbrock2", {"step": 1e-4}, 1e-5), ("generalized-alpha", {"step": 2e-4}, 1e-5),
]  # fmt: skip
K, R, J, U = 0.5, 2.0, 0.01, 12.0


def motor(law: Any = lambda i: R * i) -> jd.Model:
    """A motor whose inductance is left out: the voltage of the circuit, with the back electromotive force, gives the current."""
    m = jd.Model("motor", gravity=(0, 0, 0))
    supply = m.input("supply", U, unit="V")
    shaft = m.revolute("shaft", m.ground, m.body("rotor", mass=1.0, inertia=(J, J, J)), axis="z")
    current = m.unknown("current", 0.0, lambda i: law(i) + K * shaft.velocity - supply, unit="A")
    m.force(shaft, K * current)
    m.output("power", current * supply, unit="W")
    return m


def resistor(i: Any) -> Any:
    """A brush with a drop of voltage and a resistance that grows."""
    return R * i + 0.3 * jd.tanh(i / 0.5) + 0.1 * i**3


def current(speed: float) -> float:
    """The same equation solved from outside."""
    return float(brentq(lambda i: R * i + 0.3 * np.tanh(i / 0.5) + 0.1 * i**3 + K * speed - U, -50.0, 50.0, xtol=1e-15, rtol=1e-15))


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "options", "near"), METHODS, ids=lambda x: str(x))
def test_linear_equations_are_eliminated(method: str, options: dict[str, Any], near: float) -> None:
    s = motor().compile()
    assert s.equations_of_motion.sought == []
    sol = s.simulate({}, 0.2, method=method, **options)
    rate = K**2 / (R * J)
    assert sol["current"] == pytest.approx(U / R * np.exp(-rate * sol.t), abs=10 * near)
    assert sol["shaft.angle_rate"][-1] == pytest.approx(U / K * (1 - np.exp(-rate * 0.2)), abs=10 * near)
    assert sol["power"] == pytest.approx(U * sol["current"], abs=1e-12)
    assert sol.channel("current").unit == "A" and sol.channel("current").description == "algebraic unknown"


@pytest.mark.parametrize(("method", "options", "near"), METHODS, ids=lambda x: str(x))
def test_newton_finds_the_others_at_every_evaluation(method: str, options: dict[str, Any], near: float) -> None:
    from scipy.integrate import solve_ivp

    s = motor(resistor).compile()
    assert s.equations_of_motion.sought == ["current"]
    sol = s.simulate({}, 0.2, method=method, **options)
    exact = solve_ivp(lambda t, x: [K * current(x[0]) / J], (0, 0.2), [0.0], rtol=1e-12, atol=1e-12).y[0, -1]
    assert sol["shaft.angle_rate"][-1] == pytest.approx(exact, abs=10 * near)
    assert sol["current"] == pytest.approx([current(v) for v in sol["shaft.angle_rate"]], abs=1e-13)
    between = sol.at([0.0123, 0.1111])
    assert between["current"] == pytest.approx([current(v) for v in between["shaft.angle_rate"]], abs=1e-13)


def test_a_diode_far_from_its_guess() -> None:
    """Is (exp(v/vt) − 1) = (u − v)/R has a closed form by Lambert's W; from v = 0 a full Newton step leads to exp(400)."""
    Is, vt, r = 1e-12, 0.025, 10.0
    m = jd.Model("diode")
    m.prismatic("idle", m.ground, m.body("body", mass=1.0), axis="x")
    u = 10.0 * jd.sin(50.0 * m.time)
    v = m.unknown("v", 0.0, lambda v: Is * (jd.exp(v / vt) - 1.0) - (u - v) / r, unit="V")
    charge = m.state("charge", 0.0, unit="C")
    m.rate(charge, (u - v) / r)
    sol = m.compile().simulate({}, 0.2, max_step=2e-3, **TIGHT)
    supply = 10.0 * np.sin(50.0 * sol.t)
    i = vt / r * np.real(lambertw(Is * r / vt * np.exp((supply + Is * r) / vt))) - Is
    assert (supply - sol["v"]) / r == pytest.approx(i, rel=1e-10, abs=1e-12)
    assert m.compile().linearise({}).A.shape == (3, 3)


def ladder(n: int, cubic: float) -> jd.Model:
    """A chain of resistors behind the motor's terminals: unknowns that speak of their neighbours, one block."""
    m = jd.Model("ladder", gravity=(0, 0, 0))
    supply = m.input("supply", U)
    shaft = m.revolute("shaft", m.ground, m.body("rotor", mass=1.0, inertia=(J, J, J)), axis="z")
    v = [m.unknown(f"v{k}", 0.0, unit="V") for k in range(n)]
    nodes = [supply, *v, K * shaft.velocity]
    for k in range(1, n + 1):
        left, right = (nodes[k - 1] - nodes[k]) / R, (nodes[k] - nodes[k + 1]) / R
        m.equation(v[(k * 2) % n] if n % 2 else v[k - 1], left - right - nodes[k] / 50.0 - cubic * nodes[k] ** 3)
    m.force(shaft, K * (v[-1] - K * shaft.velocity) / R)
    return m


@pytest.mark.parametrize(("n", "cubic"), [(4, 0.0), (4, 1e-3), (5, 0.0), (5, 1e-3)])
def test_unknowns_that_speak_of_each_other(n: int, cubic: float) -> None:
    """In the odd chains the equations are given to other unknowns, so that the matrix has zeros on its diagonal."""
    s = ladder(n, cubic).compile()
    assert len(s.equations_of_motion.sought) == (n if cubic else 0)
    for formulation in ("recursive", "cartesian"):
        sol = ladder(n, cubic).compile(formulation=formulation).simulate({}, 0.1, **TIGHT)
        v = np.column_stack([np.full(len(sol.t), U), *(sol[f"v{k}"] for k in range(n)), K * sol["shaft.angle_rate"]])
        law = (v[:, :-2] - 2 * v[:, 1:-1] + v[:, 2:]) / R - v[:, 1:-1] / 50.0 - cubic * v[:, 1:-1] ** 3
        np.testing.assert_allclose(law, 0.0, atol=1e-12)


def test_the_guess_chooses_the_root_and_the_run_stays_on_it() -> None:
    def model(guess: float) -> jd.Model:
        m = jd.Model("branches", gravity=(0, 0, 0))
        slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
        w = m.unknown("w", guess, lambda w: w**2 - 1.0 - 100.0 * slide.position**2)
        m.force(slide, -20.0 * slide.position + 0.1 * w)
        return m

    for sign in (1.0, -1.0):
        s = model(0.3 * sign).compile()
        sol = s.simulate({"slide.displacement": 0.5}, 3.0, rtol=1e-6, atol=1e-8)
        assert sol["w"] == pytest.approx(sign * np.sqrt(1.0 + 100.0 * sol["slide.displacement"] ** 2), abs=1e-12)
        again = s.simulate(sol.final_state(), 1.0)  # the state says on which root it was
        assert np.sign(again["w"]).tolist() == [sign] * len(again.t)
        other = s.simulate({"slide.displacement": 0.5, "w": -3.0 * sign}, 1.0)
        assert np.sign(other["w"]).tolist() == [-sign] * len(other.t)


# -- derivatives -------------------------------------------------------------------------------------------------------


def test_jacobians_by_the_implicit_function_theorem() -> None:
    s = motor(resistor).compile()
    rng = np.random.default_rng(3)
    for _ in range(5):
        x, out, near = rng.normal(size=2) * 10.0, np.zeros(4), np.zeros(2)
        native = NativeSystem(s)
        native.finding(native.derivatives()["jacobian"])(0.0, x, out)
        e = 1e-5
        columns = []
        for j in range(2):
            ends = []
            for sign in (1.0, -1.0):
                native.rhs(0.0, x + sign * e * np.eye(2)[j], near)
                ends.append(near.copy())
            columns.append((ends[0] - ends[1]) / (2 * e))
        np.testing.assert_allclose(out.reshape(2, 2), np.column_stack(columns), rtol=1e-7, atol=1e-7)


def test_linear_systems_and_equilibria_see_them() -> None:
    m = motor(resistor)
    shaft = m.joints["shaft"]
    m.force(shaft, -3.0 * shaft.position, name="spring")
    s = m.compile()
    rest = s.equilibrium({"shaft.angle": 0.2})
    i = current(0.0)
    assert rest.state["shaft.angle"] == pytest.approx(K * i / 3.0, rel=1e-12) and rest.inputs == {"supply": U}
    assert rest.state["current"] == pytest.approx(i, rel=1e-12)
    slope = R + 0.3 / 0.5 / np.cosh(i / 0.5) ** 2 + 0.3 * i**2
    linear = s.linearise(rest)
    np.testing.assert_allclose(linear.A, [[0, 1], [-3.0 / J, -(K**2) / slope / J]], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(linear.B, [[0], [K / slope / J]], rtol=1e-10, atol=1e-10)
    assert linear.inputs == ["supply"]
    (value,) = (x for x in np.roots([1.0, K**2 / slope / J, 3.0 / J]) if x.imag > 0)
    np.testing.assert_allclose(np.asarray(s.modal(rest).eigenvalues), [value], rtol=1e-9)
    both = [s, *(motor_on_spring().compile(formulation=f) for f in ("semi-recursive", "cartesian", "natural", "directors"))]
    x = s.state({"shaft.angle": 0.3, "shaft.angle_rate": 7.0})
    for f in both:
        assert f.accelerations(f.state({"shaft.angle": 0.3, "shaft.angle_rate": 7.0})) == pytest.approx(s.accelerations(x), rel=1e-9)
    assert s.accelerations(x)[0] == pytest.approx((K * current(7.0) - 0.9) / J, rel=1e-12)
    assert s.forward_dynamics(x.q, x.v, [0.0]) == pytest.approx(s.accelerations(x), rel=1e-12)


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_linear_ones_in_verbs_of_every_formulation(formulation: str) -> None:
    s = motor_on_spring(lambda i: R * i).compile(formulation=formulation)
    rest = s.equilibrium({"shaft.angle": 0.2})
    assert rest.state["shaft.angle"] == pytest.approx(K * U / R / 3.0, rel=1e-9)
    linear = s.linearise(rest)
    np.testing.assert_allclose(linear.A, [[0, 1], [-3.0 / J, -(K**2) / R / J]], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(linear.B, [[0], [K / R / J]], rtol=1e-8, atol=1e-8)
    sol = s.simulate(rest.state, 0.05, inputs={"supply": 6.0}, step=1e-3, method=None if formulation == "directors" else "rk4")
    assert sol["current"] == pytest.approx((6.0 - K * sol["shaft.angle_rate"]) / R, abs=1e-12)


def motor_on_spring(law: Any = resistor) -> jd.Model:
    m = motor(law)
    m.force(m.joints["shaft"], -3.0 * m.joints["shaft"].position, name="spring")
    return m


# -- with the rest of a run --------------------------------------------------------------------------------------------


def test_events_memories_and_controllers_read_them() -> None:
    m = motor(resistor)
    i = m.inputs["current"].symbol
    least = m.memory("least", 10.0, lambda least: jd.minimum(least, i), unit="A")
    m.event("weak", i - 1.0, direction=-1, terminal=True)
    m.output("spread", i - least)
    read: list[float] = []
    law = jd.Controller(lambda x: float(read.append(x["current"]) or U), 0.01)
    for formulation in ("recursive", "cartesian"):
        read.clear()
        sol = m.compile(formulation=formulation).simulate({}, 1.0, inputs={"supply": law}, **TIGHT)
        assert sol.metadata["status"] == "event" and sol["current"][-1] == pytest.approx(1.0, abs=1e-11)
        assert sol["least"][-1] == pytest.approx(1.0, abs=1e-9) and sol["spread"][-1] == pytest.approx(0.0, abs=1e-9)
        np.testing.assert_allclose(read[1:], [current(sol.at([0.01 * k])["shaft.angle_rate"][0]) for k in range(1, len(read))], atol=1e-9)


@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_restarts_and_steppers_go_on_bit_for_bit(method: str) -> None:
    s = motor(resistor).compile()
    whole = s.simulate({}, 0.1, method=method, step=1e-3)
    half = s.simulate({}, 0.05, method=method, step=1e-3)
    rest = s.simulate(half, (0.05, 0.1), method=method, step=1e-3)
    assert rest["shaft.angle"][-1] == whole["shaft.angle"][-1] and rest["current"][-1] == whole["current"][-1]
    st = s.stepper({}, 1e-3, method, outputs=["current", "power", "shaft.angle"], inputs=["supply"])
    for _ in range(50):
        st.advance()
    token = st.save()
    first = [st.advance([U + k]) for k in range(30)]
    st.restore(token)
    np.testing.assert_array_equal(first, [st.advance([U + k]) for k in range(30)])
    st.restore(token)
    for _ in range(50):
        y = st.advance([U])
    assert y == pytest.approx([whole[n][-1] for n in ("current", "power", "shaft.angle")], abs=1e-13)
    assert st.state["current"] == pytest.approx(whole["current"][-1], abs=1e-13)


def test_files_and_models_inside_others(tmp_path: Path) -> None:
    m = motor(resistor)
    m.save(tmp_path / "motor.toml")
    assert "[unknowns]" in (tmp_path / "motor.toml").read_text()
    read = jd.load_model(tmp_path / "motor.toml")
    assert read.compile().fingerprint == m.compile().fingerprint
    both = jd.Model("both", gravity=(0, 0, 0))
    both.include(m, "a")
    both.include(m, "b")
    sol, one = both.compile().simulate({}, 0.1, inputs={"b.supply": 6.0}, **TIGHT), read.compile().simulate({}, 0.1, **TIGHT)
    assert sol["a.current"][-1] == pytest.approx(one["current"][-1], abs=1e-10)
    assert sol["b.current"][0] < sol["a.current"][0]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_programs_in_c_have_the_linear_ones(tmp_path: Path) -> None:
    from jourdain.io.standalone import standalone_c

    s = motor().compile()
    (tmp_path / "run.c").write_text(standalone_c(s, s.state(), 0.1, 1e-3))
    subprocess.run(["cc", "-O1", "run.c", "-o", "run", "-lm"], cwd=tmp_path, check=True)
    last = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    sol = s.simulate({}, 0.1, method="rk4", step=1e-3)
    assert float(last.split(",")[2]) == pytest.approx(sol["shaft.angle_rate"][-1], abs=1e-12)
    with pytest.raises(InputError, match="the unknown 'current' is found by Newton's method, which the program has not"):
        standalone_c(motor(resistor).compile(), s.state(), 0.1, 1e-3)


# -- what cannot be -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural"])
@pytest.mark.parametrize("method", ["dopri5", "radau", "rk4"])
def test_an_equation_without_a_solution_is_named(formulation: str, method: str) -> None:
    m = jd.Model("lost")
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    m.force(slide, m.unknown("w", 0.5, lambda w: w**2 - (0.05 - m.time)))
    s = m.compile(formulation=formulation)
    with pytest.raises(SolverError, match=r"the unknown 'w' cannot be found at t = 0\.05\d* s: its equation leaves a residual of") as told:
        s.simulate({}, 0.2, method=method, **({"step": 1e-3} if method == "rk4" else {}))
    assert told.value.solution.t[-1] == pytest.approx(0.05, abs=2e-3)  # type: ignore[attr-defined]
    with pytest.raises(SolverError, match="the unknown 'w' cannot be found at t = 1 s"):
        s.accelerations(s.state({}, t=1.0))
    with pytest.raises(SolverError, match="the unknown 'w' cannot be found at t = 1 s"):
        s.simulate(s.state({}, t=1.0), 0.1)


def test_errors_say_what_to_do() -> None:
    m = jd.Model("errors")
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="z")
    with pytest.raises(ModelError, match="accelerations, which depend on the unknown itself"):
        m.unknown("a", 0.0, lambda a: a - slide.acceleration)
    with pytest.raises(ModelError, match="guess: nan is not a finite number"):
        m.unknown("nan", float("nan"))
    w = m.unknown("w", 0.0, lambda w: w - slide.velocity)
    with pytest.raises(ModelError, match="there is an unknown 'w' already"):
        m.unknown("w")
    with pytest.raises(ModelError, match="is not an unknown of the model 'errors'"):
        m.equation(slide.position, w)
    assert list(m.unknowns) == ["w"] and list(m.inputs) == ["w"], "what was refused has left nothing behind"
    s = m.compile()
    with pytest.raises(InputError, match="unknown 'w' is found by its equation"):
        s.simulate({}, 0.1, inputs={"w": 1.0})


def test_verbs_refuse_to_choose_them() -> None:
    s = motor(resistor).compile()
    for ask in (
        lambda: s.linearise({}, inputs=["current"]), lambda: s.equilibrium({}, unknowns=["current"]), lambda: s.accelerations({}, {"current": 1.0}),
        lambda: s.static_forces({}, ["current"]), lambda: s.root_locus("current", [0.0, 1.0]), lambda: s.stepper({}, 1e-3, inputs=["current"]),
    ):  # fmt: skip
        with pytest.raises(InputError, match="'current' is an unknown, which its equation determines"):
            ask()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda m, x: m.unknown("w"), "unknown 'w' has no equation"),
        (lambda m, x: m.unknown("w", 0.0, x.position), "unknown 'w' of the model 'bad' is not determined: none of the equations of w"),
        (lambda m, x: m.constraint("c", x.position - m.unknown("w", 0.0, lambda w: w - x.velocity)), "constraint 'c' speaks of the unknown 'w'"),
        (
            lambda m, x: m.force(x, m.callback("f", lambda w: w, [m.unknown("w", 0.0, lambda w: w**3 + w - x.velocity)])),
            "callback 'f' reads the unknown 'w'",
        ),
    ],
)  # fmt: skip
def test_models_that_make_no_sense(build: Any, message: str) -> None:
    m = jd.Model("bad")
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="z")
    build(m, slide)
    with pytest.raises(ModelError, match=message):
        m.compile().simulate({}, 0.1)


def test_acceleration_sensors_are_refused_too() -> None:
    m = jd.Model("sensor")
    body = m.body("mass", mass=1.0)
    slide = m.prismatic("slide", m.ground, body, axis="z")
    sensor = m.sensor("probe", body)
    with pytest.raises(ModelError, match="accelerations"):
        m.force(slide, m.unknown("w", 0.0, lambda w: w - sensor.acceleration.z))
        m.compile().simulate({}, 0.1)
