"""Sine and cosine in machine code: at most 2 ulp off, the same in every lane."""

from __future__ import annotations

import ctypes
import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jourdain.symbolic as S
from jourdain.native import engine
from jourdain.native.ir import _declarations
from jourdain.native.trigonometry import LIMIT, sincos_ir
from tests.native.builder import compiled, positions

WIDTHS = [1, 2, 4, 8]


class SineCosine:
    """The IR routine for a number of lanes, called on arrays."""

    def __init__(self, lanes: int) -> None:
        T = "double" if lanes == 1 else f"<{lanes} x double>"
        driver = f"""define void @run(ptr %x, ptr %s, ptr %c, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %xp = getelementptr double, ptr %x, i64 %i
  %v = load {T}, ptr %xp, align 8
  %both = call {{{T}, {T}}} @jd_sincos_{lanes}({T} %v)
  %sv = extractvalue {{{T}, {T}}} %both, 0
  %cv = extractvalue {{{T}, {T}}} %both, 1
  %sp = getelementptr double, ptr %s, i64 %i
  %cp = getelementptr double, ptr %c, i64 %i
  store {T} %sv, ptr %sp, align 8
  store {T} %cv, ptr %cp, align 8
  %j = add i64 %i, {lanes}
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}}
"""
        parts = [sincos_ir(n, "#1") for n in sorted({1, lanes})] + [driver, _declarations(lanes)]
        self.lanes = lanes
        self.library = engine.Library([engine.compile_ir("\n".join(parts))])
        pointer = ctypes.c_void_p
        prototype = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, ctypes.c_int64)
        self.run = prototype(self.library.address("run"))

    def __call__(self, x: Any) -> tuple[np.ndarray, np.ndarray]:
        x = np.asarray(x, dtype=float)
        padded = np.zeros(-(-len(x) // self.lanes) * self.lanes)
        padded[: len(x)] = x
        s, c = np.empty_like(padded), np.empty_like(padded)
        self.run(padded.ctypes.data, s.ctypes.data, c.ctypes.data, len(padded))
        return s[: len(x)], c[: len(x)]


@pytest.fixture(scope="module")
def routines() -> dict[int, SineCosine]:
    """The routine for every number of lanes, whatever this CPU prefers."""
    return {lanes: SineCosine(lanes) for lanes in WIDTHS}


def ulps(got: float, exact: Any) -> float:
    """Distance in units of the last place of the exact value."""
    return abs(float((mpmath.mpf(float(got)) - exact) / mpmath.mpf(float(np.spacing(abs(float(exact)))))))


def worst(routine: SineCosine, x: np.ndarray) -> float:
    """Largest error of either function, in ulp."""
    error = 0.0
    with mpmath.workprec(200):
        for value, s, c in zip(x, *routine(x), strict=True):
            exact = mpmath.mpf(float(value))
            error = max(error, ulps(s, mpmath.sin(exact)), ulps(c, mpmath.cos(exact)))
    return error


def near_multiples() -> np.ndarray:
    """The doubles next to k·π/2 that come closest to it, found with exact integers, and their neighbours."""
    with mpmath.workprec(320):
        half_pi = int(mpmath.floor(mpmath.ldexp(mpmath.pi / 2, 250)))
    unit = 1 << 250
    found = []
    for k in [*range(1, 2000), *range(2000, 524_287, 97), 263_209, 524_286]:
        x = k * half_pi / unit
        top, bottom = x.as_integer_ratio()
        found.append((abs(top * (unit // bottom) - k * half_pi), x))
    x = np.array([x for _, x in sorted(found)[:400]])
    return np.concatenate([x, -x, np.nextafter(x, np.inf), np.nextafter(x, 0.0)])


RANGES = {
    "first octant": lambda rng: rng.uniform(-np.pi / 4, np.pi / 4, 2000),
    "full turn": lambda rng: rng.uniform(-2 * np.pi, 2 * np.pi, 4000),
    "many turns": lambda rng: rng.uniform(-LIMIT, LIMIT, 2000),
    "all magnitudes": lambda rng: np.exp(rng.uniform(-40, np.log(LIMIT), 2000)) * rng.choice([-1, 1], 2000),
    "near multiples of pi/2": lambda rng: near_multiples(),
    "quadrant borders": lambda rng: (
        (np.arange(-300, 300) + 0.5)[:, None].repeat(3, 1).ravel() * np.pi / 2 + np.tile([-1e-15, 0, 1e-15], 600)
    ),
    "first part of pi/2 alone": lambda rng: rng.integers(1, 524_287, 300) * 1.57079632673412561417,
    "limit": lambda rng: np.array([LIMIT, np.nextafter(LIMIT, 0), np.nextafter(LIMIT, 1e9), -LIMIT, LIMIT + 1]),
    "huge": lambda rng: np.array([1e6, 1e9, 1e16, 1e22, 1e100, 1e300, 1.7976931348623157e308]),
    "tiny": lambda rng: np.array([5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1e-300, 1e-160, 1e-17, 1e-8]),
}


@pytest.mark.parametrize("name", RANGES)
def test_within_two_ulp_scalar(name: str, routines: dict[int, SineCosine], rng: np.random.Generator) -> None:
    assert worst(routines[1], RANGES[name](rng)) < (1.2 if name != "huge" else 2.0)


@pytest.mark.parametrize("lanes", WIDTHS[1:])
@pytest.mark.parametrize("name", RANGES)
def test_every_lane_has_the_bits_of_the_scalar(name: str, lanes: int, routines: dict[int, SineCosine], rng: np.random.Generator) -> None:
    x = RANGES[name](rng)
    for shift in range(lanes):
        rolled = np.roll(x, shift)
        for a, b in zip(routines[lanes](rolled), routines[1](rolled), strict=True):
            np.testing.assert_array_equal(a.view(np.uint64), b.view(np.uint64))


def test_beyond_the_limit_the_c_library_decides(routines: dict[int, SineCosine], rng: np.random.Generator) -> None:
    x = np.append(np.exp(rng.uniform(np.log(LIMIT) + 1e-9, 700, 200)), 6381956970095103 * 2.0**797)
    s, c = routines[1](x)
    np.testing.assert_array_equal(s, [math.sin(v) for v in x])
    np.testing.assert_array_equal(c, [math.cos(v) for v in x])


@pytest.mark.parametrize("lanes", WIDTHS[1:])
def test_a_large_argument_does_not_change_its_neighbours(lanes: int, routines: dict[int, SineCosine], rng: np.random.Generator) -> None:
    x = rng.uniform(-1000, 1000, 800 * lanes)
    alone = routines[lanes](x)
    mixed = x.copy()
    mixed[::lanes] = 1e10
    beside = routines[lanes](mixed)
    kept = np.arange(len(x)) % lanes != 0
    for a, b in zip(alone, beside, strict=True):
        np.testing.assert_array_equal(a[kept].view(np.uint64), b[kept].view(np.uint64))


@pytest.mark.parametrize("lanes", WIDTHS)
def test_signed_zeros(lanes: int, routines: dict[int, SineCosine]) -> None:
    s, c = routines[lanes](np.array([0.0, -0.0] * 4))
    np.testing.assert_array_equal(np.signbit(s), [False, True] * 4)
    assert np.all(s == 0.0)
    np.testing.assert_array_equal(c, 1.0)


@pytest.mark.parametrize("lanes", WIDTHS)
def test_not_finite_arguments_give_nan(lanes: int, routines: dict[int, SineCosine]) -> None:
    x = np.array([np.nan, 0.5, np.inf, -np.inf, 0.5, 0.5, 0.5, 1e30])
    s, c = routines[lanes](x)
    for y in (s, c):
        np.testing.assert_array_equal(np.isnan(y), ~np.isfinite(x))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_pythagoras_and_parity(x: float) -> None:
    f = _pair()
    s, c = f(np.array([x]))
    assert abs(s * s + c * c - 1.0) < 6e-16
    np.testing.assert_array_equal(f(np.array([-x])), [-s, c])


def _pair(cache: list[Any] = []) -> Any:  # noqa: B006
    if not cache:
        (x,) = positions(1)
        cache.append(compiled({"q": [x]}, {"y": [S.sin(x), S.cos(x)]}, "pair"))
    return cache[0]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 9])
def test_angles_side_by_side(count: int) -> None:
    """Sines and cosines of inputs, of their sums and of twice an angle, single and as a batch, near and far."""
    q = positions(count)
    angles = [*q, *(a + b for a, b in itertools.pairwise(q)), *(2 * a for a in q)]
    f = compiled({"q": q}, {"y": [g(a) for a in angles for g in (S.sin, S.cos)]})
    rng = np.random.default_rng(count)
    points = rng.uniform(-10.0, 10.0, (50, count))
    points[3, 0], points[4, -1], points[5, 0] = 1e7, -3e8, 0.0
    x = np.concatenate([points, points[:, :-1] + points[:, 1:], 2 * points], axis=1)
    single = np.array([f(p) for p in points])
    np.testing.assert_array_equal(single.view(np.uint64), f(points).view(np.uint64))
    np.testing.assert_allclose(single, np.stack([np.sin(x), np.cos(x)], axis=2).reshape(50, -1), rtol=0, atol=5e-16)


@pytest.mark.parametrize("count", [600, 1300])
def test_twice_an_angle_in_another_chunk(count: int) -> None:
    """Cosines of x and of 2 x whose code stands far apart."""
    q = positions(count)
    f = compiled({"q": q}, {"y": [*map(S.cos, q), *(S.sin(2 * a) * S.cos(2 * a) for a in q)]})
    x = np.random.default_rng(1).uniform(-3.0, 3.0, count)
    np.testing.assert_allclose(f(x), np.r_[np.cos(x), np.sin(2 * x) * np.cos(2 * x)], rtol=0, atol=5e-16)
