"""The library's factors against own ones: same trajectories, the way out where fixed pivots fail, and what is said when both do."""

import numpy as np
import pytest
import scipy.sparse as sp

import jourdain as jd
from jourdain.analysis.simulate import SimulationError
from jourdain.elements.element import Element
from jourdain.errors import InputError, SolverError
from jourdain.library import conserving
from jourdain.library.manipulators import planar_manipulator, radio_telescope
from jourdain.solvers.linear.library_lu import LibraryLU
from jourdain.solvers.linear.sparse_lu import OK, SINGULAR
from jourdain.systems.assembled.system import AssembledSystem
from tests.systems.assembled.assembled_models import chain


def servo():
    return conserving.two_wheeled_robot([1.0], [1.0])


SYSTEMS = {
    "chain": (lambda: chain(4), {"end": 1.0, "step": 0.02}),
    "chain, bodies": (lambda: chain(4), {"end": 1.0, "step": 0.02, "reduction": "bodies"}),
    "loop": (planar_manipulator, {"end": 0.5, "step": 0.01}),
    "clearance": (lambda: conserving.cavity_pendulum(two_spheres=True), {"end": 0.2, "step": 1e-3, "tolerance": 1e-15}),
    "servo": (lambda: radio_telescope(np.pi), {"end": 0.5, "step": 0.01}),
    "rolling": (servo, {"end": 0.5, "step": 0.01}),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_both_solvers_give_the_same_trajectory(name):
    made, options = SYSTEMS[name]
    own, library = (made().simulate(linear_solver=s, **options) for s in ("own", "library"))
    assert own.statistics["library_factorisations"] == 0
    assert library.statistics["library_factorisations"] == library.statistics["factorisations"] > 0
    system = made()
    for h in system.handles:
        for channel in (f"{h.name}.position", f"{h.name}.rotation", h.name):
            if channel in own:
                assert np.abs(own[channel] - library[channel]).max() < 1e-10 * max(1.0, np.abs(own[channel]).max())


class Falling(Element):
    """A mass under a constant force, which takes it past a level, and massless u, w with A(x) (u³, w³) = b(x)."""

    blocks = {"x": 1, "u": 2}
    constants = {"level": 1}

    def __init__(self, kind):
        self.kind = kind

    def mass(self, s):
        return {("x", 0, "x", 0): 1.0}

    def potential(self, s):
        return [-10.0 * s.x[0]]

    def external(self, s):
        u, w = (e * e * e for e in s.mid.u)
        beyond = jd.where(s.mid.x[0] > s.level, 1.0, 0.0)
        diagonal, other = {
            "vanishing": (1.0 - beyond, 0.5 + 0.5 * beyond),
            "alternating": (beyond, 1.0 - beyond),
            "singular": (1.0, beyond),
        }[self.kind]
        right = (diagonal + other) * (1.0 + 100.0 * s.mid.x[0])
        return {("u", 0): diagonal * u + other * w - right, ("u", 1): other * u + diagonal * w - right}


def falling(kind, level):
    s = AssembledSystem("falling")
    x, u = s.coordinates("x", 1, 0.0, 1.0), s.coordinates("u", 2, (1.0, 1.0))
    s.add(Falling(kind), "law", {"x": x, "u": u}, {"level": level})
    return s


def exact(t):
    return t + 5.0 * t * t


def check(sol):
    assert sol.statistics["halvings"] == 0
    assert sol["x"] == pytest.approx(exact(sol.t), abs=1e-10)
    x, u = (0.5 * (sol[c][1:] + sol[c][:-1]) for c in ("x", "u"))
    assert u**3 == pytest.approx(np.column_stack(2 * [1.0 + 100.0 * x]), rel=1e-9)


def test_new_pivots_suffice_where_a_diagonal_vanishes():
    sol = falling("vanishing", 0.5).simulate(0.5, 0.01)
    check(sol)
    assert sol.statistics["analyses"] == 2
    assert sol.statistics["library_factorisations"] == 0


def test_the_library_goes_on_where_no_choice_of_pivots_serves_a_step():
    # the predicted middle of the first step lies before the level, the true one beyond: each refuses the other's pivots
    sol = falling("alternating", 0.06).simulate(1.0, 0.1)
    check(sol)
    assert 0 < sol.statistics["library_factorisations"] < sol.statistics["factorisations"]  # own factors take over again


@pytest.mark.parametrize("linear_solver", ["own", "library"])
def test_a_singular_matrix_is_named_with_time_element_and_coordinate(linear_solver):
    with pytest.raises(SimulationError, match=r"coordinate 'u\[[01]\]' \(elements 'law'\) at t = 0\.2") as caught:
        falling("singular", exact(0.205)).simulate(1.0, 0.01, linear_solver=linear_solver)
    assert isinstance(caught.value, SolverError)
    assert caught.value.solution["x"] == pytest.approx(exact(caught.value.solution.t), abs=1e-10)


def test_only_known_solvers_are_accepted():
    with pytest.raises(InputError, match="'pardiso'"):
        chain(1).simulate(0.1, 0.05, linear_solver="pardiso")
    with pytest.raises(InputError, match="'joints'"):
        chain(1).simulate(0.1, 0.05, reduction="joints", linear_solver="library")


def test_equilibrated_and_refined():
    rng = np.random.default_rng(3)
    n = 40
    A = sp.csc_matrix(sp.random(n, n, 0.1, random_state=rng) + sp.diags(rng.uniform(1.0, 2.0, n)))
    scales = 10.0 ** rng.uniform(-8, 8, n)
    B = sp.csc_matrix(sp.diags(scales) @ A @ sp.diags(scales))
    lu, x = LibraryLU(B.indptr, B.indices, B.data), rng.normal(size=n)
    assert lu.factorise() == OK
    assert lu.solve(B @ (x / scales)) * scales == pytest.approx(x, rel=1e-8)
    B.data[:] = 0.0
    assert lu.factorise() == SINGULAR
    B.data[:] = np.nan
    assert lu.factorise() == SINGULAR
