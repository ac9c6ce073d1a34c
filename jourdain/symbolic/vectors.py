"""Small vectors and matrices of expressions: what mechanics is written with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .expr import HALF, ONE, TWO, ZERO, Expr, add, as_expr, constant, mul, neg, scalar_product, sub
from .functions import cos, sin


class Vector:
    """Three components in some frame."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: Expr, y: Expr, z: Expr) -> None:
        self.x = x
        self.y = y
        self.z = z

    @staticmethod
    def of(values: Iterable[Any]) -> Vector:
        """A vector from three numbers or expressions."""
        x, y, z = values
        return Vector(as_expr(x), as_expr(y), as_expr(z))

    def __iter__(self) -> Iterator[Expr]:
        yield self.x
        yield self.y
        yield self.z

    def __getitem__(self, i: int) -> Expr:
        return (self.x, self.y, self.z)[i]

    def __add__(self, o: Vector) -> Vector:
        return Vector(add(self.x, o.x), add(self.y, o.y), add(self.z, o.z))

    def __sub__(self, o: Vector) -> Vector:
        return Vector(sub(self.x, o.x), sub(self.y, o.y), sub(self.z, o.z))

    def __neg__(self) -> Vector:
        return Vector(neg(self.x), neg(self.y), neg(self.z))

    def __mul__(self, k: Any) -> Vector:
        k = as_expr(k)
        return Vector(mul(k, self.x), mul(k, self.y), mul(k, self.z))

    __rmul__ = __mul__

    def dot(self, o: Vector) -> Expr:
        """Scalar product."""
        return add(add(mul(self.x, o.x), mul(self.y, o.y)), mul(self.z, o.z))

    def cross(self, o: Vector) -> Vector:
        """Vector product."""
        return Vector(
            sub(mul(self.y, o.z), mul(self.z, o.y)),
            sub(mul(self.z, o.x), mul(self.x, o.z)),
            sub(mul(self.x, o.y), mul(self.y, o.x)),
        )

    @property
    def is_zero(self) -> bool:
        """Whether all components vanish identically."""
        return self.x is ZERO and self.y is ZERO and self.z is ZERO

    @property
    def coordinate_axis(self) -> tuple[int, int] | None:
        """Axis 0, 1, 2 and sign for a unit vector that lies exactly along a coordinate axis."""
        x, y, z = self.x, self.y, self.z
        k, e = (2, z) if x is ZERO and y is ZERO else (1, y) if x is ZERO and z is ZERO else (0, x)
        if k == 0 and not (y is ZERO and z is ZERO):
            return None
        return (k, int(e.data)) if e.op == "const" and abs(e.data) == 1.0 else None

    def __repr__(self) -> str:
        return f"({self.x}, {self.y}, {self.z})"


NULL = Vector(ZERO, ZERO, ZERO)
AXES = (Vector(ONE, ZERO, ZERO), Vector(ZERO, ONE, ZERO), Vector(ZERO, ZERO, ONE))


