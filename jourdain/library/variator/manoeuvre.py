"""What is given on the shafts of a variator during a manoeuvre, and the targets of its control."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ...model.units import compatible, quantity, unit_in
from ...solvers.belt.records import Belt

#: The driven thrust follows the torque down to this part of the one that the variator was laid out for.
LEAST = 0.1


@dataclass(frozen=True)
class Excitation:
    """A shaft under a torque (N m) or at a speed (rad/s)."""

    kinetic: bool
    value: float


def excitation(shaft: str, given: Any) -> Excitation | None:
    """A torque or a speed with its unit; None where nothing is given."""
    if given is None:
        return None
    symbol = unit_in(given) if isinstance(given, str) else ""
    kinetic = bool(symbol) and compatible(symbol, "N m")
    if not (kinetic or (symbol and compatible(symbol, "rad/s"))):
        raise InputError(f"variator: {shaft} = {given!r} must be a torque or a speed with its unit, such as '100 N m' or '2000 rpm'")
    value = quantity(given)
    if not math.isfinite(value) or (value <= 0.0 and not kinetic):
        raise InputError(f"variator: {shaft} = {given!r} must be {'finite' if kinetic else 'a positive speed'}")
    return Excitation(kinetic, value)


@dataclass(frozen=True)
class Manoeuvre:
    """Targets of a run: speed ratio, excitations of both shafts, M/M* of the driven pulley (0: its thrust is given), all reached within a time."""

    time: float
    driving: Excitation | None = None
    driven: Excitation | None = None
    torque_ratio: float = 0.0

    def begin(self, b: Belt, ratio: float, thrust: float) -> float:
        """Sets rates; the speed ratio that the control follows."""
        if self.driven is not None or self.torque_ratio:  # a load that follows the thrust would run away with it
            b.load, b.load_ratio = -b.driven.torque if b.driven.kinetic else -b.driven.load, 0.0
            b.driven.torque = -b.load
        for pulley, given in ((b.driving, self.driving), (b.driven, self.driven)):
            if given is not None:
                if given.kinetic and not pulley.kinetic:
                    pulley.torque = pulley.load
                pulley.kinetic, pulley.spin_rate = int(given.kinetic), 0.0 if given.kinetic else (given.value - pulley.omega) / self.time
        if self.driving is not None and self.driving.kinetic:
            b.drive_rate = (self.driving.value - b.driving.torque) / self.time
        if self.driven is not None and self.driven.kinetic:
            b.load_rate, b.load = max(abs(self.driven.value - b.load) / self.time, LEAST), self.driven.value
        b.torque_ratio, b.least_thrust = self.torque_ratio, LEAST * thrust
        if not (b.driving.kinetic or b.driven.kinetic):
            ratio = self.speed(b.driving, self.driving) / self.speed(b.driven, self.driven)
        return ratio

    @staticmethod
    def speed(pulley: Any, given: Excitation | None) -> float:
        """At which a shaft ends whose speed is given."""
        return float(pulley.omega) if given is None else given.value

    @staticmethod
    def end(b: Belt, ratio: float) -> None:
        """All targets are reached: nothing changes any more."""
        b.ratio, b.ratio_rate, b.drive_rate = ratio, 0.0, 0.0
        b.driving.spin_rate = b.driven.spin_rate = 0.0


def checked(t: Any, over: Any, gain: Any, ratio: Any, torque_ratio: Any) -> None:
    """Numbers of a manoeuvre."""
    given = {"t": t, "over": over, "gain": gain, "ratio": ratio, "torque_ratio": torque_ratio}
    for name, value in given.items():
        optional = name not in ("t", "gain")
        if value is None and optional:
            continue
        if isinstance(value, bool) or not isinstance(value, float | int) or not (math.isfinite(value) and value > 0):
            raise InputError(f"variator: {name} = {value!r} must be a positive number{' (s)' if name in ('t', 'over') else ''}")
