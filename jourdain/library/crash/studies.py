"""Design problems after Dias and Pereira, with surrogate devices where the source gives none: the set-up of a crash test, the devices of a train, the S-beam."""

from __future__ import annotations

from ...analysis.design.criteria import combined, final, largest, mean, smallest, total
from ...analysis.design.planned import Analysis
from ...analysis.design.problem import Problem
from ...errors import InputError
from .crush import crush_device
from .measures import crash_criteria
from .sbeam import s_beam
from .scenarios import barrier, buffer_stop, truck, wagon_into_wagons
from .trains import train

#: The largest acceleration of a car: 5 g (m/s²); by how much a level exceeds the one before (N).
MOST, APART = 5 * 9.81, 500e3


def crash_test_problem(goal: float = 1.4e6, most: float = 3e6) -> Problem:
    """Masses, speed and honeycomb of a full-scale test (SAFETRAIN) such that the device under test takes up ``goal`` (J), the honeycomb at most ``most``.

    Wagon B runs into C, coupled to A; ψ₀ = (LE − goal)² in MJ².  The surrogate has levels of L₁ and 1.2 MN, slopes of 100 and 50 MN/m.
    """
    honeycomb, tested = crush_device(2e6, 5.0, 1e8, name="HE"), crush_device(1.2e6, 5.0, 5e7, name="LE")
    m = wagon_into_wagons(train([50e3], front=honeycomb, name="B"), train([40e3, 45e3], couplers=tested, name="C and A"), "41 km/h")
    bounds = {
        "a.car1.mass": ("30 t", "70 t"), "b.car1.mass": ("30 t", "50 t"), "b.car2.mass": ("30 t", "60 t"),
        "a.car1.displacement_rate": ("10 km/h", "72 km/h"), "front.level1": ("1 MN", "3 MN"),
    }  # fmt: skip
    miss = combined("((LE - goal)/1e6)^2", LE=largest("b.coupler1.energy"), goal=goal)
    return Problem(Analysis(m.compile(), "simulate", {}, t=0.8), bounds, {"miss": miss}, {"HE": largest("front.energy") <= most})


def train_devices_problem() -> Problem:
    """Levels of the devices between and before three cars: the least sum of accelerations and the least sum of crushes where two such trains meet at 55 km/h.

    Two trains that meet are one against a wall at half the speed.  A truck of 30 t at 90 km/h and the end of the line at 30 km/h count by their accelerations, of at most 5 g;
    each level exceeds the one before by 500 kN.
    """
    low = crush_device(levels=["1 MN", "1.5 MN", "2 MN"], ends=[0.1, 0.3, 0.6], stiffness="100 MN/m", traction="1 MN", name="low")
    high = crush_device(levels=["1.5 MN", "2 MN", "2.5 MN"], ends=[0.2, 0.6, 1.2], stiffness="100 MN/m", name="high")
    cars = train(masses=["40 t", "45 t", "50 t"], couplers=low, front=high)
    models = {"meet": barrier(cars, "27.5 km/h"), "truck": truck(cars, "90 km/h", "30 t"), "end": buffer_stop(cars, "30 km/h")}
    runs = {n: Analysis(m.compile(), "simulate", {}, t=0.8) for n, m in models.items()}
    names = [f"car{i}" for i in (1, 2, 3)]
    peaks = {f"{n}.{car}": crash_criteria(m)[f"{car}.peak"] for n, m in models.items() for car in names}
    crushed = [largest(f"{d}.crush") for d in ("coupler1", "coupler2", "front")]
    objectives = {"meet.acceleration": total(*(peaks[f"meet.{car}"] for car in names)), "meet.crush": total(*crushed)}
    limits = {n: c <= MOST for n, c in peaks.items()}
    steps = {f"meet.{d} {i}": final(f"{d}.level{i} - {d}.level{i - 1}") >= APART for d in ("coupler", "front") for i in (2, 3)}
    levels = {f"{d}.level{i}": ("200 kN", most) for d, most in (("coupler", "4 MN"), ("front", "4.5 MN")) for i in (1, 2, 3)}
    return Problem(runs, levels, objectives, limits | steps)


def s_beam_problem(least: str = "deformation", t: float = 0.06) -> Problem:
    """Sides of the three members of an S-beam: the least mean square of the car's acceleration (VCSI), and the least ``deformation`` or ``mass``.

    Members are rigid between their plastic hinges.  Instead of contacts, which would cost time, no body may overlap another: the member at the wall stays before
    it, that at the car before the car, and car and wall stay 0.3 m apart.
    """
    other = {"deformation": largest("deformation"), "mass": final("members.mass")}
    if least not in other:
        raise InputError(f"s_beam_problem: least = {least!r}; choose one of {', '.join(other)}")
    run = Analysis(s_beam(0.08, modes=0).compile(), "simulate", {}, t=t, rtol=1e-6, atol=1e-8)
    sides = {f"body{i}.H": ("10 mm", "200 mm") for i in (2, 3, 4)}
    apart = {"wall": smallest("clear2") >= 0.0, "car": smallest("clear4") >= 0.0, "distance": smallest("distance") >= "0.3 m"}
    return Problem(run, sides, {"VCSI": mean("car.displacement_acc^2"), least: other[least]}, apart)


__all__ = ["crash_test_problem", "s_beam_problem", "train_devices_problem"]
