"""Printed programs: compiled or run where a tool is present, and equal to the evaluator to a few units of rounding."""

from __future__ import annotations

import ctypes
import math
import random
import re
import subprocess

import numpy as np
import pytest
from numpy.polynomial import polynomial

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.symbolic.expr import unary
from jourdain.symbolic.function import Argument, Result, SymbolicFunction
from jourdain.symbolic.printers import LANGUAGES, SUFFIXES, print_function
from jourdain.symbolic.printers.latex import symbol_latex, to_latex
from jourdain.symbolic.printers.text import to_text

STATES = 12
SMOOTH = ("sin", "cos", "tan", "exp", "atan", "sinh", "cosh", "tanh", "asin", "acos")


def everything() -> SymbolicFunction:
    """Every operation, shared values, parameters alone, truth values as numbers, tables with derivatives."""
    q = S.symbols("q.1 q.2 q.3", "position")
    v = S.symbols("v1 v2", "velocity")
    m, l, c = S.symbols("m l c")
    t = S.symbol("t", "time")
    gas = S.table([-1.0, 0.0, 0.5, 1.0], [1.0, 3.0, 2.0, 4.0], name="gas")
    soft = S.table([-1.0, 0.0, 1.0], [0.5, 1.5, 1.0], kind="linear", extrapolate="extend", name="soft")
    grid = S.table([-1.0, 0.0, 1.0], [0.0, 0.5, 1.5, 2.0], np.arange(12.0).reshape(3, 4) ** 1.5, name="map 2")
    a, b, d = q
    smooth = [unary(op, 0.3 * a + 0.1) for op in SMOOTH]
    positive = 1.5 + S.sin(b)
    other = [S.sqrt(positive), S.log(positive), positive**2.7, positive**b, S.atan2(a, b), abs(d), S.sign(d)]
    other += [
        S.sign(v[0] * d),
        S.floor(5 * a),
        S.minimum(a, b),
        S.maximum(a, d * 2),
        2.0**b,
        S.minimum(b, 0.25),
        a - 3,
        -(a - b) / 7e-5,
    ]
    test = ((a < b) & (b <= d)) | ~(v[0] < 0.0)
    branches = [test, S.where(test, a * m, -b * m), S.where(v[1], a, b), 2 * (a < b) + 1, ~(a * b), (a < 0) & d]
    branches += [S.where(a > 0, S.sqrt(a), S.log(2 - a))]
    tables = [gas(a), gas(3 * b), soft(4 * d), grid(a, 1 + b), grid(4 * a, 4 * b)]
    slopes = S.jvp(tables, {a: 1.0, b: 0.5, d: -2.0})
    second = S.jvp(slopes, {a: 1.0, b: 0.5, d: -2.0})
    inertia = m * l**2 / (m + l) + S.sqrt(c)
    shared = S.sin(a + b) * inertia + m * l * S.cos(a) * v[0] ** 2
    matrix = [shared * i + S.cos(a + b) * j - (t + i) * c for i in range(2) for j in range(3)]
    matrix[4] = S.constant(0.0)
    matrix[5] = -(m * l)
    vector = [*smooth, *other, *branches, *tables, *slopes, *second]
    inputs = [("q", q, "angles [rad]"), ("v", v, ""), ("t", [t], ""), ("p", [m, l, c], "sizes")]
    outputs = [
        ("M", matrix, (2, 3)),
        ("y", vector, (len(vector),)),
        ("s", [shared], ()),
        ("k1", [inertia, matrix[4] + 2.5], (2,)),
    ]
    return SymbolicFunction(
        "everything",
        tuple(Argument(name, tuple(x), text) for name, x, text in inputs),
        tuple(Result(name, tuple(x), shape, "a matrix" if name == "M" else "") for name, x, shape in outputs),
        "All operations */ of the kernel\nin one function",
        ("a note",),
    )


