"""Derivatives of rates with contacts by penalty for a tree, as native code calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...formalisms.functions.touching import law_function
from ...model.contact.penalty_laws import Penalty
from ...native.lanes import aligned
from ...native.record import Table
from ...solvers.collision.records import Contact as Found
from ...solvers.native_function import address
from ...solvers.penalty.touch import CURVATURE, DEPTH, GIVEN, NORMAL, RATE, READ, WRENCH
from ...solvers.sensitivity import touched as by
from ...solvers.sensitivity.field import Field, Map, map_of
from ...symbolic.expr import Expr
from ..sensitivity import Derived

if TYPE_CHECKING:
    from ...formalisms.equations import Equations
    from ...model.model import Model
    from .projected import NativeSystem
    from .system import TreeSystem

#: Points that touch at once, at most, and points of one pair.
MOST_POINTS, OF_A_PAIR = 512, 64


def law_expressions(model: Model) -> dict[str, tuple[tuple[Expr, ...], list[Expr]]]:
    """What the laws of contacts read and give, in symbols, by the names of the contacts."""
    found = {}
    for c in model.contacts.values():
        if isinstance(c.law, Penalty):
            f = law_function(c.law, model.parameter_set.symbols)
            found[c.name] = f.inputs[0].symbols, list(f.outputs[0].expressions)
    return found


class TouchSlopes:
    """The motion of bodies and the laws of contacts with their derivatives, around the derivatives of rates with given wrenches."""

    def __init__(self, system: TreeSystem) -> None:
        self.model = system.model
        self.motion_expressions = list(system.symbolic("touching_motion").expressions)
        self._laws = law_expressions(self.model)

    @property
    def beside(self) -> list[Expr]:
        """Expressions whose constants are shared."""
        return [*self.motion_expressions, *(e for _, given in self._laws.values() for e in given)]

    def derive(self, derived: Any, motion: Derived) -> None:
        """Takes motion and laws with their derivatives; ``derived`` makes a function of arrays."""
        self.motion = motion
        self.laws: dict[str, Derived] = {
            name: derived(f"law of {name}", {"read": read}, given, ("read",)) for name, (read, given) in self._laws.items()
        }

    @property
    def functions(self) -> tuple[Derived, ...]:
        """All."""
        return self.motion, *self.laws.values()

    def attach(self, native: NativeSystem, field: Field, u: np.ndarray, eq: Equations) -> None:
        """Takes the contacts of a run."""
        assert native.touching is not None
        touch = native.touching.record
        touch.watch = 0
        room = min(len(touch.found), MOST_POINTS)
        n, nu, nc = field.n, len(eq.u), self.motion.nc
        bodies = len(native.touching.bodies)
        self.keep: list[Any] = [native]
        self.field, self.u = field, u
        self.record = by.Touched(
            touch=touch, lanes=1, n=n, nu=nu, nc=nc, u=u, laws=Table(by.LawSlopes, np.zeros(len(self.model.contacts), by.LawSlopes.dtype())),
            pair=Table(Found, np.zeros(OF_A_PAIR, Found.dtype())), who=np.zeros(3 * room, np.int64), read=np.zeros((room, READ)),
            by_motion=np.zeros((room, READ * by.TWISTS)), by_given=np.zeros((room, 2 * WRENCH * GIVEN)), fixed=np.zeros((room, 2 * WRENCH * by.TWISTS)),
            home=np.zeros(12), point=np.zeros(3), places=np.zeros(by.PLACES), slopes=np.zeros(by.PLACES * by.RELATIVE), y=np.zeros(by.TWISTS), axes=np.zeros(9),
            dread=np.zeros(READ), dgiven=np.zeros(GIVEN), dc=np.zeros(max(1, nc)), change=np.zeros(1 + n + nu), moved=np.zeros(max(1, 18 * bodies)),
            bar=np.zeros(1 + n + nu), cbar=np.zeros(max(1, nc)), back=np.zeros(1 + n),
            inner_push=map_of(None, 8), inner_pull=map_of(None, 8), motion_push=map_of(None, 8), motion_pull=map_of(None, 8),
        )  # fmt: skip

    def jumping(self) -> list[str]:
        """Contacts whose normal force jumps where bodies meet (Kelvin and Voigt's damping): it does not vanish with the depth."""
        found = []
        for name, law in self.laws.items():
            read = np.zeros(READ)
            read[RATE] = read[CURVATURE] = 1.0
            forces = []
            for read[DEPTH] in (1e-12, 1e-9):
                forces.append(float(np.asarray(law.value(read))[NORMAL]))
            if forces[0] > 0.5 * forces[1] > 0.0:
                found.append(name)
        return found

    def steep(self) -> bool:
        """Whether a force begins like depth^p with 1 < p < 2, whose slope has an infinite one where bodies meet (Hertz)."""
        for law in self.laws.values():
            read, forces = np.zeros(READ), []
            read[CURVATURE] = 1.0
            for read[DEPTH] in (1e-12, 1e-9):
                forces.append(float(np.asarray(law.value(read))[NORMAL]))
            if forces[0] > 0.0 and 1.05 < np.log10(forces[1] / forces[0]) / 3.0 < 1.95:
                return True
        return False

    def around(self, word: str) -> bool:
        """Whether contacts stand around the push or the pull of the rate."""
        return bool(getattr(self.field, word).function == (by.push if word == "push" else by.pull).address)

    def need(self, word: str) -> None:
        """Puts contacts around the push or the pull of the rate, if they are not yet."""
        record, kernel, outputs = self.record, *((by.push, 1) if word == "push" else (by.pull, 2))
        if self.around(word):
            return
        made, kept = self.motion.map(word, self.u, outputs)
        setattr(record, f"motion_{word}", made)
        setattr(record, f"inner_{word}", getattr(self.field, word))
        self.keep += kept
        for i, name in enumerate(self.model.contacts):
            if name in self.laws:
                law, kept = self.laws[name].map(word, self.u, outputs)
                record.laws.array[i][word], record.laws.array[i][f"{word}_args"] = law.function, address(law.args)
                self.keep += [law, *kept]
        setattr(self.field, word, self._kernel(kernel, record))

    def widen(self, field: Field) -> None:
        """The same for pushes of several directions at once."""
        self.need("push")
        lanes, narrow = field.lanes, self.record
        self.wide = record = narrow.copy()
        record.lanes, record.inner_push = lanes, field.push
        for name in ("change", "moved"):
            setattr(record, name, aligned(getattr(narrow, name).size * lanes))
        record.motion_push, kept = self.motion.lanes_map(self.u, lanes)
        self.keep += kept
        field.push = self._kernel(by.push, record)

    def _kernel(self, kernel: Any, record: by.Touched) -> Map:
        args = np.zeros(7, dtype=np.int64)
        args[2], args[-1] = address(self.u), record.address
        return Map(function=kernel.address, args=args)


__all__ = ["TouchSlopes", "law_expressions"]
