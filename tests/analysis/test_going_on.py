"""Runs that go on from others without naming a method: by the method of those, as if they had never stopped."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import jourdain as jd

METHODS: list[tuple[str, str | None, dict[str, Any]]] = [
    ("recursive", None, {}), ("recursive", "auto", {}), ("recursive", "dop853", {"rtol": 1e-10}), ("recursive", "rk4", {"step": 1e-3}), ("recursive", "radau", {}),
    ("recursive", "generalized-alpha", {"step": 1e-3, "rho": 0.9}), ("cartesian", "rk4", {"step": 1e-3}), ("natural", "generalized-alpha", {"step": 1e-3}),
    ("directors", "midpoint", {"step": 1e-3}), ("directors", "energy-momentum", {"step": 2e-3}),
]  # fmt: skip
RIGID = [("recursive", "nonsmooth-generalized-alpha"), *((f, "moreau") for f in ("recursive", "cartesian", "natural", "directors"))]


def block(formulation: str, law: Any = None) -> Any:
    m = jd.Model("block")
    body = m.body("block", shape=jd.box(0.2, 0.2, 0.1, density=1000.0))
    m.free("f", m.ground, body)
    if law is not None:
        m.contact("floor", body, m.ground, law=law)
    return m.compile(formulation=formulation)


def shared(s: Any, start: dict[str, float], method: str | None, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """A whole run, its first half, and the second without a word about the method."""
    whole, first = (s.simulate(start, t, method, **options) for t in (0.02, 0.01))
    return whole, first, s.simulate(pickle.loads(pickle.dumps(first.restart)) and first, 0.01)


@pytest.mark.parametrize(("formulation", "method", "options"), METHODS)
def test_every_method_is_kept(formulation: str, method: str | None, options: dict[str, Any]) -> None:
    start = {"f.z": 1.0, "f.x_rate": 1.0, "f.orientation.omega_y": 3.0}
    whole, first, second = shared(block(formulation), start, method, options)
    assert second.metadata["method"] == first.metadata["method"]
    np.testing.assert_allclose([second[n][-1] for n in ("f.x", "f.z")], [whole[n][-1] for n in ("f.x", "f.z")], rtol=1e-12)
    if "step" in options:
        np.testing.assert_allclose(second.t, whole.t[len(first.t) - 1 :], atol=1e-15)


@pytest.mark.parametrize(("formulation", "method"), RIGID)
def test_those_of_contacts_are_kept(formulation: str, method: str) -> None:
    start, options = {"f.z": 0.05, "f.x_rate": 1.0}, {"step": 1e-3, "tolerance": 1e-9}
    whole, _, second = shared(
        block(formulation, jd.contact.rigid(friction=0.3)), start, method, options if method == "moreau" else {"step": 1e-3}
    )
    assert second.metadata["method"] == method
    np.testing.assert_allclose(second["f.x"][-1], whole["f.x"][-1], rtol=1e-13)


@pytest.mark.parametrize(("formulation", "method"), [(f, m) for f, m, o in METHODS if "step" in o])
def test_another_step_is_taken(formulation: str, method: str) -> None:
    """A step that is given with the method of the run before was left aside."""
    s = block(formulation)
    first = s.simulate({"f.z": 1.0, "f.orientation.omega_y": 3.0}, 0.01, method, step=1e-3)
    for options in ({"method": method}, {}):
        np.testing.assert_allclose(s.simulate(first, 0.01, step=5e-3, **options).t, [0.01, 0.015, 0.02], atol=1e-15)


def test_what_is_given_counts_and_nothing_is_kept_for_other_starts() -> None:
    s = block("recursive")
    first = s.simulate({"f.z": 1.0}, 0.01, "rk4", step=1e-3)
    assert s.simulate(first, 0.01, "dop853").metadata["method"] == "dop853"
    s.simulate(first, 0.01)
    assert s.simulate({"f.z": 1.0}, 0.01).metadata["method"] == "dopri5"
