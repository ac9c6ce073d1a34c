"""Saving a model that was read from a file: the file's own text, changed where the model was changed.

Sub-models, variants, comments and the way things are written stay; only what differs is written anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import JourdainError, ModelError
from ...model.fingerprint import fingerprint
from ...model.model import Model
from .document import TextEditor
from .toml_source import Source
from .toml_writer import key_text, pair_text, table_text
from .writer import ModelWriter, layout

#: Beyond so many changes a text is written anew.
MOST_CHANGES = 400
#: Keys of a file that stand before its tables.
_LISTS = ("keep", "notes", "unphysical", "guesses")

#: Reads a model from its text, the folder of the files it names, and a variant.
Read = Callable[[str, Path | None, str | None], Model]


@dataclass(frozen=True)
class Origin:
    """The text that a model was read from, and the folder of the files it names."""

    text: str
    folder: Path | None

    @property
    def data(self) -> dict[str, Any]:
        """What the text says."""
        return Source(self.text, "the model's file", self.folder).data


def remember(model: Model, source: Source, data: Mapping[str, Any]) -> None:
    """Notes where a model comes from; ``data`` are those of the source with a variant laid over them, if any was."""
    text = source.text if data is source.data else text_of({k: v for k, v in data.items() if k != "variant"})
    model.imported["origin"] = [Origin(text, source.folder)]


def origin_of(model: Model) -> Origin | None:
    """Where a model comes from; None for one built in Python."""
    found = model.imported.get("origin")
    return found[0] if found else None


def text_as_read(model: Model, folder: Path | None, read: Read) -> str | None:
    """The text a model was read from, brought up to date; None where that cannot be done (or it was built in Python)."""
    origin = origin_of(model)
    if origin is None:
        return None
    data = origin.data
    if "include" in data and folder is None:
        return None  # a text alone does not find its sub-models
    try:
        before = ModelWriter(read(origin.text, origin.folder, None), folder).data()
        now = ModelWriter(model, folder).data()
        text = origin.text if before == now else _changed(origin, before, now)
        again = read(text, folder, None)
        for variant in data.get("variant", ()) if text != origin.text else ():
            read(text, folder, variant)
        if fingerprint(again) == fingerprint(model) and ModelWriter(again, folder).data() == now:
            return text
    except JourdainError:
        pass
    return None


def with_variants(text: str, model: Model, read: Read, folder: Path | None) -> str:
    """A text written anew with the variants of the file the model came from, as far as they still fit."""
    origin = origin_of(model)
    variants = origin.data.get("variant", {}) if origin is not None else {}
    for name, changes in variants.items():
        longer = text + "\n" + "\n".join(_variant(("variant", name), changes))
        try:
            read(longer, folder, name)
            text = longer
        except JourdainError as error:
            warnings.warn(f"model '{model.name}': variant '{name}' no longer fits and is left out ({error})", stacklevel=4)
    return text


def text_of(data: Mapping[str, Any]) -> str:
    """A whole file from its data, sub-models and variants included."""
    own = {k: v for k, v in data.items() if k not in ("include", "variant")}
    parts = [layout(own)]
    parts += ["[[include]]\n" + "".join(pair_text(k, v) for k, v in item.items()) for item in data.get("include", ())]
    for name, changes in data.get("variant", {}).items():
        parts += _variant(("variant", name), changes)
    return "\n".join(parts)


def _variant(path: tuple[str, ...], changes: Mapping[str, Any]) -> Iterator[str]:
    plain = {k: v for k, v in changes.items() if not isinstance(v, dict)}
    if plain or not changes:
        yield table_text(path, plain)
    for section, items in changes.items():
        if not isinstance(items, dict):
            continue
        if section == "ground" or not any(isinstance(v, dict) for v in items.values()):
            yield table_text((*path, section), items)
            continue
        lines = {k: v for k, v in items.items() if not isinstance(v, dict)}
        if lines:
            yield table_text((*path, section), lines)
        for name, item in items.items():
            if isinstance(item, dict):
                yield f"[{'.'.join(map(key_text, (*path, section, name)))}]\n" + "".join(pair_text(k, v) for k, v in item.items())


# --- changes ---------------------------------------------------------------------------------------------------------


def _changed(origin: Origin, before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The origin's text with every difference between two written models put into it."""
    text = origin.text
    for count, edit in enumerate(_edits(before, now, origin.data)):
        if count >= MOST_CHANGES:
            raise ModelError("too many changes for one text")
        path, value = edit
        editor = TextEditor(Source(text, "the model's file", origin.folder))
        if value is None:
            text = editor.remove(path) if editor.has(path) else text
        elif isinstance(value, dict) and len(path) == 2 and not editor.has(path) and path[0] not in _IN_LINES:
            text = editor.add_table(path, value)
        else:
            text = editor.put(path, value)
    return text


#: Sections whose new objects are written in a line each.
_IN_LINES = ("parameters", "tables", "expressions", "inputs", "states", "memories", "unknowns", "drives", "locks", "outputs", "initial")
Edit = tuple[tuple[str | int, ...], Any]


def _edits(before: Mapping[str, Any], now: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Edit]:
    """Paths with their new values, None for what is gone."""
    prefixes = [item["prefix"] + "." for item in data.get("include", ())]
    for section, new in now.items():
        old = before.get(section)
        if old == new:
            continue
        if section in _LISTS:
            yield (section,), [x for x in new if not any(x.startswith(p) for p in prefixes)] or None
        elif not isinstance(new, dict):
            yield (section,), new
        elif section == "ground":
            yield from _keys((section,), old or {}, new)
        else:
            for name in dict.fromkeys([*(old or {}), *new]):
                yield from _object(section, name, (old or {}).get(name), new.get(name), data, prefixes)


def _object(section: str, name: str, old: Any, new: Any, data: Mapping[str, Any], prefixes: list[str]) -> Iterator[Edit]:
    if old == new:
        return
    owner = next((i for i, p in enumerate(prefixes) if name.startswith(p)), None)
    if owner is not None and name not in data.get(section, {}) and section != "initial":
        yield _of_part(section, name.removeprefix(prefixes[owner]), owner, old, new, data["include"][owner])
    elif isinstance(old, dict) and isinstance(new, dict) and isinstance(data.get(section, {}).get(name), dict):
        yield from _keys((section, name), old, new)
    else:
        yield (section, name), new


def _keys(path: tuple[str | int, ...], old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Edit]:
    for key in dict.fromkeys([*old, *new]):
        if old.get(key) != new.get(key):
            yield (*path, key), new.get(key)


def _of_part(section: str, name: str, index: int, old: Any, new: Any, item: Mapping[str, Any]) -> Edit:
    """A value that a parameter of a sub-model has now; nothing else of it can be changed from outside."""
    was, is_now = (x if isinstance(x, dict) else {"value": x} for x in (old, new))
    rest = [{k: v for k, v in x.items() if k != "value"} for x in (was, is_now)]
    if section != "parameters" or old is None or new is None or rest[0] != rest[1]:
        raise ModelError(f"'{name}' of the sub-model '{item['prefix']}' was changed")
    if "parameters" not in item:
        return ("include", index, "parameters"), {name: is_now["value"]}
    return ("include", index, "parameters", name), is_now["value"]


__all__ = ["Origin", "origin_of", "remember", "text_as_read", "text_of", "with_variants"]
