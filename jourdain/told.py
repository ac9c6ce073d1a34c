"""Calls that do not fit are told in the words of the package: which argument, what there is, and how the function is called.

Arguments that do not fit the list of parameters are told by Python; those of the wrong kind are looked for when a call has failed, by what
the parameters are annotated with, so that a call that works pays for neither.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from numbers import Complex, Integral, Real
from types import FrameType, ModuleType
from typing import Any, TypeVar

from .errors import InputError, JourdainError, ModelError, nearest, short
from .spelling import in_british

#: Numbers of arguments in Python's words.
_COUNT = re.compile(r"(?<=takes )\d+|(?<=from )\d+|(?<=to )\d+|(?<=but )\d+")
#: Kinds of values in Python's and NumPy's words: 'float' object, not NoneType, list.__format__.
_KIND_NAMED = re.compile(r"'(?:numpy\.)?(\w+)'|not (\w+)$|to (\w+)\.__|non-\w+ (\w+) object")
#: What wrong kinds of arguments lead to.
FAILURES = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, RecursionError, OSError)
#: Kinds that paths are annotated with.
_PATHS = ("PathLike", "Path", "File", "StoreLike")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class _Calls(threading.local):
    """How many public functions are at work in a thread, one inside the other."""

    depth = 0


_calls = _Calls()
#: Rooms whose functions describe no models; they are called with numbers, often, and not counted.
_OF_NUMBERS = ("jourdain.systems", "jourdain.native", "jourdain.results")


def nested() -> bool:
    """Whether a public function was called by another one, so that what it is given is made by the package itself."""
    return _calls.depth > 1


@contextmanager
def as_written(by_user: bool) -> Iterator[None]:
    """What is called inside is given what a user has written in a file, or what the package has."""
    depth, _calls.depth = _calls.depth, 0 if by_user else 2
    try:
        yield
    finally:
        _calls.depth = depth


def outside() -> int:
    """The ``stacklevel`` of the first caller outside of the package, for warnings that are the user's."""
    package, frame, level = __name__.partition(".")[0], sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


def told(cls: type[T]) -> type[T]:
    """Wraps the constructor and the public methods of a class, each where it is written, so that arguments which do not fit are told."""
    package = cls.__module__.partition(".")[0]
    for owner in cls.__mro__:
        if owner.__module__.partition(".")[0] == package:
            _tell_own(owner)
    return cls


def _tell_own(cls: type) -> None:
    done: dict[Any, Any] = {}  # other spellings of a method stay the same object
    for name, method in list(vars(cls).items()):
        if (not name.startswith("_") or name == "__init__") and inspect.isfunction(method) and not is_told(method):
            if method not in done:
                done[method] = told_function(method, cls.__name__ if name == "__init__" else name, 1)
            setattr(cls, name, done[method])


def told_name(module: ModuleType, name: str) -> Any:
    """A function or class of a module, told in place: in the module and where it is written, so that it stays one object."""
    found = getattr(module, name)
    if inspect.isclass(found) and not issubclass(found, BaseException):
        return told(found)
    if not inspect.isfunction(found) or is_told(found):
        return found
    function = told_function(found, found.__name__)
    setattr(module, name, function)
    setattr(sys.modules[found.__module__], found.__name__, function)
    return function


def of_the_call(error: Exception) -> bool:
    """Whether an error caught around a call says that the arguments do not fit, rather than coming from within."""
    return isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None


def is_told(function: Callable[..., Any]) -> bool:
    """Whether calls of a function that do not fit are told."""
    return hasattr(function, "__told__")


def told_function(function: F, name: str, bound: int = 0) -> F:
    """A function whose unfit calls are told; ``bound`` arguments come before those that are written (the object of a method).

    Units and other texts of a model are looked at before the call: nothing fails by them until the model is written to a file.
    """
    of_a_model = function.__module__.startswith("jourdain.model")
    first = function.__code__.co_posonlyargcount  # names of these may be among **values
    texts = {
        p: a
        for p, a in function.__annotations__.items()
        if of_a_model and p not in function.__code__.co_varnames[:first] and p != "name" and a in ("str", "str | None")
    }
    places = [(i, p) for i, p in enumerate(function.__code__.co_varnames) if p in texts and i < function.__code__.co_argcount]

    @wraps(function)
    def called(*args: Any, **given: Any) -> Any:
        try:
            if texts:
                _check_texts(texts, places, args, given)
            return function(*args, **given)
        except FAILURES as error:
            if of_the_call(error) and (own := in_british(given, inspect.signature(function).parameters)) != given:
                return called(*args, **own)
            text = unfit(function, name, error, args, given, bound)
            if text is None:
                raise
            raise (ModelError if of_a_model else InputError)(text) from (None if of_the_call(error) else error)

    @wraps(function)
    def counted(*args: Any, **given: Any) -> Any:
        _calls.depth += 1
        try:
            return called(*args, **given)
        finally:
            _calls.depth -= 1

    found = called if function.__module__.startswith(_OF_NUMBERS) else counted
    found.__told__ = True  # type: ignore[attr-defined]
    return found  # type: ignore[return-value]


