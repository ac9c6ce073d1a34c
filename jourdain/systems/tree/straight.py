"""The order in which the constraints of a small mechanism are eliminated in straight-line code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import ModelError
from ...native.code import cached_array
from ...solvers.native_function import NativeFunction, address
from .partition import partition

if TYPE_CHECKING:
    from ...formalisms.loops.elimination import Block
    from ...native.function import Function
    from ...native.kernel import Kernel
    from ...native.record import Record
    from ..dynamics import Dynamics
    from .projected import NativeSystem

#: The most constraints, and the most of them that must be solved together.
MOST_ROWS, MOST_TOGETHER = 24, 6
#: Closed positions anywhere that are looked at, starts from which they are sought, and corrections to close one.
POSITIONS, STARTS, CORRECTIONS = 12, 40, 30
#: Closed positions around the neutral one, and how far from it they are (rad, m).
AROUND, DISTANCE = 6, 0.1
#: A position counts as closed below this residual (m, rad).
CLOSED = 1e-9
#: Surety above which more is worth nothing.
ENOUGH = 1e4


class General(NamedTuple):
    """A kernel that serves every position, with its arguments and what they refer to."""

    kernel: Kernel
    args: Record
    keep: list[object]

    @property
    def function(self) -> NativeFunction:
        """It, compiled."""
        return NativeFunction.of(self.kernel.address, self.args, self.keep)


def straight_order(system: Any) -> tuple[Block, ...]:
    """Rows and columns in the order of elimination, or nothing where kernels with pivoting serve better.

    It depends on the equations alone, not on where a run starts: another run of the same model computes the same numbers.
    """
    eq = system.equations_of_motion
    if (
        getattr(system, "formulation", "") != "recursive"
        or system.form == "looped"
        or not 0 < len(eq.rows) <= min(MOST_ROWS, system.nv - 1)
    ):
        return ()
    known: dict[str, tuple[Block, ...]] = eq.__dict__.setdefault("_straight_order", {})
    if "order" not in known:
        numbers = cached_array(
            (system.fingerprint, "order of elimination in a straight line, first of all around the neutral position"),
            lambda: _numbers(_best_order(system)),
        )
        known["order"] = _blocks(numbers.tolist())
    return known["order"]


def _numbers(order: tuple[Block, ...]) -> np.ndarray:
    """An order as whole numbers: of each block its size, rows and columns."""
    return np.array([k for rows, columns in order for k in (len(rows), *rows, *columns)], dtype=np.int64)


def _blocks(numbers: list[int]) -> tuple[Block, ...]:
    found: list[Block] = []
    while numbers:
        n = numbers[0]
        found.append((tuple(numbers[1 : n + 1]), tuple(numbers[n + 1 : 2 * n + 1])))
        numbers = numbers[2 * n + 1 :]
    return tuple(found)


def _best_order(system: Dynamics) -> tuple[Block, ...]:
    """The order that suits most closed positions around the neutral one, where mechanisms with stops and springs work, then most of those anywhere, if
    there is one that suits at least half of all."""
    from ...formalisms.functions.straight import surety
    from ...formalisms.loops.elimination import elimination_order

    eq = system.equations_of_motion
    pattern = np.zeros((len(eq.rows), system.nv), dtype=bool)
    for i, j in eq.constraint_jacobian:
        pattern[i, j] = True
    around = _closed_positions(system, _around(system), AROUND)
    places = around + _closed_positions(system, _anywhere(system), POSITIONS)
    tried: dict[tuple[Block, ...], list[float]] = {}
    for J, mass in places:
        try:
            parts = partition(J / np.sqrt(mass))
            order = elimination_order(J / np.sqrt(mass), pattern, sorted(parts.active), sorted(parts.dependent))
        except ModelError:
            continue
        if not parts.redundant and max(len(rows) for rows, _ in order) <= MOST_TOGETHER and order not in tried:
            tried[order] = [surety(A.tolist(), pattern.tolist(), m.tolist(), order) for A, m in places]
    scored = [
        (
            sum(s > 1.0 for s in found[: len(around)]),
            sum(s > 1.0 for s in found),
            sum(math.log(max(min(s, ENOUGH), 1e-9)) for s in found),
            order,
        )
        for order, found in tried.items()
    ]
    _, suits, _, best = max(scored, default=(0, 0, 0.0, ()))
    return best if 2 * suits >= max(1, len(places)) else ()


def _around(system: Dynamics) -> Iterator[np.ndarray]:
    """Positions around the neutral one, closed if it can be."""
    c, rng = system.configuration, np.random.default_rng(1)
    first = _closed(system, c.neutral())
    while first is not None:
        yield c.integrate(first, DISTANCE * rng.normal(size=system.nv))


def _anywhere(system: Dynamics) -> Iterator[np.ndarray]:
    """The neutral position, then any."""
    c, rng = system.configuration, np.random.default_rng(0)
    yield c.neutral()
    while True:
        yield c.random(rng)


def _closed_positions(system: Dynamics, guesses: Iterator[np.ndarray], most: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """J and the diagonal of M in closed positions near guesses, the same for every call."""
    terms, clock, still = system.function("descriptor"), np.zeros(1), np.zeros(system.nv + system.nz)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for guess in islice(guesses, STARTS):
        q = _closed(system, guess)
        if q is not None:
            M, _, J, *_ = terms(clock, np.concatenate([q, still]), system.input_values())
            mass = np.diag(M)
            if np.isfinite(J).all() and (mass > 0.0).all():
                found.append((J, mass.copy()))
        if len(found) == most:
            break
    return found


def _closed(system: Dynamics, q: np.ndarray) -> np.ndarray | None:
    """A closed position by Gauss–Newton, if it is found; of constraints of velocity alone any."""
    if not system.equations_of_motion.holonomic:
        return q
    f, clock = system.function("constraints"), np.zeros(1)
    for _ in range(CORRECTIONS):
        h, J = f(clock, q)
        if not np.isfinite(J).all() or not np.isfinite(h).all():
            return None
        if np.abs(h).max() < CLOSED:
            return q
        q = system.configuration.integrate(q, -np.linalg.lstsq(J, h, rcond=None)[0])
    return None


def straight_rates(native: NativeSystem, order: tuple[Block, ...], general: General) -> NativeFunction:
    """ẋ by straight-line code, by the general kernel where that does not suit."""
    from ...solvers.constraints.straight import Rates, straight_rates

    f, keep = native._function("straight_rates", order=order), [general]
    pointers, memory = _arguments(native, f, keep)
    place = len(f.signature.inputs)
    args = Rates(
        function=f.address, args=pointers, place=place, sure=memory["sure"], otherwise=general.kernel.late, otherwise_args=general.args.words.copy(),
    )  # fmt: skip
    return NativeFunction.of(straight_rates.address, args, keep)


def straight_projection(native: NativeSystem, order: tuple[Block, ...], general: General) -> NativeFunction:
    """The projection by straight-line code, by the general kernel where that does not suit."""
    from ...solvers.constraints.straight import Closing, straight_project

    s, f, keep = native.system, native._function("straight_closing", order=order), [general]
    pointers, memory = _arguments(native, f, keep)
    turns = np.array([i for pair in s.configuration.quaternions for i in pair], dtype=np.int64)
    args = Closing(
        nq=s.nq, nv=s.nv, function=f.address, args=pointers, quaternions=turns, none=np.zeros(s.nv), otherwise=general.kernel.late,
        otherwise_args=general.args.words.copy(), **memory,
    )  # fmt: skip
    return NativeFunction.of(straight_project.address, args, keep)


def _arguments(native: NativeSystem, f: Function, keep: list[Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Pointers of a function of t, x and u, and its results by their names."""
    memory = {name: np.zeros(max(1, math.prod(shape))) for name, shape in f.signature.outputs}
    constants, work = native._memory(f)
    given = [native.u if name == "u" else np.zeros(max(1, size)) for name, size in f.signature.inputs[2:]]
    keep += [f, memory, constants, work, given]
    return np.array([0, 0, *map(address, (*given, *memory.values(), constants, work))], dtype=np.int64), memory


__all__ = ["straight_order", "straight_projection", "straight_rates"]
