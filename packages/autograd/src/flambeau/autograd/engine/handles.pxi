# SavedTensor: what a program gets hold of when it asks a node for what it keeps.

cdef class SavedTensor:
    """A tensor that a node keeps for backward; ``y.grad_fn._raw_saved_self`` is one."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            "Trying to create a SavedTensor object from Python is forbidden: nodes have them, as "
            "y.grad_fn._raw_saved_self; to keep a tensor in a custom function use "
            "ctx.save_for_backward()")

    def register_hooks(self, pack_hook, unpack_hook):
        """Hand the tensor to ``pack_hook`` now; ``unpack_hook`` gives it back to the backward pass.

        Args:
            pack_hook: from the tensor to anything.
            unpack_hook: from what ``pack_hook`` gave to a tensor.

        Raises:
            RuntimeError: it has hooks already, holds None, or was given up.
            TypeError: one of the two cannot be called.
        """
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError("register_hooks(): incompatible function arguments: it takes two "
                                f"functions, pack_hook and unpack_hook, not {hook!r}")
        self.pack((pack_hook, unpack_hook))

    cdef int pack(self, tuple hooks) except -1:
        raise_none_is_forbidden()


@cython.final
cdef class SlotTensor(SavedTensor):
    """The tensor in a slot of a node, or one of the list in it."""

    cdef Node node
    cdef int slot, item                 # item: index in the list, or -1

    cdef int pack(self, tuple hooks) except -1:
        cdef slot_t *slot = &self.node.slots[self.slot]
        cdef fl_tensor *t
        if slot.kind == S_EMPTY and self.node.flags & N_FREED:
            raise RuntimeError("Calling register_hooks on a saved tensor after it has been freed: "
                               "a backward pass gave it up; register hooks before")
        if self.item >= 0:
            return self.pack_item(slot, hooks)
        if slot.kind == S_PACKED:
            return pack_recomputed(self.node, slot, hooks)
        if slot.kind != S_INPUT and slot.kind != S_OUTPUT:
            raise_none_is_forbidden()
        check_version(self.node, slot)
        t = <fl_tensor *>slot.value.o
        return put_packed(slot, packed_with(hooks, t, -1 if slot.kind == S_INPUT
                                            else slot.output_nr))

    cdef int pack_item(self, slot_t *slot, tuple hooks) except -1:
        """Of a list: from now on each of its tensors is kept on its own."""
        cdef Packed packed
        if slot.kind == S_TENSORS:
            check_versions(self.node, slot)
            packed = Packed.__new__(Packed)
            packed.items = tuple([None if t is None else KeptTensor(t)
                                  for t in <tuple>slot.value.o])
            put_packed(slot, packed)
        item = (<Packed>slot.value.o).items[self.item]
        if item is None:
            raise_none_is_forbidden()
        (<SavedTensor>item).pack(hooks)
        return 0


cdef int pack_recomputed(Node node, slot_t *slot, tuple hooks) except -1:
    """Hand what is computed again (recompute.pxi) to hooks."""
    cdef Packed packed = <Packed>slot.value.o
    cdef uint32_t mode = FL.get_mode()
    cdef PyObject *tensor
    if packed.again is None:
        raise_has_hooks()
    FL.set_mode(mode | FL_M_GRAD)
    try:
        tensor = packed.unpack(node)
    finally:
        FL.set_mode(mode)
    try:
        return put_packed(slot, packed_with(hooks, <fl_tensor *>tensor, packed.output_nr))
    finally:
        Py_DECREF(tensor)


cdef int put_packed(slot_t *slot, Packed packed) except -1:
    """Let a slot hold what hooks made of its tensor."""
    cdef PyObject *old = slot.value.o
    Py_INCREF(<PyObject *>packed)
    hold(slot, S_PACKED, <PyObject *>packed)
    Py_DECREF(old)
    return 0


cdef object saved_handle(Node node, int s):
    """The SavedTensor of a slot, or a tuple of them; the value itself where it is no tensor."""
    cdef slot_t *slot = &node.slots[s]
    cdef PyObject *value
    cdef tuple items = None
    if slot.kind == S_TENSORS:
        items = <tuple>slot.value.o
    elif slot.kind == S_PACKED:
        items = (<Packed>slot.value.o).items
    if items is not None:
        return tuple([new_handle(node, s, i) for i in range(len(items))])
    if is_saved_tensor(slot.kind) or slot.kind == S_EMPTY or slot.kind == FL_NONE:
        return new_handle(node, s, -1)
    value = unpack(node, slot)
    result = <object>value
    Py_DECREF(value)
    return result


cdef SlotTensor new_handle(Node node, int slot, int item):
    cdef SlotTensor handle = SlotTensor.__new__(SlotTensor)
    handle.node = node
    handle.slot = slot
    handle.item = item
    return handle


def handle_of_none():
    """What stands in a custom function's ``_raw_saved_tensors`` for None."""
    return SavedTensor.__new__(SavedTensor)


cdef int raise_none_is_forbidden() except -1:
    raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden: "
                       "there is nothing to pack")


cdef int raise_has_hooks() except -1:
    raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been "
                       "set: only one pair of hooks is allowed at a time")
