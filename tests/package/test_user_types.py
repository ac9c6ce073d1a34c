"""What an editor and a type checker know of the public interface: real types from the first line on."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jourdain as jd

SCRIPT = """
import jourdain as jd

m = jd.Model("pendulum")
mass, length = m.parameters(m=1.0, l=0.5)
bob = m.body("bob", mass=mass, com=(0, 0, -length))
hinge = m.revolute("hinge", m.ground, bob, axis="y")
s = m.compile()
sol = s.simulate({"hinge": "120 deg"}, t=5.0)
angle = sol["hinge.angle"]
robot = jd.read_urdf("arm.urdf")
other = m.compile(formulation="cartesian")
reveal_type(m)
reveal_type(bob)
reveal_type(hinge)
reveal_type(s)
reveal_type(sol)
reveal_type(robot)
reveal_type(other.accelerations({}))
reveal_type(s.equilibrium())
reveal_type(s.modal())
reveal_type(s.linearise())
reveal_type(s.sweep({}, 1.0))
reveal_type(s.assemble({}))
reveal_type(jd.System)
reveal_type(jd.Controller)
reveal_type(jd.load_model)
"""


def test_a_users_script_has_real_types(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(jd.__file__).parent.parent)
    told = re.findall(r'note: Revealed type is "(.*)"', done.stdout)
    assert "error" not in done.stdout, done.stdout
    assert len(told) == SCRIPT.count("reveal_type")
    assert not [t for t in told if t == "Any" or t == "builtins.object"], told
    assert "jourdain.systems.system.System" in told and "jourdain.results.solution.Solution" in told


def test_public_names_are_listed_and_there() -> None:
    assert set(jd.__all__) <= set(dir(jd))
    for name in jd.__all__:
        assert getattr(jd, name) is not None
    assert {"read_urdf", "System", "Solution", "Controller", "load_model", "elements", "library"} <= set(jd.__all__)


def test_help_tells_every_option_of_simulate() -> None:
    from inspect import signature

    text = jd.System.simulate.__doc__ or ""
    missing = [name for name in signature(jd.System.simulate).parameters if name not in ("self", "t") and f"{name}" not in text]
    assert not missing, missing
    assert "rtol" in str(signature(jd.System.simulate))
