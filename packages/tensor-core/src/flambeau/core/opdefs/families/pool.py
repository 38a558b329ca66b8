"""Pooling."""
from flambeau.core.opdefs.make import composite, helper

_NN = ("nn",)
_BOTH = ("function", "nn")
_POOL = "Ints kernel_size, Ints? stride=None, Ints padding=0, Ints dilation=1, Bool ceil_mode=False"
_MAX = "Ints kernel_size, Ints? stride=None, Ints padding=0, Ints dilation=1, Bool ceil_mode=False"
_AVERAGE = ("Ints kernel_size, Ints? stride=None, Ints padding=0, Bool ceil_mode=False,"
            " Bool count_include_pad=True")
_UNPOOL = ("Tensor input, Tensor indices, Ints kernel_size, Ints? stride=None, Ints padding=0,"
           " Ints? output_size=None")
_FRACTION = ("Tensor input, Ints kernel_size, Ints? output_size=None, Object output_ratio=None,"
             " Bool return_indices=False, Tensor? _random_samples=None")
_INDICES = " -> (Tensor values, Tensor indices)"
_OR_INDICES = "tuple[Tensor, Tensor] if return_indices else Tensor"
_WORDS = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}


def _pools(n):
    words = _WORDS[n]
    average = _AVERAGE + (", Int? divisor_override=None" if n > 1 else "")
    of_volumes = "float32" if n == 3 else ""
    of_planes = "float32" if n > 1 else ""
    yield composite(f"max_pool{n}d(Tensor input, {_MAX}, Bool return_indices=False)", forms=_BOTH,
                    call=f"max_pool{n}d", returns=_OR_INDICES,
                    autocast=of_volumes,
                    doc=f"Maximum over windows of {words}.")
    if n != 2:
        yield composite(f"max_pool{n}d_with_indices(Tensor input, {_MAX}){_INDICES}", forms=_NN,
                        call=f"max_pool{n}d_with_indices",
                        autocast=of_volumes,
                        doc=f"Maximum over windows of {words}, and where it was.")
        yield composite(f"avg_pool{n}d(Tensor input, {average})",
                        call=f"avg_pool{n}d", forms=_BOTH if n == 1 else _NN,
                        autocast=of_volumes, exact_out=n == 3,
                        doc=f"Mean over windows of {words}.")
    yield composite(f"lp_pool{n}d(Tensor input, Scalar norm_type, Ints kernel_size,"
                    " Ints? stride=None, Bool ceil_mode=False)", forms=_NN,
                    doc=f"Power mean, times the count, over windows of {words}.")
    yield composite(f"adaptive_avg_pool{n}d(Tensor input, Object output_size)",
                    call=f"adaptive_avg_pool{n}d",
                    forms=_BOTH if n == 1 else _NN,
                    autocast=of_volumes,
                    doc=f"Mean over windows of {words} that give the wanted size.")
    yield composite(f"adaptive_max_pool{n}d(Tensor input, Object output_size,"
                    " Bool return_indices=False)", forms=_NN,
                    call=f"adaptive_max_pool{n}d", returns=_OR_INDICES,
                    autocast=of_volumes,
                    doc=f"Maximum over windows of {words} that give the wanted size.")
    yield composite(f"adaptive_max_pool{n}d_with_indices(Tensor input, Object output_size)"
                    f"{_INDICES}", forms=_NN, call=f"adaptive_max_pool{n}d_with_indices",
                    autocast=of_volumes,
                    doc="Maximum over windows that give the wanted size, and where it was.")
    yield composite(f"max_unpool{n}d({_UNPOOL})", forms=_NN,
                    autocast=of_planes, raises_on_values=True,
                    doc="Zeros, but for the maxima of a pooling at the indices they came from.")
    if n > 1:
        yield composite(f"fractional_max_pool{n}d({_FRACTION})", forms=_NN, returns=_OR_INDICES,
                        autocast=of_planes, raises_on_values=True,
                        doc="Maximum over windows whose steps are drawn at random.")
        yield composite(f"fractional_max_pool{n}d_with_indices({_FRACTION}){_INDICES}", forms=_NN,
                        autocast=of_planes, raises_on_values=True,
                        doc="Maximum over windows at random steps, and where it was.")


OPDEFS = (
    helper(f"max_pool2d_with_indices(Tensor self, {_POOL}) -> (Tensor values, Tensor indices)",
           forms=_NN,
           doc="Maximum over windows, and where it was (flat index in the plane).", jvp="rule",
           batching="images", decomposes=True),
    helper(f"max_pool2d_compact_indices(Tensor self, {_POOL})"
           " -> (Tensor values, Tensor indices)",
           doc="The same; indices are of the smallest dtype that holds those of a plane.",
           jvp="rule", batching="images", decomposes=True),
    helper(f"max_pool2d_values(Tensor self, {_POOL})", forms=(),
           doc="Maximum over windows, without where it was.", batching="images", decomposes=True),
    helper("max_pool2d_grad(Tensor grad, Tensor indices, Shape input_size)",
           doc="Gradient of max_pool2d.", linear="grad", batching="images", raises_on_values=True,
           decomposes=True),
    helper("avg_pool2d(Tensor self, Ints kernel_size, Ints? stride=None, Ints padding=0,"
           " Bool ceil_mode=False, Bool count_include_pad=True, Int? divisor_override=None)",
           forms=_NN, doc="Mean over windows.", exact_out=True, linear="self", batching="images",
           decomposes=True),
    helper("avg_pool2d_grad(Tensor grad, Shape input_size, Ints kernel_size, Ints? stride=None,"
           " Ints padding=0, Bool ceil_mode=False, Bool count_include_pad=True,"
           " Int? divisor_override=None)", doc="Gradient of avg_pool2d.", linear="grad",
           batching="images", decomposes=True),
    *_pools(1),
    *_pools(2),
    *_pools(3),
    helper("adaptive_mean(Tensor self, Dim dim, Int count)",
           doc="Means of ``count`` windows that cover a dimension, as equal as they can be.",
           linear="self", batching="dims", decomposes=True),
    helper("adaptive_mean_grad(Tensor grad, Dim dim, Int length)",
           doc="Gradient of adaptive_mean.", linear="grad", batching="dims", decomposes=True),
    helper(f"adaptive_max(Tensor self, Dim dim, Int count){_INDICES}",
           doc="Maxima of the windows of adaptive_mean, and their indices in the dimension.",
           jvp="rule", batching="dims", decomposes=True),
    helper("fractional_indices(Tensor self, Tensor samples, Ints kernel_size, Ints output_size)",
           differentiable=False,
           doc="Indices of the maxima over windows whose steps are drawn at random.",
           batching="samples", raises_on_values=True, decomposes=True),
)
