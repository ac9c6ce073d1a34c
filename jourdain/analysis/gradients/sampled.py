"""Criteria of equally spaced samples of a motion: filtered accelerations, moving averages and changes, with their derivatives by the samples.

Filters are linear, so that weights of what is filtered go back through the transposed filter: a causal filter F from rest has Fᵀ = R F R with the reversal R, and the filter forwards and
backwards, R F R F, is its own transpose.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError

if TYPE_CHECKING:
    from ..design.criteria import Criterion

#: Kinds that are read from samples.
WINDOWED = ("moving_average", "sustained")
SAMPLED = (*WINDOWED, "cfc", "iso2631")
#: Samples in a window; samples a second for each hertz of a channel class; samples a second of weighted accelerations.
IN_WINDOW, BY_CLASS, BY_WEIGHTING = 128, 20, 2000
#: Frequencies (Hz) and quality factors of ISO 2631-1, table A.1: (f3, f4, Q4, f5, Q5, f6, Q6), no step where f5 is 0.
WEIGHTINGS = {"Wk": (12.5, 12.5, 0.63, 2.37, 0.91, 3.35, 0.91), "Wd": (2.0, 2.0, 0.63, 0.0, 1.0, 0.0, 1.0)}
#: Ends of the band (Hz).
BAND = (0.4, 100.0)


def spacing(c: Criterion) -> float:
    """Time between samples (s)."""
    if c.kind in WINDOWED:
        return float(c.options["window"]) / IN_WINDOW
    return 1.0 / (BY_CLASS * c.options["class"] if c.kind == "cfc" else BY_WEIGHTING)


def instants(name: str, c: Criterion, low: float, high: float) -> np.ndarray:
    """Where the motion is sampled."""
    h = spacing(c)
    count = math.floor((high - low) / h * (1.0 + 1e-12)) + 1
    if count < (IN_WINDOW + 1 if c.kind in WINDOWED else 8):
        raise InputError(f"criterion '{name}' ({c}): the run from {low:g} to {high:g} s is too short for it")
    return np.minimum(low + h * np.arange(count), high)


def value(c: Criterion, y: np.ndarray) -> float:
    """The criterion from its samples."""
    if c.kind == "moving_average":
        return float(_means(y).max())
    if c.kind == "sustained":
        return float(np.abs(y[IN_WINDOW:] - y[:-IN_WINDOW]).max() / c.options["window"])
    z = _filtered(c, y)
    return float(np.abs(z).max()) if c.kind == "cfc" else float(np.sqrt(np.mean(z * z)))


def slopes(c: Criterion, y: np.ndarray) -> np.ndarray:
    """Its derivatives by the samples."""
    if c.kind == "moving_average":
        k = int(np.argmax(_means(y)))
        found = np.zeros(len(y))
        found[k : k + IN_WINDOW + 1] = 1.0 / IN_WINDOW
        found[[k, k + IN_WINDOW]] *= 0.5
        return found
    if c.kind == "sustained":
        change = y[IN_WINDOW:] - y[:-IN_WINDOW]
        k = int(np.argmax(np.abs(change)))
        found = np.zeros(len(y))
        found[[k, k + IN_WINDOW]] = np.sign(change[k]) / c.options["window"] * np.array([-1.0, 1.0])
        return found
    z = _filtered(c, y)
    if c.kind == "cfc":
        k = int(np.argmax(np.abs(z)))
        unit = np.zeros(len(y))
        unit[k] = np.sign(z[k])
        return _filtered(c, unit)
    size = float(np.sqrt(np.mean(z * z)))
    return _filtered(c, z[::-1])[::-1] / (len(y) * size) if size > 0.0 else np.zeros(len(y))


def _means(y: np.ndarray) -> np.ndarray:
    """Means over all windows, by the trapezoidal rule."""
    total = np.concatenate([[0.0], np.cumsum(0.5 * (y[1:] + y[:-1]))])
    return np.asarray(total[IN_WINDOW:] - total[:-IN_WINDOW]) / IN_WINDOW


def _filtered(c: Criterion, y: np.ndarray) -> np.ndarray:
    from scipy.signal import lfilter

    if c.kind == "cfc":
        b, a = channel_class(int(c.options["class"]), 1.0 / spacing(c))
        return np.asarray(lfilter(b, a, lfilter(b, a, y)[::-1])[::-1])
    for b, a in weighting(c.options["weighting"], 1.0 / spacing(c)):
        y = lfilter(b, a, y)
    return np.asarray(y)


@cache
def channel_class(frequency_class: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """The two poles of SAE J211-1, appendix C, which are passed forwards and backwards: 3 dB down at 5/3 of the class."""
    w = math.tan(math.pi * frequency_class * 2.0775 / rate)
    size = 1.0 + math.sqrt(2.0) * w + w * w
    b = np.array([1.0, 2.0, 1.0]) * w * w / size
    return b, np.array([1.0, 2.0 * (w * w - 1.0) / size, (1.0 - math.sqrt(2.0) * w + w * w) / size])


@cache
def weighting(name: str, rate: float) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """The frequency weighting of ISO 2631-1, annex A, as digital filters one after another: high pass, low pass, transition, upward step."""
    from scipy.signal import bilinear

    f3, f4, q4, f5, q5, f6, q6 = WEIGHTINGS[name]
    w = lambda f: 2.0 * math.pi * f
    pair = lambda f, q: [1.0 / w(f) ** 2, 1.0 / (q * w(f)), 1.0]
    low, high = BAND
    root = 1.0 / math.sqrt(2.0)
    stages = [([1.0 / w(low) ** 2, 0.0, 0.0], pair(low, root)), ([1.0], pair(high, root)), ([1.0 / w(f3), 1.0], pair(f4, q4))]
    if f5:
        size = (f5 / f6) ** 2
        stages.append(([size * x for x in pair(f5, q5)], pair(f6, q6)))
    return tuple((np.asarray(b), np.asarray(a)) for b, a in (bilinear(num, den, fs=rate) for num, den in stages))


__all__ = ["SAMPLED", "WEIGHTINGS", "channel_class", "instants", "slopes", "value", "weighting"]
