"""States have the sizes of their system and hold finite numbers; those of other systems are refused where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
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
        ({"q": "ab"}, "are no real numbers"),
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
def test_verbs_that_only_read_refuse_them_too(formulation: str) -> None:
    s, other = (m.compile(formulation=formulation) for m in (library.double_pendulum(), library.pendulum()))
    run = other.simulate({"hinge.angle": 0.3}, 0.1, **({"step": 0.01} if formulation == "directors" else {}))
    asked = [lambda: s.inputs_at(other.state()), lambda: s.symbolic_linearisation(other.state())]
    for ask in asked + ([lambda: s.drift(run)] if formulation not in ("cartesian", "natural") else []):
        with pytest.raises(InputError, match="one of 'simple pendulum'"):
            ask()


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_states_of_the_same_mechanism_serve(formulation: str) -> None:
    given = library.double_pendulum().compile().state({"shoulder.angle": 0.4})
    s = library.double_pendulum().compile(formulation=formulation)
    assert s.simulate(given, 0.02)["shoulder.angle"][0] == pytest.approx(0.4, abs=1e-12)
    assert isinstance(given, State)


def two_joints(order: str) -> Any:
    """Two bodies at joints of their own, whose order is that of their creation."""
    m = jd.Model(order)
    for name in order:
        body = m.body(f"body {name}", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        (m.revolute if name == "a" else m.prismatic)(name, m.ground, body, axis="y")
    return m


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(
    "ask",
    [
        lambda s, x: s.linearise(x), lambda s, x: s.modal(x), lambda s, x: s.equilibrium(x), lambda s, x: s.mobility(x), lambda s, x: s.dof(x),
        lambda s, x: s.assemble(x), lambda s, x: s.assemble(guess=x), lambda s, x: s.kinematics([0.0, 1.0], {"a": lambda t: t}, x),
        lambda s, x: s.static_forces(x), lambda s, x: s.closure_report(state=x), lambda s, x: s.velocity_transformation(x), lambda s, x: s.periodic(x, 1.0),
        lambda s, x: s.simulate(x, 0.1), lambda s, x: s.stepper(x, 1e-3), lambda s, x: s.reactions(x), lambda s, x: s.accelerations(x),
    ],
)  # fmt: skip
def test_every_verb_refuses_states_of_as_many_other_coordinates(ask: Any, formulation: str) -> None:
    s, other = two_joints("ab").compile(formulation=formulation), two_joints("ba").compile()
    with pytest.raises(InputError, match=r"one of 'ba' \(its coordinates have another order\)"):
        ask(s, other.state({"a": 0.3, "b": 2.0}))


@pytest.mark.parametrize("formulation", ["recursive", "directors"])
def test_runs_of_other_systems_have_no_drift_here(formulation: str) -> None:
    s, other = (two_joints(order).compile(formulation=formulation) for order in ("ab", "ba"))
    run = other.simulate({}, 0.01, **({"step": 1e-3} if formulation == "directors" else {}))
    with pytest.raises(InputError, match="the solution given is one of"):
        s.drift(run)
    with pytest.raises(InputError):
        s.closure_report(state=run)
