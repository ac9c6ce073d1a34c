"""How a running study goes: designs so far, the best of them, the front and its hypervolume, the time left; on a bar, and on a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...progress import counted, somebody_looks
from ..news import News, Watch, check_watch
from .front import hypervolume, undominated
from .scalarised import FEASIBLE, Forms

if TYPE_CHECKING:
    from .problem import Problem
    from .space import Evaluated

#: Designs after which the reference of hypervolumes is fixed.
FIRST = 8


class Progress(News):
    """What a study knows of itself while it runs.  It hears of every design once, from its space of designs."""

    def __init__(self, problem: Problem, what: str, page: Any = None, bar: bool = False) -> None:
        super().__init__(what, page)
        self.problem = problem
        #: Whether a bar is shown, and whether anybody is told of designs.
        self.bar = bar and somebody_looks()
        self.wanted = self.bar or page is not None
        self.criteria, self.variables = list(problem.minimise), list(problem.variables)
        #: Designs that ran, a row each, and those of them that keep all constraints and are not dominated.
        self.values: list[np.ndarray] = []
        self.front: list[int] = []
        #: Where hypervolumes end: the largest values of the first designs.
        self.reference: np.ndarray | None = None
        self.best: tuple[float, int] | None = None
        self._known: set[bytes] = set()
        self._feasible: list[int] = []
        self._merit: Callable[[np.ndarray], float] | None = (lambda y: float(y[0])) if len(self.criteria) == 1 else None

    # -- what it hears ----------------------------------------------------------------------------------------------

    def hear(self, design: Evaluated) -> None:
        """A design was looked at, here or by a worker, or found in the store."""
        key = design.x.tobytes()
        if not self.wanted or key in self._known:
            return
        self._known.add(key)
        if design.values is None:
            self.fail(design.message)
        else:
            self._take(design.x, design.values)
        self.tell()

    def judge(self, forms: Forms, a: np.ndarray) -> None:
        """The objective by which one design is better than another from now on."""
        n = len(self.criteria)
        if forms.tau is None:
            self._merit = lambda y: float(a @ y)
        else:
            self._merit = lambda y: forms.tau_size * float(np.max(forms.B[:n] @ y - forms.row_upper[:n]))
        found = [(self._merit(self.values[i]), i) for i in self._feasible]
        self.best = min(found, default=None)

    def _take(self, x: np.ndarray, values: np.ndarray) -> None:
        problem, n, i = self.problem, len(self.criteria), len(self.values)
        self.values.append(values)
        held = zip(problem.subject_to.items(), values[n:], strict=True)
        feasible = all(c.violation(y) <= FEASIBLE * (problem.sizes[name] or 1.0) for (name, c), y in held)
        named = problem.space.named(x)
        self.row(values[:n], list(named.values()), feasible)
        if not feasible:
            return
        self._feasible.append(i)
        if self._merit is not None and (self.best is None or self._merit(values) < self.best[0]):
            self.best = (self._merit(values), i)
        if n > 1:
            rivals = [*self.front, i]
            kept = undominated(np.array([self.values[k][:n] for k in rivals]))
            self.front = [k for k, good in zip(rivals, kept, strict=True) if good]
        if len(self._feasible) == FIRST:
            self.reference = np.max([self.values[k][:n] for k in self._feasible], axis=0)

    # -- what it tells ----------------------------------------------------------------------------------------------

    @property
    def volume(self) -> float | None:
        """The hypervolume of the front so far, up to the largest values of the first designs; None of one criterion, or too early."""
        if self.reference is None or len(self.criteria) < 2 or not self.front:
            return None
        n = len(self.criteria)
        return hypervolume(np.array([self.values[i][:n] for i in self.front]), self.reference)

    @property
    def words(self) -> str:
        """Best so far, or front and hypervolume, in a few words."""
        if self.best is not None:
            return f"best {self.best[0]:.5g}"
        volume = self.volume
        return f"front of {len(self.front)}" + ("" if volume is None else f", hypervolume {volume:.4g}")

    @contextmanager
    def pieces(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """A stage of so many pieces; the function that is given is called at the end of each."""
        self.begin(what, total)
        asked = self.runs
        with counted(what, total, 0, self.bar) as tick:

            def piece() -> None:
                self.done += 1
                if asked == self.runs:  # all from the store: it says nothing of what others will take
                    self._stage = (time.monotonic(), self.done)
                tick(self.words)
                self.tell()

            yield piece

    @property
    def runs(self) -> int:
        """Runs and gradients of this call."""
        return self.problem.space.runs + self.problem.space.gradients

    @property
    def judged(self) -> Mapping[str, Any]:
        """The front with its hypervolume, and the best so far."""
        best = self.best
        return {
            "front": self.front, "volume": self.volume, "reference": None if self.reference is None else self.reference.tolist(),
            "best": None if best is None else {"value": best[0], "design": best[1]},
        }  # fmt: skip


@contextmanager
def watched(problem: Problem, what: str, watch: Watch, bar: bool = False) -> Iterator[Progress]:
    """The progress of a study of a problem, shown on a page if that is wanted: in the browser, or at an address that is handed to a function."""
    check_watch(what, watch)
    if watch:
        from ...view.study_page import study_page

        if problem.page is not None:
            problem.page.close()
        problem.page = study_page(
            f"{problem.analysis.system.model.name}: {what}", list(problem.minimise), {v.name: v.unit for v in problem.variables}, watch
        )
    progress = problem.progress = Progress(problem, what, problem.page if watch else None, bar)
    with progress.told():
        yield progress


__all__ = ["Progress", "Watch", "watched"]
