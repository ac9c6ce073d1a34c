"""Foreign formats: URDF and MJCF robots, ROBOTRAN models. Files are data: nothing in them is ever run."""

from .mbs import read_mbs, write_mbs
from .mjcf import read_mjcf
from .urdf import read_urdf

__all__ = ["read_mbs", "read_mjcf", "read_urdf", "write_mbs"]
