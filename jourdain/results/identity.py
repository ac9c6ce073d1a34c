"""What a function and its data are, as a hash: the same hash means the same results, whatever the name.

A function is its code, its defaults, the variables it closes over and the globals it uses; a bound method is its function and its
object, an object its class and its attributes.  Functions and classes of this package, of Python and of installed packages count by
name and version.  What cannot be looked into (an open file, a generator) is not identified, and says so.
"""

from __future__ import annotations

import functools
import hashlib
import io
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..model.contact.methods import contact_digest

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), range)
_FOLDERS = tuple(str(Path(sysconfig.get_path(key)).resolve()) for key in ("stdlib", "platstdlib", "purelib", "platlib"))
_PACKAGE = __name__.partition(".")[0]


class UnidentifiedError(Exception):
    """A value whose content cannot be looked into; the message says where it was met."""


def identity(value: Any) -> str:
    """A hash of a value's content.

    >>> def scaled(factor):
    ...     return lambda x: factor * x
    >>> identity(scaled(2.0)) == identity(scaled(2.0)), identity(scaled(2.0)) == identity(scaled(3.0))
    (True, False)
    """
    return _Walk().of(value, "").hex()


class _Walk:
    """Hashes values within values, always in the same order; one that is met again counts by its place in that order."""

    def __init__(self) -> None:
        #: By id, with the value itself: an id belongs to another value once the first is gone.
        self.seen: dict[int, tuple[int, Any]] = {}

    def of(self, value: Any, where: str) -> bytes:
        """The hash of a value met at a place."""
        if type(value) in _PLAIN:
            return _hash(type(value).__name__, repr(value))
        if id(value) in self.seen:
            return _hash("seen", str(self.seen[id(value)][0]))
        self.seen[id(value)] = (len(self.seen), value)
        for kinds, walk in _KINDS:
            if isinstance(value, kinds):
                return walk(self, value, where)
        return self._object(value, where)

    def _all(self, word: str, items: Iterable[Any], where: str) -> bytes:
        return _hash(word, *(self.of(item, where) for item in items))

    def _named(self, word: str, items: Mapping[str, Any], where: str) -> bytes:
        return _hash(word, *(_hash(n, self.of(items[n], f"{where}.{n}" if where else n)) for n in sorted(items)))

    # -- data -----------------------------------------------------------------------------------------------------

    def _sequence(self, value: Any, where: str) -> bytes:
        return _hash(self._kind(value, where), self._all("items", value, where))

    def _set(self, value: Any, where: str) -> bytes:
        return _hash(self._kind(value, where), *sorted(_Walk().of(item, where) for item in value))

    def _mapping(self, value: Any, where: str) -> bytes:
        named = all(type(k) is str for k in value)
        inside = self._named("items", value, where) if named else self._all("items", [x for pair in value.items() for x in pair], where)
        return _hash(self._kind(value, where), inside)

    def _kind(self, value: Any, where: str) -> bytes:
        return self.of(type(value), where)

    def _array(self, value: Any, where: str) -> bytes:
        array = np.asarray(value)
        if array.dtype.hasobject:
            return self._all(f"objects {array.shape}", array.ravel().tolist(), where)
        return _hash("array", array.dtype.str, str(array.shape), array.tobytes())

    # -- functions ------------------------------------------------------------------------------------------------

    def _function(self, f: Any, where: str) -> bytes:
        if _is_installed(f):
            return _library(f)
        here = where or f.__qualname__
        cells = dict(zip(f.__code__.co_freevars, (_content(c) for c in f.__closure__ or ()), strict=True))
        used = {n: f.__globals__[n] for n in _names(f.__code__) if n in f.__globals__ and n not in cells}
        data = {"code": f.__code__, "defaults": f.__defaults__, "keywords": f.__kwdefaults__, "attributes": f.__dict__}
        return _hash("function", self._named("own", data, here), self._named("closure", cells, here), self._named("globals", used, here))

    def _code(self, code: Any, where: str) -> bytes:
        facts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        return _hash("code", repr(facts), repr(names), code.co_code, code.co_exceptiontable, self.of(code.co_consts, where))

    def _partial(self, value: Any, where: str) -> bytes:
        return self._all("partial", (value.func, value.args, value.keywords), where)

    def _method(self, value: Any, where: str) -> bytes:
        return self._all("method", (value.__func__, value.__self__), where)

    def _builtin(self, value: Any, where: str) -> bytes:
        owner = value.__self__
        if owner is None or (isinstance(owner, types.ModuleType) and _of_library(owner.__name__)):
            return _library(value)
        return _hash("builtin", value.__qualname__, self.of(owner, where))

    def _descriptor(self, value: Any, where: str) -> bytes:
        parts = (value.fget, value.fset) if isinstance(value, property) else (value.__func__,)
        return self._all(type(value).__name__, parts, where)

    # -- classes, modules, objects --------------------------------------------------------------------------------

    def _class(self, value: type, where: str) -> bytes:
        if _is_installed(value):
            return _library(value)
        if any(isinstance(x, types.MethodDescriptorType) for x in vars(value).values()):
            raise UnidentifiedError(f"{where or 'it'}: the methods of the class {value.__qualname__} are compiled")
        own = {n: x for n, x in vars(value).items() if n not in _HOUSEKEEPING and not isinstance(x, _SLOTS)}
        return _hash("class", value.__qualname__, self._all("bases", value.__bases__, where), self._named("own", own, where))

    def _module(self, value: types.ModuleType, where: str) -> bytes:
        if _of_library(value.__name__):
            return _hash("module", value.__name__, _version(value.__name__))
        try:
            return _hash("module", value.__name__, Path(getattr(value, "__file__", None) or "").read_bytes())
        except OSError:
            raise UnidentifiedError(f"{where}: the module '{value.__name__}' has no source to look into") from None

    def _object(self, value: Any, where: str) -> bytes:
        kind: Any = type(value)
        if hasattr(value, "fingerprint") and hasattr(value, "parameter_vector"):  # a compiled system
            return _hash("system", str(value.fingerprint), contact_digest(value.model), np.asarray(value.parameter_vector).tobytes())
        if callable(value) and hasattr(value, "__qualname__") and _is_installed(value):  # a compiled function
            return _library(value)
        name = str(getattr(value, "__name__", ""))
        if kind is np.ufunc and getattr(np, name, None) is value:
            return _hash("ufunc", name, np.__version__)
        if not _is_installed(kind):
            return _hash("object", self._kind(value, where), self._named("attributes", _attributes(value), where))
        if hasattr(value, "__wrapped__"):  # functools.cache and its like
            return _hash("wrapped", self._kind(value, where), self.of(value.__wrapped__, where))
        try:
            if isinstance(value, io.IOBase):
                raise TypeError("a file is no data")
            made = value.__reduce_ex__(4)
        except Exception as error:
            raise UnidentifiedError(f"{where or 'it'}: {error}") from None
        if isinstance(made, str):
            raise UnidentifiedError(f"{where or 'it'}: a {kind.__qualname__} is known by its name alone")
        how, arguments, state, items, pairs = (*made, None, None, None)[:5]
        return self._all("made", (how, arguments, state, list(items or ()), list(pairs or ())), where)


