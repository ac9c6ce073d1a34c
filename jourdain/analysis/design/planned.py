"""An analysis that is planned: a verb of a system with its arguments, not yet run.

One object for files, gradients, problems, sweeps and workers: it runs with other values of parameters and initial values, its criteria are
evaluated and differentiated, and it can be sent to another process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InputError, nearest
from ...model.values import number
from ...results.solution import Solution
from ...solvers import AUTO, EXPLICIT
from ...systems.start import replaced
from ...systems.state import State
from ...told import told

if TYPE_CHECKING:
    from ...systems.system import System
    from ..gradients.gradient import Gradient
    from ..gradients.hessian import Hessian
    from .criteria import Criterion

#: Verbs that can be planned, with the argument of each that is a state, and its place behind the system.
VERBS: dict[str, tuple[str, int]] = {
    "simulate": ("x0", 0), "equilibrium": ("x0", 0), "modal": ("state", 0), "linearise": ("state", 0), "frequency_response": ("state", 3),
    "kinematics": ("x0", 2), "assemble": ("fixed", 0), "static_forces": ("state", 0), "inverse_dynamics_along": ("x0", 3),
}  # fmt: skip
#: The place of ``method`` among the arguments of ``simulate``.
METHOD_PLACE = 2


@told
class Analysis:
    """A verb of a system with its arguments, not yet run: ``Analysis(s, "simulate", {}, t=8.0).run()`` is ``s.simulate({}, t=8.0)``.

    Variables are named: parameters of the model, and initial values of coordinates, velocities and user states (``initial:name`` and
    ``parameter:name`` where a name means both).

    >>> from jourdain import library
    >>> swing = Analysis(library.pendulum().compile(), "simulate", {"hinge.angle": 0.1}, t=1.0)
    >>> swing.run({"length": 2.0})["hinge.angle"][-1].round(6)
    np.float64(-0.059931)
    """

    def __init__(self, system: System, verb: str, *args: Any, **kwargs: Any) -> None:
        if verb not in VERBS:
            near = nearest(str(verb), VERBS, 2)
            raise InputError(f"there is no analysis '{verb}'; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(VERBS)}"))
        self.system, self.verb, self.args, self.kwargs = system, verb, args, kwargs
        self._own = threading.local()

    def run(self, values: Mapping[str, Any] | None = None) -> Any:
        """The result of the verb, with some variables changed; the system keeps its own values."""
        if not values and not (self.verb == "simulate" and self.system.equations_of_motion.rows):
            return self._call(self.system, self.args, self.kwargs)
        values = values or {}
        system = self._changed(values)
        args, kwargs = self._started(system, self.initial_of(values))
        return self._call(system, args, kwargs)

    def completed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A design with the variables that follow from it: none here."""
        return dict(values)

    def evaluate(self, criteria: Any, values: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Runs the analysis, with some variables changed, and gives the values of criteria by name."""
        from ..gradients.gradient import evaluate
        from .combined import evaluated
        from .criteria import named

        return evaluated(named(criteria), lambda parts: evaluate(self, parts, values or {}))

    def gradient(
        self, criteria: Mapping[str, Criterion] | Sequence[Criterion] | Criterion, wrt: Sequence[str], method: str = "auto",
        values: Mapping[str, Any] | None = None, **options: Any,
    ) -> Gradient:  # fmt: skip
        """Values of criteria and their derivatives by variables; see :func:`jourdain.analysis.gradients.gradient.gradient`."""
        from ..gradients.gradient import gradient
        from .combined import differentiated
        from .criteria import named

        return differentiated(named(criteria), lambda parts: gradient(self, parts, wrt, method, values, **options))

    def hessian(
        self, criteria: Mapping[str, Criterion] | Sequence[Criterion] | Criterion, wrt: Sequence[str], direction: Any = None,
        method: str = "exact", values: Mapping[str, Any] | None = None,
    ) -> Hessian:  # fmt: skip
        """Second derivatives of criteria, or their products with a direction; see :func:`jourdain.analysis.gradients.hessian.hessian`."""
        from ..gradients.hessian import hessian
        from .combined import curved
        from .criteria import named

        return curved(named(criteria), lambda parts: hessian(self, parts, wrt, direction, method, values))

    # -- variables ------------------------------------------------------------------------------------------------

    def variable(self, name: str) -> tuple[str, str]:
        """What a variable is: ("parameter" or "initial", its own name)."""
        return self._sort(name)

    def _sort(self, name: str) -> tuple[str, str]:
        known: dict[str, tuple[str, str]] = self._own.__dict__.setdefault("kinds", {})
        found = known.get(name)
        if found is None:
            found = known[name] = self._kind_of(name)
        return found

    def _kind_of(self, name: str) -> tuple[str, str]:
        kind, colon, rest = name.partition(":")
        if colon and kind in ("parameter", "initial"):
            name = rest
        parameters, starts = self._names
        found = [k for k, names in (("parameter", parameters), ("initial", starts)) if name in names and (not colon or k == kind)]
        if len(found) == 1:
            return found[0], name
        joint = self.system.model.joints.get(name)
        of_joint = [n for c in (joint.coordinates if joint is not None else ()) for n in c.names if n in starts]
        if len(of_joint) == 1 and not found and kind != "parameter":
            return "initial", of_joint[0]
        if found:
            raise InputError(f"variable '{name}' is a parameter and an initial value; write 'parameter:{name}' or 'initial:{name}'")
        near = nearest(name, [*parameters, *starts], 3)
        told = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join([*parameters, *starts][:12])}"
        raise InputError(f"there is no variable '{name}' in '{self.system.model.name}'; {told}")

    @property
    def _names(self) -> tuple[dict[str, int], dict[str, None]]:
        """Names of parameters with their places, and of initial values."""
        found = self._own.__dict__.get("names")
        if found is None:
            known, s = self.system.model.parameter_set, self.system
            places = {p.name: i for i, p in enumerate(known)}
            parameters = {p.name: places[p.name] for p in known.listed}
            found = self._own.names = parameters, dict.fromkeys([*s.coordinate_names, *s.velocity_names, *s.model.states])
        return found  # type: ignore[no-any-return]

    def value_of(self, name: str) -> float:
        """The present value of a variable."""
        kind, own = self._sort(name)
        if kind == "parameter":
            return float(self.system.parameter_vector[self._names[0][own]])
        return float(self.start()[own])

    def initial_of(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Those of the values that are initial ones, by their own names."""
        found = {}
        for name, x in values.items():
            kind, own = self._sort(name)
            if kind == "initial":
                found[own] = number(x, f"initial value of '{own}'", self._unit(own))
        return found

    def _unit(self, name: str) -> str | None:
        s = self.system
        c = s.configuration
        if name in c.position_names:
            return c.units[c.position_names.index(name)] or None
        return None

    def start(self, values: Mapping[str, Any] | None = None) -> State:
        """The state from which a simulation starts."""
        system = self._changed(values or {})
        args, kwargs = self._started(system, self.initial_of(values or {}))
        given = kwargs.get(VERBS[self.verb][0], args[VERBS[self.verb][1]] if len(args) > VERBS[self.verb][1] else None)
        if isinstance(given, Solution):
            from ..simulate import end_of

            return end_of(system, given)
        return system.state(given)

    # -- running --------------------------------------------------------------------------------------------------

    def keeping_steps(self, **changes: Any) -> Analysis:
        """The same simulation with every step kept, and other options changed."""
        if self.verb != "simulate":
            return self
        left = ("times", "outputs", "dense", "progress", *(("step", "max_step") if "steps" in changes else ()))
        kwargs = {n: x for n, x in self.kwargs.items() if n not in left}
        if self.system.method == AUTO and "method" not in kwargs and len(self.args) <= METHOD_PLACE:
            kwargs["method"] = EXPLICIT  # steps are walked along or taken again by one method
        return self.like(**(kwargs | changes))

    def like(self, **kwargs: Any) -> Analysis:
        """The same verb of the same system with other options."""
        new = Analysis(self.system, self.verb, *self.args, **kwargs)
        new._own = self._own
        return new

    def _changed(self, values: Mapping[str, Any]) -> System:
        """The system itself, or one of this thread's own with other parameters."""
        changes = {own: x for name, x in values.items() for kind, own in [self._sort(name)] if kind == "parameter"}
        if not changes:
            return self.system
        own: System | None = getattr(self._own, "system", None)
        if own is None:
            own = self._own.system = self.system.copy()
        base, kept = _vector(self.system), self._own.__dict__.get("changed")
        if kept is not None and base is not None and kept[0] is base and kept[1] == changes and kept[2] is _vector(own):
            return own  # what was read of it, and what is compiled, has these values already
        own.set_parameters(**self.system.parameters | changes)
        self._own.changed = base, changes, _vector(own)
        return own

    def _started(self, system: System, initial: Mapping[str, float]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other initial values; loops of a start given by names are closed."""
        word, place = VERBS[self.verb]
        args, kwargs = list(self.args), dict(self.kwargs)
        if word in kwargs:
            given = kwargs[word]
        elif len(args) > place:
            given = args[place]
        else:
            if initial:
                kwargs[word] = dict(initial)
            return tuple(args), kwargs
        if self.verb == "simulate" and system.equations_of_motion.rows and not isinstance(given, Solution):
            given = self._closed(system, given, initial)
        elif initial:
            if isinstance(given, Solution):
                raise InputError(f"{self.verb} starts where another run ended; give its initial values by name to change them")
            given = _with_values(given, initial) if isinstance(given, State) else replaced(system, given or {}, initial)
        if word in kwargs:
            kwargs[word] = given
        else:
            args[place] = given
        return tuple(args), kwargs

    def _closed(self, system: System, given: Any, initial: Mapping[str, float]) -> State:
        """The start with closed loops; where parameters or initial values are other ones, its independent coordinates are held."""
        from ..equations.start_values import closed_again, closed_start

        key = self.system.parameter_vector
        kept = self._own.__dict__.get("start")
        if kept is None or kept[0] is not key or kept[1] is not given:
            kept = self._own.start = (key, given, closed_start(self.system, given))
        base: State = kept[2]
        if system is self.system and not initial:
            return base
        if not initial and not self.moves_loops(self._own.__dict__.get("changed", (None, ()))[1]):
            return base.with_values(system=system.reference)
        return closed_again(system, base, initial)

    def moves_loops(self, parameters: Iterable[str]) -> bool:
        """Whether closed positions and velocities change with one of these parameters."""
        found: set[str] | None = self._own.__dict__.get("moving")
        if found is None:
            from ..runs.rows import moving_loops

            found = self._own.moving = moving_loops(self.system)
        return not found.isdisjoint(parameters)

    def _call(self, system: System, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return getattr(system, self.verb)(*args, **kwargs)

    # -- itself ---------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {n: x for n, x in self.__dict__.items() if n != "_own"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _own=threading.local())

    def __repr__(self) -> str:
        given = [*map(_brief, self.args), *(f"{n}={_brief(x)}" for n, x in self.kwargs.items())]
        return f"<Analysis {self.system.model.name}: {self.verb}({', '.join(given)})>"


def _brief(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 60 else f"{type(x).__name__}(…)"


def _vector(system: System) -> Any:
    """The present values of parameters: another array with each change; None where a system has none."""
    return getattr(system.reference, "parameter_vector", None)


def _with_values(state: State, values: Mapping[str, float]) -> State:
    """A state with some entries replaced by name."""
    s = state.system
    q, v, z = state.q.copy(), state.v.copy(), state.z.copy()
    tables = ((s.configuration.position_names, q), (s.configuration.velocity_names, v), (list(s.model.states), z))
    for name, x in values.items():
        for names, array in tables:
            if name in names:
                array[names.index(name)] = x
    return state.with_values(q=q, v=v, z=z)


__all__ = ["VERBS", "Analysis"]
