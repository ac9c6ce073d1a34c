"""Jourdain: multibody dynamics from symbolic equations to native code, with every analysis on one model."""

from importlib import import_module
from typing import Any

from .errors import InputError, JourdainError, ModelError, SolverError
from .model import Body, Frame, Joint, Model
from .symbolic import (  # fmt: skip
    Expr,
    absolute,
    acos,
    asin,
    atan,
    atan2,
    clip,
    cos,
    cosh,
    evaluate,
    exp,
    floor,
    log,
    maximum,
    minimum,
    positive_part,
    sign,
    sin,
    sinh,
    sqrt,
    step,
    symbol,
    symbols,
    table,
    tan,
    tanh,
    where,
)

__version__ = "0.1.0"

#: Public names that load their room when first used.
_LATER = {
    "Solution": "results", "Store": "results", "load_solution": "results", "Controller": "analysis.simulate", "State": "systems.state",
    "System": "systems.tree.system", "read_urdf": "io", "read_mjcf": "io", "read_mbs": "io", "write_mbs": "io", "box": "model.shapes",
    "cylinder": "model.shapes", "tube": "model.shapes", "sphere": "model.shapes", "capsule": "model.shapes", "cone": "model.shapes",
    "torus": "model.shapes", "prism": "model.shapes", "revolved": "model.shapes", "mesh": "model.shapes", "union": "model.shapes",
    "difference": "model.shapes", "intersection": "model.shapes", "load_model": "io.model_file", "loads_model": "io.model_file",
    "dumps_model": "io.model_file", "ModelDocument": "io.model_operations", "compare": "analysis.compare", "AssembledSystem": "systems.assembled.system",
    "derive": "formalisms.principles", "run": "io.analyses",
}  # fmt: skip

_MODULES = {"elements": ".elements", "library": ".library"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name], __name__)
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module 'jourdain' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_LATER, *_MODULES])


__all__ = [
    "Body", "Expr", "Frame", "InputError", "Joint", "JourdainError", "Model", "ModelError", "SolverError", "absolute",
    "acos", "asin", "atan", "atan2", "clip", "cos", "cosh", "evaluate", "exp", "floor", "log", "maximum", "minimum",
    "positive_part", "sign", "sin", "sinh", "sqrt", "step", "symbol", "symbols", "table", "tan", "tanh", "where",
]  # fmt: skip
