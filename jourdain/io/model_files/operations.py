"""List, show, create, modify and delete the objects of a model, with every reference between them kept whole.

>>> import jourdain as jd
>>> m = jd.Model("pendulum")
>>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -0.5)), axis="y")
>>> d = ModelDocument.of(m)
>>> d.create("output", "speed", {"expression": "hinge.angle_rate", "unit": "rad/s"})
>>> d.modify("body", "bob", {"mass": "2500 g"})
>>> [str(o) for o in d.delete("joint", "hinge", cascade=True)]
["joint 'hinge'", "output 'speed'"]
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, ModelError, nearest
from ...model.model import Model
from ...told import told
from .document import TextEditor
from .expression_language import names_in
from .model_file import dumps_model, loads_model, write_whole
from .schema import SECTIONS
from .toml_source import Source

#: Classes of objects, as commands call them, with their sections.
CLASSES: dict[str, str] = {section.one: key for key, section in SECTIONS.items()} | {
    "frame": "frames",
    "include": "include",
    "initial": "initial",
}
_LINE_SECTIONS = (
    "parameters",
    "tables",
    "expressions",
    "inputs",
    "states",
    "memories",
    "unknowns",
    "drives",
    "locks",
    "outputs",
    "initial",
)


@dataclass(frozen=True, order=True)
class ObjectName:
    """An object of a model: its class and its name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} '{self.name}'"


Objects = list[ObjectName]
Names = list[str]


