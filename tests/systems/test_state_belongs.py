"""States have the sizes of their system and hold finite numbers; those of other systems are refused where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jourdain import library
from jourdain.errors import InputError
from jourdain.systems.state import State

FORMULATIONS = ["recursive", "semi-recursive", "cartesian", "natural", "directors"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"q": [0.1]}, r"q has the shape \(1,\); it must hold 2 numbers"),
        ({"q": [0.1, 0.2, 0.3]}, "it must hold 2 numbers"),
        ({"v": np.zeros((2, 1))}, r"v has the shape \(2, 1\)"),
        ({"z": [1.0]}, "z has the shape"),
        ({"q": [0.1, np.nan]}, "holds a number that is not finite"),
        ({"v": [np.inf, 0.0]}, "holds a number that is not finite"),
        ({"q": "ab"}, "are no numbers"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes: dict[str, Any], told: str) -> None:
    state = library.double_pendulum().compile().state()
    with pytest.raises(InputError, match=told):
        state.with_values(**changes)


def test_lists_become_arrays() -> None:
    s = library.double_pendulum().compile()
    state = s.state().with_values(q=[1, 2])
    assert state.q.dtype == float and s.simulate(state, 0.01).t[-1] == 0.01


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_states_and_solutions_of_other_systems_are_refused(formulation: str) -> None:
    s = library.double_pendulum().compile(formulation=formulation)
    other = library.pendulum().compile()
    for strange in (other.state({"hinge.angle": 0.3}), other.simulate({"hinge.angle": 0.3}, 0.1)):
        with pytest.raises(InputError, match=r"one of 'simple pendulum' \(it has 'hinge.angle'\); give one of this system"):
            s.simulate(strange, 0.1)
    with pytest.raises(InputError, match="one of 'simple pendulum'"):
        s.accelerations(other.state())


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_states_of_the_same_mechanism_serve(formulation: str) -> None:
    given = library.double_pendulum().compile().state({"shoulder.angle": 0.4})
    s = library.double_pendulum().compile(formulation=formulation)
    assert s.simulate(given, 0.02)["shoulder.angle"][0] == pytest.approx(0.4, abs=1e-12)
    assert isinstance(given, State)
