"""From the elements of an assembled system to the tables and machine code of its native loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, wraps
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...elements.discrete.stepping import ElementStep
from ...elements.element import Element, Reduction, symbols_of
from ...elements.vectors import VectorElement
from ...errors import ModelError
from ...native import engine
from ...native.function import Function, compile_function
from ...native.lanes import Lanes
from ...native.record import Record, Table
from ...solvers.stepping import frame as ap
from ...symbolic.expr import Expr, add, mul, sub, symbol
from ...symbolic.function import Argument, Result, SymbolicFunction

if TYPE_CHECKING:
    from ...solvers.stepping.run import Run


@dataclass(frozen=True)
class Handle:
    """Coordinates of an assembled system: a block of ``size`` numbers from ``offset`` on."""

    name: str
    offset: int
    size: int
    fixed: bool = False
    unit: str = ""
    shape: Any = None
    number: int = 0


@dataclass(frozen=True)
class Instance:
    """An element attached to coordinates, with its numbers."""

    element: Element
    name: str
    blocks: Mapping[str, Handle]
    numbers: np.ndarray


@dataclass(frozen=True)
class Kernels:
    """Compiled functions of an element type: residual, tangent, audit and, where rates are projected, projection, with their patterns.

    ``medium`` is a record that they are given beside their arguments, if any; ``shared`` constants serve all of them.
    """

    shared: ClassVar[bool] = False

    step: ElementStep
    functions: tuple[Any, ...]
    patterns: tuple[tuple[tuple[int, int], ...], ...]
    medium: Record | None = None
    #: SIMD variants of residual and tangent (without history of the audit, too), of types whose instances come in numbers.
    wide: tuple[Lanes, ...] = ()

    @property
    def workspace(self) -> int:
        """Numbers that a call needs for itself."""
        return max(f.signature.workspace for f in self.functions)

    def constants(self, which: int, numbers: Sequence[np.ndarray]) -> np.ndarray:
        """Constants of a function, one row for each instance."""
        return prepared(self.functions[which], numbers)

    def initial_history(self, instances: Sequence[Instance], q: np.ndarray) -> list[np.ndarray]:
        """Internal variables at the start of a run, of each instance."""
        return [initial_history(i, q) for i in instances]


def keys_of(instances: Sequence[Instance]) -> dict[int, Any]:
    """Keys of element types by the identity of their objects, of which a mesh has few."""
    return {k: e.key for k, e in {id(i.element): i.element for i in instances}.items()}


_KERNELS: dict[Any, Kernels] = {}


def compiled_once(f: Callable[..., tuple[Function, ...]]) -> Callable[..., tuple[Function, ...]]:
    """Keeps what a function has compiled, one result for all threads: machine code must not be freed while tables hold its address."""
    kept = cache(f)

    @wraps(f)
    def found(*arguments: Any) -> tuple[Function, ...]:
        with engine.lock:
            return kept(*arguments)

    return found


def kernels_of(element: Element, evaluation: str, reduced: Mapping[str, Reduction], projected: bool = False) -> Kernels:
    """The compiled kernels of a type, made once in a process (and found on disk by the next)."""
    if isinstance(element, VectorElement) and (own := element.kernels(evaluation, reduced, projected)) is not None:
        return own  # type: ignore[no-any-return]
    key = (element.key, evaluation, tuple(sorted((b, id(r)) for b, r in reduced.items())), projected)
    with engine.lock:
        found = _KERNELS.get(key)
        if found is None and isinstance(element, VectorElement):
            from .at_rest import vector_kernels

            found = _KERNELS[key] = vector_kernels(element, evaluation, reduced, projected)
        elif found is None:
            step = ElementStep(element, evaluation, reduced, projected)
            made, patterns = [step.residual(), step.tangent(), step.audit()], [(), tuple(step.tangent_entries), ()]
            if evaluation == "start":  # only this one projects its rates
                made, patterns = [*made, step.projection()], [*patterns, tuple(step.projection_entries[1])]
            wide = tuple(Lanes(f) for f in (made[:2] if step.packing.history else made[:3])) if element.in_numbers else ()
            found = _KERNELS[key] = Kernels(step, tuple(compile_function(f) for f in made), tuple(patterns), wide=wide)
    return found


@compiled_once
def reduction_functions(reduction: Reduction, size: int) -> tuple[Function, ...]:
    """Compiled increments of retraction and of advance along rates, and expansion of a null space."""
    q = tuple(symbol(f"q[{i}]", "position") for i in range(size))
    d = tuple(symbol(f"d[{i}]", "velocity") for i in range(reduction.size))
    v = tuple(symbol(f"v[{i}]", "velocity") for i in range(size))

    def made(name: str, inputs: Sequence[Expr], outputs: Sequence[Expr]) -> Function:
        return compile_function(SymbolicFunction(name, (Argument("x", tuple(inputs)),), (Result("q", tuple(outputs), (len(outputs),)),)))

    def moved(delta: Sequence[Expr]) -> list[Expr]:
        return [sub(new, old) for new, old in zip(reduction.retract(q, delta), q, strict=True)]

    expanded = []
    for row in reduction.basis(q):
        total = mul(row[0], d[0])
        for e, nu in zip(row[1:], d[1:], strict=True):
            total = add(total, mul(e, nu))
        expanded.append(total)
    return (
        made("retract", q + d, moved(d)), made("advance", q + v, moved(reduction.twist(q, v))), made("expand", q + d, expanded),
    )  # fmt: skip


@dataclass
class _Group:
    kernels: Kernels
    members: list[int]


class Program:
    """Tables, code and matrix pattern of an assembled system for one evaluation of forces and one reduction."""

    def __init__(self, handles: Sequence[Handle], instances: Sequence[Instance], evaluation: str, reduction: str,
                 dropped: frozenset[tuple[str, str]] = frozenset()) -> None:  # fmt: skip
        self.handles, self.instances, self.dropped = handles, instances, dropped
        self.nq = sum(h.size for h in handles)
        self.null_spaces = {} if reduction == "none" else reductions_of(instances)
        #: Null spaces along which coordinates move; none when balances are projected only.
        self.reductions = {} if reduction == "projection" else self.null_spaces
        self.first_order = first_order_handles(instances)
        self._number_unknowns()
        self.evaluation = evaluation
        self._group(evaluation)
        self._tabulate()
        self._pattern()
        #: A run that has ended, whose memory the next one takes.
        self.ended: list[Run] = []

    def _number_unknowns(self) -> None:
        """Unknowns of the coordinates: increments of bodies with a null space, coordinates otherwise; none where prescribed."""
        self.first_unknown: dict[int, int] = {}
        self.unknown_names: list[str] = []
        self.unknown_group: list[int] = []
        for h in self.handles:
            size = 0 if h.fixed else self.reductions[h.number].size if h.number in self.reductions else h.size
            self.first_unknown[h.number] = len(self.unknown_names)
            self.unknown_names += [f"{h.name}[{i}]" for i in range(size)]
            self.unknown_group += [h.number] * size
        self.coordinate_unknowns = len(self.unknown_names)

    def reduced_blocks(self, instance: Instance) -> dict[str, Reduction]:
        """Null spaces of the blocks of an instance that have one."""
        return {b: self.null_spaces[h.number] for b, h in instance.blocks.items() if h.number in self.null_spaces and not h.fixed}

    def _group(self, evaluation: str) -> None:
        groups: dict[Any, _Group] = {}
        keys = keys_of(self.instances)
        for k, instance in enumerate(self.instances):
            reduced = self.reduced_blocks(instance)
            key = (keys[id(instance.element)], tuple(sorted(reduced)), tuple(id(r) for r in reduced.values()))
            if key not in groups:
                groups[key] = _Group(kernels_of(instance.element, evaluation, reduced, self.reductions is not self.null_spaces), [])
            groups[key].members.append(k)
        self.groups = list(groups.values())

    def _tabulate(self) -> None:
        table: list[tuple[int, ...]] = []
        kernel_table: list[tuple[int, ...]] = []
        gather: list[Any] = []
        rows: list[Any] = []
        constants: list[np.ndarray] = []
        multiplier_rows: list[int] = []
        self.multiplier_names: list[str] = []
        self.multiplier_instance: list[tuple[int, int]] = []
        at = {"gather": 0, "rows": 0, "constants": 0, "history": 0}
        for g, group in enumerate(self.groups):
            step, count = group.kernels.step, len(group.members)
            n, m, k = step.element.size, len(step.row_names), len(step.packing.history)
            local = len(step.unknowns)
            table.append((count, n, m, k, local, at["gather"], at["rows"], len(self.multiplier_names), at["history"],
                          step.uses_excess, step.uses_rate, g * ap.KERNELS))  # fmt: skip
            for member in group.members:
                gather.append(self.local_coordinates(self.instances[member]))
                rows.append(self._local_rows(member, step, multiplier_rows))
            at["gather"] += count * n
            at["rows"] += count * local
            at["history"] += count * k
            medium = 0 if group.kernels.medium is None else group.kernels.medium.address
            numbers = [self.instances[i].numbers for i in group.members]
            for which, f in enumerate(group.kernels.functions):
                if which == 0 or not group.kernels.shared:
                    block, first = group.kernels.constants(which, numbers), at["constants"]
                    constants.append(block.ravel())
                    at["constants"] += block.size
                alike = which < len(group.kernels.wide) and count > 1 and bool(np.all(block == block[0]))
                wide = group.kernels.wide[which].address if alike else 0
                kernel_table.append((f.address, first, block.shape[1], len(group.kernels.patterns[which]), 0, medium, wide))
            kernel_table += [(0,) * 7] * (ap.KERNELS - len(group.kernels.functions))
        self.group_table, self.kernel_table = ap.Group.table(table), ap.Kernel.table(kernel_table)
        self.gather, self.rows = _joined(gather, np.int64), _joined(rows, np.int64)
        self.constants = _joined([*constants, np.zeros(1)], float)
        self.multiplier_rows = np.array(multiplier_rows, np.int64)
        self.unknowns = len(self.unknown_names)

    def local_coordinates(self, instance: Instance) -> np.ndarray:
        """Coordinates of an instance in the order of its blocks."""
        return np.concatenate([np.arange(h.offset, h.offset + h.size) for h in (instance.blocks[b] for b in instance.element.blocks)])

    def _local_rows(self, member: int, step: ElementStep, multiplier_rows: list[int]) -> list[int]:
        instance, local = self.instances[member], []
        moving = {h.number for h in instance.blocks.values() if not h.fixed}
        # rows of a single body stay with it in the order of elimination; rows between bodies are nodes of their own
        group = moving.pop() if len(moving) == 1 else len(self.handles) + member
        for block, i in step.unknowns:
            if block:
                handle = instance.blocks[block]
                local.append(-1 if handle.fixed else self.first_unknown[handle.number] + i)
                continue
            name = step.row_names[i]
            self.multiplier_names.append(f"{instance.name}.{name}")
            self.multiplier_instance.append((member, i))
            if (instance.name, name) in self.dropped:
                local.append(-1)
                multiplier_rows.append(-1)
                continue
            local.append(len(self.unknown_names))
            multiplier_rows.append(len(self.unknown_names))
            self.unknown_names.append(f"{instance.name}.{name}")
            self.unknown_group.append(group)
        return local

    def _pattern(self) -> None:
        """The matrix by columns, and the place in it of every local entry."""
        keys: list[np.ndarray] = []
        slots_at = 0
        for g, group in enumerate(self.groups):
            of = self.group_table[g]
            count, local, first = of.count, of.rows, of.rows_at
            rows = self.rows[first : first + count * local].reshape(count, local)
            for which, pattern in enumerate(group.kernels.patterns):
                if not pattern:
                    continue
                i, j = np.array(pattern, np.int64).T
                r, c = rows[:, i], rows[:, j]
                keys.append(np.where((r < 0) | (c < 0), -1, c * self.unknowns + r).ravel())
                self.kernel_table[g * ap.KERNELS + which].slots_at = slots_at
                slots_at += keys[-1].size
        key = _joined(keys, np.int64)
        found, inverse = np.unique(key, return_inverse=True)
        skip = int(found.size > 0 and found[0] == -1)
        self.slots = inverse.astype(np.int64) - skip
        found = found[skip:]
        self.indices = found % self.unknowns
        self.starts = np.searchsorted(found // self.unknowns, np.arange(self.unknowns + 1)).astype(np.int64)

    @cached_property
    def columns(self) -> np.ndarray:
        """The order of elimination."""
        from ...solvers.linear.order import elimination_order

        return elimination_order(self.starts, self.indices, np.array(self.unknown_group), self.coordinate_unknowns)

    def describe(self, unknown: int) -> str:
        """The coordinate and the elements acting on it, or the row of an element, that an unknown stands for."""
        name, number = self.unknown_names[unknown], self.unknown_group[unknown]
        if unknown >= self.coordinate_unknowns:
            return f"the multiplier '{name}'"
        acting = [i.name for i in self.instances if any(h.number == number for h in i.blocks.values())]
        return f"coordinate '{name}' (elements {', '.join(repr(n) for n in acting)})"

    @cached_property
    def plan(self) -> ap.Plan:
        """Tables for native loops."""
        size = self.group_table.array
        width = int((ap.SCALARS + 4 * size["n"] + size["m"] + size["k"]).max(initial=1))
        entries = self.kernel_table.array["entries"].max(initial=0)
        work = max([g.kernels.workspace for g in self.groups], default=1)
        wide = [w for g in self.groups for w in g.kernels.wide]
        free, kinds, bodies = self._updates()
        first = [
            (h.offset + i, self.first_unknown[h.number] + i) for h in self.handles if h.number in self.first_order for i in range(h.size)
        ]
        work = max(
            [work] + [f.signature.workspace for r in set(self.reductions.values()) for f in reduction_functions(r, self._size_of(r))]
        )
        return ap.Plan(
            self.group_table, self.kernel_table, self.gather, self.rows, self.slots, free, kinds, bodies, self.constants, self.multiplier_rows,
            ap.Place.table(first), self.unknowns, self.coordinate_unknowns, max(width, 64),
            int(size["rows"].max(initial=0) + entries) + ap.AUDIT_SIZE + 64, work,
            (engine.lanes(), max(w.workspace for w in wide)) if wide else (0, 0),
        )  # fmt: skip

    def _size_of(self, reduction: Reduction) -> int:
        return next(self.handles[n].size for n, r in self.reductions.items() if r is reduction)

    def _updates(self) -> tuple[Table[ap.Place], Table[ap.Reduction], Table[ap.Place]]:
        """Which coordinates are updated by addition, which bodies by their retraction."""
        free: list[tuple[int, int]] = []
        bodies: list[tuple[int, int]] = []
        kinds: list[list[int]] = []
        for h in self.handles:
            if not h.fixed and h.number not in self.reductions:
                first = self.first_unknown[h.number]
                free += [(h.offset + i, first + i) for i in range(h.size)]
        for r in dict.fromkeys(self.reductions.values()):
            size = self._size_of(r)
            members = [h for h in self.handles if self.reductions.get(h.number) is r and not h.fixed]
            kinds.append([f.address for f in reduction_functions(r, size)] + [len(members), size, r.size, len(bodies)])
            bodies += [(h.offset, self.first_unknown[h.number]) for h in members]
        return ap.Place.table(free), ap.Reduction.table(kinds), ap.Place.table(bodies)

    def initial_history(self, q: np.ndarray) -> np.ndarray:
        """Internal variables of all instances at the start, in the order of the groups."""
        if not self.group_table.array["k"].any():
            return np.zeros(0)
        return _joined([z for g in self.groups for z in g.kernels.initial_history([self.instances[i] for i in g.members], q)], float)


def initial_history(instance: Instance, q: np.ndarray) -> np.ndarray:
    """Internal variables of an instance at the start."""
    element, at, constants = instance.element, 0, {}
    if not element.history:
        return np.zeros(0)
    for name, size in element.constants.items():
        constants[name], at = instance.numbers[at : at + size], at + size
    blocks = {b: q[h.offset : h.offset + h.size] for b, h in instance.blocks.items()}
    given = element.initial_history(blocks, constants)
    return _joined([np.broadcast_to(np.asarray(given.get(n, 0.0), float), (size,)) for n, size in element.history.items()], float)


def first_order_handles(instances: Sequence[Instance]) -> set[int]:
    """Numbers of the coordinates that have rates instead of mass; every element must see them so, and each has its rates from one."""
    found = {i.blocks[b].number for i in instances for b in i.element.first_order}
    if not found:
        return found
    rated: dict[int, str] = {}
    for i in instances:
        for b, h in i.blocks.items():
            if h.number in found and b not in i.element.first_order:
                raise ModelError(
                    f"element '{i.name}': coordinates '{h.name}' are of first order in another element; name '{b}' in first_order"
                )
        for b in {b for b, _ in i.element.rates(symbols_of(i.element))} if i.element.first_order else ():
            h = i.blocks[b]
            if h.number in rated:
                raise ModelError(
                    f"element '{i.name}': coordinates '{h.name}' already have their rates from '{rated[h.number]}'; one for each"
                )
            rated[h.number] = i.name
    for i in instances:
        for h in (i.blocks[b] for b in i.element.first_order):
            if h.number not in rated or h.fixed:
                raise ModelError(
                    f"element '{i.name}': no element gives the rates of '{h.name}'; add one, or fix the coordinates' value as a constant"
                )
    return found


def reductions_of(instances: Sequence[Instance]) -> dict[int, Reduction]:
    """Null spaces by the number of the coordinates they belong to."""
    found: dict[int, Reduction] = {}
    for instance in instances:
        r = instance.element.reduction
        if r is not None:
            handle = instance.blocks[r.block]
            if handle.number in found:
                raise ModelError(
                    f"element '{instance.name}': coordinates '{handle.name}' already belong to another body; one body for each"
                )
            if not handle.fixed:
                found[handle.number] = r
    return found


def prepared(f: Function, numbers: Sequence[np.ndarray]) -> np.ndarray:
    """Prepared constants, one row for each instance."""
    block = np.zeros((len(numbers), max(1, f.signature.constants)))
    work = np.zeros(max(1, f.signature.workspace))
    if f.signature.parameters:
        for row, p in zip(block, numbers, strict=True):
            f.prepare_into(p, row, work)
    return block


def _joined(parts: Sequence[Any], dtype: Any) -> np.ndarray:
    return np.concatenate([np.asarray(p, dtype).ravel() for p in parts]) if parts else np.zeros(0, dtype)
