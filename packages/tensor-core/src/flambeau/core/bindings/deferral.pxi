# Compiled calls, in which kernels wait: what flambeau.jit is made of.

cdef extern from *:
    """
    #include "deferral/deferral.h"
    /* The first members of the cdef class below. */
    struct fl_deferred_head {
        PyObject_HEAD
        vectorcallfunc vectorcall;
        PyObject *fn, *report, *replayer;
        int64_t calls_left;
    };
    static int fl_start_replaying(PyObject *self) {
        PyObject *done = PyObject_CallMethod(self, "start_replaying", NULL);
        Py_XDECREF(done);
        return done ? 0 : -1;
    }
    static void fl_keep_report(struct fl_deferred_head *call) {
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);     /* of a call that leaves with an error */
        PyObject *report = fl_deferral_report();
        if (report)
            Py_XSETREF(call->report, report);
        PyErr_Restore(type, value, trace);
    }
    static PyObject *fl_deferred_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                            PyObject *kwnames) {
        struct fl_deferred_head *call = (struct fl_deferred_head *)self;
        if (call->calls_left > 0 && --call->calls_left == 0 && fl_start_replaying(self) < 0)
            return NULL;
        if (call->replayer != Py_None && fl_deferral_is_on() && !fl_thread.queue) {
            PyObject *replayer = Py_NewRef(call->replayer);
            PyObject *result = PyObject_Vectorcall(replayer, args, nargsf, kwnames);
            Py_DECREF(replayer);
            return result;
        }
        PyObject *fn = Py_NewRef(call->fn);
        int before = fl_deferral_enter(self);
        PyObject *result = PyObject_Vectorcall(fn, args, nargsf, kwnames);
        Py_DECREF(fn);
        if (fl_deferral_exit(before) < 0)
            Py_CLEAR(result);
        if (fl_deferral_ran())
            fl_keep_report(call);
        return result;
    }
    /* Calls on this thread in which nothing waits: also where they are part of a recorded one. */
    static __thread int fl_eager_depth = 0;
    static void fl_call_directly(PyTypeObject *type) {
        type->tp_vectorcall_offset = offsetof(struct fl_deferred_head, vectorcall);
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        PyType_Modified(type);
    }
    """
    int fl_eager_depth
    vectorcallfunc fl_deferred_vectorcall
    void fl_call_directly(PyTypeObject *)

cdef extern from "Python.h":
    object PyMethod_New(object, object)


cdef class DeferredCall:
    """A function in whose calls pointwise kernels over many elements wait.

    Args:
        fn: the function.
    """
    cdef vectorcallfunc vectorcall  # must stay first, and the next two after it
    cdef readonly object fn
    cdef public object report       # of the last call that ran plans: (plans, what each was for)
    cdef public object replayer     # what makes calls instead, or None
    cdef public int64_t calls_left  # until start_replaying is called; 0: it never is

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = fl_deferred_vectorcall

    def __init__(self, fn):
        self.fn = fn

    def __call__(self, *args, **kwargs):
        cdef int before = fl_deferral_enter(<PyObject *>self)
        try:
            return self.fn(*args, **kwargs)
        finally:
            fl_deferral_exit(before)
            if fl_deferral_ran():
                self.report = fl_deferral_report()

    def __get__(self, obj, cls):
        return self if obj is None else PyMethod_New(self, obj)


fl_call_directly(<PyTypeObject *>DeferredCall)


def call_directly(type cls not None):
    """Have calls of a subclass of ``DeferredCall`` without ``__call__`` make no tuple and no dict.

    Python 3.12 and later do so by themselves.
    """
    if not issubclass(cls, DeferredCall) or cls.__call__ is not DeferredCall.__call__:
        raise TypeError(f"{cls.__name__} has another way to be called")
    fl_call_directly(<PyTypeObject *>cls)


cdef class EagerCall:
    """A function in whose calls no kernel waits, also where a compiled function calls it.

    Args:
        fn: the function.
        recursive: whether the same holds for compiled functions that it calls.
    """
    cdef readonly object fn
    cdef readonly bint recursive

    def __init__(self, fn, bint recursive=True):
        self.fn = fn
        self.recursive = recursive

    def __call__(self, *args, **kwargs):
        global fl_eager_depth
        cdef int before = fl_deferral_pause(self.recursive)
        fl_eager_depth += 1
        try:
            return self.fn(*args, **kwargs)
        finally:
            fl_eager_depth -= 1
            fl_deferral_resume(before)

    def __get__(self, obj, cls):
        return self if obj is None else PyMethod_New(self, obj)


