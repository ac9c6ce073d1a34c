"""Steppers: the rows of `simulate` bit for bit, in every formulation and method; save and restore; events; native callers."""

from __future__ import annotations

import ctypes
import pickle
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, SolverError

STEP, STEPS = 2e-3, 40


def machine(*, jumps: bool = False, ends: bool = False) -> jd.Model:
    """A four-bar linkage with a motor, a brake with a state of its own, outputs of all sorts and perhaps events."""
    m = jd.Model("machine")
    crank = m.body("crank", mass=1.0, com=(0.15, 0, 0), inertia=(0.01, 0.01, 0.01))
    coupler = m.body("coupler", mass=2.0, com=(0.45, 0, 0.1), inertia=(0.05, 0.06, 0.05))
    rocker = m.body("rocker", mass=1.5, com=(0.3, 0, 0), inertia=(0.03, 0.03, 0.03))
    a = m.revolute("A", m.ground, crank, axis="-y")
    m.revolute("B", crank.at(0.3, 0, 0), coupler, axis="-y")
    c = m.revolute("C", m.ground.at(0.8, 0, 0), rocker, axis="-y")
    m.close("loop", coupler.at(0.9, 0, 0), rocker.at(0.6, 0, 0), "ball")
    motor, load, heat = m.input("motor", 0.5, unit="N m"), m.input("load", 0.1), m.state("heat", 0.2)
    m.rate(heat, 0.1 * a.velocity**2 - heat)
    m.force(a, lambda x, v, t: motor - 0.05 * (1.0 + heat) * v)
    m.force(c, lambda x, v, t: -load * v - 4.0 * (x - 1.0) + 0.3 * jd.sin(40.0 * t))
    tip = m.sensor("tip", coupler.at(0.9, 0, 0))
    m.output("power", motor * a.velocity, unit="W")
    m.output("tip.x", tip.x, unit="m")
    if jumps:
        m.event("hot", heat - 0.25, direction=1, jump={heat: 0.5 * heat})
    if ends:
        m.event("far", tip.x - 1.07, terminal=True)
    return m


#: Options of compile and of simulate by title.
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "projected": ({}, {}),
    "reduced": ({}, {"reduction": "reduced"}),
    "closed": ({}, {"reduction": "closed"}),
    "partition": ({"formulation": "semi-recursive"}, {}),
    "range-space": ({"formulation": "semi-recursive", "reduction": "range-space"}, {}),
    "null-space": ({"formulation": "semi-recursive", "reduction": "null-space"}, {}),
    "cartesian": ({"formulation": "cartesian"}, {}),
    "baumgarte": ({"formulation": "cartesian"}, {"stabilisation": "baumgarte"}),
    "natural": ({"formulation": "natural"}, {}),
}
FIXED = ("euler", "heun", "rk4", "semi-implicit-euler", "velocity-verlet", "rosenbrock2", "linearly-implicit-euler")
ADAPTIVE = ("bs32", "dopri5", "dop853", "adams", "rosenbrock", "radau")
#: Ways whose native side has no derivatives: implicit methods are refused there, by simulate and stepper alike.
IMPLICIT = ("rosenbrock2", "linearly-implicit-euler", "rosenbrock", "radau")
OUTPUTS = ["A.angle", "A.angle_rate", "C.angle", "heat", "power", "tip.x", "motor", "t"]


@pytest.fixture(scope="module")
def systems() -> Any:
    made: dict[Any, Any] = {}

    def get(way: str, **options: Any) -> tuple[Any, Any]:
        key = (tuple(WAYS[way][0].items()), tuple(options.items()))
        if key not in made:
            s = machine(**options).compile(**WAYS[way][0])
            made[key] = s, s.assemble({"A.angle": 0.7}, guess={"B.angle": -0.4, "C.angle": 1.6}, velocities={"A.angle": 3.0})
        return made[key]

    return get


