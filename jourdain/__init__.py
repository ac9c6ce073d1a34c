"""Jourdain: multibody dynamics from symbolic equations to native code, with every analysis on one model."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from .errors import InputError, JourdainError, ModelError, SolverError
from .forking import forks_do_no_harm as _forks_do_no_harm
from .model import Body, Frame, Joint, Model
from .moved import install as _install_older_names
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
from .told import told_name as _told_name

__version__ = "0.1.0"

if TYPE_CHECKING:  # what loads later, for type checkers and editors
    from . import contact, elements, library, structures
    from .analysis.compare import compare
    from .analysis.design import criteria
    from .analysis.design.planned import Analysis
    from .analysis.design.problem import Problem
    from .analysis.design.studied import Scenarios
    from .contact.coefficient import restitution
    from .formalisms.principles import derive
    from .io import read_mbs, read_mjcf, read_urdf, write_mbs
    from .io.model_files.analyses import run
    from .io.model_files.model_file import dumps_model, load_model, loads_model
    from .io.model_files.operations import ModelDocument
    from .io.model_files.problems import problem
    from .model.shapers import InputShaper, input_shaper
    from .model.shapes import (
        box,
        capsule,
        cone,
        cylinder,
        difference,
        ellipsoid,
        intersection,
        mesh,
        plane,
        prism,
        revolved,
        sphere,
        torus,
        tube,
        union,
    )
    from .results import Solution, Store, load_solution
    from .solvers.complementarity.pivoting import complementarity
    from .systems.assembled.system import AssembledSystem
    from .systems.inputs import Controller
    from .systems.run import SimulationError, SimulationInterrupted
    from .systems.state import State
    from .systems.stepper import Stepper
    from .systems.system import System

#: Public names that load their room when first used.
_LATER = {
    "Solution": "results",
    "Store": "results",
    "load_solution": "results",
    "Controller": "systems.inputs",
    "State": "systems.state",
    "Stepper": "systems.stepper",
    "System": "systems.system",
    "read_urdf": "io",
    "read_mjcf": "io",
    "read_mbs": "io",
    "write_mbs": "io",
    "box": "model.shapes",
    "cylinder": "model.shapes",
    "tube": "model.shapes",
    "sphere": "model.shapes",
    "capsule": "model.shapes",
    "cone": "model.shapes",
    "torus": "model.shapes",
    "ellipsoid": "model.shapes",
    "plane": "model.shapes",
    "prism": "model.shapes",
    "revolved": "model.shapes",
    "mesh": "model.shapes",
    "union": "model.shapes",
    "difference": "model.shapes",
    "intersection": "model.shapes",
    "InputShaper": "model.shapers",
    "input_shaper": "model.shapers",
    "load_model": "io.model_files.model_file",
    "loads_model": "io.model_files.model_file",
    "dumps_model": "io.model_files.model_file",
    "ModelDocument": "io.model_files.operations",
    "Analysis": "analysis.design.planned",
    "Problem": "analysis.design.problem",
    "Scenarios": "analysis.design.studied",
    "compare": "analysis.compare",
    "complementarity": "solvers.complementarity.pivoting",
    "restitution": "contact.coefficient",
    "AssembledSystem": "systems.assembled.system",
    "derive": "formalisms.principles",
    "problem": "io.model_files.problems",
    "run": "io.model_files.analyses",
    "SimulationError": "systems.run",
    "SimulationInterrupted": "systems.run",
}

for _name in ("evaluate", "symbol", "symbols", "table"):
    globals()[_name] = _told_name(_import_module(".symbolic", __name__), _name)
del _name

_forks_do_no_harm()
_install_older_names()
del TYPE_CHECKING

#: Public modules, where they are.
_MODULES = {
    "contact": "contact",
    "criteria": "analysis.design.criteria",
    "elements": "elements",
    "library": "library",
    "structures": "structures",
}


#: What people look for here, and where it is.
_OTHER_WORDS = {
    "abs": "jd.absolute", "max": "jd.maximum", "min": "jd.minimum", "pi": "math.pi", "simulate": "jd.Model(…).compile().simulate", "optimise": "jd.Problem",
    "optimize": "jd.Problem", "minimise": "jd.Problem", "minimize": "jd.Problem", "body": "jd.Model(…).body", "revolute": "jd.Model(…).revolute",
    "load_urdf": "jd.read_urdf", "load_mjcf": "jd.read_mjcf", "urdf": "jd.read_urdf", "piecewise": "jd.where", "heaviside": "jd.step", "arctan2": "jd.atan2",
    "arcsin": "jd.asin", "arccos": "jd.acos", "arctan": "jd.atan", "fabs": "jd.absolute", "interp": "jd.table", "lookup": "jd.table",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _import_module(f".{_MODULES[name]}", __name__)
    if name in _LATER:
        return _told_name(_import_module(f".{_LATER[name]}", __name__), name)
    longer = [n for n in __all__ if n.startswith(f"{name}_")]  # jd.load
    longer = [_OTHER_WORDS[name]] if name in _OTHER_WORDS else longer
    told = f"; did you mean {' or '.join(longer)}?" if longer else ""
    # With the module itself Python's traceback proposes a near name.
    raise AttributeError(f"module 'jourdain' has no attribute '{name}'{told}", name=name, obj=_import_module(__name__))


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "absolute",
    "acos",
    "Analysis",
    "asin",
    "AssembledSystem",
    "atan",
    "atan2",
    "Body",
    "box",
    "capsule",
    "clip",
    "compare",
    "complementarity",
    "cone",
    "contact",
    "Controller",
    "cos",
    "cosh",
    "criteria",
    "cylinder",
    "derive",
    "difference",
    "dumps_model",
    "elements",
    "ellipsoid",
    "evaluate",
    "exp",
    "Expr",
    "floor",
    "Frame",
    "input_shaper",
    "InputError",
    "InputShaper",
    "intersection",
    "Joint",
    "JourdainError",
    "library",
    "load_model",
    "load_solution",
    "loads_model",
    "log",
    "maximum",
    "mesh",
    "minimum",
    "Model",
    "ModelDocument",
    "ModelError",
    "plane",
    "positive_part",
    "prism",
    "Problem",
    "Scenarios",
    "problem",
    "read_mbs",
    "read_mjcf",
    "read_urdf",
    "restitution",
    "revolved",
    "run",
    "sign",
    "SimulationError",
    "SimulationInterrupted",
    "sin",
    "sinh",
    "Solution",
    "SolverError",
    "sphere",
    "sqrt",
    "State",
    "step",
    "Stepper",
    "Store",
    "structures",
    "symbol",
    "symbols",
    "System",
    "table",
    "tan",
    "tanh",
    "torus",
    "tube",
    "union",
    "where",
    "write_mbs",
]
