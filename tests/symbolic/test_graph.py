"""Order of evaluation, substitution, counts, layers, the evaluator's errors, and exchange by pickling."""

from __future__ import annotations

import copy
import math
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.native.ir import main_ir
from jourdain.symbolic.exchange import pack, unpack
from jourdain.symbolic.function import Argument, Result, SymbolicFunction, hoisted
from jourdain.symbolic.linearised import Linearised
from tests.symbolic.trees import OutOfDomainError, build, direct, trees, values


def test_topological_order_is_deep_and_complete():
    x = S.symbol("x")
    e = x
    for i in range(30_000):
        e = S.sin(e) if i % 2 else e * 1.5 + x
    order = S.topological([e])
    place = {n.id: i for i, n in enumerate(order)}
    assert all(place[a.id] < place[n.id] for n in order for a in n.args)
    assert math.isfinite(float(S.evaluate(e, {x: 0.3})))
    assert len(repr(e)) <= 80
    assert unpack(pack([e]), 0) is e


@settings(max_examples=50)
@given(tree=trees(3), x=values(3))
def test_substituting_numbers_gives_the_value(tree, x):
    try:
        expected, error = direct(tree, x)
        symbols = S.symbols("x0 x1 x2")
        [e] = S.substitute([build(tree, symbols)], dict(zip(symbols, x)))
    except (OutOfDomainError, InputError):
        assume(False)
    assert e.is_number and abs(float(e) - expected) <= 64.0 * error + 1e-300


def test_substitution_of_symbols_and_subexpressions():
    x, y, z = S.symbols("x y z")
    f = S.sin(x + y) * z
    assert S.substitute([f], {x: z - y})[0] is S.sin(z) * z
    assert S.substitute([f], {S.sin(x + y): y})[0] is y * z
    assert S.substitute([f, x], {x: y, y: x}) == [f, y]
    assert S.substitute([f], {})[0] is f


def test_layers_and_counts():
    m, l = S.symbols("m l")
    q, v = S.symbol("q", "position"), S.symbol("v", "velocity")
    f = m * l * S.sin(q) * v + S.sqrt(m / l)
    layers = S.operations_by_layer([f])
    assert layers["parameter"] == S.Operations(0, 1, 1, 1)
    assert layers["parameter+position"].functions == 0 and layers["position"] == S.Operations(0, 0, 0, 1)
    assert S.operations([f]).flops == S.operations([f]).adds + S.operations([f]).mults
    assert str(S.Operations(1, 2, 3, 4)) == "1 +, 2 ×, 3 ÷, 4 functions"
    function = SymbolicFunction("f", (Argument("p", (m, l)), Argument("x", (q, v))), (Result("r", (f,), (1,)),))
    assert function.prepare_operations() == layers["parameter"]
    assert function.operations() + function.prepare_operations() == S.operations([f])
    assert {e.id for e in hoisted([f])} == {(m * l).id, S.sqrt(m / l).id}


def test_function_checks_its_arguments():
    x, y = S.symbols("x y")
    with pytest.raises(InputError, match="depends on y"):
        SymbolicFunction("f", (Argument("x", (x,)),), (Result("r", (x * y,), (1,)),))
    with pytest.raises(InputError, match=r"shape \(2, 2\)"):
        SymbolicFunction("f", (Argument("x", (x,)),), (Result("r", (x,), (2, 2)),))


def test_evaluator_names_what_is_wrong():
    x, y = S.symbols("speed y")
    with pytest.raises(InputError, match="speed"):
        S.evaluate(x * y, {y: 1.0})
    for bad in (math.nan, math.inf, [1.0, math.nan]):
        with pytest.raises(InputError, match=r"speed.*not finite"):
            S.evaluate(0 * x + y, {x: bad, y: 1.0})
    with pytest.raises(InputError, match="unknown kind"):
        S.symbol("x", "speeed")


def test_evaluator_broadcasts():
    x, y = S.symbols("x y")
    a, b = np.linspace(0, 1, 5)[:, None], np.linspace(1, 2, 3)
    np.testing.assert_array_equal(S.evaluate(x * y + 1, {x: a, y: b}), a * b + 1)
    first, second = S.evaluate([x, 2.0], {x: 3.0})
    assert first == 3.0 and second == 2.0


# --- exchange ----------------------------------------------------------------------------------------------------


def _sample() -> tuple[list[S.Expr], S.Expr]:
    x, y = S.symbols("x y", "position")
    gas = S.table([0.0, 1.0, 2.0], [1.0, 3.0, 2.0], name="gas")
    [slope] = S.jvp([gas(x * y)], {x: 1})
    return [x, y], S.where(x < y, S.sin(x - y) / (1 + x * x), -(S.maximum(x, y) ** 2.5)) + gas(x) + slope