def cases(methods: tuple[str, ...]) -> list[Any]:
    return [pytest.param(w, m, id=f"{w}-{m}") for w in WAYS for m in methods]


def drive(k: int) -> list[float]:
    """Inputs that change at every step."""
    return [0.5 + 0.4 * np.sin(0.3 * k), 0.1 + 0.01 * k]


@pytest.mark.parametrize("way, method", cases(FIXED))
def test_fixed_steps_are_those_of_simulate(systems, way, method):
    s, start = systems(way)
    st = s.stepper(start, STEP, method, outputs=OUTPUTS, **WAYS[way][1])
    rows = np.array([st.y, *(st.advance() for _ in range(STEPS))])
    # an interpolant would be made by evaluations between the steps, from which Newton's method in loops starts otherwise
    sol = s.simulate(start, STEP * STEPS, method, step=STEP, dense=False, **WAYS[way][1])
    np.testing.assert_array_equal(rows[:, -1], sol.t)
    exact = way not in ("cartesian", "baumgarte", "natural")  # joint coordinates are found from poses, starting from other guesses
    for i, name in enumerate(OUTPUTS[:-1]):
        if exact or name in ("heat", "motor"):
            np.testing.assert_array_equal(rows[:, i], sol[name], err_msg=name)
        else:
            np.testing.assert_allclose(rows[:, i], sol[name], rtol=1e-11, atol=1e-12, err_msg=name)
    if not exact:
        np.testing.assert_array_equal(st._engine._session.x, sol.restart.inner.x)
    for got, wanted in zip(
        (st.state.q, st.state.v, st.state.z), (sol.final_state().q, sol.final_state().v, sol.final_state().z), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=0.0 if exact else 1e-11)


@pytest.mark.parametrize("way, method", cases(FIXED + ADAPTIVE))
def test_restored_steppers_repeat_themselves(systems, way, method):
    s, start = systems(way, jumps=True)
    st = s.stepper(start, STEP, method, outputs=OUTPUTS, rtol=1e-6, atol=1e-8, **WAYS[way][1])
    for k in range(7):
        st.advance(drive(k))
    token, here = st.save(), (st.y.tobytes(), st.state.x.tobytes())
    first = go_on(st)
    for _ in range(2):
        st.restore(token)
        assert st.t == token.t
        if not st._engine.run.follows:  # there a state is found by continuation from the last one asked for
            assert (st.y.tobytes(), st.state.x.tobytes()) == here
            st.restore(token)
        assert go_on(st) == first


def go_on(st: Any) -> list[bytes]:
    rows = [st.advance(drive(k), *([] if k % 5 else [0.3 * STEP])).tobytes() for k in range(30)]
    return [*rows, st.state.x.tobytes(), str(st.t).encode()]


ELSEWHERE = """
import pickle, sys
from tests.systems.test_stepper import OUTPUTS, STEP, WAYS, go_on, machine
out = []
for way, method, options, x0, token in pickle.load(sys.stdin.buffer):
    s = machine(jumps=True).compile(**WAYS[way][0])
    st = s.stepper(s.state(*x0), STEP, method, outputs=OUTPUTS, **options)
    st.restore(token)
    out.append((st.t, go_on(st)))
pickle.dump(out, sys.stdout.buffer)
"""


def test_pickled_tokens_go_on_in_another_process(systems):
    asked, expected = [], []
    for way, method in [(w, m) for w in WAYS for m in ("rk4", "adams", "radau")] + [
        ("projected", "generalized-alpha"),
        ("cartesian", "hht"),
    ]:
        s, start = systems(way, jumps=True)
        options = WAYS[way][1] | ({} if method in ("generalized-alpha", "hht") else {"rtol": 1e-6, "atol": 1e-8})
        st = s.stepper(start, STEP, method, outputs=OUTPUTS, **options)
        for k in range(7):
            st.advance(drive(k))
        token = st.save()
        x0 = (dict(zip(s.coordinate_names, start.q, strict=True)), dict(zip(s.velocity_names, start.v, strict=True)))
        asked.append((way, method, options, x0, pickle.loads(pickle.dumps(token))))  # a pickled token can be pickled again
        expected.append((token.t, go_on(st)))
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=pickle.dumps(asked), capture_output=True, check=True)
    for (way, method, *_), found, wanted in zip(asked, pickle.loads(done.stdout), expected, strict=True):
        assert found == wanted, (way, method)


