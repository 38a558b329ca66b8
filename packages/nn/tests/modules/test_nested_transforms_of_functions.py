"""``nn.functional`` under nested transforms: what a plain loop over samples gives."""

import pytest

import flambeau
import flambeau.nn.functional as F
from flambeau import func

pytestmark = pytest.mark.filterwarnings("ignore:vmap. .* has no batching rule")
_CLASSES = flambeau.tensor([1, 0])
_SIGNS = flambeau.tensor([1.0, -1.0], dtype=flambeau.float64)

#: Name -> a function of tensors, and the shapes of one sample's.
CASES = {
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (2, 4, 3), (4,), (4,)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4, 3), w, b), (2, 4, 3), (4, 3), (4, 3)),
    "layer_norm 1d": (lambda x, w, b: F.layer_norm(x, (3,), w, b), (3,), (3,), (3,)),
    "instance_norm": (lambda x, w, b: F.instance_norm(x, weight=w, bias=b), (2, 4, 3), (4,), (4,)),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (4, 2, 3), (2,), (2,)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (3,), w), (2, 3), (3,)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 2), (2, 4, 3)),
    "normalize": (F.normalize, (2, 4)),
    "linear": (F.linear, (2, 3), (4, 3), (4,)),
    "bilinear": (F.bilinear, (2, 3), (2, 4), (5, 3, 4), (5,)),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, padding=1, stride=2), (2, 3, 5), (4, 3, 3), (4,)),
    "conv2d": (lambda x, w: F.conv2d(x, w, groups=2), (1, 2, 4, 4), (2, 1, 3, 3)),
    "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, stride=2), (2, 3, 4), (3, 2, 3)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, 1, 1), (1, 3, 3, 3)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2, 1), (1, 3, 3, 3)),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 3), (2, 2, 5)),
    "lp_pool1d": (lambda x: F.lp_pool1d(x + 3, 3, 2), (2, 2, 4)),
    "unfold": (lambda x: F.unfold(x, 2), (1, 2, 3, 3)),
    "fold": (lambda x: F.fold(x, (3, 3), 2), (1, 8, 4)),
    "pad": (lambda x: F.pad(x, (1, 2), mode="reflect"), (2, 3, 4)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), (1, 2, 3, 3)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g * 0.7, align_corners=False),
                    (1, 2, 3, 3), (1, 2, 2, 2)),
    "affine_grid": (lambda a: F.affine_grid(a, (2, 1, 2, 3), align_corners=False), (2, 2, 3)),
    "cross_entropy": (lambda x: F.cross_entropy(x, _CLASSES, label_smoothing=0.1), (2, 3)),
    "cross_entropy of one": (lambda x: F.cross_entropy(x, flambeau.tensor(1)), (4,)),
    "kl_div": (lambda x, y: F.kl_div(x, y.abs() + 0.1, reduction="batchmean"), (2, 3), (2, 3)),
    "huber_loss": (lambda x, y: F.huber_loss(x, y, delta=0.5), (2, 3), (2, 3)),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, _CLASSES), (2, 3)),
    "triplet_margin_loss": (lambda x, y, z: F.triplet_margin_loss(x, y, z, 3.0),
                            (2, 3), (2, 3), (2, 3)),
    "cosine_embedding_loss": (lambda x, y: F.cosine_embedding_loss(x, y, _SIGNS), (2, 3), (2, 3)),
    "cosine_similarity": (lambda x, y: F.cosine_similarity(x, y, dim=1), (2, 3), (2, 3)),
    "pdist": (F.pdist, (3, 2)),
    "embedding": (lambda w: F.embedding(flambeau.tensor([[0, 2], [2, 1]]), w), (4, 3)),
    "attention": (F.scaled_dot_product_attention, (2, 2, 3), (2, 2, 3), (2, 2, 3)),
    "glu": (lambda x: F.glu(x, 1), (2, 4)),
    "prelu": (F.prelu, (2, 3, 2), (3,)),
}


def _numbers(*shape, seed=0):
    count = 1
    for n in shape:
        count *= n
    steps = flambeau.arange(count, dtype=flambeau.float64)
    return (1.3 * steps + 0.4 * steps * steps + seed).sin().reshape(shape) + 0.01 * seed


def _total(results):
    results = (results,) if isinstance(results, flambeau.Tensor) else results
    return sum([(y.sin() * (1 + _numbers(*y.shape, seed=3))).sum() for y in results])


def _loop(fn, dims):
    def run(*args):
        rows = [fn(*[x if d is None else x[i] for x, d in zip(args, dims, strict=True)])
                for i in range(2)]
        if isinstance(rows[0], flambeau.Tensor):
            return flambeau.stack(rows)
        return tuple([flambeau.stack(list(column)) for column in zip(*rows, strict=True)])
    return run


def _push(fn):
    return lambda *xs: func.jvp(fn, xs, tuple([0.3 * x.cos() + 0.2 for x in xs]))[1]


def _flat(tree):
    if isinstance(tree, flambeau.Tensor):
        return [tree]
    return [t for part in tree for t in _flat(part)]


NESTS = {
    "grad of vmap of grad": lambda v, fn, grad, n: func.grad(lambda *xs: _total(v(grad)(*xs)), n),
    "jvp of vmap of grad": lambda v, fn, grad, n: _push(v(grad)),
    "vmap of grad of grad": lambda v, fn, grad, n: v(func.grad(lambda *xs: _total(grad(*xs)), n)),
    "jacrev of vmap": lambda v, fn, grad, n: func.jacrev(v(fn), n),
    "jacfwd of vmap": lambda v, fn, grad, n: func.jacfwd(v(fn), n),
    "grad of vmap of jvp": lambda v, fn, grad, n: func.grad(lambda *xs: _total(v(_push(fn))(*xs)),
                                                           n),
}


@pytest.mark.parametrize("nest", NESTS)
@pytest.mark.parametrize(("name", "shared"), [
    (name, shared) for name, (_, *shapes) in CASES.items() for shared in (False, True)
    if len(shapes) > 1 or not shared])
def test_nests_are_loops(name, nest, shared):
    fn, *shapes = CASES[name]
    every = tuple(range(len(shapes)))
    dims = tuple([None if shared and i else 0 for i in every])
    args = [_numbers(2, *shape, seed=i) if d == 0 else _numbers(*shape, seed=i)
            for i, (shape, d) in enumerate(zip(shapes, dims, strict=True))]
    gradient = func.grad(lambda *xs: _total(fn(*xs)), every)
    expected = NESTS[nest](lambda f: _loop(f, dims), fn, gradient, every)(*args)
    found = NESTS[nest](lambda f: func.vmap(f, dims), fn, gradient, every)(*args)
    for a, b in zip(_flat(found), _flat(expected), strict=True):
        flambeau.testing.assert_close(a, b, rtol=1e-7, atol=1e-8)
