# Names of the scopes a thread is in: the modules of a network, for profilers and error texts.
#
# Nobody pays for them until somebody asks: whoever shows scopes counts himself in (want_scopes),
# and whoever opens them asks first (scopes_wanted).

cdef dict _scopes = {}              # thread -> names, the outermost first
cdef int _scope_readers = 0


def want_scopes(bint wanted):
    """Count a reader of scopes in or out."""
    global _scope_readers
    _scope_readers += 1 if wanted else -1


def scopes_wanted() -> bool:
    """Whether anybody reads scopes now."""
    return _scope_readers > 0


def scope_path() -> str:
    """The names of this thread's open scopes, joined by dots."""
    return ".".join(_scopes.get(PyThread_get_thread_ident(), ()))


@cython.final
cdef class scope:
    """Name what runs inside a ``with`` block, for profilers and error texts.

    Args:
        name: a word, such as the name of a layer; scopes inside are joined by dots.

    Example:
        >>> from flambeau.core import scope, scope_path
        >>> with scope("encoder"), scope("attention"):
        ...     scope_path()
        'encoder.attention'
    """
    cdef str _name
    cdef list _names                # the thread's list while the block is open

    def __init__(self, str name not None):
        self._name = name

    def __enter__(self):
        thread = PyThread_get_thread_ident()
        self._names = _scopes.get(thread)
        if self._names is None:
            self._names = _scopes[thread] = []
        self._names.append(self._name)
        return self

    def __exit__(self, *exc):
        self._names.pop()
        if not self._names:
            _scopes.pop(PyThread_get_thread_ident(), None)
        return False
