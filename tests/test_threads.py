import sys
from types import ModuleType

from threadpoolctl import threadpool_info, threadpool_limits

from tamis._base import threads


def n_threads():
    return [library["num_threads"] for library in threadpool_info()]


def test_one_thread_inside_and_as_many_as_before_afterwards():
    with threadpool_limits(2):
        before = n_threads()
        with threads.limit_threads():
            assert set(n_threads()) == {1}
        assert n_threads() == before


def test_libraries_are_looked_for_again_only_after_an_import(monkeypatch):
    found = []
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: found.append(1) or controller)
    controller = threads._find_libraries(len(sys.modules))
    threads._find_libraries.cache_clear()
    for _ in range(3):
        with threads.limit_threads("blas"):
            pass
    assert len(found) == 1
    monkeypatch.setitem(sys.modules, "a_new_library", ModuleType("a_new_library"))
    with threads.limit_threads("blas"):
        pass
    assert len(found) == 2
    threads._find_libraries.cache_clear()
