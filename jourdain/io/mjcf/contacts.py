"""Contacts of MJCF: which geoms may touch by MuJoCo's rules, as contacts of the model with rigid laws.

Masks must agree, bodies must neither be welded together nor follow each other, and <exclude> keeps pairs of bodies apart.  Where masks differ between geoms of the
same two bodies the model cannot say so: that is in its notes.  A <pair> is a contact of its own.

Of two geoms the one of higher priority says coefficients and condim; where priorities are equal, the larger of each.  condim 1 has no friction, 3 friction along the
tangents, 4 a couple against spinning as well, 6 one against rolling, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...model.contact.contacts import BodyShape, may_touch
from ...model.contact.laws import Rigid, rigid
from ..xml_reader import Element

if TYPE_CHECKING:
    from ...model.model import Model
    from .rules import Defaults
    from .unread import _Geom

#: Coefficients of friction of sliding, spinning (m) and rolling (m) where a file gives fewer.
USUAL = (1.0, 0.005, 0.0001)
#: Numbers that condim may be.
DIMENSIONS = (1, 3, 4, 6)


@dataclass(frozen=True, order=True)
class Surface:
    """What a geom says of its contacts."""

    friction: tuple[float, float, float] = USUAL
    condim: int = 3
    priority: int = 0

    @classmethod
    def of(cls, geom: Element) -> Surface:
        """That of a geom, defaults applied."""
        given = tuple(geom.numbers("friction", default=USUAL).tolist())[:3]
        return cls((*given, *USUAL[len(given) :]), condim(geom), int(geom.number("priority", 0.0)))

    def against(self, other: Surface) -> Surface:
        """That of both."""
        if self.priority != other.priority:
            return max(self, other, key=lambda s: s.priority)
        a, b, c = map(max, self.friction, other.friction)
        return Surface((a, b, c), max(self.condim, other.condim), self.priority)

    @property
    def law(self) -> Rigid:
        """The law of its contacts."""
        sliding, spinning, rolling = (mu if self.condim >= least else 0.0 for mu, least in zip(self.friction, DIMENSIONS[1:], strict=True))
        return rigid(friction=sliding, spinning=spinning, rolling=rolling)


def condim(element: Element) -> int:
    """The dimensions of friction."""
    found = int(element.number("condim", 3.0))
    if found not in DIMENSIONS:
        raise element.error(f"condim is {found}; it may be {', '.join(map(str, DIMENSIONS))}")
    return found


def declare_contacts(model: Model, geoms: Sequence[_Geom], root: Element, defaults: Defaults) -> list[str]:
    """Declares contacts ``contacts``, or one for each pair of sorts of surfaces; what cannot be carried, in words."""
    surfaces = {(b.name, i): BodyShape(b, i) for b in model.all_bodies for i in range(len(b.collision))}
    taken = [g for g in geoms if (g.body, g.place) in surfaces]
    shapes = {id(g): surfaces[g.body, g.place] for g in taken}
    sorts = sorted({g.surface for g in taken})
    notes, apart = _masked(taken)
    exclude = [*apart, *_excluded(model, root)]
    labels = _labels(sorts)
    for i, first in enumerate(sorts):
        for second in sorts[i:]:
            a, b = ([shapes[id(g)] for g in taken if g.surface == sort] for sort in (first, second))
            if not may_touch(model, a, b):
                continue
            name = "contacts" if len(sorts) == 1 else f"contacts {labels[first]} {labels[second]}"
            near = [] if first == second else _neighbours(model)
            model.contact(name, a, None if first == second else b, law=first.against(second).law, exclude=[*exclude, *near])
    notes += _pairs(model, {g.name: g for g in taken if g.name}, shapes, root, defaults)
    if any(isinstance(c.law, Rigid) and c.law.resists for c in model.contacts.values()):
        notes.append("couples of condim 4 and 6 have bounds of their own here; MuJoCo has one bound for them and sliding together")
    return notes


def _labels(sorts: Sequence[Surface]) -> dict[Surface, str]:
    """Sorts of surfaces by their friction, with condim, and then a number, where others have the same."""
    found = [f"{s.friction[0]:g}" for s in sorts]
    for more in (lambda k: f" condim {sorts[k].condim}", lambda k: f" ({k + 1})"):
        found = [label + (more(k) if found.count(label) > 1 else "") for k, label in enumerate(found)]
    return dict(zip(sorts, found, strict=True))


def _pairs(
    model: Model, geoms: Mapping[str, _Geom], shapes: Mapping[int, BodyShape], root: Element, defaults: Defaults
) -> list[str]:  # fmt: skip
    """Contacts of their own between two geoms, whatever their masks are; those that the model cannot have are noted."""
    left_out, uneven, again, done = [], [], [], set()
    for e in (defaults.apply(e, None) for section in root.all("contact") for e in section.all("pair")):
        a, b = (e.get(word) or "" for word in ("geom1", "geom2"))
        found = [shapes[id(geoms[n])] for n in (a, b) if n in geoms]
        if len(found) < 2 or not may_touch(model, found[:1], found[1:]):
            left_out.append(f"{a} and {b}")
            continue
        if (geoms_of := frozenset((a, b))) in done:
            again.append(f"{a} and {b}")
            continue
        done.add(geoms_of)
        given: list[float] = e.numbers("friction").tolist() if e.get("friction") else []
        one, other, spinning, roll, across = (*given, *(USUAL[0], *USUAL, USUAL[2])[len(given) :])
        if one != other or (roll != across and condim(e) == 6):
            uneven.append(f"{a} and {b}")
        model.contact(e.get("name") or f"pair {a} {b}", found[0], found[1], law=Surface((one, spinning, roll), condim(e)).law)
    told = [f"<pair> of <contact> is not taken over, its geoms have no shapes for contacts: {', '.join(left_out)}"] if left_out else []
    told += [f"<pair> of <contact> that is there again is taken once: {', '.join(again)}"] if again else []
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


__all__ = ["Surface", "declare_contacts"]
