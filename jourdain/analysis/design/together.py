"""Several analyses of one design: a run over a bump, the modes, an equilibrium, perhaps of several models; criteria say by their names which they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import InputError, nearest
from ..gradients.gradient import Gradient
from .criteria import Criterion
from .studied import Studied


class Together(Studied):
    """Analyses by name; criterion "bump.comfort" is one of the analysis "bump".  Variables are those of any of them, by one name in all."""

    def __init__(self, analyses: Mapping[str, Any]) -> None:
        if not analyses:
            raise InputError('problem: give at least one analysis by name, such as {"bump": bump, "modes": modes}')
        self.analyses = dict(analyses)
        super().__init__(next(iter(analyses.values())), {n: (a.system, a.verb, a.args, a.kwargs) for n, a in analyses.items()})
        self.verb = " and ".join(a.verb for a in analyses.values())

    def _knowing(self, name: str) -> list[Any]:
        """The analyses that have a variable."""
        found = []
        for a in self.analyses.values():
            try:
                a.variable(name)
            except InputError:
                continue
            found.append(a)
        return found

    def owner_of(self, name: str) -> Any:
        """The first analysis that has a variable."""
        return self._knowing(name)[0]

    def variable(self, name: str) -> tuple[str, str]:
        """What a variable is."""
        found = self._knowing(name)
        return (found[0] if found else self.analysis).variable(name)

    def value_of(self, name: str) -> float:
        """The present value of a variable, which must be one in all analyses that have it."""
        values = [float(a.value_of(name)) for a in self._knowing(name) or [self.analysis]]
        if max(values) != min(values):
            raise InputError(f"variable '{name}' has other values in the analyses ({', '.join(f'{x:g}' for x in values)}); give it one")
        return values[0]

    def _unit(self, name: str) -> str | None:
        found = self._knowing(name)
        return (found[0] if found else self.analysis)._unit(name)

    def _own(self, a: Any, values: Mapping[str, Any]) -> dict[str, Any]:
        return {n: x for n, x in values.items() if a in self._knowing(n)}

    def _asked(self, criteria: Mapping[str, Criterion]) -> dict[str, dict[str, Criterion]]:
        """Criteria of each analysis."""
        found: dict[str, dict[str, Criterion]] = {}
        for name, c in criteria.items():
            owner = next((n for n in sorted(self.analyses, key=len, reverse=True) if name.startswith(f"{n}.")), None)
            if owner is None:
                near = nearest(name.partition(".")[0], self.analyses, 1) or list(self.analyses)
                raise InputError(
                    f"criterion '{name}' names none of the analyses; write '{near[0]}.{name}' (there are {', '.join(self.analyses)})"
                )
            found.setdefault(owner, {})[name] = c
        return found

    def run(self, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The results of all analyses by name."""
        return {n: a.run(self._own(a, values or {})) for n, a in self.analyses.items()}

    def evaluate(self, criteria: Mapping[str, Criterion], values: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Criteria at a design."""
        found: dict[str, float] = {}
        for owner, asked in self._asked(criteria).items():
            a = self.analyses[owner]
            found |= a.evaluate(asked, self._own(a, values or {}))
        return {n: found[n] for n in criteria}

    def gradient(
        self, criteria: Mapping[str, Criterion], wrt: Sequence[str], method: str = "auto", values: Mapping[str, Any] | None = None
    ) -> Gradient:
        """Derivatives of all criteria; zero by variables that an analysis does not have."""
        names, values = list(criteria), dict(values or {})
        found: dict[str, float] = {}
        matrix = np.zeros((len(names), len(wrt)))
        methods: list[str] = []
        notes: list[str] = []
        last: Gradient | None = None
        for owner, asked in self._asked(criteria).items():
            a = self.analyses[owner]
            own = [n for n in wrt if a in self._knowing(n)]
            if not own:
                found |= a.evaluate(asked, self._own(a, values))
                continue
            last = a.gradient(asked, own, method, self._own(a, values))
            found |= last.values
            matrix[np.ix_([names.index(n) for n in asked], [list(wrt).index(n) for n in own])] = last.matrix
            methods.append(last.method)
            notes += last.notes
        if last is None:
            raise InputError(f"gradient: none of the analyses has a variable of {', '.join(wrt)}")
        present = {n: float(values.get(n, self.value_of(n))) for n in wrt}
        return replace(
            last, criteria=dict(criteria), values={n: found[n] for n in names}, variables=present, matrix=matrix, method=" and ".join(dict.fromkeys(methods)),
            result=None, notes=tuple(dict.fromkeys(notes)),
        )  # fmt: skip

    def set_parameters(self, **values: float) -> None:
        """Gives parameters of a design to all systems that have them."""
        for a in self.analyses.values():
            a.system.set_parameters(**{n: x for n, x in values.items() if n in a.system.parameters})


__all__ = ["Together"]
