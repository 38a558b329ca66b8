# Functions that are replayed where a program stands for the call.

cdef class ReplayedCall:
    """A function that is replayed where a program stands for the call.

    Args:
        fn: The function.
        every: How many replays of a program until the function runs again, to compare.
    """
    cdef readonly object fn
    cdef public list programs
    cdef public object instead      # what is called where recording was given up
    cdef public int64_t every, left
    cdef int64_t replays

    def __init__(self, fn, int64_t every):
        self.fn = fn
        self.programs = []
        self.every = self.left = every

    def __call__(self, *args, **kwargs):
        cdef ReplayProgram program
        cdef fl_guards *guards
        if self.instead is not None:
            return self.instead(*args, **kwargs)
        if fl_default_device == 0 and _scope_readers == 0 and fl_deferral_is_on() \
                and not _is_traced():
            for each in self.programs:
                program = <ReplayProgram>each
                guards = &program.guards.it
                if not guards.hold(<PyObject *>args, <PyObject *>kwargs):
                    continue
                self.left -= 1
                if self.left < 0 < self.every:
                    self.left = self.every
                    return self.checked(program, args, kwargs)
                if program.trial is not None:
                    return self.tried(program, args, kwargs)
                return self.play(program, args, kwargs)
        return self.missed(args, kwargs)

    cdef object play(self, ReplayProgram program, tuple args, dict kwargs):
        """Replay a program whose guards hold."""
        cdef fl_guards *guards = &program.guards.it
        cdef PyObject *result
        try:
            result = program.it.play(guards.sources.data(), guards.sources.size())
        except Exception as error:
            self.raised(program, error)
            raise
        if result is NULL:
            return self.without_room(program, args, kwargs)
        self.replays += 1
        answer = <object>result
        Py_DECREF(answer)
        return answer

    def replay(self, ReplayProgram program not None, tuple args, dict kwargs):
        """Replay a program, or call the function where the guards do not hold any more."""
        if not program.guards.it.hold(<PyObject *>args, <PyObject *>kwargs):
            return self.missed(args, kwargs)
        return self.play(program, args, kwargs)

    def __get__(self, obj, cls):
        return self if obj is None else PyMethod_New(self, obj)

    def earned(self):
        """How many calls were replayed since this was asked last."""
        replays, self.replays = self.replays, 0
        return replays

    def missed(self, tuple args, dict kwargs):
        """A call for which there is no program."""
        return self.fn(*args, **kwargs)

    def tried(self, program, tuple args, dict kwargs):
        """A call that a program stands for which may turn out to be slower than the function."""
        return self.replay(program, args, kwargs)

    def raised(self, program, error):
        """A kernel raised in a replay."""

    def checked(self, program, tuple args, dict kwargs):
        """A call that is recorded again, and compared."""
        return self.fn(*args, **kwargs)

    def without_room(self, program, tuple args, dict kwargs):
        """A call that a program stands for, but which still runs or whose results are all held."""
        return self.fn(*args, **kwargs)
