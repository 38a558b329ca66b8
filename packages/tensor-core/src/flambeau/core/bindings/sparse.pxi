# Sparse tensors, as the core knows them: objects that say of themselves that they are no memory.

cdef object _sparse_functions = None


def make_sparse(kind not None, Tensor blank not None):
    """A tensor of a sparse class that looks like ``blank``.

    Args:
        kind: The class, derived from ``Tensor``.
        blank: Zeros of the shape, dtype and device that the tensor has to its users; a view of a
            single element, which is all the memory that whoever forgets to ask would read.
    """
    cdef Tensor t = Tensor.__new__(kind)
    reshape_sparse(t, blank)
    return t


def reshape_sparse(Tensor t not None, Tensor blank not None):
    """Let a sparse tensor look like ``blank`` from now on; counts as a write."""
    cdef uint32_t version = t._version_counter[0]
    _take_over(t, blank)
    t._flags = (t._flags | FL_READONLY | <uint32_t>FL_SPARSE_LEVEL << FL_LEVEL_SHIFT) \
        & ~<uint32_t>FL_CONTIGUOUS
    t._version_counter[0] = version + 1


def is_sparse_object(value) -> bool:
    """Whether ``value`` is a sparse tensor of any layout."""
    return isinstance(value, Tensor) \
        and (<Tensor>value)._flags >> FL_LEVEL_SHIFT == <uint32_t>FL_SPARSE_LEVEL


def set_sparse_functions(called, alias):
    """What runs calls with sparse tensors, and makes aliases of them: flambeau.sparse."""
    global _sparse_functions, fl_sparse_called, fl_sparse_alias
    _sparse_functions = (called, alias)
    fl_sparse_called = <PyObject *>called
    fl_sparse_alias = <PyObject *>alias


def take_history(Tensor t not None, Tensor other not None):
    """Let a tensor that was written to have the history of what was computed for it."""
    t._autograd = other._autograd
    t._output_nr = other._output_nr
    t._flags = (t._flags & ~<uint32_t>FL_REQUIRES_GRAD) | (other._flags & FL_REQUIRES_GRAD)
