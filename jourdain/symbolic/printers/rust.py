"""Rust: one function on fixed-size arrays, without allocation."""

from __future__ import annotations

from collections.abc import Sequence

from ..function import SymbolicFunction
from ..tables import Table
from .program import ATOM, Language, Piece, Program, header, straight_line, words, wrap_list, wrapped

_METHODS = {op: op for op in words("sqrt exp sin cos tan asin acos atan sinh cosh tanh floor abs atan2 min max")}
_METHODS |= {"log": "ln", "pow": "powf"}


class Rust(Language):
    """Rust."""

    name = "rust"
    keywords = frozenset(
        words(
            "as break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub "
            "ref return self static struct super trait true type unsafe use where while async await f64"
        )
    )
    truth = "f64::from(u8::from({0}))"

    def call(self, op: str, operands: Sequence[Piece]) -> Piece:
        """A method of the first operand."""
        if op == "sign":
            return Piece(f"jd_sign({operands[0].text})", ATOM)
        first = operands[0]
        receiver = wrapped(first, ATOM)
        if receiver[0].isdigit():
            receiver += "_f64"
        elif first.text[0] == "-" and first.text[1].isdigit():
            receiver = f"({first.text}_f64)"
        return Piece(f"{receiver}.{_METHODS[op]}({', '.join(p.text for p in operands[1:])})", ATOM)

    def branch(self, condition: str, a: str, b: str) -> Piece:
        """An if expression."""
        return Piece(f"(if {condition} {{ {a} }} else {{ {b} }})", ATOM)

    def lookup(self, function: str, table: str, content: Table, orders: Sequence[int], operands: Sequence[str]) -> str:
        """Call of jd_table1 or jd_table2."""
        upper = table.upper()
        grids = "".join(f"&{upper}_{axis}, " for axis in "XY"[: len(orders)])
        hold = str(content.extrapolate == "hold").lower()
        return f"jd_table{len(orders)}({grids}&{upper}_C, {hold}, {', '.join(map(str, orders))}, {', '.join(operands)})"


_SIGN = """fn jd_sign(x: f64) -> f64 {
    f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))
}
"""

_TABLE = """fn jd_polynomial(c: &[f64], order: u32, s: f64) -> f64 {
    match order {
        0 => ((c[3]*s + c[2])*s + c[1])*s + c[0],
        1 => (3.0*c[3]*s + 2.0*c[2])*s + c[1],
        2 => 6.0*c[3]*s + 2.0*c[2],
        3 => 6.0*c[3],
        _ => 0.0,
    }
}

fn jd_locate(grid: &[f64], hold: bool, x: f64) -> (usize, f64, bool) {
    let n = grid.len();
    let outside = hold && (x < grid[0] || x > grid[n - 1]);
    let x = if outside { x.max(grid[0]).min(grid[n - 1]) } else { x };
    let i = grid.partition_point(|g| *g <= x).clamp(1, n - 1) - 1;
    (i, x - grid[i], outside)
}
"""

_TABLE_1 = """fn jd_table1(gx: &[f64], c: &[f64], hold: bool, order: u32, x: f64) -> f64 {
    let (i, s, outside) = jd_locate(gx, hold, x);
    if outside && order > 0 { 0.0 } else { jd_polynomial(&c[4*i..4*i + 4], order, s) }
}
"""

_TABLE_2 = """#[allow(clippy::too_many_arguments)]
fn jd_table2(gx: &[f64], gy: &[f64], c: &[f64], hold: bool, order_x: u32, order_y: u32, x: f64, y: f64) -> f64 {
    let (i, sx, outside_x) = jd_locate(gx, hold, x);
    let (j, sy, outside_y) = jd_locate(gy, hold, y);
    if (outside_x && order_x > 0) || (outside_y && order_y > 0) {
        return 0.0;
    }
    let first = 16*(i*(gy.len() - 1) + j);
    let mut row = [0.0; 4];
    for (k, value) in row.iter_mut().enumerate() {
        *value = jd_polynomial(&c[first + 4*k..first + 4*k + 4], order_y, sy);
    }
    jd_polynomial(&row, order_x, sx)
}
"""


def _helpers(program: Program) -> list[str]:
    dimensions = {len(t.breaks) for t in program.tables}
    wanted = [
        ("sign" in program.ops, _SIGN), (bool(dimensions), _TABLE), (1 in dimensions, _TABLE_1),
        (2 in dimensions, _TABLE_2),
    ]  # fmt: skip
    lines = [line for needed, text in wanted if needed for line in ["", *text.splitlines()]]
    for table, name in program.tables.items():
        for suffix, array in [*zip("XY", table.breaks), ("C", table.coefficients)]:
            lines += ["", f"static {name.upper()}_{suffix}: [f64; {array.size}] = ["]
            lines += [*("    " + row for row in wrap_list([repr(float(v)) for v in array.flat])), "];"]
    return lines


def print_rust(f: SymbolicFunction) -> str:
    """The function in Rust; matrices are flat, row by row."""
    program = straight_line(f, Rust())
    arguments = [f"{n}: &[f64; {len(a.symbols)}]" for n, a in zip(program.inputs, f.inputs)]
    arguments += [f"{n}: &mut [f64; {len(r.expressions)}]" for n, r in zip(program.outputs, f.outputs)]
    lines = [*header(program, ["Matrices are stored row by row."])]
    lines += ["#[allow(non_snake_case, unused_variables, unused_parens, clippy::all)]"]
    lines.append(f"pub fn {program.name}({', '.join(arguments)}) {{")
    for title, assignments in (("values of parameters alone", program.prepare), ("values of the state", program.body)):
        if assignments:
            lines += [f"    // {title}", *(f"    let {target} = {value};" for target, value in assignments)]
    for i, name in enumerate(program.outputs):
        lines += [f"    {name}[{k}] = {value};" for k, value in enumerate(program.results[i])]
    return "\n".join([*lines, "}", *_helpers(program)]) + "\n"
