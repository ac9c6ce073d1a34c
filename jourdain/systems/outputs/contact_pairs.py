"""Which shapes of a model may touch by which law, and the scene that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.contact.contacts import BodyShape, check_apart
from ...model.contact.contacts import apart as kept_apart
from ...model.contact.laws import Rigid
from ...solvers.collision import Placed, Scene
from ...symbolic.expr import Expr
from ...symbolic.graph import evaluate

if TYPE_CHECKING:
    from ...model.model import Model


@dataclass(frozen=True)
class Pairs:
    """Which shapes may touch by which law: groups of shapes that are treated alike, and the law of every pair of groups (−1: none)."""

    shapes: tuple[BodyShape, ...]
    group: np.ndarray
    law: np.ndarray
    #: Of each pair of groups whose direction friction has: 0 none's, 1 the first's, 2 the second's.
    grain: np.ndarray
    #: Pairs of bodies that never touch.
    excluded: tuple[frozenset[str], ...]


def pairs_of(model: Model, sort: type) -> Pairs:
    """Groups of a model's contacts, and laws of a sort between them by number; where two contacts name a pair, the later one acts."""
    contacts = list(model.contacts.values())
    for contact in contacts:
        check_apart(contact, model)  # a joint that came after the contact may have fixed them
    shapes = tuple(dict.fromkeys(s for c in contacts if isinstance(c.law, sort) for s in c.shapes))
    sides = [(set(c.a), set(c.a if c.b is None else c.b)) for c in contacts]
    left_out = [kept_apart(model, c) for c in contacts]
    # one contact: bodies are kept apart by the scene; several: each body that is kept apart from another is a group of its own
    excluded, left_out = (tuple(left_out[0]), [set()]) if len(contacts) == 1 else ((), left_out)
    single = {name for pairs in left_out for pair in pairs for name in pair}

    def law(s: BodyShape, other: BodyShape) -> int:
        pair = frozenset((s.body.name, other.body.name))
        for i in range(len(contacts) - 1, -1, -1):
            a, b = sides[i]
            if pair not in left_out[i] and ((s in a and other in b) or (s in b and other in a)):
                return i if isinstance(contacts[i].law, sort) else -1
        return -1

    signature = [(tuple((s in a, s in b) for a, b in sides), s.body.name if s.body.name in single else "") for s in shapes]
    first = dict(zip(reversed(signature), reversed(shapes), strict=True))  # a shape of every group
    number = {key: i for i, key in enumerate(first)}
    group = np.array([number[key] for key in signature], np.int64)
    table = np.array([[law(s, other) for other in first.values()] for s in first.values()], np.int64)
    grain, one = np.zeros_like(table), list(first.values())
    for k, contact in enumerate(contacts):
        if isinstance(contact.law, Rigid) and contact.law.along is not None:
            own = sides[k][0 if contact.law.of == "a" else 1]
            for i, j in np.argwhere(table == k):
                grain[i, j] = 1 if one[i] in own else 2
    return Pairs(shapes, group, table, grain, excluded)


def shape_numbers(s: BodyShape, symbols: Sequence[Expr], parameters: np.ndarray) -> Any:
    """A shape with numbers for its parameters."""

    def number(e: Any) -> float:
        return float(evaluate([e], dict(zip(symbols, parameters, strict=True)))[0]) if isinstance(e, Expr) else float(e)

    return s.shape.numeric(number)


def placed_shapes(
    pairs: Pairs, number: Mapping[str, int], numeric: Callable[[BodyShape], Any], pose: Callable[[BodyShape], np.ndarray],
    apart: Sequence[tuple[int, int]] = (),
) -> Scene:  # fmt: skip
    """The scene of all shapes, carriers by number; those of others stand on the ground at their ``pose`` (rotation, then origin); ``apart`` names further
    pairs of carriers that do not touch."""
    bits, law = len(pairs.law) <= 60, pairs.law
    masks = [sum(1 << j for j in range(len(law)) if law[g, j] >= 0) if bits else -1 for g in range(len(law))]
    own = np.r_[np.eye(3).ravel(), np.zeros(3)]
    placed: list[Placed] = []
    known: dict[int, Any] = {}  # many bodies may have one shape
    for s, g in zip(pairs.shapes, pairs.group.tolist(), strict=True):
        at = own if s.body.is_ground or s.mover in number else pose(s)
        if id(s.shape) not in known:
            known[id(s.shape)] = numeric(s)
        placed.append(Placed(number.get(s.mover, -1), known[id(s.shape)], at[9:], at[:9].reshape(3, 3), 1 << g if bits else 1, masks[g]))
    movers: dict[str, dict[str, None]] = {}
    for s in pairs.shapes:
        movers.setdefault(s.body.name, {})[s.mover] = None
    pairs_apart = [tuple(pair) for pair in pairs.excluded if pair <= set(movers)]  # others have no shape here: they are not the ground
    pairs_apart += [(name, name) for name, own in movers.items() if len(own) > 1]  # nodes of one body
    excluded = [*apart, *((number.get(a, -1), number.get(b, -1)) for x, y in pairs_apart for a in movers[x] for b in movers[y])]
    return Scene(placed, [(a, b) for a, b in dict.fromkeys(excluded) if a != b and (a >= 0 or b >= 0)])


__all__ = ["Pairs", "pairs_of", "placed_shapes", "shape_numbers"]