def large(nodes: int) -> SymbolicFunction:
    """A long program of shared values, bounded by sines."""
    dice = random.Random(7)
    x = S.symbols([f"x{i}" for i in range(5)], "position") + S.symbols("p1 p2")
    pool = list(x)
    for i in range(nodes):
        a, b = dice.choice(pool[-40:]), dice.choice(pool[-40:])
        e = [a * b + 0.5, a - b, S.sin(a + b), a / (2.5 + S.cos(b))][i % 4]
        pool.append(S.sin(e) if i % 3 == 0 and not e.is_number else e)
    outputs = tuple(pool[-6:])
    inputs = (Argument("x", tuple(x[:5])), Argument("M", tuple(x[5:])))
    return SymbolicFunction("large", inputs, (Result("m", outputs, (3, 2)),))


FUNCTIONS = {"everything": everything(), "large": large(600)}


def states(f: SymbolicFunction) -> list[np.ndarray]:
    """Random values of every argument, one column for each state."""
    rng = np.random.default_rng(3)
    out = []
    for a in f.inputs:
        size = (len(a.symbols), STATES)
        signs = rng.choice([-1, 1], size) if a.name != "p" else 1
        out.append(rng.uniform(0.2, 0.9, size) * signs)
    return out


def expected(f: SymbolicFunction) -> list[np.ndarray]:
    """Results by the evaluator, states on the last axis."""
    at = {s: row for a, x in zip(f.inputs, states(f)) for s, row in zip(a.symbols, x)}
    flat = [np.broadcast_to(v, (STATES,)) for v in S.evaluate(f.expressions, at)]
    out, start = [], 0
    for r in f.outputs:
        n = len(r.expressions)
        out.append(np.array(flat[start : start + n]).reshape(*r.shape, STATES))
        start += n
    return out


def compare(f: SymbolicFunction, results: list[np.ndarray]) -> None:
    tolerance = 4e-15 if f.name == "everything" else 1e-12
    for r, got, value in zip(f.outputs, results, expected(f), strict=True):
        assert np.all(np.isfinite(value))
        got = np.asarray(got, dtype=float).reshape(value.shape)
        np.testing.assert_allclose(got, value, rtol=10 * tolerance, atol=tolerance, err_msg=f"{f.name}.{r.name}")


def from_text(f: SymbolicFunction, text: str) -> list[np.ndarray]:
    """Results printed as numbers, state after state, arrays row by row."""
    numbers = np.array(text.split(), dtype=float).reshape(STATES, -1).T
    out, start = [], 0
    for r in f.outputs:
        n = len(r.expressions)
        out.append(numbers[start : start + n].reshape(*r.shape, STATES))
        start += n
    return out


def run(*command: object, cwd: object = None) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def call_c(function, *arrays: np.ndarray) -> None:
    function(*(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))


def test_c(tmp_path, tool):
    gcc = tool("gcc")
    sources = []
    for f in FUNCTIONS.values():
        for split in (False, True):
            text = print_function(f, "c", split=split)
            name = f"{f.name}_{'split' if split else 'whole'}"
            assert not re.search(r"\b(malloc|static double \w+;)", text)
            assert re.findall(r"#include <(\S+)>", text) == ["math.h"]
            (tmp_path / f"{name}.c").write_text(re.sub(rf"\b{f.name}(_prepare)?\(", rf"{name}\1(", text))
            sources.append(tmp_path / f"{name}.c")
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-shared", "-fPIC"]
    flags += ["-Wno-missing-prototypes"]
    run(gcc, *flags, *sources, "-o", tmp_path / "lib.so", "-lm")
    library = ctypes.CDLL(str(tmp_path / "lib.so"))
    for f in FUNCTIONS.values():
        inputs = states(f)
        kept = int(re.search(r"_KEPT (\d+)", print_function(f, "c", split=True))[1])
        for split in (False, True):
            out = [np.full((len(r.expressions), STATES), np.nan) for r in f.outputs]
            for k in range(STATES):
                x = [np.ascontiguousarray(a[:, k]) for a in inputs]
                y = [np.full(len(r.expressions), np.nan) for r in f.outputs]
                if split:
                    memory = np.full(kept, np.nan)
                    call_c(library[f"{f.name}_split_prepare"], x[-1], memory)
                    call_c(library[f"{f.name}_split"], *x[:-1], memory, *y)
                else:
                    call_c(library[f"{f.name}_whole"], *x, *y)
                for column, value in zip(out, y):
                    column[:, k] = value
            compare(f, out)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_python(name):
    f = FUNCTIONS[name]
    space: dict = {}
    exec(compile(print_function(f, "python"), f.name, "exec"), space)
    inputs = states(f)
    with np.errstate(all="ignore"):
        many = space[f.name](*inputs)
        one = [space[f.name](*(a[:, k].tolist() for a in inputs)) for k in range(STATES)]
    many = many if isinstance(many, tuple) else (many,)
    compare(f, list(many))
    one = [o if isinstance(o, tuple) else (o,) for o in one]
    assert all(o.shape == r.shape for o, r in zip(one[0], f.outputs))
    compare(f, [np.stack([o[i] for o in one], axis=-1) for i in range(len(f.outputs))])


