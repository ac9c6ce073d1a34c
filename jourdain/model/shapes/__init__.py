"""Solids for bodies: parametrised shapes, meshes and boolean combinations with their mass properties.

All lengths are in m, densities in kg/m³, angles in rad. Dimensions, densities and placements of analytic shapes may be
symbolic expressions; volume, mass, centre of mass and inertia are then symbolic too. By default a shape is centred at
the origin of its frame; anchor="start" lets it begin there.
"""

from .base import Shape
from .booleans import ApproximateShapeWarning, Difference, Union, difference, intersection, union
from .mass import MassProperties, Placement
from .meshes import Mesh, mesh, polyhedron_properties
from .plane import Plane, plane
from .profiles import Prism, Revolved, prism, revolved
from .solids import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Sphere,
    Torus,
    Tube,
    box,
    capsule,
    cone,
    cylinder,
    ellipsoid,
    sphere,
    torus,
    tube,
)  # fmt: skip

__all__ = [
    "ApproximateShapeWarning", "Box", "Capsule", "Cone", "Cylinder", "Difference", "Ellipsoid", "MassProperties", "Mesh",
    "Placement", "Plane", "Prism", "Revolved", "Shape", "Sphere", "Torus", "Tube", "Union", "box", "capsule", "cone", "cylinder",
    "difference", "ellipsoid", "intersection", "mesh", "plane", "polyhedron_properties", "prism", "revolved", "sphere", "torus", "tube",
    "union",
]  # fmt: skip
