"""When another sort of method would do better: explicit steps at the limit of stability, implicit ones hardly longer than explicit ones could be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jourdain.solvers.native_function import NativeFunction

if TYPE_CHECKING:
    from jourdain.solvers.ode.session import Session

#: Steps in a row at the limit of stability that make a problem stiff (Hairer and Wanner II, IV.2).
STIFF = 15
#: Steps from one look to the next.
LOOK = 100
#: Explicit steps of order 5 are stable up to about |h λ| = 3.3, and implicit ones cost more than one of them.
STABLE, DEARER = 3.3, 1.5


@dataclass(eq=False)
class Leave:
    """An explicit method leaves where it is stiff, after ``least`` steps; an implicit one (``jacobian`` given) where it need not be one.

    The decision is by counted steps and the spectral radius of the Jacobian, not by time, so that runs are the same from one to the next.
    """

    least: int
    jacobian: NativeFunction | None = None
    #: Steps before the next look.
    next_look: int = 0

    def now(self, session: Session) -> bool:
        """Whether to stop here; not where a sample has acted, which must not act twice."""
        clock, count, progress = session.clock, session.count, session.progress
        sampled = progress.stop > 0 and session.frame.stops[progress.stop - 1] == clock.t
        if count.steps < max(self.least, self.next_look) or sampled or count.begin == 1:
            return False
        self.next_look = count.steps + LOOK
        if self.jacobian is None:
            return bool(count.stiff >= STIFF)
        n = session.n
        slopes = np.zeros((n, n))
        if self.jacobian(clock.t, session.x.copy(), slopes) != 0 or not np.isfinite(slopes).all():
            return False
        return bool(abs(clock.h_used) * np.abs(np.linalg.eigvals(slopes)).max() < STABLE * DEARER)


__all__ = ["LOOK", "STIFF", "Leave"]
