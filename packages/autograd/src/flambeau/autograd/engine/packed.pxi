# Saved-tensor hooks: autograd.graph.saved_tensors_hooks, checkpoint, offload.
#
# Blocks are kept per thread; one counter for all threads keeps the look-up away from those who
# use no hooks.

cdef int _packing = 0                   # blocks open, in all threads
cdef int _budgets = 0                   # of these recompute_within()
cdef dict _pack_blocks = {}             # thread -> list of (pack, unpack), Budget, None
cdef dict _pack_refusals = {}           # thread -> list of messages


@cython.final
cdef class Packed:
    """What a pack hook made of a saved tensor, and the history to give back to it."""

    cdef object value, unpack_hook
    cdef Again again                    # instead of a hook: see recompute.pxi
    cdef object record                  # the input's node or leaf record, or None
    cdef uint32_t record_output
    cdef int output_nr                  # of an output of the node itself, else -1
    cdef tuple items                    # of a list of tensors: a KeptTensor or None for each

    cdef PyObject *unpack(self, Node node) except NULL:
        """The tensor again (a new reference), or the tuple of tensors."""
        cdef fl_tensor *t
        if self.items is not None:
            result = tuple([None if kept is None else kept.unpack(node) for kept in self.items])
            Py_INCREF(<PyObject *>result)
            return <PyObject *>result
        result = self.unpack_hook(self.value) if self.again is None else self.again.compute(node)
        if not is_tensor(<PyObject *>result):
            raise TypeError("saved_tensors_hooks(): the unpack hook must return a Tensor, not "
                            f"{type(result).__name__}")
        if not FL.get_mode() & FL_M_GRAD or (self.output_nr < 0 and self.record is None):
            Py_INCREF(<PyObject *>result)
            return <PyObject *>result
        t = FL.alias(<fl_tensor *><PyObject *>result)
        if self.output_nr < 0:
            attach_record(t, <PyObject *>self.record, self.record_output)
        elif node is not None and is_differentiable(t.dtype) \
                and (node.plan is NULL or self.output_nr < node.plan.outputs):
            attach(t, node, self.output_nr)
        return <PyObject *>t


cdef int attach_record(fl_tensor *t, PyObject *record, uint32_t output_nr) except -1:
    """Give a tensor the history of another: its node, or its leaf record."""
    cdef PyObject *old = t.autograd
    Py_INCREF(record)
    t.autograd = record
    t.output_nr = output_nr
    t.flags |= FL_REQUIRES_GRAD
    Py_XDECREF(old)
    return 0


cdef bint pack(slot_t *slot, fl_tensor *t, int output_nr) except -1:
    """Hand a tensor to this thread's pack hook; false when it has none."""
    budget = open_budget()
    if budget is not None:
        return output_nr < 0 and pack_input(budget, slot, t)
    packed = packed_by_hook(t, output_nr)
    if packed is None:
        return False
    Py_INCREF(<PyObject *>packed)
    hold(slot, S_PACKED, <PyObject *>packed)
    slot.output_nr = 0 if output_nr < 0 else output_nr
    return True


cdef Packed packed_by_hook(fl_tensor *t, int output_nr):
    """What this thread's hooks make of a tensor; None when it has none."""
    blocks = _pack_blocks.get(PyThread_get_thread_ident())
    if not blocks:
        return None
    hooks = blocks[len(blocks) - 1]
    return None if hooks is None or type(hooks) is Budget else packed_with(hooks, t, output_nr)


cdef Packed new_packed(fl_tensor *t, int output_nr):
    """One that knows the history to give back."""
    cdef Packed packed = Packed.__new__(Packed)
    packed.output_nr = output_nr
    if output_nr < 0 and requires_grad(t):
        if is_linked_view(t):
            refresh_view(t)
        if not is_node(t.autograd):
            leaf_of(t)
        packed.record = <object>t.autograd
        packed.record_output = t.output_nr
    return packed


cdef Packed packed_with(tuple hooks, fl_tensor *t, int output_nr):
    """What a pair of hooks makes of a tensor: of an input itself, so that they know a parameter;
    of an output without its history, which would hold the node that holds it."""
    cdef Packed packed = new_packed(t, output_nr)
    cdef uint32_t mode
    tensor = <object><PyObject *>t
    if output_nr >= 0:
        tensor = alias_of(tensor)
    packed.unpack_hook = hooks[1]
    mode = FL.get_mode()
    FL.set_mode(mode & ~<uint32_t>FL_M_GRAD)
    before = tensor._version
    try:
        packed.value = hooks[0](tensor)
    finally:
        FL.set_mode(mode)
    if tensor._version != before:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input "
            "to pack hook can not be modified by in-place operations as this can lead to "
            "unexpected side-effects: work on a clone()")
    return packed


def push_saved_hooks(pack_hook, unpack_hook, bint ours=False):
    """Open a block of hooks on this thread; None and None: what is saved is kept as it is.

    Transforms refuse hooks, except ``ours``: those keep tensors of all levels as they are.
    """
    global _packing
    thread = PyThread_get_thread_ident()
    refusals = _pack_refusals.get(thread)
    if refusals and pack_hook is not None:
        message, refuses_ours = refusals[len(refusals) - 1]
        if refuses_ours or not ours:
            raise RuntimeError(message)
    _pack_blocks.setdefault(thread, []).append(
        None if pack_hook is None else (pack_hook, unpack_hook, ours))
    _packing += 1


def pop_saved_hooks():
    """Close the innermost block of this thread."""
    close_block()


cdef int close_block() except -1:
    global _packing
    thread = PyThread_get_thread_ident()
    blocks = _pack_blocks[thread]
    blocks.pop()
    _packing -= 1
    if not blocks:
        del _pack_blocks[thread]
    return 0


def has_saved_hooks():
    """Whether a block of hooks is open on this thread."""
    blocks = _pack_blocks.get(PyThread_get_thread_ident(), ())
    return any([type(hooks) is not Budget for hooks in blocks])


def refuse_saved_hooks(message, bint ours=True):
    """From now on hooks are refused on this thread, Flambeau's own too unless ``ours`` is False;
    None takes the last refusal back."""
    thread = PyThread_get_thread_ident()
    if message is None:
        _pack_refusals[thread].pop()
        if not _pack_refusals[thread]:
            del _pack_refusals[thread]
        return
    for hooks in _pack_blocks.get(thread, ()):
        if type(hooks) is not Budget and (ours or hooks is not None and not hooks[2]):
            raise RuntimeError(message)
    _pack_refusals.setdefault(thread, []).append((message, ours))


def pass_number():
    """The number of this thread's backward pass; 0 outside of one."""
    return (<Task>fl_task_in_hand).number if fl_task_in_hand is not NULL else 0
