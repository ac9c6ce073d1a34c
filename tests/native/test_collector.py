"""What is derived goes to the oldest generation of Python's collector at once, and is still found when it becomes garbage."""

import gc
import weakref

import pytest

from jourdain import collector


class Ring:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def enabled():
    was = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was else gc.disable)()


def test_what_was_made_is_old_and_is_collected_once_it_is_garbage(enabled, monkeypatch) -> None:
    gc.collect()
    monkeypatch.setattr(collector, "LARGE", 0)
    monkeypatch.setattr(collector, "MOST", 10**9)
    with collector.no_collection():
        assert not gc.isenabled()
        made = Ring()
    assert gc.isenabled() and gc.get_freeze_count() == 0
    assert any(made is x for x in gc.get_objects(generation=2))
    watched = weakref.ref(made)
    del made
    gc.collect(1)
    assert watched() is not None
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize(("large", "most"), [(0, -1), (10**9, 10**9)])
def test_too_much_and_little_are_left_to_the_collector(enabled, monkeypatch, large: int, most: int) -> None:
    """Else the garbage of many small models, with its machine code, would wait until a collection of all that never comes."""
    monkeypatch.setattr(collector, "LARGE", large)
    monkeypatch.setattr(collector, "MOST", most)
    with collector.no_collection():
        made = Ring()
    assert not any(made is x for x in gc.get_objects(generation=2))


def test_a_collector_that_is_off_stays_off(enabled) -> None:
    gc.disable()
    with collector.no_collection():
        pass
    assert not gc.isenabled()