class Matrix:
    """Three by three entries; a rotation maps components from its own frame to the outer one."""

    __slots__ = ("rows",)

    def __init__(self, rows: tuple[Vector, Vector, Vector]) -> None:
        self.rows = rows

    @staticmethod
    def of(values: Iterable[Iterable[Any]]) -> Matrix:
        """A matrix from three rows."""
        a, b, c = values
        return Matrix((Vector.of(a), Vector.of(b), Vector.of(c)))

    @staticmethod
    def from_columns(x: Vector, y: Vector, z: Vector) -> Matrix:
        """A matrix from its columns."""
        return Matrix((Vector(x.x, y.x, z.x), Vector(x.y, y.y, z.y), Vector(x.z, y.z, z.z)))

    def __getitem__(self, ij: tuple[int, int]) -> Expr:
        return self.rows[ij[0]][ij[1]]

    def column(self, j: int) -> Vector:
        """Column j."""
        return Vector(self.rows[0][j], self.rows[1][j], self.rows[2][j])

    @property
    def T(self) -> Matrix:
        """The transpose."""
        return Matrix((self.column(0), self.column(1), self.column(2)))

    def __matmul__(self, o: Any) -> Any:
        if isinstance(o, Vector):
            a, b, c = self.rows
            return Vector(a.dot(o), b.dot(o), c.dot(o))
        return Matrix.from_columns(*(self @ o.column(j) for j in range(3)))

    def __add__(self, o: Matrix) -> Matrix:
        a, b = self.rows, o.rows
        return Matrix((a[0] + b[0], a[1] + b[1], a[2] + b[2]))

    def __mul__(self, k: Any) -> Matrix:
        a, b, c = self.rows
        return Matrix((a * k, b * k, c * k))

    def __iter__(self) -> Iterator[Vector]:
        return iter(self.rows)

    @property
    def entries(self) -> list[Expr]:
        """All entries row by row."""
        return [e for row in self.rows for e in row]

    @property
    def is_identity(self) -> bool:
        """Whether this is the unit matrix, entry by entry."""
        return all((e is ONE) if i % 4 == 0 else (e is ZERO) for i, e in enumerate(self.entries))

    def __repr__(self) -> str:
        return f"[{self.rows[0]}, {self.rows[1]}, {self.rows[2]}]"


IDENTITY = Matrix(AXES)


class Inertia:
    """Symmetric tensor by its six entries xx, yy, zz, xy, xz, yz (xy is the matrix entry, not the product of inertia)."""

    __slots__ = ("xx", "xy", "xz", "yy", "yz", "zz")

    def __init__(self, xx: Expr, yy: Expr, zz: Expr, xy: Expr, xz: Expr, yz: Expr) -> None:
        self.xx, self.yy, self.zz, self.xy, self.xz, self.yz = xx, yy, zz, xy, xz, yz

    @staticmethod
    def of(m: Matrix) -> Inertia:
        """The tensor of a symmetric matrix (upper triangle taken)."""
        return Inertia(m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2])

    @property
    def entries(self) -> tuple[Expr, ...]:
        """xx, yy, zz, xy, xz, yz."""
        return self.xx, self.yy, self.zz, self.xy, self.xz, self.yz

    def __add__(self, o: Inertia) -> Inertia:
        return Inertia(*(add(a, b) for a, b in zip(self.entries, o.entries, strict=True)))

    def __sub__(self, o: Inertia) -> Inertia:
        return Inertia(*(sub(a, b) for a, b in zip(self.entries, o.entries, strict=True)))

    def __matmul__(self, v: Vector) -> Vector:
        return Vector(
            add(add(mul(self.xx, v.x), mul(self.xy, v.y)), mul(self.xz, v.z)),
            add(add(mul(self.xy, v.x), mul(self.yy, v.y)), mul(self.yz, v.z)),
            add(add(mul(self.xz, v.x), mul(self.yz, v.y)), mul(self.zz, v.z)),
        )

    def column(self, j: int) -> Vector:
        """Column j of the matrix."""
        if j == 0:
            return Vector(self.xx, self.xy, self.xz)
        return Vector(self.xy, self.yy, self.yz) if j == 1 else Vector(self.xz, self.yz, self.zz)

    def matrix(self) -> Matrix:
        """The full matrix."""
        return Matrix.from_columns(self.column(0), self.column(1), self.column(2))

    @property
    def is_zero(self) -> bool:
        """Whether all entries vanish identically."""
        return all(e is ZERO for e in self.entries)


NO_INERTIA = Inertia(ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)


