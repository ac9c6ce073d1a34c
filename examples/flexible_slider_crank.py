"""A slider-crank whose rod bends: drive torque, reactions and stresses of one run, and a page on which the rod bends in colour.

python examples/flexible_slider_crank.py
jourdain info examples/flexible_slider_crank.py:slider_crank
"""

from pathlib import Path

import jourdain as jd

st = jd.structures
ROD = st.beam((0, 0, 0), (0.305, 0, 0), section=st.circle(0.0064), material=st.Material(2.0e11, 0.3, 7705.0), elements=10, name="rod")


def slider_crank() -> jd.Model:
    """The mechanism of Lee et al. at a constant 125.7 rad/s, its rod with two bending modes."""
    m = jd.Model("flexible slider-crank", gravity=(0, 0, 0))
    crank = m.body("crank", mass=0.0378, com=(0.076, 0, 0), inertia=(1.9e-7, 7.324e-5, 7.324e-5))
    rod = m.flexible_body("rod", ROD, frame="pinned", modes=2, bending="y")
    slider = m.body("slider", mass=0.0626, inertia=(4.18e-6,) * 3)
    main = m.revolute("main", m.ground, crank, axis="z")
    m.universal("pin", crank.at(0.152, 0, 0), rod.node("start"), axes=("z", "y"))
    m.spherical("wrist", rod.node("end"), slider, cut=True)
    m.prismatic("guide", m.ground, slider, axis="x")
    m.drive(main, lambda t: 125.7 * t)
    return m


if __name__ == "__main__":
    system = slider_crank().compile()
    sol = system.simulate(system.assemble(), t=0.05, rtol=1e-10)
    stress = system.recover(sol, "rod").von_mises
    print(f"drive torque   {sol['main.drive_force'].min():8.3f} … {sol['main.drive_force'].max():.3f} N m")
    print(f"deflection     {1e3 * abs(sol['rod.mode1']).max():8.3f} mm")
    print(f"largest stress {stress.max() / 1e6:8.1f} MPa at t = {sol.t[stress.max(axis=1).argmax()]:.4f} s")

    Path("out").mkdir(exist_ok=True)
    sol.plot("main.drive_force", "rod.mode1", file="out/flexible_slider_crank_plot.png")
    sol.save_page("out/flexible_slider_crank.html", stress={"rod": "von mises"}, exaggerate=10)
    sol.save_picture("out/flexible_slider_crank.png", t=0.0057, stress={"rod": "von mises"}, exaggerate=10)
    print("wrote out/flexible_slider_crank.png, out/flexible_slider_crank_plot.png and out/flexible_slider_crank.html")
