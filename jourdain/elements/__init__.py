"""Element types of assembled systems, declared in symbols: bodies, pairs, springs, friction, rolling, play, servo constraints.

``jd.elements`` is this package; a name loads its module when it is first used.  Types of one's own derive from :class:`Element`.
"""

from importlib import import_module
from typing import Any

from ..told import told_name
from . import element
from .element import Composite, Element, Internal, Reduction, Servo, Symbols, Term

_LATER = {
    name: module
    for module, names in {
        "rigid": "DirectorBody PlanarBody",
        "points": "PointBody ParallelAxes RelativePosition Alignment FixedAngle",
        "carriers": "Ground Directors PlanarDirectors Particle Bar Triangle Tetrahedron",
        "pairs": "Spherical Revolute Prismatic Cylindrical Planar Universal Rigid PlanarRevolute PlanarPrismatic PlanarRigid",
        "augmentation": "Angle JointAngle PlanarJointAngle JointDisplacement PlanarJointDisplacement Length PlanarLength WheelSpin Yaw Screw",
        "potentials": "Gravity PointForce CoordinateForce CoordinatePotential PointMass PointPotential DistancePenalty Penalty "
        "AugmentedLagrangian VectorPenalty",
        "dissipation": "Viscous Viscoelastic Plastic PointDashpot Rayleigh",
        "rolling": "RollingSphere BallOnPlate RollingDisk PlanarWheel KnifeEdge",
        "clearance": "SphericalClearance Cavity RevoluteClearance hertz sphere blob",
        "solid": "Solid",
        "fastening": "NodeOnBody",
        "beam": "Beam BeamNode section_of",
        "cable": "Cable SlidingPoint catenary",
        "planar_beam": "PlanarBeam PlanarNode planar_section_of",
        "point_laws": "PointLaw SAINT_VENANT_KIRCHHOFF NEO_HOOKE MOONEY_RIVLIN ogden lame",
        "interpolation": "Interpolation hexahedron quadrilateral tetrahedron",
        "servo": "CoordinateServo OutputServo point_to_point ramp_cruise_ramp",
        "servo_projection": "Projected",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return told_name(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"jd.elements has no '{name}'; it has {', '.join(sorted([*__all__, *_LATER]))}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER})


symbols_of = told_name(element, "symbols_of")

__all__ = ["Composite", "Element", "Internal", "Reduction", "Servo", "Symbols", "Term", "symbols_of"]