_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
_HOUSEKEEPING = {
    "__module__", "__doc__", "__qualname__", "__firstlineno__", "__static_attributes__", "__annotations__", "__annotate__",
    "__annotate_func__", "__annotations_cache__",
}  # fmt: skip
_KINDS: tuple[tuple[Any, Callable[[_Walk, Any, str], bytes]], ...] = (
    (types.FunctionType, _Walk._function), (types.CodeType, _Walk._code), (functools.partial, _Walk._partial),
    (types.MethodType, _Walk._method), (types.BuiltinFunctionType, _Walk._builtin),
    ((property, staticmethod, classmethod), _Walk._descriptor), (type, _Walk._class), (types.ModuleType, _Walk._module),
    ((np.ndarray, np.generic), _Walk._array), ((tuple, list), _Walk._sequence), ((set, frozenset), _Walk._set), ((dict, types.MappingProxyType), _Walk._mapping),
)  # fmt: skip


def _hash(*parts: str | bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


def _names(code: types.CodeType) -> set[str]:
    """Names that a function and those within it look up."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*(_names(c) for c in inner))


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return "not bound yet"


def _attributes(value: Any) -> dict[str, Any]:
    slots = {n for c in type(value).__mro__ for n, x in vars(c).items() if isinstance(x, types.MemberDescriptorType)}
    return {**getattr(value, "__dict__", {}), **{n: getattr(value, n) for n in slots if hasattr(value, n)}}


def _is_installed(value: Any) -> bool:
    """Whether a class is a library's, and a function what a library has under its name (a wrapper may bear the name of what it wraps)."""
    if not _of_library(value.__module__ or ""):
        return False
    if isinstance(value, type):
        return "<locals>" not in value.__qualname__
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return getattr(found, "__func__", found) is value


def _of_library(name: str) -> bool:
    """Whether a module belongs to this package, to Python, or to a package that was installed."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if name.partition(".")[0] == _PACKAGE or name in sys.builtin_module_names:
        return True
    return file is not None and str(Path(file).resolve()).startswith(_FOLDERS)


def _library(value: Any) -> bytes:
    return _hash("library", f"{value.__module__}.{value.__qualname__}", _version(value.__module__))


def _version(module: str | None) -> str:
    return str(getattr(sys.modules.get((module or "").partition(".")[0]), "__version__", ""))


__all__ = ["UnidentifiedError", "identity"]
