"""<replicate> of MJCF: copies of what stands in it, each moved on from the one before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..xml_reader import MAX_ELEMENTS, Element
from .rules import Settings


def expand_replicates(root: Element, settings: Settings) -> None:
    """Replaces every <replicate> by one <frame> a copy; names get the separator and the number of their copy."""
    for world in root.all("worldbody"):
        _expand(world, settings)


def _expand(element: Element, settings: Settings) -> int:
    """Expands what stands in an element; how many elements it holds then."""
    children: list[Element] = []
    total = 1
    for child in element.children:
        size = _expand(child, settings)
        if child.tag == "replicate":
            size *= _number(child, size)
            children += _copies(child, settings)
        else:
            children.append(child)
        total += size
    if total > MAX_ELEMENTS:
        raise element.error(f"more than {MAX_ELEMENTS} elements are not read")
    element.children = children
    return total


def _number(element: Element, size: int) -> int:
    """How many copies of ``size`` elements there are."""
    number = element.number("count")
    if number < 1 or number * size > MAX_ELEMENTS:
        raise element.error(f"count = {number:g} must be at least 1, and no more than {MAX_ELEMENTS} elements are read")
    return int(number)


def _copies(element: Element, settings: Settings) -> list[Element]:
    """One frame a copy: copy k is turned by k times the angles of ``euler``, and ``offset`` leads from each to the next in its axes."""
    number = int(element.number("count"))
    angles, offset = element.numbers("euler", 3, (0, 0, 0)), element.numbers("offset", 3, (0, 0, 0))
    separator, digits = element.get("sep") or "", len(str(number))
    found, position = [], np.zeros(3)
    for k in range(number):
        R = settings.turned(k * angles)
        inside = [_renamed(child, f"{separator}{k:0{digits}d}") for child in element.children]
        place = {"pos": _words(position), "xyaxes": _words(np.concatenate([R[:, 0], R[:, 1]]))}
        kept = {n: x for n, x in element.attributes.items() if n == "childclass"}
        found.append(Element("frame", kept | place, element.source, element.line, inside))
        position = position + R @ offset
    return found


def _renamed(element: Element, suffix: str) -> Element:
    """A copy whose named elements have other names."""
    attributes = dict(element.attributes)
    if "name" in attributes:
        attributes["name"] += suffix
    return replace(element, attributes=attributes, children=[_renamed(child, suffix) for child in element.children])


def _words(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)


__all__ = ["expand_replicates"]
