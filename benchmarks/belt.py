"""A push-belt variator: processor time of a second, how it grows with the number of stations, and a belt of bodies in contact beside it.

python -m benchmarks.belt
"""

from __future__ import annotations

import time
from typing import Any

import jourdain as jd
from jourdain.library.variator.element_belt import VERLET
from jourdain.library.variator.parts import Elements, Friction, Pulley, Rings


def second(spacing: float) -> tuple[int, float]:
    """Stations, and the least processor time of a tenth of a second, times ten."""
    cvt = jd.library.push_belt_variator(spacing=spacing)
    belt = cvt.start()
    cvt._go(belt, 50)
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        cvt._go(belt, round(0.1 / cvt.step))
        best = min(best, time.process_time() - begin)
    return belt.path.stations, 10 * best


def soft(count: int) -> Any:
    """Soft elements and a soft ring on rigid sheaves: a belt whose bodies take steps of microseconds."""
    length = 362 * 1.8e-3
    rigid = Pulley(sheaves=None, shaft=None, collar=1e8, play=0.0)
    elements = Elements(count=count, thickness=length / count, EA=1e6, EI=0.0, axial_stiffness=6e8 / count, k_minus=0.0, k_plus=0.0)
    rings = Rings(count=1, EA=3e5, mass_per_length=1.5, saddle=1e-3, thickness=1e-5, EI=0.0, length=0.65450)
    friction = Friction(v_eps=0.02, ring_mu_c=0.05, ring_mu_s=0.05, ring_v_eps=0.02)
    return jd.library.push_belt_variator(thrust=10e3, elements=elements, rings=rings, friction=friction, pulleys=(rigid, rigid))


def bodies(variator: Any, torque: float, method: str, steps: int = 1600) -> tuple[float, float, int]:
    """Step (s) and processor time of a step of a belt whose elements are bodies in contact, and how many contacts act: the difference of a longer and a
    shorter run, so that the start does not count."""
    belt = jd.library.element_belt(variator, torque=torque)
    h = belt.step * (VERLET if method == "velocity-verlet" else 1.0)
    belt.simulate(2 * h, h, outputs=2, method=method)
    spent = []
    for count in (steps // 4, steps):
        begin = time.process_time()
        run = belt.simulate(count * h, h, outputs=2, method=method)
        spent.append(time.process_time() - begin)
    return h, (spent[1] - spent[0]) / (steps - steps // 4), int(run.solution["contacts.acting"][-1])


def main() -> None:
    for spacing in (3.6e-3, 1.8e-3, 0.9e-3):
        stations, seconds = second(spacing)
        print(f"{stations} stations: {seconds:.2f} s of processor time for a second")
        if spacing == 1.8e-3:
            elastic = seconds
    for what, variator, torque, method in (
        ("60 soft elements", soft(60), 30.0, "rk4"),
        ("200 soft elements", soft(200), 30.0, "rk4"),
        ("200 soft elements", soft(200), 30.0, "velocity-verlet"),
        ("362 elements of steel", jd.library.push_belt_variator(), 100.0, "velocity-verlet"),
    ):
        h, cost, acting = bodies(variator, torque, method)
        per = cost / h
        print(
            f"{what} as bodies, {acting} contacts, {method}: {1e3 * cost:.2f} ms a step of {h:.1e} s, {per:.0f} s for a second, {per / elastic:.0f} ×"
        )


if __name__ == "__main__":
    main()
