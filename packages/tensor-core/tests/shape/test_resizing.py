"""Other shapes and memory in place, loops in Python, default devices and switches."""

from __future__ import annotations

import threading

import numpy
import pytest

import flambeau


@pytest.mark.parametrize("make", (
    lambda: flambeau.from_numpy(numpy.arange(4.0)), lambda: flambeau.as_tensor(numpy.arange(4.0)),
    lambda: flambeau.frombuffer(bytearray(32), dtype=flambeau.float64),
    lambda: flambeau.from_dlpack(numpy.arange(4.0)),
    lambda: flambeau.zeros(4, dtype=flambeau.float64).share_memory_()))
def test_memory_of_arrays_is_not_left_silently(make):
    x = make()
    assert x.resize_(2).shape == (2,)
    assert x.resize_(4).shape == (4,)
    for grow in (lambda: x.resize_(5), lambda: x[1:].resize_(4),
                 lambda: flambeau.ones(8, out=x), lambda: x.resize_as_(flambeau.zeros(3, 3))):
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            grow()
    assert x.shape == (4,)


def test_memory_that_an_array_shows_is_not_left_silently():
    x = flambeau.arange(4.0)
    array = x.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(9)
    x[1] = 7
    assert array[1] == 7
    y = flambeau.arange(4.0)
    y.data_ptr()
    assert y.resize_(9).shape == (9,)


def test_a_size_by_name():
    assert flambeau.arange(4).resize_(size=(2, 2)).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(TypeError):
        flambeau.arange(4).resize_(2, size=(2, 2))


def test_resize_keeps_memory_that_suffices():
    x = flambeau.arange(6.0)
    index = x.data_ptr()
    assert x.resize_(2, 2) is x
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_((6,)).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x.data_ptr() == index
    x.resize_(200)
    assert x[:6].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x.resize_as_(flambeau.zeros(3, 1)).tolist() == [[0.0], [1.0], [2.0]]


def test_resize_in_a_memory_format():
    x = flambeau.zeros(2).resize_(2, 3, 4, 5, memory_format=flambeau.channels_last)
    assert x.stride() == (60, 1, 15, 3)


def test_resize_of_a_slice_goes_on_in_its_memory():
    x = flambeau.arange(6)[2:4]
    assert x.resize_(4).tolist() == [2, 3, 4, 5]


def test_set_shows_the_memory_of_another():
    x, y = flambeau.zeros(3), flambeau.arange(6.0)
    x.set_(y, 1, (2, 2), (2, 1))
    assert x.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    x[0, 0] = 9
    assert y[1] == 9
    assert x.set_(y).shape == (6,)
    assert x.set_().numel() == 0
    with pytest.raises(RuntimeError, match=r"set_\(\): source is flambeau.int64"):
        flambeau.zeros(1).set_(flambeau.tensor([1]))
    with pytest.raises(TypeError, match="must be a tensor or a storage, not list"):
        flambeau.zeros(1).set_([1])


def test_elements_are_replaced_by_functions_of_python():
    x = flambeau.tensor([[1, 2], [3, 4]])
    assert x.apply_(lambda v: 2 * v).tolist() == [[2, 4], [6, 8]]
    assert x.map_(flambeau.tensor([1, 2]), lambda a, b: a - b).tolist() == [[1, 2], [5, 6]]
    assert x.map2_(x, x, lambda a, b, c: a + b + c).tolist() == [[3, 6], [15, 18]]
    assert x.t().apply_(lambda v: v + 1).tolist() == [[4, 16], [7, 19]]
    with pytest.raises(TypeError, match=r"map_\(\): expected a tensor of flambeau.int64"):
        x.map_(flambeau.zeros(2, 2), max)
    with pytest.raises(RuntimeError, match="cannot be broadcast"):
        x.map_(flambeau.zeros(3, dtype=flambeau.int64), max)
    with pytest.raises(TypeError, match="only implemented on CPU"):
        flambeau.zeros(2, device="meta").apply_(abs)


def test_default_device():
    try:
        flambeau.set_default_device("meta")
        made = [flambeau.zeros(2), flambeau.tensor([1]), flambeau.tensor(1.5), flambeau.rand(2),
                flambeau.arange(3), flambeau.eye(2), flambeau.randperm(3), flambeau.full((2,), 1),
                flambeau.hann_window(4), flambeau.linspace(0, 1, 3), flambeau.fft.fftfreq(4),
                flambeau.asarray([1])]
        assert {str(x.device) for x in made} == {"meta"}
        x = flambeau.arange(4, device="cpu")
        assert x[[0, 2]].tolist() == [0, 2]
        x[[1, 3]] = 7
        assert x.tolist() == [0, 7, 2, 7]
        assert flambeau.from_numpy(numpy.zeros(1)).is_cpu
        assert flambeau.zeros(1, device="cpu").is_cpu
    finally:
        flambeau.set_default_device(None)
    assert str(flambeau.get_default_device()) == "cpu"
    assert flambeau.zeros(1).is_cpu


def test_with_a_device():
    with flambeau.device("meta"):
        with flambeau.device("cpu"):
            assert flambeau.ones(1).is_cpu
        assert flambeau.ones(1).is_meta
        seen = []
        thread = threading.Thread(target=lambda: seen.append(flambeau.ones(1).is_cpu))
        thread.start()
        thread.join()
        assert seen == [True]
    assert flambeau.ones(1).is_cpu
    with pytest.raises(KeyError), flambeau.device("meta"):
        raise KeyError
    assert flambeau.ones(1).is_cpu


