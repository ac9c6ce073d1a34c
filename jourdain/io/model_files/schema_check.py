"""Checks a model file against its description: no unknown key, every required one, every type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...errors import nearest
from ...spelling import british, in_british
from . import structure_tables
from .schema import BODY, FORMAT, GROUND, INCLUDE, MAX_ITEMS, SECTIONS, SHAPE_COMMON, SHAPE_KEYS, SHAPES, TOP, VERBS, VERSION, Kind, Section
from .schema_types import SIMPLE, is_number, shown
from .toml_source import ModelFileError, Source

Path = tuple[str | int, ...]


def check_document(source: Source, data: Mapping[str, Any]) -> None:
    """Checks every key and type of a document; errors name the file, line, object and remedy."""
    checker = _Checker(source)
    checker.document(data)
    if checker.errors:
        raise ModelFileError.together(checker.errors)


class _Checker:
    def __init__(self, source: Source) -> None:
        self.source = source
        #: What is wrong, an error an object.
        self.errors: list[ModelFileError] = []

    @contextmanager
    def _collected(self) -> Iterator[None]:
        try:
            yield
        except ModelFileError as error:
            self.errors.append(error)

    def document(self, data: Mapping[str, Any]) -> None:
        if data.get("format") != FORMAT:
            raise self.source.error(("format",), f'format is {data.get("format")!r}; a model file begins with format = "{FORMAT}"')
        version = data.get("version")
        if type(version) is not int or version != VERSION:
            raise self.source.error(("version",), f"version is {version!r}; this program reads version {VERSION} of the format")
        with self._collected():
            self.unknown((), data, {**TOP, **SECTIONS}, "the file")
        for key, value in data.items():
            with self._collected():
                if key in SECTIONS:
                    self.section((key,), SECTIONS[key], value)
                elif key in TOP:
                    self.type((key,), TOP[key][0], value, f"'{key}'")

    def section(self, path: Path, section: Section, items: Any) -> None:
        self.table(path, items, f"[{path[-1]}]")
        if len(items) > MAX_ITEMS:
            raise self.source.error(path, f"[{path[-1]}] holds {len(items)} objects, more than {MAX_ITEMS}")
        for name, item in items.items():
            with self._collected():
                self.item((*path, name), section, name, item)

    def item(self, path: Path, section: Section, name: str, item: Any) -> None:
        what = f"{section.one} '{name}'"
        if not name:
            raise self.source.error(path, f"a {section.one} needs a name that is not empty")
        if section.short is not None and not isinstance(item, dict):
            return self.type(path, section.short[1], item, what)
        self.table(path, item, what)
        if section.one == "analysis":
            return self.analysis(path, item, what)
        self.keys(path, item, section.keys, section.required, section.kinds, what)

    def keys(
        self, path: Path, item: Mapping[str, Any], keys: Mapping[str, tuple[str, str]], required: tuple[str, ...], kinds: Mapping[str, Kind], what: str,
        common: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """Checks a table: no unknown key, every required one, every type."""
        allowed: Mapping[str, Any] = keys
        if isinstance(item, dict):
            own = in_british(item, {*keys, *common})
            item.clear()
            item.update(own)
        for key in required:
            if key not in item:
                raise self.source.error(path, f"{what} lacks '{key}' ({keys[key][1] if key in keys else 'its kind'})")
        if kinds:
            kind = item["kind"]
            if not isinstance(kind, str) or kind not in kinds:
                raise self.source.error((*path, "kind"), f"{what}: kind {kind!r} is unknown; use one of {', '.join(kinds)}")
            what = f"{what} ({kind})"
            for key in kinds[kind].required:
                if key not in item:
                    raise self.source.error(path, f"{what} lacks '{key}' ({keys[key][1]})")
            allowed = {k: keys.get(k) for k in ("kind", *kinds[kind].required, *kinds[kind].optional, *common)}
        self.unknown(path, item, allowed, what)
        for key, value in item.items():
            if key in keys:
                self.type((*path, key), keys[key][0], value, f"{what}: {key}")

    def unknown(self, path: Path, item: Mapping[str, Any], allowed: Mapping[str, Any], what: str) -> None:
        for key in item:
            if key not in allowed:
                near = nearest(key, allowed, 2)
                hint = f"did you mean {' or '.join(near)}?" if near else f"it may have {', '.join(allowed)}"
                raise self.source.error((*path, key), f"{what} has an unknown key '{key}'; {hint}")

    def table(self, path: Path, item: Any, what: str) -> None:
        if not isinstance(item, dict):
            raise self.source.error(path, f"{what} is {shown(item)}; a table of keys is needed")

    def analysis(self, path: Path, item: Mapping[str, Any], what: str) -> None:
        verb = item.get("verb")
        if not isinstance(verb, str):
            raise self.source.error(path, f'{what} lacks its verb, such as verb = "simulate"')
        if british(verb, VERBS) not in VERBS:
            raise self.source.error((*path, "verb"), f"{what}: verb '{verb}' is unknown; use one of {', '.join(VERBS)}")
        for key, value in item.items():
            self.plain((*path, key), value, f"{what}: {key}")

    def plain(self, path: Path, value: Any, what: str) -> None:
        if isinstance(value, dict):
            for key, entry in value.items():
                self.plain((*path, key), entry, what)
        elif isinstance(value, list):
            for i, entry in enumerate(value):
                self.plain((*path, i), entry, what)
        elif not isinstance(value, (str, bool)) and not is_number(value):
            raise self.source.error(path, f"{what} is {shown(value)}; give a number, a text, true or false, or lists of them")

    # -- types ----------------------------------------------------------------------------------------------------

    def type(self, path: Path, kind: str, value: Any, what: str) -> None:
        """Checks one value against a type by name."""
        simple = SIMPLE.get(kind)
        if simple is not None:
            test, text = simple
            if not test(value):
                raise self.source.error(path, f"{what} is {shown(value)}; {text} is needed")
            return
        getattr(self, f"_{kind}")(path, value, what)

    def _list(self, path: Path, kind: str, value: Any, what: str) -> None:
        if not isinstance(value, list):
            raise self.source.error(path, f"{what} is {shown(value)}; a list is needed")
        for i, entry in enumerate(value):
            self.type((*path, i), kind, entry, what)

    def _points(self, path: Path, value: Any, what: str) -> None:
        self._list(path, "frame", value, what)
        if len(value) < 2:
            raise self.source.error(path, f"{what}: at least two frames are needed, got {len(value)}")

    def _pairs(self, path: Path, value: Any, what: str) -> None:
        self._list(path, "texts", value, what)
        for i, pair in enumerate(value):
            if len(pair) != 2:
                raise self.source.error((*path, i), f"{what}: {shown(pair)} is no pair of names")

    def _frame(self, path: Path, value: Any, what: str) -> None:
        if isinstance(value, str):
            return
        if not isinstance(value, dict) or not isinstance(value.get("body"), str):
            raise self.source.error(
                path, f'{what} is {shown(value)}; give "body", "body.frame" or {{body = "…", position = […], rotation = …}}'
            )
        self.keys(
            path,
            value,
            {"body": ("text", ""), "frame": ("text", ""), "position": ("vector", ""), "rotation": ("rotation", "")},
            (),
            {},
            what,
        )

    def _frames(self, path: Path, value: Any, what: str) -> None:
        self._named(path, value, what, "frame", {"position": ("vector", ""), "rotation": ("rotation", "")}, ())

    def _interfaces(self, path: Path, value: Any, what: str) -> None:
        self._named(path, value, what, "interface", structure_tables.INTERFACE, ("nodes",))

    def _gauges(self, path: Path, value: Any, what: str) -> None:
        self._tables(path, value, what, "gauge", structure_tables.GAUGE, ("at",))

    def _sliders(self, path: Path, value: Any, what: str) -> None:
        self._tables(path, value, what, "slider", structure_tables.SLIDER, ("name", "point", "at"))

    def _patches(self, path: Path, value: Any, what: str) -> None:
        self._tables(path, value, what, "patch", structure_tables.PATCH, ("span",))

    def _tables(self, path: Path, value: Any, what: str, one: str, keys: Mapping[str, tuple[str, str]], required: tuple[str, ...]) -> None:
        """A list of tables."""
        if not isinstance(value, list):
            raise self.source.error(path, f"{what} is {shown(value)}; a list of tables is needed")
        for i, item in enumerate(value):
            self.table((*path, i), item, f"{what}: {one} {i + 1}")
            self.keys((*path, i), item, keys, required, {}, f"{what}: {one} {i + 1}")

    def _named(self, path: Path, value: Any, what: str, one: str, keys: Mapping[str, tuple[str, str]], required: tuple[str, ...]) -> None:
        """Tables by name."""
        self.table(path, value, what)
        for name, item in value.items():
            self.table((*path, name), item, f"{what}: {name}")
            self.keys((*path, name), item, keys, required, {}, f"{one} '{name}'")

    def _masses(self, path: Path, value: Any, what: str) -> None:
        if not isinstance(value, list):
            raise self.source.error(path, f"{what} is {shown(value)}; a list of tables is needed")
        keys = {k: BODY[k] for k in ("mass", "com", "inertia", "about", "axes")}
        for i, item in enumerate(value):
            self.table((*path, i), item, what)
            self.keys((*path, i), item, keys, (), {}, what)

    def _shapes(self, path: Path, value: Any, what: str) -> None:
        self._list(path, "shape", value, what)

    def _shape(self, path: Path, value: Any, what: str) -> None:
        self.table(path, value, what)
        self.keys(path, value, {"kind": ("text", "kind of shape"), **SHAPE_KEYS}, ("kind",), SHAPES, what, SHAPE_COMMON)

    def _mimic(self, path: Path, value: Any, what: str) -> None:
        if not isinstance(value, str):
            self.table(path, value, what)
            self.keys(path, value, {"joint": ("text", ""), "ratio": ("value", ""), "offset": ("value", "")}, ("joint",), {}, what)

    def _flexible(self, path: Path, value: Any, what: str) -> None:
        self.table(path, value, what)
        self.keys(path, value, structure_tables.FLEXIBLE, ("structure",), {}, what)

    def _integers(self, path: Path, value: Any, what: str) -> None:
        self._mapping(path, "integer", value, what)

    def _values(self, path: Path, value: Any, what: str) -> None:
        self._mapping(path, "value", value, what)

    def _quantities(self, path: Path, value: Any, what: str) -> None:
        self._mapping(path, "quantity", value, what)

    def _mapping(self, path: Path, kind: str, value: Any, what: str) -> None:
        self.table(path, value, what)
        for key, entry in value.items():
            self.type((*path, key), kind, entry, f"{what}: {key}")

    def _ground(self, path: Path, value: Any, what: str) -> None:
        self.table(path, value, what)
        self.keys(path, value, GROUND, (), {}, "the ground")

    def _creation(self, path: Path, value: Any, what: str) -> None:
        self.table(path, value, what)
        self.keys(path, value, {"order": ("texts", "")}, (), {}, what)

    def _variants(self, path: Path, value: Any, what: str) -> None:
        self.table(path, value, what)
        for name, item in value.items():
            self.table((*path, name), item, f"variant '{name}'")

    def _includes(self, path: Path, value: Any, what: str) -> None:
        if not isinstance(value, list):
            raise self.source.error(path, "include is not a list; write [[include]]")
        for i, item in enumerate(value):
            self.table((*path, i), item, "include")
            self.keys((*path, i), item, INCLUDE, ("file", "prefix"), {}, "include")


__all__ = ["check_document"]
