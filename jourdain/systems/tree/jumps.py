"""What events of a model do to the state of a run: called from Python, or by native code in the midst of a march."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ...native.call import address as at
from ...native.call import call, doubles
from ...native.kernel import kernel
from ...native.record import Address, Floats, Integers, Record
from ...solvers.native_function import NativeFunction

#: What a jump returns whose numbers are not finite.
NOT_A_STATE = 105


class Jumping(Record):
    """A function f(t, x) → the state after a jump, the projection onto constraints (0: there are none), and room for a state."""

    t: Address
    x: Address
    out: Address
    function: Address
    args: Integers
    project: Address
    project_args: Integers
    room: Floats


@kernel
def jumped(args: int) -> int:
    """The state after a jump, in place of that before it."""
    a = Jumping.at(args)
    inner, put = a.args, a.project_args
    inner[0], inner[1], inner[2] = a.t, a.x, at(a.room)
    status = call(a.function, inner)
    if status == 0 and a.project != 0:
        put[0], put[1], put[2] = a.t, at(a.room), at(a.room)
        status = call(a.project, put)
    out = doubles(a.out, a.room.size)
    for i in range(a.room.size):
        if not abs(a.room[i]) < math.inf:
            return NOT_A_STATE
        out[i] = a.room[i]
    return status


class Jump:
    """The action of an event: ``jump(t, x)`` is the state after it, with constraints closed again."""

    def __init__(self, function: NativeFunction, project: NativeFunction | None, n: int) -> None:
        self.function, self.project, self.n = function, project, n

    def __call__(self, t: float, x: np.ndarray) -> np.ndarray:
        new = np.zeros(self.n)
        self.function(t, x, new)
        if self.project is not None:
            self.project(t, new, new)
        return new

    @cached_property
    def native(self) -> NativeFunction:
        """The same for a march."""
        f, put = self.function, self.project
        of = Jumping(
            function=f.address, args=f.own_arguments(), project=0 if put is None else put.address, project_args=np.zeros(3, np.int64) if put is None else put.own_arguments(),
            room=np.zeros(self.n),
        )  # fmt: skip
        return NativeFunction.of(jumped.address, of, f, put)


__all__ = ["Jump", "jumped"]
