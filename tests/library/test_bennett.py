"""Bennett's linkage: it moves along its closed-form curve, and three of its five closing equations are redundant."""

import numpy as np

from jourdain import library
from jourdain.systems.tree.redundancy import redundant_rows


def test_linkage_follows_the_closed_form_relation():
    system = library.bennett().compile()
    al, be, start = np.deg2rad([30, 70, 50])
    ratio = np.sin((be + al) / 2) / np.sin((be - al) / 2)

    def second(theta1):
        return 2 * np.arctan(ratio / np.tan(theta1 / 2))

    for angle in (-0.4, 0.2, 0.9, 1.8):
        q = system.assemble({"P1.angle": angle}).q
        assert np.allclose(q, [angle, second(start + angle) - second(start), -angle], atol=1e-8)


def test_one_freedom_where_counting_gives_none():
    system = library.bennett().compile()
    state = system.assemble({"P1.angle": 0.3})
    assert len(redundant_rows(system, state)) == 3  # 3 coordinates − (5 − 3) equations = 1
    sol = system.simulate(state, 1.0, rtol=1e-10, atol=1e-12)
    assert np.abs(sol["energy.error"]).max() < 1e-7
    assert np.abs(sol["P1.angle"] - 0.3).max() > 0.1  # it does move
