"""What `sweep.py` times: expressions over `t`, the framework, `F`, its functional, and inputs."""

from __future__ import annotations

#: Inputs by name: shape, and what the numbers are (in (0, 1), normal, or whole).
INPUTS = {
    "x": ((512, 1000), "unit"), "y": ((512, 1000), "unit"), "z": ((512, 1000), "normal"),
    "row": ((1000,), "normal"), "col": ((512, 1), "normal"), "sq": ((700, 700), "normal"),
    "a": ((256, 256), "normal"), "b": ((256, 256), "normal"), "tall": ((500, 256), "normal"),
    "line": ((400_000,), "normal"), "whole": ((512, 1000), "whole"),
    "tokens": ((8, 128, 512), "normal"), "heads": ((2, 8, 128, 64), "normal"),
    "batch": ((32, 64, 64), "normal"), "signal": ((8, 64, 1000), "normal"),
    "image": ((4, 32, 56, 56), "normal"), "maps": ((8, 64, 32, 32), "normal"),
    "small": ((4, 64, 28, 28), "normal"), "channels": ((64,), "unit"),
    "grid": ((8, 56, 56, 2), "unit"), "triples": ((100_000, 3), "normal"),
    "w3": ((64, 64, 3, 3), "normal"), "w1": ((64, 64, 1, 1), "normal"),
    "wd": ((64, 1, 3, 3), "normal"), "wt": ((64, 32, 4, 4), "normal"),
    "waves": ((128, 1024), "normal"), "spd": ((100, 100), "normal"),
}

REAL = ("float32", "float64", "bfloat16", "float16")
WIDE = REAL[:2]
WHOLE = ("int64", "int32", "uint8")
ALL = (*REAL, *WHOLE)
COMPLEX = ("complex64",)

_UNARY = ("abs neg exp exp2 expm1 log log2 log1p sqrt rsqrt sin cos tan asin atan sinh tanh "
          "sigmoid erf erfc erfinv lgamma digamma reciprocal square floor round trunc frac sign "
          "relu isnan isfinite logical_not nan_to_num i0 sinc logit").split()
_BINARY = ("add sub mul maximum minimum eq lt fmod remainder floor_divide logical_and").split()
_FLOATING = "div pow atan2 fmax hypot copysign xlogy logaddexp".split()
_REDUCED = "sum prod amax amin argmax all any cumsum cumprod cummax sort".split()
_AVERAGED = "mean std var softmax log_softmax logsumexp logcumsumexp median".split()
_ACTIVATIONS = ("gelu silu elu leaky_relu softplus hardtanh hardswish mish selu logsigmoid "
                "softsign softshrink normalize glu").split()
_LOSSES = ("mse_loss l1_loss smooth_l1_loss binary_cross_entropy kl_div").split()

