"""ROBOTRAN's model files."""

from .importer import read_mbs
from .writer import write_mbs

__all__ = ["read_mbs", "write_mbs"]
