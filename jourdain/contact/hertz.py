"""The older name of :mod:`.hertz_theory`.  Python puts a module in the place of ``jd.contact.hertz``, the law: so it can be called like it."""

from __future__ import annotations

import sys
import warnings
from types import ModuleType
from typing import Any

from ..model.contact import penalty_laws
from .hertz_theory import HasSurface, Surface, curvature_factor, hertz_stiffness, relative_curvatures

warnings.warn("module 'jourdain.contact.hertz' is now 'jourdain.contact.hertz_theory'", DeprecationWarning, stacklevel=2)


class _Law(ModuleType):
    def __call__(self, *given: Any, **more: Any) -> Any:
        return penalty_laws.hertz(*given, **more)


sys.modules[__name__].__class__ = _Law

__all__ = ["HasSurface", "Surface", "curvature_factor", "hertz_stiffness", "relative_curvatures"]
