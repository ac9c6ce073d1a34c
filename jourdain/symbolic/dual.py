"""Dual numbers x + ε y with ε² = 0, and 3×3 matrices of them: rotations and translations in one product.

A function of a dual number follows from its Taylor series, which ends after the second term: f(x + ε y) = f(x) + ε y f′(x).
A rigid displacement with rotation A and translation p is the dual orthogonal matrix A + ε p̃ A (p̃ the cross-product matrix of p);
displacements one after the other multiply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .expr import ONE, ZERO, Expr, add, as_expr, div, mul, neg, sub
from .functions import sqrt as real_sqrt
from .vectors import Matrix, Vector, cosine_sine


@dataclass(frozen=True)
class Dual:
    """x + ε y of expressions (or numbers, made expressions).

    >>> Dual.of(2, 3) * Dual.of(5, 7)
    10 + ε 29
    """

    real: Expr
    dual: Expr

    @staticmethod
    def of(real: Any, dual: Any = 0.0) -> Dual:
        """A dual number from its two parts; a dual number stays what it is."""
        return real if isinstance(real, Dual) else Dual(as_expr(real), as_expr(dual))

    def __add__(self, other: Any) -> Dual:
        o = Dual.of(other)
        return Dual(add(self.real, o.real), add(self.dual, o.dual))

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(neg(self.real), neg(self.dual))

    def __sub__(self, other: Any) -> Dual:
        o = Dual.of(other)
        return Dual(sub(self.real, o.real), sub(self.dual, o.dual))

    def __rsub__(self, other: Any) -> Dual:
        return Dual.of(other) - self

    def __mul__(self, other: Any) -> Dual:
        o = Dual.of(other)
        return Dual(mul(self.real, o.real), add(mul(self.real, o.dual), mul(self.dual, o.real)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        o = Dual.of(other)
        quotient = div(self.real, o.real)
        return Dual(quotient, div(sub(self.dual, mul(quotient, o.dual)), o.real))

    def __rtruediv__(self, other: Any) -> Dual:
        return Dual.of(other) / self

    def __repr__(self) -> str:
        return f"{self.real} + ε {self.dual}"


def sin(x: Dual) -> Dual:
    """sin(x + ε y) = sin x + ε y cos x."""
    c, s = cosine_sine(x.real)
    return Dual(s, mul(x.dual, c))


def cos(x: Dual) -> Dual:
    """cos(x + ε y) = cos x − ε y sin x."""
    c, s = cosine_sine(x.real)
    return Dual(c, neg(mul(x.dual, s)))


def sqrt(x: Dual) -> Dual:
    """√(x + ε y) = √x + ε y/(2√x)."""
    root = real_sqrt(x.real)
    return Dual(root, div(x.dual, add(root, root)))


class DualMatrix:
    """A 3×3 matrix real + ε dual; a displacement when it is orthogonal."""

    def __init__(self, real: Matrix, dual: Matrix) -> None:
        self.real = real
        self.dual = dual

    @staticmethod
    def of(rows: Any) -> DualMatrix:
        """From three rows of dual numbers."""
        entries = [[Dual.of(e) for e in row] for row in rows]
        return DualMatrix(Matrix.of([[e.real for e in row] for row in entries]), Matrix.of([[e.dual for e in row] for row in entries]))

    @staticmethod
    def displacement(rotation: Matrix, translation: Vector) -> DualMatrix:
        """A + ε p̃ A."""
        return DualMatrix(rotation, Matrix.from_columns(*(translation.cross(rotation.column(j)) for j in range(3))))

    def __matmul__(self, other: DualMatrix) -> DualMatrix:
        return DualMatrix(self.real @ other.real, self.real @ other.dual + self.dual @ other.real)

    @property
    def T(self) -> DualMatrix:
        """The transpose: the inverse displacement."""
        return DualMatrix(self.real.T, self.dual.T)

    @property
    def translation(self) -> Vector:
        """p of a displacement: p̃ = D Aᵀ, the mean of the two entries that hold each component."""
        skew = self.dual @ self.real.T
        return Vector(skew[2, 1] - skew[1, 2], skew[0, 2] - skew[2, 0], skew[1, 0] - skew[0, 1]) * 0.5

    def __repr__(self) -> str:
        return f"{self.real} + ε {self.dual}"


def turn_x(angle: Dual) -> DualMatrix:
    """Turn about and slide along x: the angle's real part and its dual part."""
    c, s = cos(angle), sin(angle)
    return DualMatrix.of([[ONE, ZERO, ZERO], [ZERO, c, -s], [ZERO, s, c]])


def turn_z(angle: Dual) -> DualMatrix:
    """Turn about and slide along z."""
    c, s = cos(angle), sin(angle)
    return DualMatrix.of([[c, -s, ZERO], [s, c, ZERO], [ZERO, ZERO, ONE]])


__all__ = ["Dual", "DualMatrix", "cos", "sin", "sqrt", "turn_x", "turn_z"]
