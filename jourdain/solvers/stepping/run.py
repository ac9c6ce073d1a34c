"""One run of an assembled system: the arrays of the state, the march in chunks, analyses of the matrix, what to say at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...native import record
from ...progress import TimeBar
from ..interruption import CHUNK_TIME, Interruption
from ..kept import Kept
from ..linear.block_lu import factors_of
from ..linear.library_lu import LibraryLU
from ..linear.sparse_lu import OK, SingularMatrix, SparseLU
from ..memory_log import MemoryLog, Noted, collect
from . import frame as ap
from .kernels import accept, assemble, begin, evaluate, finish, move
from .march import march, newton

#: Numbers kept in one block of output.
BLOCK = 1 << 20
#: Longest stay, in steps, with a library's factors before own pivots are tried again; the first stay is one step, each later one twice as long.
LONGEST_STAY = 1024


class Rows:
    """Output of a run: times, coordinates, rates, multipliers, books; of any size, see :class:`.Kept`."""

    def __init__(self) -> None:
        #: Rows with the same number of multipliers, in order of time.
        self._parts: list[tuple[int, Kept]] = []

    def __len__(self) -> int:
        return sum(len(part) for _, part in self._parts)

    def add(self, *blocks: np.ndarray) -> None:
        """Appends copies of five blocks."""
        width = blocks[3].shape[1]
        if not self._parts or self._parts[-1][0] != width:
            self._parts.append((width, Kept()))
        self._parts[-1][1].add(*(block.copy() for block in blocks))

    def joined(self) -> tuple[np.ndarray, ...]:
        """All rows in five arrays; multipliers that came later are zero before."""
        parts = [list(part.joined()) for _, part in self._parts]
        if len(parts) == 1:
            return tuple(parts[0])
        width = max(width for width, _ in self._parts)
        for part in parts:
            part[3] = np.pad(part[3], ((0, 0), (0, width - part[3].shape[1])))
        return tuple(map(np.concatenate, zip(*parts, strict=True)))


def _second_order(plan: ap.Plan, size: int) -> np.ndarray:
    """Which coordinates are not of first order."""
    found = np.ones(size, bool)
    found[plan.first.array["coordinate"]] = False
    return found


class Run:
    """The memory of one integration and its march.

    ``pattern`` is the matrix by columns (starts, rows), ``columns`` the order of elimination, ``coefficients`` those of the scheme.
    """

    def __init__(
        self, plan: ap.Plan, pattern: tuple[np.ndarray, np.ndarray], columns: np.ndarray, coefficients: tuple[float, ...],
        q0: np.ndarray, v0: np.ndarray, z0: np.ndarray, tolerance: float = 1e-12, max_iterations: int = 20,
    ) -> None:  # fmt: skip
        self.vec, self.book = ap.Vectors(q0.size), np.zeros(ap.BOOK)
        self.scheme, self.clock, self.control, self.count = ap.Scheme(), ap.Clock(), ap.Control(), ap.Count()
        self.frame = ap.Frame(
            vec=self.vec, scheme=self.scheme, clock=self.clock, control=self.control, count=self.count, book=self.book,
            audit=np.zeros(ap.AUDIT_SIZE), events=ap.Event.table([]), n_q=q0.size,
        )  # fmt: skip
        self._second = _second_order(plan, q0.size)
        self._set_state(coefficients, q0, v0, tolerance, max_iterations)
        self.analyses = 0
        #: Acts at an event; says whether the run goes on.
        self.events: Callable[[Rows], bool] | None = None
        #: What a law or jump in Python raised.
        self.error: Exception | None = None
        #: Values of the guards of events.
        self.guards = ap.Guards(0)
        #: Memories, when they became what, and the compiled function that renews them.
        self.memories: MemoryLog | None = None
        self.noted: Noted = []
        self.renewal: Any = None
        self.memory_names: list[str] = []
        #: Column in the output of every multiplier.
        self.multiplier_columns: np.ndarray | None = None
        self._only_library = False
        self._blocks: tuple[np.ndarray, ...] | None = None
        self.adopt(plan, pattern, columns, z0)

    def _set_state(self, coefficients: tuple[float, ...], q0: np.ndarray, v0: np.ndarray, tolerance: float, max_iterations: int) -> None:
        self.vec.q0, self.vec.q1, self.vec.v0 = q0, q0, v0
        for name, value in zip(ap.Scheme.struct.fields, coefficients, strict=False):
            setattr(self.scheme, name, value)
        self.control.tolerance, self.control.contraction, self.count.max_iterations = tolerance, 1e-2, max_iterations
        second = self._second
        self.clock.size = max(1e-8, float(np.abs(q0[second]).max(initial=0.0 if second.any() else 1.0)))

    def renew(
        self, coefficients: tuple[float, ...], q0: np.ndarray, v0: np.ndarray, z0: np.ndarray, tolerance: float, max_iterations: int
    ) -> None:
        """As if it were new, with the same tables and memory: for another run of the same equations."""
        for part in (self.vec.array, self.book, self.lam.array, self.scheme.words, self.clock.words, self.control.words, self.count.words):
            part[...] = 0
        self._set_state(coefficients, q0, v0, tolerance, max_iterations)
        self.analyses, self.error = 0, None
        self.z.start = self.z.end = z0
        self._set_peak()

    @property
    def plain(self) -> bool:
        """Whether nothing but state and time has changed since it was made, so that it can be renewed."""
        own = self.lu is not None and self.library is None and self.joints is None
        return own and self.events is None and self.memories is None and self.renewal is None and self.multiplier_columns is None

    def _set_peak(self) -> None:
        q = np.abs(self.vec.q0)
        #: Sizes that first-order coordinates have had; zero for all others.
        self.peak[:] = np.where(self._second, 0.0, np.maximum(q, 1e-6 * self.clock.size))

    def adopt(self, plan: ap.Plan, pattern: tuple[np.ndarray, np.ndarray], columns: np.ndarray, z0: np.ndarray) -> None:
        """Goes on from the present state with other equations for the same coordinates: constraints released, parameters changed."""
        self.plan, self.pattern, self.columns = plan, pattern, columns
        plan.fill(self.frame)
        self.lam, self.z = ap.Multipliers(plan.multiplier_rows.size), ap.History(z0.size)
        self.z.start = self.z.end = z0
        self._second, self.peak = _second_order(plan, self.vec.q0.size), np.zeros(self.vec.q0.size)
        self._set_peak()
        self.r, self.delta, self.values = np.zeros(plan.unknowns), np.zeros(plan.unknowns), np.zeros(pattern[1].size)
        self.lu: SparseLU | None = None
        self._analysed: np.ndarray | None = None  # the values that its pivots were chosen for
        self.library: LibraryLU | None = None
        self.joints: Any = None
        self._stay, self._next_stay = 0, 1  # steps to be done with the library's factors
        f = self.frame
        f.lam, f.history, f.peak, f.r, f.values, f.delta = self.lam, self.z, self.peak, self.r, self.values, self.delta
        f.evaluate, f.move = evaluate.address, move.address
        f.newton, f.finish, f.accept = newton.address, finish.address, accept.address

    @property
    def address(self) -> int:
        """Where native code finds the frame."""
        return self.frame.address

    def save(self, *names: str) -> dict[str, Any]:
        """Copies of arrays and records of the run: of those named, or of all."""
        return {
            k: x.copy() for k, x in vars(self).items() if (k in names if names else isinstance(x, (np.ndarray, record.Record, record.Rows)))
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Back to what was saved."""
        for name, kept in saved.items():
            mine = getattr(self, name)
            if isinstance(mine, np.ndarray):
                mine[...] = kept
            else:
                mine.restore(kept)

    def set_time(self, start: float, end: float, step: float, every: int = 1) -> None:
        """The span, the step (largest step when adaptive) and the number of steps from output to output."""
        c = self.clock
        c.t = c.t_start = start
        c.t_end, c.step, c.h, c.h_next = end, step, min(step, end - start), step
        c.t_grid = start + step if start + step < end - 1e-6 * step else end
        c.t_rate1 = c.t_rate2 = -np.inf
        c.h_min = step * 2.0**-20
        self.count.every = every

    def set_adaptive(self, rtol: float, atol: float, first: float) -> None:
        """Lets the step follow the error of the coordinates."""
        self.count.adaptive = 1
        self.control.rtol, self.control.atol = rtol, atol
        self.clock.h_next = self.clock.h = first

    def matrix(self, which: int = ap.TANGENT, predicted: bool = True) -> np.ndarray:
        """Values of the matrix of a step from the present state (its residual is in ``r``)."""
        self.count.which, self.count.mode = which, ap.PREDICT if predicted else ap.APPLY
        assemble.call(self.address)
        return self.values

    def analyse(self) -> None:
        """Pivots and fill for the present values, and own factors from now on."""
        lu = self.lu
        if lu is None or self._analysed is None or not np.array_equal(self._analysed, self.values):
            self.lu = lu = factors_of(*self.pattern, self.values, self.columns)
            self._analysed = self.values.copy()
        lu.frame.made_for = 0.0
        self.analyses += 1
        self._stay = 0
        lu.frame.ax = self.values
        self.frame.lu, self.frame.row_scale = lu.frame, lu.row_scale
        self.frame.factorise, self.frame.solve = lu.functions

    def use_library(self, steps: int | None = None) -> None:
        """Factors by a library for some steps, or for good."""
        if self.library is None:
            self.library = LibraryLU(*self.pattern, self.values)
        self._stay, self._only_library = steps or LONGEST_STAY, steps is None
        self.frame.lu = self.library.frame
        self.frame.factorise, self.frame.solve = self.library.functions

    def use_library_again(self) -> None:
        """Goes on with the library when the run is to use nothing else."""
        if self._only_library:
            self.use_library()

    def use_joints(self, joints: Any, frame: int, newton: int) -> None:
        """Solves steps in joint coordinates: with the frame and the function of a joint space instead of the sparse factors."""
        self.joints = joints
        self.frame.reduced, self.frame.newton = frame, newton

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
                with TimeBar(self.clock.t, self.clock.t_end) as bar:
                    return rows, self._loop(rows, interruption, bar.at)
            return rows, self._loop(rows, interruption, None)

    def add_state(self, rows: Rows) -> None:
        """Appends the present state and books to the output."""
        self._add(rows, np.array([self.clock.t]), self.vec.q0[None], self.vec.v0[None], self.lam.last[None], self.book[None])

    def _add(self, rows: Rows, t: np.ndarray, q: np.ndarray, v: np.ndarray, lam: np.ndarray, book: np.ndarray) -> None:
        if self.multiplier_columns is not None:
            given, lam = lam, np.zeros((len(t), int(self.multiplier_columns.max(initial=-1)) + 1))
            lam[:, self.multiplier_columns] = given
        rows.add(t, q, v, lam, book)

    def _output(self) -> tuple[np.ndarray, ...]:
        """Blocks for output; what was in them has been copied."""
        n, m, f = self.frame.n_q, self.lam.last.size, self.frame
        if self._blocks is None or self._blocks[3].shape[1] != m:
            room = max(4, min(4096, BLOCK // (2 * n + m + ap.BOOK + 1)))
            self._blocks = np.empty(room), np.empty((room, n)), np.empty((room, n)), np.empty((room, m)), np.empty((room, ap.BOOK))
        f.out_t, f.out_q, f.out_v, f.out_lam, f.out_book = self._blocks
        f.room = len(self._blocks[0])
        return self._blocks

    def _loop(self, rows: Rows, interruption: Any, show: Callable[[float], None] | None) -> int:
        out, limit, run = self._output(), 16, march.call
        while True:
            begun, steps = time.perf_counter(), self.count.steps
            self.frame.limit = min(limit, self._stay) if self._stay else limit
            reason = run(self.address)
            spent, taken = time.perf_counter() - begun, self.count.steps - steps
            k = self.count.out
            if k and (k == len(out[0]) or reason in (ap.FINISHED, ap.FAILED, ap.EVENT) or interruption.heard):
                self._add(rows, *(block[:k] for block in out))
                self.count.out = 0
            if self.memories is not None and self.memories.used == len(self.memories.t):
                collect(self.memories, self.noted)
            if show is not None:
                show(self.clock.t)
            if interruption.heard:
                return 0
            if reason == ap.EVENT:
                try:
                    if self.events is None or not self.events(rows):
                        return reason
                except Exception as error:  # of a jump in Python: what was done before it is kept
                    self.error = error
                    return ap.FAILED
                if not self.clock.t < self.clock.t_end:
                    return ap.FINISHED
                out = self._output()
            elif reason == ap.ANALYSE:
                self.analyse_again()
            elif reason == ap.FAILED and self._inaccurate():
                self._fall_back()
                self.clock.h_next = self.clock.step
            elif reason != ap.PAUSED:
                return reason
            elif self._stay:
                self._leave_library(taken)
            elif taken >= limit:
                limit = max(1, int(limit * min(8.0, CHUNK_TIME / max(spent, 1e-9))))

    def analyse_again(self) -> None:
        """New pivots when the old ones do not serve, then the library; when that fails too the march halves the step."""
        if self._stay or self.count.retried == 1:
            return self._fall_back()
        self.count.retried = 1
        try:
            self.analyse()
        except SingularMatrix:
            self._fall_back()
        except ValueError:  # a value is not finite
            self.count.retried = 2

    def _fall_back(self) -> None:
        self.count.retried = 2
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
                self.count.retried = 0

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

    def remember(self) -> dict[str, np.ndarray]:
        """What a run of the same equations needs to go on as if this one had never stopped."""
        return {"vec": self.vec.array.copy(), "lam": self.lam.array.copy(), "z": self.z.array.copy(), "step": np.array([self.clock.h_next])}

    def recall(self, memory: Mapping[str, np.ndarray]) -> None:
        """Takes over the memory of an earlier run; one of other equations is left alone."""
        own = {"vec": self.vec.array, "lam": self.lam.array, "z": self.z.array}
        if all(memory[n].shape == x.shape for n, x in own.items()):
            for n, x in own.items():
                x[...] = memory[n]
            if self.count.adaptive:
                self.clock.h_next = self.clock.h = float(memory["step"][0])

    def statistics(self, seconds: float) -> dict[str, Any]:
        """The work that was done."""
        c = self.count
        reduced = {} if self.joints is None else {"unknowns": self.joints.unknowns, "switches": self.joints.switches}
        return {
            "steps": c.steps, "iterations": c.iterations, "factorisations": c.factorisations, "halvings": c.halvings,
            "rejected": c.rejected, "second_predictors": c.predictors, "line_searches": c.searches, "analyses": self.analyses, "unknowns": int(self.r.size),
            "nonzeros": int(self.values.size), "wall_time": seconds,
            "library_factorisations": 0 if self.library is None else self.library.factorisations,
            **reduced,
        }  # fmt: skip
