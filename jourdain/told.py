"""Calls that do not fit a method are told in the words of the package: which argument, what there is, and how the method is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from .errors import ModelError, nearest

T = TypeVar("T")


def told(cls: type[T]) -> type[T]:
    """Wraps the public methods of a class, those it inherits included, so that arguments which do not fit give a ``ModelError``."""
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        if not name.startswith("_") and inspect.isfunction(method):
            setattr(cls, name, _told(method, name))
    return cls


def of_the_call(error: TypeError) -> bool:
    """Whether an error caught around a call says that the arguments do not fit, rather than coming from within."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _told(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    def called(*args: Any, **given: Any) -> Any:
        try:
            return method(*args, **given)
        except TypeError as error:
            if not of_the_call(error):
                raise
            raise ModelError(_reason(method, name, str(error), given)) from None

    return called


def _reason(method: Callable[..., Any], name: str, text: str, given: dict[str, Any]) -> str:
    signature = inspect.signature(method)
    known = list(signature.parameters)[1:]
    what = text.partition("() ")[2] or text
    wrong = next((n for n in given if n not in known), None)
    near = nearest(wrong, known, 1) if wrong is not None and "unexpected" in what else []
    hint = f"; did you mean '{near[0]}'?" if near else ""
    words = ", ".join(
        p.name if p.default is p.empty else f"{p.name}=" for p in list(signature.parameters.values())[1:] if p.kind is not p.VAR_KEYWORD
    )
    return f"{name}() {what}{hint}; it is called {name}({words})"


__all__ = ["of_the_call", "told"]
