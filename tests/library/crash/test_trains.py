"""Trains on a line: T5, T6, T8 and T10 of the specification of crashworthiness, scenarios, measures, files, what cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.gradients.simulated import GradientWarning
from jourdain.errors import InputError
from jourdain.library.crash.measures import G, secondary_impact

lib = jd.library
LE = lib.crush_device(levels=["1 MN", "1.5 MN", "2 MN"], ends=[0.1, 0.3, 0.6], stiffness="100 MN/m", traction="1 MN", name="LE")
HE = lib.crush_device(levels=["1.5 MN", "2 MN", "2.5 MN"], ends=[0.2, 0.6, 1.2], stiffness="100 MN/m", name="HE")
TRAIN = lib.train(masses=["40 t", "45 t", "50 t"], couplers=LE, front=HE)
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
ONE_WAY = [
    ("recursive", "dopri5", TIGHT), ("recursive", "radau", TIGHT), ("recursive", "adams", TIGHT), ("recursive", "rk4", {"step": 1e-4}),
    ("recursive", "generalized-alpha", {"step": 1e-4}), ("semi-recursive", None, TIGHT), ("cartesian", None, TIGHT), ("natural", None, TIGHT),
    ("directors", None, {"step": 2e-4}),
]  # fmt: skip


def momentum(sol: Any, masses: dict[str, float]) -> np.ndarray:
    return np.asarray(sum(kg * sol[f"{n}.displacement_rate"] for n, kg in masses.items()))


# -- momentum and energy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("formulation", "method", "options"), ONE_WAY, ids=lambda x: str(x))
def test_t5_two_bodies(formulation: str, method: str | None, options: dict[str, Any]) -> None:
    """A plastic collision: common speed and E = ½ m₁ m₂/(m₁ + m₂) v², to what the elastic slope gives back; momentum to rounding."""
    m1, m2, v, f, k = 60e3, 40e3, 12.0, 1.5e6, 1e11
    a, b = lib.train([m1], front=lib.crush_device(f, 9.0, k)), lib.train([m2])
    options = {**options, "step": 2e-5} if "step" in options else options
    s = lib.wagon_into_wagons(a, b, v).compile(formulation=formulation)
    sol = s.simulate(None, 0.21, method, **options)
    p = momentum(sol, {"a.car1": m1, "b.car1": m2})
    assert np.abs(p / (m1 * v) - 1.0).max() < (1e-12 if formulation != "directors" else 1e-11)
    reduced = m1 * m2 / (m1 + m2)
    back = f / np.sqrt(k * reduced)
    apart = sol["b.car1.displacement_rate"][-1] - sol["a.car1.displacement_rate"][-1]
    assert apart == pytest.approx(back, rel=0.05), "the rebound of its slope"
    assert sol["front.energy"].max() == pytest.approx(0.5 * reduced * v**2, rel=2e-4)
    assert sol["a.car1.displacement_rate"][-1] == pytest.approx((m1 * v - m2 * back) / (m1 + m2), rel=1e-4)


def test_t6_wagon_into_two_wagons() -> None:
    """The SAFETRAIN set-up with surrogate devices: both published rows, and the limit of stiff slopes."""

    def energies(M_B: float, M_C: float, M_A: float, v: str, L1: float, k: float = 1e8, k_le: float = 5e7) -> tuple[Any, float]:
        moving = lib.train([M_B], front=lib.crush_device(L1, 5.0, k, name="honeycomb"), name="B")
        standing = lib.train([M_C, M_A], couplers=lib.crush_device(1.2e6, 5.0, k_le, name="LE"), name="C and A")
        measures = lib.crash_measures(lib.wagon_into_wagons(moving, standing, v).compile().simulate(t=1.0))
        speed = float(v.split()[0]) / 3.6
        return measures, 0.5 * M_B * (M_C + M_A) / (M_B + M_C + M_A) * speed**2

    found, lost = energies(70e3, 30e3, 59.5e3, "53.7 km/h", 3e6)
    HE_, LE_ = found.devices["front"], found.devices["b.coupler1"]
    assert HE_.energy == pytest.approx(3.003e6, rel=2e-3) and LE_.energy == pytest.approx(1.410e6, rel=2e-3)
    assert HE_.last_energy == pytest.approx(2.958e6, rel=2e-3) and LE_.last_energy == pytest.approx(1.396e6, rel=2e-3)
    assert HE_.crush == pytest.approx(1.016, abs=1e-3) and LE_.crush == pytest.approx(1.187, abs=1e-3)
    assert lost == pytest.approx(4.3699e6, rel=1e-4) and HE_.energy + LE_.energy == pytest.approx(lost, rel=0.02)
    found, lost = energies(69.6e3, 30.1e3, 60e3, "53.4 km/h", 2999.4e3)
    assert found.devices["front"].energy == pytest.approx(2.98e6, rel=0.02) and found.devices["b.coupler1"].energy == pytest.approx(
        1.41e6, rel=0.02
    )
    assert lost == pytest.approx(4.3199e6, rel=1e-4)
    stiff = [energies(70e3, 30e3, 59.5e3, "53.7 km/h", 3e6, k, k)[0].devices["front"].energy for k in (1e10, 1e11, 1e12)]
    short = 3.2449e6 - np.array(stiff)
    assert (short > 0).all() and stiff[-1] == pytest.approx(3.2449e6, rel=1e-3)
    assert np.sqrt(10) == pytest.approx(short[0] / short[1], rel=0.1), "the error falls with 1/√k"


REGRESSION = {
    "S1": ((2.548, 3.010, 3.058), (0.0290, 0.4309, 1.476), 3.903e6, 3.9388e6),
    "S2": ((2.548, 3.479, 4.077), (0.0463, 0.4224, 2.979), 7.656e6, 7.6705e6),
    "S3": ((2.548, 3.285, 3.058), (0.0353, 0.4346, 1.768), 4.644e6, 4.6875e6),
}


def test_t8_regression_table() -> None:
    models = {"S1": lib.barrier(TRAIN, "27.5 km/h"), "S2": lib.truck(TRAIN, "90 km/h", "30 t"), "S3": lib.buffer_stop(TRAIN, "30 km/h")}
    for word, m in models.items():
        found = lib.crash_measures(m.compile().simulate(t=0.8))
        peaks, crushes, energy, plastic = REGRESSION[word]
        assert [found.cars[f"car{i}"].peak / 9.81 for i in (1, 2, 3)] == pytest.approx(peaks, rel=5e-3), word
        assert [found.devices[n].crush for n in ("coupler1", "coupler2", "front")] == pytest.approx(crushes, rel=5e-3), word
        assert found.energy == pytest.approx(energy, rel=5e-3) and found.energy < plastic, word


def test_t8_head_on_is_the_half_model() -> None:
    whole = lib.crash_measures(lib.head_on(TRAIN, TRAIN, speed="55 km/h").compile().simulate(None, 0.8, **TIGHT))
    half = lib.crash_measures(lib.barrier(TRAIN, "27.5 km/h").compile().simulate(None, 0.8, **TIGHT))
    for i in (1, 2, 3):
        for side in "ab":
            assert whole.cars[f"{side}.car{i}"].peak == pytest.approx(half.cars[f"car{i}"].peak, rel=1e-6)
            assert whole.cars[f"{side}.car{i}"].sustained == pytest.approx(half.cars[f"car{i}"].sustained, rel=1e-6)
    for side, part in (("a", "first"), ("b", "second")):
        for i in (1, 2):
            assert whole.devices[f"{side}.coupler{i}"].crush == pytest.approx(half.devices[f"coupler{i}"].crush, rel=1e-6)
        assert whole.parts[f"front.{part}"].crush == pytest.approx(half.devices["front"].crush, rel=1e-6)
        assert whole.parts[f"front.{part}"].energy == pytest.approx(half.devices["front"].energy, rel=1e-6)
    assert whole.devices["front"].crush == pytest.approx(2 * half.devices["front"].crush, rel=1e-6)


@pytest.mark.parametrize(("formulation", "method", "options"), ONE_WAY, ids=lambda x: str(x))
def test_t3_energy_of_a_train(formulation: str, method: str | None, options: dict[str, Any]) -> None:
    """Kinetic energy lost = Σ W to 1e-6 of the initial energy, with traction that yields, in every formulation."""
    m = lib.head_on(TRAIN, TRAIN, speed="55 km/h")
    sol = m.compile(formulation=formulation).simulate(None, 0.4, method, **options)
    first = sol["energy.kinetic"][0]
    taken = sum(sol[f"{n}.energy"] for n in ("front", "a.coupler1", "a.coupler2", "b.coupler1", "b.coupler2"))
    near = 1e-6 if "rtol" in options else 2e-4
    assert np.abs(first - sol["energy.kinetic"] - taken).max() < near * first
    assert momentum(sol, {f"{s}.car{i}": kg for s in "ab" for i, kg in ((1, 40e3), (2, 45e3), (3, 50e3))}) == pytest.approx(
        0.0, abs=1e-6 * 50e3
    )


def test_cars_of_several_masses_and_any_number_of_cars() -> None:
    body = lib.crush_device(4e6, 0.5, 4e8, traction=4e6, name="body")
    split = lib.train([[20e3, 20e3], [15e3] * 3, 50e3], couplers=LE, front=HE, inside=body)
    m = lib.barrier(split, "20 km/h")
    assert list(m.joints) == ["car3", "car2.part3", "car2.part2", "car2.part1", "car1.part2", "car1.part1"]
    sol = m.compile().simulate(t=0.6)
    taken = lib.crash_measures(sol).energy
    assert sol["energy.kinetic"][0] - sol["energy.kinetic"][-1] == pytest.approx(taken, rel=1e-6)
    one = lib.crash_measures(lib.barrier(TRAIN, "20 km/h").compile().simulate(t=0.6))
    assert lib.crash_measures(sol).devices["front"].crush == pytest.approx(one.devices["front"].crush, rel=0.02), "cars are nearly rigid"
    long = lib.barrier(lib.train([30e3] * 12, couplers=LE, front=HE), "10 km/h").compile().simulate(t=0.5)
    assert long["energy.kinetic"][0] - long["energy.kinetic"][-1] == pytest.approx(lib.crash_measures(long).energy, rel=1e-6)


# -- brakes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("formulation", "method", "options"), ONE_WAY, ids=lambda x: str(x))
def test_t10_brakes_stop_and_hold(formulation: str, method: str | None, options: dict[str, Any]) -> None:
    mu, v, g = 0.12, 4.0, 9.81
    m = lib.barrier(lib.train([30e3], brakes=mu), v, gap=30.0)
    options = {**options, "step": 1e-2} if "step" in options else options
    sol = m.compile(formulation=formulation).simulate(None, 6.0, method, **options)
    near = 1e-6 if formulation != "directors" else 1e-3
    stop = v / (mu * g)
    assert sol["car1.displacement"][-1] == pytest.approx(v**2 / (2 * mu * g), rel=near)
    rest = sol.t > stop + 0.05
    assert rest.any() and np.abs(sol["car1.displacement_rate"][rest]).max() < 1e-9
    assert np.ptp(sol["car1.displacement"][rest]) < 1e-9
    assert len(sol.events) == 1, "no chatter"


def test_t10_brakes_hold_against_a_push_and_give_way_to_a_stronger_one() -> None:
    """A wagon with brakes on stays while its coupler pushes less than μ N, and slides beyond."""
    mu, M = 0.3, 40e3
    soft = lib.crush_device(2e5, 3.0, 5e5)
    a, b = lib.train([20e3], front=soft), lib.train([M], brakes=mu)
    hold = lib.wagon_into_wagons(a, b, 1.0).compile().simulate(t=1.0, **TIGHT)
    assert hold["front.force"].max() < mu * M * 9.81
    assert np.abs(hold["b.car1.displacement"]).max() < 1e-12
    slide = lib.wagon_into_wagons(a, b, 4.0).compile().simulate(t=3.0, **TIGHT)
    first = np.argmax(slide["b.car1.displacement"] > 1e-9)
    assert slide["front.force"][first] == pytest.approx(mu * M * 9.81, rel=0.05)
    rubbed = mu * M * 9.81 * slide["b.car1.displacement"][-1]
    taken = slide["energy.kinetic"][0] - slide["energy.kinetic"][-1] - slide["front.energy"][-1]
    assert slide["b.car1.displacement_rate"][-1] == 0.0 and taken == pytest.approx(rubbed, rel=1e-4)


def test_brakes_by_a_law_of_the_speed() -> None:
    m = lib.barrier(lib.train([30e3], brakes=lambda v: 0.1 + 0.01 * v, braked=0.5), 4.0, gap=90.0)
    sol = m.compile().simulate(t=12.0)
    g, c0, c1 = 9.81 * 0.5, 0.1, 0.01  # v̇ = −g (c0 + c1 v)
    exact = (4.0 / c1 - c0 / c1**2 * np.log(1 + c1 * 4.0 / c0)) / g
    assert sol["car1.displacement"][-1] == pytest.approx(exact, rel=1e-5) and sol["car1.displacement_rate"][-1] == 0.0


# -- scenarios and measures ---------------------------------------------------------------------------------------------


def test_devices_that_meet_at_the_front() -> None:
    stop = lib.crush_device(1e6, 3.0, 5e7, name="buffer stop")
    found = lib.crash_measures(lib.buffer_stop(TRAIN, "20 km/h", stop).compile().simulate(t=1.0))
    assert found.parts["front.second"].crush > found.parts["front.first"].crush, "the weaker one gives way first"
    assert found.parts["front.first"].energy + found.parts["front.second"].energy == pytest.approx(found.devices["front"].energy, rel=1e-6)
    other = lib.train([60e3], front=lib.crush_device(3e6, 1.0, 2e8))
    run = lib.head_on(TRAIN, other, speed=("30 km/h", "10 km/h")).compile().simulate(t=0.5)
    assert run["a.car1.displacement_rate"][0] == pytest.approx(30 / 3.6) and run["b.car1.displacement_rate"][0] == pytest.approx(-10 / 3.6)
    bare = lib.head_on(lib.train([10e3]), lib.train([10e3]), speed=1.0).compile().simulate(t=0.1)
    assert bare["front.energy"][-1] > 0.5 * 5e3 * 0.5


def test_parameters_are_those_of_the_design() -> None:
    s = lib.head_on(TRAIN, TRAIN, speed="55 km/h").compile()
    names = s.model.parameter_set.names
    assert {"coupler.level1", "coupler.end3", "coupler.traction", "front.level2", "front.stiffness", "a.car1.mass"} <= set(names)
    s.set_parameters(**{"front.level1": 1.8e6, "coupler.level2": 1.7e6})
    changed = lib.crash_measures(s.simulate(t=0.8))
    le, he = (1e6, 1.7e6, 2e6), (1.8e6, 2e6, 2.5e6)
    fresh = lib.train(["40 t", "45 t", "50 t"], lib.crush_device(le, LE.ends, 1e8, traction=1e6), lib.crush_device(he, HE.ends, 1e8))
    expected = lib.crash_measures(lib.head_on(fresh, fresh, "55 km/h").compile().simulate(t=0.8))
    assert changed.acceleration_sum == pytest.approx(expected.acceleration_sum, rel=1e-9)
    assert changed.deformation_sum == pytest.approx(expected.deformation_sum, rel=1e-9)


def test_levels_out_of_order_that_an_optimiser_tries_act_as_their_neighbours() -> None:
    s = lib.barrier(TRAIN, "27.5 km/h").compile()
    s.set_parameters(**{"front.level2": 1.0e6})  # below level 1
    tried = lib.crash_measures(s.simulate(t=0.8))
    s.set_parameters(**{"front.level2": 1.5e6})
    assert tried.devices["front"].crush == pytest.approx(lib.crash_measures(s.simulate(t=0.8)).devices["front"].crush, rel=1e-9)


def test_measures_of_a_known_motion() -> None:
    """A constant force: every measure in closed form."""
    f, mass, v = 1e6, 40e3, 10.0
    sol = lib.barrier(lib.train([mass], front=lib.crush_device(f, 9.0, 1e12)), v).compile().simulate(t=0.3)
    found = lib.crash_measures(sol, seat=0.6)
    a, T = f / mass, 0.3
    car = found.cars["car1"]
    assert (
        car.peak == pytest.approx(a, rel=1e-6) and car.sustained == pytest.approx(a, rel=1e-4) and car.vcsi == pytest.approx(a**2, rel=1e-2)
    )
    assert car.speed_change == pytest.approx(a * T, rel=1e-3)
    assert car.secondary == pytest.approx(np.sqrt(2 * a * 0.6), rel=1e-3), "free flight of 0.6 m"
    assert found.devices["front"].force == pytest.approx(f) and found.devices["front"].crush == pytest.approx(
        v * T - 0.5 * a * T**2, rel=1e-3
    )
    assert "car1" in str(found) and "none" in str(lib.crash_measures(sol, seat=50.0))
    t = np.linspace(0, 1, 11)
    assert secondary_impact(t, t, np.ones(11), 1.0) is None
    assert G == 9.80665


def test_files_keep_models_and_results(tmp_path: Path) -> None:
    m = lib.head_on(TRAIN, TRAIN, speed="55 km/h")
    m.save(tmp_path / "head_on.toml")
    read = jd.load_model(tmp_path / "head_on.toml")
    assert read.compile().fingerprint == m.compile().fingerprint
    sol, again = m.compile().simulate(t=0.3), read.compile().simulate(t=0.3)
    np.testing.assert_array_equal(sol["front.crush"], again["front.crush"])
    sol.save(tmp_path / "run.h5")
    kept = lib.crash_measures(jd.load_solution(tmp_path / "run.h5"))
    assert kept.devices["front"] == lib.crash_measures(sol).devices["front"]
    braked = lib.barrier(lib.train([30e3], brakes=0.2), 3.0)
    braked.save(tmp_path / "braked.toml")
    assert jd.load_model(tmp_path / "braked.toml").compile().fingerprint == braked.compile().fingerprint


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: lib.train([]), "has no cars"),
        (lambda: lib.train([1e4, -2e4], LE), "mass of car 2 = -20000 kg must be positive"),
        (lambda: lib.train([1e4, float("nan")], LE), "mass of car 2: nan is not a finite number"),
        (lambda: lib.train([1e4] * 3, [LE]), "3 cars have 2 couplers between them; there are 1 devices"),
        (lambda: lib.train([1e4], front=3.0), r"front = 3\.0 is no device"),
        (lambda: lib.train([[1e4, 1e4]]), "needs inside="),
        (lambda: lib.train([1e4], brakes=0.2, braked=0.0), "brakes with braked = 0 have no normal force"),
        (lambda: lib.barrier(lib.train([1e4], brakes=0.2), 3.0, gravity=0.0), "brakes of 'car1' have no normal force: gravity is zero"),
        (lambda: lib.barrier(TRAIN, 0.0), "speed = 0 m/s must be positive; without speed there is no collision"),
        (lambda: lib.barrier(TRAIN, float("nan")), "speed: nan is not a finite number"),
        (lambda: lib.head_on(TRAIN, TRAIN, (3.0, -4.0)), "the trains do not meet"),
        (lambda: lib.head_on(TRAIN, lib.train([1e4], front=lib.draft_gear(1e6, 0.1)), 3.0), "head_on: a draft gear in series"),
        (lambda: lib.occupant(lib.barrier(TRAIN, 3.0), "car9"), "no car 'car9' to sit in; there are"),
        (lambda: lib.spatial_train(cars=0), "cars = 0 must be positive"),
        (lambda: lib.truck(TRAIN, "90 km/h", mass=0.0), "truck: mass = 0 kg must be positive"),
    ],
)  # fmt: skip
def test_bad_trains_are_named(build: Any, told: str) -> None:
    with pytest.raises((InputError, jd.ModelError), match=told):
        build()


def test_measures_that_cannot_be() -> None:
    sol = lib.barrier(TRAIN, 3.0).compile().simulate(t=0.02)
    with pytest.raises(InputError, match=r"window = 0\.03 s must be shorter than the run of 0\.02 s"):
        lib.crash_measures(sol)
    with pytest.raises(InputError, match="neither cars"):
        lib.crash_measures(jd.library.pendulum().compile().simulate({}, 0.1))
    with pytest.raises(InputError, match="for how long"):
        lib.barrier(TRAIN, 3.0).compile().simulate()


def test_measures_as_criteria_with_gradients() -> None:
    """One mass into one plateau: crush m v²/2f + f/2k, rebound f/√(km), by values and by slopes; equal to the measures of a solution."""
    f, k, m, v = 2e6, 1e8, 50e3, 10.0
    model = lib.barrier(lib.train([m], front=lib.crush_device([f], [3.0], k, name="HE")), v)
    s = model.compile()
    analysis = jd.Analysis(s, "simulate", None, t=0.8, rtol=1e-10, atol=1e-12)
    criteria = lib.crash_criteria(model)
    found, told = analysis.evaluate(criteria), lib.crash_measures(analysis.run())
    car, device = told.cars["car1"], told.devices["front"]
    expected = {
        "car1.peak": car.peak, "car1.sustained": car.sustained, "car1.speed_change": car.speed_change, "car1.vcsi": car.vcsi,
        "front.crush": device.crush, "front.force": device.force, "front.energy": device.last_energy,
    }  # fmt: skip
    assert found == pytest.approx(expected, rel=2e-4)
    wrt = ["front.level1", "front.stiffness", "car1.mass"]
    forward, adjoint, differences = (analysis.gradient(criteria, wrt, method=method) for method in ("forward", "adjoint", "differences"))
    assert np.abs(forward.matrix - adjoint.matrix).max() < 1e-12 * np.abs(forward.matrix).max()
    slopes = {
        ("front.crush", "front.level1"): -m * v * v / (2 * f * f) + 1 / (2 * k), ("front.crush", "front.stiffness"): -f / (2 * k * k),
        ("front.crush", "car1.mass"): v * v / (2 * f), ("car1.peak", "front.level1"): 1 / m, ("car1.peak", "car1.mass"): -f / m**2,
        ("car1.sustained", "front.level1"): 1 / m, ("car1.sustained", "car1.mass"): -f / m**2,
        ("car1.speed_change", "front.level1"): 1 / (k * m) ** 0.5, ("front.energy", "front.level1"): -f / k,
    }  # fmt: skip
    for (criterion, variable), slope in slopes.items():
        assert forward[criterion, variable] == pytest.approx(slope, rel=1e-6), (criterion, variable)
        assert differences[criterion, variable] == pytest.approx(slope, rel=5e-3), (criterion, variable)
    with pytest.raises(InputError, match="'car7' is no car"):
        lib.crash_criteria(model, ["car7"])


@pytest.mark.parametrize("case", ["wall", "head_on", "wagons"])
def test_exact_gradients_of_measures_through_memories(case: str) -> None:
    """Three cars with stepped devices that load, turn, reload and unload: both methods agree to rounding, and with differences of fine runs."""
    other = lib.train([42e3, 45e3, 50e3], couplers=LE, front=HE)
    model = {
        "wall": lambda: lib.barrier(TRAIN, "27.5 km/h"), "head_on": lambda: lib.head_on(TRAIN, other, speed="55 km/h"),
        "wagons": lambda: lib.wagon_into_wagons(lib.train([70e3], front=lib.crush_device(3e6, 2.0, 1e8)), lib.train([30e3, 60e3], couplers=lib.crush_device(1.2e6, 2.0, 5e7)), "53.7 km/h"),
    }[case]()  # fmt: skip
    s, criteria = model.compile(), lib.crash_criteria(model)
    wrt = [p.name for p in model.parameter_set if p.name.endswith((".mass", "level1", "level2", ".stiffness"))]
    analysis = jd.Analysis(s, "simulate", None, t=0.2, rtol=1e-10, atol=1e-12)
    forward, adjoint = (analysis.gradient(criteria, wrt, method=method) for method in ("forward", "adjoint"))
    assert np.abs(forward.matrix - adjoint.matrix).max() < 1e-11 * np.abs(forward.matrix).max()
    fine = jd.Analysis(s, "simulate", None, t=0.2, rtol=1e-13, atol=1e-15, max_step=5e-4)
    for name in wrt[:1] + wrt[-1:]:
        h = 1e-5 * s.parameters[name]
        up, down = (fine.evaluate(criteria, {name: s.parameters[name] + x}) for x in (h, -h))
        for n in criteria:
            elasticity = abs((up[n] - down[n]) / (2 * h) - forward[n, name]) * s.parameters[name] / max(abs(forward.values[n]), 1e-9)
            assert elasticity < 1e-3, (n, name)


@pytest.mark.parametrize(
    ("scenario", "le", "he"),
    [
        ("stop", (2743315, 3359254, 3576425), (1189034, 1331320, 3527771)), ("stop", (532056, 3354305, 3375717), (990931, 1630300, 1875617)),
        ("wall", (2302539, 2981723, 3858132), (974738, 1462943, 4373687)), ("wall", (1421821, 1520007, 3217186), (862975, 1993075, 2204691)),
    ],
)  # fmt: skip
def test_hidden_switches_of_devices_that_begin_at_zero(scenario: str, le: tuple[float, ...], he: tuple[float, ...]) -> None:
    """A coupler that is not yet crushed leaves zero with t³, which interpolations have with either sign: its switch is no event there, and gradients come to their end."""
    model = lib.buffer_stop(TRAIN, "30 km/h") if scenario == "stop" else lib.barrier(TRAIN, "27.5 km/h")
    s = model.compile()
    s.set_parameters(**{f"{n}.level{i}": float(f) for n, levels in (("coupler", le), ("front", he)) for i, f in enumerate(levels, 1)})
    g = jd.Analysis(s, "simulate", None, t=0.3, rtol=1e-10, atol=1e-12).gradient(
        {"c": jd.criteria.largest("front.crush")}, ["front.level1"]
    )
    fine, h = jd.Analysis(s, "simulate", None, t=0.3, rtol=1e-13, atol=1e-15, max_step=5e-4), 1e-5 * he[0]
    up, down = (fine.evaluate({"c": jd.criteria.largest("front.crush")}, {"front.level1": he[0] + x})["c"] for x in (h, -h))
    assert g["c", "front.level1"] == pytest.approx((up - down) / (2 * h), rel=1e-3)


def test_measures_read_where_equal_trains_turn_at_once_are_told() -> None:
    """Equal trains: their devices turn at instants that rounding alone tells apart, and the derivative of a peak there is that of one side."""
    model = lib.head_on(TRAIN, TRAIN, speed="55 km/h")
    analysis = jd.Analysis(model.compile(), "simulate", None, t=0.3)
    with pytest.warns(GradientWarning, match="b.car2.peak.* happen at once"):
        g = analysis.gradient(lib.crash_criteria(model, ["b.car2"]), ["a.car3.mass"])
    assert any("happen at once" in note for note in g.notes)


def test_cost_of_guards_at_rest_does_not_change_what_is_found() -> None:
    """Cars far from the crash rest with guards at zero: each turns once the wave has come, as in a train that is looked at finely."""
    s = lib.barrier(lib.train([40e3] * 12, couplers=LE, front=HE), "20 km/h").compile()
    rough, fine = s.simulate(t=0.8, method="rk4", step=2e-4), s.simulate(None, 0.8, rtol=1e-10, atol=1e-12)
    a, b = lib.crash_measures(rough), lib.crash_measures(fine)
    for name, device in b.devices.items():
        assert a.devices[name].crush == pytest.approx(device.crush, rel=2e-3, abs=2e-5), name
