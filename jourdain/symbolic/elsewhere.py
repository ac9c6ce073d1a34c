"""What to say where people ask an expression for what it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .expr import Expr

_NUMBER = (
    "the value of a parameter is m.parameter_set['{name}'].value, or s.parameters['{name}'] in a compiled system; "
    "jd.evaluate(expression, {{symbol: number}}) gives that of an expression"
)
_FUNCTIONS: Mapping[str, str] = {
    **dict.fromkeys(("value", "val", "magnitude", "number", "numerical", "evalf", "n", "m", "item", "real"), _NUMBER),
    **dict.fromkeys(("unit", "units", "bounds", "description"), "what a parameter was declared with is in m.parameter_set['{name}']"),
    **dict.fromkeys(("subs", "xreplace", "replace", "substitute"), "substitute(expression, {{symbol: other}}) of jourdain.symbolic puts others in its place"),
    **dict.fromkeys(("diff", "derivative", "jacobian"), "jacobian([expression], [symbol]) of jourdain.symbolic differentiates"),
    **dict.fromkeys(("simplify", "expand", "trigsimp", "doit"), "expressions are simplified as they are made"),
    **dict.fromkeys(("sin", "cos", "tan", "sqrt", "exp", "log"), "write jd.{asked}(expression)"),
}  # fmt: skip


def not_there(e: Expr, asked: str) -> str:
    """Words for an attribute that an expression does not have."""
    if asked == "name":
        return f"the expression {e!r} is not a symbol and has no name"
    told = f"the expression {e!r} has no '{asked}'"
    name = e.name if e.op == "symbol" else "name"
    found = _FUNCTIONS.get(asked)
    return told if found is None else f"{told}; {found.format(name=name, asked=asked)}"


__all__ = ["not_there"]