def test_pickled_tokens_fit_steppers_made_in_the_same_way(systems, directors):
    s, start = systems("projected")
    token = pickle.loads(pickle.dumps(s.stepper(start, STEP, "rk4").save()))
    with pytest.raises(InputError, match="like this one gave; this one has method 'heun' and not 'rk4'"):
        s.stepper(start, STEP, "heun").restore(token)
    st = s.stepper(start, STEP, "rk4")
    st.restore(token)
    assert st.t == token.t
    with pytest.raises(InputError, match="live in their process; start a stepper there from stepper.state"):
        pickle.dumps(directors()[0].stepper(directors()[1], STEP).save())


def test_a_restored_stepper_meets_the_same_events() -> None:
    """Guards remember on which side of zero they were."""
    m = jd.Model("pendulum")
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1.0)), axis="y")
    m.event("low", hinge.position - 0.5)
    st = m.compile().stepper({"hinge.angle": 1.0}, 0.1)
    token = st.save()

    def events() -> list[Any]:
        return [e for _ in range(10) for _ in [st.advance()] for e in st.events]

    first = events()
    st.restore(token)
    assert len(first) == 1 and events() == first


@pytest.mark.parametrize("way, method", cases(("rk4", "rosenbrock2", "dopri5", "adams", "radau")))
def test_inputs_of_every_step_are_those_of_a_controller(systems, way, method):
    s, start = systems(way)
    fixed = {"step": STEP} if method in FIXED else {}
    options = {"rtol": 1e-6, "atol": 1e-8, **WAYS[way][1]}
    st = s.stepper(start, STEP, method, inputs=["motor", "load"], outputs=["heat"], **options)
    rows = [st.advance(drive(k))[0] for k in range(STEPS)]
    counted = [0, 0]

    def law(i: int) -> Any:
        def value(state: Any) -> float:
            counted[i] += 1
            return drive(counted[i] - 1)[i]

        return jd.Controller(value, STEP)

    sol = s.simulate(start, STEPS * STEP, method, inputs={"motor": law(0), "load": law(1)}, **fixed, **options)
    at = np.searchsorted(sol.t, STEP * np.arange(1, STEPS + 1), side="right") - 1
    if way in ("reduced", "partition"):  # reading a state moves where Newton's method in the loops starts from
        np.testing.assert_allclose(rows, sol["heat"][at], rtol=1e-13)
    else:
        np.testing.assert_array_equal(rows, sol["heat"][at])


# -- directors ------------------------------------------------------------------------------------------------------------

DIRECTORS = [
    ("energy-momentum", {}), ("energy-momentum", {"reduction": "joints"}), ("energy-momentum", {"reduction": "bodies"}), ("midpoint", {}),
    ("generalized-alpha", {"rho": 0.9}), ("energy-momentum", {"linear_solver": "library"}), ("variational", {}),
]  # fmt: skip


@pytest.fixture(scope="module")
def directors() -> Any:
    made: dict[bool, Any] = {}

    def get(jumps: bool = False) -> tuple[Any, Any]:
        if jumps not in made:
            s = machine(jumps=jumps).compile(formulation="directors")
            made[jumps] = s, s.assemble({"A.angle": 0.7}, guess={"B.angle": -0.4, "C.angle": 1.6}, velocities={"A.angle": 3.0})
        return made[jumps]

    return get


