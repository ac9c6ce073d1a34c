"""From a symbolic function to LLVM IR text: chunks of straight-line code that pass values through a workspace.

The compiled function has the C signature ``int32_t name(void **args)``; ``args`` points to pointers to the inputs (less
the parameters), then the outputs, then the prepared constants ``k``, then the workspace.  ``name_prepare`` takes
(p, k, workspace).  With ``lanes > 1`` every value is a SIMD vector and arrays hold ``lanes`` states side by side, except
``k``, which is common to all, and inputs that are said to be; what depends on those alone is computed once, as a number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from ..errors import InputError
from ..symbolic.expr import LONG, PARAMETER, ZERO, Expr, halves
from ..symbolic.function import Result, SymbolicFunction, hoisted, rows_of
from ..symbolic.tables import Table
from . import bounds
from .dot import dot_ir
from .names import LIBRARY_ONE, LIBRARY_TWO, entry_name, is_parameters
from .ordering import evaluation_order, half_of
from .trigonometry import literal, sincos_ir

#: Nodes in a chunk, in one of a large function, and how many a function may have to be a single one: small functions run faster in one piece,
#: while LLVM's time grows with the square of a chunk.
CHUNK, SMALL_CHUNK, WHOLE, LARGE = 250, 125, 800, 8000
#: In scalar code the sines and cosines of so many angles at most are found at once: two registers' lanes hide each other's waiting.
SIDE_BY_SIDE = 8
#: From so many constant zeros on an output array is cleared as a whole.
MANY_ZEROS = 32


@dataclass(frozen=True)
class Slot:
    """Where a value comes from: which pointer of ``args`` and which entry."""

    pointer: int
    index: int
    uniform: bool = False

    def moved(self, n: int) -> Slot:
        """The n-th entry after this one."""
        return Slot(self.pointer, self.index + n, self.uniform)


def _following(start: Slot, count: int) -> list[Slot | None]:
    return [start.moved(i) for i in range(count)]


class ChunkWriter:
    """Writes the IR of one function, chunk after chunk."""

    def __init__(
        self, name: str, slots: dict[int, Slot], rows: dict[tuple[Expr, ...], Slot], work_pointer: int, lanes: int, attributes: str
    ) -> None:
        self.name = name
        self.slots = slots
        #: Where rows of dot products are laid out.
        self.rows = rows
        self.work_pointer = work_pointer
        self.lanes = lanes
        self.T = "double" if lanes == 1 else f"<{lanes} x double>"
        self.B = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.attributes = attributes
        #: Places in the workspace, of nodes and of values laid out for dot products.
        self.work: dict[Any, int] = {}
        #: Offsets that the code reads or writes, by array, where they are checked.
        self.used: set[tuple[int, int]] | None = set() if bounds.checked() else None
        self.chunks: list[str] = []
        self.tables: dict[str, Table] = {}
        self.lines: list[str] = []
        self.values: dict[int, str] = {}
        #: Nodes that are numbers common to all lanes, those of them that this chunk knows, and their sines and cosines.
        self.common: set[int] = set()
        self.numbers: dict[int, str] = {}
        self.number_turns: dict[int, tuple[str, str]] = {}
        self.whole = lanes
        self.pointers: dict[int, str] = {}
        self.n = 0
        self.uses_dot = False
        #: Numbers of sines (with their cosines) that are found at once somewhere.
        self.sincos: set[int] = set()
        #: Angles of this chunk whose sines and cosines are not yet known, and sines and cosines that are.
        self.angles: dict[int, Expr] = {}
        self.turns: dict[int, tuple[str, str]] = {}
        #: Nodes of this function; a sine's cosine may exist in the graph for another function alone.
        self.wanted: set[int] = set()

    # -- small pieces ---------------------------------------------------------------------------------------------

    def emit(self, text: str) -> str:
        self.n += 1
        name = f"%v{self.n}"
        self.lines.append(f"  {name} = {text}")
        return name

    def number(self, value: float) -> str:
        return literal(value) if self.lanes == 1 else f"splat (double {literal(value)})"

    def pointer(self, index: int) -> str:
        if index not in self.pointers:
            address = self.emit(f"getelementptr ptr, ptr %args, i64 {index}")
            self.pointers[index] = self.emit(f"load ptr, ptr {address}, !invariant.load !1")
        return self.pointers[index]

    def address(self, slot: Slot) -> str:
        stride = 1 if slot.uniform else self.lanes
        if self.used is not None:
            spread = slot.uniform and slot.pointer == self.work_pointer
            self.used.add((slot.pointer, slot.index // self.whole if spread else slot.index))
        return self.emit(f"getelementptr double, ptr {self.pointer(slot.pointer)}, i64 {slot.index * stride}")

    def load(self, slot: Slot) -> str:
        address = self.address(slot)
        if not slot.uniform or self.lanes == 1:
            return self.emit(f"load {self.T}, ptr {address}, align 8")
        return self.spread(self.emit(f"load double, ptr {address}, align 8"))

    def store(self, value: str, slot: Slot) -> None:
        self.lines.append(f"  store {self.T} {value}, ptr {self.address(slot)}, align 8")

    def value(self, e: Expr) -> str:
        if e.op == "const":
            return self.number(e.data)
        found = self.values.get(e.id)
        if found is None:
            number = self.numbers.get(e.id) if self.lanes > 1 else None
            found = self.values[e.id] = self.load(self.place(e)) if number is None else self.spread(number)
        return found

    def place(self, e: Expr) -> Slot:
        """Where a leaf, or a value of an earlier chunk, is found."""
        return self.slots.get(e.id) or self.work_slot(e)

    def work_slot(self, e: Expr) -> Slot:
        at = self.work[e.id]
        return Slot(self.work_pointer, at * self.whole, True) if e.id in self.common else Slot(self.work_pointer, at)

    def spread(self, number: str) -> str:
        """A number in all lanes."""
        first = self.emit(f"insertelement {self.T} poison, double {number}, i32 0")
        return self.emit(f"shufflevector {self.T} {first}, {self.T} poison, <{self.lanes} x i32> zeroinitializer")

    def as_numbers(self, common: bool) -> None:
        """Goes over from vectors to numbers that all lanes share, or back."""
        if common != (self.lanes < self.whole):
            self.values, self.numbers = self.numbers, self.values
            self.turns, self.number_turns = self.number_turns, self.turns
            self.lanes = 1 if common else self.whole
            self.T, self.B = ("double", "i1") if common else (f"<{self.lanes} x double>", f"<{self.lanes} x i1>")

    # -- operations -----------------------------------------------------------------------------------------------

    def define(self, e: Expr) -> None:
        op = e.op
        if op in ("sin", "cos"):
            return self.define_sincos(e)
        if op == "dot":
            self.values[e.id] = self.by_loop(*(tuple(half) for half in halves(e.args)))
            return None
        args = [self.value(a) for a in e.args]
        T = self.T
        if op in _ARITHMETIC:
            value = self.emit(f"{_ARITHMETIC[op]} {T} {args[0]}, {args[1]}")
        elif op == "neg":
            value = self.emit(f"fneg {T} {args[0]}")
        elif op in _INTRINSIC:
            suffix = "f64" if self.lanes == 1 else f"v{self.lanes}f64"
            value = self.emit(f"call {T} @llvm.{_INTRINSIC[op]}.{suffix}({T} {args[0]})")
        elif op in LIBRARY_ONE or op in LIBRARY_TWO:
            value = self.by_library(op, args)
        elif op == "table":
            value = self.by_table(e, args)
        else:
            value = self.selection(op, args)
        self.values[e.id] = value

    def selection(self, op: str, args: list[str]) -> str:
        T = self.T
        one, zero = self.number(1.0), self.number(0.0)
        if op in ("min", "max"):
            test = self.emit(f"fcmp {'olt' if op == 'min' else 'ogt'} {T} {args[0]}, {args[1]}")
            return self.select(test, args[0], args[1])
        if op in ("lt", "le"):
            return self.select(self.emit(f"fcmp o{op} {T} {args[0]}, {args[1]}"), one, zero)
        if op == "where":
            return self.select(self.truth(args[0]), args[1], args[2])
        if op in ("and", "or"):
            return self.select(self.emit(f"{op} {self.B} {self.truth(args[0])}, {self.truth(args[1])}"), one, zero)
        if op == "not":
            return self.select(self.truth(args[0]), zero, one)
        if op == "sign":
            below = self.select(self.emit(f"fcmp olt {T} {args[0]}, {zero}"), self.number(-1.0), zero)
            return self.select(self.emit(f"fcmp ogt {T} {args[0]}, {zero}"), one, below)
        raise KeyError(op)

    def truth(self, value: str) -> str:
        return self.emit(f"fcmp une {self.T} {value}, {self.number(0.0)}")

    def select(self, test: str, a: str, b: str) -> str:
        return self.emit(f"select {self.B} {test}, {self.T} {a}, {self.T} {b}")

    def define_sincos(self, e: Expr) -> None:
        """Sine and cosine of an angle, twice another by those of this one; in scalar code those of other angles that are known, too, side by side
        in a vector."""
        if e.id in self.values:
            return
        angle = e.args[0]
        self.angles.pop(angle.id, None)
        half = half_of(angle)
        if half is not None and half.id in self.turns:
            return self.keep_turned(angle, *self.doubled(*self.turns[half.id]))
        here = self.angles.values() if self.whole == 1 else [a for a in self.angles.values() if a.id in self.common]
        known = [a for a in here if (a.id in self.values or a.id in self.slots) and half_of(a) is None]
        angles = [angle, *(known[: SIDE_BY_SIDE - 1] if self.lanes == 1 else ())]
        if len(angles) == 1:
            return self.keep_turned(angle, *self.turned(self.value(angle), self.lanes))
        wide = SIDE_BY_SIDE // 2 if len(angles) <= SIDE_BY_SIDE // 2 else SIDE_BY_SIDE
        T, x = f"<{wide} x double>", "poison"
        for lane in range(wide):
            x = self.emit(f"insertelement {T} {x}, double {self.value(angles[min(lane, len(angles) - 1)])}, i32 {lane}")
        both = self.turned(x, wide)
        for lane, a in enumerate(angles):
            self.angles.pop(a.id, None)
            sine, cosine = (self.emit(f"extractelement {T} {y}, i32 {lane}") for y in both)
            self.keep_turned(a, sine, cosine)
        return None

    def doubled(self, s: str, c: str) -> tuple[str, str]:
        """sin 2x = 2 s c and cos 2x = (c − s)(c + s)."""
        T = self.T
        difference, total = self.emit(f"fsub {T} {c}, {s}"), self.emit(f"fadd {T} {c}, {s}")
        return self.emit(f"fmul {T} {self.emit(f'fadd {T} {s}, {s}')}, {c}"), self.emit(f"fmul {T} {difference}, {total}")

    def turned(self, x: str, lanes: int) -> tuple[str, str]:
        """Sines and cosines."""
        self.sincos.add(lanes)
        T = "double" if lanes == 1 else f"<{lanes} x double>"
        both = self.emit(f"call {{{T}, {T}}} @jd_sincos_{lanes}({T} {x})")
        sine, cosine = (self.emit(f"extractvalue {{{T}, {T}}} {both}, {i}") for i in range(2))
        return sine, cosine

    def keep_turned(self, angle: Expr, sine: str, cosine: str) -> None:
        self.turns[angle.id] = sine, cosine
        for name, value in (("sin", sine), ("cos", cosine)):
            twin = (angle._uses or {}).get(name)
            if twin is not None and twin.id in self.wanted:
                self.values[twin.id] = value

    def by_library(self, op: str, args: list[str]) -> str:
        return self.lane_by_lane(f"@jd_{op}", args, "")

    def lane_by_lane(self, function: str, args: list[str], extra: str) -> str:
        """A scalar function called for every lane."""
        if self.lanes == 1:
            return self.emit(f"call double {function}({', '.join(f'double {a}' for a in args)}{extra})")
        result = "poison"
        for lane in range(self.lanes):
            xs = [self.emit(f"extractelement {self.T} {a}, i32 {lane}") for a in args]
            y = self.emit(f"call double {function}({', '.join(f'double {x}' for x in xs)}{extra})")
            result = self.emit(f"insertelement {self.T} {result}, double {y}, i32 {lane}")
        return result

    def by_table(self, e: Expr, args: list[str]) -> str:
        table, orders = e.data
        self.tables[table.key] = table
        flags = ", ".join(f"i64 {order}" for order in orders)
        return self.lane_by_lane(f"@table_{table.key}", args, ", " + flags)

    def by_loop(self, row: tuple[Expr, ...], x: tuple[Expr, ...]) -> str:
        """A dot product of two arrays, each where it is, or laid out in the workspace."""
        self.uses_dot = True
        first, second = (self.address(self.side_by_side(half, uniform)) for half, uniform in ((row, True), (x, False)))
        return self.emit(f"call {self.T} @jd_dot_{self.lanes}(ptr {first}, ptr {second}, i64 {len(row)})")

    def side_by_side(self, values: tuple[Expr, ...], uniform: bool) -> Slot:
        """Where values stand one after the other; ``uniform`` where all lanes share them."""
        if values in self.rows:
            return self.rows[values]
        slots = [self.slots.get(e.id) for e in values]
        start = slots[0]
        if start is not None and (start.uniform == uniform or self.lanes == 1) and slots == _following(start, len(slots)):
            return start
        if (values, 0) not in self.work:
            for i in range(len(values)):
                self.work[values, i] = len(self.work)
            for i, e in enumerate(values):
                self.store(self.value(e), Slot(self.work_pointer, self.work[values, i]))
        return Slot(self.work_pointer, self.work[values, 0])

    # -- whole function -------------------------------------------------------------------------------------------

    def write(
        self, order: Sequence[Expr], stores: dict[int, list[Slot]], constants: list[tuple[float, Slot]], copies: list[tuple[Expr, Slot]],
        empty: Sequence[Empty],
    ) -> str:  # fmt: skip
        """All chunks and the function that calls them; ``stores`` says which values are outputs, ``copies`` which leaves are.

        ``name`` sets everything; ``name_kept`` leaves the zeros of matrices to a caller that gives the same memory each time.
        """
        self.wanted = {e.id for e in order}
        chunk_of, last_use = self.plan(order)
        groups: dict[int, list[Expr]] = {}
        for e in order:
            groups.setdefault(chunk_of[e.id], []).append(e)
        self.begin()
        self.clear([e for e in empty if not e.matrix])
        self.set(constants[:CHUNK])
        for number in sorted(groups):
            self.angles = {e.args[0].id: e.args[0] for e in groups[number] if e.op in ("sin", "cos")}
            for e in groups[number]:
                self.as_numbers(e.id in self.common)
                if e.id not in self.values:
                    self.define(e)
                if last_use.get(e.id, number) > number:
                    self.work.setdefault(e.id, len(self.work))
                    self.store(self.values[e.id], self.work_slot(e))
                for slot in stores.get(e.id, ()):
                    self.as_numbers(False)
                    self.store(self.value(e), slot)
            self.as_numbers(False)
            self.end()
        if self.lines or not (groups or copies):
            self.end()
        copies = self.copy_runs(copies)
        # in chunks, too: in one piece LLVM's time grows with the square of their number
        for more in (constants[CHUNK:], copies):
            for first in range(0, len(more), CHUNK):
                self.set(more[first : first + CHUNK])
                self.end()
        calls = "\n".join(f"  call void @{self.name}_chunk{i}(ptr %args)" for i in range(len(self.chunks)))
        matrices = [e for e in empty if e.matrix]
        text = "\n".join(self.chunks)
        whole = f"\ndefine i32 @{self.name}{'_kept' if matrices else ''}(ptr %args) {self.attributes} {{\n{calls}\n  ret i32 0\n}}\n"
        if not matrices:
            return text + whole + f"@{self.name}_kept = alias i32 (ptr), ptr @{self.name}\n"
        self.clear(matrices)
        body = "\n".join([*self.lines, f"  %status = call i32 @{self.name}_kept(ptr %args)", "  ret i32 %status"])
        return text + whole + f"define i32 @{self.name}(ptr %args) {self.attributes} {{\n{body}\n}}\n"

    def set(self, given: Sequence[tuple[float | Expr, Slot]]) -> None:
        """Stores numbers and leaves."""
        for value, slot in given:
            self.store(self.value(value) if isinstance(value, Expr) else self.number(value), slot)

    def copy_runs(self, copies: list[tuple[Expr, Slot]]) -> list[tuple[Expr, Slot]]:
        """Copies leaves that stand one after the other in both places at once; the others are left."""
        left: list[tuple[Expr, Slot]] = []
        k = 0
        while k < len(copies):
            source, target, n = self.slots[copies[k][0].id], copies[k][1], 1
            while k + n < len(copies) and (self.slots[copies[k + n][0].id], copies[k + n][1]) == (source.moved(n), target.moved(n)):
                n += 1
            if n < LONG or (self.lanes > 1 and source.uniform != target.uniform):
                left += copies[k : k + n]
            else:
                if self.used is not None:
                    self.used |= {(s.pointer, s.index + i) for s in (source, target) for i in range(n)}
                size = 8 * n * (1 if source.uniform else self.lanes)
                arrays = f"ptr {self.address(target)}, ptr {self.address(source)}"
                self.lines.append(f"  call void @llvm.memcpy.p0.p0.i64({arrays}, i64 {size}, i1 false)")
            k += n
        if self.lines:
            self.end()
        return left

    def clear(self, empty: Sequence[Empty]) -> None:
        """Sets arrays with many zeros to zero at once, before anything is stored in them.

        Zeros stored one by one make LLVM's time grow faster than their number.
        """
        for e in empty:
            size = 8 * self.lanes * (e.last + 1 - e.first)
            self.lines.append(f"  call void @llvm.memset.p0.i64(ptr {self.address(Slot(e.pointer, e.first))}, i8 0, i64 {size}, i1 false)")

    def plan(self, order: Sequence[Expr]) -> tuple[dict[int, int], dict[int, int]]:
        """Chunk of every node (a sine next to its cosine) and the last chunk that uses it."""
        chunk_of: dict[int, int] = {}
        size = WHOLE if len(order) <= WHOLE else CHUNK if len(order) <= LARGE else SMALL_CHUNK
        for position, e in enumerate(order):
            if e.id in chunk_of:
                continue
            chunk_of[e.id] = position // size
            if e.op in ("sin", "cos"):
                twin = (e.args[0]._uses or {}).get("cos" if e.op == "sin" else "sin")
                if twin is not None:
                    chunk_of.setdefault(twin.id, position // size)
        last_use: dict[int, int] = {}
        for e in order:
            here = chunk_of[e.id]
            for a in e.args:
                if a.id not in self.slots and a.op != "const":
                    last_use[a.id] = max(last_use.get(a.id, 0), here)
        return chunk_of, last_use

    def begin(self) -> None:
        self.lines, self.values, self.pointers, self.turns = [], {}, {}, {}
        self.numbers, self.number_turns = {}, {}

    def end(self) -> None:
        body, number = "\n".join(self.lines), len(self.chunks)
        self.chunks.append(f"define internal void @{self.name}_chunk{number}(ptr %args) {self.attributes} {{\n{body}\n  ret void\n}}\n")
        self.begin()


_ARITHMETIC = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract", "div": "fdiv"}
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor"}


def _table_ir(table: Table) -> str:
    """Data and look-up routine of a table: binary search, then the piece's polynomial."""
    from .lookup import lookup_ir

    return lookup_ir(table)


