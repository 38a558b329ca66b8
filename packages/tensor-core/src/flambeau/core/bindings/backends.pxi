# Device backends written in Python: an adapter between their methods and the C contract.

# Backends live as long as the process.
cdef list _backend_records = []


cdef class _BackendRecord:
    cdef object adapter
    cdef bytes name
    cdef fl_backend c


cdef int _backend_allocate(void *ctx, int index, size_t nbytes, char **data,
                           PyObject **owner) except -1:
    address, keeper = (<_BackendRecord>ctx).adapter.allocate(index, nbytes)
    data[0] = <char *><uintptr_t>address
    Py_INCREF(keeper)
    owner[0] = <PyObject *>keeper
    return 0


cdef int _backend_copy(void *ctx, int index, char *dst, const char *src, size_t nbytes,
                       int kind) except -1:
    (<_BackendRecord>ctx).adapter.copy(index, <uintptr_t>dst, <uintptr_t>src, nbytes,
                                       ("to_device", "to_host", "within")[kind])
    return 0


cdef int _backend_run(void *ctx, const fl_op *op, const fl_value *args, int n,
                      fl_tensor *const *outs) except -1:
    cdef int i
    values = [fl_box(&args[i]) for i in range(n)]
    targets = [<object><PyObject *>outs[i] for i in range(op.nouts)]
    known = (<_BackendRecord>ctx).adapter.run(_op_object(op), values, targets)
    return 1 if known is NotImplemented else 0


cdef int _backend_synchronize(void *ctx, int index) except -1:
    (<_BackendRecord>ctx).adapter.synchronize(index)
    return 0


cdef int _backend_count(void *ctx) except -1:
    return (<_BackendRecord>ctx).adapter.device_count()


def register_backend(adapter):
    """Make a backend's device type known.

    Args:
        adapter: A ``flambeau.core.backends.Backend``.

    Returns:
        The number of the device type.
    """
    cdef _BackendRecord r = _BackendRecord.__new__(_BackendRecord)
    cdef int device_type = -1
    r.adapter = adapter
    r.name = adapter.name.encode()
    r.c.struct_size = sizeof(fl_backend)
    r.c.name = r.name
    r.c.ctx = <void *>r
    r.c.allocate = _backend_allocate
    r.c.copy = _backend_copy
    r.c.run = _backend_run
    r.c.synchronize = _backend_synchronize
    r.c.device_count = _backend_count
    fl_add_backend(&r.c, &device_type)
    _backend_records.append(r)
    return device_type


def storage_owner(Tensor t not None):
    """What keeps a foreign or device storage alive; None for the core's own memory."""
    cdef fl_storage *s = <fl_storage *>t._storage
    return <object>s.owner if s.owner != NULL else None


def address_of(Tensor t not None) -> int:
    """Address of the first element, 0 without any, for a backend that is computing with it.

    Unlike ``data_ptr()`` it is not given away: kernels may go on to wait over this memory.
    """
    return <uintptr_t>t._data if t._numel else 0


def known_devices():
    """Device types that are registered."""
    names = []
    for code in range(256):
        name = fl_device_name(code).decode()
        if name == "unknown":
            break
        names.append(name)
    return names


def synchronize(device=None):
    """Wait for a device to finish."""
    cdef int code = 0 if device is None else _unbox_device(<PyObject *>device)
    cdef const fl_backend *b = fl_backend_of(code >> 8)
    run_waiting()
    if b != NULL:
        b.synchronize(b.ctx, code & 255)


# ---- operators that a backend lacks ------------------------------------------------------------
cdef int _run_decomposed(const fl_op *op, const fl_value *args, int n,
                         fl_tensor *const *outs) except -1:
    """Compute the operator as others, and hand the results to the device's own ``copy``."""
    from flambeau.core.decompositions import decomposition
    cdef int i
    cdef fl_value pair[2]
    cdef fl_tensor *target
    cdef const fl_backend *b = fl_backend_of(outs[0].device_type)
    cdef uint32_t mode = fl_thread.mode
    function = decomposition(_op_key(op))
    values = [fl_box(&args[i]) for i in range(n)]
    fl_thread.mode = mode & ~<uint32_t>FL_M_GRAD    # the call as a whole is on the tape
    try:
        results = function(*values)
        if not isinstance(results, tuple):
            results = (results,)
        for i, result in enumerate(results):
            target = outs[i]
            pair[0].tag = pair[1].tag = FL_TENSOR
            pair[0].t, pair[1].t = target, <fl_tensor *><PyObject *>(<Tensor?>result)
            if b.run(b.ctx, &fl_builtin_ops[FL_OP_copy], pair, 2, &target) == 1:
                return 1
    except NotImplementedError:
        return 1
    finally:
        fl_thread.mode = mode
    return 0


fl_run_decomposed = _run_decomposed
