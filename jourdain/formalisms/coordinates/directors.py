"""Bodies by directors: the place of the body's origin and the three columns of its rotation matrix, twelve coordinates a body.

No rotation parameters: the mass matrix is constant and the constraints are quadratic (Betsch and Steinmann 2001; Uhlar, chapter 4).
In continuous time this is natural coordinates without sharing; the energy-consistent integrators work on the same coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model.bodies import Body
from ...model.model import Model
from ...symbolic.expr import HALF, ONE, Expr, mul, sub, symbol
from ...symbolic.vectors import NULL, Matrix, Vector
from ..equations import Row
from .absolute import AbsoluteEquations, BodyPose
from .descriptor import BodyMotion, Descriptor, add_rods, joint_values
from .natural import LinearKinematics, mass_entries

#: Names of a body's twelve coordinates behind its own.
LABELS = ("x", "y", "z", *(f"d{i}.{c}" for i in (1, 2, 3) for c in "xyz"))


class Directors:
    """Coordinates of one body, its pose in them and the rows that keep its directors orthonormal."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.labels = [f"{body.name}.{n}" for n in LABELS]
        self.x = tuple(symbol(n, "position") for n in self.labels)
        self.xd = tuple(symbol(f"{n}_rate", "velocity") for n in self.labels)
        self.rotation, self.rate = _columns(self.x), _columns(self.xd)
        d, dd = ([R.column(i) for i in range(3)] for R in (self.rotation, self.rate))
        spin = NULL
        for a, b in zip(dual_directors(d), dd, strict=True):
            spin = spin + a.cross(b)
        self.pose = BodyPose(Vector(*self.x[:3]), self.rotation, Vector(*self.xd[:3]), spin * HALF)

    @property
    def rows(self) -> list[Row]:
        """dᵢ·dⱼ = δᵢⱼ."""
        d = [self.rotation.column(i) for i in range(3)]
        found = []
        for i in range(3):
            for j in range(i, 3):
                e = mul(HALF, sub(d[i].dot(d[i]), ONE)) if i == j else d[i].dot(d[j])
                found.append(Row(f"{self.body.name}.d{i + 1}{j + 1}", e, False))
        return found

    def values(self, motion: BodyMotion, i: int) -> tuple[list[float], list[float]]:
        """Numbers of the coordinates and rates from the body's pose and twist."""
        R, w = motion.rotation[i], motion.angular_velocity[i]
        return [*motion.position[i], *R.T.ravel()], [*motion.velocity[i], *np.cross(w, R.T).ravel()]


def dual_directors(d: Sequence[Vector]) -> list[Vector]:
    """dⁱ with dⁱ·dⱼ = δᵢⱼ: the directors themselves when these are orthonormal.

    With them ω = ½ Σ dⁱ × ḋᵢ and torques ½ τ × dⁱ are exact at the mean of two configurations too, where the directors are not orthonormal:
    ½ Σ dⁱ × Δdᵢ = 2 tan(θ/2) n turns one into the other (Cayley), and Σ dᵢ × ½ (τ × dⁱ) = τ (Uhlar, Sec. 5.5).
    """
    d1, d2, d3 = d
    scale = ONE / d1.dot(d2.cross(d3))
    return [a.cross(b) * scale for a, b in ((d2, d3), (d3, d1), (d1, d2))]


def _columns(x: tuple[Expr, ...]) -> Matrix:
    return Matrix.from_columns(*(Vector(*x[3 * k : 3 * k + 3]) for k in (1, 2, 3)))


class DirectorEquations(AbsoluteEquations):
    """A model's equations in directors."""

    def __init__(self, model: Model) -> None:
        self.bodies = {b.name: Directors(b) for b in model.bodies.values()}
        all_bodies = list(self.bodies.values())
        super().__init__(
            model, [s for b in all_bodies for s in b.x], [s for b in all_bodies for s in b.xd], {n: b.pose for n, b in self.bodies.items()},
            [r for b in all_bodies for r in b.rows],
        )  # fmt: skip
        flow = {**self.flow, **dict(zip(self.v, self.a, strict=True))}
        self.kinematics = LinearKinematics(model, self.poses, flow, self.rotation_rate)

    def rotation_rate(self, name: str) -> Matrix:
        """Ṙ of a body."""
        return self.bodies[name].rate


def directors(model: Model) -> Descriptor:
    """The equations of a model in directors.

    >>> from jourdain.library import pendulum
    >>> d = directors(pendulum())
    >>> len(d.labels), len(d.constraints)
    (12, 11)
    """
    equations = DirectorEquations(model)
    mass, force = mass_entries(equations, equations.rotation_rate), list(equations.generalised_forces)
    add_rods(equations, mass, force)
    labels = [label for b in equations.bodies.values() for label in b.labels]
    labels += [n for c in equations.mixed.coordinates for n in c.names]

    def coordinates_of(motion: BodyMotion) -> tuple[np.ndarray, np.ndarray]:
        x: list[float] = []
        xd: list[float] = []
        for i, b in enumerate(equations.bodies.values()):
            own, rates = b.values(motion, i)
            x, xd = x + own, xd + rates
        joint, joint_rates = joint_values(equations.mixed, motion)
        return np.array(x + joint), np.array(xd + joint_rates)

    return Descriptor("directors", equations, tuple(labels), mass, force, coordinates_of)


__all__ = ["DirectorEquations", "Directors", "directors"]
