"""The named functions a compiled system offers, each derived from the equations when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from ...errors import InputError
from ...symbolic.derivatives import jvp
from ...symbolic.expr import KINDS, ONE, ZERO, Expr, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction
from ..equations import Equations

#: Above so many operations loops over links take the place of straight-line code (compile time and instruction cache).
STRAIGHT_LINE_LIMIT = 50_000
#: Additions and multiplications that recursive Newton–Euler spends on a spatial link, for estimates.
OPERATIONS_OF_A_LINK = 110

MEANING = {
    "t": "time, s",
    "q": "positions",
    "v": "velocities",
    "a": "accelerations",
    "tau": "generalised forces",
    "z": "user states",
    "u": "inputs",
    "x": "state: positions, velocities, user states",
    "p": "parameters",
}

#: Inputs that are expressions of time, with these expressions.
Signals = Sequence[tuple[Expr, Expr]]
#: Functions that hold a derivative by time; they are told of signals by an option of that name, since inputs put in afterwards do not change with time in them.
BY_TIME = ("state_time_derivative", "closed_state_time_derivative", "implicit_tangent", "acceleration_tangent", "constraint_tangent")
Builder = Callable[..., SymbolicFunction]
BUILDERS: dict[str, Builder] = {}


def builder(function: Builder) -> Builder:
    """Registers a builder under its name without the ending."""
    BUILDERS[function.__name__.removesuffix("_function")] = function
    return function


#: Modules with builders, none of them loaded before a function is derived: machine code is kept.
HOMES = (
    "functions.dynamics", "functions.instants", "functions.tree", "functions.linearisation", "functions.state_jacobian", "functions.residual",
    "functions.reduced", "functions.straight", "functions.drive_forces", "functions.flexible", "functions.semi_recursive", "functions.touching", "tree.power",
    "coordinates.descriptor",
)  # fmt: skip


def find_builder(name: str) -> Builder | None:
    """What derives the function of a name, if there is one."""
    for module in HOMES:
        if name in BUILDERS:
            break
        import_module(f"jourdain.formalisms.{module}")
    return BUILDERS.get(name)


def derive(eq: Equations, name: str, **options: Any) -> SymbolicFunction:
    """The symbolic function of a name."""
    build = find_builder(name)
    if build is None:
        raise InputError(f"there is no function '{name}'; there are {', '.join(sorted(BUILDERS))}")
    return build(eq, **options)


def assemble(eq: Equations, name: str, inputs: str, results: Sequence[Result], optional: str = "t z u") -> SymbolicFunction:
    """A function of the named inputs; optional ones join only when the results depend on them."""
    deps = 0
    for r in results:
        for e in r.expressions:
            deps |= e.deps
    needed = {"t": KINDS["time"], "z": KINDS["state"], "u": KINDS["input"], "a": KINDS["acceleration"]}
    given = inputs.split() + (["z"] if "x" in inputs.split() else [])  # the state x holds z
    names = inputs.split() + [o for o in optional.split() if deps & needed[o] and o not in given]
    arguments = [Argument(n, _symbols(eq, n), MEANING[n]) for n in names]
    if eq.p:
        arguments.append(Argument("p", eq.p, MEANING["p"]))
    return SymbolicFunction(name, tuple(arguments), tuple(results), title=eq.model.name)


def _symbols(eq: Equations, name: str) -> tuple[Expr, ...]:
    if name == "t":
        return (eq.t,)
    if name == "x":
        return (*eq.q, *eq.v, *eq.z)
    if name == "tau":
        return joint_force_symbols(eq)
    found: tuple[Expr, ...] = getattr(eq, name)
    return found


def along_time(eq: Equations, signals: Signals = (), dt: Expr = ONE) -> dict[Expr, Expr]:
    """What time and the inputs that are signals of it change by along a change dt of time: t → dt, u → (du/dt) dt."""
    rates = jvp([signal for _, signal in signals], {eq.t: dt})
    return {eq.t: dt, **{u: rate for (u, _), rate in zip(signals, rates, strict=True)}}


def joint_force_symbols(eq: Equations) -> tuple[Expr, ...]:
    """Symbols of generalised forces given from outside, one for each velocity."""
    if not hasattr(eq, "_tau"):
        names = [n for c in eq.tree.coordinates for n in c.velocity_names]
        eq._tau = tuple(symbol(f"tau_{n}", "input") for n in names)  # type: ignore[attr-defined]
    return eq._tau  # type: ignore[attr-defined,no-any-return]


def vector_result(name: str, values: Sequence[Expr], description: str = "") -> Result:
    """A result of one dimension."""
    return Result(name, tuple(values), (len(values),), description)


def matrix_result(name: str, rows: Sequence[Sequence[Expr]], columns: int, description: str = "") -> Result:
    """A result of two dimensions."""
    return Result(name, tuple(e for row in rows for e in row), (len(rows), columns), description)


def packed_result(name: str, entries: Mapping[tuple[int, int], Expr], columns: int, description: str = "") -> Result:
    """A matrix by those entries that may differ from zero, row by row."""
    order = sorted(key for key, e in entries.items() if e is not ZERO)
    return Result(name, tuple(entries[key] for key in order), (len(order),), description, tuple(i * columns + j for i, j in order))


def jacobian_result(eq: Equations, rows: int | None = None, packed: bool = False) -> Result:
    """The constraint Jacobian (first rows only if asked), dense or by its entries."""
    m = len(eq.rows) if rows is None else rows
    if packed:
        entries = {(i, j): e for (i, j), e in eq.constraint_jacobian.items() if i < m}
        return packed_result("J", entries, eq.tree.nv, "entries of the constraint Jacobian")
    table = [[ZERO] * eq.tree.nv for _ in range(m)]
    for (i, j), e in eq.constraint_jacobian.items():
        if i < m:
            table[i][j] = e
    return matrix_result("J", table, eq.tree.nv, "constraint Jacobian")


def choose_form(eq: Equations, wanted: str) -> str:
    """ "straight" (line) or "looped" code for the tree's dynamics; "auto" decides by the estimated size.

    Loops over links serve trees of rigid bodies without constraints and user states; others are always written out.
    """
    if wanted not in ("auto", "straight", "looped"):
        raise InputError(f"form '{wanted}' is unknown; use 'auto', 'straight' or 'looped'")
    possible = not eq.rows and not eq.z and not eq.tree.flexible
    if wanted == "looped" and not possible:
        raise InputError(
            f"model '{eq.model.name}': the looped form serves trees of rigid bodies without constraints and user states; use form='straight'"
        )
    large = len(eq.tree.links) * OPERATIONS_OF_A_LINK > STRAIGHT_LINE_LIMIT
    return wanted if wanted != "auto" else ("looped" if large and possible else "straight")
