# Gradient modes: context managers that are decorators too. A mode is a bit in the core's
# thread-local word, so entering and leaving one is two calls through the function table.

cdef uint64_t _switches = 0             # calls of set_grad_enabled() that began no block


@cython.freelist(16)    # of its subclasses, too: they add no members
cdef class Mode:
    """Switches the thread's mode inside a ``with`` block or a decorated function."""

    cdef uint32_t set_bits, clear_bits
    cdef uint32_t before                # the mode to go back to
    cdef list outer                     # the same, of blocks around this one
    cdef uint64_t switches              # _switches when the block began
    cdef int depth
    cdef bint entered                   # set_grad_enabled() switches before its block begins

    def __enter__(self):
        global _switches
        if self.entered:
            self.entered = False
            _switches -= 1
            self.switches = _switches
            return
        if self.depth > 0:
            self.outer = (self.outer or []) + [(self.before, self.switches)]
        self.depth += 1
        self.before = FL.get_mode()
        self.switches = _switches
        FL.set_mode((self.before | self.set_bits) & ~self.clear_bits)

    def __exit__(self, kind, value, traceback):
        cdef uint32_t left = (self.before | self.set_bits) & ~self.clear_bits
        cdef uint32_t found = FL.get_mode()
        cdef bint switched = self.switches != _switches
        FL.set_mode(self.before)
        self.depth -= 1
        if self.depth > 0:
            self.before, self.switches = self.outer.pop()
        if (left ^ found) & (FL_M_GRAD | FL_M_INFERENCE) and kind is None and not switched:
            raise_other_mode(left, found)

    def __call__(self, function):
        global _switches
        if self.entered:
            self.entered = False
            _switches -= 1
            self.__exit__(None, None, None)
        return decorated(self, function)

    def copy(self):
        """A mode that does the same, for one call of a decorated function."""
        if is_own_mode(self):
            return new_mode(self.set_bits, self.clear_bits)
        return type(self)()     # a program's class, with its own __enter__

    def __reduce__(self):
        kind = type(self).__name__ if is_own_mode(self) else type(self)
        return _restored_mode, (kind, self.set_bits, self.clear_bits), \
            getattr(self, "__dict__", None)


cdef bint is_own_mode(Mode mode):
    kind = type(mode)
    return kind in (Mode, no_grad, enable_grad, set_grad_enabled, inference_mode)


def _restored_mode(kind, set_bits, clear_bits):
    """A mode from a pickle, which names a class of this module and has a program's own class."""
    found = globals()[kind] if isinstance(kind, str) else kind
    cdef Mode mode = found.__new__(found)
    mode.set_bits, mode.clear_bits = set_bits, clear_bits
    return mode


cdef int raise_other_mode(uint32_t left, uint32_t found) except -1:
    raise RuntimeError(
        f"a with block of no_grad(), enable_grad(), set_grad_enabled() or inference_mode() began "
        f"in the mode {mode_text(left)} and ends in {mode_text(found)}: something inside switched "
        "the mode and did not switch it back. In a generator or coroutine a yield or await hands "
        "the block's mode to the caller: decorate the function (@flambeau.no_grad()) instead, "
        "which switches at each suspension")


cdef str mode_text(uint32_t mode):
    grad = "grad" if mode & FL_M_GRAD else "no grad"
    return grad + (" with inference" if mode & FL_M_INFERENCE else "")


cdef Mode new_mode(uint32_t set_bits, uint32_t clear_bits):
    cdef Mode mode = Mode.__new__(Mode)
    mode.set_bits = set_bits
    mode.clear_bits = clear_bits
    return mode


# Note [modes]: `no_grad()` calls a function by the class's vectorcall, which takes as long as
# calling the function did; the classes are there for programs that derive from them, or ask.
cdef extern from *:
    """
    #define FL_MODE_CLASSES 4
    static PyObject *fl_mode_class[FL_MODE_CLASSES], *fl_mode_function[FL_MODE_CLASSES];
    static PyObject *fl_make_mode(PyObject *type, PyObject *const *args, size_t nargsf,
                                  PyObject *kwnames) {
        int i = 0;
        while (i < FL_MODE_CLASSES - 1 && fl_mode_class[i] != type)
            i++;
        return PyObject_Vectorcall(fl_mode_function[i], args, nargsf, kwnames);
    }
    static void fl_call_by(int i, PyObject *type, PyObject *function) {
        fl_mode_class[i] = type;
        fl_mode_function[i] = Py_NewRef(function);
        ((PyTypeObject *)type)->tp_vectorcall = fl_make_mode;
    }
    """
    void fl_call_by(int, object, object)


