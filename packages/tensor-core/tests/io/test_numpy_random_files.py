"""Random generators of NumPy in files: they go on where they were, and damage is found."""

from __future__ import annotations

import io

import numpy as np
import pytest
from checkpoint_files import Call, Name, archive

import flambeau
from flambeau.core.io import FileError

FORMATS = pytest.mark.parametrize("format", ("flambeau", "torch"))
BITS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
PICKLE = "numpy.random._pickle"


def again(obj, format):
    file = io.BytesIO()
    flambeau.save(obj, file, format=format)
    file.seek(0)
    return flambeau.load(file)


def moved(made):
    """A generator in the middle of its numbers: half an integer and half a pair are left."""
    made.random(5)
    made.integers(0, 9, 3, dtype=np.int32) if hasattr(made, "integers") else made.randint(9)
    made.standard_normal()
    return made


def draws(made):
    return [*made.standard_normal(3).tolist(), *made.random(700).tolist()]


@FORMATS
@pytest.mark.parametrize("bits", BITS)
def test_generators_go_on_and_spawn_as_they_would(format, bits):
    made = moved(np.random.Generator(getattr(np.random, bits)([3, 1 << 70])))
    made.bit_generator.seed_seq.spawn(2)
    found = again({"a": made, "b": [made], "bits": made.bit_generator}, format)
    assert found["a"] is found["b"][0] and found["a"].bit_generator is found["bits"]
    child, other = (x.bit_generator.seed_seq.spawn(1)[0] for x in (made, found["a"]))
    assert (child.spawn_key, child.generate_state(2).tolist()) == \
        (other.spawn_key, other.generate_state(2).tolist())
    assert draws(made) == draws(found["a"])


@FORMATS
def test_random_states_go_on(format):
    made = moved(np.random.RandomState(7))      # half a pair of normal numbers is left
    assert draws(again(made, format)) == draws(made)


@FORMATS
def test_seeds_of_seeds(format):
    seeds = np.random.SeedSequence([1, 2], spawn_key=(4,), pool_size=8)
    found = again(seeds, format)
    assert found.spawn(1)[0].generate_state(4).tolist() == \
        seeds.spawn(1)[0].generate_state(4).tolist()
    assert found.pool.tolist() == seeds.pool.tolist()


@pytest.mark.oracle
def test_pytorch_reads_them_and_writes_them():
    import torch

    for made in (moved(np.random.default_rng(3)), moved(np.random.RandomState(3))):
        for writer, reader in ((torch, flambeau), (flambeau, torch)):
            file = io.BytesIO()
            writer.save(made, file, **({} if writer is torch else {"format": "torch"}))
            file.seek(0)
            found = reader.load(file, weights_only=False)
            assert draws(found) == draws(again(made, "flambeau"))


def test_pickles_of_older_versions_of_numpy():
    """A generator was its bit generator's name, and a state of its own."""
    made = moved(np.random.default_rng(3))
    state = made.bit_generator.state
    old = Call(Name(PICKLE, "__generator_ctor"), "PCG64", state=state)
    assert draws(flambeau.load(io.BytesIO(archive(old)))) == draws(made)


def _mersenne(**changes):
    raw = Call(Name("numpy._core.multiarray", "_reconstruct"), Name("numpy", "ndarray"), (0,),
               b"b", state=(1, (624,), Call(Name("numpy", "dtype"), "u4", False, True), False,
                            bytes(2496)))
    return {"bit_generator": "MT19937", "state": {"key": raw, "pos": 3} | changes}


def _bits(name, state):
    return Call(Name(PICKLE, "__bit_generator_ctor"), name, state=state)


@pytest.mark.parametrize("program", [
    _bits("MT19937", _mersenne(pos=100000)), _bits("MT19937", _mersenne(pos=-1)),
    _bits("MT19937", (_mersenne(pos=625), None)), _bits("MT19937", _mersenne(key=[1, 2])),
    _bits("MT19937", (_mersenne(), "seeds")), _bits("PCG64", _mersenne()), _bits("MT19937", 3),
    _bits("Philox", {"bit_generator": "Philox", "buffer_pos": -5, "has_uint32": 0, "uinteger": 0,
                     "state": {"counter": [0] * 4, "key": [0] * 2}, "buffer": [0] * 4}),
    _bits("default_rng", _mersenne()), _bits(Name("numpy.random", "seed"), _mersenne()),
    Call(Name(PICKLE, "__generator_ctor"), "MT19937", state=_mersenne(pos=625)),
    Call(Name(PICKLE, "__generator_ctor"), Name("numpy.random._pcg64", "PCG64"),
         Name("os", "system")),
    Call(Name(PICKLE, "__randomstate_ctor"), "MT19937", state=_mersenne(pos=625)),
    Call(Name("numpy.random._pcg64", "PCG64"), 3),
    Call(Name("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"), None, 0,
         (1, 0, [1, 2, 3, 4], 4, ())),
    Call(Name("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"), None, 0,
         (1, 0, None, 1 << 40, ())),
])
@pytest.mark.parametrize("weights_only", (True, False))
def test_damaged_states_are_refused(program, weights_only):
    with pytest.raises(FileError):
        flambeau.load(io.BytesIO(archive(program)), weights_only=weights_only)


def test_the_undamaged_state_of_these_tests_is_read():
    found = flambeau.load(io.BytesIO(archive(_bits("MT19937", _mersenne()))))
    assert found.state["state"]["pos"] == 3
