"""One run of an assembled system: the arrays of the state, the march in chunks, analyses of the matrix, what to say at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..interruption import Bar, Interruption
from ..linear.library_lu import LibraryLU
from ..linear.sparse_lu import OK, SingularMatrix, SparseLU, factorise, solve
from . import frame as ap
from .kernels import assemble, begin
from .march import functions, march

CHUNK_TIME = 0.1
#: Numbers kept in one block of output.
BLOCK = 1 << 20
#: Longest stay, in steps, with a library's factors before own pivots are tried again; the first stay is one step, each later one twice as long.
LONGEST_STAY = 1024


@dataclass
class Rows:
    """Output of a run: times, coordinates, rates, multipliers, books."""

    t: list[np.ndarray] = field(default_factory=list)
    q: list[np.ndarray] = field(default_factory=list)
    v: list[np.ndarray] = field(default_factory=list)
    lam: list[np.ndarray] = field(default_factory=list)
    book: list[np.ndarray] = field(default_factory=list)

    def add(self, *blocks: np.ndarray) -> None:
        """Appends copies of five blocks."""
        for part, block in zip((self.t, self.q, self.v, self.lam, self.book), blocks, strict=True):
            part.append(block.copy())

    def joined(self) -> tuple[np.ndarray, ...]:
        """All rows in five arrays; multipliers that came later are zero before."""
        width = max(block.shape[1] for block in self.lam)
        lam = [np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in self.lam]
        return tuple(np.concatenate(part) for part in (self.t, self.q, self.v, lam, self.book))


def _second_order(plan: ap.Plan, size: int) -> np.ndarray:
    """Which coordinates are not of first order."""
    found = np.ones(size, bool)
    found[plan.first[:, 0]] = False
    return found


class Run:
    """The memory of one integration and its march.

    ``pattern`` is the matrix by columns (starts, rows), ``columns`` the order of elimination, ``coefficients`` those of the scheme.
    """

    def __init__(
        self, plan: ap.Plan, pattern: tuple[np.ndarray, np.ndarray], columns: np.ndarray, coefficients: tuple[float, ...],
        q0: np.ndarray, v0: np.ndarray, z0: np.ndarray, tolerance: float = 1e-12, max_iterations: int = 20,
    ) -> None:  # fmt: skip
        self.frame = np.zeros(ap.FRAME, np.int64)
        self.vec = np.zeros((ap.VECTORS, q0.size))
        self.vec[ap.Q0], self.vec[ap.Q1], self.vec[ap.V0] = q0, q0, v0
        self.scheme, self.clock, self.control = np.zeros(ap.SCHEME_SIZE), np.zeros(ap.CLOCK_SIZE), np.zeros(ap.CONTROL_SIZE)
        self.scheme[: len(coefficients)] = coefficients
        self.count, self.books = np.zeros(ap.COUNT_SIZE, np.int64), np.zeros(ap.BOOK + ap.AUDIT_SIZE)
        self.control[ap.TOLERANCE], self.control[ap.CONTRACTION] = tolerance, 1e-2
        self.count[ap.MAX_ITERATIONS] = max_iterations
        second = _second_order(plan, q0.size)
        self.clock[ap.SIZE] = max(1e-8, float(np.abs(q0[second]).max(initial=0.0 if second.any() else 1.0)))
        self.analyses = 0
        #: Acts at an event; says whether the run goes on.
        self.events: Callable[[Rows], bool] | None = None
        #: Values of the guards of events.
        self.guards = np.zeros((0, 0))
        #: Column in the output of every multiplier.
        self.multiplier_columns: np.ndarray | None = None
        self._only_library = False
        self.adopt(plan, pattern, columns, z0)

    def adopt(self, plan: ap.Plan, pattern: tuple[np.ndarray, np.ndarray], columns: np.ndarray, z0: np.ndarray) -> None:
        """Goes on from the present state with other equations for the same coordinates: constraints released, parameters changed."""
        self.plan, self.pattern, self.columns = plan, pattern, columns
        self._kept = plan.fill(self.frame)
        self.lam, self.z = np.zeros((3, plan.multiplier_rows.size)), np.zeros((2, z0.size))
        self.z[:] = z0
        q = np.abs(self.vec[ap.Q0])
        #: Sizes that first-order coordinates have had; zero for all others.
        self.peak = np.where(_second_order(plan, q.size), 0.0, np.maximum(q, 1e-6 * self.clock[ap.SIZE]))
        self.r, self.delta, self.values = np.zeros(plan.unknowns), np.zeros(plan.unknowns), np.zeros(pattern[1].size)
        self.lu: SparseLU | None = None
        self.library: LibraryLU | None = None
        self.joints: Any = None
        self._stay, self._next_stay = 0, 1  # steps to be done with the library's factors
        self._place()

    def _place(self) -> None:
        f = self.frame
        f[ap.N_Q], f[ap.N_HISTORY], f[ap.N_ENTRIES] = self.vec.shape[1], self.z.shape[1], self.values.size
        slots = {ap.F_VEC: self.vec, ap.F_LAM: self.lam, ap.F_HISTORY: self.z, ap.F_SCHEME: self.scheme, ap.F_CLOCK: self.clock,
                 ap.F_CONTROL: self.control, ap.F_COUNT: self.count, ap.F_BOOK: self.books, ap.F_R: self.r, ap.F_VALUES: self.values,
                 ap.F_DELTA: self.delta, ap.F_PEAK: self.peak}  # fmt: skip
        for slot, array in slots.items():
            f[slot] = array.ctypes.data
        for slot, address in functions().items():
            f[slot] = address

    @property
    def address(self) -> int:
        """Where native code finds the frame."""
        return self.frame.ctypes.data

    @property
    def book(self) -> np.ndarray:
        """Energies, momenta and sums since the last output."""
        return self.books[: ap.BOOK]

    def set_time(self, start: float, end: float, step: float, every: int = 1) -> None:
        """The span, the step (largest step when adaptive) and the number of steps from output to output."""
        c = self.clock
        c[ap.T] = c[ap.T_START] = start
        c[ap.T_END], c[ap.STEP], c[ap.H], c[ap.H_NEXT] = end, step, min(step, end - start), step
        c[ap.T_GRID] = start + step if start + step < end - 1e-6 * step else end
        c[ap.T_RATE1] = c[ap.T_RATE2] = -np.inf
        c[ap.H_MIN] = step * 2.0**-20
        self.count[ap.EVERY] = every

    def set_adaptive(self, rtol: float, atol: float, first: float) -> None:
        """Lets the step follow the error of the coordinates."""
        self.count[ap.ADAPTIVE] = 1
        self.control[ap.RTOL], self.control[ap.ATOL] = rtol, atol
        self.clock[ap.H_NEXT] = self.clock[ap.H] = first

    def matrix(self, which: int = ap.TANGENT, predicted: bool = True) -> np.ndarray:
        """Values of the matrix of a step from the present state (its residual is in ``r``)."""
        self.count[ap.WHICH], self.count[ap.MODE] = which, ap.PREDICT if predicted else ap.APPLY
        assemble.call(self.address)
        return self.values

    def analyse(self) -> None:
        """Pivots and fill for the present values, and own factors from now on."""
        self.lu = lu = SparseLU(*self.pattern, self.values, self.columns)
        self.analyses += 1
        self._stay = 0
        lu.frame.ax = self.values
        self.frame[ap.LU], self.frame[ap.F_ROW_SCALE] = lu.frame.address, lu.row_scale.ctypes.data
        self.frame[ap.FACTORISE], self.frame[ap.SOLVE] = factorise.address, solve.address

    def use_library(self, steps: int | None = None) -> None:
        """Factors by a library for some steps, or for good."""
        if self.library is None:
            self.library = LibraryLU(*self.pattern, self.values)
        self._stay, self._only_library = steps or LONGEST_STAY, steps is None
        self.frame[ap.LU] = self.library.frame.address
        self.frame[ap.FACTORISE], self.frame[ap.SOLVE] = self.library.functions

    def use_library_again(self) -> None:
        """Goes on with the library when the run is to use nothing else."""
        if self._only_library:
            self.use_library()

    def use_joints(self, joints: Any, frame: int, newton: int) -> None:
        """Solves steps in joint coordinates: with the frame and the function of a joint space instead of the sparse factors."""
        self.joints = joints
        self.frame[ap.REDUCED], self.frame[ap.NEWTON] = frame, newton

    def begin(self) -> None:
        """Books of the initial state."""
        begin.call(self.address)

    def march(self, progress: bool = False) -> tuple[Rows, int]:
        """Runs to the end, or as far as it goes; the rows of output and the reason of the end (0: interrupted)."""
        if self.lu is None and self.joints is None:
            self.matrix()
            self.analyse()
        rows = Rows()
        self.add_state(rows)
        with Interruption() as interruption:
            if progress:
                with Bar(self.clock[ap.T], self.clock[ap.T_END]) as bar:
                    return rows, self._loop(rows, interruption, bar.show)
            return rows, self._loop(rows, interruption, None)

    def add_state(self, rows: Rows) -> None:
        """Appends the present state and books to the output."""
        self._add(rows, self.clock[ap.T : ap.T + 1], self.vec[ap.Q0][None], self.vec[ap.V0][None], self.lam[ap.LAST][None], self.book[None])

    def _add(self, rows: Rows, t: np.ndarray, q: np.ndarray, v: np.ndarray, lam: np.ndarray, book: np.ndarray) -> None:
        if self.multiplier_columns is not None:
            given, lam = lam, np.zeros((len(t), int(self.multiplier_columns.max(initial=-1)) + 1))
            lam[:, self.multiplier_columns] = given
        rows.add(t, q, v, lam, book)

    def _output(self) -> tuple[np.ndarray, ...]:
        """Fresh blocks for output."""
        n, m = self.vec.shape[1], self.lam.shape[1]
        room = max(4, min(4096, BLOCK // (2 * n + m + ap.BOOK + 1)))
        out = np.empty(room), np.empty((room, n)), np.empty((room, n)), np.empty((room, m)), np.empty((room, ap.BOOK))
        for slot, array in zip((ap.OUT_T, ap.OUT_Q, ap.OUT_V, ap.OUT_LAM, ap.OUT_BOOK), out, strict=True):
            self.frame[slot] = array.ctypes.data
        self.frame[ap.ROOM] = room
        return out

    def _loop(self, rows: Rows, interruption: Any, show: Callable[[float], None] | None) -> int:
        out, limit, run = self._output(), 16, march.call
        while True:
            begun, steps = time.perf_counter(), int(self.count[ap.STEPS])
            self.frame[ap.LIMIT] = min(limit, self._stay) if self._stay else limit
            reason = run(self.address)
            spent, taken = time.perf_counter() - begun, int(self.count[ap.STEPS]) - steps
            k = int(self.count[ap.OUT])
            if k and (k == len(out[0]) or reason in (ap.FINISHED, ap.FAILED, ap.EVENT) or interruption.heard):
                self._add(rows, *(block[:k] for block in out))
                self.count[ap.OUT] = 0
            if show is not None:
                show(float(self.clock[ap.T]))
            if interruption.heard:
                return 0
            if reason == ap.EVENT:
                if self.events is None or not self.events(rows):
                    return reason
                if not self.clock[ap.T] < self.clock[ap.T_END]:
                    return ap.FINISHED
                out = self._output()
            elif reason == ap.ANALYSE:
                self.analyse_again()
            elif reason == ap.FAILED and self._inaccurate():
                self._fall_back()
                self.clock[ap.H_NEXT] = self.clock[ap.STEP]
            elif reason != ap.PAUSED:
                return reason
            elif self._stay:
                self._leave_library(taken)
            elif taken >= limit:
                limit = max(1, int(limit * min(8.0, CHUNK_TIME / max(spent, 1e-9))))

    def analyse_again(self) -> None:
        """New pivots when the old ones do not serve, then the library; when that fails too the march halves the step."""
        if self._stay or self.count[ap.RETRIED] == 1:
            return self._fall_back()
        self.count[ap.RETRIED] = 1
        try:
            self.analyse()
        except SingularMatrix:
            self._fall_back()
        except ValueError:  # a value is not finite
            self.count[ap.RETRIED] = 2

    def _fall_back(self) -> None:
        self.count[ap.RETRIED] = 2
        if not self._stay:
            self.use_library(self._next_stay)
            self._next_stay = min(2 * self._next_stay, LONGEST_STAY)

    def _leave_library(self, taken: int) -> None:
        """Own factors again after the stay, unless the matrix has no pivots for them yet."""
        if self._only_library:
            return
        self._stay = max(0, self._stay - taken)
        if self._stay == 0:
            try:
                self.analyse()
            except SingularMatrix:
                self._fall_back()
                self.count[ap.RETRIED] = 0

    def _inaccurate(self) -> bool:
        """Whether own factors solve the last system so badly that they may be why Newton's method failed."""
        lu = self.lu
        if lu is None or self._stay or not (np.all(np.isfinite(self.values)) and np.all(np.isfinite(self.r))):
            return False
        return lu.factorise(self.values) != OK or not lu.defect(self.values, self.r) <= 1e-3

    def undetermined(self) -> int | None:
        """An unknown that the last matrix does not determine, if it is singular."""
        try:
            SparseLU(*self.pattern, self.values, self.columns)
        except SingularMatrix as error:
            return error.column
        except ValueError:  # a value is not finite
            return None
        return None

    def statistics(self, seconds: float) -> dict[str, Any]:
        """The work that was done."""
        c = self.count
        reduced = {} if self.joints is None else {"unknowns": self.joints.unknowns, "switches": self.joints.switches}
        return {
            "steps": int(c[ap.STEPS]), "iterations": int(c[ap.ITERATIONS]), "factorisations": int(c[ap.FACTORISATIONS]),
            "halvings": int(c[ap.HALVINGS]), "rejected": int(c[ap.REJECTED]), "second_predictors": int(c[ap.PREDICTORS]),
            "line_searches": int(c[ap.SEARCHES]), "analyses": self.analyses, "unknowns": int(self.r.size),
            "nonzeros": int(self.values.size), "wall_time": seconds,
            "library_factorisations": 0 if self.library is None else self.library.factorisations,
            **reduced,
        }  # fmt: skip
