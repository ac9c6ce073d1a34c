"""Memories: discrete variables that are renewed when a step is accepted, against closed forms and against runs without a pause."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError, SolverError

TIGHT = {"rtol": 1e-11, "atol": 1e-13}
METHODS: list[tuple[str, dict[str, Any], float]] = [
    ("dopri5", TIGHT, 1e-9), ("dop853", TIGHT, 1e-9), ("adams", TIGHT, 1e-9), ("radau", TIGHT, 1e-9), ("rosenbrock", TIGHT, 1e-8),
    ("rk4", {"step": 1e-3}, 1e-8), ("velocity-verlet", {"step": 1e-4}, 1e-5), ("rosenbrock2", {"step": 1e-4}, 1e-5),
    ("generalized-alpha", {"step": 1e-4}, 1e-5), ("generalized-alpha", {"rtol": 1e-9, "atol": 1e-11}, 1e-6),
]  # fmt: skip

VIRGIN, UNLOADING, MASS, SPEED = 1000.0, 5000.0, 2.0, 1.0


def buffer(event: bool = True) -> jd.Model:
    """A mass against a spring that is crushed: stiffness k on the virgin curve, unloading on a steeper slope from the largest compression."""
    m = jd.Model("buffer", gravity=(0, 0, 0))
    m.parameter("dented", 0.0, unit="m")
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=MASS), axis="x")
    x = slide.position
    crush = m.memory("crush", m.parameter_set["dented"].symbol, lambda crush: jd.maximum(crush, x), unit="m")
    unloading = jd.maximum(VIRGIN * crush - UNLOADING * (crush - x), 0.0)
    m.force(slide, -jd.where(x >= crush, VIRGIN * jd.maximum(x, 0.0), unloading))
    m.output("set", crush * (1.0 - VIRGIN / UNLOADING))
    if event:
        m.event("turn", slide.velocity, direction=-1)
        m.event("off", VIRGIN * crush - UNLOADING * (crush - x), direction=-1)
    return m


def deepest(dented: float = 0.0) -> float:
    """The largest compression by the energy: that of the slope up to the old dent, then of the virgin curve."""
    slope = 0.5 * UNLOADING * (VIRGIN / UNLOADING * dented) ** 2
    return float(np.sqrt(dented**2 + 2.0 * (0.5 * MASS * SPEED**2 - slope) / VIRGIN))


def blow(s: jd.System, **run: Any) -> Any:
    return s.simulate({"slide.displacement_rate": SPEED}, 0.2, **run)


# -- laws with a closed form ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "options", "near"), METHODS, ids=lambda x: str(x))
def test_crushed_spring_returns_the_energy_of_its_unloading_slope(method: str, options: dict[str, Any], near: float) -> None:
    sol = blow(buffer().compile(), method=method, **options)
    assert sol["crush"][-1] == pytest.approx(deepest(), abs=near)
    assert sol["slide.displacement_rate"][-1] == pytest.approx(-SPEED * np.sqrt(VIRGIN / UNLOADING), abs=near)
    assert sol["set"][-1] == pytest.approx(deepest() * (1 - VIRGIN / UNLOADING), abs=near)
    assert sol.channel("crush").unit == "m" and sol.channel("crush").description == "memory"
    assert (np.diff(sol["crush"]) >= 0.0).all()


def test_order_without_and_with_an_event_at_the_turning_point() -> None:
    """The largest compression is that at the end of a step: of second order, and of the method's own where a step ends there."""
    exact = -SPEED * np.sqrt(VIRGIN / UNLOADING)

    def errors(event: bool) -> np.ndarray:
        s = buffer(event).compile()
        return np.array([abs(blow(s, method="rk4", step=h)["slide.displacement_rate"][-1] - exact) for h in (4e-3, 2e-3, 1e-3, 5e-4)])

    loose, tight = errors(False), errors(True)
    assert loose[-1] < 2e-4 and tight[-1] < 1e-9
    assert (tight < 0.2 * loose).all()


