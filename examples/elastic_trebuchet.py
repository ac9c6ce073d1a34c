"""A trebuchet whose arm bends: the missile leaves its guide, then the arm; energy is the same before and after, to rounding.

python examples/elastic_trebuchet.py
jourdain info examples/elastic_trebuchet.py:elastic_trebuchet
"""

from pathlib import Path

import numpy as np

import jourdain as jd


def elastic_trebuchet() -> jd.Model:
    """A third of the stiffness of the published one, so that the bending is seen."""
    return jd.library.elastic_trebuchet(stiffness=0.3)


if __name__ == "__main__":
    system = elastic_trebuchet().compile(formulation="directors")
    sol = system.simulate({}, t=4.5, step=0.02)
    print(sol.events)
    E = sol["energy.total"]
    print(
        f"energy {E[0]:.0f} J; it changes by {np.ptp(E) / sol['energy.kinetic'].max():.0e} of the kinetic energy at most, events included"
    )
    thrown = next(e for e in sol.events if e.name == "throws").t
    k = int(np.flatnonzero(sol.t == thrown)[-1])
    p, v = sol["missile.position"][k], sol["missile.velocity"][k]
    flight = (v[2] + np.sqrt(v[2] ** 2 + 2 * 9.81 * p[2])) / 9.81
    print(f"released at {np.linalg.norm(v):.1f} m/s and {p[2]:.1f} m, it lands at x = {p[0] + v[0] * flight:.1f} m after {flight:.2f} s")

    Path("out").mkdir(exist_ok=True)
    sol.plot("energy.kinetic", "energy.potential", "energy.total", file="out/elastic_trebuchet_plot.png")
    sol.between(0.0, 2.1).save_picture("out/elastic_trebuchet.png", t=1.4, stress="von mises", trace=["missile"])
    sol.between(0.0, 3.0).save_page("out/elastic_trebuchet.html", plots=["energy.kinetic"], stress="von mises", trace=["missile"])
    print("wrote out/elastic_trebuchet.png, out/elastic_trebuchet_plot.png and out/elastic_trebuchet.html")
