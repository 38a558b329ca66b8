# Operators as Python objects: functions, and methods of Tensor.

cdef extern from *:
    """
    #include <stddef.h>
    #include "overrides/override.h"
    struct fl_operator_head { PyObject_HEAD vectorcallfunc vectorcall; };
    static PyObject *fl_operator_get(PyObject *self, PyObject *instance, PyObject *owner) {
        if (!instance || instance == Py_None) { Py_INCREF(self); return self; }
        return PyMethod_New(self, instance);
    }
    /* The same members as the cdef class below. */
    struct fl_operator { PyObject_HEAD vectorcallfunc vectorcall; fl_op *overloads[5]; int count;
                         int inplace; };
    static PyObject *fl_operator_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                            PyObject *kwnames) {
        struct fl_operator *o = (struct fl_operator *)self;
        Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
        PyObject *result = fl_call_python(o->overloads, o->count, o->inplace, args, nargs, kwnames);
        return result ? result : fl_ask_arguments(self, args, nargs, kwnames);
    }
    static PyObject *fl_operator_choosing(PyObject *self, PyObject *const *args, size_t nargsf,
                                          PyObject *kwnames) {
        struct fl_operator *o = (struct fl_operator *)self;
        Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
        PyObject *result = fl_call_choosing(o->overloads, o->count, args, nargs, kwnames);
        return result ? result : fl_ask_arguments(self, args, nargs, kwnames);
    }
    /* What takes their places once calls are shown (Note [covering]). */
    static PyObject *fl_operator_showing(PyObject *self, PyObject *const *args, size_t nargsf,
                                         PyObject *kwnames) {
        Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
        if (fl_is_shown(args, fl_count_arguments(nargs, kwnames)))
            return fl_shown(self, args, nargs, kwnames);
        return fl_operator_vectorcall(self, args, nargsf, kwnames);
    }
    static PyObject *fl_choosing_showing(PyObject *self, PyObject *const *args, size_t nargsf,
                                         PyObject *kwnames) {
        Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
        if (fl_is_shown(args, fl_count_arguments(nargs, kwnames)))
            return fl_shown(self, args, nargs, kwnames);
        return fl_operator_choosing(self, args, nargsf, kwnames);
    }
    /* Calls reach the definition without a tuple, and `x.exp()` without a bound method. A function
       that a class has as an attribute, `act = flambeau.tanh`, is not called with the object. */
    static void fl_operator_type_setup(PyTypeObject *type, int is_method) {
        type->tp_vectorcall_offset = offsetof(struct fl_operator_head, vectorcall);
        type->tp_call = PyVectorcall_Call;
        type->tp_descr_get = is_method ? fl_operator_get : NULL;
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        if (is_method)
            type->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
        PyType_Modified(type);
    }
    """
    void fl_operator_type_setup(PyTypeObject *, int is_method)
    ctypedef void *vectorcallfunc
    vectorcallfunc fl_operator_vectorcall
    vectorcallfunc fl_operator_choosing
    vectorcallfunc fl_operator_showing
    vectorcallfunc fl_choosing_showing


cdef class Operator:
    """An operator of the table, a function; what Tensor has is an ``OperatorMethod``."""
    cdef vectorcallfunc vectorcall          # must stay first
    cdef fl_op *overloads[5]
    cdef int count
    cdef bint inplace
    cdef str _name
    cdef str _space                         # "linalg" for flambeau.linalg.norm, "" for most
    cdef dict __dict__                      # what programs note on functions

    def __init__(self):
        raise TypeError("operators are added with flambeau.core.register_op")

    @property
    def __name__(self) -> str:
        return self._name

    @property
    def __module__(self) -> str:
        """The module that has the operator, as functions have it."""
        return f"{shown_package[0]}.{self._space}" if self._space else shown_package[0]

    @property
    def __qualname__(self) -> str:
        """The name in that module: ``Tensor.add`` of the method."""
        return f"Tensor.{self._name}" if type(self) is OperatorMethod else self._name

    @property
    def key(self) -> str:
        """Name of the first overload in the table."""
        return _op_key(self.overloads[0])

    @property
    def keys(self):
        """Names of all overloads."""
        return tuple([_op_key(self.overloads[i]) for i in range(self.count)])

    @property
    def __doc__(self):
        from flambeau.core.operator_docs import details
        name, text = self._name, []
        for i in range(self.count):
            text.append(_full_signature(self, i, name))
        opdefs = [_op_object(self.overloads[i]) for i in range(self.count)]
        text += ["", self.overloads[0].doc.decode(), "", details(opdefs, self.inplace)]
        return "\n".join(text)

    @property
    def __text_signature__(self):
        return _full_signature(self, 0, "")

    @property
    def __signature__(self):
        """What ``inspect.signature`` shows: the parameters of the first overload."""
        return _inspected(self, 0)

    @property
    def signatures(self):
        """What ``inspect.signature`` would show of each overload, in the order of ``keys``."""
        return [_inspected(self, i) for i in range(self.count)]

    def __repr__(self):
        return f"<{'method' if type(self) is OperatorMethod else 'operator'} {self._name}>"

    def __reduce__(self):
        if type(self) is OperatorMethod:
            return _function_of, ("flambeau", f"Tensor.{self._name}")
        return _operator_named, ((self._name, self._space) if self._space else (self._name,))