cdef class no_grad(Mode):
    """Switch recording off, in a ``with`` block or (as a decorator) in a function.

    Args:
        function: what to decorate, when written as ``@no_grad`` without parentheses.

    Returns:
        A context manager, or the decorated function.

    Example:
        >>> import flambeau
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with flambeau.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """
    def __cinit__(self, *args, **kwargs):
        self.clear_bits = FL_M_GRAD


def _no_grad(function=None):
    cdef Mode mode = no_grad.__new__(no_grad)
    return mode if function is None else decorated(mode, function)


cdef class enable_grad(Mode):
    """Switch recording on, inside :func:`no_grad`.

    Args:
        function: what to decorate, when written as ``@enable_grad`` without parentheses.

    Returns:
        A context manager, or the decorated function.

    Example:
        >>> import flambeau
        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with flambeau.no_grad(), flambeau.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """
    def __cinit__(self, *args, **kwargs):
        self.set_bits = FL_M_GRAD


def _enable_grad(function=None):
    cdef Mode mode = enable_grad.__new__(enable_grad)
    return mode if function is None else decorated(mode, function)


cdef class set_grad_enabled(Mode):
    """Switch recording on or off at once; as a context manager, until its block ends.

    Args:
        mode: whether to record.

    Returns:
        A context manager that goes back to the mode before.

    Example:
        >>> import flambeau
        >>> with flambeau.set_grad_enabled(False):
        ...     flambeau.is_grad_enabled()
        False
    """
    def __init__(self, bint mode):
        begin_switch(self, mode)


cdef int begin_switch(Mode switch, bint mode) except -1:
    global _switches
    switch.set_bits, switch.clear_bits = FL_M_GRAD if mode else 0, 0 if mode else FL_M_GRAD
    switch.__enter__()
    switch.entered = True
    _switches += 1
    return 0


def _set_grad_enabled(bint mode):
    cdef Mode switch = set_grad_enabled.__new__(set_grad_enabled)
    begin_switch(switch, mode)
    return switch


cdef class inference_mode(Mode):
    """Switch recording off for good: tensors made inside never take part in a graph.

    Args:
        mode: False gives a block that records; a function is decorated.

    Returns:
        A context manager, or the decorated function.

    Example:
        >>> import flambeau
        >>> with flambeau.inference_mode():
        ...     y = flambeau.ones(2)
        >>> y.is_inference()
        True
    """
    def __init__(self, bint mode=True):
        choose_inference(self, mode)


cdef int choose_inference(Mode made, bint mode) except -1:
    made.set_bits = FL_M_INFERENCE if mode else FL_M_GRAD
    made.clear_bits = FL_M_GRAD if mode else FL_M_INFERENCE
    return 0


def _inference_mode(mode=True):
    cdef Mode made = inference_mode.__new__(inference_mode)
    function = mode if callable(mode) else None
    choose_inference(made, function is not None or mode)
    return made if function is None else decorated(made, function)


for _number, (_kind, _maker) in enumerate((
        (no_grad, _no_grad), (enable_grad, _enable_grad),
        (set_grad_enabled, _set_grad_enabled), (inference_mode, _inference_mode))):
    _maker.__name__ = _kind.__name__
    fl_call_by(_number, _kind, _maker)


def is_grad_enabled():
    """Whether operators are recorded in this thread.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> flambeau.is_grad_enabled()
        True
    """
    return (FL.get_mode() & FL_M_GRAD) != 0


def is_inference_mode_enabled():
    """Whether this thread is inside ``inference_mode()``.

    Returns:
        bool

    Example:
        >>> import flambeau
        >>> flambeau.is_inference_mode_enabled()
        False
    """
    return (FL.get_mode() & FL_M_INFERENCE) != 0


def decorated(Mode mode, function):
    """The function, run in the mode; generators switch it at each step."""
    if isinstance(function, type):
        raise TypeError(f"a mode decorates functions, not the class {function.__name__}: "
                        "decorate its methods")
    if not callable(function):
        raise TypeError(f"a mode decorates functions, not {type(function).__name__}")
    code = getattr(underlying(function), "__code__", None)
    if code is not None and code.co_flags & 0x3A0:      # generators and coroutines of any kind
        from flambeau.autograd._suspending import decorated_suspending

        return decorated_suspending(mode.copy, function, code.co_flags)

    @functools.wraps(function)
    def run(*args, **kwargs):
        with mode.copy():
            return function(*args, **kwargs)
    return run


cdef object underlying(function):
    """The function below bound methods and partial()."""
    while True:
        inner = getattr(function, "__func__", None) or getattr(function, "func", None)
        if inner is None:
            return function
        function = inner
