"""Linear equations as expressions about any consistent state of any model: loops, rolling and quaternions included.

    M δv̇_u + G δv_u + K δq_u + L δz = B δu,   δq̇_u = N_q δq_u + N_v δv_u,   δż = K_x δq_u + G_x δv_u + L_x δz + B_x δu + M_x δv̇_u

Independent positions q_u and velocities v_u are taken by elimination with pivots that suit a state (see
:mod:`.elimination`); dependent velocities and accelerations and the multipliers are replaced by what they are there, so
that the matrices hold positions, independent velocities and accelerations, inputs, user states and parameters alone.  A
quaternion's change is the rotation vector in the child's axes (three numbers).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ...symbolic.derivatives import jvp
from ...symbolic.expr import KINDS, ONE, ZERO, Expr, add, mul, neg, sub
from ...symbolic.graph import substitute
from ..equations import Equations
from ..loops.elimination import Block, NullSpace, solve_blocks, solve_dense
from .linearisation import implicit_terms, multiplier_symbols

Column = list[Expr]
Table = list[list[Expr]]


class LinearExpressions:
    """Matrices of the linear equations; ``position`` and ``velocity`` say which rows give which dependent columns."""

    def __init__(self, eq: Equations, position: Sequence[Block], velocity: Sequence[Block], outputs: Sequence[Expr] = ()) -> None:
        self.eq = eq
        self.lam = multiplier_symbols(eq)
        self.Q, self.V = self._space(position), self._space(velocity)
        self.terms = implicit_terms(eq, self.lam) | {"y": eq.resolve(list(outputs))}

    def _space(self, blocks: Sequence[Block]) -> NullSpace:
        held = {j for _, columns in blocks for j in columns}
        free = [j for j in range(self.eq.tree.nv) if j not in held]
        return NullSpace(self.eq.constraint_jacobian, blocks, free, self.eq.tree.nv)

    # -- directions -----------------------------------------------------------------------------------------------

    def _change(self, dq: Column | None = None, dv: Column | None = None, da: Column | None = None) -> dict[Expr, Expr]:
        """Change of every symbol for a displacement along the velocities and changes of v and v̇."""
        eq = self.eq
        found: dict[Expr, Expr] = {}
        if dq is not None:
            found |= zip(eq.q, substitute(eq.position_rates, dict(zip(eq.v, dq, strict=True))), strict=True)
        for symbols, change in ((eq.v, dv), (eq.a, da)):
            if change is not None:
                found |= zip(symbols, change, strict=True)
        return {s: e for s, e in found.items() if e is not ZERO}

    def _closing(self, term: str, change: Mapping[Expr, Expr]) -> Column:
        """Change of the dependent velocities (or accelerations) that makes up for that of a constraint term."""
        return self.V.particular({i: neg(e) for i, e in enumerate(jvp(self.terms[term], change))})

    @cached_property
    def _positions(self) -> list[tuple[Column, Column, Column]]:
        """δq, δv and δv̇ for a unit of each independent position."""
        found = []
        for dq in _columns(self.Q):
            dv = self._closing("w", self._change(dq))
            found.append((dq, dv, self._closing("g", self._change(dq, dv))))
        return found

    @cached_property
    def _velocities(self) -> list[tuple[Column, Column]]:
        """δv and δv̇ for a unit of each independent velocity."""
        return [(dv, self._closing("g", self._change(None, dv))) for dv in _columns(self.V)]

    @cached_property
    def _directions(self) -> dict[str, list[dict[Expr, Expr]]]:
        eq = self.eq
        return {
            "K": [self._change(*parts) for parts in self._positions],
            "G": [self._change(None, *parts) for parts in self._velocities],
            "M": [self._change(None, None, da) for da in _columns(self.V)],
            "L": [{s: ONE} for s in eq.z],
            "B": [{s: ONE} for s in eq.u],
        }

    # -- matrices -------------------------------------------------------------------------------------------------

    @cached_property
    def matrices(self) -> dict[str, Table]:
        """M, G, K, L, B of the forces, K_x … of user states, K_y … of outputs, and N_q, N_v of the positions."""
        found: dict[str, Table] = {}
        for name, directions in self._directions.items():
            found[name] = self._table([self.V.project(jvp(self.terms["r"], d)) for d in directions], len(self.V.independent))
            for end, term in (("x", "f"), ("y", "y")):
                found[f"{name}_{end}"] = self._table([jvp(self.terms[term], d) for d in directions], len(self.terms[term]))
        found["B"] = [[neg(e) for e in row] for row in found["B"]]
        return found | self._kinematics()

    def _kinematics(self) -> dict[str, Table]:
        """δq̇ = δv − S δq for independent positions, S of quaternions."""
        rows = self.Q.independent
        first = [[sub(dv[i], self._spin(i, dq)) for i in range(self.eq.tree.nv)] for dq, dv, _ in self._positions]
        second = [dv for dv, _ in self._velocities]
        tables = (self._table([[c[i] for i in rows] for c in columns], len(rows)) for columns in (first, second))
        return dict(zip(("N_q", "N_v"), tables, strict=True))

    def _spin(self, i: int, dq: Column) -> Expr:
        """(ω × δθ) of the velocity i if it belongs to a quaternion."""
        at = 0
        for c in self.eq.tree.coordinates:
            if at <= i < at + len(c.v):
                if not c.is_quaternion:
                    return ZERO
                j, k = (i - at + 1) % 3, (i - at + 2) % 3
                return sub(mul(c.v[j], dq[at + k]), mul(c.v[k], dq[at + j]))
            at += len(c.v)
        return ZERO

    def _table(self, columns: Sequence[Column], height: int) -> Table:
        """Columns as rows of expressions with everything dependent replaced."""
        flat = [column[i] for i in range(height) for column in columns]
        for known in self._dependent:
            flat = substitute(flat, known)
        width = len(columns)
        return [flat[i * width : (i + 1) * width] for i in range(height)]

    @cached_property
    def _dependent(self) -> list[dict[Expr, Expr]]:
        """Multipliers, then dependent accelerations, then dependent velocities, each by what comes after it."""
        eq, V = self.eq, self.V
        still = dict.fromkeys(eq.v, ZERO)
        lam = self._multipliers()
        g = substitute(self.terms["g"], dict.fromkeys(eq.a, ZERO))
        a = V.extend([eq.a[j] for j in V.independent], V.particular({i: neg(e) for i, e in enumerate(g)}))
        steps = [lam, {eq.a[j]: a[j] for j in range(len(a)) if j not in V.independent}]
        if not any(e.deps & KINDS["velocity"] for e in eq.constraint_jacobian.values()):
            w = substitute(self.terms["w"], still)
            v = V.extend([eq.v[j] for j in V.independent], V.particular({i: neg(e) for i, e in enumerate(w)}))
            steps.append({eq.v[j]: v[j] for j in range(len(v)) if j not in V.independent})
        return steps

    def _multipliers(self) -> dict[Expr, Expr]:
        """λ of the dependent rows from J_Dᵀλ = (M v̇ + c − Q)_D; redundant constraints carry nothing."""
        none = dict.fromkeys(self.lam, ZERO)
        r = substitute(self.terms["r"], none)
        turned = {(j, i): e for (i, j), e in self.eq.constraint_jacobian.items()}
        blocks = [(columns, rows) for rows, columns in reversed(self.V.blocks)]
        found = solve_blocks(turned, blocks, [dict(enumerate(r))])[0]
        return none | {self.lam[i]: e for i, e in found.items()}

    # -- first order ----------------------------------------------------------------------------------------------

    def state_space(self) -> dict[str, Table]:
        """A, B, C and D of x = (q_u, v_u, z) and the outputs."""
        m = self.matrices
        n = len(self.V.independent)
        right = [[*map(neg, k), *map(neg, g), *map(neg, z), *b] for k, g, z, b in zip(m["K"], m["G"], m["L"], m["B"], strict=True)]
        acceleration = solve_dense([list(row) for row in m["M"]], right) if n else []
        top = [[*a, *b, *([ZERO] * (len(self.eq.z) + len(self.eq.u)))] for a, b in zip(m["N_q"], m["N_v"], strict=True)]
        tables = {"x": [*top, *acceleration, *self._reading("x", acceleration)], "y": self._reading("y", acceleration)}
        width = len(self.Q.independent) + n + len(self.eq.z)
        names = {"x": "AB", "y": "CD"}
        return {names[k][j]: [row[:width] if j == 0 else row[width:] for row in t] for k, t in tables.items() for j in (0, 1)}

    def _reading(self, end: str, acceleration: Table) -> Table:
        """Rows of user states or outputs, with the accelerations they read put in."""
        m = self.matrices
        rows = []
        for i in range(len(m[f"K_{end}"])):
            row = [*m[f"K_{end}"][i], *m[f"G_{end}"][i], *m[f"L_{end}"][i], *m[f"B_{end}"][i]]
            for k, e in enumerate(m[f"M_{end}"][i]):
                row = [add(x, mul(e, y)) for x, y in zip(row, acceleration[k], strict=True)]
            rows.append(row)
        return rows


def _columns(space: NullSpace) -> list[Column]:
    """Columns of Z."""
    return [[row.get(k, ZERO) for row in space.Z] for k in range(len(space.independent))]


__all__ = ["LinearExpressions"]