def jenkins(event: bool = True) -> jd.Model:
    """A spring in series with a dry slider, moved by x = A sin t: the memory is where the slider is; a state adds up the work."""
    m = jd.Model("jenkins")
    m.prismatic("idle", m.ground, m.body("body", mass=1.0), axis="x")
    A, k, slip = 0.02, 1e4, 0.004
    x, v = A * jd.sin(m.time), A * jd.cos(m.time)
    seat = m.memory("seat", 0.0, lambda seat: jd.maximum(x - slip, jd.minimum(x + slip, seat)), unit="m")
    force = k * jd.maximum(-slip, jd.minimum(slip, x - seat))
    work = m.state("work", 0.0, unit="J")
    m.rate(work, force * v)
    m.output("force", force, unit="N")
    if event:
        m.event("back", v)
        m.event("slips", force - (k * slip) * (1 - 1e-15))
    return m


def test_area_of_the_hysteresis_loop() -> None:
    """4 F (A − F/k) for a whole cycle after the first quarter (Jenkins 1962)."""
    s = jenkins().compile()
    quarter = s.simulate({}, 0.5 * np.pi, **TIGHT)
    cycle = s.simulate(quarter, (0.5 * np.pi, 2.5 * np.pi), max_step=0.05, **TIGHT)
    area = cycle["work"][-1] - quarter["work"][-1]
    assert area == pytest.approx(4 * 40.0 * (0.02 - 0.004), rel=1e-9)
    assert np.abs(cycle["force"]).max() == pytest.approx(40.0, abs=1e-9)


def test_bristles_stick_without_creep() -> None:
    """A block on a slope below the angle of friction comes to rest where its bristles carry it, and stays there."""
    m = jd.Model("slope")
    slope, g, mu, k = 0.2, 9.81, 0.5, 1e4
    slide = m.prismatic("slide", m.ground, m.body("block", mass=1.0), axis=(np.cos(slope), 0, -np.sin(slope)))
    x, v = slide.position, slide.velocity
    most = mu * g * np.cos(slope) / k
    root = m.memory("root", 0.0, lambda root: jd.maximum(x - most, jd.minimum(x + most, root)), unit="m")
    m.force(slide, -k * jd.maximum(-most, jd.minimum(most, x - root)) - 20.0 * v)
    sol = m.compile().simulate({"slide.displacement_rate": 0.5}, 100.0, method="radau", outputs=101)
    where = sol["slide.displacement"]
    assert abs(where[-1] - where[10]) < 1e-12, "no creep in 90 s"
    assert abs(sol["slide.displacement_rate"][-1]) < 1e-14
    assert where[-1] - sol["root"][-1] == pytest.approx(g * np.sin(slope) / k, rel=1e-9)
    assert sol["root"][-1] > 0.01, "it slid first"


# -- when they are renewed ---------------------------------------------------------------------------------------------


def counting(fibonacci: bool = False) -> jd.Model:
    """A pendulum that counts accepted steps, perhaps with two memories that are renewed at once: Fibonacci's numbers."""
    m = jd.Model("counting")
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01)), axis="y")
    m.memory("count", 0.0, lambda n: n + 1.0)
    if fibonacci:
        a, b = m.memory("a", 0.0), m.memory("b", 1.0)
        m.update(a, b)
        m.update(b, a + b)
    m.force(hinge, 1e-3 * m.inputs["count"].symbol)
    return m


@pytest.mark.parametrize(("method", "options", "near"), METHODS, ids=lambda x: str(x))
def test_once_for_every_accepted_step(method: str, options: dict[str, Any], near: float) -> None:
    options = options if "step" in options else {"rtol": 1e-5, "atol": 1e-7}
    sol = counting().compile().simulate({"hinge.angle": 1.2, "hinge.angle_rate": 6.0}, 0.3, method=method, **options)
    assert sol["count"][-1] == sol.statistics["steps"]
    assert len(np.unique(sol["count"])) == sol["count"][-1] + 1


def test_all_at_once_from_the_values_before() -> None:
    sol = counting(fibonacci=True).compile().simulate({}, 0.012, method="rk4", step=1e-3)
    assert sol["a"].tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]


def test_constant_over_a_step_and_new_from_its_end_on() -> None:
    sol = counting().compile().simulate({}, 0.01, method="rk4", step=1e-3)
    assert sol["count"].tolist() == list(range(11))
    assert sol.at([0.0, 0.0004, 0.0049999, 0.0050001])["count"].tolist() == [0, 0, 4, 5]
    few = counting().compile().simulate({}, 0.01, method="rk4", step=1e-3, times=[0.0004, 0.0005, 0.0045])
    assert few["count"].tolist() == [0, 0, 4]


