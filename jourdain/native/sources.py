"""The sources that machine code of a kernel depends on, as a digest: nothing else decides whether kept code still fits.

A kernel is made of functions, records and numbers of its own module and of those that it imports, wherever they stand.  So the digest is that of the
modules which can be reached from the kernel's own by what their names mean, with the compiler itself.  A number that a module took from
elsewhere has no home that could be looked up; its value counts.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from functools import cache
from types import ModuleType
from typing import Any

from .kernel_source import Source
from .record import Record

_PACKAGE = __name__.split(".")[0] + "."
#: Modules that write code; they are not loaded where kept code fits.
_COMPILER = tuple(f"{__package__}.{name}" for name in (
    "bounds", "engine", "kernel", "kernel_operations", "kernel_source", "kernel_types", "kernel_writer", "names", "record",
))  # fmt: skip
#: Files that are younger may not be what was loaded.
_BEGAN = time.time()


def digest(f: Source) -> bytes | None:
    """Digest of all sources that the code of a function depends on; None where one of them was edited after this process began."""
    around = [v.__module__ for v in f.around.values() if isinstance(v, Source)]
    if not f.__module__:  # made by exec: what it may name is in its own scope
        around += map(_home, f.python.__globals__.values())
    found = [_content(name) for name in sorted(_reached(*dict.fromkeys(name for name in (f.__module__, *around) if name)))]
    return None if None in found else hashlib.sha256(b"".join(found)).digest()  # type: ignore[arg-type]


@cache
def _reached(*begin: str) -> frozenset[str]:
    """Modules of the package that are named, directly or not, in the given ones, with these and the compiler."""
    found, left = {*begin, *_COMPILER}, list(begin)
    while left:
        for name in _named(left.pop()) - found:
            found.add(name)
            left.append(name)
    return frozenset(found)


@cache
def _named(module: str) -> frozenset[str]:
    """Modules in which something was defined that a module has a name for: kernels' functions and records of any package, the rest of this one."""
    names = {_home(value) for value in vars(sys.modules[module]).values()} if module in sys.modules else set()
    return frozenset(n for n in names if n in sys.modules)


def _home(value: Any) -> str:
    home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    ours = isinstance(home, str) and home.startswith(_PACKAGE)
    return home if ours or isinstance(value, Source) or (isinstance(value, type) and issubclass(value, Record)) else ""  # type: ignore[return-value]


@cache
def _content(module: str) -> bytes | None:
    """Digest of the text of a module and of the numbers that it has names for; None where it is younger than this process."""
    writes = module in _COMPILER
    loaded = None if writes else sys.modules.get(module)
    file = os.path.join(os.path.dirname(__file__), module.rpartition(".")[2] + ".py") if writes else getattr(loaded, "__file__", None)
    if file is None or not os.path.exists(file):  # an interactive shell: the function's own text is part of its name
        return module.encode()
    with open(file, "rb") as source:
        text = source.read()
        if os.fstat(source.fileno()).st_mtime > _BEGAN:
            return None
    numbers = [] if loaded is None else [(n, v) for n, v in vars(loaded).items() if not n.startswith("__") and _plain(v)]
    return hashlib.sha256(b"%b\n%b\n%b" % (module.encode(), text, repr(numbers).encode())).digest()


def _plain(value: Any) -> bool:
    return all(map(_plain, value)) if type(value) is tuple else type(value) in (bool, int, float, complex, str)


__all__ = ["digest"]