def test_asarray():
    x = numpy.zeros(2)
    flambeau.asarray(x)[0] = 1
    flambeau.asarray(x, copy=True)[1] = 5
    assert x.tolist() == [1, 0]
    y = flambeau.zeros(2)
    assert flambeau.asarray(y) is y
    assert flambeau.asarray(y, copy=True).data_ptr() != y.data_ptr()
    assert flambeau.asarray(y, dtype=flambeau.int64).dtype is flambeau.int64
    for given in ([1, 2], x.astype("float16")):
        with pytest.raises(ValueError, match="needs a copy"):
            flambeau.asarray(given, copy=False, dtype=flambeau.float32)


def test_range_includes_its_end_and_warns():
    with pytest.warns(UserWarning, match="deprecated"):
        assert flambeau.range(1, 2, 0.5).tolist() == [1.0, 1.5, 2.0]
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="inconsistent"):
        flambeau.range(1, 0)


def test_switches():
    flambeau.set_float32_matmul_precision("high")
    assert flambeau.get_float32_matmul_precision() == "high"
    flambeau.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="must be one of"):
        flambeau.set_float32_matmul_precision("low")
    flambeau.use_deterministic_algorithms(True, warn_only=True)
    assert flambeau.are_deterministic_algorithms_enabled()
    assert flambeau.is_deterministic_algorithms_warn_only_enabled()
    flambeau.use_deterministic_algorithms(False)
    assert not flambeau.are_deterministic_algorithms_enabled()
    flambeau.set_num_interop_threads(2)
    assert flambeau.get_num_interop_threads() == 2
    with pytest.raises(RuntimeError, match="positive int"):
        flambeau.set_num_interop_threads(0)


def test_dense_tensors_are_not_sparse():
    x = flambeau.zeros(1)
    assert x.layout == flambeau.strided
    assert not (x.is_sparse or x.is_quantized or x.is_nested or x.is_pinned() or x.is_shared())


def test_segments_must_fill_the_dimension():
    x = flambeau.ones(4, 2)
    with pytest.raises(RuntimeError, match="must add up to the 4 elements"):
        flambeau.segment_reduce(x, "sum", lengths=flambeau.tensor([1, 2]))
    with pytest.raises(RuntimeError, match="negative value"):
        flambeau.segment_reduce(x, "sum", lengths=flambeau.tensor([5, -1]))
    with pytest.raises(RuntimeError, match="either lengths= or offsets="):
        flambeau.segment_reduce(x, "sum")
    with pytest.raises(RuntimeError, match="reduce must be one of"):
        flambeau.segment_reduce(x, "middle", lengths=flambeau.tensor([4]))


@pytest.mark.parametrize("reduce, expected", [
    ("sum", [1.0, 0.0, 9.0]), ("mean", [1.0, 0.0, 2.25]), ("max", [1.0, 0.0, 5.0])])
def test_offsets_leave_elements_out(reduce, expected):
    x = flambeau.tensor([7.0, 1.0, 4.0, 5.0, 0.0, 0.0, 7.0, 7.0])
    offsets = flambeau.tensor([1, 2, 2, 6])
    found = flambeau.segment_reduce(x, reduce, offsets=offsets, initial=0)
    assert found.tolist() == expected
    rows = flambeau.stack([x, 2 * x])
    both = flambeau.segment_reduce(rows, reduce, offsets=offsets.repeat(2, 1), axis=1, initial=0)
    assert both.tolist() == [found.tolist(), (2 * found).tolist()]


def test_lengths_that_end_early_where_unsafe():
    x = flambeau.arange(6.0)
    lengths = flambeau.tensor([1, 2])
    assert flambeau.segment_reduce(x, "sum", lengths=lengths, unsafe=True).tolist() == [0.0, 3.0]


@pytest.mark.parametrize("offsets", [[0, 9], [3, 1], [-1, 4]])
def test_offsets_outside_or_falling_are_refused(offsets):
    with pytest.raises(RuntimeError, match="must rise from 0 to at most the 8 elements"):
        flambeau.segment_reduce(flambeau.ones(8), "sum", offsets=flambeau.tensor(offsets))


def test_embedding_bag_under_its_flat_name():
    table = flambeau.arange(10.0).reshape(5, 2)
    rows, starts = flambeau.tensor([0, 1, 4, 3]), flambeau.tensor([0, 2])
    result, bags, counts, _ = flambeau.embedding_bag(table, rows, starts, mode=1)
    assert result.tolist() == [[1.0, 2.0], [7.0, 8.0]]
    assert (bags.tolist(), counts.tolist()) == ([0, 0, 1, 1], [2, 2])
    with pytest.raises(ValueError, match="mode is 0"):
        flambeau.embedding_bag(table, rows, starts, mode="sum")


def test_resize_as_in_the_order_of_the_other():
    x = flambeau.ones(2, 3, 4, 4).contiguous(memory_format=flambeau.channels_last)
    assert flambeau.ones(96).resize_as_(x, memory_format=flambeau.preserve_format).stride() == \
        (48, 1, 12, 3)
    assert flambeau.ones(96).resize_as_(x).stride() == (48, 16, 4, 1)


def test_a_change_of_shape_counts_as_a_write():
    x = flambeau.zeros(1)
    x.add_(1)
    before = x._version
    assert x.resize_(5)._version == before + 1       # in new memory
    assert x.resize_(2)._version == before + 2       # in the same
    assert x.resize_(2)._version == before + 2
    assert x.resize_as_(flambeau.zeros(2, 1))._version == before + 3
