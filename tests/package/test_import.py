"""What ``import jourdain`` and a first run load: no more than they need."""

import subprocess
import sys

import pytest

#: Rooms and modules that wait until somebody asks for them.
LATER = ["jourdain.model.shapes", "jourdain.model.contact.penalty_laws", "jourdain.model.contact.contacts", "jourdain.solvers.collision", "jourdain.view",
         "jourdain.io", "jourdain.library.crash", "jourdain.model.elastic.flexible", "jourdain.formalisms.modal_inertia", "jourdain.systems.outputs.channels",
         "jourdain.systems.phases", "jourdain.systems.tree.alpha", "numpy.polynomial", "scipy", "matplotlib"]  # fmt: skip
#: What derives equations and writes machine code: not needed where the code is kept.
WRITERS = ["jourdain.native.ir", "jourdain.native.kernel_writer", "jourdain.native.kernel_operations", "jourdain.formalisms.functions.dynamics",
           "jourdain.formalisms.tree.newton_euler", "jourdain.formalisms.tree.articulated_blocks"]  # fmt: skip
FIRST_RUN = "import jourdain as jd\njd.library.pendulum().compile().simulate({'hinge.angle': 1.0}, 1.0)"


def loaded_after(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    ["import jourdain", FIRST_RUN],
    ids=["import", "a first run"],
)
def test_what_is_not_needed_is_not_loaded(code: str) -> None:
    assert loaded_after(code) & set(LATER) == set()


def test_a_run_by_kept_code_loads_nothing_that_makes_code() -> None:
    loaded_after(FIRST_RUN)
    assert loaded_after(FIRST_RUN) & set(WRITERS) == set()


def test_importing_loads_no_structures() -> None:
    assert not {n for n in loaded_after("import jourdain") if n.startswith(("jourdain.structures", "jourdain.systems", "jourdain.native"))}
