# Saved values: filling slots when an operator is recorded, reading them in backward.

cdef inline bint is_tensor(PyObject *o) noexcept:
    return PyObject_TypeCheck(o, FL.tensor_type)


cdef inline bint is_differentiable(int dtype) noexcept:
    """Floating and complex dtypes carry gradients."""
    return dtype >= FL_F16


cdef inline bint is_complex(int dtype) noexcept:
    return FL_C64 <= dtype <= FL_C128 or dtype == FL_C32


cdef inline int hold(slot_t *slot, int kind, PyObject *o) except -1:
    """Own a new reference in the slot."""
    slot.kind = kind
    slot.value.o = o
    return 0


cdef inline uint32_t version_at_saving(fl_tensor *t) noexcept:
    """The version, marked so that the core tells who writes next (writers.pxi)."""
    t.version[0] |= FL_VERSION_SAVED
    return t.version[0]


cdef int save_input(slot_t *slot, const fl_value *v) except -1:
    """Keep an argument for backward."""
    cdef uint32_t tag = v.tag
    if tag == FL_TENSOR:
        if v.t.flags & FL_INFERENCE:
            refuse_inference_tensor()
        if _packing and pack(slot, v.t, -1):
            return 0
        Py_INCREF(<PyObject *>v.t)
        hold(slot, S_INPUT, <PyObject *>v.t)
        slot.version = version_at_saving(v.t)
    elif tag == FL_TENSORS:
        save_tensors(slot, v)
    elif tag == FL_FLOAT:
        slot.kind = FL_FLOAT
        slot.value.d = v.d
    elif tag == FL_NONE or tag == FL_INT or tag == FL_BOOLEAN or tag == FL_DTYPE \
            or tag == FL_DEVICE:
        slot.kind = tag
        slot.value.i = v.i
    else:
        hold(slot, S_OBJECT, FL.box(v))
    return 0


cdef int save_tensors(slot_t *slot, const fl_value *v) except -1:
    """Keep a list of tensors; versions only grow, so that their sum tells of any change."""
    cdef uint32_t i
    cdef PyObject *item
    cdef PyObject *items = PyTuple_New(v.len)
    slot.version = 0
    for i in range(v.len):
        item = <PyObject *>v.ts[i]
        if item is NULL:
            item = Py_None
        else:
            slot.version += version_at_saving(v.ts[i])
        Py_INCREF(item)
        PyTuple_SET_ITEM(items, i, item)
    return hold(slot, S_TENSORS, items)


cdef int save_output(slot_t *slot, fl_tensor *t, int output_nr) except -1:
    """Keep an output: an alias without history, for the output itself owns this node."""
    if _packing and pack(slot, t, output_nr):
        return 0
    hold(slot, S_OUTPUT, <PyObject *>FL.alias(t))
    slot.version = version_at_saving(t)
    slot.output_nr = output_nr
    return 0


cdef int save_shape(slot_t *slot, const fl_value *v) except -1:
    """Keep a shape as a tuple; of a list of tensors, a tuple of them; of a number, ()."""
    cdef uint32_t i
    if v.tag == FL_TENSORS:
        shapes = tuple([shape_of(v.ts[i]) for i in range(v.len)])
    else:
        shapes = shape_of(v.t) if v.tag == FL_TENSOR else ()
    Py_INCREF(<PyObject *>shapes)
    return hold(slot, S_OBJECT, <PyObject *>shapes)


cdef int save_geometry(slot_t *slot, const fl_value *v) except -1:
    facts = (shape_of(v.t), strides_of(v.t), storage_offset(v.t))
    Py_INCREF(<PyObject *>facts)
    return hold(slot, S_OBJECT, <PyObject *>facts)


cdef int save_dtype(slot_t *slot, const fl_value *v) except -1:
    slot.kind = FL_NONE
    if v.tag == FL_TENSOR:
        slot.kind = FL_DTYPE
        slot.value.i = v.t.dtype
    return 0


cdef tuple shape_of(fl_tensor *t):
    cdef int i
    cdef PyObject *sizes = PyTuple_New(t.ndim)
    for i in range(t.ndim):
        PyTuple_SET_ITEM(sizes, i, PyLong_FromLongLong(t.shape[i]))
    result = <tuple>sizes
    Py_DECREF(sizes)
    return result


# ---- reading -----------------------------------------------------------------------------------
cdef PyObject *unpack(Node node, slot_t *slot) except NULL:
    """The slot's value as a Python object (a new reference), after the version check."""
    cdef fl_value v
    if slot.kind == S_INPUT:
        check_version(node, slot)
        Py_INCREF(slot.value.o)
        return slot.value.o
    if slot.kind == S_OUTPUT:
        check_version(node, slot)
        return unpack_output(node, slot)
    if slot.kind == S_OBJECT:
        Py_INCREF(slot.value.o)
        return slot.value.o
    if slot.kind == S_TENSORS:
        check_versions(node, slot)
        Py_INCREF(slot.value.o)
        return slot.value.o
    if slot.kind == S_PACKED:
        return (<Packed>slot.value.o).unpack(node)
    if slot.kind == S_EMPTY or slot.kind == FL_NONE:
        Py_INCREF(Py_None)
        return Py_None
    if slot.kind == FL_INT:
        return PyLong_FromLongLong(slot.value.i)
    if slot.kind == FL_FLOAT:
        return PyFloat_FromDouble(slot.value.d)
    v.tag = slot.kind
    v.len = 0
    v.i = slot.value.i
    return FL.box(&v)


