"""The classical principles of dynamics as derivations that print: every one leads from a model to the same equations of motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError
from ...model.model import Model
from ...symbolic.expr import Expr
from .derivation import TITLES, Derivation
from .free_bodies import Mechanics
from .gauss import gauss, least_constraint, quadratic_program
from .gibbs_appell import gibbs_appell, jourdain
from .kane import kane
from .lagrange import lagrange
from .newton_euler_steps import newton_euler
from .printing import Formula, Line, ModelNotation, Step
from .speeds import Speeds
from .virtual_work import virtual_work

#: Principles by word.
PRINCIPLES = {
    "newton-euler": newton_euler, "virtual-work": virtual_work, "lagrange": lagrange, "gauss": gauss, "jourdain": jourdain,
    "gibbs-appell": gibbs_appell, "kane": kane,
}  # fmt: skip


def derive(
    model: Model | Any, principle: str = "lagrange", quasi_velocities: Mapping[str, Any] | Sequence[str] | None = None,
    names: Mapping[str, str] | None = None, positive: Sequence[Expr] = (),
) -> Derivation:  # fmt: skip
    """The equations of motion of a model (or compiled system) from a principle, with every step.

    ``principle``: "newton-euler", "virtual-work", "lagrange", "gauss", "jourdain", "gibbs-appell" or "kane".  ``quasi_velocities``: the
    names of velocities to be taken as independent, or {name: expression linear in velocities}.  ``names`` gives coordinates other short
    names, as {"hinge.angle": "theta"}; ``positive`` expressions whose absolute value in constraints is themselves.

    >>> m = Model("pendulum", gravity=(0, 0, -9.81))
    >>> mass, l = m.parameters(m=1.0, l=0.5)
    >>> hinge = m.revolute("hinge", m.ground, m.body("bob", mass=mass, com=(0, 0, -l)), axis="y")
    >>> d = derive(m, "gauss", names={"hinge.angle": "theta"})
    >>> print(d.steps[-1].title, d.notation.text(d.equations[0]))
    Equations of motion m*l^2*theta'' + m*g*l*sin(theta)
    """
    found = model if isinstance(model, Model) else getattr(model, "model", None)
    if not isinstance(found, Model):
        raise InputError(f"derive: {model!r} is neither a Model nor a compiled system")
    word = principle.lower().replace("_", "-").replace(" ", "-").replace("–", "-")
    if word not in PRINCIPLES:
        raise InputError(f"the principle '{principle}' is unknown; use one of {', '.join(PRINCIPLES)}")
    mechanics = Mechanics(found, positive)
    speeds = Speeds(mechanics, quasi_velocities)
    return PRINCIPLES[word](mechanics, speeds, ModelNotation(mechanics, speeds, names))


__all__ = [
    "PRINCIPLES", "TITLES", "Derivation", "Formula", "Line", "Step", "derive", "least_constraint", "quadratic_program",
]  # fmt: skip
