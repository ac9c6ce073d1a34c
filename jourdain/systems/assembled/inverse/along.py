"""The equations of an assembled system at many instants at once: balances, constraints and their derivatives along a motion.

What :class:`.Equations` evaluates at one state is evaluated here for a row of states; boundary-value problems ask for all of them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

from ....elements.instant import ElementInstant
from ....errors import InputError
from ....native import engine
from ....native.function import Function, compile_function
from ....symbolic.derivatives import jvp
from ....symbolic.expr import ONE, Expr
from ....symbolic.graph import evaluate, free_symbols
from ..instant import CENTRED, MOMENT, constants_of, native_entries
from ..servo import servo_rows

if TYPE_CHECKING:
    from ..program import Instance
    from ..system import AssembledSystem


@dataclass
class Entries:
    """Entries of one sparse matrix for each instant: values (instants × entries), rows and columns."""

    values: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    def at(self, k: int, shape: tuple[int, int]) -> csr_matrix:
        """The matrix of one instant."""
        return csr_matrix((self.values[k], (self.rows, self.columns)), shape=shape)


class Triplets:
    """Entries of a sparse matrix; those in columns below zero belong to what is given."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self._parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def put(self, x: np.ndarray, i: np.ndarray, j: np.ndarray) -> None:
        """Adds entries; shapes are broadcast."""
        x, i, j = (a.ravel() for a in np.broadcast_arrays(x, i, j))
        kept = j >= 0
        self._parts.append((x[kept], i[kept], j[kept]))

    def matrix(self) -> csc_matrix:
        """All of them."""
        x, i, j = (np.concatenate(p) for p in zip(*self._parts, strict=True))
        return csc_matrix(coo_matrix((x, (i, j)), shape=self.shape))


@dataclass
class Balances:
    """f + Ḡᵀλ (instants × free coordinates), Φ (instants × rows), and with them ∂/∂q, ∂/∂q̇ of the first, Ḡ and G = ∂Φ/∂q."""

    force: np.ndarray
    value: np.ndarray
    stiffness: Entries
    damping: Entries
    acting: Entries
    rows: Entries


