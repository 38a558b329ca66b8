"""Random generators of NumPy in files: their states as data, set with checks.

NumPy pickles them as calls of functions of its own, which take what they are given: an index
outside a state would read memory that is none of its. Here those functions' names stand for
builders of known classes, whose states are checked.
"""
from __future__ import annotations

from typing import Any

from flambeau.core.io.errors import fail
from flambeau.core.io.objects import loaded_numpy
from flambeau.core.io.pickles import Named

#: Bit generators -> the module that defines each.
_BITS = {"MT19937": "_mt19937", "PCG64": "_pcg64", "PCG64DXSM": "_pcg64", "Philox": "_philox",
         "SFC64": "_sfc64"}
_OTHERS = ("Generator", "RandomState", "SeedSequence")
#: What of a state is an index -> the largest.
_INDICES = {"pos": 624, "buffer_pos": 4}
_MOST_POOLED = 1024     # mixing entropy takes time that grows with the square


def _kind(obj: Any) -> str | None:
    """The name of the class of a generator or of what it is made of; None for other objects."""
    random = getattr(loaded_numpy(), "random", None)
    name = type(obj).__name__
    known = random is not None and (name in _BITS or name in _OTHERS)
    return name if known and type(obj) is getattr(random, name) else None


def is_random(obj: Any) -> bool:
    """Say whether it is a generator of NumPy, a bit generator or a sequence of seeds."""
    return _kind(obj) is not None


def parts_of(obj: Any) -> tuple[str, list[Any]]:
    """The kind of a generator, and what makes another one like it."""
    kind = type(obj).__name__
    if kind == "Generator":
        return kind, [obj.bit_generator]
    if kind == "RandomState":
        return kind, [obj._bit_generator, obj.get_state(legacy=False)]
    if kind == "SeedSequence":
        return kind, [obj.entropy, obj.n_children_spawned, obj.pool, obj.pool_size, obj.spawn_key]
    return kind, [obj.state, getattr(obj, "_seed_seq", None)]


def joined(kind: Any, parts: list[Any]) -> Any:
    """The object of ``parts_of``."""
    if kind in ("Generator", "RandomState"):
        made = _over(kind)(parts[0])
        if kind == "RandomState":
            _set_state(made, parts[1])
        return made
    if kind != "SeedSequence":
        made = _bits(kind)
        _set_bits(made, tuple(parts))
        return made
    made = _blank_sequence()
    _set_sequence(made, tuple(parts))
    return made


def setter(obj: Any) -> Any:
    """What gives its state to such an object; None for others."""
    kind = _kind(obj)
    if kind in _BITS:
        return _set_bits
    return {"SeedSequence": _set_sequence, "RandomState": _set_state,
            "Generator": lambda made, state: _set_bits(made.bit_generator, state)}.get(kind or "")


# ---- making --------------------------------------------------------------------


def _damaged() -> None:
    fail("a random generator of NumPy in the file is damaged")


def _bits(kind: Any = "MT19937") -> Any:
    import numpy.random

    name = kind.name if isinstance(kind, Named) else kind
    if not isinstance(name, str) or name not in _BITS:
        _damaged()
    return getattr(numpy.random, name)()


def _over(kind: str) -> Any:
    def make(bits: Any = "MT19937", constructor: Any = None) -> Any:
        import numpy.random

        return getattr(numpy.random, kind)(bits if _kind(bits) in _BITS else _bits(bits))

    return make


def _blank_sequence(kind: Any = None, version: Any = None, state: Any = None) -> Any:
    import numpy.random

    made = numpy.random.SeedSequence(0)
    if state is not None:
        _set_sequence(made, state)
    return made


# ---- states --------------------------------------------------------------------


def _check(state: Any) -> None:
    if not isinstance(state, dict):
        _damaged()
    inner = state.get("state")
    for facts in (state, inner if isinstance(inner, dict) else {}):
        for name, most in _INDICES.items():
            if name in facts and not (type(facts[name]) is int and 0 <= facts[name] <= most):
                _damaged()


def _set_bits(bits: Any, state: Any) -> None:
    """Give a bit generator its state, and the seeds from which others are spawned."""
    state, seeds = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    _check(state)
    if seeds is None:
        bits.state = state
    elif _kind(seeds) == "SeedSequence":
        bits.__setstate__((state, seeds))
    else:
        _damaged()


def _set_state(made: Any, state: Any) -> None:
    _check(state)
    made.set_state(state)


def _set_sequence(seeds: Any, state: Any) -> None:
    """Give a sequence of seeds its state: entropy, children, pool, its size, key."""
    if not isinstance(state, tuple) or len(state) != 5:
        _damaged()
    entropy, children, pool, size, key = state
    if type(size) is not int or size > _MOST_POOLED or not isinstance(key, tuple | list):
        _damaged()
    seeds.__init__(entropy, spawn_key=tuple(key), pool_size=size, n_children_spawned=children)
    if getattr(pool, "shape", None) != seeds.pool.shape or (pool != seeds.pool).any():
        _damaged()


#: What pickles name for them.
NAMES: dict[str, Named] = {
    **{f"numpy.random.{module}.{name}": Named(name) for name, module in _BITS.items()},
    "numpy.random.bit_generator.SeedSequence": Named("SeedSequence"),
    "numpy.random.bit_generator.__pyx_unpickle_SeedSequence": Named(
        "SeedSequence", _blank_sequence),
    **{f"numpy.random._pickle.{name}": Named(name, build) for name, build in (
        ("__bit_generator_ctor", _bits), ("__generator_ctor", _over("Generator")),
        ("__randomstate_ctor", _over("RandomState")))},
}
