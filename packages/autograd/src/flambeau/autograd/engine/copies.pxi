# Copies of graphs: what a replayed call (flambeau.jit) leaves for a backward pass outside it.
#
# The nodes that a recorded call made are copied without the tensors that they keep. Those are known
# by number: the tensors that leave the call, then its arguments, then others of before.

cdef struct saved_link:         # a tensor that a node keeps
    int node, slot, kind
    int part, parts             # in a tuple of so many; -1: the slot's own
    size_t tensor
    uint32_t written            # how often since it was saved

cdef struct edge_link:          # where a gradient goes
    int node, edge
    int to                      # a node, or -1: to where a tensor came from
    size_t tensor

cdef struct history_link:       # a tensor that leaves the call, and where it came from
    size_t tensor
    int node
    uint32_t output_nr, written


cdef class GraphCopy:
    """The graph behind some tensors, to be made again over others.

    Args:
        results: The tensors, and all that the graph keeps (``kept_tensors``), but for those of
            outside.
        sources: Arguments of the call.
        outside: Other tensors that were there before.
        first: ``graph_start()`` from before the call.

    Raises:
        ValueError: The graph holds what cannot be made again.
    """

    cdef list nodes, outside
    cdef size_t n_results, n_sources
    cdef vector[saved_link] saved
    cdef vector[edge_link] edges
    cdef vector[history_link] histories

    def __init__(self, list results, list sources, list outside, uint64_t first):
        cdef Node node
        cdef int k
        cdef size_t i
        self.nodes, self.outside = [], outside
        self.n_results, self.n_sources = len(results), len(sources)
        tensors = {id(t): i for i, t in enumerate([*results, *sources, *outside])}
        originals = sorted(nodes_behind(results, first), key=lambda node: node._sequence_nr)
        nodes = {id(each): k for k, each in enumerate(originals)}
        ends = {history_key(t): tensors[id(t)] for t in [*sources, *outside]}
        for k in range(len(originals)):
            node = originals[k]
            self.nodes.append(copy_node(node))
            self.note_saved(node, k, tensors)
            self.note_edges(node, k, nodes, ends)
        for i in range(self.n_results):
            self.note_history(results[i], i, nodes)

    cdef int note_saved(self, Node node, int number, dict tensors) except -1:
        cdef int s
        cdef saved_link link
        cdef slot_t *slot
        for s in range(node.nslots):
            slot = &node.slots[s]
            if not is_saved_tensor(slot.kind):
                continue
            link.node, link.slot, link.kind, link.part = number, s, slot.kind, -1
            if slot.kind != S_TENSORS:
                link.tensor = tensors[<size_t>slot.value.o]
                link.written = version_of(<fl_tensor *>slot.value.o) \
                    - (slot.version & ~<uint32_t>FL_VERSION_SAVED)
                self.saved.push_back(link)
                continue
            check_versions(node, slot)
            link.written = 0
            link.parts = len(<tuple>slot.value.o)
            for part, each in enumerate(<tuple>slot.value.o):
                if each is not None:
                    link.part, link.tensor = part, tensors[id(each)]
                    self.saved.push_back(link)
        return 0

    cdef int note_edges(self, Node node, int number, dict nodes, dict ends) except -1:
        cdef int i
        cdef edge_link link
        for i in range(<int>node.nedges):
            if node.edges[i].node is NULL:
                continue
            key = (<size_t>node.edges[i].node, node.edges[i].output_nr)
            link.node, link.edge, link.to, link.tensor = number, i, -1, 0
            if key in ends:
                link.tensor = ends[key]
            elif key[0] in nodes:
                link.to = nodes[key[0]]
            else:
                raise ValueError("a result's graph leads to a tensor that is not known")
            self.edges.push_back(link)
        return 0

    cdef int note_history(self, tensor, size_t number, dict nodes) except -1:
        cdef fl_tensor *t = pointer(tensor)
        cdef history_link link
        if not is_node(t.autograd):
            return 0
        if <size_t>t.autograd not in nodes:
            raise ValueError("a result has a history from outside")
        link.tensor, link.output_nr = number, t.output_nr
        link.node = nodes[<size_t>t.autograd]
        link.written = version_of(t) - (<Node><object>t.autograd).version
        self.histories.push_back(link)
        return 0

    cdef fl_tensor *find(self, size_t number, fl_tensor **results,
                         fl_tensor **sources) noexcept:
        if number < self.n_results:
            return results[number]
        if number < self.n_results + self.n_sources:
            return sources[number - self.n_results]
        return pointer(self.outside[number - self.n_results - self.n_sources])

    cdef int make(self, fl_tensor **results, fl_tensor **sources) except -1:
        """Make the graph of a call whose tensors are there."""
        cdef list nodes
        cdef Node node
        cdef fl_tensor *t
        cdef size_t i
        for i in range(self.edges.size()):      # older than what leads to them
            if self.edges[i].to < 0:
                end_of(self.find(self.edges[i].tensor, results, sources))
        nodes = [copy_node(<Node>each) for each in self.nodes]
        for i in range(self.saved.size()):
            keep_again(<Node>nodes[self.saved[i].node], self.saved[i],
                       self.find(self.saved[i].tensor, results, sources))
        for i in range(self.edges.size()):
            node = nodes[self.edges[i].node]
            if self.edges[i].to < 0:
                connect(&node.edges[self.edges[i].edge],
                        self.find(self.edges[i].tensor, results, sources))
            else:
                to = nodes[self.edges[i].to]
                Py_INCREF(<PyObject *>to)
                node.edges[self.edges[i].edge].node = <PyObject *>to
        for i in range(self.histories.size()):
            node = nodes[self.histories[i].node]
            t = self.find(self.histories[i].tensor, results, sources)
            attach(t, node, self.histories[i].output_nr)
            if node.flags & N_VIEW:
                node.version = version_of(t) - self.histories[i].written
        return 0


