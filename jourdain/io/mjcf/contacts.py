"""Contacts of MJCF: which geoms may touch by MuJoCo's rules, as contacts of the model with rigid laws.

Masks must agree, bodies must neither be welded together nor follow each other, and <exclude> keeps pairs of bodies apart.  Where masks differ between geoms of the
same two bodies the model cannot say so: that is in its notes.  A <pair> is a contact of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...model.contact.contacts import BodyShape, may_touch
from ...model.contact.laws import rigid
from ..xml_reader import Element

if TYPE_CHECKING:
    from ...model.model import Model
    from .unread import _Geom


def declare_contacts(model: Model, geoms: Sequence[_Geom], root: Element) -> list[str]:
    """Declares contacts ``contacts``, or one for each pair of coefficients of friction; what cannot be carried, in words."""
    surfaces = {(b.name, i): BodyShape(b, i) for b in model.all_bodies for i in range(len(b.collision))}
    taken = [g for g in geoms if (g.body, g.place) in surfaces]
    shapes = {id(g): surfaces[g.body, g.place] for g in taken}
    levels = sorted({g.friction for g in taken})
    notes, apart = _masked(taken)
    exclude = [*apart, *_excluded(model, root)]
    for i, first in enumerate(levels):
        for second in levels[i:]:
            a, b = ([shapes[id(g)] for g in taken if g.friction == mu] for mu in (first, second))
            if not may_touch(model, a, b):
                continue
            name = "contacts" if len(levels) == 1 else f"contacts {first:g} {second:g}"
            near = [] if first == second else _neighbours(model)
            model.contact(name, a, None if first == second else b, law=rigid(friction=max(first, second)), exclude=[*exclude, *near])
    notes += _pairs(model, {g.name: g for g in taken if g.name}, shapes, root)
    if any(e.get("condim") not in (None, "3") for section in root.all("default") for e in section.all("geom")):
        notes.append("condim of <geom> is not taken over: all contacts have friction along two tangents")
    return notes


def _pairs(model: Model, geoms: Mapping[str, _Geom], shapes: Mapping[int, BodyShape], root: Element) -> list[str]:
    """Contacts of their own between two geoms, whatever their masks are; those that the model cannot have are noted."""
    left_out, uneven = [], []
    for e in (e for section in root.all("contact") for e in section.all("pair")):
        a, b = (e.get(word) or "" for word in ("geom1", "geom2"))
        found = [shapes[id(geoms[n])] for n in (a, b) if n in geoms]
        if len(found) < 2 or not may_touch(model, found[:1], found[1:]):
            left_out.append(f"{a} and {b}")
            continue
        given = e.numbers("friction").tolist() if e.get("friction") else []
        if given[1:2] and given[1] != given[0]:
            uneven.append(f"{a} and {b}")
        mu = given[0] if given else max(geoms[n].friction for n in (a, b))
        model.contact(e.get("name") or f"pair {a} {b}", found[0], found[1], law=rigid(friction=mu))
    told = [f"<pair> of <contact> is not taken over, its geoms have no shapes for contacts: {', '.join(left_out)}"] if left_out else []
    return told + ([f"friction of <pair> is the first of its numbers in both directions: {', '.join(uneven)}"] if uneven else [])


def _masked(geoms: Sequence[_Geom]) -> tuple[list[str], list[tuple[str, str]]]:
    """Pairs of bodies that masks keep apart, and notes where they do so for some of their geoms only."""
    allowed: dict[tuple[str, str], set[bool]] = {}
    for i, g in enumerate(geoms):
        for other in geoms[:i]:
            if g.body != other.body:
                first, second = sorted((g.body, other.body))
                allowed.setdefault((first, second), set()).add(bool((g.contype & other.conaffinity) | (g.conaffinity & other.contype)))
    mixed = [f"{a} and {b}" for (a, b), found in allowed.items() if len(found) > 1]
    notes = [f"contype and conaffinity let some geoms of these bodies touch; here all do: {', '.join(mixed)}"] if mixed else []
    return notes, [pair for pair, found in allowed.items() if found == {False}]


def _excluded(model: Model, root: Element) -> list[tuple[str, str]]:
    known = {b.name for b in model.all_bodies}
    pairs = [(e.get("body1") or "", e.get("body2") or "") for section in root.all("contact") for e in section.all("exclude")]
    named = [tuple("ground" if n == "world" else n for n in pair) for pair in pairs]
    return [(a, b) for a, b in named if a in known and b in known]


def _neighbours(model: Model) -> list[tuple[str, str]]:
    """Bodies that a joint connects, which contacts of two lists do not leave out by themselves."""
    ends = [(j.parent.body, j.child.body) for j in model.joints.values() if j.kind != "free"]
    return [(a.name, b.name) for a, b in ends if not (a.is_ground or b.is_ground)]


__all__ = ["declare_contacts"]
