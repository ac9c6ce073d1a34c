"""Calling compiled functions: conversions, batches, out=, and what every wrong argument is told."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.native import Function, compile_function, engine, fastcall, thread_count
from jourdain.native.ir import CHUNK
from tests.native.builder import chain, compiled, positions, symbolic

Q, V = positions(3, "q"), positions(2, "v")


def reference(q: Any, v: Any) -> tuple[np.ndarray, np.ndarray]:
    """What the function of two outputs computes."""
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    q, v = np.broadcast_arrays(q[..., None, :], v[..., :, None])
    product = q * v
    return product, product.sum(-1)[..., 0] + v[..., 1, 0]


WAYS = ["built-in", "foreign"]


@contextmanager
def way(kind: str) -> Iterator[None]:
    """Functions made inside take one of both ways into the code: the built-ins, or that of a Python of unknown layout."""
    with pytest.MonkeyPatch.context() as patch:
        if kind == "foreign":
            patch.setattr(fastcall, "available", lambda: False)
        yield


@pytest.fixture(autouse=True, scope="module")
def leftovers() -> Iterator[None]:
    """What other tests have left is not looked at in every collection, which would take seconds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(params=WAYS)
def fast(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both ways for functions made in a test."""
    with way(request.param):
        yield request.param


@pytest.fixture(scope="module", params=WAYS)
def two(request: pytest.FixtureRequest) -> Function:
    """A function of two inputs and two outputs: a 2×3 matrix and a number."""
    matrix = [[q * v for q in Q] for v in V]
    with way(request.param):
        f = compiled({"q": Q, "v": V}, {"matrix": matrix, "number": sum(matrix[0], S.constant(0.0)) + V[1]}, "two")
    assert type(f._fast).__name__ == ("builtin_function_or_method" if request.param == "built-in" else "function")
    return f


@pytest.fixture(scope="module", params=WAYS)
def one(request: pytest.FixtureRequest) -> Function:
    """A function of one output: twice the input."""
    with way(request.param):
        return compiled({"q": Q}, {"y": [2.0 * q for q in Q]}, "one")


def check(f: Function, q: Any, v: Any, **options: Any) -> None:
    for got, expected in zip(f(q, v, **options), reference(q, v), strict=True):
        assert got.shape == expected.shape
        assert got.dtype == np.float64
        np.testing.assert_allclose(got, expected, rtol=1e-15, atol=1e-300)


def test_conversions(two: Function) -> None:
    q, v = np.array([1.0, -2.0, 3.0]), np.array([0.5, 4.0])
    check(two, q, v)
    for convert in (
        list, tuple, lambda a: a.astype(np.float32), lambda a: (2 * a).astype(int) // 2, lambda a: a > 0, lambda a: a.astype(">f8"),
        lambda a: np.repeat(a, 2)[::2], lambda a: a[::-1], np.asfortranarray, lambda a: a.astype(object), np.ma.array,
        lambda a: np.frombuffer(b"\0" + a.tobytes(), offset=1, dtype=float), lambda a: a.astype(np.longdouble), lambda a: a.astype(np.uint8),
    ):  # fmt: skip
        with np.errstate(invalid="ignore"):
            a, b = convert(q), convert(v)
        check(two, a, b)


def test_a_read_only_input_is_fine(one: Function) -> None:
    q = np.array([1.0, 2.0, 3.0])
    q.flags.writeable = False
    np.testing.assert_array_equal(one(q), [2, 4, 6])


def test_a_scalar_is_an_input_of_one_entry(fast: str) -> None:
    (x,) = positions(1)
    f = compiled({"q": [x]}, {"y": x * x})
    for value in (3.0, 3, np.float64(3.0), np.array(3.0)):
        assert f(value).shape == ()
        assert f(value) == 9.0


@given(st.data())
def test_leading_dimensions_broadcast(two: Function, data: st.DataObject) -> None:
    shapes = data.draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=5))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    a, b = shapes.input_shapes
    check(two, rng.normal(size=(*a, 3)), rng.normal(size=(*b, 2)))


def test_batch_of_columns_and_rows(two: Function, rng: np.random.Generator) -> None:
    check(two, rng.normal(size=(4, 1, 3)), rng.normal(size=(6, 2)))
    check(two, rng.normal(size=(4, 6, 6))[..., ::2], rng.normal(size=(2, 6)).T)
    check(two, np.zeros((0, 3)), np.zeros(2))
    check(two, np.zeros((5, 0, 3)), np.zeros((1, 2)))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 15, 16, 17, 100])
def test_every_batch_length(two: Function, n: int, rng: np.random.Generator) -> None:
    q, v = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    guard = np.full((n + 2, 2, 3), 7.0)
    out = (guard[1:-1], np.empty(n))
    two(q, v, out=out)
    np.testing.assert_array_equal(guard[[0, -1]], 7.0)
    for i in range(n):
        matrix, number = two(q[i], v[i])
        np.testing.assert_array_equal(out[0][i], matrix)
        assert out[1][i] == number


def test_out_is_filled_and_returned(two: Function, one: Function, rng: np.random.Generator) -> None:
    q, v = rng.normal(size=3), rng.normal(size=2)
    out = (np.empty((2, 3)), np.empty(()))
    assert two(q, v, out=out)[0] is out[0]
    np.testing.assert_allclose(out[0], np.outer(v, q))
    check(two, q, v, out=[np.empty((2, 3)), np.empty(())])
    check(two, q, v, out=None)
    y = np.empty(3)
    assert one(q, out=y) is y
    assert one(q, out=(y,)) is y
    one.into(q, y)
    np.testing.assert_array_equal(y, 2 * q)
    two.into(q, v, *out)
    batch = np.empty((4, 3))
    assert one(rng.normal(size=(4, 3)), out=batch) is batch
    one.into(np.ones((4, 3)), batch)
    np.testing.assert_array_equal(batch, 2.0)


def test_out_of_any_memory_order(one: Function, rng: np.random.Generator) -> None:
    q = rng.normal(size=(4, 3))
    wide = np.full((4, 6), 7.0)
    for out, given_q in ((wide[:, ::2], q), (wide[0, ::2], q[0]), (np.empty((3, 4)).T, q)):
        assert one(given_q, out=out) is out
        np.testing.assert_array_equal(out, 2 * given_q)
    np.testing.assert_array_equal(wide[:, 1::2], 7.0)


def test_out_that_is_also_an_input(fast: str, rng: np.random.Generator) -> None:
    """Every output mixes all inputs, over several chunks, so that writing early would be seen."""
    x = positions(3)
    nodes = chain(x, 2 * CHUNK + 10)
    f = compiled({"q": x}, {"y": [nodes[CHUNK // 2] + x[2], nodes[CHUNK + 5] * x[0], nodes[-1] + x[0] * x[1]]}, "mixing")
    q = rng.uniform(0.2, 1.0, 3)
    expected = f(q)
    assert len(set(expected)) == 3
    same = q.copy()
    assert f(same, out=same) is same
    np.testing.assert_array_equal(same, expected)
    shifted = np.append(q, 0.0)
    f(shifted[:3], out=shifted[1:])
    np.testing.assert_array_equal(shifted[1:], expected)
    into = q.copy()
    f.into(into, into)
    np.testing.assert_array_equal(into, expected)
    batch = rng.uniform(0.2, 1.0, (17, 3))
    expected = f(batch)
    f(batch, out=batch)
    np.testing.assert_array_equal(batch, expected)
    row = rng.uniform(0.2, 1.0, (9, 3))
    expected = np.tile(f(row[0]), (9, 1))
    f(row[0], out=row[0])
    np.testing.assert_array_equal(row[0], expected[0])


def test_adjacent_arrays_do_not_overlap(one: Function) -> None:
    memory = np.arange(6.0)
    one.into(memory[:3], memory[3:])
    np.testing.assert_array_equal(memory, [0, 1, 2, 0, 2, 4])
    one.into(memory[3:], memory[:3])
    np.testing.assert_array_equal(memory, [0, 4, 8, 0, 2, 4])


def test_outputs_that_overlap_each_other(fast: str) -> None:
    (x,) = positions(1)
    f = compiled({"q": [x]}, {"a": [x, x], "b": [2 * x, 3 * x]}, "pairs")
    memory = np.empty(3)
    with pytest.raises(InputError, match=r"function 'pairs': the arrays of out= overlap; give each output its own"):
        f(np.ones(1), out=(memory[:2], memory[1:]))


ERRORS: dict[str, tuple[tuple[Any, ...], str]] = {
    "too few": ((np.ones(3),), r"'two' takes 2 arrays \(q, v\), got 1"),
    "too many": ((np.ones(3), np.ones(2), np.ones(2)), r"'two' takes 2 arrays \(q, v\), got 3"),
    "none": ((), r"takes 2 arrays \(q, v\), got 0"),
    "short": ((np.ones(2), np.ones(2)), r"input 'q' must have 3 entries in its last dimension, got shape \(2,\)"),
    "long": ((np.ones(4), np.ones(2)), r"input 'q' must have 3 entries in its last dimension, got shape \(4,\)"),
    "scalar": ((1.0, np.ones(2)), r"input 'q' must have 3 entries in its last dimension, got shape \(\)"),
    "transposed batch": ((np.ones((3, 5)), np.ones(2)), r"input 'q' must have 3 entries .* got shape \(3, 5\)"),
    "no fit": ((np.ones((4, 3)), np.ones((5, 2))), r"leading dimensions of the inputs do not fit together: q \(4, 3\), v \(5, 2\)"),
    "nan": ((np.ones(3), np.array([0.0, np.nan])), r"input 'v'\[1\] = nan is not finite"),
    "inf": ((np.array([1.0, np.inf, 0.0]), np.ones(2)), r"input 'q'\[1\] = inf is not finite"),
    "minus inf": ((np.array([-np.inf, np.inf, 0.0]), np.ones(2)), r"input 'q'\[0\] = -inf is not finite"),
    "nan in a batch": ((np.ones(3), np.array([[0.0, 1.0], [np.nan, 0.0]])), r"input 'v'\[1, 0\] = nan is not finite"),
    "nan beside inf": ((np.array([np.inf, -np.inf, np.nan]), np.ones(2)), r"input 'q'\[0\] = inf is not finite"),
    "complex": ((np.ones(3) * 1j, np.ones(2)), r"input 'q' = .* are no real numbers .it is complex"),
    "complex list": (([1j, 0, 0], np.ones(2)), r"input 'q' = .* are no real numbers .it is complex"),
    "text": (("abc", np.ones(2)), r"input 'q' = .* are no real numbers"),
    "list of text": ((["1", "2", "3"], np.ones(2)), r"input 'q' = .* are no real numbers"),
    "nothing": ((None, np.ones(2)), r"input 'q' = .* are no real numbers"),
    "ragged": (([[1.0], [1.0, 2.0]], np.ones(2)), r"input 'q' = .* are no real numbers"),
    "symbols": (([S.symbol("s")] * 3, np.ones(2)), r"input 'q' = .* are no real numbers"),
    "dates": ((np.zeros(3, "M8[s]"), np.ones(2)), r"input 'q' = .* are no real numbers"),
    "too big": (([10**400, 0, 0], np.ones(2)), r"input 'q' = .* are no real numbers"),
    "dict": (({"a": 1.0}, np.ones(2)), r"input 'q' = .* are no real numbers"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("with_out", [False, True])
def test_wrong_inputs(two: Function, case: str, with_out: bool) -> None:
    arguments, message = ERRORS[case]
    out = (np.full((2, 3), 7.0), np.full((), 7.0)) if with_out else None
    with pytest.raises(InputError, match=message):
        two(*arguments, out=out)
    if out is not None and not message.startswith("leading"):
        np.testing.assert_array_equal(out[0], 7.0)


def _read_only() -> np.ndarray:
    a = np.empty((2, 3))
    a.flags.writeable = False
    return a


OUT_ERRORS: dict[str, tuple[Any, str]] = {
    "shape": ((np.empty((3, 2)), np.empty(())), r"out for 'matrix' must be a writeable float64 array of shape \(2, 3\), got float64 of shape \(3, 2\)"),
    "flat": ((np.empty(6), np.empty(())), r"of shape \(2, 3\), got float64 of shape \(6,\)"),
    "batch": ((np.empty((1, 2, 3)), np.empty(())), r"got float64 of shape \(1, 2, 3\)"),
    "dtype": ((np.empty((2, 3), np.float32), np.empty(())), r"out for 'matrix' .* got float32 of shape \(2, 3\)"),
    "integer": ((np.empty((2, 3)), np.empty((), int)), r"out for 'number' must be a writeable float64 array of shape \(\), got int64"),
    "read-only": ((_read_only(), np.empty(())), r"out for 'matrix' must be a writeable float64"),
    "list": (([[0.0] * 3] * 2, np.empty(())), r"out for 'matrix' must be .* got list"),
    "number": ((np.empty((2, 3)), 0.0), r"out for 'number' must be .* got float"),
    "one": (np.empty((2, 3)), r"function 'two' has 2 outputs, out= holds 1"),
    "three": ((np.empty((2, 3)), np.empty(()), np.empty(())), r"function 'two' has 2 outputs, out= holds 3"),
    "none inside": ((None, np.empty(())), r"out for 'matrix' must be .* got NoneType"),
    "integer instead": (3, r"function 'two' has 2 outputs, out= holds 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", OUT_ERRORS)
def test_wrong_out(two: Function, case: str) -> None:
    out, message = OUT_ERRORS[case]
    with pytest.raises(InputError, match=message):
        two(np.ones(3), np.ones(2), out=out)


def test_wrong_out_of_a_single_output(one: Function) -> None:
    for out in (np.empty(2), np.empty((1, 3)), np.empty(3, int), (np.empty(2),), "abc", 0):
        with pytest.raises(InputError, match="out for 'y' must be a writeable float64 array of shape"):
            one(np.ones(3), out=out)
    with pytest.raises(InputError, match="has 1 outputs, out= holds 0"):
        one.into(np.ones(3))
    with pytest.raises(InputError, match="has 1 outputs, out= holds 2"):
        one.into(np.ones(3), np.ones(3), np.ones(3))
    with pytest.raises(InputError, match="takes 1 arrays"):
        one.into()


def test_unknown_keyword(one: Function) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'ouf'"):
        one(np.ones(3), ouf=np.ones(3))
    with pytest.raises(TypeError, match="unexpected keyword argument 'extra'"):
        one(np.ones(3), out=None, extra=1)


def test_keyword_that_is_not_interned(one: Function) -> None:
    y = np.empty(3)
    assert one(np.ones(3), **{"".join(["o", "u", "t"]): y}) is y
    np.testing.assert_array_equal(y, 2.0)


def test_array_subclasses_take_the_careful_way(one: Function) -> None:
    class Sub(np.ndarray):
        pass

    q = np.arange(3.0).view(Sub)
    np.testing.assert_array_equal(one(q), [0, 2, 4])
    out = np.empty(3).view(Sub)
    assert one(q, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), [0, 2, 4])


def test_denormal_and_extreme_inputs_pass_the_check(one: Function) -> None:
    for q in ([5e-324, -0.0, 1.7e308 / 2], [-1e308 / 2, 1e-310, 0.0]):
        np.testing.assert_array_equal(one(np.array(q)), 2 * np.array(q))


def test_many_threads_give_the_bits_of_one(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    x = positions(3)
    f = compiled({"q": x}, {"y": chain(x, 400)[-3:]}, "threaded")
    q = rng.uniform(0.2, 1.0, (30_011, 3))
    monkeypatch.setenv("JOURDAIN_THREADS", "1")
    expected = f(q)
    for threads in ("2", "3", "7"):
        monkeypatch.setenv("JOURDAIN_THREADS", threads)
        assert thread_count() == int(threads)
        np.testing.assert_array_equal(f(q), expected)
    arrays, out = [q], np.empty_like(expected)
    for threads in (1, 2, 5, 4000):  # also more threads than blocks
        short = q[:40]
        f.batch.run([*arrays, out], [3, 3], len(short), f.constants, threads)
        np.testing.assert_array_equal(out[:40], expected[:40])
    monkeypatch.setenv("JOURDAIN_THREADS", "many")
    with pytest.raises(InputError, match="JOURDAIN_THREADS = 'many' is not a number of threads"):
        thread_count()


def test_the_references_of_arguments_and_results_balance(two: Function, one: Function) -> None:
    q, v, y = np.ones(3), np.ones(2), np.empty(3)
    outs = (np.empty((2, 3)), np.empty(()))
    watched = [q, v, y, outs, *outs, None, NotImplemented, one, two]

    def rounds(n: int) -> None:
        for _ in range(n):
            one(q)
            one(q, out=y)
            one.into(q, y)
            two(q, v)
            two(q, v, out=outs)
            one(np.ones((2, 3)))
            for bad in (q[:2], q * np.nan):
                with pytest.raises(InputError):
                    one(bad)
            with pytest.raises(InputError):
                two(q, v, out=q)

    def change() -> int:
        gc.collect()
        before = [sys.getrefcount(o) for o in watched]
        rounds(200)
        gc.collect()
        return max(abs(sys.getrefcount(o) - n) for o, n in zip(watched, before, strict=True))

    rounds(5)
    assert min(change() for _ in range(3)) < 100  # what other tests have left may go at any time; an imbalance shows every time


@pytest.mark.parametrize("fast", ["built-in"], indirect=True)  # np.empty of the other way may itself leave references to its type
def test_the_references_of_the_type_of_results_balance(fast: str) -> None:
    x = positions(2)
    one, two = compiled({"q": x}, {"y": x}), compiled({"q": x}, {"y": x, "z": x[0]})
    q, kind = np.ones(2), np.dtype(float)
    before = sys.getrefcount(kind)
    for _ in range(500):
        one(q)
        two(q)
    assert abs(sys.getrefcount(kind) - before) < 50


def test_results_are_freed(one: Function) -> None:
    q = np.ones(3)
    one(q)
    tracemalloc.start()
    start = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        one(q)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert grown < 20_000


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2), (2, 0, 3, 1)])
def test_deleting_in_any_order(fast: str, order: tuple[int, ...]) -> None:
    (x,) = positions(1)
    f = compiled({"q": [x]}, {"y": [S.sin(x)]}, "deleted")
    y = f(np.array([0.5]))
    things: list[Any] = [f, y, y[:], f.into]
    alive = weakref.ref(f)
    del f, y
    for i in order:
        things[i] = None
        gc.collect()
        for kept in things:
            if isinstance(kept, np.ndarray):
                np.testing.assert_allclose(kept, np.sin(0.5))
    assert alive() is None


def test_a_function_is_freed_without_the_collector(fast: str) -> None:
    (x,) = positions(1)
    f = compiled({"q": [x]}, {"y": [x]}, "freed")
    alive = weakref.ref(f)
    gc.disable()
    try:
        del f
        assert alive() is None
    finally:
        gc.enable()


def test_a_bare_call_outlives_its_function_and_says_so() -> None:
    (x,) = positions(1)
    f = compiled({"q": [x]}, {"y": [x]}, "orphan")
    bare = f.__call__
    short = f._fast
    out = np.empty(1)
    del f
    gc.collect()
    np.testing.assert_array_equal(bare(np.ones(1)), 1.0)
    assert short(np.full(1, 3.0), out) is None
    assert out[0] == 3.0
    with pytest.raises(InputError, match="keep the Function object"):
        bare([1.0])


def test_information(two: Function) -> None:
    assert two.inputs == {"q": 3, "v": 2}
    assert two.outputs == {"matrix": (2, 3), "number": ()}
    assert two.operations.mults == 6
    assert "define i32 @jdf_two" in two.ir
    assert "two" in two.source("c")
    assert repr(two).startswith("<Function two(q[3], v[2]) → matrix[2, 3], number[]")
    assert callable(two)


def test_calls_by_address(two: Function) -> None:
    import ctypes

    q, v, m, n = np.array([1.0, 2.0, 3.0]), np.array([2.0, 5.0]), np.empty((2, 3)), np.empty(())
    args = two.arguments(q, v, m, n)
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(two.address)(args.ctypes.data) == 0
    np.testing.assert_array_equal(m, np.outer(v, q))
    assert n == 17.0


def test_a_key_changes_with_the_text() -> None:
    assert engine.content_key("a", "bc") != engine.content_key("ab", "c")
    assert engine.content_key("a") == engine.content_key(b"a")


def test_compile_function_takes_parameters() -> None:
    (x,) = positions(1)
    p = S.symbol("p", "parameter")
    f = compile_function(symbolic({"q": [x]}, {"y": [x * p]}, parameters=[p]), {"p": 3.0})
    assert f([2.0]) == 6.0


def test_tables_go_the_short_way_into_a_batch_whatever_their_strides(two: Function) -> None:
    rng = np.random.default_rng(3)
    whole = rng.normal(size=(37, 9))
    q, v = whole[:, 1:4], whole[:, 6:8]
    common = rng.normal(size=2)
    for a, b in ((q, v), (q.copy(), v), (q[::3], v[::3]), (q, common), (q[:2], v[:2]), (np.broadcast_to(q[0], (37, 3)), v)):
        check(two, a, b)
    for a, b in (
        (q[::-1], v),
        (np.asfortranarray(q), v),
        (q[:1], v),
        (q[:1], v[:1]),
        (q[:0], v[:0]),
        (whole[:, :6:2], v),
        (q, common[::-1]),
    ):
        check(two, a, b)  # the careful way
    frozen = q.copy()
    frozen.flags.writeable = False
    check(two, frozen, v)
    with pytest.raises(InputError, match="do not fit together"):
        two(q[:0], v)
    with pytest.raises(InputError, match="do not fit together"):
        two(q[:5], v[:6])
    spoiled = q.copy()
    spoiled[17, 2] = np.inf
    with pytest.raises(InputError, match=r"\[17, 2\] = inf is not finite"):
        two(spoiled, v)
