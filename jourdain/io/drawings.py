"""Shapes for display from foreign files: placed solids, meshes found by name and loaded when first drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import unquote

import numpy as np

from ..errors import InputError
from ..model.shapes.base import Shape
from ..model.shapes.mass import Placement
from ..model.shapes.meshes import FORMATS, Mesh, mesh
from .collada import read_collada
from .model_files.placement import Pose

if TYPE_CHECKING:
    from ..model.shapes.mass import MassProperties

Packages = Mapping[str, str | os.PathLike[str]] | Callable[[str], str | os.PathLike[str] | None] | None


def placed(shape: Any, pose: Pose, colour: str | None = None) -> Any:
    """A shape put at a pose, painted."""
    rotation: Any = tuple(tuple(float(x) for x in row) for row in pose.R)
    shape = replace(shape, placement=Placement(pose.position, rotation) @ shape.placement)
    return shape.coloured(colour) if colour is not None else shape


def hex_colour(rgba: Any) -> str:
    """Red, green, blue in 0 … 1 as "#rrggbb"."""
    return "#" + "".join(f"{round(255 * min(max(float(c), 0.0), 1.0)):02x}" for c in list(rgba)[:3])


@lru_cache(maxsize=64)
def _load(path: str, scale: tuple[float, float, float]) -> tuple[Mesh, tuple[tuple[str | None, int], ...]]:
    """The mesh of a file, and how many of its triangles have which colour, one after the other."""
    if path.lower().endswith(".dae"):
        drawn = read_collada(path)
        colours, counts = zip(*drawn.painted or [(None, 0)], strict=True)
        meshes = [
            mesh((drawn.vertices, faces), display_only=True, colour=colour)
            for colour, faces in zip(colours, np.split(drawn.faces, np.cumsum(counts)[:-1]), strict=True)
        ]
    else:
        meshes = [mesh(path, display_only=True)]
    before = np.cumsum([0, *(len(m.vertices) for m in meshes)])
    vertices = np.concatenate([m.vertices for m in meshes]) * np.array(scale)
    faces = np.concatenate([m.faces + n for m, n in zip(meshes, before, strict=False)])
    faces = faces[:, ::-1] if np.prod(scale) < 0 else faces
    return Mesh(vertices, faces, colour=meshes[0].colour), tuple((m.colour, len(m.faces)) for m in meshes)


@dataclass(frozen=True)
class MeshFile(Shape):
    """A mesh for display that is read from its file when it is first drawn."""

    kind: ClassVar[str] = "mesh"

    path: str = ""
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    colour: str | None = None

    @property
    def density(self) -> None:
        """None: it is drawn only."""
        return None

    @property
    def uniform_density(self) -> None:
        return None

    @property
    def exact(self) -> bool:
        return True

    @property
    def loaded(self) -> Mesh:
        """The mesh with its vertices."""
        return _load(self.path, self.scale)[0]

    def _own_volume(self) -> MassProperties:
        return self.loaded._own_volume()

    def _own_mass(self) -> MassProperties:
        return self.loaded._own_mass()

    def _own_triangulation(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        return self.loaded._own_triangulation(n)

    def _own_contains(self, points: np.ndarray) -> np.ndarray:
        return self.loaded._own_contains(points)

    def _drawing(self) -> dict[str, Any]:
        drawing = replace(self.loaded, placement=self.placement)._drawing()
        if self.colour is not None:
            return {**drawing, "colour": self.colour}
        _, painted = _load(self.path, self.scale)
        return {**drawing, "painted": painted} if len(painted) > 1 else drawing

    def coloured(self, colour: str) -> Self:
        """The mesh painted in a colour given as "#rrggbb"."""
        return replace(self, colour=colour)

    def with_density(self, density: Any) -> Self:
        raise InputError(f"mesh '{Path(self.path).name}': it is drawn only; use jourdain.model.shapes.mesh for its mass")


#: Files by which folders say that they are packages: of ROS, and models of Gazebo.
_MARKS = ("package.xml", "model.config")


def _package_around(folder: Path) -> Path:
    """The folder of the ROS package that a folder belongs to, or itself."""
    for place in (folder, *folder.parents[:4]):
        if any((place / mark).is_file() for mark in _MARKS):
            return place
    return folder.parent if folder.name == "urdf" else folder


class MeshFinder:
    """Finds the file of a mesh named in a model file; what is missing is noted, not an error.

    Relative, absolute and ``file://`` addresses are read within ``root`` (by default the package of the model's folder) alone;
    ``package://`` and ``model://`` name packages that are given, within ``root``, or around it and say that they are one (``package.xml``).
    """

    def __init__(self, folder: Path | None, packages: Packages, root: str | os.PathLike[str] | None = None) -> None:
        self.folder = folder
        self.packages = packages
        self.root = Path(root).resolve() if root is not None else None if folder is None else _package_around(folder.resolve())

    def find(self, name: str) -> tuple[Path | None, str]:
        """The file, or None and the reason."""
        try:
            path, reason = self._locate(name)
            if path is None:
                return None, reason
            if not path.is_file():
                return None, f"there is no file '{path}'"
        except (OSError, ValueError) as error:
            return None, f"its path cannot be used ({error})"
        if path.suffix.lower() not in FORMATS:
            return None, f"the format '{path.suffix}' is not read (STL, OBJ, PLY, GLB and DAE are)"
        return path, ""

    def _locate(self, name: str) -> tuple[Path | None, str]:
        if "\0" in name:
            return None, "its path contains a null character"
        if callable(self.packages):
            found = self.packages(name)
            if found is not None:
                return Path(found), ""
        scheme, separator, rest = name.partition("://")
        if not separator:
            return self._relative(unquote(name) if "%" in name else name)
        if scheme == "file":
            return self._relative(unquote(rest))
        if scheme not in ("package", "model"):
            return None, f"'{scheme}://' addresses are not fetched"
        package, _, inside = unquote(rest).partition("/")
        root = self._package(package)
        if root is None:
            return (
                None,
                f"the package '{package}' is not known; pass packages={{'{package}': folder}} (a folder near the model counts if it holds a package.xml)",
            )
        path = (root / inside).resolve()
        if not path.is_relative_to(root.resolve()):
            return None, f"it leaves the folder of the package '{package}'"
        return path, ""

    def _relative(self, name: str) -> tuple[Path | None, str]:
        if self.folder is None and not Path(name).is_absolute():
            return None, "a relative path needs a model read from a file"
        path = Path(self.folder or "/", name).resolve()
        given = list(self.packages.values()) if isinstance(self.packages, Mapping) else []
        if not any(path.is_relative_to(Path(root).resolve()) for root in (self.root, *given) if root is not None):
            return None, "it lies outside the folder of the model; pass root= to allow another one"
        return path, ""

    def _package(self, name: str) -> Path | None:
        if not name or name in (".", ".."):
            return None
        if isinstance(self.packages, Mapping):
            if name in self.packages:
                return Path(self.packages[name])
        search = [] if self.folder is None else [self.folder.resolve(), *self.folder.resolve().parents]
        around = [*(f for f in search if f.name == name), *(f / name for f in search[:6] if f.parent != f)]
        roots = [Path(p) for p in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep) if p]
        known = [found for f in roots for found in (f / name, f) if found.name == name]
        return next((f for f in [*filter(self._may_be_named, around), *known] if f.is_dir()), None)

    def _may_be_named(self, folder: Path) -> bool:
        """Whether a folder is a package, or within the model's own: any other may hold what is not meant for the model."""
        own = self.root is not None and folder.resolve().is_relative_to(self.root)
        return own or any((folder / mark).is_file() for mark in _MARKS)


__all__ = ["MeshFile", "MeshFinder", "Packages", "hex_colour", "placed"]
