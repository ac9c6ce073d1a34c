"""Operations of the kernel language in LLVM IR: arithmetic, comparison, memory and the functions every kernel may call.

Whole numbers have 64 bits and divide as Python's do; division of floats by zero gives infinity, not an exception.  Views are not
checked against their bounds.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .kernel_types import (
    BOOL,
    BUILTIN,
    COMPLEX,
    FLOAT,
    INT,
    INT32,
    RAW,
    Group,
    KernelError,
    Known,
    Scalar,
    Struct,
    Type,
    Value,
    View,
    joined,
    literal,
)

#: Comparisons of whole numbers and of floats, by name in Python's syntax tree.
COMPARISONS = {
    "Eq": ("eq", "oeq"), "NotEq": ("ne", "une"), "Lt": ("slt", "olt"), "LtE": ("sle", "ole"), "Gt": ("sgt", "ogt"), "GtE": ("sge", "oge"),
}  # fmt: skip
#: Functions that LLVM knows itself.
INTRINSICS = ("sqrt", "fabs", "copysign", "floor")


#: LLVM's notes on loads and stores by what memory holds (its "type-based alias analysis"): no place is read as another kind than it was written as, so that
#: numbers written to arrays of floats do not change where arrays are.  Words at addresses have no note.
NOTES = {"double": "!2000003", "i64": "!2000004", "ptr": "!2000004", "i32": "!2000005"}
MEMORY = """!2000000 = !{!"memory of kernels"}
!2000006 = !{!"floats", !2000000, i64 0}
!2000007 = !{!"words", !2000000, i64 0}
!2000008 = !{!"halves of words", !2000000, i64 0}
!2000003 = !{!2000006, !2000006, i64 0}
!2000004 = !{!2000007, !2000007, i64 0}
!2000005 = !{!2000008, !2000008, i64 0}"""


def _noted(kind: str, raw: bool = False) -> str:
    return f", align {4 if kind == 'i32' else 8}" + ("" if raw else f", !tbaa {NOTES[kind]}")


def _load(kind: str, pointer: str, raw: bool = False) -> str:
    return f"load {kind}, ptr {pointer}{_noted(kind, raw)}"


def _store(kind: str, x: str, pointer: str, raw: bool = False) -> str:
    return f"  store {kind} {x}, ptr {pointer}{_noted(kind, raw)}"


class Operations:
    """What a writer of functions can do with values."""

    module: Any
    lines: list[str]
    count: int

    def op(self, text: str) -> str:
        """One instruction; the register of its result."""
        self.count += 1
        register = f"%r{self.count}"
        self.lines.append(f"  {register} = {text}")
        return register

    def known(self, content: Any) -> Value | Known:
        """A number as a value, anything else as it is."""
        if isinstance(content, (bool, np.bool_)):
            return Value(BOOL, ("true" if content else "false",))
        if isinstance(content, (int, np.integer)):
            return Value(INT, (str(int(content)),))
        if isinstance(content, (float, np.floating)):
            return Value(FLOAT, (literal(float(content)),))
        if isinstance(content, complex):
            return Value(COMPLEX, (literal(content.real), literal(content.imag)))
        return Known(content)

    def value(self, x: Value | Known) -> Value:
        """A value to compute with; a constant tuple becomes one of values."""
        if isinstance(x, Value):
            return x
        if isinstance(x.content, tuple):
            parts = [self.value(self.known(c)) for c in x.content]
            return Value(Group(tuple(p.type for p in parts)), tuple(o for p in parts for o in p.operands))
        raise KernelError(f"{x.content!r} is not a value")

    def parts(self, x: Value | Known) -> list[Value]:
        """The members of a tuple."""
        x = self.value(x)
        if not isinstance(x.type, Group):
            raise KernelError("only a tuple can be taken apart")
        operands, found = list(x.operands), []
        for m in x.type.members:
            n = len(m.registers)
            found.append(Value(m, tuple(operands[:n])))
            del operands[:n]
        return found

    # -- numbers --------------------------------------------------------------------------------------------------

    def converted(self, x: Value, wanted: Type) -> Value:
        """The same number in a wider type."""
        if x.type == wanted:
            return x
        if isinstance(wanted, Group) and isinstance(x.type, Group):
            parts = [self.converted(p, m) for p, m in zip(self.parts(x), wanted.members, strict=True)]
            return Value(wanted, tuple(o for p in parts for o in p.operands))
        if not (isinstance(x.type, Scalar) and isinstance(wanted, Scalar)) or x.type.rank > wanted.rank:
            raise KernelError(f"a value of type {x.type} where {wanted} is wanted")
        operand = x.operands[0]
        if wanted is COMPLEX:
            return Value(COMPLEX, (self.converted(x, FLOAT).operands[0], literal(0.0)))
        if wanted is INT:
            return Value(INT, (self.op(f"zext i1 {operand} to i64"),))
        if operand.lstrip("-").isdigit():
            return Value(FLOAT, (literal(float(operand)),))
        return Value(FLOAT, (self.op(f"{'uitofp' if x.type is BOOL else 'sitofp'} {x.type.llvm} {operand} to double"),))

    def integer(self, x: Value | Known) -> str:
        """The operand of a whole number."""
        x = self.value(x)
        if x.type not in (INT, BOOL):
            raise KernelError(f"a whole number is wanted, not a value of type {x.type}")
        return self.converted(x, INT).operands[0]

    def truth(self, x: Value | Known) -> str:
        """Whether a number is not zero."""
        x = self.value(x)
        if x.type is BOOL:
            return x.operands[0]
        if x.type is INT:
            return self.op(f"icmp ne i64 {x.operands[0]}, 0")
        if x.type is FLOAT:
            return self.op(f"fcmp une double {x.operands[0]}, 0.0")
        raise KernelError(f"a value of type {x.type} is neither true nor false")

    def both(self, a: Value, b: Value, least: Scalar = INT) -> tuple[Value, Value, Scalar]:
        """Two numbers in their common type."""
        common = joined(joined(a.type, b.type), least)
        if not isinstance(common, Scalar):
            raise KernelError(f"no arithmetic between {a.type} and {b.type}")
        return self.converted(a, common), self.converted(b, common), common

    def negative(self, a: Value) -> Value:
        """−a."""
        if a.type is COMPLEX:
            return Value(COMPLEX, tuple(self.op(f"fneg double {x}") for x in a.operands))
        a = self.converted(a, joined(a.type, INT))
        if a.type is INT:
            x = a.operands[0]
            return Value(INT, (str(-int(x)) if x.lstrip("-").isdigit() else self.op(f"sub nsw i64 0, {x}"),))
        return Value(FLOAT, (self.op(f"fneg double {a.operands[0]}"),))

    def arithmetic(self, operation: str, a: Value, b: Value) -> Value:
        """a + b, a − b and so on, by the name of the operation in Python's syntax tree."""
        if operation == "Pow":
            return self.power(a, b)
        x, y, common = self.both(a, b, FLOAT if operation == "Div" else INT)
        if common is COMPLEX:
            return self.complex_arithmetic(operation, x, y)
        p, q = x.operands[0], y.operands[0]
        if common is FLOAT:
            name = {"Add": "fadd", "Sub": "fsub", "Mult": "fmul", "Div": "fdiv"}.get(operation)
            if name is None:
                raise KernelError(f"floats have no {operation}")
            return Value(FLOAT, (self.op(f"{name} double {p}, {q}"),))
        if operation in ("FloorDiv", "Mod"):
            return Value(INT, (self.floor_division(operation, p, q),))
        simple = {"Add": "add nsw", "Sub": "sub nsw", "Mult": "mul nsw", "BitOr": "or", "BitAnd": "and", "LShift": "shl", "RShift": "ashr"}
        if operation not in simple:
            raise KernelError(f"whole numbers have no {operation}")
        if p.lstrip("-").isdigit() and q.lstrip("-").isdigit() and operation in ("Add", "Sub", "Mult"):
            i, j = int(p), int(q)
            return Value(INT, (str(i + j if operation == "Add" else i - j if operation == "Sub" else i * j),))
        return Value(INT, (self.op(f"{simple[operation]} i64 {p}, {q}"),))

    def floor_division(self, operation: str, p: str, q: str) -> str:
        """p // q or p % q rounded down."""
        rest = self.op(f"srem i64 {p}, {q}")
        signs = self.op(f"icmp slt i64 {self.op(f'xor i64 {rest}, {q}')}, 0")
        off = self.op(f"and i1 {self.op(f'icmp ne i64 {rest}, 0')}, {signs}")
        if operation == "Mod":
            return self.op(f"select i1 {off}, i64 {self.op(f'add i64 {rest}, {q}')}, i64 {rest}")
        whole = self.op(f"sdiv i64 {p}, {q}")
        return self.op(f"select i1 {off}, i64 {self.op(f'sub i64 {whole}, 1')}, i64 {whole}")

    def power(self, a: Value, b: Value) -> Value:
        """aᵇ: products for small whole b, else the library's function."""
        exponent = b.operands[0]
        if b.type is INT and exponent.lstrip("-").isdigit() and abs(int(exponent)) <= 16:
            n, result = int(exponent), self.value(self.known(1.0 if int(exponent) < 0 else 1))
            product = result if n == 0 else a
            for _ in range(abs(n) - 1):
                product = self.arithmetic("Mult", product, a)
            return self.arithmetic("Div", result, product) if n < 0 else product
        return self.library("pow", a, b)

    def complex_arithmetic(self, operation: str, x: Value, y: Value) -> Value:
        """Arithmetic of complex numbers; quotients are scaled against overflow as by Smith (1962)."""

        def f(name: str, p: str, q: str) -> str:
            return self.op(f"{name} double {p}, {q}")

        (a, b), (c, d) = x.operands, y.operands
        if operation in ("Add", "Sub"):
            name = "fadd" if operation == "Add" else "fsub"
            return Value(COMPLEX, (f(name, a, c), f(name, b, d)))
        if operation == "Mult":
            return Value(COMPLEX, (f("fsub", f("fmul", a, c), f("fmul", b, d)), f("fadd", f("fmul", a, d), f("fmul", b, c))))
        if operation != "Div":
            raise KernelError(f"complex numbers have no {operation}")
        size = [self.library("fabs", Value(FLOAT, (z,))).operands[0] for z in (c, d)]
        flat = self.op(f"fcmp oge double {size[0]}, {size[1]}")

        def pick(p: str, q: str) -> str:
            return self.op(f"select i1 {flat}, double {p}, double {q}")

        ratio = f("fdiv", pick(d, c), pick(c, d))
        scale = f("fadd", pick(c, d), f("fmul", ratio, pick(d, c)))
        real = f("fadd", pick(a, b), f("fmul", ratio, pick(b, a)))
        left = pick(b, f("fmul", ratio, b))
        right = pick(f("fmul", ratio, a), a)
        return Value(COMPLEX, (f("fdiv", real, scale), f("fdiv", f("fsub", left, right), scale)))

    def compared(self, operation: str, a: Value, b: Value) -> str:
        """Whether a < b and so on."""
        x, y, common = self.both(a, b)
        if common is COMPLEX and operation in ("Eq", "NotEq"):
            parts = [self.op(f"fcmp {COMPARISONS[operation][1]} double {p}, {q}") for p, q in zip(x.operands, y.operands, strict=True)]
            return self.op(f"{'and' if operation == 'Eq' else 'or'} i1 {parts[0]}, {parts[1]}")
        if operation not in COMPARISONS or common is COMPLEX:
            raise KernelError(f"kernels have no comparison {operation} of {common}")
        name = f"icmp {COMPARISONS[operation][0]} i64" if common is INT else f"fcmp {COMPARISONS[operation][1]} double"
        return self.op(f"{name} {x.operands[0]}, {y.operands[0]}")

    def chosen(self, operation: str, values: list[Value]) -> Value:
        """The smallest or largest of several, as Python chooses: the first unless another is smaller or larger."""
        best = values[0]
        for other in values[1:]:
            best, y, common = self.both(best, other)
            better = self.compared(operation, y, best)
            best = Value(common, (self.op(f"select i1 {better}, {common.llvm} {y.operands[0]}, {common.llvm} {best.operands[0]}"),))
        return best

    def library(self, name: str, *arguments: Value) -> Value:
        """A function of the C library or an LLVM intrinsic on floats."""
        symbol = f"@llvm.{name}.f64" if name in INTRINSICS else f"@jd_{name}"
        kinds = ", ".join("double" for _ in arguments)
        self.module.declare(f"double {symbol}({kinds})")
        given = ", ".join(f"double {self.converted(a, FLOAT).operands[0]}" for a in arguments)
        return Value(FLOAT, (self.op(f"call double {symbol}({given})"),))

    def magnitude(self, a: Value) -> Value:
        """|a|."""
        if a.type is COMPLEX:
            square = [self.op(f"fmul double {x}, {x}") for x in a.operands]
            return self.library("sqrt", Value(FLOAT, (self.op(f"fadd double {square[0]}, {square[1]}"),)))
        if a.type is FLOAT:
            return self.library("fabs", a)
        return self.chosen("Gt", [self.converted(a, INT), self.negative(a)])

    def finite(self, a: Value) -> Value:
        """Whether a number is neither infinite nor NaN."""
        size = self.library("fabs", a).operands[0]
        return Value(BOOL, (self.op(f"fcmp olt double {size}, {literal(math.inf)}"),))

    def truncated(self, a: Value) -> Value:
        """int(a)."""
        return Value(INT, (self.op(f"fptosi double {a.operands[0]} to i64"),)) if a.type is FLOAT else self.converted(a, INT)

    # -- memory ---------------------------------------------------------------------------------------------------

    def viewed(self, item: Scalar, address: Value, size: Value) -> Value:
        """A view of memory at an address."""
        return Value(View(item), (self.op(f"inttoptr i64 {self.integer(address)} to ptr"), self.integer(size)))

    def address(self, x: Value) -> Value:
        """The address at which a view or a record begins."""
        if not isinstance(x.type, (View, Struct)):
            raise KernelError(f"a value of type {x.type} has no address")
        return Value(INT, (self.op(f"ptrtoint ptr {x.operands[0]} to i64"),))

    def pointer(self, x: Value) -> str:
        """The pointer to a view or a record, or to what is at an address."""
        return x.operands[0] if isinstance(x.type, (View, Struct)) else self.op(f"inttoptr i64 {self.integer(x)} to ptr")

    def moved(self, view: Value, by: str) -> str:
        """Pointer so many elements further."""
        assert isinstance(view.type, View)
        return self.op(f"getelementptr inbounds {view.type.item.llvm}, ptr {view.operands[0]}, i64 {by}")

    def check_bounds(self, index: str, size: str) -> None:
        """Writes a check of an index where kernels are compiled with checks (see :mod:`.bounds`)."""

    def check_part(self, first: str, last: str, size: str) -> None:
        """Writes a check of a slice, likewise."""

    def element(self, view: Value, indices: list[Value]) -> Value:
        """A view of one element, or of one row of a table."""
        assert isinstance(view.type, View)
        places = []
        for i, size in zip(indices, view.operands[1:], strict=False):
            place = self.integer(i)
            places.append(self.op(f"add i64 {size}, {place}") if place.startswith("-") else place)
            self.check_bounds(places[-1], size)
        if view.type.axes == 1:
            return Value(View(view.type.item, 0), (self.moved(view, places[0]),))
        if view.type.axes > 2:
            raise KernelError("arrays have one or two axes in kernels")
        start = self.op(f"mul nsw i64 {places[0]}, {view.operands[2]}")
        if len(places) == 1:
            return Value(View(view.type.item), (self.moved(view, start), view.operands[2]))
        return Value(View(view.type.item, 0), (self.moved(view, self.op(f"add nsw i64 {start}, {places[1]}")),))

    def part(self, view: Value, first: str | None, last: str | None) -> Value:
        """A view of the elements from the first up to, but not with, the last."""
        if not isinstance(view.type, View) or view.type.axes != 1:
            raise KernelError("only arrays of one axis have slices in kernels")
        if (first or "").startswith("-") or (last or "").startswith("-"):
            raise KernelError("bounds of a slice count from the start in kernels")
        size = last or view.operands[1]
        self.check_part(first or "0", size, view.operands[1])
        pointer = view.operands[0] if first is None else self.moved(view, first)
        return Value(view.type, (pointer, size if first is None else self.op(f"sub nsw i64 {size}, {first}")))

    def got(self, place: Value) -> Value:
        """The number at a place; a row stays a view."""
        if not isinstance(place.type, View) or place.type.axes:
            return place
        item, pointer = place.type.item, place.operands[0]
        if isinstance(item, Struct):
            return Value(item, (pointer,))
        if item is COMPLEX:
            second = self.op(f"getelementptr inbounds double, ptr {pointer}, i64 1")
            return Value(COMPLEX, tuple(self.op(_load("double", p)) for p in (pointer, second)))
        if item is INT32:
            return Value(INT, (self.op(f"sext i32 {self.op(_load('i32', pointer))} to i64"),))
        return Value(INT if item is RAW else item, (self.op(_load(item.llvm, pointer, item.raw)),))

    def put(self, place: Value, value: Value) -> None:
        """Writes a number to a place."""
        assert isinstance(place.type, View)
        item, pointer = place.type.item, place.operands[0]
        if place.type.axes:
            raise KernelError("a whole row cannot be assigned; write a loop")
        if isinstance(item, Struct):
            raise KernelError("a whole record cannot be assigned; assign its fields")
        if item is INT32:
            short = self.op(f"trunc i64 {self.integer(value)} to i32")
            self.lines.append(_store("i32", short, pointer))
            return
        operands = self.converted(value, INT if item is RAW else item).operands
        if item is COMPLEX:
            second = self.op(f"getelementptr inbounds double, ptr {pointer}, i64 1")
            self.lines += [_store("double", x, p) for x, p in zip(operands, (pointer, second), strict=True)]
            return
        self.lines.append(_store(item.llvm, operands[0], pointer, item.raw))

    def field(self, x: Value, name: str) -> tuple[Type, list[str]]:
        """Type of a field of a record, and pointers to the words of its registers."""
        assert isinstance(x.type, Struct)
        at, wanted = x.type.field(name)
        return wanted, [self.op(f"getelementptr inbounds i64, ptr {x.operands[0]}, i64 {at + k}") for k in range(len(wanted.registers))]

    def got_field(self, wanted: Type, places: list[str]) -> Value:
        """The value of a field of a record."""
        return Value(wanted, tuple(self.op(_load(r, p)) for r, p in zip(wanted.registers, places, strict=True)))

    def put_field(self, wanted: Type, places: list[str], value: Value) -> None:
        """Writes a field of a record: a number, or where else a view or a record is from now on."""
        operands = self.converted(value, wanted).operands
        self.lines += [_store(r, x, p) for r, x, p in zip(wanted.registers, operands, places, strict=True)]

    def attribute(self, x: Value, name: str) -> Value:
        """An attribute of a value: a field of a record, a member of a named tuple, a named row, the size, shape or address of a view, parts
        of a complex number."""
        if isinstance(x.type, Struct):
            return self.got_field(*self.field(x, name))
        if isinstance(x.type, View) and name in x.type.names:
            return self.element(x, [Value(INT, (str(x.type.names.index(name)),))])
        if isinstance(x.type, Group) and name in x.type.names:
            return self.parts(x)[x.type.names.index(name)]
        if isinstance(x.type, View):
            if name == "size":
                return Value(INT, (x.operands[1],))
            if name == "shape":
                return Value(Group((INT,) * x.type.axes), x.operands[1:])
            if name == "ctypes":
                return Value(Group((INT,), ("data",)), self.address(x).operands)
        if x.type is COMPLEX and name in ("real", "imag"):
            return Value(FLOAT, (x.operands[name == "imag"],))
        raise KernelError(f"a value of type {x.type} has no attribute {name}")


