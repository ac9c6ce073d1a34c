"""Records: memory with named fields that kernels and Python share.

A record is a class with annotated fields.  Kernels read and write them as attributes; in Python an instance owns the memory and keeps
alive what its fields refer to.  A field is a number (``float``, ``int``), an array (``Floats``, ``Matrix``, ``Integers``, ``Integers32``), another
record, named rows of one array (a subclass of :class:`Rows`) or many records in a row (``Table[Other]``).

>>> class Clock(Record):
...     t: float
...     step: float
...     states: Floats
>>> clock = Clock(t=1.0, states=np.zeros(3))
>>> clock.step = 0.5
>>> clock.t + clock.step, clock.states.size
(1.5, 3)
"""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, get_args

import numpy as np

from .kernel_operations import BUILTIN
from .kernel_types import FLOAT, INT, INT32, KernelError, Struct, Type, Value, View, type_of

Floats = Annotated[np.ndarray, View(FLOAT)]
Matrix = Annotated[np.ndarray, View(FLOAT, 2)]
Integers = Annotated[np.ndarray, View(INT)]
Integers32 = Annotated[np.ndarray, View(INT32)]
#: A whole number that is the address of a native function.
Address = int

_NUMBERS = {float: FLOAT, int: INT}
_ITEMS = {FLOAT: np.float64, INT: np.int64, INT32: np.int32}


def reference(value: Any) -> tuple[int, ...]:
    """The words by which native code knows an array or a record: its address, and the sizes of its axes."""
    if isinstance(value, Record):
        return (value.address,)
    array: np.ndarray = value.array if isinstance(value, (Rows, Table)) else value
    if not array.flags.c_contiguous:
        raise KernelError(f"an array with strides {array.strides} cannot be passed to a kernel")
    return (array.__array_interface__["data"][0], *array.shape)


def _memory(dtype: Any, address: int, *shape: int) -> np.ndarray:
    """An array at an address; nothing keeps its memory alive."""
    kind = np.dtype(dtype)
    memory = (ctypes.c_char * (kind.itemsize * math.prod(shape))).from_address(address)
    return np.frombuffer(memory, kind).reshape(shape)


class _Number:
    """A number in a record."""

    def __init__(self, at: int, type: Type) -> None:
        self.at, self.memory = at, "_floats" if type is FLOAT else "_words"

    def __get__(self, record: Any, owner: Any = None) -> Any:
        return getattr(record, self.memory).item(self.at)

    def __set__(self, record: Any, value: float) -> None:
        getattr(record, self.memory)[self.at] = value


class _Reference:
    """An array or a record to which a record refers."""

    def __init__(self, at: int, type: Type, name: str, found: Callable[..., Any]) -> None:
        self.words, self.type, self.name, self.found = slice(at, at + len(type.registers)), type, name, found

    def __get__(self, record: Any, owner: Any = None) -> Any:
        words = tuple(record._words[self.words].tolist())
        kept, value = record._kept.get(self.name, ((), None))
        if kept == words:
            return value
        if words[0] == 0:
            raise AttributeError(f"field {self.name} of the record {type(record).__name__} refers to nothing yet")
        return self.found(*words)  # a kernel has pointed it elsewhere

    def __set__(self, record: Any, value: Any) -> None:
        if type_of(value) != self.type:
            raise KernelError(f"field {self.name} of the record {type(record).__name__} is {self.type}, not {type_of(value)}")
        words = reference(value)
        record._words[self.words] = words
        record._kept[self.name] = words, value


