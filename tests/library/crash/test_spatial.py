"""Trains in space: overriding, zig-zag buckling and anti-climbers, wheels on rails, passengers, scenarios from files and the command."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.cli import main
from jourdain.errors import InputError

lib = jd.library
LOOSE = {"rtol": 1e-5, "atol": 1e-7}
FILE = Path(__file__).resolve().parents[3] / "examples" / "data" / "head_on.toml"


def test_a_train_stands_on_its_rails() -> None:
    """Creeping to the wall it is in equilibrium: no bounce, all wheels at their static depth."""
    m = lib.spatial_train(cars=1, speed=1e-6)
    sol = m.compile().simulate(t=1.0)
    assert np.abs(sol["car1.z"]).max() < 1e-8
    np.testing.assert_allclose(sol["car1.lifted"], -40e3 * 9.81 / 8 / 4e7, rtol=1e-4)
    assert np.abs(sol["car1.ry"]).max() < 1e-7


def test_a_car_beside_the_middle_of_the_track_is_led_back_by_its_flanges() -> None:
    m = lib.spatial_train(cars=1, speed=0.01)
    sol = m.compile().simulate({"car1.y_rate": 0.4}, 2.0, **LOOSE)
    assert 0.005 < np.abs(sol["car1.y"]).max() < 0.03, "within clearance and flange"
    assert sol["car1.lifted"].max() < 0.02


def test_overriding_and_what_stops_it() -> None:
    run: dict[bool, Any] = {}
    for held in (False, True):
        run[held] = lib.spatial_train(cars=2, lift=0.06, anti_climbers=held).compile().simulate(None, 1.2 if not held else 0.8, **LOOSE)
    free, held = run[False], run[True]
    assert free["interface1.climb"].max() > 0.3 and free["interface1.left.passed"].max() == 1.0, "one car climbs onto the other"
    assert free["car2.lifted"].max() > 0.1, "its wheels leave the rails"
    passed = free["interface1.left.passed"] > 0.0
    assert free["interface1.car1.nose.left.force"][passed][5:].max() == 0.0, "heads that have passed each other touch no more"
    assert free["frames1.car2.Fz"].max() > 1e5 and free["car1.x"][-1] - free["car2.x"][-1] > 3.0, "one underframe slides upon the other"
    assert np.abs(held["interface1.climb"]).max() < 0.1 and held["interface1.left.passed"].max() == 0.0
    assert held["car1.lifted"].max() < 0.028 and held["car2.lifted"].max() < 0.028, "less than a flange"
    assert np.abs(held["frames1.car1.force"]).max() == 0.0
    for sol in (free, held):  # kinetic energy at first 4.9 MJ
        assert np.abs(sol["energy.error"]).max() < 1e-4 * sol["energy.kinetic"][0]


def test_buffers_are_contact_pairs() -> None:
    """What heads exert on each other and the wall is what their devices hold, less the inertia of heads; smooth heads rub by μ and lean as their domes do."""
    m = lib.spatial_train(cars=2, lift=0.06, anti_climbers=False)
    sol = m.compile().simulate(None, 0.2, rtol=1e-8, atol=1e-10)
    # along the car, all that a head feels besides: its inertia
    head = sol["car2.nose.left.force"] + sol["wall.car2.nose.left.Fx"]
    pushed = sol["car2.x_acc"] + sol["car2.nose.left.x_acc"]
    upright = np.abs(sol["car2.ry"]) < 1e-3
    assert head[upright] == pytest.approx(300.0 * pushed[upright], rel=0.02, abs=3e3)
    # nothing from nowhere
    total = sum(sol[f"interface1.car{i}.{end}.{hand}.Fx"] for i, end in ((1, "nose"), (2, "tail")) for hand in ("left", "right"))
    assert np.abs(total).max() < 1e-9 * np.abs(sol["interface1.car1.nose.left.Fx"]).max()
    # two ellipsoids with semi-axes a, c that are e apart touch half-way: slope a z/(c² √(1 − z²/c²)) at z = e/2, and friction of at most 0.1 beside it
    at = int(np.argmax(sol["interface1.car2.tail.left.force"] > 1e5))
    e, a, c = 0.06 + sol["interface1.climb"][at], 0.25**2 / 0.8, 0.125
    slope = a * (e / 2) / (c * c * np.sqrt(1 - (e / 2 / c) ** 2))
    lean = sol["interface1.car2.tail.left.Fz"][at] / sol["interface1.car2.tail.left.Fx"][at]
    assert abs(np.arctan(lean) - np.arctan(slope)) < np.arctan(0.1) + 1e-3
    assert np.abs(sol["energy.error"]).max() < 1e-7 * sol["energy.kinetic"][0]


@pytest.mark.parametrize("held", [False, True])
def test_buffers_in_every_formulation(held: bool) -> None:
    """All formulations that know contacts give one motion; ribs are bristles, which are renewed at the steps that a run takes, so that some 0.02 mm depend on these."""
    m = lib.spatial_train(cars=2, lift=0.06, anti_climbers=held)
    names = ("car1.x", "car2.z", "car2.nose.left.x", "interface1.climb", "car2.tail.left.energy", "interface1.car1.nose.left.Fx")
    tight = {"rtol": 1e-9, "atol": 1e-11, "times": np.linspace(0.0, 0.06, 7)}
    one = m.compile().simulate(None, 0.06, **tight)
    for formulation in ("semi-recursive", "cartesian"):
        other = m.compile(formulation=formulation).simulate(None, 0.06, **tight)
        for name in names:
            size = np.abs(one[name]).max()
            allowed = max(1e-3 * size, 5e-5) if held else 2e-5 * size
            np.testing.assert_allclose(other[name], one[name], rtol=0, atol=allowed, err_msg=f"{formulation} {name}")


def test_zig_zag_and_what_stops_it() -> None:
    run: dict[bool, Any] = {}
    for held in (False, True):
        s = lib.spatial_train(cars=4, lift=0.0, shift=0.08, speed="50 km/h", anti_climbers=held).compile()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # steps are held short by rubbing wheels
            run[held] = s.simulate(None, 0.6, rtol=1e-4, atol=1e-6)
    y = np.array([[run[held][f"car{i}.y"][-1] for i in range(1, 5)] for held in (False, True)])
    assert np.abs(y[0]).max() > 0.5 and y[0][2] * y[0][3] < 0.0 and np.abs(y[0][2:]).min() > 0.05, "neighbours leave the line to both sides"
    assert np.abs(y[1]).max() < 0.05


def test_a_passenger_flies_to_the_seat_in_front() -> None:
    t = lib.train([40e3], front=lib.crush_device(1e6, 3.0, 1e9))
    m = lib.barrier(t, 10.0)
    lib.occupant(m, "car1", gap=0.6)
    sol = m.compile().simulate(None, 0.35, rtol=1e-9, atol=1e-11)
    blow = lib.crash_measures(sol, seat=0.6, cars=["car1"]).cars["car1"].secondary
    at = int(np.argmax(sol["occupant.displacement"] >= 0.6))
    assert sol["occupant.displacement_rate"][at] == pytest.approx(blow, rel=0.02)
    assert blow == pytest.approx(np.sqrt(2 * (1e6 / 40e3) * 0.6), rel=5e-3)
    assert sol["occupant.seat.force"].max() == pytest.approx(6e3) and sol["occupant.displacement_rate"][-1] < 0.5


def test_scenarios_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = lib.crash_scenario(FILE)
    found = lib.crash_measures(scenario.model.compile().simulate(t=scenario.duration))
    assert found.cars["a.car3"].peak / 9.81 == pytest.approx(3.058, rel=5e-3)
    assert main(["crash", str(FILE), "-o", str(tmp_path / "run.h5"), "--set", "front.level1=1.8 MN", "--duration", "0.3"]) in (0, None)
    told = capsys.readouterr().out
    assert "a.car3" in told and "front.first" in told and (tmp_path / "run.h5").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scenario": {"kind": "crash"}}, "kind = 'crash' is unknown; there are head_on, barrier"),
        ({"scenario": {"kind": "barrier", "train": "b", "speed": 3.0}}, r"\[scenario\] train: 'b' is not in the file; did you mean 'a'|there are a"),
        ({"scenario": {"kind": "barrier", "train": "a"}}, "'speed' is missing"),
        ({"scenario": {"kind": "barrier", "train": "a", "speed": 3.0, "color": 1}}, "'color' is unknown"),
        ({"devices": {"D": {"kind": "rubber"}}}, "kind 'rubber' is unknown; there are crush, hydraulic, draft_gear, contact"),
        ({"devices": {"D": {"levels": [1e6]}}}, "device 'D': 'ends' is missing"),
        ({"cars": {}}, "'cars' is unknown; there are devices, trains, scenario"),
    ],
)  # fmt: skip
def test_bad_scenarios_are_named(change: dict[str, Any], told: str) -> None:
    good = {"trains": {"a": {"masses": [1e4]}}, "scenario": {"kind": "barrier", "train": "a", "speed": "10 km/h"}}
    lib.crash_scenario(good)
    with pytest.raises(InputError, match=told):
        lib.crash_scenario(good | change)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        lib.crash_scenario(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[scenario\n")
    with pytest.raises(InputError, match="not a TOML file"):
        lib.crash_scenario(tmp_path / "bad.toml")


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_train_in_space_from_a_file(tmp_path, ending: str) -> None:
    m = lib.spatial_train(cars=2, lift=0.06)
    m.save(tmp_path / f"train.{ending}")
    a, b = (x.compile().simulate(None, 0.05, rtol=1e-5, atol=1e-7) for x in (m, jd.load_model(tmp_path / f"train.{ending}")))
    assert all(np.array_equal(a[n], b[n]) for c in m.coordinates for n in c.names)
