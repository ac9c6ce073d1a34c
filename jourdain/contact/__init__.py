"""Contact (``jd.contact``): laws for ``m.contact``; on the fast scale Hertz's law, waves and vibrations after an impact, restitution.

A name loads its module when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..spelling import british
from ..told import told_name

if TYPE_CHECKING:  # what loads later, for type checkers and editors
    from ..model.contact.laws import rigid
    from ..model.contact.penalty_laws import (
        bristle,
        flores,
        hertz,
        hunt_crossley,
        kelvin_voigt,
        lankarani_nikravesh,
        linear,
        own,
        regularised,
    )
    from .adaptive import AdaptiveRun, strike
    from .bodies import ball, beam, cylinder, disc, plate, rod, structure
    from .bounds import ResponseBounds, decay_rate
    from .coefficient import Restitution, RestitutionTable, restitution
    from .hertz_theory import Surface, curvature_factor, hertz_stiffness
    from .jumps import RigidImpact, rigid_impacts, three_coefficients
    from .laws import NormalForce, regularised_friction
    from .signals import identify_damping, power_spectrum, ringing, sound, write_wav

_LATER = {
    name: module
    for module, names in {
        ".model.contact.laws": "rigid",
        ".model.contact.penalty_laws": "bristle flores hertz hunt_crossley kelvin_voigt lankarani_nikravesh linear own regularised",
        "hertz_theory": "Surface curvature_factor hertz_stiffness",
        "laws": "NormalForce regularised_friction",
        "bodies": "ball beam cylinder disc plate rod structure",
        "coefficient": "Restitution RestitutionTable restitution",
        "jumps": "RigidImpact rigid_impacts three_coefficients",
        "bounds": "ResponseBounds decay_rate",
        "adaptive": "AdaptiveRun strike",
        "signals": "identify_damping power_spectrum ringing sound write_wav",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    name = british(name, _LATER)
    if name in _LATER:
        return told_name(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"jd.contact has no '{name}'; it has {', '.join(sorted(_LATER))}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER})


__all__ = [
    "regularised",
    "own",
    "linear",
    "lankarani_nikravesh",
    "kelvin_voigt",
    "hunt_crossley",
    "hertz",
    "flores",
    "bristle",
    "AdaptiveRun",
    "NormalForce",
    "ResponseBounds",
    "Restitution",
    "RestitutionTable",
    "RigidImpact",
    "Surface",
    "ball",
    "beam",
    "curvature_factor",
    "cylinder",
    "decay_rate",
    "disc",
    "hertz_stiffness",
    "identify_damping",
    "plate",
    "power_spectrum",
    "regularised_friction",
    "restitution",
    "rigid",
    "rigid_impacts",
    "ringing",
    "rod",
    "sound",
    "strike",
    "structure",
    "three_coefficients",
    "write_wav",
]
