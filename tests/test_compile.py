import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tamis import _compile
from tamis._compile import compiled, prange, twins


@twins
def halve(x, out):
    for i in prange(x.size):
        out[i] = x[i] / 2


def halves(kernel, x):
    out = np.empty_like(x)
    kernel(x, out)
    return out


def test_twins_give_the_same_result():
    x = np.arange(1000.0)
    assert_array_equal(halves(halve.serial, x), x / 2)
    assert_array_equal(halves(halve.parallel, x), x / 2)


def test_the_parallel_twin_is_really_parallel_even_from_the_cache():
    halves(halve.parallel, np.arange(8.0))
    halves(halve.serial, np.arange(8.0))
    assert "_parallel" in halve.parallel.py_func.__qualname__
    assert halve.parallel.dispatcher.targetoptions["parallel"]
    assert not halve.serial.dispatcher.targetoptions.get("parallel", False)


@compiled
def add_one(x):
    return x + 1


@compiled
def add_two(x):
    return add_one(add_one(x))


@compiled
def copy(x):
    return x.copy()  # an attribute of the kernel's own name


@compiled
def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def test_a_kernel_may_call_another_that_was_not_called_before():
    assert add_two(1) == 3
    assert add_two.py_func(1) == 3


def test_a_kernel_may_call_itself_or_a_method_of_its_name():
    assert factorial(5) == 120
    assert_array_equal(copy(np.arange(3)), [0, 1, 2])


def test_small_work_is_serial_and_large_work_threaded(monkeypatch):
    monkeypatch.setattr(_compile, "threads_are_safe", lambda: True)
    assert halve.choose(10) is halve.serial
    assert halve.choose(10**9) is halve.parallel
    monkeypatch.setattr(_compile, "threads_are_safe", lambda: False)
    assert halve.choose(10**9) is halve.serial


def test_one_thread_means_serial(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 1)
    assert not _compile.threads_are_safe()


def test_other_threads_wait_for_a_safe_layer(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 4)
    monkeypatch.setitem(_compile._thread_owner, "pid", None)
    answers = {}
    for layer in ("workqueue", "omp", "tbb"):
        monkeypatch.setattr(numba, "threading_layer", lambda layer=layer: layer)
        thread = threading.Thread(
            target=lambda layer=layer: answers.update({layer: _compile.threads_are_safe()})
        )
        thread.start()
        thread.join()
    assert answers == {"workqueue": False, "omp": True, "tbb": True}


def test_a_forked_child_stays_serial(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 4)
    monkeypatch.setitem(_compile._thread_owner, "pid", -1)
    assert not _compile.threads_are_safe()


@pytest.mark.parametrize("layer", ["workqueue", pytest.param("default", marks=pytest.mark.slow)])
def test_many_threads_may_fit_at_once(layer):
    code = """
    import threading
    import numpy as np
    from tamis import SparseCenterClassifier
    X = np.random.default_rng(0).normal(size=(500, 5000)); y = np.arange(500) % 2
    SparseCenterClassifier(3).fit(X, y)
    results = []
    def work():
        results.append(SparseCenterClassifier(3).fit(X, y).path_score(X, y, None).tobytes())
    threads = [threading.Thread(target=work) for _ in range(6)]
    [t.start() for t in threads]; work(); [t.join() for t in threads]
    assert len(results) == 7 and len(set(results)) == 1
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        env={**os.environ, "NUMBA_THREADING_LAYER": layer},
    )


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
def test_a_forked_child_can_fit():
    code = """
    import multiprocessing, os, sys
    import numpy as np
    from tamis import SparseCenterClassifier
    X = np.random.default_rng(0).normal(size=(500, 5000)); y = np.arange(500) % 2
    first = SparseCenterClassifier(3).fit(X, y).gains_
    child = os.fork()
    if child == 0:
        same = np.array_equal(SparseCenterClassifier(3).fit(X, y).gains_, first)
        os._exit(0 if same else 3)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_without_a_cache_folder_kernels_still_compile(monkeypatch):
    def refuse(*args, cache=False, **kwargs):
        if cache:
            return lambda function: (_ for _ in ()).throw(
                RuntimeError("cannot cache function: no locator available")
            )
        return original(*args, **kwargs)

    original = numba.njit
    monkeypatch.setattr(numba, "njit", refuse)
    kernel = compiled(lambda x: x + 1)
    assert kernel(2) == 3
    assert_array_equal(
        halves(twins(halve.serial.py_func).parallel, np.arange(4.0)), [0, 0.5, 1, 1.5]
    )


@pytest.mark.skipif(_compile.fcntl is None, reason="needs locks of files")
@pytest.mark.parametrize("n_processes", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_processes_that_start_at_once_compile_a_kernel_once(n_processes, tmp_path):
    code = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import counted
    assert counted.total(5) == 10
    print(sum(counted.total.dispatcher.stats.cache_misses.values()))
    """
    (tmp_path / "counted.py").write_text(
        textwrap.dedent(
            """
            from tamis._compile import compiled

            @compiled
            def total(n):
                s = 0
                for i in range(n):
                    s += i
                return s
            """
        )
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(n_processes)
    ]
    misses = [int(process.communicate()[0]) for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert sorted(misses) == [0] * (n_processes - 1) + [1]


@pytest.mark.skipif(_compile.fcntl is None, reason="needs locks of files")
def test_drives_without_locks_compile_all_the_same(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(_compile.fcntl, "flock", refuse)
    kernel = compiled(lambda x: x + 2)
    monkeypatch.setattr(
        type(kernel.dispatcher),
        "stats",
        property(lambda self: SimpleNamespace(cache_path=tmp_path)),
    )
    assert kernel(2) == 4


@compiled
def add_three(x):
    return add_one_more(x) + 2


@compiled
def add_one_more(x):
    return x + 1


def test_a_kernel_that_was_interrupted_while_it_was_made_is_made_anew(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(add_one_more, "_make", interrupt)
        with pytest.raises(KeyboardInterrupt):
            add_three(1)
    assert add_three(1) == 4


def test_what_an_earlier_version_has_left_in_the_cache_is_compiled_anew(tmp_path):
    module = textwrap.dedent(
        """
        from typing import NamedTuple
        import numpy as np
        from tamis._compile import compiled

        class NAME(NamedTuple):
            x: np.ndarray

        @compiled
        def total(pair):
            return pair.x.sum()

        print(total(NAME(np.ones(3))))
        """
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment["PYTHONPATH"] = str(tmp_path)
    for name in ("Old", "New"):
        (tmp_path / "kernels.py").write_text(module.replace("NAME", name))
        done = subprocess.run(
            [sys.executable, "-B", "-c", "import kernels"],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.stdout == "3.0\n", done.stderr
