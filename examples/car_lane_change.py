"""A double lane change of a complete car: McPherson front, five-link rear, Magic-Formula tyres, faster than real time.

python examples/car_lane_change.py
"""

from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.library.car import CORNERS, car, rolling, steady_turn
from jourdain.model.shapes import prism


def rack(t: jd.Expr) -> jd.Expr:
    """Displacement of the steering rack: left and back into the other lane, then the same to the right (m)."""

    def pulse(start: float) -> jd.Expr:
        return jd.step(t, start, start + 0.3) - 2.0 * jd.step(t, start + 0.7, start + 1.0) + jd.step(t, start + 1.4, start + 1.7)

    return 0.004 * (pulse(1.0) - pulse(3.5))


def lane_change() -> jd.Model:
    """The car with a driven rack and a speed controller that holds 25 m/s."""
    m = car(steering=rack, cruise=True)
    arches = [(x - 0.38 * np.cos(a), -0.2 + 0.38 * np.sin(a)) for x in (-1.35, 1.35) for a in np.linspace(-0.15, np.pi + 0.15, 21)]
    hull = [*arches, (2.0, -0.26), (2.18, -0.1), (2.06, 0.26), (1.0, 0.46), (-1.3, 0.47), (-2.0, 0.45), (-2.06, -0.26)]
    cabin, roof = [(1.05, 0.43), (0.2, 0.8), (-0.7, 0.82), (-1.75, 0.45)], [(0.25, 0.78), (0.15, 0.83), (-0.75, 0.85), (-0.85, 0.79)]
    parts = ((hull, 1.6, "#2f6fb5"), (cabin, 1.3, "#26303b"), (roof, 1.32, "#2f6fb5"))
    m.bodies["chassis"].shapes[:] = [prism([(z, x) for x, z in outline], width, axis="y", colour=c) for outline, width, c in parts]
    for body in m.bodies.values():
        body.colour = "#aeb4bc"
    return m


if __name__ == "__main__":
    system = lane_change().compile()
    system.set_parameters(**{"cruise.speed": 25.0})
    print(system)
    start = system.assemble({}, velocities=rolling(25.0))
    print(start.report)

    sol = system.simulate(start, t=8.0, rtol=1e-6, atol=1e-8)
    seconds = sol.statistics["wall_time"]
    print(f"8 s in {seconds:.3f} s: {8.0 / seconds:.0f} times faster than real time, {sol.statistics['rhs']} evaluations")
    print(f"lateral offset {sol['chassis.y'].max():.2f} m, roll up to {abs(sol['chassis.rx']).max() * 57.3:.2f} deg")
    for corner in CORNERS:
        print(f"{corner}: load {sol[f'{corner}.tyre.Fz'].min():.0f} … {sol[f'{corner}.tyre.Fz'].max():.0f} N")
    Path("out").mkdir(exist_ok=True)
    sol.plot("chassis.y", "chassis.rz_rate", "sideslip", "chassis.rx", file="out/car_lane_change_plot.png")
    sol.resample([1.49, 1.5]).save_picture("out/car_lane_change.png", t=1.5)
    sol.resample(401).save_page(
        "out/car_lane_change.html", plots=["chassis.y", ["chassis.rz_rate"], ["FL.tyre.Fz", "FR.tyre.Fz"]], follow="chassis"
    )
    print("wrote out/car_lane_change.png, out/car_lane_change_plot.png and out/car_lane_change.html")

    circle = car(steering=0.002, path="circle").compile()
    turn = steady_turn(circle, radius=100.0, speed=20.0)
    print(f"steady turn of 100 m at 20 m/s: rack {1e3 * turn['steering']:.2f} mm, drive torque {turn['drive']:.0f} N m")
