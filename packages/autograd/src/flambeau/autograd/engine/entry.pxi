# The ways into the engine: checks of what the user passed, then run_task.

def run_backward(tensors, grads, bint keep_graph, bint create_graph, inputs=None):
    """Accumulate gradients into leaves, or only into ``inputs``."""
    cdef Task task = new_task(keep_graph, create_graph)
    roots = check_roots(tensors)
    seeds = check_seeds(roots, grads)
    if create_graph:
        warn_of_cycle()
    if inputs is not None:
        choose_inputs(task, roots, check_inputs(inputs, "backward()"), True)
    run_task(task, tuple(roots), tuple(seeds))


def run_grad(outputs, grads, inputs, bint keep_graph, bint create_graph):
    """Gradients of ``inputs`` as a list; None for those the outputs do not depend on."""
    cdef Task task = new_task(keep_graph, create_graph)
    roots = check_roots(outputs)
    seeds = check_seeds(roots, grads)
    inputs = check_inputs(inputs, "grad()")
    task.results = [None] * len(inputs)
    choose_inputs(task, roots, inputs, False)
    results = task.results
    run_task(task, tuple(roots), tuple(seeds))
    return results


def backward_one(tensor, gradient, bint keep_graph, bint create_graph):
    """Tensor.backward() of one tensor."""
    check_root(tensor, 0)
    if create_graph:
        warn_of_cycle()
    run_task(new_task(keep_graph, create_graph), (tensor,), (check_seed(tensor, gradient, 0),))


cdef bint _told_of_cycle = False


cdef int warn_of_cycle() except -1:
    """Once, or each time after set_warn_always(True): a leaf and its gradient hold each other."""
    global _told_of_cycle
    import flambeau

    if _told_of_cycle and not flambeau.is_warn_always_enabled():
        return 0
    _told_of_cycle = True
    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the "
        "parameter and its gradient which can cause a memory leak: their memory is free only when "
        "Python's garbage collector runs. We recommend using autograd.grad when creating the graph "
        "to avoid this, else reset the .grad fields of your parameters to None after use.",
        UserWarning, stacklevel=2)
    return 0


cdef list check_roots(tensors):
    roots = list(tensors)
    for index, tensor in enumerate(roots):
        check_root(tensor, index)
    return roots


cdef int check_root(object tensor, int index) except -1:
    cdef fl_tensor *t
    if not is_tensor(<PyObject *>tensor):
        require_tensor(tensor, f"element {index} of the tensors to differentiate")
    t = <fl_tensor *><PyObject *>tensor
    if not requires_grad(t):
        raise RuntimeError(
            f"element {index} of tensors does not require grad and does not have a grad_fn: it "
            f"({describe(t)}) was not computed from a tensor with requires_grad=True, or under "
            "no_grad(), or through detach(), item() or a comparison. Set requires_grad=True on "
            "the inputs or parameters before computing it")
    if is_linked_view(t):
        refresh_view(t)
    if not is_node(t.autograd):
        leaf_of(t)
    return 0


cdef list check_seeds(list roots, grads):
    grads = [None] * len(roots) if grads is None else list(grads)
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients: give one "
                           "gradient for each tensor, or None")
    return [check_seed(root, grad, i) for i, (root, grad) in enumerate(zip(roots, grads))]


cdef object check_seed(object root, object grad, int index):
    """The gradient to start with: given, or one for a scalar."""
    cdef fl_tensor *t = <fl_tensor *><PyObject *>root
    cdef fl_tensor *g
    if grad is None:
        return implicit_seed(t)
    if not is_tensor(<PyObject *>grad):
        require_tensor(grad, f"gradient {index}")
    g = <fl_tensor *><PyObject *>grad
    if not same_shape(t, g):
        error = RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {grad.shape} and "
            f"output[{index}] has a shape of {root.shape}.")
        error.add_note("The gradient of a tensor has the tensor's own shape.")
        raise error
    if g.dtype == t.dtype:
        return grad
    Py_INCREF(<PyObject *>grad)
    cdef PyObject *fitted = cast_to(<PyObject *>grad, t.dtype)
    result = <object>fitted
    Py_DECREF(fitted)
    return result


cdef object implicit_seed(fl_tensor *t):
    cdef fl_tensor *one
    if t.numel != 1:
        raise RuntimeError(
            "grad can be implicitly created only for scalar outputs, and this is "
            f"{describe(t)}: reduce it first, y.sum().backward() or y.mean().backward(), or say "
            "what its gradient is, y.backward(flambeau.ones_like(y))")
    if is_complex(t.dtype):
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs but got "
            f"{describe(t)}: take y.real or y.abs(), or pass a gradient")
    if t.device_type != FL_CPU or t.dtype not in (FL_F32, FL_F64) or t.flags >> FL_LEVEL_SHIFT:
        tensor = <object><PyObject *>t
        if _core.is_dispatched(tensor):
            return ops.ones_like(tensor)
        return ops.full_of(shape_of(t), 1.0, dtype=tensor.dtype, device=tensor.device)
    one = FL.empty(t.dtype, FL_CPU << 8, t.ndim, t.shape)
    if t.dtype == FL_F32:
        (<float *>one.data)[0] = 1.0
    else:
        (<double *>one.data)[0] = 1.0
    result = <object><PyObject *>one
    Py_DECREF(<PyObject *>one)
    return result


