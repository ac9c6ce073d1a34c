"""A push-belt variator: processor time of a second, how it grows with the number of stations, and a belt of bodies in contact beside it.

python -m benchmarks.belt
"""

from __future__ import annotations

import time

import jourdain as jd
from jourdain.library.variator.parts import Elements


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


def bodies(count: int, steps: int = 40) -> tuple[float, float, int]:
    """Step (s) and processor time of a step of a belt of `count` elements, each a body in contact; and how many contacts act."""
    length = 362 * 1.8e-3
    cvt = jd.library.push_belt_variator(elements=Elements(count=count, thickness=length / count, axial_stiffness=5e7 * 362 / count))
    belt = jd.library.element_belt(cvt)
    h = belt.step
    belt.simulate(2 * h, h, outputs=2)
    begin = time.process_time()
    run = belt.simulate(steps * h, h, outputs=2)
    return h, (time.process_time() - begin) / steps, int(run.solution["contacts.acting"][-1])


def main() -> None:
    for spacing in (3.6e-3, 1.8e-3, 0.9e-3):
        stations, seconds = second(spacing)
        print(f"{stations} stations: {seconds:.2f} s of processor time for a second")
        if spacing == 1.8e-3:
            elastic = seconds
    for count in (200, 362):
        h, cost, acting = bodies(count)
        print(
            f"{count} elements as bodies, {acting} contacts: {1e3 * cost:.2f} ms a step of {h:.1e} s, {cost / h / elastic:.0f} × for a second"
        )


if __name__ == "__main__":
    main()