cdef PyObject *unpack_output(Node node, slot_t *slot) except NULL:
    """The saved output; when its gradient is recorded too, it gets its history back."""
    cdef fl_tensor *t
    if not FL.get_mode() & FL_M_GRAD:
        Py_INCREF(slot.value.o)
        return slot.value.o
    t = FL.alias(<fl_tensor *>slot.value.o)
    if is_differentiable(t.dtype) and slot.output_nr < node.plan.outputs:
        attach(t, node, slot.output_nr)
    return <PyObject *>t


cdef int slot_value(Node node, slot_t *slot, int role, fl_value *v, int64_t *scratch) except -1:
    """The slot's value unboxed, for definitions called directly. Borrows from the slot."""
    v.len = 0
    if slot.kind == S_INPUT or slot.kind == S_OUTPUT:
        check_version(node, slot)
        v.tag = FL_TENSOR
        v.t = <fl_tensor *>slot.value.o
    elif slot.kind == S_PACKED:
        v.tag = FL_NONE                 # the caller unpacks it
    elif slot.kind >= S_INPUT:
        FL.unbox(slot.value.o, role, v, scratch)
    elif slot.kind == S_EMPTY:
        v.tag = FL_NONE
    else:
        v.tag = slot.kind
        v.i = slot.value.i
    return 0


cdef inline int check_version(Node node, slot_t *slot) except -1:
    cdef fl_tensor *t = <fl_tensor *>slot.value.o
    if t.version[0] != slot.version:
        raise_modified(node, t, slot.version, slot.kind == S_OUTPUT)
    if is_leaf_record(t.autograd) and (<AccumulateGrad>t.autograd).detached:
        check_detached(node, t)
    return 0


cdef int check_detached(Node node, fl_tensor *t) except -1:
    """Refuse a tensor that no longer knows what it came from when it was saved."""
    if node is None or node.sequence < (<AccumulateGrad>t.autograd).sequence:
        raise RuntimeError(
            f"Trying to use a saved tensor that has been detached in-place: {called_name(node)} "
            f"saved {describe(t)}, and .detach_() cut off its history since. Write y = y.detach() "
            "instead of y.detach_(), or call backward() before")
    return 0


cdef int check_versions(Node node, slot_t *slot) except -1:
    cdef uint32_t total = 0
    for item in <tuple>slot.value.o:
        if item is not None:
            total += (<fl_tensor *><PyObject *>item).version[0]
    if total != slot.version:
        raise RuntimeError(
            f"one of the variables needed for gradient computation has been modified by an inplace "
            f"operation: {called_name(node)} saved a list of index tensors, and one of them was "
            "written to since; write to a clone() of it")
    return 0


cdef inline bint is_saved_tensor(int kind) noexcept:
    return kind == S_INPUT or kind == S_OUTPUT or kind == S_TENSORS or kind == S_PACKED


cdef int release_saved(Node node) except -1:
    """Give up saved tensors after a backward pass; shapes and numbers stay."""
    cdef int s
    cdef PyObject *o
    for s in range(node.nslots):
        if is_saved_tensor(node.slots[s].kind):
            o = node.slots[s].value.o
            node.slots[s].kind = S_EMPTY
            node.flags |= N_FREED
            Py_DECREF(o)
    if node.recipe is not NULL:
        o = node.recipe
        node.recipe = NULL
        Py_DECREF(o)
    return 0


cdef object saved_by_name(Node node, str name):
    """What a node kept of the parameter of this name, or of its ``result``."""
    cdef int s = slot_by_name(node, name)
    if node.flags & N_FREED and node.slots[s].kind == S_EMPTY:
        raise_freed(node)
    cdef PyObject *value = unpack(node, &node.slots[s])
    result = <object>value
    Py_DECREF(value)
    return result


cdef int slot_by_name(Node node, str name) except -1:
    """The number of the slot."""
    cdef const char *found
    cdef int s
    names = []
    for s in range(node.nslots if node.plan is not NULL else 0):
        if node.plan.slots[s].kind == SAVE_VALUE:
            found = node.op.params[node.plan.slots[s].index].name
        elif node.plan.slots[s].kind == SAVE_RESULT:
            found = b"result"
        else:
            continue
        names.append(found.decode())
        if names[len(names) - 1] == name:
            return s
    raise AttributeError(f"{node_name(node)} has no attribute '_saved_{name}'; it keeps "
                         f"{', '.join(f'_saved_{n}' for n in names) or 'nothing'}")


cdef list saved_shapes(Node node):
    """(shape, dtype) of each saved tensor; ("packed", None) for those a hook took away."""
    cdef int s
    facts = []
    for s in range(node.nslots):
        if node.slots[s].kind == S_INPUT or node.slots[s].kind == S_OUTPUT:
            tensor = <object>node.slots[s].value.o
            facts.append((tuple(tensor.shape), tensor.dtype))
        elif node.slots[s].kind == S_PACKED:
            facts.append(("packed", None))
    return facts


cdef object saved_bytes(Node node):
    cdef int s
    total = 0
    for s in range(node.nslots):
        if node.slots[s].kind == S_INPUT or node.slots[s].kind == S_OUTPUT:
            tensor = <object>node.slots[s].value.o
            total += tensor.numel() * tensor.element_size()
        elif node.slots[s].kind == S_TENSORS:
            for tensor in <tuple>node.slots[s].value.o:
                if tensor is not None:
                    total += tensor.numel() * tensor.element_size()
    return total


cdef tuple strides_of(fl_tensor *t):
    cdef int i
    return tuple([t.strides[i] for i in range(t.ndim)])
