"""What is made on first use, as statements that eight threads run at the same time.

`python first_uses.py GROUP ORDER` runs the statements of a group and prints what failed. With
order `together` the threads wait for each other before each statement; with a number, the seed,
every thread has an order of its own.
"""

from __future__ import annotations

import faulthandler
import os
import random
import sys
import threading
import traceback

import flambeau as fl
from flambeau import rooms

THREADS = 8
SECONDS = 100  # then threads that wait for each other are shown


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


#: What `rooms` fills in, by the table itself; checkpoints of programs need an open device.
NAMES = [f"fl.{name}" for name in (*rooms.OWN_MODULES, *rooms.ROOMS, *rooms.NAMES, *rooms.OLDER)]

CORE = _lines("""
    assert fl.linalg.svd(fl.eye(3)).S.tolist() == [1, 1, 1]
    assert fl.fft.fft(fl.ones(4))[0].item() == 4
    assert fl.special.erf(fl.zeros(3)).tolist() == [0, 0, 0]
    assert repr(fl.ones(2)) == "tensor([1., 1.])"
    same(fl.FloatTensor)
    same(fl.return_types.max)
    assert fl.einsum("ij,jk->ik", fl.eye(2), fl.eye(2)).tolist() == [[1, 0], [0, 1]]
    assert (fl.ones(200, 200) @ fl.ones(200, 200)).sum().item() == 200 ** 3
    assert fl.ones(1000000).sum().item() == 1000000
    assert fl.stft(fl.ones(512), 64, return_complex=True).shape[0] == 33
    assert fl.histogramdd(fl.ones(3, 2), 2).hist.sum().item() == 3
    assert pickle.loads(pickle.dumps(fl.ones(2))).tolist() == [1, 1]
    assert copy.deepcopy(fl.ones(2)).tolist() == [1, 1]
    assert fl.core.row("exp__d_self").key == "exp__d_self"
    assert fl.add.__doc__
    assert "other" in inspect.signature(fl.add).parameters
    assert fl.from_numpy(fl.ones(2).numpy()).tolist() == [1, 1]
    assert fl.from_dlpack(fl.ones(2)).tolist() == [1, 1]
    assert fl.ones(2).__array_namespace__().e > 2
    assert fl.ones(2, device="ref").add(1).cpu().tolist() == [2, 2]
    same(importlib.import_module("flambeau.core.backends").adapter("ref"))
    assert fl.signal.windows.hann(4)[0].item() == 0
    assert fl.cov(fl.eye(2)).shape == (2, 2)
    assert fl.combinations(fl.arange(4)).shape == (6, 2)
    fl.testing.assert_close(fl.ones(2), fl.ones(2))
    fl.save({"a": fl.ones(2)}, file()); assert fl.load(file())["a"].tolist() == [1, 1]
    fl.cuda.is_available()
""")

AUTOGRAD = _lines("""
    x = leaf(1, 2); (x * x).sum().backward(); assert x.grad.tolist() == [2, 4]
    x = leaf(1); assert fl.autograd.grad(x.exp().log(), x)[0].tolist() == [1]
    x = leaf(1, 2); y = x.clone(); y[0] = 3; y.sum().backward(); assert x.grad.tolist() == [0, 1]
    x = leaf(2); g, = fl.autograd.grad(x ** 3, x, create_graph=True); g.backward()
    assert fl.vmap(lambda x: x.sort().values)(fl.eye(2)).tolist() == [[0, 1], [0, 1]]
    assert fl.func.jvp(lambda x: x * x, (fl.ones(2),), (fl.ones(2),))[1].tolist() == [2, 2]
    assert fl.func.hessian(lambda x: (x ** 3).sum())(fl.ones(1)).tolist() == [[6]]
    assert fl.func.jacrev(lambda x: x.cumsum(0))(fl.ones(2)).tolist() == [[1, 0], [1, 1]]
    with fl.autocast("cpu", fl.bfloat16): assert (fl.eye(2) @ fl.eye(2)).dtype is fl.bfloat16
    x = leaf(2); fl.utils.checkpoint.checkpoint(fl.sin, x, use_reentrant=False).backward()
    assert fl.autograd.gradcheck(lambda x: x.sin(), leaf(1, 2).double())
    with fl.autograd.set_detect_anomaly(True): leaf(1).sin().backward()
    with fl.profiler.profile() as found: fl.ones(3).sin()
    assert fl.autograd.functional.jacobian(lambda x: x * 2, fl.ones(1)).tolist() == [[2]]
    with fl.no_grad(): assert not (leaf(1) * 2).requires_grad
    x = fl.rand(1, 2, 8, 8).requires_grad_(); fl.conv2d(x, fl.ones(3, 2, 3, 3)).sum().backward()
""")

NN = _lines("""
    fl.nn.Linear(2, 2)(fl.ones(1, 2)).sum().backward()
    assert fl.nn.functional.relu(-fl.ones(1)).item() == 0
    fl.nn.functional.cross_entropy(fl.rand(2, 4), fl.tensor([0, 1]))
    fl.nn.utils.parametrizations.spectral_norm(fl.nn.Linear(3, 3))(fl.ones(1, 3))
    fl.nn.utils.prune.l1_unstructured(fl.nn.Linear(3, 3), "weight", 0.3)
    fl.nn.Transformer(8, 2, 1, 1, 16)(fl.rand(3, 1, 8), fl.rand(3, 1, 8)).sum().backward()
    fl.nn.LSTM(3, 4)(fl.rand(5, 1, 3))[0].sum().backward()
    assert len(list(fl.utils.data.DataLoader(list(range(10)), 2))) == 5
    assert len(list(fl.utils.data.DataLoader(list(range(9)), 3, num_workers=1, workers="thread")))
    fl.nn.summary(fl.nn.Linear(2, 2), fl.ones(1, 2))
    fl.nn.LazyLinear(3)(fl.ones(2, 2))
    fl.nn.init.orthogonal_(fl.empty(3, 3))
    fl.nn.BatchNorm1d(3)(fl.rand(4, 3)).sum().backward()
    fl.nn.utils.clip_grad_norm_([fl.nn.Parameter(fl.ones(2))], 1.0)
    fl.nn.utils.rnn.pad_sequence([fl.ones(2), fl.ones(3)])
""")

