"""Contacts of parts of large deformation: nodes that carry shapes against rigid bodies, the ground and nodes of other parts.

Forces and energies of contacts are sums over pairs, so that every node is an element of its own with the bodies that it may touch, as every two nodes of different
parts are: matrices stay sparse, and the work of each is exactly what its surfaces store and what is booked (:mod:`jourdain.solvers.penalty.conserving`).
Nodes of beams turn with their shapes; those of solids and cables are places, which carry spheres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ....errors import InputError
from ....model.contact.loads import slot_count
from ....model.contact.penalty_laws import Penalty
from ....solvers.penalty.conserving import BODY
from ...outputs.contact_pairs import Pairs, pairs_of
from ...touching import Among
from ..contacts import Contacts

if TYPE_CHECKING:
    from ....model.contact.contacts import BodyShape
    from ....model.model import Model
    from ..from_model import DirectorAssembly
    from ..program import Handle
    from .parts import Part

#: Most pairs of nodes of different parts.
MOST = 4000


def add_part_contacts(built: DirectorAssembly, parts: Sequence[Part]) -> None:
    """Adds the contacts of all nodes that carry shapes."""
    model = parts[0].body.model
    pairs = pairs_of(model, Penalty)
    bends = {p.name: p for p in parts}
    shapes = {s.mover: s for s in pairs.shapes if s.body.name in bends}
    if not shapes:
        return
    nodes = {mover: _handle(built, bends[s.body.name], s) for mover, s in shapes.items()}
    for s in pairs.shapes:
        if s.body.name in bends and nodes[s.mover].size < BODY:
            _refuse_shape(s)
    found = 0
    for k, contact in enumerate(model.contacts.values()):
        some = replace(pairs, law=np.where(pairs.law == k, k, -1))
        partners = {mover: _partners(some, mover) for mover in nodes}
        for mover, others in partners.items():
            rigid = [o for o in others if o and o not in nodes]
            if rigid or "" in others:
                _add(built, model, some, contact.name, {o: built.handles[o] for o in rigid}, {mover: nodes[mover]}, "" in others)
        both = [(a, b) for a, others in partners.items() for b in others if b in nodes and a < b]
        found += len(both)
        if found > MOST:
            a, b = (shapes[x].body.name for x in both[0])
            raise InputError(
                f"contact '{contact.name}': {found} pairs of nodes of parts such as '{a}' and '{b}' may touch, and {MOST} is the most; give shapes to fewer nodes"
            )
        for a, b in both:
            _add(built, model, some, contact.name, {}, {n: nodes[n] for n in (a, b)}, False)


def _add(
    built: DirectorAssembly, model: Model, pairs: Pairs, contact: str, bodies: dict[str, Handle], nodes: dict[str, Handle], ground: bool
) -> None:
    """An element of one node with the bodies that it may touch, or of two nodes."""
    handles = dict(sorted({**bodies, **nodes}.items(), key=lambda item: -item[1].size))  # what turns comes first
    names, focus = tuple(handles), next(iter(nodes))
    keep = [i for i, s in enumerate(pairs.shapes) if s.mover in handles or (ground and s.body.is_ground)]
    own = names.index(focus)
    others = [-1, *(i for i in range(len(names)) if i != own)]
    apart = [(i, j) for i in others for j in others if i < j] + ([] if ground else [(-1, own)])
    some = replace(pairs, shapes=tuple(pairs.shapes[i] for i in keep), group=pairs.group[keep])
    taken = {c.name: slot_count(c) for c in built.own.reference.model.contacts.values()}
    base = sum(e.shapes**2 for e in built.part_contacts)
    element = Contacts(
        built, Among(model, names, tuple(nodes), some, tuple(apart), base, {n: taken.get(n, 0) for n in model.contacts}), handles, contact
    )
    built.part_contacts.append(element)
    built.system.add(element, f"{contact} of {' and '.join(names)}", element.attached)


def _partners(pairs: Pairs, mover: str) -> list[str]:
    """Carriers that the shapes of one may touch; "" is the ground."""
    found: dict[str, None] = {}
    for s, g in zip(pairs.shapes, pairs.group.tolist(), strict=True):
        for o, h in zip(pairs.shapes, pairs.group.tolist(), strict=True) if s.mover == mover else ():
            if pairs.law[g, h] >= 0 and s.body is not o.body and frozenset((s.body.name, o.body.name)) not in pairs.excluded:
                found["" if o.body.is_ground else o.mover] = None
    return list(found)


def _handle(built: DirectorAssembly, part: Part, s: BodyShape) -> Handle:
    """The coordinates of the node that carries a shape."""
    name = str(s.carrier.node)
    structure, digits = part.body.part.part, name.removeprefix("node ")
    interface = structure.interfaces.get(name)
    number = (
        int(interface.nodes[0]) if interface is not None else int(digits) if digits.isdecimal() and digits != name else structure.node(name)
    )
    for h in built.system.handles:
        if h.name == f"{part.name}.{number}" and (interface is None or len(interface.nodes) == 1):
            return h
    seat = part.seats.get(name)
    if seat is not None and seat.frame.body.name == f"{part.name}.{name}":
        return built.handles[seat.frame.body.name]
    holder = "a rigid patch" if seat is None else f"'{seat.frame.body.name}'"
    raise InputError(
        f"{part.what}: its node '{name}' belongs to {holder}, so that it carries no shape of its own; give the shape to that body, or to another node"
    )


def _refuse_shape(s: BodyShape) -> None:
    """Nodes that are places have no axes."""
    shape = s.shape
    if shape.kind == "sphere" and not np.any([float(x) for x in shape.placement.position]):
        return
    raise InputError(
        f"flexible body '{s.body.name}': its node '{s.carrier.node}' has no axes in formulation 'directors', so that it carries a sphere about itself and no "
        f"{shape.kind}; use jd.sphere(radius), or add_skin(radius, nodes)"
    )


__all__ = ["add_part_contacts"]
