"""Elastic structures: finite-element data, reductions, floating frames; numbers in, numbers out (``jd.structures``).

A name loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what loads later, for type checkers and editors
    from .beams import beam, framework
    from .field import MassField
    from .files import read
    from .reduced import Point, ReducedStructure
    from .sections import ALUMINIUM, STEEL, Material, Section, circle, rectangle
    from .structure import Interface, Structure

_LATER = {
    name: module
    for module, names in {
        "structure": "Structure Interface",
        "reduced": "ReducedStructure Point",
        "field": "MassField",
        "sections": "Material Section circle rectangle STEEL ALUMINIUM",
        "beams": "beam framework",
        "files": "read",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"jd.structures has no '{name}'; it has {', '.join(sorted(_LATER))}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER])


__all__ = [
    "ALUMINIUM",
    "Interface",
    "MassField",
    "Material",
    "Point",
    "ReducedStructure",
    "STEEL",
    "Section",
    "Structure",
    "beam",
    "circle",
    "framework",
    "read",
    "rectangle",
]
