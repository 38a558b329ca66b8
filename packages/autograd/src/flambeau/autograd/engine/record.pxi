# record: after a call, make the node and hang it on the outputs.

cdef inline int attach(fl_tensor *t, Node node, int output_nr) except -1:
    """Give a tensor a history."""
    cdef PyObject *old = t.autograd
    Py_INCREF(<PyObject *>node)
    t.autograd = <PyObject *>node
    t.output_nr = output_nr
    t.flags |= FL_REQUIRES_GRAD
    Py_XDECREF(old)
    return 0


cdef inline bint is_node(PyObject *o) noexcept:
    """Whether a tensor's record is a Node, be it of a subclass of shown.pxi; the others are none
    (NULL or None) and AccumulateGrad."""
    return o is not NULL and o != Py_None and Py_TYPE(o) != <PyTypeObject *>AccumulateGrad


cdef inline uint32_t version_of(fl_tensor *t) noexcept:
    """How often this memory was written to."""
    return t.version[0] & ~FL_VERSION_SAVED


cdef inline bint is_leaf_record(PyObject *o) noexcept:
    return o is not NULL and Py_TYPE(o) == <PyTypeObject *>AccumulateGrad


cdef inline bint is_linked_view(fl_tensor *t) noexcept:
    """A view that shares its base's history: taken in grad mode."""
    return t.flags & (FL_VIEW | FL_CONSTANT_VIEW) == FL_VIEW


cdef inline bint requires_grad(fl_tensor *t) noexcept:
    """Also true of a view whose base got a history after the view was taken."""
    cdef PyObject *base
    if t.flags & FL_REQUIRES_GRAD:
        return True
    if is_linked_view(t):
        base = FL.base(t)
        return base is not NULL and (<fl_tensor *>base).flags & FL_REQUIRES_GRAD != 0
    return False


cdef inline int connect(edge_t *edge, fl_tensor *t) except -1:
    """Lead an edge to where a tensor came from."""
    if is_linked_view(t):
        refresh_view(t)
    if not is_node(t.autograd):
        leaf_of(t)
    Py_INCREF(t.autograd)
    edge.node = t.autograd
    edge.output_nr = t.output_nr
    edge.numel = t.numel
    edge.dtype = t.dtype
    edge.device_type = t.device_type
    edge.device_index = t.device_index
    return 0


cdef AccumulateGrad leaf_of(fl_tensor *t):
    """The record of a tensor without history; made on first use."""
    cdef AccumulateGrad leaf
    if is_leaf_record(t.autograd):
        return <AccumulateGrad>t.autograd
    leaf = AccumulateGrad.__new__(AccumulateGrad)
    leaf.sequence = new_sequence()
    leaf.owner = PyWeakref_NewRef(<object><PyObject *>t, None)
    Py_INCREF(<PyObject *>leaf)
    Py_XDECREF(t.autograd)
    t.autograd = <PyObject *>leaf
    return leaf


cdef inline const fl_value *argument(const fl_op *op, const fl_value *values, int n,
                                     int k) noexcept:
    return &values[k] if k < n else &op.params[k].fallback


cdef Node start_node(const fl_op *op, rule_plan *plan, const fl_value *values, int n):
    """A node with its edges, or None when no input of the rule requires grad."""
    cdef Node node
    cdef const fl_value *v
    cdef int i
    cdef int nedges = plan.ninputs
    if plan.takes_list:
        return start_list_node(op, plan, argument(op, values, n, plan.inputs[0]))
    node = new_node(nedges, plan.nslots)
    node.op = op
    node.plan = plan
    for i in range(nedges):
        v = argument(op, values, n, plan.inputs[i])
        if v.tag == FL_TENSOR and requires_grad(v.t) and is_differentiable(v.t.dtype):
            if v.t.flags & FL_INFERENCE and all_inference(op, values, n):
                return None
            connect(&node.edges[i], v.t)
            node.needs |= <uint32_t>1 << i
        elif v.tag in (FL_INT, FL_FLOAT, FL_COMPLEX):
            node.edges[i].reshaped = OF_NUMBER
    if plan.named_by_ranks:
        note_ranks(node, op, values, n)
    stay_youngest(node)
    return node if node.needs else None


cdef bint all_inference(const fl_op *op, const fl_value *values, int n) noexcept:
    """Whether a call has inference tensors only: such calls are not recorded in any mode. A
    number instead of a tensor stands for a normal one."""
    cdef int k
    for k in range(n):
        if op.params[k].role == FL_R_OPERAND and values[k].tag in (FL_INT, FL_FLOAT, FL_COMPLEX):
            return False
        if values[k].tag == FL_TENSOR and not values[k].t.flags & FL_INFERENCE:
            return False
        if values[k].tag == FL_TENSORS and not list_is_inference(&values[k]):
            return False
    return True


cdef bint list_is_inference(const fl_value *v) noexcept:
    cdef uint32_t i
    for i in range(v.len):
        if v.ts[i] is not NULL and not v.ts[i].flags & FL_INFERENCE:
            return False
    return True