def test_jax():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        f = FUNCTIONS["everything"]
        space: dict = {}
        exec(compile(print_function(f, "jax"), f.name, "exec"), space)
        inputs = states(f)
        compare(f, [np.asarray(r) for r in jax.jit(space[f.name])(*inputs)])
        x, y = S.symbols("x y", "position")
        g = SymbolicFunction("g", (Argument("q", (x, y)),), (Result("r", (x * S.sin(y) / (1 + x * x),), ()),))
        exec(compile(print_function(g, "jax"), g.name, "exec"), space)
        slope = jax.jit(jax.grad(space["g"]))(np.array([0.4, 0.7]))
        gradient = S.evaluate(S.gradient(g.expressions[0], [x, y]), {x: 0.4, y: 0.7})
        np.testing.assert_allclose(np.asarray(slope), gradient, rtol=1e-14)
    finally:
        jax.config.update("jax_enable_x64", before)


FORTRAN_MAIN = """program main
{uses}
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  integer :: k, i, j
{declarations}
{calls}
end program main
"""


def fortran_driver(fs: list[SymbolicFunction]) -> str:
    uses, declarations, calls = [], [], []
    for f in fs:
        uses.append(f"  use {f.name}_module")
        names_in = [f"{f.name[0]}_a{i}" for i in range(len(f.inputs))]
        names_out = [f"{f.name[0]}_r{i}" for i in range(len(f.outputs))]
        declarations += [f"  real(dp) :: {n}({len(a.symbols)})" for n, a in zip(names_in, f.inputs)]
        shapes = [r.shape or (1,) for r in f.outputs]
        declarations += [f"  real(dp) :: {n}({', '.join(map(str, s))})" for n, s in zip(names_out, shapes)]
        calls.append(f"  do k = 1, {STATES}")
        calls += [f"    read (*, *) {n}" for n in names_in]
        calls.append(f"    call {f.name}({', '.join(names_in + names_out)})")
        for n, s in zip(names_out, shapes):
            loop = f"(({n}(i, j), j = 1, {s[1]}), i = 1, {s[0]})" if len(s) == 2 else f"({n}(i), i = 1, {s[0]})"
            calls.append(f"    write (*, '(es26.17e3)') {loop}")
        calls.append("  end do")
    return FORTRAN_MAIN.format(uses="\n".join(uses), declarations="\n".join(declarations), calls="\n".join(calls))


def numbers_of(fs: list[SymbolicFunction]) -> str:
    """All inputs as text: function after function, state after state."""
    lines = []
    for f in fs:
        inputs = states(f)
        for k in range(STATES):
            lines += [" ".join(repr(float(v)) for v in a[:, k]) for a in inputs]
    return "\n".join(lines) + "\n"


def split_output(fs: list[SymbolicFunction], text: str) -> None:
    words = text.split()
    for f in fs:
        n = STATES * len(f.expressions)
        compare(f, from_text(f, " ".join(words[:n])))
        words = words[n:]
    assert not words


def test_fortran(tmp_path, tool):
    gfortran = tool("gfortran")
    fs = list(FUNCTIONS.values())
    sources = []
    for f in fs:
        text = print_function(f, "fortran")
        assert max(map(len, text.splitlines())) <= 132
        sources.append(tmp_path / f"{f.name}.f90")
        sources[-1].write_text(text)
    (tmp_path / "main.f90").write_text(fortran_driver(fs))
    flags = [
        "-std=f2008",
        "-O1",
        "-ffp-contract=off",
        "-Wall",
        "-Wno-unused-dummy-argument",
        "-Wno-maybe-uninitialized",
    ]
    run(gfortran, *flags, *sources, tmp_path / "main.f90", "-o", tmp_path / "main", cwd=tmp_path)
    done = subprocess.run([tmp_path / "main"], input=numbers_of(fs), capture_output=True, text=True, check=True)
    split_output(fs, done.stdout)