def test_pickling_keeps_identity_in_one_process():
    [x, y], e = _sample()
    assert pickle.loads(pickle.dumps(e)) is e and copy.deepcopy(e) is e
    pair = pickle.loads(pickle.dumps({"a": x, "b": [e, x + y]}))
    assert pair["a"] is x and pair["b"][0] is e and pair["b"][1] is x + y
    assert unpack(pack([e, x]))[1] is x
    other = S.symbol("x", "position")
    assert pickle.loads(pickle.dumps(other)) is other and other is not x
    with pytest.raises(InputError, match="not packed"):
        unpack(("something", (), (), ()))


@settings(max_examples=40)
@given(tree=trees(3))
def test_packing_random_formulas(tree):
    symbols = S.symbols("x0 x1 x2")
    try:
        e = build(tree, symbols)
    except InputError:
        assume(False)
    assert unpack(pack([e]), 0) is e


_CHILD = """
import pickle, sys
import jourdain.symbolic as S
noise = [S.symbol("noise") for _ in range(100)]
first = pickle.loads(bytes.fromhex(sys.argv[1]))
second = pickle.loads(bytes.fromhex(sys.argv[2]))
x, y = second["symbols"]
assert first["symbols"][0] is x and second["e"] is first["e"] and set(S.free_symbols([second["e"]])) == {x, y}
assert x.name == "x" and x.data[1] == "position"
made = second["e"] * y + S.symbol("z")
value = float(S.evaluate(second["e"], {x: 0.3, y: 0.7}))
sys.stdout.write(pickle.dumps((made, value)).hex())
"""


def test_pickling_between_processes_shares_symbols():
    symbols, e = _sample()
    first, second = (pickle.dumps({"symbols": symbols, "e": e}).hex() for _ in range(2))
    run = subprocess.run([sys.executable, "-c", _CHILD, first, second], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    made, value = pickle.loads(bytes.fromhex(run.stdout))
    x, y = symbols
    assert value == float(S.evaluate(e, {x: 0.3, y: 0.7}))
    new = [s for s in S.free_symbols([made]) if s.name == "z"]
    assert len(new) == 1 and made is e * y + new[0]
    assert pickle.loads(bytes.fromhex(run.stdout))[0] is made


def _in_fork(connection, x):
    new = [S.symbol(f"child{i}") for i in range(5)]
    connection.send((new[3] * x, x))
    connection.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_symbols_made_after_a_fork_are_told_apart():
    x = S.symbol("x")
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_in_fork, args=(theirs, x))
    child.start()
    mine = [S.symbol(f"parent{i}") for i in range(5)]
    product, same = ours.recv()
    child.join()
    assert same is x
    names = {s.name for s in S.free_symbols([product])}
    assert names == {"child3", "x"} and [s.name for s in mine] == [f"parent{i}" for i in range(5)]


def test_a_function_pickles_with_one_graph():
    x = S.symbols([f"x{i}" for i in range(20)], "position")
    e, row = S.constant(1.0), []
    for i in range(400):
        e = S.sin(e * x[i % 20] + x[(3 * i) % 20])
        row.append(e)
    f = SymbolicFunction("f", (Argument("q", tuple(x), "angles"),), (Result("r", tuple(row), (20, 20)),), "title", ("note",))
    data = pickle.dumps(f)
    assert len(data) < 100_000
    assert pickle.loads(data) == f


def test_expressions_of_another_process_keep_their_form() -> None:
    """Whatever was made first here: the order of operands decides how machine code rounds."""
    first, second = (("symbol", "another process", i, name, "parameter") for i, name in enumerate("ab"))
    head, tables = "jourdain expressions 1", ()
    b = unpack((head, (second,), tables, (0,)), 0)
    nodes = (first, second, ("add", 0, 1), ("mul", 0, 1), ("sub", 0, 1), ("mul", 2, 4))
    total, product, difference, both = unpack((head, nodes, tables, (2, 3, 4, 5)))
    assert [e.name for e in total.args] == [e.name for e in product.args] == ["a", "b"]
    assert difference.op == "sub" and difference.args[1] is b
    again = unpack((head, nodes, tables, (2, 3, 4, 5)))
    assert all(x is y for x, y in zip(again, (total, product, difference, both), strict=True))
    assert total.args[0] + b is total and total.args[0] * b is product


def test_derivatives_do_not_depend_on_what_was_derived_before() -> None:
    x, y, p = S.symbol("x", "position"), S.symbol("y", "position"), S.symbol("p")
    f = Linearised("f", {"q": (x, y)}, [p * S.sin(x * y) + y * S.cos(x) * x - x / (y + p)], ["q"], [p], [p])

    def code(word: str) -> str:
        return main_ir(getattr(f, word)(), 1).text

    before = {word: code(word) for word in ("push", "pull", "bend")}
    kept = [S.cos(x * y) * y, S.cos(x * y) * p, -S.sin(x) * y, S.cos(x * y) * x * p, 1 / (y + p)]
    assert {word: code(word) for word in ("bend", "push", "pull")} == before
    assert len(kept) == 5
