"""A machine tool on six struts: its geometry in numbers, its stiffness, singularities and workspace, and its models in time."""

from .geometry import Hexapod
from .machine import hexapod_machine
from .maps import hexapod_map

__all__ = ["Hexapod", "hexapod_machine", "hexapod_map"]
