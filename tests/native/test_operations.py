"""Machine code against the compile-free evaluator: every operation, random formulas, sizes around the chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import jourdain.symbolic as S
from jourdain.native import engine
from jourdain.native.ir import CHUNK, main_ir
from jourdain.symbolic.expr import binary, power, unary
from jourdain.symbolic.graph import topological
from jourdain.symbolic.tables import table
from tests.native.builder import chain, compiled, positions, symbolic
from tests.symbolic.trees import OutOfDomainError, build, direct, trees, values

MODERATE = np.array([-2.7, -1.0, -0.5, -1e-9, -0.0, 0.0, 1e-300, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 7.25])
UNIT = np.array([-1.0, -0.999, -0.5, -0.0, 0.0, 1e-12, 0.3, 0.7071, 0.999999, 1.0])
POSITIVE = np.array([5e-324, 1e-200, 1e-3, 0.5, 1.0, 1.5, 10.0, 1e200])
UNARY = {
    **dict.fromkeys(("neg", "exp", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "abs", "sign", "floor", "not"), MODERATE),
    **dict.fromkeys(("asin", "acos"), UNIT), **dict.fromkeys(("sqrt", "log"), POSITIVE),
}  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "atan2", "min", "max", "lt", "le", "and", "or")
EXACT = {"neg", "abs", "sign", "floor", "not", "add", "sub", "mul", "div", "min", "max", "lt", "le", "and", "or", "sqrt"}


def node(op: str, *args: S.Expr) -> S.Expr:
    from jourdain.symbolic.graph import build as build_node

    return build_node(op, args)


def compare(expressions: Any, symbols: list[S.Expr], points: np.ndarray, ulp: float) -> None:
    """Compiled code, one point at a time and as a batch, against the evaluator."""
    f = compiled({"q": symbols}, {"y": expressions})
    with np.errstate(all="ignore"):
        expected = np.stack(
            [np.broadcast_to(e, len(points)) for e in S.evaluate(list(expressions), dict(zip(symbols, points.T, strict=True)))], 1
        )
    single = np.array([f(np.ascontiguousarray(p)) for p in points])
    batch = f(points)
    np.testing.assert_array_equal(single.view(np.uint64), batch.view(np.uint64))
    if ulp == 0:
        np.testing.assert_array_equal(single, expected)
    else:
        np.testing.assert_allclose(single, expected, rtol=ulp * 2.0**-52, atol=5e-324)


@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_variable(op: str) -> None:
    (x,) = positions(1)
    e = unary(op, x) if op != "neg" else -x
    assert e.op == op
    compare([e], [x], UNARY[op][:, None], 0 if op in EXACT else 4)


@pytest.mark.parametrize("op", BINARY)
def test_functions_of_two_variables(op: str) -> None:
    x, y = positions(2)
    e = node(op, x, y)
    assert e.op == op
    points = np.array([(a, b) for a in MODERATE for b in MODERATE if op != "div" or b != 0.0])
    compare([e, node(op, y, x)] if op != "div" else [e], [x, y], points, 0 if op in EXACT else 4)


def test_signs_of_atan2_in_every_quadrant() -> None:
    y, x = positions(2)
    f = compiled({"q": [y, x]}, {"a": [S.atan2(y, x)]})
    for a in (0.0, -0.0, 1.0, -1.0):
        for b in (0.0, -0.0, 2.0, -2.0):
            got, expected = f(np.array([a, b]))[0], np.arctan2(a, b)
            assert got == expected
            assert np.signbit(got) == np.signbit(expected)


@pytest.mark.parametrize("exponent", [2.0, 3.0, -1.0, 0.5, 1.5, -2.0, -0.5, 5.0, 11.0, 0.1, "y"])
def test_powers(exponent: Any) -> None:
    x, y = positions(2)
    e = power(x, y if exponent == "y" else S.constant(exponent))
    points = np.array([(a, b) for a in (1e-3, 0.5, 1.0, 2.5, 40.0) for b in (-2.0, 0.0, 0.5, 3.0)])
    if isinstance(exponent, float) and exponent == int(exponent):
        points = np.concatenate([points, points * [-1.0, 1.0]])
    compare([e], [x, y], points, 8)


def test_where_takes_the_branch_of_every_lane_and_hides_the_other() -> None:
    x, y = positions(2)
    e = S.where(x < y, S.sqrt(y - x), S.where((x <= 2.0) & ~(y < 0.0) | (x > 5.0), S.log(x), -y))
    points = np.array([(a, b) for a in (-3.0, 0.5, 1.0, 2.0, 2.5, 6.0) for b in (-4.0, 0.0, 0.5, 1.0, 7.0)])
    valid = np.array([S.evaluate(e, {x: a, y: b}) for a, b in points])
    points = points[np.isfinite(valid)]
    assert len(points) > 20
    compare([e], [x, y], points, 4)


GRID = np.array([-2.0, -1.5, -0.2, 0.1, 0.9, 2.0])
SURFACE = np.sin(np.add.outer(GRID, np.array([0.0, 1.0, 1.5, 4.0]) ** 2))


@pytest.mark.parametrize("kind", ["linear", "spline"])
@pytest.mark.parametrize("extrapolate", ["hold", "extend"])
def test_tables_with_their_derivatives(kind: str, extrapolate: str, rng: np.random.Generator) -> None:
    x, y = positions(2)
    one = table(GRID, np.cos(GRID), kind=kind, extrapolate=extrapolate)(x)
    two = table(GRID, [0.0, 1.0, 1.5, 4.0], SURFACE, kind=kind, extrapolate=extrapolate)(x, y)
    derivatives = [one, two]
    for _ in range(2):
        derivatives += [d for e in list(derivatives) for d in S.jacobian([e], [x, y])[0]]
    kept = list({e.id: e for e in derivatives if not e.is_number}.values())
    assert len(kept) >= 5
    edges = [(a, b) for a in (*GRID, -9.0, 9.0, np.nextafter(2.0, 3), np.nextafter(-2.0, -3)) for b in (0.0, 1.5, 4.0, -1.0, 5.0)]
    points = np.concatenate([np.array(edges), rng.uniform(-3, 5, (200, 2))])
    f = compiled({"q": [x, y]}, {"y": kept})
    expected = np.stack(np.broadcast_arrays(*S.evaluate(kept, {x: points[:, 0], y: points[:, 1]})), 1)
    scale = np.abs(expected).max(0) + 1.0
    np.testing.assert_allclose(f(points) / scale, expected / scale, atol=2e-14)
    np.testing.assert_array_equal(f(points), np.array([f(p) for p in points.copy()]))


@settings(max_examples=25)
@given(st.lists(trees(3), min_size=1, max_size=4), st.lists(values(3), min_size=1, max_size=11))
def test_random_formulas(formulas: list[Any], points: list[list[float]]) -> None:
    x = positions(3)
    kept = []
    for row in points:
        try:
            kept.append((row, [direct(t, row) for t in formulas]))
        except OutOfDomainError:
            continue
    assume(kept)
    f = compiled({"q": x}, {"y": [build(t, x) for t in formulas]}, "formula")
    rows = np.array([row for row, _ in kept])
    batch = f(rows)
    for row, got, (_, expected) in zip(rows, batch, kept, strict=True):
        np.testing.assert_array_equal(f(row.copy()).view(np.uint64), got.view(np.uint64))
        for y, (value, error) in zip(got, expected, strict=True):
            assert abs(y - value) <= 60.0 * error + 1e-300


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(5, 120))
def test_random_graphs_with_shared_nodes(seed: int, size: int) -> None:
    """Values are kept in [−1, 1] so that errors stay small; the only selections are continuous ones."""
    rng = np.random.default_rng(seed)
    x = positions(4)
    nodes: list[S.Expr] = list(x)
    two = [
        lambda a, b: (a + b) * 0.5, lambda a, b: a * b, lambda a, b: (a - b) * 0.5, S.minimum, S.maximum,
        lambda a, b: S.where(a < b, a, b), lambda a, b: S.atan2(a, 2.0 + b), lambda a, b: S.sin(a + b),
        lambda a, b: S.cos(a - b), lambda a, b: a / (1.5 + b * b), lambda a, b: power(a + 2.0, b) / 9.0,
        lambda a, b: S.where((a <= b) | ~(b < a), b, a), lambda a, b: S.sqrt(1.0 + a * b) / 2.0,
    ]  # fmt: skip
    for _ in range(size):
        a, b = (nodes[i] for i in rng.integers(0, len(nodes), 2))
        nodes.append(two[rng.integers(len(two))](a, b))
    f = compiled({"q": x}, {"y": nodes[-8:]}, "graph")
    points = rng.uniform(-1, 1, (13, 4))
    expected = np.stack(np.broadcast_arrays(*S.evaluate(nodes[-8:], dict(zip(x, points.T, strict=True)))), 1)
    batch = f(points)
    np.testing.assert_allclose(batch, expected, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(batch, np.array([f(p.copy()) for p in points]))


@pytest.mark.parametrize("size", sorted({1, 10, CHUNK - 1, CHUNK, CHUNK + 1, 999, 1000, 1001, 5000}))
def test_chunk_boundaries(size: int, rng: np.random.Generator) -> None:
    x = positions(3)
    nodes = chain(x, size)
    picks = sorted({0, size // 3, size // 2, size - 1})
    total = sum((nodes[i] * x[2] for i in picks), S.constant(1.0))
    outputs = [nodes[i] for i in picks]
    f = symbolic({"q": x}, {"y": outputs})
    assert main_ir(f).nodes == size
    far = compiled({"q": x}, {"y": outputs, "far": total}, "far")
    points = rng.uniform(0.2, 1.0, (engine.lanes() + 3, 3))
    expected = S.evaluate([*outputs, total], dict(zip(x, points.T, strict=True)))
    y, z = far(points)
    np.testing.assert_allclose(y, np.stack(expected[:-1], 1), rtol=1e-11)
    np.testing.assert_allclose(z, expected[-1], rtol=1e-11)
    for p, a, b in zip(points, y, z, strict=True):
        single = far(p.copy())
        np.testing.assert_array_equal(single[0], a)
        assert single[1] == b


def test_sine_in_one_chunk_and_cosine_in_another() -> None:
    x = positions(3)
    angle = x[0] * x[1]  # not an input: its sine is not moved to the front
    first = S.sin(angle)
    nodes = chain([first, x[1], x[2]], 3 * CHUNK)
    last = nodes[-1] * S.cos(angle) + first
    order = [e.id for e in topological([last])]
    assert order.index(S.cos(angle).id) - order.index(first.id) > 2 * CHUNK
    f = compiled({"q": x}, {"y": [last, first]})
    point = np.array([0.7, 0.4, 0.3])
    expected = S.evaluate([last, first], dict(zip(x, point, strict=True)))
    np.testing.assert_allclose(f(point), expected, rtol=1e-12)
    np.testing.assert_array_equal(f(np.tile(point, (5, 1))), np.tile(f(point), (5, 1)))


def test_outputs_that_are_inputs_constants_parameters_and_repeated() -> None:
    x = positions(2)
    p, q = S.symbols("p q", "parameter")
    s = S.sin(x[0])
    outputs = [x[1], 3.5, p, s, s, p * q, x[1], 0.0, s + p, -0.25, S.exp(q)]
    f = compiled({"q": x}, {"y": outputs, "again": [[s, x[0]], [p, 1.0]], "scalar": x[1]}, parameters=[p, q])
    f.set_parameters([2.0, 0.5])
    point = np.array([0.3, -0.8])
    expected = np.array(S.evaluate(outputs, {x[0]: 0.3, x[1]: -0.8, p: 2.0, q: 0.5}), dtype=float)
    for batch in (False, True):
        y, again, scalar = f(np.tile(point, (3, 1)) if batch else point)
        np.testing.assert_allclose(y, np.tile(expected, (3, 1)) if batch else expected, rtol=4e-16)
        np.testing.assert_allclose(again[-1] if batch else again, [[np.sin(0.3), 0.3], [2.0, 1.0]], rtol=4e-16)
        assert np.shape(scalar) == ((3,) if batch else ())
        np.testing.assert_array_equal(scalar, -0.8)


def test_no_inputs_no_entries_no_outputs() -> None:
    (x,) = positions(1)
    nothing_in = compiled({}, {"y": [1.5, 2.5]})
    np.testing.assert_array_equal(nothing_in(), [1.5, 2.5])
    empty = compiled({"q": [x], "z": []}, {"none": np.empty((0, 3), dtype=object), "y": [2.0 * x]})
    none, y = empty(np.ones(1), np.ones(0))
    assert none.shape == (0, 3)
    assert y == 2.0
    none, y = empty(np.ones((5, 1)), np.ones((5, 0)))
    assert none.shape == (5, 0, 3)
    np.testing.assert_array_equal(y, np.full((5, 1), 2.0))
    with pytest.raises(ValueError, match="function 'f' has no outputs"):
        compiled({"q": [x]}, {})


def test_machine_code_does_not_depend_on_what_else_was_derived() -> None:
    def text(extra: bool) -> str:
        x = positions(2)
        e = S.sin(x[0]) * x[1]
        if extra:
            S.cos(x[0])
        return main_ir(symbolic({"q": x}, {"y": [e]})).text

    assert text(False) == text(True)


@pytest.mark.parametrize("name", ["my function", "sin", "malloc", "a.b-c", "ω", "main"])
def test_any_name_will_do(name: str) -> None:
    (x,) = positions(1)
    f = compiled({"q": [x]}, {"y": [S.sin(x)]}, name)
    assert f.name == name
    np.testing.assert_allclose(f(np.array([0.5])), np.sin(0.5), rtol=1e-15)
    np.testing.assert_allclose(f(np.array([[0.5], [0.6]])), np.sin([[0.5], [0.6]]), rtol=1e-15)


def test_an_input_that_mixes_parameters_with_others_is_refused() -> None:
    (x,) = positions(1)
    p = S.symbol("p", "parameter")
    with pytest.raises(ValueError, match="input 'q' mixes parameters"):
        compiled({"q": [x, p]}, {"y": [x * p]})


def test_comparison_gives_numbers() -> None:
    x, y = positions(2)
    f = compiled({"q": [x, y]}, {"y": [binary("lt", x, y) + 2.0 * binary("le", x, y), S.where(x, 1.0, 2.0)]})
    np.testing.assert_array_equal(f([[1.0, 2.0], [1.0, 1.0], [2.0, 1.0], [0.0, -1.0]]), [[3, 1], [2, 1], [0, 1], [0, 2]])
