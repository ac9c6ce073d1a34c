"""Formulas of a problem's own names, in the language of model files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...errors import InputError, nearest
from ...symbolic.expr import Expr


def parsed(text: str, symbols: Mapping[str, Expr], no: str, head: str) -> Expr:
    """The expression of a text that speaks of symbols by name; ``no`` says what a strange name is not, ``head`` begins what is told."""
    from ...io.model_files.expression_language import ExpressionError, parse_expression
    from ...symbolic import functions

    class Scope:
        def find(self, name: str, kind: str | None = None) -> Expr:
            if name not in symbols:
                near = nearest(name, symbols, 2) or list(symbols)
                raise ExpressionError(f"'{name}' is {no}; there is {', '.join(near)}")
            return symbols[name]

        def function(self, name: str) -> Callable[..., Any] | None:
            return getattr(functions, name, None)

    try:
        return parse_expression(text, Scope())
    except InputError as error:
        raise InputError(f"{head}: {error}") from None


__all__ = ["parsed"]
