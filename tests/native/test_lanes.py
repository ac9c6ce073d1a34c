"""Functions in SIMD lanes with inputs that all lanes share, against calls one by one."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import jourdain.symbolic as S
from jourdain.native.function import compile_function
from jourdain.native.ir import CHUNK
from jourdain.native.lanes import Lanes, aligned
from jourdain.symbolic.function import Argument, Result, SymbolicFunction
from jourdain.symbolic.functions import absolute, maximum, sign, where
from tests.native.builder import compiled, positions


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("length", [3, 2 * CHUNK])
def test_what_lanes_share_is_computed_once_and_right(lanes: int, length: int) -> None:
    x, d = S.symbols("x0 x1 x2", "position"), S.symbols("d0 d1", "input")
    (p,) = S.symbols("p", "parameter")
    shared = S.sin(x[0]) * S.cos(2 * x[1]) + S.exp(x[2]) * p**2 + where(x[1] < 0.3, absolute(x[0]), S.sqrt(1 + x[2] ** 2))
    e = d[0] * shared + d[1]
    for k in range(length):  # over several pieces of code, which pass numbers and vectors on
        e = e * S.cos(x[k % 3]) + shared / (k + 2) + 0.1 * d[k % 2]
    outputs = (e, shared, shared * d[1] + S.sin(d[0]) + S.atan2(d[1], x[0]), maximum(d[0], x[1]) * sign(x[2]), x[2], d[1], S.as_expr(2.0))
    f = SymbolicFunction("f", (Argument("x", x), Argument("d", d), Argument("p", (p,))), (Result("y", outputs, (len(outputs),)),))
    alone = compile_function(f, [1.3])
    wide = Lanes(f, lanes, ("x",))
    rng = np.random.default_rng(length + lanes)
    point, directions = rng.normal(size=3), rng.normal(size=(lanes, 2))
    side, out, work = aligned(2 * lanes), aligned(len(outputs) * lanes), aligned(max(1, wide.workspace))
    side[:] = directions.T.ravel()
    args = np.array([a.ctypes.data for a in (point, side, out, alone.constants, work)], dtype=np.uintp)
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(wide.address)(args.ctypes.data) == 0
    one_by_one = np.array([alone(point, row) for row in directions])
    assert pytest.approx(one_by_one, rel=1e-13, abs=1e-14) == out.reshape(-1, lanes).T


@pytest.mark.parametrize("share", [0.3, 0.8, 0.98, 1.0])
@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_zeros_of_matrices_in_batches(share: float, lanes: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros, which are set once and whose squares are not read, are in every result, whatever stood there, and other entries have the bits of single calls."""
    monkeypatch.setattr("jourdain.native.engine.lanes", lambda: lanes)
    x, shape = positions(4), (11, 13)
    entries = [S.as_expr(0.0) if z else S.sin(x[i % 4]) * x[(i + 1) % 4] + i for i, z in enumerate(rng.random(143) < share)]
    dense = [S.cos(x[0]) * x[1], *([S.as_expr(0.0)] * 40), x[2], x[3]]
    f = compiled({"q": x}, {"M": np.array(entries, dtype=object).reshape(shape), "v": dense}, f"zeros{int(100 * share)}_{lanes}")
    for n in (2, 3, 8, 17, 50):
        points = rng.normal(size=(n, 4))
        out = np.full((n, *shape), np.nan), np.full((n, 43), np.nan)
        f(points, out=out)
        for k, point in enumerate(points):
            for found, single in zip(out, f(point), strict=True):
                np.testing.assert_array_equal(found[k], single)
