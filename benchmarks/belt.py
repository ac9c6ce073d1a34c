"""A push-belt variator: processor time of a second, and how it grows with the number of stations.

python -m benchmarks.belt
"""

from __future__ import annotations

import time

import jourdain as jd


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


def main() -> None:
    for spacing in (3.6e-3, 1.8e-3, 0.9e-3):
        stations, seconds = second(spacing)
        print(f"{stations} stations: {seconds:.2f} s of processor time for a second")


if __name__ == "__main__":
    main()
