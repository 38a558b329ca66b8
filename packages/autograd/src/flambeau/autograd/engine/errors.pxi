# Texts of the tape's errors: what was written, why it fails, what to write instead.

cdef str describe(fl_tensor *t):
    tensor = <object><PyObject *>t
    return f"a {tensor.dtype} tensor of shape {list(shape_of(t))}"


cdef int raise_modified(Node node, fl_tensor *t, uint32_t saved, bint is_output) except -1:
    what = "its own result" if is_output else "one of its inputs"
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: {called_name(node)} saved {what}, {describe(t)}, at version "
        f"{saved & ~FL_VERSION_SAVED}, and it is at version {version_of(t)} now. "
        f"{told_writer(t, saved)}{told_call_site(node)} Write "
        "y = y + 1 instead of y += 1, write to a clone(), or call backward() before the write")


cdef int raise_freed(Node node) except -1:
    raise RuntimeError(
        "Trying to backward through the graph a second time (or directly access saved tensors "
        f"after they have already been freed): {called_name(node)} gave up what it had saved when "
        "backward() or autograd.grad() ran the first time. Specify retain_graph=True the first "
        "time to go through the graph again, loss.backward(retain_graph=True), or compute the loss "
        "anew")


cdef int refuse_inference_tensor() except -1:
    raise RuntimeError(
        "Inference tensors cannot be saved for backward. To work around you can make a clone to "
        "get a normal tensor and use it in autograd: x = x.clone() outside inference_mode()")


cdef int refuse_leaf(const fl_op *op, fl_tensor *t) except -1:
    raise RuntimeError(
        "a leaf Variable that requires grad is being used in an in-place operation. "
        f"{op.name.decode()}_() would overwrite {describe(t)} whose gradient is to be taken: "
        "update parameters under no_grad() (with flambeau.no_grad(): w -= lr * w.grad), "
        "or write to a clone()")


cdef int refuse_view_of_leaf(const fl_op *op, fl_tensor *t) except -1:
    raise RuntimeError(
        "a view of a leaf Variable that requires grad is being used in an in-place operation. "
        f"{op.name.decode()}_() would overwrite a part of {describe(t)} whose gradient is to be "
        "taken: write to a clone() of the leaf, or write under no_grad()")


cdef int refuse_constant_view(const fl_op *op, fl_tensor *t) except -1:
    mode, call = "no_grad mode", "no_grad()"
    if is_node(t.autograd):
        refuse_view_of_custom(op, t)
    if t.flags & FL_REQUIRES_GRAD:          # only that mode lets views have it
        mode, call = "inference mode", "inference_mode()"
    raise RuntimeError(
        f"A view was created in {mode} and is being modified inplace with grad mode enabled: "
        f"{op.name.decode()}_() would write to {describe(t)}, and whether its base is to know is "
        f"not clear. Take the view outside {call} if the write is to be recorded, or move the "
        f"write into {call} too")


cdef int refuse_view_of_custom(const fl_op *op, fl_tensor *t) except -1:
    raise RuntimeError(
        "This view was created inside a custom Function (or because an input was returned as-is), "
        "or is a view of one that was created in inference mode, and is being modified inplace: "
        f"{op.name.decode()}_() would write to {describe(t)}, and to what it is a view of without "
        "the function's own gradient. Write to a clone() of it, or return one from forward()")


cdef int refuse_multi_view(const fl_op *op, fl_tensor *t) except -1:
    raise RuntimeError(
        "A view is being modified inplace. This view is the output of a function that returns "
        "multiple views. Such functions do not allow the output views to be modified inplace. "
        f"{op.name.decode()}_() would write to {describe(t)} that unbind(), split(), chunk() or "
        "iteration gave: index instead (x[0].mul_(2), x[:, :2].mul_(2)), or write to a clone()")


cdef int refuse_out(const fl_op *op) except -1:
    name = op.name.decode()
    raise RuntimeError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, "
        f"but one of the arguments requires grad. Write y = {name}(...) instead, or call it "
        "under no_grad()")


cdef int raise_wrong_shape(Node node, int i, PyObject *grad) except -1:
    cdef int64_t *row
    cdef int d
    expected = f"{node.edges[i].numel} elements"
    if node.edges[i].reshaped:
        row = node.shapes + i * (FL_MAX_DIMS + 1)
        expected = f"{node.edges[i].numel} elements in shape {[row[1 + d] for d in range(row[0])]}"
    shape = list(shape_of(<fl_tensor *>grad))
    Py_DECREF(grad)
    raise RuntimeError(
        f"{node_name(node)} returned an invalid gradient at index {i}: got shape {shape}, but the "
        f"input has {expected}; a gradient has the shape of its input, or is broadcast from it")


cdef int require_tensor(object o, str what) except -1:
    if not is_tensor(<PyObject *>o):
        raise TypeError(f"{what} must be a Tensor, not {type(o).__name__}")
    return 0
