"""Look-up tables of one and two variables, stored as piecewise polynomials so that derivatives are exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..reals import reals
from .expr import Expr, add, as_expr, constant, mul, nary


class Table:
    """A function given by points: piecewise polynomial between breakpoints, by the end pieces' law or value outside.

    ``breaks`` are the breakpoints of each variable, ``coefficients`` the polynomial of each piece in the local
    coordinate x − breaks[i], lowest power first: shape (pieces, 4) or (pieces_x, pieces_y, 4, 4).
    Two tables with the same content are the same table (compared by hash).
    """

    def __init__(self, name: str, breaks: tuple[np.ndarray, ...], coefficients: np.ndarray, extrapolate: str) -> None:
        self.name = name
        self.breaks = tuple(np.ascontiguousarray(b, dtype=float) for b in breaks)
        self.coefficients = np.ascontiguousarray(coefficients, dtype=float)
        self.extrapolate = extrapolate
        import hashlib  # loads a library of its own, which no model without tables needs

        digest = hashlib.sha256(extrapolate.encode())
        for array in (*self.breaks, self.coefficients):
            digest.update(array.tobytes())
        self.key = digest.hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and other.key == self.key

    def __call__(self, *x: Any) -> Expr:
        """The table's value at an expression."""
        if len(x) != len(self.breaks):
            raise InputError(f"table '{self.name}' takes {len(self.breaks)} argument(s), got {len(x)}")
        return nary("table", [as_expr(e) for e in x], (self, (0,) * len(x)))

    def value(self, orders: tuple[int, ...], *x: np.ndarray) -> np.ndarray:
        """Value (or the partial derivative of the given orders) at arrays of points."""
        where_inside = [self._locate(axis, np.asarray(values, dtype=float)) for axis, values in enumerate(x)]
        index = tuple(i for i, _, _ in where_inside)
        piece = self.coefficients[index]
        if len(x) == 1:
            _, local, outside = where_inside[0]
            out = _polynomial([piece[..., k] for k in range(4)], local, orders[0])
            return np.where(outside, 0.0, out) if orders[0] else out
        (_, lx, ox), (_, ly, oy) = where_inside
        rows = [_polynomial([piece[..., a, b] for b in range(4)], ly, orders[1]) for a in range(4)]
        out = _polynomial(rows, lx, orders[0])
        zero = (ox & (orders[0] > 0)) | (oy & (orders[1] > 0))
        return np.where(zero, 0.0, out)

    def _locate(self, axis: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Piece, local coordinate, and whether the value is held constant there."""
        grid = self.breaks[axis]
        outside = np.zeros(np.shape(x), dtype=bool)
        if self.extrapolate == "hold":
            outside = (x < grid[0]) | (x > grid[-1])
            x = np.clip(x, grid[0], grid[-1])
        i = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, len(grid) - 2)
        return i, x - grid[i], outside


class ParametricTable:
    """A table of one variable whose ordinates are expressions: y(x) = Σ yᵢ Nᵢ(x) with the tables Nᵢ that are 1 at one breakpoint and 0 at all others.

    So ordinates may be parameters, and derivatives by them are exact.  Pieces between breakpoints are those of a table of numbers.
    """

    def __init__(self, name: str, ordinates: tuple[Expr, ...], shapes: tuple[Table, ...]) -> None:
        self.name, self.ordinates, self.shapes = name, ordinates, shapes

    def __call__(self, x: Any) -> Expr:
        """The table's value at an expression."""
        at = as_expr(x)
        found = constant(0.0)
        for y, shape in zip(self.ordinates, self.shapes, strict=True):
            found = add(found, mul(y, shape(at)))
        return found


def _shapes(name: str, grid: np.ndarray, kind: str, extrapolate: str) -> tuple[Table, ...]:
    """Tables that are 1 at one breakpoint and 0 at the others; hats are as short as they can be."""
    found = []
    for i in range(len(grid)):
        unit = np.zeros(len(grid))
        unit[i] = 1.0
        low, high = (max(i - 1, 0), min(i + 2, len(grid))) if kind == "linear" and extrapolate == "hold" else (0, len(grid))
        part = grid[low:high]
        found.append(Table(name, (part,), _pieces(part, unit[low:high], kind), extrapolate))
    return tuple(found)


def _polynomial(c: list[Any], s: Any, order: int) -> Any:
    if order == 0:
        return ((c[3] * s + c[2]) * s + c[1]) * s + c[0]
    if order == 1:
        return (3.0 * c[3] * s + 2.0 * c[2]) * s + c[1]
    if order == 2:
        return 6.0 * c[3] * s + 2.0 * c[2]
    return 6.0 * c[3] + 0.0 * s if order == 3 else 0.0 * s


def table(
    x: Any, y: Any = None, z: Any = None, *, kind: str = "spline", extrapolate: str = "hold", name: str = "table"
) -> Table | ParametricTable:
    """A look-up table usable in any law: ``table(x, y)`` of one variable, ``table(x, y, z)`` of two.

    Ordinates ``y`` of one variable may be expressions, such as parameters: an input with such a table is a control in parameters.  ``x`` may also be the path of a CSV file with two columns.  ``kind`` is "linear" or "spline" (natural cubic, twice
    continuously differentiable); outside the data the end value is held or, with ``extrapolate="extend"``, the end
    polynomial goes on.

    >>> gas = table([0.0, 0.1, 0.2], [5e5, 2e5, 1e5], kind="linear")
    """
    if isinstance(x, (str, Path)) or not any(isinstance(e, Expr) for e in np.asarray(y if z is None else z, dtype=object).ravel()):
        return number_table(x, y, z, kind=kind, extrapolate=extrapolate, name=name)
    _check_words(name, kind, extrapolate)
    if z is not None:
        raise InputError(f"table '{name}': values of a table of two variables must be numbers; expressions are taken in one variable")
    grid, ordinates = _grid(name, "x", x), tuple(_ordinate(name, e) for e in y)
    if len(ordinates) != len(grid):
        raise InputError(f"table '{name}': {len(ordinates)} values for {len(grid)} breakpoints")
    return ParametricTable(name, ordinates, _shapes(name, grid, kind, extrapolate))


def number_table(x: Any, y: Any = None, z: Any = None, *, kind: str = "spline", extrapolate: str = "hold", name: str = "table") -> Table:
    """A look-up table of numbers; see :func:`table`."""
    if isinstance(x, (str, Path)):
        name = Path(x).stem if name == "table" else name
        x, y = _read_csv(Path(x))
    _check_words(name, kind, extrapolate)
    gx = _grid(name, "x", x)
    if z is None:
        values = _values(name, y, (len(gx),))
        return Table(name, (gx,), _pieces(gx, values, kind), extrapolate)
    gy = _grid(name, "y", y)
    values = _values(name, z, (len(gx), len(gy)))
    along_y = _pieces(gy, values.T, kind)  # (ny-1, 4, nx)
    both = _pieces(gx, np.moveaxis(along_y, -1, 0), kind)  # (nx-1, 4, ny-1, 4)
    return Table(name, (gx, gy), np.moveaxis(both, 2, 1), extrapolate)


def _check_words(name: str, kind: str, extrapolate: str) -> None:
    if kind not in ("linear", "spline"):
        raise InputError(f"table '{name}': kind '{kind}' is unknown; use 'linear' or 'spline'")
    if extrapolate not in ("hold", "extend"):
        raise InputError(f"table '{name}': extrapolate '{extrapolate}' is unknown; use 'hold' or 'extend'")


def _pieces(grid: np.ndarray, values: np.ndarray, kind: str) -> np.ndarray:
    """Polynomial coefficients (pieces, 4, …), lowest power first, interpolating ``values`` along axis 0."""
    h = np.diff(grid).reshape((-1,) + (1,) * (values.ndim - 1))
    slope = np.diff(values, axis=0) / h
    if kind == "linear" or len(grid) < 3:
        zero = np.zeros_like(slope)
        return np.stack([values[:-1], slope, zero, zero], axis=1)
    m = np.zeros_like(values)  # second derivatives of the natural spline
    m[1:-1] = _solve_spline(np.diff(grid), 6.0 * np.diff(slope, axis=0))
    c1 = slope - h * (2.0 * m[:-1] + m[1:]) / 6.0
    return np.stack([values[:-1], c1, m[:-1] / 2.0, np.diff(m, axis=0) / (6.0 * h)], axis=1)


def _solve_spline(h: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of the tridiagonal, diagonally dominant system of the spline by forward elimination (Thomas)."""
    x = right.copy()
    diagonal = 2.0 * (h[:-1] + h[1:])
    for i in range(1, len(x)):
        factor = h[i] / diagonal[i - 1]
        diagonal[i] -= factor * h[i]
        x[i] -= factor * x[i - 1]
    x[-1] /= diagonal[-1]
    for i in range(len(x) - 2, -1, -1):
        x[i] = (x[i] - h[i + 1] * x[i + 1]) / diagonal[i]
    return x


def _grid(name: str, axis: str, x: Any) -> np.ndarray:
    grid = reals(x, f"table '{name}': {axis}")
    if grid.ndim != 1 or len(grid) < 2:
        raise InputError(f"table '{name}': {axis} must be a list of at least two numbers, got shape {grid.shape}")
    if not np.all(np.isfinite(grid)):
        raise InputError(f"table '{name}': {axis} contains a value that is not finite")
    bad = np.flatnonzero(np.diff(grid) <= 0)
    if len(bad):
        i = int(bad[0])
        raise InputError(f"table '{name}': {axis} must increase, but {axis}[{i}] = {grid[i]:g} ≥ {axis}[{i + 1}] = {grid[i + 1]:g}")
    return grid


def _ordinate(name: str, given: Any) -> Expr:
    try:
        return as_expr(given)
    except TypeError as error:
        raise InputError(f"table '{name}': {error}") from None


def _values(name: str, values: Any, shape: tuple[int, ...]) -> np.ndarray:
    array = reals(values, f"table '{name}': values")
    if array.shape != shape:
        raise InputError(f"table '{name}': values have shape {array.shape}, the grid asks for {shape}")
    if not np.all(np.isfinite(array)):
        raise InputError(f"table '{name}': a value is not finite")
    return array


def _read_csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    if not path.exists():
        raise InputError(f"table file '{path}' does not exist; give the path of a CSV file with two columns")
    try:
        data = np.genfromtxt(path, delimiter=",", comments="#")
    except ValueError as error:
        raise InputError(f"table file '{path}': {error}; it must have two columns separated by a comma") from None
    if data.ndim == 2 and np.isnan(data[0]).all():
        data = data[1:]
    if data.ndim != 2 or data.shape[1] != 2 or np.isnan(data).any():
        raise InputError(f"table file '{path}' must hold two columns of numbers separated by a comma, with at most one line of titles")
    return data[:, 0], data[:, 1]
