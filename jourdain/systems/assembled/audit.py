"""Quantities of the states of an assembled system that its elements declare: what must vanish, and what is measured.

An angle that left the branch of the bodies' directions conserves energy and momenta perfectly (Uhlar, Sec. 5.1.1), so that only a
comparison with the directions themselves shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.element import symbols_of
from ...results.channel import Channel
from ...symbolic.graph import evaluate

if TYPE_CHECKING:
    from .instant import Equations
    from .program import Instance

#: An audited quantity above this is a failure; so is a violation of a constraint above this part of the coordinates' size.
LIMIT, BROKEN = 1e-6, 1e-4


def audit(instances: Sequence[Instance], q: np.ndarray) -> dict[str, Channel]:
    """Audited quantities by name ("instance.quantity") for rows of coordinates."""
    return {n: Channel(x, "", "must vanish") for n, x in _evaluated(instances, q, lambda e, s: e.audit(s)).items()}


def measured(instances: Sequence[Instance], q: np.ndarray) -> dict[str, Channel]:
    """What elements measure of a state (gaps of joints with play), as channels "instance.quantity"."""
    units: dict[str, str] = {}

    def quantities(e: Any, s: Any) -> list[tuple[str, Any]]:
        units.update({name: unit for name, unit, _ in e.measures(s)})
        return [(name, value) for name, _, value in e.measures(s)]

    found = _evaluated(instances, q, quantities)
    return {name: Channel(values, units[name.rpartition(".")[2]], "measured") for name, values in found.items()}


def _evaluated(instances: Sequence[Instance], q: np.ndarray, quantities: Callable[[Any, Any], Any]) -> dict[str, np.ndarray]:
    """Expressions of elements for rows of coordinates, all instances of a type at once."""
    groups: dict[Any, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.element.key, []).append(instance)
    found: dict[str, np.ndarray] = {}
    for members in groups.values():
        element = members[0].element
        s = symbols_of(element)
        asked = quantities(element, s)
        if not asked:
            continue
        values: dict[Any, np.ndarray] = {}
        for block in element.blocks:
            start = np.array([i.blocks[block].offset for i in members])
            values |= {e: q[:, start + k] for k, e in enumerate(getattr(s, block))}
        numbers, at = np.array([i.numbers for i in members]), 0
        for name, size in element.constants.items():
            given = getattr(s, name)
            values |= {e: numbers[:, at + k] for k, e in enumerate((given,) if size == 1 else given)}
            at += size
        for name, quantity in asked:
            result = np.broadcast_to(np.asarray(evaluate(quantity, values, check=False)), (len(q), len(members)))
            found |= {f"{i.name}.{name}": result[:, k] for k, i in enumerate(members)}
    return found


def come_apart(name: str, equations: Equations, violation: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> str:
    """Which constraint that followed from others at the start does not later, and where it is worst; nothing for large coordinates' rounding."""
    k = int(np.argmax(violation))
    if violation[k] <= BROKEN * max(1.0, float(np.abs(q[k]).max(initial=0.0))):
        return ""
    value = np.abs(equations.at(q[k], v[k], float(t[k])).value)
    instance, row = equations.row_names[int(np.argmax(value))]
    return (
        f"simulate '{name}': '{row}' of element '{instance}' is violated by {value.max():.3g} at t = {t[k]:.6g} s: it was left out, because it "
        "follows from other constraints where the run starts, but not everywhere; start from another position"
    )


def failed(name: str, audited: dict[str, Channel], astray: np.ndarray, t: np.ndarray) -> str:
    """What has left the bodies' directions, and when it began; ``astray`` is what the march has summed of it."""
    k = int(np.flatnonzero(~(astray < LIMIT))[0])
    quantity, value = max(((n, c.values[k]) for n, c in audited.items()), key=lambda found: abs(found[1]))
    return (
        f"simulate '{name}': '{quantity}' is {value:.3g} at t = {t[k]:.6g} s: the angle has left the bodies' directions "
        "(mirror branch, or more than a quarter turn in a step); take a smaller step or the robust form"
    )
