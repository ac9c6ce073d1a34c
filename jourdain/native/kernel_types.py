"""Types and values of the kernel language: numbers, views of memory, records, tuples, and constants known while compiling."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class KernelError(TypeError):
    """A kernel uses what the kernel language does not have; the message names file and line."""


@dataclass(frozen=True)
class Scalar:
    """A number in a register: its LLVM type and its rank in mixed arithmetic."""

    llvm: str
    rank: int
    raw: bool = False

    @property
    def registers(self) -> tuple[str, ...]:
        """LLVM types of the registers that hold a value."""
        return ("double", "double") if self is COMPLEX else (self.llvm,)


BOOL, INT, FLOAT, COMPLEX = Scalar("i1", 0), Scalar("i64", 1), Scalar("double", 2), Scalar("{ double, double }", 3)
#: Only in memory: loaded as INT.
INT32 = Scalar("i32", 1)
#: Only in memory, loaded as INT: a word at an address, which may be a number of any kind.
RAW = Scalar("i64", 1, True)


@dataclass(frozen=True)
class View:
    """An array in memory that the kernel does not own: a pointer and the sizes of its axes, rows first; rows of a table may have names."""

    item: Scalar | Struct
    axes: int = 1
    names: tuple[str, ...] = ()

    @property
    def registers(self) -> tuple[str, ...]:
        """LLVM types of pointer and sizes."""
        return ("ptr", *["i64"] * self.axes)


@dataclass(frozen=True, eq=False)
class Struct:
    """A record in memory that the kernel does not own: a pointer; every field has a type and the word at which it begins."""

    name: str
    fields: dict[str, tuple[int, Type]]
    words: int

    @property
    def registers(self) -> tuple[str, ...]:
        """LLVM type of the pointer."""
        return ("ptr",)

    @property
    def llvm(self) -> str:
        """LLVM type of the memory."""
        return f"[{self.words} x i64]"

    def field(self, name: str) -> tuple[int, Type]:
        """First word and type of a field."""
        if name not in self.fields:
            raise KernelError(f"the record {self.name} has no field {name}; it has {', '.join(self.fields)}")
        return self.fields[name]


@dataclass(frozen=True)
class Group:
    """A tuple, with names of its members if it is a named one."""

    members: tuple[Type, ...]
    names: tuple[str, ...] = ()

    @property
    def registers(self) -> tuple[str, ...]:
        """LLVM types of all members in a row."""
        return tuple(r for m in self.members for r in m.registers)


@dataclass(frozen=True)
class Nothing:
    """What a function without ``return`` returns."""

    registers: tuple[str, ...] = ()


NOTHING = Nothing()
Type = Scalar | View | Struct | Group | Nothing


@dataclass(frozen=True)
class Value:
    """A value while compiling: its type and the LLVM operands of its registers."""

    type: Type
    operands: tuple[str, ...]


@dataclass(frozen=True)
class Known:
    """Something known while compiling: a module, a function, a tuple of numbers."""

    content: Any


#: Functions that kernels may call besides those of the language itself, with what writes them.
BUILTIN: dict[Any, Callable[[Any, list[Value]], Value]] = {}


def literal(x: float) -> str:
    """A double as LLVM reads it exactly."""
    return f"0x{struct.pack('>d', x).hex().upper()}"


def joined(a: Type, b: Type) -> Type:
    """The type that holds values of both."""
    if a == b:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a if a.rank >= b.rank else b
    if isinstance(a, Group) and isinstance(b, Group) and len(a.members) == len(b.members):
        return Group(tuple(joined(x, y) for x, y in zip(a.members, b.members, strict=True)), a.names or b.names)
    raise KernelError(f"a variable is once {a} and once {b}")


_ITEMS = {np.float64: FLOAT, np.int64: INT, np.uint64: INT, np.int32: INT32, np.complex128: COMPLEX}
#: Types of arrays by the types of their numbers and their axes.
VIEWS = {(np.dtype(d), axes): View(item, axes) for d, item in _ITEMS.items() for axes in (1, 2)}


def type_of(value: Any) -> Type:
    """The type of an argument given from Python."""
    if isinstance(value, np.ndarray):
        view = VIEWS.get((value.dtype, value.ndim))
        if view is None:
            raise KernelError(f"an array of {value.dtype} with {value.ndim} axes cannot be passed to a kernel")
        return view
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, (int, np.integer)):
        return INT
    if isinstance(value, (float, np.floating)):
        return FLOAT
    if isinstance(value, (complex, np.complexfloating)):
        return COMPLEX
    if isinstance(value, tuple):
        return Group(tuple(type_of(v) for v in value), tuple(getattr(value, "_fields", ())))
    found: Type | None = getattr(value, "kernel_type", None)
    if found is None:
        raise KernelError(f"a {type(value).__name__} cannot be passed to a kernel")
    return found
