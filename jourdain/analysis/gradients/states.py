"""Exact gradients of what verbs without time find: equilibria, assembled positions, modes, linear systems.

A state is given by equations F(y, p) = 0 (balance of forces, closed loops), so dy = −(∂F/∂y)⁻¹ ∂F/∂p.  An eigenvalue s of small motions y eˢᵗ about it makes the pencil
P(s) of all equations (balance, constraints and their rates, user's states) singular: ds = −wᵀ dP y / wᵀ P′ y with the left and right null vectors, where dP y is a second directional
derivative of the equations, taken from the graph.  Where several eigenvalues are one, those of the small matrix −(WᵀP′Y)⁻¹ Wᵀ dP Y are the derivatives of the group.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...formalisms.functions.linearisation import POINT, implicit_terms
from ...formalisms.functions.tree import multiplier_symbols
from ...native.function import Function, compile_function
from ...symbolic.derivatives import jvp
from ...symbolic.expr import Expr, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import substitute
from ...systems.constraints import jacobian
from ...systems.tree.partition import partition
from ...systems.tree.redundancy import redundant_rows
from ..design.planned import VERBS
from ..equations.residual import Point, Residual
from .expressions import Expressions, expressions_of
from .gradient import Gradient, present_value
from .grids import OPTIONS as ON_GRIDS
from .grids import AlongGrid
from .measure import measure
from .runs import NotCarried
from .transfers import Transfers

if TYPE_CHECKING:
    from ...systems.system import System
    from ..design.criteria import Criterion
    from ..design.planned import Analysis

#: Options with which they are carried, in their order.
OPTIONS = {
    "equilibrium": ("x0", "inputs"), "assemble": ("fixed", "guess"), "modal": ("state", "u"), "linearise": ("state", "inputs", "outputs", "u"),
    "frequency_response": ("input", "output", "frequencies", "state", "u"), **ON_GRIDS,
}  # fmt: skip
#: Verbs of small motions about a state.
SMALL_MOTIONS = ("modal", "linearise", "frequency_response")
#: Eigenvalues closer than this part of their size are one.
EQUAL = 1e-6


def gradient_of_state(analysis: Analysis, criteria: Mapping[str, Criterion], wrt: Sequence[str], values: Mapping[str, float]) -> Gradient:
    """Values of criteria and their derivatives at what the verb finds."""
    begun = time.perf_counter()
    _refuse(analysis, criteria)
    result = analysis.run(values)
    system = analysis._changed(values).reference
    notes: Sequence[str] = ()
    if analysis.verb in ON_GRIDS:
        head = f"gradient of '{system.model.name}'"
        found, matrix = AlongGrid(
            analysis, system, result, wrt, criteria, lambda told: NotCarried(f"{head}: {told}; use method='differences'")
        ).rows()
    else:
        found = measure(result, criteria, system, kept=analysis._own.__dict__.setdefault("read", {}))
        at = About(analysis, system, result, wrt, criteria, values)
        matrix = np.array([at.row(n, c) for n, c in criteria.items()]).reshape(len(criteria), len(wrt))
        notes = tuple(dict.fromkeys(at.notes))
    present = {n: float(values.get(n, present_value(analysis, criteria, n))) for n in wrt}
    cost = {"seconds": time.perf_counter() - begun, "runs": 1}
    return Gradient(analysis, criteria, found, present, matrix, "implicit", cost, result, notes)


def _refuse(analysis: Analysis, criteria: Mapping[str, Criterion]) -> None:
    m, verb = analysis.system.model, analysis.verb
    head = f"gradient of '{m.name}'"
    if verb not in OPTIONS:
        raise NotCarried(f"{head}: {verb} is not carried; use method='differences'")
    others = [n for n, x in analysis.kwargs.items() if n not in OPTIONS[verb] and x is not None]
    if others or len(analysis.args) > len(OPTIONS[verb]):
        raise NotCarried(f"{head}: {verb} with option '{(others or ['of its last argument'])[0]}' is not carried; use method='differences'")
    for word, items in (("memory", m.memories), ("algebraic unknown", m.unknowns), ("contact", m.contacts), ("callback", m.callbacks)):
        if items:
            raise NotCarried(f"{head}: {word} '{next(iter(items))}' is not carried in {verb}; use method='differences'")
    if analysis.system.formulation != "recursive":
        raise NotCarried(f"{head}: {verb} is carried in joint coordinates; use method='differences'")


class About:
    """A state that a verb has found, with its changes by all variables."""

    def __init__(
        self, analysis: Analysis, system: System, result: Any, wrt: Sequence[str], criteria: Mapping[str, Criterion], values: Mapping[str, float]
    ) -> None:  # fmt: skip
        self.analysis, self.system, self.result, self.wrt, self.values = analysis, system, result, list(wrt), values
        self.name = f"gradient of '{system.model.name}'"
        self.notes: list[str] = []
        self.eq = system.equations_of_motion
        self.expressions: Expressions = expressions_of(system, criteria)
        self.parameters = [
            own for n in self.wrt if n not in self.expressions.constants for kind, own in [analysis.variable(n)] if kind == "parameter"
        ]
        self.residual = Residual(system, self.parameters)
        state = getattr(result, "linear", result)
        state = getattr(state, "state", state)
        self.given = dict(zip(OPTIONS[analysis.verb], analysis.args, strict=False)) | analysis.kwargs
        inputs = getattr(result, "inputs", None) if analysis.verb == "equilibrium" else self.given.get("u")
        self.point: Point = self.residual.solve_motion(self.residual.point(state, system.inputs_at(state, inputs)))
        if system.configuration.quaternions and (
            np.abs(self.point.v).max(initial=0.0) > 0 or any(self._initial(n) is not None for n in wrt)
        ):
            raise NotCarried(
                f"{self.name}: orientations that turn, or begin otherwise, are not carried in {analysis.verb}; use method='differences'"
            )
        self.d = self.residual.derivatives(self.point, "qvazlpu")
        self.changes = self._changes()

    def _initial(self, name: str) -> int | None:
        """The column of an initial value among positions and velocities; None for others."""
        if name in self.expressions.constants:
            return None
        kind, own = self.analysis.variable(name)
        if kind == "parameter":
            return None
        names = [*self.system.coordinate_names, *self.system.velocity_names, *self.system.model.states]
        return names.index(own)

    def _parameter(self, name: str) -> np.ndarray:
        """Which parameters a variable changes."""
        found = np.zeros(len(self.parameters))
        if name not in self.expressions.constants:
            kind, own = self.analysis.variable(name)
            if kind == "parameter":
                found[self.parameters.index(own)] = 1.0
        return found

    def _changes(self) -> dict[str, dict[str, np.ndarray]]:
        """Changes (q along velocities, v, a, z, lam, p) of the state by each variable."""
        n, nz, m = self.system.nv, self.system.nz, len(self.residual.rows)
        found = {}
        for name in self.wrt:
            p, place = self._parameter(name), self._initial(name)
            change = {"q": np.zeros(n), "v": np.zeros(n), "a": np.zeros(n), "z": np.zeros(nz), "l": np.zeros(m), "p": p}
            (self._balanced if self.analysis.verb == "equilibrium" else self._placed)(change, place)
            found[name] = change
        return found

    def _balanced(self, change: dict[str, np.ndarray], place: int | None) -> None:
        """Positions, multipliers and user's states at which forces stay in balance and loops closed; what has no influence stays where it began."""
        d, n, nz, mh = self.d, self.system.nv, self.system.nz, self.residual.holonomic
        m = len(self.residual.rows)
        if place is not None:
            if self.system.coordinate_names[place : place + 1] and self.system.coordinate_names[place] in self.result.held:
                change["q"][place] = 1.0
            return
        K = np.block([[d["rq"], d["rl"], d["rz"]], [d["hq"], np.zeros((mh, m)), d["hz"]], [d["fq"], d["fl"], d["fz"]]])
        right = -np.concatenate([d[k + "p"] @ change["p"] for k in "rhf"])
        size = np.maximum(np.abs(K).max(axis=1), 1e-300)
        y = np.linalg.lstsq(K / size[:, None], right / size, rcond=1e-11)[0]
        change["q"], change["l"], change["z"] = y[:n], y[n : n + m], y[n + m :]
        assert len(y) == n + m + nz

    def _placed(self, change: dict[str, np.ndarray], place: int | None) -> None:
        """Given positions and velocities as they are, dependent ones by closed loops; accelerations and multipliers of the motion there."""
        d, s, n, mh = self.d, self.system, self.system.nv, self.residual.holonomic
        if place is not None:
            key, at = ("q", place) if place < s.nq else ("v", place - s.nq) if place < s.nq + s.nv else ("z", place - s.nq - s.nv)
            change[key][at] = 1.0
        if self.residual.rows:
            free = self._dependent
            change["q"][free] = 0.0
            rest = d["hq"] @ change["q"] + d["hp"] @ change["p"]
            change["q"][free] = -np.linalg.lstsq(d["hq"][:, free], rest, rcond=1e-10)[0] if mh else 0.0
            change["v"][free] = 0.0
            rest = sum(d["w" + k] @ change[k] for k in "qvp")
            change["v"][free] = -np.linalg.lstsq(d["wv"][:, free], rest, rcond=1e-10)[0]
        if self.analysis.verb not in SMALL_MOTIONS:
            return
        right = -np.concatenate([sum(d[e + k] @ change[k] for k in "qvzp") for e in "rg"])
        K = np.block([[d["ra"], d["rl"]], [d["ga"], np.zeros((len(self.residual.rows),) * 2)]])
        y = np.linalg.lstsq(K, right, rcond=1e-12)[0]
        change["a"], change["l"] = y[:n], y[n:]

    @cached_property
    def _dependent(self) -> list[int]:
        """Columns that follow from closed loops; those given by name are held, and must be as many as there are freedoms."""
        s = self.system
        args, kwargs = self.analysis._started(s, self.analysis.initial_of(self.values))
        held = (dict(zip(OPTIONS[self.analysis.verb], args, strict=False)) | kwargs).get(VERBS[self.analysis.verb][0])
        names = [n.removesuffix("_rate") for n in s.velocity_names]
        chosen = {
            names.index(n) if n in names else s.configuration.index(n)
            for n in (held if isinstance(held, Mapping) else ())
            if n in names or n in s.coordinate_names
        }
        freedoms = len(partition(jacobian(s.reference, self.point.q, self.point.t)).independent)
        if len(chosen) != freedoms:
            raise NotCarried(
                f"{self.name}: {self.analysis.verb} of a loop with {freedoms} freedoms and {len(chosen)} given coordinates is not carried; give as many by name"
            )
        return [j for j in range(s.nv) if j not in chosen]

    # -- criteria -------------------------------------------------------------------------------------------------

    def row(self, name: str, c: Criterion) -> np.ndarray:
        """Derivatives of one criterion by all variables."""
        if c.kind == "value":
            return self._of_value(name)
        if c.kind in ("entry", "response"):
            return self._transfers.row(c)
        s, slopes = self._of_eigenvalue(c.options["index"])
        size = abs(s)
        by_size = (np.conj(s) * slopes).real / size
        if c.kind == "frequency":
            return np.asarray(by_size / (2.0 * np.pi))
        if c.kind == "damping_ratio":
            return np.asarray(-slopes.real / size + s.real * by_size / size**2)
        part = c.options["part"]
        return np.asarray(by_size if part == "abs" else slopes.real if part == "real" else slopes.imag)

    @cached_property
    def _transfers(self) -> Transfers:
        outputs = self.given.get("outputs") if self.analysis.verb == "linearise" else self.given["output"]
        if isinstance(outputs, Expr):
            outputs = {"output": outputs}
        return Transfers(self, getattr(self.result, "linear", self.result), dict(outputs) if isinstance(outputs, Mapping) else outputs)

    @property
    def _arrays(self) -> dict[str, tuple[Expr, ...]]:
        eq = self.eq
        return {
            "t": (eq.t,),
            "q": tuple(eq.q),
            "v": tuple(eq.v),
            "a": tuple(eq.a),
            "z": tuple(eq.z),
            "u": tuple(eq.u),
            "lam": multiplier_symbols(eq),
        }

    def direction(self, word: str, parameters: Sequence[Expr]) -> tuple[tuple[Expr, ...], dict[Expr, Expr]]:
        """Symbols (q along velocities, v, a, z, lam, p) of a direction in one row, and what each symbol changes by."""
        eq, arrays = self.eq, self._arrays
        groups = [tuple(eq.v), tuple(eq.v), arrays["a"], arrays["z"], arrays["lam"], tuple(parameters)]
        made = [tuple(symbol(f"{word}{k}_{i}", "input") for i in range(len(g))) for k, g in enumerate(groups)]
        along = substitute(eq.position_rates, dict(zip(eq.v, made[0], strict=True)))
        direction = dict(zip(eq.q, along, strict=True))
        for symbols, d in zip(groups[1:], made[1:], strict=True):
            direction |= dict(zip(symbols, d, strict=True))
        return tuple(e for part in made for e in part), direction

    def compiled(
        self, name: str, rows: Mapping[str, Sequence[Expr]], outputs: Sequence[Expr], parameters: Sequence[Expr], values: np.ndarray
    ) -> Function:
        inputs = [Argument(n, a) for n, a in self._arrays.items()] + [Argument(n, tuple(a)) for n, a in rows.items()]
        if parameters:
            inputs.append(Argument("p", tuple(parameters)))
        return compile_function(
            SymbolicFunction(name, tuple(inputs), (Result("y", tuple(outputs), (len(outputs),)),)), values if parameters else None
        )

    def row_of(self, change: Mapping[str, np.ndarray], p: np.ndarray) -> np.ndarray:
        return np.concatenate([change["q"], change["v"], change["a"], change["z"], change["l"], p])

    def kept(self, key: tuple[Any, ...], make: Any) -> Function:
        """A function of the analysis, compiled once."""
        kept: dict[Any, Function] = self.analysis._own.__dict__.setdefault("states", {})
        if key not in kept:
            kept[key] = make()
        return kept[key]

    def _of_value(self, name: str) -> np.ndarray:
        """dF along the changes of the state."""
        symbols = {p.name: p.symbol for p in self.system.model.parameter_set}
        constants = self.expressions.constants
        chosen = [
            constants[n][0] if n in constants else symbols[self.analysis.variable(n)[1]]
            for n in self.wrt
            if n in constants or self._initial(n) is None
        ]
        names = [n for n in self.wrt if n in constants or self._initial(n) is None]
        e, every, values = (
            self.expressions.resolved[name],
            self.expressions.parameters,
            self.expressions.parameter_values(self.system.parameter_vector),
        )

        def make() -> Function:
            row, direction = self.direction("d", chosen)
            return self.compiled("value_tangent", {"d": row}, jvp([e], direction), every, values)

        f = self.kept(("value", name, e.id, tuple(s.id for s in chosen)), make)
        if every:
            f.set_parameters(values)
        arrays = self.point.arrays()
        found = []
        for n in self.wrt:
            p = np.array([float(n == m) for m in names])
            found.append(float(np.ravel(f(*(arrays[k] for k in POINT), self.row_of(self.changes[n], p)))[0]))
        return np.array(found)

    # -- eigenvalues ----------------------------------------------------------------------------------------------

    @cached_property
    def pencil(self) -> tuple[np.ndarray, np.ndarray]:
        """P(s) = A + s B: unknowns are changes of q, v, v̇, user's states and multipliers; rows r, h, w, g, f, and the rates of independent positions and velocities."""
        d, n, nz, (held, roll) = self.d, self.system.nv, self.system.nz, self.rows
        kept = [*held, *roll]
        blocks = {"r": range(n), "h": held, "w": kept, "g": kept, "f": range(nz)}
        A = np.vstack([np.hstack([*(d[e + k][list(rows)] for k in "qvaz"), d[e + "l"][list(rows)][:, kept]]) for e, rows in blocks.items()])
        B = np.zeros_like(A)
        B[len(A) - nz :, 3 * n : 3 * n + nz] = -np.eye(nz)
        positions, velocities = self.independent
        rates, moved = np.zeros((2, len(positions) + len(velocities), A.shape[1]))
        for i, c in enumerate([*positions, *(n + c for c in velocities)]):
            moved[i, c], rates[i, n + c] = 1.0, -1.0
        return np.vstack([A, rates]), np.vstack([B, moved])

    @property
    def independent(self) -> tuple[list[int], list[int]]:
        """Columns of the positions and velocities that are states of the linear system."""
        names, speeds = self.system.configuration.displacement_names, self.system.velocity_names
        states = getattr(self.result, "linear", self.result).states
        return [names.index(x) for x in states if x in names], [speeds.index(x) for x in states if x in speeds]

    @cached_property
    def rows(self) -> tuple[list[int], list[int]]:
        """Constraints of positions, and of velocities alone, without redundant ones."""
        mh, m = self.residual.holonomic, len(self.residual.rows)
        left_out = set(redundant_rows(self.system.reference, self.point.state(self.system))) if m else set()
        return [i for i in range(mh) if i not in left_out], [i for i in range(mh, m) if i not in left_out]

    def _of_eigenvalue(self, index: int) -> tuple[complex, np.ndarray]:
        """An eigenvalue of the modes, and its derivatives by all variables."""
        modes = self.result.modes
        s = complex(modes[index].eigenvalue)
        if modes[index].kind == "rigid" or s == 0:
            raise NotCarried(f"{self.name}: mode {index} is a rigid one, whose eigenvalue is zero twice; use method='differences'")
        index %= len(modes)
        group = [i for i, mode in enumerate(modes) if abs(complex(mode.eigenvalue) - s) < EQUAL * abs(s)]
        A, slope = self.pencil
        P, sizes = A + s * slope, np.abs(A) + abs(s) * np.abs(slope)
        row = 1.0 / np.maximum(sizes.max(axis=1), 1e-300)
        column = 1.0 / np.maximum((row[:, None] * sizes).max(axis=0), 1e-300)
        U, sizes, Vh = np.linalg.svd(row[:, None] * P * column)
        k = len(group)
        if k < len(sizes) and not sizes[-k - 1] > 1e3 * max(sizes[-k:].max(), 1e-16) * len(sizes):
            raise NotCarried(
                f"{self.name}: the equations of mode {index} have redundant constraints or more equal eigenvalues; use method='differences'"
            )
        W, Y = row[:, None] * U[:, -k:].conj(), column[:, None] * Vh[-k:].conj().T
        inner = W.T @ slope @ Y
        found = np.zeros(len(self.wrt), complex)
        for j, name in enumerate(self.wrt):
            moved = np.column_stack([self._second(s, Y[:, i], name) for i in range(k)])
            each = np.linalg.eigvals(-np.linalg.solve(inner, W.T @ moved))
            found[j] = each[0] if k == 1 else sorted(each, key=lambda x: (s.conjugate() * x).real)[group.index(index)]
        if k > 1:
            self.notes.append(
                f"eigenvalues {', '.join(map(str, group))} are one: their derivatives are those of the group for growing variables, in order, and other ones for falling variables"
            )
        return s, found

    @cached_property
    def _tangent(self) -> Function:
        """The second directional derivative of r, h, w, g and f."""
        eq, (held, roll) = self.eq, self.rows
        chosen = [self.system.model.parameter_set[n].symbol for n in self.parameters]

        def make() -> Function:
            terms = implicit_terms(eq, multiplier_symbols(eq))
            kept = [*held, *roll]
            rows = [*terms["r"], *(terms["h"][i] for i in held), *(terms[k][i] for k in "wg" for i in kept), *terms["f"]]
            first, along = self.direction("d", ())
            second, then = self.direction("e", chosen)
            return self.compiled(
                "second_tangent", {"d": first, "e": second}, jvp(jvp(rows, along), then), eq.p, self.system.parameter_vector
            )

        f = self.kept(("second", tuple(self.parameters), *held, *roll), make)
        if eq.p:
            f.set_parameters(self.system.parameter_vector)
        return f

    def _second(self, s: complex, y: np.ndarray, name: str) -> np.ndarray:
        """dP y by a variable."""
        n, nz = self.system.nv, self.system.nz
        lam = np.zeros(len(self.residual.rows), complex)
        lam[[*self.rows[0], *self.rows[1]]] = y[3 * n + nz :]
        first = np.concatenate([y[: 3 * n + nz], lam])
        second = self.row_of(self.changes[name], self.changes[name]["p"])
        arrays = self.point.arrays()
        parts = [np.ravel(self._tangent(*(arrays[k] for k in POINT), np.ascontiguousarray(d), second)) for d in (first.real, first.imag)]
        found = np.zeros(len(self.pencil[0]), complex)
        found[: len(parts[0])] = parts[0] + 1j * parts[1]
        return found


__all__ = ["gradient_of_state"]