@pytest.mark.parametrize("method, options", DIRECTORS)
def test_directors_step_as_they_march(directors, method, options):
    s, start = directors()
    st = s.stepper(start, STEP, method, inputs=[], outputs=["A.angle", "heat", "t"], **options)
    rows = np.array([st.y, *(st.advance() for _ in range(12))])
    sol = s.simulate(start, 12 * STEP, method, step=STEP, **options)
    np.testing.assert_array_equal(st._engine._march.vec.q0, sol.restart.memory["march"]["vec"][0])
    np.testing.assert_array_equal(rows[:, 2], sol.t)
    np.testing.assert_array_equal(rows[:, 1], sol["heat"])
    np.testing.assert_allclose(rows[:, 0], sol["A.angle"], rtol=1e-12)
    np.testing.assert_allclose(st.state.x, sol.final_state().x, rtol=1e-11)


@pytest.mark.parametrize("method, options", [*DIRECTORS, ("energy-momentum", {"adaptive": True})])
def test_directors_are_restored_bit_for_bit(directors, method, options):
    s, start = directors(True)
    st = s.stepper(start, STEP, method, outputs=["heat", "A.angle"], **options)
    for k in range(3):
        st.advance(drive(k))
    token = st.save()

    def go() -> list[bytes]:
        rows = [st.advance(drive(k), *([] if k % 5 else [0.3 * STEP])).tobytes() for k in range(12)]
        return [*rows, st.state.x.tobytes(), str(st.t).encode()]

    first = go()
    for _ in range(2):
        st.restore(token)
        assert st.t == token.t
        assert go() == first


def test_inputs_of_directors_are_those_of_a_controller(directors):
    s, start = directors()
    for method in ("energy-momentum", "generalized-alpha"):
        st = s.stepper(start, STEP, method, inputs=["motor"], outputs=["heat"])
        rows = [st.advance([drive(k)[0]])[0] for k in range(12)]
        at = iter(range(100))
        sol = s.simulate(start, 12 * STEP, method, step=STEP, inputs={"motor": jd.Controller(lambda _: drive(next(at))[0], STEP)})
        np.testing.assert_allclose(rows, sol["heat"][1:], rtol=1e-13)


# -- other schemes, events, callbacks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["generalized-alpha", "hht", "newmark", "trapezoidal"])
def test_schemes_on_the_differential_algebraic_equations(systems, method):
    s, start = systems("projected")
    st = s.stepper(start, STEP, method, outputs=["A.angle", "heat", "power"])
    rows = np.array([st.y, *(st.advance() for _ in range(STEPS))])
    sol = s.simulate(start, STEP * STEPS, method, step=STEP)
    for i, name in enumerate(st.outputs):
        np.testing.assert_array_equal(rows[:, i], sol[name])
    token = st.save()
    first = [st.advance(drive(k)).tobytes() for k in range(10)]
    st.restore(token)
    assert [st.advance(drive(k)).tobytes() for k in range(10)] == first
    again = s.stepper(start, STEP, method, outputs=["heat"])
    rows = [again.advance([drive(k)[0], 0.1])[0] for k in range(STEPS)]
    at = iter(range(100))
    sol = s.simulate(
        start, STEP * STEPS, method, step=STEP, inputs={"motor": jd.Controller(lambda _: drive(next(at))[0], STEP), "load": 0.1}
    )
    np.testing.assert_array_equal(rows, sol["heat"][np.searchsorted(sol.t, STEP * np.arange(1, STEPS + 1), side="right") - 1])


@pytest.mark.parametrize("way", WAYS)
def test_jumps_act_inside_a_step(systems, way):
    s, start = systems(way, jumps=True)
    st = s.stepper(start, 0.02, "dopri5", outputs=["heat", "A.angle"], rtol=1e-9, atol=1e-11, **WAYS[way][1])
    found = []
    for _ in range(40):
        st.advance([1.5, 0.1])
        found += st.events
    sol = s.simulate(start, 0.8, "dopri5", inputs={"motor": 1.5, "load": 0.1}, rtol=1e-10, atol=1e-12, **WAYS[way][1])
    jumped = sol.t[np.flatnonzero(np.diff(sol.t) == 0.0)]
    assert len(jumped) and len(found) == len(jumped)
    assert all(name == "hot" for _, name in found)
    np.testing.assert_allclose([t for t, _ in found], jumped, atol=1e-7)
    np.testing.assert_allclose(st.y, [sol["heat"][-1], sol["A.angle"][-1]], rtol=1e-6)
    assert st.t == pytest.approx(0.8, abs=1e-15)


