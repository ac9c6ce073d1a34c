"""What the integration front needs to know of a method: its kernels, its constants and its appetite for memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _no_integers() -> NDArray[np.int64]:
    return np.zeros(4, dtype=np.int64)


@dataclass(frozen=True)
class Method:
    """A numerical method for x' = f(t, x) as two native functions and the sizes of the memory they use.

    `constants[0]` is the order used by the choice of the first step; `work(n)` and `integers(n)` give the workspace
    for n states, `degree` the highest degree of the interpolant, `past` the number of stored past points.
    """

    name: str
    order: int
    adaptive: bool
    step: int
    dense: int
    constants: NDArray[np.float64]
    work: Callable[[int], int]
    degree: int
    integers: NDArray[np.int64] = field(default_factory=_no_integers)
    integer_work: Callable[[int], int] = field(default=lambda n: 0)
    needs_jacobian: bool = False
    needs_time_derivative: bool = False
    second_order: bool = False
    stiff: bool = False
    one_step: bool = True
    past: int = 0
    #: The part of a step below which a shorter one to an event is not worth taking: rounding grows with 1/h where constraints are positions.
    shortest: float = 0.0
    #: Of two methods in turns: the explicit and the implicit one, and the native function that decides before each step.
    pair: tuple[Method, Method] | None = None
    turner: int = 0
    #: Layouts of the memory of a run by number of states, made by the sessions.
    layouts: dict[int, Any] = field(default_factory=dict, repr=False, compare=False)
