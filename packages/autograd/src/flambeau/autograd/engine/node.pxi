# Node: one recorded operation. AccumulateGrad: the end of a path, a leaf that requires grad.
#
# A node is made on every recorded call, so it has room inside for the usual number of edges and
# saved values, is kept on a free list, and holds its references as bare pointers. Two things
# follow, both below: the type's traverse and clear are our own, and dropping a node never
# recurses, however long the chain behind it.

cdef enum:
    INLINE_EDGES = 3
    INLINE_SLOTS = 4

cdef enum:                   # node flags
    N_FREED = 1              # saved tensors were given up after a backward pass
    N_VIEW = 2               # the output is a view; `version` tells when it was made
    N_FUNCTION = 4           # extras.function does the work (custom functions, CopySlices)

cdef struct edge_t:
    PyObject *node           # Node, AccumulateGrad, or NULL where no gradient is wanted
    int64_t numel            # of the input: its gradient has as many elements
    uint32_t output_nr
    uint8_t dtype, device_type, device_index
    uint8_t reshaped         # the input's shape differs from the output's: see shapes

cdef enum:
    SHAPE_OF_CUSTOM = 2      # in edge_t.reshaped: of a custom function's input, to be checked
    OF_NUMBER = 3            # in edge_t.reshaped, without a node: the input is Python's number

cdef enum:
    NO_RANK = 15             # in Node.ranks: no tensor, or of more dimensions than names tell

cdef enum:                   # what a slot holds beyond the tags of fl_value
    S_EMPTY = 64
    S_INPUT = 65             # a tensor, its version at saving
    S_OUTPUT = 66            # an alias of an output, its version at saving
    S_OBJECT = 67            # a boxed value (lists, complex numbers, shapes, strings)
    S_TENSORS = 68           # a tuple of tensors or None, the sum of their versions
    S_PACKED = 69            # what the user's pack hook returned (packed.pxi)

cdef union payload_t:
    PyObject *o              # owned, from S_INPUT on
    int64_t i
    double d

cdef struct slot_t:
    uint8_t kind             # S_..., or the tag of an fl_value
    uint8_t output_nr        # of S_OUTPUT
    uint32_t version
    payload_t value


cdef class NodeFunction:
    """What a node without a rule calls: custom functions, writes to views."""

    cdef public bint runs_without_grads  # also where no gradient arrived at any output

    cpdef tuple run(self, Node node, tuple grads, tuple needs):
        """Gradients of the inputs from those of the outputs."""
        raise NotImplementedError

    cpdef release(self):
        """Give up what was saved: the graph will not be walked again."""


cdef class NodeExtras:
    """What few nodes have: hooks, kept gradients, a function in place of a rule."""

    cdef public NodeFunction function
    cdef public str name
    cdef public object context          # the ctx of a custom Function
    cdef public dict metadata
    cdef public dict tensor_hooks       # output number -> {id: hook}
    cdef public dict kept_grads         # output number -> gradient or None
    cdef public dict pre_hooks
    cdef public dict post_hooks
    cdef public list output_shapes      # custom functions: (shape, dtype, device) per output
    cdef public object call_site        # CallSite of the forward call, while it is asked for


