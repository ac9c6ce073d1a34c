"""Memories of a model in the energy-consistent engine: inputs that it holds, renewed by native code after each accepted step."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ...elements.element import symbols_of
from ...elements.of_model import OfModel
from ...native.function import Function, compile_function
from ...solvers.memory_log import make_log
from ...solvers.stepping import frame as ap
from ...symbolic.function import Argument, Result, SymbolicFunction

if TYPE_CHECKING:
    from ...solvers.stepping.run import Run
    from .from_model import DirectorAssembly


#: Functions that renew, for elements that are used again.
_MADE: WeakKeyDictionary[DirectorAssembly, tuple[Function, np.ndarray]] = WeakKeyDictionary()


def attach_memories(run: Run, built: DirectorAssembly) -> None:
    """Lets a run renew the memories of its model, if there are any."""
    names = list(built.model.memories)
    if not names:
        return
    from ...solvers.stepping.memories import renew

    f, gather = _MADE.get(built) or _MADE.setdefault(built, _renewal(built))
    run.memories = make_log(np.array([built.handles[f"input {n}"].offset for n in names], np.int64))
    run.frame.memories = ap.Memories(
        function=f.address, gather=gather, x=np.zeros(1 + 2 * len(gather)), work=np.zeros(max(1, f.signature.workspace)),
        args=np.zeros(4, np.int64), log=run.memories,
    )  # fmt: skip
    last = None
    for contacts in (built.contacts, *built.part_contacts):
        if contacts is not None and contacts.attach(run, built, last):
            last = contacts
    run.frame.renew = renew.address
    run.renewal, run.memory_names = f, names


def _renewal(built: DirectorAssembly) -> tuple[Function, np.ndarray]:
    """The new values as a function of time, coordinates and rates, and which coordinates these are."""
    updates = [built.numeric(e) for e in built.eq.memory_updates]
    element = OfModel(built.layout, updates)
    s, blocks = symbols_of(element), [built.handles[h] for h in element.attached.values()]
    q, v = (tuple(e for b in element.blocks for e in getattr(names_of, b)) for names_of in (s, s.velocity))
    new = tuple(element.written(updates, s, s.t, s.velocity))
    f = compile_function(
        SymbolicFunction("renewal", (Argument("x", (s.t, *q, *v)),), (Result("m", new, (len(new),)),), f"memories of {built.model.name}")
    )
    return f, np.array([h.offset + i for h in blocks for i in range(h.size)], np.int64)


__all__ = ["attach_memories"]