class Along:
    """Evaluates :class:`Balances` of a system; rows that follow from others at its initial state are left out, servo rows are the last."""

    def __init__(self, system: AssembledSystem, what: str) -> None:
        self.system, self.equations = system, system.equations
        _refuse(system, what)
        eq = self.equations
        if system.dropped is None:
            system.dropped = system.start.redundant(system.q0, system.v0, 0.0)
        servo = servo_rows(eq)
        kept = np.array([name not in system.dropped for name in eq.row_names], bool)
        order = np.concatenate([np.flatnonzero(kept & ~servo), np.flatnonzero(kept & servo)])
        #: Rows in the order of the multipliers here, and how many of them, the last ones, are servo constraints.
        self.row_order, self.inputs = order, int((kept & servo).sum())
        self._row = np.full(len(kept), -1)
        self._row[order] = np.arange(len(order))
        self.free = np.flatnonzero(eq.free)
        self._column = np.full(eq.nq, -1)
        self._column[self.free] = np.arange(self.free.size)
        self.size, self.count = self.free.size, len(order)
        mass = eq.at(system.q0, np.zeros(eq.nq), 0.0).mass
        self.mass = csr_matrix(mass[self.free][:, self.free])
        self._course: dict[int, list[list[Expr]]] = {}

    @property
    def names(self) -> list[str]:
        """Names of the rows, "element.row"."""
        return [".".join(self.equations.row_names[k]) for k in self.row_order]

    def full(self, Q: np.ndarray) -> np.ndarray:
        """All coordinates, those that are fixed among them."""
        found = np.tile(self.system.q0, (len(Q), 1))
        found[:, self.free] = Q
        return found

    # -- numbers -----------------------------------------------------------------------------------------------------------

    def __call__(self, Q: np.ndarray, V: np.ndarray, t: np.ndarray, lam: np.ndarray) -> Balances:
        """Balances at free coordinates Q and rates V (instants × coordinates), times and multipliers."""
        q, v = self.full(Q), np.zeros((len(Q), self.equations.nq))
        v[:, self.free] = V
        force, value = np.zeros((len(Q), self.equations.nq)), np.zeros((len(Q), self.count))
        parts: list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]] = [[], [], [], []]
        first = 0
        for step, members in self.equations.groups:
            first = self._group(step, members, first, (q, v, t, lam), force, value, parts)
        for part in self.equations.native:
            found = [part.forces(x) for x in q]
            np.add.at(force.T, part.index, np.moveaxis(np.array([f for f, _ in found]), 0, -1))
            _, i, j = native_entries(found[0][1], part.index)
            parts[0].append((np.array([K.ravel() for _, K in found]), i, j))
        entries = [self._joined(p, k, len(Q)) for k, p in enumerate(parts)]
        return Balances(force[:, self.free], value, *entries)

    def rows_at(self, Q: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Φ alone."""
        q = self.full(Q)
        value, first = np.zeros((len(Q), self.count)), 0
        for step, members in self.equations.groups:
            m, count = len(step.row_names), len(members)
            if m:
                found = self._rows(step, members, self.equations.local_coordinates(step, members), q, t)
                self._values(value, first, found[:, :, :m])
            first += m * count
        return value

    def course_rates(self, q: np.ndarray, t: np.ndarray, order: int) -> np.ndarray:
        """Derivatives by time alone of the servo rows at fixed coordinates: orders 0 … ``order`` × instants × servo rows."""
        found = np.zeros((order + 1, len(t), self.count))
        first = 0
        for step, members in self.equations.groups:
            m, count = len(step.row_names), len(members)
            if step.servo:
                p, index = step.packing, self.equations.local_coordinates(step, members)
                known: dict[Any, Any] = dict(zip(p.scalars, (MOMENT, (t - MOMENT)[:, None], 1.0, 1.0, 0.0), strict=True))
                known |= {e: q[index[:, k]] for k, e in enumerate(p.q1)} | {e: q[index[:, k]] for k, e in enumerate(p.q0)}
                known |= dict.fromkeys((*p.offset, *p.excess, *p.multipliers), 0.0) | constants_of(step, members)
                levels = self._course.setdefault(id(step), [list(step.row_residuals)])
                while len(levels) <= order:
                    levels.append(jvp(levels[-1], {p.scalars[1]: ONE}))
                for k in range(order + 1):
                    values = [np.broadcast_to(x, (len(t), count)) for x in evaluate(levels[k], known)]
                    self._values(found[k], first, np.moveaxis(np.array(values), 0, -1))
            first += m * count
        return found[:, :, self.count - self.inputs :]

    def _group(
        self, step: ElementInstant, members: list[Instance], first: int, at: tuple[np.ndarray, ...], force: np.ndarray, value: np.ndarray,
        parts: list[list[tuple[np.ndarray, np.ndarray, np.ndarray]]],
    ) -> int:  # fmt: skip
        """Adds the elements of one type; returns the number of the next row."""
        q, v, t, lam = at
        n, m, count = step.element.size, len(step.row_names), len(members)
        index = self.equations.local_coordinates(step, members)
        local = first + np.arange(count)[:, None] * m + np.arange(m)
        every = np.zeros((len(q), len(self.equations.row_names)))
        every[:, self.row_order] = lam
        moment, back, theta = (CENTRED, 0.5 * CENTRED, 0.5) if step.spans else (MOMENT, MOMENT, 1.0)
        scalars = (moment, t - back, 1.0, theta, 0.0)
        out = _called(_functions(step)[0], scalars, members, q[:, index], v[:, index], every[:, local])
        np.add.at(force.T, index.T, np.moveaxis(out[:, :, :n], 0, -1).swapaxes(0, 1))
        begun = n
        for k, entries in enumerate((*step.stiffness_and_damping, step.acting_entries)):
            for (i, j), x in zip(entries, np.moveaxis(out[:, :, begun : begun + len(entries)], -1, 0), strict=True):
                parts[k].append((x, index[:, i] if k < 2 else local[:, i], index[:, j]))
            begun += len(entries)
        if m:
            found = self._rows(step, members, index, q, t)
            self._values(value, first, found[:, :, :m])
            for (k, i), x in zip(step.row_entries, np.moveaxis(found[:, :, m:], -1, 0), strict=True):
                parts[3].append((x, local[:, k], index[:, i]))
        return first + m * count

    def _rows(self, step: ElementInstant, members: list[Instance], index: np.ndarray, q: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Φ and entries of G: instants × instances × numbers."""
        f = _functions(step)[1]
        assert f is not None
        none = np.zeros((len(q), len(members), len(step.row_names)))
        return _called(f, (MOMENT, t - MOMENT, 1.0, 1.0, 0.0), members, q[:, index], np.zeros_like(q[:, index]), none)

    def _values(self, value: np.ndarray, first: int, found: np.ndarray) -> None:
        """Puts values (instants × instances × rows) of a type where its rows are."""
        count, m = found.shape[1:]
        at = self._row[first + np.arange(count * m)]
        value[:, at[at >= 0]] = found.reshape(len(found), -1)[:, at >= 0]

    def _joined(self, parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], kind: int, instants: int) -> Entries:
        """Entries of one matrix, in the numbers of free coordinates (and of rows, for those of constraints)."""
        if not parts:
            return Entries(np.zeros((instants, 0)), np.zeros(0, int), np.zeros(0, int))
        values = np.concatenate([x for x, _, _ in parts], axis=1)
        i, j = (np.concatenate([p[k] for p in parts]) for k in (1, 2))
        rows = (self._column if kind < 2 else self._row)[i]
        columns = self._column[j]
        kept = (rows >= 0) & (columns >= 0)
        return Entries(values[:, kept], rows[kept], columns[kept])


