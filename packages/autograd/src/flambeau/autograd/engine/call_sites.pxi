# Where forward calls were: noted while detect_anomaly or a profiler asks for it.

cdef int _noting = 0                    # who wants call sites, checks or the current node


@cython.final
cdef class CallSite:
    """The call that a node records: file, line, traceback and scope."""

    cdef readonly str filename, function, scope
    cdef readonly int line
    cdef readonly list traceback        # lines as in a printed traceback, or None

    def __str__(self):
        where = f"{self.filename}:{self.line} in {self.function}" if self.filename else "?"
        return f"{where} (scope {self.scope})" if self.scope else where


cdef int _tracebacks = 0                # how many want whole tracebacks


cdef CallSite call_site_here():
    """The line of the user's code that is running."""
    cdef CallSite call_site = CallSite.__new__(CallSite)
    cdef PyObject *frame = user_frame()
    call_site.scope = _scope_path()
    if frame is not NULL:
        user = <object>frame
        Py_DECREF(frame)
        call_site.filename = user.f_code.co_filename
        call_site.function = user.f_code.co_name
        call_site.line = user.f_lineno or 0
        if _tracebacks:
            call_site.traceback = traceback.format_stack(user)
    return call_site


cdef int note_call_site(Node node) except -1:
    cdef NodeExtras extras = extras_of(node)
    extras.call_site = call_site_here()
    if (<CallSite>extras.call_site).traceback is not None:
        node.metadata["traceback_"] = (<CallSite>extras.call_site).traceback
        if fl_node_in_hand is not NULL:
            node.metadata["parent_"] = shown(fl_node_in_hand)
    return 0


cdef str told_call_site(Node node):
    """A sentence: where the forward call was; nothing when that was not noted."""
    if node is None or node.extras is None or (<NodeExtras>node.extras).call_site is None:
        return (" Put the forward call inside the block of autograd.detect_anomaly(), too, to see "
                "its line." if _noting else
                " Run it under autograd.detect_anomaly() to see the line of the forward call.")
    return f" The forward call was at {(<NodeExtras>node.extras).call_site}."


def note_call_sites(bint wanted, bint tracebacks=False):
    """Count somebody who wants the call sites of forward calls in or out."""
    global _noting, _tracebacks
    _noting += 1 if wanted else -1
    if tracebacks:
        _tracebacks += 1 if wanted else -1
    _want_scopes(wanted)


# ---- the current node ----------------------------------------------------------------------------
cdef int call_watched(Node node, entry_t *entry, uint32_t needs, PyObject **results) except -1:
    """call_rule, with the node on show for profilers and its gradients checked."""
    cdef PyObject *before = fl_node_in_hand
    cdef int i
    set_node_in_hand(<PyObject *>node)
    try:
        call_rule(node, entry.grad, entry.others, needs, results)
    except Exception as error:
        add_call_site(node, error)
        raise
    finally:
        set_node_in_hand(before)
    if _nan_checks:
        for i in range(node.nedges):
            if results[i] is not NULL:
                check_gradient(node, i, <fl_tensor *>results[i])
    return 0


cdef tuple run_watched(Node node, NodeFunction function, tuple grads, tuple needs):
    """The same for custom functions and writes to views."""
    cdef PyObject *before = fl_node_in_hand
    set_node_in_hand(<PyObject *>node)
    try:
        values = function.run(node, grads, needs)
    except Exception as error:
        add_call_site(node, error)
        raise
    finally:
        set_node_in_hand(before)
    if _nan_checks:
        for i, value in enumerate(values):
            if is_tensor(<PyObject *>value):
                check_gradient(node, i, <fl_tensor *><PyObject *>value)
    return values


cdef int add_call_site(Node node, object error) except -1:
    """Tell in an error's notes which forward call its backward belongs to."""
    warn_of_error(node)
    if node.extras is not None and (<NodeExtras>node.extras).call_site is not None:
        error.add_note(f"in the backward of {node_name(node)}, whose forward call was at "
                       f"{(<NodeExtras>node.extras).call_site}")
    return 0


cdef int warn_of_error(Node node) except -1:
    """Under detect_anomaly: show the traceback of the forward call."""
    if _tracebacks:
        from flambeau.autograd.anomaly import warn_of_error as warn

        warn(shown(<PyObject *>node))
    return 0
