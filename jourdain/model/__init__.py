"""What the user describes: parameters, bodies, frames, joints, shapes."""

from .bodies import Body, Frame
from .joints import Coordinate, Joint, Motion
from .model import Model
from .parameters import Parameter, Parameters

__all__ = ["Body", "Coordinate", "Frame", "Joint", "Model", "Motion", "Parameter", "Parameters"]