def _length(w: Operations, a: list[Value]) -> Value:
    if isinstance(a[0].type, Group):
        return w.value(w.known(len(a[0].type.members)))
    return w.attribute(a[0], "size")


# Functions of Python and NumPy that kernels may call.
BUILTIN.update({
    builtins.abs: lambda w, a: w.magnitude(a[0]), builtins.len: _length,
    builtins.min: lambda w, a: w.chosen("Lt", a), builtins.max: lambda w, a: w.chosen("Gt", a),
    builtins.int: lambda w, a: w.truncated(a[0]), builtins.float: lambda w, a: w.converted(a[0], FLOAT),
    builtins.bool: lambda w, a: Value(BOOL, (w.truth(a[0]),)),
    builtins.complex: lambda w, a: Value(COMPLEX, tuple(w.converted(x, FLOAT).operands[0] for x in a)),
    math.isfinite: lambda w, a: w.finite(a[0]), np.isfinite: lambda w, a: w.finite(a[0]),
    math.fabs: lambda w, a: w.magnitude(a[0]), math.floor: lambda w, a: w.truncated(w.library("floor", a[0])),
})  # fmt: skip


def _of_library(name: str) -> Callable[[Any, list[Value]], Value]:
    return lambda w, a: w.library(name, *a)


for _name in ("sqrt", "sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "copysign", "atan2", "pow", "asin", "acos", "atan"):
    _alias = {"atan2": "arctan2", "pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(_name, _name)
    BUILTIN[getattr(math, _name)] = BUILTIN[getattr(np, _alias)] = _of_library(_name)