cdef int note_ranks(Node node, const fl_op *op, const fl_value *values, int n) except -1:
    """Keep how many dimensions the inputs have: slots, which are given up, cannot tell later."""
    cdef const fl_value *v
    cdef int i
    for i in range(<int>node.nedges):
        v = argument(op, values, n, node.plan.inputs[i])
        node.ranks |= <uint16_t>(min(v.t.ndim, NO_RANK) if v.tag == FL_TENSOR else NO_RANK) << 4 * i
    return 0


cdef Node start_list_node(const fl_op *op, rule_plan *plan, const fl_value *v):
    cdef int i
    cdef Node node = new_node(v.len, plan.nslots)
    node.op = op
    node.plan = plan
    for i in range(<int>v.len):
        if v.ts[i] is not NULL and requires_grad(v.ts[i]) and is_differentiable(v.ts[i].dtype):
            if v.ts[i].flags & FL_INFERENCE and list_is_inference(v):
                return None
            connect(&node.edges[i], v.ts[i])
            node.needs = 1
    stay_youngest(node)
    return node if node.needs else None


cdef inline int stay_youngest(Node node) noexcept:
    """Connecting may have made nodes, for views whose base was written to: be younger again."""
    if node.sequence != _next_sequence:
        node.sequence = new_sequence()
    return 0


cdef int save_arguments(Node node, const fl_op *op, const fl_value *values, int n) except -1:
    """Fill the slots that the wanted gradients read, except those of outputs."""
    cdef rule_plan *plan = node.plan
    cdef const fl_value *v
    cdef int s
    for s in range(plan.nslots):
        node.slots[s].kind = S_EMPTY
        if not plan.slots[s].users & node.needs or plan.slots[s].kind == SAVE_RESULT:
            continue
        v = argument(op, values, n, plan.slots[s].index)
        if plan.slots[s].kind == SAVE_VALUE:
            save_input(&node.slots[s], v)
        elif plan.slots[s].kind == SAVE_SHAPE:
            save_shape(&node.slots[s], v)
        elif plan.slots[s].kind == SAVE_GEOMETRY:
            save_geometry(&node.slots[s], v)
        else:
            save_dtype(&node.slots[s], v)
    return 0


cdef int save_results(Node node, fl_value *out, int nout) except -1:
    cdef rule_plan *plan = node.plan
    cdef int s, k
    for s in range(plan.nslots):
        if plan.slots[s].kind == SAVE_RESULT and plan.slots[s].users & node.needs:
            k = plan.slots[s].index
            if k == 0 and node.recipe is not NULL and pack_result(&node.slots[s], node, out[0].t):
                continue
            if k < nout and out[k].tag == FL_TENSOR:
                save_output(&node.slots[s], out[k].t, k)
    return 0


cdef inline bint same_shape(fl_tensor *a, fl_tensor *b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.shape[i] != b.shape[i]:
            return False
    return True


cdef inline int note_shapes(Node node, const fl_op *op, const fl_value *values, int n,
                            fl_tensor *result) except -1:
    """Keep the shapes of broadcast inputs of pointwise operators: their gradients are summed."""
    cdef int i
    cdef fl_tensor *t
    for i in range(node.nedges):
        if node.edges[i].node is NULL:
            continue
        t = argument(op, values, n, node.plan.inputs[i]).t
        if not same_shape(t, result):
            note_shape(node, i, t)
    return 0


cdef int note_shape(Node node, int i, fl_tensor *t) except -1:
    cdef int d
    cdef int64_t *row
    if node.shapes is NULL:
        node.shapes = <int64_t *>calloc(node.nedges * (FL_MAX_DIMS + 1), sizeof(int64_t))
        if node.shapes is NULL:
            raise MemoryError
    node.edges[i].reshaped = 1
    row = node.shapes + i * (FL_MAX_DIMS + 1)
    row[0] = t.ndim
    for d in range(t.ndim):
        row[1 + d] = t.shape[d]
    return 0


cdef int attach_results(Node node, fl_value *out, int nout) except -1:
    cdef int k
    if node.plan.outputs == OUTPUTS_IN_LIST:
        node.noutputs = nout
    else:
        nout = min(nout, <int>node.plan.outputs)
    for k in range(nout):
        if out[k].tag == FL_TENSOR and is_differentiable(out[k].t.dtype):
            attach(out[k].t, node, k)
            if is_linked_view(out[k].t):
                node.flags |= N_VIEW
                node.version = version_of(out[k].t)
    return 0


cdef int record(const fl_op *op, const fl_value *values, int n, fl_value *out,
                int nout) except -1:
    """What the core calls after a functional call with an input that requires grad."""
    cdef rule_plan *plan = plan_of(op)
    cdef Node node
    if plan is &NO_RULE:
        return 0
    node = start_node(op, plan, values, n)
    if node is None:
        return 0
    save_arguments(node, op, values, n)
    if _packing and nout > 0 and out[0].tag == FL_TENSOR:
        note_recipe(node, op, values, n, out[0].t)
    save_results(node, out, nout)
    if plan.broadcasts:
        note_shapes(node, op, values, n, out[0].t)
    if _noting:
        note_call_site(node)
    return attach_results(node, out, nout)
