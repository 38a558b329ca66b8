# Compiled calls, in which kernels wait: what flambeau.jit is made of.

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
        fl_deferral_enter()
        try:
            return self.fn(*args, **kwargs)
        finally:
            fl_deferral_exit()
            if fl_deferral_ran():
                self.report = fl_deferral_report()


def is_deferring() -> bool:
    """Whether this thread is inside such a call."""
    return fl_thread.queue != NULL


def settle(Tensor t not None):
    """Run what waits and writes a tensor's memory, for those who look at it themselves."""
    if fl_any_waiting():
        fl_settle("a look at values", <fl_tensor *><PyObject *>t, True)


def configure_deferral(planner, int64_t least=FL_GRAIN + 1):
    """Set what makes plans.

    Args:
        planner: ``planner(calls, needed, key)``: the calls that wait, a byte for each storage that
            says whether anyone else holds it, and bytes that are equal for calls and storages that
            run by one plan, in every process. What it returns has a list ``steps``.
        least: calls of fewer elements do not wait.
    """
    fl_deferral_configure(<PyObject *>planner, least)


def forget_plans():
    """Have calls that wait planned anew, as if none had been met before."""
    fl_deferral_forget()