@cython.freelist(1024)
cdef class Node:
    """One recorded operation of the graph; ``y.grad_fn`` is one."""

    cdef object extras                  # NodeExtras or None; makes Cython give us GC support
    cdef const fl_op *op
    cdef rule_plan *plan
    cdef uint64_t sequence              # order of creation: an edge always leads to a lower one
    cdef uint64_t task                  # the backward pass that works on `entry`
    cdef uint32_t entry
    cdef uint32_t needs                 # bit i: input i wants a gradient
    cdef uint32_t version               # of a view's memory when it was made
    cdef uint8_t flags
    cdef uint8_t nslots
    cdef uint16_t ranks                 # of inputs, where they decide the name: see note_ranks
    cdef uint32_t noutputs              # of lists of outputs: OUTPUTS_IN_LIST
    cdef uint32_t nedges
    cdef edge_t *edges
    cdef slot_t *slots
    cdef PyObject *recipe               # Recipe, or NULL: see recompute.pxi
    cdef int64_t *shapes                # of reshaped inputs: [ndim, sizes...] each
    cdef edge_t edges_inside[INLINE_EDGES]
    cdef slot_t slots_inside[INLINE_SLOTS]

    def __dealloc__(self):
        _give_up(self)
        if self.edges is not self.edges_inside:
            free(self.edges)
        if self.slots is not self.slots_inside:
            free(self.slots)
        free(self.shapes)

    def name(self):
        """The node's name, e.g. ``'MulBackward0'``."""
        return node_name(self)

    @property
    def next_functions(self):
        """Pairs of the node each input came from (or None) and its output number.

        Numbers are behind tensors, also in ``2 * x``.
        """
        cdef int i
        tensors, numbers = [], []
        for i in range(shown_edges(self)):
            if self.edges[i].node is not NULL:
                tensors.append((shown(self.edges[i].node), self.edges[i].output_nr))
            elif self.edges[i].reshaped == OF_NUMBER:
                numbers.append((None, 0))
            else:
                tensors.append((None, 0))
        return tuple(tensors + numbers)

    @property
    def metadata(self):
        """A dict to keep notes in."""
        cdef NodeExtras extras = extras_of(self)
        if extras.metadata is None:
            extras.metadata = {}
        return extras.metadata

    def register_hook(self, hook):
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; it may replace the first.
        What is no function is kept, and raises when it is to be called."""
        cdef NodeExtras extras = extras_of(self)
        if extras.post_hooks is None:
            extras.post_hooks = {}
        return RemovableHandle(extras.post_hooks, hook, False)

    def register_prehook(self, hook):
        """Call ``hook(grad_outputs)`` before this node runs; it may replace them."""
        cdef NodeExtras extras = extras_of(self)
        if extras.pre_hooks is None:
            extras.pre_hooks = {}
        return RemovableHandle(extras.pre_hooks, hook, False)

    @property
    def _sequence_nr(self):
        return self.sequence

    @property
    def _call_site(self):
        """Where the forward call was: a Call site, or None."""
        return (<NodeExtras>self.extras).call_site if self.extras is not None else None

    @property
    def _saved_shapes(self):
        """Shapes and dtypes of the tensors this node keeps."""
        return saved_shapes(self)

    @property
    def _output_shapes(self):
        return extras_of(self).output_shapes

    @property
    def _function(self):
        """What runs in place of a rule, or None."""
        return (<NodeExtras>self.extras).function if self.extras is not None else None

    def _saved_bytes(self):
        """Bytes of the tensors this node keeps for its backward."""
        return saved_bytes(self)

    def __call__(self, *grads):
        """Gradients of the inputs from those of the outputs; one alone is not in a tuple."""
        values = tuple(values_of_node(self, grads))
        return values[0] if len(values) == 1 else values

    def __getattr__(self, name):
        cdef NodeExtras extras = self.extras
        if name.startswith("_saved_"):
            return saved_by_name(self, name[len("_saved_"):])
        if name.startswith("_raw_saved_") and self.plan is not NULL:
            return saved_handle(self, slot_by_name(self, name[len("_raw_saved_"):]))
        if extras is not None and extras.context is not None:
            return extras.context.read(self, name)
        raise AttributeError(f"{node_name(self)} has no attribute {name!r}")

    def __repr__(self):
        home = f"{type(self).__module__}." if type(self).__module__.startswith("torch.") else ""
        return f"<{home}{node_name(self)} object at {<size_t><void *>self:#x}>"

    def __reduce__(self):
        raise TypeError(f"cannot pickle {node_name(self)!r} object: graphs are not copied; keep "
                        "x.detach() in what is pickled")


@cython.final
cdef class AccumulateGrad:
    """The graph's end at a leaf: adds what arrives to the leaf's ``grad``.

    The leaf owns this record; the record knows the leaf only weakly, so no cycle arises.
    """

    cdef public object grad
    cdef object owner                   # weak reference to the leaf
    cdef dict hooks                     # tensor hooks: may replace the gradient
    cdef dict post_hooks                # called with the leaf after its gradient was stored
    cdef dict pre_hooks                 # of the record: before the gradient is stored
    cdef dict node_hooks                # of the record: after; set where pre_hooks is
    cdef dict notes
    cdef bint busy                      # a thread is adding to grad
    cdef bint detached                  # by detach_(): nodes older than this knew a history
    cdef bint ended                     # a variable of a transform that is over: see end_variables
    cdef uint64_t sequence
    cdef uint64_t task
    cdef uint32_t entry

    def name(self):
        """``'AccumulateGrad'``."""
        return "AccumulateGrad"

    @property
    def variable(self):
        """The leaf, or None when it is gone."""
        return self.owner()

    def register_prehook(self, hook):
        """Call ``hook((grad,))`` before the gradient is stored; it may replace it."""
        return leaf_prehook(self, hook)

    def register_hook(self, hook):
        """Call ``hook((), (grad,))`` after the gradient was stored."""
        return leaf_posthook(self, hook)

    @property
    def _sequence_nr(self):
        return self.sequence

    @property
    def next_functions(self):
        """Empty: a leaf has no history."""
        return ()

    @property
    def metadata(self):
        """A dict to keep notes in."""
        if self.notes is None:
            self.notes = {}
        return self.notes

    def __repr__(self):
        return f"<AccumulateGrad object at {<size_t><void *>self:#x}>"

    def __reduce__(self):
        raise TypeError("cannot pickle 'AccumulateGrad' object: graphs are not copied; pickle the "
                        "leaf")


cdef uint64_t _next_sequence = 1


cdef inline uint64_t new_sequence() noexcept:
    global _next_sequence
    _next_sequence += 1
    return _next_sequence


cdef Node new_node(int nedges, int nslots):
    """A blank node with room for edges and slots."""
    cdef Node node = Node.__new__(Node)
    node.edges = node.edges_inside
    node.slots = node.slots_inside
    if nedges > INLINE_EDGES:
        node.edges = <edge_t *>calloc(nedges, sizeof(edge_t))
    if nslots > INLINE_SLOTS:
        node.slots = <slot_t *>calloc(nslots, sizeof(slot_t))
    if node.edges is NULL or node.slots is NULL:
        raise MemoryError
    node.nedges = nedges
    node.nslots = nslots
    node.sequence = new_sequence()
    return node


cdef Node function_node(str name, NodeFunction function, int nedges):
    """A node that calls a function in place of a rule."""
    cdef Node node = new_node(nedges, 0)
    node.flags = N_FUNCTION
    extras_of(node).function = function
    extras_of(node).name = name
    return node


cdef inline NodeExtras extras_of(Node node):
    if node.extras is None:
        node.extras = NodeExtras()
    return <NodeExtras>node.extras


cdef str node_name(Node node):
    cdef NodeExtras extras
    if node is None:
        return "a custom function"
    extras = node.extras
    if extras is not None and extras.name is not None:
        return extras.name
    if node.plan is NULL:
        return "Node"
    if node.plan.named_by_ranks:
        name = name_by_ranks(key_of(node.op), ranks_of(node))
        if name is not None:
            return name
    return called_name(node)


cdef str called_name(Node node):
    """The name by what was called, as errors tell it: LinearBackward0 for AddmmBackward0."""
    if node is None or node.plan is NULL or node.extras is not None and \
            (<NodeExtras>node.extras).name is not None:
        return node_name(node)
    name = <str>node.plan.name
    return name.removesuffix("0") + "1" if is_second_form(node) else name


cdef tuple ranks_of(Node node):
    """What note_ranks kept; None for what was no tensor."""
    ranks = [node.ranks >> 4 * i & NO_RANK for i in range(node.nedges)]
    return tuple([None if rank == NO_RANK else rank for rank in ranks])


cdef bint is_second_form(Node node) noexcept:
    """sum(dim=...), pow(tensor): see _names.py."""
    cdef int s = node.plan.variant_slot
    if s == 255 or node.slots[s].kind == S_EMPTY:
        return False
    if node.op.params[1].role == FL_R_OPERAND:
        return node.slots[s].kind == S_INPUT or node.slots[s].kind == S_PACKED
    return node.slots[s].kind != FL_NONE


cdef int shown_edges(Node node) noexcept:
    """In PyTorch a number as exponent has no place among the inputs of pow."""
    if node.plan is not NULL and node.plan.variant_slot != 255 and not is_second_form(node):
        return 1
    return node.nedges
