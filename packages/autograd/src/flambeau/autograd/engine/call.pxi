# Calling a rule: arguments from slots, one gradient (or NULL) per edge.

cdef int call_rule(Node node, PyObject *grad, PyObject *others, uint32_t needs,
                   PyObject **results, bint spare=False) except -1:
    """Gradients of the node's inputs, as new references; NULL where there is none. ``spare``: the
    incoming gradient is given up afterwards."""
    cdef rule_plan *plan = node.plan
    cdef call_plan *call
    cdef PyObject *value
    cdef int c
    if node.flags & N_FREED:
        raise_freed(node)
    for c in range(plan.ncalls):
        call = &plan.calls[c]
        if not call.inputs & needs:
            continue
        if call.op is not NULL:
            value = call_derived(node, call, grad, spare and needs & ~call.inputs == 0)
        else:
            value = call_function(node, call, grad, others, needs)
        if plan.takes_list or call.many:
            hand_out(node, call, value, results)
        else:
            results[call.first] = fitted(node, call.first, value)
    return 0


cdef inline PyObject *fitted(Node node, int i, PyObject *value) except? NULL:
    if value == Py_None:
        Py_DECREF(value)
        return NULL
    if not is_tensor(value):
        kind = type(<object>value).__name__
        Py_DECREF(value)
        raise RuntimeError(f"{node_name(node)}: the gradient of input {i} must be a Tensor or "
                           f"None, not {kind}")
    return fit(node, i, value)


cdef int hand_out(Node node, call_plan *call, PyObject *value, PyObject **results) except -1:
    """Hand out a rule's tuple of gradients to its inputs."""
    cdef int i, k = 0
    cdef int count = node.nedges
    values = <object>value
    Py_DECREF(value)
    for i in range(count):
        if not node.plan.takes_list and not call.inputs >> i & 1:
            continue
        if node.edges[i].node is not NULL and values[k] is not None:
            item = values[k]
            Py_INCREF(<PyObject *>item)
            results[i] = fitted(node, i, <PyObject *>item)
        k += 1
    return 0


cdef PyObject *call_function(Node node, call_plan *call, PyObject *grad, PyObject *others,
                             uint32_t needs) except NULL:
    cdef PyObject *args[MAX_ARGS + 1]
    cdef PyObject *value
    cdef int i
    cdef int count = 0
    try:
        for i in range(call.nargs):
            if call.args[i] == ARG_GRAD:
                Py_INCREF(grad if grad is not NULL else Py_None)
                args[1 + i] = grad if grad is not NULL else Py_None
            elif call.args[i] == ARG_GRADS:
                args[1 + i] = all_grads(node, grad, others)
            elif call.args[i] == ARG_NEEDS:
                args[1 + i] = needs_tuple(node, needs)
            else:
                args[1 + i] = unpack(node, &node.slots[call.args[i]])
            count = i + 1
        return PyObject_Vectorcall(call.function, args + 1, call.nargs | VECTORCALL_OFFSET, NULL)
    finally:
        for i in range(count):
            Py_DECREF(args[1 + i])


cdef PyObject *call_derived(Node node, call_plan *call, PyObject *grad, bint spare) except NULL:
    """A derived definition: its first operand is the gradient, the others come from slots."""
    cdef fl_value values[FL_MAX_PARAMS]
    cdef int64_t scratch[FL_MAX_PARAMS][64]
    cdef PyObject *borrowed[FL_MAX_PARAMS]
    cdef int i, k
    cdef int count = 0
    put_tensor(&values[0], grad)
    try:
        for i in range(1, call.nargs):
            k = call.args[i]
            slot_value(node, &node.slots[k], call.op.params[i].role, &values[i], scratch[i])
            if node.slots[k].kind == S_OUTPUT or node.slots[k].kind == S_PACKED:
                borrowed[count] = unpack_again(node, &node.slots[k])
                values[i].tag = FL_TENSOR
                values[i].t = <fl_tensor *>borrowed[count]
                count += 1
        if spare and values[0].t.numel >= _least_reused \
                and may_become_result(call.op, values, call.nargs):
            return call_over(call.op, values, call.nargs)
        return call_op(call.op, values, call.nargs)
    finally:
        for i in range(count):
            Py_DECREF(borrowed[i])


# ---- gradients in the memory of gradients ------------------------------------------------------
cdef int64_t _least_reused = 32769      # of smaller ones new memory is in the nearest cache