def test_octave(tmp_path, tool):
    octave = tool("octave")
    fs = list(FUNCTIONS.values())
    lines = ["warning('error', 'Octave:undefined-function');"]
    for f in fs:
        (tmp_path / f"{f.name}.m").write_text(print_function(f, "matlab"))
        outputs = [f"r{i}" for i in range(len(f.outputs))]
        inputs = states(f)
        for k in range(STATES):
            values = ", ".join("[" + "; ".join(repr(float(v)) for v in a[:, k]) + "]" for a in inputs)
            lines.append(f"[{', '.join(outputs)}] = {f.name}({values});")
            lines += [f"assert(isreal({o})); printf('%.17g\\n', {o}.');" for o in outputs]
    (tmp_path / "script.m").write_text("\n".join(lines))
    split_output(fs, run(octave, "--no-gui", "--norc", "--quiet", "script.m", cwd=tmp_path))


def test_rust(tmp_path, tool):
    rustc = tool("rustc")
    f = FUNCTIONS["everything"]
    inputs = states(f)
    body = []
    for k in range(STATES):
        values = ["&[" + ", ".join(repr(float(v)) for v in a[:, k]) + "]" for a in inputs]
        outputs = [f"r{i}" for i in range(len(f.outputs))]
        body += [f"    let mut {o} = [0.0f64; {len(r.expressions)}];" for o, r in zip(outputs, f.outputs)]
        body.append(f"    {f.name}({', '.join(values + [f'&mut {o}' for o in outputs])});")
        body += [f'    for x in {o} {{ println!("{{:e}}", x); }}' for o in outputs]
    source = print_function(f, "rust") + "\nfn main() {\n" + "\n".join(body) + "\n}\n"
    (tmp_path / "main.rs").write_text(source)
    run(rustc, "--edition", "2021", "-D", "warnings", "-o", tmp_path / "main", tmp_path / "main.rs")
    split_output([f], run(tmp_path / "main"))


def test_julia(tmp_path, tool):
    julia = tool("julia")
    fs = list(FUNCTIONS.values())
    lines = []
    for f in fs:
        (tmp_path / f"{f.name}.jl").write_text(print_function(f, "julia"))
        lines.append(f'include("{f.name}.jl")')
        inputs = states(f)
        for k in range(STATES):
            values = ", ".join("[" + ", ".join(repr(float(v)) for v in a[:, k]) + "]" for a in inputs)
            comma = "," if len(f.outputs) == 1 else ""
            names = ", ".join(f"r{i}" for i in range(len(f.outputs)))
            lines.append(f"let ({names}{comma}) = {'tuple' if comma else ''}({f.name}({values}))")
            rows = [f"permutedims(r{i})" if len(r.shape) == 2 else f"r{i}" for i, r in enumerate(f.outputs)]
            lines += [f"for x in {row} println(x) end" for row in rows]
            lines.append("end")
    (tmp_path / "main.jl").write_text("\n".join(lines))
    split_output(fs, run(julia, "--startup-file=no", "main.jl", cwd=tmp_path))


class FromOne:
    """An array whose indices start at one."""

    def __init__(self, array):
        self.array = np.asarray(array, dtype=float)

    def _at(self, key):
        key = key if isinstance(key, tuple) else (key,)
        assert all(k >= 1 for k in key)
        return tuple(k - 1 for k in key)

    def __getitem__(self, key):
        return float(self.array[self._at(key)])

    def __setitem__(self, key, value):
        self.array[self._at(key)] = value


