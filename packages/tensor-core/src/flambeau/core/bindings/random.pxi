# Generators: a seed and how much of its stream is used.

cdef object _as_device(object value):
    return value if isinstance(value, device) else device(value)


cdef object _integer_seed(object seed):
    try:
        return int(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"manual_seed(): seed must be an integer, not {seed!r}") from None


#: How the default generator, and those that are made, draw: "philox" or "mt19937".
cdef str _algorithm = "philox"


cdef int _choose(fl_generator_state *s, str algorithm) except -1:
    """Start the stream of a state's seed, drawn by this algorithm."""
    if algorithm == "mt19937":
        if s.mersenne == NULL:
            s.mersenne = fl_mersenne_new()
            if s.mersenne == NULL:
                raise MemoryError()
        fl_mersenne_seed(s.mersenne, s.seed)
    elif algorithm == "philox":
        fl_mersenne_free(s.mersenne)
        s.mersenne = NULL
    else:
        raise ValueError(f"there is no algorithm {algorithm!r} of random numbers; give 'philox', "
                         "or 'mt19937', which draws PyTorch's numbers")
    s.offset = 0
    return 0


cdef void _start_stream(fl_generator_state *s, uint64_t seed) noexcept:
    s.seed = seed
    s.offset = 0
    if s.mersenne != NULL:
        fl_mersenne_seed(s.mersenne, seed)


cdef class Generator:
    """State of a random number stream.

    Args:
        device: Whose numbers it is for; the stream does not depend on it.
        algorithm: ``"philox"`` (Philox 4x32-10, counter based) or ``"mt19937"``, whose numbers are
            those of PyTorch; what `flambeau.random.set_algorithm` was told where it is left out.
    """
    cdef fl_generator_state state           # must stay first
    cdef readonly object device

    def __cinit__(self, device="cpu", algorithm=None):
        self.state.seed = 67280421310721
        self.state.mersenne = NULL
        self.device = _as_device(device)
        _unbox_device(<PyObject *>self.device)   # refuses what nothing makes
        _choose(&self.state, _algorithm if algorithm is None else algorithm)

    def __dealloc__(self):
        fl_mersenne_free(self.state.mersenne)

    @property
    def algorithm(self) -> str:
        """``"philox"`` or ``"mt19937"``."""
        return "philox" if self.state.mersenne == NULL else "mt19937"

    def manual_seed(self, seed):
        """Start the stream of this seed."""
        if about_to_change(self, "manual_seed", seed):
            return self
        _start_stream(&self.state, <uint64_t>(_integer_seed(seed) & 0xFFFFFFFFFFFFFFFF))
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
        """Seed and position as a tensor: of two uint64, or of bytes in PyTorch's format."""
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
        cdef Generator copy = Generator(self.device, self.algorithm)
        about_to_change(self, "clone_state()")
        copy.state.seed, copy.state.offset = self.state.seed, self.state.offset
        if self.state.mersenne != NULL:
            fl_mersenne_copy(copy.state.mersenne, self.state.mersenne)
        return copy

    def __reduce__(self):
        return _generator_at, (str(self.device), _state_tensor(&self.state).tolist())

    def __repr__(self):
        where = "mt19937" if self.state.mersenne != NULL else f"block {self.state.offset}"
        return f"<Generator: seed {self.state.seed}, {where}>"


def _generator_at(device, values):
    cdef Generator made = Generator(device)
    _load_values(&made.state, values)
    return made


cdef object _state_tensor(fl_generator_state *s):
    if s.mersenne != NULL:
        memory = bytearray(FL_MERSENNE_BYTES)
        fl_mersenne_save(s.mersenne, s.seed, memory)
        return frombuffer(memory, dtype=_dtypes[FL_U8])
    return tensor([s.seed, s.offset], dtype=_dtypes[FL_U64], device="cpu")


cdef int _load_state(fl_generator_state *s, object state) except -1:
    return _load_values(s, state.tolist())


cdef int _load_values(fl_generator_state *s, list values) except -1:
    if len(values) == FL_MERSENNE_BYTES:
        memory = bytes(values)
        _choose(s, "mt19937")
        if fl_mersenne_load(s.mersenne, &s.seed, memory) < 0:
            raise RuntimeError("set_state(): these bytes are no state that get_state() gave")
    elif len(values) == 2:
        _choose(s, "philox")
        s.seed, s.offset = values
    else:
        raise ValueError("set_state(): expected what get_state() gives: two numbers, or the "
                         f"{FL_MERSENNE_BYTES} bytes of mt19937, not {len(values)} numbers")
    return 0


def set_algorithm(algorithm):
    """Choose how random numbers are drawn; the default generator starts anew with its seed.

    Args:
        algorithm: ``"philox"``, which is the default, or ``"mt19937"``: the numbers that PyTorch
            draws on a CPU from the same seed.

    Example:
        >>> import flambeau
        >>> flambeau.random.set_algorithm("mt19937")
        >>> _ = flambeau.manual_seed(0)
        >>> flambeau.rand(2)
        tensor([0.4963, 0.7682])
        >>> flambeau.random.set_algorithm("philox")
    """
    global _algorithm
    _choose(&_first_generator.state, algorithm)
    _algorithm = algorithm


def get_algorithm() -> str:
    """Return how random numbers are drawn where a generator does not say otherwise."""
    return _algorithm


def draws_like_pytorch(generator=None):
    """Say whether a generator, ``None`` for the default one, draws by the Mersenne Twister."""
    if generator is None:
        return fl_default_generator_state().mersenne != NULL
    return (<Generator?>generator).state.mersenne != NULL


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
    global _seedings
    _seedings += not fl_has_own_generator()
    _start_stream(s, <uint64_t>(_integer_seed(seed) & 0xFFFFFFFFFFFFFFFF))
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


#: How often the generator of the process was seeded: what devices' generators follow.
cdef uint64_t _seedings = 0


def seedings() -> tuple[int, int]:
    """Return how often the generator of the process was seeded, and its seed."""
    return _seedings, _first_generator.state.seed


def take_blocks(Generator generator, Generator fallback, uint64_t count):
    """Take Philox blocks from a generator for kernels that draw from them.

    Args:
        generator: Where from; ``None`` for this thread's own generator, or ``fallback`` where it
            has none.
        fallback: The generator of a device; ``None`` for that of the process.
        count: How many blocks.

    Returns:
        The seed and the number of the first block; ``None`` where the generator is a twister, from
        which nothing is taken.
    """
    cdef void *chosen = <void *>generator
    if generator is None:
        chosen = NULL
        if fallback is not None and not fl_has_own_generator():
            chosen = <void *>fallback
    cdef fl_generator_state *s = fl_generator_state_of(chosen)
    if s.mersenne != NULL:
        return None
    return s.seed, fl_generator_reserve(chosen, count)


cdef Generator _first_generator = Generator()
default_generator = _first_generator
fl_set_default_generator(<void *>default_generator)
Py_INCREF(default_generator)        # the stream lives as long as the process