cdef int remake_graph(PyObject *graph, fl_tensor **results, fl_tensor **sources) except -1:
    return (<GraphCopy>graph).make(results, sources)


cdef int end_of(fl_tensor *t) except -1:
    """See that a tensor has a record of where it came from."""
    if is_linked_view(t):
        refresh_view(t)
    if not is_node(t.autograd):
        leaf_of(t)
    return 0


cdef Node copy_node(Node node):
    """The same operation once more, younger, without edges and tensors."""
    cdef Node made = new_node(node.nedges, node.nslots)
    cdef int i
    made.op, made.plan, made.needs = node.op, node.plan, node.needs
    made.version, made.flags, made.ranks = node.version, node.flags, node.ranks
    made.noutputs = node.noutputs
    for i in range(<int>node.nedges):
        made.edges[i] = node.edges[i]
        made.edges[i].node = NULL
    for i in range(node.nslots):
        made.slots[i] = node.slots[i]
        if is_saved_tensor(node.slots[i].kind):
            made.slots[i].kind = S_EMPTY
        elif node.slots[i].kind == S_OBJECT:
            Py_INCREF(node.slots[i].value.o)
    if node.shapes is not NULL:
        made.shapes = <int64_t *>calloc(node.nedges * (FL_MAX_DIMS + 1), sizeof(int64_t))
        if made.shapes is NULL:
            raise MemoryError
        for i in range(<int>node.nedges * (FL_MAX_DIMS + 1)):
            made.shapes[i] = node.shapes[i]
    return made


cdef int keep_again(Node node, saved_link link, fl_tensor *t) except -1:
    """Keep a tensor as it was kept before, with as many writes since."""
    cdef slot_t *slot = &node.slots[link.slot]
    cdef int i
    cdef uint32_t version = (version_of(t) - link.written) | <uint32_t>FL_VERSION_SAVED
    if link.written == 0:
        version = version_at_saving(t)
    if link.part < 0:
        Py_INCREF(<PyObject *>t)
        hold(slot, link.kind, <PyObject *>t)
        slot.version = version
        return 0
    if slot.kind == S_EMPTY:
        hold(slot, S_TENSORS, PyTuple_New(link.parts))
        slot.version = 0
        for i in range(link.parts):
            Py_INCREF(Py_None)
            PyTuple_SET_ITEM(slot.value.o, i, Py_None)
    Py_INCREF(<PyObject *>t)
    PyTuple_SET_ITEM(slot.value.o, link.part, <PyObject *>t)
    slot.version += version
    return 0


def graph_start() -> int:
    """A number between the nodes that are there and those to come."""
    return new_sequence()


def history_key(tensor) -> tuple:
    """Where a tensor came from: equal for equal places in the graph."""
    cdef fl_tensor *t = pointer(tensor)
    return (<size_t>t.autograd, t.output_nr)


cdef list nodes_behind(list tensors, uint64_t first):
    """The nodes made since ``first`` that lead to some tensors."""
    cdef dict found = {}
    cdef Node node
    cdef int i
    todo = [<object>pointer(t).autograd for t in tensors if is_node(pointer(t).autograd)]
    while todo:
        node = todo.pop()
        if id(node) in found or node.sequence <= first:
            continue
        if node.extras is not None or node.flags & N_FUNCTION or node.plan is NULL:
            raise ValueError(f"a result's graph has a {node_name(node)}, which cannot be copied")
        found[id(node)] = node
        for i in range(<int>node.nedges):
            if is_node(node.edges[i].node):
                todo.append(<object>node.edges[i].node)
    return list(found.values())


def kept_tensors(list tensors not None, uint64_t first) -> list:
    """The tensors that the graph behind some tensors keeps.

    Raises:
        ValueError: The graph holds what cannot be copied.
    """
    cdef Node node
    cdef int s
    found = {}
    for each in nodes_behind(tensors, first):
        node = each
        for s in range(node.nslots):
            if node.slots[s].kind == S_PACKED:
                raise ValueError("a hook packs what a result's graph keeps")
            if node.slots[s].kind in (S_INPUT, S_OUTPUT):
                found[<size_t>node.slots[s].value.o] = <object>node.slots[s].value.o
            elif node.slots[s].kind == S_TENSORS:
                found.update({id(t): t for t in <tuple>node.slots[s].value.o if t is not None})
    return list(found.values())
