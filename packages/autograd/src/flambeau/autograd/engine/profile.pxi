# The profiler's ear: one record per operator that ran, with its times and bytes.

cdef struct event_t:
    const fl_op *op
    int64_t start, stop                 # nanoseconds of the monotonic clock
    int64_t bytes                       # of the results that were made
    int32_t scope                       # number in `scopes`
    int32_t node                        # number in `nodes`, or -1 in a forward call
    int32_t shapes                      # number in `shapes`, or -1
    bint writes                         # to its first argument: exp_() and not exp()


cdef int64_t now() noexcept:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return <int64_t>t.tv_sec * 1000000000 + t.tv_nsec


@cython.final
cdef class Recorder:
    """Records the operators of this thread while it is entered."""

    cdef fl_interposer entry
    cdef vector[event_t] found
    cdef dict numbers                   # text -> its number
    cdef readonly list texts            # scopes, names of nodes, shapes
    cdef readonly bint record_shapes
    cdef readonly int64_t start, stop
    cdef bint records

    def __cinit__(self, bint record_shapes=False):
        self.numbers = {}
        self.texts = []
        self.record_shapes = record_shapes
        self.entry.kind = FL_I_TRACE
        self.entry.ctx = <void *>self
        self.entry.call = record_event

    def __enter__(self):
        note_call_sites(True)
        FL.push_interposer(&self.entry)
        if self.start == 0:
            self.start = now()
        self.records = True
        return self

    def __exit__(self, *exception):
        self.records = False
        self.stop = now()
        FL.pop_interposer(&self.entry)
        note_call_sites(False)

    cdef int32_t number(self, object text) except -2:
        known = self.numbers.get(text)
        if known is None:
            known = self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return known

    cdef int32_t number_of_shapes(self, const fl_value *values, int n) except -2:
        """Of a list with the shape of each tensor, empty for other arguments."""
        shapes = [list(shape_of(values[i].t)) if values[i].tag == FL_TENSOR else []
                  for i in range(n)]
        key = str(shapes)
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.texts)
            self.texts.append(shapes)
        return known

    def events(self):
        """What was recorded: (name, start, stop, bytes, scope, node or None, shapes or None)."""
        result = []
        for event in self.found:
            name = event.op.name.decode() + ("_" if event.writes else "")
            result.append((name, event.start, event.stop, event.bytes,
                           self.texts[event.scope],
                           self.texts[event.node] if event.node >= 0 else None,
                           self.texts[event.shapes] if event.shapes >= 0 else None))
        return result


cdef int record_event(void *ctx, const fl_op *op, const fl_value *values, int n,
                      fl_value *out) except -1:
    cdef Recorder self = <Recorder>ctx
    cdef event_t event
    cdef fl_tensor *t
    cdef int i
    cdef bint fresh = out[0].tag != FL_TENSOR and op.category != FL_VIEW_OP
    event.op = op
    event.writes = out[0].tag == FL_TENSOR and n > 0 and values[0].tag == FL_TENSOR \
        and values[0].t is out[0].t
    event.start = now()
    FL.dispatch(op, values, n, out)
    event.stop = now()
    event.bytes = 0
    for i in range(op.nouts):
        if fresh and out[i].tag == FL_TENSOR:
            t = out[i].t
            event.bytes += t.numel * ITEM_SIZES[t.dtype]
    event.node = -1
    event.shapes = -1
    if fl_node_in_hand is not NULL:
        event.node = self.number(node_name(<Node>fl_node_in_hand))
        event.scope = self.number(scope_of_node(<Node>fl_node_in_hand))
    else:
        event.scope = self.number(_scope_path())
    if self.record_shapes:
        event.shapes = self.number_of_shapes(values, n)
    self.found.push_back(event)
    return 0


cdef str scope_of_node(Node node):
    """The scope of the forward call."""
    if node.extras is None or (<NodeExtras>node.extras).call_site is None:
        return ""
    return (<CallSite>(<NodeExtras>node.extras).call_site).scope


cdef int *ITEM_SIZES = [1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 8, 16, 1, 1, 1, 1, 1]
