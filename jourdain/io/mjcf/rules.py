"""The general rules of MJCF: included files, default classes, compiler settings, orientations."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...errors import InputError
from ..model_files.placement import Pose, about, clean, from_axis_angle, from_quaternion, z_to
from ..xml_reader import Element, read_xml

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
#: Deepest chain of included files.
MAX_INCLUDES = 1000


@dataclass(frozen=True)
class Folder:
    """Where files of a model are looked for (``home``), and the folder ``root`` out of which no name may lead."""

    home: Path
    root: Path

    @staticmethod
    def of(path: Path | None, root: str | os.PathLike[str] | None) -> Folder | None:
        """The folder of a model file; None for a model that is text."""
        if path is None:
            return None
        home = path.resolve().parent
        within = home if root is None else Path(root).resolve()
        if not home.is_relative_to(within):
            raise InputError(f"root = '{root}': the model '{path.name}' does not stand in this folder")
        return Folder(home, within)

    def file(self, element: Element, name: str, *others: Path) -> Path:
        """A file by its name from home, or else from other folders."""
        found: Path | None = None
        for folder in (self.home, *others):
            try:
                path = (folder / name).resolve()
            except (OSError, ValueError):
                continue
            if path.is_relative_to(self.root):
                found = path if found is None else found
                if path.is_file():
                    return path
        if found is None:
            raise element.error(f"the file '{name}' is not within the folder of the model; name the folder around all files by root=")
        return found


def expand_includes(root: Element, path: Path | None, folder: Folder | None) -> None:
    """Replaces every <include> by what its file holds."""
    _expand(root, path, folder, set() if path is None else {path.resolve()})


def _expand(element: Element, path: Path | None, folder: Folder | None, seen: set[Path]) -> None:
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            _expand(child, path, folder, seen)
            children.append(child)
            continue
        part, file = _included(child, path, folder, seen)
        _expand(part, file, folder, seen)
        children.extend(part.children)
    element.children = children


def _included(element: Element, path: Path | None, folder: Folder | None, seen: set[Path]) -> tuple[Element, Path]:
    """What a file holds; it is looked for from the model's folder, then from that of the file which includes it."""
    name = element.required("file")
    if folder is None or path is None:
        raise element.error("an included file needs a model read from a file, not from text")
    file = folder.file(element, name, path.resolve().parent)
    if file in seen:
        raise element.error(f"the file '{name}' is included twice")
    if len(seen) > MAX_INCLUDES:
        raise element.error(f"the file '{name}' is one too many: {MAX_INCLUDES} are included already")
    seen.add(file)
    part, _ = read_xml(file)
    inside = [part]
    while inside:
        e = inside.pop()
        e.folder = file.parent
        inside += e.children
    return part, file


def drop_empty(element: Element) -> None:
    """Attributes without content say nothing."""
    stack = [element]
    while stack:
        e = stack.pop()
        if any(not text.strip() for text in e.attributes.values()):
            e.attributes = {name: text for name, text in e.attributes.items() if text.strip()}
        stack += e.children


