"""<flexcomp> of MJCF: a deformable part whose points are bodies, each on three slides along the axes of the body that carries it.

Grids and points given directly are read as MuJoCo makes them: every point has the same part of the mass and the inertia of a small box; pinned ones belong to the
body around them and leave their mass behind. Edges of lines are springs with dampers between neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np

from ...model import Model
from ..model_files.placement import Pose
from ..xml_reader import Element
from .rules import Settings

#: Half the side of the box whose inertia a point has (m), unless the file says so.
BOX = 0.005
#: Most points of all parts of a model: a few words of a file make three joints of each.
MAX_POINTS = 10_000


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


def expand_flexcomp(element: Element, frame: Pose, settings: Settings, before: int = 0) -> tuple[Flexcomp, list[Element]]:
    """The part, and what it puts into the body around it: a body for each point, a site for each that is pinned.

    ``before`` is the number of points that other parts of the model have.
    """
    name, dim = element.required("name"), int(element.number("dim", 2.0))
    kind, dof = element.get("type") or "grid", element.get("dof") or "full"
    if dof != "full":
        raise element.error(f'dof = "{dof}" is not read, where points share their motions; use dof="full"')
    if kind == "grid":
        count = _count(element, dim, before)
        points, edges = _grid(element, count)
    elif kind == "direct":
        count = None
        points = _rows(element, "point", element.numbers("point"), 3) * element.numbers("scale", 3, (1, 1, 1))
        edges = _lines(element, len(points)) if dim == 1 else []
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


def _rows(element: Element, name: str, values: np.ndarray, width: int) -> np.ndarray:
    """Numbers of an attribute, so many together."""
    if len(values) % width:
        raise element.error(f"'{name}' has {len(values)} numbers, no multiple of {width}")
    return values.reshape(-1, width)


def _whole(element: Element, name: str, width: int = 1) -> np.ndarray:
    """Whole numbers of an attribute, so many together; none where it is not given."""
    values = _rows(element, name, element.numbers(name, None, ()), width)
    if not (values == np.round(values)).all() or not (np.abs(values) < 1e9).all():
        raise element.error(f'{name}="{element.get(name)}" is no list of whole numbers')
    return values.astype(np.int64)


def _count(element: Element, dim: int, before: int) -> list[int]:
    count: list[int] = (_whole(element, "count", 3)[0] if "count" in element.attributes else np.array([10, 10, 10])).tolist()
    if dim not in (1, 2, 3) or min(count) < 1 or any(n < 2 for n in count[:dim]):
        raise element.error(f"a grid of dim = {dim} with count = {' '.join(map(str, count))} has no points")
    if before + count[0] * count[1] * count[2] > MAX_POINTS:
        raise element.error(f"more than {MAX_POINTS} points are not read")
    return count[:dim] + [1] * (3 - dim)


def _grid(element: Element, count: list[int]) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Points about the middle of the grid, the last axis first; edges between successive ones, which a line has."""
    spacing = np.array(element.numbers("spacing", 3, (0.02, 0.02, 0.02)))
    points = np.array([spacing * (np.array(at) - 0.5 * (np.array(count) - 1)) for at in product(*map(range, count))])
    return points, list(pairwise(range(len(points))))


def _lines(element: Element, number: int) -> list[tuple[int, int]]:
    """Edges between points."""
    ends = _whole(element, "element", 2)
    if not ((ends >= 0) & (ends < number)).all() or (ends[:, 0] == ends[:, 1]).any():
        raise element.error(f"'element' names no two of the {number} points")
    return [(i, j) for i, j in ends.tolist()]


def _pinned(element: Element, count: list[int] | None, number: int) -> set[int]:
    """Points that belong to the body around the part: by number, ranges of numbers, places in the grid and ranges of places."""
    found: set[int] = set()
    for pin in element.all("pin"):
        for names, shape in ((("id", "range"), (number,)), (("grid", "gridrange"), count)):
            if shape is not None:
                found |= _pins(pin, *names, shape)
    return found


def _pins(pin: Element, one: str, several: str, shape: Sequence[int]) -> set[int]:
    """Points by their places in a grid, as numbers along its last axis first."""
    dim = max(sum(n > 1 for n in shape), 1)
    low = np.concatenate([_whole(pin, one, dim), (ranges := _whole(pin, several, 2 * dim))[:, :dim]])
    high = np.concatenate([low[: len(low) - len(ranges)], ranges[:, dim:]])
    if not ((low >= 0) & (high < shape[:dim])).all():
        raise pin.error(f"it names a point that is not among the {' × '.join(map(str, shape[:dim]))}")
    found: set[int] = set()
    for first, last in zip(low.tolist(), high.tolist(), strict=True):
        places = np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(first, last, strict=True)), indexing="ij")
        found.update(np.ravel_multi_index(tuple(places), tuple(shape[:dim])).ravel().tolist())
    return found


def _words(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)


__all__ = ["Flexcomp", "expand_flexcomp"]