@told
class ModelDocument:
    """A model file whose objects may be listed, shown, created, modified and deleted.

    Every operation is checked by reading the whole model again, with each of its variants; an operation that fails
    changes nothing.
    """

    def __init__(self, text: str, name: str = "model text", folder: str | os.PathLike[str] | None = None) -> None:
        if "\n" not in text and text.lower().endswith(".toml"):
            raise InputError(f"'{text}' is the name of a file, not a document: ModelDocument.read('{text}') reads it")
        self.name = name
        self.folder = None if folder is None else Path(folder)
        self.text = text
        #: The file it was read from.
        self.origin: Path | None = None
        self._source = Source(text, name, self.folder)
        self.model()

    @staticmethod
    def of(model: Model) -> ModelDocument:
        """The document of a model built in Python."""
        return ModelDocument(dumps_model(model), f"model '{model.name}'")

    @staticmethod
    def read(path: str | os.PathLike[str]) -> ModelDocument:
        """The document in a file."""
        found = ModelDocument(Source.read(Path(path)).text, str(path), Path(path).parent)
        found.origin = Path(path)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the document to a file."""
        write_whole(Path(path), self.text, self.origin)

    def model(self, variant: str | None = None) -> Model:
        """The model the document describes."""
        return loads_model(self.text, variant, self.name, self.folder)

    @property
    def variants(self) -> Names:
        """Names of the variants."""
        return [*self._source.data.get("variant", {})]

    # -- operations -----------------------------------------------------------------------------------------------

    def list(self, kind: str | None = None) -> Objects:
        """All objects, or those of one class, in the order of the file."""
        if kind is not None:
            _section(kind)
        return [o for o in _objects(self._source.data) if kind in (None, o.kind)]

    def show(self, kind: str, name: str) -> Any:
        """What the file says about an object."""
        return TextEditor(self._source).get(self._path(kind, name))

    def references(self, kind: str, name: str) -> Objects:
        """The objects that need the one named."""
        self._path(kind, name)
        return _dependents(self._source.data, {ObjectName(kind, name)})[1:]

    def create(self, kind: str, name: str, item: Any) -> None:
        """A new object from a table (or a value, where the class has a short form)."""
        section = _section(kind)
        if any(o == ObjectName(kind, name) for o in self.list(kind)):
            raise ModelError(f"there is a {kind} '{name}' already; modify it, or choose another name")
        editor = TextEditor(self._source)
        path = _new_path(kind, section, name, self._source.data)
        if section in _LINE_SECTIONS or kind == "frame" or not isinstance(item, Mapping):
            self._accept(editor.put(path, item))
        else:
            self._accept(editor.add_table(path, {"prefix": name, **item} if kind == "include" else item))

    def modify(self, kind: str, name: str, changes: Mapping[str, Any]) -> None:
        """Sets keys of an object; None takes a key away."""
        path = self._path(kind, name)
        before = self.text
        try:
            for key, value in changes.items():
                self._change(kind, path, key, value)
            self._accept(self.text)
        except ModelError:
            self._set(before)
            raise

    def delete(self, kind: str, name: str, cascade: bool = False) -> Objects:
        """Takes an object away; objects that need it prevent that, or go with it when ``cascade`` is set.

        Returns everything that was deleted.
        """
        self._path(kind, name)
        gone = _dependents(self._source.data, {ObjectName(kind, name)})
        if len(gone) > 1 and not cascade:
            others = ", ".join(map(str, gone[1:7])) + (" …" if len(gone) > 7 else "")
            raise ModelError(f"{gone[0]} is needed by {others}; delete them first, or use cascade to delete all {len(gone)}")
        before = self.text
        try:
            for o in sorted(gone, key=lambda o: o.kind != "frame"):
                if o.kind == "frame" and ObjectName("body", _frame_owner(self._source.data, o.name)[0]) in gone:
                    continue
                self._set(TextEditor(self._source).remove(self._path(o.kind, o.name)))
            self._forget(gone)
            self._accept(self.text)
        except ModelError:
            self._set(before)
            raise
        return gone

    # -- inside ---------------------------------------------------------------------------------------------------

    def _set(self, text: str) -> None:
        self._source = Source(text, self.name, self.folder)
        self.text = text

    def _accept(self, text: str) -> None:
        """Takes a new text if the model and all its variants can be read from it."""
        source = Source(text, self.name, self.folder)
        for variant in (None, *source.data.get("variant", {})):
            loads_model(text, variant, self.name, self.folder)
        self._source, self.text = source, text

    def _change(self, kind: str, path: tuple[str | int, ...], key: str, value: Any) -> None:
        editor = TextEditor(self._source)
        short = SECTIONS[_section(kind)].short if _section(kind) in SECTIONS else None
        item = editor.get(path)
        if isinstance(item, dict):
            if value is None and key not in item:
                raise ModelError(f"{kind} '{path[-1]}' has no '{key}' to take away; it has {', '.join(item)}")
            self._set(editor.remove((*path, key)) if value is None else editor.put((*path, key), value))
        elif short is not None and key == short[0] and value is not None:
            self._set(editor.put(path, value))
        elif short is not None and value is not None:
            self._set(editor.put(path, {short[0]: item, key: value}))
        else:
            raise ModelError(f"{kind} '{path[-1]}' is a single value; it has no '{key}'")

    def _path(self, kind: str, name: str) -> tuple[str | int, ...]:
        section = _section(kind)
        if kind == "frame":
            body, frame = _frame_owner(self._source.data, name)
            return ("ground", "frames", frame) if body == "ground" else ("bodies", body, "frames", frame)
        names = [o.name for o in self.list(kind)]
        if name not in names:
            near = nearest(name, names, 3)
            raise ModelError(f"there is no {kind} '{name}'" + (f"; did you mean {', '.join(near)}?" if near else ""))
        if kind == "include":
            return "include", names.index(name)
        return section, name

    def _forget(self, gone: Iterable[ObjectName]) -> None:
        """Takes deleted objects out of variants and of the channels to keep."""
        for o in gone:
            for variant in self._source.data.get("variant", {}):
                path = ("variant", variant, _section(o.kind), o.name)
                if TextEditor(self._source).has(path):
                    self._set(TextEditor(self._source).remove(path))
        keep = self._source.data.get("keep", [])
        left = [c for c in keep if not any(c == o.name or c.startswith(o.name + ".") for o in gone)]
        if left != keep:
            self._set(TextEditor(self._source).put(("keep",), left))


def _section(kind: str) -> str:
    if kind not in CLASSES:
        near = nearest(kind, CLASSES, 1)
        raise ModelError(f"there is no class '{kind}'; " + (f"did you mean {near[0]}?" if near else f"use one of {', '.join(CLASSES)}"))
    return CLASSES[kind]


def _new_path(kind: str, section: str, name: str, data: Mapping[str, Any]) -> tuple[str | int, ...]:
    if kind == "include":
        return "include", len(data.get("include", []))
    if kind != "frame":
        return section, name
    owners = [b for b in ("ground", *data.get("bodies", {})) if name.startswith(b + ".")]
    if not owners:
        raise ModelError(f"frame '{name}': write it as body.frame, with a body of the model")
    body = max(owners, key=len)
    frame = name.removeprefix(body + ".")
    return ("ground", "frames", frame) if body == "ground" else ("bodies", body, "frames", frame)


def _objects(data: Mapping[str, Any]) -> Iterator[ObjectName]:
    for key, section in SECTIONS.items():
        for name, item in data.get(key, {}).items():
            yield ObjectName(section.one, name)
            if key == "bodies":
                yield from (ObjectName("frame", f"{name}.{frame}") for frame in item.get("frames", {}))
    yield from (ObjectName("frame", f"ground.{frame}") for frame in data.get("ground", {}).get("frames", {}))
    yield from (ObjectName("include", item["prefix"]) for item in data.get("include", []))
    yield from (ObjectName("initial", name) for name in data.get("initial", {}))


def _frame_owner(data: Mapping[str, Any], name: str) -> tuple[str, str]:
    for body, item in {"ground": data.get("ground", {}), **data.get("bodies", {})}.items():
        frame = name.removeprefix(body + ".")
        if frame != name and frame in item.get("frames", {}):
            return body, frame
    known = [o.name for o in _objects(data) if o.kind == "frame"]
    near = nearest(name, known, 3)
    raise ModelError(f"there is no frame '{name}'" + (f"; did you mean {', '.join(near)}?" if near else ""))


# --- who needs whom --------------------------------------------------------------------------------------------------


def _dependents(data: Mapping[str, Any], first: set[ObjectName]) -> list[ObjectName]:
    """The objects given and all that need them, directly or through others, in the order of the file."""
    needs = _references(data)
    gone = set(first)
    while True:
        more = {o for o, needed in needs.items() if o not in gone and needed & gone}
        if not more:
            break
        gone |= more
    order = list(first) + [o for o in _objects(data) if o not in first]
    return [o for o in order if o in gone]


def _references(data: Mapping[str, Any]) -> dict[ObjectName, set[ObjectName]]:
    index = _Index(data)
    found: dict[ObjectName, set[ObjectName]] = {}
    for key, section in SECTIONS.items():
        for name, item in data.get(key, {}).items():
            own = ObjectName(section.one, name)
            table = item if isinstance(item, dict) else {section.short[0]: item} if section.short else {}
            found[own] = set(index.used(table, section.keys)) - {own} if key not in ("analyses", "criteria", "problems") else set()
            if key in ("drives", "locks"):
                found[own] |= index.channel(name)
            if key == "events":
                found[own] |= {o for target in table.get("jump", {}) for o in index.channel(target)}
                found[own] |= {o for held in (*table.get("release", ()), *table.get("engage", ())) for o in index.held(held)}
    for o in _objects(data):
        if o.kind == "frame":
            body, frame = _frame_owner(data, o.name)
            holder = data["ground"] if body == "ground" else data["bodies"][body]
            found[o] = set(index.used(holder["frames"][frame], {"position": ("vector", ""), "rotation": ("rotation", "")}))
            found[o] |= {ObjectName("body", body)} if body != "ground" else set()
    for item in data.get("include", []):
        values = {"at": ("frame", ""), "parameters": ("values", "")}
        found[ObjectName("include", item["prefix"])] = set(index.used({k: item[k] for k in values if k in item}, values))
    for name in data.get("initial", {}):
        found[ObjectName("initial", name)] = index.channel(name)
    return found


class _Index:
    """Finds the objects that names in a file stand for."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.prefixes = [item["prefix"] for item in data.get("include", [])]

    def used(self, item: Mapping[str, Any], keys: Mapping[str, tuple[str, str]]) -> Iterator[ObjectName]:
        """Objects a table refers to."""
        for key, given in item.items():
            kind = keys.get(key, ("", ""))[0]
            if kind == "frame":
                yield from self.frame(given)
            elif kind == "points":
                for point in given:
                    yield from self.frame(point)
            elif key in ("joint", "first", "second") or kind == "mimic":
                yield from self._mimic(given)
            elif kind == "flexible":
                yield ObjectName("structure", given["structure"])
                for slider in given.get("sliders", ()):
                    yield from self.frame(slider["point"])
            elif key != "frames" and kind not in ("text", "texts", "file"):
                yield from self._texts(given)

    def _mimic(self, given: Any) -> Iterator[ObjectName]:
        table = given if isinstance(given, dict) else {"joint": given}
        yield from self._owner("joint", "joints", table["joint"])
        yield from self._texts({k: v for k, v in table.items() if k != "joint"})

    def _owner(self, kind: str, section: str, name: str) -> Iterator[ObjectName]:
        if name in self.data.get(section, {}):
            yield ObjectName(kind, name)
        else:
            yield from self._included(name)

    def held(self, name: str) -> Iterator[ObjectName]:
        """A joint or constraint that may let go."""
        yield from (
            self._owner("constraint", "constraints", name)
            if name in self.data.get("constraints", {})
            else self._owner("joint", "joints", name)
        )

    def _included(self, name: str) -> Iterator[ObjectName]:
        yield from (ObjectName("include", p) for p in self.prefixes if name.startswith(p + "."))

    def frame(self, given: Any) -> Iterator[ObjectName]:
        """The body and the named frame of a frame."""
        if isinstance(given, dict):
            yield from self.frame(f"{given['body']}.{given['frame']}" if "frame" in given else given["body"])
            yield from self._texts({k: given[k] for k in ("position", "rotation") if k in given})
            return
        bodies = self.data.get("bodies", {})
        if given in bodies:
            yield ObjectName("body", given)
            return
        for body, item in {"ground": self.data.get("ground", {}), **bodies}.items():
            if given.startswith(body + ".") and given.removeprefix(body + ".") in item.get("frames", {}):
                yield ObjectName("frame", given)
                return
            if given.startswith(body + ".") and "flexible" in item:  # a node of its structure
                yield ObjectName("body", body)
                return
        yield from self._included(given)

    def _texts(self, given: Any) -> Iterator[ObjectName]:
        if isinstance(given, str):
            yield from self.expression(given)
        elif isinstance(given, (dict, list)):
            for entry in given.values() if isinstance(given, dict) else given:
                yield from self._texts(entry)

    def expression(self, text: str) -> Iterator[ObjectName]:
        """The objects an expression names."""
        for name in names_in(text):
            table = name.partition(".")[0]
            if table in self.data.get("tables", {}) and f"{name}(" in text.replace(" ", ""):
                yield ObjectName("table", table)
            yield from self.channel(name)

    def channel(self, name: str) -> set[ObjectName]:
        """The objects a name in an expression belongs to."""
        found = {
            ObjectName(SECTIONS[key].one, name)
            for key in ("parameters", "inputs", "states", "memories", "unknowns", "expressions")
            if name in self.data.get(key, {})
        }
        tests: dict[str, Callable[[str], bool]] = {
            "joints": lambda j: name == j or name.startswith(j + "."),
            "sensors": lambda s: name.startswith(s + "."),
            "bodies": lambda b: "flexible" in self.data["bodies"][b] and name.startswith(b + "."),
            "loads": lambda link: name in (f"{link}.length", f"{link}.rate"),
        }
        for key, test in tests.items():
            owners = [owner for owner in self.data.get(key, {}) if test(owner)]
            if owners:
                found.add(ObjectName(SECTIONS[key].one, max(owners, key=len)))
        return found or set(self._included(name))


__all__ = ["CLASSES", "ModelDocument", "ObjectName"]
