# Generators: a seed and how much of its stream is used.

cdef object _as_device(object value):
    return value if isinstance(value, device) else device(value)


cdef object _integer_seed(object seed):
    try:
        return int(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"manual_seed(): seed must be an integer, not {seed!r}") from None


cdef class Generator:
    """State of a random number stream (Philox 4x32-10, counter based).

    Args:
        device: Accepted for compatibility; the stream does not depend on it.
    """
    cdef fl_generator_state state           # must stay first
    cdef readonly object device

    def __cinit__(self, device="cpu"):
        self.state.seed = 67280421310721
        self.device = _as_device(device)
        _unbox_device(<PyObject *>self.device)   # refuses what nothing makes

    def manual_seed(self, seed):
        """Start the stream of this seed."""
        if about_to_change(self, "manual_seed", seed):
            return self
        self.state.seed = <uint64_t>(_integer_seed(seed) & 0xFFFFFFFFFFFFFFFF)
        self.state.offset = 0
        return self

    def seed(self):
        """Start a stream of an unpredictable seed and return it."""
        import secrets
        value = secrets.randbits(63)
        self.manual_seed(value)
        return value

    def initial_seed(self) -> int:
        """The seed of this stream."""
        about_to_change(self, "initial_seed()")
        return self.state.seed

    def get_state(self):
        """Seed and position, as a tensor of two uint64."""
        state = _state_tensor(&self.state)
        about_to_change(self, "get_state", state)
        return state

    def set_state(self, state):
        """Continue from what ``get_state`` gave."""
        if about_to_change(self, "set_state", state):
            return self
        _load_state(&self.state, state)
        return self

    def clone_state(self):
        """Another generator at the same position of the same stream."""
        cdef Generator copy = Generator(self.device)
        about_to_change(self, "clone_state()")
        copy.state = self.state
        return copy

    def __reduce__(self):
        return _generator_at, (str(self.device), self.state.seed, self.state.offset)

    def __repr__(self):
        return f"<Generator: seed {self.state.seed}, block {self.state.offset}>"


def _generator_at(device, seed, offset):
    cdef Generator made = Generator(device)
    made.state.seed, made.state.offset = seed, offset
    return made


cdef object _state_tensor(fl_generator_state *s):
    return tensor([s.seed, s.offset], dtype=_dtypes[FL_U64], device="cpu")


cdef int _load_state(fl_generator_state *s, object state) except -1:
    values = state.tolist()
    if len(values) != 2:
        raise ValueError("set_state(): expected the two numbers of get_state()")
    s.seed, s.offset = values
    return 0


def manual_seed(seed):
    """Seed the default generator.

    Args:
        seed: An integer; its low 64 bits count.

    Example:
        >>> import flambeau
        >>> g = flambeau.manual_seed(0)
        >>> a = flambeau.rand(2); _ = flambeau.manual_seed(0); bool((a == flambeau.rand(2)).all())
        True
    """
    cdef fl_generator_state *s = fl_default_generator_state()
    if about_to_change(None, "manual_seed", seed):
        return default_generator
    s.seed = <uint64_t>(_integer_seed(seed) & 0xFFFFFFFFFFFFFFFF)
    s.offset = 0
    return default_generator


def seed() -> int:
    """Start the default generator on an unpredictable seed and return it."""
    import secrets
    value = secrets.randbits(63)
    manual_seed(value)
    return value


def initial_seed() -> int:
    """The default generator's seed."""
    about_to_change(None, "initial_seed()")
    return fl_default_generator_state().seed


def get_rng_state():
    """The default generator's seed and position."""
    state = _state_tensor(fl_default_generator_state())
    about_to_change(None, "get_state", state)
    return state


def set_rng_state(state):
    """Continue the default generator from what ``get_rng_state`` gave."""
    if about_to_change(None, "set_state", state):
        return
    _load_state(fl_default_generator_state(), state)


def exchange_own_generator(Generator generator):
    """Give this thread a default generator of its own, or ``None``; returns the one it had."""
    cdef void *previous
    if generator is None:
        previous = fl_exchange_own_generator(NULL)
    else:
        Py_INCREF(generator)
        previous = fl_exchange_own_generator(<void *>generator)
    if previous == NULL:
        return None
    former = <object>previous
    Py_DECREF(former)
    return former


default_generator = Generator()
fl_set_default_generator(<void *>default_generator)
Py_INCREF(default_generator)        # the stream lives as long as the process
