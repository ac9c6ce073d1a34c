"""A model named by a piece of text: a data file (model file, URDF, MJCF, ROBOTRAN) or a name in the user's own Python.

Data files are only read.  Python is run because the user names it as such: ``file.py:name`` or ``package.module:name``.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from ..errors import InputError
from ..model import Model
from .mbs import read_mbs
from .mjcf import read_mjcf
from .urdf import read_urdf
from .xml_reader import read_xml

#: Endings of data files that hold a model.
DATA_FILES = (".toml", ".urdf", ".xml", ".mjcf", ".mbs")
FORMS = "a .toml model file, a .urdf, .xml (MJCF) or .mbs file, file.py:name or package.module:name"


def load_model(
    reference: str, base: str | None = None, parameters: str | None = None, variant: str | None = None, root: str | None = None,
    missing: str | None = None,
) -> Model:  # fmt: skip
    """The model that ``reference`` names, with a ``variant`` of its model file if asked for.

    ``base`` is "free" or "fixed" and concerns URDF alone; ``parameters`` is "symbolic" or "numbers" and concerns
    ROBOTRAN files alone; ``root`` and ``missing`` concern MJCF alone (see :func:`jourdain.io.read_mjcf`).  In Python the name is that of a model or of a function without arguments that returns one.
    """
    path = Path(reference)
    suffix = path.suffix.lower()
    if suffix in DATA_FILES:
        if not path.is_file():
            raise InputError(f"there is no file '{reference}'")
        if variant is not None and suffix != ".toml":
            raise InputError(f"'{path}': only model files (.toml) have variants")
        return _read_data(
            path, suffix, base, parameters, variant, {n: x for n, x in (("root", root), ("missing", missing)) if x is not None}
        )
    for option, given in (("base", base), ("parameters", parameters), ("variant", variant), ("root", root), ("missing", missing)):
        if given is not None:
            raise InputError(f"'{reference}': the option {option} is for data files, not for models in Python")
    place, colon, name = reference.rpartition(":")
    if not colon or "\\" in name or "/" in name:
        place, name = reference, ""
    if place.endswith(".py"):
        return _model_in(_run_file(Path(place)), name, place)
    if not name or not all(part.isidentifier() for part in place.split(".")):
        raise InputError(f"'{reference}' does not name a model; give {FORMS}")
    return _model_in(_import_module(place), name, place)


def _read_data(
    path: Path, suffix: str, base: str | None, parameters: str | None, variant: str | None, of_mjcf: Mapping[str, Any]
) -> Model:  # fmt: skip
    tag = read_xml(path, expected=("mujoco", "robot"))[0].tag if suffix in (".xml", ".mjcf") else ""
    if of_mjcf and tag != "mujoco":
        raise InputError(f"'{path}': the option {next(iter(of_mjcf))} is for MJCF files")
    if suffix == ".toml":
        from .model_files.model_file import load_model as load_file

        if base is not None or parameters is not None:
            raise InputError(f"'{path}': the options base and parameters are for URDF and ROBOTRAN files; a model file says it itself")
        return load_file(path, variant)
    if suffix == ".mbs":
        if base is not None:
            raise InputError(f"'{path}': the option base is for URDF; a .mbs file says itself how its base moves")
        return read_mbs(path, parameters=parameters or "numbers")
    if parameters is not None:
        raise InputError(f"'{path}': the option parameters is for .mbs files; other files have numbers")
    if suffix == ".urdf" or tag == "robot":
        return read_urdf(path, base=base or "fixed")
    if base is not None:
        raise InputError(f"'{path}': the option base is for URDF; in MJCF a <freejoint> says that a body flies")
    return read_mjcf(path, **of_mjcf)


# --- Python ------------------------------------------------------------------------------------------------------


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"there is no file '{path}'")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"'{path}' cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    with _importable(path.resolve().parent), _explained(str(path)):
        spec.loader.exec_module(module)
    return module


def _import_module(place: str) -> ModuleType:
    with _importable(Path.cwd()):
        try:
            found = importlib.util.find_spec(place)
        except (ImportError, ValueError):
            found = None
        if found is None:
            raise InputError(f"there is no Python module '{place}' here or among the installed packages")
        with _explained(place):
            return importlib.import_module(place)


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Lets the user's Python import its neighbours, as a script run from there may."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


@contextmanager
def _explained(place: str) -> Iterator[None]:
    """An error in the user's Python as one sentence with the line where it happened."""
    try:
        yield
    except Exception as error:
        file = error.filename if isinstance(error, SyntaxError) else place
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(Path(place).name)]
        line = error.lineno if isinstance(error, SyntaxError) else (lines[-1] if lines else None)
        where = f"{file}, line {line}" if line else str(file)
        what = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{where}: {what}") from error


def _model_in(module: ModuleType, name: str, place: str) -> Model:
    if not name:
        models = [n for n, item in vars(module).items() if isinstance(item, Model)]
        if len(models) != 1:
            raise InputError(f"'{place}': say which model is meant, as in {place}:{_candidates(module)[0]}")
        name = models[0]
    item: Any = module
    for part in name.split("."):
        if not hasattr(item, part):
            raise InputError(f"'{place}' has no '{name}'; it has {', '.join(_candidates(module))}")
        item = getattr(item, part)
    if isinstance(item, Model):
        return item
    if not callable(item):
        raise InputError(f"'{place}:{name}' is a {type(item).__name__}, neither a model nor a function")
    with _explained(place):
        made = item()
    if not isinstance(made, Model):
        raise InputError(f"'{place}:{name}' returned a {type(made).__name__} instead of a model")
    return made


def _candidates(module: ModuleType) -> list[str]:
    """Names in a module that may be models, the likeliest first."""
    own = {n: item for n, item in vars(module).items() if not n.startswith("_")}
    models = [n for n, item in own.items() if isinstance(item, Model)]
    functions = [n for n, item in own.items() if callable(item) and getattr(item, "__module__", "") == module.__name__]
    return [*models, *functions] or ["model"]


__all__ = ["DATA_FILES", "load_model"]
