"""Power of the model's laws, split into what they dissipate and what they supply.

A law's power less the rate at which its potential energy falls is its non-conservative power.  The part of the law that
depends on velocities counts as dissipation (dampers, friction, drag), the rest as supply (motors, inputs, set forces); a law
with user states but neither time nor inputs (LuGre friction) is dissipation as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...model.contact.loads import TouchLoad
from ...symbolic.derivatives import jvp
from ...symbolic.expr import KINDS, ZERO, Expr, add, mul, sub
from ...symbolic.function import SymbolicFunction
from ...symbolic.functions import tanh
from ...symbolic.graph import free_symbols, substitute
from ..equations import FRICTION_SPEED, Equations
from ..functions.registry import assemble, builder, vector_result
from ..loads import power

_PASSIVE_IF_WITHOUT = KINDS["time"] | KINDS["input"]


def _at_rest(laws: Sequence[Expr]) -> list[Expr]:
    """Laws with every velocity they read set to zero; those of internal states alone vanish as a whole."""
    deps = 0
    for law in laws:
        deps |= law.deps
    if deps & KINDS["state"] and not deps & _PASSIVE_IF_WITHOUT:
        return [ZERO] * len(laws)
    still = {s: ZERO for s in free_symbols(laws) if s.deps & KINDS["velocity"]}
    return substitute(laws, still)


@builder
def load_powers(eq: Equations) -> SymbolicFunction:
    """Powers (W): dissipated by all laws, supplied by all laws."""
    flow = {**eq.flow, **dict(zip(eq.z, eq.state_rates, strict=True))}
    dissipated, supplied = ZERO, ZERO
    for load in eq.model.loads.values():
        if isinstance(load, TouchLoad):
            continue  # contacts have books of their own
        resting = power(load, eq, _at_rest(load.laws))
        dissipated = sub(dissipated, sub(power(load, eq, load.laws), resting))
        supplied = add(supplied, add(resting, jvp(eq.resolve([load.potential]), flow)[0]))
    for joint in eq.model.joints.values():
        drive = joint.drive
        if joint.coordinates and (drive.damping is not ZERO or drive.friction is not ZERO):
            v = eq.resolve([joint.coordinates[0].v[0]])[0]
            dissipated = add(dissipated, mul(v, add(mul(drive.damping, v), mul(drive.friction, tanh(v / FRICTION_SPEED)))))
    return assemble(eq, "load_powers", "t x u", [vector_result("P", [dissipated, supplied])], optional="a")


__all__ = ["load_powers"]