OPTIMIZERS = [f"step(fl.optim.{call})" for call in _lines("""
    SGD(p, 0.1)
    SGD(p, 0.1, momentum=0.9)
    SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1)
    SGD(p, 0.1, maximize=True)
    Adam(p)
    Adam(p, amsgrad=True)
    AdamW(p)
    Adamax(p)
    NAdam(p)
    RAdam(p)
    RMSprop(p, centered=True, momentum=0.9)
    Rprop(p)
    Adagrad(p)
    Adadelta(p)
    ASGD(p)
    Adafactor(p)
    Muon(p)
    LBFGS(p)
""")] + _lines("""
    fl.optim.lr_scheduler.StepLR(fl.optim.SGD(p, 0.1), 3)
    fl.optim.swa_utils.AveragedModel(fl.nn.Linear(2, 2))
    fl.GradScaler("cpu")
""")

JIT = _lines("""
    assert fl.compile(lambda x: x * 2 + 1)(fl.ones(2)).tolist() == [3, 3]
    assert fl.jit.trace(lambda x: x.relu() * 2, fl.ones(2))(fl.ones(2)).tolist() == [2, 2]
    x = fl.ones(70000, requires_grad=True); fl.compile(lambda x: (x * 2).sum())(x).backward()
    fl.jit.is_tracing()
    fl.compiler.is_compiling()
""")

#: Derivatives, of any order, of an operator that was registered at run time.
REGISTERED = _lines("""
    x = leaf(1, 2); y = leaf(3, 4); own(x, y).sum().backward(); assert y.grad.tolist() == [3, 6]
    x = leaf(1, 2); y = leaf(3, 4); own(x, y).sum().backward(); assert x.grad.tolist() == [6, 16]
    assert fl.func.hessian(lambda x: own(x, x).sum())(fl.ones(2)).tolist() == [[6, 0], [0, 6]]
    assert fl.vmap(lambda x: own(x, x))(fl.ones(2, 1)).tolist() == [[3], [3]]
    assert fl.func.jvp(lambda x: own(x, x), (fl.ones(1),), (fl.ones(1),))[1].tolist() == [5]
    fl.core.register_op(f"own_{threading.get_ident()}_{next(numbers)}(Operand x)", "x * x * x")
""")

GROUPS = {"names": NAMES, "core": CORE, "autograd": AUTOGRAD, "nn": NN, "optim": OPTIMIZERS,
          "jit": JIT, "registered": REGISTERED}
GROUPS["all"] = [statement for group in GROUPS.values() for statement in group]

HELP = '''
import copy, importlib, inspect, itertools, os, pickle, tempfile, threading
import flambeau as fl
numbers = itertools.count()
def leaf(*values):
    return fl.tensor([float(v) for v in values], requires_grad=True)
def file():
    return os.path.join(tempfile.gettempdir(), f"first-{os.getpid()}-{threading.get_ident()}")
def step(optimizer):
    p, = optimizer.param_groups[0]["params"]
    def loss():
        optimizer.zero_grad()
        value = (p * p).sum()
        value.backward()
        return value
    optimizer.step(loss)
    assert not (p == 1).any(), p
'''
OWN = "own = fl.core.register_op('own(Operand x, Operand y)', 'x * x * y + 2 * y')"


class Run:
    """Eight threads and what went wrong in them."""

    def __init__(self, statements: list[str], order: str) -> None:
        self.codes = [compile(text, f"<{text}>", "exec") for text in statements]
        self.order = order
        self.barrier = threading.Barrier(THREADS, timeout=SECONDS)
        self.failures: list[str] = []
        self.seen: dict[object, set[int]] = {}
        self.scope: dict[str, object] = {}
        exec(HELP, self.scope)
        if any("own(" in text for text in statements):
            exec(OWN, self.scope)

    def work(self, thread: int) -> None:
        """What one thread does."""
        codes = list(self.codes)
        if self.order != "together":
            random.Random(f"{self.order} {thread}").shuffle(codes)
        self.barrier.wait()
        for code in codes:
            if self.order == "together":
                self.barrier.wait()
            self.run(code)

    def run(self, code) -> None:
        """Run one statement, with parameters of its own."""

        def same(value):
            self.seen.setdefault(code, set()).add(id(value))

        try:
            exec(code, {**self.scope, "same": same, "p": [fl.ones(2, 2, requires_grad=True)]})
        except BaseException:
            self.failures.append(f"{code.co_filename}\n{traceback.format_exc()}")


def main(group: str, order: str) -> None:
    """Run a group and print what failed, or where threads wait for each other."""
    run = Run(GROUPS[group], order)
    threads = [threading.Thread(target=run.work, args=(i,), daemon=True) for i in range(THREADS)]
    sys.setswitchinterval(1e-6)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    if any(thread.is_alive() for thread in threads):
        faulthandler.dump_traceback(sys.stdout)
        os._exit(1)
    several = [code.co_filename for code, ids in run.seen.items() if len(ids) > 1]
    print(*dict.fromkeys(run.failures), *[f"made twice: {each}" for each in several], sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
