# Views and writing: what a write to a view means for its base, and to a base for its views.
#
# A write to a tensor gives that very tensor a new history. Other views of the same memory do not
# hear of it; they notice by the version counter when they are used next, and then come out of
# their base's new history by as_strided. A write to a view gives its base a CopySlices node: the
# part that was written gets the gradient of the writing operator, the rest passes.

cdef int refresh_view(fl_tensor *v) except -1:
    """Bring a view's history up to date with writes made since it was taken."""
    cdef PyObject *base
    cdef PyObject *node = v.autograd
    if is_leaf_record(node):
        return 0
    if is_node(node):
        if not (<Node>node).flags & N_VIEW or (<Node>node).version == version_of(v):
            return 0
    base = FL.base(v)
    if base is NULL:
        return 0
    if not is_node(node) and not (<fl_tensor *>base).flags & FL_REQUIRES_GRAD:
        return 0
    return attach_as_view(v, <fl_tensor *>base)


cdef int attach_as_view(fl_tensor *v, fl_tensor *base) except -1:
    """Make ``v`` a view of its base's present history by its geometry; of a base that was detached
    and then written to, the end of the graph."""
    cdef fl_value values[4]
    cdef uint32_t mode
    if v.dtype == base.dtype:
        put_geometry(values, base, v)
        return attach_view(v, OPS.as_strided, values, 4)
    mode = FL.get_mode()
    FL.set_mode(mode | FL_M_GRAD)
    try:
        if is_complex(base.dtype):
            pairs = ops.view_as_real(<object><PyObject *>base)
            put_geometry(values, <fl_tensor *><PyObject *>pairs, v)
            return attach_view(v, OPS.as_strided, values, 4)
        pairs = pairs_of(<object><PyObject *>base, shape_of(v), strides_of(v),
                         2 * storage_offset(v))
        put_tensor(&values[0], <PyObject *>pairs)
        return attach_view(v, OPS.view_as_complex, values, 1)
    finally:
        FL.set_mode(mode)


cdef int put_geometry(fl_value *values, fl_tensor *source, fl_tensor *v) except -1:
    """The arguments of as_strided() that make a view like ``v`` of ``source``."""
    put_tensor(&values[0], <PyObject *>source)
    put_ints(&values[1], v.shape, v.ndim)
    put_ints(&values[2], v.strides, v.ndim)
    put_int(&values[3], FL_INT, storage_offset(v))
    return 0


cdef int attach_view(fl_tensor *v, const fl_op *op, const fl_value *values, int n) except -1:
    """Let ``v`` be the result of a view operator, called at its present version."""
    cdef rule_plan *plan = plan_of(op)
    cdef Node node = new_node(plan.ninputs, plan.nslots)
    node.op = op
    node.plan = plan
    if requires_grad(values[0].t):
        connect(&node.edges[0], values[0].t)
        node.needs = 1
        stay_youngest(node)
    save_arguments(node, op, values, n)
    node.flags |= N_VIEW
    node.version = version_of(v)
    move_kept_grad(v, node)
    return attach(v, node, 0)


cdef object pairs_of(object source, tuple shape, tuple strides, int64_t offset):
    """Real numbers under a complex view, as pairs in the last dimension."""
    return ops.as_strided(source, (*shape, 2), (*[2 * s for s in strides], 1), offset)


cdef int64_t storage_offset(fl_tensor *t) except -1:
    return (<object><PyObject *>t).storage_offset()


# ---- writes ------------------------------------------------------------------------------------
cdef PyObject *prepare(const fl_op *op, const fl_value *values, int n, fl_value *out,
                       int nout) except NULL:
    """What the core calls before a call writes to tensors preset in ``out``."""
    cdef Node node = None
    cdef fl_tensor *target = written_tensor(out, nout)
    cdef rule_plan *plan
    check_target(op, target, values, n)
    plan = plan_of(op)
    if plan is &NO_RULE:
        result = zero_node(target)
    else:
        node = start_node(op, plan, values, n)
        if node is not None:
            save_before_write(node, op, values, n, target)
        result = node
    Py_INCREF(<PyObject *>result)
    return <PyObject *>result


cdef fl_tensor *written_tensor(fl_value *out, int nout) except NULL:
    cdef int k
    for k in range(nout):
        if out[k].tag == FL_TENSOR:
            return out[k].t
    raise SystemError("prepare() was called without a tensor to write to")


