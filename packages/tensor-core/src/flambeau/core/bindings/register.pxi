# Definitions added at run time: a new fl_op with bytecode for each compute kind.

cdef extern from "dispatch/pointwise.h":
    ctypedef void (*fl_pw_fn)(const void *, const void *const *, void *const *, const void *,
                              int64_t) noexcept nogil
    const int FL_PW_MAX_IN, FL_PW_MAX_OUT, FL_PW_MAX_SCALARS
    ctypedef struct fl_pointwise:
        uint8_t n_in, n_scalars, n_out, kinds
        uint8_t operand[14]
        uint8_t is_mask[14]
        uint8_t scalar[14]
        uint8_t result_kind[6]
        uint8_t writes[4]
        fl_pw_fn run_code
        const void *code[6]
    fl_pw_fn fl_bytecode_interpreter(bint streams)

cdef extern from *:
    """
    extern "C" int fl_infer_pointwise(const fl_op *, const fl_value *, int, fl_spec *);
    extern "C" int fl_run_pointwise(const fl_op *, const fl_value *, int, fl_tensor *const *);
    """
    int fl_infer_pointwise(const fl_op *, const fl_value *, int, fl_spec *) noexcept nogil
    int fl_run_pointwise(const fl_op *, const fl_value *, int, fl_tensor *const *) noexcept nogil

cdef extern from "pointwise/update.h":
    int fl_update_together(const fl_op *, fl_value *, fl_tensor **, int64_t) except -1
    int fl_update_by_device(const fl_op *, fl_value *, fl_tensor **, int64_t) except -1
    void fl_update_written(const fl_op *, fl_tensor **, int64_t) noexcept
    void fl_update_configure(PyObject *) noexcept

cdef extern from "dispatch/python.h":
    int fl_call_pointwise(const fl_op *, const fl_value *, int, fl_value *) except -1

cdef extern from *:
    """
    static fl_op *fl_op_blank(void) { return (fl_op *)PyMem_Calloc(1, sizeof(fl_op)); }
    static fl_param *fl_params_blank(int n) {
        return (fl_param *)PyMem_Calloc((size_t)n, sizeof(fl_param));
    }
    static fl_pointwise *fl_pointwise_blank(void) {
        return (fl_pointwise *)PyMem_Calloc(1, sizeof(fl_pointwise));
    }
    static void fl_param_set(fl_param *p, const char *name, int role, int flags) {
        p->name = name; p->role = (uint8_t)role; p->flags = (uint8_t)flags;
    }
    static void fl_param_default(fl_param *p, const fl_value *v) { p->fallback = *v; }
    static void fl_op_finish(fl_op *op, const fl_pointwise *w, const fl_param *params) {
        op->struct_size = sizeof(fl_op); op->category = FL_POINTWISE; op->kernels = w;
        op->params = params; op->infer = fl_infer_pointwise; op->run_cpu = fl_run_pointwise;
        op->call = fl_call_pointwise;
    }
    static void fl_op_of_backend(fl_op *op, const fl_param *params) {
        op->struct_size = sizeof(fl_op); op->category = FL_KERNEL; op->params = params;
    }
    """
    fl_op *fl_op_blank() except NULL
    fl_param *fl_params_blank(int) except NULL
    fl_pointwise *fl_pointwise_blank() except NULL
    void fl_param_set(fl_param *, const char *, int, int)
    void fl_param_default(fl_param *, const fl_value *)
    void fl_op_finish(fl_op *, const fl_pointwise *, const fl_param *)
    void fl_op_of_backend(fl_op *, const fl_param *)
    enum: FL_R_OPERAND

# Texts and bytecode of registered operators; operators live as long as the process.
cdef list _kept = []


cdef const char *_keep(bytes text):
    _kept.append(text)
    return text


def _register(str name, str overload, str doc, int rule, int flags, list params, list operands,
              list masks, list scalars, list codes, list result_kinds, list writes, int n_out):
    """Add a pointwise operator; called by flambeau.core.register, which prepares everything.

    ``params`` holds (name, role, flags, default); ``codes`` bytecode or None for each kind.
    """
    for count, limit, what in ((len(params), FL_MAX_PARAMS, "parameters"),
                               (len(operands), FL_PW_MAX_IN, "tensors"),
                               (len(scalars), FL_PW_MAX_SCALARS, "numbers"),
                               (n_out, FL_PW_MAX_OUT, "outputs")):
        if count > limit:
            raise ValueError(f"{name}: a pointwise operator has at most {limit} {what}, got "
                             f"{count}; split it into two")
    cdef fl_op *op = fl_op_blank()
    cdef fl_param *p = fl_params_blank(len(params))
    cdef fl_pointwise *w = fl_pointwise_blank()
    cdef fl_value v
    cdef int i
    for i, (param_name, role, param_flags, default) in enumerate(params):
        fl_param_set(&p[i], _keep(param_name.encode()), role, param_flags)
        if param_flags & FL_P_DEFAULT:
            _default_value(default, &v)
            fl_param_default(&p[i], &v)
    w.n_in, w.n_scalars, w.n_out = len(operands), len(scalars), n_out
    for i in range(len(operands)):
        w.operand[i], w.is_mask[i] = operands[i], masks[i]
    for i in range(len(scalars)):
        w.scalar[i] = scalars[i]
    for i in range(6):
        w.result_kind[i] = result_kinds[i]
        if codes[i] is not None:
            w.kinds |= 1 << i
            w.code[i] = <const void *>_keep(codes[i])
    for i in range(4):
        w.writes[i] = writes[i] if i < len(writes) else 255
    w.run_code = fl_bytecode_interpreter(False)
    op.name, op.overload, op.doc = _keep(name.encode()), _keep(overload.encode()), \
        _keep(doc.encode())
    op.dtype_rule, op.nparams, op.nouts, op.flags = rule, len(params), n_out, flags
    fl_op_finish(op, w, p)
    fl_add_op(op)
    made = _new_operator(name, [<uintptr_t>op], False)
    if not overload:
        _operators[name] = made
    return made


