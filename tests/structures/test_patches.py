"""Patches on beams: authority by slopes, by the loads of a model and by finite elements; stiffness and mass as those of a thicker beam."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd

st = jd.structures
STEEL, BLADE = st.Material(209e9, 0.3, 7850.0), st.rectangle(0.001, 0.02)


def ritz(**options: object) -> st.ReducedStructure:
    return st.ritz_beam(0.5, BLADE, STEEL, **{"bending": (4, 0), "rotary": False, **options})  # type: ignore[arg-type]


def test_authority_is_the_slope_between_the_ends() -> None:
    body = ritz()
    found = st.piezo_authority(body, 0.1, places=11)
    np.testing.assert_allclose(2 * np.pi * found.frequencies, body.frequencies, rtol=1e-9)
    M, K = body.M_ee, body.stiffness
    for k, x in enumerate(found.places):
        turn = body.point((x + 0.1, 0, 0)).phi_r[2] - body.point((x, 0, 0)).phi_r[2]
        # modes of unit modal mass: the sum of squares is that of M⁻¹, whatever their signs
        assert np.sum(found.values[k] ** 2) == pytest.approx(turn @ np.linalg.solve(M, turn), rel=1e-8)
        assert np.sum((found.values[k] / (2 * np.pi * found.frequencies)) ** 2) == pytest.approx(turn @ np.linalg.solve(K, turn), rel=1e-8)
    assert found.best(1)[0] == pytest.approx(0.0, abs=1e-12)  # the first mode bends most at its root


def test_authority_is_what_a_patch_of_a_model_does() -> None:
    m = jd.Model("patch", gravity=(0, 0, 0))
    body = m.flexible_body("beam", ritz())
    m.fixed("clamp", m.ground, body.node("start"))
    m.piezo_patch("patch", body, span=(0.1, 0.16), voltage=m.input("volts"), d31=-1.8e-10, pair=True)
    s = m.compile()
    Q = s.function("loads")(np.zeros(4), np.zeros(4), np.ones(1))
    moment = 2 * (0.0005 + 0.00025) * 0.02 * 6.3e10 * 1.8e-10 / 0.7  # N m for a volt
    found = st.piezo_authority(body.part, 0.06, places=441)
    k = int(np.argmin(np.abs(found.places - 0.1)))
    assert found.places[k] == pytest.approx(0.1, abs=1e-12)
    assert Q @ np.linalg.solve(body.part.M_ee, Q) == pytest.approx(np.sum((moment * found.values[k]) ** 2), rel=1e-9)


def test_finite_elements_and_ritz_functions_agree() -> None:
    elements = st.beam((0, 0, 0), (0.5, 0, 0), BLADE, STEEL, elements=40).reduce(modes=3, frame="tangent", bending="y")
    a, b = (st.piezo_authority(x, 0.06, places=23) for x in (elements, ritz()))
    np.testing.assert_allclose(a.frequencies, b.frequencies[:3], rtol=1e-4)
    np.testing.assert_allclose(np.abs(a.values), np.abs(b.values[:, :3]), atol=2e-3 * np.abs(b.values[:, :3]).max())


@pytest.mark.parametrize("face", ["y", "z"])
def test_patches_over_the_whole_beam_are_a_thicker_one(face: str) -> None:
    """EI + E_p/(1 − ν²) ∫ y² dA and μ + ρ_p A_p."""
    bending = (4, 0) if face == "y" else (0, 4)
    body = ritz(bending=bending)
    patch = st.Patch((0.0, 0.5), face=face, thickness=4e-4, E=6e10, nu=0.3, density=7600.0, pair=True)
    found = st.with_patches(body, [patch])
    h, b = (0.001, 0.02) if face == "y" else (0.02, 0.001)
    I = 2 * (b * 4e-4 * (h / 2 + 2e-4) ** 2 + b * 4e-4**3 / 12)
    EI, mu = 209e9 * b * h**3 / 12, 7850 * 2e-5
    factor = np.sqrt((1 + 6e10 / 0.91 * I / EI) / (1 + 7600 * 2 * b * 4e-4 / mu))
    np.testing.assert_allclose(found.frequencies, factor * body.frequencies, rtol=1e-9)
    share = 7600 * 2 * b * 4e-4 / mu
    for name in ("mass", "s0", "s1", "J0", "D0", "M_ee", "s2"):
        old = np.asarray(getattr(body, name))
        np.testing.assert_allclose(getattr(found, name), (1 + share) * old, rtol=1e-9, atol=5e-12 * np.abs(old).max())
    assert body.mass == pytest.approx(mu * 0.5), "the beam itself is as before"


def test_a_beam_with_patches_moves_with_its_energy() -> None:
    m = jd.Model("arm", gravity=(0, -9.81, 0))
    link = m.flexible_body("link", st.with_patches(ritz(bending=(2, 0)), [st.Patch((0.02, 0.08)), st.Patch((0.3, 0.4), face="-y")]))
    m.revolute("hinge", m.ground, link.node("start"))
    sol = m.compile().simulate({"hinge.angle_rate": 3.0}, t=0.3, rtol=1e-10, atol=1e-12)
    assert np.ptp(sol["energy.total"]) < 1e-8


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: st.piezo_authority(ritz(), 0.6), "a patch of 0.6 m does not fit the beam of 0.5 m"),
        (lambda: st.piezo_authority(ritz(), 0.1, face="x"), "face 'x' is unknown"),
        (lambda: st.piezo_authority(ritz(), 0.1).best(9), "mode 9 is not among the 4"),
        (lambda: st.with_patches(ritz(), [st.Patch((0.4, 0.6))]), "from 0.4 to 0.6 m is not within the beam of 0.5 m"),
        (
            lambda: st.with_patches(st.beam((0, 0, 0), (0.5, 0, 0), BLADE, STEEL).reduce(2, frame="tangent"), [st.Patch((0.1, 0.2))]),
            "not a beam by Ritz functions",
        ),
    ],
)  # fmt: skip
def test_wrong_patches_are_told(call, told: str) -> None:
    with pytest.raises(jd.InputError, match=told):
        call()
