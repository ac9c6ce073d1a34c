"""Modules under their older names are the modules of today, with a note."""

import subprocess
import sys

import pytest

from jourdain.moved import _ROOMS, new_name

OLD = [f"jourdain.{old}.{module.partition(':')[0]}" for old, _, modules in _ROOMS for module in modules.split()]


@pytest.mark.parametrize("name", [*OLD, "jourdain.formalisms.elements.rigid"])
def test_every_older_name_has_a_place(name):
    from importlib.util import find_spec

    assert find_spec(new_name(name)) is not None


def test_an_older_import_works_and_says_so():
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        "import jourdain\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    warnings.simplefilter('always')\n"
        "    from jourdain.solvers.reductions import REDUCTIONS\n"
        "    from jourdain.formalisms.elements.rigid import DirectorBody\n"
        "    import jourdain.analysis.system as old\n"
        "import jourdain.systems.tree.system as new, jourdain.elements.rigid as rigid\n"
        "assert old is new and DirectorBody is rigid.DirectorBody and 'qr' in REDUCTIONS\n"
        "assert \"module 'jourdain.solvers.reductions' is now 'jourdain.solvers.constraints.reductions'\" in [str(w.message) for w in told]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_unknown_modules_stay_unknown():
    with pytest.raises(ModuleNotFoundError):
        __import__("jourdain.solvers.nothing_of_that_name")
