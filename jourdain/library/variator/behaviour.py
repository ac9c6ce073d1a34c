"""What fields of a push belt look like, as the source describes its figures: functions of steady states that say yes or no.

Cases: E1 ratio 1 and rising torque, E2 no torque in overdrive and underdrive, E3 normal forces of the driving pulley.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...errors import InputError
from .geometry import Array
from .state import SteadyState

#: Compression below this part of its largest value is none.
SMALL = 0.01


def onset(state: SteadyState) -> float:
    """Where compression sets in on the driving arc, as part of the arc; 1 where there is none."""
    P = state.fields.section("driving arc", "P")
    pushed = np.flatnonzero(-SMALL * max(float(-state["P"].min()), 1.0) > P)
    return float(pushed[0] / P.size) if pushed.size else 1.0


def separated_at_the_inlet(state: SteadyState) -> bool:
    """E1a: elements enter the driving pulley apart; there friction of flanks and rings balance."""
    n = int(onset(state) * state.fields.inside("driving arc").sum())
    flank, ring = (state.fields.section("driving arc", f)[1 : n // 2] for f in ("f_Pt", "f_Rt"))  # towards the onset it blurs
    return n >= 6 and bool(np.nanmax(np.abs(2 * flank + ring)) < 0.35 * np.nanmax(np.abs(ring)) + 0.5)


def compression_grows(state: SteadyState) -> bool:
    """E1b: from its onset |P| grows to the exit of the driving arc, but for ripples of some percent."""
    P = -state.fields.section("driving arc", "P")
    P = P[int(onset(state) * P.size) :]
    return bool(P.size > 3 and np.diff(P).min() > -0.02 * P.max() and P[-1] > 0.95 * P.max())


def plateau(state: SteadyState) -> bool:
    """E1c: along t1 P is constant within 2 %, without flank forces."""
    P = state.fields.section("span t1", "P")[4:-4]
    return bool(np.ptp(P) < 0.02 * np.abs(P).max())


def hump(state: SteadyState) -> float:
    """E1d, E2c: by how much |P| rises behind the inlet of the driven arc, over |P| in t1."""
    P = -state.fields.section("driven arc", "P")
    return float(P.max() / max(-state.span_forces["P_t1"], 1e-9) - 1.0)


def driven_by_the_belt(state: SteadyState) -> bool:
    """E2c: behind the inlet of the driven arc the belt drives the pulley everywhere, γ < π/2, and |P| does not rise."""
    gamma = state.fields.section("driven arc", "gamma")
    return bool(np.nanmax(gamma[4 : gamma.size // 3]) < math.pi / 2 and hump(state) < SMALL)


def free_return(state: SteadyState) -> bool:
    """E1e: no compression at the exit of the driven arc and along t2."""
    return bool(state.fields.section("span t2", "P")[4:-4].min() > -SMALL * -state["P"].min())


def sliding_turns(state: SteadyState) -> bool:
    """E1f: on the driven arc the radius falls, and the sliding angle from above π/2 (pulley drives) to below (belt drives)."""
    w, gamma = (state.fields.section("driven arc", f) for f in ("w", "gamma"))
    inner = gamma[4 : int(0.9 * gamma.size)]
    return bool(inner[0] > math.pi / 2 > inner[-1] and w[int(0.7 * w.size)] < w[4])


def compressed_span(state: SteadyState) -> str:
    """Which span is compressed: "t1", "t2" or "none"."""
    f = state.span_forces
    least = SMALL * max(f["T_t1"], f["T_t2"])
    return "t1" if f["P_t1"] < min(f["P_t2"], -least) else "t2" if f["P_t2"] < -least else "none"


def inversion_torque(states: Iterable[SteadyState]) -> float:
    """M₀ (N m, of the driving pulley) at which the compressed span changes from t2 to t1: where P_t1 − P_t2 is zero between the nearest states."""
    rows = sorted((s.torque[0], s.span_forces["P_t1"] - s.span_forces["P_t2"]) for s in states)
    below, above = [r for r in rows if r[1] > 0.0], [r for r in rows if r[1] < 0.0]
    if not below or not above:
        raise InputError("inversion_torque: in all of these states the same span is compressed; give states on both sides of M0")
    (a, x), (b, y) = below[-1], above[0]
    return a + (b - a) * x / (x - y)


def normal_forces(state: SteadyState) -> Array:
    """E3: f_Pn along the driving arc over its mean, at 60 places of the arc; its last station is the first of the span that follows."""
    s, (begin, end) = state.fields.s, state.path.borders[:2]
    here = (s >= begin - 1e-12) & (s <= end + 1e-12)
    f = np.nan_to_num(state["f_Pn"][here])
    found = np.interp(np.linspace(0.02, 0.98, 60), (s[here] - begin) / (end - begin), f)
    return np.asarray(found / found.mean())


def asymmetry(state: SteadyState) -> float:
    """E3a: difference of f_Pn from its mirror image about the middle of the arc, over its size."""
    f = normal_forces(state)
    return float(np.linalg.norm(f - f[::-1]) / np.linalg.norm(f))
