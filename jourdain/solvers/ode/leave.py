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
#: From one look at the Jacobian of implicit steps to the next their number grows by this factor.
LATER = 3.0
#: Explicit steps of order 5 are stable up to about |h λ| = 3.3, and implicit ones cost more than one of them.
STABLE, DEARER = 3.3, 1.5
#: The power of the Jacobian by which its spectral radius is estimated.
POWER = 16
#: Explicit steps still to do at the present pace that are worth another method.
WORTH = 1000


def spectral_radius(matrix: np.ndarray) -> float:
    """The largest |λ| by Gelfand's formula, ρ = lim ‖Aᵏ‖^(1/k), a little too large for the k taken; not a number where the matrix has such."""
    scale = float(np.sqrt(np.vdot(matrix, matrix)))
    if not 0.0 < scale < np.inf:
        return scale
    power = np.linalg.matrix_power(matrix / scale, POWER)
    return scale * float(np.sqrt(np.vdot(power, power))) ** (1.0 / POWER)


@dataclass(eq=False)
class Leave:
    """An explicit method leaves where it is stiff: ``least`` steps near the limit of stability (those beyond it count four times) are behind it, and
    many ahead; an implicit one (``jacobian`` given) where it need not be one, at the earliest after ``least`` steps.

    The decision is by counted steps and the spectral radius of the Jacobian, not by time, so that runs are the same from one to the next.
    """

    least: int
    jacobian: NativeFunction | None = None
    #: Steps before the next look.
    next_look: int = 0

    def arm(self, session: Session) -> None:
        """Lets the march pause where an explicit method is stiff."""
        self.next_look = 0
        session.progress.leave = self.least if self.jacobian is None else 0

    def room(self, session: Session, chunk: int) -> int:
        """Steps to do before the next look."""
        return chunk if self.jacobian is None else max(1, min(chunk, max(self.least, self.next_look) - session.count.steps))

    def now(self, session: Session, end: float) -> bool:
        """Whether to stop here; not where a sample has acted, which must not act twice."""
        clock, count, progress = session.clock, session.count, session.progress
        sampled = progress.stop > 0 and session.frame.stops[progress.stop - 1] == clock.t
        if self.jacobian is None:
            if not 0 < progress.leave <= count.near:
                return False
            if abs(end - clock.t) < WORTH * abs(clock.h_used):
                progress.leave = 0
                return False
            if sampled or count.begin == 1:
                progress.leave = count.near + 1
                return False
            return True
        if count.steps < max(self.least, self.next_look) or sampled or count.begin == 1:
            return False
        self.next_look = int(LATER * count.steps)
        n = session.n
        slopes = np.zeros((n, n))
        if self.jacobian(clock.t, session.x.copy(), slopes) != 0:
            return False
        return abs(clock.h_used) * spectral_radius(slopes) < STABLE * DEARER


__all__ = ["STIFF", "Leave"]
