"""Tensors, and what else the library makes, on their way to other processes and back."""

from __future__ import annotations

import importlib
import io
import multiprocessing
import pickle
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler

import process_targets
import pytest
from arrays import DTYPES, make, tensor

import flambeau

METHODS = ("fork", "spawn", "forkserver")


def _tensors():
    x = flambeau.arange(12).view(3, 4)
    return [*(tensor(make((2, 3), dtype), dtype) for dtype in DTYPES),
            x.t(), x[1:, ::2], x[:, :1].expand(3, 4), x[3:, 1:], flambeau.zeros(2, 0, 3),
            flambeau.zeros(0), flambeau.tensor(2.5), flambeau.ones(2, 3, device="meta").t()]


def _others():
    generator = flambeau.Generator().manual_seed(4)
    return [flambeau.bfloat16, flambeau.device("meta"), flambeau.Size([2, 3]), generator,
            flambeau.channels_last, flambeau.add, flambeau.finfo(flambeau.float16),
            flambeau.tensor([3., 1.]).max(0)]


def _plain(value):
    """Something that says all there is about a value, and compares."""
    if isinstance(value, flambeau.Generator):
        return value.get_state().tolist()
    if isinstance(value, tuple):
        return type(value), [_plain(item) for item in value]
    if not isinstance(value, flambeau.Tensor):
        return repr(value)
    shown = None if value.is_meta else value.tolist()
    return type(value), value.dtype, value.shape, value.stride(), value.device, shown


def _same_after(send, receive):
    assert _plain(receive()) == _plain(flambeau.arange(6).view(2, 3).t())
    for value in _tensors() + _others():
        send(value)
        assert _plain(receive()) == _plain(value)


@pytest.mark.parametrize("method", METHODS)
def test_queues(method):
    context = multiprocessing.get_context(method)
    requests, answers = context.Queue(), context.Queue()
    child = context.Process(target=process_targets.echo, args=(requests, answers))
    child.start()
    _same_after(requests.put, lambda: answers.get(timeout=60))
    requests.put(None)
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.parametrize("method", METHODS)
def test_pipes(method):
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    child = context.Process(target=process_targets.echo_pipe, args=(theirs,))
    child.start()
    theirs.close()
    _same_after(ours.send, ours.recv)
    ours.send(None)
    child.join(60)
    assert child.exitcode == 0


@pytest.mark.parametrize("method", METHODS)
def test_pools_call_the_operators_that_they_are_given(method):
    """A namespace's operator is not the one that has its name elsewhere: svd gives Vh, not V."""
    x = flambeau.tensor([[1., 2.], [3., 4.]])
    jobs = [(flambeau.linalg.svd, x), (flambeau.svd, x), (flambeau.linalg.norm, x, 1),
            (flambeau.norm, x, 1), (x.float,), (flambeau.Tensor.double, x),
            (flambeau.fft.fft, x), (flambeau.numel, x)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        results = pool.map(process_targets.apply, jobs, chunksize=1)
    for job, result in zip(jobs, results, strict=True):
        assert _plain(result) == _plain(process_targets.apply(job))
    assert results[2].item() == 6.0
    assert results[3].item() == 10.0


@pytest.mark.parametrize("dispatch_table", [None, {}])
def test_picklers_need_not_ask_copyreg(dispatch_table):
    """A pickler's own table replaces copyreg's; multiprocessing copies it before each pickle."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file)
    if dispatch_table is not None:
        pickler.dispatch_table = dispatch_table
    pickler.dump(flambeau.arange(3)[1:])
    assert pickle.loads(file.getvalue()).tolist() == [1, 2]


def test_the_first_pickle_of_a_process():
    code = ("from multiprocessing.reduction import ForkingPickler\n"
            "import pickle, flambeau\n"
            "assert pickle.loads(ForkingPickler.dumps(flambeau.ones(2))).tolist() == [1, 1]\n")
    _run(code)


def _run(code):
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _public(*modules):
    for name in modules:
        module = importlib.import_module(name)
        for attribute in module.__all__:
            value = getattr(module, attribute)
            if callable(value):
                yield f"{name}.{attribute}", value
    for attribute in dir(flambeau.Tensor):
        value = getattr(flambeau.Tensor, attribute)
        if callable(value) and not attribute.startswith("_") \
                and not type(value).__name__ == "_Missing":
            yield f"flambeau.Tensor.{attribute}", value


def test_public_functions_and_types_pickle_as_themselves():
    for name, value in _public("flambeau", "flambeau.linalg", "flambeau.fft", "flambeau.special",
                               "flambeau.signal.windows", "flambeau.random",
                               "flambeau.return_types"):
        assert pickle.loads(ForkingPickler.dumps(value)) is value, name


def test_an_operator_that_is_not_registered_here():
    raw = pickle.dumps(flambeau.add).replace(b"add", b"bad")
    with pytest.raises(AttributeError, match="no operator 'bad' in this process"):
        pickle.loads(raw)


def test_types_of_named_outputs():
    values, indices = pair = flambeau.tensor([3., 1.]).sort()
    kind = flambeau.return_types.sort
    assert type(pair) is kind
    assert kind((values, indices)) == kind(values, indices) == pair
    assert pair._asdict() == {"values": values, "indices": indices}
    assert pair._replace(indices=0)[1] == 0
    with pytest.raises(TypeError, match="takes 2 values .values, indices., got 3"):
        kind((1, 2, 3))
    with pytest.raises(ValueError, match="no field 'value'"):
        pair._replace(value=0)
    found = flambeau.histogramdd(flambeau.ones(3, 2), 2)
    assert type(pickle.loads(pickle.dumps(found))) is flambeau.return_types.histogramdd


def test_public_functions_pickle_once_calls_are_shown():
    """A class with __torch_function__ puts covers over functions and methods."""
    code = ("import pickle, flambeau\n"
            "class Sub(flambeau.Tensor):\n"
            "    @classmethod\n"
            "    def __torch_function__(cls, func, types, args=(), kwargs=None):\n"
            "        return super().__torch_function__(func, types, args, kwargs)\n"
            "for value in (flambeau.as_tensor, flambeau.Tensor.apply_, flambeau.Tensor.exp,\n"
            "              flambeau.Tensor.tolist, flambeau.fft.fftfreq, flambeau.relu):\n"
            "    assert pickle.loads(pickle.dumps(value)) is value, value\n")
    subprocess.run([sys.executable, "-c", code], check=True)
