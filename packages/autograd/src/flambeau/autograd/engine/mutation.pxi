# Who is about to write to memory: for graph.allow_mutation_on_saved_tensors.

@cython.final
cdef class WriteWatch:
    """While it is entered, tells of each write of this thread before it happens."""

    cdef fl_interposer entry
    cdef object before                  # called with what storage_key() gives

    def __cinit__(self, before):
        self.before = before
        self.entry.kind = FL_I_TRACE
        self.entry.ctx = <void *>self
        self.entry.call = tell_before_write

    def __enter__(self):
        FL.push_interposer(&self.entry)
        return self

    def __exit__(self, *exception):
        FL.pop_interposer(&self.entry)


cdef int tell_before_write(void *ctx, const fl_op *op, const fl_value *values, int n,
                           fl_value *out) except -1:
    cdef int i
    for i in range(op.nouts):
        if out[i].tag == FL_TENSOR and out[i].t is not NULL:
            (<WriteWatch>ctx).before(<size_t>out[i].t.storage)
    return FL.dispatch(op, values, n, out)


def storage_key(tensor):
    """A number that tensors in the same memory share."""
    return <size_t>pointer(tensor).storage