cdef int check_target(const fl_op *op, fl_tensor *target, const fl_value *values, int n) except -1:
    """Refuse leaves, views of leaves, and out=."""
    cdef PyObject *base
    if not is_argument(target, values, n):
        refuse_out(op)
    if target.flags & FL_CONSTANT_VIEW:
        refuse_constant_view(op, target)
    if target.flags & FL_REQUIRES_GRAD and not is_node(target.autograd):
        refuse_leaf(op, target)
    if target.flags & FL_MULTI_VIEW:
        refuse_multi_view(op, target)
    if target.flags & FL_VIEW:
        base = FL.base(target)
        if base is not NULL and (<fl_tensor *>base).flags & FL_REQUIRES_GRAD \
                and not is_node((<fl_tensor *>base).autograd):
            refuse_view_of_leaf(op, <fl_tensor *>base)
    return 0


cdef bint is_argument(fl_tensor *target, const fl_value *values, int n) noexcept:
    cdef int k
    for k in range(n):
        if values[k].tag == FL_TENSOR and values[k].t is target:
            return True
    return False


cdef int save_before_write(Node node, const fl_op *op, const fl_value *values, int n,
                           fl_tensor *target) except -1:
    """Save arguments; a tensor in the memory that is written is saved as a clone."""
    cdef fl_value kept[FL_MAX_PARAMS]
    cdef const fl_value *v
    cdef int k
    clones = []
    for k in range(op.nparams):
        kept[k] = argument(op, values, n, k)[0]
        if kept[k].tag == FL_TENSOR and kept[k].t.storage == target.storage \
                and is_saved(node, k):
            copy = clone(<object><PyObject *>kept[k].t)
            clones.append(copy)
            kept[k].t = <fl_tensor *><PyObject *>copy
    return save_arguments(node, op, kept, op.nparams)


cdef bint is_saved(Node node, int parameter) noexcept:
    cdef int s
    for s in range(node.plan.nslots):
        if node.plan.slots[s].kind == SAVE_VALUE and node.plan.slots[s].index == parameter \
                and node.plan.slots[s].users & node.needs:
            return True
    return False


cdef Node zero_node(fl_tensor *target):
    """History of a tensor filled by an operator without derivative: zeros flow back."""
    cdef Node node
    if not requires_grad(target):
        return None
    node = function_node("ZerosBackward0", Zeros(), 1)
    connect(&node.edges[0], target)
    stay_youngest(node)
    node.needs = 1
    return node


@cython.final
cdef class Zeros(NodeFunction):
    """Nothing of what was there before a write reaches the result."""

    cpdef tuple run(self, Node node, tuple grads, tuple needs):
        return (ops.mul(grads[0], 0),)


cdef int commit(PyObject *token, const fl_op *op, const fl_value *values, int n, fl_value *out,
                int nout) except -1:
    """What the core calls after the write: the target gets its new history."""
    cdef fl_tensor *target = written_tensor(out, nout)
    cdef Node node
    if token == Py_None:
        return 0
    node = <Node>token
    if _noting:
        note_call_site(node)
    if node.plan is not NULL:
        save_results(node, out, nout)
        if node.plan.broadcasts:
            note_shapes(node, op, values, n, target)
    if target.flags & FL_VIEW and FL.base(target) is not NULL:
        return rebase_view(node, target, <fl_tensor *>FL.base(target),
                           written_edge(node, target, values, n))
    move_kept_grad(target, node)
    return attach(target, node, 0)


cdef int move_kept_grad(fl_tensor *t, Node node) except -1:
    """retain_grad() follows the tensor, not the node it had when it was called."""
    cdef NodeExtras extras
    if not is_node(t.autograd) or (<Node>t.autograd).extras is None:
        return 0
    extras = (<Node>t.autograd).extras
    if extras.kept_grads is not None and t.output_nr in extras.kept_grads:
        extras_of(node).kept_grads = {0: extras.kept_grads.pop(t.output_nr)}
    return 0


# ---- CopySlices --------------------------------------------------------------------------------
cdef int written_edge(Node node, fl_tensor *target, const fl_value *values, int n) noexcept:
    """Which input of a writing call's node is the tensor written to; the last of where()."""
    cdef int i, k
    if node.plan is NULL or node.plan.takes_list:
        return 0
    for i in range(node.plan.ninputs):
        k = node.plan.inputs[i]
        if k < n and values[k].tag == FL_TENSOR and values[k].t is target:
            return i
    return 0


