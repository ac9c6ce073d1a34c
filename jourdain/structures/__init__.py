"""Elastic structures: finite-element data, reductions, floating frames; numbers in, numbers out (``jd.structures``).

A name loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..told import told_name

if TYPE_CHECKING:  # what loads later, for type checkers and editors
    from .beams import beam, cable, framework
    from .field import MassField
    from .files import read, read_reduced
    from .floating import FloatingBody
    from .patches import Authority, Patch, piezo_authority, with_patches
    from .pose import Pose, frame_of
    from .reduced import Point, ReducedStructure
    from .ritz import ritz_beam
    from .sections import ALUMINIUM, STEEL, Material, Section, Taper, circle, rectangle, taper
    from .solids import block, hexahedra, sheet, solid, tetrahedra
    from .structure import Interface, Structure
    from .trusses import lattice_rod, truss, truss_box

_LATER = {
    name: module
    for module, names in {
        "structure": "Structure Interface",
        "reduced": "ReducedStructure Point",
        "field": "MassField",
        "sections": "Material Section Taper circle rectangle taper STEEL ALUMINIUM",
        "beams": "beam cable framework",
        "ritz": "ritz_beam",
        "patches": "Authority Patch piezo_authority with_patches",
        "trusses": "truss truss_box lattice_rod",
        "solids": "solid block sheet hexahedra tetrahedra",
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
    return sorted([*globals(), *_LATER])


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
