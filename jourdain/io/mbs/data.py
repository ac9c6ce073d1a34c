"""What a ROBOTRAN model file holds besides bodies and joints: the records found in ``model.imported``.

Places are paths of frames, to be used with ``model.frame(path)``: "ground", "body", "ground.point" or "body.point".
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class JointData:
    """``imported["joints"]``: an elementary joint in the order of the file (the order of ROBOTRAN's q).

    ``kind`` is T1 … R3, ``nature`` "independent", "dependent" or "driven"; q0, v0, a0 are the initial values
    (m or rad, and their rates).
    """

    name: str
    body: str
    kind: str
    nature: str
    q0: float = 0.0
    v0: float = 0.0
    a0: float = 0.0
    actuated: bool = False


@dataclass(frozen=True)
class Cut:
    """``imported["cuts"]``: a cut loop. ``kind`` is "ball" (3 constraints), "rod" (1, ``length`` in m) or "solid" (6).

    ``ignore`` names the directions x, y, z whose constraint the user has switched off.
    """

    name: str
    kind: str
    first: str
    second: str
    length: float | None = None
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class Link:
    """``imported["links"]``: a force between two points, along their line, or with three components if ``spatial``."""

    name: str
    first: str
    second: str
    spatial: bool = False


@dataclass(frozen=True)
class ForcePoint:
    """``imported["forces"]``: a point where an external force acts, and the kinematics its law asks for."""

    name: str
    frame: str
    quantities: tuple[str, ...] = ()


@dataclass(frozen=True)
class SensorPoint:
    """``imported["sensors"]``: a point whose motion is wanted, and quantities (Pos, Rot, Vit, Om, Acc, Omp, Jac)."""

    name: str
    frame: str
    quantities: tuple[str, ...] = ()


@dataclass(frozen=True)
class UserParameter:
    """A parameter of a user model: ``kind`` scalar, vector, lut1D, lut2D, state or structure.

    ``texts`` holds what is not a number (the file of a look-up table, the name and header of a structure).
    """

    name: str
    kind: str
    values: tuple[float, ...] = ()
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class UserModel:
    """``imported["user_models"]``: a named group of parameters for the user's laws."""

    name: str
    parameters: tuple[UserParameter, ...] = ()

    def __getitem__(self, name: str) -> UserParameter:
        return next(p for p in self.parameters if p.name == name)


@dataclass(frozen=True)
class UserVariable:
    """``imported["user_variables"]``: an input ("in") or output ("out") of the user."""

    name: str
    kind: str
    size: int


@dataclass(frozen=True)
class Drawing:
    """``imported["drawings"]``: a shape as the file draws it on a body; lengths in m, angles in rad as written.

    ``colours`` are red, green, blue (0 to 255) by use (color, specularColor), ``surface`` shininess and transparency, ``others`` all
    that is not understood (the spine of an extrusion …) as it stands in the file.
    """

    name: str
    body: str
    kind: str
    position: tuple[float, float, float]
    rotation: tuple[float, float, float]
    scale: tuple[float, float, float]
    size: dict[str, float] = field(default_factory=dict)
    url: str = ""
    colours: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    surface: dict[str, float] = field(default_factory=dict)
    others: tuple[str, ...] = ()


__all__ = [
    "Cut", "Drawing", "ForcePoint", "JointData", "Link", "SensorPoint", "UserModel", "UserParameter", "UserVariable",
]  # fmt: skip
