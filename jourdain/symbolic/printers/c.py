"""C99: nothing but math.h, no allocation, reentrant."""

from __future__ import annotations

from collections.abc import Sequence

from ..function import SymbolicFunction
from ..tables import Table
from .program import Language, Program, argument_names, header, is_parameters, straight_line, words, wrap_list

_SAME = words("sqrt exp log sin cos tan asin acos atan sinh cosh tanh floor")


class C(Language):
    """C99."""

    name = "c"
    comment = " *"
    keywords = frozenset(
        words(
            "auto break case char const continue default do double else enum extern float for goto if inline int long "
            "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
            "main j0 j1 jn y0 y1 yn gamma log sin cos tan sqrt exp pow div time abs floor fabs"
        )
    )
    calls = {op: op + "({0})" for op in _SAME} | {
        "abs": "fabs({0})", "atan2": "atan2({0}, {1})", "pow": "pow({0}, {1})", "min": "fmin({0}, {1})",
        "max": "fmax({0}, {1})", "sign": "jd_sign({0})", "where": "({0} ? {1} : {2})",
    }  # fmt: skip

    def lookup(self, function: str, table: str, content: Table, orders: Sequence[int], operands: Sequence[str]) -> str:
        """Call of jd_table1 or jd_table2."""
        grids = "".join(f"{table}_{axis}, {len(b)}, " for axis, b in zip("xy", content.breaks))
        hold = int(content.extrapolate == "hold")
        numbers = ", ".join(map(str, orders))
        return f"jd_table{len(orders)}({grids}{table}_c, {hold}, {numbers}, {', '.join(operands)})"


_SIGN = """static double jd_sign(double x)
{
    return (double)((x > 0.0) - (x < 0.0));
}
"""

_TABLE = """static double jd_polynomial(const double *c, int order, double s)
{
    switch (order) {
    case 0: return ((c[3]*s + c[2])*s + c[1])*s + c[0];
    case 1: return (3.0*c[3]*s + 2.0*c[2])*s + c[1];
    case 2: return 6.0*c[3]*s + 2.0*c[2];
    case 3: return 6.0*c[3];
    default: return 0.0;
    }
}

/* Piece in which x lies; x becomes the distance from its start. Outside the grid the end value may be held. */
static int jd_locate(const double *grid, int n, int hold, double *x, int *outside)
{
    int low = 0, high = n - 1;
    *outside = hold && (*x < grid[0] || *x > grid[n - 1]);
    if (*outside)
        *x = *x < grid[0] ? grid[0] : grid[n - 1];
    while (high - low > 1) {
        int middle = (low + high)/2;
        if (*x < grid[middle])
            high = middle;
        else
            low = middle;
    }
    *x -= grid[low];
    return low;
}
"""

_TABLE_1 = """static double jd_table1(const double *gx, int nx, const double *c, int hold, int order, double x)
{
    int outside, i = jd_locate(gx, nx, hold, &x, &outside);
    return outside && order > 0 ? 0.0 : jd_polynomial(c + 4*i, order, x);
}
"""

_TABLE_2 = """static double jd_table2(const double *gx, int nx, const double *gy, int ny, const double *c, int hold,
                        int order_x, int order_y, double x, double y)
{
    double row[4];
    int k, outside_x, outside_y;
    int i = jd_locate(gx, nx, hold, &x, &outside_x), j = jd_locate(gy, ny, hold, &y, &outside_y);
    if ((outside_x && order_x > 0) || (outside_y && order_y > 0))
        return 0.0;
    for (k = 0; k < 4; k++)
        row[k] = jd_polynomial(c + 16*(i*(ny - 1) + j) + 4*k, order_y, y);
    return jd_polynomial(row, order_x, x);
}
"""


def helpers(program: Program) -> list[str]:
    """The small routines and data the program needs, guarded so that several printed functions fit one file."""
    parts: list[tuple[str, str]] = []
    if "sign" in program.ops:
        parts.append(("JD_SIGN", _SIGN))
    dimensions = {len(t.breaks) for t in program.tables}
    if dimensions:
        parts.append(("JD_TABLE", _TABLE))
        parts += [(f"JD_TABLE_{n}", text) for n, text in ((1, _TABLE_1), (2, _TABLE_2)) if n in dimensions]
    lines: list[str] = []
    for guard, text in parts:
        lines += [f"#ifndef {guard}", f"#define {guard}", *text.rstrip().splitlines(), "#endif", ""]
    for table, name in program.tables.items():
        arrays = [*zip("xy", table.breaks), ("c", table.coefficients)]
        for suffix, array in arrays:
            lines.append(f"static const double {name}_{suffix}[{array.size}] = {{")
            lines += ["    " + row for row in wrap_list([repr(float(v)) for v in array.flat])]
            lines += ["};", ""]
    return lines


def _signature(name: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    arguments = [f"const double *{a}" for a in inputs] + [f"double *{r}" for r in outputs]
    return f"void {name}({', '.join(arguments) or 'void'})"


def _body(program: Program, inputs: Sequence[str]) -> list[str]:
    text = [f"    const double {name} = {value};" for name, value in program.body]
    for i, r in enumerate(program.outputs):
        text += [f"    {r}[{k}] = {value};" for k, value in enumerate(program.results[i])]
    return _silence(inputs, text)


def _silence(inputs: Sequence[str], text: list[str]) -> list[str]:
    joined = "\n".join(text)
    return [*(f"    (void){a};" for a in inputs if f"{a}[" not in joined), *text]


def print_c(f: SymbolicFunction, split: bool = False) -> str:
    """The function in C; ``split`` gives ``name_prepare(p, k)``, to be called once, and ``name(…, k, …)``."""
    language = C()
    keep = language.identifier("k", map(language.identifier, argument_names(f))) if split else ""
    program = straight_line(f, language, keep)
    extra = ["Matrices are stored row by row; arrays must not overlap."]
    if split:
        extra.append(f"{program.name}_prepare fills {keep} ({len(program.kept)} values) when parameters change.")
    lines = ["/*", *header(program, extra), " */", "#include <math.h>", "", *helpers(program)]
    parameters = [n for a, n in zip(f.inputs, program.inputs) if is_parameters(a)]
    prepared = [f"    const double {name} = {value};" for name, value in program.prepare]
    mark = "    /* values of parameters alone */"
    if split:
        lines += [f"#define {program.name.upper()}_KEPT {len(program.kept)}", ""]
        mixed = [n for a, n in zip(f.inputs, program.inputs) if not is_parameters(a)]
        all_inputs = [n for n in program.inputs if n in parameters or any(f"{n}[" in v for _, v in program.prepare)]
        body = prepared + [f"    {keep}[{i}] = {value};" for i, value in enumerate(program.kept)]
        unused = [] if program.kept else [f"    (void){keep};"]
        lines += [_signature(f"{program.name}_prepare", all_inputs, [keep]), "{"]
        lines += [*unused, *_silence(all_inputs, body), "}", ""]
        inputs = [*mixed, keep]
        lines += [_signature(program.name, inputs, program.outputs), "{", *_body(program, inputs), "}"]
    else:
        body = [mark, *prepared, "    /* values of the state */"] if prepared else []
        used = _silence(program.inputs, body + _body(program, []))
        lines += [_signature(program.name, program.inputs, program.outputs), "{", *used, "}"]
    return "\n".join(lines) + "\n"
