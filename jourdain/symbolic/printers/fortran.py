"""Fortran 2008: a module with one subroutine."""

from __future__ import annotations

from collections.abc import Sequence

from ..function import SymbolicFunction
from ..tables import Table
from .program import Language, Piece, Program, header, straight_line, words, wrap_list

_SAME = words("sqrt exp log sin cos tan asin acos atan sinh cosh tanh abs")


class Fortran(Language):
    """Fortran 2008."""

    name = "fortran"
    comment = "!"
    case_sensitive = False
    keywords = frozenset(
        words(
            "dp abs acos aint asin atan atan2 cos cosh exp floor log max merge min mod real sign sin sinh sqrt tan tanh if "
            "then else end do function subroutine module integer"
        )
    )
    conjunction, disjunction, negation, unequal = ".and.", ".or.", ".not. ({0})", "/="
    truth = "merge(1.0_dp, 0.0_dp, {0})"
    calls = {op: op + "({0})" for op in _SAME} | {
        "atan2": "atan2({0}, {1})", "min": "min({0}, {1})", "max": "max({0}, {1})", "sign": "jd_sign({0})",
        "floor": "jd_floor({0})", "where": "merge({1}, {2}, {0})", "pow": "({0})**({1})",
    }  # fmt: skip

    def number(self, value: float) -> str:
        """A literal of kind dp."""
        return f"{float(value)!r}_dp"

    def element(self, array: str, index: int) -> str:
        """Arrays start at 1."""
        return f"{array}({index + 1})"

    def call(self, op: str, operands: Sequence[Piece]) -> Piece:
        """A power gets parentheses around it as well."""
        piece = super().call(op, operands)
        return Piece(f"({piece.text})", piece.precedence) if op == "pow" else piece

    def lookup(self, function: str, table: str, content: Table, orders: Sequence[int], operands: Sequence[str]) -> str:
        """Call of jd_table1 or jd_table2."""
        grids = "".join(f"{table}_{axis}, " for axis in "xy"[: len(orders)])
        hold = ".true." if content.extrapolate == "hold" else ".false."
        return f"jd_table{len(orders)}({grids}{table}_c, {hold}, {', '.join(map(str, orders))}, {', '.join(operands)})"


_SIGN = """  elemental function jd_sign(x) result(y)
    real(dp), intent(in) :: x
    real(dp) :: y
    y = merge(1.0_dp, 0.0_dp, x > 0.0_dp) - merge(1.0_dp, 0.0_dp, x < 0.0_dp)
  end function jd_sign
"""

_FLOOR = """  elemental function jd_floor(x) result(y)
    real(dp), intent(in) :: x
    real(dp) :: y
    y = aint(x)
    if (y > x) y = y - 1.0_dp
  end function jd_floor
"""

_TABLE = """  pure function jd_polynomial(c, order, s) result(y)
    real(dp), intent(in) :: c(4), s
    integer, intent(in) :: order
    real(dp) :: y
    select case (order)
    case (0)
      y = ((c(4)*s + c(3))*s + c(2))*s + c(1)
    case (1)
      y = (3.0_dp*c(4)*s + 2.0_dp*c(3))*s + c(2)
    case (2)
      y = 6.0_dp*c(4)*s + 2.0_dp*c(3)
    case (3)
      y = 6.0_dp*c(4)
    case default
      y = 0.0_dp
    end select
  end function jd_polynomial

  pure subroutine jd_locate(grid, hold, x, s, piece, outside)
    real(dp), intent(in) :: grid(:), x
    logical, intent(in) :: hold
    real(dp), intent(out) :: s
    integer, intent(out) :: piece
    logical, intent(out) :: outside
    integer :: high, middle
    s = x
    outside = hold .and. (x < grid(1) .or. x > grid(size(grid)))
    if (outside) s = merge(grid(1), grid(size(grid)), x < grid(1))
    piece = 1
    high = size(grid)
    do while (high - piece > 1)
      middle = (piece + high)/2
      if (s < grid(middle)) then
        high = middle
      else
        piece = middle
      end if
    end do
    s = s - grid(piece)
  end subroutine jd_locate
"""

_TABLE_1 = """  pure function jd_table1(gx, c, hold, order, x) result(y)
    real(dp), intent(in) :: gx(:), c(:), x
    logical, intent(in) :: hold
    integer, intent(in) :: order
    real(dp) :: y, s
    integer :: i
    logical :: outside
    call jd_locate(gx, hold, x, s, i, outside)
    y = 0.0_dp
    if (.not. (outside .and. order > 0)) y = jd_polynomial(c(4*i - 3:4*i), order, s)
  end function jd_table1
"""