def steiner(w: Vector, d: Vector) -> Inertia:
    """(d·w)1 − ½(d wᵀ + w dᵀ): the shift of an inertia by d when w = 2s + m d (s the first moment, m the mass)."""
    dx, dy, dz = mul(d.x, w.x), mul(d.y, w.y), mul(d.z, w.z)

    def off(a: Expr, b: Expr, c: Expr, e: Expr) -> Expr:
        return neg(mul(HALF, add(mul(a, e), mul(b, c))))

    return Inertia(
        add(dy, dz), add(dx, dz), add(dx, dy),
        off(d.x, d.y, w.x, w.y), off(d.x, d.z, w.x, w.z), off(d.y, d.z, w.y, w.z),
    )  # fmt: skip


def cosine_sine(angle: Expr) -> tuple[Expr, Expr]:
    """Cosine and sine; those of a number that is a whole multiple of π/2 to rounding are exact."""
    if angle.is_number:
        quarters = float(angle) / (0.5 * math.pi)
        if abs(quarters) < 1e6 and quarters == round(quarters):
            return _QUARTERS[round(quarters) % 4]
    return cos(angle), sin(angle)


_QUARTERS = ((ONE, ZERO), (ZERO, ONE), (constant(-1.0), ZERO), (ZERO, constant(-1.0)))


class AxisTurn:
    """Rotation about a coordinate axis by an angle: two components mix, the third stays."""

    __slots__ = ("angle", "axis", "c", "s")

    def __init__(self, axis: int, c: Expr, s: Expr, angle: Expr | None = None) -> None:
        self.axis = axis
        self.c = c
        self.s = s
        self.angle = angle

    @staticmethod
    def by(axis: int, angle: Any) -> AxisTurn:
        """The rotation by an angle."""
        angle = as_expr(angle)
        return AxisTurn(axis, *cosine_sine(angle), angle)

    def out(self, v: Vector) -> Vector:
        """Components in the outer frame of a vector given in the turned frame."""
        return self._mix(v, self.s)

    def into(self, v: Vector) -> Vector:
        """Components in the turned frame of a vector given in the outer frame."""
        return self._mix(v, neg(self.s))

    def _mix(self, v: Vector, s: Expr) -> Vector:
        c = self.c
        if self.axis == 0:
            return Vector(v.x, sub(mul(c, v.y), mul(s, v.z)), add(mul(s, v.y), mul(c, v.z)))
        if self.axis == 1:
            return Vector(add(mul(c, v.x), mul(s, v.z)), v.y, sub(mul(c, v.z), mul(s, v.x)))
        return Vector(sub(mul(c, v.x), mul(s, v.y)), add(mul(s, v.x), mul(c, v.y)), v.z)

    def out_inertia(self, inertia: Inertia) -> Inertia:
        """R I Rᵀ by the double angle: the mean stays, the difference and the product turn by 2θ."""
        i, j, k = (self.axis + 1) % 3, (self.axis + 2) % 3, self.axis
        m = inertia.matrix()
        a, b, ab = m[i, i], m[j, j], m[i, j]
        c2, s2 = sub(mul(self.c, self.c), mul(self.s, self.s)), mul(TWO, mul(self.s, self.c))
        mean, half = mul(HALF, add(a, b)), mul(HALF, sub(a, b))
        turned = sub(mul(c2, half), mul(s2, ab))
        rows = [[ZERO] * 3 for _ in range(3)]
        rows[i][i], rows[j][j], rows[k][k] = add(mean, turned), sub(mean, turned), m[k, k]
        rows[i][j] = rows[j][i] = add(mul(s2, half), mul(c2, ab))
        rows[i][k] = rows[k][i] = sub(mul(self.c, m[i, k]), mul(self.s, m[j, k]))
        rows[j][k] = rows[k][j] = add(mul(self.s, m[i, k]), mul(self.c, m[j, k]))
        return Inertia.of(Matrix.of(rows))

    def matrix(self) -> Matrix:
        """The rotation matrix."""
        return Matrix.from_columns(*(self.out(a) for a in AXES))