@pytest.mark.parametrize("way", [*WAYS, "directors"])
def test_a_terminal_event_ends_the_motion_and_can_be_undone(systems, way):
    if way == "directors":
        s, own, method = machine(ends=True).compile(formulation="directors"), {}, None
        start = s.assemble({"A.angle": 0.7}, guess={"B.angle": -0.4, "C.angle": 1.6}, velocities={"A.angle": 3.0})
    else:
        (s, start), own, method = systems(way, ends=True), WAYS[way][1], "rk4"
    st = s.stepper(start, 0.01, method, outputs=["tip.x"], **own)
    assert st.ended is None
    token, count = st.save(), 0
    while st.ended is None:
        y = st.advance()
        count += 1
    assert st.ended == "far" and st.events[-1] == (st.t, "far") and (count - 1) * 0.01 < st.t < count * 0.01
    assert y[0] == pytest.approx(1.07, abs=1e-5 if way == "baumgarte" else 1e-7)  # its bodies drift apart
    assert st.t == pytest.approx(s.simulate(start, 2.0, method, step=0.01, **own).t[-1], abs=1e-9)
    with pytest.raises(InputError, match="event 'far' has ended the motion; restore"):
        st.advance()
    st.restore(token)
    assert st.ended is None and st.t == 0.0
    st.advance()
    assert st.t == 0.01


def test_partial_and_long_steps(systems):
    """Steps of the method never exceed the stepper's; a long advance is many of them."""
    s, start = systems("projected")
    st = s.stepper(start, STEP, "rk4", outputs=["A.angle", "t"])
    long = st.advance(step=10 * STEP)
    other = s.stepper(start, STEP, "rk4", outputs=["A.angle", "t"])
    for _ in range(10):
        y = other.advance()
    np.testing.assert_allclose(long, y, rtol=1e-15)
    st.advance(step=0.4 * STEP)
    assert st.t == pytest.approx(10.4 * STEP, abs=1e-16)
    count = st._engine._session.count.steps
    st.advance(step=5 * STEP)
    assert st._engine._session.count.steps == count + 5
    assert st.advance()[1] == pytest.approx(16.4 * STEP, abs=1e-15)


def test_restart_from_a_solution_and_other_inputs(systems):
    s, start = systems("projected")
    signal = lambda t: 0.5 + jd.sin(30.0 * t)
    first = s.simulate(start, 0.1, "rk4", step=STEP, inputs={"load": signal})
    st = s.stepper(first, STEP, inputs=["motor"], outputs=["A.angle", "load", "t"], others={"load": signal})
    assert st.t == first.t[-1] and st.step == STEP
    rows = np.array([st.advance([0.5]) for _ in range(20)])
    sol = s.simulate(first.final_state(), 0.04, "rk4", step=STEP, inputs={"load": signal})
    for i, name in enumerate(st.outputs):
        np.testing.assert_allclose(rows[:, i], sol[name][1:], rtol=0.0, atol=1e-15 if name == "load" else 0.0)


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural"])
def test_parameters_by_name_and_times_with_units(formulation):
    m = jd.Model("pendulum")
    bob = m.body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1), com=(0, 0, -m.parameter("l", 1.0)))
    m.revolute("hinge", m.ground, bob, axis="y")
    s = m.compile(formulation=formulation)
    other = s.copy()
    other.set_parameters(l=0.6)
    st = s.stepper({"hinge.angle": 0.5}, "10 ms", "dopri5", outputs=["hinge.angle"], parameters={"l": 0.6}, max_step="1 ms")
    alike = other.stepper({"hinge.angle": 0.5}, 0.01, "dopri5", outputs=["hinge.angle"], max_step=1e-3)
    assert [st.advance()[0] for _ in range(3)] == [alike.advance()[0] for _ in range(3)]
    assert s.parameters["l"] == 1.0