@dataclass(frozen=True)
class ModuleText:
    """IR text of a function with what is needed to call it."""

    text: str
    name: str
    constants: int
    workspace: int
    nodes: int


class Empty(NamedTuple):
    """An output with many zeros, from the first to the last of them."""

    pointer: int
    first: int
    last: int
    matrix: bool


def _empty(pointer: int, result: Result) -> Empty | None:
    zeros = [j for j, e in enumerate(result.expressions) if e is ZERO]
    return Empty(pointer, zeros[0], zeros[-1], len(result.shape) > 1) if len(zeros) >= MANY_ZEROS else None


def main_ir(f: SymbolicFunction, lanes: int = 1, common: Collection[str] = ()) -> ModuleText:
    """IR of the function proper; inputs of the names in ``common`` are the same in all lanes."""
    inputs = [a for a in f.inputs if not is_parameters(a.symbols)]
    slots = {s.id: Slot(i, j, a.name in common) for i, a in enumerate(inputs) for j, s in enumerate(a.symbols)}
    outputs = f.roots
    prepared = hoisted(outputs)
    k = len(inputs) + len(f.outputs)
    slots.update({e.id: Slot(k, i, uniform=True) for i, e in enumerate(prepared)})
    rows: dict[tuple[Expr, ...], Slot] = {}
    size = len(prepared)
    for row in rows_of(outputs):
        rows[row] = Slot(k, size, uniform=True)
        size += len(row)
    places: list[tuple[Expr, Slot]] = []
    empty: list[Empty] = []
    for i, r in enumerate(f.outputs, len(inputs)):
        found = _empty(i, r)
        empty += [found] if found else []
        places += [(e, Slot(i, j)) for j, e in enumerate(r.expressions) if not found or e is not ZERO]
    sizes = dict(enumerate([*(len(a.symbols) for a in inputs), *(prod(r.shape) for r in f.outputs), size]))
    return _module(entry_name(f.name), places, slots, sizes, {e.id for e in prepared}, size, lanes, rows, empty)


