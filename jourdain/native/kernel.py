"""Numerical kernels written in Python and compiled to machine code in a moment.

Time loops, factorisations and Newton iterations are plain Python functions over numbers and views of memory: assignments, ``if``, ``for``
over ``range``, ``while``, calls.  ``@jit`` marks a function that kernels may call, ``@hot`` one that is always inlined, ``@kernel`` an entry
point ``int32_t f(void*)`` with an ``address``.  Functions marked by ``@jit`` can be called from Python, too, with NumPy arrays and numbers.

Nothing is compiled before it is used.  Object code is kept in the cache folder under a digest of the sources
(:mod:`.sources`).

>>> import numpy as np
>>> @jit
... def dot(a, b):
...     total = 0.0
...     for i in range(a.size):
...         total += a[i] * b[i]
...     return total
"""

from __future__ import annotations

import ctypes
import linecache
import struct
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import bounds, engine, shipped, sources
from .kernel_source import Source
from .kernel_types import BOOL, COMPLEX, INT, NOTHING, Group, KernelError, Type, View, type_of
from .record import Record, Rows, Table, reference

if TYPE_CHECKING:
    from .kernel_writer import Module


class Function(Source):
    """A function in the kernel language that can be called from Python."""

    def __init__(self, function: Callable[..., Any], inlined: bool = False, locked: bool = False) -> None:
        super().__init__(function, inlined)
        self.locked = locked
        self._compiled: dict[tuple[Any, ...], PythonCall] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Runs the compiled function on NumPy arrays and numbers."""
        sorts = tuple([_sort(a) for a in arguments])
        found = self._compiled.get(sorts)
        if found is None:
            types = tuple(type_of(a) for a in arguments)
            with engine.lock:
                found = self._compiled[sorts] = self._compiled.get(sorts) or PythonCall(self, types)
        return found(*arguments)


def _sort(a: Any) -> Any:
    """What decides the type of an argument, found faster than the type."""
    if a.__class__ is np.ndarray:
        return a.dtype.num, a.ndim
    return (a.__class__, *map(_sort, a)) if isinstance(a, tuple) else a.__class__


#: What a kernel returns that could not be compiled when it was first called; negative: nobody tries a shorter step.
NOT_COMPILED = -7


class Kernel:
    """An entry point ``int32_t f(void*)``; its address is a number known when it is first asked for."""

    def __init__(self, function: Callable[[int], int]) -> None:
        self.source = Source(function)
        self._library: engine.Library | None = None
        #: Why it could not be compiled when it was called late.
        self.error: BaseException | None = None
        self._late: np.ndarray | None = None
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    @cached_property
    def address(self) -> int:
        """Where the machine code begins."""
        with engine.lock:  # two libraries would be made by two threads, and the one whose address is kept might be freed
            if self._library is None:
                self._library = engine.Library([_object(self.source, (INT,), _kernel_entry)])
        return self._library.address("entry")

    @cached_property
    def late(self) -> np.ndarray:
        """A word with an address to call: at first that of a function that compiles the kernel and puts its address there.

        For kernels that few runs need: others start without waiting for their compilation.
        """
        with engine.lock:  # one word for all threads
            if self._late is None:
                self._first = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_ssize_t)(self._compile_and_call)
                self._late = np.array([ctypes.cast(self._first, ctypes.c_void_p).value], dtype=np.int64)
        return self._late

    def _compile_and_call(self, words: int) -> int:
        try:
            self.late[0] = self.address
            return self.call(words)
        except BaseException as error:  # nothing may escape into native code, which takes what does for success
            self.error = error
            return NOT_COMPILED

    @cached_property
    def call(self) -> Callable[[int], int]:
        """The machine code as a Python function of the address of its block of words."""
        return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_ssize_t)(self.address)

    @cached_property
    def locked_call(self) -> Callable[[int], int]:
        """The same with the interpreter's lock held, for work space that threads share."""
        return ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_ssize_t)(self.address)


Entry = Callable[["Module", Source, tuple[Type, ...]], Type]


def _object(f: Source, types: tuple[Type, ...], entry: Entry) -> bytes:
    """Object code of a function and all that it calls, with its entry point."""
    made_of = sources.digest(f)
    if made_of is None:
        return _made(f, types, entry)
    parts = _parts(f, types, entry, made_of)
    key = engine.content_key(*parts)
    found = engine.kept_object(key) or shipped.find(*parts)
    if found is None:
        found = _made(f, types, entry)
        engine.write_cache(key, ".o", found)
    return found


def _parts(f: Source, types: tuple[Type, ...], entry: Entry, made_of: bytes) -> tuple[str | bytes, ...]:
    """All that decides how object code looks, besides processor and compiler."""
    where = f"{f.name}:{f.python.__code__.co_firstlineno}"
    checked = "checked kernel" if bounds.checked() else "kernel"
    return checked, entry.__name__, where, repr(types), repr(f.around), made_of, "".join(linecache.getlines(f.file))


def _made(f: Source, types: tuple[Type, ...], entry: Entry, family: str | None = None) -> bytes:
    from .kernel_writer import Module

    module = Module()
    entry(module, f, types)
    return engine.optimised(module.text, family)


