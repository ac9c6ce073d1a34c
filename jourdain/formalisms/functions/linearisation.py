"""The implicit equations of a whole model, and their exact first-order change along any direction.

    r = M v̇ + c − Q − Jᵀλ,   h(q, t),   w(q, v, t),   g = J v̇ + J̇v + …,   f = ż,   y = outputs,   c = λ_c of drives

The change is one function of the point and of a direction (δq along velocities, δv, δv̇, δz, δu, δλ, δp): its length is a
small multiple of the equations' own, whatever the number of coordinates; a Jacobian is one call for each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...symbolic.derivatives import jvp
from ...symbolic.expr import Expr, add, mul, sub, symbol
from ...symbolic.function import Argument, SymbolicFunction
from ...symbolic.graph import substitute
from ..equations import Equations
from ..tree.kinematics import GROUND
from ..tree.newton_euler import inverse_dynamics
from .drive_forces import drive_force_terms
from .registry import builder, matrix_result, vector_result

#: Arrays of the point at which the equations are taken, and of a direction there.
POINT = ("t", "q", "v", "a", "z", "u", "lam")
DIRECTION = ("dq", "dv", "da", "dz", "du", "dl", "dp")


def implicit_terms(eq: Equations, lam: Sequence[Expr]) -> dict[str, list[Expr]]:
    """All equations of the model as residuals, with the multipliers as given symbols."""
    phi = inverse_dynamics(eq.tree, eq.wrenches)
    balance = [sub(a, b) for a, b in zip(phi, eq.joint_forces, strict=True)]
    return constrained_terms(eq, balance, lam) | {"y": eq.resolve([o.expression for o in eq.model.outputs.values()])}


def constrained_terms(eq: Equations, balance: Sequence[Expr], lam: Sequence[Expr]) -> dict[str, list[Expr]]:
    """Residuals of equations in any coordinates, from ``balance`` = M v̇ + c − Q without the constraints' forces."""
    r, g = list(balance), list(eq.constraint_accelerations)
    for (i, j), e in eq.constraint_jacobian.items():
        r[j] = sub(r[j], mul(e, lam[i]))
        g[i] = add(g[i], mul(e, eq.a[j]))
    h = [row.expression for row in eq.rows[: eq.holonomic]]
    return {"r": r, "h": h, "w": list(eq.constraint_velocities), "g": g, "f": list(eq.state_rates)}


def multiplier_symbols(eq: Equations) -> tuple[Expr, ...]:
    """A symbol for the multiplier of each constraint."""
    return tuple(symbol(f"lambda_{row.name}", "input") for row in eq.rows)


def all_terms(eq: Equations, lam: Sequence[Expr]) -> dict[str, list[Expr]]:
    """The residuals and what is read beside them: the forces of drives and locks."""
    return implicit_terms(eq, lam) | {"c": drive_force_terms(eq, lam)}


def direction_symbols(
    eq: Equations, parameters: Sequence[str], lam: Sequence[Expr]
) -> tuple[dict[str, tuple[Expr, ...]], dict[Expr, Expr]]:
    """Symbols of a direction by array name, and what each symbol of the equations changes by along it."""
    made: dict[str, tuple[Expr, ...]] = {}
    for name, symbols in (("dq", eq.v), ("dv", eq.v), ("da", eq.a), ("dz", eq.z), ("du", eq.u), ("dl", lam)):
        made[name] = tuple(symbol(f"d{name[1]}[{i}]", "input") for i in range(len(symbols)))
    made["dp"] = tuple(symbol(f"d{name}", "input") for name in parameters)
    changes = substitute(eq.position_rates, dict(zip(eq.v, made["dq"], strict=True)))
    chosen = tuple(eq.model.parameter_set[name].symbol for name in parameters)
    direction = dict(zip(eq.q, changes, strict=True))
    for symbols, d in ((eq.v, "dv"), (eq.a, "da"), (eq.z, "dz"), (eq.u, "du"), (lam, "dl"), (chosen, "dp")):
        direction |= dict(zip(symbols, made[d], strict=True))
    return made, direction


