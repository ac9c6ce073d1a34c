"""Long rows of parameters times values are one node: every walk over the graph knows it as the sum that it is."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.symbolic import evaluate, jacobian, jvp, substitute, symbols, vjp
from jourdain.symbolic.exchange import pack, unpack
from jourdain.symbolic.expr import LONG, ONE, ZERO, Expr, add, mul, scalar_product
from jourdain.symbolic.function import Argument, Result, SymbolicFunction
from jourdain.symbolic.functions import sin
from jourdain.symbolic.graph import operations
from jourdain.symbolic.printers.latex import to_latex
from jourdain.symbolic.printers.text import to_text

N = LONG + 5
p = symbols([f"p{i}" for i in range(2 * N)])
x = symbols([f"x{i}" for i in range(N)], "position")
VALUES = dict(zip([*p, *x], np.random.default_rng(0).normal(size=3 * N), strict=True))


def written_out(row: list[Expr], values: list[Expr]) -> Expr:
    total = ZERO
    for a, b in zip(row, values, strict=True):
        total = add(total, mul(a, b))
    return total


def pair() -> tuple[Expr, Expr]:
    """sin(p·(x² + 1) + x₀) as one node of the sum and written out."""
    inner = [add(mul(e, e), ONE) for e in x]
    return tuple(sin(add(f(p[:N], inner), x[0])) for f in (scalar_product, written_out))  # type: ignore[return-value]


def test_only_long_rows_of_parameters_are_one_node() -> None:
    assert scalar_product(p[:N], x).op == "dot"
    assert scalar_product(p[:N], x) is scalar_product(p[:N], x)
    assert scalar_product(p[: LONG - 1], x[: LONG - 1]).op == "add"
    assert scalar_product(x, p[:N]).op == "add"
    assert scalar_product(p[:N], [x[0], *[ZERO] * (N - 1)]) is mul(p[0], x[0])
    assert operations([scalar_product(p[:N], x)]).flops == 2 * N - 1


def test_values_and_derivatives_are_those_of_the_sum() -> None:
    short, long = pair()
    wrt = [*x, *p[:N]]
    direction = dict(zip(wrt, np.random.default_rng(1).normal(size=len(wrt)), strict=True))
    for f in (lambda e: [e], lambda e: jacobian([e], wrt)[0], lambda e: jvp([e], direction), lambda e: vjp([e], [2.0], wrt)):
        found, expected = (np.array(evaluate(f(e), VALUES), float) for e in (short, long))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_walks_over_the_graph_keep_the_value() -> None:
    short, _ = pair()
    expected = float(evaluate(short, VALUES))
    assert unpack(pack([short]), 0) is short
    numbers = substitute([short], {a: VALUES[a] for a in p})[0]
    assert "dot" not in to_text(numbers)
    assert float(evaluate(numbers, VALUES)) == pytest.approx(expected, rel=1e-13)
    assert "cdot" in to_latex(scalar_product(p[:N], x))
    pytest.importorskip("sympy")
    from jourdain.symbolic.sympy_bridge import to_sympy

    found, by_name = to_sympy(short), {s.name: v for s, v in VALUES.items()}
    assert float(found.subs({s: by_name[s.name] for s in found.free_symbols})) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("batch", [1, 3, 64])
def test_native_code_runs_them_as_loops(batch: int) -> None:
    """Rows where they stand, scattered rows, values of inputs, of other nodes and of parameters."""
    from jourdain.native.function import compile_function

    inner = [add(mul(e, e), ONE) for e in x]
    rows = [p[:N], p[N:], p[1 : N + 1], [p[(7 * i) % N] for i in range(N)]]
    outputs = [scalar_product(row, values) for row in rows for values in (x, inner, list(reversed(x)), p[:N])]
    outputs += [mul(scalar_product(p[:N], p[N:]), x[1]), *p]
    f = SymbolicFunction("dots", (Argument("x", tuple(x)), Argument("p", tuple(p))), (Result("y", tuple(outputs), (len(outputs),)),))
    assert sum(e.op == "dot" for e in outputs) == 16
    native = compile_function(f, np.array([VALUES[a] for a in p]))
    states = np.random.default_rng(2).normal(size=(batch, N))
    found = np.array([native(s) for s in states]) if batch == 1 else np.asarray(native(states))
    for s, y in zip(states, found, strict=True):
        expected = np.array(evaluate(outputs, VALUES | dict(zip(x, s, strict=True))), float)
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
