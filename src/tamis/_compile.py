"""The numba decorators, the only place that names numba.

`compiled` makes one kernel: `nogil`, cached on disk, and still usable when no cache folder can be
written (a read-only install without a home folder; ``NUMBA_CACHE_DIR`` names another folder).

`twins` makes two kernels of one function: a serial one and one whose `prange` loops run on
threads. Both give the same bits, because every iteration of a `prange` loop here writes its own
output and no sum crosses iterations. `Twins.choose` hands out the threaded twin only where that
is safe: numba's fallback "workqueue" layer aborts the process when two Python threads enter it,
and GNU OpenMP aborts in a forked child.
"""

import os
import threading
import types

import numba
from numba import prange

__all__ = ["WORTH_COMPILING", "compiled", "prange", "twins"]

# Numpy does simple work on fewer values than this in a millisecond; compiling takes seconds.
WORTH_COMPILING = 1 << 17

# Below this many elementary operations starting threads costs more than it saves.
_WORTH_THREADS = 2_000_000

_thread_owner = {"pid": None}


def compiled(function):
    """Compile `function` with numba, cached on disk where a cache folder can be written."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba: "no locator available"
        return numba.njit(nogil=True)(function)


def _compiled_parallel(function):
    # numba's cache does not tell a parallel kernel from a serial one of the same name.
    twin = types.FunctionType(
        function.__code__, function.__globals__, f"{function.__name__}_parallel"
    )
    twin.__qualname__ = f"{function.__qualname__}_parallel"
    twin.__module__ = function.__module__
    try:
        return numba.njit(nogil=True, cache=True, parallel=True)(twin)
    except RuntimeError:
        return numba.njit(nogil=True, parallel=True)(twin)


class Twins:
    """A serial and a threaded kernel of one function: same arguments, same result."""

    def __init__(self, function):
        self.serial = compiled(function)
        self.parallel = _compiled_parallel(function)
        self.__doc__ = function.__doc__

    def choose(self, n_operations):
        """The threaded twin when the work is worth it and threads are safe here."""
        if n_operations >= _WORTH_THREADS and threads_are_safe():
            return self.parallel
        return self.serial


def twins(function):
    """Compile `function` twice, serial and threaded: see `Twins`."""
    return Twins(function)


def threads_are_safe():
    """Whether a threaded kernel may start here and now."""
    if numba.get_num_threads() < 2:
        return False
    if _thread_owner["pid"] not in (None, os.getpid()):
        return False  # a forked child of a process whose thread pool was started
    if threading.current_thread() is not threading.main_thread():
        try:
            safe = numba.threading_layer() in ("omp", "tbb")
        except ValueError:  # no threaded kernel has run yet, so the layer is not known
            safe = False
        if not safe:
            return False
    _thread_owner["pid"] = os.getpid()
    return True
