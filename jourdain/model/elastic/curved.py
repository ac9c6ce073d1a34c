"""Exact beams in symbols: rotations of the stations, tangents and the fields of the kinetic energy; see :mod:`jourdain.structures.exact`.

With the turns w_i of a section by the amplitudes its angular velocity is Ω = Σ w_i ė_i, seen from the beam's base, and a vector d of it moves by ∂_i d = w_i × d and
d̈ = Ω̇ × d + Ω × (Ω × d); what Ω̇ is without ë follows along the beam as Ω does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ...symbolic.derivatives import jvp
from ...symbolic.expr import ONE, TWO, ZERO, Expr, add, constant, div, mul
from ...symbolic.vectors import AXES, IDENTITY, NULL, Matrix, Vector, axis_rotation, scalar_product
from .deformation import Deformation

if TYPE_CHECKING:
    from ...structures.exact import ExactFields, Reach


@dataclass(frozen=True)
class Section:
    """A section: rotation, turns by the amplitudes, angular velocity and Ω̇ without ë, in the axes of the base."""

    rotation: Matrix
    turns: list[Vector]
    omega: Vector
    bias: Vector

    def fixed(self, d: Vector) -> MovingVector:
        """A vector of the section, in the axes of the base."""
        rate = self.omega.cross(d)
        return MovingVector(d, [w.cross(d) for w in self.turns], rate, self.bias.cross(d) + self.omega.cross(rate))


@dataclass(frozen=True)
class MovingVector:
    """A function of the amplitudes: value, slopes, rate, and second rate without ë."""

    value: Vector
    by: list[Vector]
    rate: Vector
    bias: Vector


def combined(vectors: Sequence[MovingVector], factors: Sequence[Expr]) -> MovingVector:
    """Σ f_q d_q."""

    def total(parts: Sequence[Vector]) -> Vector:
        return Vector(*(scalar_product(row, factors) for row in zip(*parts, strict=True)))

    n = range(len(vectors[0].by))
    return MovingVector(
        total([d.value for d in vectors]), [total([d.by[i] for d in vectors]) for i in n], total([d.rate for d in vectors]),
        total([d.bias for d in vectors]),
    )  # fmt: skip


class CurvedBeam:
    """The symbols of one beam of a model; ``numbers(name, array)`` makes symbols of the entries of an array that are not zero."""

    def __init__(self, fields: ExactFields, e: Sequence[Expr], rates: Sequence[Expr], numbers: Any) -> None:
        self.fields, self.e, self.rates, self.numbers = fields, list(e), list(rates), numbers
        self.axis = fields.axis
        self.flow = dict(zip(self.e, self.rates, strict=True))
        self.sections: list[Section] = []
        self.tangents: list[MovingVector] = []
        for q, reach in enumerate(fields.stations):
            section = self._section(reach, f"station{q:02d}")
            self.sections.append(section)
            self.tangents.append(self._tangent(reach, section, f"station{q:02d}"))

    # -- along the beam -------------------------------------------------------------------------------------------

    def _section(self, reach: Reach, name: str) -> Section:
        if self.axis is not None:
            unit = AXES[self.axis]
            row = self.numbers(f"{name}.angle", reach.angle[self.axis])
            turns = [unit * x for x in row]
            return Section(axis_rotation(list(unit), scalar_product(row, self.e)), turns, unit * scalar_product(row, self.rates), NULL)
        before = self.sections[reach.before] if reach.before >= 0 else Section(IDENTITY, [NULL] * len(self.e), NULL, NULL)
        omega = _magnus(
            *(self._linear(f"{name}.{what}", a) for what, a in zip(("turn", "middle", "slope", "bend"), reach.moments, strict=True))
        )
        c = _cayley(omega)
        rate = jvp(list(c), self.flow)
        R, scale = before.rotation, div(TWO, add(ONE, c.dot(c)))
        own = c.cross(Vector(*rate)) * scale + Vector(*rate) * scale
        along = [Vector(*jvp(list(c), {x: ONE})) for x in self.e]
        turns = [w + _turned(R, (d + c.cross(d)) * scale) for w, d in zip(before.turns, along, strict=True)]
        relative = _turned(R, own)
        bias = before.bias + before.omega.cross(relative) + _turned(R, Vector(*jvp(list(own), self.flow)))
        return Section(_product(R, c, scale), turns, before.omega + relative, bias)

    def _linear(self, name: str, rows: np.ndarray) -> Vector:
        return Vector(*(scalar_product(row, self.e) for row in self.numbers(name, rows)))

    def _tangent(self, reach: Reach, section: Section, name: str) -> MovingVector:
        """R k with k = e_x + shear e (and stretch)."""
        R, e, rates = section.rotation, self.e, self.rates
        rows = [self.numbers(f"{name}.shear{a}", reach.shear[a]) for a in range(3)]
        k = AXES[0] + Vector(*(scalar_product(row, e) for row in rows))
        moved = section.fixed(R @ k)
        if not np.any(reach.shear):
            return moved
        sliding = _turned(R, Vector(*(scalar_product(row, rates) for row in rows)))
        by = [d + _turned(R, Vector(*row)) for d, *row in zip(moved.by, *rows, strict=True)]
        return MovingVector(moved.value, by, moved.rate + sliding, moved.bias + section.omega.cross(sliding) * TWO)

    # -- what is asked for ----------------------------------------------------------------------------------------

    def moving_fields(self) -> list[tuple[Expr, MovingVector]]:
        """c_k and ρ_k of the kinetic energy Σ |c_k v + ω × ρ_k + ρ̇_k|²/2."""
        c, A = self.fields.tangents()
        found = [
            (x, combined(self.tangents, row)) for x, row in zip(self.numbers("field.c", c), self.numbers("field.tangents", A), strict=True)
        ]
        sizes = self.numbers("field.across", self.fields.across)
        for section, row in zip(self.sections, sizes, strict=True):
            found += [(ZERO, section.fixed(section.rotation.column(k) * x)) for k, x in zip((1, 2), row, strict=True) if x is not ZERO]
        return found

    def deformation(self, reach: Reach, name: str, position: Vector) -> Deformation:
        """Place and turn of a section from its undeformed place."""
        section = self._section(reach, name)
        x = combined(self.tangents, self.numbers(f"{name}.weights", reach.weights))
        return Deformation(x.value - position, section.rotation, x.by, section.turns, x.rate, section.omega, x.bias, section.bias)


def _magnus(total: Vector, a: Vector, b: Vector, c: Vector) -> Vector:
    """As :func:`jourdain.structures.exact.magnus`."""
    ab = a.cross(b)
    inner = (ab - c * TWO).cross(a)
    return total + (a * 20.0 + c + ab).cross(b + inner * (1.0 / 60.0)) * (1.0 / 240.0)


def _cayley(omega: Vector) -> Vector:
    """tan(½φ) times the axis, by the series of the tangent."""
    from ...structures.exact import TANGENT

    s = omega.dot(omega)
    factor = reduce(lambda total, t: add(constant(t), mul(s, total)), reversed(TANGENT[:-1]), constant(TANGENT[-1]))
    return omega * mul(constant(0.5), factor)


def _turned(R: Matrix, v: Vector) -> Vector:
    return v if R is IDENTITY else R @ v


def _product(R: Matrix, c: Vector, scale: Expr) -> Matrix:
    """R times Cayley's rotation I + 2/(1 + c²)(c̃ + c̃c̃)."""
    columns = []
    for axis in AXES:
        once = c.cross(axis)
        columns.append(axis + (once + c.cross(once)) * scale)
    turn = Matrix.from_columns(*columns)
    return turn if R is IDENTITY else R @ turn


__all__ = ["CurvedBeam", "MovingVector", "combined"]
