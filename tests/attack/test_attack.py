"""A short form of `make attack`: some cases of every attack, repeatable by their seed."""

from __future__ import annotations

import os

import pytest

from tests.attack.attacks import CASES, REFUSED, SUITE_ATTACKS, UNHARMED, in_own_process, suite

#: Cases of each attack.
MOST = {"model files": 200, "result files": 100, "stores": 40, "kills": 2, "full disks": 2, "cache entries": 4, "threads": 1, "forks": 1,
        "requests": 40, "forged results": 20, "mesh paths": 60, "numbers": 60, "calls": 80, "walks": 60}  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="limits and signals of POSIX")
@pytest.mark.parametrize("name", CASES)
def test_no_fault(name: str) -> None:
    found = in_own_process(name, seed=1, seconds=600.0, most=MOST[name])
    assert found["faults"] == []
    assert found[REFUSED] + found[UNHARMED] == found["cases"] == MOST[name]


@pytest.mark.skipif(os.name != "posix", reason="guard pages of POSIX")
@pytest.mark.parametrize("name", SUITE_ATTACKS)
def test_tests_pass_under_other_conditions(name: str) -> None:
    found = suite(*SUITE_ATTACKS[name], 280.0, ("tests/native/test_record.py",))
    assert found["faults"] == [] and found[UNHARMED] == found["cases"] > 10
