"""The command `jourdain`: every verb, what it writes, and how it fails."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.cli import main
from jourdain.io.export import default_functions, export_source, export_standalone, exported_function
from jourdain.io.model_files.model_file import save_model
from jourdain.io.model_reference import load_model
from jourdain.results import load_solution

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PENDULUM = f"{EXAMPLES / 'pendulum.py'}:pendulum"
ENGINE = f"{EXAMPLES / 'slider_crank.py'}:engine"
URDF = """<robot name="swing"><link name="base"><inertial><mass value="3"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="bob"><inertial><mass value="2"/><origin xyz="0 0 -1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint></robot>"""
MJCF = """<mujoco model="ball"><worldbody><body name="bob"><joint name="hinge" axis="0 1 0"/>
  <geom size="0.1" pos="0 0 -1"/></body></worldbody></mujoco>"""


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a failing command prints."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("jourdain: ")
    assert "Traceback" not in captured.err
    return line.removeprefix("jourdain: ")


# --- verbs -------------------------------------------------------------------------------------------------------


def test_version_and_help_from_a_process() -> None:
    command = [sys.executable, "-m", "jourdain.cli"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, cwd=ROOT, timeout=240)
    assert (done.returncode, done.stdout) == (0, f"jourdain {jd.__version__}\n")
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=240)
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in ("info", "equations", "export", "simulate", "demo"))


def test_reading_the_command_line_loads_nothing_heavy() -> None:
    program = "import sys; from jourdain.cli import build_parser; build_parser(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=240)
    assert not {"llvmlite", "scipy", "matplotlib", "rich"} & set(done.stdout.split())


def test_errors_of_a_process_are_one_line_and_status_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jourdain.cli", "info", "absent.urdf"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=240)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "jourdain: there is no file 'absent.urdf'\n"


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", ENGINE]) == 0
    text = capsys.readouterr().out
    assert "loop closed by wrist" in text
    assert "recursive Newton–Euler" in text
    system = load_model(ENGINE).compile()
    n = system.symbolic("mass_matrix").operations()
    row = next(line for line in text.splitlines() if line.split()[:1] == ["mass_matrix"])
    assert row.split()[1:5] == [str(k) for k in (n.adds, n.mults, n.divs, n.functions)]