def test_more_changes_than_are_noted_at_a_time() -> None:
    for formulation in ("recursive", "directors"):
        sol = (
            counting()
            .compile(formulation=formulation)
            .simulate({"hinge.angle": 0.1}, 3.0, step=1e-3, method=None if formulation == "directors" else "rk4")
        )
        np.testing.assert_array_equal(sol["count"], np.arange(3001.0))


def test_guards_that_a_renewal_carries_over_zero() -> None:
    m = counting()
    m.event("enough", m.inputs["count"].symbol - 7.0, terminal=True)
    for formulation, method in (("recursive", "rk4"), ("recursive", "generalized-alpha"), ("cartesian", "rk4"), ("directors", None)):
        sol = m.compile(formulation=formulation).simulate({"hinge.angle": 0.5}, 0.1, method=method, step=1e-3)
        assert sol.metadata["status"] == "event"
        assert sol.t[-1] == pytest.approx(7e-3, abs=1e-12) and sol["count"][-1] == 7.0, formulation


def test_an_event_sees_renewed_memories_and_sets_them() -> None:
    m = counting()
    n = m.inputs["count"].symbol
    seen = m.state("seen", 0.0)
    m.rate(seen, 0.0 * seen)
    m.event("swing", m.joints["hinge"].velocity, direction=1, jump={n: 100.0, seen: n})
    sol = m.compile().simulate({"hinge.angle": 1.0}, 1.5, method="rk4", step=1e-2)
    k = int(np.flatnonzero(np.diff(sol.t) == 0.0)[0])
    assert sol["count"][k + 1] == 100.0 and sol["count"][k] == k - 1, "before the event as during the step, after it as set"
    assert sol["seen"][k + 1] == k, "the step that ends at the event has renewed it"
    assert sol["count"][-1] == 100.0 + len(sol.t) - 1 - (k + 1)


def test_controllers_read_them() -> None:
    m = counting()
    m.input("torque")
    read: list[float] = []
    law = jd.Controller(lambda state: float(read.append(state["count"]) or 0.0), 0.01)
    for formulation in ("recursive", "directors"):
        read.clear()
        m.compile(formulation=formulation).simulate(
            {}, 0.04, step=1e-3, method=None if formulation == "directors" else "rk4", inputs={"torque": law}
        )
        assert read == [0.0, 10.0, 20.0, 30.0]


