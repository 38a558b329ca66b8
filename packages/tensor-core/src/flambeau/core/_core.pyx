# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: embedsignature=False, binding=False, auto_pickle=False
"""The Python boundary of the core: Tensor, Operator, dtype, device, Generator.

One extension module, read in parts; the machinery is C++ (native/dispatch).
"""
include "parts/declarations.pxi"
include "parts/dtypes.pxi"
include "parts/devices.pxi"
include "parts/operators.pxi"
include "tensor.pxi"
include "parts/values.pxi"
include "parts/convert.pxi"
include "parts/indexing.pxi"
include "parts/numpy.pxi"
include "parts/dlpack.pxi"
include "parts/memory.pxi"
include "parts/random.pxi"
include "parts/watch.pxi"
include "parts/levels.pxi"
include "parts/scopes.pxi"
include "parts/backends.pxi"
include "parts/register.pxi"
include "parts/start.pxi"
