# Operators as they are defined, and calls of them by key: what other packages are made of.

@cython.final
cdef class OpHandle:
    """One overload of an operator, as defined."""
    cdef const fl_op *_op
    cdef readonly str key
    cdef readonly str name

    @property
    def params(self):
        """Names of the parameters in order."""
        return tuple([self._op.params[i].name.decode() for i in range(self._op.nparams)])

    @property
    def parameters(self):
        """Name of each parameter, what it accepts in words, and whether None will do."""
        from flambeau.core.operator_docs import Parameter
        cdef int i
        found = []
        for i in range(self._op.nparams):
            kind = fl_role_name(self._op.params[i].role).decode()
            optional = bool(self._op.params[i].flags & FL_P_OPTIONAL)
            found.append(Parameter(self._op.params[i].name.decode(), kind, optional))
        return found

    @property
    def dtype_rule(self) -> str:
        """How the dtype of the result follows from the operands."""
        return _DTYPE_RULES[self._op.dtype_rule]

    @property
    def fields(self) -> tuple:
        """Names of the results where there are several."""
        named = self._op.reserved[0]
        return (<object><PyObject *><uintptr_t>named)._fields if named else ()

    @property
    def category(self) -> str:
        return _CATEGORIES[self._op.category]

    @property
    def differentiable(self) -> bool:
        """Whether results may carry gradients; those of comparisons may not."""
        return bool(self._op.flags & FL_O_DIFFERENTIABLE)

    @property
    def random(self) -> bool:
        """Whether it draws random numbers, so that equal calls differ."""
        return bool(self._op.flags & FL_O_RANDOM)

    @property
    def dynamic_shape(self) -> bool:
        """Whether the shape of a result depends on values."""
        return bool(self._op.flags & FL_O_DYNAMIC_SHAPE)

    @property
    def raises_on_values(self) -> bool:
        """Whether there are values, not only shapes and dtypes, that it refuses."""
        return bool(self._op.flags & FL_O_RAISES_ON_VALUES)

    @property
    def batching(self) -> str:
        """How it runs under ``vmap``: one of ``flambeau.core.opdefs.opdef.BATCHING``."""
        return _definition(self.key).batching

    @property
    def jvp(self) -> str:
        """How tangents are pushed forward: one of ``flambeau.core.opdefs.opdef.JVP``."""
        return _definition(self.key).jvp

    @property
    def linear_in(self) -> tuple:
        """The parameters it is linear in, together or one by one, and what is only added."""
        return _definition(self.key).linear_in

    @property
    def _roles(self) -> list:
        return [self._op.params[i].role for i in range(self._op.nparams)]

    @property
    def nouts(self) -> int:
        return self._op.nouts

    def __repr__(self):
        return f"<definition {self.key}>"


cdef object _definition(str key):
    from flambeau.core.register import definition
    return definition(key)


cdef dict _handles = {}


cdef OpHandle _op_object(const fl_op *op):
    cdef OpHandle h = _handles.get(<uintptr_t>op)
    if h is None:
        h = OpHandle.__new__(OpHandle)
        h._op = op
        h.name = op.name.decode()
        h.key = _op_key(op)
        _handles[<uintptr_t>op] = h
    return h


cdef const fl_op *_opdef_of(object op) except NULL:
    if isinstance(op, OpHandle):
        return (<OpHandle>op)._op
    if isinstance(op, Operator):
        return (<Operator>op).overloads[0]
    return fl_find_op((<str?>op).encode())


def find_op(key):
    """The definition with this key, e.g. ``"max.dim"``."""
    return _op_object(_opdef_of(key))


def op_at(uintptr_t address):
    """The definition at an address, which a backend was given."""
    return _op_object(<const fl_op *>address)


def op_keys():
    """Keys of all definitions, built in and registered."""
    return list(<object>fl_op_table())


cdef int _unbox_all(const fl_op *op, object args, fl_value *values, fl_arena *arena) except -1:
    cdef int i, n = len(args)
    if n > op.nparams:
        raise TypeError(f"{op.name.decode()}() takes {op.nparams} arguments, got {n}")
    for i in range(op.nparams):
        if i < n:
            value = args[i]
            if value is None and not op.params[i].flags & FL_P_OPTIONAL:
                values[i] = op.params[i].fallback
                continue
            fl_unbox(<PyObject *>value, op, &op.params[i], &values[i], arena)
        elif op.params[i].flags & FL_P_DEFAULT:
            values[i] = op.params[i].fallback
        else:
            raise TypeError(f"{op.name.decode()}() misses argument "
                            f"'{op.params[i].name.decode()}'")
    return 0


