"""Pipelines: what stages refuse, one iterator at a time, graphs, and loaders of pipelines."""

import copy
import pickle
import warnings
from functools import partial

import pytest

import flambeau
from flambeau.utils.data import (
    DataLoader,
    IterDataPipe,
    MapDataPipe,
    argument_validation,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
    runtime_validation,
    runtime_validation_disabled,
)
from flambeau.utils.data.datapipes.iter import Forker, IterableWrapper, Mapper
from flambeau.utils.data.datapipes.map import SequenceWrapper
from flambeau.utils.data.datapipes.utils.common import StreamWrapper
from flambeau.utils.data.datapipes.utils.snapshot import _simple_graph_snapshot_restoration
from flambeau.utils.data.graph import traverse_dps
from flambeau.utils.data.graph_settings import apply_sharding, get_all_graph_pipes


def double(x):
    return x * 2


def test_a_second_iterator_makes_the_first_one_invalid():
    stage = IterableWrapper(range(4)).map(double)
    first = iter(stage)
    assert next(first) == 0
    second = iter(stage)
    assert next(second) == 0
    with pytest.raises(RuntimeError, match="This iterator has been invalidated"):
        next(first)
    assert list(second) == [2, 4, 6]
    assert stage._number_of_samples_yielded == 4


def test_stages_that_are_their_own_iterator_are_reset():
    class Count(IterDataPipe):
        def __iter__(self):
            return self

        def __next__(self):
            self.number += 1
            if self.number > 3:
                raise StopIteration
            return self.number

        def reset(self):
            self.number = 0

    stage = Count()
    assert list(stage) == list(stage) == [1, 2, 3]
    assert stage._number_of_samples_yielded == 3