class _Slotted(type):
    """Makes instances refuse attributes that are not fields."""

    def __new__(meta, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        return super().__new__(meta, name, bases, {"__slots__": ()} | namespace, **options)


def _meant(annotation: Any, module: str) -> Any:
    """What an annotation stands for."""
    if not isinstance(annotation, str):
        return annotation
    names = vars(sys.modules[module])
    return names[annotation] if annotation in names else eval(annotation, names)


def _field(name: str, annotation: Any, at: int) -> tuple[Type, Any]:
    """The type of a field in the kernel language, and its property in Python."""
    if annotation in _NUMBERS:
        return _NUMBERS[annotation], _Number(at, _NUMBERS[annotation])
    type: Type
    if hasattr(annotation, "__metadata__"):
        type = annotation.__metadata__[0]
        return type, _Reference(at, type, name, partial(_memory, _ITEMS[type.item]))  # type: ignore[index, union-attr]
    if getattr(annotation, "__origin__", None) is Table:
        (record,) = get_args(annotation)
        type = View(record.struct)
        return type, _Reference(at, type, name, lambda *words: Table(record, _memory(record.dtype(), *words)))
    found: Type | None = getattr(annotation, "struct", None) or getattr(annotation, "kernel_type", None)
    if found is not None:
        return found, _Reference(at, found, name, annotation.at)
    raise KernelError(f"a record has no fields of type {annotation}")


class Record(metaclass=_Slotted):
    """Memory with named fields; subclasses annotate them."""

    __slots__ = ("_floats", "_kept", "_words")
    struct: ClassVar[Struct]

    def __init_subclass__(cls) -> None:
        fields: dict[str, tuple[int, Type]] = {}
        at = 0
        for name, annotation in cls.__annotations__.items():
            if hasattr(Record, name):
                raise KernelError(f"no field of the record {cls.__name__} can be called {name}: every record has that")
            type, found = _field(name, _meant(annotation, cls.__module__), at)
            fields[name] = at, type
            setattr(cls, name, found)
            at += len(type.registers)
        cls.struct = Struct(cls.__name__, fields, at)
        BUILTIN[cls.at] = lambda w, a: Value(cls.struct, (w.pointer(a[0]),))

    def __init__(self, **values: Any) -> None:
        self._lay(np.zeros(self.struct.words, np.int64))
        for name, value in values.items():
            setattr(self, name, value)

    def _lay(self, words: np.ndarray) -> None:
        self._words, self._floats, self._kept = words, words.view(np.float64), dict[str, Any]()

    @classmethod
    def at(cls, address: int) -> Self:
        """The record at an address; what is there must be kept alive by others."""
        found = cls.__new__(cls)
        found._lay(_memory(np.int64, address, cls.struct.words))
        return found

    @classmethod
    def dtype(cls) -> list[tuple[str, type]]:
        """Fields of a record of numbers as columns of a structured array."""
        return [(name, np.float64 if type is FLOAT else np.int64) for name, (_, type) in cls.struct.fields.items()]

    @classmethod
    def table(cls, rows: Sequence[Sequence[float]]) -> Table[Self]:
        """Records in a row from the numbers of their fields."""
        return Table(cls, np.array([tuple(r) for r in rows], cls.dtype()))

    @property
    def kernel_type(self) -> Type:
        """Its type in kernels."""
        return self.struct

    @property
    def address(self) -> int:
        """Where native code finds it."""
        found: int = self._words.__array_interface__["data"][0]
        return found

    def copy(self) -> Self:
        """A record of its own with the same numbers, referring to the same arrays and records."""
        other = type(self)()
        other.restore(self)
        return other

    def restore(self, other: Self) -> None:
        """Takes over all fields of another record."""
        self._words[:] = other._words
        self._kept.update(other._kept)


R = TypeVar("R", bound=Record)


class Table(Generic[R]):
    """Records of one class in a row; ``array`` is structured, so ``table.array["name"]`` is a column."""

    def __init__(self, record: type[R], array: np.ndarray) -> None:
        self.record, self.array = record, np.ascontiguousarray(array)
        self.kernel_type = View(record.struct)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def size(self) -> int:
        """The number of records."""
        return len(self.array)

    def __getitem__(self, i: int) -> R:
        found = self.record.__new__(self.record)
        found._lay(self.array[i : i + 1].view(np.int64))
        return found

    def __iter__(self) -> Iterator[R]:
        return (self[i] for i in range(len(self)))


class _Row:
    """A row of an array by its name; in Python a value given to it is copied into the row."""

    def __init__(self, k: int) -> None:
        self.k = k

    def __get__(self, rows: Any, owner: Any = None) -> Any:
        return rows.array[self.k]

    def __set__(self, rows: Any, value: Any) -> None:
        rows.array[self.k] = value


class Rows(metaclass=_Slotted):
    """Vectors of one length, the rows of ``array``; subclasses annotate their names."""

    __slots__ = ("array",)
    kernel_type: ClassVar[View]

    def __init_subclass__(cls) -> None:
        for k, name in enumerate(cls.__annotations__):
            setattr(cls, name, _Row(k))
        cls.kernel_type = View(FLOAT, 2, tuple(cls.__annotations__))

    def __init__(self, size: int) -> None:
        self.array = np.zeros((len(self.kernel_type.names), size))

    @classmethod
    def at(cls, address: int, *shape: int) -> Self:
        """The rows at an address; what is there must be kept alive by others."""
        found = cls.__new__(cls)
        found.array = _memory(np.float64, address, *shape)
        return found

    def copy(self) -> Self:
        """The same numbers in memory of their own."""
        other = type(self)(self.array.shape[1])
        other.restore(self)
        return other

    def restore(self, other: Self) -> None:
        """Takes over the numbers of another."""
        self.array[:] = other.array
