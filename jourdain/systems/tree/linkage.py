"""Derivatives of constrained motion and of projections for a tree with loops, as native code calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...formalisms.equations import Equations
from ...formalisms.functions.linearisation import implicit_terms
from ...formalisms.functions.tree import multiplier_symbols
from ...native.lanes import aligned
from ...solvers.native_function import address
from ...solvers.sensitivity import constrained, constrained_second, eliminated
from ...solvers.sensitivity.constrained_second import BentLinkage
from ...solvers.sensitivity.field import Field, Map, map_of
from ...symbolic.expr import ZERO, Expr
from ...symbolic.graph import substitute
from ..sensitivity import Derived, derived
from .projected import NativeSystem

#: Stages of a step keep what was found at their points while their mass matrices have no more numbers than these.
MOST_KEPT = 500_000


def linkage_terms(eq: Equations, signals: Mapping[Expr, Expr], held: int) -> tuple[list[Expr], list[Expr]]:
    """(r, e, q̇, ż) with rates of what is held behind them, and (h, w)."""
    terms = implicit_terms(eq, multiplier_symbols(eq))
    outputs = substitute([*terms["r"], *terms["g"], *eq.position_rates, *terms["f"]], signals) + [ZERO] * held
    return outputs, substitute([*terms["h"], *terms["w"]], signals)


class Linked:
    """Equations (r, e, q̇, ż) and constraints (h, w) of a model with their derivatives, on the native functions of a run."""

    def __init__(
        self, eq: Equations, signals: Mapping[Expr, Expr], values: np.ndarray, symbols: Sequence[Expr], beside: Sequence[Expr] = (),
        arrays: Mapping[str, Sequence[Expr]] | None = None, held: Sequence[int] = (), active: Sequence[str] = ("t", "x"),
        shared: Sequence[Expr] | None = None,
    ) -> None:  # fmt: skip
        """``beside`` are expressions whose constants are shared, too, or these are given as ``shared``; ``held`` the places among the inputs of what stands
        behind the states in ``arrays``; motion is differentiated by the ``active`` of these."""
        self.eq, lam, self.held = eq, multiplier_symbols(eq), np.array(held, dtype=np.int64)
        outputs, closure = linkage_terms(eq, signals, len(self.held))
        arrays = {"t": (eq.t,), "x": (*eq.q, *eq.v, *eq.z), "u": eq.u} if arrays is None else arrays
        moving = {**arrays, "a": eq.a, "lam": lam}
        #: Inputs by which motion is differentiated.
        self.inputs = len(eq.u) if "u" in active else 0
        if shared is None:
            both = derived("linkage", moving, [*outputs, *closure, *substitute(list(beside), signals)], ("t", "x"), eq.p, values, symbols)
            shared = both.linear.constants
        self.motion = derived("motion", moving, outputs, active, eq.p, values, symbols, shared)
        self.closure = derived("closure", arrays, closure, ("t", "x"), eq.p, values, symbols, shared)
        #: The equations by accelerations and multipliers, too: of these only the bend is used.
        self.whole = derived("whole_motion", moving, outputs, ("t", "x", "a", "lam"), eq.p, values, symbols, shared)

    @property
    def functions(self) -> tuple[Derived, ...]:
        """All."""
        return self.motion, self.closure, self.whole

    def attach(self, native: NativeSystem, field: Field, u: np.ndarray, stages: int = 0) -> None:
        """Gives the rate of a run its derivatives, its multipliers and its projection; steps of so many ``stages`` that are walked back keep their factors."""
        system, kept = native.whole_matrices()
        plan = system.elimination.plan
        n, m, nq, nz, nc = plan.nv, plan.m, plan.nq, plan.nz + len(self.held), self.motion.nc
        size = 1 + nq + n + nz + self.inputs
        rows = {
            "a": n, "lam": m, "mu": n, "nu": m, "right": n, "J": m * n, "g": m, "lu": m * n, "gram": m * m, "small": m, "bar": size, "cbar": nc,
            "row": n + m + size, "struck": n, "y": n + 2 * m + nq + nz, "change": size,
        }  # fmt: skip
        made = {name: np.zeros(max(1, count)) for name, count in rows.items()}
        order = {"rows": np.zeros(max(1, m), dtype=np.int64), "columns": np.zeros(max(1, n), dtype=np.int64)}
        order["near"] = np.zeros(max(1, m), dtype=np.int64)
        order["places"] = self.held if len(self.held) else np.zeros(1, dtype=np.int64)
        maps = {f"{f}_{w}": map_of(None, 8) for f in ("motion", "closure") for w in ("push", "pull")}
        each = [plan.blocks[k] for k in range(len(plan.blocks))]
        by_blocks = int(m > 0 and not len(plan.fronts.each) and all(b.rank == b.rows for b in each))
        self.record = eliminated.Linkage(
            system=system, solution=map_of(None, 5), by_blocks=by_blocks, stage=0, nc=nc, nz=nz, held=len(self.held), inputs=native.u, lanes=1, known=field.known, impulse=field.impulse, shift=field.shift, dlam=address(field.dlam), lambar=address(field.lambar), **made, **order, **maps,
        )  # fmt: skip
        self.native, self.field, self.u = native, field, u
        self.stages = stages if by_blocks and stages * n * n <= MOST_KEPT else 0
        #: What the records refer to; that of an earlier run is let go of.
        self.keep: list[Any] = [kept, native]
        if m:
            solution = eliminated.solution_by_blocks if by_blocks else eliminated.solution
            self.record.solution = self._kernel(solution, slots=5)
            field.balance = self._kernel(eliminated.balance)
        field.project, field.project_bend, field.keep = map_of(native.project, 3), map_of(None, 9), map_of(None, 5)

    def need(self, word: str) -> None:
        """Compiles the pushes, the pulls or the bends, if they are not yet."""
        target, record = self.field, self.record
        if word == "bend":
            self._bend()
            return
        if getattr(record, f"closure_{word}").function == 0:
            for name, f in (("motion", self.motion), ("closure", self.closure)):
                made, kept = f.map(word, self.u, 1 if word == "push" else 2)
                setattr(record, f"{name}_{word}", made)
                self.keep += kept
        if record.system.elimination.plan.m:
            setattr(target, word, self._kernel(constrained.push if word == "push" else constrained.pull))
        setattr(target, f"project_{word}", self._kernel(constrained.push_projection if word == "push" else constrained.pull_projection))
        if word == "pull" and self.stages and target.keep.function == 0:
            self._keep_stages()

    def _keep_stages(self) -> None:
        """Gives the stages of a step memory of their own."""
        points = []
        for _ in range(self.stages):
            point = self.record.copy()
            point.system, kept = self.native.whole_matrices(own=True)
            point.stage, point.J, point.g = 1, np.zeros_like(self.record.J), np.zeros_like(self.record.g)
            point.solution = self._kernel(eliminated.solution_by_blocks, point, 5)
            points.append(point.address)
            self.keep += [point, kept]
        self.field.points = np.array(points, dtype=np.int64)
        self.field.keep = self._kernel(eliminated.keep_rates, self.record, 5)

    def widen(self, field: Field) -> None:
        """Gives a rate in lanes its pushes."""
        lanes, narrow = field.lanes, self.record
        self.wide = record = narrow.copy()
        record.lanes, record.dlam = lanes, address(field.dlam)
        for name in ("y", "change", "struck"):
            setattr(record, name, aligned(getattr(narrow, name).size * lanes))
        for name, f in (("motion", self.motion), ("closure", self.closure)):
            made, kept = f.lanes_map(self.u, lanes)
            setattr(record, f"{name}_push", made)
            self.keep += kept
        if record.system.elimination.plan.m:
            field.push = self._kernel(constrained.push, record)
        field.project_push = self._kernel(constrained.push_projection, record)

    def _bend(self) -> None:
        """Gives the rate and the projection their bends."""
        if self.field.project_bend.function:
            return
        plan = self.record.system.elimination.plan
        n, m, mh, nq, nz, nc = plan.nv, plan.m, plan.holonomic, plan.nq, plan.nz, self.motion.nc
        size = 1 + nq + n + nz
        sizes = {
            "change": size + n + m, "y": n + m + nq + nz, "bar": size + n + m, "cbar": nc, "weights": size, "dweights": size, "h": mh + m, "dh": mh + m,
            "u": n, "du": n, "dv": n, "turned": nq, "nothing": n + m, "idle": nc,
        }  # fmt: skip
        changes = {"impulse_change": self.field.impulse_change, "shift_change": self.field.shift_change}
        self.bent = record = BentLinkage(linkage=self.record, **changes, **{name: np.zeros(max(1, count)) for name, count in sizes.items()})
        if m:
            for name, f in (("motion", self.whole), ("closure", self.closure)):
                made, kept = f.map("bend", self.u, 2)
                setattr(record, f"{name}_bend", made)
                self.keep += kept
            self.field.bend = self._kernel(constrained_second.bend, record, 9)
        self.field.project_bend = self._kernel(constrained_second.bend_projection, record, 9)

    def _kernel(self, kernel: Any, record: eliminated.Linkage | BentLinkage | None = None, slots: int = 7) -> Map:
        args = np.zeros(slots, dtype=np.int64)
        args[2], args[-1] = address(self.u), (record or self.record).address
        return Map(function=kernel.address, args=args)


__all__ = ["Linked", "linkage_terms"]