def _check_texts(texts: Mapping[str, str], places: list[tuple[int, str]], args: tuple[Any, ...], given: Mapping[str, Any]) -> None:
    found = [(p, args[i]) for i, p in places if i < len(args)] + [(p, given[p]) for p in given if p in texts]
    for p, value in found:
        if not isinstance(value, str) and (value is not None or texts[p] == "str"):
            raise TypeError(p)


def unfit(
    function: Callable[..., Any], name: str, error: Exception, args: tuple[Any, ...], given: Mapping[str, Any], bound: int = 0
) -> str | None:
    """What does not fit in a call that has failed, if it is the call."""
    if isinstance(error, JourdainError):
        return None
    parameters = list(inspect.signature(function).parameters.values())[bound:]
    words = ", ".join(p.name if p.default is p.empty else f"{p.name}=" for p in parameters if p.kind is not p.VAR_KEYWORD)
    if of_the_call(error) or (isinstance(error, TypeError) and not _binds(function, args, given)):
        elsewhere = getattr(type(args[0]), "elsewhere", {}) if bound and args else {}
        told = next((f"; {n} belongs to {at}" for n in given if (at := elsewhere.get(f"{name}.{n}"))), "")
        return f"{name}() {_reason(str(error), [p.name for p in parameters], given, bound)}{told}; it is called {name}({words})"
    values = _arguments(function, args, given, bound)
    wrong = (
        _of_the_wrong_kind(function, values)
        or _no_path(error, values)
        or _complained_of(str(error), values)
        or _held(error, function, values)
    )
    return None if wrong is None else f"{name}(): {wrong}; it is called {name}({words})"


def _reason(text: str, known: list[str], given: Iterable[str], bound: int) -> str:
    what = _COUNT.sub(lambda m: str(int(m[0]) - bound), text.partition("() ")[2] or text)
    wrong = next((n for n in given if n not in known), None)
    near = nearest(wrong, known, 1) if wrong is not None and "unexpected" in what else []
    return what + (f"; did you mean '{near[0]}'?" if near else "")


def _binds(function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any]) -> bool:
    """Whether arguments fit the parameters; of a function inside another wrapper Python says it from within."""
    try:
        inspect.signature(function).bind(*args, **given)
    except TypeError:
        return False
    return True


def _arguments(
    function: Callable[..., Any], args: tuple[Any, ...], given: Mapping[str, Any], bound: int
) -> list[tuple[inspect.Parameter, Any]]:
    """What was written in a call, with the parameter of each."""
    signature = inspect.signature(function)
    if not _binds(function, args, given):
        return []
    values = signature.bind(*args, **given).arguments
    found = []
    for p in list(signature.parameters.values())[bound:]:
        if p.name in values and p.kind is p.VAR_KEYWORD:
            found += [(inspect.Parameter(name, p.KEYWORD_ONLY), value) for name, value in values[p.name].items()]
        elif p.name in values:
            found += [(p, value) for value in (values[p.name] if p.kind is p.VAR_POSITIONAL else (values[p.name],))]
    return found


def _of_the_wrong_kind(function: Callable[..., Any], values: list[tuple[inspect.Parameter, Any]]) -> str | None:
    """The first argument that is none of the kinds with which its parameter is annotated."""
    for p, value in values:
        kinds = _alternatives(p.annotation) if isinstance(p.annotation, str) else ["Any"]
        if not any(_is_of(value, kind, function) for kind in kinds):
            return f"{p.name} = {short(value)} is no {' or '.join(_in_words(kind) for kind in kinds if kind != 'None')}"
    return None


def _no_path(error: Exception, values: list[tuple[inspect.Parameter, Any]]) -> str | None:
    """The path that no file can have, or that the system has refused."""
    for p, value in values:
        if isinstance(p.annotation, str) and any(name in p.annotation for name in _PATHS) and isinstance(value, str | os.PathLike):
            if isinstance(error, OSError):
                return f"{p.name} = {short(value)} cannot be used as a file: {error.strerror or error}"
            try:
                if b"\0" not in os.fsencode(os.fspath(value)):
                    continue
            except Exception:  # texts that cannot be encoded, and whatever a type of the user raises
                pass
            return f"{p.name} = {short(value)} is no path of a file"
    return None


def _complained_of(text: str, values: list[tuple[inspect.Parameter, Any]]) -> str | None:
    """The argument of which an error from within speaks, by its kind or its value, if it is one alone."""
    kinds = {kind for found in _KIND_NAMED.findall(text) for kind in found} | ({"ndarray"} if "array" in text else set())
    found = []
    for p, value in values:
        items = list(value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else [])[:10]
        named = {type(x).__name__ for x in (value, *items) if x is not p.default} & kinds
        if named or f"keyword argument '{p.name}'" in text or any(isinstance(x, str | bytes) and repr(x) in text for x in (value, *items)):
            found.append(f"{p.name} = {short(value)} does not fit ({text})")
    return found[0] if len(found) == 1 else None