def python_of(julia: str) -> str:
    """An expression of Julia as one of Python: c ? a : b stands in parentheses of its own."""
    open_groups = [""]
    for letter in julia:
        if letter == "(":
            open_groups.append("")
        elif letter == ")":
            inner = open_groups.pop()
            choice = re.fullmatch(r"(.*) \? (.*) : (.*)", inner, re.DOTALL)
            inner = f"{choice[2]} if {choice[1]} else {choice[3]}" if choice else inner
            open_groups[-1] += f"({inner})"
        else:
            open_groups[-1] += letter
    (text,) = open_groups
    return re.sub(r"!(?!=)", " not ", text.replace("&&", "and").replace("||", "or"))


def julia_table(table, orders, *at):
    """The piecewise cubic polynomials that Julia's jd_table evaluates, by NumPy."""
    grids = [np.array(table[n]) for n in "xy"[: len(at)]]
    cells, offsets = [], []
    for grid, x, order in zip(grids, at, orders):
        inside = np.clip(x, grid[0], grid[-1]) if table["hold"] else x
        if inside != x and order:
            return 0.0
        cells.append(int(np.clip(np.searchsorted(grid, inside, "right") - 1, 0, len(grid) - 2)))
        offsets.append(inside - grid[cells[-1]])
    c = np.array(table["c"]).reshape(*(len(g) - 1 for g in grids), *(4 for _ in grids))[tuple(cells)]
    for order, s in zip(reversed(orders), reversed(offsets)):
        c = polynomial.polyval(s, polynomial.polyder(np.moveaxis(c, -1, 0), order))
    return float(c)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_julia_read_as_python(name):
    """The numbers of Julia's straight lines and tables without Julia, which Debian does not have."""
    f = FUNCTIONS[name]
    text = re.sub(r"#.*", "", print_function(f, "julia"))
    space = {n: getattr(math, n) for n in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor")}
    space |= {f"jd_{n}": getattr(math, n) for n in ("sqrt", "log", "asin", "acos", "pow")}
    space |= {"atan": lambda y, x=1.0: math.atan2(y, x), "sign": lambda x: float(np.sign(x)), "jd_table": julia_table}
    for table, content in re.findall(r"const (\w+) = \((.*?)\n\)", text, re.DOTALL):
        space[table] = eval(f"dict({content})", {"true": True, "false": False})
    head, body = re.search(rf"function {f.name}!\(([\w, ]+)\)\n(.*?)\n    return", text, re.DOTALL).groups()
    lines = [python_of(line.strip()) for line in body.splitlines() if line.strip() and "fill!" not in line]
    results = [np.zeros((len(r.expressions), STATES)) for r in f.outputs]
    for k in range(STATES):
        made = [FromOne(np.zeros(r.shape or (1,))) for r in f.outputs]
        given = [FromOne(a[:, k]) for a in states(f)]
        exec("\n".join(lines), space | dict(zip(head.split(", "), [*made, *given], strict=True)))
        for result, array in zip(results, made):
            result[:, k] = array.array.ravel()
    compare(f, results)


def test_julia_text():
    """What can be checked without Julia: structure, indices from one, guarded functions, balanced blocks."""
    text = print_function(FUNCTIONS["everything"], "julia")
    assert "function everything!(M, y, s, k1, q, v, t, p)" in text and "M[1, 1] = " in text and "M[2, 3] = " in text
    assert "[0]" not in text and "jd_sqrt(x) = x >= 0 ? sqrt(x) : oftype(float(x), NaN)" in text
    code = re.sub(r"#.*", "", text)
    openings = re.findall(r"^\s*(?:function|if|for|let|while)\b", code, flags=re.M)
    assert len(openings) == len(re.findall(r"^\s*end\b", code, flags=re.M))
    assert code.count("(") == code.count(")") and code.count("[") == code.count("]")


# --- what all have in common -------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", [x for x in LANGUAGES if x not in ("latex", "text")])
def test_header_and_blocks(language):
    f = FUNCTIONS["everything"]
    text = print_function(f, language)
    n, once = f.operations(), f.prepare_operations()
    assert f"{n.adds} additions, {n.mults} multiplications, {n.divs} divisions, {n.functions} function calls" in text
    assert f"Once for given parameters: {once.adds} additions, {once.mults} multiplications" in text
    for needed in (
        "All operations",
        "Function everything",
        "q.2 (position)",
        "angles [rad]",
        "a matrix",
        "a note",
        "2 x 3",
    ):
        assert needed in text
    assert text.index("values of parameters alone") < text.index("values of the state")
    assert max(map(len, text.splitlines())) < 260 and language in SUFFIXES


def test_each_shared_value_is_assigned_once():
    for language in ("c", "python", "fortran", "rust"):
        text = print_function(FUNCTIONS["large"], language)
        names = re.findall(r"^\s*(?:const double |let )?([sctk]_*\d+) = ", text, flags=re.M)
        assert len(names) == len(set(names)) > 100
        f = FUNCTIONS["large"]
        counted = f.operations() + f.prepare_operations()
        assert len(re.findall(r"\bsin\(|\.sin\(", text)) + len(re.findall(r"\bcos\(|\.cos\(", text)) == counted.functions


def test_a_value_used_with_a_changed_sign_is_computed_once():
    x, y = S.symbols("x y", "position")
    product = S.sin(x) * S.tan(y)
    outputs = (-product, S.exp(-product), S.maximum(-product, x))
    f = SymbolicFunction("f", (Argument("q", (x, y)),), (Result("r", outputs, (3,)),))
    for language in ("c", "python", "fortran", "matlab", "julia"):
        text = print_function(f, language)
        assert len(re.findall(r"\bsin\(", text)) == 1 and len(re.findall(r"\btan\(", text)) == 1


def test_names_are_made_legal():
    x = S.symbols("a b", "position")
    e = x[0] * S.sin(x[1]) + S.sin(x[1])
    f = SymbolicFunction("1 bad-name", (Argument("lambda", x[:1]), Argument("t1", x[1:])), (Result("T1", (e,), (1,)),))
    for language in LANGUAGES:
        assert print_function(f, language)
    assert "def x1_bad_name(lambda_, t1):" in print_function(f, "python")
    assert "subroutine x1_bad_name(lambda, t1, T1_)" in print_function(f, "fortran")
    space: dict = {}
    exec(print_function(f, "python"), space)
    assert space["x1_bad_name"]([2.0], [0.5])[0] == pytest.approx(3 * np.sin(0.5))


def test_unknown_language_lists_the_choices():
    with pytest.raises(InputError, match=r"cobol.*c, python, jax, matlab, julia, fortran"):
        print_function(FUNCTIONS["large"], "cobol")
    with pytest.raises(InputError, match="split"):
        print_function(FUNCTIONS["large"], "julia", split=True)
    assert print_function(FUNCTIONS["large"], "Octave") == print_function(FUNCTIONS["large"], "matlab")


def test_function_without_inputs_or_parameters():
    f = SymbolicFunction("constants", (Argument("q", ()),), (Result("r", (S.constant(-2.0), S.constant(0.0)), (2,)),))
    for language in LANGUAGES:
        assert "2" in print_function(f, language)
    space: dict = {}
    exec(print_function(f, "python"), space)
    assert space["constants"]([]).tolist() == [-2.0, 0.0]
    assert "CONSTANTS_KEPT 0" in print_function(f, "c", split=True)


@pytest.mark.parametrize("language", LANGUAGES)
def test_large_functions_print(language):
    """Deep and large graphs: no recursion limit (the work is one pass over the nodes)."""
    x = S.symbols("x y", "position")
    e = x[0]
    for i in range(20_000):
        e = S.sin(e) + x[1] if i % 2 else e * x[0]
    f = SymbolicFunction("deep", (Argument("x", tuple(x)),), (Result("r", (e,), (1,)),))
    if language in ("text", "latex"):
        wide = S.constant(0.0)
        for i in range(3000):
            wide = wide + S.sin(float(i + 1) * x[0])
        f = SymbolicFunction("wide", (Argument("x", tuple(x)),), (Result("r", (wide,), (1,)),))
    assert len(print_function(f, language)) > 20_000


# --- equations for people ----------------------------------------------------------------------------------------


def test_text():
    m, l, g = S.symbols("m l g")
    q, w = S.symbol("q", "position"), S.symbol("w", "velocity")
    x10, x2 = S.symbols("x10 x2")
    cases = {
        m * l * l * S.sin(q) ** 2 * w * w / 2: "0.5*m*l^2*sin(q)^2*w^2",
        q - m: "q - m",
        -(q + w): "-w - q",
        -(m - l): "l - m",
        1 - m: "1 - m",
        m - 1: "m - 1",
        m / (l * g): "m/(g*l)",
        (m + l) ** 2: "(m + l)^2",
        2 * (m + l) * q: "2*(m + l)*q",
        m * l / 3: "m*l/3",
        x10 + x2: "x2 + x10",
        m**2.5: "m^2*sqrt(m)",
        m**g: "m^g",
        (m + l) ** g: "(m + l)^g",
        -m / l: "-m/l",
        1 / m: "1/m",
        S.atan2(-q, w): "atan2(-q, w)",
        m * (l - g) / (l + g): "(l - g)*m/(g + l)",
        S.where(q < w, 1, -2.5): "where(q < w, 1, -2.5)",
        m**3 + 3 * m * m * l: "m^3 + 3*m^2*l",
        ~(q < w): "not(q < w)",
    }
    for e, text in cases.items():
        got = to_text(e)
        assert got == text
    assert repr(m * l) == "m*l" and to_text(m + l + g + q, limit=6) == "m + g…"


def test_text_means_what_it_says(rng):
    """Read back by Python, the text has the value of the expression."""
    names = [f"x{i}" for i in range(5)]
    space = {op: getattr(np, op) for op in ("sin", "cos", "sqrt", "exp")} | {"abs": abs}
    f = large(60)
    x = [*f.inputs[0].symbols, *f.inputs[1].symbols]
    at = dict(zip([*names, "p1", "p2"], rng.uniform(0.5, 1.5, 7)))
    checked = 0
    for e in S.topological(f.expressions):
        text = to_text(e)
        if len(text) < 5000:
            checked += 1
            got = eval(text.replace("^", "**"), space, at)
            want = float(S.evaluate(e, dict(zip(x, at.values()))))
            assert got == pytest.approx(want, rel=1e-11, abs=1e-11)
    assert checked > 40


def test_latex_names():
    cases = {
        "omega_dot": r"\dot{\omega}",
        "q1": "q_{1}",
        "theta12": r"\theta_{12}",
        "I_xx": "I_{xx}",
        "m": "m",
        "m_cart": r"m_{\mathrm{cart}}",
        "q1_ddot": r"\ddot{q}_{1}",
        "knee.angle": r"\mathrm{knee}_{\mathrm{angle}}",
        "φ2": r"\phi_{2}",
        "x_hat": r"\hat{x}",
        "Lambda": r"\Lambda",
    }
    assert {name: symbol_latex(name) for name in cases} == cases


def test_latex():
    m, l1 = S.symbols("m l1")
    q, w = S.symbol("q", "position"), S.symbol("omega", "velocity")
    cases = {
        m * l1**2 * S.sin(q) ** 2 * w**2 / 2: r"\frac{1}{2} m l_{1}^{2} \sin^{2}(q) \omega^{2}",
        m / (l1 + 1): r"\frac{m}{l_{1} + 1}",
        S.sqrt(m * l1): r"\sqrt{m l_{1}}",
        3 * m / (4 * l1): r"\frac{3 m}{4 l_{1}}",
        S.sin(m / l1): r"\sin\left(\frac{m}{l_{1}}\right)",
        abs(q): r"\left|q\right|",
        m**q: "{m}^{q}",
        (m + l1) ** 2: "(l_{1} + m)^{2}",
        2.5e-9 * m: r"2.5 \cdot 10^{-9} m",
        S.exp(-q): r"\exp(-q)",
        S.where(q < 0, q, m): r"\begin{cases} q & \text{if } q < 0 \\ m & \text{otherwise} \end{cases}",
        1 / S.cos(q) ** 2: r"\frac{1}{\cos^{2}(q)}",
    }
    for e, text in cases.items():
        assert to_latex(e) in (text, text.replace("l_{1} + m", "m + l_{1}"))
    page = print_function(FUNCTIONS["everything"], "latex")
    assert page.count("{") == page.count("}") and page.count(r"\left") == page.count(r"\right") and r"\begin{align*}" in page
    named = print_function(FUNCTIONS["large"], "latex")
    assert "x_{1} &= " in named and len(named) < 200_000