def prepare_ir(f: SymbolicFunction) -> ModuleText:
    """IR of the stage that computes the constants ``k`` from the parameters."""
    parameters = [s for a in f.inputs if is_parameters(a.symbols) for s in a.symbols]
    mixed = [a.name for a in f.inputs if not is_parameters(a.symbols) and any(s.deps == PARAMETER for s in a.symbols)]
    if mixed:
        raise InputError(
            f"function '{f.name}': input '{mixed[0]}' mixes parameters with other symbols; give parameters an input of their own"
        )
    slots = {s.id: Slot(0, j) for j, s in enumerate(parameters)}
    outputs = f.roots
    wanted = [*hoisted(outputs), *(e for row in rows_of(outputs) for e in row)]
    places = [(e, Slot(1, i)) for i, e in enumerate(wanted)]
    return _module(entry_name(f.name) + "_prepare", places, slots, {0: len(parameters), 1: len(places)}, set(), len(places), 1)


def _module(
    name: str,
    places: list[tuple[Expr, Slot]],
    slots: dict[int, Slot],
    sizes: Mapping[int, int],
    leaf: set[int],
    n_constants: int,
    lanes: int,
    rows: Mapping[tuple[Expr, ...], Slot] | None = None,
    empty: Sequence[Empty] = (),
) -> ModuleText:
    """``sizes`` are those of the arrays of the arguments; the workspace follows them; ``rows`` are laid out for dot products."""
    order = evaluation_order([e for e, _ in places], leaf)
    computed = {e.id for e in order}
    stores: dict[int, list[Slot]] = {}
    constants: list[tuple[float, Slot]] = []
    copies: list[tuple[Expr, Slot]] = []
    for e, slot in places:
        if e.op == "const":
            constants.append((e.data, slot))
        elif e.id in computed:
            stores.setdefault(e.id, []).append(slot)
        else:
            copies.append((e, slot))
    writer = ChunkWriter(name, slots, dict(rows or {}), len(sizes), lanes, "#0")
    if lanes > 1:
        writer.common = _common(order, slots)
    parts = [writer.write(order, stores, constants, copies, empty)]
    if writer.used is not None:
        bounds.check_offsets(name, {**sizes, len(sizes): len(writer.work)}, writer.used)
    if writer.sincos:
        parts.extend(sincos_ir(n, "#1") for n in sorted({1, *writer.sincos}))
    if writer.uses_dot:
        parts.append(dot_ir(lanes))
    parts.extend(_table_ir(t) for t in writer.tables.values())
    parts.append(_declarations(lanes))
    return ModuleText("\n".join(parts), name, n_constants, len(writer.work), len(order))


