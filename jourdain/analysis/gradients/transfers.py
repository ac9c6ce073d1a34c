"""Exact gradients of linear systems: entries of A, B, C, D and frequency responses.

Changes y = (δq, δv, δv̇, δz, δλ) of small motions meet K y = b, where K holds the linear equations and either which independent quantity is given (entries) or the pencil at s = 2πif
(responses).  What is read is H = o·y + o_u δu; with the left solution Kᵀw = o, dH = d(o·y + o_u δu) − wᵀ d(K y − b): one second directional derivative of the
equations and of what is read, taken from the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.functions.linearisation import POINT, implicit_terms
from ...formalisms.functions.tree import multiplier_symbols
from ...native.function import Function
from ...symbolic.derivatives import jvp
from ...symbolic.expr import Expr, symbol
from ...symbolic.graph import free_symbols
from ..linearise import LinearSystem
from .expressions import parsed
from .runs import NotCarried

if TYPE_CHECKING:
    from ..design.criteria import Criterion
    from .states import About


def place(names: Sequence[str], given: int | str, what: str) -> int:
    """The number of a row or column."""
    if isinstance(given, str):
        if given not in names:
            raise InputError(f"criterion {what}: there is no '{given}'; there are {', '.join(names)}")
        return list(names).index(given)
    if not -len(names) <= given < len(names):
        raise InputError(f"criterion {what}: there is no number {given}; there are {len(names)}")
    return int(given) % len(names)


def entry_places(linear: LinearSystem, c: Criterion) -> tuple[str, int, int]:
    """The matrix, the row and the column of an entry."""
    matrix, what = c.options["matrix"], str(c)
    rows = linear.states if matrix in "AB" else linear.outputs
    columns = linear.states if matrix in "AC" else linear.inputs
    return matrix, place(rows, c.options["row"], what), place(columns, c.options["column"], what)


def response_place(frequencies: np.ndarray, values: np.ndarray, c: Criterion) -> int:
    """The number of the frequency that a response is about."""
    wanted = c.options["frequency"]
    if wanted is None:
        return int(np.argmax(np.abs(values)))
    k = int(np.argmin(np.abs(frequencies - wanted)))
    if abs(frequencies[k] - wanted) > 1e-9 * max(abs(wanted), 1e-300):
        raise InputError(
            f"criterion '{c}': {wanted:g} Hz is none of the frequencies of the analysis (the nearest is {frequencies[k]:g} Hz)"
        )
    return k


def part_of(value: complex, part: str) -> float:
    """A part of a complex number."""
    return float({"abs": abs(value), "phase": np.angle(value), "real": value.real, "imag": value.imag}[part])


class Transfers:
    """What small motions about a state give back, with its derivatives by all variables."""

    def __init__(self, about: About, linear: LinearSystem, outputs: Any) -> None:
        self.about, self.linear, self.outputs = about, linear, outputs

    def row(self, c: Criterion) -> np.ndarray:
        """Derivatives of one criterion by all variables."""
        if c.kind == "entry":
            matrix, i, j = entry_places(self.linear, c)
            return self._slopes(self._read(matrix, i), *self._given(j, matrix in "BD")).real
        result = self.about.result
        k = response_place(result.frequencies, result.values, c)
        H = complex(result.values[k])
        A, slope = self.about.pencil
        K = A + 2j * np.pi * float(result.frequencies[k]) * slope
        slopes = self._slopes(self._read("C", 0), K, 0, 1.0)
        part = c.options["part"]
        if part in ("real", "imag"):
            return np.asarray(getattr(slopes, part))
        along = np.conj(H) * slopes
        return np.asarray(along.real / abs(H) if part == "abs" else along.imag / abs(H) ** 2)

    def _read(self, matrix: str, row: int) -> Expr:
        """What a row of a matrix reads."""
        eq, system = self.about.eq, self.about.system
        positions, velocities = self.about.independent
        if matrix in "AB":
            if row < len(positions):
                return eq.v[positions[row]]
            row -= len(positions)
            return eq.a[velocities[row]] if row < len(velocities) else eq.state_rates[row - len(velocities)]
        name = self.linear.outputs[row]
        given = self.outputs[name] if isinstance(self.outputs, dict) else name
        try:
            found = eq.resolve([given if isinstance(given, Expr) else parsed(system, f"'{given}'", {})])[0]
        except InputError as error:
            raise NotCarried(f"{self.about.name}: output '{name}' is not carried ({error}); use method='differences'") from None
        forces = {s.id for s in multiplier_symbols(eq)}
        held, roll = self.about.rows
        if len(held) + len(roll) < len(eq.rows) and any(s.id in forces for s in free_symbols([found])):
            raise NotCarried(f"{self.about.name}: output '{name}' speaks of forces that redundant constraints leave undetermined")
        return found

    def _given(self, j: int, input_: bool) -> tuple[np.ndarray, int, float]:
        """The equations in which states are given; the number of the given input, or of the state counted among the last rows."""
        A, _ = self.about.pencil
        n, nz = self.about.system.nv, self.about.system.nz
        positions, velocities = self.about.independent
        ind = len(positions) + len(velocities)
        K = A.copy()
        K[len(A) - ind - nz :] = 0.0
        K[len(A) - ind - nz : len(A) - ind, 3 * n : 3 * n + nz] = np.eye(nz)
        for i, c in enumerate([*positions, *(n + c for c in velocities)]):
            K[len(A) - ind + i, c] = 1.0
        if input_:
            return K, j, 1.0
        return K, (len(A) - ind + j if j < ind else len(A) - ind - nz + j - ind), 0.0

    def _slopes(self, read: Expr, K: np.ndarray, j: int, driven: float) -> np.ndarray:
        """dH by all variables, of a given state (``driven`` 0: a row of K), or of a unit of the j-th chosen input."""
        about, n, nz = self.about, self.about.system.nv, self.about.system.nz
        held, roll = about.rows
        kept = [*held, *roll]
        positions, velocities = about.independent
        size, last = len(K), len(K) - len(positions) - len(velocities)
        u, right = np.zeros(about.system.nu), np.zeros(size)
        if driven:
            u[list(about.system.model.inputs).index(self.linear.inputs[j])] = 1.0
            d = about.d
            right[:last] = -np.concatenate([d["ru"] @ u, d["hu"][held] @ u, d["wu"][kept] @ u, d["gu"][kept] @ u, d["fu"] @ u])
            if not np.iscomplexobj(K):
                right[last - nz : last] = 0.0
        else:
            right[j] = 1.0
        scale = 1.0 / np.maximum(np.abs(K).max(axis=1), 1e-300)
        y = np.linalg.solve(scale[:, None] * K, scale * right)
        first, second = self._functions(read)
        o = self._row_of(first)
        w = scale * np.linalg.solve((scale[:, None] * K).T, o.astype(K.dtype))
        lam = np.zeros(len(about.residual.rows), K.dtype)
        lam[kept] = y[3 * n + nz :]
        along = np.concatenate([y[: 3 * n + nz], lam, u.astype(K.dtype)])
        arrays = [about.point.arrays()[k] for k in POINT]
        found = np.zeros(len(about.wrt), complex)
        for i, name in enumerate(about.wrt):
            change = about.row_of(about.changes[name], about.changes[name]["p"])
            parts = [np.ravel(second(*arrays, np.ascontiguousarray(part), change)) for part in (along.real, along.imag)]
            moved = parts[0] + 1j * parts[1]
            rows = moved[:-1].copy()
            if not np.iscomplexobj(K):  # entries: states of the user are given, and meet no equation
                rows[last - nz :] = 0.0
            found[i] = moved[-1] - w[: len(rows)] @ rows
        return found

    def _row_of(self, first: Function) -> np.ndarray:
        """∂(what is read)/∂y."""
        about, n, nz = self.about, self.about.system.nv, self.about.system.nz
        held, roll = about.rows
        m = len(about.residual.rows)
        arrays = [about.point.arrays()[k] for k in POINT]
        columns = [*range(3 * n + nz), *(3 * n + nz + i for i in (*held, *roll))]
        found = np.zeros(len(columns))
        for i, c in enumerate(columns):
            unit = np.zeros(3 * n + nz + m + about.system.nu)
            unit[c] = 1.0
            found[i] = np.ravel(first(*arrays, unit))[0]
        return found

    def _functions(self, read: Expr) -> tuple[Function, Function]:
        """The first change of what is read, and the second one of the equations and of it."""
        about, eq = self.about, self.about.eq
        held, roll = about.rows
        kept = [*held, *roll]
        symbols, along = about.direction("d", ())
        driven = tuple(symbol(f"du_{i}", "input") for i in range(len(eq.u)))
        along |= dict(zip(eq.u, driven, strict=True))
        row = (*symbols, *driven)
        p = about.system.parameter_vector
        first = about.kept(("read", read.id), lambda: about.compiled("read_tangent", {"d": row}, jvp([read], along), eq.p, p))

        def make() -> Function:
            terms = implicit_terms(eq, multiplier_symbols(eq))
            rows = [*terms["r"], *(terms["h"][i] for i in held), *(terms[k][i] for k in "wg" for i in kept), *terms["f"], read]
            second, then = about.direction("e", self._chosen)
            return about.compiled("read_second_tangent", {"d": row, "e": second}, jvp(jvp(rows, along), then), eq.p, p)

        both = about.kept(("read twice", read.id, tuple(about.parameters), *held, *roll), make)
        for f in (first, both):
            if eq.p:
                f.set_parameters(p)
        return first, both

    @cached_property
    def _chosen(self) -> list[Expr]:
        return [self.about.system.model.parameter_set[n].symbol for n in self.about.parameters]


__all__ = ["Transfers", "entry_places", "part_of", "response_place"]
