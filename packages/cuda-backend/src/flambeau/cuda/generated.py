"""A backend whose pointwise and reduction operators run generated kernels, wherever these run.

Elementwise calls are launched by ``_launch``, which asks Python once for each kind of call. On a
GPU memory and kernels come from CuPy, in the simulation from a C++ compiler.
"""
from __future__ import annotations

from typing import Any

from flambeau.core import _core
from flambeau.core.backends import Backend
from flambeau.core.opdefs.literal import at_literal
from flambeau.core.opdefs.wide import in_double
from flambeau.core.promotion import compute_kind, dtype_name, kind_of_dtype, promoted
from flambeau.cuda import _launch, params, source, special

#: The dtype that each kind computes in.
_OWN = {"f32": "float32", "f64": "float64", "i64": "int64", "bool": "bool", "c64": "complex64",
        "c128": "complex128"}
_INEXACT = ("f32", "f64", "c64", "c128")
RANDOM = ("random_uniform", "random_normal", "random_integers", "random_bernoulli",
           "random_permutation", "random_distribution")
#: The argument that an operator copies.
COPIED = {"clone": 0, "contiguous_copy": 0, "cast": 0, "copy": 1, "fill": 1, "full_of": 1,
          "filled_like": 1}
_BLOCK, _BLOCKS = 256, 1 << 16
#: Partial results kept in flight by a reduction.
_LANES = 1 << 16


