"""From a measured curve of force over crush to a few steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...model.values import number
from .crush import CrushDevice, crush_device


def steps_of_curve(crush: Sequence[float], force: Sequence[float], steps: int = 3, stiffness: Any = None, **options: Any) -> CrushDevice:
    """The crush device with ``steps`` levels that is nearest to a measured curve in the least-squares sense and takes up the same energy.

    Break points of ∫ (F − F_step)² are found by dynamic programming over the samples: for given ones the level is the mean of its interval, so
    that energy is kept (Bellman 1961).  ``stiffness`` is that of the slopes (N/m), by default the initial slope of the curve up to half of the first
    level.  Slopes lie in the middle of jumps, and levels are such that every step holds the energy that it holds in the curve.
    ``options`` are those of :func:`crush_device`.
    """
    d, f = np.asarray(crush, float), np.asarray(force, float)
    if d.ndim != 1 or d.shape != f.shape or len(d) < 2 * steps + 1:
        raise InputError(f"steps_of_curve: {d.size} crushes and {f.size} forces; give two equal rows of at least {2 * steps + 1} samples")
    if not (np.isfinite(d).all() and np.isfinite(f).all()) or (np.diff(d) <= 0.0).any():
        raise InputError("steps_of_curve: crush must grow from sample to sample, and all samples must be finite")
    cuts = _cuts(d, f, steps)
    work = np.concatenate(([0.0], np.cumsum(0.5 * (f[1:] + f[:-1]) * np.diff(d))))
    levels = np.diff(work[cuts]) / np.diff(d[cuts])
    if (np.diff(levels) <= 0.0).any() or levels[0] <= 0.0:
        raise InputError(
            f"steps_of_curve: the best {steps} levels {', '.join(f'{x:.4g}' for x in levels)} N do not rise, and steps of negative stiffness are "
            "no crush device; give fewer steps or a smoothed curve"
        )
    k = _initial(d, f, levels[0]) if stiffness is None else number(stiffness, "steps_of_curve: stiffness", "N/m")
    return _with_slopes(d[cuts] - d[0], work[cuts], float(k), options)


def _cuts(d: np.ndarray, f: np.ndarray, steps: int) -> list[int]:
    """Samples at which steps begin and end: the least ∫ (F − mean)² by dynamic programming, O(steps n²) with prefix sums."""
    h = np.diff(d)
    mean = 0.5 * (f[1:] + f[:-1])
    square = (f[1:] ** 2 + f[1:] * f[:-1] + f[:-1] ** 2) / 3.0  # of a straight piece
    s1, s2 = (np.concatenate(([0.0], np.cumsum(x * h))) for x in (mean, square))
    n = len(d)

    def cost(i: np.ndarray, j: int) -> np.ndarray:
        return s2[j] - s2[i] - (s1[j] - s1[i]) ** 2 / (d[j] - d[i])

    best = np.full((steps + 1, n), np.inf)
    back = np.zeros((steps + 1, n), int)
    best[0, 0] = 0.0
    for k in range(1, steps + 1):
        for j in range(k, n):
            i = np.arange(k - 1, j)
            total = best[k - 1, i] + cost(i, j)
            at = int(np.argmin(total))
            best[k, j], back[k, j] = total[at], i[at]
    cuts = [n - 1]
    for k in range(steps, 0, -1):
        cuts.append(int(back[k, cuts[-1]]))
    return cuts[::-1]


def _initial(d: np.ndarray, f: np.ndarray, level: float) -> float:
    """Slope of the first samples, from the start to half of the first level."""
    at = int(np.argmax(f >= 0.5 * level))
    if at == 0:
        raise InputError("steps_of_curve: the curve begins at half of its first level or more and tells no stiffness; give stiffness=")
    return float((f[at] - min(f[0], 0.0)) / (d[at] - d[0]))


def _with_slopes(cuts: np.ndarray, work: np.ndarray, k: float, options: dict[str, Any]) -> CrushDevice:
    """Slopes in the middle of jumps; levels such that every interval between cuts holds the energy that it holds in the curve."""
    f = np.diff(work) / np.diff(cuts)
    if 2.0 * f[0] >= k * cuts[1]:
        raise InputError(
            f"steps_of_curve: stiffness {k:g} N/m does not reach the first level {f[0]:g} N within its {cuts[1]:g} m; give a larger stiffness="
        )
    for _ in range(60):
        ends = [*(cuts[1:-1] - 0.5 * np.diff(f) / k), cuts[-1]]
        device = crush_device(f, ends, k, **options)
        lack = (np.diff(work) - np.diff(device.energy(cuts))) / np.diff(cuts)
        f = f + lack
        if np.abs(lack).max() < 1e-14 * f[-1]:
            break
    return device


__all__ = ["steps_of_curve"]