def make_kernel(str name, int n, int n_out) -> int:
    """A definition that is in no table, and that only a backend runs: what ``Backend.fuse`` makes.

    Args:
        name: of the kernel.
        n: tensors and numbers that it takes.
        n_out: its results.

    Returns:
        Its address; it lives as long as the process.
    """
    cdef fl_op *op = fl_op_blank()
    cdef fl_param *p = fl_params_blank(max(n, 1))
    cdef int i
    for i in range(n):
        fl_param_set(&p[i], _keep(f"p{i}".encode()), FL_R_OPERAND, 0)
    op.name, op.overload, op.doc = _keep(name.encode()), _keep(b""), _keep(b"")
    op.nparams, op.nouts = n, n_out
    fl_op_of_backend(op, p)
    return <uintptr_t>op


cdef int _default_value(object value, fl_value *v) except -1:
    memset(v, 0, sizeof(fl_value))
    if value is None:
        v.tag = FL_NONE
    elif isinstance(value, bool):
        v.tag, v.i = FL_BOOLEAN, value
    elif isinstance(value, int):
        v.tag, v.i = FL_INT, value
    elif isinstance(value, float):
        v.tag, v.d = FL_FLOAT, value
    else:
        raise TypeError(f"a default of type {type(value).__name__} is not supported")
    return 0


def update(op, lists, scalars):
    """Apply a definition that writes to its operands to many tensors, in one pass.

    Args:
        op: The definition, as ``register_op`` returned it.
        lists: For every operand of the definition the list of its tensors.
        scalars: The run-time scalars in the definition's order, the same for all; on a device whose
            backend updates many tensors at once also float64 tensors there, of one element or of
            one for each row.

    Returns:
        False where a scalar is a tensor and the rows have to be computed in another way, since the
        backend does not take them. Nothing was written then.

    Raises:
        ValueError: lists of different lengths.
    """
    cdef const fl_op *opdef = _opdef_of(op)
    cdef const fl_pointwise *w = <const fl_pointwise *>opdef.kernels
    cdef fl_value values[16]
    cdef int i, k, n = len(lists[0]) if lists else 0
    cdef uint32_t mode = fl_thread.mode
    cdef list column
    cdef fl_tensor **rows
    cdef bint plain = True
    if len(lists) != w.n_in or len(scalars) != w.n_scalars:
        raise ValueError(f"update(): definition {opdef.name.decode()} takes {w.n_in} operands and "
                         f"{w.n_scalars} scalars, got {len(lists)} and {len(scalars)}")
    for k in range(w.n_scalars):
        values[w.scalar[k]].tag = FL_FLOAT
        if isinstance(scalars[k], Tensor):
            plain = False
            fl_settle("update()", <fl_tensor *><PyObject *>scalars[k], True)
        else:
            values[w.scalar[k]].d = scalars[k]
    for column in lists:
        if len(column) != n:
            raise ValueError("update(): every operand needs a list of the same length")
    held = [tuple(column) for column in lists]      # whatever other threads do to the lists
    rows = <fl_tensor **>PyMem_Malloc(sizeof(fl_tensor *) * <size_t>(n * w.n_in + 1))
    if rows == NULL:
        raise MemoryError("update(): no memory for a list of the tensors")
    fl_thread.mode = mode & ~<uint32_t>FL_M_GRAD
    try:
        for k in range(w.n_in):
            for i in range(n):
                rows[i * w.n_in + k] = _row_tensor((<tuple>held[k])[i])
        if plain and fl_update_together(opdef, values, rows, n):
            return True
        if fl_update_by_device(opdef, values, rows, n) and _updates(op, held, scalars):
            fl_update_written(opdef, rows, n)
            return True
        if plain:
            _update_each(opdef, values, rows, n)
        return plain
    finally:
        fl_thread.mode = mode
        PyMem_Free(rows)


cdef bint _updates(object op, list lists, object scalars) except -1:
    """Whether a device's backend, written in Python, has updated all rows at once."""
    from flambeau.core.backends import updating

    backend = updating(lists[0][0].device)
    return backend is not None and backend.update(op, lists, scalars)


cdef fl_tensor *_row_tensor(object operand) except NULL:
    if not isinstance(operand, Tensor):
        raise TypeError(f"update(): operands are lists of tensors, got {type(operand).__name__}")
    return <fl_tensor *><PyObject *>operand


cdef int _update_each(const fl_op *opdef, fl_value *values, fl_tensor **rows, int n) except -1:
    """One row after the other."""
    cdef const fl_pointwise *w = <const fl_pointwise *>opdef.kernels
    cdef fl_value out[8]
    cdef int i, k
    for i in range(n):
        for k in range(w.n_in):
            values[w.operand[k]].tag = FL_TENSOR
            values[w.operand[k]].t = rows[i * w.n_in + k]
        for k in range(w.n_out):
            out[k] = values[w.operand[w.writes[k]]]
        fl_dispatch(opdef, values, opdef.nparams, out)
        for k in range(w.n_out):
            Py_DECREF(<object><PyObject *>out[k].t)
    return 0


def configure_updates(maker):
    """Set what makes machine code for update rules in compiled calls.

    Args:
        maker: ``maker(key, dtype)``: the address of the code, the parameters that are its numbers,
            and what keeps it; or None.
    """
    fl_update_configure(<PyObject *>maker)
