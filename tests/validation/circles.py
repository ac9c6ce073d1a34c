"""The closed form of the library's four-bar, written independently of the program."""

from __future__ import annotations

import numpy as np


def closed_four_bar(alpha: float, branch: int) -> tuple[float, float]:
    """Coupler angle relative to the crank and rocker angle of the default four-bar, by intersecting circles."""
    l0, l1, l2, l3 = 1.0, 0.35, 0.8, 0.7
    P = l1 * np.array([np.cos(alpha), np.sin(alpha)])
    d = np.array([l0, 0.0]) - P
    D = np.linalg.norm(d)
    along = (D**2 + l2**2 - l3**2) / (2 * D)
    E = P + along * d / D + branch * np.sqrt(l2**2 - along**2) * np.array([-d[1], d[0]]) / D
    coupler = np.arctan2(*(E - P)[::-1])
    rocker = np.arctan2(E[1], E[0] - l0)
    return coupler - alpha, rocker
