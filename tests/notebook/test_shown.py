"""What notebooks show of models and results: in an executed notebook, and against the numbers themselves."""

from __future__ import annotations

import html
import pickle
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.design import criteria
from jourdain.library import four_bar, quarter_car
from jourdain.notebook import html_of
from jourdain.notebook.drawings import course, plane, tree
from jourdain.notebook.pieces import MOST_ROWS, number, table
from jourdain.shown import Formulas, displayed, in_notebook
from tests.notebook.kernels import execute


def oscillator(k: float = 40.0) -> jd.System:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    stiffness, damping = m.parameters(k=k, c=0.4)
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(slide, stiffness=stiffness, damping=damping)
    return m.compile()


def words(page: str) -> str:
    """The text that a reader sees."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page)).replace("−", "-")


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    return [[html.unescape(c).replace("−", "-") for c in re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)] for row in rows]


def drawing(page: str) -> ET.Element:
    return ET.fromstring(re.search(r"<svg.*?</svg>", page, re.DOTALL)[0])  # type: ignore[index]


def test_a_notebook_shows_drawings_tables_formulas_and_the_view() -> None:
    shown = execute(
        "import jourdain as jd\nfrom jourdain.library import four_bar, pendulum\nm = four_bar(); m",
        "s = m.compile(); start = s.assemble({'crank': 0.5}, guess={'rocker': 2.0}); start",
        "sol = s.simulate(start, t=0.2); sol",
        "sol.view(plots=['crank.angle'], height=300)",
        "p = pendulum().compile(); p.equations()",
        "p.modal({'hinge': 0.0})",
        "p.linearise({'hinge': 0.0})",
        "sweep = p.sweep({'hinge.angle': 0.1}, 0.1, parameters={'length': [0.5, 1.0]}, outputs=['hinge.angle'])",
        "p.simulate({'hinge.angle': 0.1}, t=0.2, progress=True)",
    )
    model, start, sol, view, equations, modes, linear, sweep, run = shown
    assert "<svg" in model["text/html"] and "coupler" in model["text/html"]
    assert "crank.angle" in start["text/html"] and "0.5" in start["text/html"]
    assert sol["text/html"].count("<svg") == 3 and "25 channels" in sol["text/html"]
    assert view["text/html"].startswith("<iframe srcdoc=") and "height:300px" in view["text/html"]
    assert not re.search(r"(?:src|href)=.?https?:", view["text/html"])  # nothing comes over a network
    assert equations["text/latex"].startswith("$$") and r"\ddot" in equations["text/latex"]
    assert "ν₀ [Hz]" in modes["text/html"] and "hinge.angle_rate" in linear["text/html"]
    assert "<progress" in sweep["text/html"] and "runs 2/2" in sweep["text/html"]
    assert "<svg" in run["text/html"]


def test_a_tree_has_every_body_joint_and_closure() -> None:
    model = four_bar()
    said = [e.text for e in drawing(tree(model)).iter() if e.text]
    assert set(said) == {"ground", *model.bodies, *(f"{j.name} · {j.kind}" for j in model.joints.values()), "loop: ball"}


def test_boxes_of_a_tree_do_not_overlap() -> None:
    m = jd.Model("bush", gravity=(0, 0, -9.81))
    bodies = [m.ground]
    for i in range(14):
        bodies.append(m.body(f"a body with a name {i}", mass=1.0, com=(0, 0, -1)))
        m.revolute(f"joint {i}", bodies[i // 2], bodies[-1], axis="y")
    boxes = [
        [float(r.attrib[k]) for k in ("x", "y", "width", "height")] for r in drawing(html_of(m)).iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert len(boxes) == 15
    for i, (x, y, w, h) in enumerate(boxes):
        for u, v, a, b in boxes[:i]:
            assert x >= u + a or u >= x + w or y >= v + b or v >= y + h


def test_a_model_that_is_not_finished_and_one_with_long_chains_show_themselves() -> None:
    m = jd.Model("half", gravity=(0, 0, 0))
    m.body("loose <b>", mass=1.0)
    page = html_of(m)
    assert "not connected to the ground" in words(page) and "loose &lt;b&gt;" in page
    chain = jd.Model("chain", gravity=(0, 0, 0))
    last = chain.ground
    for i in range(1500):
        body = chain.body(f"b{i}", mass=1.0)
        chain.revolute(f"j{i}", last, body, axis="y")
        last = body
    assert "b1499" in html_of(chain)
    assert drawing(tree(chain)) is not None


def test_modes_are_told_as_they_are() -> None:
    modes = oscillator().modal({"slide": 0.0})
    row = cells(html_of(modes))[1]
    nu = np.sqrt(40.0) / 2 / np.pi
    assert float(row[2]) == pytest.approx(nu, rel=1e-5) and float(row[4]) == pytest.approx(100 * 0.4 / 2 / np.sqrt(40.0), rel=1e-5)


def test_an_unstable_mode_is_marked() -> None:
    m = jd.Model("inverted", gravity=(0, 0, -9.81))
    m.revolute("hinge", m.ground, m.body("rod", mass=1.0, com=(0, 0, 1)), axis="y")
    assert "font-weight:bold" in html_of(m.compile().modal({"hinge": 0.0}))
    assert "font-weight:bold" not in html_of(oscillator().modal({"slide": 0.0}))


def test_a_linear_system_shows_its_matrices() -> None:
    linear = oscillator().linearise({"slide": 0.0})
    rows = cells(html_of(linear))
    assert rows[0] == ["A", "slide.displacement", "slide.displacement_rate"]
    assert [[float(x) for x in row[1:]] for row in rows[1:3]] == [[0, 1], [-40, -0.4]]


def test_gradients_optima_and_fronts_are_tables() -> None:
    s = oscillator()
    analysis = jd.Analysis(s, "simulate", {"slide.displacement": 0.1}, t=1.0)
    swing = criteria.integral("slide.displacement^2")
    gradient = analysis.gradient({"swing": swing}, ["k", "c"])
    rows = cells(html_of(gradient))
    assert [row[0] for row in rows] == ["criterion", "swing", "variable", "k", "c"]
    assert float(rows[3][2]) == pytest.approx(gradient["swing", "k"], rel=1e-5)
    problem = jd.Problem(analysis, {"k": (10.0, 60.0), "c": (0.1, 2.0)}, {"swing": swing})
    best = problem.optimise()
    table_of = {row[0]: row for row in cells(html_of(best))}
    assert float(table_of["k"][1]) == pytest.approx(best.values["k"], rel=1e-5) and "swing" in table_of
    both = {"swing": swing, "push": criteria.integral("slide.displacement_acc^2")}
    front = jd.Problem(analysis, {"k": (10.0, 60.0), "c": (0.1, 2.0)}, both).pareto("weighted", points=5)
    page = html_of(front)
    rows = cells(page)
    assert len(rows) == len(front) + 1 and float(rows[1][0]) == pytest.approx(front.values[0, 0], rel=1e-5)
    assert page.count("<circle") == len(front) and sum("knee" in row for row in rows) == 1


def test_a_sweep_is_a_table_of_its_runs() -> None:
    s = oscillator()
    sweep = s.sweep({"slide": 0.1}, 0.5, parameters={"k": np.linspace(1.0, 50.0, 60)}, outputs=["slide.displacement"], progress=False)
    page = html_of(sweep)
    rows = cells(page)
    assert len(rows) == MOST_ROWS + 1 and "… and 20 more" in words(page)
    assert float(rows[1][2]) == pytest.approx(sweep["slide.displacement"][0], rel=1e-5) and rows[1][3] == "done"


def test_a_solution_draws_its_coordinates_and_tells_its_events() -> None:
    m = jd.Model("ball", gravity=(0, 0, -9.81))
    drop = m.prismatic("drop", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("half", drop.position - 0.8)
    sol = m.compile().simulate({"drop": 1.0}, t=0.3)
    page = html_of(sol)
    line = next(drawing(page).iter("{http://www.w3.org/2000/svg}polyline")).attrib["points"].split()
    y = np.array([float(p.split(",")[1]) for p in line])
    assert len(line) > len(sol.t) and np.all(np.diff(y) >= 0)  # it falls: down the drawing
    assert "1 events" in words(page) and f"{sol.events[0].t:.6g}" in words(page)


def test_rounding_errors_are_drawn_as_a_line_that_rests() -> None:
    t = np.linspace(0.0, 1.0, 50)
    noise = 1e-18 * np.sin(40 * t)
    points = next(drawing(course(t, noise, "z", "m", "#000", scale=1.0)).iter("{http://www.w3.org/2000/svg}polyline")).attrib["points"]
    assert len({p.split(",")[1] for p in points.split()}) == 1
    points = next(drawing(course(t, 1e-3 * noise / 1e-18, "z", "m", "#000", scale=1.0)).iter("{http://www.w3.org/2000/svg}polyline"))
    assert len({p.split(",")[1] for p in points.attrib["points"].split()}) > 10


def test_long_courses_keep_their_peaks() -> None:
    t = np.linspace(0.0, 1.0, 100_001)
    x = np.zeros_like(t)
    x[54_321] = 7.0
    page = course(t, x, "pulse", "N", "#000")
    points = next(drawing(page).iter("{http://www.w3.org/2000/svg}polyline")).attrib["points"].split()
    assert len(points) < 600 and "0 … 7 N" in words(page)
    assert min(float(p.split(",")[1]) for p in points) == 20.0  # the peak stands at the upper edge


def test_values_that_are_no_numbers_do_not_spoil_a_drawing() -> None:
    t = np.linspace(0.0, 1.0, 5)
    assert "nan" not in course(t, np.array([0.0, np.nan, 1.0, np.inf, 0.5]), "x", "", "#000")
    assert "nan" not in course(t, np.full(5, np.nan), "x", "", "#000")
    assert plane(np.zeros(0), np.zeros(0, dtype=bool)) == ""


def test_names_are_escaped() -> None:
    assert "<script" not in table(["<script>", "x"], [("<script>alert(1)</script>", 1.0)])
    assert number(-0.0) == "0" and number(-1.5) == "−1.5" and number(True) == "True"


def test_an_equilibrium_a_state_and_what_has_no_drawing() -> None:
    s = quarter_car().compile()
    found = s.equilibrium()
    rows = {row[0]: row for row in cells(html_of(found))}
    assert float(rows[found.entries[0].name][1]) == pytest.approx(found.entries[0].value, rel=1e-5)
    assert html_of(s.mobility()).count("<pre") == 1


def test_formulas_are_text_and_are_typeset() -> None:
    s = oscillator()
    text, latex = s.equations(), s.equations("latex")
    assert isinstance(text, str) and "k*" in text and latex.startswith(r"\begin{align*}")
    assert text._repr_latex_() == latex._repr_latex_() == displayed(latex)  # type: ignore[attr-defined]
    assert "align*" not in text._repr_latex_() and r"\begin{aligned}" in text._repr_latex_()  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(text))
    assert again == text and isinstance(again, Formulas) and again.latex == latex


def test_no_cell_loads_anything_from_a_network() -> None:
    """Cells are text with their drawings, styles and scripts inside, so that any front end shows them offline; names of XML dialects are no addresses."""
    from jourdain.notebook.sliders import CARRIER
    from jourdain.view.explore import Explorer

    model = four_bar()
    s = oscillator()
    sol = s.simulate({"slide": 0.1}, t=0.5)
    found = [
        html_of(x)
        for x in (model, s, sol, s.modal(), s.linearise(), s.state({}), s.sweep({"slide": 0.1}, 0.1, parameters={"k": [1.0, 2.0]}))
    ]
    pages = [*found, Explorer(s, ["k"], {"slide": 0.1}, 1.0).page("parent", "auto"), CARRIER]
    for page in map(html.unescape, pages):
        assert not re.search(r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:|//)""", page)
        assert not re.search(r"""(?:@import|url\(|fetch\(|import\(|importScripts\(|from)\s*["'(]?\s*(?:https?:|//\w)""", page)
        assert not re.search(r"<link\b(?![^>]*href=.data:)|require\.config|requirejs", page)