class GeneratedBackend(Backend):
    """Runs generated kernels. Subclasses say where memory and functions come from."""

    #: Whether every storage has memory of its own, of just its size.
    exact = False
    #: Its number, once it is attached.
    device_type = -1

    def driver(self) -> int:
        """The address of an ``fl_driver`` (native/driver.h)."""
        raise NotImplementedError

    def reserve(self, index: int, nbytes: int) -> tuple[int, Any]:
        """Memory of a device: its address, and what keeps it.

        Raises:
            MemoryError: there is no more.
        """
        raise NotImplementedError

    def function(self, group: str, kind: str, kernel: str) -> int:
        """The driver's handle of a kernel of ``source.module(group, kind)``."""
        raise NotImplementedError

    def launch(self, group: str, kind: str, kernel: str, threads: int, argument: bytes,
               index: int) -> None:
        """Start a kernel with a thread for each element, on device ``index``."""
        blocks = min((threads + _BLOCK - 1) // _BLOCK, _BLOCKS)
        _launch.launch(self.device_type, index, kernel, self.function(group, kind, kernel),
                       (blocks, 1, 1), (_BLOCK, 1, 1), 0, argument)

    def attach(self):
        self.device_type = _launch.attach(self, self.driver(), self.exact)
        return self.device_type

    def run(self, op, args, outs):
        try:
            return self._run(op, args, outs)
        except params.TooManyDims:
            return NotImplemented

    def _run(self, op, args, outs):
        if any(dtype_name(t.dtype) not in params.DTYPE_CODES for t in _tensors(args, outs)):
            return NotImplemented
        if op.key in source.REDUCTIONS:
            return self.run_reduction(op, args, outs)
        if op.key in ("empty", "empty_strided"):
            return None         # the memory is there; nothing to compute
        if op.key in RANDOM:
            return self.draw(op.key, args, outs)
        return self.run_composition(op, args, outs)

    def draw(self, key, args, outs):
        """Random numbers are drawn by the CPU and copied: the stream is the same everywhere."""
        twin = _core.call("empty", (tuple(outs[0].shape), outs[0].dtype))
        drawn = _core.call(key, [twin if _core.is_tensor(a) else a for a in args])
        _launch.copy_into(self.device_type, outs[0], drawn.to(outs[0].device))

    def run_composition(self, op, args, outs):
        """Definitions without generated kernels."""
        return NotImplemented

    def raise_status(self, status: int, what: str, text: str) -> None:
        """Raise what a status of the driver means.

        Args:
            status: its number.
            what: the kernel or copy that failed.
            text: the driver's words.
        """
        raise RuntimeError(f"{what} failed on device '{self.name}': {text}")

    # ---- elementwise -------------------------------------------------------------------------

    def is_elementwise(self, op) -> bool:
        """Whether calls of an operator that is not pointwise are planned, too: see ``plan``."""
        return op.key in COPIED or op.key in special.FUNCTIONS

    def plan(self, op, args, outs):
        """What the launch path runs for calls of an operator over arguments of these kinds.

        Returns:
            Name and functions of the kernels for operands that lie alike and for all others, codes
            of the dtypes of the former's operands and results, a bit for each of its masks, the
            positions of the arguments that are packed, and whether numbers decide; None where the
            kernels lack a dtype.
        """
        if any(dtype_name(t.dtype) not in params.DTYPE_CODES for t in _tensors(args, outs)):
            return None
        if op.category == "pointwise":
            return self._pointwise_plan(op, args)
        if op.key in special.FUNCTIONS:
            return self._special_plan(op, outs)
        return self._copy_plan(args[COPIED[op.key]], outs[0], COPIED[op.key])

    def _pointwise_plan(self, op, args):
        opdef = source.find_opdef(op.key)
        kind = compute_kind(opdef, dict(zip((p.name for p in opdef.params), args, strict=True)))
        if kind is None:
            return None
        if kind == "c64" and in_double(opdef):
            kind = "c128"
        chosen = at_literal(opdef, args)[0] if kind in _INEXACT else opdef
        names = [p.name for p in opdef.params]
        packed = tuple(names.index(p.name) for p in chosen.params)
        masks = sum(1 << i for i, p in enumerate(chosen.params) if p.role == "Mask")
        return self._planned(chosen, kind, masks, packed, bool(opdef.literals))

    def _special_plan(self, op, outs):
        function, group = special.FUNCTIONS[op.key], special.group_of(op.key)
        name = special.kernel_name(op.key, dtype_name(outs[0].dtype) == "float64")
        near, far = (self.function(group, function.kind, f"{name}_{w}") for w in ("near", "far"))
        own, packed = params.DTYPE_CODES[_OWN[function.kind]], tuple(range(function.operands))
        return name, near if len(outs) == 1 else 0, far, own, own, 0, packed, False

    def _copy_plan(self, value, out, position: int):
        """A cast and broadcast copy of a tensor or number."""
        own = kind_of_dtype(value.dtype if _core.is_tensor(value) else promoted([value]))
        to = kind_of_dtype(out.dtype)
        wide = own == "f64" != to
        kind = own if wide or (to == "i64" and own in ("f32", "f64")) else to
        return self._planned(source.IDENTITY, kind, 0, (position,), False)

    def _planned(self, opdef, kind, masks, packed, by_number):
        group, name = source.group_of(opdef.key), source.kernel_name(opdef, kind)
        near, far = (self.function(group, kind, f"{name}_{where}") for where in ("near", "far"))
        own, result = (params.DTYPE_CODES[_OWN[k]] for k in (kind, source.result_kind(opdef, kind)))
        return name, near, far, own, result, masks, packed, by_number

    # ---- reductions ----------------------------------------------------------------------------

    def run_reduction(self, op, args, outs):
        """Fold dimensions: parts of every output, joined in rounds."""
        values = dict(zip(op.params, args, strict=True))
        x, kept_outs = values["self"], [self._kept_strides(values, t) for t in outs]
        kind = self._reduce_kind(op.key, x, outs[0])
        if kind is None:
            return NotImplemented
        if outs[0].numel() == 0:
            return None
        dims = _reduced_dims(values["dim"], x.ndim)
        stay = [d for d in range(x.ndim) if d not in dims]
        shape, strides = tuple(x.shape), x.stride()
        kept, steps = params.merge([shape[d] for d in stay],
                                   [[strides[d] for d in stay], *kept_outs])
        reduced, inner = params.merge([shape[d] for d in dims], [[strides[d] for d in dims]])
        correction = values.get("correction")
        reduction = _Reduction(self, op.key, kind, x, outs, (kept, steps[0]), (reduced, inner[0]),
                               steps[1:], 1.0 if correction is None else float(correction))
        reduction.run()
        return None

    @staticmethod
    def _reduce_kind(key, x, out):
        compares = key not in ("sum", "prod", "mean", "any", "all")
        if compares and dtype_name(x.dtype) == "uint64":
            return None         # its order is not that of int64
        if key == "logsumexp" and x.dtype.is_complex:
            return None
        kinds = source.REDUCTIONS[key][1]
        kind = kind_of_dtype(out.dtype if key in ("sum", "prod", "mean") else x.dtype)
        if len(kinds) == 1:
            return kinds[0]
        kind = "i64" if kind == "bool" else kind
        return kind if kind in kinds else None

    @staticmethod
    def _kept_strides(values, out):
        """Strides of an output over the dimensions that stay."""
        x, strides = values["self"], list(out.stride())
        if out.ndim == x.ndim and values["keepdim"]:
            dims = _reduced_dims(values["dim"], x.ndim)
            return [s for d, s in enumerate(strides) if d not in dims]
        return strides


class _Reduction:
    """One reduction: its geometry, and the rounds it is computed in."""

    def __init__(self, backend, key, kind, x, outs, kept, reduced, out_steps, correction) -> None:
        self.backend, self.kind, self.index = backend, kind, x.device.index or 0
        self.name = source.reduce_name(key, kind)
        self.geometry = kept, reduced, [*out_steps, []][:2]
        self.counts = outs[0].numel(), x.numel() // outs[0].numel()
        self.data = x.data_ptr() if x.numel() else 0
        self.outs = [t.data_ptr() for t in outs] + [0] * (2 - len(outs))
        self.dtypes = [params.DTYPE_CODES[dtype_name(t.dtype)] for t in (x, *outs)]
        self.dtypes += [0] * (3 - len(self.dtypes))
        self.correction = correction

    def run(self) -> None:
        kept, reduced = self.counts
        parts = max(1, min(reduced // 4, _LANES // kept))
        here, keep = self._scratch(kept * parts)
        self._launch("take", kept * parts, parts, 0, here, 0)
        while parts > 1:
            fewer = parts // 256 or 1
            there, keep_next = self._scratch(kept * fewer)
            self._launch("join", kept * fewer, parts, fewer, here, there)
            parts, here, keep = fewer, there, (keep, keep_next)
        self._launch("finish", kept, 1, 0, here, 0)

    def _scratch(self, count: int) -> tuple[int, Any]:
        return self.backend.reserve(self.index, count * params.ACCUMULATOR_BYTES)

    def _launch(self, stage, threads, parts, parts_out, here, there) -> None:
        kept, reduced, out_steps = self.geometry
        argument = params.pack_reduce(
            (*self.counts, parts, parts_out), kept, reduced, out_steps,
            (self.data, here, there, *self.outs), self.dtypes, self.correction)
        self.backend.launch("reduce", self.kind, f"{self.name}_{stage}", threads, argument,
                            self.index)


def _reduced_dims(dim, ndim: int) -> list[int]:
    if dim is None or dim == ():
        return list(range(ndim))
    return sorted(d % ndim for d in ((dim,) if isinstance(dim, int) else dim)) if ndim else []


def _tensors(*lists):
    for values in lists:
        for value in values:
            if _core.is_tensor(value):
                yield value
            elif isinstance(value, (list, tuple)):
                yield from _tensors(value)
