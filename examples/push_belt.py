"""A push belt under three torques: where elements push, where rings pull, how flanks slide.

python examples/push_belt.py
"""

from pathlib import Path

import jourdain as jd
from jourdain.results.fields import plot_fields


def push_belt() -> jd.Model:
    """The same belt as forty bodies in contact: elements, links of the ring and sheaves."""
    from jourdain.library.variator.parts import Elements

    elements = Elements(count=40, thickness=16.29e-3, EA=1e6, axial_stiffness=1.5e7)
    return jd.library.element_belt(jd.library.push_belt_variator(elements=elements)).model


if __name__ == "__main__":
    cvt = jd.library.push_belt_variator(ratio=1.0, thrust="20 kN")
    states = cvt.sweep([0.26, 0.51, 0.77], speed="2000 rpm")
    for state in states:
        print(state, end="\n\n")

    Path("out").mkdir(exist_ok=True)
    runs = [(state.fields, f"M/M* = {state.torque_ratio:.2f}") for state in states]
    plot_fields(runs, ["P", "T", "f_Pn", "gamma"], "out/push_belt_plot.png", "push belt, i = 1")
    states[1].save_picture("out/push_belt.png", "P")
    states[1].save_page("out/push_belt.html", "P")
    print("wrote out/push_belt.png, out/push_belt_plot.png and out/push_belt.html")
