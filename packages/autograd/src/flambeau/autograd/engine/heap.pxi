# What a backward pass holds: gradients that wait for their node, ordered by creation.
#
# Every edge leads from a younger node to an older one, so the youngest waiting node has received
# all it will ever receive: taking nodes in reverse order of creation needs no counting of
# dependencies and no pass over the graph beforehand.

cdef struct entry_t:
    PyObject *target         # owned: Node or AccumulateGrad
    PyObject *grad           # owned: gradient of output 0, or NULL
    PyObject *others         # owned list: gradients of the other outputs, or NULL
    uint8_t shared           # gradients came from user code: never add into them

cdef struct waiting_t:
    uint64_t turn            # twice the order of creation, which leaves room for one in between
    uint32_t entry


@cython.final
cdef class Task:
    """One backward pass."""

    cdef vector[entry_t] entries
    cdef vector[uint32_t] unused        # entries to take again
    cdef vector[waiting_t] heap
    cdef unordered_map[size_t, uint32_t] entry_of    # target -> entry, when passes overlap
    cdef unordered_map[size_t, uint64_t] turns       # leaf -> its turn; see leaf.pxi
    cdef bint overlaps                  # another pass is running: its nodes are marked
    cdef uint64_t number
    cdef bint keep_graph, create_graph, selective
    cdef dict captures                  # (id of target, output number) -> capture
    cdef set wanted                     # ids of the nodes that lead to captured inputs
    cdef list results                   # captured gradients
    cdef tuple roots                    # the tensors it began at

    def __dealloc__(self):
        self.drop_all()

    cdef void drop_all(self) noexcept:
        """Release what still waits, after an error."""
        cdef waiting_t w
        while not self.heap.empty():
            w = self.heap.back()
            self.heap.pop_back()
            Py_XDECREF(self.entries[w.entry].target)
            Py_XDECREF(self.entries[w.entry].grad)
            Py_XDECREF(self.entries[w.entry].others)

    cdef int push(self, uint64_t turn, uint32_t entry) except -1:
        cdef waiting_t w
        cdef size_t i, parent
        w.turn = turn
        w.entry = entry
        self.heap.push_back(w)
        i = self.heap.size() - 1
        while i > 0:
            parent = (i - 1) >> 1
            if self.heap[parent].turn >= turn:
                break
            self.heap[i] = self.heap[parent]
            i = parent
        self.heap[i] = w
        return 0

    cdef uint32_t pop(self) noexcept:
        """The entry of the youngest waiting target."""
        cdef uint32_t top = self.heap[0].entry
        cdef waiting_t last = self.heap.back()
        cdef size_t i = 0, child, size
        self.heap.pop_back()
        size = self.heap.size()
        if size == 0:
            return top
        while True:
            child = 2 * i + 1
            if child >= size:
                break
            if child + 1 < size and self.heap[child + 1].turn > self.heap[child].turn:
                child += 1
            if self.heap[child].turn <= last.turn:
                break
            self.heap[i] = self.heap[child]
            i = child
        self.heap[i] = last
        return top

    cdef uint32_t new_entry(self, PyObject *target) except? 0xFFFFFFFF:
        cdef entry_t blank
        cdef uint32_t entry
        blank.grad = NULL
        blank.others = NULL
        blank.shared = 0
        blank.target = target
        Py_INCREF(target)
        if self.unused.empty():
            entry = <uint32_t>self.entries.size()
            self.entries.push_back(blank)
        else:
            entry = self.unused.back()
            self.unused.pop_back()
            self.entries[entry] = blank
        return entry

    cdef uint32_t entry_of_node(self, Node node) except? 0xFFFFFFFF:
        """The node's entry; made and queued if it has none."""
        if self.overlaps:
            return self.entry_in_map(<PyObject *>node, 2 * node.sequence)
        if node.task != self.number:
            node.entry = self.new_entry(<PyObject *>node)
            node.task = self.number
            self.push(2 * node.sequence, node.entry)
        return node.entry

    cdef uint32_t entry_of_leaf(self, AccumulateGrad leaf) except? 0xFFFFFFFF:
        if self.overlaps:
            return self.entry_in_map(<PyObject *>leaf, turn_of(self, leaf))
        if leaf.task != self.number:
            leaf.entry = self.new_entry(<PyObject *>leaf)
            leaf.task = self.number
            self.push(turn_of(self, leaf), leaf.entry)
        return leaf.entry

    cdef uint32_t entry_in_map(self, PyObject *target, uint64_t turn) except? 0xFFFFFFFF:
        cdef uint32_t entry
        if self.entry_of.count(<size_t>target):
            return self.entry_of[<size_t>target]
        entry = self.new_entry(target)
        self.entry_of[<size_t>target] = entry
        self.push(turn, entry)
        return entry

    cdef entry_t take(self):
        """The youngest entry; its slot is free again."""
        cdef uint32_t number = self.pop()
        cdef entry_t entry = self.entries[number]
        self.unused.push_back(number)
        if self.overlaps:
            self.entry_of.erase(<size_t>entry.target)
        elif is_node(entry.target):
            (<Node>entry.target).task = 0
        else:
            (<AccumulateGrad>entry.target).task = 0
        return entry
