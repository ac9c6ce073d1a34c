"""The linear equations of a system as expressions of positions, velocities, inputs and parameters, about any consistent state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..formalisms.explicit import Notation
from ..formalisms.functions.symbolic_linearisation import LinearExpressions, Table
from ..formalisms.loops.elimination import Block, elimination_order
from ..model.values import value
from ..shown import Typeset
from ..symbolic.expr import ZERO, Expr
from ..symbolic.graph import evaluate, operations, substitute
from ..systems.constraints import velocity_column
from ..systems.state import State
from ..systems.tree.partition import Partition
from .equations.residual import Residual, closed_state, split

if TYPE_CHECKING:
    from ..systems.system import System

#: Entries longer than this are not written out by ``print``.
READABLE = 240


@dataclass(frozen=True)
class SymbolicLinearSystem(Typeset, Mapping[str, Table]):
    """M δv̇ + G δv + K δq + L δz = B δu in independent coordinates, entry by entry an expression.

    ``found["K"][i][j]`` is an entry; ``A``, ``B``, ``C``, ``D`` are the matrices of the first order.  Rates of user states have the
    matrices K_x, G_x, L_x, B_x (and M_x where they read accelerations), outputs K_y …, positions δq̇ = N_q δq + N_v δv.
    """

    system: System = field(repr=False)
    #: independent positions and velocities, user states, in the order of the first-order state
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    matrices: dict[str, Table] = field(repr=False)
    _expressions: LinearExpressions = field(repr=False)
    _replaced: dict[Expr, Expr] = field(repr=False)

    def __getitem__(self, name: str) -> Table:
        if name in self.matrices:
            return self.matrices[name]
        raise InputError(f"there is no matrix '{name}'; there are {', '.join(self.matrices)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.matrices)

    def __len__(self) -> int:
        return len(self.matrices)

    @cached_property
    def _first_order(self) -> dict[str, Table]:
        tables = self._expressions.state_space()
        return {n: _replace(t, self._replaced) for n, t in tables.items()}

    @property
    def A(self) -> Table:
        """δẋ = A δx + …"""
        return self._first_order["A"]

    @property
    def B(self) -> Table:
        """Columns of the inputs in δẋ."""
        return self._first_order["B"]

    @property
    def C(self) -> Table:
        """δy = C δx + …"""
        return self._first_order["C"]

    @property
    def D(self) -> Table:
        """Columns of the inputs in δy."""
        return self._first_order["D"]

    def numbers(self, state: Any, u: Mapping[str, float] | None = None, a: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """All matrices (A, B, C and D too) with the values of a closed state, inputs and, along a motion, accelerations."""
        s, eq = self.system, self.system.equations_of_motion
        at = closed_state(s, state)
        known: dict[Expr, Any] = {eq.t: at.t}
        accelerations = np.zeros(s.nv) if a is None else a
        arrays = (at.q, at.v, accelerations, at.z, s.inputs_at(at, u), s.parameter_vector)
        for symbols, values in zip((eq.q, eq.v, eq.a, eq.z, eq.u, eq.p), arrays, strict=True):
            known |= zip(symbols, values, strict=True)
        found = {}
        for name, table in {**self.matrices, **self._first_order}.items():
            flat = evaluate([e for row in table for e in row], known)
            width = len(table[0]) if table else 0
            found[name] = np.array([float(x) for x in flat]).reshape(len(table), width)
        return found

    def text(self, largest: int = READABLE) -> str:
        """The entries of M, G, K, L and B that are not zero; of those longer than ``largest`` characters the operations are counted."""
        notation = Notation(self.system.equations_of_motion.tree, None, lambda e: e)
        lines, shown = [], []
        for name in ("M", "G", "K", "L", "B"):
            for i, row in enumerate(self.matrices[name], 1):
                for j, e in enumerate(row, 1):
                    if e is ZERO:
                        continue
                    count = operations([e]).flops
                    text = notation.text(e) if count <= largest else ""
                    brief = 0 < len(text) <= largest
                    lines.append(f"{name}[{i},{j}] = {text if brief else f'({count} operations)'}")
                    shown += [e] if brief else []
        legend = notation.legend(shown)
        head = f"independent: {', '.join(self.states)}"
        return "\n".join([head, *([legend] if legend else []), *lines])

    def latex(self) -> str:
        """The matrices that are not zero in LaTeX."""
        notation = Notation(self.system.equations_of_motion.tree, None, lambda e: e)
        rows = []
        for name in ("M", "G", "K", "L", "B"):
            table = self.matrices[name]
            if any(e is not ZERO for row in table for e in row):
                body = r" \\ ".join(" & ".join(notation.latex(e) for e in row) for row in table)
                rows.append(rf"{name} &= \begin{{bmatrix}} {body} \end{{bmatrix}}")
        return "\\begin{align}\n" + " \\\\\n".join(rows) + "\n\\end{align}"

    def __str__(self) -> str:
        return self.text()


def symbolic_linearisation(
    system: System,
    at: Mapping[str, Any] | None = None,
    state: Any = None,
    preferred: Sequence[str] = (),
    outputs: Mapping[str, Expr] | None = None,
    motion: bool = False,
) -> SymbolicLinearSystem:
    """M, G, K, L, B and A, B, C, D as expressions, for trees and for systems with loops, rolling and quaternions.

    ``at`` gives coordinates, velocities or inputs numbers or expressions of parameters.  ``state`` (closed) only decides which
    coordinates are independent and in which order the others are eliminated; ``preferred`` names some that should be.
    Accelerations are zero unless ``motion`` is True: then independent accelerations stay in the matrices, which hold along
    any motion.  ``outputs`` are expressions by name, the model's outputs by default.

    >>> import jourdain as jd
    >>> m = jd.Model("pendulum")
    >>> k, l = m.parameters(k=3.0, l=1.0)
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -l)), axis="y")
    >>> spring = m.joint_spring(hinge, k)
    >>> print(m.compile().symbolic_linearisation({"hinge": 0.0}))
    independent: hinge.angle, hinge.angle_rate
    g = -gravity_z
    M[1,1] = 2*l^2
    K[1,1] = k + 2*g*l
    """
    eq = system.equations_of_motion
    read = {n: o.expression for n, o in system.model.outputs.items()} if outputs is None else dict(outputs)
    columns = [velocity_column(system, n) for n in preferred]
    closed = closed_state(system, state) if eq.rows or state is not None else None
    position, velocity = _orders(system, closed, columns) if eq.rows and closed is not None else ((), ())
    expressions = LinearExpressions(eq, position, velocity, list(read.values()))
    replaced = ({} if motion else dict.fromkeys(eq.a, ZERO)) | _given(system, at or {})
    plain = system.configuration.displacement_names
    states = [plain[j] for j in expressions.Q.independent] + [system.velocity_names[j] for j in expressions.V.independent]
    tables = {n: _replace(t, replaced) for n, t in expressions.matrices.items()}
    return SymbolicLinearSystem(
        system, [*states, *system.model.states], list(system.model.inputs), list(read), tables, expressions, replaced
    )


def _orders(system: System, state: State, preferred: Sequence[int]) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Which rows give which dependent positions and velocities, as the linear system in numbers chooses them."""
    eq = system.equations_of_motion
    residual = Residual(system)
    J = residual.jacobian(residual.point(state))
    parts = split(system, J, preferred)
    pattern = np.zeros(J.shape, dtype=bool)
    for i, j in eq.constraint_jacobian:
        pattern[i, j] = True

    def order(p: Partition) -> tuple[Block, ...]:
        return elimination_order(J, pattern, sorted(p.active), sorted(p.dependent))

    return order(parts.position), order(parts.velocity)


def _given(system: System, at: Mapping[str, Any]) -> dict[Expr, Expr]:
    eq = system.equations_of_motion
    symbols = {s.name: s for s in (*eq.q, *eq.v, *eq.a, *eq.z, *eq.u)}
    found = {}
    for name, item in at.items():
        full = name if name in symbols else system.coordinate_names[system.configuration.index(name)]
        found[symbols[full]] = value(item, f"'{name}'")
    return found


def _replace(table: Table, known: Mapping[Expr, Expr]) -> Table:
    return [substitute(row, known) for row in table]
