"""What ``import jourdain`` and a first run load: no more than they need."""

import subprocess
import sys

import pytest

#: Rooms and modules that wait until somebody asks for them.
LATER = ["jourdain.model.shapes", "jourdain.model.penalty_laws", "jourdain.model.contacts", "jourdain.solvers.collision", "jourdain.view",
         "jourdain.io", "jourdain.library.crash", "numpy.polynomial", "scipy", "matplotlib"]  # fmt: skip


def loaded_after(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    ["import jourdain", "import jourdain as jd\njd.library.pendulum().compile().simulate({'hinge.angle': 1.0}, 1.0)"],
    ids=["import", "a first run"],
)
def test_what_is_not_needed_is_not_loaded(code: str) -> None:
    assert loaded_after(code) & set(LATER) == set()


def test_importing_loads_no_structures() -> None:
    assert not {n for n in loaded_after("import jourdain") if n.startswith(("jourdain.structures", "jourdain.systems", "jourdain.native"))}