def _common(order: Sequence[Expr], slots: Mapping[int, Slot]) -> set[int]:
    """Nodes that depend on nothing that differs from lane to lane; dot products are vectors in any case."""
    found: set[int] = set()
    for e in order:
        if e.op != "dot" and all(a.op == "const" or a.id in found or (a.id in slots and slots[a.id].uniform) for a in e.args):
            found.add(e.id)
    return found


def _declarations(lanes: int) -> str:
    one = "".join(f"declare double @jd_{n}(double)\n" for n in LIBRARY_ONE)
    two = "".join(f"declare double @jd_{n}(double, double)\n" for n in LIBRARY_TWO)
    sorts = {("f64", "double"), ("f64", "double") if lanes == 1 else (f"v{lanes}f64", f"<{lanes} x double>")}
    intrinsics = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\ndeclare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
    intrinsics += "".join(f"declare {T} @llvm.{n}.{suffix}({T})\n" for suffix, T in sorted(sorts) for n in ("sqrt", "floor"))
    wide = f'"prefer-vector-width"="{lanes * 64}" "min-legal-vector-width"="{lanes * 64}" ' if lanes > 1 else ""
    return (
        one + two + intrinsics + f"attributes #0 = {{ nounwind {wide}}}\n"
        f"attributes #1 = {{ nounwind noinline {wide}}}\n"
        f"attributes #2 = {{ nounwind noinline memory(argmem: read) {wide}}}\n"
        '!0 = !{!"branch_weights", i32 100000, i32 1}\n!1 = !{}\n'
    )