cdef int rebase_view(Node inner, fl_tensor *v, fl_tensor *base, int own) except -1:
    """Give the base a CopySlices node around ``inner``, and the view a fresh history.

    Input ``own`` of ``inner`` is the view.
    """
    cdef int i
    cdef Node node = function_node("CopySlices", new_copy_slices(inner, v, base, own),
                                   inner.nedges)
    if requires_grad(base):
        connect(&node.edges[own], base)
        node.needs |= <uint32_t>1 << own
    for i in range(inner.nedges):
        if i != own and inner.edges[i].node is not NULL:
            node.edges[i] = inner.edges[i]
            node.edges[i].reshaped = 0
            Py_INCREF(node.edges[i].node)
            node.needs |= <uint32_t>1 << i
    node.sequence = new_sequence()
    move_kept_grad(base, node)
    attach(base, node, 0)
    return attach_as_view(v, base)


cdef object _transforms = None          # flambeau.autograd.transforms.stack


cdef object new_strided(tuple shape, tuple strides, like):
    """Memory for a gradient; inside transforms each sample has its own."""
    global _transforms
    if _transforms is None:
        from flambeau.autograd.transforms import stack
        _transforms = stack
    if _transforms.STATE.depth:
        return _transforms.empty_strided_at_levels(shape, strides, like)
    if _core.is_dispatched(like):
        return like.new_empty_strided(shape, strides)
    return ops.empty_strided(shape, strides, dtype=like.dtype, device=like.device)


@cython.final
cdef class CopySlices(NodeFunction):
    """Backward of a write to a view: runs the writing operator's rule on the written part."""

    cdef Node inner
    cdef tuple base_shape, base_strides, shape, strides
    cdef int64_t offset                 # of the view from its base, in the base's real numbers
    cdef int own                        # the input of the inner node that is the view
    cdef bint as_real, as_complex       # the view shows complex numbers as pairs, or pairs as them

    cpdef tuple run(self, Node node, tuple grads, tuple needs):
        total = new_strided(self.base_shape, self.base_strides, grads[0])
        ops.copy_(total, grads[0])
        part = self.part_of(total)
        grad = ops.clone(part)
        inner = evaluate_inner(self.inner, ops.view_as_complex(grad) if self.as_complex else grad,
                               needs)
        kept = inner[self.own]
        if needs[self.own] and kept is None:
            ops.fill_(part, 0)
        elif needs[self.own]:
            ops.copy_(part, ops.view_as_real(kept) if self.as_complex else kept)
        return (*inner[:self.own], total, *inner[self.own + 1:])

    cdef object part_of(self, total):
        """Where the view looks; under a complex view of real numbers, their pairs."""
        source = ops.view_as_real(total) if self.as_real else total
        offset = source.storage_offset() + self.offset
        if self.as_complex:
            return pairs_of(source, self.shape, self.strides, offset)
        return ops.as_strided(source, self.shape, self.strides, offset)

    cpdef release(self):
        if self.inner.flags & N_FUNCTION:
            (<NodeFunction>(<NodeExtras>self.inner.extras).function).release()
        else:
            release_saved(self.inner)


cdef object evaluate_inner(Node inner, object grad, tuple needs):
    """Gradients of the writing call's inputs."""
    if not inner.flags & N_FUNCTION:
        return evaluate_rule(inner, (grad,))
    values = (<NodeFunction>(<NodeExtras>inner.extras).function).run(inner, (grad,), needs)
    if len(values) != inner.nedges:
        raise_wrong_count(inner, len(values))
    return [fitted_value(inner, i, value) for i, value in enumerate(values)]


cdef object fitted_value(Node node, int i, object value):
    cdef PyObject *result
    if value is None or node.edges[i].node is NULL:
        return None
    Py_INCREF(<PyObject *>value)
    result = fitted(node, i, <PyObject *>value)
    if result is NULL:
        return None
    fit_to = <object>result
    Py_DECREF(result)
    return fit_to


cdef CopySlices new_copy_slices(Node inner, fl_tensor *v, fl_tensor *base, int own):
    cdef CopySlices function = CopySlices.__new__(CopySlices)
    function.inner = inner
    function.own = own
    function.base_shape = shape_of(base)
    function.base_strides = strides_of(base)
    function.shape = shape_of(v)
    function.strides = strides_of(v)
    function.as_real = is_complex(base.dtype) and not is_complex(v.dtype)
    function.as_complex = is_complex(v.dtype) and not is_complex(base.dtype)
    function.offset = (storage_offset(v) << function.as_complex) \
        - (storage_offset(base) << function.as_real)
    return function