def _held(error: Exception, function: Callable[..., Any], values: list[tuple[inspect.Parameter, Any]]) -> str | None:
    """The argument that was in the hands of the code that failed, if it is one alone."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    if any(map(_of_the_user, frames)):
        return None
    told = f"does not fit ({type(error).__name__}: {error})"
    for frame in reversed(frames):
        if frame.f_globals.get("__name__", "").partition(".")[0] != __name__.partition(".")[0] or frame.f_code.co_filename == __file__:
            continue
        given = [(p, value) for p, value in values if value is not p.default]
        if frame.f_code is not inspect.unwrap(function).__code__:
            code = frame.f_code
            taken = [frame.f_locals.get(n) for n in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
            held = [*taken, *(x for x in frame.f_locals.values() if not isinstance(x, _COMMON))]
            given = [(p, value) for p, value in given if any(value is x for x in held)]
        if given:
            return " and ".join(f"{p.name} = {short(value)}" for p, value in given[:3]) + f" {told}"
        if not frame.f_code.co_name.startswith("<"):  # what fails further in than where it is held may be no fault of the argument
            return None
    return None


def _of_the_user(frame: FrameType) -> bool:
    """Whether code is neither the package's nor a library's: what fails in or below a function of the user is told by itself."""
    if frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
        return False
    file = frame.f_code.co_filename
    return not (file.startswith(("<frozen", "<string>", *_LIBRARIES)) or "site-packages" in file or "dist-packages" in file)


#: Where the libraries of Python are.
_LIBRARIES = tuple({os.path.dirname(os.__file__), os.path.realpath(os.path.dirname(os.__file__))})
#: Values so common that finding one says nothing of where it comes from.
_COMMON = (bool, int, type(None))


def _alternatives(annotation: str) -> list[str]:
    """The members of a union as it is written."""
    found, depth = [""], 0
    for letter in annotation:
        depth += (letter in "[(") - (letter in "])")
        if letter == "|" and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [kind.strip() for kind in found]


def _is_of(value: Any, kind: str, function: Callable[..., Any]) -> bool:
    """Whether a value is of a kind; where the kind is not known it is taken to be."""
    base = kind.partition("[")[0].rpartition(".")[2]
    if base in _KINDS:
        return _KINDS[base](value)
    found = function.__globals__.get(base, None)
    if found is None:
        modules = [vars(m) for n, m in list(sys.modules.items()) if n.startswith("jourdain.")]
        found = next((m[base] for m in modules if inspect.isclass(m.get(base))), None)
    try:
        return not inspect.isclass(found) or isinstance(value, found)
    except TypeError:  # a protocol
        return True


def _is_row(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _is_number(value: Any) -> bool:
    """A number, or a text that begins as a number with a unit does."""
    return (
        isinstance(value, Real)
        or (isinstance(value, str) and value.lstrip(" +-.")[:1].isdigit())
        or (hasattr(value, "__float__") and not getattr(value, "ndim", 0))
    )


_KINDS: dict[str, Callable[[Any], bool]] = {
    "Any": lambda value: True,
    "object": lambda value: True,
    "None": lambda value: value is None,
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool | Real),
    "int": lambda value: isinstance(value, Integral),
    "float": _is_number,
    "complex": lambda value: isinstance(value, Complex),
    "Sequence": _is_row,
    "Iterable": _is_row,
    "list": _is_row,
    "tuple": _is_row,
    "ndarray": lambda value: _is_row(value) or _is_number(value),
    "Path": lambda value: isinstance(value, os.PathLike),
    "PathLike": lambda value: isinstance(value, os.PathLike),
    "File": lambda value: isinstance(value, str | os.PathLike),
    "Mapping": lambda value: isinstance(value, Mapping),
    "dict": lambda value: isinstance(value, Mapping),
    "Callable": callable,
}
_WORDS = {
    "str": "text",
    "bool": "True or False",
    "int": "whole number",
    "float": "number",
    "complex": "number",
    "ndarray": "array of numbers",
    "PathLike": "path",
    "Path": "path",
    "File": "path",
}
_WORDS |= (
    dict.fromkeys(("Sequence", "Iterable", "list", "tuple"), "list")
    | dict.fromkeys(("Mapping", "dict"), "dictionary")
    | {"Callable": "function"}
)


def _in_words(kind: str) -> str:
    base = kind.partition("[")[0].rpartition(".")[2]
    return _WORDS.get(base, base)


__all__ = ["FAILURES", "is_told", "of_the_call", "outside", "told", "told_function", "told_name", "unfit"]