cdef list check_inputs(inputs, str function):
    single = is_tensor(<PyObject *>inputs) or type(inputs) is GradientEdge
    checked = [inputs] if single else list(inputs)
    if not checked:
        raise RuntimeError(f"{function}: inputs is empty; leave it out, or name tensors")
    for index, tensor in enumerate(checked):
        if type(tensor) is GradientEdge:
            tensor = checked[index] = tensor_at(tensor, _anything)
        require_tensor(tensor, f"{function}: element {index} of inputs")
        check_input(tensor, index, function)
    return checked


#: Stands for a tensor of which only the position in the graph counts.
_anything = ops.empty(())


def tensor_at(edge, like):
    """A tensor in the memory of ``like`` with the history that an edge of the graph leads to."""
    node, output_nr = edge[0], edge[1]
    if not isinstance(node, (Node, AccumulateGrad)):
        raise TypeError("a GradientEdge starts with a node such as y.grad_fn, not "
                        f"{type(node).__name__}")
    again = alias_of(like)
    attach_record(<fl_tensor *><PyObject *>again, <PyObject *>node, output_nr)
    return again


cdef int check_input(object tensor, int index, str function) except -1:
    cdef fl_tensor *t = <fl_tensor *><PyObject *>tensor
    if not requires_grad(t):
        raise RuntimeError(
            f"One of the differentiated Tensors does not require grad: {function} was asked for "
            f"the gradient of element {index} of inputs, {describe(t)}; call requires_grad_() on "
            "it before computing the outputs")
    if is_linked_view(t):
        refresh_view(t)
    if not is_node(t.autograd):
        leaf_of(t)
    return 0


# ---- custom functions --------------------------------------------------------------------------
def attach_function(str name, NodeFunction function, context, list inputs, list outputs,
                    list facts=None):
    """Make a node that calls ``function`` and hang it on the outputs.

    ``outputs`` holds, for each output, a tensor, or None where no gradient is wanted or the
    caller ties it himself; ``facts`` its shape, dtype and device, taken from outputs if not given.
    """
    cdef Node node = function_node(name, function, len(inputs))
    cdef NodeExtras extras = node.extras
    cdef fl_tensor *t
    extras.context = context
    extras.output_shapes = [None] * len(outputs)
    for i, value in enumerate(inputs):
        if is_tensor(<PyObject *>value):
            t = <fl_tensor *><PyObject *>value
            if requires_grad(t) and is_differentiable(t.dtype):
                connect(&node.edges[<int>i], t)
                note_shape(node, <int>i, t)
                node.edges[<int>i].reshaped = SHAPE_OF_CUSTOM
                node.needs = 1
    stay_youngest(node)
    for i, value in enumerate(outputs):
        if value is not None:
            t = <fl_tensor *><PyObject *>value
            extras.output_shapes[i] = (shape_of(t), value.dtype, value.device)
            attach(t, node, i)
    if facts is not None:
        extras.output_shapes = facts
    if _noting:
        note_call_site(node)
    return shown(<PyObject *>node)


def needs_grad(value):
    """Whether a value is a tensor that requires grad."""
    return is_tensor(<PyObject *>value) and requires_grad(<fl_tensor *><PyObject *>value)


def alias_of(value):
    """The same memory as a new tensor without history."""
    require_tensor(value, "alias_of(): value")
    cdef fl_tensor *t = FL.alias(<fl_tensor *><PyObject *>value)
    result = <object><PyObject *>t
    Py_DECREF(<PyObject *>t)
    return result


