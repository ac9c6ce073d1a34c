"""Plots of a page take the patterns that ``sol.plot`` takes."""

from __future__ import annotations

import pytest

from jourdain.library import double_pendulum


def test_plots_of_a_page_by_pattern() -> None:
    sol = double_pendulum().compile().simulate({"shoulder": 1.0}, t=0.2)
    scene = sol.scene(plots=["energy.kin*", ["*.angle", "energy.total"]])
    assert [list(plot.channels) for plot in scene.plots] == [["energy.kinetic"], ["elbow.angle", "shoulder.angle", "energy.total"]]
    with pytest.raises(KeyError, match="nothing"):
        sol.scene(plots=["nothing.*"])
