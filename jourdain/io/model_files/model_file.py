"""Model files: a model as text that people read, compare and share, and that gives the same equations again.

>>> import jourdain as jd
>>> m = jd.Model("pendulum")
>>> l = m.parameter("l", 0.5, unit="m")
>>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=2.0, com=(0, 0, -l)), axis="y")
>>> print(dumps_model(m))
format = "jourdain"
version = 1
name = "pendulum"
gravity = [0, 0, -9.81]
<BLANKLINE>
[parameters]
l = {value = 0.5, unit = "m"}
<BLANKLINE>
[bodies.bob]
mass = 2
com = [0, 0, "-l"]
<BLANKLINE>
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "bob"
axis = "y"
<BLANKLINE>
>>> loads_model(dumps_model(m)).joints
{'hinge': <Joint hinge: revolute ground → bob>}
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import JourdainError, ModelError, nearest
from ...model.fingerprint import fingerprint
from ...model.model import Model
from .every_error import read_telling_all
from .origin import remember, text_as_read, with_variants
from .reader import ModelReader, file_inside
from .schema_check import check_document
from .toml_source import ModelFileError, Source
from .writer import ModelWriter

#: Deepest chain of files that include each other, and most inclusions in all.
MAX_INCLUDE_DEPTH = 8
MAX_INCLUDES = 256
#: Most bodies of a model with all it includes.
MAX_BODIES = 20_000


def load_model(path: str | os.PathLike[str], variant: str | None = None) -> Model:
    """Reads a model file, with one of its variants laid over it if asked for.

    Files it names (sub-models, tables, meshes) must lie in its folder or below; nothing in a file is ever run.
    """
    return _Loader(Path(path).parent).load(Source.read(Path(path)), variant, 0)


def loads_model(text: str, variant: str | None = None, name: str = "model text", folder: str | os.PathLike[str] | None = None) -> Model:
    """Reads a model from text; ``name`` stands for the file in errors, ``folder`` is where files it names are looked for."""
    root = None if folder is None else Path(folder)
    return _Loader(root).load(Source(text, name, root), variant, 0)


def dumps_model(model: Model, folder: str | os.PathLike[str] | None = None) -> str:
    """The model as text; meshes that lie in ``folder`` are named by their file, others are written out.

    A model that was read from a file keeps that file's text except for what was changed since: comments and variants, and its
    sub-models if ``folder`` holds them.  The text is read back and compared, so that it is certain to give the same equations.
    """
    root = None if folder is None else Path(folder)
    model.settle_order()

    def read(text: str, place: Path | None, variant: str | None) -> Model:
        return loads_model(text, variant, folder=place)

    known = text_as_read(model, root, read)
    if known is not None:
        return known
    wanted = fingerprint(model)
    refused: ModelFileError | None = None
    for order, general in ((0, False), (1, False), (1, True), (2, True)):
        text = ModelWriter(model, root, order, general).text()
        try:  # what has no order of creation is judged as a user's own, whose units must fit
            again = loads_model(text, name=f"model '{model.name}'", folder=root)
        except ModelFileError as error:
            refused = error
            continue
        if fingerprint(again) == wanted:
            return with_variants(text, model, read, root)
    if refused is not None:
        raise refused
    raise ModelError(
        f"model '{model.name}': its text does not give the same equations again; a law was changed by hand in a way a file cannot hold"
    )


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Writes the model to a file, all or nothing."""
    target = Path(path)
    write_whole(target, dumps_model(model, target.parent))


def write_whole(target: Path, text: str, like: Path | None = None) -> None:
    """Writes a file so that a crash leaves either the old or the new one; lines end as in the old one, or in the one it is ``like``."""
    from ...results.whole_file import whole_file

    try:
        data = text.replace("\n", line_end(like or target)).encode()
        with whole_file(target) as scratch:
            scratch.write_bytes(data)
    except OSError as error:
        raise ModelFileError(f"{target}: the file cannot be written ({error.strerror})") from None