#: Expressions, and the dtypes that they are timed in.
CALLS: dict[str, tuple[str, ...]] = {
    **{f"t.{name}(x)": REAL for name in _UNARY},
    **{f"t.{name}(x)": (*REAL, *COMPLEX) for name in ("exp", "sqrt", "tanh", "abs", "square")},
    **{f"t.{name}(x, y)": ALL for name in _BINARY},
    **{f"t.{name}(x, y)": REAL for name in _FLOATING},
    **{f"t.{name}(x, {dim})": ALL for name in _REDUCED for dim in (-1, 0)},
    **{f"t.{name}(x, {dim})": REAL for name in _AVERAGED for dim in (-1, 0)},
    **{f"t.{name}(x)": ALL for name in ("sum", "prod", "amax", "aminmax", "argmax", "any")},
    **{f"t.{name}(x)": REAL for name in ("mean", "var", "norm", "nansum")},
    **{f"F.{name}(z)": REAL for name in _ACTIVATIONS},
    **{f"F.{name}(x, y)": REAL[:3] for name in _LOSSES},
    **{f"x.to(t.{target})": ALL for target in ("float32", "bfloat16", "int64", "uint8", "bool")},
    "z + row": ALL, "z + col": ALL, "sq + sq.t()": ALL, "x ** 2": ALL, "x ** 0.5": REAL,
    "z.add_(row)": ALL, "z.copy_(x)": ALL, "z.clone()": ALL, "z.fill_(1)": ALL,
    "t.where(z > 0.5, z, x)": ALL, "t.clamp(z, 0, 1)": ALL, "t.lerp(x, z, 0.3)": REAL,
    "t.addcmul(x, x, z, value=0.5)": REAL, "z.masked_fill(z > 0.5, 0)": ALL,
    "z[z > 0.5]": ALL, "t.nonzero(z)": ALL, "t.count_nonzero(z)": ALL, "t.topk(z, 10)": ALL,
    "t.cat([x, z], 0)": ALL, "t.cat([x, z], 1)": ALL, "t.stack([x, z], -1)": ALL,
    "sq.t().contiguous()": (*ALL, *COMPLEX), "maps.permute(0, 2, 3, 1).contiguous()": ALL,
    "tokens.view(8, 128, 8, 64).transpose(1, 2).contiguous()": REAL, "t.roll(z, 3, 1)": ALL,
    "t.tril(z)": ALL, "tall.repeat(2, 2)": ALL, "tall.repeat_interleave(3, 0)": ALL,
    "F.pad(image, (1, 1, 1, 1))": REAL, "F.pad(image, (1, 1, 1, 1), mode='reflect')": REAL,
    "tall.index_select(0, ids)": ALL, "tall[ids]": ALL, "tall[:, ids[:200] // 2]": ALL,
    "tall.gather(1, places)": ALL, "tall.scatter_add(1, places, tall)": REAL,
    "tall.index_add(0, ids[:500], tall)": REAL, "F.embedding(ids, tall)": REAL,
    "t.dot(line, line)": REAL, "t.mv(x, row)": REAL, "t.outer(row, row)": REAL,
    "a @ b": (*REAL, *COMPLEX), "a.t() @ b": REAL, "a @ b.t()": REAL, "batch @ batch": REAL,
    "F.linear(tokens, tokens[0, :, :])": REAL, "t.cdist(tall, tall)": WIDE,
    "F.layer_norm(z, (1000,), row, row)": REAL, "F.rms_norm(z, (1000,), row)": REAL,
    "F.group_norm(maps, 8, channels, channels)": REAL, "F.instance_norm(maps)": REAL,
    "F.batch_norm(maps, None, None, channels, channels, True)": REAL,
    "F.batch_norm(maps, channels, channels, channels, channels)": REAL,
    "F.cross_entropy(z, ids[:512])": REAL[:3],
    "F.max_pool2d(image, 2)": REAL, "F.max_pool2d(image, 3, 2, 1)": REAL,
    "F.avg_pool2d(image, 2)": REAL, "F.adaptive_avg_pool2d(image, 7)": REAL,
    "F.adaptive_max_pool2d(image, 7)": REAL, "F.max_pool1d(signal, 2)": REAL,
    **{f"F.interpolate(maps, scale_factor=2, mode='{mode}')": WIDE
       for mode in ("nearest", "bilinear", "bicubic")},
    "F.grid_sample(maps, grid, align_corners=False)": WIDE,
    "F.conv2d(small, w3, padding=1)": REAL, "F.conv2d(small, w1)": REAL,
    "F.conv2d(small, w3, padding=1, stride=2)": WIDE,
    "F.conv2d(small, wd, padding=1, groups=64)": WIDE,
    "F.conv_transpose2d(small, wt, stride=2, padding=1)": WIDE,
    "F.conv1d(signal, w3[:, :, 0], padding=1)": WIDE,
    "F.scaled_dot_product_attention(heads, heads, heads)": REAL,
    "F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)": REAL,
    "t.fft.fft(waves)": WIDE, "t.fft.rfft(waves)": WIDE, "t.fft.fft2(waves)": WIDE,
    "t.linalg.inv(spd)": WIDE, "t.linalg.qr(spd)": WIDE, "t.linalg.svd(spd)": WIDE,
    "t.linalg.eigh(spd @ spd.t())": WIDE, "t.linalg.cholesky(spd @ spd.t() + 100 * eye)": WIDE,
    "t.linalg.cross(triples, triples)": REAL, "t.sort(line)": ALL, "t.unique(whole)": WHOLE,
    "F.dropout(x, 0.1)": REAL, "t.bernoulli(x)": WIDE, "z.normal_()": WIDE,
    "t.multinomial(x, 20, replacement=True)": WIDE,
}
