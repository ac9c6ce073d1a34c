"""What an MJCF file says and the model read from it does not hold, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..xml_reader import Element, listed
from .contacts import Surface
from .rules import ORIENTATIONS

#: Sections that are read, or that say nothing about the mechanics of the tree.
READ = ("compiler", "option", "size", "visual", "statistic", "default", "custom", "asset", "worldbody", "keyframe")
#: Children of bodies that are read, or that belong to the picture alone.
IN_BODIES = ("body", "frame", "flexcomp", "joint", "freejoint", "geom", "site", "inertial", "camera", "light")
_COMMON = ("name", "class", "group", "user", "pos", *ORIENTATIONS)
#: Attributes that are read, that belong to the picture, or that concern contacts and limits, of which there is a note of their own.
ATTRIBUTES = {
    "body": (*_COMMON, "childclass", "mocap", "gravcomp", "sleep"),
    "joint": (
        *_COMMON, "type", "axis", "range", "limited", "ref", "springref", "stiffness", "damping", "armature", "frictionloss", "springdamper",
        "margin", "solreflimit", "solimplimit",
    ),
    "freejoint": (*_COMMON, "align"),
    "geom": (
        *_COMMON, "type", "size", "fromto", "mass", "density", "shellinertia", "mesh", "hfield", "fitscale", "material", "rgba",
        "contype", "conaffinity", "condim", "priority", "friction", "solmix", "solref", "solimp", "margin", "gap",
    ),
    "compiler": (
        "angle", "coordinate", "eulerseq", "autolimits", "inertiafromgeom", "balanceinertia", "boundmass", "boundinertia", "settotalmass",
        "inertiagrouprange", "meshdir", "assetdir", "texturedir", "fitaabb", "discardvisual", "usethread", "fusestatic", "saveinertial",
        "convexhull", "alignfree",
    ),
}  # fmt: skip
#: What an attribute says where it changes nothing.
NOTHING = {"exactmeshinertia": ("false",), "strippath": ("false",)}
#: Properties of <option> that act on bodies; the others are settings of MuJoCo's own integrator.
MEDIUM = ("density", "viscosity", "wind", "magnetic")
#: Flags that take away something which the model read here has.
FLAGS = ("frictionloss", "limit", "passive", "spring", "damper")


@dataclass(frozen=True)
class _Geom:
    name: str
    body: str
    contype: int
    conaffinity: int
    surface: Surface = field(default_factory=Surface)
    #: place among the body's shapes for contacts, −1 for none
    place: int = -1


@dataclass
class Unread:
    """Collects what is met while bodies are read."""

    root: Element
    #: whether contacts are taken over
    contacts: bool = False
    geoms: list[_Geom] = field(default_factory=list)
    #: (tag, attribute) → names of the elements that have it.
    attributes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    undrawn: list[str] = field(default_factory=list)
    limited: list[str] = field(default_factory=list)
    others: list[Element] = field(default_factory=list)
    #: Body → the body it is welded to (itself if it moves), and body → the body before it.
    welded: dict[str, str] = field(default_factory=lambda: {"ground": "ground"})
    before: dict[str, str] = field(default_factory=lambda: {"ground": "ground"})

    def body(self, element: Element, name: str, parent: str, moves: bool) -> None:
        """A body and whether joints move it."""
        self.before[name] = parent
        self.welded[name] = name if moves else self.welded[parent]
        self._unknown(element, name)

    def child(self, element: Element) -> None:
        """Any child of a body."""
        if element.tag not in IN_BODIES:
            self.others.append(element)

    def geom(self, element: Element, body: str, drawn: bool, place: int = -1) -> None:
        """A geom with its defaults applied, and its place among the body's shapes for contacts."""
        name = element.get("name") or f"one of body '{body}'"
        self._unknown(element, name)
        if not drawn:
            self.undrawn.append(f"{name} ({element.get('type') or 'mesh'})")
        masks = int(element.number("contype", 1)), int(element.number("conaffinity", 1))
        if any(masks):
            self.geoms.append(_Geom(name, body, *masks, Surface.of(element), place))

    def joint(self, element: Element, name: str, limited: bool = False) -> None:
        """A joint with its defaults applied."""
        self._unknown(element, name)
        if limited:
            self.limited.append(name)

    def _unknown(self, element: Element, name: str) -> None:
        for attribute, value in element.attributes.items():
            if attribute not in ATTRIBUTES.get(element.tag, ()) and value not in NOTHING.get(attribute, ()):
                self.attributes.setdefault((element.tag, attribute), []).append(name)

    # ---- in words -------------------------------------------------------------------------------------------

    def notes(self) -> list[str]:
        """What is left out, one line for each kind of thing."""
        for compiler in self.root.all("compiler"):
            self._unknown(compiler, compiler.place)
        found = self._sections()
        touching = [] if self.contacts or self._disabled("contact") or self._disabled("constraint") else touching_geoms(self)
        if touching:
            found.append(f"contacts are not taken over; these geoms touch nothing here: {', '.join(dict.fromkeys(touching))}")
        if self.limited:
            found.append(
                f"limits are kept (joint.limits), but nothing stops a motion there unless m.stops() is used: {', '.join(self.limited)}"
            )
        found += self._options()
        for (tag, attribute), names in self.attributes.items():
            found.append(f"{attribute} of <{tag}> is not taken over: {', '.join(dict.fromkeys(names))}")
        if self.others:
            found.append(f"elements of bodies that are not taken over: {listed(self.others)}")
        if self.undrawn:
            found.append(f"geoms that are not drawn: {', '.join(self.undrawn)}")
        return found

    def _sections(self) -> list[str]:
        sections: dict[str, list[Element]] = {}
        for section in self.root.children:
            if section.tag not in READ:
                sections.setdefault(section.tag, []).extend(section.children)
        contact = sections.get("contact", [])
        if contact and (self.contacts or all(e.tag == "exclude" for e in contact)):
            del sections["contact"]  # pairs that do not touch in the first place
        return [f"the section <{tag}> is not taken over: {listed(inside) or 'it is empty'}" for tag, inside in sections.items()]

    def _options(self) -> list[str]:
        acting = [n for option in self.root.all("option") for n in MEDIUM if n in option.attributes and np.any(option.numbers(n))]
        found = [f"<option> {', '.join(acting)}: forces of the medium are not taken over"] if acting else []
        flags = [name for name in FLAGS if self._disabled(name)]
        return found + ([f"<flag> {', '.join(flags)}: what it switches off acts here"] if flags else [])

    def _disabled(self, flag: str) -> bool:
        return any(f.get(flag) == "disable" for option in self.root.all("option") for f in option.all("flag"))


