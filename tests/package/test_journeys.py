"""How many modules take part in a run: a director run that is not the first is no longer a journey through the whole house."""

from __future__ import annotations

from benchmarks.journeys import directors, modules_of


def test_a_later_director_run_touches_thirty_modules() -> None:
    parts = directors()
    # thirty and those of told calls and of what is no number
    assert len(parts["next simulate"]) <= 32, parts["next simulate"]
    assert not [m for m in parts["next simulate"] if m.startswith(("symbolic", "elements", "model"))]


def test_what_is_counted() -> None:
    """Functions of the package alone, and nothing when none of them is called."""
    assert modules_of(lambda: sorted([2, 1])) == ([1, 2], [])
