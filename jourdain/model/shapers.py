"""Input shaping: a command convolved with a few impulses in time, so that the modes for which they are made come to rest with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, pi
from typing import Any

import numpy as np

from ..errors import InputError
from ..symbolic.expr import Expr, as_expr, where
from ..symbolic.tables import table
from ..told import told
from .values import number

#: Shapers by name, with what they hold at zero.
SHAPERS = {
    "ZV": "zero vibration",
    "ZVD": "zero vibration and derivative by the frequency",
    "ZVDD": "zero vibration and two derivatives",
    "EI": "extra insensitive: a tolerated vibration at the frequency, none on both sides of it",
}


@told
@dataclass(frozen=True)
class InputShaper:
    """Impulses of given amplitudes, which sum to one, at times (s): ``shaper(command)`` is the shaped command Σ Aᵢ r(t − tᵢ)."""

    times: tuple[float, ...]
    amplitudes: tuple[float, ...]
    name: str = "shaper"

    @property
    def duration(self) -> float:
        """By how much the command lasts longer, s."""
        return self.times[-1]

    def __call__(self, command: Any) -> Callable[[Expr], Expr]:
        """The shaped command: of a function of time, of a table (times, values), or of a number that is commanded at t = 0."""
        if isinstance(command, tuple):
            command = table(*command, name=f"{self.name} of a table")
        if callable(command):
            return lambda t: sum((a * as_expr(command(t - since)) for since, a in self._impulses()), as_expr(0.0))
        size = number(command, f"{self.name}: command")
        return lambda t: sum((where(as_expr(t) >= since, a * size, 0.0) for since, a in self._impulses()), as_expr(0.0))

    def _impulses(self) -> list[tuple[float, float]]:
        return list(zip(self.times, self.amplitudes, strict=True))

    def __mul__(self, other: InputShaper) -> InputShaper:
        """Both shapers one after the other: for two modes."""
        found: dict[float, float] = {}
        for s, a in self._impulses():
            for t, b in other._impulses():
                found[s + t] = found.get(s + t, 0.0) + a * b
        times = sorted(found)
        return InputShaper(tuple(times), tuple(found[t] for t in times), f"{self.name}·{other.name}")

    def residual(self, frequency: Any, damping: float = 0.0) -> Any:
        """The vibration of a mode after the last impulse, as a share of that after a single one (Singer & Seering 1990, eq. 5).

        frequency: of the undamped mode, Hz, one or an array. damping: its ratio.
        """
        w = 2.0 * pi * np.asarray(frequency, dtype=float)
        found = np.abs(_vibration(np.array(self.times), np.array(self.amplitudes), w, damping))
        return found if found.ndim else float(found)

    def insensitivity(self, frequency: Any, level: float = 0.05, damping: float = 0.0) -> float:
        """The width of the range of frequencies about one (Hz) with a residual of at most ``level``, as a share of that frequency."""
        f = number(frequency, "insensitivity", "Hz")
        grid = np.linspace(0.0, 2.0, 20001)
        calm = self.residual(f * grid, damping) <= level * (1.0 + 1e-6)
        middle = len(grid) // 2
        if not calm[middle]:
            return 0.0
        low = middle - int(np.argmin(calm[middle::-1])) + 1
        high = middle + int(np.argmin(calm[middle:])) - 1 if not calm[middle:].all() else len(grid) - 1
        return float(grid[high] - grid[low])


def input_shaper(kind: str, frequency: Any, damping: Any = 0.0, tolerance: float = 0.05) -> InputShaper:
    """A shaper for one mode: "ZV", "ZVD", "ZVDD" (Singer & Seering 1990) or "EI" (Singhose, Seering & Singer 1994).

    frequency: of the undamped mode, Hz. damping: ratio of critical damping. tolerance: of "EI", the vibration allowed at the frequency, as a share of
    that without shaping.

    >>> zv = input_shaper("ZV", "2 Hz")
    >>> zv.times, zv.amplitudes
    ((0.0, 0.25), (0.5, 0.5))
    """
    what = f"input shaper {kind!r}"
    if kind not in SHAPERS:
        raise InputError(f"{what} is unknown; there are {', '.join(SHAPERS)}")
    f, zeta = number(frequency, f"{what}: frequency", "Hz"), number(damping, f"{what}: damping")
    if not f > 0:
        raise InputError(f"{what}: frequency {f:g} Hz must be positive")
    if not 0.0 <= zeta < 1.0:
        raise InputError(
            f"{what}: damping {zeta:g} must be a ratio of at least 0 and below 1; a mode that is not an oscillation needs no shaper"
        )
    if kind == "EI":
        return InputShaper(*_extra_insensitive(2.0 * pi * f, zeta, tolerance, what), kind)
    n = len(kind) - 1
    K, half = np.exp(-zeta * pi / np.sqrt(1.0 - zeta**2)), 0.5 / (f * np.sqrt(1.0 - zeta**2))
    amplitudes = [comb(n, j) * float(K) ** j / float(1.0 + K) ** n for j in range(n + 1)]
    return InputShaper(tuple(float(j * half) for j in range(n + 1)), tuple(amplitudes), kind)


def _vibration(t: Any, A: Any, w: Any, zeta: float) -> Any:
    """Complex amplitude after impulses, as a share of that of one at the last time: Σ A exp(−(ζ + i√(1 − ζ²)) ω (t_n − t))."""
    s = (zeta + 1j * np.sqrt(1.0 - zeta**2)) * np.asarray(w)[..., None]
    return (A * np.exp(-s * (t[-1] - t))).sum(axis=-1)


def _extra_insensitive(w: float, zeta: float, V: float, what: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Three impulses: vibration V, the largest nearby, at ω, none at a frequency below and at one above; from the closed form at ζ = 0 on."""
    from scipy.optimize import root

    if not 0.0 < V < 1.0:
        raise InputError(f"{what}: tolerance {V:g} must be between 0 and 1; without any take 'ZVD'")
    beside = np.arccos((1.0 - V) / (1.0 + V)) / pi
    x: Any = np.array([0.25 * (1.0 + V), 0.25 * (1.0 + V), pi, 2.0 * pi, 1.0 - beside, 1.0 + beside])

    def impulses(x: Any) -> tuple[Any, Any]:
        return np.array([0.0, x[2], x[3]]), np.array([x[0], 1.0 - x[0] - x[1], x[1]])

    def missed(x: Any, ratio: float) -> list[float]:
        t, A = impulses(x)
        low, high, here = _vibration(t, A, np.array([x[4], x[5], 1.0]), ratio)
        slope = _vibration(t, -A * (t[-1] - t) * (ratio + 1j * np.sqrt(1.0 - ratio**2)), np.array(1.0), ratio)
        return [low.real, low.imag, high.real, high.imag, abs(here) - V, (here.conjugate() * slope).real]

    for ratio in np.linspace(0.0, zeta, 1 + int(np.ceil(zeta / 0.05)))[1:].tolist():
        x = root(missed, x, args=(ratio,), tol=1e-14).x
        if not np.abs(missed(x, ratio)).max() < 1e-10 or min(impulses(x)[1]) < 0.0:
            raise InputError(f"{what}: there is none for damping {zeta:g} with tolerance {V:g}; take 'ZVD'")
    t, A = impulses(x)
    return tuple((t / w).tolist()), tuple(A.tolist())


__all__ = ["SHAPERS", "InputShaper", "input_shaper"]
