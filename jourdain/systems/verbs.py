"""How a system is asked: verbs that refuse what they do not know, and say what does not fit in a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from inspect import CO_VARKEYWORDS
from typing import Any, ParamSpec, TypeVar

from ..errors import InputError, nearest
from ..model.contact.methods import refuse_contacts
from ..spelling import in_british
from ..told import FAILURES, of_the_call, unfit
from .start import check_belongs
from .state import State

P = ParamSpec("P")
R = TypeVar("R")


#: Verbs for which it does not matter whether bodies touch, that are made of runs, or that know rigid contacts.
KNOW_CONTACTS = (
    "sweep", "stream", "explore", "kinematics", "assemble", "assembly_modes", "mobility", "closure_report", "inverse_kinematics", "velocity_transformation",
    "equilibrium", "equilibria", "periodic", "quasi_static", "inverse_dynamics_along", "static_forces", "linearise", "modal", "frequency_response", "root_locus",
)  # fmt: skip


def verb(method: Callable[P, R]) -> Callable[P, R]:
    """A verb that refuses options it does not know, by name and with those that it knows."""
    code = method.__code__  # type: ignore[attr-defined]
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    open_ended = bool(code.co_flags & CO_VARKEYWORDS)

    @wraps(method)
    def asked(*args: P.args, **given: P.kwargs) -> R:
        if given and not open_ended:
            given = _check_options(method.__name__, args[0], given, known)  # type: ignore[assignment]
        if method.__name__ not in KNOW_CONTACTS:
            refuse_contacts(args[0].model, method.__name__)  # type: ignore[attr-defined]
        for x in (*args[1:], *given.values()):
            if isinstance(x, State):
                check_belongs(args[0].reference, getattr(x.system, "reference", x.system), "state")  # type: ignore[attr-defined]
        try:
            return method(*args, **given)
        except FAILURES as error:
            _tell(method, error, args, given)
            raise

    asked.__told__ = True  # type: ignore[attr-defined]
    return asked


def motion(method: Callable[P, R]) -> Callable[P, R]:
    """A verb that hands its options, as they are written, to the analysis of its name; its body only declares and explains them."""
    name = method.__name__
    code = method.__code__  # type: ignore[attr-defined]
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    options = set(known[code.co_argcount :])

    @cache
    def analysis() -> Callable[..., R]:
        found: Callable[..., R] = getattr(import_module(f"jourdain.analysis.{name}"), name)
        return found

    @wraps(method)
    def asked(*args: P.args, **given: P.kwargs) -> R:
        if given:
            given = _check_options(name, args[0], given, known)  # type: ignore[assignment]
        try:
            for x in given.values():
                if x is None:
                    given = {n: x for n, x in given.items() if x is not None or n not in options}  # type: ignore[assignment]
                    break
            return analysis()(*args, **given)
        except FAILURES as error:
            _tell(method, error, args, given)
            raise

    asked.__told__ = True  # type: ignore[attr-defined]
    return asked


def _tell(method: Callable[..., Any], error: Exception, args: tuple[Any, ...], given: Mapping[str, Any]) -> None:
    """Raises in words what does not fit in a call that has failed, if it is the call."""
    text = unfit(method, method.__name__, error, args, given, 1)
    if text is not None:
        raise InputError(f"{method.__name__} '{args[0].model.name}': {text}") from (None if of_the_call(error) else error)


#: Options by the words of other programs.
OTHER_OPTIONS = {
    "dt": "step", "h": "step", "timestep": "step", "time_step": "step", "step_size": "step", "hmax": "max_step", "max_dt": "max_step", "tspan": "t", "t_span": "t",
    "time": "t", "t_end": "t", "tend": "t", "duration": "t", "T": "t", "t_eval": "times", "solver": "method", "integrator": "method",
    "y0": "x0", "initial": "x0", "start": "x0", "state": "x0", "u": "inputs", "reltol": "rtol", "abstol": "atol", "params": "parameters",
}  # fmt: skip


def _check_options(verb: str, system: Any, given: dict[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """The options, in either spelling; those that a verb does not know are refused."""
    if all(name in known for name in given):
        return given
    given = in_british(given, known)
    for name in given:
        if name not in known:
            other = "overlap" if isinstance(given[name], str) and given[name] == "push apart" else OTHER_OPTIONS.get(name)
            near = [own for own in known if own == other] or nearest(name, known[1:], 2)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            raise InputError(f"{verb} '{system.model.name}': there is no option '{name}'; {hint}there are {', '.join(known[1:])}")
    return given
