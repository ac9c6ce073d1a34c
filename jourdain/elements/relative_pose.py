"""Terms of a model that depend on the relative pose of bodies only, written with the invariants of a common rigid motion.

A discrete gradient in these invariants, (p_k − p_a)·dᵢᵃ and dⱼᵏ·dᵢᵃ of a body k against a body a, keeps linear and angular momentum
exactly; one in the coordinates themselves does not (Gonzalez 1996).  Whether a term is invariant is found by moving all bodies together,
with every branch of the term taken at once, so that a contact that happens to be open does not hide what it depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..symbolic.expr import ONE, ZERO, Expr, add, constant, mul, sub, symbol
from ..symbolic.graph import evaluate, free_symbols, rebuild, substitute, topological
from ..symbolic.vectors import Vector

#: Relative difference below which two values of a term are the same.
SAME = 1e-9


@dataclass(frozen=True)
class Relative:
    """A term as an expression of symbols that stand for invariants of degree ≤ 2."""

    expression: Expr
    symbols: tuple[Expr, ...]
    invariants: tuple[Expr, ...]


def relative(e: Expr, bodies: Sequence[Sequence[Expr]], others: Sequence[Expr]) -> Relative | None:
    """A term of the directors of several bodies in invariants of rigid motions, or of translations; None when it has neither symmetry.

    ``others`` are further coordinates of the term, which rigid motions do not change (angles, lengths).
    """
    if len(bodies) < 2:
        return None
    mixed = _all_branches(e)
    for turned in (True, False):
        if _unchanged(mixed, bodies, others, turned):
            return _written(e, bodies, others, turned)
    return None


def _all_branches(e: Expr) -> Expr:
    """A smooth combination of all branches and conditions of an expression."""
    new: dict[int, Expr] = {}
    for node in topological([e]):
        args = [new[a.id] for a in node.args]
        if node.op == "where":
            new[node.id] = add(add(args[1], mul(constant(0.37), args[2])), mul(constant(0.11), args[0]))
        elif node.op in ("min", "max", "lt", "le", "and", "or"):
            new[node.id] = add(args[0], mul(constant(-0.61), args[1]))
        elif node.op in ("not", "abs", "sign"):
            new[node.id] = args[0]
        else:
            new[node.id] = rebuild(node, args) if args else node
    return new[e.id]


def _rotation(rng: np.random.Generator) -> np.ndarray:
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return np.asarray(Q * np.sign(np.linalg.det(Q)))


def _unchanged(e: Expr, bodies: Sequence[Sequence[Expr]], others: Sequence[Expr], turned: bool) -> bool:
    """Whether a common rigid motion (or translation) changes the value, at a few random configurations."""
    rng = np.random.default_rng(7)
    rest = [s for s in free_symbols([e]) if s.id not in {x.id for b in bodies for x in b} | {x.id for x in others}]
    values = []
    for _ in range(3):
        fixed = {s: rng.uniform(0.3, 1.2) for s in (*others, *rest)}
        poses = [(rng.normal(size=3), _rotation(rng)) for _ in bodies]
        shift, turn = rng.normal(size=3), _rotation(rng) if turned else np.eye(3)
        pair = []
        for c, A in ((np.zeros(3), np.eye(3)), (shift, turn)):
            known = dict(fixed)
            for body, (p, R) in zip(bodies, poses, strict=True):
                known |= dict(zip(body, [*(c + A @ p), *(A @ R).T.ravel()], strict=True))
            try:
                # complex numbers, because branches that are not meant for a state may ask for roots of negative ones
                pair.append(complex(evaluate([e], {s: complex(x) for s, x in known.items()})[0]))
            except (TypeError, InputError):
                return False
        values.append(pair)
    found = np.array(values)
    return bool(np.all(np.isfinite(found)) and np.all(np.abs(found[:, 0] - found[:, 1]) <= SAME * (1.0 + np.abs(found).max(axis=1))))


def _written(e: Expr, bodies: Sequence[Sequence[Expr]], others: Sequence[Expr], turned: bool) -> Relative:
    base = [Vector(*bodies[0][3 * k : 3 * k + 3]) for k in range(4)]
    known: dict[Expr, Expr] = {}
    known |= dict.fromkeys(bodies[0][:3], ZERO)
    if turned:
        known |= {x: ONE if i % 4 == 0 else ZERO for i, x in enumerate(bodies[0][3:])}
    invariants: dict[Expr, Expr] = {}
    for n, body in enumerate(bodies[1:], 1):
        vectors = [Vector(*body[3 * k : 3 * k + 3]) for k in range(4)]
        vectors[0] = vectors[0] - base[0]
        for k, vector in enumerate(vectors if turned else vectors[:1]):
            for i in range(3):
                made = symbol(f"relative{n}.{k}{i}", "position")
                known[body[3 * k + i]] = made
                invariants[made] = vector.dot(base[1 + i]) if turned else sub(body[i], bodies[0][i])
    (expression,) = substitute([e], known)
    kept = {s.id for s in free_symbols([expression])}
    own = [s for s in (*(x for b in bodies for x in b), *others) if s.id in kept]
    used = [s for s in invariants if s.id in kept]
    return Relative(expression, (*used, *own), (*(invariants[s] for s in used), *own))
