"""Mass properties and placements whose entries are numbers or symbolic expressions.

Only +, −, ×, / are used, so that everything here works with floats and with any scalar that behaves like one.
Factors that are exactly 0, 1 or −1 are folded, which keeps symbolic results as short as the formula in the book.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...errors import InputError
from ...told import told

Scalar: TypeAlias = Any
"""A real number or a symbolic expression."""
Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]

ORIGIN: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def is_number(value: object) -> bool:
    """Tell whether a value is a plain real number, as opposed to a symbolic expression."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def product(a: Scalar, b: Scalar) -> Scalar:
    """Return a·b with exact 0, 1 and −1 folded."""
    for factor, other in ((a, b), (b, a)):
        if is_number(factor) and factor in (0, 1, -1):
            return 0.0 if factor == 0 else other if factor == 1 else -other
    return a * b


def total(*terms: Scalar) -> Scalar:
    """Return the sum of the terms with exact zeros left out."""
    result: Scalar = 0.0
    for term in terms:
        if is_number(term) and term == 0:
            continue
        result = term if is_number(result) and result == 0 else result + term
    return result


def dot(a: Vector, b: Vector) -> Scalar:
    """Return the scalar product a·b."""
    return total(*(product(x, y) for x, y in zip(a, b, strict=True)))


def add(a: Vector, b: Vector) -> Vector:
    """Return the sum a + b of two vectors."""
    return (total(a[0], b[0]), total(a[1], b[1]), total(a[2], b[2]))


def subtract(a: Vector, b: Vector) -> Vector:
    """Return the difference a − b of two vectors."""
    return add(a, scale(-1, b))


def scale(factor: Scalar, a: Vector) -> Vector:
    """Return the vector a multiplied by a factor."""
    return (product(factor, a[0]), product(factor, a[1]), product(factor, a[2]))


def transpose(a: Matrix) -> Matrix:
    """Return the transpose of a 3×3 matrix."""
    return (
        (a[0][0], a[1][0], a[2][0]),
        (a[0][1], a[1][1], a[2][1]),
        (a[0][2], a[1][2], a[2][2]),
    )


def apply(a: Matrix, v: Vector) -> Vector:
    """Return the matrix-vector product a v."""
    return (dot(a[0], v), dot(a[1], v), dot(a[2], v))


def multiply(a: Matrix, b: Matrix) -> Matrix:
    """Return the matrix product a b."""
    columns = transpose(b)
    return transpose((apply(a, columns[0]), apply(a, columns[1]), apply(a, columns[2])))


def add_matrices(a: Matrix, b: Matrix) -> Matrix:
    """Return the sum a + b of two matrices."""
    return (add(a[0], b[0]), add(a[1], b[1]), add(a[2], b[2]))


def scale_matrix(factor: Scalar, a: Matrix) -> Matrix:
    """Return the matrix a multiplied by a factor."""
    return (scale(factor, a[0]), scale(factor, a[1]), scale(factor, a[2]))


def dyad(v: Vector) -> Matrix:
    """Return the dyadic product v vᵀ."""
    return (scale(v[0], v), scale(v[1], v), scale(v[2], v))


def diagonal(a: Scalar, b: Scalar, c: Scalar) -> Matrix:
    """Return the diagonal matrix diag(a, b, c)."""
    return ((a, 0.0, 0.0), (0.0, b, 0.0), (0.0, 0.0, c))


def congruent(rotation: Matrix, a: Matrix) -> Matrix:
    """Return R a Rᵀ for a symmetric matrix a, symmetric to the last bit."""
    b = multiply(multiply(rotation, a), transpose(rotation))
    return (b[0], (b[0][1], b[1][1], b[1][2]), (b[0][2], b[1][2], b[2][2]))


