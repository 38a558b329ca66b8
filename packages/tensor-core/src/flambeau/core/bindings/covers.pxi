# What stands for methods, properties and functions once calls are shown.
#
# Note [covering]: operators and Python's syntax look at a flag (native/overrides). Other methods,
# properties and functions are covered by objects that look at their arguments when the first class
# or mode asks for calls; a program without such a class has them as they are.

cdef extern from *:
    """
    struct fl_shown_head { PyObject_HEAD vectorcallfunc vectorcall; PyObject *inner; };
    static PyObject *fl_shown_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                         PyObject *kwnames) {
        Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
        if (fl_is_shown(args, fl_count_arguments(nargs, kwnames)))
            return fl_shown(self, args, nargs, kwnames);
        return PyObject_Vectorcall(((struct fl_shown_head *)self)->inner, args, nargsf, kwnames);
    }
    /* Of functions that make tensors: what they are given is of no class that asks. */
    static PyObject *fl_modes_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                         PyObject *kwnames) {
        if (fl_overrides.modes && !fl_overrides.all_off && !fl_is_skipped())
            return fl_shown(self, args, PyVectorcall_NARGS(nargsf), kwnames);
        fl_overrides.classes_off++;
        PyObject *result = PyObject_Vectorcall(((struct fl_shown_head *)self)->inner, args, nargsf,
                                               kwnames);
        fl_overrides.classes_off--;
        return result;
    }
    static void fl_shown_type_setup(PyTypeObject *type) {
        type->tp_vectorcall_offset = offsetof(struct fl_shown_head, vectorcall);
        type->tp_call = PyVectorcall_Call;
        type->tp_descr_get = fl_operator_get;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
        PyType_Modified(type);
    }
    static PyObject *fl_descriptor_get(PyObject *inner, PyObject *o, PyObject *owner) {
        return Py_TYPE(inner)->tp_descr_get(inner, o, owner);
    }
    """
    vectorcallfunc fl_shown_vectorcall
    vectorcallfunc fl_modes_vectorcall
    void fl_shown_type_setup(PyTypeObject *)
    object fl_descriptor_get(object, object, object)


cdef class Shown:
    """A function or method of Python's, of which calls may be shown."""
    cdef vectorcallfunc vectorcall          # must stay first, and the next second
    cdef object _inner
    cdef object _home                       # the module that has it, and under which name, or None

    @property
    def __wrapped__(self):
        return self._inner

    @property
    def __doc__(self):
        return self._inner.__doc__

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __eq__(self, other):
        return self._inner == (other.__wrapped__ if isinstance(other, Shown) else other)

    def __hash__(self):
        return hash(self._inner)

    def __repr__(self):
        return repr(self._inner)

    def __reduce__(self):
        if self._home is not None:
            return _function_of, self._home
        return self._inner.__qualname__


def _function_of(str module, str name):
    """The function or method that a pickle has by its module and name, covered or not."""
    from importlib import import_module

    found = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


fl_shown_type_setup(<PyTypeObject *>Shown)


cdef class ShownProperty:
    """A property of tensors of which uses may be shown."""
    cdef object _inner

    def __get__(self, instance, owner):
        if instance is None:
            return self._inner
        if (fl_overrides.modes or type(instance) is not Tensor) and _are_shown((instance,)):
            return show_call(self._inner.__get__, (instance,))
        return fl_descriptor_get(self._inner, instance, owner)

    def __set__(self, instance, value):
        if _are_shown((instance, value)):
            show_call(self._inner.__set__, (instance, value))
        else:
            self._inner.__set__(instance, value)

    def __delete__(self, instance):
        if _are_shown((instance,)):
            show_call(self._inner.__delete__, (instance,))
        else:
            self._inner.__delete__(instance)


cdef object _shown_function(str name, function):
    cdef Shown made = Shown.__new__(Shown)
    made.vectorcall = fl_modes_vectorcall if name in _TO_MODES else fl_shown_vectorcall
    made._inner = function
    return made


# Methods with two underscores that Python finds by name; others are slots, which look themselves.
cdef set _FOUND_BY_NAME = {
    "__format__", "__reduce_ex__", "__deepcopy__", "__reversed__", "__complex__", "__array__",
    "__array_wrap__", "__dlpack__", "__dlpack_device__"}

# What is asked of tensors by whoever handles their classes, and shown to nobody.
cdef set _UNCOVERED = {
    "as_subclass", "_make_subclass", "_make_wrapper_subclass", "new", "stride",
    "__torch_function__", "__torch_dispatch__", "__init_subclass__", "__dir__",
    "__array_namespace__", "__new__", "__init__", "__class__"}


cdef object _covered(str name, value):
    """The attribute of Tensor that stands for ``value`` once calls are shown."""
    cdef Shown made
    left = (Operator, Shown, ShownProperty, type, staticmethod, classmethod)
    is_slot = name[:2] == "__" and name not in _FOUND_BY_NAME
    if name in _UNCOVERED or is_slot or isinstance(value, left):
        return value
    kind = type(value)
    if hasattr(kind, "__set__"):
        if getattr(value, "has_absent", True):
            return _shown_property(name, value)
        return value            # a method that comes with autograd
    if callable(value) and hasattr(kind, "__get__") and kind.__name__ not in (
            "wrapper_descriptor", "classmethod_descriptor", "builtin_function_or_method"):
        made = _shown_function(name, value)
        made._home = (Tensor.__module__, f"Tensor.{name}")
        return made
    return value


# Functions that modes see and classes do not.
cdef set _TO_MODES = {
    "tensor", "as_tensor", "asarray", "from_numpy", "range"}


cdef object _shown_property(str name, value):
    cdef ShownProperty made = ShownProperty.__new__(ShownProperty)
    made._inner = value
    if name in ("_base", "grad"):
        _kept_types.add(value.__get__)
    return made


cdef list _function_tables = []


def cover_functions(dict table not None, names):
    """Let calls of a module's functions be shown, once anybody wants to see calls.

    Args:
        table: The module's ``__dict__``.
        names: The functions; operators among them are left out.
    """
    _function_tables.append((table, tuple(names)))
    if fl_overriding:
        _cover_table(table, names)


def shown_function(str name, function):
    """A function that is loaded on first use, as it stands in its module: covered or as it is."""
    ordinary = not callable(function) or isinstance(function, (Operator, Shown, type))
    return function if ordinary or not fl_overriding else _shown_function(name, function)


cdef int _cover_table(dict table, names) except -1:
    cdef Shown made
    for name in names:
        value = table.get(name)
        if callable(value) and not isinstance(value, (Operator, Shown, type)):
            made = _shown_function(name, value)
            made._home = (table["__name__"], name) if "__name__" in table else None
            table[name] = made
    return 0


cdef void _show_operator(Operator o) noexcept:
    o.vectorcall = fl_choosing_showing if _chooses(o) else fl_operator_showing


def start_overriding():
    """From now on calls may be shown; see Note [covering]."""
    global fl_overriding
    if fl_overriding:
        return
    for name, value in list((<object>Tensor).__dict__.items()):
        covered = _covered(name, value)
        if covered is not value:
            fl_type_set(<PyTypeObject *>Tensor, name, covered)
    for table, names in _function_tables:
        _cover_table(table, names)
    for operators in (_operators, (<object>Tensor).__dict__, *namespaces.values()):
        for value in operators.values():
            if isinstance(value, Operator):
                _show_operator(value)
    fl_overriding = True
