"""Runs every call of calls.py in a process of its own: ``child.py INPUTS RESULTS [no-numpy]``.

Inputs come from a file, so that no NumPy is needed; the results go to another.
"""

import sys


class _NoNumPy:
    """The first finder: as if NumPy were not installed."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "numpy":
            raise ModuleNotFoundError("No module named 'numpy'", name="numpy")


if "no-numpy" in sys.argv:
    sys.meta_path.insert(0, _NoNumPy)

import calls  # noqa: E402

import flambeau  # noqa: E402
from flambeau.core import ops  # noqa: E402


def big(name):
    """Calls large enough for several threads, panels and blocks."""
    flambeau.manual_seed(11)
    x, y = flambeau.rand(700, 600), flambeau.rand(600, 650)
    image, filters = flambeau.rand(4, 8, 30, 30), flambeau.rand(16, 8, 3, 3)
    table = {
        "sum": lambda: x.sum(), "sum0": lambda: x.sum(0), "sum1": lambda: x.sum(1),
        "mean": lambda: x.mean(), "var": lambda: x.var(0), "prod": lambda: (x + 0.5).prod(0),
        "amax": lambda: x.amax(1), "argmax": lambda: x.argmax(0), "exp": lambda: x.exp(),
        "sin": lambda: x.t().sin(), "add": lambda: x + y[:, :600].t()[:1],
        "matmul": lambda: x @ y, "tall": lambda: x @ y[:, :3], "vector": lambda: x @ y[:, 0],
        "softmax": lambda: x.softmax(0), "log_softmax": lambda: x.log_softmax(1),
        "logsumexp": lambda: x.logsumexp((0, 1)), "cumsum": lambda: x.cumsum(0),
        "sort": lambda: x.sort(1)[1], "conv2d": lambda: ops.conv2d(image, filters),
        "layer_norm": lambda: ops.layer_norm(x, (600,)),
        "batch_norm": lambda: ops.batch_norm(image, None, None, training=True),
        "attention": lambda: ops.scaled_dot_product_attention(
            x[:, :512].view(2, 5, 70, 512), x[:, :512].view(2, 5, 70, 512),
            x[:, :512].view(2, 5, 70, 512)),
        "index_add": lambda: flambeau.zeros(9, 600).index_add(
            0, (x[:, 0] * 9).long(), x),
        "scatter_add": lambda: flambeau.zeros(9, 600).scatter_add(0, (x * 9).long(), x),
        "bfloat16": lambda: (x.bfloat16() * 3).sum(0),
        "nonzero": lambda: (x > 0.99).nonzero(), "masked": lambda: x[x > 0.99],
    }
    return table if name is None else table[name]()


def main(source, target):
    inputs = flambeau.load(source)
    results = {}
    for key, made in calls.CALLS.items():
        for i, call in enumerate(made):
            if "float32" not in call.dtypes:
                continue
            out = call.function(flambeau, *[x.clone() for x in inputs[f"{key}-{i}"]])
            if isinstance(out, bool):
                out = flambeau.tensor(out)
            results[f"{key}-{i}"] = list(out) if isinstance(out, (tuple, list)) else [out]
    for name in big(None):
        results[f"big-{name}"] = [big(name)]
    flambeau.save(results, target)


if __name__ == "__main__":
    main(*sys.argv[1:3])
