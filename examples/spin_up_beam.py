"""A beam is spun up: in a linear theory it grows softer and flies apart, with foreshortening it stiffens and settles.

python examples/spin_up_beam.py
jourdain info examples/spin_up_beam.py:spin_up
"""

import warnings
from pathlib import Path

import numpy as np

import jourdain as jd
from jourdain.model.shapes import cylinder
from jourdain.results.plots import compare
from jourdain.view import Camera


def spin_up(order: int = 2) -> jd.Model:
    """Kane, Ryan and Banerjee's beam of 10 m on a hub that reaches 6 rad/s in 15 s."""
    m = jd.library.spin_up_beam(order)
    m.bodies["hub"].shapes.append(cylinder(0.15, 0.3, colour="#3d444d"))
    m.ground.shapes.append(cylinder(0.3, 0.5, colour="#6d7680").at(0, 0, -0.4))
    return m


if __name__ == "__main__":
    runs = {}
    for order in (1, 2):
        system = spin_up(order).compile()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # that a linear beam is wrong is what is shown
            runs[f"order {order}"] = system.simulate({}, t=9.0 if order == 1 else 20.0, rtol=1e-8, outputs=2001)
        print(f"order {order}: largest deflection {np.abs(runs[f'order {order}']['transverse']).max():.4f} m")
    sol = runs["order 2"]
    print(f"its tip comes nearer to the hub by {-1e3 * sol['axial'].min():.2f} mm, at {sol.t[np.argmin(sol['axial'])]:.2f} s")
    for order in (1, 2):
        system = spin_up(order).compile()
        rest, turning = (min(abs(mode.eigenvalue) for mode in system.modal(system.state().with_values(t=t))) for t in (0.0, 7.5))
        print(f"order {order}: first frequency {rest:.3f} rad/s at rest, {turning:.3f} rad/s at 3 rad/s")

    Path("out").mkdir(exist_ok=True)
    compare(list(runs.values()), "transverse", list(runs), title="tip of the spin-up beam", file="out/spin_up_beam_plot.png")
    k, middle = int(np.argmin(sol["transverse"])), np.array([4.5, 0.0, 0.0])
    turn = sol.frame("hub").rotation[k]
    camera = Camera((turn @ (middle + [0.0, -8.0, 9.0])).tolist(), (turn @ middle).tolist())
    sol.save_picture("out/spin_up_beam.png", t=sol.t[k], camera=camera, up="z", stress={"beam": "displacement"})
    sol.save_page("out/spin_up_beam.html", up="z", stress={"beam": "displacement"})
    print("wrote out/spin_up_beam.png, out/spin_up_beam_plot.png and out/spin_up_beam.html")
