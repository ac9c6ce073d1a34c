"""What contacts did in every step of Moreau's time-stepping, noted for derivatives of the steps.

A row begins with the number of the step and that of the round in which contacts were found (from 0 on); HEAD is a row of its own for every round, with the part of J̇ v that the
contacts were told of.  Rows of contacts follow: key, friction coefficient, whether the contact strikes, gap, impulse in the world's axes, normal and
point; and, with PUSHED in the place of the round, those whose gaps were changed in the positions, with how far and whether in both directions.
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import jit
from ..complementarity.problem import BILATERAL
from .admission import STRUCK

#: In the place of the round: contacts by which positions were corrected.  In the place of the key: a row without a contact.
PUSHED, HEAD = -2, -1
#: Columns of a row.
STEP, ROUND, KEY, FRICTION, STRIKES, GAP, IMPULSE, NORMAL, POINT, NOTED = 0, 1, 2, 5, 6, 7, 8, 11, 14, 17


@jit
def _row(m: Any, round_: int, key: int) -> int:
    """A row more; its place, −1 where there is no room."""
    noted, i = m.noted, m.noted.count
    noted.count = i + 1
    if i >= noted.rows.shape[0]:
        return -1
    row = noted.rows[i]
    row[STEP], row[ROUND], row[KEY] = float(noted.steps), float(round_), float(key)
    return i  # type: ignore[no-any-return]


@jit
def note_contacts(m: Any, round_: int, part: float) -> None:
    """The contacts of a round."""
    s, p, problem = m.contacts, m.laws.p, m.laws.problem
    i = _row(m, round_, HEAD)
    if i >= 0:
        m.noted.rows[i][FRICTION] = part
    for k in range(s.count):
        i = _row(m, round_, s.key[3 * k])
        if i < 0:
            continue
        row = m.noted.rows[i]
        row[FRICTION] = problem.coefficient[k, 0]
        row[STRIKES] = 1.0 if m.impacts.after[k] == STRUCK else 0.0
        row[GAP] = s.gap[k]
        for j in (0, 1, 2):
            row[KEY + j] = float(s.key[3 * k + j])
            row[IMPULSE + j] = p[3 * k] * s.axes[9 * k + j] + p[3 * k + 1] * s.axes[9 * k + 3 + j] + p[3 * k + 2] * s.axes[9 * k + 6 + j]
            row[NORMAL + j], row[POINT + j] = s.axes[9 * k + j], s.point[3 * k + j]


@jit
def note_pushed(m: Any) -> None:
    """The contacts by which positions have been corrected, at the end of a step."""
    s, depths = m.contacts, m.depths.problem
    for k in range(s.count):
        if m.depths.p[k] != 0.0:
            i = _row(m, PUSHED, s.key[3 * k])
            if i >= 0:
                row = m.noted.rows[i]
                row[KEY + 1], row[KEY + 2] = float(s.key[3 * k + 1]), float(s.key[3 * k + 2])
                row[FRICTION], row[STRIKES] = m.depths.p[k], 1.0 if depths.law[k] == BILATERAL else 0.0
    m.noted.steps += 1


__all__ = [
    "FRICTION",
    "GAP",
    "HEAD",
    "IMPULSE",
    "KEY",
    "NORMAL",
    "NOTED",
    "POINT",
    "PUSHED",
    "ROUND",
    "STEP",
    "STRIKES",
    "note_contacts",
    "note_pushed",
]
