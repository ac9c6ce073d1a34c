"""The human tree: published counts, masses, posture."""

import numpy as np
import pytest

from jourdain import library


@pytest.fixture(scope="module")
def system():
    return library.human(mass=80.0, height=1.8).compile()


def test_counts_of_the_published_tree(system):
    assert len(system.model.bodies) == 42
    assert sum(j.kind == "revolute" for j in system.model.joints.values()) == 41
    assert system.nv == 41 + 6


def test_mass_and_posture(system):
    q = system.state().q
    M = system.mass_matrix(q)
    assert np.allclose(M[:3, :3], 80.0 * np.eye(3), atol=1e-12)
    names = list(system.model.bodies)
    p, R = system.function("poses")(np.zeros(1), q)
    at = dict(zip(names, p, strict=True))
    assert np.allclose(R, np.eye(3), atol=1e-14)
    sole = at["left_foot"][2]
    top = at["head"][2] + 0.182 * 1.8
    assert top - sole == pytest.approx(1.8, rel=0.08)
    for name in names:  # mirrored in the plane of symmetry
        if name.startswith("left_"):
            assert np.allclose(at[name], at["right_" + name[5:]] * [1, -1, 1], atol=1e-14)


def test_mass_matrix_is_positive_definite_in_random_postures(system):
    rng = np.random.default_rng(5)
    for _ in range(5):
        q = system.state().q
        q[-41:] = rng.uniform(-0.6, 0.6, 41)
        assert np.linalg.eigvalsh(system.mass_matrix(q))[0] > 0
