# Recordings of calls and the programs made of them: what flambeau.jit's replay is made of.

from libcpp.string cimport string

cdef extern from "replay/program.h":
    cdef cppclass fl_kernel_run:
        pass
    cdef cppclass fl_extent:
        uint32_t memory
        int64_t start
    cdef cppclass fl_memory:
        bint is_born
    cdef cppclass fl_recorder:
        string refusal
        void refuse(string)
        void let_go()
        int watch_writes(fl_tensor *) except -1
        bint uses(const fl_tensor *)
        uint32_t take_writes(const fl_tensor *)
        void count_writes(bint)
        bint made_all_writes()
        bint calls_python
        vector[fl_kernel_run] runs
        vector[fl_extent] extents
        vector[fl_memory] memories
    cdef cppclass fl_program:
        fl_recorder *recorder
        vector[uint32_t] source_writes
        int prepare(PyObject *, int64_t, PyObject *, PyObject *, PyObject *) except -1
        void take_graph(PyObject *)
        PyObject *play(fl_tensor **, size_t) except? NULL
        void add_node(size_t, PyObject *)
        size_t first_effect
        int64_t failed_run
    int (*fl_remake_graph)(PyObject *, fl_tensor **, fl_tensor **)
    void fl_record_begin(fl_recorder *)
    void fl_record_end(fl_recorder *)
    void fl_record_pause(fl_recorder *)
    void fl_record_resume(fl_recorder *)
    void fl_record_refuse(const char *)

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        void *c_tracefunc               # what sys.settrace and debuggers have each line shown to
        void *c_profilefunc             # what sys.setprofile has each call shown to
    PyThreadState *PyThreadState_Get()

cdef inline bint _is_traced() noexcept:
    cdef PyThreadState *thread = PyThreadState_Get()
    return thread.c_tracefunc != NULL or thread.c_profilefunc != NULL

cdef extern from *:
    """
    /* Python has one object for each small integer; this makes others. */
    static PyObject *fl_own_int(long value) {
        PyLongObject *made = _PyLong_New(1);
        if (!made)
            return NULL;
        digit size = (digit)(value < 0 ? -value : value);
    #if PY_VERSION_HEX >= 0x030C0000
        made->long_value.lv_tag = ((uintptr_t)(value != 0) << 3) |
                                  (value > 0 ? 0u : value == 0 ? 1u : 2u);
        made->long_value.ob_digit[0] = size;
    #else
        Py_SET_SIZE(made, value > 0 ? 1 : value < 0 ? -1 : 0);
        made->ob_digit[0] = size;
    #endif
        return (PyObject *)made;
    }
    """
    object fl_own_int(long value)

cdef extern from "Python.h":
    object PyFloat_FromDouble(double)

cdef extern from "replay/names.h":
    int fl_watch_names(PyObject *) except -1
    uint64_t fl_dict_version(const PyObject *)

cdef extern from "replay/weights.h":
    int64_t fl_packed_weight_bytes()

cdef extern from "replay/describe.h":
    object fl_record_runs(const fl_recorder *)
    object fl_record_contents(const fl_recorder *)
    object fl_record_memories(const fl_recorder *)
    object fl_record_result(fl_recorder *, fl_tensor *)

cdef extern from "replay/guards.h":
    cdef cppclass fl_guard:
        pass
    cdef cppclass fl_guards:
        vector[fl_guard] list
        bint take_again(PyObject *, PyObject *)
        vector[fl_tensor *] sources
        PyObject *failed
        int add(PyObject *) except -1
        bint adopt(const fl_guards &)
        int take_arguments(PyObject *, PyObject *) except -1
        int take_slot(PyObject *, PyObject *) except -1
        void keep_apart_all(const fl_recorder *)
        bint still_hold()
        void let_go()
        bint hold(PyObject *, PyObject *)
    int (*fl_leaf_state)(fl_tensor *, PyObject **)
    bint fl_is_unwatched() noexcept


