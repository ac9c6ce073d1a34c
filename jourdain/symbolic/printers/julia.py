"""Julia: an in-place function and one that allocates its results."""

from __future__ import annotations

from collections.abc import Sequence

from ..function import SymbolicFunction
from ..tables import Table
from .program import Language, Program, header, straight_line, words, wrap_list

_SAME = words("exp sin cos tan atan sinh cosh tanh sign floor abs")
#: Julia throws an error outside the domain of these; a branch that is not taken must not stop the program.
_GUARDED = {"sqrt": "x >= 0", "log": "x >= 0", "asin": "abs(x) <= 1", "acos": "abs(x) <= 1"}


class Julia(Language):
    """Julia."""

    name = "julia"
    comment = "#"
    keywords = frozenset(
        words(
            "baremodule begin break catch const continue do else elseif end export false finally for function global if "
            "import in isa let local macro module quote return struct true try using where while exp sin cos tan atan sqrt "
            "log asin acos abs min max zeros pi"
        )
    )
    calls = {op: op + "({0})" for op in _SAME} | {op: f"jd_{op}({{0}})" for op in _GUARDED} | {
        "atan2": "atan({0}, {1})", "min": "min({0}, {1})", "max": "max({0}, {1})", "pow": "jd_pow({0}, {1})",
        "where": "({0} ? {1} : {2})",
    }  # fmt: skip

    def element(self, array: str, index: int) -> str:
        """Arrays start at 1."""
        return f"{array}[{index + 1}]"

    def lookup(self, function: str, table: str, content: Table, orders: Sequence[int], operands: Sequence[str]) -> str:
        """Call of the general look-up routine."""
        return f"jd_table({table}, ({', '.join(map(str, orders))},), {', '.join(operands)})"


_TABLE = """function jd_polynomial(c, first, order, s)
    c0, c1, c2, c3 = c[first], c[first + 1], c[first + 2], c[first + 3]
    order == 0 && return ((c3*s + c2)*s + c1)*s + c0
    order == 1 && return (3.0*c3*s + 2.0*c2)*s + c1
    order == 2 && return 6.0*c3*s + 2.0*c2
    return order == 3 ? 6.0*c3 + 0.0*s : 0.0*s
end

function jd_locate(grid, hold, x)
    outside = hold && (x < grid[1] || x > grid[end])
    inside = outside ? clamp(x, grid[1], grid[end]) : x
    i = clamp(searchsortedlast(grid, inside), 1, length(grid) - 1)
    return i, inside - grid[i], outside
end

function jd_table(table, orders, x)
    i, s, outside = jd_locate(table.x, table.hold, x)
    return outside && orders[1] > 0 ? zero(s) : jd_polynomial(table.c, 4*i - 3, orders[1], s)
end

function jd_table(table, orders, x, y)
    i, sx, outside_x = jd_locate(table.x, table.hold, x)
    j, sy, outside_y = jd_locate(table.y, table.hold, y)
    if (outside_x && orders[1] > 0) || (outside_y && orders[2] > 0)
        return zero(sx*sy)
    end
    first = 16*((i - 1)*(length(table.y) - 1) + j - 1) + 1
    row = ntuple(k -> jd_polynomial(table.c, first + 4*(k - 1), orders[2], sy), 4)
    return jd_polynomial(row, 1, orders[1], sx)
end
"""


def _helpers(program: Program) -> list[str]:
    lines: list[str] = []
    for op, domain in _GUARDED.items():
        if op in program.ops:
            lines.append(f"jd_{op}(x) = {domain} ? {op}(x) : oftype(float(x), NaN)")
    if "pow" in program.ops:
        lines.append("jd_pow(x, y) = x >= 0 || isinteger(y) ? x^y : oftype(float(x), NaN)")
    lines += [""] if lines else []
    if program.tables:
        lines += [*_TABLE.splitlines(), ""]
    for table, name in program.tables.items():
        lines.append(f"const {name} = (")
        for suffix, array in [*zip("xy", table.breaks), ("c", table.coefficients)]:
            rows = wrap_list([repr(float(v)) for v in array.flat])
            lines += [f"    {suffix} = [", *("        " + row for row in rows), "    ],"]
        lines += [f"    hold = {'true' if table.extrapolate == 'hold' else 'false'},", ")", ""]
    return lines


def print_julia(f: SymbolicFunction) -> str:
    """The functions ``name!(results…, arguments…)`` and ``name(arguments…)``."""
    program = straight_line(f, Julia())
    inputs, outputs = ", ".join(program.inputs), ", ".join(program.outputs)
    lines = [*header(program), "", *_helpers(program)]
    lines.append(f"function {program.name}!({', '.join([*program.outputs, *program.inputs])})")
    for title, assignments in (("values of parameters alone", program.prepare), ("values of the state", program.body)):
        if assignments:
            lines += [f"    # {title}", *(f"    {target} = {value}" for target, value in assignments)]
    for i, name in enumerate(program.outputs):
        lines.append(f"    fill!({name}, 0)")
        for index, value, e in program.assignments(i):
            if not e.is_zero:
                lines.append(f"    {name}[{', '.join(str(k + 1) for k in index or (0,))}] = {value}")
    lines += [f"    return {outputs}", "end", "", f"function {program.name}({inputs})"]
    types = "".join(f", eltype({a})" for a in program.inputs)
    lines.append(f"    T = promote_type(Float64{types})")
    shapes = [", ".join(map(str, r.shape or (1,))) for r in f.outputs]
    made = ", ".join([*(f"zeros(T, {shape})" for shape in shapes), *program.inputs])
    return "\n".join([*lines, f"    return {program.name}!({made})", "end", ""])