def ship(k: Kernel, family: str) -> int:
    """Compiles a kernel for a family of processors and adds it to what comes with the package; its size in bytes."""
    made_of = sources.digest(k.source)
    if made_of is None:
        raise KernelError(f"{k.source.file} was edited after this process began")
    data = _made(k.source, (INT,), _kernel_entry, family)
    shipped.put(family, data, *_parts(k.source, (INT,), _kernel_entry, made_of))
    return len(data)


def _kernel_entry(module: Module, f: Source, types: tuple[Type, ...]) -> Type:
    made = module.function(f, types)
    if made.returns not in (INT, BOOL):
        raise KernelError(f"{f.file}: kernel {f.name} must return a whole number, not {made.returns}")
    llvm = made.returns.registers[0]
    short = "trunc i64 %found to i32" if made.returns is INT else "zext i1 %found to i32"
    module.texts.append(
        f"define i32 @entry(i64 %args) {{\n  %found = call {llvm} {made.name}(i64 %args)\n  %short = {short}\n  ret i32 %short\n}}"
    )
    return made.returns


def _python_entry(module: Module, f: Source, types: tuple[Type, ...]) -> Type:
    """``int32_t entry(void** words)``: registers of the arguments in words, those of the result behind them."""
    from .kernel_writer import returned

    made = module.function(f, types)
    lines, given = [], []
    registers = [r for t in types for r in t.registers]
    for k, r in enumerate(registers):
        lines += [f"  %p{k} = getelementptr i64, ptr %words, i64 {k}", f"  %x{k} = load {'i64' if r == 'i1' else r}, ptr %p{k}, align 8"]
        if r == "i1":
            lines.append(f"  %y{k} = trunc i64 %x{k} to i1")
        given.append(f"{r} %{'y' if r == 'i1' else 'x'}{k}")
    kind, results = returned(made.returns), made.returns.registers
    lines.append(f"  {'%found = ' if results else ''}call {kind} {made.name}({', '.join(given)})")
    for k, r in enumerate(results):
        value = "%found"
        if len(results) > 1:
            lines.append(f"  %f{k} = extractvalue {kind} %found, {k}")
            value = f"%f{k}"
        if r == "i1":
            lines.append(f"  %g{k} = zext i1 {value} to i64")
            value, r = f"%g{k}", "i64"
        lines += [f"  %o{k} = getelementptr i64, ptr %words, i64 {len(registers) + k}", f"  store {r} {value}, ptr %o{k}, align 8"]
    module.texts.append("\n".join(["define i32 @entry(ptr %words) {", *lines, "  ret i32 0\n}"]))
    return made.returns


class PythonCall:
    """A compiled function for certain types of arguments, called from Python."""

    def __init__(self, f: Function, types: tuple[Type, ...]) -> None:
        from .kernel_writer import Module

        self.types = types
        with engine.lock:
            self.returns = Module().function(f, types).returns
            self._library = engine.Library([_object(f, types, _python_entry)])
        prototype = ctypes.PYFUNCTYPE if f.locked else ctypes.CFUNCTYPE
        self._entry = prototype(ctypes.c_int32, ctypes.c_void_p)(self._library.address("entry"))
        self._given, self._found = (
            struct.Struct("=" + "".join("d" if r == "double" else "q" for t in of for r in t.registers)) for of in (types, (self.returns,))
        )
        self._size = self._given.size + self._found.size

    def __call__(self, *arguments: Any) -> Any:
        words: list[Any] = []
        for a in arguments:
            if a.__class__ is np.ndarray:
                words += reference(a)
            elif a.__class__ is int or a.__class__ is float:
                words.append(a)
            else:
                _fill(a, words)
        block = bytearray(self._size)
        self._given.pack_into(block, 0, *words)
        self._entry(ctypes.addressof(ctypes.c_char.from_buffer(block)))
        return _read(self.returns, iter(self._found.unpack_from(block, self._given.size)))


def _fill(a: Any, words: list[Any]) -> None:
    """Appends the words of an argument."""
    if isinstance(a, (np.ndarray, Record, Rows, Table)):
        words += reference(a)
    elif isinstance(a, tuple):
        for x in a:
            _fill(x, words)
    elif isinstance(a, (complex, np.complexfloating)):
        words += (a.real, a.imag)
    else:
        words.append(a if isinstance(a, (float, np.floating)) else int(a))


def _read(t: Type, words: Iterator[Any]) -> Any:
    """The result of a type from its words."""
    if isinstance(t, Group):
        return tuple([_read(m, words) for m in t.members])
    if t is NOTHING:
        return None
    if t is COMPLEX:
        return complex(next(words), next(words))
    if isinstance(t, View):
        raise KernelError("a kernel called from Python cannot return a view")
    return bool(next(words)) if t is BOOL else next(words)


def jit(function: Callable[..., Any]) -> Any:
    """A function that kernels may call, and that can be called from Python."""
    return Function(function)


def hot(function: Callable[..., Any]) -> Any:
    """A function that is always compiled into those that call it."""
    return Function(function, inlined=True)


def locked(function: Callable[..., Any]) -> Any:
    """Like :func:`jit`; called from Python it keeps the interpreter's lock, for functions that use shared work space."""
    return Function(function, locked=True)


def kernel(function: Callable[[int], int]) -> Kernel:
    """An entry point of native code, called by address with the address of a block of words."""
    return Kernel(function)
