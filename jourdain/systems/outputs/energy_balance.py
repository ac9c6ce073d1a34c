"""Energy bookkeeping along a solution: what laws dissipate, what inputs, drives and moving constraints supply.

    T(t) + V(t) = T(0) + V(0) + supplied − dissipated + error

Powers are integrated after the run by Gauss–Legendre quadrature with four points in each step on the method's dense output
(cubic Hermite polynomials where none was kept, straight lines with rigid contacts), so the books are as accurate as the states between the steps: the quadrature
itself is of order eight.  What is lost in jumps at events counts as dissipated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ...model.contact.methods import touches
from ...results.channel import Channel
from ...symbolic.expr import KINDS
from ..pushed import touches_rigidly
from .reactions import constrained_accelerations, state_rates

if TYPE_CHECKING:
    from ..compiled import Compiled

States = Callable[[np.ndarray], np.ndarray]
Inputs = Callable[[np.ndarray, np.ndarray], np.ndarray]
#: Channels that depend on the whole run before them.
BOOKS = ("energy.dissipated", "energy.supplied", "energy.error")


@cache
def gauss() -> tuple[np.ndarray, np.ndarray]:
    """Gauss' four nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(4)  # NumPy loads its polynomials when they are asked for
    return 0.5 * (nodes + 1.0), 0.5 * weights


def drives(system: Compiled) -> bool:
    """Whether drives or moving constraints may supply energy."""
    eq = system.equations_of_motion
    return bool(eq.tree.prescribed) or any(r.nonholonomic or r.expression.deps & KINDS["time"] for r in eq.rows)


def powers(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, driven: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Powers (W) dissipated, supplied (by what is ``driven``, too), and taken by contacts whose surfaces give way, at states in rows."""
    f = system.function("load_powers")
    accelerations = [constrained_accelerations(system, t, x, u)[0]] if "a" in f.inputs else []
    table = f(t[:, None], x, u, *accelerations)
    dissipated, supplied = table[:, 0], table[:, 1].copy()
    if driven:
        nq, nv = system.nq, system.nv
        a, lam = constrained_accelerations(system, t, x, u)
        supplied += system.function("supplied_power")(t[:, None], x[:, :nq], x[:, nq : nq + nv], a, x[:, nq + nv :], u, lam)[:, 0]
    contacts = np.zeros(len(t))
    if touches(system.model):
        contacts -= system.function("touching_power")(t[:, None], x, u)[:, 0]
    return dissipated, supplied, contacts


def _between_rows(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> States:
    """States between samples by cubics with the rates of both ends; by straight lines where rigid contacts make velocities jump."""
    rates = None if touches_rigidly(system.model) else state_rates(system, t, x, u)

    def at(times: np.ndarray) -> np.ndarray:
        k = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(t) - 2)
        h = (t[k + 1] - t[k])[:, None]
        s = (times - t[k])[:, None] / h
        if rates is None:
            return (1 - s) * x[k] + s * x[k + 1]
        return _cubic(s, h, x[k], x[k + 1], rates[k], rates[k + 1])

    return at


def _cubic(s: np.ndarray, h: np.ndarray, a: np.ndarray, b: np.ndarray, da: np.ndarray, db: np.ndarray) -> np.ndarray:
    return (1 + 2 * s) * (1 - s) ** 2 * a + s * (1 - s) ** 2 * h * da + s * s * (3 - 2 * s) * b + s * s * (s - 1) * h * db


def work(
    system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, states: States | None, inputs_at: Inputs, driven: bool,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    """Energy dissipated, supplied (by what is ``driven``, too) and taken by contacts (J) from the first sample to each sample, jumps apart."""
    books = tuple(np.zeros((3, len(t))))
    steps = np.flatnonzero(np.diff(t) > 0)
    if len(steps) == 0:
        return books
    find = _between_rows(system, t, x, u) if states is None else states
    h = t[steps + 1] - t[steps]
    nodes, weights = gauss()
    times = (t[steps][:, None] + h[:, None] * nodes).ravel()
    inside = find(times)[:, : x.shape[1]]
    inside[:, : system.nq] = system.configuration.normalise(inside[:, : system.nq])
    parts = powers(system, times, inside, inputs_at(times, inside), driven)
    for total, power in zip(books, parts, strict=True):
        total[steps + 1] = h * (power.reshape(len(steps), -1) @ weights)
        np.cumsum(total, out=total)
    return books


def energy_channels(
    system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, total: Callable[[], np.ndarray], states: States | None,
    inputs_at: Inputs, taken: Callable[[], np.ndarray] | None = None, stored: Callable[[], np.ndarray] | None = None,
    given: Callable[[], np.ndarray] | None = None, scheme: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None,
) -> dict[str, Channel]:  # fmt: skip
    """Lazy channels ``energy.dissipated``, ``energy.supplied`` and ``energy.error`` (J); ``taken`` is what else the run has dissipated, ``stored`` what
    contacts hold, which have a channel ``contacts.dissipated`` of their own then, ``given`` what drives supplied where the run itself knows it, ``scheme`` what was
    dissipated and supplied by the books of a scheme that keeps them step by step: contacts that last no longer than some steps have no other exact ones."""
    cache: list[np.ndarray] = []

    def books() -> list[np.ndarray]:
        if not cache:
            known = given() if given is not None and drives(system) else None
            dissipated, supplied, contacts = work(system, t, x, u, states, inputs_at, known is None and drives(system))
            energy = total()
            if stored is not None:
                held = stored()
                if scheme is None:
                    contacts = contacts - (held - held[:1])
                else:
                    taken_in_steps, supplied = scheme()
                    contacts = taken_in_steps - dissipated
                energy, dissipated = energy + held, dissipated + contacts
            jumps = np.zeros(len(t))
            same = np.flatnonzero(np.diff(t) == 0)
            more = np.zeros(len(t)) if taken is None else taken()
            jumps[same + 1] = energy[same] - energy[same + 1] - (more[same + 1] - more[same])  # what contacts took is told by them
            if known is not None:
                struck = np.r_[False, (np.diff(t) == 0) & (np.diff(more) != 0)]  # velocities jump, and drives hold against the impulses
                supplied = supplied + known - np.cumsum(np.where(struck, jumps, 0.0))
                jumps[struck] = 0.0
            dissipated = dissipated + np.cumsum(jumps) + more
            cache.extend([dissipated, supplied, energy - energy[:1] - supplied + dissipated - more[:1], contacts])
        return cache

    own = {} if stored is None else {"contacts.dissipated": Channel(lambda: books()[3], "J", "energy taken by contacts")}
    return own | {
        "energy.dissipated": Channel(lambda: books()[0], "J", "work taken by dampers, friction, drag and impacts"),
        "energy.supplied": Channel(lambda: books()[1], "J", "work done by inputs, set forces, drives and moving constraints"),
        "energy.error": Channel(lambda: books()[2], "J", "kinetic + potential (+ stored in contacts) - initial - supplied + dissipated"),
    }