@dataclass
class Settings:
    """The attributes of <compiler> that change the mechanics."""

    degrees: bool = True
    eulerseq: str = "xyz"
    autolimits: bool = True
    inertiafromgeom: str = "auto"
    boundmass: float = 0.0
    boundinertia: float = 0.0
    balanceinertia: bool = False
    settotalmass: float = -1.0
    fusestatic: bool = False
    inertiagrouprange: tuple[float, float] = (0.0, 5.0)
    meshdir: str = ""
    fitaabb: bool = False
    alignfree: bool = False

    @staticmethod
    def of(root: Element) -> Settings:
        """The settings of a model; later <compiler> elements override earlier ones."""
        s = Settings()
        for element in root.all("compiler"):
            s._read(element)
        return s

    def _read(self, element: Element) -> None:
        given = element.attributes
        if "angle" in given:
            self.degrees = choice(element, "angle", ("degree", "radian")) == "degree"
        if "coordinate" in given and given["coordinate"] != "local":
            raise element.error(f'coordinate="{given["coordinate"]}" is not read; convert the model to local coordinates')
        if "eulerseq" in given:
            self.eulerseq = given["eulerseq"]
            if len(self.eulerseq) != 3 or any(c not in "xyzXYZ" for c in self.eulerseq):
                raise element.error(f'eulerseq="{self.eulerseq}" is not three of the letters x, y, z, X, Y, Z')
        if "inertiafromgeom" in given:
            self.inertiafromgeom = choice(element, "inertiafromgeom", ("auto", "true", "false"))
        for name in ("autolimits", "balanceinertia", "fitaabb", "alignfree", "fusestatic"):
            if name in given:
                setattr(self, name, choice(element, name, ("true", "false")) == "true")
        for name in ("boundmass", "boundinertia", "settotalmass"):
            if name in given:
                setattr(self, name, element.number(name))
        if "inertiagrouprange" in given:
            low, high = element.numbers("inertiagrouprange", 2)
            self.inertiagrouprange = (float(low), float(high))
        self.meshdir = given.get("meshdir", given.get("assetdir", self.meshdir))

    def near(self, element: Element) -> Settings:
        """The settings by which an element is read: those of the model that it was attached from, or these."""
        found: Settings | None = element.settings
        return self if found is None else found

    def angle(self, value: float) -> float:
        """An angle of the file in rad."""
        return float(np.deg2rad(value)) if self.degrees else float(value)

    def rotation(self, element: Element) -> np.ndarray:
        """The rotation of an element by quat, axisangle, euler, xyaxes or zaxis."""
        given = [n for n in ORIENTATIONS if n in element.attributes]
        if len(given) > 1:
            raise element.error(f"it has several orientations ({', '.join(given)}); keep one")
        if not given:
            return np.eye(3)
        name = given[0]
        count = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[name]
        x = element.numbers(name, count)
        own = self.near(element)
        if name == "euler":
            return own.turned(x)
        if name == "xyaxes":
            return _from_xy(element, x)
        direction = x[:3] if name == "axisangle" else x
        if float(np.linalg.norm(direction)) < 1e-12:
            raise element.error(f'{name}="{element.get(name)}" has no direction')
        if name == "quat":
            return from_quaternion(x)
        return from_axis_angle(direction, own.angle(x[3])) if name == "axisangle" else z_to(direction)

    def turned(self, angles: np.ndarray) -> np.ndarray:
        """Turns about moving (small letters) or fixed axes (capital letters)."""
        R = np.eye(3)
        for letter, angle in zip(self.eulerseq, angles, strict=True):
            turn = about("xyz".index(letter.lower()), self.angle(angle))
            R = R @ turn if letter.islower() else turn @ R
        return clean(R)

    def pose(self, element: Element) -> Pose:
        """Position and rotation of an element."""
        return Pose(self.rotation(element), element.numbers("pos", 3, (0, 0, 0)))


def _from_xy(element: Element, axes: np.ndarray) -> np.ndarray:
    x, y = axes[:3], axes[3:]
    if float(np.linalg.norm(x)) < 1e-12:
        raise element.error("xyaxes: the x axis has no direction")
    x = x / np.linalg.norm(x)
    y = y - (x @ y) * x
    if float(np.linalg.norm(y)) < 1e-12:
        raise element.error("xyaxes: the y axis has no direction of its own")
    y = y / np.linalg.norm(y)
    return clean(np.column_stack([x, y, np.cross(x, y)]))


def choice(element: Element, name: str, options: tuple[str, ...], default: str | None = None) -> str:
    """An attribute that is one of several words."""
    found = element.get(name, default)
    if found not in options:
        raise element.error(f'{name}="{found}" is unknown; use {", ".join(options)}')
    return found


@dataclass
class Defaults:
    """Attributes by default class and tag; a class inherits those of the class around it."""

    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {"main": {}})

    @staticmethod
    def of(root: Element) -> Defaults:
        """The default classes of a model."""
        d = Defaults()
        for element in root.all("default"):
            name = element.get("class") or "main"
            d._read(element, name, d.classes.get(name, {}))
        return d

    def _read(self, element: Element, name: str, inherited: dict[str, dict[str, str]]) -> None:
        own = {tag: dict(attributes) for tag, attributes in inherited.items()}
        for child in element.children:
            if child.tag != "default":
                own[child.tag] = overlay(own.get(child.tag, {}), child.attributes)
        self.classes[name] = own
        for child in element.all("default"):
            self._read(child, child.required("class"), own)

    def apply(self, element: Element, childclass: str | None) -> Element:
        """The element with the attributes its class gives it."""
        name = element.get("class") or childclass or "main"
        if name not in self.classes:
            raise element.error(f"the default class '{name}' does not exist")
        attributes = overlay(self.classes[name].get(element.tag, {}), element.attributes)
        return replace(element, attributes=attributes)


def overlay(below: dict[str, str], above: dict[str, str]) -> dict[str, str]:
    """Attributes of two layers; an orientation replaces one that is written another way."""
    if any(n in above for n in ORIENTATIONS):
        below = {n: v for n, v in below.items() if n not in ORIENTATIONS}
    return {**below, **above}


def check_supported(element: Element, tags: tuple[str, ...]) -> None:
    """Refuses elements that build bodies by rules of their own."""
    if element.tag in tags:
        raise InputError(
            f"{element.place}: {element.label}: it generates bodies in a way that is not read; "
            "save the compiled model (mj_saveLastXML) and read that"
        )


__all__ = ["Defaults", "Folder", "Settings", "check_supported", "choice", "drop_empty", "expand_includes", "overlay"]
