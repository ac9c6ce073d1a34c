"""What a solution computes later is computed with the parameters of its run, in every formulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.systems.test_every_way import WAYS, Way, compiled, start


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_parameters_that_change_after_a_run_leave_its_solution_alone(way: Way) -> None:
    s = compiled(way).copy()
    names = ("crank.angle", "energy.total", "energy.kinetic", "crank.angle_acc", "coupler.reaction", "energy.supplied")

    def read(change: bool) -> dict[str, Any]:
        s.set_parameters(weight=1.0)
        sol = s.simulate(start(s), 0.02, **way.run)
        if change:
            s.set_parameters(weight=3.0)
        found = {n: sol[n] for n in names} | {"place": sol.frame("coupler").position, "between": sol.at(0.011)["energy.total"]}
        assert not change or s.parameters["weight"] == 3.0
        return found

    right, found = read(False), read(True)
    for name, values in right.items():
        assert found[name] == pytest.approx(values, abs=1e-12), name
    assert np.ptp(right["energy.kinetic"]) > 1e-4
