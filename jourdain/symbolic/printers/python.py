"""Python with NumPy, and with JAX."""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from ..function import SymbolicFunction
from ..tables import Table
from .program import ATOM, Language, Piece, Program, header, straight_line, wrap_list


class Python(Language):
    """Python with an array module (``np`` or ``jnp``)."""

    name = "python"
    comment = "#"
    keywords = frozenset([*keyword.kwlist, "np", "jnp", "jax", "abs", "min", "max"])
    module = "np"

    def call(self, op: str, operands: Sequence[Piece]) -> Piece:
        """A function of the array module."""
        names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
        names |= {"min": "minimum", "max": "maximum"}
        return Piece(f"{self.module}.{names.get(op, op)}({', '.join(p.text for p in operands)})", ATOM)

    def branch(self, condition: str, a: str, b: str) -> Piece:
        """np.where."""
        return Piece(f"{self.module}.where({condition}, {a}, {b})", ATOM)

    def _logical_operation(self, op: str, operands: Sequence[Piece]) -> Piece:
        return Piece(f"{self.module}.logical_{op}({', '.join(p.text for p in operands)})", ATOM, True)

    def _numeric(self, piece: Piece) -> Piece:
        return self.branch(piece.text, "1.0", "0.0") if piece.logical else piece

    def lookup(self, function: str, table: str, content: Table, orders: Sequence[int], operands: Sequence[str]) -> str:
        """Call of the general look-up routine."""
        return f"_table(_{table}, {tuple(orders)}, {', '.join(operands)})"


class Jax(Python):
    """Python with JAX."""

    name = "jax"
    module = "jnp"


_TABLE = '''def _polynomial(c, order, s):
    if order == 0:
        return ((c[3]*s + c[2])*s + c[1])*s + c[0]
    if order == 1:
        return (3.0*c[3]*s + 2.0*c[2])*s + c[1]
    if order == 2:
        return 6.0*c[3]*s + 2.0*c[2]
    return 6.0*c[3] + 0.0*s if order == 3 else 0.0*s


def _locate(grid, hold, x):
    """Piece in which x lies, distance from its start, and whether the end value is held there."""
    inside = np.clip(x, grid[0], grid[-1]) if hold else x
    i = np.clip(np.searchsorted(grid, inside, side="right") - 1, 0, len(grid) - 2)
    return i, inside - grid[i], inside != x


def _table(table, orders, *x):
    """Value of a piecewise polynomial, or its partial derivative of the given orders."""
    grids, coefficients, hold = table
    found = [_locate(grid, hold, value) for grid, value in zip(grids, x)]
    piece = coefficients[tuple(i for i, _, _ in found)]
    c = [piece[..., k] for k in range(4)] if len(x) == 1 else [
        _polynomial([piece[..., k, n] for n in range(4)], orders[1], found[1][1]) for k in range(4)]
    held = sum((outside & (order > 0) for (_, _, outside), order in zip(found, orders)), start=False)
    return np.where(held, 0.0, _polynomial(c, orders[0], found[0][1]))
'''


def _tables(program: Program, module: str) -> list[str]:
    if not program.tables:
        return []
    lines = _TABLE.replace("np.", f"{module}.").splitlines() + ["", ""]
    for table, name in program.tables.items():
        arrays = []
        for array in (*table.breaks, table.coefficients):
            rows = ["        " + row for row in wrap_list([repr(float(v)) for v in array.flat])]
            end = f"]).reshape({array.shape})" if array.ndim > 1 else "])"
            arrays.append("\n".join([f"{module}.array([", *rows, "    " + end]))
        lines += [f"_{name} = (", f"    ({', '.join(arrays[:-1])},),", f"    {arrays[-1]},"]
        lines += [f"    {table.extrapolate == 'hold'},", ")", ""]
    return [*lines, ""]


def _assignments(program: Program) -> list[str]:
    lines: list[str] = []
    for title, assignments in (("values of parameters alone", program.prepare), ("values of the state", program.body)):
        if assignments:
            lines += [f"    # {title}", *(f"    {target} = {value}" for target, value in assignments)]
    return lines


def _definition(program: Program) -> list[str]:
    f = program.function
    summary = f"Return {', '.join(program.outputs)}; every input may carry further axes behind the first (many states)."
    lines = [f"def {program.name}({', '.join(program.inputs)}):", f'    """{summary}"""']
    module = program.language.module if isinstance(program.language, Python) else "np"
    used = [n for n, a in zip(program.inputs, f.inputs) if a.symbols]
    return lines + [f"    {n} = {module}.asarray({n}, dtype=float)" for n in used]


def print_python(f: SymbolicFunction) -> str:
    """The function in Python with NumPy."""
    program = straight_line(f, Python())
    lines = [*header(program), "import numpy as np", "", "", *_tables(program, "np"), *_definition(program)]
    shapes = ", ".join(f"{n}.shape[1:]" for n, a in zip(program.inputs, f.inputs) if a.symbols)
    lines += [f"    states = np.broadcast_shapes({shapes})", *_assignments(program)]
    for i, (name, r) in enumerate(zip(program.outputs, f.outputs)):
        lines.append(f"    {name} = np.zeros({tuple(r.shape)} + states)")
        for index, value, e in program.assignments(i):
            if not e.is_zero:
                lines.append(f"    {name}[{', '.join(map(str, index)) or '...'}] = {value}")
    lines.append(f"    return {', '.join(program.outputs)}")
    return "\n".join(lines) + "\n"


def print_jax(f: SymbolicFunction) -> str:
    """The function in Python with JAX: pure, so that jit, grad, vmap and shard apply."""
    program = straight_line(f, Jax())
    extra = ['Double precision needs jax.config.update("jax_enable_x64", True).']
    lines = [*header(program, extra), "import jax.numpy as jnp", "", "", *_tables(program, "jnp")]
    lines += [*_definition(program), *_assignments(program)]
    for i, (name, r) in enumerate(zip(program.outputs, f.outputs)):
        rows = wrap_list(program.results[i])
        lines.append(f"    {name} = jnp.stack(jnp.broadcast_arrays(*map(jnp.asarray, [")
        lines += ["        " + row for row in rows]
        lines.append("    ])))")
        lines.append(f"    {name} = {name}.reshape({tuple(r.shape)} + {name}.shape[1:])")
    lines.append(f"    return {', '.join(program.outputs)}")
    return "\n".join(lines) + "\n"