_FUNCTIONS: dict[Any, tuple[Function, Function | None]] = {}


def _functions(step: ElementInstant) -> tuple[Function, Function | None]:
    """The compiled equations of a type, made once in a process."""
    key = step.element.key
    with engine.lock:
        if key not in _FUNCTIONS:
            forces, rows = step.along_motion()
            _FUNCTIONS[key] = compile_function(forces), None if rows is None else compile_function(rows)
    return _FUNCTIONS[key]


def _called(f: Function, scalars: tuple[Any, ...], members: list[Instance], *tables: np.ndarray) -> np.ndarray:
    """Results (instants × instances × numbers) from scalars of an instant and tables (instants × instances × numbers)."""
    instants, count = tables[0].shape[:2]
    parts = [np.broadcast_to(np.reshape(x, (-1, 1, 1)), (instants, count, 1)) for x in scalars]
    numbers = np.array([m.numbers for m in members]).reshape(count, -1)
    packed = np.concatenate([*parts, *tables, np.broadcast_to(numbers, (instants, *numbers.shape))], axis=2)
    found = f(packed.reshape(instants * count, -1))
    return np.asarray(found).reshape(instants, count, -1)


def _refuse(system: AssembledSystem, what: str) -> None:
    """Systems whose equations at an instant do not tell the whole."""
    eq = system.equations
    if eq.first.any():
        raise InputError(f"{what}: first-order coordinates such as '{eq.coordinate_names[int(np.argmax(eq.first))]}' are not served")
    for step, members in eq.groups:
        if step.rolling or step.element.history:
            why = "rolls" if step.rolling else "has a memory of its own"
            raise InputError(f"{what}: element '{members[0].name}' {why}; take inversion='causal'")
        rates = {s.id for s in (*step.packing.offset, *step.packing.excess)}
        if step.servo and any(s.id in rates for s in free_symbols(step.row_residuals)):
            raise InputError(f"{what}: an output depends on rates; prescribe positions, whose courses have all derivatives")
    for part in eq.native:
        if part.element.viscous:
            raise InputError(f"{what}: the viscosity of '{part.members[0].name}' is known over steps alone; leave it out")


__all__ = ["Along", "Balances", "Entries", "Triplets"]
