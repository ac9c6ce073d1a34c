"""Numerical methods on compiled functions.

`integrate` solves x' = f(t, x) with a method chosen by name; nothing is compiled before it is needed.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from jourdain.errors import InputError

if TYPE_CHECKING:
    from jourdain.solvers.native_function import NativeFunction
    from jourdain.solvers.ode.events import Event, EventRecord, Samples, Switch
    from jourdain.solvers.ode.integrate import integrate
    from jourdain.solvers.ode.method import Method
    from jourdain.solvers.ode.methods.tableaus import Tableau
    from jourdain.solvers.ode.trajectory import Checkpoint, Statistics, Trajectory

__all__ = [
    "ALPHA_METHODS",
    "AUGMENTED_LAGRANGIAN",
    "METHODS",
    "STIFF_BY",
    "OTHER_METHODS",
    "Checkpoint",
    "Event",
    "EventRecord",
    "NativeFunction",
    "Samples",
    "Statistics",
    "Switch",
    "Tableau",
    "Trajectory",
    "integrate",
    "load_method",
]

METHODS: dict[str, tuple[str, str]] = {
    "euler": ("runge_kutta", "explicit Euler, fixed step"),
    "heun": ("runge_kutta", "explicit trapezoidal rule of order 2, fixed step"),
    "rk4": ("runge_kutta", "classical Runge-Kutta of order 4, fixed step"),
    "bs32": ("runge_kutta", "Bogacki-Shampine 3(2), adaptive"),
    "dopri5": ("runge_kutta", "Dormand-Prince 5(4), adaptive"),
    "dop853": ("runge_kutta", "Dormand-Prince 8(5,3), adaptive, for tight tolerances"),
    "adams": ("adams", "Adams-Bashforth-Moulton, variable order 1-12 and step, few evaluations"),
    "rosenbrock": ("rosenbrock", "stiffly accurate Rosenbrock 4(3), stiff, moderate tolerances"),
    "radau": ("radau", "Radau IIA of order 5, stiff"),
    "rosenbrock2": ("linearly_implicit", "L-stable Rosenbrock method of order 2, fixed step, stiff, constant cost"),
    "linearly-implicit-euler": ("linearly_implicit", "L-stable linearly implicit Euler, fixed step, stiff, constant cost"),
    "semi-implicit-euler": ("symplectic", "semi-implicit (symplectic) Euler for x = [q, v], fixed step"),
    "velocity-verlet": ("symplectic", "velocity Verlet of order 2 for x = [q, v], fixed step"),
}

#: What methods are called in SciPy, MATLAB and elsewhere, without dashes, and which of ours does the same work.
OTHER_METHODS = {
    "rk45": "dopri5", "ode45": "dopri5", "dopri": "dopri5", "rk": "rk4", "rungekutta": "rk4", "rk23": "bs32", "ode23": "bs32", "ode113": "adams", "dop8": "dop853",
    "bdf": "radau", "ode15s": "radau", "lsoda": "auto", "lsodar": "auto", "cvode": "radau", "ida": "radau", "radau5": "radau", "radauiia": "radau",
    "ode23s": "rosenbrock", "verlet": "velocity-verlet", "leapfrog": "velocity-verlet", "symplecticeuler": "semi-implicit-euler", "rkf45": "dopri5", "tsit5": "dopri5",
}  # fmt: skip
#: Methods that work on M v̇ = f + Jᵀλ, h(q, t) = 0 itself (see :mod:`jourdain.solvers.ode.methods.generalized_alpha`).
ALPHA_METHODS: dict[str, str] = {
    "generalized-alpha": "generalised-α (Chung and Hulbert) of order 2, damping by rho, fixed or adaptive step, stiff",
    "hht": "Hilber, Hughes and Taylor of order 2, fixed or adaptive step, stiff",
    "newmark": "Newmark's method with damping, of order 1, fixed or adaptive step, stiff",
    "trapezoidal": "trapezoidal rule of order 2, fixed or adaptive step, stiff",
}
AUGMENTED_LAGRANGIAN = "augmented-lagrangian"

#: The word for two methods that take turns, as stiffness comes and goes: steps that follow the motion, and steps that are not held up by what
#: decays fast.
AUTO = "auto"
EXPLICIT, IMPLICIT = "dopri5", "radau"

#: Methods whose steps follow their error.
ADAPTIVE = ("bs32", "dopri5", "dop853", "adams", "rosenbrock", "radau", AUTO)

#: Methods that need the Jacobian ∂f/∂x.
STIFF = ("rosenbrock", "radau", "rosenbrock2", "linearly-implicit-euler")

#: What to try where the steps of an explicit method are as short as its stability demands.
STIFF_BY = "method='radau' or 'rosenbrock'"

_HOMES = {
    "Event": "ode.events",
    "EventRecord": "ode.events",
    "Samples": "ode.events",
    "Switch": "ode.events",
    "Tableau": "ode.methods.tableaus",
    "NativeFunction": "native_function",
    "Checkpoint": "ode.trajectory",
    "Statistics": "ode.trajectory",
    "Trajectory": "ode.trajectory",
    "integrate": "ode.integrate",
}


def load_method(method: str | Tableau | Method) -> Method:
    """Return a method by name, or the method of a Butcher tableau, compiling it at first use."""
    if isinstance(method, str) and (method in METHODS or method == AUTO):
        return _named_method(method)
    from jourdain.solvers.ode.method import Method
    from jourdain.solvers.ode.methods.tableaus import Tableau

    if isinstance(method, Method):
        return method
    if isinstance(method, Tableau):
        found: Method = import_module("jourdain.solvers.ode.methods.runge_kutta").method(method)
        return found
    raise InputError(f"method '{method}' is unknown; choose one of {', '.join(METHODS)}")


@cache
def _named_method(name: str) -> Method:
    """A method of the list, made once."""
    from jourdain.solvers.ode.methods.tableaus import Tableau

    if name == AUTO:
        from jourdain.solvers.ode.methods.radau import method as radau
        from jourdain.solvers.ode.methods.turns import method as in_turns

        return in_turns(_named_method(EXPLICIT), radau(IMPLICIT, compiled=False))
    module = import_module(f"jourdain.solvers.ode.methods.{METHODS[name][0]}")
    given: Any = name
    if METHODS[name][0] == "runge_kutta":
        tableaus = vars(import_module("jourdain.solvers.ode.methods.tableaus")).values()
        given = next(t for t in tableaus if isinstance(t, Tableau) and t.name == name)
    found: Method = module.method(given)
    return found


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'jourdain.solvers' has no attribute '{name}'")
    return getattr(import_module(f"jourdain.solvers.{_HOMES[name]}"), name)
