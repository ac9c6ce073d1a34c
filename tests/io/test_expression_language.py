"""The language of laws: every operation there and back to the same node, precedence against Python, errors, fuzzing."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import JourdainError
from jourdain.io.model_files.expression_language import FUNCTIONS, MAX_DEPTH, MAX_LENGTH, ExpressionError, parse_expression, spelled
from jourdain.io.model_files.expression_writer import ExpressionWriter, number_text, shared_expressions
from jourdain.symbolic.expr import Expr, binary, nary, symbol, unary
from jourdain.symbolic.graph import build, topological
from jourdain.symbolic.tables import Table

GAS = jd.table([0.0, 0.1, 0.25], [3.0, 2.0, 1.0], name="gas")
MAP = jd.table([0.0, 1.0], [0.0, 2.0, 3.0], [[0.0, 1.0, 2.0], [3.0, 4.0, 6.0]], name="map")


class Letters:
    """A scope of a few symbols and tables."""

    def __init__(self) -> None:
        kinds = {
            "k": "parameter",
            "l": "parameter",
            "t": "time",
            "x": "position",
            "hinge.angle": "position",
            "v": "velocity",
            "left wheel": "state",
        }
        self.symbols = {name: symbol(name, kind) for name, kind in kinds.items()}
        self.tables: dict[str, Table] = {"gas": GAS, "map": MAP}
        self.named: dict[str, Expr] = {}

    def find(self, name: str, kind: str | None = None) -> Expr:
        if name in self.named:
            return self.named[name]
        if name not in self.symbols:
            raise ExpressionError(f"no {name}")
        return self.symbols[name]

    def function(self, name: str) -> Callable[..., Expr] | None:
        if name == "gas.d1":
            return lambda x: nary("table", (x,), (GAS, (1,)))
        return self.tables.get(name)


def written(e: Expr, scope: Letters) -> str:
    return ExpressionWriter(lambda s: spelled(s.name), {v: k for k, v in scope.named.items()}, {GAS: "gas", MAP: "map"}).text(e)


def value(e: Expr, scope: Letters) -> float:
    numbers = dict(zip(scope.symbols.values(), (0.7, 1.3, 0.4, -0.6, 0.9, 1.7, 0.2), strict=True))
    return float(jd.evaluate(e, numbers))


@st.composite
def expressions(draw: st.DrawFn) -> tuple[Expr, Letters]:
    """A random graph over all operations, with shared nodes."""
    scope = Letters()
    pool: list[Expr] = list(scope.symbols.values())
    rng = random.Random(draw(st.integers(0, 2**32)))
    one = [name for name in FUNCTIONS if FUNCTIONS[name].most == 1 and name not in ("positive_part",)] + ["neg", "not"]
    two = ["add", "sub", "mul", "div", "add", "sub", "mul", "pow", "atan2", "min", "max", "lt", "le", "and", "or"]
    for _ in range(draw(st.integers(1, 25))):
        a, b, c = (rng.choice(pool) for _ in range(3))
        if rng.random() < 0.3:
            b = jd.symbolic.expr.constant(rng.choice([2.0, -3.0, 0.5, 1 / 3, 1 / 12, 1e-7, rng.uniform(-5, 5)]))
        how = rng.random()
        try:
            if how < 0.6:
                pool.append(build(rng.choice(two), (a, b) if rng.random() < 0.7 else (b, a)))
            elif how < 0.85:
                op = rng.choice(one)
                pool.append(build(op, (a,)) if op == "neg" else unary(op, a))
            elif how < 0.92:
                pool.append(jd.where(binary("lt", a, b), b, c))
            else:
                pool.append(GAS(a) if rng.random() < 0.5 else MAP(a, c))
        except JourdainError:
            continue
    return pool[-1], scope


@settings(max_examples=400, deadline=None)
@given(expressions())
def test_text_gives_the_same_node(drawn: tuple[Expr, Letters]) -> None:
    e, scope = drawn
    for part in topological([e]):
        text = written(part, scope)
        if len(text) < MAX_LENGTH and text.count("(") < MAX_DEPTH - 8:
            assert parse_expression(text, scope) is part, text


@settings(max_examples=100, deadline=None)
@given(expressions())
def test_shared_parts_get_names(drawn: tuple[Expr, Letters]) -> None:
    e, scope = drawn
    chosen = shared_expressions([e, e * 2.0])
    scope.named = {f"e{i}": part for i, part in enumerate(chosen)}
    assert parse_expression(written(e, scope), scope) is e
    assert not shared_expressions([e, e * 2.0], chosen)
    writer = ExpressionWriter(lambda s: spelled(s.name), {v: k for k, v in scope.named.items()}, {GAS: "gas", MAP: "map"})
    for part in chosen:
        assert parse_expression(writer.definition(part), scope) is part
        assert len(writer.definition(part)) < MAX_LENGTH


def test_a_graph_that_would_be_huge_as_a_tree_stays_small() -> None:
    scope = Letters()
    e = scope.symbols["x"]
    for i in range(60):
        e = jd.sin(e) * e + jd.cos(e) / (e + float(i + 1))
    chosen = shared_expressions([e])
    named = {part: f"e{i}" for i, part in enumerate(chosen)}
    writer = ExpressionWriter(lambda s: spelled(s.name), named, {})
    texts = [writer.text(e), *(writer.definition(part) for part in chosen)]
    assert sum(map(len, texts)) < 20_000
    for part in chosen:
        assert parse_expression(writer.definition(part), scope) is part
        scope.named[named[part]] = part


@pytest.mark.parametrize("text", [
    "1 + 2*3 - 4/5", "-2^2", "2^3^2", "(1 + 2)*3", "-2*3 + 1", "2*-3", "2^-1", "1 - 2 - 3", "8/4/2", "1e3 + .5 + 2.", "--2", "+3 - -4",
    "min(3, 1, 2) + max(1, 2)", "sin(1)^2 + cos(1)^2", "sqrt(2)*exp(1.5)/log(3)", "atan2(1, 2)", "abs(-3)", "floor(-2.5)", "pow(2, 0.3)",
])  # fmt: skip
def test_arithmetic_agrees_with_python(text: str) -> None:
    names = {
        "sin": math.sin,
        "cos": math.cos,
        "sqrt": math.sqrt,
        "exp": math.exp,
        "log": math.log,
        "atan2": math.atan2,
        "floor": math.floor,
    }
    expected = eval(text.replace("^", "**"), {"__builtins__": {"min": min, "max": max, "abs": abs, "pow": pow}}, names)
    assert float(parse_expression(text, Letters())) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("text", "expected"), [
    ("x < 0 and v > 0", 1.0), ("x > 0 or not v < 1", 1.0), ("not x < 0", 0.0), ("where(x <= 0, k, l)", 0.7), ("(x < 0)*v", 1.7),
    ("clip(v, 0, 1)", 1.0), ("positive_part(x)", 0.0), ("step(t, 0.4, 1)", 0.0), ("step(t, 0, 0.4, 2, 5)", 5.0), ("30[deg]", math.pi / 6),
    ("3.6[km/h] + 5 [mm/s]", 1.005), ("2*'left wheel'", 0.4), ("hinge.angle*2", 1.8), ("gas(0.1)", 2.0), ("map(1, 2)", 4.0), ("gas.d1(0.1)", None),
    ("state:x", -0.6), ("20[degC]", 293.15),
])  # fmt: skip
def test_meaning(text: str, expected: float | None) -> None:
    scope = Letters()
    found = value(parse_expression(text, scope), scope)
    assert found == pytest.approx(float(GAS.value((1,), 0.1)) if expected is None else expected, rel=1e-14)


@pytest.mark.parametrize(("text", "message"), [
    ("", "a number, a name or '\\(' is missing"), ("1 +", "missing before 'the end'"), ("(1", "not closed"), ("1 2", "does not fit"),
    ("30 deg", r"write 30\*deg, or 30\[deg\]"), ("sine(1)", "no function or table 'sine'; did you mean"), ("sin(1, 2)", "takes 1 argument"),
    ("step(1)", "takes 3 to 5"), ("a == b", "cannot read '== b'.*compare with <"), ("1 < 2 < 3", "do not chain"), ("nothing", "no nothing"),
    ("1/0", "division"), ("log(-1)", "not defined"), ("9^9^9^9", "too large"), ("1e999", "cannot hold"), ("and", "does not fit here"),
    ("x:", "a name is missing after"), ("30[furlong]", "unit 'furlong'"), ("__import__(1)", "no function or table"), ("x.__class__", "no x.__class__"),
    ("(lambda: 0)()", "a name is missing after 'lambda:'"), ("[1]", "missing before"), ("gas()", "missing before"), ("map(1)", "takes 2 argument"),
])  # fmt: skip
def test_errors(text: str, message: str) -> None:
    with pytest.raises(JourdainError, match=message):
        parse_expression(text, Letters())


@pytest.mark.parametrize(
    "text", ["(" * 5000 + "1", "-" * 19_000 + "1", "not " * 4000 + "1", "2^" * 5000 + "1", "sin(" * 3000, "1" * 30_000, "x+" * 9000 + "x"]
)
def test_large_texts_end_in_an_answer_or_an_error(text: str) -> None:
    try:
        assert isinstance(parse_expression(text, Letters()), Expr)
    except ExpressionError as error:
        assert len(str(error)) < 300


PIECES = ["x", "k", "1", "2.5e-3", "(", ")", "+", "-", "*", "/", "^", "**", "<", ">=", "and", "or", "not", ",", "sin", "where", "min", "gas", ".", "[deg]", "'", ":", " ", "=", "é", "\n", "\0", "self.x", "'left wheel'"]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=40))
def test_any_text_gives_an_expression_or_an_error(text: str) -> None:
    with contextlib.suppress(JourdainError):
        assert isinstance(parse_expression(text, Letters()), Expr)


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_exact(x: float) -> None:
    assert float(number_text(x)) == x
    assert math.copysign(1.0, float(number_text(x))) == math.copysign(1.0, x)
