"""Runs in independent coordinates: states between steps, exact restart, Python callbacks, closed forms beside Newton."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.library import mechanisms, rolling_disk
from tests.systems.zoo import ZOO


@cache
def four_bar() -> Any:
    return mechanisms.four_bar().compile()


def spinning(speed: float = 12.0) -> Any:
    return four_bar().assemble({"crank": 1.0}, guess={"coupler": -0.5, "rocker": 1.5}, velocities={"crank": speed})


def names(s: Any) -> list[str]:
    return [*s.coordinate_names, *s.velocity_names]


@cache
def press(callback: bool = False) -> Any:
    """A four-bar (closed form) whose rocker moves a slide by a law without closed form."""
    m = jd.Model("press")
    crank, coupler = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1)), m.body("coupler", mass=0.5, com=(0.4, 0, 0))
    rocker = m.body("rocker", mass=1.0, com=(0.3, 0, 0))
    a = m.revolute("crank", m.ground, crank, axis="z")
    m.revolute("coupler", crank.at(0.35, 0, 0), coupler, axis="z")
    r = m.revolute("rocker", m.ground.at(1.0, 0, 0), rocker, axis="z", damping=0.1)
    m.close("pin", coupler.at(0.8, 0, 0), rocker.at(0.7, 0, 0), "ball")
    slide = m.prismatic("slide", m.ground, m.body("ram", mass=2.0), axis="y")
    m.constraint("cam", slide.position + 0.2 * jd.exp(slide.position) - 0.3 * jd.sin(r.position))
    if callback:
        torque = m.callback("motor", lambda v: 2.0 - 0.3 * v, [a.velocity])
        m.force(a, torque)
    else:
        m.force(a, lambda x, v, t: 2.0 - 0.3 * v)
    return m.compile()


def press_start(s: Any, speed: float = 4.0) -> Any:
    return s.assemble({"crank": 1.0}, guess={"coupler": -0.5, "rocker": 1.5, "slide": 0.0}, velocities={"crank": speed})


# --- between steps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["reduced", "closed"])
@pytest.mark.parametrize("method", ["dopri5", "adams"])
def test_states_between_steps(formulation: str, method: str) -> None:
    """The interpolant is as good as the steps, loops are closed to rounding, and all channels can be read from it."""
    s = four_bar()
    options: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-11, "reduction": formulation}
    if formulation == "reduced":
        options["repartition"] = 7
    sol = s.simulate(spinning(), 1.0, method, **options)
    times = np.linspace(0.0, 1.0, 203)
    exact = s.simulate(spinning(), 1.0, "dop853", rtol=1e-13, atol=1e-14, times=times)
    found = sol.at(times)
    for n in names(s):
        assert np.asarray(found[n]) == pytest.approx(exact[n], abs=3e-6 * max(1.0, np.abs(exact[n]).max()))
    q = np.column_stack([found[n] for n in s.coordinate_names])
    v = np.column_stack([found[n] for n in s.velocity_names])
    h, _ = s.function("constraints")(times[:, None], q)
    w, _ = s.function("constraint_velocities")(times[:, None], q, v)
    assert np.abs(h).max() < 1e-13 and np.abs(w).max() < 1e-10
    assert np.abs(sol["energy.error"]).max() < 1e-5
    if formulation == "reduced":
        assert sol.metadata["switches"] > 10


def test_interpolant_with_wanted_times() -> None:
    s = four_bar()
    times = [0.0, 0.123, 0.4]
    plain = s.simulate(spinning(), 0.4, reduction="reduced", times=times)
    dense = s.simulate(spinning(), 0.4, reduction="reduced", times=times, dense=True)
    assert plain.t.tolist() == dense.t.tolist() == times
    assert dense["crank.angle"] == pytest.approx(plain["crank.angle"], abs=1e-8)
    assert float(np.asarray(dense.at(np.array([0.2]))["crank.angle"])[0]) == pytest.approx(
        s.simulate(spinning(), 0.2, reduction="reduced")["crank.angle"][-1], abs=1e-6
    )


def test_rolling_between_steps() -> None:
    s = rolling_disk().compile()
    start = s.assemble(
        {"disk.x": 0.0, "disk.y": 0.0, "disk.rz": 0.0, "disk.rx": 1.4, "spin": 0.0},
        velocities={"disk.rx": 0.2, "disk.rz": 1.0, "spin": -8.0},
    )
    sol = s.simulate(start, 1.0, reduction="reduced", rtol=1e-10, atol=1e-12)
    times = np.linspace(0, 1.0, 37)
    exact = s.simulate(start, 1.0, "dop853", rtol=1e-12, atol=1e-13, times=times)
    for n in names(s):
        assert np.asarray(sol.at(times)[n]) == pytest.approx(exact[n], abs=1e-6)


# --- restart -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["reduced", "closed"])
@pytest.mark.parametrize("method", ["adams", "dopri5"])
def test_restart_goes_on_as_if_it_had_never_stopped(formulation: str, method: str) -> None:
    s = four_bar()
    whole = s.simulate(spinning(), 1.0, method, reduction=formulation, rtol=1e-9, atol=1e-11)
    first = s.simulate(spinning(), 0.5, method, reduction=formulation, rtol=1e-9, atol=1e-11)
    second = s.simulate(first, 0.5, method, reduction=formulation, rtol=1e-9, atol=1e-11)
    assert second.t[0] == 0.5 and second.t[-1] == 1.0
    assert second["crank.angle"][-1] == pytest.approx(whole["crank.angle"][-1], abs=1e-6)
    steps = [x.statistics["steps"] for x in (whole, first, second)]
    assert steps[1] + steps[2] <= steps[0] + 8  # no start from order one or a tiny step
    other = s.simulate(first, 0.5, "dop853", rtol=1e-9, atol=1e-11)  # another formulation takes the state alone
    assert other["crank.angle"][-1] == pytest.approx(whole["crank.angle"][-1], abs=1e-6)
    assert s.simulate(other, 0.1, reduction=formulation)["crank.angle"][0] == other["crank.angle"][-1]


# --- closed form beside Newton ---------------------------------------------------------------------------------------


def test_loops_with_and_without_closed_form_in_one_model() -> None:
    s = press()
    start = press_start(s)
    times = np.linspace(0.0, 2.0, 21)
    options: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "times": times}
    expected = s.simulate(start, 2.0, "dop853", **options)
    for method in ("dopri5", "adams", "dop853"):
        sol = s.simulate(start, 2.0, method, reduction="closed", **options)
        assert set(sol.metadata["closure"]["closed form"]) == {"pin[1]", "pin[2]"}
        assert sol.metadata["closure"]["Newton"] == ["cam"]
        for n in names(s):
            assert sol[n] == pytest.approx(expected[n], abs=2e-7)
    assert np.ptp(expected["crank.angle"]) > 2 * np.pi  # over whole turns


def test_mixed_closure_serves_dense_output_restart_and_events() -> None:
    s = press()
    start = press_start(s)
    first = s.simulate(start, 0.7, "adams", reduction="closed", rtol=1e-9)
    second = s.simulate(first, 0.5, "adams", reduction="closed", rtol=1e-9)
    exact = s.simulate(start, 1.2, "dop853", rtol=1e-12, times=np.linspace(0, 1.2, 13))
    assert second["slide.displacement"][-1] == pytest.approx(exact["slide.displacement"][-1], abs=1e-6)
    found = first.at(exact.t[:7])
    assert np.asarray(found["slide.displacement"]) == pytest.approx(exact["slide.displacement"][:7], abs=1e-6)
    stiff = s.simulate(start, 1.2, "radau", reduction="closed", rtol=1e-9, atol=1e-11, times=exact.t)
    assert stiff["slide.displacement"] == pytest.approx(exact["slide.displacement"], abs=1e-7)


@pytest.mark.parametrize("repartition", [True, 7])
@pytest.mark.parametrize("method", ["radau", "rosenbrock"])
def test_implicit_methods_close_loops_by_newton(method: str, repartition: bool | int) -> None:
    s = four_bar()
    sol = s.simulate(spinning(), 0.5, method, reduction="reduced", repartition=repartition, rtol=1e-9, atol=1e-11, outputs=11)
    exact = s.simulate(spinning(), 0.5, "dop853", rtol=1e-12, atol=1e-13, outputs=11)
    assert sol["coupler.angle"] == pytest.approx(exact["coupler.angle"], abs=1e-6)
    assert sol.metadata["switches"] > 0 or repartition is True


# --- callbacks -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:model 'press'")
@pytest.mark.parametrize("formulation", ["projected", "reduced", "closed"])
def test_python_laws_read_the_full_state(formulation: str) -> None:
    s, traced = press(True), press()
    options: dict[str, Any] = {"rtol": 1e-8, "times": np.linspace(0, 0.5, 6), "reduction": formulation}
    found, expected = s.simulate(press_start(s), 0.5, **options), traced.simulate(press_start(traced), 0.5, **options)
    assert found["slide.displacement"] == pytest.approx(expected["slide.displacement"], abs=1e-9)


@pytest.mark.filterwarnings("ignore:model")
def test_errors_of_python_laws_are_raised() -> None:
    m = mechanisms.four_bar()
    crank = m.joints["crank"]

    def law(v: float) -> float:
        raise KeyError("no such gain")

    m.force(crank, m.callback("motor", law, [crank.velocity]))
    s = m.compile()
    start = s.assemble({"crank": 1.0}, guess={"coupler": -0.5, "rocker": 1.5})
    with pytest.raises(jd.SimulationError, match="callback 'motor' raised KeyError: 'no such gain' at t = 0 s") as told:
        s.simulate(start, 0.1, reduction="reduced")
    assert isinstance(told.value.__cause__, KeyError)


# --- over-constrained linkages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams", "radau"])
@pytest.mark.parametrize(("angle", "rate"), [(0.0, 0.0), (0.3, 1.0), (1.5, 3.0), (-1.0, 5.0)])
def test_redundant_rows_that_vanish_on_the_way(angle: float, rate: float, method: str) -> None:
    """Two of Bennett's five equations are zero as a whole in some positions: the loop is closed by others there."""
    s = mechanisms.bennett().compile()
    x = s.assemble({"P1": angle}, velocities={"P1": rate})
    tight: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}
    expected = s.simulate(x, 2.0, "dop853", **tight)
    for formulation, options in (("recursive", {"reduction": "reduced"}), ("semi-recursive", {})):
        run = mechanisms.bennett().compile(formulation=formulation).simulate(x, 2.0, method, max_steps=4000, **options, **tight)
        for n in names(s):
            assert run[n][-1] == pytest.approx(expected[n][-1], abs=1e-10)


def test_closed_forms_with_double_roots_are_not_used() -> None:
    """Bennett's linkage: single equations touch zero in every position, so that their roots have half the digits."""
    s = mechanisms.bennett().compile()
    x = s.assemble({"P1": 0.7}, velocities={"P1": 1.0})
    assert s.closure_report(state=x).method == "Newton"
    with pytest.raises(jd.InputError, match="no closed form .*use reduction='reduced'"):
        s.simulate(x, 0.1, reduction="closed")
    with pytest.raises(jd.InputError, match="root that closes 'P4.*' vanishes .*use reduction='reduced'"):
        s.simulate(x, 0.1, reduction="closed", independent=["P2"])


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_closed_forms_beside_newton_without_inputs(method: str) -> None:
    s, x = ZOO["couplings"]()
    run, expected = s.simulate(x, 0.05, method, reduction="closed", rtol=1e-10, atol=1e-12), s.simulate(x, 0.05, "dop853", rtol=1e-11)
    assert set(run.metadata["closure"]) == {"closed form", "Newton"}
    for n in names(s):
        assert run[n][-1] == pytest.approx(expected[n][-1], abs=1e-8)
