"""Expressions of criteria: texts and expressions of the model in the symbols of its equations, compiled together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, nearest
from ...formalisms.functions.instants import readable
from ...formalisms.functions.registry import vector_result
from ...formalisms.functions.tree import multiplier_symbols, reaction_names
from ...native.function import Function, compile_function
from ...symbolic.expr import KINDS, Expr, symbol
from ...symbolic.function import Argument, SymbolicFunction
from ...symbolic.graph import free_symbols
from ...systems.outputs.reactions import constrained_accelerations, multiplier_channel

if TYPE_CHECKING:
    from ...systems.system import System
    from ..design.criteria import Criterion

_COMPONENTS = ("x", "y", "z")


@dataclass(frozen=True, eq=False)
class Expressions:
    """What criteria speak of, by their names: resolved expressions of t, q, v, a, z, u, p, multipliers and constants of their own."""

    system: System
    resolved: Mapping[str, Expr]
    #: Constants of criteria by "criterion.constant": symbol and value.
    constants: Mapping[str, tuple[Expr, float]]
    #: What criteria read of the forces that joints transmit, by criterion: contact forces of rigid surfaces are not in them.
    transmitted: Mapping[str, str] = field(default_factory=dict)
    #: Those that are compiled.
    readers: dict[tuple[str, ...], Reader] = field(default_factory=dict, repr=False)

    @property
    def parameters(self) -> tuple[Expr, ...]:
        """Symbols of the parameters and behind them of the constants."""
        return (*self.system.equations_of_motion.p, *(s for s, _ in self.constants.values()))

    def parameter_values(self, p: np.ndarray | None = None) -> np.ndarray:
        """Values in that order."""
        own = self.system.parameter_vector if p is None else p
        return np.concatenate([own, [x for _, x in self.constants.values()]])

    def with_constants(self, values: Mapping[str, float]) -> Expressions:
        """The same with other values of constants."""
        return replace(self, constants={n: (s, float(values.get(n, x))) for n, (s, x) in self.constants.items()})

    def function(self, names: tuple[str, ...]) -> SymbolicFunction:
        """The expressions of some criteria as a function of t, x, u, accelerations a and multipliers lam."""
        eq = self.system.equations_of_motion
        inputs = [Argument("t", (eq.t,)), Argument("x", (*eq.q, *eq.v, *eq.z)), Argument("u", eq.u)]
        inputs += [Argument("a", eq.a), Argument("lam", multiplier_symbols(eq))]
        if self.parameters:
            inputs.append(Argument("p", self.parameters))
        return SymbolicFunction("criteria", tuple(inputs), (vector_result("y", [self.resolved[n] for n in names]),))

    def reader(self, names: tuple[str, ...]) -> Reader:
        """The expressions of some criteria along rows of states, with the present values of parameters and constants."""
        if names not in self.readers:
            self.readers[names] = Reader(self, names)
        found = self.readers[names]
        if self.parameters:
            p = self.parameter_values()
            if not np.array_equal(p, found.function.parameters):
                found.function.set_parameters(p)
        return found


class Reader:
    """Values of expressions at times, states and inputs in rows; accelerations and multipliers are found where they are needed."""

    def __init__(self, expressions: Expressions, names: tuple[str, ...]) -> None:
        self.system = expressions.system
        symbolic = expressions.function(names)
        used = {s.id for s in free_symbols(symbolic.expressions)}
        self.moving = any(s.id in used for a in symbolic.inputs if a.name in ("a", "lam") for s in a.symbols)
        self.function: Function = compile_function(symbolic, expressions.parameter_values() if expressions.parameters else None)

    def __call__(self, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        s, m = self.system.reference, len(self.system.equations_of_motion.rows)
        if self.moving:
            a, lam = constrained_accelerations(s, t, x, u)
        else:
            a, lam = np.zeros((len(t), s.nv)), np.zeros((len(t), m))
        known = {"t": t[:, None], "x": x, "u": u, "a": a, "lam": lam}
        given = [np.ascontiguousarray(known[n]) for n in self.function.inputs]
        found: np.ndarray = np.atleast_2d(self.function(*given))
        return found.reshape(len(t), -1)


def expressions_of(system: System, criteria: Mapping[str, Criterion], more: Mapping[str, Expr] | None = None) -> Expressions:
    """The expressions of criteria that have one; ``more`` are further names that they may speak of."""
    eq = system.equations_of_motion
    constants: dict[str, tuple[Expr, float]] = {}
    found: dict[str, Expr] = {}
    transmitted: dict[str, str] = {}
    for name, c in criteria.items():
        if c.expression is None:
            continue
        own = {n: symbol(f"{name}.{n}", "parameter") for n in c.constants}
        constants |= {f"{name}.{n}": (own[n], x) for n, x in c.constants.items()}
        try:
            forces: list[str] = []
            e = parsed(system, c.expression, {**(more or {}), **own}, forces) if isinstance(c.expression, str) else c.expression
            if forces:
                transmitted[name] = forces[0]
            found[name] = eq.resolve([e])[0]
        except InputError as error:
            raise InputError(f"criterion '{name}': {error}") from None
    known = {s.id for s in (eq.t, *eq.q, *eq.v, *eq.a, *eq.z, *eq.u, *eq.p, *multiplier_symbols(eq))}
    known |= {s.id for s, _ in constants.values()} | {s.id for s in (more or {}).values()}
    for name, e in found.items():
        strange = [s.name for s in free_symbols([e]) if s.id not in known]
        if strange:
            raise InputError(f"criterion '{name}': '{strange[0]}' is nothing of the model '{system.model.name}'")
    return Expressions(system, found, constants, transmitted)


def depends_on_time_only(e: Expr) -> bool:
    """Whether nothing of the motion is in an expression."""
    return not e.deps & ~(KINDS["time"] | KINDS["parameter"])


def parsed(system: System, text: str, own: Mapping[str, Expr], forces: list[str] | None = None) -> Expr:
    """The expression written as text; constants come first, then what model files know, then channels of solutions.

    Names of multipliers and of forces that joints transmit go to ``forces``.
    """
    from ...io.model_files.expression_language import ExpressionError, parse_expression
    from ...io.model_files.names import ModelNames

    names = ModelNames(system.model)
    eq = system.equations_of_motion
    channels = readable(eq)

    class Scope:
        def find(self, name: str, kind: str | None = None) -> Expr:
            if kind is None and name in own:
                return own[name]
            if kind is None and not names._kinds(name):
                if name in channels:
                    return channels[name]()
                force = _reaction(system, name)
                if force is not None:
                    if forces is not None:
                        forces.append(name)
                    return force
                near = nearest(name, [*own, *channels, *(f"{s}.{q}.{c}" for s in system.model.sensors for q in ("position", "velocity", "acceleration") for c in _COMPONENTS)], 3)  # fmt: skip
                if near:
                    raise ExpressionError(f"there is nothing called '{name}' here; did you mean {', '.join(near)}?")
            return names.find(name, kind)

        def function(self, name: str):  # type: ignore[no-untyped-def]
            return names.function(name)

    return parse_expression(text, Scope())


def _reaction(system: System, name: str) -> Expr | None:
    """A multiplier, or a component of the force or torque that a joint transmits."""
    eq = system.equations_of_motion
    rows = {multiplier_channel(r.name): s for r, s in zip(eq.rows, multiplier_symbols(eq), strict=True)}
    if name in rows:
        return rows[name]
    head, _, component = name.rpartition(".")
    joint, _, quantity = head.rpartition(".")
    names = reaction_names(eq)
    if component not in _COMPONENTS or quantity not in ("reaction", "reaction_torque") or joint not in names:
        return None
    table = system.symbolic("reactions").outputs[0].expressions
    column = _COMPONENTS.index(component) + 3 * (quantity == "reaction_torque")
    return table[6 * names.index(joint) + column]


__all__ = ["Expressions", "Reader", "depends_on_time_only", "expressions_of", "parsed"]