def call(op, args, outs=None):
    """Run one definition with its arguments in order.

    Args:
        op: A key, an Operator or a definition handle.
        args: Values in the definition's order; missing ones take their defaults.
        outs: Tensors to write to, one per output, or None.

    Returns:
        A tensor, or a tuple of tensors.
    """
    cdef const fl_op *opdef = _opdef_of(op)
    cdef fl_value values[16]
    cdef fl_value out[8]
    cdef fl_arena arena
    cdef int i
    args = list(args)
    _unbox_all(opdef, args, values, &arena)
    for i in range(opdef.nouts):
        out[i].tag = FL_NONE
        if outs is not None:
            out[i].tag = FL_TENSOR
            out[i].t = <fl_tensor *><PyObject *>(<Tensor?>outs[i])
    fl_dispatch(opdef, values, opdef.nparams, out)
    return fl_results(opdef, out)


def infer(op, args):
    """What a definition would give, without computing it.

    Args:
        op: A key, an Operator or a definition handle.
        args: Values in the definition's order.

    Returns:
        A list of (shape, dtype, device, layout); layout is None for C order, a tuple of strides,
        or ``("alias", input, offset, strides)``.
    """
    cdef const fl_op *opdef = _opdef_of(op)
    cdef fl_value values[16]
    cdef fl_spec specs[8]
    cdef fl_arena arena
    cdef int i, d
    if opdef.infer == NULL:
        raise NotImplementedError(f"{opdef.name.decode()}() is composite: infer its parts")
    if opdef.flags & FL_O_DYNAMIC_SHAPE:
        raise NotImplementedError(f"the shape of {opdef.name.decode()}() depends on values")
    args = list(args)
    _unbox_all(opdef, args, values, &arena)
    if opdef.infer(opdef, values, opdef.nparams, specs) < 0:
        fl_raise()
    result = []
    for i in range(opdef.nouts):
        strides = tuple([specs[i].strides[d] for d in range(specs[i].ndim)])
        layout = None
        if specs[i].layout == FL_L_STRIDED:
            layout = strides
        elif specs[i].layout == FL_L_ALIAS:
            layout = ("alias", specs[i].alias, specs[i].offset, strides)
        result.append((tuple([specs[i].shape[d] for d in range(specs[i].ndim)]),
                       _dtypes[specs[i].dtype],
                       fl_python_device(specs[i].device_type << 8 | specs[i].device_index),
                       layout))
    return result


def storage_id(Tensor t not None):
    """A number shared by a tensor and its views while they live."""
    return <uintptr_t>t._storage


def storage_address(Tensor t not None) -> int:
    """Where the memory of ``t`` begins; for comparisons, not for access."""
    return <uintptr_t>(<fl_storage *>t._storage).ptr


def is_private(Tensor t not None) -> bool:
    """Whether nothing but tensors reaches the memory: no array, no one who asked where it is."""
    return fl_is_private(<fl_tensor *><PyObject *>t)


def storage_bytes(Tensor t not None) -> int:
    """Bytes of the memory that a tensor and its views share."""
    return fl_storage_bytes(<fl_tensor *><PyObject *>t)


def storage_refcount(Tensor t not None) -> int:
    """How many tensors and other owners hold the memory of ``t``."""
    return _Py_REFCNT(t._storage)


def bump_version(Tensor t not None):
    """Count a write to ``t`` that an interposer stands for."""
    fl_count_write(NULL, <fl_tensor *><PyObject *>t)


def _as_new(Tensor t not None):
    """Forget the writes that made ``t``; nothing else may have seen it."""
    t._version_counter[0] = 0


def check_write(op, args, outs):
    """Raise what writing the results of a definition into ``outs`` would raise, and write nothing.

    Args:
        op: A key, an Operator or a definition handle.
        args: Values in the definition's order.
        outs: The tensors that would be written to, one per output.
    """
    cdef const fl_op *opdef = _opdef_of(op)
    cdef fl_value values[16]
    cdef fl_spec specs[8]
    cdef fl_arena arena
    cdef int i
    args = list(args)
    _unbox_all(opdef, args, values, &arena)
    if opdef.infer(opdef, values, opdef.nparams, specs) < 0:
        fl_raise()
    for i in range(opdef.nouts):
        fl_check_write(opdef, values, opdef.nparams, &specs[i],
                       <fl_tensor *><PyObject *>(<Tensor?>outs[i]))