cdef class hear_reads:
    """Have ``on_read(tensor, what)`` called before values are read, on this thread, in a block."""
    cdef object _on_read, _before

    def __init__(self, on_read):
        self._on_read = on_read

    def __enter__(self):
        thread = PyThread_get_thread_ident()
        self._before = _read_hooks.get(thread)
        _read_hooks[thread] = self._on_read
        return self

    def __exit__(self, *exc):
        thread = PyThread_get_thread_ident()
        if self._before is None:
            _read_hooks.pop(thread, None)
        else:
            _read_hooks[thread] = self._before
        return False


def defer_calls(bint on):
    """Whether kernels wait in compiled calls that begin from now on."""
    fl_deferral_turn(on)


cdef extern from *:
    """
    #include "replay/replay.h"
    static bool fl_is_recording(void) { return fl_recording != nullptr; }
    """
    bint fl_is_recording() noexcept


def is_deferring() -> bool:
    """Whether this thread is inside such a call, or one that is recorded to be replayed."""
    return fl_thread.queue != NULL or fl_is_recording() and fl_eager_depth == 0


def settle(Tensor t not None):
    """Run what waits and writes a tensor's memory, for those who look at it themselves."""
    if fl_any_waiting():
        fl_settle("a look at values", <fl_tensor *><PyObject *>t, True)


def is_exposed(Tensor t not None) -> bool:
    """Whether a tensor's version may not tell of all writes to its memory: arrays and buffers look
    at it, or tensors that count on their own, as ``t.data`` does."""
    cdef fl_storage *s = fl_root_storage((<fl_tensor *><PyObject *>t).storage)
    return s.kind == FL_S_FOREIGN or s.is_shared & ~<uint32_t>FL_S_READ_LATER != 0


cdef object _told_of_sharing = None


def read_later(Tensor t not None, told):
    """Have ``told(storage_id)`` called before others can write to the memory uncounted."""
    global _told_of_sharing
    _told_of_sharing = told
    fl_root_storage((<fl_tensor *><PyObject *>t).storage).is_shared |= FL_S_READ_LATER


cdef int tell_of_sharing(Tensor t) except -1:
    """Tell who wants to read the memory as it is now."""
    cdef fl_storage *s = fl_root_storage((<fl_tensor *><PyObject *>t).storage)
    if s.is_shared & FL_S_READ_LATER:
        s.is_shared &= ~<uint32_t>FL_S_READ_LATER
        _told_of_sharing(<uintptr_t>s)
    return 0


def waits(Tensor t not None) -> bool:
    """Whether kernels wait that use a tensor's memory."""
    return fl_root_storage((<fl_tensor *><PyObject *>t).storage).queue != NULL


def configure_deferral(planner, int64_t least=FL_GRAIN + 1):
    """Set what makes plans.

    Args:
        planner: ``planner(calls, needed, key)``: the calls that wait, a byte for each storage that
            says whether anyone else holds it, and bytes that are equal for calls and storages that
            run by one plan, in every process; empty where there are none, as a program registered
            an operator. What it returns has a list ``steps``, and a tuple ``alone`` of the calls
            that run as they would have done at once, in order.
        least: calls of fewer elements do not wait.
    """
    fl_deferral_configure(<PyObject *>planner, least)


def forget_plans():
    """Have calls that wait planned anew, as if none had been met before."""
    fl_deferral_forget()


def watch_runs(watcher, bint compare=False):
    """Have plans that run on this thread told of.

    Args:
        watcher: ``watcher(plan, why, begin, end, alone, memory)``: what the plan was run for, when
            it began and ended, in nanoseconds, and ``(storage, is_written)`` for all memory; or
            ``None``.
        compare: run the calls also one by one, over memory as it was before; ``alone`` is how long
            that took. Otherwise it is 0.
    """
    if watcher is None:
        fl_deferral_watch(NULL, False)
    else:
        fl_deferral_watch(<PyObject *>watcher, compare)


def let_wait(int device_type):
    """Let kernels on devices of a type wait in compiled calls: its backend has ``fuse``."""
    fl_deferral_add_device(device_type)


def run_waiting():
    """Run what waits on this thread: a backend does so before streams change, wait or end."""
    if fl_any_waiting():
        fl_settle_thread("a stream")


def waiting_calls() -> int:
    """How many calls wait on this thread."""
    return fl_deferral_waiting()


def trial_runs() -> int:
    """How often plans ran on this thread of which it was not known yet whether they gain."""
    return fl_deferral_trial_runs()


def least_waiting() -> int:
    """Calls of fewer elements do not wait."""
    return fl_deferral_least()