def test_quaternions_callbacks_and_channels_read_in_python():
    m = jd.Model("top")
    body = m.body("top", mass=1.0, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.02))
    m.spherical("ball", m.ground, body)
    m.load("drag", body, torque=(m.callback("pull", lambda w: -0.1 * w, [m.sensor("spin", body).angular_velocity.x]), 0, 0))
    m.output("tilt", m.sensor("tip", body.at(0, 0, 1)).z)
    with pytest.warns(UserWarning, match="run in Python"):
        s = m.compile()
        start = s.state({}, {"ball.orientation.omega_x": 1.0, "ball.orientation.omega_z": 9.0})
        names = ["tilt", "energy.total", "ball.reaction.z"]
        st = s.stepper(start, 5e-3, "heun", outputs=names)
        rows = np.array([st.y, *(st.advance() for _ in range(20))])
        sol = s.simulate(start, 0.1, "heun", step=5e-3)
        for i, name in enumerate(names):
            np.testing.assert_allclose(rows[:, i], sol[name], rtol=1e-11)
        np.testing.assert_array_equal(st.state.q, sol.final_state().q)


@pytest.mark.parametrize("way", WAYS)
def test_accelerations_reactions_and_energies_are_those_of_the_solution(way):
    m = machine()
    m.output("felt", m.sensor("imu", m.bodies["coupler"].at(0.2, 0, 0)).acceleration.x)
    s = m.compile(**WAYS[way][0])
    start = s.assemble({"A.angle": 0.7}, guess={"B.angle": -0.4, "C.angle": 1.6}, velocities={"A.angle": 3.0})
    names = ["felt", "C.angle_acc", "loop.reaction.x", "energy.total", "A.angle"]
    st = s.stepper(start, STEP, outputs=names, **WAYS[way][1])
    rows = np.array([st.advance(drive(k)) for k in range(10)])
    u = [iter([drive(k)[i] for k in range(10)]) for i in range(2)]
    held = {n: jd.Controller(lambda _, i=i: next(u[i]), STEP) for i, n in enumerate(("motor", "load"))}
    sol = s.simulate(start, 10 * STEP, "rk4", step=STEP, inputs=held, **WAYS[way][1])
    at = np.searchsorted(sol.t, STEP * np.arange(1, 11))  # before the next sample changes the inputs
    for i, name in enumerate(names):
        np.testing.assert_allclose(rows[:, i], sol[name][at], rtol=1e-8, err_msg=name)
    if way in ("projected", "range-space", "null-space"):
        assert s.stepper(start, STEP, outputs=["felt", "C.angle_acc"], **WAYS[way][1]).address


def test_closed_forms_are_left_for_others_near_dead_points():
    """A slider-crank that turns through the dead points of every choice of independent coordinates."""
    from jourdain.library.mechanisms import slider_crank

    s = slider_crank(gravity=9.81).compile()
    start = s.assemble({"piston.displacement": 0.18}, guess={"crank.angle": 0.5, "rod.angle": -0.6}, velocities={"crank.angle": 30.0})
    st = s.stepper(start, 1e-3, "rk4", outputs=["crank.angle", "piston.displacement"], reduction="closed")
    token = st.save()
    rows = np.array([st.advance() for _ in range(400)])
    sol = s.simulate(start, 0.4, "dop853", rtol=1e-11, atol=1e-13, times=1e-3 * np.arange(1, 401))
    np.testing.assert_allclose(rows[:, 0], sol["crank.angle"], rtol=1e-6)
    st.restore(token)
    np.testing.assert_array_equal([st.advance() for _ in range(400)], rows)


