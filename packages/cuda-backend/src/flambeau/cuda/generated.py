"""A backend whose pointwise and reduction operators run generated kernels, wherever these run.

Subclasses say how memory is had and how a kernel is launched: CuPy does it on a GPU, the tests do
it on the CPU with the same source built by a C++ compiler.
"""
from __future__ import annotations

from typing import Any

from flambeau.core import _core
from flambeau.core.backends import Backend
from flambeau.core.opdefs.literal import at_literal
from flambeau.core.opdefs.wide import in_double
from flambeau.core.promotion import compute_kind, dtype_name, kind_of_dtype, promoted
from flambeau.cuda import params, source

#: The dtype that each kind computes in.
_OWN = {"f32": "float32", "f64": "float64", "i64": "int64", "bool": "bool", "c64": "complex64",
        "c128": "complex128"}
_INEXACT = ("f32", "f64", "c64", "c128")
_RANDOM = ("random_uniform", "random_normal", "random_integers", "random_bernoulli",
           "random_permutation", "random_distribution")
#: Partial results kept in flight by a reduction.
_LANES = 1 << 16


class GeneratedBackend(Backend):
    """Runs generated kernels; ``launch`` is the subclass's."""

    def launch(self, group: str, kind: str, kernel: str, threads: int, argument: bytes,
               index: int) -> None:
        """Start a kernel of ``source.module(group, kind)`` on device ``index``."""
        raise NotImplementedError

    def run(self, op, args, outs):
        try:
            return self._run(op, args, outs)
        except params.TooManyDims:
            return NotImplemented

    def _run(self, op, args, outs):
        if any(dtype_name(t.dtype) not in params.DTYPE_CODES for t in _tensors(args, outs)):
            return NotImplemented
        if op.category == "pointwise":
            return self.run_pointwise(source.find_opdef(op.key), args, outs)
        if op.key in source.REDUCTIONS:
            return self.run_reduction(op, args, outs)
        if op.key in ("clone", "contiguous_copy", "cast"):
            return self.copy_into(outs[0], args[0])
        if op.key in ("copy", "fill"):
            return self.copy_into(outs[0], args[1])
        if op.key == "full_of":
            return self.copy_into(outs[0], args[1])
        if op.key in ("empty", "empty_strided"):
            return None         # the memory is there; nothing to compute
        if op.key in _RANDOM:
            return self.draw(op.key, args, outs)
        return self.run_composition(op, args, outs)

    def draw(self, key, args, outs):
        """Random numbers are drawn by the CPU and copied: the stream is the same everywhere."""
        twin = _core.call("empty", (tuple(outs[0].shape), outs[0].dtype))
        drawn = _core.call(key, [twin if _core.is_tensor(a) else a for a in args])
        return self.copy_into(outs[0], drawn.to(outs[0].device))

    def run_composition(self, op, args, outs):
        """Definitions without generated kernels."""
        return NotImplemented

    # ---- pointwise ---------------------------------------------------------------------------

    def run_pointwise(self, opdef, args, outs):
        """Compute a pointwise operator."""
        values = dict(zip((p.name for p in opdef.params), args, strict=True))
        kind = compute_kind(opdef, values)
        if kind == "c64" and in_double(opdef):
            kind = "c128"
        if kind in _INEXACT:
            opdef, args = at_literal(opdef, args)
        return NotImplemented if kind is None else self._elementwise(opdef, kind, args, outs)

    def copy_into(self, out, value):
        """Write a tensor or number into ``out``, cast and broadcast."""
        source_kind = kind_of_dtype(value.dtype if _core.is_tensor(value) else promoted([value]))
        wide = source_kind == "f64" and kind_of_dtype(out.dtype) != "f64"
        integer = kind_of_dtype(out.dtype) == "i64" and source_kind in ("f32", "f64")
        kind = source_kind if wide or integer else kind_of_dtype(out.dtype)
        return self._elementwise(source.IDENTITY, kind, [value], [out])

    def _elementwise(self, opdef, kind, args, outs):
        shape = tuple(outs[0].shape)
        if outs[0].numel() == 0:
            return None
        args = [_host_number(a) for a in args]
        tensors = [t for t in (*args, *outs) if _core.is_tensor(t)]
        sizes, merged = params.merge(shape, [params.broadcast_strides(t, shape) for t in tensors])
        steps = iter(merged)
        packed = [params.pack_tensor(v.data_ptr(), dtype_name(v.dtype), next(steps))
                  if _core.is_tensor(v) else params.pack_number(v) for v in (*args, *outs)]
        where = "near" if self._is_near(opdef, kind, args, outs, sizes, merged) else "far"
        self.launch(source.group_of(opdef.key), kind, f"{source.kernel_name(opdef, kind)}_{where}",
                    outs[0].numel(), params.pack_call(outs[0].numel(), sizes, packed),
                    outs[0].device.index or 0)
        return None

    def _is_near(self, opdef, kind, args, outs, sizes, merged) -> bool:
        masks = [p.role == "Mask" for p in opdef.params]
        result = _OWN[source.result_kind(opdef, kind)]
        return (all(s in ([1], []) for s in merged) and len(sizes) <= 1
                and all(dtype_name(t.dtype) == result for t in outs)
                and all(dtype_name(v.dtype) == ("bool" if mask else _OWN[kind])
                        for v, mask in zip(args, masks, strict=True) if _core.is_tensor(v)))

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
        return self.backend.allocate(self.index, count * params.ACCUMULATOR_BYTES)

    def _launch(self, stage, threads, parts, parts_out, here, there) -> None:
        kept, reduced, out_steps = self.geometry
        argument = params.pack_reduce(
            (*self.counts, parts, parts_out), kept, reduced, out_steps,
            (self.data, here, there, *self.outs), self.dtypes, self.correction)
        self.backend.launch("reduce", self.kind, f"{self.name}_{stage}", threads, argument,
                            self.index)


def _host_number(value):
    """A 0-d CPU tensor may stand among tensors of a device, as a number."""
    if _core.is_tensor(value) and value.device.type == "cpu":
        return value.item()
    return value


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
