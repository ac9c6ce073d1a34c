"""What a crash did, as functions of a solution: accelerations, crush and energy, and what happens to passengers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...analysis.design.criteria import Criterion, final, largest, mean, sustained
from ...errors import InputError
from ...model.model import Model
from ...model.values import number
from ...results.solution import Solution
from ...shown import Shown

G = 9.80665
#: Instants at which accelerations are looked at, at least.
INSTANTS = 1601


@dataclass(frozen=True)
class CarMeasures:
    """A car: largest acceleration, largest mean over a window, change of speed, VCSI = 1/T ∫ a² dt, and a passenger's blow against the seat in front."""

    peak: float
    sustained: float
    speed_change: float
    vcsi: float
    secondary: float | None


@dataclass(frozen=True)
class DeviceMeasures:
    """A device: largest and last crush (m), largest force (N), largest and last energy (J), how much of its length was used (1: all steps)."""

    crush: float
    last_crush: float
    force: float
    energy: float
    last_energy: float
    used: float | None = None


@dataclass(frozen=True)
class CrashMeasures(Shown):
    """Measures of a crash by car and by device (see :func:`crash_measures`); accelerations in m/s²."""

    cars: dict[str, CarMeasures]
    devices: dict[str, DeviceMeasures]
    parts: dict[str, DeviceMeasures] = field(default_factory=dict)
    window: float = 0.03
    seat: float = 0.75

    @property
    def acceleration_sum(self) -> float:
        """Sum of the cars' largest accelerations (m/s²)."""
        return sum(c.peak for c in self.cars.values())

    @property
    def deformation_sum(self) -> float:
        """Sum of the devices' largest crushes (m)."""
        return sum(d.crush for d in self.devices.values())

    @property
    def energy(self) -> float:
        """Energy that is in the devices at the end (J)."""
        return sum(d.last_energy for d in self.devices.values())

    def __str__(self) -> str:
        rows = [f"{'car':<16}{'peak g':>9}{f'{1e3 * self.window:g} ms g':>10}{'Δv m/s':>9}{'VCSI':>9}{f'blow at {self.seat:g} m':>16}"]
        for name, c in self.cars.items():
            blow = "none" if c.secondary is None else f"{c.secondary:.2f} m/s"
            rows.append(f"{name:<16}{c.peak / G:>9.3f}{c.sustained / G:>10.3f}{c.speed_change:>9.3f}{c.vcsi:>9.2f}{blow:>16}")
        rows.append(f"{'device':<16}{'crush m':>9}{'force kN':>10}{'peak MJ':>9}{'end MJ':>9}")
        for name, d in (self.devices | self.parts).items():
            note = "" if d.used is None or d.used <= 1.0 else "   beyond its last step"
            rows.append(f"{name:<16}{d.crush:>9.4f}{d.force / 1e3:>10.1f}{d.energy / 1e6:>9.4f}{d.last_energy / 1e6:>9.4f}{note}")
        return "\n".join(rows)


def crash_measures(sol: Solution, window: Any = "30 ms", seat: Any = 0.75, cars: Iterable[str] | None = None) -> CrashMeasures:
    """Measures of a crash, cheap enough for an optimiser (about a millisecond for a train of three cars).

    window: over which the sustained acceleration is a mean, Δv/Δt. seat: free way of a passenger to the seat in front (m): until then the passenger
        keeps the speed that the car had at first; ``secondary`` is the relative speed of the blow.
    cars: coordinates that count as cars, by default all that are ``NAME.displacement``; devices are all with ``NAME.crush`` and ``NAME.force``.
    """
    span, free = number(window, "window", "s"), number(seat, "seat", "m")
    names = list(cars) if cars is not None else [n.removesuffix(".displacement") for n in sol.names if n.endswith(".displacement")]
    known = set(sol.names)
    devices = [n.removesuffix(".crush") for n in sol.names if n.endswith(".crush") and n.removesuffix("crush") + "force" in known]
    if not names and not devices:
        raise InputError("crash_measures: the solution has neither cars (NAME.displacement) nor devices (NAME.crush and NAME.force)")
    length = sol.t[-1] - sol.t[0]
    if not 0.0 < span < length:
        raise InputError(f"crash_measures: window = {span:g} s must be shorter than the run of {length:g} s")
    t = np.linspace(sol.t[0], sol.t[-1], max(INSTANTS, len(sol.t)))
    at = sol.at(t)
    found = {n: _car(t, at[f"{n}.displacement"], at[f"{n}.displacement_rate"], at[f"{n}.displacement_acc"], span, free) for n in names}
    every = {n: _device(sol, n, known) for n in devices}
    parts = {n for n in devices if n.endswith((".first", ".second")) and n.rpartition(".")[0] in every}
    return CrashMeasures(found, {n: d for n, d in every.items() if n not in parts}, {n: every[n] for n in sorted(parts)}, span, free)


