"""What the representation knows about each operator: the core's table, and definitions of its
own.

``view_write`` is what writing into a view means to its base: the base with the elements that the
view shows replaced (in programs of format 1). ``fused`` is a region of pointwise nodes run as one
loop. ``branch`` and ``loop`` run one of two graphs, or one graph again and again, as values say;
since a graph may draw, they count as random. ``nms`` finds boxes, ``roi_align`` and ``roi_pool``
look at regions of images, and ``number`` has as many elements as its argument says. The others
read and change the state of a random generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from flambeau.core.opdefs import OpDef, by_name
from flambeau.core.opdefs.make import kernel
from flambeau.jit import bridge
from flambeau.jit.literals import GET_STATE, SET_SEED, SET_STATE

if TYPE_CHECKING:
    from flambeau.jit.ir import Node

FUSED = "fused"
VIEW_WRITE = "view_write"
BRANCH = "branch"
LOOP = "loop"
NMS = "nms"
NUMBER = "number"
ROI_ALIGN = "roi_align"
ROI_POOL = "roi_pool"

_OWN = (
    kernel(f"{VIEW_WRITE}(Tensor self, Tensor new, Object steps)", out=False, forms=(),
           doc="``self`` with the elements of a view of it replaced."),
    kernel(f"{FUSED}(Tensors inputs)", out=False, forms=(), doc="A region run as one loop."),
    kernel(f"{BRANCH}(Tensor condition, Tensors inputs)", out=False, forms=(),
           doc="One of two graphs over the inputs."),
    kernel(f"{LOOP}(Tensors carried, Tensors inputs)", out=False, forms=(),
           doc="What is carried, after steps for as long as a condition holds."),
    kernel(f"{NMS}(Tensor dets, Tensor scores, Float iou_threshold)", out=False, forms=(),
           dynamic_shape=True, doc="The boxes that overlap none of a higher score."),
    kernel(f"{ROI_ALIGN}(Tensor input, Tensor rois, Float scale, Int height, Int width, "
           "Int sampling_ratio, Bool aligned)", out=False, forms=(),
           doc="Means of as many points as the bins of regions have pixels."),
    kernel(f"{ROI_POOL}(Tensor input, Tensor rois, Float scale, Int height, Int width) -> "
           "(Tensor, Tensor)", out=False, forms=(), doc="Maxima of the bins of regions."),
    kernel(f"{NUMBER}(Tensor self)", out=False, forms=(), dynamic_shape=True,
           doc="The integers below a number."),
    kernel(f"{GET_STATE}(Generator? generator)", out=False, forms=(), doc="A generator's state."),
    kernel(f"{SET_STATE}(Generator? generator, Tensor state)", out=False, forms=(),
           doc="Give a generator a state."),
    kernel(f"{SET_SEED}(Generator? generator, Int seed)", out=False, forms=(),
           doc="Seed a generator."),
)


@cache
def _built_in(key: str) -> OpDef | None:
    for opdef in _OWN:
        if opdef.key == key:
            return opdef
    try:
        return by_name(key)
    except KeyError:
        return None


def find_opdef(key: str) -> OpDef | None:
    """The definition with this key: built in, of this package, or registered at run time."""
    opdef = _built_in(key)
    return opdef if opdef is not None else bridge.registered_opdef(key)


def of_a_package(key: str) -> OpDef | None:
    """The definition with this key where it was registered at run time, else ``None``."""
    return bridge.registered_opdef(key) if _built_in(key) is None else None


def is_random(key: str) -> bool:
    """Whether a node draws random numbers: it may be neither merged nor dropped nor moved."""
    opdef = find_opdef(key)
    return opdef is None or opdef.random or key in (BRANCH, LOOP)


def written_params(key: str) -> tuple[int, ...]:
    """The numbers of the parameters a functional call writes to.

    A pointwise operator writes only when it is given targets: without, its results are new tensors.
    """
    opdef = find_opdef(key)
    if opdef is None or opdef.category == "pointwise":
        return ()
    return tuple(number for number, param in enumerate(opdef.params) if param.writes)


def written_numbers(key: str, args: Sequence[Any]) -> tuple[int, ...]:
    """The numbers of the arguments that a call writes to.

    An operator with a parameter ``training`` writes its statistics in training alone.
    """
    numbers = tuple(number for number in written_params(key) if args[number] is not None)
    if not numbers:
        return ()
    opdef = find_opdef(key)
    assert opdef is not None
    names = [param.name for param in opdef.params]
    return () if "training" in names and args[names.index("training")] is False else numbers


def has_effects(node: Node) -> bool:
    """Whether a node does more than give new tensors; what format 1 wrote was a new value."""
    if node.op in (GET_STATE, SET_STATE, SET_SEED):
        return True
    return not is_functional(node) and bool(written_numbers(node.op, node.args))


def is_functional(node: Node) -> bool:
    """Whether a node of format 1 gives what its operator writes to as further results."""
    opdef = find_opdef(node.op)
    return opdef is not None and not opdef.list_output and len(node.outputs) > len(opdef.outputs)


def is_view(key: str) -> bool:
    """Whether a node's result is a view of its first argument."""
    opdef = find_opdef(key)
    return opdef is not None and opdef.category == "view"


def is_pure(key: str) -> bool:
    """Whether equal arguments give equal results and nothing else happens."""
    return find_opdef(key) is not None and not is_random(key)


def is_needed(key: str) -> bool:
    """Whether a node stays where nothing uses its results: it draws, or may raise on values."""
    opdef = find_opdef(key)
    return opdef is None or is_random(key) or opdef.raises_on_values
