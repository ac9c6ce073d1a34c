"""Names that machine code and those who call it agree on; read without the writer of code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..symbolic.expr import PARAMETER, Expr

#: Functions taken from the C library, called lane by lane.
LIBRARY_ONE = ("exp", "log", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sin", "cos")
LIBRARY_TWO = ("atan2", "pow")


def entry_name(name: str) -> str:
    """Symbol of a function in machine code: letters, digits and underscores, never that of another library."""
    return "jdf_" + re.sub(r"\W", "_", name, flags=re.ASCII)


def is_parameters(symbols: Sequence[Expr]) -> bool:
    """Whether an argument holds parameters."""
    return bool(symbols) and all(s.deps == PARAMETER for s in symbols)
