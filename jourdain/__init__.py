"""Jourdain: multibody dynamics from symbolic equations to native code, with every analysis on one model."""

from .errors import InputError, JourdainError, ModelError, SolverError
from .model import Body, Frame, Joint, Model
from .symbolic import (
    Expr, absolute, acos, asin, atan, atan2, clip, cos, cosh, evaluate, exp, floor, log, maximum, minimum,
    positive_part, sign, sin, sinh, sqrt, step, symbol, symbols, table, tan, tanh, where,
)  # fmt: skip

__version__ = "0.1.0"

__all__ = [
    "Body", "Expr", "Frame", "InputError", "Joint", "JourdainError", "Model", "ModelError", "SolverError", "absolute",
    "acos", "asin", "atan", "atan2", "clip", "cos", "cosh", "evaluate", "exp", "floor", "log", "maximum", "minimum",
    "positive_part", "sign", "sin", "sinh", "sqrt", "step", "symbol", "symbols", "table", "tan", "tanh", "where",
]  # fmt: skip
