"""One thread for the products of matrices inside small tasks.

Sums then do not depend on the machine, and threads would only wait for each other. To find the
libraries that have threads takes three milliseconds, so they are looked for again only after
something has been imported.
"""

import sys
from functools import lru_cache

from threadpoolctl import ThreadpoolController

__all__ = ["limit_threads"]


@lru_cache(maxsize=1)
def _find_libraries(n_modules):
    return ThreadpoolController()


def limit_threads(user_api=None):
    """A context in which libraries use one thread; `user_api`: "blas" for those alone."""
    return _find_libraries(len(sys.modules)).limit(limits=1, user_api=user_api)
