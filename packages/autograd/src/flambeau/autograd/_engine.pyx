# cython: boundscheck=False, wraparound=False, initializedcheck=False, binding=True
# cython: auto_pickle=False
"""The tape and the backward pass, in parts (engine/*.pxi):

plan       a rule, compiled to numbers
node       recorded operations and leaves
lifetime   freeing long chains, garbage collection
shown      the names that types of nodes have in Python
saved      what nodes keep for backward, and the version check
record     from a call to a node
views      writes to tensors and views
gradients  adding gradients, fitting them to inputs
leaf       storing them in leaves
helpers    what rules call often
heap       what waits during a backward pass
call       from a node to its rule's results
parts      slices of one tensor share its gradient
engine     the loop
selective  passes for named inputs
hooks      functions of the user on the way
entry      backward, grad, custom functions
inside     what is refused inside functions of transforms
attributes what Tensor gets
modes      no_grad and other grad modes
packed     saved-tensor hooks
handles    saved tensors that programs hold
writers    who wrote to a saved tensor
call_sites where forward calls were
nan        who made the first NaN
autocast   inputs in a lower precision
profile    what ran, and how long
mutation   who is about to write to memory
replay     what replayed calls ask of leaves and graphs
copies     graphs made again for replayed calls
recompute  results that are computed again instead of kept
"""
cimport cython
from cpython.weakref cimport PyWeakref_NewRef
from libc.stdlib cimport calloc, free
from libcpp.unordered_map cimport unordered_map
from libcpp.unordered_set cimport unordered_set
from libcpp.vector cimport vector
from posix.unistd cimport usleep

include "engine/abi.pxi"

import functools
import warnings

fl_import()
from flambeau.core import _core, ops

from flambeau.autograd._derived import derived_calls
from flambeau.autograd._edge import GradientEdge
from flambeau.autograd._table import (
    CHEAP, NAMES_BY_RANKS, PARTS, backward_name, find_rule, name_by_ranks)

include "engine/outside.pxi"
include "engine/inside.pxi"
include "engine/plan.pxi"
include "engine/errors.pxi"
include "engine/node.pxi"
include "engine/lifetime.pxi"
include "engine/shown.pxi"
include "engine/packed.pxi"
include "engine/writers.pxi"
include "engine/call_sites.pxi"
include "engine/saved.pxi"
include "engine/handles.pxi"
include "engine/record.pxi"
include "engine/views.pxi"
include "engine/heap.pxi"
include "engine/gradients.pxi"
include "engine/leaf.pxi"
include "engine/helpers.pxi"
include "engine/call.pxi"
include "engine/parts.pxi"
include "engine/hooks.pxi"
include "engine/engine.pxi"
include "engine/selective.pxi"
include "engine/entry.pxi"
include "engine/attributes.pxi"
include "engine/modes.pxi"
include "engine/nan.pxi"
include "engine/autocast.pxi"
include "engine/profile.pxi"
include "engine/mutation.pxi"
include "engine/replay.pxi"
include "engine/copies.pxi"
include "engine/recompute.pxi"

cdef fl_tape _tape


def install_tape():
    """Tell the core whom to call when an operator is to be recorded."""
    find_known_ops()
    _tape.struct_size = sizeof(fl_tape)
    _tape.record = record
    _tape.prepare = prepare
    _tape.commit = commit
    _tape.wrote = wrote
    FL.set_tape(&_tape)
    _core.configure_replay(<size_t>&leaf_state, <size_t>&remake_graph)