def test_info_of_a_mechanism_whose_loops_hold_a_body_without_mass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The tree by itself has no accelerations; everything else is told."""
    m = library.four_bar()
    rocker = m.body("pointer")
    m.revolute("pointer", m.ground.at(0, 0, 1), rocker, axis="y")
    m.rod("stay", rocker.at(0.1, 0, 0), m.ground.at(0.1, 0, 1.5), 0.5)
    save_model(m, tmp_path / "m.toml")
    assert main(["info", str(tmp_path / "m.toml")]) == 0
    table = capsys.readouterr().out
    assert re.search(r"forward_dynamics +– ", table) and re.search(r"inverse_dynamics +\d", table)


def test_info_prints_what_an_importer_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "swing.urdf"
    mesh = '<visual><geometry><mesh filename="absent.stl"/></geometry></visual></link>'
    file.write_text(URDF.replace("</link>", mesh, 1))
    assert main(["info", str(file)]) == 0
    assert any(line.startswith("note: ") and "absent.stl" in line for line in lines(capsys))
    assert main(["equations", str(file)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("note: ") and "absent.stl" in said[0]


def test_equations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["equations", PENDULUM]) == 0
    assert lines(capsys)[0] == "m*l^2*q1'' + m*g*l*sin(q1) = -d*q1'"
    assert main(["equations", PENDULUM, "--latex"]) == 0
    assert r"\ddot{q}_{1}" in capsys.readouterr().out
    assert main(["equations", PENDULUM, "--recursive"]) == 0
    assert "tau[1] = " in lines(capsys)[-1]


def test_equations_of_a_large_model_are_recursive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "chain.py"
    file.write_text(
        "import jourdain as jd\n"
        "m = jd.Model('chain')\n"
        "last = m.ground\n"
        "for i in range(6):\n"
        "    body = m.body(f'b{i}', mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 1.1, 1.2))\n"
        "    m.revolute(f'j{i}', last, body, axis='xyz'[i % 3])\n"
        "    last = body.at(0, 0, 1)\n"
    )
    assert main(["equations", str(file)]) == 0
    captured = capsys.readouterr()
    assert "too large for a readable closed form" in captured.err
    assert len(captured.out.splitlines()) > 20


def test_simulate_writes_tables_and_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, plot = tmp_path / "run.npz", tmp_path / "deep" / "run.png"
    options = ["--set", "hinge=30deg", "--set", "l=0.4", "--set", "hinge.angle_rate=-1", "--outputs", "11"]
    assert main(["simulate", PENDULUM, "-t", "0.5", *options, "-o", str(table), "-o", str(plot)]) == 0
    assert "hinge.angle" in capsys.readouterr().out
    sol = load_solution(table)
    system = load_model(PENDULUM).compile()
    system.set_parameters(l=0.4)
    expected = system.simulate({"hinge": np.pi / 6, "hinge.angle_rate": -1.0}, t=0.5, outputs=11)
    assert sol["hinge.angle"] == pytest.approx(expected["hinge.angle"], rel=1e-14)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_simulate_needs_no_duration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pile that overlaps at the start, as long as its own simulation lasts, else a second."""
    m = jd.Model("pile")
    m.ground.shapes += [jd.plane()]
    for i in range(3):
        m.free(f"free{i}", m.ground, m.body(f"ball{i}", shape=jd.sphere(0.05, density=1000.0)))
        m.initial[f"free{i}.z"] = 0.05 + 0.08 * i
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    file, table = tmp_path / "pile.toml", tmp_path / "pile.npz"
    asked = ["simulate", str(file), "--method", "moreau", "--step", "2e-3", "-o", str(table)]
    for analyses, last in (({}, 1.0), ({"fall": {"verb": "simulate", "t": "20 ms"}}, 0.02)):
        m.analyses = analyses
        m.save(file)
        assert "let overlap='push apart' do it" in failure(capsys, *asked)
        assert main([*asked, "--overlap", "push apart"]) == 0
        sol = load_solution(table)
        assert sol.t[-1] == pytest.approx(last)
        assert np.diff([sol[f"free{i}.z"][1] for i in range(3)]).min() > 0.1 - 1e-6
    with pytest.raises(jd.InputError, match="no option 'start'; did you mean overlap"):
        m.compile().simulate(method="moreau", step=2e-3, t=0.1, start="push apart")  # type: ignore[call-arg]


@pytest.mark.parametrize("formulation", ["directors", "natural"])
def test_simulate_in_another_formulation(formulation: str, tmp_path: Path) -> None:
    table = tmp_path / "run.npz"
    given = ["--formulation", formulation, "--set", "hinge=1", "--step", "0.01", "--outputs", "5"]
    assert main(["simulate", PENDULUM, "-t", "0.5", *given, "-o", str(table)]) == 0
    system = load_model(PENDULUM).compile(formulation=formulation)
    expected = system.simulate({"hinge": 1.0}, t=0.5, step=0.01, outputs=5)
    assert load_solution(table)["hinge.angle"] == pytest.approx(expected["hinge.angle"], abs=1e-14)


