"""Small models that several tests of analyses share, and a right-hand side to compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jourdain as jd
from jourdain.analysis.equations.residual import close_loops
from jourdain.systems.tree.projected import NativeSystem

GRAVITY = 9.81


def right_hand_side(system: Any, u: dict[str, float] | None = None) -> Callable[[float, np.ndarray], np.ndarray]:
    """The native ẋ(t, x) that simulations integrate."""
    native = NativeSystem(system, system.input_values(u))

    def rhs(t: float, x: np.ndarray) -> np.ndarray:
        out = np.zeros(native.n)
        assert native.rhs(t, np.ascontiguousarray(x), out) == 0
        return out

    return rhs


def pendulum(length: float = 1.0, mass: float = 1.0, **options: Any) -> tuple[jd.Model, Any]:
    """A point mass on a massless rod hanging along −z."""
    m = jd.Model("pendulum")
    bob = m.body("bob", mass=mass, com=(0, 0, -length))
    return m, m.revolute("hinge", m.ground, bob, axis="y", **options)


def four_bar(spring: bool = True) -> Any:
    """Crank 0.3, coupler 0.9, rocker 0.6, ground 0.8 m in the xz plane, with a spring at the rocker and a motor."""
    m = jd.Model("four-bar")
    crank = m.body("crank", mass=1.0, com=(0.15, 0, 0), inertia=(0.01, 0.01, 0.01))
    coupler = m.body("coupler", mass=2.0, com=(0.45, 0, 0.1), inertia=(0.05, 0.06, 0.05))
    rocker = m.body("rocker", mass=1.5, com=(0.3, 0, 0), inertia=(0.03, 0.03, 0.03))
    a = m.revolute("A", m.ground, crank, axis="-y")
    b = m.revolute("B", crank.at(0.3, 0, 0), coupler, axis="-y")
    c = m.revolute("C", m.ground.at(0.8, 0, 0), rocker, axis="-y")
    m.close("loop", coupler.at(0.9, 0, 0), rocker.at(0.6, 0, 0), "ball")
    motor = m.input("motor", 0.0, unit="N m")
    m.force(a, lambda x, v, t: motor - 0.05 * v)
    if spring:
        k = m.parameter("k", 40.0, unit="N m/rad")
        m.force(c, lambda x, v, t: -k * (x - 1.0) - 0.2 * v)
    m.output("power", motor * a.velocity, unit="W")
    m.output("height", m.sensor("tip", coupler.at(0.9, 0, 0)).z + 0.0 * b.position, unit="m")
    return m.compile()


FOUR_BAR_GUESS = {"B.angle": -0.4, "C.angle": 1.6}


def reduced_rates(
    system: Any, linear: Any, x0: np.ndarray, t: float, u: dict[str, float] | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """Rates of the independent coordinates as a function of their change, from the native right-hand side alone."""
    c, nq, nv = system.configuration, system.nq, system.nv
    rhs = right_hand_side(system, u)
    plain = system.configuration.displacement_names
    dof = linear.dof
    Iq = [plain.index(n) for n in linear.states[:dof]]
    Iv = [system.velocity_names.index(n) for n in linear.states[dof : len(linear.states) - system.nz]]
    q0, v0, z0 = x0[:nq], x0[nq : nq + nv], x0[nq + nv :]

    def rates(change: np.ndarray) -> np.ndarray:
        step = np.zeros(nv)
        step[Iq] = change[:dof]
        q = c.integrate(q0, step)
        if system.equations_of_motion.holonomic:
            q = close_loops(system, q, Iq, t)
        v = v0.copy()
        v[Iv] += change[dof : dof + len(Iv)]
        if system.equations_of_motion.rows:
            f = system.function("constraint_velocities")
            w, J = f(np.array([t]), q, v, *(np.zeros(n) for n in list(f.inputs.values())[3:]))
            free = [j for j in range(nv) if j not in Iv]
            v[free] -= np.linalg.lstsq(J[:, free], w, rcond=None)[0]
        x = np.concatenate([q, v, z0 + change[dof + len(Iv) :]])
        xdot = rhs(t, x)
        h = 1e-5
        base = rhs(t, x0)
        ahead = c.difference(c.normalise(q0 + h * base[:nq]), c.normalise(q + h * xdot[:nq]))
        behind = c.difference(c.normalise(q0 - h * base[:nq]), c.normalise(q - h * xdot[:nq]))
        return np.concatenate([((ahead - behind) / (2 * h))[Iq], xdot[nq : nq + nv][Iv], xdot[nq + nv :]])

    return rates


def central_differences(f: Callable[[np.ndarray], np.ndarray], n: int, h: float = 1e-4) -> np.ndarray:
    """Jacobian of f at zero by central differences with Richardson extrapolation."""

    def at(step: float) -> np.ndarray:
        return np.column_stack([(f(step * e) - f(-step * e)) / (2 * step) for e in np.eye(n)])

    return (4 * at(h / 2) - at(h)) / 3


def spatial_loop() -> jd.Model:
    """An arm on a hinge, a rod on a ball joint at its end, held by a massless rod to the ground (quaternion in a loop)."""
    m = jd.Model("spatial loop")
    rod = m.body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    arm = m.body("arm", mass=2.0, com=(0, 0.4, 0), inertia=(0.2, 0.02, 0.2))
    m.revolute("arm", m.ground, arm, axis=(0.3, 0.1, 1.0))
    m.spherical("ball", arm.at(0, 0.8, 0), rod)
    m.close("end", rod.at(1.0, 0, 0), m.ground.at(1.0, 0.9, 0.2), "rod", length=0.4)
    return m
