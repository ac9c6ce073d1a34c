"""MATLAB and GNU Octave: a function file."""

from __future__ import annotations

from collections.abc import Sequence

from ..function import SymbolicFunction
from ..tables import Table
from .program import Language, header, straight_line, words, wrap_list

_SAME = words("sqrt exp log sin cos tan asin acos atan sinh cosh tanh sign floor abs")


class Matlab(Language):
    """MATLAB and GNU Octave."""

    name = "matlab"
    comment = "%"
    keywords = frozenset(
        words(
            "break case catch classdef continue else elseif end for function global if otherwise parfor persistent return "
            "spmd switch try while sqrt exp log sin cos tan asin acos atan sinh cosh tanh sign floor abs min max zeros "
            "double endfunction endif unwind_protect do until"
        )
    )
    negation, unequal, truth = "~({0})", "~=", "double({0})"
    calls = {op: op + "({0})" for op in _SAME} | {
        "atan2": "atan2({0}, {1})", "min": "min({0}, {1})", "max": "max({0}, {1})", "pow": "power({0}, {1})",
        "where": "jd_where({0}, {1}, {2})",
    }  # fmt: skip

    def element(self, array: str, index: int) -> str:
        """Arrays start at 1."""
        return f"{array}({index + 1})"

    def lookup(self, function: str, table: str, content: Table, orders: Sequence[int], operands: Sequence[str]) -> str:
        """Call of the general look-up routine."""
        return f"jd_table({table}(), [{' '.join(map(str, orders))}], {', '.join(operands)})"


_WHERE = """function y = jd_where(condition, a, b)
  if condition
    y = a;
  else
    y = b;
  end
end
"""

_TABLE = """function y = jd_polynomial(c, order, s)
  switch order
    case 0
      y = ((c(4)*s + c(3))*s + c(2))*s + c(1);
    case 1
      y = (3.0*c(4)*s + 2.0*c(3))*s + c(2);
    case 2
      y = 6.0*c(4)*s + 2.0*c(3);
    case 3
      y = 6.0*c(4);
    otherwise
      y = 0.0;
  end
end

function [piece, s, outside] = jd_locate(grid, hold, x)
  n = numel(grid);
  outside = hold && (x < grid(1) || x > grid(n));
  if outside
    x = min(max(x, grid(1)), grid(n));
  end
  piece = 1;
  high = n;
  while high - piece > 1
    middle = floor((piece + high)/2);
    if x < grid(middle)
      high = middle;
    else
      piece = middle;
    end
  end
  s = x - grid(piece);
end

function z = jd_table(table, orders, x, y)
  [i, sx, outside] = jd_locate(table.x, table.hold, x);
  if outside && orders(1) > 0
    z = 0.0;
    return
  end
  if nargin == 3
    z = jd_polynomial(table.c(4*i - 3:4*i), orders(1), sx);
    return
  end
  [j, sy, outside] = jd_locate(table.y, table.hold, y);
  if outside && orders(2) > 0
    z = 0.0;
    return
  end
  row = zeros(1, 4);
  for k = 1:4
    first = 16*((i - 1)*(numel(table.y) - 1) + j - 1) + 4*(k - 1) + 1;
    row(k) = jd_polynomial(table.c(first:first + 3), orders(2), sy);
  end
  z = jd_polynomial(row, orders(1), sx);
end
"""


def _table_function(table: Table, name: str) -> list[str]:
    lines = [f"function t = {name}()", "  persistent kept", "  if isempty(kept)"]
    for suffix, array in [*zip("xy", table.breaks), ("c", table.coefficients)]:
        rows = wrap_list([repr(float(v)) for v in array.flat])
        lines += [f"    kept.{suffix} = [ ...", *(f"      {row} ..." for row in rows), "    ];"]
    hold = "true" if table.extrapolate == "hold" else "false"
    return [*lines, f"    kept.hold = {hold};", "  end", "  t = kept;", "end", ""]


def print_matlab(f: SymbolicFunction) -> str:
    """The function for a file ``<name>.m``; vectors are columns."""
    program = straight_line(f, Matlab())
    outputs = ", ".join(program.outputs)
    lines = [f"function [{outputs}] = {program.name}({', '.join(program.inputs)})", *header(program)]
    for title, assignments in (("values of parameters alone", program.prepare), ("values of the state", program.body)):
        if assignments:
            lines += [f"  % {title}", *(f"  {target} = {value};" for target, value in assignments)]
    for i, (name, r) in enumerate(zip(program.outputs, f.outputs)):
        shape = r.shape or (1,)
        lines.append(f"  {name} = zeros({', '.join(map(str, shape if len(shape) > 1 else (*shape, 1)))});")
        for index, value, e in program.assignments(i):
            if not e.is_zero:
                lines.append(f"  {name}({', '.join(str(k + 1) for k in index or (0,))}) = {value};")
    lines += ["end", ""]
    if "where" in program.ops:
        lines += [*_WHERE.splitlines(), ""]
    if program.tables:
        lines += [*_TABLE.splitlines(), ""]
        for table, name in program.tables.items():
            lines += _table_function(table, name)
    return "\n".join(lines)