def test_parts_of_large_deformation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rotor with elastic blades from its file, by directors: a table as from Python, and a page; a cable with a ring from Python."""
    rotor, file = jd.library.helicopter_rotor(blades=2, cells=(4, 1, 1)), tmp_path / "rotor.toml"
    rotor.save(file)
    table, page, given = tmp_path / "run.npz", tmp_path / "run.html", ["--formulation", "directors", "-t", "0.2", "--step", "0.02"]
    assert main(["simulate", str(file), *given, "-o", str(table)]) == 0
    expected, found = rotor.compile(formulation="directors").simulate({}, t=0.2, step=0.02), load_solution(table)
    for name in ("mast.angle", "blade2.9", "energy.total"):
        assert found[name] == pytest.approx(expected[name], abs=1e-12)
    assert main(["view", str(file), *given, "-o", str(page)]) == 0
    assert "blade1" in page.read_text()
    assert main(["view", str(table), "--model", str(file), "--formulation", "directors", "-o", str(page)]) == 0
    ring = f"{EXAMPLES / 'sliding_ring.py'}:washing_line"
    assert main(["simulate", ring, "--formulation", "directors", "-t", "0.05", "--step", "0.01", "-o", str(table)]) == 0
    assert "use formulation 'directors'" in failure(capsys, "simulate", ring, "-t", "0.05")


def test_a_tolerance_lets_directors_choose_their_steps(tmp_path: Path) -> None:
    table = tmp_path / "run.npz"
    assert (
        main(["simulate", PENDULUM, "-t", "0.5", "--formulation", "directors", "--set", "hinge=1", "--rtol", "1e-7", "-o", str(table)]) == 0
    )
    assert np.ptp(np.diff(load_solution(table).t)) > 1e-4


def test_simulate_closes_loops_first(tmp_path: Path) -> None:
    table = tmp_path / "run.npz"
    arguments = ["--set", "main=0.3", "--set", "main.angle_rate=600rpm", "-o", str(table)]
    assert main(["simulate", ENGINE, "-t", "0.05", *arguments]) == 0
    sol = load_solution(table)
    a, b, x = (sol[n] for n in ("main.angle", "pin.angle", "guide.displacement"))
    assert sol["main.angle_rate"][0] == pytest.approx(20 * np.pi, rel=1e-9)
    assert np.abs(0.04 * np.cos(a) + 0.13 * np.cos(a + b) - x).max() < 1e-12


def test_simulate_from_data_files(tmp_path: Path) -> None:
    (tmp_path / "swing.urdf").write_text(URDF)
    (tmp_path / "ball.xml").write_text(MJCF)
    for file, extra in (("swing.urdf", ["--base", "free"]), ("ball.xml", [])):
        table = tmp_path / f"{file}.csv"
        assert main(["simulate", str(tmp_path / file), "-t", "0.1", *extra, "-o", str(table)]) == 0
        assert "hinge.angle" in table.read_text()


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "-o", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "loop closed by wrist" in text
    assert (tmp_path / "demo.png").stat().st_size > 10_000
    assert "<html" in (tmp_path / "demo.html").read_text(encoding="utf-8")[:2000].lower()


# --- naming a model ----------------------------------------------------------------------------------------------


def test_models_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "neighbour.py").write_text("LENGTH = 0.7\n")
    (tmp_path / "cli_models.py").write_text(
        "import jourdain as jd\n"
        "from neighbour import LENGTH\n"
        "only = jd.Model('only')\n"
        "class Shelf:\n"
        "    spare = jd.Model('spare')\n"
        "number = 3\n"
        "def wrong(): return 3\n"
        "def failing():\n"
        "    raise RuntimeError('no luck')\n"
    )
    file = tmp_path / "cli_models.py"
    assert load_model(str(file)).name == "only"
    assert load_model(f"{file}:Shelf.spare").name == "spare"
    monkeypatch.chdir(tmp_path)
    assert load_model("cli_models:only").name == "only"
    before = list(sys.path)
    for name, message in {
        "absent": "has no 'absent'; it has only, Shelf, wrong, failing",
        "number": "is a int, neither a model nor a function",
        "wrong": "returned a int instead of a model",
        "failing": "line 9: RuntimeError: no luck",
    }.items():
        with pytest.raises(jd.InputError, match=message):
            load_model(f"{file}:{name}")
    assert sys.path == before
    (tmp_path / "broken.py").write_text("x = 1\nx = = 2\n")
    with pytest.raises(jd.InputError, match=r"broken\.py, line 2: SyntaxError"):
        load_model(str(tmp_path / "broken.py"))
    (tmp_path / "bare.py").write_text("def build():\n    return None\n")
    with pytest.raises(jd.InputError, match=r"say which model is meant, as in .*bare\.py:build"):
        load_model(str(tmp_path / "bare.py"))


def test_data_files_never_run_code(tmp_path: Path) -> None:
    trap = tmp_path / "trap.urdf"
    trap.write_text("import pathlib; pathlib.Path('sprung').touch()\n")
    with pytest.raises(jd.InputError):
        load_model(str(trap))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nothing"], "'nothing' does not name a model"),
        (["info", "absent.py:model"], "there is no file 'absent.py'"),
        (["info", "no.such.module:model"], "there is no Python module 'no.such.module'"),
        (["info", PENDULUM, "--base", "free"], "the option base is for data files"),
        (["simulate", PENDULUM, "-t", "1", "--set", "hinge"], "--set 'hinge': write NAME=VALUE"),
        (["simulate", PENDULUM, "-t", "1", "--set", "hing=1"], "no coordinate 'hing'; did you mean hinge.angle"),
        (["simulate", PENDULUM, "-t", "1", "--set", "hinge=3furlong"], "furlong"),
        (["simulate", PENDULUM, "-t", "1", "--method", "magic"], "method 'magic' is unknown"),
        (["simulate", PENDULUM, "-t", "1", "-o", "run.doc"], "the ending '.doc' is unknown"),
        (["export", PENDULUM, "--functions", "magic"], "there is no function 'magic'"),
        (["export", PENDULUM, "--functions", "frame"], "say which frame, as in frame:body"),
        (["export", PENDULUM, "--set", "hinge=1"], "--set concerns the start of a --standalone program"),
        (["export", PENDULUM, "--standalone", "--to", "julia"], "--standalone writes one C program"),
    ],
)
def test_messages(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in failure(capsys, *arguments)


def test_debug_shows_the_error_itself() -> None:
    with pytest.raises(jd.InputError, match="does not name a model"):
        main(["info", "nothing", "--debug"])


# --- export ------------------------------------------------------------------------------------------------------


def python_function(file: Path) -> Callable[..., object]:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., object] = getattr(module, file.stem)
    return found


@pytest.mark.parametrize("reference", [PENDULUM, ENGINE, f"{EXAMPLES / 'four_bar.py'}:four_bar"])
def test_exported_python_agrees_with_native_code(reference: str, tmp_path: Path, rng: np.random.Generator) -> None:
    system = load_model(reference).compile()
    written = export_source(system, "python", None, tmp_path)
    assert [p.stem for p in written] == default_functions(system)
    assert "reactions" in {p.stem for p in written}
    for path in written:
        native = system.function(path.stem)
        arguments = [rng.uniform(0.2, 0.8, n) for n in native.inputs.values()]
        expected = native(*arguments)
        parameters = [system.parameter_vector] if system.symbolic(path.stem).inputs[-1].name == "p" else []
        found = python_function(path)(*arguments, *parameters)
        pairs = zip(expected, found) if isinstance(expected, tuple) else [(expected, found)]
        for e, f in pairs:
            np.testing.assert_allclose(np.reshape(f, np.shape(e)), e, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("language", ["c", "python", "matlab", "julia", "fortran", "rust", "jax", "latex"])
def test_export_in_every_language(language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = "inverse_dynamics,energy,frame:piston"
    assert main(["export", ENGINE, "--to", language, "--functions", names, "-o", str(tmp_path)]) == 0
    written = [Path(line) for line in lines(capsys)]
    assert {"inverse_dynamics", "energy", "frame_piston"} <= {p.stem for p in written}
    assert all("engine" in p.read_text(encoding="utf-8") for p in written)


def test_header_states_parameter_values() -> None:
    f = exported_function(load_model(ENGINE).compile(), "mass_matrix")
    assert "Values now: gravity_z = -9.81, r = 0.04, l = 0.13" in f.notes
    assert "Rows: main, pin, guide, wrist" in exported_function(load_model(ENGINE).compile(), "reactions").notes


def test_exported_c_compiles_against_its_header(tmp_path: Path, tool: Callable[[str], str]) -> None:
    compiler = tool("gcc")
    export_source(load_model(ENGINE), "c", None, tmp_path)
    for file in tmp_path.glob("*.c"):
        command = [compiler, "-std=c99", "-pedantic", "-Wall", "-Werror", "-include", "engine.h", "-c", file.name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr


def driven_double_pendulum() -> tuple[jd.Model, dict[str, float]]:
    """A tree with parameters, an input, a user state and a law of time."""
    m = jd.Model('double "pendulum" */')
    l1, l2 = m.parameters(l1=1.0, l2=0.7)
    a, b = m.body("a", mass=1.0, com=(0, 0, -l1)), m.body("b", mass=2.0, com=(0, 0, -l2))
    upper = m.revolute("upper", m.ground, a, axis="y")
    m.revolute("lower", a.at(0, 0, -l1), b, axis="y")
    lag = m.state("lag", 0.2)
    motor = m.input("motor", 0.4)
    m.rate(lag, motor - 3.0 * lag)
    m.force(upper, lambda x, v, t: lag - 0.1 * v + jd.sin(3.0 * t))
    return m, {"upper.angle": 1.0, "lower.angle_rate": 0.5}


def tumbling_body() -> tuple[jd.Model, dict[str, float]]:
    """A quaternion joint, no parameter but gravity."""
    m = jd.Model("top")
    m.spherical("tip", m.ground, m.body("top", mass=1, com=(0, 0, 0.2), inertia=(0.01, 0.012, 0.02)))
    names = m.compile().velocity_names
    m = jd.Model("top")
    m.spherical("tip", m.ground, m.body("top", mass=1, com=(0, 0, 0.2), inertia=(0.01, 0.012, 0.02)))
    return m, {"tip.orientation.e1": 0.4, names[2]: 30.0}


def engine() -> tuple[jd.Model, dict[str, float]]:
    """A loop with redundant rows, and a table."""
    return load_model(ENGINE), {"main.angle": 0.3, "main.angle_rate": 40.0}


def skate() -> tuple[jd.Model, dict[str, float]]:
    """A nonholonomic constraint: a blade that does not slip sideways, on a slope."""
    m = jd.Model("skate", gravity=(1.0, 0, -9.81))
    blade = m.body("blade", mass=2.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    joint = m.planar("ice", m.ground, blade)
    x, y, angle = joint.coordinates
    m.nonholonomic("no slip", y.v[0] * jd.cos(angle.q[0]) - x.v[0] * jd.sin(angle.q[0]))
    return m, {angle.velocity_names[0]: 2.0}


@pytest.mark.parametrize("build", [driven_double_pendulum, tumbling_body, engine, skate])
def test_standalone_program_agrees_with_the_solver(
    build: Callable[[], tuple[jd.Model, dict[str, float]]], tmp_path: Path, tool: Callable[[str], str]
) -> None:
    compiler = tool("gcc")
    model, start = build()
    system = model.compile()
    state = system.assemble(start) if system.equations_of_motion.rows else system.state(start)
    source = export_standalone(system, tmp_path / "program.c", state, t=0.5, step=1e-3)
    included = {line for line in source.read_text().splitlines() if line.startswith("#include")}
    assert included == {"#include <math.h>", "#include <stdio.h>"}
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
    program = tmp_path / "program"
    command = [compiler, "-O1", *strict, str(source), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    for options, step in (((), 1e-3), (("0.2555", "0.002"), 0.002)):
        command = [str(program), *options]
        printed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True).stdout
        heading, *rows = printed.splitlines()
        found = np.loadtxt(rows, delimiter=",")
        sol = system.simulate(state, float(options[0]) if options else 0.5, method="rk4", step=step)
        names = heading.split(",")
        assert names == ["t", *system.coordinate_names, *system.velocity_names, *model.states, "energy"]
        expected = np.column_stack([sol.t, *(sol[n] for n in names[1:-1]), sol["energy.total"]])
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max())


def test_standalone_program_from_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], tool: Callable[[str], str]) -> None:
    compiler = tool("gcc")
    assert main(["export", PENDULUM, "--standalone", "--set", "hinge=90deg", "-t", "0.1", "-o", str(tmp_path)]) == 0
    (source,) = lines(capsys)
    assert Path(source) == tmp_path / "pendulum.c"
    program = tmp_path / "pendulum"
    subprocess.run([compiler, source, "-o", str(program), "-lm"], check=True, timeout=240)
    rows = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=240).stdout.splitlines()
    assert float(rows[1].split(",")[1]) == pytest.approx(np.pi / 2, rel=1e-15)
    assert len(rows) == 102
    wrong = subprocess.run([str(program), "minus"], capture_output=True, text=True, timeout=240)
    assert (wrong.returncode, wrong.stderr.split()[0]) == (2, "usage:")


def test_standalone_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with pytest.raises(jd.InputError, match="must be positive"):
        export_standalone(load_model(PENDULUM), tmp_path / "p.c", t=0.0)
    m = load_model(PENDULUM)
    m.event("bottom", m.joints["hinge"].position)
    with pytest.raises(jd.InputError, match=r"events \(bottom\) are located by Jourdain"):
        export_standalone(m, tmp_path / "p.c")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["cvt", "--speed", "-5rpm"], "speed = '-5rpm' must be zero or positive"),
        (["cvt", "--thrust", "-.5e1kN"], "thrust = -5000"),
        (["cvt", "--ratio", "-2"], "ratio = -2"),
    ],
)
def test_negative_quantities_are_values_and_no_options(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given) != 0
    assert told in capsys.readouterr().err
