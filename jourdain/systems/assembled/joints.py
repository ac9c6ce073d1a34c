"""Joint coordinates of an assembled system: a spanning tree of its pairs and the tables of its native step.

Pairs of the tree lose their constraints, augmented coordinates follow the joints they measure; what closes loops stays as rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.discrete.null_space import PairMotion, freedoms_of
from ...elements.element import Element, Reduction
from ...elements.pairs import Pair, Spherical
from ...errors import ModelError
from ...native.function import Function, compile_function
from ...solvers.stepping import frame as ap
from ...solvers.stepping import joint_space as sp
from .program import Handle, Instance, Program, compiled_once, prepared, reductions_of

if TYPE_CHECKING:
    from .system import AssembledSystem

#: Part of the pivot ratio at the last choice below which dependent rates are chosen anew.
SWITCH = 0.1


@dataclass
class Node:
    """A body of the tree: its handle, the instance of the pair that carries it (None: free), its inner body and the way it is met."""

    handle: int
    pair: int | None
    parent: int
    sign: int
    count: int
    dimension: int
    first: int = 0
    path: list[int] = field(default_factory=list)


@dataclass
class Edge:
    """A pair that may enter the tree: instance, bodies (−1: ground) and number of freedoms."""

    instance: int
    a: int
    b: int
    freedoms: int
    order: int


@compiled_once
def _pair_functions(motion: PairMotion) -> tuple[Function, ...]:
    return tuple(compile_function(f) for f in (motion.end(), motion.mean(), motion.slope()))


_MOTIONS: dict[Any, PairMotion] = {}
_FREEDOMS: dict[Any, int | None] = {}


def _motion_of(pair: Pair, reduced: tuple[tuple[str, Reduction], ...], discrete: bool) -> PairMotion:
    key = (pair.key, tuple((b, id(r)) for b, r in reduced), discrete)
    return _MOTIONS.setdefault(key, PairMotion(pair, reduced, discrete))


def _freedoms(element: Element) -> int | None:
    key = element.key
    if key not in _FREEDOMS:
        _FREEDOMS[key] = freedoms_of(element)
    return _FREEDOMS[key]


def _body(instance: Instance, side: str, bodies: Container[int]) -> int | None:
    """Number of the body's handle, −1 for the ground, None for anything else."""
    handle = instance.blocks.get(side)
    if handle is None or handle.fixed:
        return -1
    return handle.number if handle.number in bodies else None


def edges(instances: Sequence[Instance], bodies: Container[int]) -> list[Edge]:
    """All pairs between the bodies (numbers of handles), or a body and the ground."""
    found: list[Edge] = []
    measured: set[int] = set()
    for k, instance in enumerate(instances):
        own = [instance.blocks[b] for b in instance.element.augments]
        held = any(h.fixed or h.number in measured for h in own)  # a coordinate that is not the pair's alone constrains it
        measured |= {h.number for h in own}
        count = _freedoms(instance.element) if isinstance(instance.element, Pair) and not held else None
        if count is None:
            continue
        a, b = (_body(instance, side, bodies) for side in "ab")
        if a is not None and b is not None and a != b:
            found.append(Edge(k, a, b, count, len(found)))
    return found


def spanning_tree(handles: Sequence[Handle], instances: Sequence[Instance]) -> tuple[list[Node], set[int]]:
    """Bodies of the tree, inner ones first, and the numbers of the instances of its pairs.

    From the ground, then from the body with most pairs of what floats, the pair with the fewest freedoms (then the one nearest to the
    root) is taken next, so that as many constraints as possible disappear.
    """
    bodies = reductions_of(instances)
    pairs = edges(instances, bodies)
    at: dict[int, list[Edge]] = {}
    for e in pairs:
        at.setdefault(e.a, []).append(e)
        at.setdefault(e.b, []).append(e)
    nodes: list[Node] = []
    index: dict[int, int] = {-1: -1}
    used: set[int] = set()

    def dimension(body: int) -> int:
        return 3 if handles[body].size == 12 else 2

    def grow(root: int) -> None:
        heap = [(e.freedoms, 0, e.order, root) for e in at.get(root, ())]
        heapq.heapify(heap)
        while heap:
            _, depth, k, inner = heapq.heappop(heap)
            e = pairs[k]
            outer = e.b if e.a == inner else e.a
            if outer in index:
                continue
            index[outer] = len(nodes)
            used.add(e.instance)
            nodes.append(Node(outer, e.instance, index[inner], 1 if e.b == outer else -1, e.freedoms, dimension(outer)))
            for f in at[outer]:
                heapq.heappush(heap, (f.freedoms, depth + 1, f.order, outer))

    grow(-1)
    for body in sorted(bodies, key=lambda n: (-len(at.get(n, ())), n)):
        if body not in index:
            index[body] = len(nodes)
            nodes.append(Node(body, None, -1, 1, 6 if dimension(body) == 3 else 3, dimension(body)))
            grow(body)
    return nodes, used


