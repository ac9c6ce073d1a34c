"""The path of an open belt over two pulleys, and estimates of what it carries.

The belt runs over the driving arc, the span t1, the driven arc and the span t2.  Both pulleys turn to the left (counter-clockwise), the driven
one lies at (a, 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from ...errors import InputError

Array = NDArray[np.float64]
#: Sections of the path in the order in which the belt runs through them.
SECTIONS = ("driving arc", "span t1", "driven arc", "span t2")


@dataclass(frozen=True)
class Path:
    """Reference line of an open belt: centre distance and radii of the pitch line (m)."""

    centres: float
    r_dr: float
    r_dn: float

    def __post_init__(self) -> None:
        if not (self.centres > 0 and self.r_dr > 0 and self.r_dn > 0):
            raise InputError(f"belt path: centre distance {self.centres:g} and radii {self.r_dr:g}, {self.r_dn:g} m must be positive")
        if self.r_dr + self.r_dn >= self.centres:
            raise InputError(f"belt path: radii {self.r_dr:.4g} and {self.r_dn:.4g} m do not fit between centres {self.centres:g} m apart")

    @property
    def beta(self) -> float:
        """Slope of the spans: sin β = (r_dn − r_dr)/a."""
        return math.asin((self.r_dn - self.r_dr) / self.centres)

    @property
    def wraps(self) -> tuple[float, float]:
        """Angles of contact α_dr, α_dn (rad)."""
        return math.pi - 2 * self.beta, math.pi + 2 * self.beta

    @property
    def span(self) -> float:
        return self.centres * math.cos(self.beta)

    @property
    def lengths(self) -> tuple[float, float, float, float]:
        """Lengths of the four sections."""
        a, b = self.wraps
        return self.r_dr * a, self.span, self.r_dn * b, self.span

    @property
    def length(self) -> float:
        return sum(self.lengths)

    @property
    def borders(self) -> Array:
        """Where the sections begin, and the end of the last."""
        return np.concatenate([[0.0], np.cumsum(self.lengths)])

    @property
    def ratio(self) -> float:
        """Speed ratio ω_dr/ω_dn of a belt that does not slip."""
        return self.r_dn / self.r_dr

    def curvature(self, s: ArrayLike) -> Array:
        """1/r on arcs, 0 on spans."""
        section = np.searchsorted(self.borders, np.mod(np.asarray(s, float), self.length), side="right") - 1
        return np.array([1 / self.r_dr, 0.0, 1 / self.r_dn, 0.0, 0.0])[section]

    def points(self, s: ArrayLike, w: ArrayLike = 0.0) -> Array:
        """Places (x, y) along the path, displaced outwards by w."""
        s, w = np.broadcast_arrays(np.mod(np.asarray(s, float), self.length), np.asarray(w, float))
        b, (_, l1, _, _) = self.borders, self.lengths
        beta, a = self.beta, self.centres
        section = np.searchsorted(b, s, side="right") - 1
        out = np.empty((*s.shape, 2))
        for k, (start, centre, r) in enumerate(((math.pi / 2 + beta, 0.0, self.r_dr), (0, 0, 0), (-math.pi / 2 - beta, a, self.r_dn))):
            if k != 1:
                here = section == k
                phi = start + (s[here] - b[k]) / r
                out[here] = np.stack([centre + (r + w[here]) * np.cos(phi), (r + w[here]) * np.sin(phi)], axis=-1)
        for k, sign in ((1, -1.0), (3, 1.0)):
            here = (section == k) | (section == k + 1 if k == 3 else False)
            x = (s[here] - b[k]) / l1
            n = np.array([-math.sin(beta), sign * math.cos(beta)])
            begin, end = self.r_dr * n, np.array([a, 0.0]) + self.r_dn * n
            if k == 3:
                begin, end = end, begin
            out[here] = begin + x[:, None] * (end - begin) + w[here, None] * n
        return out


def path_of(ratio: float, length: float, centres: float, smallest: float = 0.0, largest: float = math.inf) -> Path:
    """The path of a belt of a given length at a speed ratio; radii must lie between the hub and the rim of the pulleys.

    >>> path = path_of(2.16, 0.6516, 0.155)
    >>> round(path.r_dr * 1e3, 3), round(path.r_dn * 1e3, 3)
    (33.427, 72.203)
    """
    if not (ratio > 0 and math.isfinite(ratio)):
        raise InputError(f"variator: ratio = {ratio:g} must be positive")
    if not length > 2 * centres:
        raise InputError(
            f"variator: a belt of {length:g} m is too short for pulleys {centres:g} m apart; it takes more than {2 * centres:g} m"
        )

    def wrong(r: float) -> float:
        x = (ratio - 1.0) * r / centres
        if abs(x) > 1:
            return math.inf
        beta = math.asin(x)
        return 2 * centres * math.cos(beta) + r * (math.pi - 2 * beta) + ratio * r * (math.pi + 2 * beta) - length

    top = centres / (1.0 + ratio)
    if wrong(top) < 0:
        raise InputError(
            f"variator: a belt of {length:g} m is too long for pulleys {centres:g} m apart at ratio {ratio:g}; "
            f"pulleys that touch each other take {length + wrong(top):.4g} m"
        )
    path = Path(centres, r := float(brentq(wrong, 1e-9, top, xtol=1e-15)), ratio * r)
    for name, r in (("driving", path.r_dr), ("driven", path.r_dn)):
        if not smallest <= r <= largest:
            raise InputError(
                f"variator: ratio {ratio:g} needs a {name} radius of {r * 1e3:.2f} mm, outside the sheaves from {smallest * 1e3:g} to "
                f"{largest * 1e3:g} mm; ratios {_ratios(length, centres, smallest, largest)} fit this belt"
            )
    return path


def _ratios(length: float, centres: float, smallest: float, largest: float) -> str:
    """The range of ratios that fit, found on a grid."""
    found = []
    for ratio in np.geomspace(0.1, 10, 400):
        try:
            path = path_of(float(ratio), length, centres)
        except InputError:
            continue
        if smallest <= min(path.r_dr, path.r_dn) and max(path.r_dr, path.r_dn) <= largest:
            found.append(float(ratio))
    return f"{min(found):.3g} … {max(found):.3g}" if found else "none"


def span_torque(r: float, P_t1: float, P_t2: float, T_t1: float, T_t2: float) -> float:
    """Torque from the forces of the spans, P < 0 and T > 0 (1)."""
    return r * (P_t2 - P_t1 + T_t2 - T_t1)


def largest_torque(r: float, thrust: float, mu: float, wedge: float) -> float:
    """M*, the most that friction transmits when all of it is tangential (2)."""
    return 2 * mu / math.cos(wedge) * thrust * r


def clamping_thrust(r: float, torque: float, torque_ratio: float, mu: float, wedge: float) -> float:
    """The thrust with which a torque is this part of M* (2)."""
    return abs(torque) * math.cos(wedge) / (2 * mu * r * torque_ratio)


def ring_slip(omega: float, ratio: float, r_dr: float, r_dn: float, offset: float) -> float:
    """Speed of rings over elements that do not slip (3): the ring's neutral line lies `offset` above the pitch line."""
    return omega * ((r_dn + offset) / ratio - (r_dr + offset))


def thrust_of(tension: float, wrap: float, wedge: float, mu: float = 0.0) -> float:
    """Thrust that a net tension T + P − m̄v² asks for; with mu > 0 of elements that all slide inwards."""
    return tension * wrap / (2 * math.tan(wedge + math.atan(mu)))


def ring_tension_difference(tension: float, mu: float, wrap: float) -> float:
    """|T_t2 − T_t1| of rings that slip all along the smaller pulley (Euler's rope): (T_max − m̄v²)(1 − e^(−μα))."""
    return tension * (1 - math.exp(-mu * wrap))
