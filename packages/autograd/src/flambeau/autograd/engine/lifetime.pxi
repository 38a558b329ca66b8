# How nodes die: without recursion, and seen by the garbage collector.

# ---- dropping without recursion ----------------------------------------------------------------
# A node about to die hands what it holds to this list. The outermost one empties the list; what
# dies on the way only adds to it.
cdef vector[PyObject *] _graveyard
cdef bint _burying = False


cdef void _give_up(Node node) noexcept:
    global _burying
    cdef int i
    for i in range(node.nslots):
        if node.slots[i].kind >= S_INPUT:
            node.slots[i].kind = S_EMPTY
            _graveyard.push_back(node.slots[i].value.o)
    for i in range(node.nedges):
        if node.edges[i].node is not NULL:
            _graveyard.push_back(node.edges[i].node)
            node.edges[i].node = NULL
    if node.recipe is not NULL:
        _graveyard.push_back(node.recipe)
        node.recipe = NULL
    if node.extras is not None:
        Py_INCREF(<PyObject *>node.extras)
        _graveyard.push_back(<PyObject *>node.extras)
        node.extras = None
    if not _burying:
        _burying = True
        _bury()
        _burying = False


cdef void _bury() noexcept:
    cdef PyObject *o
    while not _graveyard.empty():
        o = _graveyard.back()
        _graveyard.pop_back()
        Py_DECREF(o)


# ---- garbage collection ------------------------------------------------------------------------
# Cython's own traverse and clear know `extras`; these add the bare pointers.
ctypedef int (*visit_t)(PyObject *, void *) noexcept
cdef int (*_cython_traverse)(PyObject *, visit_t, void *) noexcept
cdef int (*_cython_clear)(PyObject *) noexcept


cdef int _traverse(PyObject *self, visit_t visit, void *arg) noexcept:
    cdef int i
    cdef int stop = _cython_traverse(self, visit, arg)
    cdef edge_t *edges = (<Node>self).edges
    cdef slot_t *slots = (<Node>self).slots
    if stop:
        return stop
    for i in range((<Node>self).nedges):
        if edges[i].node is not NULL:
            stop = visit(edges[i].node, arg)
            if stop:
                return stop
    if (<Node>self).recipe is not NULL:
        stop = visit((<Node>self).recipe, arg)
        if stop:
            return stop
    for i in range((<Node>self).nslots):
        if slots[i].kind >= S_INPUT:
            stop = visit(slots[i].value.o, arg)
            if stop:
                return stop
    return 0


cdef int _clear(PyObject *self) noexcept:
    _give_up(<Node>self)
    return _cython_clear(self)


cdef int _install_gc() except -1:
    """Put traverse and clear in place; before the first node is made."""
    global _cython_traverse, _cython_clear
    cdef PyTypeObject *kind = <PyTypeObject *>Node
    _cython_traverse = kind.tp_traverse
    _cython_clear = kind.tp_clear
    kind.tp_traverse = _traverse
    kind.tp_clear = _clear
    return 0


_install_gc()
