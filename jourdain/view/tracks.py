"""Compact tracks: columns of samples with a stated error bound, small enough to travel inside a page.

A column is rounded to a grid of its tolerance. Where it is smooth only every `stride`-th sample is kept and the others
are found by Lagrange interpolation through eight kept ones; a sample that this would miss by more than the tolerance
carries a correction, so the bound holds for every sample. What is kept is predicted from its predecessors, by
differences or by a linear predictor fitted to the column, and the misses are split into byte planes and deflated.
Predictions are sums of doubles in a stated order, so every platform rounds them alike.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError
from jourdain.view.rotation import Array

POINTS = 8
STRIDES = (1, 2, 3, 4, 8, 16)
# differences of order 0 … 4, then linear predictors with that many coefficients (negative)
PREDICTORS = (0, 1, 2, 3, 4, -8, -20)
STRIDED_STEP = 0.8
FULL_STEP = 1.98
# a column tighter than this cannot be held in 32-bit integers after differencing
FINEST = 2.0**28

Integers = NDArray[np.int64]


@dataclass
class Packer:
    """Collects blocks of columns and packs them: add blocks, then read `directory` and `data()`.

    >>> packer = Packer()
    >>> block = packer.add(np.linspace(0, 1, 50)[:, None], tolerance=1e-6)
    >>> back = unpack(packer.directory, packer.data())[block]
    >>> bool(np.max(np.abs(back[:, 0] - np.linspace(0, 1, 50))) <= 1e-6)
    True
    """

    directory: list[dict[str, Any]] = field(default_factory=list)
    #: Whether every block is kept in single precision instead: larger, and made at once.
    quick: bool = False
    _parts: list[bytes] = field(default_factory=list)

    def add(self, values: ArrayLike, tolerance: ArrayLike) -> int:
        """Add a block (n, m) whose columns may err by at most the tolerance (one, or one a column); its number."""
        table = np.asarray(values, dtype=float)
        if table.ndim != 2:
            raise InputError(f"tracks: block of shape {table.shape} is not (n, m)")
        if self.quick or not np.all(np.isfinite(table)):
            return self.add_exact(table, "f4")
        tolerances = np.broadcast_to(np.asarray(tolerance, dtype=float), table.shape[1:]).copy()
        offsets = 0.5 * (table.min(axis=0) + table.max(axis=0)) if len(table) else np.zeros(table.shape[1])
        reach = np.max(np.abs(table - offsets), axis=0) if len(table) else np.zeros(table.shape[1])
        tolerances = np.maximum(tolerances, reach / FINEST)
        tolerances[tolerances <= 0] = 1.0
        plan = _plan(table - offsets, tolerances)
        kept: list[Any] = [None] * table.shape[1]
        for stride in sorted({choice[0] for choice in plan}):
            chosen = [column for column, choice in enumerate(plan) if choice[0] == stride]
            keys, corrections = _quantise(table[:, chosen] - offsets[chosen], tolerances[chosen], stride)
            for k, column in enumerate(chosen):
                kept[column] = (keys[:, k], corrections[:, k])
        rows = []
        for (stride, coefficients, fitted), (keys, corrections), offset, error in zip(plan, kept, offsets, tolerances, strict=True):
            if fitted:
                self._parts.append(coefficients.astype("<f8").tobytes())
            planes = self._push(keys - _predict(keys, coefficients))
            fixes = self._push(corrections)
            predictor = -len(coefficients) if fitted else len(coefficients)
            rows.append([float(offset), float(error), stride, predictor, planes, fixes])
        self.directory.append({"n": len(table), "columns": rows})
        return len(self.directory) - 1

    def add_exact(self, values: ArrayLike, kind: str = "f8") -> int:
        """Add a block (n, m) of floating-point numbers as they are: "f8" double, "f4" single precision."""
        table = np.asarray(values, dtype=float)
        self._parts.append(np.ascontiguousarray(table.T, dtype="<" + kind).tobytes())
        self.directory.append({"n": len(table), "exact": kind, "m": table.shape[1]})
        return len(self.directory) - 1

    def data(self) -> bytes:
        """All blocks, deflated (zlib format)."""
        deflate = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_FILTERED)
        pieces = [deflate.compress(part) for part in self._parts]
        return b"".join([*pieces, deflate.flush()])

    def _push(self, integers: Integers) -> int:
        zigzag = np.where(integers < 0, -2 * integers - 1, 2 * integers).astype(np.uint64)
        largest = int(zigzag.max()) if zigzag.size else 0
        planes = (largest.bit_length() + 7) // 8
        for plane in range(planes):
            self._parts.append(((zigzag >> np.uint64(8 * plane)) & np.uint64(255)).astype(np.uint8).tobytes())
        return planes


def unpack(directory: list[dict[str, Any]], data: bytes) -> list[Array]:
    """The blocks (n, m) of packed data, each column within its tolerance of what was added."""
    raw = zlib.decompress(data)
    position = 0

    def take(count: int, planes: int) -> Integers:
        nonlocal position
        zigzag = np.zeros(count, dtype=np.int64)
        for plane in range(planes):
            part = np.frombuffer(raw, np.uint8, count, position).astype(np.int64)
            zigzag |= part << (8 * plane)
            position += count
        return np.where(zigzag & 1, -((zigzag + 1) >> 1), zigzag >> 1)

    blocks = []
    for entry in directory:
        n = entry["n"]
        if "exact" in entry:
            count = n * entry["m"]
            values = np.frombuffer(raw, "<" + entry["exact"], count, position).astype(float)
            position += count * int(entry["exact"][1])
            blocks.append(values.reshape(entry["m"], n).T)
            continue
        block = np.empty((n, len(entry["columns"])))
        for c, (offset, tolerance, stride, predictor, planes, fixes) in enumerate(entry["columns"]):
            coefficients = _binomial(predictor) if predictor >= 0 else np.frombuffer(raw, "<f8", -predictor, position)
            position += 8 * max(-predictor, 0)
            keys = _restore(take(_key_count(n, stride), planes), coefficients)
            block[:, c] = offset + _expand(keys[:, None] * (tolerance * _step(stride)), n, stride)[:, 0]
            block[:, c] += 2 * tolerance * take(n, fixes)
        blocks.append(block)
    return blocks


def estimate(values: Array, tolerances: ArrayLike) -> float:
    """Roughly the bytes that a block (n, m) will take, from a few of its stretches."""
    spread = np.broadcast_to(np.asarray(tolerances, dtype=float), values.shape[1:])
    centre = 0.5 * (values.min(axis=0) + values.max(axis=0))
    bits = _costs(values - centre, np.where(spread > 0, spread, 1.0))[0].min(axis=(0, 1))
    return float(np.sum(bits) * len(values) / 8)


def _step(stride: int) -> float:
    return FULL_STEP if stride == 1 else STRIDED_STEP


def _key_count(n: int, stride: int) -> int:
    return (n - 1) // stride + 1 if n else 0


def _quantise(values: Array, tolerances: Array, stride: int) -> tuple[Integers, Integers]:
    """Integers kept at every stride-th sample and corrections (in 2 tolerances) that make every sample good."""
    step = tolerances * _step(stride)
    keys = np.rint(values[::stride] / step).astype(np.int64)
    error = values - _expand(keys * step, len(values), stride)
    corrections = np.where(np.abs(error) > tolerances, np.rint(error / (2 * tolerances)), 0).astype(np.int64)
    return keys, corrections


def _expand(keys: Array, n: int, stride: int) -> Array:
    """Samples 0 … n−1 from those at multiples of the stride: Lagrange interpolation through the eight nearest."""
    if stride == 1:
        return keys
    index = np.arange(n)
    start = np.clip(index // stride - (POINTS // 2 - 1), 0, len(keys) - POINTS)
    weights = lagrange(index / stride - start)
    result = np.zeros((n, keys.shape[1]))
    for k in range(POINTS):
        result += weights[:, k, None] * keys[start + k]
    return result


def lagrange(u: Array) -> Array:
    """Weights (n, 8) of the values at 0, 1, …, 7 for interpolation at u (n)."""
    nodes = np.arange(POINTS)
    weights = np.ones((len(u), POINTS))
    for k in nodes:
        for other in nodes[nodes != k]:
            weights[:, k] *= (u - other) / (k - other)
    return weights


def _binomial(order: int) -> Array:
    """Coefficients of the prediction whose misses are the differences of that order."""
    return np.array([(-1.0) ** (j + 1) * math.comb(order, j) for j in range(1, order + 1)])


def _predict(keys: Integers, coefficients: Array) -> Integers:
    """Prediction of each key from those before it (zero before the first), rounded half up."""
    prediction = np.zeros(len(keys))
    for lag, c in enumerate(coefficients, start=1):
        prediction[lag:] += c * keys[:-lag]
    return np.floor(prediction + 0.5).astype(np.int64)


def _restore(misses: Integers, coefficients: Array) -> Integers:
    """The keys whose predictions miss by the given integers: the inverse of `keys − _predict(keys)`."""
    order = len(coefficients)
    keys = [0.0] * order
    weights = coefficients.tolist()
    for miss in misses.tolist():
        prediction = 0.0
        for lag, c in enumerate(weights, start=1):
            prediction += c * keys[-lag]
        keys.append(math.floor(prediction + 0.5) + miss)
    return np.array(keys[order:], dtype=np.int64)


def _plan(values: Array, tolerances: Array) -> list[tuple[int, Array, bool]]:
    """For each column the stride and the predictor that look cheapest."""
    costs, fits = _costs(values, tolerances)
    best = costs.reshape(-1, costs.shape[2]).argmin(axis=0)
    plan = []
    for column, choice in enumerate(best):
        s, k = divmod(int(choice), len(PREDICTORS))
        kind = PREDICTORS[k]
        coefficients = _binomial(kind) if kind >= 0 else fits[s, k][column]
        plan.append((STRIDES[s], coefficients, kind < 0))
    return plan


def _costs(values: Array, tolerances: Array) -> tuple[Array, dict[tuple[int, int], Array]]:
    """Estimated bits a sample (strides, predictors, columns), from at most four stretches, and fitted coefficients."""
    n = len(values)
    costs = np.full((len(STRIDES), len(PREDICTORS), values.shape[1]), np.inf)
    costs[0, 0] = 64.0
    fits: dict[tuple[int, int], Array] = {}
    for s, stride in enumerate(STRIDES):
        length = min(n, 512 * stride)
        if n < 2 or (stride > 1 and _key_count(length, stride) < 4 * POINTS):
            continue
        starts = sorted({int(i) for i in np.linspace(0, n - length, 4)})
        parts = [_quantise(values[i : i + length], tolerances, stride) for i in starts]
        keys = np.stack([part[0] for part in parts]).astype(float)
        corrected = 14.0 * np.mean([part[1] != 0 for part in parts], axis=(0, 1))
        for k, kind in enumerate(PREDICTORS):
            lags = abs(kind)
            if keys.shape[1] <= max(lags + 1, 12 * lags if kind < 0 else 0):
                continue
            misses, fits[s, k] = _misses(keys, kind)
            bits = np.mean(np.log2(1 + 2 * np.abs(misses)), axis=(0, 1)) + 0.6
            overhead = 64 * lags / n if kind < 0 else 0.0
            costs[s, k] = bits / stride + corrected + overhead
    return costs, fits


def _misses(keys: Array, kind: int) -> tuple[Array, Array]:
    """What a predictor misses in stretches (stretches, samples, columns), and its coefficients (columns, lags)."""
    if kind >= 0:
        return np.diff(keys, n=kind, axis=1), np.empty((keys.shape[2], 0))
    lags, n = -kind, keys.shape[1]
    normal, right = _normal_equations(keys, lags)
    # the ridge (variance of rounding, and what doubles can resolve) keeps the fit bounded for columns that rest
    ridge = keys.shape[0] * (n - lags) / 12 + 1e-13 * np.trace(normal, axis1=1, axis2=2)
    normal = normal + np.eye(lags) * ridge[:, None, None]
    coefficients = np.linalg.solve(normal, right[:, :, None])[:, :, 0]
    prediction = np.zeros((keys.shape[0], n - lags, keys.shape[2]))
    for lag in range(1, lags + 1):
        prediction += coefficients[:, lag - 1] * keys[:, lags - lag : n - lag]
    return np.floor(prediction + 0.5) - keys[:, lags:], coefficients


def _normal_equations(keys: Array, lags: int) -> tuple[Array, Array]:
    """Sums of x(k−i) x(k−j) over all samples that have their past: matrix (columns, i, j) and right side (columns, j) for i, j = 1 … lags.

    Sums of one lag difference follow from each other by what enters and what leaves, so that no matrix is multiplied: the threads of BLAS wait
    for each other on a busy machine.
    """
    n = keys.shape[1]
    sums = np.empty((keys.shape[2], lags + 1, lags + 1))
    for j in range(lags + 1):
        sums[:, 0, j] = sums[:, j, 0] = np.einsum("snc,snc->c", keys[:, lags:], keys[:, lags - j : n - j])
    entering, leaving = keys[:, lags - 1 :: -1].T[:, :lags], keys[:, : n - 1 - lags : -1].T[:, :lags]
    change = np.einsum("cis,cjs->cij", entering, entering) - np.einsum("cis,cjs->cij", leaving, leaving)
    for i in range(lags):
        sums[:, i + 1, i + 1 :] = sums[:, i, i:lags] + change[:, i, i:]
        sums[:, i + 1 :, i + 1] = sums[:, i + 1, i + 1 :]
    return sums[:, 1:, 1:], sums[:, 0, 1:]
