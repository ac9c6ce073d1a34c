"""Prescribed outputs of a model and the inputs that bring them about: inverse dynamics by servo constraints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..results.channel import Channel
from ..results.solution import Solution
from ..symbolic.expr import Expr, as_expr
from ..symbolic.graph import evaluate
from ..systems.assembled.audit import measured
from ..systems.assembled.channels import motion_of
from ..systems.assembled.inverse.along import Along
from ..systems.assembled.inverse.optimal import optimal_inverse
from ..systems.assembled.inverse.stable import stable_inverse
from ..systems.assembled.march import March
from ..systems.assembled.servo import at_instants, servo_report
from ..systems.assembled.start import InconsistentState
from ..systems.constraints import check_closed
from ..systems.inputs import Inputs
from .simulate import span_of

if TYPE_CHECKING:
    from ..systems.assembled.directors import DirectorSystem
    from ..systems.assembled.inverse.stable import Inverse
    from ..systems.assembled.program import Handle
    from ..systems.assembled.system import AssembledSystem
    from ..systems.state import State


INVERSIONS = ("causal", "stable", "optimal")


def track(
    formulation: DirectorSystem, outputs: Mapping[str, Any], x0: Any, t: float | Sequence[float], step: float = 1e-2, method: str | None = None,
    inputs: Mapping[str, Any] | None = None, adjust: bool = False, inversion: str = "causal", before: float | None = None,
    after: float | None = None, limits: Mapping[str, float] | None = None, effort: float | None = None, **options: Any,
) -> Solution:  # fmt: skip
    """Motion of a model in which expressions vanish at all times, each for one input of the model that is found.

    ``outputs`` gives by the name of an input an expression of sensors, coordinates and time, such as ``sensor.position.x - course(model.time)``;
    which input goes with which expression does not matter.  Inputs that do not act on the outputs directly (the drives of a crane on its
    load) are found by projection, which needs courses with four derivatives, ``method`` "generalized-alpha" (the default then), "newmark" or
    "backward-euler"; otherwise every method will do (default: "energy-momentum").  ``adjust`` moves the state to the nearest one that goes
    with the outputs and their derivatives.  The solution has the inputs among its channels; ``inputs`` gives values of others.

    ``inversion`` "causal" marches forward in time, which an internal motion that runs away forbids.  "stable" finds the bounded solution from ``before``
    seconds before the course to ``after`` seconds after it, with inputs that act before the outputs move (by default both are as long as the
    internal motion needs to decay to 1e-4); the course has to begin and end at rest.  "optimal" starts at rest and misses the course as little as inputs within ``limits`` (by name; without
    them: any) can, with ``effort`` (1e-8) as the weight of their squares.  Both are checked by a run forward in time with the inputs found, and tell what they found in
    ``metadata["inversion"]``.
    """
    model = formulation.model
    _check_outputs(formulation, outputs, inputs)
    if inversion not in INVERSIONS:
        raise InputError(f"track '{model.name}': inversion '{inversion}' is unknown; choose one of {', '.join(INVERSIONS)}")
    start = formulation.reference.state(x0)
    check_closed(formulation.reference, start)
    span = span_of(model.name, start.t, t)
    wanted: dict[str, Expr] = {n: as_expr(e) for n, e in outputs.items()}
    if inversion != "causal":
        if method or adjust or options:
            word = "method" if method else "adjust" if adjust else next(iter(options))
            raise InputError(f"track '{model.name}': '{word}' belongs to inversion='causal'; leave it out with inversion='{inversion}'")
        _check_for(model.name, inversion, {"limits": limits, "effort": effort})
        return _inverted(
            formulation, start, wanted, span, step, inputs or {}, inversion, before, after, limits or {}, 1e-8 if effort is None else effort
        )
    _check_for(model.name, inversion, {"before": before, "after": after, "limits": limits, "effort": effort})
    system = formulation.assembly(start, inputs, outputs=wanted).system
    report = servo_report(system, span[0])
    direct = report.realisation == "orthogonal"
    if not report.stable:
        warnings.warn(
            f"track '{model.name}': while the outputs follow their courses an internal motion runs away ({report.internal.real.max():.3g} 1/s); "
            f"take inversion='stable', prescribe other outputs (at most {report.minimum_phase:.3g} of the way from the inputs to these), or a shorter time",
            stacklevel=3,
        )
    if adjust:
        begun = system.servo_start(span[0])
        system.set_state(begun.q, begun.v)
    way = {"method": method or ("energy-momentum" if direct else "generalized-alpha"), "servo": "direct" if direct else "projected"}
    try:
        raw = system.simulate(span[1], step, start=span[0], **{**way, **options})
    except InconsistentState as error:
        raise InputError(f"track '{model.name}': {error}; adjust=True takes the nearest state that goes with the outputs") from None
    found = {n: at_instants(raw[f"servo.{n}"]) if direct else raw[f"servo.{n}"] for n in outputs}
    return formulation.told(start, raw, _inputs_at(formulation, inputs or {}, raw.t, found))


def _check_outputs(formulation: DirectorSystem, outputs: Mapping[str, Any], inputs: Mapping[str, Any] | None) -> None:
    model = formulation.model
    if not isinstance(outputs, Mapping):
        raise InputError(
            f"track '{model.name}': outputs {outputs!r} must be expressions by the names of inputs: {{'input': expression, …}}"
        )
    for name in outputs:
        if name in (inputs or {}):
            raise InputError(f"track '{model.name}': input '{name}' is to be found and given at once; leave it out of inputs")
        if name in model.memories or name in model.unknowns:
            raise InputError(f"track '{model.name}': '{name}' is set by the run itself and cannot bring an output about; name an input")
        if name not in model.inputs:
            raise InputError(f"track '{model.name}': there is no input '{name}'; there are {', '.join(model.inputs) or 'none'}")
    if not outputs:
        raise InputError(f"track '{model.name}': no outputs are given; give expressions that vanish, by the names of inputs")


def _check_for(name: str, inversion: str, given: Mapping[str, Any]) -> None:
    """Refuses options of another inversion."""
    theirs = {"before": "stable", "after": "stable", "limits": "optimal", "effort": "optimal"}
    for word, x in given.items():
        if x is not None and not (inversion == "optimal" and word in ("limits", "effort")):
            raise InputError(f"track '{name}': '{word}' belongs to inversion='{theirs[word]}'; leave it out with inversion='{inversion}'")


def _inverted(
    formulation: DirectorSystem, start: State, wanted: Mapping[str, Expr], span: tuple[float, float], step: float, inputs: Mapping[str, Any],
    inversion: str, before: float | None, after: float | None, limits: Mapping[str, float], effort: float,
) -> Solution:  # fmt: skip
    """The motion of an inversion, with a forward run beside it."""
    model, system = formulation.model, formulation.assembly(start, inputs, outputs=wanted).system
    if not step > 0.0:
        raise InputError(f"track '{model.name}': step = {step!r} s must be positive")
    report = servo_report(system, span[0])
    if report.index is None:
        raise InputError(
            f"track '{model.name}': the inputs {', '.join(wanted)} cannot steer the outputs ({'; '.join(report.unactuated or report.outputs)} without actuation); "
            "let inputs act on what the outputs depend on"
        )
    if inversion == "stable":
        found = stable_inverse(system, span, step, before, after)
    else:
        found = optimal_inverse(system, span, step, before or 0.0, after or 0.0, _limits(model.name, list(wanted), limits), effort)
    u = dict(zip([n.partition(".")[2] for n in found.names], found.inputs.T, strict=True))
    missed = _missed(formulation, start, inputs, system, found, u)
    free = system.equations.free
    away = [float(np.abs(found.q[k, free] - rest.q).max()) for k, rest in zip((0, -1), found.rests, strict=True)]
    told = {
        "kind": inversion, "index": report.index, "internal": [[float(x.real), float(x.imag)] for x in report.internal],
        "minimum_phase": report.minimum_phase, "before": span[0] - float(found.t[0]), "after": float(found.t[-1]) - span[1],
        "from_rest": away[0], "to_rest": away[1], "output_error": missed, "correction": found.error,
    }  # fmt: skip
    about = {
        "model": model.name,
        "method": "central differences",
        "step": float(found.t[1] - found.t[0]),
        "status": "finished",
        "inversion": told,
    }
    channels = motion_of(system.handles, system.instances, found.q, found.v) | measured(system.instances, found.q)
    channels |= {f"servo.{n}": Channel(x, model.inputs[n].unit, "input") for n, x in u.items()}
    raw = Solution(found.t, channels, about, {"newton_iterations": found.iterations}, system)
    return formulation.told(start, raw, _inputs_at(formulation, inputs, raw.t, u))


def _limits(name: str, wanted: Sequence[str], limits: Mapping[str, float]) -> np.ndarray:
    for n, x in limits.items():
        if n not in wanted or not float(x) > 0.0:
            raise InputError(f"track '{name}': limit {x!r} of '{n}' must be a positive number for one of {', '.join(wanted)}")
    return np.array([float(limits.get(n, np.inf)) for n in wanted])


def _missed(
    formulation: DirectorSystem,
    start: State,
    inputs: Mapping[str, Any],
    inverted: AssembledSystem,
    found: Inverse,
    u: Mapping[str, np.ndarray],
) -> float:
    """The largest error of an output in a run of the conserving scheme with the inputs found, from the first state found."""
    system = formulation.assembly(start, {**inputs, **{n: (found.t, x) for n, x in u.items()}}).system
    theirs = {h.name: h for h in system.handles}
    mine, other = (
        np.concatenate(part) for part in zip(*(_shared(h, theirs[h.name]) for h in inverted.handles if h.name in theirs), strict=True)
    )
    q, v = system.q0, system.v0
    q[other], v[other] = found.q[0, mine], found.v[0, mine]
    system.set_state(q, v)
    run = March(system, float(found.t[-1]), float(found.t[1] - found.t[0]), "energy-momentum", "bodies", start=float(found.t[0])).go()
    if run.wrong:
        return float("inf")
    t, forward = run.rows[:2]
    moved = np.tile(inverted.q0, (len(t), 1))
    moved[:, mine] = forward[:, other]
    along = Along(inverted, "track")
    return float(np.abs(along.rows_at(moved[:, along.free], t)[:, along.count - along.inputs :]).max())


def _shared(h: Handle, other: Handle) -> tuple[np.ndarray, np.ndarray]:
    """Places of the same block in two systems."""
    return h.offset + np.arange(h.size), other.offset + np.arange(h.size)


def _inputs_at(
    formulation: DirectorSystem, inputs: Mapping[str, Any], t: np.ndarray, found: Mapping[str, np.ndarray]
) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """All inputs of the model at some times: found ones interpolated, others as given."""
    reference, model = formulation.reference, formulation.model
    given = Inputs(reference, {n: x for n, x in inputs.items() if n not in found})
    constants, signals = given.constants, given.signals

    parameters = dict(zip(reference.equations_of_motion.p, reference.parameter_vector, strict=True))

    def at(times: np.ndarray, rows: np.ndarray) -> np.ndarray:
        table = np.tile(reference.input_values(constants), (len(times), 1))
        for i, (name, item) in enumerate(model.inputs.items()):
            if name in found:
                table[:, i] = np.interp(times, t, found[name])
            elif item.symbol in signals:
                table[:, i] = evaluate([signals[item.symbol]], {**parameters, model.time: times})[0]
        return table

    return at


__all__ = ["track"]
