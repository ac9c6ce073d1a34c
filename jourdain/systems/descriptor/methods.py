"""One integration in the coordinates of a descriptor by any method: what each of them asks of the system."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import InputError
from ...solvers import STIFF
from ...solvers.ode.events import Event
from ...solvers.ode.integrate import integrate
from ...solvers.ode.trajectory import Trajectory
from ..tree.alpha import ALPHA_METHODS, integrate_alpha
from ..tree.projected import NativeSystem


def integrate_native(
    native: NativeSystem, span: tuple[float, float], x0: np.ndarray, method: str, stabilisation: str, rho: float, events: list[Event],
    step: float | None = None, **options: Any,
) -> Trajectory:  # fmt: skip
    """Explicit methods take the right-hand side, stiff ones its derivatives too, generalised-α the equations with multipliers.

    Rows of a generalised-α run go on with ẍ and λ behind the state.
    """
    if method in ALPHA_METHODS:
        _check_alpha(native, method, stabilisation)
        return integrate_alpha(native, span, x0, method, rho, step, events, [], **options)
    derivatives: dict[str, Any] = native.derivatives() if method in STIFF else {}
    project = native.project if stabilisation == "projection" else None
    return integrate(
        native.rhs, span, x0, method, project=project, positions=native.system.nq, events=events, step=step, **derivatives, **options
    )


def _check_alpha(native: NativeSystem, method: str, stabilisation: str) -> None:
    system: Any = native.system
    name = system.model.name
    if system.descriptor.charts:
        raise InputError(
            f"simulate '{name}': method '{method}' keeps accelerations of the coordinates, which jump where rotation vectors are exchanged; "
            "compile with rotation='euler-parameters', or use 'radau'"
        )
    if stabilisation != "projection":
        raise InputError(
            f"simulate '{name}': method '{method}' meets the constraints themselves; leave out stabilisation='{stabilisation}'"
        )


__all__ = ["integrate_native"]
