"""<flexcomp> of MJCF: a deformable part whose points are bodies, each on three slides along the axes of the body that carries it.

Grids and points given directly are read as MuJoCo makes them: every point has the same part of the mass and the inertia of a small box; pinned ones belong to the
body around them and leave their mass behind. Edges of lines are springs with dampers between neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

from ...model import Model
from ..model_files.placement import Pose
from ..xml_reader import MAX_ELEMENTS, Element
from .rules import Settings

#: Half the side of the box whose inertia a point has (m), unless the file says so.
BOX = 0.005


@dataclass
class Flexcomp:
    """One deformable part: names of its points (sites where they are pinned) and what stretches between them."""

    element: Element
    name: str
    names: list[str]
    points: np.ndarray
    edges: list[tuple[int, int]] = field(default_factory=list)

    def connect(self, model: Model) -> list[str]:
        """Springs along the edges of a line; what must be said of the rest."""
        edge, elastic = self.element.first("edge"), self.element.first("elasticity")
        said = []
        stiffness, damping = (0.0, 0.0) if edge is None else (edge.number("stiffness", 0.0), edge.number("damping", 0.0))
        if stiffness or damping:
            sites = {name: frame for body in (model.ground, *model.bodies.values()) for name, frame in body.frames.items()}
            ends = [model.bodies[n] if n in model.bodies else sites[n] for n in self.names]
            for i, j in self.edges:
                rest = float(np.linalg.norm(self.points[j] - self.points[i]))
                model.spring(f"{self.name}:{i}-{j}", ends[i], ends[j], stiffness, rest, damping)
        if elastic is not None:
            said.append(f"the elasticity of flexcomp '{self.name}' is not taken over: its points move freely")
        if edge is not None and (edge.get("equality") or "false") != "false":
            said.append(f"the edges of flexcomp '{self.name}' are not kept at their lengths")
        if any(e.tag == "plugin" for e in self.element.children):
            said.append(f"the plugin of flexcomp '{self.name}' is not taken over")
        contact = self.element.first("contact")
        if contact is None or contact.get("contype") != "0" or contact.get("conaffinity") != "0":
            said.append(f"contacts of flexcomp '{self.name}' are not taken over")
        return said


def expand_flexcomp(element: Element, frame: Pose, settings: Settings) -> tuple[Flexcomp, list[Element]]:
    """The part, and what it puts into the body around it: a body for each point, a site for each that is pinned."""
    name, dim = element.required("name"), int(element.number("dim", 2.0))
    kind, dof = element.get("type") or "grid", element.get("dof") or "full"
    if dof != "full":
        raise element.error(f'dof = "{dof}" is not read, where points share their motions; use dof="full"')
    if kind == "grid":
        count = _count(element, dim)
        points, edges = _grid(element, count)
    elif kind == "direct":
        count = None
        points = element.numbers("point").reshape(-1, 3) * element.numbers("scale", 3, (1, 1, 1))
        edges = _lines(element) if dim == 1 else []
    else:
        raise element.error(
            f'the points of type="{kind}" are made by rules that are not read (type="grid" and "direct" are); save the compiled model (mj_saveLastXML) and read that'
        )
    pose = frame @ settings.pose(element)
    points = np.array([pose.position + pose.R @ p for p in points])
    pinned = set(range(len(points))) if element.get("rigid") == "true" else _pinned(element, count, len(points))
    mass = element.number("mass", 1.0) / len(points)
    inertia = mass * 2.0 / 3.0 * element.number("inertiabox", BOX) ** 2
    names = [f"{name}_{i}" for i in range(len(points))]
    inside = [
        Element("site", {"name": n, "pos": _words(p)}, element.source, element.line)
        if i in pinned
        else _point(element, n, p, mass, inertia)
        for i, (n, p) in enumerate(zip(names, points, strict=True))
    ]
    return Flexcomp(element, name, names, points, edges if dim == 1 else []), inside


def _point(element: Element, name: str, place: np.ndarray, mass: float, inertia: float) -> Element:
    """A body that slides along three axes."""

    def child(tag: str, **attributes: str) -> Element:
        return Element(tag, attributes, element.source, element.line)

    weight = child("inertial", pos="0 0 0", mass=repr(mass), diaginertia=_words(np.full(3, inertia)))
    slides = [child("joint", name=f"{name}:{axis}", type="slide", axis=_words(along)) for axis, along in zip("xyz", np.eye(3), strict=True)]
    return Element("body", {"name": name, "pos": _words(place)}, element.source, element.line, [weight, *slides])


def _count(element: Element, dim: int) -> list[int]:
    count = [int(n) for n in element.numbers("count", 3, (10, 10, 10))]
    if dim not in (1, 2, 3) or min(count) < 1 or any(n < 2 for n in count[:dim]):
        raise element.error(f"a grid of dim = {dim} with count = {' '.join(map(str, count))} has no points")
    if count[0] * count[1] * count[2] > MAX_ELEMENTS // 5:  # a point is five elements
        raise element.error(f"more than {MAX_ELEMENTS // 5} points are not read")
    return count[:dim] + [1] * (3 - dim)


def _grid(element: Element, count: list[int]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Points about the middle of the grid, the last axis first; edges between successive ones, which a line has."""
    spacing = np.array(element.numbers("spacing", 3, (0.02, 0.02, 0.02)))
    points = np.array([spacing * (np.array(at) - 0.5 * (np.array(count) - 1)) for at in product(*map(range, count))])
    return points, list(pairwise(range(len(points))))


def _lines(element: Element) -> list[tuple[int, int]]:
    ends = [int(i) for i in element.numbers("element")]
    return list(zip(ends[::2], ends[1::2], strict=False))


def _pinned(element: Element, count: list[int] | None, number: int) -> set[int]:
    """Points that belong to the body around the part: by number, ranges of numbers, places in the grid and ranges of places."""
    found = {i for pin in element.all("pin") for i in _pins(pin, count)}
    if not all(0 <= i < number for i in found):
        raise element.error(f"a pin names a point that is not among the {number}")
    return found


def _pins(pin: Element, count: list[int] | None) -> Iterator[int]:
    def integers(name: str) -> list[int]:
        return [int(i) for i in pin.numbers(name)] if name in pin.attributes else []

    yield from integers("id")
    ends = integers("range")
    for first, last in zip(ends[::2], ends[1::2], strict=False):
        yield from range(first, last + 1)
    if count is None:
        return
    dim = max(sum(n > 1 for n in count), 1)

    def at(place: Sequence[int]) -> int:
        x, y, z = (*place, *(0,) * (3 - len(place)))
        return (x * count[1] + y) * count[2] + z

    places = integers("grid")
    for k in range(0, len(places), dim):
        yield at(places[k : k + dim])
    bounds = integers("gridrange")
    for k in range(0, len(bounds), 2 * dim):
        low, high = bounds[k : k + dim], bounds[k + dim : k + 2 * dim]
        yield from (at(place) for place in product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))))


def _words(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)


__all__ = ["Flexcomp", "expand_flexcomp"]
