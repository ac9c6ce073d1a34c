"""The general rules of MJCF: included files, default classes, compiler settings, orientations."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import InputError
from ..placement import Pose, about, clean, from_axis_angle, from_quaternion, z_to
from ..xml_reader import Element, read_xml

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
#: Deepest chain of included files.
MAX_INCLUDES = 20


def expand_includes(root: Element, path: Path | None) -> None:
    """Replaces every <include> by what its file holds; only files within the folder of the model are read."""
    seen: set[Path] = set() if path is None else {path.resolve()}
    _expand(root, None if path is None else path.resolve().parent, seen)


def _expand(element: Element, folder: Path | None, seen: set[Path]) -> None:
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            _expand(child, folder, seen)
            children.append(child)
            continue
        part = _included(child, folder, seen)
        _expand(part, folder, seen)
        children.extend(part.children)
    element.children = children


def _included(element: Element, folder: Path | None, seen: set[Path]) -> Element:
    name = element.required("file")
    if folder is None:
        raise element.error("an included file needs a model read from a file, not from text")
    file = inside(folder, name)
    if file is None:
        raise element.error(f"the file '{name}' is not within the folder of the model")
    if file in seen or len(seen) > MAX_INCLUDES:
        raise element.error(f"the file '{name}' is included twice, or too many files are included")
    seen.add(file)
    part, _ = read_xml(file)
    return part


def inside(folder: Path, name: str) -> Path | None:
    """A file of a folder (or a folder in it), None where the name leads out of it."""
    try:
        path = (folder / name).resolve()
    except (OSError, ValueError):
        return None
    return path if path.is_relative_to(folder.resolve()) else None


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
    inertiagrouprange: tuple[float, float] = (0.0, 5.0)
    meshdir: str = ""

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
        for name in ("autolimits", "balanceinertia"):
            if name in given:
                setattr(self, name, choice(element, name, ("true", "false")) == "true")
        for name in ("boundmass", "boundinertia", "settotalmass"):
            if name in given:
                setattr(self, name, element.number(name))
        if "inertiagrouprange" in given:
            low, high = element.numbers("inertiagrouprange", 2)
            self.inertiagrouprange = (float(low), float(high))
        self.meshdir = given.get("meshdir", given.get("assetdir", self.meshdir))

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
        if name == "euler":
            return self._euler(x)
        if name == "xyaxes":
            return _from_xy(element, x)
        direction = x[:3] if name == "axisangle" else x
        if float(np.linalg.norm(direction)) < 1e-12:
            raise element.error(f'{name}="{element.get(name)}" has no direction')
        if name == "quat":
            return from_quaternion(x)
        return from_axis_angle(direction, self.angle(x[3])) if name == "axisangle" else z_to(direction)

    def _euler(self, angles: np.ndarray) -> np.ndarray:
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
        return Element(element.tag, attributes, element.source, element.line, element.children, element.text)


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


__all__ = ["Defaults", "Settings", "check_supported", "choice", "expand_includes", "inside", "overlay"]