@cython.final
cdef class OperatorMethod(Operator):
    """An operator as Tensor has it: see ``_method_of``."""


# Functions, not methods: a method would give the class a table before its members.
cdef bint _chooses(Operator o):
    """Whether calls take an argument ``inplace``."""
    return o.vectorcall == fl_operator_choosing or o.vectorcall == fl_choosing_showing


cdef str _full_signature(Operator o, int i, str name):
    text = _signature(o.overloads[i], name)
    return text.removesuffix(")") + ", inplace=False)" if _chooses(o) else text


cdef object _inspected(Operator o, int form):
    from inspect import Parameter, Signature    # imported by whoever asks
    cdef const fl_op *op = o.overloads[form]
    cdef int i
    shown = []
    for i in range(op.nparams):
        keyword = op.params[i].flags & FL_P_KEYWORD
        given = op.params[i].flags & FL_P_DEFAULT
        shown.append(Parameter(
            op.params[i].name.decode(),
            Parameter.KEYWORD_ONLY if keyword else Parameter.POSITIONAL_OR_KEYWORD,
            default=fl_box(&op.params[i].fallback) if given else Parameter.empty))
    if _chooses(o):
        shown.append(Parameter("inplace", Parameter.POSITIONAL_OR_KEYWORD, default=False))
    return Signature(shown)


cdef str _op_key(const fl_op *op):
    name = op.name.decode()
    return name + "." + op.overload.decode() if op.overload[0] else name


cdef str _signature(const fl_op *op, str name):
    cdef int i
    parts, starred = [], False
    for i in range(op.nparams):
        if op.params[i].flags & FL_P_KEYWORD and not starred:
            parts.append("*")
            starred = True
        text = op.params[i].name.decode()
        if op.params[i].flags & FL_P_DEFAULT:
            text += f"={fl_box(&op.params[i].fallback)!r}"
        parts.append(text)
    return f"{name}({', '.join(parts)})"


fl_operator_type_setup(<PyTypeObject *>Operator, False)
fl_operator_type_setup(<PyTypeObject *>OperatorMethod, True)


cdef Operator _new_operator(str name, list ops, bint inplace, str space=""):
    cdef Operator o = Operator.__new__(Operator)
    o.vectorcall = fl_operator_showing if fl_overriding else fl_operator_vectorcall
    o.count = len(ops)
    for i in range(o.count):
        o.overloads[i] = <fl_op *><uintptr_t>ops[i]
    o.inplace = inplace
    o._name, o._space = name, space
    return o


cdef Operator _new_choosing(str name, list ops):
    """The form of ``nn.functional``, with an argument ``inplace``."""
    cdef Operator o = _new_operator(name, ops, False, "nn.functional")
    o.vectorcall = fl_choosing_showing if fl_overriding else fl_operator_choosing
    return o


cdef Operator _method_of(Operator o):
    """The operator as Tensor has it.

    Function and method are two objects because handlers of ``__torch_function__`` are kept in
    dictionaries by what was called: ``torch.add(x, 1)`` is one, ``x.add(1)`` and ``x + 1`` another.
    """
    cdef Operator made = OperatorMethod.__new__(OperatorMethod)
    made.vectorcall, made.count, made.inplace = o.vectorcall, o.count, o.inplace
    made.overloads = o.overloads
    made._name, made._space = o._name, ""
    return made


cdef dict _operators = {}


def _operator_named(str name, str space=""):
    """The operator that a pickle names; two of one name differ by their namespace."""
    found = namespaces[space] if space else _operators
    if name not in found:
        raise AttributeError(f"there is no operator {name!r} in this process: import the module "
                             "that registers it before unpickling")
    return found[name]


# ---- composite operators: Python functions, found by their name -----------------------

cdef PyObject *_find_composite(const fl_op *op) except NULL:
    from flambeau.core import composites
    function = composites.find(_op_key(op).replace(".", "__"))
    Py_INCREF(function)
    return <PyObject *>function


# ---- fast paths of composites ----------------------------------------------------------------

cdef dict _fast_paths = {}


def _take_fast_path(str key, bint take):
    """Whether a composite's fast path in C++ is tried before its Python function.

    Only for the tests that compare the two.
    """
    cdef fl_op *op = fl_find_op(key.encode())
    if op.category != FL_COMPOSITE:
        raise ValueError(f"{key} is no composite: it has no Python function")
    if not take:
        _fast_paths.setdefault(key, <uintptr_t>op.call)
        op.call = fl_call_composite
    elif key in _fast_paths:
        op.call = <fl_call_fn><uintptr_t>_fast_paths.pop(key)
