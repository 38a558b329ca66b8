# Memory that moves, with every tensor over it, to where other processes find it.
from libc.string cimport memcpy
from libc.stddef cimport ptrdiff_t


def move_memory(Tensor t not None, list objects not None, buffer not None) -> bool:
    """Move the memory of a CPU tensor to a buffer, if all that looks at it can go along.

    Args:
        t: The tensor.
        objects: Among them the tensors over the memory; what holds it beside these stays, and
            then nothing is moved.
        buffer: Where to, of as many bytes; the memory keeps it alive.

    Returns:
        Whether the memory was moved.
    """
    cdef fl_storage *root = fl_root_storage(t._storage)
    tell_of_sharing(t)
    cdef list tensors = _tensors_over(root, objects)
    cdef dict held = _holders(root, tensors)
    view = memoryview(buffer).cast("B")
    cdef char *target = <char *>PyMemoryView_GET_BUFFER(view).buf
    if not _goes_along(root, held) or PyMemoryView_GET_BUFFER(view).len < <Py_ssize_t>root.nbytes:
        return False
    for u in tensors:
        about_to_change(u, "data", u)
    fl_settle_storage("share_memory_()", root, False)
    memcpy(target, root.ptr, root.nbytes)
    _set_address(root, tensors, held, target, view)
    return True


def is_fixed(Tensor t not None) -> bool:
    """Whether an array shows the memory or owns it, so that the tensor must not leave it."""
    return (fl_root_storage(t._storage).is_shared & FL_S_FIXED) != 0


cdef list _tensors_over(fl_storage *root, list objects):
    cdef list found = []
    for o in objects:
        if isinstance(o, Tensor) and (<Tensor>o)._storage != NULL \
                and fl_root_storage((<Tensor>o)._storage) == root:
            found.append(o)
    return found


cdef dict _holders(fl_storage *root, list tensors):
    """How often tensors hold each storage over the memory, and storages the one below."""
    cdef dict held = {<uintptr_t>root: 0}
    for u in tensors:
        _hold(held, (<Tensor>u)._storage)
    return held


cdef int _hold(dict held, PyObject *storage) except -1:
    key = <uintptr_t>storage
    if key not in held:
        held[key] = 0
        _hold(held, (<fl_storage *>storage).owner)
    held[key] += 1
    return 0


cdef bint _goes_along(fl_storage *root, dict held):
    """Whether tensors alone hold the memory, and nobody outside has an address of it."""
    if root.device_type != FL_CPU or root.kind == FL_S_FOREIGN or root.is_shared & FL_S_EXPORTED:
        return False
    for address, count in held.items():
        if _Py_REFCNT(<PyObject *><uintptr_t>address) != count:
            return False
    return True


cdef int _set_address(fl_storage *root, list tensors, dict held, char *target,
                      object owner) except -1:
    cdef char *old = root.ptr
    cdef ptrdiff_t step = target - old
    for u in tensors:
        (<Tensor>u)._data += step
    for address in held:
        (<fl_storage *><uintptr_t>address).ptr += step
    if root.kind == FL_S_HEAP:
        fl_free(old, root.nbytes)
    root.kind = FL_S_FOREIGN
    root.is_shared |= FL_S_FIXED
    Py_INCREF(owner)
    root.owner = <PyObject *>owner
    return 0
