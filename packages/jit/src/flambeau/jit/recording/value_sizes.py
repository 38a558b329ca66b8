"""Sizes that depend on values, while a function is recorded: numbers that stand for them.

Nothing is computed, so how many elements ``nonzero()`` finds is not known. Each recording invents
another number. What equals it, or a multiple of it, in every recording depends on that size.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import flambeau
from flambeau.core.vision import recording
from flambeau.jit import bridge
from flambeau.jit.errors import TraceError
from flambeau.jit.ir import Node, Value, map_args, values_in
from flambeau.jit.locations import caller
from flambeau.jit.opset import NMS, NUMBER, ROI_POOL, find_opdef, is_pure, written_numbers
from flambeau.jit.recording.active import current

if TYPE_CHECKING:
    from flambeau.jit.recording.recorder import Recorder

Tensor = Any

#: Numbers of elements that operators find; and those that slices of them leave, or that operators
#: are asked for: smaller, since ``topk`` takes no more than there are. All are small, as programs
#: take other paths for large ones.
FOUND, LEFT = range(12, 41), range(2, 12)

#: How many numbers a tensor has at most that Python makes of sizes.
MOST_NUMBERS = 16

#: Reductions that give this of no elements, as ONNX has it; elsewhere they raise.
EXTREMES = {"amax": "min", "amin": "max"}

#: A line, and how many questions were asked there before.
Key = tuple[str, int]
Question = tuple[int, bool] | bytes | None
Answer = bool | str

#: The answer where what is read depends on the named sizes of inputs alone.
SIZED = "sized"

#: Operators that find elements, each with the argument whose values say how many.
FINDERS = {"nonzero": 0, "masked_select": 1}


class ValueSizes:
    """The sizes that one recording invents.

    What depends on them is not seen in one recording, but where several are beside each other: so
    each notes questions, and is told the answers that those before it gave.

    Args:
        seed: decides which.
        answers: to its questions; where there is none, sizes decide nothing.
        number: the size of all of them, where a recording is to try it.
        most: how many sizes there are at most.
        named: the sizes of inputs that vary.
    """

    def __init__(self, seed: int, answers: Mapping[Key, Answer] | None = None,
                 number: int | None = None, most: int | None = None,
                 named: Mapping[str, int] | None = None) -> None:
        self.draw = random.Random(seed)
        self.number = number
        self.most = most
        self.answers = answers or {}
        self.named = dict(named or {})
        #: Whether the function knows that it is recorded, and may round in other places then.
        self.is_told = False
        self.sizes: dict[str, int] = {}
        self.known: dict[Any, int] = {}
        #: The slices: which size is cut, and whether all of it is left. What is read: what it was
        #: computed from, if no input decides it.
        self.questions: dict[Key, Question] = {}
        self.asked: Counter[str] = Counter()

    def invent(self, is_small: bool = False) -> int:
        """Another number of elements."""
        size = self.draw.choice(LEFT if is_small else FOUND) if self.number is None else self.number
        return self.note(size)

    def note(self, size: int) -> int:
        """Give a size the next name.

        Raises:
            TraceError: there are too many, as in a loop over what values find.
        """
        if len(self.sizes) == self.most:
            raise TraceError(f"{caller()}: Python looks for elements once more")
        self.sizes[f"u{len(self.sizes)}"] = size
        return size

    def ask(self, question: Question) -> Answer:
        """Whether a slice leaves a size of its own, or what is read does not depend on sizes."""
        line = caller()
        key = line, self.asked[line]
        self.asked[line] += 1
        self.questions[key] = question
        return self.answers.get(key, isinstance(question, bytes))


def answered(questions: Sequence[Question], named: Sequence[Mapping[str, int]]) -> Answer:
    """The answer to what several recordings ask beside each other.

    Args:
        questions: what each asks.
        named: the sizes of inputs in each; what differs between equal ones depends on values.
    """
    groups: dict[Any, list[Question]] = {}
    for question, sizes in zip(questions, named, strict=True):
        groups.setdefault(tuple(sizes.items()), []).append(question)
    if isinstance(questions[0], tuple):
        cut = [[each for each in group if isinstance(each, tuple)] for group in groups.values()]
        return any(len({size for size, _ in group}) > 1 for group in cut) and not all(
            is_all for group in cut for _, is_all in group)
    if questions[0] is None or any(len({*group}) > 1 for group in groups.values()):
        return False
    return SIZED if len({*questions}) > 1 else True


def found(recorder: Recorder, key: str, args: Sequence[Any]) -> Tensor:
    """A call that finds elements as a node; the tensor that stands for its result.

    Raises:
        TraceError: the operator is none that can be recorded so, or is called in a branch or loop.
    """
    sizes = recorder.value_sizes
    assert sizes is not None
    if key not in (*FINDERS, NMS) or recorder.region is not None:
        raise TraceError(
            f"{caller()}: the shape that {key}() gives depends on values, which a trace does not "
            f"have; {', '.join(sorted(FINDERS))} and masks as indices are written, outside of "
            "branches and loops")
    count = _count(recorder, key, args)
    x = args[0]
    shape, dtype = ((count,), "int64") if key == NMS else \
        ((count, x.dim()), "int64") if key == "nonzero" else \
        ((count,), bridge.dtype_name(x.dtype))
    arguments = tuple(recorder.argument(arg) for arg in args)
    result = bridge.empty_on(shape, dtype, bridge.value_of(x).device)
    value = recorder.emit(key, arguments, [bridge.value_of(result)], (), recorder.history(args))[0]
    recorder.add_memory(result, value, where=caller())
    return result


def _count(recorder: Recorder, key: str, args: Sequence[Any]) -> int:
    """How many elements are found: as many as before where the same values say it."""
    sizes = recorder.value_sizes
    assert sizes is not None
    if key == NMS:
        return sizes.invent()
    mask = args[FINDERS[key]]
    memory, is_whole = recorder.memory_of(mask), mask.shape == args[0].shape
    if memory is not None and memory.is_written or not is_whole:
        return sizes.invent()
    said = _expression(recorder, recorder.value_of(mask), recorder.graph.producers())
    if said not in sizes.known:
        sizes.known[said] = sizes.invent()
    return sizes.known[said]


def _expression(recorder: Recorder, value: Value, producers: dict[Value, Node], depth: int = 8
                ) -> Any:
    """What a value is computed from: the same for two that are equal in each run."""
    node = producers.get(value)
    if node is None or not depth or node.into or not is_pure(node.op) or \
            value in recorder.written_values():
        return value
    return node.op, node.outputs.index(value), map_args(
        node.args, lambda leaf: _expression(recorder, leaf, producers, depth - 1)
        if isinstance(leaf, Value) else repr(leaf))


def shortened(recorder: Recorder, args: Sequence[Any]) -> Tensor | None:
    """A slice along a size that depends on values: what stands for it, with a size of its own.

    It is memory of its own here, so what lies in the sliced tensor may change from now on.
    """
    sizes = recorder.value_sizes
    if sizes is None or recorder.region is not None:
        return None
    x, dim, start, end = args[:4]
    size = int(x.shape[dim])
    if not sizes.ask((size, not start and end in (None, size))):
        return None
    view = bridge.call_below("slice", args)[0]
    shape = list(view.shape)
    shape[dim] = sizes.invent(is_small=True) if sizes.number is None else sizes.note(shape[dim])
    arguments = tuple(recorder.argument(arg) for arg in args)
    result = bridge.empty_on(shape, bridge.dtype_name(x.dtype), bridge.value_of(x).device)
    recorder.memories[bridge.memory_address(x)].is_written = True
    value = recorder.emit("slice", arguments, [bridge.value_of(result)], (),
                          recorder.history(args))[0]
    recorder.add_memory(result, value, where=caller())
    return result


def never_empty(recorder: Recorder, key: str, args: Sequence[Any]) -> list[Any] | None:
    """The arguments of a greatest or least value, of numbers beside which the limit stands.

    Where values find no elements, functions return before they ask for it; programs do not.
    """
    sizes, (x, dims, keepdim) = recorder.value_sizes, args
    if sizes is None or recorder.region is not None or dims or keepdim or not x.dim() or \
            x.dtype == flambeau.bool:
        return None
    if not sizes.ask((x.numel(), False)):
        return None
    limits = flambeau.finfo(x.dtype) if x.is_floating_point() else flambeau.iinfo(x.dtype)
    limit = getattr(limits, EXTREMES[key]) * (math.inf if x.is_floating_point() else 1)
    beside = recorder.record("full_of", [[1, *x.shape[1:]], limit, x.dtype, x.device], None)
    return [*recorder.record("cat", [[x, *beside], 0], None), None, False]


def read_number(recorder: Recorder, tensor: Tensor) -> bool:
    """Let an operator read an integer that it is called with: a number of its own.

    Returns:
        Whether it may be read.
    """
    sizes = recorder.value_sizes
    if sizes is None or recorder.region is not None or tensor.is_floating_point():
        return False
    value = recorder.value_of(tensor)
    if value not in sizes.known:
        constants = _Constants(recorder)
        constant = constants.given(value)
        answer = sizes.ask(None if constant is None else constants.text())
        is_known = bool(answer) and constant is not None
        sizes.known[value] = int(constant) if answer and constant is not None \
            else sizes.invent(is_small=True)
        if answer == SIZED or not is_known:
            recorder.emit(NUMBER, (value,),
                          [Value((sizes.known[value],), "int64", value.device)])
    held = bridge.from_numbers([sizes.known[value]], "int64")
    bridge.copy_into(tensor, bridge.call_below("view", [held, tuple(tensor.shape)])[0])
    return True


def read_constant(recorder: Recorder, tensor: Tensor) -> bool:
    """Let Python read what constants alone decide.

    Returns:
        Whether it may be read.
    """
    sizes = recorder.value_sizes
    if sizes is None or recorder.region is not None:
        return False
    constants = _Constants(recorder)
    constant = constants.given(recorder.value_of(tensor))
    if constant is None or not sizes.ask(constants.text()):
        return False
    bridge.copy_into(tensor, constant)
    return True


def of_numbers(recorder: Recorder, tensor: Tensor) -> Value | None:
    """A tensor that Python made of numbers, some of them sizes that vary: made by operators."""
    sizes = recorder.value_sizes
    if sizes is None or not sizes.named or recorder.region is not None or \
            tensor.numel() > MOST_NUMBERS or tensor.is_complex() or tensor.dtype == flambeau.bool:
        return None
    if sizes.ask(bridge.bytes_of(tensor)) != SIZED:
        return None
    numbers = [int(each) if isinstance(each, float) and each.is_integer() else each
               for each in bridge.call_below(
        "view", [tensor.detach(), [-1]])[0].tolist()]
    made = [recorder.record("full_of", [[], each, tensor.dtype, tensor.device], None)[0]
            for each in numbers]
    if tensor.dim():
        made = [recorder.view("view", [each, [1]]) for each in made]
        made = recorder.record("cat", [made, 0], None)
        made = [recorder.view("view", [made[0], list(tensor.shape)])] \
            if tensor.dim() > 1 else made
    return recorder.value_of(made[0])


class _Constants:
    """Computes values that no input decides.

    Args:
        recorder: what has recorded them.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.producers = recorder.graph.producers()
        self.written = recorder.written_values()
        self.tensors: dict[Value, Tensor | None] = {
            each.value: each.tensor if each.constant else None for each in recorder.graph.captures}
        self.used: list[Any] = []

    def text(self) -> bytes:
        """All that was used: the same in each recording where no size is in it."""
        return repr(self.used).encode()

    def given(self, value: Value) -> Tensor | None:
        """What a value is, if it is constant."""
        held = self.tensors.get(value)
        if held is not None:
            self.used.append(bridge.bytes_of(held))
        if value not in self.tensors:
            node = self.producers.get(value)
            self.tensors[value] = None if node is None else self.computed(node, value)
        return self.tensors[value]

    def computed(self, node: Node, value: Value) -> Tensor | None:
        opdef = find_opdef(node.op)
        if opdef is None or opdef.dynamic_shape or node.into or value in self.written or \
                not is_pure(node.op) or written_numbers(node.op, node.args):
            return None
        if any(self.given(each) is None for each in values_in(node.args)):
            return None
        self.used.append(map_args(node.args, lambda leaf: type(leaf) if isinstance(leaf, Value)
                                  else leaf))
        args = map_args(node.args, lambda leaf: self.tensors[leaf] if isinstance(leaf, Value)
                        else bridge.from_literal(leaf))
        results = bridge.call_below(node.op, [list(arg) if isinstance(arg, tuple) else arg
                                              for arg in args])
        return results[node.outputs.index(value)]


def _of_regions(recorder: Recorder, key: str, args: Sequence[Any]) -> Tensor | tuple[Tensor, ...]:
    """Regions of images, of which the bins' sizes depend on values, as a node."""
    features, rois, _, height, width = args[:5]
    value = bridge.value_of(features)
    shape = (rois.shape[0], features.shape[1], height, width)
    made = [bridge.empty_on(shape, dtype, value.device)
            for dtype in ((value.dtype, "int32") if key == ROI_POOL else (value.dtype,))]
    values = recorder.emit(key, tuple(recorder.argument(arg) for arg in args),
                           [bridge.value_of(each) for each in made], (), recorder.history(args))
    for each, of in zip(made, values, strict=True):
        recorder.add_memory(each, of, where=caller())
    return tuple(made) if len(made) > 1 else made[0]


def _recorded_vision(name: str, args: Sequence[Any]) -> Any:
    """A call that looks at values as a node, where it is recorded."""
    recorder = current()
    if recorder is None or recorder.value_sizes is None:
        return None
    recorder.busy = True
    try:
        return found(recorder, NMS, args) if name == NMS else _of_regions(recorder, name, args)
    finally:
        recorder.busy = False


recording.listener = _recorded_vision
