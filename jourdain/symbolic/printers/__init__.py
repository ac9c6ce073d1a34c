"""Symbolic functions as programs in other languages and as equations: the front door is :func:`print_function`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...errors import InputError

if TYPE_CHECKING:
    from ..function import SymbolicFunction

#: Module and function that print each language.
LANGUAGES = {
    "c": ("c", "print_c"), "python": ("python", "print_python"), "jax": ("python", "print_jax"),
    "matlab": ("matlab", "print_matlab"), "julia": ("julia", "print_julia"), "fortran": ("fortran", "print_fortran"),
    "rust": ("rust", "print_rust"), "latex": ("latex", "print_latex"), "text": ("text", "print_text"),
}  # fmt: skip
#: Customary ending of a file in each language.
SUFFIXES = {
    "c": ".c", "python": ".py", "jax": ".py", "matlab": ".m", "julia": ".jl", "fortran": ".f90", "rust": ".rs",
    "latex": ".tex", "text": ".txt",
}  # fmt: skip
_ALIASES = {"numpy": "python", "octave": "matlab", "c99": "c", "f2008": "fortran", "tex": "latex"}


def print_function(f: SymbolicFunction, language: str, **options: Any) -> str:
    """Source text of a symbolic function in a language of :data:`LANGUAGES`.

    For C, ``split=True`` gives ``name_prepare`` (parameters alone, called once) and ``name`` (every state).

    >>> from jourdain.symbolic import symbols
    >>> from jourdain.symbolic.function import Argument, Result, SymbolicFunction
    >>> x, y = symbols("x y", "position")
    >>> f = SymbolicFunction("f", (Argument("q", (x, y)),), (Result("r", (x * y,), (1,)),))
    >>> print_function(f, "c").splitlines()[-2]
    '    r[0] = q[0]*q[1];'
    """
    key = _ALIASES.get(language.lower(), language.lower())
    if key not in LANGUAGES:
        raise InputError(f"function '{f.name}': unknown language '{language}'; choose one of {', '.join(LANGUAGES)}")
    module, name = LANGUAGES[key]
    printer: Callable[..., str] = getattr(import_module(f".{module}", __name__), name)
    if options and key != "c":
        raise InputError(f"function '{f.name}': the option(s) {', '.join(options)} apply to the language c only")
    return printer(f, **options)
