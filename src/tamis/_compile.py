"""The numba decorators, the only place that names numba.

numba takes half a second to import and seconds to compile, and small tables need neither: below
`WORTH_COMPILING` values numpy versions run. So a decorated function waits: it imports numba, and
replaces itself and every kernel that it calls by what numba makes of them, when it is first
called.

`compiled` makes one kernel: `nogil`, cached on disk, and still usable when no cache folder can be
written (a read-only install without a home folder; ``NUMBA_CACHE_DIR`` names another folder).
Processes that need the same kernel at the same time compile it once: the others wait for the
first, and load what it has written.

`twins` makes two kernels of one function: a serial one and one whose `prange` loops run on
threads. Both give the same bits, because every iteration of a `prange` loop here writes its own
output and no sum crosses iterations. `Twins.choose` hands out the threaded twin only where that
is safe: numba's fallback "workqueue" layer aborts the process when two Python threads enter it,
and GNU OpenMP aborts in a forked child.
"""

import contextlib
import functools
import os
import threading
import types

try:
    import fcntl
except ImportError:  # Windows: processes that start at once each compile
    fcntl = None  # type: ignore[assignment]

__all__ = ["WORTH_COMPILING", "compiled", "prange", "twins"]

# Numpy does simple work on fewer values than this in a millisecond; compiling takes seconds.
WORTH_COMPILING = 1 << 17

# Below this many elementary operations starting threads costs more than it saves.
_WORTH_THREADS = 2_000_000

_thread_owner = {"pid": None}
_lock = threading.RLock()
# Dispatchers, before the kernels that they call have theirs: kernels may call each other.
_in_the_making: dict = {}
_compiling = threading.local()


def _renew_lock():
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):  # another thread may hold the lock while a child is forked
    os.register_at_fork(after_in_child=_renew_lock)


def prange(*limits):
    """Iterate as `range` does; numba's `prange` takes its place in a kernel."""
    return range(*limits)


class Kernel:
    """A function that numba compiles when it is first called."""

    def __init__(self, function, parallel=False):
        functools.update_wrapper(self, function)
        self.py_func = function
        self.parallel = parallel
        self._dispatcher = None

    def __call__(self, *args):
        return self.dispatcher(*args)

    @property
    def dispatcher(self):
        """What numba makes of the function, and of the kernels that it calls."""
        if self._dispatcher is None:
            with _lock:
                if self not in _in_the_making:
                    self._make()
        return self._dispatcher

    def _make(self):
        import numba

        options = {"nogil": True, "parallel": True} if self.parallel else {"nogil": True}
        try:
            dispatcher = numba.njit(cache=True, **options)(self.py_func)
        except RuntimeError:  # numba: "no locator available"
            dispatcher = numba.njit(**options)(self.py_func)
        dispatcher.compile = functools.partial(_compile_once, dispatcher)
        _in_the_making[self] = dispatcher
        try:
            values = self.py_func.__globals__
            for name in _names(self.py_func.__code__):
                value = values.get(name)
                if isinstance(value, Kernel):
                    if value not in _in_the_making:
                        value._make()
                    values[name] = _in_the_making[value]
                elif value is prange:
                    values[name] = numba.prange
        except BaseException:  # Ctrl-C: it is made anew when it is called again
            del _in_the_making[self]
            raise
        self._dispatcher = dispatcher


def _compile_once(dispatcher, signature):
    """Compile, unless another process is at it: then wait, and load what it has compiled."""
    compile = functools.partial(_compile, dispatcher, signature)
    folder = dispatcher.stats.cache_path
    if fcntl is None or folder is None or getattr(_compiling, "is_inside", False):
        return compile()  # a kernel inside another one belongs to that one's lock
    name = dispatcher.py_func.__qualname__.replace("<", "").replace(">", "")
    try:
        os.makedirs(folder, exist_ok=True)
        lock = open(os.path.join(folder, f"{name}.lock"), "ab")  # noqa: SIM115
    except OSError:
        return compile()
    with lock:
        with contextlib.suppress(OSError):  # some network drives have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        _compiling.is_inside = True
        try:
            return compile()
        finally:
            _compiling.is_inside = False
            with contextlib.suppress(OSError):  # here: a forked child may hold the file open
                fcntl.flock(lock, fcntl.LOCK_UN)


def _compile(dispatcher, signature):
    """Compile or load; what an earlier version has left in the cache may name classes it had."""
    try:
        return type(dispatcher).compile(dispatcher, signature)
    except (AttributeError, ImportError):
        dispatcher._cache.flush()
        return type(dispatcher).compile(dispatcher, signature)


def _names(code):
    """Every name that the code, and functions inside it, look up in the module."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def compiled(function):
    """Compile `function` with numba when it is first called, cached on disk where possible."""
    return Kernel(function)


class Twins:
    """A serial and a threaded kernel of one function: same arguments, same result."""

    def __init__(self, function):
        # numba's cache does not tell a parallel kernel from a serial one of the same name.
        twin = types.FunctionType(
            function.__code__, function.__globals__, f"{function.__name__}_parallel"
        )
        twin.__qualname__ = f"{function.__qualname__}_parallel"
        twin.__module__ = function.__module__
        self.serial = Kernel(function)
        self.parallel = Kernel(twin, parallel=True)
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
    import numba

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