def _function(eq: Equations, name: str, inputs: Mapping[str, Sequence[Expr]], terms: Mapping[str, Sequence[Expr]]) -> SymbolicFunction:
    """A function of the arrays that are not empty, with the results that are not empty."""
    arguments = [Argument(n, tuple(s)) for n, s in inputs.items() if len(s)]
    if eq.p:
        arguments.append(Argument("p", eq.p, "parameters"))
    results = [vector_result(n, list(e)) for n, e in terms.items() if len(e)]
    return SymbolicFunction(name, tuple(arguments), tuple(results), title=eq.model.name)


def _point(eq: Equations, lam: Sequence[Expr]) -> dict[str, Sequence[Expr]]:
    return {"t": (eq.t,), "q": eq.q, "v": eq.v, "a": eq.a, "z": eq.z, "u": eq.u, "lam": lam}


@builder
def residual(eq: Equations) -> SymbolicFunction:
    """r, h, w, g, f, y and c at a point."""
    lam = multiplier_symbols(eq)
    return _function(eq, "residual", _point(eq, lam), all_terms(eq, lam))


@builder
def residual_tangent(eq: Equations, parameters: tuple[str, ...] = ()) -> SymbolicFunction:
    """Change of r, h, w, g, f, y and c along a direction; ``parameters`` names those that may change."""
    lam = multiplier_symbols(eq)
    terms = all_terms(eq, lam)
    made, direction = direction_symbols(eq, parameters, lam)
    return _function(eq, "residual_tangent", {**_point(eq, lam), **made}, changes(terms, direction))


def changes(terms: Mapping[str, Sequence[Expr]], direction: Mapping[Expr, Expr]) -> dict[str, list[Expr]]:
    """Directional derivatives of all terms in one sweep."""
    flat = jvp([e for term in terms.values() for e in term], direction)
    found, at = {}, 0
    for name, term in terms.items():
        found[name] = flat[at : at + len(term)]
        at += len(term)
    return found


def expressions(eq: Equations, given: Sequence[Expr]) -> SymbolicFunction:
    """Values of a user's own expressions (sensors resolved) at a point."""
    return _function(eq, "expressions", _point(eq, ()), {"e": eq.resolve(list(given))})


def expressions_tangent(eq: Equations, given: Sequence[Expr], parameters: Sequence[str]) -> SymbolicFunction:
    """Change of a user's own expressions along a direction."""
    made, direction = direction_symbols(eq, parameters, multiplier_symbols(eq))
    return _function(eq, "expressions_tangent", {**_point(eq, ()), **made}, {"e": jvp(eq.resolve(list(given)), direction)})


@builder
def frame_pose(eq: Equations, path: str) -> SymbolicFunction:
    """Position, rotation and Jacobian (translation, then rotation, world axes) of a frame."""
    k = eq.kinematics
    frame = eq.model.frame(path)
    jt, jr = k.jacobian(frame, GROUND)
    columns = [[*a, *b] for a, b in zip(jt, jr, strict=True)]
    results = [
        vector_result("position", list(k.position(frame))),
        matrix_result("rotation", [list(r) for r in k.rotation(frame).rows], 3),
        matrix_result("jacobian", [[c[i] for c in columns] for i in range(6)], eq.tree.nv),
    ]
    arguments = [Argument("t", (eq.t,)), Argument("q", eq.q)] + ([Argument("p", eq.p)] if eq.p else [])
    return SymbolicFunction("frame_pose", tuple(arguments), tuple(results), title=eq.model.name)


__all__ = [
    "DIRECTION",
    "POINT",
    "changes",
    "constrained_terms",
    "expressions",
    "expressions_tangent",
    "frame_pose",
    "implicit_terms",
    "residual",
    "residual_tangent",
]