@pytest.mark.parametrize(("method", "options", "near"), METHODS, ids=lambda x: str(x))
def test_a_relay_with_hysteresis(method: str, options: dict[str, Any], near: float) -> None:
    """A force that switches at ±a: from threshold to threshold the motion is a parabola, with events at both it is exact."""
    m = jd.Model("relay", gravity=(0, 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    x, a, force = slide.position, 0.1, 2.0
    side = m.memory("side", 1.0, lambda side: jd.where(x >= a, -1.0, jd.where(x <= -a, 1.0, side)))
    m.force(slide, force * side)
    m.event("high", x - a, direction=1)
    m.event("low", x + a, direction=-1)
    sol = m.compile().simulate({"slide.displacement_rate": 0.5}, 3.0, method=method, **options)
    position, speed, now, sense, switches = 0.0, 0.5, 0.0, 1.0, 0
    while True:  # the time to the threshold on the other side of the parabola
        b, c = speed, position - sense * a
        roots = np.roots([0.5 * force * sense, b, c])
        ahead = [r.real for r in roots if abs(r.imag) < 1e-12 and r.real > 1e-9]
        t = min(ahead)
        if now + t > 3.0:
            t = 3.0 - now
            break
        position, speed, now, sense, switches = sense * a, speed + force * sense * t, now + t, -sense, switches + 1
    assert switches >= 3 and sol["side"][-1] == sense
    assert sol["slide.displacement"][-1] == pytest.approx(position + speed * t + 0.5 * force * sense * t**2, abs=100 * near)
    assert sol["slide.displacement_rate"][-1] == pytest.approx(speed + force * sense * t, abs=100 * near)


@pytest.mark.parametrize("way", [{"reduction": "reduced"}, {"reduction": "closed"}, {"formulation": "semi-recursive"},
                                 {"formulation": "semi-recursive", "reduction": "range-space"}])  # fmt: skip
def test_singular_positions_are_passed_with_them(way: dict[str, Any]) -> None:
    """A parallelogram passes its flat positions: legs in other coordinates share the memory, and steps taken back leave no trace."""

    def parallelogram() -> jd.Model:
        m = jd.Model("parallelogram", gravity=(0, 0, 0))
        a, b, c = (m.body(n, mass=1.0, com=(0.5 * r, 0, 0), inertia=(0.01, 0.1, 0.1)) for n, r in (("a", 0.5), ("b", 1.0), ("c", 0.5)))
        first = m.revolute("first", m.ground, a, axis="-y")
        m.revolute("second", a.at(0.5, 0, 0), b, axis="-y")
        m.revolute("third", m.ground.at(1.0, 0, 0), c, axis="-y")
        m.revolute("closing", b.at(1.0, 0, 0), c.at(0.5, 0, 0), axis="-y")
        most = m.memory("most", 0.0, lambda most: jd.maximum(most, first.position))
        m.force(first, -0.3 * most)
        return m

    def run(**options: Any) -> Any:
        s = parallelogram().compile(**options)
        x = s.assemble({"first.angle": 0.7}, guess={"second.angle": -0.7, "third.angle": 0.7}, velocities={"first.angle_rate": 8.0})
        return s.simulate(x, 1.0, max_step=2e-3, rtol=1e-10, atol=1e-12)

    expected, found = run(), run(**way)
    assert expected["first.angle"].max() > 2 * np.pi
    for name in ("first.angle", "most", "first.angle_rate"):
        assert found[name][-1] == pytest.approx(expected[name][-1], abs=1e-4), name
    np.testing.assert_allclose(found["most"][1:], np.maximum.accumulate(found["first.angle"])[1:], atol=1e-12)


def test_looped_code_reads_them() -> None:
    def run(form: str) -> Any:
        m = counting()
        return m.compile(form=form).simulate({"hinge.angle": 0.4}, 0.2, method="rk4", step=1e-3)

    np.testing.assert_allclose(run("looped")["hinge.angle"], run("straight")["hinge.angle"], atol=1e-13)
    assert run("looped")["count"][-1] == 200


# -- going on ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dopri5", "rk4", "adams", "radau", "generalized-alpha"])
def test_a_restart_goes_on_bit_for_bit(method: str) -> None:
    s = buffer(event=False).compile()
    options = {"step": 1e-3} if method in ("rk4", "generalized-alpha") else {"max_step": 1e-3}
    whole = s.simulate({"slide.displacement_rate": SPEED}, 0.1, method=method, times=[0.04, 0.1], **options)
    half = s.simulate({"slide.displacement_rate": SPEED}, 0.04, method=method, **options)
    rest = s.simulate(half, (0.04, 0.1), method=method, **options)
    if method in ("rk4", "generalized-alpha"):
        assert rest["slide.displacement"][-1] == whole["slide.displacement"][-1] and rest["crush"][-1] == whole["crush"][-1]
    assert rest["crush"][0] == half["crush"][-1] > 0.03
    other = s.simulate(half, (0.04, 0.1), method="dop853", **TIGHT)  # of another method: the memory is that of the state
    assert other["crush"][0] == half["crush"][-1]
    assert other["slide.displacement_rate"][-1] == pytest.approx(rest["slide.displacement_rate"][-1], abs=2e-3)
    assert s.simulate(half.final_state(), 0.06, method="rk4", step=1e-3)["crush"][0] == half["crush"][-1]


@pytest.mark.parametrize(
    ("formulation", "method"),
    [("recursive", "rk4"), ("recursive", "generalized-alpha"), ("recursive", "adams"), ("cartesian", "rk4"), ("directors", None)],
)
def test_steppers_save_and_restore_them(formulation: str, method: str | None) -> None:
    s = buffer(event=False).compile(formulation=formulation)
    st = s.stepper({"slide.displacement_rate": SPEED}, 1e-3, method, outputs=["slide.displacement", "crush", "set"])
    assert st.inputs == ()
    for _ in range(50):
        st.advance()
    token, then = st.save(), st.state
    first = [st.advance() for _ in range(60)]
    end = st.state
    st.restore(token)
    assert st.state["crush"] == then["crush"]
    np.testing.assert_array_equal(first, [st.advance() for _ in range(60)])
    assert st.state["crush"] == end["crush"] == first[-1][1] > then["crush"]
    if method == "rk4":
        sol = s.simulate({"slide.displacement_rate": SPEED}, 0.11, method=method, step=1e-3)
        assert sol["crush"][-1] == pytest.approx(end["crush"], abs=1e-14)


def test_given_steps_are_followed() -> None:
    s = buffer(event=False).compile()
    free = blow(s, method="dopri5")
    again = blow(s, method="dopri5", steps=free)
    np.testing.assert_allclose(again["crush"], free["crush"], rtol=0, atol=1e-15)


def test_a_sweep_and_initial_values_of_parameters() -> None:
    s = buffer().compile()
    dents = [0.0, 0.02, 0.06]
    outputs = {"end": lambda sol: sol["crush"][-1]}
    found = s.sweep({"slide.displacement_rate": SPEED}, 0.2, {"dented": dents}, outputs=outputs, progress=False, **TIGHT)
    assert np.asarray(found["end"]) == pytest.approx([deepest(d) for d in dents], abs=1e-9)
    assert s.simulate({"slide.displacement_rate": SPEED, "crush": "30 mm"}, 0.01)["crush"][0] == 0.03


# -- other verbs, files ------------------------------------------------------------------------------------------------


def test_verbs_take_them_as_they_are() -> None:
    s = buffer().compile()
    x = s.state({"slide.displacement": 0.03, "crush": 0.04})
    force = -(VIRGIN * 0.04 - UNLOADING * 0.01)
    for formulation in ("recursive", "semi-recursive", "cartesian", "natural", "directors"):
        f = buffer().compile(formulation=formulation)
        assert f.accelerations(f.state({"slide.displacement": 0.03, "crush": 0.04}))[0] == pytest.approx(
            force / MASS if force < 0 else 0.0, abs=1e-10
        )
    soft = s.linearise(s.state({"slide.displacement": 0.0396, "crush": 0.04}))
    assert soft.A[1, 0] == pytest.approx(-UNLOADING / MASS) and soft.inputs == [] and soft.B.shape == (2, 0)
    assert s.linearise({"slide.displacement": 0.05, "crush": 0.04}).A[1, 0] == pytest.approx(-VIRGIN / MASS)
    assert x["crush"] == 0.04 and "crush" in str(x)
    rest = s.equilibrium({"slide.displacement": 0.035, "crush": 0.04})
    assert rest.state["slide.displacement"] <= 0.032 + 1e-9 and rest.state["crush"] == 0.04 and rest.inputs == {}


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_verbs_of_every_formulation(formulation: str) -> None:
    """Linear systems, static forces and inverse dynamics along a run with the memories of the state, or as they were."""
    s = buffer().compile(formulation=formulation)
    x = {"slide.displacement": 0.039, "crush": 0.04}
    assert s.linearise(x).A[1, 0] == pytest.approx(-UNLOADING / MASS, rel=1e-6)
    holding = VIRGIN * 0.04 - UNLOADING * 0.001
    assert s.static_forces(x, ["slide"])["slide.displacement"] == pytest.approx(holding, rel=1e-9)
    sol = buffer().compile().simulate({"slide.displacement_rate": SPEED}, 0.2, **TIGHT)
    needed = s.inverse_dynamics_along(sol, actuators=["slide"])
    np.testing.assert_allclose(np.asarray(needed.forces).ravel()[5:-5], 0.0, atol=0.5)


def test_results_and_model_files(tmp_path: Path) -> None:
    m = buffer()
    m.save(tmp_path / "buffer.toml")
    text = (tmp_path / "buffer.toml").read_text()
    assert 'crush = {initial = "dented", update = "max(slide.displacement, crush)", unit = "m"}' in text
    read = jd.load_model(tmp_path / "buffer.toml")
    assert read.compile().fingerprint == m.compile().fingerprint
    sol, again = blow(m.compile()), blow(read.compile())
    np.testing.assert_array_equal(sol["crush"], again["crush"])
    sol.save(tmp_path / "run.h5")
    kept = jd.load_solution(tmp_path / "run.h5")
    np.testing.assert_array_equal(kept["crush"], sol["crush"])
    middle = 0.5 * (sol.t[3] + sol.t[4])
    assert kept.at(middle)["crush"] == sol.at(middle)["crush"] == sol["crush"][3] != sol["crush"][4]
    with_jump = counting()
    with_jump.event("swing", with_jump.joints["hinge"].velocity, jump={with_jump.inputs["count"].symbol: 0.0})
    with_jump.save(tmp_path / "count.toml")
    assert jd.load_model(tmp_path / "count.toml").compile().fingerprint == with_jump.compile().fingerprint


def test_models_inside_others() -> None:
    m = jd.Model("two", gravity=(0, 0, 0))
    m.include(buffer(), "left")
    m.include(buffer(), "right", parameters={"dented": 0.06})
    sol = m.compile().simulate({"left.slide.displacement_rate": SPEED, "right.slide.displacement_rate": 1.0}, 0.2, **TIGHT)
    assert sol["left.crush"][-1] == pytest.approx(deepest(), abs=1e-9)
    assert sol["right.crush"][-1] == pytest.approx(deepest(0.06), abs=1e-9)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_program_in_c_renews_them(tmp_path: Path) -> None:
    from jourdain.io.standalone import standalone_c

    s = buffer(event=False).compile()
    start = s.state({"slide.displacement_rate": SPEED})
    (tmp_path / "run.c").write_text(standalone_c(s, start, 0.1, 1e-3))
    subprocess.run(["cc", "-O1", "run.c", "-o", "run", "-lm"], cwd=tmp_path, check=True)
    table = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert table[0].split(",")[3] == "crush"
    sol = s.simulate(start, 0.1, method="rk4", step=1e-3)
    assert [float(row.split(",")[3]) for row in table[1:]] == pytest.approx(sol["crush"].tolist(), abs=1e-15)


# -- what cannot be -----------------------------------------------------------------------------------------------------


def test_updates_that_are_not_finite_are_named() -> None:
    m = jd.Model("bad")
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="z")
    m.memory("root", 1.0, jd.sqrt(0.01 + slide.position))
    for formulation in ("recursive", "cartesian", "directors"):
        with pytest.raises(SolverError, match=r"the update of memory 'root' gives .*nan at t = 0\.04"):
            m.compile(formulation=formulation).simulate({}, 0.1, step=1e-3, method=None if formulation == "directors" else "rk4")
    st = m.compile().stepper({}, 1e-3)
    with pytest.raises(SolverError, match="memory 'root'"):
        for _ in range(100):
            st.advance()


def test_errors_say_what_to_do() -> None:
    m = jd.Model("errors")
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="z")
    with pytest.raises(ModelError, match="initial value .* must be a number or depend on parameters alone"):
        m.memory("late", slide.position, 0.0)
    with pytest.raises(ModelError, match="memory 'nan': nan is not a finite number"):
        m.memory("nan", float("nan"), 0.0)
    with pytest.raises(ModelError, match="accelerations, which depend on the memory itself"):
        m.memory("a", 0.0, slide.acceleration)
    seen = m.memory("seen", 0.0, lambda seen: jd.maximum(seen, slide.position))
    with pytest.raises(ModelError, match="there is a memory 'seen' already"):
        m.memory("seen")
    with pytest.raises(ModelError, match="is not a memory of the model 'errors'"):
        m.update(slide.position, seen)
    m.force(slide, -seen)
    s = m.compile()
    with pytest.raises(InputError, match="memory 'seen' is set by the run itself; give its value at the start with the state"):
        s.simulate({}, 0.1, inputs={"seen": 1.0})
    with pytest.raises(InputError, match="memory 'seen' is set by the run itself; leave it out of inputs="):
        s.stepper({}, 1e-3, inputs=["seen"])
    with pytest.raises(ModelError, match="compiled and locked"):
        m.update(seen, 0.0)
    lazy = jd.Model("lazy")
    slide = lazy.prismatic("slide", lazy.ground, lazy.body("mass", mass=1.0), axis="z")
    lazy.force(slide, lazy.memory("idle"))
    with pytest.raises(ModelError, match="memory 'idle' is never renewed"):
        lazy.compile().simulate({}, 0.1)
