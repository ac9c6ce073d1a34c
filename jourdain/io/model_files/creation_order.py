"""The order in which symbols and expressions were made: it decides the order of operands, so an exact copy keeps it.

A sum or product keeps its older operand first.  A file is read section by section, which is the order in which most
programs declare things; where a program did otherwise, the file says so in its list ``order``: symbols such as
``parameter:l``, ``joint:hinge.angle`` (with its rates), ``link:spring`` (length and rate), ``sensor:hub.position.x``, and
expressions that are older than symbols or expressions beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...errors import ModelError
from ...model.elastic.flexible import FlexibleBody
from ...model.joints import Coordinate, quaternion_coordinate, scalar_coordinate
from ...model.load_sorts import LinkForce
from ...model.sensors import QUANTITIES
from ...symbolic.expr import COMMUTATIVE, Expr, symbol
from ...symbolic.graph import free_symbols, topological
from .names import reading_name

if TYPE_CHECKING:
    from ...model.model import Model

_ENTRY = re.compile(r"(parameter|time|joint|link|input|state|sensor) (\S.*)\Z", re.DOTALL)
_ORDERED = COMMUTATIVE | {"add", "sub", "mul"}


class Premade:
    """Symbols made before the objects they belong to."""

    def __init__(self) -> None:
        self.symbols: dict[tuple[str, str], Expr] = {}
        self.coordinates: dict[str, Coordinate] = {}

    def make(self, kind: str, name: str) -> None:
        """The symbols of one entry of the list."""
        if (kind, name) in self.symbols or name in self.coordinates:
            raise ModelError(f"order: '{kind} {name}' is listed twice")
        if kind == "joint":
            is_quaternion = name.endswith(".orientation")
            c = quaternion_coordinate(name) if is_quaternion else scalar_coordinate(name, "")
            self.coordinates[name] = c
            self.symbols.update((("joint", s.name), s) for s in (*c.q, *c.v, *c.a))
        elif kind == "link":
            self.symbols.update((("link", s.name), s) for s in LinkForce.symbols(name))
        elif kind == "sensor":
            quantity, _, entry = name.rpartition(".")
            owner, _, quantity = quantity.rpartition(".")
            entries = [a + b for a in "xyz" for b in "xyz"] if quantity == "rotation" else list("xyz")
            if quantity not in QUANTITIES or entry not in entries:
                raise ModelError(f"order: '{name}' is not a reading of a sensor, such as hub.position.x")
            self.symbols["sensor", name] = symbol(f"{owner}.{quantity}[{entries.index(entry)}]", QUANTITIES[quantity][1])
        else:
            self.symbols[kind, name] = symbol(name, kind)


def entry_of(text: str) -> tuple[str, str] | None:
    """Kind and name of an entry that makes symbols; None for an expression."""
    match = _ENTRY.match(text)
    return (match.group(1), match.group(2)) if match else None


# --- what a list must hold -------------------------------------------------------------------------------------------


def symbol_entries(model: Model, roots: Iterable[Expr]) -> Iterator[tuple[int, str]]:
    """Every symbol of a model: its number and its entry in the list; of the numbers of structures those that its laws name."""
    yield model.time.id, "time t"
    used = set(free_symbols(roots))
    for p in model.parameter_set:
        if not p.data or p.symbol in used:
            yield p.symbol.id, f"parameter {p.name}"
    for i in model.inputs.values():
        yield i.symbol.id, f"input {i.name}"
    for s in model.states.values():
        yield s.symbol.id, f"state {s.name}"
    for joint in model.joints.values():
        for c in joint.coordinates:
            if c.names[0].startswith(joint.name + ".") and not _follows(joint.name, c.names[0], model):
                yield c.q[0].id, f"joint {c.names[0].removesuffix('.e0') if c.is_quaternion else c.names[0]}"
    for body in model.bodies.values():
        for c in body.modes if isinstance(body, FlexibleBody) else ():
            yield c.q[0].id, f"joint {c.names[0]}"
    for load in model.loads.values():
        if load.readings:
            yield next(iter(load.readings.values())).id, f"link {load.name}"
    for reading, place in model._readings.items():
        yield reading.id, f"sensor {reading_name(*place)}"


def _follows(joint: str, coordinate: str, model: Model) -> bool:
    """Whether a joint with a dotted name merely shares the coordinate of another joint that begins alike."""
    return any(other != joint and len(other) > len(joint) and coordinate.startswith(other + ".") for other in model.joints)


def misplaced(model: Model, roots: Iterable[Expr], everything: bool = False) -> list[Expr]:
    """Expressions that must be made early, in the order of their making, so that all operands keep their order.

    The reading of the file is played through: symbols first, then the expressions of ``roots`` from left to right.
    """
    nodes = topological(roots)
    if everything:
        return sorted((e for e in nodes if e.args), key=lambda e: e.id)
    pairs = [e.args for e in nodes if e.op in _ORDERED and e.args[0].args and e.args[1].op != "const"]
    pairs += [(e.args[0], e.args[1]) for e in nodes if e.op in _ORDERED and e.args[0].args and not e.args[1].args]
    early: set[int] = set()
    by_id = {e.id: e for e in nodes}
    symbols = [e for e in nodes if e.op == "symbol"]
    while True:
        prelude = sorted([*symbols, *(by_id[i] for i in early)], key=lambda e: e.id)
        place = {e.id: i for i, e in enumerate(topological([*prelude, *nodes]))}
        wrong = {a.id for a, b in pairs if place[a.id] > place[b.id]} - early
        if not wrong:
            return [e for e in prelude if e.args]
        early |= wrong


__all__ = ["Premade", "entry_of", "misplaced", "symbol_entries"]