def trace_complement(a: Matrix) -> Matrix:
    """Return tr(a) 1 − a, which turns second moments of mass into inertia."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = a
    xy, xz, yz = (product(-1, entry) for entry in (xy, xz, yz))
    return ((total(yy, zz), xy, xz), (xy, total(xx, zz), yz), (xz, yz, total(xx, yy)))


@dataclass(frozen=True)
class Placement:
    """Where a frame lies in another one: x_outer = position + rotation · x_inner (position in m)."""

    position: Vector = ORIGIN
    rotation: Matrix = IDENTITY

    def __matmul__(self, inner: Placement) -> Placement:
        """Return the placement that applies `inner` first and then this one."""
        position = add(self.position, apply(self.rotation, inner.position))
        return Placement(position, multiply(self.rotation, inner.rotation))

    def outward(self, points: np.ndarray) -> np.ndarray:
        """Map an (n, 3) array of points from the inner to the outer frame (numeric placements only)."""
        moved: np.ndarray = np.asarray(points) @ np.array(self.rotation, float).T + np.array(self.position, float)
        return moved

    def inward(self, points: np.ndarray) -> np.ndarray:
        """Map an (n, 3) array of points from the outer to the inner frame (numeric placements only)."""
        moved: np.ndarray = (np.asarray(points) - np.array(self.position, float)) @ np.array(self.rotation, float)
        return moved


def turn(axis: str | Vector, angle: Scalar) -> Matrix:
    """Return the rotation matrix about an axis by an angle in rad (Rodrigues' formula).

    >>> turn("z", math.pi / 2)
    ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    """
    u = unit_vector(axis)
    cosine, sine = _cos_sin(angle)
    versine = total(1.0, product(-1, cosine))
    cross: Matrix = ((0.0, -u[2], u[1]), (u[2], 0.0, -u[0]), (-u[1], u[0], 0.0))
    upright = add_matrices(diagonal(cosine, cosine, cosine), scale_matrix(versine, dyad(u)))
    return add_matrices(upright, scale_matrix(sine, cross))


def unit_vector(axis: str | Vector) -> Vector:
    """Return an axis given by letter or by three numbers as a unit vector."""
    if isinstance(axis, str):
        if axis not in AXES:
            raise InputError(f"axis {axis!r} is not known: use 'x', 'y', 'z' or three numbers")
        return AXES[axis]
    direction = tuple(axis)
    if len(direction) != 3 or not all(is_number(entry) for entry in direction):
        raise InputError(f"axis {axis!r}: three plain numbers or 'x', 'y', 'z' are needed")
    length = math.hypot(*direction)
    if not 0.0 < length < math.inf:
        raise InputError(f"axis {direction} has no direction: give a finite vector other than zero")
    return (direction[0] / length, direction[1] / length, direction[2] / length)


def _cos_sin(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return cosine and sine, exact for multiples of a right angle."""
    if not is_number(angle):
        from ...symbolic import cos, sin

        return cos(angle), sin(angle)
    if not math.isfinite(angle):
        raise InputError(f"angle {angle} is not finite: give a number in rad")
    quarters = round(angle / (math.pi / 2))
    if angle == quarters * (math.pi / 2):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
    return math.cos(angle), math.sin(angle)


@told
@dataclass(frozen=True)
class MassProperties:
    """Mass (kg), centre of mass (m) and second moments of mass ∫(x − c)(x − c)ᵀ dm about it (kg·m²).

    Second moments rather than inertias are kept because they add, turn and shift by the simplest rules;
    `inertia` is tr(S) 1 − S.
    """

    mass: Scalar
    com: Vector
    second: Matrix

    @property
    def inertia(self) -> Matrix:
        """Inertia about the centre of mass in the axes of the reference frame, in kg·m²."""
        return trace_complement(self.second)

    def inertia_about(self, point: Vector = ORIGIN, rotation: Matrix = IDENTITY) -> Matrix:
        """Return the inertia about a point of the reference frame, in the axes of a turned frame, in kg·m².

        I' = Rᵀ (I + m (d·d 1 − d dᵀ)) R with d = com − point (parallel-axis theorem of Huygens and Steiner);
        `rotation` maps components in the turned frame to components in the reference frame.
        """
        offset = subtract(self.com, point)
        second = add_matrices(self.second, scale_matrix(self.mass, dyad(offset)))
        return trace_complement(congruent(transpose(rotation), second))

    def times(self, factor: Scalar) -> MassProperties:
        """Return the properties with every mass multiplied by a factor (a density, when this one has unit density)."""
        return MassProperties(product(factor, self.mass), self.com, scale_matrix(factor, self.second))

    def placed(self, placement: Placement) -> MassProperties:
        """Return the properties seen from the outer frame of a placement."""
        if placement.position is ORIGIN and placement.rotation is IDENTITY:
            return self
        com = add(placement.position, apply(placement.rotation, self.com))
        return MassProperties(self.mass, com, congruent(placement.rotation, self.second))

    def __add__(self, other: MassProperties) -> MassProperties:
        """Return the properties of both bodies together."""
        mass = total(self.mass, other.mass)
        offset = subtract(other.com, self.com)
        if all(is_number(entry) and entry == 0 for entry in offset):
            return MassProperties(mass, self.com, add_matrices(self.second, other.second))
        share = other.mass / mass
        spread = scale_matrix(product(self.mass, share), dyad(offset))
        com = add(self.com, scale(share, offset))
        return MassProperties(mass, com, add_matrices(add_matrices(self.second, other.second), spread))

    def __sub__(self, other: MassProperties) -> MassProperties:
        """Return the properties that remain when the other body is taken away."""
        return self + other.times(-1)