def test_a_program_is_no_notebook() -> None:
    assert not in_notebook()


def test_sliders_are_a_widget_whose_questions_the_kernel_answers() -> None:
    pytest.importorskip("anywidget")
    shown = execute(
        "from jourdain.library import pendulum\ns = pendulum().compile()\nw = s.explore(['length'], {'hinge.angle': 0.3}, 1.0); w",
        "sent = []\nw.send = lambda message, buffers=None: sent.append(message)\n"
        "w._handle_custom_msg({'ask': 7, 'value': {'values': {'length': 2.0}}}, [])\n"
        "w._handle_custom_msg({'ask': 8, 'value': {'values': {'mass': 2.0}}}, [])\n"
        "print(sent[0]['answer'], sorted(sent[0]['value']), sent[0]['value']['eigenvalues'][0][1] ** 2, sent[1]['value'])",
    )
    assert "application/vnd.jupyter.widget-view+json" in shown[0]
    first = shown[1]["stdout"]
    assert first.startswith("7 ['eigenvalues', 'note', 'scene', 'tracks'] 4.90") and "sliders for length" in first


def test_a_course_of_long_steps_is_a_curve() -> None:
    """A thrown ball takes a handful of steps; its drawing is the parabola, not the straight lines between them."""
    m = jd.Model("ball")
    m.prismatic("drop", m.ground, m.body("ball", mass=1.0), axis="z")
    sol = m.compile().simulate({"drop.displacement_rate": 10.0}, t=2.0)
    page = html_of(sol)
    points = np.array([[float(x) for x in p.split(",")] for p in re.search(r'<polyline points="([^"]*)"', page)[1].split()])
    assert len(sol) < 20 < len(points)
    t = (points[:, 0] - points[0, 0]) / np.ptp(points[:, 0]) * 2.0
    z = 10.0 * t - 4.905 * t**2
    drawn = (points[0, 1] - points[:, 1]) / (points[0, 1] - points[:, 1].min()) * z.max()
    assert abs(drawn - z).max() < 0.02 * np.ptp(z)
    assert f"· {len(sol)} samples ·" in words(page) and "took" in words(page) and "wall_time" not in words(page)


