# `__torch_function__`: calls shown to the classes of arguments, and to modes, before they run.

cdef extern from *:
    """
    static PyObject *fl_override_of(PyObject *o) { return fl_class_override(Py_TYPE(o)); }
    """
    PyObject *fl_override_of(object)


cdef dict _override_modes = {}      # thread -> the modes it entered, the innermost last


# ---- who is asked -----------------------------------------------------------------------------
cdef int _add_shown(list found, object value) except -1:
    """Add an argument whose class is shown calls: one of each class, subclasses first."""
    if fl_override_of(value) == NULL:
        return 0
    cdef Py_ssize_t at = len(found)
    for i, other in enumerate(found):
        if type(other) is type(value):
            return 0
        if at == len(found) and isinstance(value, type(other)):
            at = i
    found.insert(at, value)
    return 0


cdef list _shown_among(values):
    cdef list found = []
    for value in values:
        _add_shown(found, value)
        if isinstance(value, (tuple, list)):
            for element in value:
                _add_shown(found, element)
    return found


def shown_arguments(values):
    """The arguments whose classes are shown a call, in the order in which they are asked."""
    return [] if fl_overrides.classes_off or fl_overrides.all_off else _shown_among(values)


def any_shown(*values) -> bool:
    """Whether a call with these arguments is to be shown to a mode or a class."""
    if fl_overrides.all_off:
        return False
    return (fl_overrides.modes > 0 or bool(shown_arguments(values))) and not fl_is_skipped()


cdef object _ask_mode(function, tuple types, args, kwargs):
    """Show a call to the innermost mode, which is left while it answers."""
    thread = PyThread_get_thread_ident()
    stack = _override_modes[thread]
    mode = stack.pop()
    fl_overrides.modes -= 1
    try:
        return mode.__torch_function__(function, types, args, kwargs)
    finally:
        stack.append(mode)
        _override_modes[thread] = stack     # it may have been entered and left meanwhile
        fl_overrides.modes += 1


cdef object _nobody = object()


