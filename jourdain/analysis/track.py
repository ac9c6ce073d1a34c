"""Prescribed outputs of a model and the inputs that bring them about: inverse dynamics by servo constraints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..results.solution import Solution
from ..symbolic.expr import Expr, as_expr
from ..symbolic.graph import evaluate
from ..systems.assembled.runs import translated
from ..systems.assembled.servo import at_instants, servo_report
from ..systems.assembled.start import InconsistentState
from ..systems.constraints import check_closed
from ..systems.inputs import Inputs
from .simulate import span_of

if TYPE_CHECKING:
    from ..systems.assembled.directors import DirectorSystem


def track(
    formulation: DirectorSystem, outputs: Mapping[str, Any], x0: Any, t: float | Sequence[float], step: float = 1e-2, method: str | None = None,
    inputs: Mapping[str, Any] | None = None, adjust: bool = False, **options: Any,
) -> Solution:  # fmt: skip
    """Motion of a model in which expressions vanish at all times, each for one input of the model that is found.

    ``outputs`` gives by the name of an input an expression of sensors, coordinates and time, such as ``sensor.position.x - course(model.time)``;
    which input goes with which expression does not matter.  Inputs that do not act on the outputs directly (the drives of a crane on its
    load) are found by projection, which needs courses with four derivatives, ``method`` "generalized-alpha" (the default then), "newmark" or
    "backward-euler"; otherwise every method will do (default: "energy-momentum").  ``adjust`` moves the state to the nearest one that goes
    with the outputs and their derivatives.  The solution has the inputs among its channels; ``inputs`` gives values of others.
    """
    from ..systems.assembled.from_model import DirectorAssembly

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
    start = formulation.reference.state(x0)
    check_closed(formulation.reference, start)
    span = span_of(model.name, start.t, t)
    wanted: dict[str, Expr] = {n: as_expr(e) for n, e in outputs.items()}
    system = DirectorAssembly(formulation.own, start, inputs, outputs=wanted).system
    report = servo_report(system, span[0])
    direct = report.realisation == "orthogonal"
    if not report.stable:
        warnings.warn(
            f"track '{model.name}': while the outputs follow their courses an internal motion runs away ({report.internal.real.max():.3g} 1/s); "
            "prescribe other outputs, or a shorter time",
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
    return translated(formulation, start, raw, _inputs_at(formulation, inputs or {}, raw.t, found))


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
