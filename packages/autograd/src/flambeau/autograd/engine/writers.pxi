# Who wrote to saved memory: told by the error about a saved tensor that was changed in place.
#
# The core calls wrote() for the first write to memory that was saved since the last one. What is
# kept is the code object and the instruction; a line is made of them when an error wants it.

cdef enum:
    MAX_WRITERS = 4096                  # then the oldest knowledge is thrown away as a whole

cdef struct writer_t:
    PyObject *code                      # owned, or NULL: no Python was running
    int instruction
    uint32_t version                    # after the write
    const fl_op *op                     # NULL where the core does not know

cdef unordered_map[size_t, writer_t] _writers      # by the address of the version counter


cdef void wrote(const fl_op *op, fl_tensor *t) noexcept:
    cdef writer_t writer
    cdef PyObject *frame
    cdef PyObject *held = PyErr_GetRaisedException_()
    writer.code = NULL
    writer.instruction = 0
    writer.version = t.version[0]
    writer.op = op
    frame = user_frame()
    if frame is not NULL:
        writer.code = PyFrame_GetCode(frame)
        writer.instruction = PyFrame_GetLasti(frame)
        Py_DECREF(frame)
    keep_writer(<size_t>t.version, writer)
    PyErr_SetRaisedException_(held)


cdef void keep_writer(size_t key, writer_t writer) noexcept:
    if _writers.count(key):
        Py_XDECREF(_writers[key].code)
    elif _writers.size() >= MAX_WRITERS:
        forget_writers()
    _writers[key] = writer


cdef void forget_writers() noexcept:
    cdef vector[PyObject *] codes
    for item in _writers:
        codes.push_back(item.second.code)
    _writers.clear()
    for code in codes:
        Py_XDECREF(code)


cdef PyObject *user_frame() noexcept:
    """The innermost Python frame outside this library (a new reference), or NULL."""
    cdef PyObject *frame = <PyObject *>PyEval_GetFrame()
    cdef PyObject *outer
    cdef PyObject *code
    cdef bint inside
    Py_XINCREF(frame)
    while frame is not NULL:
        code = PyFrame_GetCode(frame)
        inside = is_own_file((<object>code).co_filename)
        Py_DECREF(code)
        if not inside:
            return frame
        outer = PyFrame_GetBack(frame)
        Py_DECREF(frame)
        frame = outer
    return NULL


cdef tuple _own_folders = ()


cdef bint is_own_file(object filename) noexcept:
    """Whether a source file belongs to this library."""
    try:
        return (<str>filename).startswith(_own_folders)
    except Exception:
        return False


def set_own_folders(folders):
    """Say where this library's Python sources are; lines in them are not shown to users."""
    global _own_folders
    _own_folders = tuple(folders)


cdef str told_writer(fl_tensor *t, uint32_t saved):
    """A sentence: which call changed the tensor, where."""
    cdef writer_t writer
    cdef uint32_t count = version_of(t) - (saved & ~FL_VERSION_SAVED)
    if _writers.count(<size_t>t.version):
        writer = _writers[<size_t>t.version]
        if writer.version == (saved & ~FL_VERSION_SAVED) + 1:
            name = f"{writer.op.name.decode()}_()" if writer.op is not NULL else "a write"
            if name in ("copy_()", "fill_()", "index_put_()"):
                name += " (or t[...] = ...)"
            times = "" if count == 1 else f", the first of {count} writes since,"
            return f"It was changed by {name}{times}{told_line(writer)}."
    return ("Something like add_(), t[...] = or an optimizer's step() wrote to it (or to a view of "
            "it) after the forward call.")


cdef str told_line(writer_t writer):
    if writer.code is NULL:
        return ""
    code = <object>writer.code
    line = PyCode_Addr2Line(<PyObject *>code, writer.instruction)
    return f" at {code.co_filename}:{line} in {code.co_name}"