def test_forks_are_read_at_their_own_pace_as_far_as_the_buffer_goes():
    one, two = IterableWrapper(range(6)).fork(2, buffer_size=3)
    slow = iter(two)
    fast = iter(one)
    assert [next(fast) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(BufferError, match="insufficient"):
        next(fast)
    assert next(slow) == 0
    with pytest.warns(UserWarning, match="not exhausted"):
        assert next(iter(one)) == 0
    with pytest.raises(RuntimeError, match="invalidated"):
        next(slow)
    with pytest.raises(ValueError, match="larger than 0"):
        Forker(IterableWrapper([1]), 2, buffer_size=0)


def test_demultiplexed_samples_go_to_one_stage():
    stages = IterableWrapper(range(7)).demux(3, partial(divmod_second, 3))
    assert list(map(list, stages)) == [[0, 3, 6], [1, 4], [2, 5]]
    assert list(map(list, stages)) == [[0, 3, 6], [1, 4], [2, 5]]
    wrong, _ = IterableWrapper([5]).demux(2, double)
    with pytest.raises(ValueError, match="between 0 and 1. 10 is returned"):
        list(wrong)


def divmod_second(by, x):
    return x % by


def test_what_stages_refuse():
    pipe = IterableWrapper(range(3))
    with pytest.raises(ValueError, match="2 are required"):
        pipe.map(double, input_col=[0, 1])
    with pytest.raises(ValueError, match="must be None"):
        pipe.map(double, output_col=1)
    with pytest.raises(ValueError, match="Boolean output"):
        list(pipe.filter(double))
    with pytest.raises(TypeError, match="valid length"):
        len(IterableWrapper(iter([1]), deepcopy=False).map(double))
    with pytest.raises(IndexError, match="exceeds the depth"):
        list(pipe.unbatch())
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        pipe.absent  # noqa: B018
    with pytest.raises(Exception, match="already taken"):
        functional_datapipe("map")(Mapper)
    with pytest.warns(UserWarning, match="Lambda"):
        Mapper(pipe, eval("lambda x: x"))


def test_graphs_hold_each_stage():
    source = IterableWrapper(range(10))
    one, two = source.shuffle().fork(2)
    last = one.map(double).zip(two)
    stages = get_all_graph_pipes(traverse_dps(last))
    assert len(stages) == 7 and any(stage is source for stage in stages)
    assert [id(last)] == list(traverse_dps(last))
    with pytest.raises(RuntimeError, match="Sharding twice"):
        apply_sharding(source.sharding_filter().map(double).sharding_filter(), 2, 0)
    with pytest.raises(RuntimeError, match="Expected `IterDataPipe`"):
        traverse_dps([last])


def test_pipelines_are_copied_and_sent():
    pipe = IterableWrapper(range(20)).shuffle().set_seed(4).map(double).batch(3)
    wanted = list(copy.deepcopy(pipe))
    assert list(pickle.loads(pickle.dumps(pipe))) == wanted
    assert sorted(sum(wanted, [])) == list(range(0, 40, 2))
    stage = IterableWrapper(range(5)).map(double)
    _simple_graph_snapshot_restoration(stage, 2)
    assert list(stage) == [4, 6, 8]
    assert list(stage) == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_each_sample_comes_once_from_all_workers(workers):
    pipe = IterableWrapper(range(23)).shuffle(buffer_size=5).sharding_filter()
    loader = DataLoader(pipe, batch_size=4, num_workers=workers, shuffle=True,
                        persistent_workers=workers > 0)
    epochs = [flambeau.cat(list(loader)).tolist() for _ in range(3)]
    assert all(sorted(epoch) == list(range(23)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    ordered = DataLoader(pipe, batch_size=4, num_workers=workers, shuffle=False)
    assert sorted(flambeau.cat(list(ordered)).tolist()) == list(range(23))


def test_loaders_of_pipelines_continue_where_they_were():
    pipe = IterableWrapper(range(12)).shuffle()
    loader = DataLoader(pipe, batch_size=2, shuffle=True)
    taken = iter(loader)
    for _ in range(3):
        next(taken)
    state = loader.state_dict()
    rest = [batch.tolist() for batch in taken]
    again = DataLoader(IterableWrapper(range(12)).shuffle(), batch_size=2, shuffle=True)
    again.load_state_dict(state)
    assert [batch.tolist() for batch in again] == rest and len(rest) == 3


def test_a_loader_adds_the_order_that_a_pipeline_lacks():
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        loader = DataLoader(IterableWrapper(range(50)), batch_size=50, shuffle=True)
    (batch,) = loader
    assert batch.tolist() != sorted(batch.tolist()) == list(range(50))


def test_files_are_found_read_and_decoded(tmp_path):
    (tmp_path / "b.txt").write_text("text")
    (tmp_path / "a.json").write_text("[1]")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "c.txt").write_text("deep")
    found = IterableWrapper([str(tmp_path)]).list_files(["*.txt", "*.json"], recursive=True)
    assert [path.rpartition("/")[2] for path in found] == ["a.json", "b.txt", "c.txt"]
    files = found.open_files(mode="b")
    with pytest.warns(FutureWarning):
        decoded = files.routed_decode()
    assert [value for _, value in decoded] == [[1], "text", "deep"]
    assert [text for _, text in found.open_files().read_from_stream()] == ["[1]", "text", "deep"]
    (_, stream), *_ = files
    assert isinstance(stream, StreamWrapper) and not stream.closed
    inside = stream.file_obj
    del stream, _
    assert inside.closed


def test_maps_of_samples():
    pipe = SequenceWrapper(range(5)).map(double)
    assert list(pipe.zip(SequenceWrapper("abcde")).batch(2)) == [
        [(0, "a"), (2, "b")], [(4, "c"), (6, "d")], [(8, "e")]]
    assert pipe.concat(pipe)[7] == 4 and len(pipe.concat(pipe)) == 10
    assert sorted(pipe.shuffle()) == [0, 2, 4, 6, 8]
    assert isinstance(pipe, MapDataPipe)
    loader = DataLoader(pipe, batch_size=2, shuffle=True)
    assert sorted(flambeau.cat(list(loader)).tolist()) == [0, 2, 4, 6, 8]


def test_checks_of_arguments_samples_and_determinism():
    class Numbers(IterDataPipe[int]):
        @argument_validation
        def __init__(self, source: IterDataPipe):
            self.source = source

        @runtime_validation
        def __iter__(self):
            yield from self.source

    with pytest.raises(TypeError, match="Expected argument 'source' as a IterDataPipe"):
        Numbers([1])
    wrong = Numbers(IterableWrapper(["a"]))
    with pytest.raises(RuntimeError, match="Expected an instance as subtype"):
        list(wrong)
    with runtime_validation_disabled():
        assert list(wrong) == ["a"]
    assert list(Numbers(IterableWrapper([1]))) == [1]

    random = non_deterministic(Numbers)
    with guaranteed_datapipes_determinism(), pytest.raises(TypeError, match="non-determ"):
        random(IterableWrapper([1]))
    with warnings.catch_warnings():
        assert list(random(IterableWrapper([1]))) == [1]
