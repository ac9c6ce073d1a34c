"""Choice of independent coordinates: the projective criterion on the four-bar (Schiehlen, eqs. 18–22)."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.analysis.assemble import mobility, projective
from jourdain.library import four_bar, n_four_bar
from jourdain.systems.constraints import jacobian
from jourdain.systems.tree.partition import normal_criterion, null_space, partition, projective_criterion, projective_partition
from tests.validation.circles import closed_four_bar


@pytest.fixture(scope="module")
def linkage():  # type: ignore[no-untyped-def]
    """The default four-bar, crank-rocker."""
    return four_bar().compile()


def turned(system, alpha: float, branch: int = 1):  # type: ignore[no-untyped-def]
    """The closed position at a crank angle."""
    coupler, rocker = closed_four_bar(alpha, branch)
    return system.assemble({"crank": alpha}, guess={"coupler": coupler, "rocker": rocker})


def test_both_forms_of_the_criterion_add_up(linkage) -> None:  # type: ignore[no-untyped-def]
    """cos²α + cos²β = 1 over a full turn, and every value lies between 0 and 1."""
    for alpha in np.linspace(0.0, 2 * np.pi, 49):
        state = turned(linkage, alpha)
        J, M = jacobian(linkage, state.q, 0.0), linkage.mass_matrix(state.q)
        tangent, normal = projective_criterion(J, M), normal_criterion(J, M)
        assert tangent + normal == pytest.approx(np.ones(3), abs=1e-12)
        assert tangent.min() > -1e-13
        assert tangent.max() < 1 + 1e-13


def test_crank_is_never_a_bad_choice(linkage) -> None:  # type: ignore[no-untyped-def]
    """A crank that turns fully is never normal to the tangent space; the rocker is where it turns back."""
    values = {alpha: projective(linkage, turned(linkage, alpha)) for alpha in np.linspace(0.0, 2 * np.pi, 181)}
    assert min(v["crank.angle"] for v in values.values()) > 1e-2
    assert min(v["rocker.angle"] for v in values.values()) < 1e-4


def test_rocker_is_singular_at_its_turning_points(linkage) -> None:  # type: ignore[no-untyped-def]
    """Where crank and coupler are in line cos²α of the rocker vanishes, and it is refused as an independent coordinate."""
    for straight in (0.8 + 0.35, 0.8 - 0.35):
        # crank and coupler in line: cosine law in the triangle of ground, rocker and the straight pair
        angle = np.arccos((straight**2 + 1.0 - 0.7**2) / (2 * straight))
        alpha = angle if straight > 1 else angle + np.pi
        state = turned(linkage, alpha)
        assert projective(linkage, state)["rocker.angle"] < 1e-12
        J, M = jacobian(linkage, state.q, 0.0), linkage.mass_matrix(state.q)
        rocker = linkage.velocity_names.index("rocker.angle_rate")
        assert rocker in projective_partition(J, M).dependent
        assert rocker in partition(J, preferred=[rocker]).dependent


def test_criterion_does_not_depend_on_how_constraints_are_scaled(linkage, rng: np.random.Generator) -> None:  # type: ignore[no-untyped-def]
    """Combining the constraint equations leaves the tangent space and the criterion as they are."""
    state = turned(linkage, 1.0)
    J, M = jacobian(linkage, state.q, 0.0), linkage.mass_matrix(state.q)
    mixed = rng.normal(size=(2, 2)) @ J
    assert projective_criterion(mixed, M) == pytest.approx(projective_criterion(J, M), abs=1e-12)
    assert np.abs(J @ null_space(mixed)).max() < 1e-12


def test_freedoms_jump_in_the_singular_position() -> None:
    """N four-bars have one freedom, and N + 1 where all links are in line."""
    system = n_four_bar(3).compile()
    regular = system.assemble({f"A{i}": 0.3 for i in range(4)}, guess={f"B{i}": -0.3 for i in range(3)})
    assert mobility(system, regular.q) == 1
    singular = system.configuration.pack({f"A{i}": -np.pi / 2 for i in range(4)} | {f"B{i}": np.pi / 2 for i in range(3)})
    assert mobility(system, singular) == 4