@cython.final
cdef class KeptTensor(SavedTensor):
    """A tensor kept by a custom function, with the version it had."""

    cdef object tensor
    cdef Packed packed                  # instead of the tensor, where a pack hook took it
    cdef uint32_t version
    cdef int output_nr                  # of an output of the function, else -1
    cdef str refusal                    # of a hidden intermediate: the error of differentiating it

    def __init__(self, tensor, int output_nr=-1, str refusal=None, bint once=False):
        require_tensor(tensor, "save_for_backward(): what is saved")
        if (<fl_tensor *><PyObject *>tensor).flags & FL_INFERENCE:
            refuse_inference_tensor()
        self.output_nr = output_nr
        self.refusal = refusal
        if _packing and refusal is None:
            self.packed = packed_by_hook(<fl_tensor *><PyObject *>tensor, output_nr)
            if self.packed is not None:
                if once and hasattr(self.packed.value, "once"):
                    self.packed.value.once = True
                return
        self.tensor = tensor if output_nr < 0 else alias_of(tensor)
        self.version = version_at_saving(<fl_tensor *><PyObject *>tensor)

    cdef int pack(self, tuple hooks) except -1:
        if self.packed is not None:
            raise_has_hooks()
        self.check(None)
        self.packed = packed_with(hooks, <fl_tensor *><PyObject *>self.tensor, self.output_nr)
        self.tensor = None
        return 0

    cdef int check(self, Node node) except -1:
        """Refuse a tensor that was written to since."""
        cdef fl_tensor *t = <fl_tensor *><PyObject *>self.tensor
        if t.version[0] != self.version:
            raise_modified(node, t, self.version, self.output_nr >= 0)
        return 0

    def unpack(self, Node node):
        """The tensor, after the version check; an output gets its history back."""
        cdef PyObject *result
        if self.packed is not None:
            result = self.packed.unpack(node)
            again = <object>result
            Py_DECREF(result)
        else:
            self.check(node)
            again = self.tensor
        if self.refusal is not None and FL.get_mode() & FL_M_GRAD:
            return refusing(again, self.refusal, node)
        if self.packed is not None:
            return again
        if self.output_nr < 0 or node is None:
            return self.tensor
        again = alias_of(self.tensor)
        attach(<fl_tensor *><PyObject *>again, node, self.output_nr)
        return again


def refusing(tensor, str message, Node function):
    """The tensor, with a history that raises when a gradient comes to it.

    Its edges are those of the function, so that passes with named inputs come by, too.
    """
    cdef Node node
    cdef int i
    if function is None:
        return tensor
    again = alias_of(tensor)
    node = function_node("HiddenIntermediate", Refusal(message), function.nedges)
    for i in range(function.nedges):
        node.edges[i] = function.edges[i]
        Py_XINCREF(node.edges[i].node)
    node.needs = function.needs
    attach(<fl_tensor *><PyObject *>again, node, 0)
    return again


def missing_derivative(str name, argument=None):
    """What is raised where nobody has written the derivative of an operator, by one argument."""
    by = f" by its argument '{argument}'" if argument else ""
    return (f"the derivative for '{name}'{by} is not implemented: if its result is to count as a "
            "constant, give it x.detach()")


def refuse_derivative(tensor, result, str name, list inputs, str message=None):
    """A function's result with a history that refuses to be differentiated."""
    cdef Node node
    cdef int i
    if not FL.get_mode() & FL_M_GRAD or not is_differentiable(pointer(result).dtype):
        return result
    node = function_node(backward_name(name)[0], Refusal(
        message or missing_derivative(name)), len(inputs))
    for i, value in enumerate(inputs):
        connect(&node.edges[i], pointer(value))
    node.needs = 1
    attach(pointer(result), node, 0)
    return result


@cython.final
cdef class Refusal(NodeFunction):
    """Stands where a history ought to be that nobody recorded."""

    cdef str message

    def __init__(self, str message):
        self.message = message

    cpdef tuple run(self, Node node, tuple grads, tuple needs):
        raise RuntimeError(self.message)


def holders_of(value):
    """How many references a value has besides the caller's."""
    return Py_REFCNT(<PyObject *>value)


def tie_written(tensor, grad_fn, int output_nr, int count, int position, str name):
    """Give an input that a custom function wrote to its new history; a view's base hears of it."""
    cdef fl_tensor *t = <fl_tensor *><PyObject *>tensor
    cdef fl_tensor *base
    cdef Node node = grad_fn
    if not t.flags & FL_VIEW or FL.base(t) is NULL:
        move_kept_grad(t, node)
        return attach(t, node, output_nr)
    if t.flags & FL_CONSTANT_VIEW:
        return attach(t, node, output_nr)
    base = <fl_tensor *>FL.base(t)
    if base.flags & FL_REQUIRES_GRAD and not is_node(base.autograd):
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation: "
            f"{name}.forward() wrote to it and marked it dirty: pass a clone()")
    if count > 1 or position != 0:
        raise RuntimeError(
            f"{name}.forward() wrote to a view and marked it dirty. For the view's base to get the "
            "right gradient the view must be the first argument and the only output: return one "
            "tensor, or pass a clone()")
    return rebase_view(node, t, base, 0)


def raise_second_time(Node node):
    """Saved tensors were asked for after they had been given up."""
    raise_freed(node)


cdef int raise_wrong_count(Node node, int count) except -1:
    raise RuntimeError(
        f"function {node_name(node)} returned an incorrect number of gradients (expected "
        f"{node.nedges}, got {count}): backward() returns one value per argument of forward(), "
        "None for those without a gradient")
