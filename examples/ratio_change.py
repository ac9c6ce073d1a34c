"""A variator changes its ratio: the driving thrust is lowered by a controller, and the belt moves to other radii.

python examples/ratio_change.py
"""

from pathlib import Path

import jourdain as jd


def belt() -> jd.Model:
    """The belt at the ratio at which the change ends, as forty bodies in contact."""
    from jourdain.library.variator.parts import Elements

    elements = Elements(count=40, thickness=16.29e-3, EA=1e6, axial_stiffness=1.5e7)
    return jd.library.element_belt(jd.library.push_belt_variator(ratio=1.2, elements=elements)).model


if __name__ == "__main__":
    cvt = jd.library.push_belt_variator(ratio=1.0, thrust="20 kN")
    start = cvt.steady(torque_ratio=0.26, speed="2000 rpm")
    sol = cvt.simulate(0.8, ratio=1.2, state=start, over=0.6)
    last = sol.restart
    print(
        f"driving thrust {sol['Q_dr'][0] / 1e3:.1f} kN, least {sol['Q_dr'].min() / 1e3:.1f} kN, at the end {sol['Q_dr'][-1] / 1e3:.1f} kN"
    )
    print(f"ratio {sol['ratio'][0]:.3f} to {sol['ratio'][-1]:.3f}, radii {1e3 * last.path.r_dr:.2f} and {1e3 * last.path.r_dn:.2f} mm")

    Path("out").mkdir(exist_ok=True)
    sol.plot("ratio", "Q_dr", "Q_dn", "M_dr", file="out/ratio_change_plot.png")
    last.save_picture("out/ratio_change.png", "f_Pn")
    last.save_page("out/ratio_change.html", "f_Pn")
    print("wrote out/ratio_change.png, out/ratio_change_plot.png and out/ratio_change.html")