def _car(t: np.ndarray, x: np.ndarray, v: np.ndarray, a: np.ndarray, window: float, seat: float) -> CarMeasures:
    later = np.interp(t + window, t, v)[t + window <= t[-1]]
    mean = np.abs(later - v[: len(later)]) / window
    vcsi = float(np.trapezoid(a * a, t) / (t[-1] - t[0]))
    return CarMeasures(float(np.abs(a).max()), float(mean.max()), float(np.abs(v - v[0]).max()), vcsi, secondary_impact(t, x, v, seat))


def secondary_impact(t: np.ndarray, x: np.ndarray, v: np.ndarray, seat: float) -> float | None:
    """Relative speed at which a passenger who flies on freely meets the seat in front (or the one behind), ``seat`` m away; None: never."""
    flown = (x[0] + v[0] * (t - t[0]) - x) / seat
    hit = np.flatnonzero(np.abs(flown) >= 1.0)
    if not hit.size:
        return None
    i = int(hit[0])
    if i == 0:
        return 0.0
    share = (1.0 - abs(flown[i - 1])) / (abs(flown[i]) - abs(flown[i - 1]))
    return float(abs(v[0] - (v[i - 1] + share * (v[i] - v[i - 1]))))


def _device(sol: Solution, name: str, known: set[str]) -> DeviceMeasures:
    crush, force = sol[f"{name}.crush"], sol[f"{name}.force"]
    energy = sol[f"{name}.energy"] if f"{name}.energy" in known else np.zeros_like(crush)
    used = float(sol[f"{name}.used"][-1]) if f"{name}.used" in known else None
    return DeviceMeasures(float(crush.max()), float(crush[-1]), float(force.max()), float(energy.max()), float(energy[-1]), used)


def crash_criteria(model: Model, cars: Iterable[str] | None = None, window: Any = "30 ms") -> dict[str, Criterion]:
    """The measures of a model's crash as criteria of a :class:`jd.Analysis`, for gradients and design problems.

    ``CAR.peak`` and ``CAR.sustained`` (m/s², the latter over a ``window``), ``CAR.speed_change`` (m/s), ``CAR.vcsi`` (m²/s³) of cars, ``DEVICE.crush`` (m), ``DEVICE.force`` (N) and ``DEVICE.energy`` (J, at the end) of devices;
    values as :func:`crash_measures` has them.  A derivative has a meaning where the run is smooth in the design: as long as no device stops at the very end of a step of its curve,
    and not of the peak where two instants have the same, of the sustained acceleration where two windows have.
    """
    every = {n for c in model.coordinates for n in c.names}
    names = (
        list(cars)
        if cars is not None
        else [n.removesuffix(".displacement") for c in model.coordinates for n in c.names if n.endswith(".displacement")]
    )
    strange = [n for n in names if f"{n}.displacement" not in every]
    if strange:
        raise InputError(
            f"crash_criteria: '{strange[0]}' is no car of '{model.name}'; there are {', '.join(sorted(n.removesuffix('.displacement') for n in every))}"
        )
    devices = [
        n.removesuffix(".crush") for n in model.outputs if n.endswith(".crush") and n.removesuffix("crush") + "force" in model.outputs
    ]
    if not names and not devices:
        raise InputError(f"crash_criteria: '{model.name}' has neither cars (NAME.displacement) nor devices (NAME.crush and NAME.force)")
    found: dict[str, Criterion] = {}
    for n in names:
        first = float(number(model.initial.get(f"{n}.displacement_rate", 0.0), f"speed of '{n}'", "m/s"))
        found[f"{n}.peak"] = largest(f"abs({n}.displacement_acc)")
        found[f"{n}.sustained"] = sustained(f"{n}.displacement_rate", window)
        found[f"{n}.speed_change"] = largest(f"abs({n}.displacement_rate - first)", first=first)
        found[f"{n}.vcsi"] = mean(f"{n}.displacement_acc^2")
    for n in devices:
        found[f"{n}.crush"], found[f"{n}.force"] = largest(f"{n}.crush"), largest(f"{n}.force")
        if f"{n}.energy" in model.outputs:
            found[f"{n}.energy"] = final(f"{n}.energy")
    return found


__all__ = ["CarMeasures", "CrashMeasures", "DeviceMeasures", "crash_criteria", "crash_measures", "secondary_impact"]
