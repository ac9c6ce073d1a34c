"""Rolling and sliding edges: nonholonomic rows Ā(q₀, q₁) Δq = 0, which conserve energy for any consistent Ā.

In the *momentum* form the material coordinates of the contact point follow from the inverse of the mean director matrix,
X̄ = Λ_{n+½}⁻¹ c, so that Σ X̄ᵢ dᵢ = c exactly at the mean configuration and contact forces act at one common point; the *midpoint* form
takes the transpose (earlier schemes; less accurate and without conservation of angular momentum).  Uhlar, Sec. 5.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import ModelError
from ..symbolic.expr import Expr
from ..symbolic.functions import sqrt
from ..symbolic.vectors import AXES, Vector
from .element import Coordinate, Element, Names, Symbols
from .pairs import Rows

FORMS = ("momentum", "midpoint")
RollingRows = Sequence[tuple[str, Mapping[Coordinate, Expr]]]


def material_coordinates(directors: Sequence[Vector], c: Vector, form: str) -> list[Expr]:
    """X with Σ Xᵢ dᵢ = c: by Cramer's rule for the mean directors ("momentum"), or by projection ("midpoint")."""
    d1, d2, d3 = directors
    if form == "midpoint":
        return [c.dot(d) for d in directors]
    volume = d1.dot(d2.cross(d3))
    return [c.dot(d2.cross(d3)) / volume, c.dot(d3.cross(d1)) / volume, c.dot(d1.cross(d2)) / volume]


def directors_of(p: Names, block: str) -> list[Vector]:
    """The three directors of a body."""
    return [p.vector(block, k) for k in (1, 2, 3)]


def point_rows(block: str, places: Sequence[Expr], direction: Vector, sign: float = 1.0) -> dict[Coordinate, Expr]:
    """The row sign · e·(v + Σ Xᵢ ḋᵢ) of a material point's velocity along e."""
    row: dict[Coordinate, Expr] = {}
    for i in range(3):
        row[block, i] = sign * direction[i]
        for k, x in enumerate(places):
            row[block, 3 + 3 * k + i] = sign * direction[i] * x
    return row


class _Rolling(Element):
    not_negative = ("radius",)

    def __init__(self, form: str) -> None:
        if form not in FORMS:
            raise ModelError(f"{type(self).__name__}: form '{form}' is unknown; choose one of {', '.join(FORMS)}")
        self.form = form


class RollingSphere(_Rolling):
    """Ball or upright wheel of given radius that rolls without slip on the plane with unit normal ``normal`` through the ground.

    Rows: velocity of the lowest point is zero, v + Σ X̄ᵢ ḋᵢ = 0 with X̄ = −R Λ⁻¹ e (Uhlar, eqs. 5.244–5.251).
    """

    def __init__(self, form: str = "momentum") -> None:
        super().__init__(form)
        self.blocks = {"a": 12}
        self.constants = {"radius": 1, "normal": 3}

    def rolling(self, s: Symbols) -> RollingRows:
        """Three rows."""
        contact = Vector.of(s.normal) * -s.radius
        places = material_coordinates(directors_of(s.mid, "a"), contact, self.form)
        return [(f"slip.{'xyz'[i]}", point_rows("a", places, AXES[i])) for i in range(3)]


class BallOnPlate(_Rolling):
    """Ball (block a) that rolls on the upper face of a plate (block b) which turns about the plate's normal e through a fixed point.

    Contact velocities of both are equal: X̄¹ = −R Λ₁⁻¹ e; X̄² = Λ₂⁻¹ r_c with r_c = φ¹ − R e − φ² from the plate's centre
    (Uhlar, eqs. 5.232–5.236).
    """

    def __init__(self, form: str = "momentum") -> None:
        super().__init__(form)
        self.blocks = {"a": 12, "b": 12}
        self.constants = {"radius": 1, "normal": 3}

    def rolling(self, s: Symbols) -> RollingRows:
        """Three rows; the one along the normal keeps the height."""
        contact = Vector.of(s.normal) * -s.radius
        ball = material_coordinates(directors_of(s.mid, "a"), contact, self.form)
        arm = s.mid.vector("a", 0) + contact - s.mid.vector("b", 0)
        plate = material_coordinates(directors_of(s.mid, "b"), arm, self.form)
        return [(f"slip.{'xyz'[i]}", {**point_rows("a", ball, AXES[i]), **point_rows("b", plate, AXES[i], -1.0)}) for i in range(3)]


class RollingDisk(_Rolling):
    """Thin disk (coin) of given radius with axis d₃ that rolls without slip on the plane z = 0.

    The height is the quadratic constraint φ_z² + R²(d₃·e)² − R² = 0; the two horizontal rows make the velocity of the lowest point of
    the rim vanish, c = −R (e − (e·d₃) d₃)/|…|.
    """

    def __init__(self, form: str = "momentum") -> None:
        super().__init__(form)
        self.blocks = {"a": 12}
        self.constants = {"radius": 1}

    def constraints(self, s: Symbols) -> Rows:
        """Contact with the plane."""
        height, tilt = s.a[2], s.a[11]
        return [("height", (height * height + s.radius**2 * (tilt * tilt - 1.0),))]

    def rolling(self, s: Symbols) -> RollingRows:
        """Two rows."""
        directors = directors_of(s.mid, "a")
        e, axis = AXES[2], directors[2]
        rim = axis.cross(e.cross(axis))
        contact = rim * (-s.radius / sqrt(rim.dot(rim)))
        places = material_coordinates(directors, contact, self.form)
        return [(f"slip.{'xyz'[i]}", point_rows("a", places, AXES[i])) for i in range(2)]


class PlanarWheel(Element):
    """Wheel in the plane of given radius that rolls on the line y = 0: v + Σ X̄ₐ ḋₐ = 0 with X̄ = −R Λ⁻¹ e₂ (Uhlar, eq. 6.39)."""

    def __init__(self) -> None:
        self.blocks = {"a": 6}
        self.constants = {"radius": 1}

    def rolling(self, s: Symbols) -> RollingRows:
        """Two rows."""
        d1, d2 = s.mid.pair("a", 1), s.mid.pair("a", 2)
        area = d1.x * d2.y - d1.y * d2.x
        places = (s.radius * d2.x / area, -s.radius * d1.x / area)
        rows = []
        for i in range(2):
            row = {("a", i): AXES[i][i], ("a", 2 + i): places[0], ("a", 4 + i): places[1]}
            rows.append((f"slip.{'xy'[i]}", row))
        return rows


class KnifeEdge(Element):
    """Blade of a planar body at a material point that cannot move sideways (Chaplygin's sleigh): m·(v + Σ Xₐ ḋₐ) = 0.

    ``point`` places the blade, ``normal`` is its normal, both in the body's directors.
    """

    def __init__(self) -> None:
        self.blocks = {"a": 6}
        self.constants = {"point": 2, "normal": 2}

    def rolling(self, s: Symbols) -> RollingRows:
        """One row."""
        normal = s.mid.pair("a", 1) * s.normal[0] + s.mid.pair("a", 2) * s.normal[1]
        row: dict[Coordinate, Expr] = {}
        for i in range(2):
            row["a", i] = normal[i]
            row["a", 2 + i] = normal[i] * s.point[0]
            row["a", 4 + i] = normal[i] * s.point[1]
        return [("sideways", row)]
