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
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, get_args

import numpy as np

from .kernel_types import BUILTIN, FLOAT, INT, INT32, VIEWS, KernelError, Scalar, Struct, Type, Value, View, type_of

Floats = Annotated[np.ndarray, VIEWS[np.dtype(np.float64), 1]]
Matrix = Annotated[np.ndarray, VIEWS[np.dtype(np.float64), 2]]
Integers = Annotated[np.ndarray, VIEWS[np.dtype(np.int64), 1]]
Integers32 = Annotated[np.ndarray, VIEWS[np.dtype(np.int32), 1]]
#: A whole number that is the address of a native function.
Address = int

_NUMBERS = {float: FLOAT, int: INT}
_ITEMS = {FLOAT: np.float64, INT: np.int64, INT32: np.int32}
_WORD = np.dtype(np.int64)
_first_byte, _address = ctypes.c_char.from_buffer, ctypes.addressof


def reference(value: Any) -> tuple[int, ...]:
    """The words by which native code knows an array or a record: its address, and the sizes of its axes."""
    if value.__class__ is not np.ndarray and isinstance(value, Record):
        return (value.address,)
    array: np.ndarray = getattr(value, "array", value)
    try:  # a fifth of the time, where the array is writeable, contiguous and not empty
        return _address(_first_byte(array)), *array.shape  # type: ignore[arg-type]  # arrays are buffers
    except (TypeError, ValueError):
        if not array.flags.c_contiguous:
            raise KernelError(f"an array with strides {array.strides} cannot be passed to a kernel") from None
        return array.__array_interface__["data"][0], *array.shape


def _memory(dtype: Any, address: int, *shape: int) -> np.ndarray:
    """An array at an address; nothing keeps its memory alive."""
    kind = np.dtype(dtype)
    memory = (ctypes.c_char * (kind.itemsize * math.prod(shape))).from_address(address)
    return np.frombuffer(memory, kind).reshape(shape)


class _Float:
    """A number in a record."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __get__(self, record: Any, owner: Any = None) -> Any:
        return record._floats.item(self.at)

    def __set__(self, record: Any, value: float) -> None:
        record._floats[self.at] = value


class _Whole:
    """A whole number in a record."""

    def __init__(self, at: int) -> None:
        self.at = at

    def __get__(self, record: Any, owner: Any = None) -> Any:
        return record._words.item(self.at)

    def __set__(self, record: Any, value: int) -> None:
        record._words[self.at] = value


class _Reference:
    """An array or a record to which a record refers."""

    def __init__(self, at: int, type: Type, name: str, found: Callable[..., Any]) -> None:
        self.at, self.words, self.type, self.name, self.found = at, slice(at, at + len(type.registers)), type, name, found
        self.dtype: Any
        self.dtype, self.axes = next((key for key, view in VIEWS.items() if view is type), (None, 0))

    def __get__(self, record: Any, owner: Any = None) -> Any:
        words = tuple(record._words[self.words].tolist())
        kept, value = record._kept.get(self.name, ((), None))
        if kept == words:
            return value
        if words[0] == 0:
            raise AttributeError(f"field {self.name} of the record {type(record).__name__} refers to nothing yet")
        return self.found(*words)  # a kernel has pointed it elsewhere

    def __set__(self, record: Any, value: Any) -> None:
        if value.__class__ is not np.ndarray or value.dtype is not self.dtype or value.ndim != self.axes:
            given = type_of(value)
            if given != self.type:
                raise KernelError(f"field {self.name} of the record {type(record).__name__} is {self.type}, not {given}")
        words, memory, at = reference(value), record._words, self.at
        for word in words:
            memory[at] = word
            at += 1
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
        return _NUMBERS[annotation], _Float(at) if annotation is float else _Whole(at)
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
    _has_floats: ClassVar[bool]

    def __init_subclass__(cls) -> None:
        if cls.__mro__[1] is not Record:
            raise KernelError(f"the record {cls.__name__} cannot be derived from another record; refer to it by a field")
        fields: dict[str, tuple[int, Type]] = {}
        at = 0
        for name, annotation in cls.__annotations__.items():
            if hasattr(Record, name):
                raise KernelError(f"no field of the record {cls.__name__} can be called {name}: every record has that")
            type, found = _field(name, _meant(annotation, cls.__module__), at)
            fields[name] = at, type
            setattr(cls, name, found)
            at += len(type.registers)
        cls._has_floats = any(type is FLOAT for _, type in fields.values())
        cls.struct = Struct(cls.__name__, fields, at)
        BUILTIN[cls.at] = lambda w, a: Value(cls.struct, (w.pointer(a[0]),))

    def __init__(self, **values: Any) -> None:
        self._words = np.zeros(self.struct.words, _WORD)
        self._floats, self._kept = self._words.view(np.float64), dict[str, Any]()
        for name, value in values.items():
            setattr(self, name, value)

    @classmethod
    def at(cls, place: Any) -> Self:
        """The record at the beginning of an array of words or numbers, or at an address, where others must keep it alive."""
        found, words = cls.__new__(cls), cls.struct.words
        if place.__class__ is not np.ndarray:
            place = _memory(_WORD, place, words)
        elif place.dtype is not _WORD or len(place) != words:
            place = place[:words].view(_WORD)
        found._words, found._kept = place, {}
        found._floats = place.view(np.float64) if cls._has_floats else place
        return found

    @classmethod
    @cache
    def dtype(cls) -> np.dtype[Any]:
        """Fields of a record of numbers as columns of a structured array."""
        if not all(isinstance(type, Scalar) for _, type in cls.struct.fields.values()):
            raise KernelError(f"the record {cls.__name__} refers to arrays or records; only records of numbers stand in tables")
        return np.dtype([(name, np.float64 if type is FLOAT else np.int64) for name, (_, type) in cls.struct.fields.items()])

    @classmethod
    def table(cls, rows: Sequence[Sequence[float]]) -> Table[Self]:
        """Records in a row from the numbers of their fields."""
        return Table(cls, np.array([*map(tuple, rows)], cls.dtype()))

    @property
    def kernel_type(self) -> Type:
        """Its type in kernels."""
        return self.struct

    @property
    def address(self) -> int:
        """Where native code finds it."""
        found: int = self._words.__array_interface__["data"][0]
        return found

    @property
    def words(self) -> np.ndarray:
        """Its memory."""
        return self._words

    @property
    def referred(self) -> list[Any]:
        """Arrays, tables and records that it refers to and keeps alive."""
        return [value for _, value in self._kept.values()]

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
        return self.record.at(self.array[i : i + 1].view(_WORD))

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