# -- native callers -----------------------------------------------------------------------------------------------------------

C_LOOP = """
#include <stdint.h>
typedef int32_t (*advance_t)(void**);
int32_t loop(advance_t advance, void** arguments, int steps, double* rows, int width) {
    double *t = arguments[0], *u = arguments[1], *y = arguments[2], *step = arguments[3];
    for (int k = 0; k < steps; k++) {
        u[0] = 0.5 + 0.01 * k;
        step[0] = 2e-3;
        int32_t status = advance(arguments);
        if (status) return status;
        for (int i = 0; i < width; i++) rows[k * (width + 1) + i] = y[i];
        rows[k * (width + 1) + width] = t[0];
    }
    return 0;
}
"""


@pytest.mark.parametrize("way, method", [("projected", "rk4"), ("projected", "rosenbrock2"), ("reduced", "dopri5"), ("closed", "heun")])
def test_a_loop_in_c(systems, way, method, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    (tmp_path / "loop.c").write_text(C_LOOP)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(tmp_path / "loop.so"), str(tmp_path / "loop.c")], check=True)
    loop = ctypes.CDLL(str(tmp_path / "loop.so")).loop
    loop.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    s, start = systems(way)
    st = s.stepper(start, STEP, method, inputs=["motor"], outputs=["A.angle", "power"], **WAYS[way][1])
    token, rows = st.save(), np.zeros((STEPS, 3))
    assert loop(st.address, st.arguments, STEPS, rows.ctypes.data, 2) == 0
    assert st.t == rows[-1, 2]
    st.restore(token)
    expected = np.array([[*st.advance([0.5 + 0.01 * k]), st.t] for k in range(STEPS)])
    np.testing.assert_array_equal(rows, expected)


# -- what is refused ------------------------------------------------------------------------------------------------------------


def test_refusals(systems):
    s, start = systems("projected")
    with pytest.raises(InputError, match=r"step = -0.001 must be a positive number of seconds"):
        s.stepper(start, -1e-3)
    with pytest.raises(InputError, match="there is no input 'engine'; the model has motor, load"):
        s.stepper(start, STEP, inputs=["engine"])
    with pytest.raises(InputError, match="'motor' is one of inputs= and of others="):
        s.stepper(start, STEP, inputs=["motor"], others={"motor": 1.0})
    with pytest.raises(InputError, match="'load' has a Controller; name it in inputs="):
        s.stepper(start, STEP, inputs=["motor"], others={"load": jd.Controller(lambda state: 1.0, 0.1)})
    with pytest.raises(InputError, match="must be a list of different names"):
        s.stepper(start, STEP, outputs=["heat", "heat"])
    with pytest.raises(InputError, match="stepper 'machine': channel 'tip.xx' is not .*did you mean 'tip.x'"):
        s.stepper(start, STEP, outputs=["tip.xx"])
    with pytest.raises(InputError, match="'loop.reaction' has 3 numbers; name one of them, as 'loop.reaction.x'"):
        s.stepper(start, STEP, outputs=["loop.reaction"])
    with pytest.raises(InputError, match="'energy.supplied' is an integral over a run"):
        s.stepper(start, STEP, outputs=["energy.supplied"])
    with pytest.raises(InputError, match="there is no option 'times'"):
        s.stepper(start, STEP, times=[0.0])
    with pytest.raises(InputError, match="method 'rk45' is unknown"):
        s.stepper(start, STEP, "rk45")
    st = s.stepper(start, STEP)
    with pytest.raises(InputError, match="must give one finite number for each input, which are 'motor', 'load'"):
        st.advance([1.0])
    with pytest.raises(InputError, match="must give one finite number for each input"):
        st.advance(1.0)
    with pytest.raises(InputError, match="step = 0 must be a positive"):
        st.advance(step=0)
    with pytest.raises(InputError, match="takes what save"):
        st.restore(s.stepper(start, STEP).save())
    with pytest.raises(InputError, match="'loop.reaction.x' is computed in Python"):
        _ = s.stepper(start, STEP, outputs=["loop.reaction.x"]).address
    with pytest.raises(SolverError, match="3 steps reached t = .* only"):
        s.stepper(start, 1.0, "dopri5", max_steps=3).advance()


