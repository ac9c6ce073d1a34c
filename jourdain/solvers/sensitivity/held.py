"""Rates and projections of states behind which memories and sampled inputs stand: native functions read these among the inputs."""

from __future__ import annotations

from typing import Any

from ...native.call import call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Record


class Holding(Record):
    """A function of (t, x) with the states behind its own, from ``first`` on, which go to ``places`` among the inputs u; of a rate theirs are zero."""

    t: Address
    x: Address
    out: Address
    function: Address
    args: Integers
    u: Floats
    places: Integers
    first: int
    rates: int


@jit
def put_held(x: int, first: int, count: int, places: Any, u: Any) -> None:
    """Puts held states among the inputs."""
    here = doubles(x, first + count)
    for i in range(count):
        u[places[i]] = here[first + i]


@kernel
def with_held(args: int) -> int:
    """Puts held states among the inputs, then calls the function."""
    a = Holding.at(args)
    put_held(a.x, a.first, a.places.size, a.places, a.u)
    inner = a.args
    inner[0], inner[1], inner[2] = a.t, a.x, a.out
    status = call(a.function, inner)
    if a.rates == 1:
        out = doubles(a.out, a.first + a.places.size)
        for i in range(a.places.size):
            out[a.first + i] = 0.0
    return status


__all__ = ["Holding", "put_held", "with_held"]