cdef object _ask(function, list shown, args, kwargs):
    """The answer of the first who has one, else ``_nobody``."""
    cdef tuple types = tuple([type(value) for value in shown])
    kwargs = kwargs or {}
    if fl_overrides.modes:
        answer = _ask_mode(function, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    for value in shown:
        answer = value.__torch_function__(function, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    return _nobody


def show_call(function, args, kwargs=None, relevant=None):
    """Show a call to the mode and the classes that want to see it, and return their answer.

    Args:
        function: What is called.
        args: Its positional arguments.
        kwargs: Its keywords.
        relevant: The arguments whose classes are asked; all when left out.

    Raises:
        TypeError: none of them has an answer.
    """
    if not fl_overriding:       # by a class that is no Tensor, which nothing announced
        start_overriding()
    if len(args) == 2 and isinstance(args[1], (list, tuple)) \
            and getattr(function, "__name__", "") == "einsum":
        args = (args[0], *args[1])      # who asks is shown the operands one by one
    if relevant is None:
        relevant = args if not kwargs else (*args, *kwargs.values())
    shown = shown_arguments(relevant)
    args, kwargs = _by_name(function, args, kwargs)
    answer = _ask(function, shown, args, kwargs)
    if answer is _nobody:
        raise TypeError(_no_answer(function, shown))
    return answer


cdef object _naming = None


cdef object _by_name(function, args, kwargs):
    """The arguments as PyTorch shows them; see core/compat/keywords.py."""
    global _naming
    if _naming is None:
        from flambeau.core.compat.keywords import by_name
        _naming = by_name
    return _naming(function, args, kwargs)


cdef str _no_answer(function, list shown):
    from flambeau import overrides
    name = overrides.resolve_name(function) or getattr(function, "__name__", str(function))
    types = [type(value) for value in shown]
    return (f"no implementation found for '{name}' on types that implement __torch_function__: "
            f"{types}; Multiple dispatch failed for '{name}'; all __torch_function__ handlers "
            "returned NotImplemented. Let one of the classes handle it, or call "
            "super().__torch_function__")


# ---- Python's syntax --------------------------------------------------------------------------
cdef dict _METHODS_OF_SYNTAX = {
    "eq": "__eq__", "pow": "__pow__", "floor_divide": "__floordiv__", "bitwise_and": "__and__",
    "bitwise_or": "__or__", "bitwise_xor": "__xor__", "bitwise_left_shift": "__lshift__",
    "bitwise_right_shift": "__rshift__", "bitwise_not": "__invert__"}
cdef dict _INPLACE_SYNTAX = {
    "pow": "__ipow__", "bitwise_and": "__iand__", "bitwise_or": "__ior__",
    "bitwise_xor": "__ixor__", "bitwise_left_shift": "__ilshift__",
    "bitwise_right_shift": "__irshift__"}
cdef dict _REFLECTED_SYNTAX = {
    "sub": "__rsub__", "div": "__rtruediv__", "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__", "pow": "__rpow__", "matmul": "__rmatmul__",
    "bitwise_left_shift": "__rlshift__", "bitwise_right_shift": "__rrshift__"}


def _show_syntax(str name, a, b, inplace):
    """Show ``a + b`` under the name that PyTorch gives it; NotImplemented without an answer."""
    reflected = b is not None and not isinstance(a, Tensor)
    if inplace:
        method = _INPLACE_SYNTAX.get(name, name + "_")
    elif reflected:
        method = _REFLECTED_SYNTAX.get(name, name)
    else:
        method = _METHODS_OF_SYNTAX.get(name, name)
    args = (b, a) if reflected else (a,) if b is None and name in (
        "neg", "positive", "abs", "bitwise_not") else (a, b)
    answer = _ask(getattr(Tensor, method), shown_arguments(args), args, None)
    return NotImplemented if answer is _nobody else answer


cdef bint _are_shown(tuple args) noexcept:
    cdef PyObject *values[3]
    cdef Py_ssize_t i
    for i in range(len(args)):
        values[i] = <PyObject *>args[i]
    return fl_is_shown(values, len(args))


cdef object _show_slot(str name, tuple args):
    """Show what Python calls by the class's slot, such as ``len(x)``."""
    return show_call((<object>Tensor).__dict__[name], args)


# ---- what classes do that do not say ------------------------------------------------------------
def no_override(func, types, args=(), kwargs=None):
    """The ``__torch_function__`` of classes that want to see no calls, as ``Parameter`` does."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


_kept_types = set()     # functions whose results stay what they are


cdef object _converted(value, cls):
    """Results as the class: tensors, and those in tuples and lists."""
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else _viewed_as(cls, value)
    if isinstance(value, (tuple, list)):
        found = [_converted(element, cls) for element in value]
        if type(value) in (tuple, list):
            return type(value)(found)
        if type(value) is _size_type or not isinstance(value, tuple):
            return value
        return tuple.__new__(type(value), found)    # named results
    return value


cdef object _viewed_as(cls, Tensor value):
    cdef fl_value given
    cdef fl_value out[1]
    given.tag, given.t = FL_TENSOR, <fl_tensor *><PyObject *>value
    out[0].tag = FL_NONE
    fl_dispatch(&fl_builtin_ops[FL_OP_alias], &given, 1, out)
    return as_subclass(cls, fl_steal(out[0].t))


def default_override(cls, func, types, args=(), kwargs=None):
    """``Tensor.__torch_function__``: run the call, and give its tensors as the class."""
    for other in types:
        if not issubclass(cls, other):
            return NotImplemented
    if cls is Tensor:
        return _called_for_tensors(func, args, kwargs or {})
    fl_overrides.classes_off += 1
    try:
        result = func(*args, **kwargs) if kwargs else func(*args)
    finally:
        fl_overrides.classes_off -= 1
    return result if func in _kept_types else _converted(result, cls)


cdef dict _asking = {}      # thread -> functions that have shown plain tensors a call


cdef object _called_for_tensors(func, args, kwargs):
    """A function that asks plain tensors, which those of this library do not: if it asks again
    when it is called, it is another library's, and the function of that name here answers."""
    cdef list functions = _asking.setdefault(PyThread_get_thread_ident(), [])
    if any([other is func for other in functions]):
        from flambeau.library.aten import named_alike

        func = named_alike(func)
    functions.append(func)
    fl_overrides.classes_off += 1
    try:
        return func(*args, **kwargs)
    finally:
        fl_overrides.classes_off -= 1
        functions.pop()


def unshown(func, args, kwargs):
    """Call a function that does not show this call; calls inside it are shown."""
    fl_overrides.skip_next = 1
    try:
        return func(*args, **(kwargs or {}))
    finally:
        fl_overrides.skip_next = 0


@cython.final
cdef class DisableTorchFunctionSubclass:
    """Inside such a ``with`` block calls are not shown to the classes of their arguments."""
    def __enter__(self):
        fl_overrides.classes_off += 1

    def __exit__(self, *exc):
        fl_overrides.classes_off -= 1


@cython.final
cdef class DisableTorchFunction:
    """Inside such a ``with`` block calls are shown neither to classes nor to modes."""
    def __enter__(self):
        fl_overrides.all_off += 1

    def __exit__(self, *exc):
        fl_overrides.all_off -= 1


@cython.final
cdef class EnableTorchFunction:
    """Undoes the blocks around it that keep calls from classes and modes."""
    cdef fl_override_state _before

    def __enter__(self):
        self._before = fl_overrides
        fl_overrides.classes_off = fl_overrides.all_off = 0

    def __exit__(self, *exc):
        fl_overrides.classes_off = self._before.classes_off
        fl_overrides.all_off = self._before.all_off


def are_classes_shown() -> bool:
    """Whether classes are shown calls here."""
    return not (fl_overrides.classes_off or fl_overrides.all_off)


# ---- modes --------------------------------------------------------------------------------------
def override_modes() -> list:
    """The modes that this thread has entered, the outermost first."""
    return list(_override_modes.get(PyThread_get_thread_ident(), ()))


def push_override_mode(mode):
    """Enter a mode."""
    start_overriding()
    _override_modes.setdefault(PyThread_get_thread_ident(), []).append(mode)
    fl_overrides.modes += 1


def pop_override_mode():
    """Leave the innermost mode, and return it."""
    thread = PyThread_get_thread_ident()
    mode = _override_modes[thread].pop()
    fl_overrides.modes -= 1
    if not _override_modes[thread]:
        del _override_modes[thread]
    return mode


cdef object _looked_up(cls, str name):
    """What a class or its first base with the name has for it."""
    for kind in cls.__mro__:
        if name in kind.__dict__:
            return kind.__dict__[name]
    return None


# ---- attributes -----------------------------------------------------------------------------
cdef extern from *:
    """
    static PyGetSetDef fl_attributes = {"__dict__", PyObject_GenericGetDict,
                                        PyObject_GenericSetDict, NULL, NULL};
    """
    ctypedef struct PyGetSetDef:
        pass
    PyGetSetDef fl_attributes
    object PyDescr_NewGetSet(PyTypeObject *, PyGetSetDef *)

# Classes of tensors replace it at once, as other classes may.
fl_type_set(<PyTypeObject *>Tensor, "__dict__",
            PyDescr_NewGetSet(<PyTypeObject *>Tensor, &fl_attributes))


# ---- hooks ------------------------------------------------------------------------------------
def _init_subclass(cls, **kwargs):
    """What Tensor does when a class is derived from it."""
    super(Tensor, cls).__init_subclass__(**kwargs)
    if "__torch_dispatch__" in cls.__dict__ and is_shown_below(cls) \
            and _looked_up(cls, "__torch_function__") is _default_method:
        cls.__torch_function__ = no_override    # who is asked below is not asked above, too
    if fl_class_override(<PyTypeObject *>cls) != NULL:
        start_overriding()


cdef object _default_method = (<object>Tensor).__dict__["__torch_function__"]
fl_type_set(<PyTypeObject *>Tensor, "__init_subclass__", classmethod(_init_subclass))
fl_no_override = <PyObject *>no_override
fl_show_call = <PyObject *>show_call
fl_show_syntax = <PyObject *>_show_syntax
