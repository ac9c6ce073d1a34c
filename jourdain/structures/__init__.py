"""Elastic structures: finite-element data, reductions, floating frames; numbers in, numbers out (``jd.structures``).

A name loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..told import told_name

if TYPE_CHECKING:  # what loads later, for type checkers and editors
    from .field import MassField
    from .files import read, read_reduced
    from .floating import FloatingBody
    from .parts.beams import beam, cable, framework
    from .parts.patches import Authority, Patch, piezo_authority, with_patches
    from .parts.sections import ALUMINIUM, STEEL, Material, Section, Taper, circle, rectangle, taper
    from .parts.solids import block, hexahedra, sheet, solid, tetrahedra
    from .parts.trusses import lattice_rod, truss, truss_box
    from .pose import Pose, frame_of
    from .reduced import Point, ReducedStructure
    from .ritz import ritz_beam
    from .structure import Interface, Structure

_LATER = {
    name: module
    for module, names in {
        "structure": "Structure Interface",
        "reduced": "ReducedStructure Point",
        "field": "MassField",
        "parts.sections": "Material Section Taper circle rectangle taper STEEL ALUMINIUM",
        "parts.beams": "beam cable framework",
        "ritz": "ritz_beam",
        "parts.patches": "Authority Patch piezo_authority with_patches",
        "parts.trusses": "truss truss_box lattice_rod",
        "parts.solids": "solid block sheet hexahedra tetrahedra",
        "files": "read read_reduced",
        "floating": "FloatingBody",
        "pose": "Pose frame_of",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return told_name(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"jd.structures has no '{name}'; it has {', '.join(sorted(_LATER))}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER})


__all__ = [
    "ALUMINIUM",
    "Authority",
    "FloatingBody",
    "Interface",
    "MassField",
    "Material",
    "Patch",
    "Point",
    "Pose",
    "ReducedStructure",
    "STEEL",
    "Section",
    "Structure",
    "Taper",
    "beam",
    "block",
    "cable",
    "circle",
    "frame_of",
    "framework",
    "hexahedra",
    "lattice_rod",
    "piezo_authority",
    "read",
    "read_reduced",
    "rectangle",
    "ritz_beam",
    "sheet",
    "solid",
    "taper",
    "tetrahedra",
    "truss",
    "truss_box",
    "with_patches",
]
