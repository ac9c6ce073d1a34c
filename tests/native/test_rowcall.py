"""Tables of states by one built-in: the bits of single calls, and everything unusual told by the careful way."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.native import Function, compile_function, rowcall
from tests.native.builder import chain, positions, symbolic

Q, V = positions(5, "q"), positions(3, "v")
P = S.symbols(["p"], "parameter")[0]


@pytest.fixture
def f(monkeypatch: pytest.MonkeyPatch) -> Function:
    """Two inputs, a matrix and a number out, a parameter; the careful way is closed once the built-in is there."""
    nodes = chain(Q, 40)
    made = compile_function(
        symbolic({"q": Q, "v": V}, {"m": [[P * nodes[-1], V[0]], [Q[4], V[1] * V[2]]], "n": nodes[20] * P}, parameters=[P]), {"p": 1.5}
    )
    made(np.ones((2, 5)), np.ones((2, 3)))
    return made


def closed(f: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on the careful way of the function is an error."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("the careful way was taken")

    monkeypatch.setattr(Function, "_careful", refuse)


def singly(f: Function, q: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    """Row by row."""
    n = max(len(a) for a in (q, v) if a.ndim == 2)
    rows = [f(np.array(q[i] if q.ndim == 2 else q), np.array(v[i] if v.ndim == 2 else v)) for i in range(n)]
    return [np.array([r[k] for r in rows]) for k in (0, 1)]


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9, 16, 17, 64, 1000])
def test_tables_and_common_rows_without_the_careful_way(f: Function, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(n)
    q, v = rng.normal(size=(n, 5)), rng.normal(size=(n, 3))
    cases = [(q, v), (q, v[0].copy()), (q[0].copy(), v)]
    expected = [singly(f, *case) for case in cases]
    closed(f, monkeypatch)
    for case, values in zip(cases, expected, strict=True):
        out = (np.full((n, 2, 2), np.nan), np.full(n, np.nan))
        for found in (f(*case), f(*case, out=out), f(*case, out=None)):
            assert [a.shape for a in found] == [(n, 2, 2), (n,)]
            for a, b in zip(found, values, strict=True):
                np.testing.assert_array_equal(a, b)
        assert f(*case, out=out) is out


def test_parameters_are_those_of_the_last_word(f: Function) -> None:
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(20, 5)), rng.normal(size=(20, 3))
    for p in (0.2, -3.0, 11.0):
        f.set_parameters({"p": p})
        for a, b in zip(f(q, v), singly(f, q, v), strict=True):
            np.testing.assert_array_equal(a, b)


def test_results_that_overlap_an_input_are_as_if_they_did_not(f: Function) -> None:
    rng = np.random.default_rng(2)
    store = rng.normal(size=200)
    q, v = store[:50].reshape(10, 5), rng.normal(size=(10, 3))
    expected = [a.copy() for a in f(q, v)]
    found = f(q, v, out=(store[20:60].reshape(10, 2, 2), np.empty(10)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(InputError, match="overlap"):
        f(q, v, out=(store[60:100].reshape(10, 2, 2), store[90:100]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, v, o: (q[:, :4].copy(), v, o), "input 'q' must have 5 entries"),
        (lambda q, v, o: (q, v[:9].copy(), o), "do not fit together"),
        (lambda q, v, o: (np.where(q == q[3, 2], np.nan, q), v, o), r"'q'\[3, 2\] = nan is not finite"),
        (lambda q, v, o: (q, np.where(v == v[9, 2], -np.inf, v), o), r"'v'\[9, 2\] = -inf is not finite"),
        (lambda q, v, o: (q + 1j, v, o), "complex"),
        (lambda q, v, o: (q, v, (o[0], np.empty(9))), "out for 'n' must be"),
        (lambda q, v, o: (q, v, (o[0], np.empty(10, dtype=np.float32))), "out for 'n' must be"),
        (lambda q, v, o: (q, v, (np.empty((10, 4)), o[1])), "out for 'm' must be"),
        (lambda q, v, o: (q, v, o[:1]), "has 2 outputs, out= holds 1"),
    ],
)
def test_what_is_unusual_is_told(f: Function, change: Any, message: str) -> None:
    rng = np.random.default_rng(4)
    q, v, out = change(rng.normal(size=(10, 5)), rng.normal(size=(10, 3)), (np.empty((10, 2, 2)), np.empty(10)))
    with pytest.raises(InputError, match=message):
        f(q, v, out=out)


def test_every_place_of_a_number_that_is_not_finite_is_seen(f: Function) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        for place in range(9 * 5):
            q = np.full((9, 5), 1e308)
            q.flat[place] = bad
            with pytest.raises(InputError, match="is not finite"):
                f(q, np.ones((9, 3)))
    assert np.isfinite(f(np.full((9, 5), 1e-320), np.ones((9, 3)))[1]).all()


def test_references_balance(f: Function) -> None:
    q, v, out = np.ones((8, 5)), np.ones((8, 3)), (np.empty((8, 2, 2)), np.empty(8))
    watched = [q, v, out, *out, np.dtype(float)]

    def change() -> int:
        gc.collect()
        before = [sys.getrefcount(o) for o in watched]
        for _ in range(500):
            f(q, v)
            f(q, v, out=out)
        gc.collect()
        return max(abs(sys.getrefcount(o) - n) for o, n in zip(watched, before, strict=True))

    gc.collect()
    gc.freeze()  # what earlier tests left is not looked at again and again
    try:
        assert min(change() for _ in range(3)) < 100
    finally:
        gc.unfreeze()


def test_many_threads_share_the_built_in(f: Function) -> None:
    rng = np.random.default_rng(5)
    tables = [(rng.normal(size=(n, 5)), rng.normal(size=(n, 3))) for n in (2, 9, 40, 300)]
    expected = [singly(f, *t) for t in tables]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(200):
            if any((a != b).any() for a, b in zip(f(*tables[k]), expected[k], strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_large_work_leaves_the_interpreter_free(f: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    n = rowcall.HELD // f.operations.flops + 1
    closed(f, monkeypatch)
    f(np.ones((n - 1, 5)), np.ones((n - 1, 3)))
    with pytest.raises(AssertionError, match="careful"):
        f(np.ones((n, 5)), np.ones((n, 3)))