def reuse_gradients(int64_t least):
    """Set how few elements gradients have that lend their memory; returns what was set before."""
    global _least_reused
    before, _least_reused = _least_reused, least
    return before


cdef bint may_become_result(const fl_op *op, const fl_value *values, int n) except -1:
    """Whether a pointwise call's result may take the memory of its first operand, a gradient that
    nobody else has. One that is not computed yet is best left to the loop that will do both."""
    cdef fl_tensor *g = values[0].t
    cdef int i
    if op.category != FL_POINTWISE or op.nouts != 1 or _noting or FL.get_mode() & FL_M_GRAD \
            or not may_write(<PyObject *>g):
        return False
    for i in range(n):
        if values[i].tag == FL_TENSOR and (values[i].t.dtype != g.dtype
                                           or not values[i].t.flags & FL_CONTIGUOUS
                                           or values[i].t.flags >> FL_LEVEL_SHIFT
                                           or values[i].t.numel > g.numel
                                           or values[i].t.ndim > g.ndim):
            return False
    grad = <object><PyObject *>g
    return not _core.is_exposed(grad) and not _core.waits(grad)


cdef PyObject *call_over(const fl_op *op, const fl_value *values, int n) except NULL:
    """Run a definition into its first operand (a new reference)."""
    cdef fl_value out = values[0]
    FL.dispatch(op, values, n, &out)
    return <PyObject *>out.t


cdef PyObject *unpack_again(Node node, slot_t *slot) except NULL:
    if slot.kind == S_PACKED:
        return (<Packed>slot.value.o).unpack(node)
    return unpack_output(node, slot)


cdef PyObject *all_grads(Node node, PyObject *grad, PyObject *others) except NULL:
    """A tuple with the gradient of each output, None where none arrived."""
    cdef int i
    cdef int count = outputs_of(node) if node.plan.outputs == OUTPUTS_IN_LIST else node.op.nouts
    values = [None] * count
    if grad is not NULL:
        values[0] = <object>grad
    if others is not NULL:
        for i, other in enumerate(<list>others):
            values[i + 1] = other
    result = tuple(values)
    Py_INCREF(<PyObject *>result)
    return <PyObject *>result


cdef PyObject *needs_tuple(Node node, uint32_t needs) except NULL:
    cdef int i
    if node.plan.takes_list:
        result = tuple([node.edges[i].node is not NULL for i in range(node.nedges)])
    else:
        result = tuple([(needs >> i & 1) != 0 for i in range(node.nedges)])
    Py_INCREF(<PyObject *>result)
    return <PyObject *>result


cdef list values_of_node(Node node, tuple grads):
    """A node called by hand: what the engine would hand on, None where nothing is wanted."""
    cdef int i
    for i, grad in enumerate(grads):
        if grad is not None:
            require_tensor(grad, f"{node_name(node)}: gradient {i}")
    if not grads or (node.op is not NULL and len(grads) > max(node.op.nouts, outputs_of(node))):
        raise TypeError(f"{node_name(node)} takes one gradient per output, got {len(grads)}")
    if all([grad is None for grad in grads]):
        return [None] * node.nedges
    if node.flags & N_FUNCTION:
        needs = tuple([node.edges[i].node is not NULL for i in range(node.nedges)])
        return list((<NodeFunction>(<NodeExtras>node.extras).function).run(node, grads, needs))
    if node.nedges > MAX_INPUTS:
        raise RuntimeError(f"{node_name(node)} has {node.nedges} inputs, too many to be called by "
                           "hand: use autograd.grad()")
    return evaluate_rule(node, grads)


cdef list evaluate_rule(Node node, tuple grads):
    """Gradients of a node's inputs as a list; for nodes inside other nodes."""
    cdef PyObject *results[MAX_INPUTS]
    cdef PyObject *first = <PyObject *>grads[0] if grads[0] is not None else NULL
    cdef PyObject *others = NULL
    cdef int i
    if len(grads) > 1:
        rest = list(grads[1:])
        others = <PyObject *>rest
    for i in range(node.nedges):
        results[i] = NULL
    call_rule(node, first, others, node.needs, results)
    values = []
    for i in range(node.nedges):
        values.append(<object>results[i] if results[i] is not NULL else None)
        Py_XDECREF(results[i])
    return values