class MatrixTurn:
    """Rotation by a constant (or quaternion) matrix."""

    __slots__ = ("R", "T")

    def __init__(self, R: Matrix) -> None:
        self.R = R
        self.T = R.T

    def out(self, v: Vector) -> Vector:
        """Components in the outer frame."""
        return self.R @ v  # type: ignore[no-any-return]

    def into(self, v: Vector) -> Vector:
        """Components in the turned frame."""
        return self.T @ v  # type: ignore[no-any-return]

    def out_inertia(self, inertia: Inertia) -> Inertia:
        """R I Rᵀ."""
        half = Matrix.from_columns(*(inertia @ row for row in self.R.rows))  # I Rᵀ
        return Inertia.of(self.R @ half)

    def matrix(self) -> Matrix:
        """The rotation matrix."""
        return self.R


class QuaternionTurn(MatrixTurn):
    """Rotation by a unit quaternion; its matrix is written out when it is first asked for: loops over links never do."""

    __slots__ = ("quaternion",)

    def __init__(self, quaternion: Sequence[Expr]) -> None:
        self.quaternion = quaternion

    def __getattr__(self, name: str) -> Matrix:
        if name not in MatrixTurn.__slots__:
            raise AttributeError(name)
        self.R = quaternion_rotation(*self.quaternion)
        self.T = self.R.T
        return self.R if name == "R" else self.T


Turn = AxisTurn | MatrixTurn


def turn_of(R: Matrix) -> Turn | None:
    """The cheapest turn for a constant rotation: none, about an axis, or general."""
    if R.is_identity:
        return None
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        fixed = R[axis, axis] is ONE and all(R[axis, o] is ZERO and R[o, axis] is ZERO for o in (i, j))
        if fixed and R[i, i] is R[j, j] and R[j, i] is neg(R[i, j]):
            return AxisTurn(axis, R[i, i], R[j, i])
    return MatrixTurn(R)


def axis_rotation(axis: Sequence[Any], angle: Any) -> Matrix:
    """Rotation about a unit axis by Rodrigues' formula R = cos θ 1 + sin θ ñ + (1 − cos θ) n nᵀ."""
    n = Vector.of(axis)
    angle = as_expr(angle)
    along = n.coordinate_axis
    if along is not None:
        k, sign = along
        return AxisTurn.by(k, angle if sign > 0 else neg(angle)).matrix()
    c, s = cosine_sine(angle)
    v = sub(ONE, c)
    rows = [[add(mul(v, mul(n[i], n[j])), c if i == j else ZERO) for j in range(3)] for i in range(3)]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        rows[i][j] = sub(rows[i][j], mul(s, n[k]))
        rows[j][i] = add(rows[j][i], mul(s, n[k]))
    return Matrix.of(rows)


def quaternion_rotation(w: Any, x: Any, y: Any, z: Any) -> Matrix:
    """Rotation of a unit quaternion, scalar first."""
    w, x, y, z = (as_expr(e) for e in (w, x, y, z))
    x2, y2, z2 = mul(TWO, x), mul(TWO, y), mul(TWO, z)
    xx, yy, zz = mul(x, x2), mul(y, y2), mul(z, z2)
    xy, xz, yz = mul(x, y2), mul(x, z2), mul(y, z2)
    wx, wy, wz = mul(w, x2), mul(w, y2), mul(w, z2)
    return Matrix.of([
        [sub(sub(ONE, yy), zz), sub(xy, wz), add(xz, wy)],
        [add(xy, wz), sub(sub(ONE, xx), zz), sub(yz, wx)],
        [sub(xz, wy), add(yz, wx), sub(sub(ONE, xx), yy)],
    ])  # fmt: skip


__all__ = [
    "AXES", "IDENTITY", "NO_INERTIA", "NULL", "AxisTurn", "Inertia", "Matrix", "MatrixTurn", "QuaternionTurn", "Turn", "Vector",
    "axis_rotation", "constant", "quaternion_rotation", "scalar_product", "steiner", "turn_of",
]  # fmt: skip