class JointSpace:
    """Tables and memory of the step in joint coordinates for a program with bodies reduced.

    ``unknowns`` is the size of the dense system; ``closure`` and ``servo`` are the rows that stay.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes, self.tree_pairs = spanning_tree(program.handles, program.instances)
        self._columns()
        self._rows()
        self._tables()

    # -- structure --------------------------------------------------------------------------------------------------------------------

    def _columns(self) -> None:
        """Columns of T: freedoms of the tree, then coordinates of their own; augmented coordinates have none."""
        at = 0
        for node in self.nodes:
            node.first, node.path = at, [*(self.nodes[node.parent].path if node.parent >= 0 else []), *range(at, at + node.count)]
            at += node.count
        self.names = [self._name(n, k) for n in self.nodes for k in range(n.count)]
        self._augmented()
        own, program = {c for c, _ in self.augmented}, self.program
        self.patterns: list[list[int]] = [[] for _ in range(program.coordinate_unknowns)]
        bodies = {n.handle: n for n in self.nodes}
        for h in program.handles:
            first = program.first_unknown[h.number]
            if h.fixed:
                continue
            size = program.reductions[h.number].size if h.number in bodies else h.size
            for i in range(first, first + size):
                if h.number in bodies:
                    self.patterns[i] = bodies[h.number].path
                elif i not in own:
                    self.patterns[i] = [at]
                    self.names.append(program.unknown_names[i])
                    at += 1
        self.size = at

    def _name(self, node: Node, k: int) -> str:
        if node.pair is None:
            return f"{self.program.handles[node.handle].name}[{k}]"
        return f"{self.program.instances[node.pair].name}[{k}]"

    def _augmented(self) -> None:
        """(coordinate, row) of coordinates that a constraint of the same name defines, as unknowns."""
        self.augmented: list[tuple[int, int]] = []
        program, taken = self.program, set()
        rows = {(m, i): u for (m, i), u in zip(program.multiplier_instance, program.multiplier_rows, strict=True)}
        steps = {m: g.kernels.step for g in program.groups for m in g.members}
        for m, instance in enumerate(program.instances):
            for block in instance.element.augments:
                handle, step = instance.blocks[block], steps[m]
                if handle.fixed or handle.size != 1 or handle.number in taken or block not in step.row_names:
                    continue
                row = int(rows[m, step.row_names.index(block)])
                if row >= 0:
                    taken.add(handle.number)
                    self.augmented.append((program.first_unknown[handle.number], row))

    def _rows(self) -> None:
        program, own = self.program, {r for _, r in self.augmented}
        self.kind = np.zeros(program.unknowns, np.int64)
        steps = {m: g.kernels.step for g in program.groups for m in g.members}
        self.closure: list[int] = []
        self.servo: list[int] = []
        for (m, i), u in zip(program.multiplier_instance, program.multiplier_rows, strict=True):
            if u < 0:
                continue
            step = steps[m]
            acting = i >= len(step.holonomic) + len(step.rolling)
            kind = sp.OWN_ROW if u in own else sp.SERVO_ROW if acting else sp.TREE_ROW if m in self.tree_pairs else sp.CLOSURE_ROW
            self.kind[u] = kind
            {sp.CLOSURE_ROW: self.closure, sp.SERVO_ROW: self.servo}.get(kind, []).append(int(u))

    @property
    def unknowns(self) -> int:
        """Size of the dense system: freedoms of the tree, other coordinates, inputs."""
        return self.size + len(self.servo)

    # -- tables -----------------------------------------------------------------------------------------------------------------------

    def _tables(self) -> None:
        program = self.program
        starts, indices = program.starts, program.indices
        column_of = np.repeat(np.arange(program.unknowns), np.diff(starts))
        entry = {(int(i), int(j)): p for p, (i, j) in enumerate(zip(indices, column_of, strict=True))}
        by_row: dict[int, list[tuple[int, int]]] = {r: [] for _, r in self.augmented}
        for (i, j), p in entry.items():
            if i in by_row:
                by_row[i].append((j, p))
        own, sides, at = [], [], [0]
        for c, r in self.augmented:
            own.append((c, r, entry[r, c], entry[c, r]))
            end = [(k, p) for k, p in by_row[r] if k != c and k < program.coordinate_unknowns]
            mean = [(int(indices[p]), p) for p in range(starts[r], starts[r + 1]) if indices[p] != c]
            self.patterns[c] = sorted({j for k, _ in end + mean for j in self.patterns[k]})
            for part in (end, mean):
                sides += part
                at.append(len(sides))
        self._own, self._sides, self._side_starts = own, np.array(sides, np.int64).reshape(-1, 2), np.array(at, np.int64)
        self.multiplier_of = np.full(program.unknowns, -1, np.int64)
        for k, u in enumerate(program.multiplier_rows):
            if u >= 0:
                self.multiplier_of[u] = k
        self._pairs()
        self._recovery()

    def _pairs(self) -> None:
        program = self.program
        rows: list[tuple[int, ...]] = []
        gather: list[int] = []
        local: list[int] = []
        constants = [np.zeros(0)]
        self.workspace = 1
        self._node_rows = []
        for node in self.nodes:
            handle = program.handles[node.handle]
            together = node.pair is None and node.dimension == 3
            number = -1
            if node.pair is not None:
                instance = program.instances[node.pair]
                assert isinstance(instance.element, Pair)
                together = isinstance(instance.element, Spherical)
                number, reduced = len(rows), program.reduced_blocks(instance)
                motion = _motion_of(instance.element, tuple(reduced.items()), program.evaluation == "discrete")
                functions = _pair_functions(motion)
                places = []
                for f in functions:
                    places.append(sum(c.size for c in constants))
                    constants.append(prepared(f, [instance.numbers]).ravel())
                    self.workspace = max(self.workspace, f.signature.workspace)
                index = program.local_coordinates(instance)
                unknown = [-1 if (h := instance.blocks[b]).fixed else program.first_unknown[h.number] + i for b, i in motion.unknowns]
                kernels = [x for f, place in zip(functions, places, strict=True) for x in (f.address, place)]
                rows.append((index.size, len(gather), *kernels, len(unknown), len(local)))
                gather += index.tolist()
                local += unknown
            self._node_rows.append((program.first_unknown[handle.number], handle.offset, node.dimension, node.parent, node.first, node.count,
                                    number, node.sign, int(together)))  # fmt: skip
        self._pair_rows, self._gather, self._local = rows, gather, local
        self._constants = np.concatenate([*constants, np.zeros(1)])

    def _recovery(self) -> None:
        """For every body the equations and rows from which the multipliers of its pair follow."""
        program = self.program
        rows_of: dict[int, list[int]] = {}
        for (m, _), u in zip(program.multiplier_instance, program.multiplier_rows, strict=True):
            if u >= 0:
                rows_of.setdefault(m, []).append(int(u))
        header: list[int] = []
        data: list[int] = []
        first = 2 * len(self.nodes) + 1
        for node in self.nodes:
            u, size = program.first_unknown[node.handle], 6 if node.dimension == 3 else 3
            equations, rows = list(range(u, u + size)), []
            if node.pair is not None:
                instance = program.instances[node.pair]
                equations += [program.first_unknown[instance.blocks[b].number] for b in instance.element.augments]
                rows = rows_of.get(node.pair, [])
            header.append(first + len(data))
            data += equations
            header.append(first + len(data))
            data += rows
        self._recover = np.array([*header, first + len(data), *data], np.int64)

    def attach(self, run: Any) -> None:
        """Gives a run the tables and memory of this space; its steps are then solved in joint coordinates."""
        from ...solvers.stepping.joint_step import give_functions, reduced_finish, reduced_newton

        program, n = self.program, self.program.unknowns
        nw, m, s, k = self.size, len(self.closure), len(self.servo), len(self.nodes)
        if m > nw:
            raise ModelError(f'{m} constraints close the loops of {nw} motions in joint coordinates; use reduction "bodies" or remove some')
        place = np.full(n, -1, np.int64)
        for i, (c, _) in enumerate(self.augmented):
            place[c] = i
        for i, u in enumerate([*self.closure, *self.servo]):
            place[u] = i
        starts = np.cumsum([0, *map(len, self.patterns)]).astype(np.int64)
        columns = np.array([j for p in self.patterns for j in p], np.int64)
        owner = np.full(max(1, nw), -1, np.int64)
        for i, node in enumerate(self.nodes):
            owner[node.first : node.first + node.count] = i
        sizes = {
            "t_end": columns.size, "t_mean": columns.size, "freedoms": 12 * nw, "points": 6 * k, "wrench": 6 * k, "motion": 8 * k,
            "kt": n * nw, "a": nw * nw, "gb": nw * (m + s), "ct": (m + s) * nw, "final": (nw + s) ** 2, "rhs": nw + m + s, "w": nw + m + s,
            "effective": n, "linear": n, "shift": len(self.augmented), "gd": m * m, "gx": (nw + s + 1) * m, "scratch": max(512, nw),
            "row_scale": m, "final_scale": nw + s,
        }  # fmt: skip
        theta = 0.0 if program.evaluation == "start" else run.scheme.theta
        self.frame = js = sp.JointFrame(
            n_w=nw, n_closure=m, n_servo=s, nodes=sp.Node.table(self._node_rows), pairs=sp.Pair.table(self._pair_rows),
            gather=_integers(self._gather), local=_integers(self._local), constants=self._constants, t_starts=starts, t_columns=columns,
            kind=self.kind, place=place, node_of=owner, augmented=sp.Augmented.table(self._own), side_starts=self._side_starts,
            side_unknown=self._sides[:, 0].copy(), side_place=self._sides[:, 1].copy(), ap=program.starts, ai=program.indices,
            multiplier_of=self.multiplier_of, recover=self._recover, dependent=np.arange(nw, dtype=np.int64),
            pivots=np.zeros(nw + 2 * m + s, np.int64), index=np.full(n, -1, np.int64), state=sp.Choice(limit=SWITCH, theta=theta),
            **{name: np.zeros(max(1, size)) for name, size in sizes.items()},
        )  # fmt: skip
        for u, p in enumerate(self.patterns):  # coordinates of their own: unit columns
            if len(p) == 1 and owner[p[0]] < 0 and place[u] < 0:
                js.t_end[starts[u]] = js.t_mean[starts[u]] = 1.0
        give_functions(js)
        run.frame.work = np.zeros(max(self.workspace, program.plan.workspace))
        run.use_joints(self, js.address, reduced_newton.address)
        run.frame.finish = reduced_finish.address

    # -- numbers ----------------------------------------------------------------------------------------------------------------------

    def build(self, run: Any, predicted: bool = True) -> np.ndarray:
        """The dense matrix of a step from the present state, at its first iterate or at the state itself."""
        from ...solvers.stepping.joint_step import reduced_matrix

        run.count.mode = ap.PREDICT if predicted else ap.APPLY
        reduced_matrix.call(run.address)
        return self.frame.final.reshape(self.unknowns, self.unknowns).copy()

    def null_space(self, mean: bool = True) -> np.ndarray:
        """T̄ (or T at the end) as a matrix, after :meth:`build`."""
        T = np.zeros((self.program.coordinate_unknowns, self.size))
        starts, columns = self.frame.t_starts, self.frame.t_columns
        values = self.frame.t_mean if mean else self.frame.t_end
        for i in range(T.shape[0]):
            T[i, columns[starts[i] : starts[i + 1]]] = values[starts[i] : starts[i + 1]]
        return T

    def report(self, run: Any, step: float) -> dict[str, float]:
        """Unknowns and condition numbers (1-norm) of the dense system of the first step.

        ``condition`` is that of the scaled form in use, ``condition_unscaled`` that with the balance multiplied by 2/h and inputs as forces.
        """
        K = self.build(run)
        balance, free = self.size - len(self.closure), self.size
        left, right = np.ones(self.unknowns), np.ones(self.unknowns)
        left[:balance], right[free:] = 2.0 / step, run.scheme.kappa
        return {
            "unknowns": self.unknowns, "coordinates": self.size, "multipliers": len(self.servo), "nonzeros": K.size, "fill": K.size,
            "closure": len(self.closure), "freedoms": self.size - len(self.closure), "condition": float(np.linalg.cond(K, 1)),
            "condition_unscaled": float(np.linalg.cond(left[:, None] * K * right, 1)),
        }  # fmt: skip

    @property
    def independent(self) -> list[str]:
        """Names of the rates that were chosen as independent at last."""
        m = len(self.closure)
        return [self.names[int(j)] for j in self.frame.dependent[m:]]

    @property
    def switches(self) -> int:
        """How often the independent rates were chosen anew."""
        return self.frame.state.switches


def condition_table(
    system: AssembledSystem, steps: Sequence[float] = (1e-2, 1e-3, 1e-4), reductions: Sequence[str] = ("none", "bodies", "joints")
) -> dict[str, dict[str, Any]]:
    """Unknowns and condition numbers of the first step by reduction and step, and their slopes over log h (Uhlar, Tables 5.3, 5.7, 5.9).

    ``textbook`` are those of the form with λ as unknowns and the balance times 2/h, of joint coordinates that with the balance scaled by
    h/2; ``scaled`` those of the form in use, where Λ = κ λ are the unknowns.  ``slope`` is that of ``textbook``.
    """
    table = {}
    for reduction in reductions:
        reports = [system.report(h, reduction=reduction) for h in steps]
        scaled = [r["condition"] for r in reports]
        textbook = scaled if reduction == "joints" else [r["condition_unscaled"] for r in reports]
        slope = float(np.polyfit(np.log(steps), np.log(textbook), 1)[0])
        table[reduction] = {"unknowns": reports[0]["unknowns"], "textbook": textbook, "scaled": scaled, "slope": slope}
    return table


def _integers(values: Sequence[int]) -> np.ndarray:
    return np.array(values, np.int64)


__all__ = ["JointSpace", "condition_table", "spanning_tree"]
