"""Every formulation of a model gives the same accelerations, reactions and motion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library import mechanisms
from jourdain.solvers.constraints.reductions import REDUCTIONS
from jourdain.systems.formulations import FORMULATIONS, formulate
from jourdain.systems.state import State
from jourdain.systems.tree.reduced_by import NATIVE_REDUCTIONS
from tests.systems.zoo import ZOO, assembled, bar

#: Equations on sensors act on the bodies directly; the recursive reactions let them pass through the joints.
ON_SENSORS = ("rolling disk", "couplings")


@cache
def zoo(name: str) -> tuple[Any, State]:
    return ZOO[name]()


def close(a: np.ndarray, b: np.ndarray, tolerance: float = 1e-10) -> bool:
    return bool(np.abs(a - b).max(initial=0.0) <= tolerance * max(1.0, np.abs(b).max(initial=0.0)))


PLANAR = ("four-bar", "slider-crank", "sleigh")
CASES = [(name, rotation) for name in ZOO for rotation in ("auto", "rotation-vector", *(["euler-parameters"] if name in PLANAR else []))]


@pytest.mark.parametrize(("name", "rotation"), CASES)
def test_accelerations_and_reactions(name: str, rotation: str) -> None:
    system, state = zoo(name)
    recursive, cartesian = formulate(system, "recursive"), formulate(system, "cartesian", rotation=rotation)
    assert close(cartesian.accelerations(state), recursive.accelerations(state))
    assert cartesian.dof(state) == recursive.dof(state)
    if name in ON_SENSORS:
        return
    reference, found = recursive.reactions(state), cartesian.reactions(state)
    for joint in reference:
        for a, b in zip(found[joint], reference[joint], strict=True):
            assert close(a, b, 1e-9), (joint, a, b)


@pytest.mark.parametrize("formulation", ["semi-recursive", "natural", "directors"])
@pytest.mark.parametrize("name", list(ZOO))
def test_other_formulations(name: str, formulation: str) -> None:
    system, state = zoo(name)
    recursive, other = formulate(system, "recursive"), formulate(system, formulation)
    assert close(other.accelerations(state), recursive.accelerations(state))
    assert other.dof(state) == recursive.dof(state)
    if name in ON_SENSORS:
        return
    reference, found = recursive.reactions(state), other.reactions(state)
    for joint in reference:
        for a, b in zip(found[joint], reference[joint], strict=True):
            assert close(a, b, 1e-8), (joint, a, b)


@pytest.mark.parametrize("formulation", ["semi-recursive", "cartesian", "directors"])
def test_the_complete_car(formulation: str) -> None:
    from jourdain.library.car import car

    system = car(tyres=None).compile()
    start = system.assemble({})
    rng = np.random.default_rng(3)
    from scipy.linalg import null_space

    from jourdain.systems.constraints import jacobian

    allowed = null_space(jacobian(system, start.q, 0.0), rcond=1e-9)
    state = State(system, start.q, allowed @ rng.normal(size=allowed.shape[1]), start.z, 0.0)
    found, expected = (formulate(system, f).accelerations(state) for f in (formulation, "recursive"))
    assert close(found, expected, 1e-9)


@pytest.mark.parametrize("reduction", list(REDUCTIONS))
@pytest.mark.parametrize("name", ["four-bar", "RSSR", "five-link", "rolling disk", "laws and drives"])
def test_every_reduction(name: str, reduction: str) -> None:
    system, state = zoo(name)
    expected = formulate(system, "recursive").accelerations(state)
    found = formulate(system, "cartesian", reduction=reduction, rotation="euler-parameters").accelerations(state)
    assert close(found, expected, 1e-3 if reduction == "penalty" else 1e-10)


def end(system: Any, solution: Any) -> np.ndarray:
    return np.array([solution[n][-1] for n in (*system.coordinate_names, *system.velocity_names)])


@cache
def motion(name: str) -> np.ndarray:
    system, state = zoo(name) if name in ZOO else over_constrained()
    return end(system, system.simulate(state, 0.3, "dop853", rtol=1e-12, atol=1e-13))


@cache
def over_constrained() -> tuple[Any, State]:
    return assembled(mechanisms.bennett())


@pytest.mark.parametrize("reduction", list(REDUCTIONS))
@pytest.mark.parametrize("formulation", ["cartesian", "natural"])
@pytest.mark.parametrize("name", ["four-bar", "RSSR", "rolling disk", "laws and drives", "Bennett"])
def test_every_reduction_acts_in_runs(name: str, formulation: str, reduction: str) -> None:
    """Reductions give the same motion by other arithmetic (other bits); what has no native form says so."""
    system, state = zoo(name) if name in ZOO else over_constrained()
    compiled: Any = formulate(system, formulation, reduction=reduction)
    assert f"reduction '{reduction}'" in compiled.describe()
    rtol = 1e-6 if reduction == "penalty" else 1e-10
    options: dict[str, Any] = {"method": "dop853", "rtol": rtol, "atol": 0.1 * rtol, "max_steps": 20_000}
    if reduction not in NATIVE_REDUCTIONS:
        with pytest.raises(InputError, match=f"reduction '{reduction}' has no native form"):
            compiled.simulate(state, 0.3, **options)
        return
    solution = compiled.simulate(state, 0.3, **options)
    assert solution.metadata["reduction"] == reduction
    assert close(end(system, solution), motion(name), 1e-4 if reduction == "penalty" else 1e-7)
    own = compiled.own.state_of(state)
    a, b = np.zeros(len(own.x)), np.zeros(len(own.x))
    compiled.own.native(own).rhs(own.t, own.x, a)
    formulate(system, formulation).own.native(own).rhs(own.t, own.x, b)  # type: ignore[attr-defined]
    assert close(a, b, 1e-5 if reduction == "penalty" else 1e-9)
    assert np.array_equal(a, b) == (reduction == "partition")


ACCURATE: dict[str, Callable[[], tuple[Any, State]]] = {
    "double pendulum": lambda: swung(mechanisms.double_pendulum()),
    "four-bar": lambda: zoo("four-bar"),
    "Bricard": lambda: (lambda s: (s, s.assemble({})))(mechanisms.bricard().compile()),
    "Bennett": lambda: (lambda s: (s, s.assemble({})))(mechanisms.bennett().compile()),
    "five-link": lambda: zoo("five-link"),
    "random 3": lambda: zoo("random 3"),
}


def swung(model: jd.Model) -> tuple[Any, State]:
    system = model.compile()
    return system, system.state(dict.fromkeys(system.coordinate_names, 1.0))


@pytest.mark.parametrize("name", list(ACCURATE))
def test_tight_tolerances_are_reached_in_all_coordinates(name: str) -> None:
    """Joint coordinates read from poses kept the last Gauss–Newton step (1e-11), and rows left out for good became needed (5e-10)."""
    system, state = ACCURATE[name]()
    expected = end(system, system.simulate(state, 1.0, "dop853", rtol=1e-13, atol=1e-14))
    forms: list[tuple[str, dict[str, str]]] = [("cartesian", {}), ("cartesian", {"rotation": "rotation-vector"}), ("natural", {})]
    forms += [("semi-recursive", {"reduction": "null-space"}), ("semi-recursive", {"reduction": "range-space"})]
    for formulation, options in forms:
        solution = formulate(system, formulation, **options).simulate(state, 1.0, method="dop853", rtol=1e-12, atol=1e-12)
        error = np.abs(end(system, solution) - expected).max() / max(1.0, np.abs(expected).max())
        assert error < (1e-10 if name == "five-link" else 8e-12), (formulation, options, error)


@pytest.mark.parametrize("rotation", ["euler-parameters", "rotation-vector"])
def test_simulation_agrees(rotation: str) -> None:
    m = mechanisms.rssr()
    system = m.compile()
    start = system.assemble({"crank.angle": 0.0}, velocities={"crank.angle": 12.0})
    expected = system.simulate(start, 1.0, rtol=1e-10, atol=1e-12, outputs=21)
    cartesian = formulate(system, "cartesian", rotation=rotation)
    for options in ({}, {"stabilisation": "baumgarte"}, {"method": "adams"}):
        found = cartesian.simulate(start, 1.0, rtol=1e-9, atol=1e-11, outputs=21, **options)
        for channel in ("crank.angle", "rocker.angle_rate", "rocker.reaction"):
            assert np.abs(found[channel] - expected[channel]).max() < 1e-5
    assert expected["crank.angle"][-1] > 2 * np.pi  # rotation vectors are exchanged on the way


def test_drift_with_and_without_stabilisation() -> None:
    system, start = zoo("RSSR")
    cartesian = formulate(system, "cartesian")
    drift = {
        s: cartesian.drift(cartesian.simulate(start, 3.0, rtol=1e-6, atol=1e-8, stabilisation=s))
        for s in ("projection", "baumgarte", "none")
    }
    assert drift["projection"][0] < 1e-12
    assert drift["projection"][0] < drift["baumgarte"][0] < 0.2 * drift["none"][0]


def test_augmented_lagrangian_is_of_second_order() -> None:
    system = mechanisms.rssr().compile()
    start = system.assemble({"crank.angle": 0.0}, velocities={"crank.angle": 12.0})
    expected = system.simulate(start, 0.5, rtol=1e-11, atol=1e-13, outputs=11)
    cartesian = formulate(system, "cartesian")
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        found = cartesian.simulate(start, 0.5, method="augmented-lagrangian", step=step, outputs=11)
        errors.append(np.abs(found["crank.angle"] - expected["crank.angle"]).max())
        h, w = cartesian.drift(found)
        assert h < 1e-10 and w < 1e-6
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(slopes - 2.0).max() < 0.1


def test_nonholonomic_motion() -> None:
    system, start = zoo("sleigh")
    expected = system.simulate(start, 2.0, rtol=1e-10, atol=1e-12, outputs=11)
    for rotation in ("planar", "euler-parameters"):
        found = formulate(system, "cartesian", rotation=rotation).simulate(start, 2.0, rtol=1e-10, atol=1e-12, outputs=11)
        assert np.abs(found["sleigh.x"] - expected["sleigh.x"]).max() < 1e-7
        assert np.abs(found["v"] - expected["v"]).max() < 1e-7


def test_drives_states_and_laws_in_time() -> None:
    system, start = zoo("laws and drives")
    expected = system.simulate(start, 0.5, rtol=1e-9, atol=1e-11, outputs=6)
    found = formulate(system, "cartesian").simulate(start, 0.5, rtol=1e-9, atol=1e-11, outputs=6)
    for name in (*system.coordinate_names, "z"):
        assert np.abs(found[name] - expected[name]).max() < 1e-6


def test_free_body_without_constraints() -> None:
    m = jd.Model("free")
    m.free("free", m.ground, bar(m, "body", np.random.default_rng(3)))
    system = m.compile()
    start = system.state({"free.x": 0.3}, velocities={"free.orientation.omega_x": 3.0, "free.orientation.omega_y": 0.2})
    expected = system.simulate(start, 2.0, rtol=1e-10, atol=1e-12, outputs=21)
    cartesian = formulate(system, "cartesian", rotation="rotation-vector")
    assert cartesian.constraints == [] and cartesian.dof(start) == 6
    found = cartesian.simulate(start, 2.0, rtol=1e-10, atol=1e-12, outputs=21)
    for name in system.velocity_names:
        assert np.abs(found[name] - expected[name]).max() < 1e-7


def test_redundant_constraints_are_named() -> None:
    system, state = zoo("four-bar")
    spatial, planar = formulate(system, "cartesian", rotation="euler-parameters"), formulate(system, "cartesian")
    assert (len(planar.unknowns), len(planar.constraints), planar.dependent(state)) == (9, 8, [])
    dropped = spatial.dependent(state)
    assert len(dropped) == 1 and dropped[0] in spatial.constraints
    assert spatial.dof(state) == 1
    assert planar.indeterminate(state) == spatial.indeterminate(state) == []  # nothing acts across the plane


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_redundant_constraints_of_the_model_are_the_same_in_every_formulation(formulation: str) -> None:
    """A door on two hinges: five equations of the second follow from those of the first, whatever the rows of a formulation are."""
    m = jd.Model("door")
    leaf = m.body("leaf", mass=20.0, com=(0.4, 0, 0), inertia=(1.5, 2.0, 1.0))
    m.revolute("lower", m.ground.at(0, 0, -0.8), leaf.at(0, 0, -0.8), axis="z")
    m.revolute("upper", m.ground.at(0, 0, 0.8), leaf.at(0, 0, 0.8), axis="z")
    s = m.compile(formulation=formulation)
    assert s.redundant() == [f"upper[{k}]" for k in range(1, 6)]
    assert set(s.dependent()) <= set(s.constraints)


def test_parameters_of_the_reference_are_taken_over() -> None:
    system = mechanisms.double_pendulum().compile()
    cartesian = formulate(system, "cartesian")
    state = State(system, np.array([0.4, 0.7]), np.array([0.9, -1.1]), np.zeros(0), 0.0)
    before = cartesian.accelerations(state)
    names = [n for n in system.parameters if "gravity" in n]
    system.set_parameters(**{names[0]: 2.0 * system.parameters[names[0]]})
    after = cartesian.accelerations(State(system, state.q, state.v, state.z, 0.0))
    assert close(after, formulate(system, "recursive").accelerations(state)) and not close(after, before)


def test_words_and_errors() -> None:
    m = mechanisms.pendulum()
    compiled = m.compile(formulation="cartesian", rotation="euler-parameters", reduction="qr")
    assert "cartesian: 7 coordinates, 6 constraints" in compiled.describe()
    assert compiled.time_per_evaluation() < 1e-3
    assert compiled.operations.flops > 0
    with pytest.raises(InputError, match="formulation 'lagrangian' is unknown"):
        m.compile(formulation="lagrangian")
    with pytest.raises(InputError, match="reduction 'lu' is unknown"):
        m.compile(formulation="cartesian", reduction="lu")
    with pytest.raises(InputError, match="rotation 'euler' of Cartesian"):
        m.compile(formulation="cartesian", rotation="euler")
    assert "recursive" in FORMULATIONS