def touching_geoms(read: Unread) -> list[str]:
    """Names of the geoms that some other geom may touch by MuJoCo's rules.

    The masks must agree, the bodies must neither be welded together nor follow each other (unless the first is welded to the world), and
    the pair must not be excluded.
    """
    bodies = {name: k for k, name in enumerate(read.welded)}
    weld = np.array([bodies[read.welded[g.body]] for g in read.geoms], dtype=int)
    parent = np.array([bodies[read.welded[read.before[read.welded[g.body]]]] for g in read.geoms], dtype=int)
    own = np.array([bodies[g.body] for g in read.geoms], dtype=int)
    contype, conaffinity = (np.array([getattr(g, n) for g in read.geoms], dtype=int) for n in ("contype", "conaffinity"))
    excluded = _excluded(read.root, bodies)
    moving = weld != bodies["ground"]
    found = []
    for i, geom in enumerate(read.geoms):
        meets = ((contype[i] & conaffinity) | (conaffinity[i] & contype)) != 0
        meets &= weld != weld[i]
        meets &= ~(moving & moving[i] & ((weld == parent[i]) | (parent == weld[i])))
        meets &= ~np.isin(own, excluded.get(own[i], []))
        if meets.any():
            found.append(geom.name)
    return found


def _excluded(root: Element, bodies: dict[str, int]) -> dict[int, list[int]]:
    pairs: dict[int, list[int]] = {}
    for section in root.all("contact"):
        for e in section.all("exclude"):
            names: Sequence[str] = [e.get("body1") or "", e.get("body2") or ""]
            if all(n in bodies for n in names):
                a, b = (bodies[n] for n in names)
                pairs.setdefault(a, []).append(b)
                pairs.setdefault(b, []).append(a)
    return pairs


__all__ = ["Unread", "touching_geoms"]
