"""Designs kept in a store: what was asked is the key, so that a study that was cut short goes on, and another one finds nothing of it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.identity import UnidentifiedError, identity
from ...results.store import Store
from .space import Evaluated, Variable

if TYPE_CHECKING:
    from .criteria import Criterion
    from .planned import Analysis


class Kept:
    """The designs of one study in a store: of one analysis, with its variables and criteria.  It can be sent to processes of this machine."""

    def __init__(self, store: Store, study: str, name: str) -> None:
        self.store, self.study, self.name = store, study, name
        self._known: dict[str, str] = store.answers(study)

    def find(self, x: np.ndarray, slopes: bool) -> Evaluated | None:
        """A design that is kept, as it was asked for: a run with derivatives ends steps where laws bend, and its values differ by rounding or more."""
        data = self._known.get(self._key(x, slopes))
        if data is None:
            return None
        found = json.loads(data)
        of = {n: None if found[n] is None else np.array(found[n]) for n in ("values", "slopes")}
        return Evaluated(np.array(x), of["values"], found["message"], of["slopes"], found.get("units"))

    def save(self, designs: Sequence[tuple[Evaluated, bool]]) -> None:
        """Commits designs, each with whether its derivatives were asked for."""
        rows = {}
        for e, slopes in designs:
            lists = {n: None if (y := getattr(e, n)) is None else y.tolist() for n in ("values", "slopes")}
            rows[self._key(e.x, slopes)] = json.dumps({**lists, "message": e.message, "units": e.units and dict(e.units)})
        new = {k: data for k, data in rows.items() if k not in self._known}
        if new:
            self.store.keep_answers(self.study, self.name, new)
            self._known |= new

    def _key(self, x: np.ndarray, slopes: bool) -> str:
        about = f"{self.study} {'slopes' if slopes else 'values'} ".encode()
        return sha256(about + np.ascontiguousarray(x, dtype=float).tobytes()).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return (Kept, (self.store, self.study, self.name))


def kept_in(
    store: Store | str | os.PathLike[str] | None, analysis: Analysis, variables: Sequence[Variable], criteria: Mapping[str, Criterion]
) -> Kept | None:
    """Where designs of a study are kept; None without a store, or where something in the analysis cannot be identified."""
    if store is None:
        return None
    found = store if isinstance(store, Store) else Store(store)
    name = f"{analysis.system.model.name}: {', '.join(criteria)} over {', '.join(v.name for v in variables)}"
    try:
        study = study_of(analysis, variables, criteria)
    except UnidentifiedError as error:
        warnings.warn(f"{name}: its designs are not kept ({error})", stacklevel=4)
        return None
    others = [n for key, (n, _) in found.studies().items() if key != study]
    if name in others and study not in found.studies():
        told = "another model, another start, other bounds, criteria or settings under the same names"
        warnings.warn(
            f"store '{found.path}' holds a study '{name}' that is not this one ({told}); this one begins anew beside it", stacklevel=4
        )
    return Kept(found, study, name)


def study_of(analysis: Analysis, variables: Sequence[Variable], criteria: Mapping[str, Criterion]) -> str:
    """A hash of all that decides what a design is worth."""
    from ... import __version__

    s = analysis.system
    model = s.model
    asked = {n: (c.kind, str(c.expression), dict(c.options), dict(c.constants)) for n, c in criteria.items()}
    return identity(
        {
            "version": __version__, "system": s, "structures": model.parameter_set.digest, "formulation": (s.formulation, s.options),
            "verb": analysis.verb, "arguments": (analysis.args, analysis.kwargs), "method": s.method, "defaults": s.input_values(),
            "events": [(e.name, e.direction, e.terminal) for e in model.events.values()],
            "callbacks": {name: c.function for name, c in model.callbacks.items()},
            "variables": [(v.name, v.lower, v.upper, v.span, v.offset, getattr(v, "values", None)) for v in variables], "criteria": asked,
        }
    )  # fmt: skip


__all__ = ["Kept", "kept_in", "study_of"]
