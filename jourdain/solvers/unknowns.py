"""Algebraic unknowns of a right-hand side: found by Newton's method with exact derivatives before each evaluation.

The compiled function gives, from (t, x) and the unknowns among the inputs, their values after one step of Newton's method, the residuals of
their equations, and the sizes of the terms by which these change over the step.  Each search begins at the values of the last accepted step, so that no trial step decides where the next one ends.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..native.call import address as at
from ..native.call import call, doubles, words
from ..native.kernel import jit, kernel
from ..native.record import Address, Floats, Integers, Record
from .memory_log import MemoryLog, Noted, make_log, take
from .native_function import NativeFunction, address

#: What a search that does not converge returns; a method with error control takes a smaller step.
NOT_FOUND = 21
#: Largest number of steps, and of halvings of one.
STEPS, HALVINGS = 60, 40
#: A step that is smaller than this part of an unknown ends the search: the error left is about its square.
SMALL = 1e-9
#: Where residuals do not become smaller any more, unknowns are as exact as rounding allows if their steps are below this.
ROUNDING = 1e-8


class Unknowns(Record):
    """The function and its arguments (t, x, result, …), the inputs with the places of the unknowns, where searches begin (in `log`: found
    values), what the function gave, the last point and step, scales; which residual was worst where none was found."""

    function: Address
    args: Integers
    u: Floats
    places: Integers
    start: Floats
    log: MemoryLog
    out: Floats
    last: Floats
    way: Floats
    scale: Floats
    n: int
    m: int
    bad: int
    t_bad: float
    residual: float


@jit
def _evaluate(s: Unknowns, t: int, x: int) -> float:
    """The next values and the residuals at the present unknowns; the largest residual over its largest size so far."""
    args = s.args
    args[0], args[1], args[2] = t, x, at(s.out)
    if call(s.function, args) != 0:
        return math.inf
    worst = 0.0
    for i in range(s.m):
        r, size = abs(s.out[s.n + i]), s.out[s.n + s.m + i]
        if not r + size < math.inf:
            return math.inf
        s.scale[i] = max(s.scale[i], size)
        if s.scale[i] > 0.0:
            worst = max(worst, r / s.scale[i])
    return worst


@jit
def _change(s: Unknowns) -> float:
    """The largest step of an unknown over its size."""
    worst = 0.0
    for i in range(s.n):
        w, new = s.u[s.places[i]], s.out[i]
        d = abs(new - w)
        if not d < math.inf:
            return math.inf
        if d > 0.0:
            worst = max(worst, d / (abs(w) + abs(new)))
    return worst


@jit
def _small(s: Unknowns) -> bool:
    """Whether steps are nothing but rounding against unknowns of the size of one or more."""
    worst = 0.0
    for i in range(s.n):
        w = s.last[i]
        worst = max(worst, abs(s.way[i]) / (1.0 + abs(w)))
    return worst < ROUNDING


@jit
def _fail(s: Unknowns, t: int) -> int:
    """Note where no solution was found, and which equation is worst."""
    s.bad, s.residual = 0, 0.0
    for i in range(s.m):
        r = abs(s.out[s.n + i])
        if not r <= s.residual:
            s.bad, s.residual = i, r
    s.t_bad = doubles(t, 1)[0]
    return NOT_FOUND


@jit
def find(s: Unknowns, t: int, x: int) -> int:
    """Put the unknowns at (t, x), whose addresses are given, among the inputs: 0, or NOT_FOUND."""
    u, places, last, way, n = s.u, s.places, s.last, s.way, s.n
    for i in range(n):
        u[places[i]] = s.start[i]
    for i in range(s.m):
        s.scale[i] = 0.0
    merit = _evaluate(s, t, x)
    if not merit < math.inf:
        return _fail(s, t)
    for _ in range(STEPS):
        change = _change(s)
        for i in range(n):
            last[i] = u[places[i]]
            way[i] = s.out[i] - last[i]
            u[places[i]] = s.out[i]
        if change <= SMALL:
            s.bad = -1
            return 0
        if not change < math.inf:
            return _fail(s, t)
        before, part = merit, 1.0
        merit = _evaluate(s, t, x)
        for k in range(HALVINGS):
            if merit <= (1.0 - 1e-4 * part) * before or merit == 0.0:
                break
            if k > 2 and _small(s):
                for i in range(n):
                    u[places[i]] = last[i] + way[i]
                s.bad = -1
                return 0
            part *= 0.5
            for i in range(n):
                u[places[i]] = last[i] + part * way[i]
            merit = _evaluate(s, t, x)
        else:
            return _fail(s, t)
    return _fail(s, t)


@kernel
def find_then(args: int) -> int:
    """Find the unknowns, then call a function of (t, x): args = t, x, result, unknowns, address, its arguments."""
    a = words(args, 6)
    status = find(Unknowns.at(a[3]), a[0], a[1])
    if status != 0:
        return status
    inner = words(a[5], 3)
    inner[0], inner[1], inner[2] = a[0], a[1], a[2]
    return call(a[4], a[5])


@kernel
def find_before(args: int) -> int:
    """The same for a function whose arguments begin with t, x and stand behind two words, its address and the unknowns."""
    head, a = words(args - 16, 2), words(args, 2)
    status = find(Unknowns.at(head[1]), a[0], a[1])
    if status != 0:
        return status
    return call(head[0], args)


@kernel
def settle(args: int) -> int:
    """Find the unknowns at an accepted point, where the next searches begin: args = t, x, unused, unknowns."""
    a = words(args, 4)
    s = Unknowns.at(a[3])
    status = find(s, a[0], a[1])
    if status != 0:
        return status
    for i in range(s.n):
        s.log.new[i] = s.u[s.places[i]]
    take(s.log, s.start, doubles(a[0], 1)[0])
    return 0


class Search:
    """The unknowns of one native system."""

    def __init__(self, function: NativeFunction, u: NDArray[np.float64], places: NDArray[np.int64], residuals: int) -> None:
        n = len(places)
        self._keep: Any = function
        #: Values at accepted points.
        self.noted: Noted = []
        self.record = Unknowns(
            function=function.address, args=function.args.view(np.int64).copy(), u=u, places=places, start=u[places],
            log=make_log(np.arange(n)), out=np.zeros(n + 2 * residuals), last=np.zeros(n), way=np.zeros(n), scale=np.zeros(max(1, residuals)),
            n=n, m=residuals, bad=-1,
        )  # fmt: skip

    def before(self, f: NativeFunction) -> NativeFunction:
        """A function that finds the unknowns before it calls another."""
        inner = np.zeros(max(3, f.args.size), dtype=np.uintp)
        inner[: f.args.size] = f.args
        args = np.array([0, 0, 0, self.record.address, f.address, address(inner)], dtype=np.uintp)
        return NativeFunction(find_then.address, args, (self, inner, f))

    def headed(self, function: int, pointers: NDArray[np.uintp]) -> tuple[int, NDArray[np.uintp]]:
        """Function and arguments by which native code finds the unknowns before it calls a function with pointers (t, x, …)."""
        whole = np.concatenate([np.array([function, self.record.address], dtype=np.uintp), pointers])
        return find_before.address, whole[2:]

    def settling(self) -> NativeFunction:
        """What is done at an accepted point."""
        return NativeFunction(settle.address, np.array([0, 0, 0, self.record.address], dtype=np.uintp), (self,))

    def memory(self) -> list[NDArray[Any]]:
        """Arrays that change from step to step."""
        return [self.record.start, self.record.words]
