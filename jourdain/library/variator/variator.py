"""A push-belt variator: parts put together, marched to a steady state, through a manoeuvre, or over a range of loads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import InputError, SolverError
from ...model.units import quantity
from ...results.solution import Solution
from ...solvers.belt.march import DONE, LOG, NO_FORCES, NOT_FINITE, SLIPS, march
from ...solvers.belt.records import Belt
from ...structures.drives.moving_belt import BENDING, LIMIT
from .assembly import belt_record, moved_to
from .geometry import SECTIONS, Array, Path, clamping_thrust, largest_torque, path_of
from .manoeuvre import Manoeuvre, checked, excitation
from .parts import Elements, Friction, Pulley, Rings
from .state import LOG_UNITS, SteadyState, steady_state

#: A run is settled when thrusts and circumferential forces have changed by less than this part of the thrust within a window (s), so many times.
SETTLED, WINDOW, QUIET = 1e-4, 0.01, 6
#: How far (m) the belt's line may be from its nominal one at the start: rings that leave it further do not belong to the elements.
FITS = 3e-3
#: Numbers that may be given with a unit.
UNITS = {"thrust": "N", "centres": "m", "wedge": "rad", "spacing": "m", "limit": "Hz", "step": "s"}


@dataclass(frozen=True)
class Variator:
    """Two pulleys, a belt, friction; numbers in SI, angles in rad.

    Args:
        ratio: speed ratio ω_dr/ω_dn for which the path is laid out. thrust: of the driven pulley (N).
        stations: distance of stations is the thickness of an element unless `spacing` is given.
        bending: "first_order", "printed" or "arc_length". speeds: "material" or "printed", see the user's guide.
        limit: frequency cut of the shape functions (Hz). relaxation: τ_L of strain fields (s/m²).
    """

    ratio: float = 1.0
    thrust: float = 20e3
    centres: float = 0.155
    wedge: float = math.radians(11.0)
    elements: Elements = field(default_factory=Elements)
    rings: Rings = field(default_factory=Rings)
    friction: Friction = field(default_factory=Friction)
    pulleys: tuple[Pulley, Pulley] = field(default_factory=lambda: (Pulley(), Pulley()))
    spacing: float | None = None
    coarse: int = 24
    levels: int = 3
    bending: str = "first_order"
    speeds: str = "material"
    limit: float = LIMIT
    relaxation: float = 0.09
    remainder: float = 1e-4
    step: float = 2e-4
    slip_limit: float = 0.05

    def __post_init__(self) -> None:
        for name in ("ratio", "thrust", "centres", "limit", "relaxation", "step", "slip_limit"):
            value = getattr(self, name)
            if not (isinstance(value, float | int) and math.isfinite(value) and value > 0):
                raise InputError(f"variator: {name} = {value!r} must be a positive number")
        for name, least in (("coarse", 5), ("levels", 0)):
            if not (isinstance(getattr(self, name), int) and getattr(self, name) >= least):
                raise InputError(f"variator: {name} = {getattr(self, name)!r} must be a whole number from {least} on")
        if not (isinstance(self.pulleys, tuple | list) and len(self.pulleys) == 2 and all(isinstance(p, Pulley) for p in self.pulleys)):
            raise InputError("variator: pulleys must be two Pulley(…), the driving and the driven one")
        if not 0 < self.wedge < math.pi / 4:
            raise InputError(f"variator: wedge = {self.wedge:g} rad must lie between 0 and 45°; degrees are to be converted")
        if self.bending not in BENDING:
            raise InputError(f"variator: bending = {self.bending!r} is unknown; it is one of {', '.join(map(repr, BENDING))}")
        if self.speeds not in ("material", "printed"):
            raise InputError(f"variator: speeds = {self.speeds!r} is unknown; it is 'material' or 'printed'")
        if self.spacing is not None and not 0 < self.spacing <= 0.01:
            raise InputError(f"variator: spacing = {self.spacing:g} m must lie between 0 and 10 mm")
        self.path  # noqa: B018  # tells at once when belt and pulleys do not fit

    @property
    def path(self) -> Path:
        """The reference line of the belt at the nominal ratio."""
        return self._path(self.ratio)

    def _path(self, ratio: float) -> Path:
        low, high = max(p.hub for p in self.pulleys), min(p.rim for p in self.pulleys)
        return path_of(ratio, self.elements.length, self.centres, low, high)

    def largest_torque(self, thrust: float | None = None) -> tuple[float, float]:
        """M* of the driving and of the driven pulley (2), for the nominal thrust unless one is given (N m)."""
        q = self.thrust if thrust is None else thrust
        return tuple(largest_torque(r, q, self.friction.mu, self.wedge) for r in (self.path.r_dr, self.path.r_dn))  # type: ignore[return-value]

    def clamped_for(self, torque: float | str, torque_ratio: float) -> Variator:
        """The same with the thrust with which a torque on the driven shaft is this part of M*."""
        load = quantity(torque, expects="N m") if isinstance(torque, str) else float(torque)
        if not (math.isfinite(load) and load != 0.0):
            raise InputError(f"variator: torque = {torque!r} must be finite and not zero to ask for a thrust")
        if not (math.isfinite(torque_ratio) and torque_ratio > 0.0):
            raise InputError(f"variator: torque_ratio = {torque_ratio!r} must be positive; it is M/M*, for which the thrust is chosen")
        return replace(self, thrust=clamping_thrust(self.path.r_dn, load, torque_ratio, self.friction.mu, self.wedge))

    def start(self, speed: float | str = "2000 rpm", ratio: float | None = None) -> Belt:
        """The belt laid over the pulleys with the tension that the thrust will give it, all running without slip (native record)."""
        omega = quantity(speed, expects="rad/s") if isinstance(speed, str) else float(speed)
        if not math.isfinite(omega) or omega < 0:
            raise InputError(f"variator: speed = {speed!r} must be zero or positive")
        path = self._path(self.ratio if ratio is None else ratio)
        b, rings = belt_record(self, path), self.rings
        v = omega * path.r_dr
        mass = self.elements.mass_per_length + rings.count * rings.mass_per_length
        wrap = min(path.wraps)
        tension = 2 * self.thrust * math.tan(self.wedge + 0.6 * math.atan(self.friction.mu)) / wrap + mass * v * v
        strain = tension / (rings.count * rings.EA)
        w = (rings.length * (1 + strain) - path.length) / (2 * math.pi) - rings.offset
        if abs(w) > FITS:
            raise InputError(
                f"variator: rings of {rings.length:g} m under {tension:.0f} N would lie {abs(w) * 1e3:.1f} mm {'above' if w > 0 else 'below'} the saddles of "
                f"elements of {self.elements.length:g} m; about {(path.length + 2 * math.pi * rings.offset) / (1 + strain):.4g} m fits"
            )
        b.q[: self.coarse] = b.rest = w
        b.layers.speed[:] = v
        b.layers.speed[1:] *= 1 + 2 * math.pi / path.length * (rings.offset + rings.thickness * np.arange(rings.count))
        for p, turn in ((b.driving, omega), (b.driven, omega / path.ratio)):
            p.z -= 2 * math.tan(self.wedge) * w
            p.omega, p.thrust = turn, self.thrust - self._own_force(p)
        b.driving.held, b.driven.kinetic = 1, int(omega > 0)
        b.clamping = self.thrust
        b.load_rate = self.largest_torque()[1] / 0.1
        return b

    @staticmethod
    def _own_force(p: Any) -> float:
        """Spring and oil in rotation, which are part of the thrust."""
        return float(p.spring + p.centrifugal * p.omega**2)

    def steady(
        self, torque_ratio: float | None = None, speed: float | str = "2000 rpm", *, torque: float | str | None = None, t: float = 1.0,
        ratio: float | None = None, from_state: SteadyState | None = None,
    ) -> SteadyState:  # fmt: skip
        """The steady state under a load: driving shaft at a given speed, driven shaft under a torque, the ratio held.

        Args:
            torque_ratio: M/M* with M* of the smaller of both thrusts; or torque: of the load on the driven shaft (N m). Negative ones brake.
            t: the longest time (s) to wait until nothing changes any more. from_state: a steady state to begin with, for sweeps.
        """
        if (torque_ratio is None) == (torque is None):
            raise InputError("variator: give either torque_ratio or torque")
        if not (isinstance(t, float | int) and 0 < t < math.inf):
            raise InputError(f"variator: t = {t!r} must be a positive time in s")
        if isinstance(torque_ratio, str):
            raise InputError(f"variator: torque_ratio = {torque_ratio!r} must be a number, M/M*; a torque with its unit is torque=")
        load = 0.0 if torque is None else quantity(torque, expects="N m") if isinstance(torque, str) else float(torque)
        part = 0.0 if torque_ratio is None else float(torque_ratio)
        if not (math.isfinite(load) and math.isfinite(part)):
            raise InputError(f"variator: torque_ratio = {torque_ratio!r}, torque = {torque!r} must be finite")
        b = self.start(speed, ratio) if from_state is None else from_state.again()
        b.load, b.load_ratio = load, part
        rows, before, quiet = [], np.full(4, np.inf), 0
        steps = max(round(WINDOW / self.step), 1)
        while b.t < t - 1e-9 and quiet < QUIET:
            rows.append(self._go(b, steps))
            r = self.path.r_dn
            now = np.array([b.driving.axial, b.driven.axial, b.driving.load / r, b.driven.load / r])
            quiet = quiet + 1 if np.abs(now - before).max() < SETTLED * self.thrust else 0
            before = now
        return steady_state(self, self._path(self.ratio if ratio is None else ratio), b, np.concatenate(rows), quiet >= QUIET)

    def simulate(
        self, t: float, ratio: float | None = None, *, state: SteadyState | None = None, over: float | None = None, gain: float = 3e5,
        driving: str | None = None, driven: str | None = None, torque_ratio: float | None = None,
    ) -> Solution:  # fmt: skip
        """A manoeuvre from a steady state on: the driving thrust is controlled (PI) so that the speed ratio goes to `ratio` in a time `over`.

        Args:
            driving, driven: what is given on a shaft from now on, a torque ("100 N m") or a speed ("1800 rpm"), reached in the same time; as in
                the state unless it is given. torque_ratio: M/M* at which the driven thrust is kept by (2), for the torque as it is; that thrust
                does not fall below a tenth of the variator's.

        The reference line follows the belt; the solution has thrusts, torques, speeds and radii over time, ``solution.restart`` the last state.
        """
        checked(t, over, gain, ratio, torque_ratio)
        if not isinstance(state, SteadyState):
            raise InputError(f"variator: state = {state!r} is no steady state; start from cvt.steady(…) or from restart of a manoeuvre")
        if state.belt.driving.omega == 0.0:
            raise InputError("variator: a standing variator has no speed ratio to change; start from a state that turns")
        wanted = state.path.ratio if ratio is None else ratio
        time = max(round((t if over is None else over) / self.step), 1) * self.step
        task = Manoeuvre(time, excitation("driving", driving), excitation("driven", driven), torque_ratio or 0.0)
        b, path = state.again(), state.path
        b.driving.held, b.gain, b.integral = 0, gain, 0.0
        b.ratio = b.driving.omega / b.driven.omega
        b.bias = b.driving.axial - self._own_force(b.driving)
        wanted = task.begin(b, wanted, self.thrust)
        if ratio is not None and abs(wanted / ratio - 1) > 1e-6:
            raise InputError(f"variator: speeds of both shafts are given, whose ratio is {wanted:.4g}; leave out ratio = {ratio:g}")
        self._path(wanted)
        b.ratio_rate = (wanted - b.ratio) / time
        rows = []
        while b.t < t - 1e-9:
            left = round((time - b.t) / self.step)
            if left <= 0:
                task.end(b, wanted)
            steps = max(round(0.005 / self.step), 1)
            rows.append(self._go(b, min(steps, left) if left > 0 else steps))
            if self._far(b):
                path, b = moved_to(self, path, self._path(b.driving.omega / b.driven.omega), b)
        log = np.concatenate(rows)
        channels = {name: (column, *LOG_UNITS[name]) for name, column in zip(LOG[1:], log.T[1:], strict=True)}
        channels["ratio"] = (log[:, LOG.index("omega_dr")] / log[:, LOG.index("omega_dn")], "1", "speed ratio")
        solution = Solution(log[:, 0], channels, {"model": "push-belt variator"})
        solution.restart = steady_state(self, path, b, log, False)
        return solution

    def _far(self, b: Belt) -> bool:
        """Whether the belt has left its reference line by more than small displacements."""
        return bool(abs(float(np.mean(b.path.w[b.driving.station]))) > 0.6e-3 or abs(float(np.mean(b.path.w[b.driven.station]))) > 0.6e-3)

    def _go(self, b: Belt, steps: int) -> Array:
        """Some steps; rows of the log."""
        log = np.zeros((steps // 10 + 1, len(LOG)))
        before = -b.driven.torque
        told, rows = march(b, self.step, steps, 10, log)
        if told != DONE:
            raise SolverError(self._reason(told, b, before))
        return log[:rows]

    def _reason(self, told: int, b: Belt, torque: float) -> str:
        """Why a march ended."""
        when = f"variator at t = {b.t:.4f} s"
        if told == SLIPS:
            least = min(b.driving.axial, b.driven.axial)
            return (
                f"{when}: the belt slips through at a torque of {abs(torque):.1f} N m on the driven shaft (thrusts {b.driving.axial:.0f} and "
                f"{b.driven.axial:.0f} N transmit about M* = {b.largest * least:.1f} N m); a larger thrust than {self.thrust:g} N or a smaller torque is needed"
            )
        if told == NOT_FINITE:
            return f"{when}: {self._place(b)}; a shorter step than {self.step:g} s may help"
        return f"{when}: {'no contact forces were found' if told == NO_FORCES else 'the equations of motion are singular'}; a shorter step than {self.step:g} s may help"

    def _place(self, b: Belt) -> str:
        """What is not a number, at which station and in which pair of bodies."""
        s = float(np.concatenate([[0.0], np.cumsum(b.path.step)[:-1]])[b.bad])
        section = SECTIONS[min(int(np.searchsorted(self.path.borders, s, side="right")) - 1, 3)]
        what = (
            "displacement of the belt" if b.bad_layer < 0 else f"strain of {'the elements' if b.bad_layer == 0 else f'ring {b.bad_layer}'}"
        )
        inner = (
            ("elements", "ring 1")
            if b.bad_layer < 1
            else (f"ring {b.bad_layer}", f"ring {b.bad_layer - 1}" if b.bad_layer > 1 else "elements")
        )
        pair = (inner[0], f"{section.split()[0]} pulley") if b.bad_layer < 1 and section.endswith("arc") else inner
        return f"{what} is not finite at station {b.bad} (s = {s * 1e3:.1f} mm, {section}; pair {pair[0]} and {pair[1]})"

    def sweep(
        self, torque_ratios: Sequence[float], speed: float | str = "2000 rpm", *, t: float = 1.0, **options: Any
    ) -> list[SteadyState]:
        """Steady states over torque ratios, each begun from the one before; a torque at which the belt slips through ends it with an error that says so."""
        found: list[SteadyState] = []
        for part in torque_ratios:
            found.append(self.steady(part, speed, t=t, from_state=found[-1] if found else None, **options))
        return found

    def with_rings_trimmed(self, play: float = 0.2e-3, speed: float | str = "2000 rpm") -> Variator:
        """The same with l₁ such that elements have this play (m) without load at ratio 1: longer rings leave more of it."""
        state = replace(self, ratio=1.0).steady(0.0, speed)
        return replace(self, rings=replace(self.rings, length=self.rings.length + play - state.play))


def push_belt_variator(ratio: float = 1.0, thrust: float | str = 20e3, **parts: Any) -> Variator:
    """A variator with a push belt of 362 elements and ten ring layers, as in passenger cars.

    >>> cvt = push_belt_variator(ratio=2.16)
    >>> [round(m, 2) for m in cvt.largest_torque()]
    [122.59, 264.8]
    """
    known = Variator.__dataclass_fields__
    unknown = [name for name in parts if name not in known]
    if unknown:
        raise InputError(f"push_belt_variator: {unknown[0]!r} is unknown; there are {', '.join(known)}")
    given: dict[str, Any] = {
        n: quantity(x, expects=UNITS[n]) if isinstance(x, str) and n in UNITS else x for n, x in (parts | {"thrust": thrust}).items()
    }
    return Variator(ratio=ratio, **given)


__all__ = ["Variator", "push_belt_variator"]
