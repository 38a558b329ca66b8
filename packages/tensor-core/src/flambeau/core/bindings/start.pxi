# Put together at import: types, hooks, operators from the table.

cdef extern from *:
    """
    static int fl_type_set(PyTypeObject *type, PyObject *name, PyObject *value) {
        if (PyDict_SetItem(type->tp_dict, name, value) < 0) return -1;
        PyType_Modified(type);
        return 0;
    }

    /* Name a type that is written in C; false for one that Python has made. */
    static int fl_type_name(PyTypeObject *type, const char *name) {
        if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return 0;
        type->tp_name = name;
        return 1;
    }

    static void fl_type_open(PyTypeObject *type) {
        type->tp_flags &= ~Py_TPFLAGS_IMMUTABLETYPE;
    }
    """
    int fl_type_set(PyTypeObject *, object, object) except -1
    bint fl_type_name(PyTypeObject *, const char *)
    void fl_type_open(PyTypeObject *)


def open_tensor_class():
    """Let programs set attributes of the class Tensor, as those written for PyTorch do."""
    fl_type_open(<PyTypeObject *>Tensor)


cdef list _shown_names = []     # bytes that types point to


def show_in(thing, str module not None):
    """Let a class or function say that it is of another module; classes written in C as well."""
    name = f"{module}.{thing.__name__}".encode()
    if isinstance(thing, type) and fl_type_name(<PyTypeObject *>thing, name):
        _shown_names.append(name)
    else:
        thing.__module__ = module


cdef bint _is_programs(str name):
    """Whether a program has put something of its own under a name of Tensor."""
    value = Tensor.__dict__.get(name)
    module = getattr(value, "__module__", None)
    if module == "torch" and not isinstance(value, Operator):
        return False            # a function of ours, as the alias shows it
    return module is not None and not module.startswith(("flambeau.", "torch."))


def install_tensor_methods(dict attributes not None):
    """Set functions and properties on Tensor (for sibling packages)."""
    for name, value in attributes.items():
        if _is_programs(name):
            continue
        if type(value) is property:
            value = _named_property(name, value)
        elif type(value) is Operator:
            value = _method_of(value)
        fl_type_set(<PyTypeObject *>Tensor, name,
                    _covered(name, value) if fl_overriding else value)


class NamedProperty(property):
    """A property that knows what it is called, as those of compiled classes do."""


cdef object _named_property(str name, value):
    made = NamedProperty(value.fget, value.fset, value.fdel, value.__doc__)
    made.__name__ = name
    return made


cdef int _check_prefix() except -1:
    """The cdef class and abi.h must agree on where everything is."""
    cdef Tensor t = Tensor.__new__(Tensor)
    cdef fl_tensor *p = <fl_tensor *><PyObject *>t
    assert <void *>&p.data == <void *>&t._data, "frozen prefix moved: data"
    assert <void *>&p.flags == <void *>&t._flags, "frozen prefix moved: flags"
    assert <void *>&(<fl_tensor_full *>p).inline_geometry == <void *>&t._geometry, "geometry moved"
    return 0


cdef int _install_operators() except -1:
    cdef const fl_export *e
    cdef list ops
    for i in range(fl_export_count):
        e = &fl_exports[i]
        name = e.name.decode()
        ops = [<uintptr_t>&fl_builtin_ops[e.ops[k]] for k in range(e.count)]
        _install(name, ops, e.forms, False)
        if e.inplace:
            _install(name + "_", ops, e.forms, True)
            if e.forms & 4:
                namespaces["nn.functional"][name] = _new_choosing(name, ops)
        for k in range(e.count):
            if e.outputs[0] and "." not in name and fl_builtin_ops[e.ops[k]].nouts > 1:
                _pending_names.append((<uintptr_t>&fl_builtin_ops[e.ops[k]], name,
                                       e.outputs.decode()))
    return 0


cdef list _pending_names = []
functions = {}
namespaces = {}     # "linalg" -> the functions of flambeau.linalg


#: What PyTorch has twice, as ``layer_norm`` and ``nn.functional.layer_norm``; what else is in both
#: modules is one object there, too.
cdef set _OWN_IN_NN = {
    "alpha_dropout", "feature_alpha_dropout", "group_norm", "layer_norm", "max_pool1d",
    "max_pool2d", "max_pool3d", "rms_norm"}


cdef int _install(str name, list ops, int forms, bint inplace) except -1:
    cdef Operator o
    space, _, short = name.rpartition(".")
    if space:
        namespaces.setdefault(space, {})[short] = _new_operator(short, ops, False, space)
        return 0
    o = _new_operator(name, ops, inplace)
    _operators[name] = o
    if forms & (10 if inplace else 2):
        fl_type_set(<PyTypeObject *>Tensor, name, _method_of(o))
    if forms & 1:
        functions[name] = o
    if forms & 4:
        if not forms & 1:
            o._space = "nn.functional"
        elif name in _OWN_IN_NN:
            o = _new_operator(name, ops, inplace, "nn.functional")
        namespaces.setdefault("nn.functional", {})[name] = o
    return 0


def pending_outputs():
    """(key, name, comma-separated outputs) of the definitions with several outputs."""
    return [(_op_key(<fl_op *><uintptr_t>address), name, outputs)
            for address, name, outputs in _pending_names]


def _name_outputs(dict classes):
    """Give operators of several outputs the class of their results, a tuple with names, if any."""
    cdef fl_op *op
    for address, _, _ in _pending_names:
        op = <fl_op *><uintptr_t>address
        kind = classes.get(_op_key(op))
        if kind is None:
            continue
        Py_INCREF(kind)
        op.reserved[0] = <uint64_t><uintptr_t><PyObject *>kind


def operators():
    """All operators by Python name."""
    return _operators


#: Tuples whose slices and sums are of their own type.
Sizes = fl_size_base()


def _set_size_type(type kind):
    global _size_type
    _size_type = kind


def _set_blas_path(str path):
    cdef bytes raw = path.encode()
    fl_blas_set_path(raw)


class LinAlgError(RuntimeError):
    """A matrix that is singular or not positive definite, or an iteration that did not end."""


class ArgumentError(ValueError, RuntimeError):
    """A size, shape or choice that an operator cannot take.

    It is both kinds because programs written for PyTorch catch its RuntimeError.
    """


LinAlgError.__module__ = "flambeau.linalg"
_linalg_error = LinAlgError
_argument_error = ArgumentError


class IntegerZeroDivisionError(RuntimeError, ZeroDivisionError):
    """Integers were divided by zero: the error of PyTorch, which Python's name catches too."""


_zero_division = IntegerZeroDivisionError


class IndexRangeError(IndexError, RuntimeError):
    """An element of an index is out of range.

    It is both kinds because PyTorch raises now one, now the other, by operator and shape.
    """


_range_error = IndexRangeError
fl_storage_init()
fl_tensor_type = <PyTypeObject *>Tensor
fl_tensor_blank_init()
fl_python.box_dtype = _box_dtype
fl_python.box_device = _box_device
fl_python.unbox_dtype = _unbox_dtype
fl_python.unbox_device = _unbox_device
fl_python.find_composite = _find_composite
fl_python.generator_type = <PyTypeObject *>Generator
fl_python.linalg_error = <PyObject *>_linalg_error
fl_python.argument_error = <PyObject *>_argument_error
fl_python.zero_division = <PyObject *>_zero_division
fl_index_range_error = <PyObject *>_range_error
fl_kernels_init()
_check_prefix()
_install_operators()
_C_API = fl_api_capsule()
