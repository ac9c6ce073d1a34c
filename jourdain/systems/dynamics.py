"""What native runs and diagnostics ask of equations of motion in the coordinates in which they are integrated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from ..model.model import Model
    from ..native.function import Function
    from ..symbolic.function import SymbolicFunction
    from .configuration import Configuration


class Dynamics(Protocol):
    """Equations M(q) v̇ = f + Jᵀλ with q̇ = N(q) v and constraints, as compiled functions by name.

    A tree is its own dynamics; other formulations have theirs beside the joint coordinates in which they answer.
    """

    _functions: dict[Any, Function]
    #: Memory of ended runs, for the next ones.
    _idle: dict[Any, Any]

    @property
    def nq(self) -> int: ...

    @property
    def nv(self) -> int: ...

    @property
    def nz(self) -> int: ...

    @property
    def nu(self) -> int: ...

    @property
    def form(self) -> str: ...  # "straight" (line) or "looped" code

    @property
    def packed(self) -> bool: ...  # whether functions of its constraints are taken by the entries of their matrices (option ``packed``)

    @property
    def factors_mass(self) -> bool: ...  # whether accelerations of trees come from a factored mass matrix

    @property
    def equations_of_motion(self) -> Any: ...  # symbols, constraint rows (holonomic ones first) and patterns: Equations or like it

    @property
    def configuration(self) -> Configuration: ...

    @property
    def model(self) -> Model: ...

    @property
    def parameter_vector(self) -> np.ndarray: ...

    @property
    def coordinate_names(self) -> list[str]: ...

    @property
    def velocity_names(self) -> list[str]: ...

    def input_values(self, values: Mapping[str, float] | None = None) -> np.ndarray: ...

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction: ...

    def function(self, name: str, **options: Any) -> Function: ...

    def places(self, name: str, result: str, **options: Any) -> np.ndarray: ...  # of entries that may differ from zero


__all__ = ["Dynamics"]