@cython.final
cdef class Recording:
    """The kernels that run on this thread between ``begin`` and ``end``."""
    cdef fl_recorder *it
    cdef bint is_open, is_paused

    def __cinit__(self):
        self.it = new fl_recorder()

    def __dealloc__(self):
        if self.is_open:
            fl_record_end(self.it)
        del self.it

    def begin(self):
        """Note what runs from now on."""
        fl_record_begin(self.it)
        self.is_open = True

    def end(self):
        """Note nothing any more."""
        if self.is_open:
            self.it.count_writes(False)
            fl_record_end(self.it)
        self.is_open = False

    def pause(self):
        """Let what comes run as if nobody recorded."""
        if not self.is_open or self.is_paused:
            raise RuntimeError("pause() of a recording that is not open")
        self.is_paused = True
        self.it.count_writes(False)
        fl_record_pause(self.it)

    def resume(self):
        """Record again."""
        if not self.is_paused:
            raise RuntimeError("resume() of a recording that is not paused")
        self.is_paused = False
        fl_record_resume(self.it)
        self.it.count_writes(True)

    def refuse(self, str why):
        """There will be no program, for a reason; the first one counts."""
        self.it.refuse(why.encode())
        self.it.let_go()

    def watch_writes(self, Tensor t not None):
        """Count writes to a tensor from now on."""
        self.it.watch_writes(<fl_tensor *><PyObject *>t)

    @property
    def refusal(self):
        """Why there is no program, or an empty text."""
        return self.it.refusal.decode()

    def take_writes(self, Tensor t not None):
        """How often a watched tensor was written to; those writes are the caller's now."""
        return self.it.take_writes(<fl_tensor *><PyObject *>t)

    def made_all_writes(self):
        """Whether only its kernels wrote to what they wrote to, and no other thread."""
        return self.it.made_all_writes()

    @property
    def calls_python(self):
        """Whether functions of Flambeau's own modules ran."""
        return self.it.calls_python

    def uses(self, Tensor t not None):
        """Whether a kernel that ran uses a tensor's memory, which was there before."""
        return self.it.uses(<fl_tensor *><PyObject *>t)

    @property
    def count(self):
        """How many kernels ran."""
        return self.it.runs.size()

    def memory_at(self, size_t extent):
        """The memory of an extent, by number."""
        return self.it.extents[extent].memory

    def is_new(self, size_t memory):
        """Whether a memory was made inside, by its number."""
        return self.it.memories[memory].is_born

    def start_of(self, size_t extent):
        """How many bytes after the start of its memory an extent begins."""
        return self.it.extents[extent].start

    def first_contents(self):
        """By memory a number that tells with which contents it began."""
        return fl_record_contents(self.it)

    def runs(self):
        """The kernels: ``(key, arguments, results, is a formula)``."""
        return fl_record_runs(self.it)

    def memories(self):
        """The memory they run over: ``(made inside, bytes, has first contents, is alive)``."""
        return fl_record_memories(self.it)

    def result(self, Tensor t not None):
        """Where a tensor that leaves the call lies."""
        return fl_record_result(self.it, <fl_tensor *><PyObject *>t)


@cython.final
cdef class Guards:
    """What has to be as it was for a recording to stand for a call."""
    cdef fl_guards it

    def add(self, tuple guard not None):
        """Add ``(kind, object, key, value)``; it has to hold now."""
        self.it.add(<PyObject *>guard)

    def adopt(self, Guards other not None):
        """Take over the guards of another, none of them of a tensor, if all of them hold."""
        return self.it.adopt(other.it)

    def take_arguments(self, tuple args not None, dict kwargs not None):
        """Guard the arguments, and number the tensors among them."""
        self.it.take_arguments(<PyObject *>args, <PyObject *>kwargs)

    def take_slot(self, of not None, key):
        """Number the tensor that lies in a dict under a key, in a cell, or is a leaf's gradient."""
        self.it.take_slot(<PyObject *>of, <PyObject *>key)

    def let_go(self):
        """Hold nothing any more."""
        self.it.let_go()

    def sources(self):
        """The tensors among the arguments, as numbered."""
        return [<object><PyObject *>self.it.sources[i] for i in range(self.it.sources.size())]

    def still_hold(self):
        """Whether nothing has changed since, gradients aside."""
        return self.it.still_hold()

    def take_again(self, tuple args not None, dict kwargs not None):
        """Whether the arguments are what they were."""
        return self.it.take_again(<PyObject *>args, <PyObject *>kwargs)

    @property
    def count(self):
        """How many there are."""
        return self.it.list.size()

    def hold(self, tuple args not None, dict kwargs not None):
        """Whether a call may be replayed."""
        return self.it.hold(<PyObject *>args, <PyObject *>kwargs)

    @property
    def failed(self):
        """The guard that did not hold last."""
        return <object>self.it.failed if self.it.failed != NULL else None


