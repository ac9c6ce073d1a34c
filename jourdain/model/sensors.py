"""Quantities that laws may use before the equations exist: sensors on frames and lengths of links.

A sensor's readings are symbols; when the equations are derived they are replaced by the kinematic expressions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..symbolic.expr import Expr, symbol
from ..symbolic.vectors import Matrix, Vector
from .bodies import Frame
from .dimensions import natural_units

if TYPE_CHECKING:
    from .model import Model

#: Quantities of a sensor: number of entries, the kind of symbol and the unit.
QUANTITIES = {
    "position": (3, "position", "m"), "rotation": (9, "position", "1"), "velocity": (3, "velocity", "m/s"),
    "angular_velocity": (3, "velocity", "rad/s"), "acceleration": (3, "acceleration", "m/s^2"),
    "angular_acceleration": (3, "acceleration", "rad/s^2"),
}  # fmt: skip


class Sensor:
    """Motion of a frame relative to another (the ground by default), in that other frame's axes, usable in every law.

    ``velocity`` and ``acceleration`` are those of the origin as seen from the reference frame, ``angular_velocity`` and
    ``angular_acceleration`` relative to it: each is the time derivative of the components before it.
    """

    def __init__(self, model: Model, name: str, frame: Frame, reference: Frame) -> None:
        self.model = model
        self.name = name
        self.frame = frame
        self.reference = reference
        self._readings: dict[tuple[str, int], Expr] = {}

    def reading(self, quantity: str, index: int) -> Expr:
        """The symbol of one entry of a quantity."""
        key = (quantity, index)
        if key not in self._readings:
            _, kind, unit = QUANTITIES[quantity]
            reading = symbol(f"{self.name}.{quantity}[{index}]", kind)
            natural_units[reading] = unit
            self._readings[key] = reading
            self.model._readings[reading] = (self, quantity, index)
        return self._readings[key]

    def _vector(self, quantity: str) -> Vector:
        return Vector(*(self.reading(quantity, i) for i in range(3)))

    @property
    def position(self) -> Vector:
        """Position in m."""
        return self._vector("position")

    @property
    def velocity(self) -> Vector:
        """Velocity in m/s."""
        return self._vector("velocity")

    @property
    def angular_velocity(self) -> Vector:
        """Angular velocity in rad/s."""
        return self._vector("angular_velocity")

    @property
    def acceleration(self) -> Vector:
        """Acceleration in m/s²."""
        return self._vector("acceleration")

    @property
    def angular_acceleration(self) -> Vector:
        """Angular acceleration in rad/s²."""
        return self._vector("angular_acceleration")

    @property
    def rotation(self) -> Matrix:
        """Rotation matrix: the frame's axes to the reference's."""
        return Matrix.of([[self.reading("rotation", 3 * i + j) for j in range(3)] for i in range(3)])

    @property
    def x(self) -> Expr:
        """First coordinate of the position."""
        return self.reading("position", 0)

    @property
    def y(self) -> Expr:
        """Second coordinate of the position."""
        return self.reading("position", 1)

    @property
    def z(self) -> Expr:
        """Third coordinate of the position."""
        return self.reading("position", 2)

    def __repr__(self) -> str:
        return f"<Sensor {self.name} on {self.frame.path} relative to {self.reference.path}>"
