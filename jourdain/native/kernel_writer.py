"""From a numerical Python function to LLVM IR text, one function for each combination of argument types.

A function is written from its syntax tree.  Types follow from the arguments; a variable has one type, the widest that it is ever given.
Writing and inference are one walk: when a variable turns out wider than it was taken to be, the walk starts again.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import bounds
from .kernel_operations import MEMORY, Operations
from .kernel_source import Source
from .kernel_types import BOOL, BUILTIN, FLOAT, INT, NOTHING, Group, KernelError, Known, Scalar, Struct, Type, Value, View, joined, literal


class _Again(Exception):
    """A variable became wider: what was written before is void."""


@dataclass(frozen=True)
class Compiled:
    """A function of the module: its name and what it returns."""

    name: str
    returns: Type


@dataclass
class Loop:
    """Where ``break`` and ``continue`` go."""

    after: str
    again: str
    left: bool = False


@dataclass
class Module:
    """The functions, constant tables and library functions of one piece of IR."""

    texts: list[str] = field(default_factory=list)
    functions: dict[tuple[Any, tuple[Type, ...]], Compiled | None] = field(default_factory=dict)
    tables: dict[tuple[Any, ...], str] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)

    def function(self, f: Source, types: tuple[Type, ...]) -> Compiled:
        """The function written for these types of arguments."""
        key = f, types
        if key not in self.functions:
            self.functions[key] = None
            self.functions[key] = FunctionWriter(self, f, types, f"{f.name}.{len(self.functions)}").written()
        found = self.functions[key]
        if found is None:
            raise KernelError(f"kernel {f.name} calls itself; write a loop")
        return found

    def table(self, numbers: Sequence[float], llvm: str) -> str:
        """The name of a constant array."""
        key = llvm, *numbers
        if key not in self.tables:
            self.tables[key] = f"@table.{len(self.tables)}"
            written = ", ".join(f"{llvm} {literal(x) if llvm == 'double' else int(x)}" for x in numbers)
            self.texts.append(f"{self.tables[key]} = private unnamed_addr constant [{len(numbers)} x {llvm}] [{written}]")
        return self.tables[key]

    def declare(self, line: str) -> None:
        """Declares a function of the library or an intrinsic once."""
        if line not in self.declared:
            self.declared.add(line)
            self.texts.append(f"declare {line}")

    def words(self, text: str) -> str:
        """The name of a constant text that ends with a zero byte."""
        key = ("text", text)
        if key not in self.tables:
            self.tables[key] = f"@text.{len(self.tables)}"
            data = text.encode() + b"\0"
            written = "".join(f"\\{byte:02x}" for byte in data)
            self.texts.append(f'{self.tables[key]} = private unnamed_addr constant [{len(data)} x i8] c"{written}"')
        return self.tables[key]

    def declare_checks(self) -> None:
        """Adds the functions that check indices once."""
        if bounds.IR not in self.texts:
            self.texts.append(bounds.IR)

    @property
    def text(self) -> str:
        """The whole IR."""
        return "\n".join([*self.texts, MEMORY])


def returned(type: Type) -> str:
    """LLVM type of what a function returns."""
    registers = type.registers
    return "void" if not registers else registers[0] if len(registers) == 1 else f"{{ {', '.join(registers)} }}"


class FunctionWriter(Operations):
    """Writes one function for given types of its arguments."""

    def __init__(self, module: Module, function: Source, types: tuple[Type, ...], name: str) -> None:
        self.module, self.function, self.types, self.name = module, function, types, name
        self.variables: dict[str, Type] = {}
        self.returns: Type | None = None

    def written(self) -> Compiled:
        """Adds the text to the module."""
        while True:
            try:
                text = self._walk()
                break
            except _Again:
                continue
        self.module.texts.append(text)
        return Compiled(f'@"{self.name}"', self.returns or NOTHING)

    def _walk(self) -> str:
        self.lines: list[str] = []
        self.count, self.ended, self.block, self.line = 0, False, "entry", 0
        self.loops: list[Loop] = []
        tree = self.function.tree
        registers = [r for t in self.types for r in t.registers]
        taken = iter(f"%a{k}" for k in range(len(registers)))
        for argument, t in zip(self.function.arguments, self.types, strict=True):
            self.assign(argument, Value(t, tuple(next(taken) for _ in t.registers)))
        self.body(tree.body)
        if not self.ended:
            if self.returns not in (None, NOTHING):
                raise self.error(tree, "not every path through the function returns a value")
            self.lines.append("  ret void")
        head = ", ".join(f"{r} %a{k}" for k, r in enumerate(registers))
        room = [f'  %"v.{name}.{k}" = alloca {r}, align 8' for name, t in self.variables.items() for k, r in enumerate(t.registers)]
        attributes = "alwaysinline nounwind" if self.function.inlined else "nounwind"
        start = f'define internal {returned(self.returns or NOTHING)} @"{self.name}"({head}) {attributes} {{\nentry:'
        return "\n".join([start, *room, *self.lines, "}"])

    def error(self, node: ast.AST, what: str) -> KernelError:
        """An error with its place."""
        return KernelError(f"{self.function.file}:{getattr(node, 'lineno', 0)}: kernel {self.function.name}: {what}")

    # -- variables and blocks -------------------------------------------------------------------------------------

    def assign(self, name: str, value: Value) -> None:
        """Stores a value in a variable, which becomes as wide as it must."""
        known = self.variables.get(name)
        wanted = value.type if known is None else joined(known, value.type)
        if wanted != known:
            self.variables[name] = wanted
            if known is not None:
                raise _Again
        value = self.converted(value, wanted)
        for k, (r, x) in enumerate(zip(wanted.registers, value.operands, strict=True)):
            self.lines.append(f'  store {r} {x}, ptr %"v.{name}.{k}", align 8')

    def variable(self, name: str) -> Value:
        """The present value of a variable."""
        t = self.variables[name]
        return Value(t, tuple(self.op(f'load {r}, ptr %"v.{name}.{k}", align 8') for k, r in enumerate(t.registers)))

    def label(self) -> str:
        """A new name of a block."""
        self.count += 1
        return f"b{self.count}"

    def begin(self, label: str) -> None:
        """Goes on in another block."""
        if not self.ended:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.block, self.ended = label, False

    def jump(self, label: str) -> None:
        """Leaves the block."""
        self.lines.append(f"  br label %{label}")
        self.ended = True

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Leaves the block one way or the other."""
        self.lines.append(f"  br i1 {condition}, label %{yes}, label %{no}")
        self.ended = True

    # -- checks ---------------------------------------------------------------------------------------------------

    def check_bounds(self, index: str, size: str) -> None:
        """0 ≤ index < size, or the program ends with the place in the source."""
        if bounds.checked():
            self.lines.append(f"  call void {bounds.INDEX}(i64 {index}, i64 {size}, ptr {self._place()})")

    def check_part(self, first: str, last: str, size: str) -> None:
        """0 ≤ first ≤ last ≤ size, likewise."""
        if bounds.checked():
            self.lines.append(f"  call void {bounds.SLICE}(i64 {first}, i64 {last}, i64 {size}, ptr {self._place()})")

    def _place(self) -> str:
        """A constant text that says where in the source the writer is."""
        self.module.declare_checks()
        return self.module.words(f"{self.function.file}:{self.line}: kernel {self.function.name}")

    # -- statements -----------------------------------------------------------------------------------------------

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Statements one after the other; what follows a jump is not reached."""
        for s in statements:
            if self.ended:
                return
            writer: Callable[[Any], None] | None = getattr(self, f"_{type(s).__name__}", None)
            if writer is None:
                raise self.error(s, f"kernels have no {type(s).__name__.lower()} statement")
            self.line = s.lineno
            try:
                writer(s)
            except KernelError as error:
                if ": kernel " in str(error):
                    raise
                raise self.error(s, str(error)) from None

    def _Pass(self, s: ast.Pass) -> None:
        pass

    def _Expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):
            self.expression(s.value)

    def _Assign(self, s: ast.Assign) -> None:
        value = self.expression(s.value)
        for target in s.targets:
            self.store(target, value)

    def store(self, target: ast.expr, value: Value | Known) -> None:
        """Puts a value where an assignment says."""
        if isinstance(target, ast.Tuple):
            parts = self.parts(value)
            if len(parts) != len(target.elts):
                raise self.error(target, f"{len(parts)} values for {len(target.elts)} names")
            for t, part in zip(target.elts, parts, strict=True):
                self.store(t, part)
        elif isinstance(target, ast.Name):
            self.assign(target.id, self.value(value))
        elif isinstance(target, ast.Subscript):
            self.put(self.place(target), self.value(value))
        elif isinstance(target, ast.Attribute):
            self.put_field(*self.field_of(target), self.value(value))
        else:
            raise self.error(target, f"cannot assign to {ast.unparse(target)}")

    def place(self, target: ast.Subscript) -> Value:
        """Pointer to an element of a view, as a view of it."""
        base = self.value(self.expression(target.value))
        if not isinstance(base.type, View):
            raise self.error(target, f"{ast.unparse(target.value)} is not an array")
        return self.element(base, self.index(target.slice))

    def field_of(self, target: ast.Attribute) -> tuple[Type, list[str]]:
        """Type and places of a field of a record."""
        base = self.value(self.expression(target.value))
        if not isinstance(base.type, Struct):
            raise self.error(target, f"{ast.unparse(target.value)} is not a record")
        return self.field(base, target.attr)

    def index(self, node: ast.expr) -> list[Value]:
        """Indices, one for each axis."""
        return [self.value(self.expression(n)) for n in (node.elts if isinstance(node, ast.Tuple) else [node])]

    def _AugAssign(self, s: ast.AugAssign) -> None:
        operation = type(s.op).__name__
        if isinstance(s.target, ast.Name):
            before = self.variable(s.target.id) if s.target.id in self.variables else None
            if before is None:
                raise self.error(s, f"{s.target.id} has no value yet")
            self.assign(s.target.id, self.arithmetic(operation, before, self.value(self.expression(s.value))))
        elif isinstance(s.target, ast.Attribute):
            wanted, places = self.field_of(s.target)
            value = self.value(self.expression(s.value))
            self.put_field(wanted, places, self.arithmetic(operation, self.got_field(wanted, places), value))
        else:
            assert isinstance(s.target, ast.Subscript)
            place = self.place(s.target)
            value = self.value(self.expression(s.value))
            self.put(place, self.arithmetic(operation, self.got(place), value))

    def _If(self, s: ast.If) -> None:
        condition = self.truth(self.expression(s.test))
        yes, no, after = self.label(), self.label(), self.label()
        self.branch(condition, yes, no if s.orelse else after)
        self.begin(yes)
        self.body(s.body)
        reached = not self.ended or not s.orelse
        if not self.ended:
            self.jump(after)
        if s.orelse:
            self.begin(no)
            self.body(s.orelse)
            reached = reached or not self.ended
            if not self.ended:
                self.jump(after)
        if reached:
            self.begin(after)

    def _While(self, s: ast.While) -> None:
        if s.orelse:
            raise self.error(s, "kernels have no else of a while loop")
        head, inside, after = self.label(), self.label(), self.label()
        self.begin(head)
        endless = isinstance(s.test, ast.Constant) and bool(s.test.value)
        if endless:
            self.jump(inside)
        else:
            self.branch(self.truth(self.expression(s.test)), inside, after)
        self.begin(inside)
        self.loops.append(Loop(after, head))
        self.body(s.body)
        if not self.ended:
            self.jump(head)
        if self.loops.pop().left or not endless:
            self.begin(after)

    def _For(self, s: ast.For) -> None:
        if isinstance(s.iter, ast.Call) and isinstance(s.iter.func, ast.Name) and s.iter.func.id == "range":
            self._count(s, [self.integer(self.expression(a)) for a in s.iter.args])
            return
        after, found = self.label(), self.expression(s.iter)
        for part in self.parts(found):  # a few values: written out
            again = self.label()
            self.loops.append(Loop(after, again))
            self.store(s.target, part)
            self.body(s.body)
            self.loops.pop()
            self.begin(again)
        self.body(s.orelse)
        self.begin(after)

    def _count(self, s: ast.For, bounds: list[str]) -> None:
        start, stop, step = ("0", bounds[0], "1") if len(bounds) == 1 else (bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else "1")
        if not step.lstrip("-").isdigit() or step == "0":
            raise self.error(s, "the step of a range must be a whole number written out")
        before, head, inside, again, done, after = self.block, *(self.label() for _ in range(5))
        self.begin(head)
        counter = f"%c{head}"
        self.lines.append(f"  {counter} = phi i64 [ {start}, %{before} ], [ {counter}.next, %{again} ]")
        self.branch(self.op(f"icmp {'sgt' if step[0] == '-' else 'slt'} i64 {counter}, {stop}"), inside, done)
        self.begin(inside)
        if isinstance(s.target, ast.Name) and s.target.id != "_":
            self.assign(s.target.id, Value(INT, (counter,)))
        self.loops.append(Loop(after, again))
        self.body(s.body)
        self.loops.pop()
        self.begin(again)
        self.lines.append(f"  {counter}.next = add nsw i64 {counter}, {step}")
        self.jump(head)
        self.begin(done)
        self.body(s.orelse)
        self.begin(after)

    def _Break(self, s: ast.Break) -> None:
        self.loops[-1].left = True
        self.jump(self.loops[-1].after)

    def _Continue(self, s: ast.Continue) -> None:
        self.jump(self.loops[-1].again)

    def _Return(self, s: ast.Return) -> None:
        value = self.value(self.expression(s.value)) if s.value is not None else Value(NOTHING, ())
        wanted = value.type if self.returns is None else joined(self.returns, value.type)
        if wanted != self.returns:
            again = self.returns is not None
            self.returns = wanted
            if again:
                raise _Again
        operands = self.converted(value, wanted).operands
        self.ended = True
        if len(operands) < 2:
            self.lines.append(f"  ret {returned(wanted)} {operands[0]}" if operands else "  ret void")
            return
        whole, packed = returned(wanted), "undef"
        for k, (r, x) in enumerate(zip(wanted.registers, operands, strict=True)):
            packed = self.op(f"insertvalue {whole} {packed}, {r} {x}, {k}")
        self.lines.append(f"  ret {whole} {packed}")

    # -- expressions ----------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Value | Known:
        """The value of an expression."""
        writer = getattr(self, f"_x{type(node).__name__}", None)
        if writer is None:
            raise self.error(node, f"kernels have no {type(node).__name__} expressions ({ast.unparse(node)})")
        result: Value | Known = writer(node)
        return result

    def _xConstant(self, node: ast.Constant) -> Value | Known:
        return self.known(node.value)

    def _xName(self, node: ast.Name) -> Value | Known:
        if node.id in self.variables:
            return self.variable(node.id)
        return self.known(self.function.lookup(node.id))

    def _xAttribute(self, node: ast.Attribute) -> Value | Known:
        base = self.expression(node.value)
        if isinstance(base, Known):
            return self.known(getattr(base.content, node.attr))
        return self.attribute(base, node.attr)

    def _xTuple(self, node: ast.Tuple) -> Value:
        values = [self.value(self.expression(e)) for e in node.elts]
        return Value(Group(tuple(v.type for v in values)), tuple(x for v in values for x in v.operands))

    def _xUnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(BOOL, (self.op(f"xor i1 {self.truth(value)}, true"),))
        return self.negative(self.value(value)) if isinstance(node.op, ast.USub) else self.value(value)

    def _xBinOp(self, node: ast.BinOp) -> Value:
        return self.arithmetic(type(node.op).__name__, self.value(self.expression(node.left)), self.value(self.expression(node.right)))

    def _xCompare(self, node: ast.Compare) -> Value:
        left, result = self.value(self.expression(node.left)), ""
        for operation, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(self.expression(other))
            found = self.compared(type(operation).__name__, left, right)
            result, left = (self.op(f"and i1 {result}, {found}") if result else found), right
        return Value(BOOL, (result,))

    def _xBoolOp(self, node: ast.BoolOp) -> Value:
        name, after = f"or{node.lineno}.{node.col_offset}", self.label()
        for i, operand in enumerate(node.values):
            value = self.value(self.expression(operand))
            self.assign(name, value)
            if i < len(node.values) - 1:
                more = self.label()
                truth = self.truth(value)
                self.branch(truth, *((more, after) if isinstance(node.op, ast.And) else (after, more)))
                self.begin(more)
        self.begin(after)
        return self.variable(name)

    def _xIfExp(self, node: ast.IfExp) -> Value:
        name = f"if{node.lineno}.{node.col_offset}"
        yes, no, after = self.label(), self.label(), self.label()
        self.branch(self.truth(self.expression(node.test)), yes, no)
        for label, part in ((yes, node.body), (no, node.orelse)):
            self.begin(label)
            self.assign(name, self.value(self.expression(part)))
            self.jump(after)
        self.begin(after)
        return self.variable(name)

    def _xSubscript(self, node: ast.Subscript) -> Value | Known:
        base = self.expression(node.value)
        if isinstance(base, Known):
            try:
                return self.known(base.content[self._whole(node.slice)])
            except KernelError:
                base = self.constant_array(base.content)
        if isinstance(base.type, Group):
            return self.parts(base)[self._whole(node.slice)]  # type: ignore[no-any-return]
        if not isinstance(base.type, View):
            raise self.error(node, f"{ast.unparse(node.value)} is not an array")
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                raise self.error(node, f"the slice {ast.unparse(node)} has a step; views are contiguous")
            first, last = (self.integer(self.expression(n)) if n is not None else None for n in (node.slice.lower, node.slice.upper))
            return self.part(base, first, last)
        return self.got(self.element(base, self.index(node.slice)))

    def _whole(self, node: ast.expr) -> int:
        """A number known while compiling."""
        value = self.expression(node) if not isinstance(node, ast.Slice) else None
        if isinstance(value, Value) and value.type is INT and value.operands[0].lstrip("-").isdigit():
            return int(value.operands[0])
        raise KernelError(f"the index {ast.unparse(node)} of a tuple must be a number")

    def _xCall(self, node: ast.Call) -> Value | Known:
        f = self.expression(node.func)
        if not isinstance(f, Known):
            raise self.error(node, f"{ast.unparse(node.func)} is not a function")
        arguments = [self.value(self.expression(a)) for a in node.args]
        if isinstance(f.content, Source):
            named = {k.arg: self.value(self.expression(k.value)) for k in node.keywords}
            return self._call(node, f.content, arguments, named)
        if not callable(f.content) or f.content not in BUILTIN:
            raise self.error(node, f"{ast.unparse(node.func)} is no function of the kernel language")
        if node.keywords:
            raise self.error(node, f"{ast.unparse(node.func)} takes no named arguments in kernels")
        return BUILTIN[f.content](self, arguments)

    def _call(self, node: ast.Call, f: Source, arguments: list[Value], named: dict[Any, Value]) -> Value:
        for name in f.arguments[len(arguments) :]:
            if name in named:
                arguments.append(named.pop(name))
            elif name in f.defaults:
                arguments.append(self.value(self.known(f.defaults[name])))
            else:
                raise self.error(node, f"{f.name} lacks its argument {name}")
        if named or len(arguments) != len(f.arguments):
            raise self.error(node, f"{f.name} takes the arguments {', '.join(f.arguments)}")
        made = self.module.function(f, tuple(a.type for a in arguments))
        registers = [f"{r} {x}" for a in arguments for r, x in zip(a.type.registers, a.operands, strict=True)]
        call = f"call {returned(made.returns)} {made.name}({', '.join(registers)})"
        kinds = made.returns.registers
        if not kinds:
            self.lines.append(f"  {call}")
            return Value(NOTHING, ())
        found = self.op(call)
        if len(kinds) == 1:
            return Value(made.returns, (found,))
        return Value(made.returns, tuple(self.op(f"extractvalue {returned(made.returns)} {found}, {k}") for k in range(len(kinds))))

    def constant_array(self, numbers: Any) -> Value:
        """A view of a constant tuple of numbers, or of tuples of numbers of one length."""
        rows = [x if isinstance(x, tuple) else (x,) for x in numbers]
        flat = [x for row in rows for x in row]
        if len({len(row) for row in rows}) != 1 or not all(isinstance(x, (int, float)) for x in flat):
            raise KernelError("only a tuple of numbers or of equally long tuples of numbers can be indexed by a variable")
        item: Scalar = INT if all(isinstance(x, int) for x in flat) else FLOAT
        pointer, axes = self.module.table(flat, item.llvm), 2 if isinstance(numbers[0], tuple) else 1
        return Value(View(item, axes), (pointer, str(len(rows)), *([str(len(rows[0]))] if axes == 2 else [])))
