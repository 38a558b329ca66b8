# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: embedsignature=False, binding=False, auto_pickle=False
"""The Python boundary of the core: Tensor, Operator, dtype, device, Generator.

One extension module, read in parts; the machinery is C++ (native/dispatch).
"""
include "bindings/declarations.pxi"
include "bindings/dtypes.pxi"
include "bindings/devices.pxi"
include "bindings/operators.pxi"
include "tensor.pxi"
include "bindings/values.pxi"
include "bindings/convert.pxi"
include "bindings/indexing.pxi"
include "bindings/numpy.pxi"
include "bindings/dlpack.pxi"
include "bindings/memory.pxi"
include "bindings/random.pxi"
include "bindings/watch.pxi"
include "bindings/handles.pxi"
include "bindings/runtime.pxi"
include "bindings/levels.pxi"
include "bindings/code.pxi"
include "bindings/deferral.pxi"
include "bindings/scopes.pxi"
include "bindings/replay.pxi"
include "bindings/backends.pxi"
include "bindings/register.pxi"
include "bindings/start.pxi"