@pytest.mark.parametrize(
    "way, options",
    [
        ("cartesian", {"method": "augmented-lagrangian"}),
        ("partition", {"reduction": "augmented-lagrangian", "method": "augmented-lagrangian"}),
    ],
)
def test_runs_in_one_piece_cannot_be_stepped(systems, way, options):
    s, start = systems(way)
    with pytest.raises(InputError, match="augmented-lagrangian runs go to their end in one piece; choose another method or reduction"):
        s.stepper(start, STEP, **options)


def test_native_callers_need_a_tree(systems):
    s, start = systems("cartesian")
    with pytest.raises(InputError, match="native callers need a tree"):
        _ = s.stepper(start, STEP).address
    s, start = systems("projected", jumps=True)
    with pytest.raises(InputError, match="event 'hot' changes the state in Python"):
        _ = s.stepper(start, STEP).address


@pytest.mark.parametrize("way", ["projected", "reduced", "closed"])
def test_a_motion_that_cannot_go_on(way):
    """A driven slider-crank whose rod is too short locks; the stepper says so and stays there until it is put back."""
    from jourdain.library.mechanisms import slider_crank

    m = slider_crank(crank=0.15, rod=0.1)
    m.drive(m.joints["crank"], lambda t: 0.1 + 3.0 * t)
    m.rate(m.state("clock", 0.0), 1.0)
    s = m.compile()
    start = s.assemble({}, guess={"rod.angle": -0.2, "piston.displacement": 0.25})
    st = s.stepper(start, 1e-3, outputs=["piston.displacement"], reduction=way)
    token = st.save()
    with pytest.raises(SolverError, match="stepper 'slider-crank': .*(dead point|locks|lock-up|cannot be closed)"):
        for _ in range(1000):
            st.advance()
    assert st.t == pytest.approx((np.arcsin(0.1 / 0.15) - 0.1) / 3.0, abs=5e-3)
    for ask in (st.advance, lambda: st.state):
        with pytest.raises(InputError, match=r"a step has failed .*; restore\(\) an earlier state"):
            ask()
    st.restore(token)
    assert st.t == 0.0 and st.advance().shape == (1,)


def test_errors_of_callbacks_come_through_and_can_be_undone():
    m = jd.Model("called")
    limits = [10.0]
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1.0)), axis="y")
    m.force(hinge, m.callback("law", lambda x: 1.0 / (limits[0] > abs(x)), [hinge.position]))
    with pytest.warns(UserWarning, match="run in Python"):
        st = m.compile().stepper({}, 0.01, outputs=["hinge.angle"])
    token, first = st.save(), st.advance()
    limits[0] = 0.0
    with pytest.raises(SolverError, match=r"callback 'law' raised ZeroDivisionError: .* at t = "):
        st.advance()
    with pytest.raises(InputError, match="a step has failed"):
        st.advance()
    limits[0] = 10.0
    st.restore(token)
    np.testing.assert_array_equal(st.advance(), first)


def test_a_failed_step_can_be_undone():
    m = jd.Model("fall")
    slide = m.prismatic("slide", m.ground, m.body("stone", mass=1.0), axis="z")
    push = m.input("push", 0.0)
    m.force(slide, lambda x, v, t: jd.sqrt(push))
    st = m.compile().stepper({}, 0.1, outputs=["slide.displacement_rate"])
    st.advance([4.0])
    token = st.save()
    with pytest.raises(SolverError, match="stepper 'fall': .*not finite"):
        st.advance([-1.0])
    st.restore(token)
    assert st.advance([4.0])[0] == pytest.approx(2 * 0.1 * (2 - 9.81))