_TABLE_2 = """  pure function jd_table2(gx, gy, c, hold, order_x, order_y, x, y) result(z)
    real(dp), intent(in) :: gx(:), gy(:), c(:), x, y
    logical, intent(in) :: hold
    integer, intent(in) :: order_x, order_y
    real(dp) :: z, sx, sy, row(4)
    integer :: i, j, k, first
    logical :: outside_x, outside_y
    call jd_locate(gx, hold, x, sx, i, outside_x)
    call jd_locate(gy, hold, y, sy, j, outside_y)
    z = 0.0_dp
    if ((outside_x .and. order_x > 0) .or. (outside_y .and. order_y > 0)) return
    do k = 1, 4
      first = 16*((i - 1)*(size(gy) - 1) + j - 1) + 4*(k - 1) + 1
      row(k) = jd_polynomial(c(first:first + 3), order_y, sy)
    end do
    z = jd_polynomial(row, order_x, sx)
  end function jd_table2
"""


def continued(line: str, width: int = 110) -> list[str]:
    """A statement on as many lines as the line length of the standard asks for."""
    out: list[str] = []
    while len(line) > width:
        cut = line.rfind(" ", 40, width)
        if cut < 0:
            cut = width
        out.append(line[:cut] + "&")
        line = "      &" + line[cut:]
    return [*out, line]


def _data(program: Program) -> list[str]:
    lines: list[str] = []
    for table, name in program.tables.items():
        for suffix, array in [*zip("xy", table.breaks), ("c", table.coefficients)]:
            numbers = [f"{float(v)!r}_dp" for v in array.flat]
            lines.append(f"  real(dp), save :: {name}_{suffix}({array.size})")
            for start in range(0, len(numbers), 200):  # a statement may not have more than 255 lines
                part = numbers[start : start + 200]
                head = f"  data ({name}_{suffix}(jd_i), jd_i = {start + 1}, {start + len(part)}) / &"
                lines += [head, *("    " + row + " &" for row in wrap_list(part)), "    /"]
    return ["  integer, private :: jd_i", *lines] if lines else []


def _declarations(program: Program) -> list[str]:
    f = program.function
    lines = [f"    real(dp), intent(in) :: {n}({len(a.symbols)})" for a, n in zip(f.inputs, program.inputs)]
    for r, n in zip(f.outputs, program.outputs):
        lines.append(f"    real(dp), intent(out) :: {n}({', '.join(map(str, r.shape or (1,)))})")
    names = [name for name, _ in (*program.prepare, *program.body)]
    for row in wrap_list(names, width=90):
        lines.append(f"    real(dp) :: {row.rstrip(',')}")
    return lines


def _helpers(program: Program) -> str:
    dimensions = {len(t.breaks) for t in program.tables}
    wanted = [
        ("sign" in program.ops, _SIGN), ("floor" in program.ops, _FLOOR), (bool(dimensions), _TABLE),
        (1 in dimensions, _TABLE_1), (2 in dimensions, _TABLE_2),
    ]  # fmt: skip
    return "".join("\n" + text for needed, text in wanted if needed)


def print_fortran(f: SymbolicFunction) -> str:
    """The function as a subroutine of the module ``<name>_module``."""
    program = straight_line(f, Fortran())
    name = program.name
    lines = [*header(program), f"module {name}_module", "  implicit none", "  private", f"  public :: {name}"]
    lines += ["  integer, parameter :: dp = kind(1.0d0)", *_data(program), "contains", ""]
    lines += continued(f"  pure subroutine {name}({', '.join([*program.inputs, *program.outputs])})")
    lines += _declarations(program)
    blocks = [("values of parameters alone", program.prepare), ("values of the state", program.body)]
    for title, assignments in blocks:
        if assignments:
            lines.append(f"    ! {title}")
            for target, value in assignments:
                lines += continued(f"    {target} = {value}")
    for i, output in enumerate(program.outputs):
        lines.append(f"    {output} = 0.0_dp")
        for index, value, e in program.assignments(i):
            if not e.is_zero:
                place = ", ".join(str(k + 1) for k in index or (0,))
                lines += continued(f"    {output}({place}) = {value}")
    lines += [f"  end subroutine {name}"]
    return "\n".join(lines) + "\n" + _helpers(program) + f"end module {name}_module\n"
