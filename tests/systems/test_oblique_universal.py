"""Universal joints whose axes are not normal to each other: the same motion in every formulation, wherever a loop is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd

AXES = (1.0, 0.2, 0.0), (0.3, 0.5, 0.7)
WAYS: list[tuple[str, dict[str, Any], dict[str, Any], float]] = [
    ("semi-recursive", {}, {"rtol": 1e-10}, 1e-8), ("cartesian", {}, {"rtol": 1e-10}, 1e-8), ("natural", {}, {"rtol": 1e-10}, 1e-8),
    ("directors", {}, {"step": 1e-3}, 1e-5), ("directors", {"reduction": "bodies"}, {"step": 1e-3}, 1e-5),
    ("directors", {"reduction": "joints"}, {"step": 1e-3}, 1e-5),
]  # fmt: skip


def chain(loop: str) -> jd.Model:
    """Two bodies on a hinge and an oblique cross; perhaps closed by a slider on a ball, the cross or the ball being cut, or by a closure."""
    m = jd.Model("oblique")
    a, b = (m.body(n, mass=1.0, com=(0.1, 0.2, -0.3), inertia=(0.1, 0.12, 0.13)) for n in "ab")
    m.revolute("hinge", m.ground, a, axis="x")
    m.universal("cross", a.at(0, 0.1, -0.5), b.at(0.05, 0, 0), axes=AXES, cut=loop == "cross" or None)
    if loop:
        c, d = (m.body(n, mass=0.5, com=(0, 0.1, 0), inertia=(0.1, 0.1, 0.1)) for n in "cd")
        m.spherical("ball", m.ground.at(1, 0, 0), c, orientation="xyz")
        m.prismatic("slider", c, d, axis="x")
        if loop == "closure":
            m.close("end", b.at(0, 0, -0.5), d, "universal", axes=AXES)
        else:
            m.spherical("end", b.at(0, 0, -0.5), d, orientation="xyz", cut=loop == "end" or None)
    return m


def moved(loop: str, formulation: str = "recursive", options: dict[str, Any] | None = None, **run: Any) -> np.ndarray:
    s = chain(loop).compile(formulation=formulation, **(options or {}))
    given = {"hinge": 0.4} | ({} if loop == "cross" else {"cross.angle1": 0.3, "cross.angle2": -0.5})
    if loop:
        start = s.reference.assemble({"hinge": 0.4}, guess=given | {"slider": -0.8}, velocities={"hinge.angle_rate": 1.0})
    else:
        start = s.reference.state({**given, "hinge.angle_rate": 1.0})
    return np.array([s.simulate(start, 0.2, **run)[n][-1] for n in ("hinge.angle", "hinge.angle_rate")])


@pytest.mark.parametrize(("formulation", "options", "run", "near"), WAYS)
@pytest.mark.parametrize("loop", ["", "closure"])
def test_every_formulation_turns_about_both_axes(
    loop: str, formulation: str, options: dict[str, Any], run: dict[str, Any], near: float
) -> None:
    np.testing.assert_allclose(moved(loop, formulation, options, **run), moved(loop, rtol=1e-10), atol=near)


def test_a_cut_cross_is_the_joint_of_the_tree() -> None:
    def angle(cut: str) -> float:
        s = chain(cut).compile()
        if cut == "end":
            state = s.assemble({"hinge": 0.4}, guess={"cross.angle1": 0.3, "cross.angle2": -0.5, "slider": -0.8})
        else:
            known = chain("end").compile().assemble({"hinge": 0.4}, guess={"cross.angle1": 0.3, "cross.angle2": -0.5, "slider": -0.8})
            ends = {n: known[n] for n in ("ball.rx", "ball.ry", "ball.rz", "slider.displacement")}
            state = s.assemble({"hinge": 0.4, **ends}, guess={"end.rx": 0.1})
        poses = s.function("poses")(np.zeros(1), state.q)
        names = list(s.model.bodies)
        first, second = (np.array(x) / np.linalg.norm(x) for x in AXES)
        return float((poses[1][names.index("a")] @ first) @ (poses[1][names.index("b")] @ second))

    first, second = (np.array(x) / np.linalg.norm(x) for x in AXES)
    assert angle("end") == pytest.approx(first @ second, abs=1e-9)
    assert angle("cross") == pytest.approx(first @ second, abs=1e-7)