def test_numbers_of_things_are_words() -> None:
    assert "1 body, 1 joint, 1 load" in words(html_of(oscillator().model))
    assert "1 coordinate, 1 velocity" in words(html_of(oscillator()))
    assert "1 mode, 0 rigid" in words(html_of(oscillator().modal()))


def test_rounding_beside_a_course_is_zero() -> None:
    assert "0 … 1 m" in course(np.linspace(0, 1, 3), np.array([-2e-15, 0.5, 1.0]), "z", "m", "#000")


def test_figures_show_themselves_in_a_fresh_kernel() -> None:
    """Whether or not anything has imported pyplot; without names a plot shows the coordinates."""
    pytest.importorskip("matplotlib")
    first = "from jourdain.library import double_pendulum\ns = double_pendulum().compile()\nsol = s.simulate({}, t=1.0)"
    _, plot, again, value, kept = execute(
        first, "figure = sol.plot()\nprint(len(figure.axes), len(figure.axes[0].get_lines()))\nfigure", "s.modal().plot()",
        "sol.plot(show=True)", "figure = sol.plot(show=True)",
    )  # fmt: skip
    assert value["times"] == kept["times"] == 1 and {"image/png"} <= set(kept)
    assert plot["stdout"] == "1 2\n" and {"image/png"} <= set(plot) and {"image/png"} <= set(again)