def line_end(path: Path) -> str:
    """How lines end in a file, if there is one; a device has no end, and a pipe would be waited for."""
    try:
        if not path.is_file():
            return "\n"
        with open(path, "rb") as file:
            return "\r\n" if file.readline().endswith(b"\r\n") else "\n"
    except OSError:
        return "\n"


class _Loader:
    """Reads a file and what it includes, within the folder of the first one."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self.count = 0

    def load(self, source: Source, variant: str | None, depth: int) -> Model:
        data = with_variant(source, variant)

        def include(reader: ModelReader, item: Mapping[str, Any], index: int) -> None:
            self._include(reader, item, depth + 1)

        def read(data: dict[str, Any]) -> Model:
            check_document(source, data)
            return ModelReader(source, data, include).read()

        model = read_telling_all(source, data, read) if depth == 0 else read(data)
        if depth == 0:
            remember(model, source, data)
        return model

    def _include(self, reader: ModelReader, item: Mapping[str, Any], depth: int) -> None:
        self.count += 1
        if depth > MAX_INCLUDE_DEPTH:
            raise ModelError(f"files include each other deeper than {MAX_INCLUDE_DEPTH}; does a file include itself?")
        if self.count > MAX_INCLUDES:
            raise ModelError(f"more than {MAX_INCLUDES} sub-models are included; does a file include itself?")
        folder = reader.source.folder
        path = file_inside(folder, item["file"])
        if self.root is not None and not path.is_relative_to(self.root.resolve()):
            raise ModelError(f"'{item['file']}' leads outside the model's folder")
        part = self.load(Source.read(path), item.get("variant"), depth)
        attach = reader.frame(item["at"]) if "at" in item else None
        values = {name: reader.value(given) for name, given in item.get("parameters", {}).items()}
        reader.model.include(part, item["prefix"], attach, item.get("mirror"), values)
        if len(reader.model.bodies) > MAX_BODIES:
            raise ModelError(f"the model has more than {MAX_BODIES} bodies")


def with_variant(source: Source, variant: str | None) -> dict[str, Any]:
    """The data of a source with a variant laid over them."""
    data = source.data
    variants = data.get("variant", {})
    if variant is None:
        return data
    if not isinstance(variants, dict) or variant not in variants:
        near = nearest(variant, variants, 3) or list(variants)[:5]
        raise source.error(
            ("variant",), f"there is no variant '{variant}'" + (f"; there is {', '.join(near)}" if near else " in this file")
        )
    changes = variants[variant]
    if not isinstance(changes, dict):
        raise source.error(("variant", variant), f"variant '{variant}' is not a table")
    try:
        return _laid_over(data, changes, ())
    except JourdainError as error:
        raise source.wrap(("variant", variant), f"variant '{variant}'", error) from None


def _laid_over(data: Any, changes: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Tables merged key by key; a plain value over the table of a parameter, input or output is its main value."""
    result = dict(data)
    for key, new in changes.items():
        old = result.get(key)
        if path == () and key in ("variant", "include", "format", "version"):
            raise ModelError(f"a variant cannot change '{key}'")
        if isinstance(new, dict) and isinstance(old, dict):
            result[key] = _laid_over(old, new, (*path, key))
        elif isinstance(old, dict) and len(path) == 1:
            main = {"parameters": "value", "inputs": "value", "outputs": "expression", "drives": "motion", "locks": "position"}.get(path[0])
            if main is None:
                raise ModelError(f"'{'.'.join((*path, key))}' is a table; give its keys")
            result[key] = {**old, main: new}
        elif isinstance(new, dict) and len(path) == 1 and path[0] == "parameters" and old is not None:
            result[key] = {"value": old, **new}
        else:
            result[key] = new
    return result


__all__ = ["ModelFileError", "dumps_model", "load_model", "loads_model", "save_model"]