@cython.final
cdef class ReplayProgram:
    """A recording that is run again.

    Args:
        recording: The recording, which the program takes over.
        guards: When the program stands for a call.
        homes: For each memory where it lies: ``(kind, number, bytes before)``.
        arena: Bytes of the memory that no call leaves.
        steps: What runs.
        results: The tensors that leave the call.
        returned: How they are returned.
        source_writes: How often each argument is written to.
        graph: What makes the results' histories, or None (flambeau.autograd's ``GraphCopy``).
        first_effect: How many steps come before the first that changes what anybody sees.
    """
    cdef fl_program it
    cdef readonly Guards guards
    cdef readonly int nodes             # histories that were added
    cdef public object trial            # what ReplayedCall.tried notes, until that is decided

    def __init__(self, Recording recording not None, Guards guards not None, list homes not None,
                 int64_t arena, list steps not None, list results not None,
                 tuple returned not None, list source_writes not None, graph=None,
                 size_t first_effect=0):
        if recording.it is NULL:
            raise RuntimeError("a recording makes one program")
        self.guards = guards
        self.it.recorder = recording.it
        recording.it = NULL
        guards.it.keep_apart_all(self.it.recorder)
        for count in source_writes:
            self.it.source_writes.push_back(count)
        self.it.prepare(<PyObject *>homes, arena, <PyObject *>steps, <PyObject *>results,
                        <PyObject *>returned)
        self.it.first_effect = first_effect
        if graph is not None:
            self.it.take_graph(<PyObject *>graph)

    @property
    def failed_run(self):
        """The kernel that raised in the last replay that ended with an error, or -1."""
        return self.it.failed_run

    def add_node(self, size_t result, node):
        """One more history for a result that requires grad."""
        self.it.add_node(result, <PyObject *>node)
        self.nodes += 1


def watch_names(dict names not None):
    """Have guards of the kind "names" fail where something else is assigned to names of a module.

    Args:
        names: what the module holds.
    """
    fl_watch_names(<PyObject *>names)


def dict_version(dict names not None) -> int:
    """A number that changes whenever a dict does, or 0 where Python counts no changes."""
    return fl_dict_version(<PyObject *>names)


def own_number(value):
    """The same integer or floating number as an object of its own, which no other number is."""
    if type(value) is float:
        return PyFloat_FromDouble(value)
    return fl_own_int(value) if -1024 < value < 1024 else value + 1 - 1


def packed_weight_bytes() -> int:
    """The memory of weights that programs keep packed."""
    return fl_packed_weight_bytes()


def refuse_replay(str why not None):
    """Say why the call that is recorded on this thread, if one is, must not be replayed."""
    fl_record_refuse(why.encode())


def may_record() -> bool:
    """Whether nothing watches this thread that a recording would not hear of."""
    return fl_is_unwatched() and fl_default_device == 0 and _scope_readers == 0 \
        and fl_deferral_is_on() and not _is_traced()


def configure_replay(size_t leaf_state, size_t remake_graph):
    """Set what tells of a leaf's hooks and gradient, and what makes the graph of a replayed call:
    addresses of functions."""
    global fl_leaf_state, fl_remake_graph
    fl_remake_graph = <int (*)(PyObject *, fl_tensor **, fl_tensor **) noexcept>remake_graph
    fl_leaf_state = <int (*)(fl_tensor *, PyObject **) noexcept>leaf_state
