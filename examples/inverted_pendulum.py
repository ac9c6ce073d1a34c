"""An inverted pendulum on a cart held upright by a computer: linearised for the gains, then sampled at 50 Hz.

python examples/inverted_pendulum.py
jourdain equations examples/inverted_pendulum.py:cart_pole
"""

from pathlib import Path

import numpy as np
from scipy.linalg import solve_continuous_are

import jourdain as jd
from jourdain.model.shapes import box, cylinder, sphere

PERIOD = 0.02


def cart_pole() -> jd.Model:
    """A cart on a rail, pushed by the input, with a pole that would fall."""
    m = jd.Model("cart and pole")
    l = m.parameter("l", 0.6, unit="m")
    m.ground.shapes += [box(1.9, 0.03, 0.02).at(0, y, -0.07) for y in (-0.07, 0.07)]
    m.ground.shapes += [box(0.05, 0.24, 0.03).at(x, 0, -0.095) for x in (-0.9, -0.45, 0.0, 0.45, 0.9)]
    wheels = [cylinder(0.035, 0.025, axis="y", colour="#3d444d").at(x, y, -0.025) for x in (-0.09, 0.09) for y in (-0.07, 0.07)]
    cart = m.body("cart", mass=1.0, shape=[box(0.3, 0.12, 0.07).at(0, 0, 0.025), *wheels], colour="#4269d0")
    stick = [cylinder(0.014, 0.6, axis="z").at(0, 0, 0.3), cylinder(0.03, 0.06, axis="y", colour="#3d444d"), sphere(0.03).at(0, 0, 0.6)]
    pole = m.body("pole", mass=0.3, com=(0, 0, l / 2), inertia=(0.3 * l**2 / 12, 0.3 * l**2 / 12, 0), shape=stick, colour="#efb118")
    rail = m.prismatic("rail", m.ground, cart, axis="x")
    m.revolute("hinge", cart.at(0, 0, 0.06), pole, axis="y")
    m.force(rail, m.input("push", unit="N"), name="motor")
    return m


if __name__ == "__main__":
    system = cart_pole().compile()
    print(system.equations())
    linear = system.linearise(system.state())
    print(f"eigenvalues of the pole upright: {np.sort(linear.eigenvalues.real).round(3)}")

    # The gains minimise ∫ xᵀQx + r u² dt of the linear system.
    A, B = linear.A, linear.B
    Q, r = np.diag([20.0, 50.0, 1.0, 1.0]), 0.1
    gains = (B.T @ solve_continuous_are(A, B, Q, np.array([[r]])) / r)[0]

    def law(state: jd.State) -> float:
        return float(np.clip(-gains @ np.concatenate([state.q, state.v]), -20.0, 20.0))

    start = {"rail": -0.7, "hinge": "12 deg"}
    sol = system.simulate(start, t=5.0, inputs={"push": jd.Controller(law, PERIOD)})
    print(f"after 5 s: cart at {sol['rail.displacement'][-1]:.4f} m, pole at {sol['hinge.angle', 'deg'][-1]:.4f} deg")

    Path("out").mkdir(exist_ok=True)
    sol.plot("rail.displacement", "hinge.angle", "push", unit="deg", file="out/inverted_pendulum_plot.png")
    sol.save_picture("out/inverted_pendulum.png", t=0.15)
    sol.save_page("out/inverted_pendulum.html", plots=["rail.displacement", "hinge.angle", "push"])
    print("wrote out/inverted_pendulum.png, out/inverted_pendulum_plot.png and out/inverted_pendulum.html")
