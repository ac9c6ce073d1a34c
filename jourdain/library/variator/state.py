"""What a variator does in a steady state: fields along the belt, torques, thrusts, slip, losses, and what must balance."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path as Path_
from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.channel import Channel
from ...results.fields import PathFields
from ...solvers.belt.march import find_all, lost_within
from ...solvers.belt.records import Belt
from ...view.page import save_page
from ...view.picture import save_picture
from ...view.scene import Scene
from .assembly import copied
from .geometry import SECTIONS, Array, Path, largest_torque, span_torque
from .picture import belt_scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .variator import Variator

#: Units and meanings of the columns of a log.
LOG_UNITS = {
    "omega_dr": ("rad/s", "speed of the driving pulley"), "omega_dn": ("rad/s", "speed of the driven pulley"),
    "M_dr": ("N m", "torque of the driving pulley on the belt"), "M_dn": ("N m", "torque of the belt on the driven pulley"),
    "Q_dr": ("N", "thrust of the driving pulley"), "Q_dn": ("N", "thrust of the driven pulley"),
    "z_dr": ("m", "width of the driving groove at radius 0"), "z_dn": ("m", "width of the driven groove at radius 0"),
    "length": ("m", "length of the pitch line"), "speed": ("m/s", "mean speed of the elements"), "loss": ("W", "power taken by friction"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SteadyState:
    """Fields over the path and numbers of the whole; angles in rad, SI.

    `settled` says whether nothing changed any more; `log` has rows of the run that led here.
    """

    variator: Variator
    path: Path
    belt: Belt
    fields: PathFields
    log: Array
    settled: bool

    def again(self) -> Belt:
        """A copy of the state from which another run can go on, its clock at zero."""
        b = copied(self.belt)
        b.t = 0.0
        return b

    def __getitem__(self, name: str | tuple[str, str]) -> Array:
        return self.fields[name]

    def plot(self, *names: str, file: str | os.PathLike[str] | None = None, title: str | None = None, show: bool = False) -> Figure:
        """Fields along driving arc | span t1 | driven arc | span t2."""
        return self.fields.plot(*(names or ("P", "T", "f_Pn", "gamma")), file=file, title=title, show=show)

    def scene(self, field: str = "P") -> Scene:
        """The belt on its pulleys, elements coloured by a field."""
        return belt_scene(self.variator, self.path, self.fields, field, self.speed)

    def save_picture(self, file: str | os.PathLike[str], field: str = "P", **options: Any) -> Path_:
        """A picture of the belt on its pulleys, elements coloured by a field."""
        return save_picture(self.scene(field), Path_(file), **options)

    def save_page(self, file: str | os.PathLike[str], field: str = "P", **options: Any) -> Path_:
        """A page in which the belt moves on element by element."""
        return save_page(self.scene(field), Path_(file), **options)

    @property
    def torque(self) -> tuple[float, float]:
        """M_dr of the driving pulley on the belt and M_dn of the belt on the driven pulley (N m)."""
        return self.belt.driving.load, -self.belt.driven.load

    @property
    def speed(self) -> tuple[float, float]:
        """ω_dr, ω_dn (rad/s)."""
        return self.belt.driving.omega, self.belt.driven.omega

    @property
    def ratio(self) -> float:
        """ω_dr/ω_dn, of a standing variator that of the radii."""
        a, b = self.speed
        return a / b if b else self.path.ratio

    @property
    def thrust(self) -> tuple[float, float]:
        """Q_dr, Q_dn: sums of the axial contact forces (N)."""
        return self.belt.driving.axial, self.belt.driven.axial

    @property
    def thrust_ratio(self) -> float:
        """Q_dr/Q_dn."""
        return self.thrust[0] / self.thrust[1]

    @property
    def largest_torque(self) -> float:
        """M*_dn with the smaller of both thrusts (2)."""
        v = self.variator
        return largest_torque(self.path.r_dn, min(self.thrust), v.friction.mu, v.wedge)

    @property
    def torque_ratio(self) -> float:
        """M/M*."""
        return self.torque[1] / self.largest_torque

    @property
    def efficiency(self) -> float:
        """Power out over power in; bearings and oil are not counted."""
        into, out = (m * w for m, w in zip(self.torque, self.speed, strict=True))
        if into < 0 and out < 0:  # braking: power comes from the driven shaft
            into, out = -out, -into
        return max(out, 0.0) / into if into > 0 else 0.0

    @property
    def slip(self) -> float:
        """1 − (r_dn/r_dr)/i with the mean radii of the contacts that carry: creep and gaps between elements."""
        r = [float(np.average(p.lever, weights=np.maximum(p.force, 0.0))) for p in (self.belt.driving, self.belt.driven)]
        return 1.0 - r[1] / r[0] / self.ratio

    @property
    def losses(self) -> dict[str, float]:
        """Power of friction (W) in the flanks of each pulley and between the layers."""
        return {"driving flanks": self.belt.driving.loss, "driven flanks": self.belt.driven.loss, "rings": lost_within(self.belt)}

    @property
    def power_error(self) -> float:
        """(Power in − power out − losses) over the power that is transmitted, or over the losses without load."""
        (a, b), (x, y) = self.torque, self.speed
        lost = sum(self.losses.values())
        size = max(abs(a * x), abs(b * y))
        return (a * x - b * y - lost) / (size if size > 10 * lost else max(lost, 1e-9))

    @property
    def span_forces(self) -> dict[str, float]:
        """P and T in the middle of both spans."""
        out = {}
        for k, name in ((1, "t1"), (3, "t2")):
            middle = int(np.argmin(np.abs(self.fields.s - 0.5 * (self.path.borders[k] + self.path.borders[k + 1]))))
            out[f"P_{name}"], out[f"T_{name}"] = float(self["P"][middle]), float(self["T"][middle])
        return out

    @property
    def torque_error(self) -> float:
        """|M_dr/r_dr − (P_t2 − P_t1 + T_t2 − T_t1)| over M*/r, with r_dr where contacts carry (1).

        What is left is what flanks lose by sliding into the groove, which (1) does not count.
        """
        p = self.belt.driving
        r = float(np.average(p.lever, weights=np.maximum(p.force, 0.0)))
        return abs(self.torque[0] / r - span_torque(1.0, **self.span_forces)) * self.path.r_dn / self.largest_torque

    @property
    def thrust_error(self) -> float:
        """|Q_dn − (A p₀ + F_c + F_ω)| over Q_dn (8)."""
        p = self.belt.driven
        given = p.thrust + p.spring + p.spring_rate * (p.z - p.spring_at) + p.centrifugal * p.omega**2
        return abs(p.axial - given) / p.axial

    @property
    def closure(self) -> float:
        """The largest |∫ Δε ds| of a layer (m): zero in a closed belt."""
        return float(np.abs(self.belt.layers.deviation @ self.belt.path.share).max())

    @property
    def play(self) -> float:
        """Length of the pitch line less that of all elements (m)."""
        return self.belt.layers.lines[0] - self.variator.elements.length

    def summary(self) -> str:
        """Numbers in a few lines."""
        (a, b), (x, y), (q, p) = self.torque, self.speed, self.thrust
        spans = self.span_forces
        lines = [
            f"speed ratio {self.ratio:.4f} ({x * 30 / math.pi:.0f} / {y * 30 / math.pi:.0f} rpm), slip {100 * self.slip:.3f} %",
            f"torques {a:.2f} and {b:.2f} N m, torque ratio {self.torque_ratio:.3f} of M* = {self.largest_torque:.1f} N m",
            f"thrusts {q:.0f} and {p:.0f} N, ratio {self.thrust_ratio:.3f}",
            f"spans: P {spans['P_t1']:.0f} and {spans['P_t2']:.0f} N, T {spans['T_t1']:.0f} and {spans['T_t2']:.0f} N; play {1e3 * self.play:.3f} mm",
            f"efficiency {100 * self.efficiency:.2f} %; losses " + ", ".join(f"{k} {v:.0f} W" for k, v in self.losses.items()),
            f"balances: torque {100 * self.torque_error:.2f} %, power {100 * self.power_error:.2f} %, thrust {100 * self.thrust_error:.3f} %"
            + ("" if self.settled else "; not settled"),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary()


def _over(b: Belt, n: int, name: str, scale: float = 1.0, per_element: bool = False) -> Array:
    """A quantity of the contacts at all stations; not a number where there is none."""
    out = np.full(n, np.nan)
    for p in (b.driving, b.driven):
        values = getattr(p, name) * scale
        out[p.station] = np.where(p.force > 0, values / p.elements if per_element else values, np.nan)
    return out


def _angles(b: Belt, n: int) -> Array:
    """Sliding angle γ in (−π/2, 3π/2] (36)."""
    out = np.full(n, np.nan)
    for p in (b.driving, b.driven):
        gamma = np.arctan2(p.dv_r, p.dv_t)
        out[p.station] = np.where(p.force > 0, np.where(gamma < -math.pi / 2, gamma + 2 * math.pi, gamma), np.nan)
    return out


def steady_state(v: Variator, path: Path, b: Belt, log: Array, settled: bool) -> SteadyState:
    """Fields of a belt as it is."""
    find_all(b)
    layers, line, n = b.layers, b.path, b.path.stations
    s = np.concatenate([[0.0], np.cumsum(line.step)[:-1]])
    P = layers.stiffness[0] * np.minimum(layers.strain[0], 0.0)
    T = layers.stiffness[1:, None] * np.maximum(layers.strain[1:], 0.0)
    per = v.elements.thickness / line.share
    speed = layers.speed[:, None] * (1 + layers.strain) / (1 + layers.mean[:, None])
    gap = np.full(n, np.nan)
    for p in (b.driving, b.driven):
        gap[p.station] = p.gap
    fields: dict[str, Any] = {
        "P": (P, "N", "force between elements, negative in compression"),
        "T": (T.sum(axis=0), "N", "tension of all rings"),
        "T_k": (T, "N", "tension of every ring, from inside"),
        "f_Pn": (_over(b, n, "normal", 1.0, True), "N", "normal force of one flank of an element"),
        "f_Pt": (_over(b, n, "tangential", 1.0, True), "N", "tangential friction of one flank of an element"),
        "f_Pr": (_over(b, n, "radial", 1.0, True), "N", "inward friction of one flank of an element"),
        "f_ax": (_over(b, n, "force", 1.0, True), "N", "axial force of an element"),
        "f_Rt": (layers.friction[1] * per, "N", "friction of the innermost ring on an element"),
        "f_Rn": (layers.normal[1] * per, "N", "force of the rings on the saddle of an element"),
        "w": (line.w.copy(), "m", "displacement outwards from the reference line"),
        "gamma": (_angles(b, n), "rad", "sliding angle in the flank; π/2 is inwards"),
        "dv_t": (_over(b, n, "dv_t"), "m/s", "speed of elements over the pulley, along the belt"),
        "dv_r": (_over(b, n, "dv_r"), "m/s", "speed of elements into the groove"),
        "gap": (gap, "m", "gap between flank and element"),
        "eps_plus": (np.maximum(layers.strain[0], 0.0), "1", "gaps between elements over their thickness"),
        "v": (speed[0], "m/s", "speed of elements"),
        "v_k": (speed[1:], "m/s", "speed of every ring"),
    }  # fmt: skip
    channels = {name: Channel(values, unit, text) for name, (values, unit, text) in fields.items()}
    sections = [(name, path.borders[k], path.borders[k + 1]) for k, name in enumerate(SECTIONS)]
    found = PathFields(s, sections, channels)
    state = SteadyState(v, path, copied(b), found, log, settled)
    found.title = f"push-belt variator, i = {state.ratio:.3g}, M/M* = {state.torque_ratio:.2f}"
    return state
