"""MJCF, the model format of MuJoCo."""

from .importer import read_mjcf

__all__ = ["read_mjcf"]
