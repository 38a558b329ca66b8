# The end of the road: gradients arrive at leaves.

cdef int accumulate(AccumulateGrad leaf, PyObject *grad, bint shared) except -1:
    """leaf.grad += grad. The first gradient is kept as it is when nobody else sees it."""
    cdef bint recording = FL.get_mode() & FL_M_GRAD
    cdef object old
    while leaf.busy:
        wait_a_little()
    leaf.busy = True
    try:
        old = leaf.grad
        if old is None:
            if recording or shared or not may_write(grad):
                leaf.grad = clone(<object>grad)
            else:
                leaf.grad = <object>grad
        elif recording:
            leaf.grad = ops.add(old, <object>grad)
        else:
            add_into(<PyObject *>old, grad)
    finally:
        leaf.busy = False
        Py_DECREF(grad)
    return 0


# Adding releases the GIL for large tensors, so passes in several threads take turns at a leaf.
cdef void wait_a_little() noexcept:
    with nogil:
        usleep(20)
