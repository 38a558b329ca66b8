# Compiled calls, in which kernels wait: what flambeau.jit is made of.

cdef extern from "Python.h":
    object PyMethod_New(object, object)


cdef class DeferredCall:
    """A function in whose calls pointwise kernels over many elements wait.

    Args:
        fn: the function.
    """
    cdef readonly object fn
    cdef public object report       # of the last call that ran plans: (plans, what each was for)

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
        cdef int before = fl_deferral_pause(self.recursive)
        try:
            return self.fn(*args, **kwargs)
        finally:
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
    return fl_thread.queue != NULL or fl_is_recording()


def settle(Tensor t not None):
    """Run what waits and writes a tensor's memory, for those who look at it themselves."""
    if fl_any_waiting():
        fl_settle("a look at values", <fl_tensor *><PyObject *>t, True)


def is_exposed(Tensor t not None) -> bool:
    """Whether a tensor's version may not tell of all writes to its memory: arrays and buffers look
    at it, or tensors that count on their own, as ``t.data`` does."""
    cdef fl_storage *s = fl_root_storage((<fl_tensor *><PyObject *>t).storage)
    return s.kind == FL_S_FOREIGN or s.is_shared != 0


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


def least_waiting() -> int:
    """Calls of fewer elements do not wait."""
    return fl_deferral_least()
