"""Criteria and design problems of model files: ``[criteria.NAME]`` and ``[problems.NAME]``.

>>> import jourdain as jd
>>> model = jd.loads_model('''
... format = "jourdain"
... version = 1
... name = "oscillator"
... gravity = [0, 0, 0]
... [parameters.c]
... value = "0.3 N s/m"
... bounds = [0.1, 3.0]
... [bodies.mass]
... mass = "1 kg"
... [joints.x]
... kind = "prismatic"
... parent = "ground"
... child = "mass"
... axis = "x"
... [loads.spring]
... kind = "joint_spring"
... joint = "x"
... stiffness = "1 N/m"
... damping = "c"
... [initial]
... "x.displacement_rate" = 1.0
... [analyses.swing]
... verb = "simulate"
... t = "60 s"
... [criteria.shake]
... kind = "integral"
... expression = "x.displacement_acc^2"
... [problems.calm]
... analysis = "swing"
... variables = ["c"]
... minimise = ["shake"]
... ''')
>>> round(problem(model, "calm").optimise().values["c"], 4)
1.0
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from ...analysis.design import criteria as kinds
from ...analysis.design.criteria import Constraint, Criterion
from ...analysis.design.problem import Problem
from ...errors import InputError, JourdainError, nearest
from ...model.model import Model
from ...model.values import number
from .analyses import planned

#: Keys of a criterion that its function takes under another word.
_WORDS = {"class": "channel_class"}
_BOUND = re.compile(r"\s*(<=|>=|==|=)\s*(.+)")


def criteria(model: Model) -> dict[str, Criterion]:
    """The criteria that a model names."""
    return {name: _criterion(name, table) for name, table in model.criteria.items()}


def _criterion(name: str, table: Mapping[str, Any]) -> Criterion:
    given = {_WORDS.get(k, k): x for k, x in table.items() if k not in ("kind", "constants")}
    function = getattr(kinds, table["kind"])
    constants = {n: number(x, f"criterion '{name}': constant '{n}'") for n, x in table.get("constants", {}).items()}
    try:
        found: Criterion = function(**given, **constants)
    except JourdainError as error:
        raise type(error)(f"criterion '{name}': {error}") from None
    return found


def problem(
    model: Model | str | os.PathLike[str], name: str, settings: Mapping[str, Any] | None = None, variant: str | None = None
) -> Problem:
    """A design problem that a model, or a model file, names; ``settings`` replaces parameters, inputs and initial values."""
    if not isinstance(model, Model):
        from .model_file import load_model

        model = load_model(model, variant)
    table = _named(name, model.problems, "problem")
    known = criteria(model)
    try:
        pick = lambda n: _named(n, known, "criterion")
        held = {n: _constraint(n, pick(n), text) for n, text in table.get("subject_to", {}).items()}
        return Problem(planned(model, table["analysis"], settings), table["variables"], {n: pick(n) for n in table["minimise"]}, held)
    except JourdainError as error:
        raise type(error)(f"problem '{name}': {error}") from error


def weights(model: Model, name: str) -> dict[str, float] | None:
    """The weights that a problem is given in the file."""
    found = _named(name, model.problems, "problem").get("weights")
    return None if found is None else {n: number(x, f"problem '{name}': weight of '{n}'") for n, x in found.items()}


def _constraint(name: str, criterion: Criterion, text: str) -> Constraint:
    """A criterion with bounds: "<= 120 mm", ">= 0.1", "= 3", or "0.1 .. 0.2"."""
    low, dots, high = text.partition("..")
    if dots:
        return criterion.between(low.strip(), high.strip())
    found = _BOUND.fullmatch(text)
    if not found:
        raise InputError(f'constraint \'{name}\': {text!r} is no bound; write "<= 120 mm", ">= 0.1", "= 3" or "0.1 .. 0.2"')
    sign, bound = found[1], found[2].strip()
    return criterion <= bound if sign == "<=" else criterion >= bound if sign == ">=" else criterion.equals(bound)


def _named(name: str, known: Mapping[str, Any], what: str) -> Any:
    if name in known:
        return known[name]
    near = nearest(str(name), known, 2) or list(known)
    raise InputError(
        f"there is no {what} '{name}'; " + (f"there is {', '.join(near)}" if near else f"the model names none: add [{what}s.{name}]")
    )


__all__ = ["criteria", "problem", "weights"]
