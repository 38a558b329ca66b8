"""What introductions to PyTorch show, with ``torch`` replaced in the import lines.

Every test holds a program as a reader would type it, and the output PyTorch prints for it. The
programs are run as they stand, each in a namespace of its own.
"""

import contextlib
import io
import textwrap

import pytest

PROGRAMS = {
    "polynomial": (
        """
        import flambeau as torch
        x = torch.tensor(2.0, requires_grad=True)
        y = x**2 + 3*x + 1
        y.backward()
        print(y)
        print(x.grad)
        """,
        """
        tensor(11., grad_fn=<AddBackward0>)
        tensor(7.)
        """,
    ),
    "grad_fn": (
        """
        import flambeau as torch
        x = torch.ones(2, 2, requires_grad=True)
        print(x)
        y = x + 2
        print(y)
        print(y.grad_fn.name(), x.grad_fn)
        z = y * y * 3
        out = z.mean()
        print(z, out)
        print(out.grad_fn.name(), z.grad_fn.next_functions[0][0].name())
        out.backward()
        print(x.grad)
        """,
        """
        tensor([[1., 1.],
                [1., 1.]], requires_grad=True)
        tensor([[3., 3.],
                [3., 3.]], grad_fn=<AddBackward0>)
        AddBackward0 None
        tensor([[27., 27.],
                [27., 27.]], grad_fn=<MulBackward0>) tensor(27., grad_fn=<MeanBackward0>)
        MeanBackward0 MulBackward0
        tensor([[4.5000, 4.5000],
                [4.5000, 4.5000]])
        """,
    ),
    "tensors": (
        """
        import flambeau as torch
        data = [[1, 2], [3, 4]]
        x_data = torch.tensor(data)
        print(x_data)
        print(torch.ones_like(x_data))
        print(torch.zeros((2, 3,)))
        tensor = torch.ones(4, 4)
        print(f"First row: {tensor[0]}")
        print(f"Last column: {tensor[..., -1]}")
        tensor[:, 1] = 0
        print(tensor)
        t1 = torch.cat([tensor, tensor, tensor], dim=1)
        print(t1.shape[0], t1.shape[1])
        agg = tensor.sum()
        print(agg.item(), type(agg.item()))
        tensor.add_(5)
        print(tensor[0])
        print((tensor @ tensor.T)[0, 0].item())
        """,
        """
        tensor([[1, 2],
                [3, 4]])
        tensor([[1, 1],
                [1, 1]])
        tensor([[0., 0., 0.],
                [0., 0., 0.]])
        First row: tensor([1., 1., 1., 1.])
        Last column: tensor([1., 1., 1., 1.])
        tensor([[1., 0., 1., 1.],
                [1., 0., 1., 1.],
                [1., 0., 1., 1.],
                [1., 0., 1., 1.]])
        4 12
        12.0 <class 'float'>
        tensor([6., 5., 6., 6.])
        133.0
        """,
    ),
    "numpy_bridge": (
        """
        import numpy as np
        import flambeau as torch
        t = torch.ones(5)
        n = t.numpy()
        t.add_(1)
        print(t, n)
        n = np.ones(3)
        t = torch.from_numpy(n)
        np.add(n, 1, out=n)
        print(t, n)
        """,
        """
        tensor([2., 2., 2., 2., 2.]) [2. 2. 2. 2. 2.]
        tensor([2., 2., 2.], dtype=torch.float64) [2. 2. 2.]
        """,
    ),
    "loop": (
        """
        import flambeau as torch
        def power(x, n):
            result = x
            for _ in range(n - 1):
                result = result * x
            return result
        for n in (1, 2, 5):
            x = torch.tensor(3.0, requires_grad=True)
            power(x, n).backward()
            print(n, x.grad)
        """,
        """
        1 tensor(1.)
        2 tensor(6.)
        5 tensor(405.)
        """,
    ),
    "branch": (
        """
        import flambeau as torch
        def f(x):
            if x.item() > 0:
                return x * 2
            return x ** 2
        for value in (3.0, -3.0):
            x = torch.tensor(value, requires_grad=True)
            y = f(x)
            y.backward()
            print(y, x.grad)
        """,
        """
        tensor(6., grad_fn=<MulBackward0>) tensor(2.)
        tensor(9., grad_fn=<PowBackward0>) tensor(-6.)
        """,
    ),
    "while": (
        """
        import flambeau as torch
        def f(a):
            b = a * 2
            while b.norm() < 1000:
                b = b * 2
            if b.sum() > 0:
                c = b
            else:
                c = 100 * b
            return c
        for value in (0.7, -3.0):
            a = torch.tensor(value, requires_grad=True)
            d = f(a)
            d.backward()
            print(a.grad == d / a)
        """,
        """
        tensor(True)
        tensor(True)
        """,
    ),
    "recursion": (
        """
        import flambeau as torch
        def tree_sum(node, w):
            if isinstance(node, tuple):
                return w * (tree_sum(node[0], w) + tree_sum(node[1], w))
            return torch.tensor(float(node))
        for tree in (1, (1, 2), ((1, 2), 3), ((1, 2), (3, (4, 5)))):
            w = torch.tensor(2.0, requires_grad=True)
            y = tree_sum(tree, w)
            if y.requires_grad:
                y.backward()
            print(y.item(), w.grad)
        """,
        """
        1.0 None
        6.0 tensor(3.)
        18.0 tensor(15.)
        96.0 tensor(132.)
        """,
    ),
    "variable_length": (
        """
        import flambeau as torch
        w = torch.tensor([[0.5, 0.0], [0.0, 2.0]], requires_grad=True)
        def encode(sequence):
            h = torch.zeros(2)
            for x in sequence:
                h = w @ (h + x)
            return h.sum()
        batch = [torch.ones(n, 2) for n in (1, 3, 2)]
        loss = sum(encode(sequence) for sequence in batch)
        loss.backward()
        print(loss)
        print(w.grad)
        """,
        """
        tensor(24.1250, grad_fn=<AddBackward0>)
        tensor([[ 5.7500, 13.2500],
                [13.2500, 23.0000]])
        """,
    ),
    "leaf_and_intermediate": (
        """
        import flambeau as torch
        x = torch.tensor(3.0, requires_grad=True)
        y = x * 2
        z = y ** 2
        y.retain_grad()
        z.backward()
        print(x.is_leaf, y.is_leaf)
        print(x.grad, y.grad)
        """,
        """
        True False
        tensor(24.) tensor(12.)
        """,
    ),
    "accumulation": (
        """
        import flambeau as torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(2):
            (x * x).sum().backward()
        print(x.grad)
        x.grad.zero_()
        (x * 3).sum().backward()
        print(x.grad)
        """,
        """
        tensor([4., 8.])
        tensor([3., 3.])
        """,
    ),
    "vector_jacobian": (
        """
        import flambeau as torch
        inp = torch.eye(2, 3, requires_grad=True)
        out = (inp + 1).pow(2).t()
        out.backward(torch.ones_like(out), retain_graph=True)
        print(inp.grad)
        out.backward(torch.ones_like(out))
        print(inp.grad)
        """,
        """
        tensor([[4., 2., 2.],
                [2., 4., 2.]])
        tensor([[8., 4., 4.],
                [4., 8., 4.]])
        """,
    ),
    "retain_graph": (
        """
        import flambeau as torch
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        y.backward(retain_graph=True)
        y.backward()
        print(x.grad)
        """,
        """
        tensor(8.)
        """,
    ),
    "second_derivative": (
        """
        import flambeau as torch
        x = torch.tensor(2.0, requires_grad=True)
        y = x ** 3
        g, = torch.autograd.grad(y, x, create_graph=True)
        gg, = torch.autograd.grad(g, x)
        print(g.item(), gg.item())
        """,
        """
        12.0 12.0
        """,
    ),
    "detach": (
        """
        import flambeau as torch
        x = torch.ones(2, requires_grad=True)
        y = x * 2
        z = y.detach()
        print(z.requires_grad, z.data_ptr() == y.data_ptr())
        z[0] = 7
        print(y)
        """,
        """
        False True
        tensor([7., 2.], grad_fn=<MulBackward0>)
        """,
    ),
    "no_grad": (
        """
        import flambeau as torch
        x = torch.ones(1, requires_grad=True)
        y = x * 2
        print(y.requires_grad)
        with torch.no_grad():
            y = x * 2
        print(y.requires_grad)
        """,
        """
        True
        False
        """,
    ),
    "evaluation": (
        """
        import flambeau as torch
        from flambeau import nn
        model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
        print(model.training, model(torch.ones(1, 3)).requires_grad)
        model.eval()
        with torch.no_grad():
            a, b = model(torch.ones(1, 3)), model(torch.ones(1, 3))
        print(model.training, a.requires_grad, (a == b).all().item())
        """,
        """
        True True
        False False True
        """,
    ),
    "classification": (
        """
        import flambeau as torch
        import flambeau.nn as nn
        layer = nn.Linear(4, 2)
        loss_fn = nn.CrossEntropyLoss()
        loss = loss_fn(layer(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        loss.backward()
        print(tuple(layer.weight.grad.shape), tuple(layer.bias.grad.shape))
        print(layer)
        print(abs(layer.bias.grad.sum().item()) < 1e-6)
        """,
        """
        (2, 4) (2,)
        Linear(in_features=4, out_features=2, bias=True)
        True
        """,
    ),
    "fashion_network": (
        """
        import flambeau as torch
        from flambeau import nn
        class NeuralNetwork(nn.Module):
            def __init__(self):
                super().__init__()
                self.flatten = nn.Flatten()
                self.linear_relu_stack = nn.Sequential(
                    nn.Linear(28*28, 512),
                    nn.ReLU(),
                    nn.Linear(512, 512),
                    nn.ReLU(),
                    nn.Linear(512, 10),
                )

            def forward(self, x):
                x = self.flatten(x)
                logits = self.linear_relu_stack(x)
                return logits
        device = "cpu"
        model = NeuralNetwork().to(device)
        print(model)
        X = torch.rand(1, 28, 28, device=device)
        logits = model(X)
        pred_probab = nn.Softmax(dim=1)(logits)
        y_pred = pred_probab.argmax(1)
        print(tuple(y_pred.shape), round(pred_probab.sum().item(), 4))
        print(sum(p.numel() for p in model.parameters() if p.requires_grad))
        """,
        """
        NeuralNetwork(
          (flatten): Flatten(start_dim=1, end_dim=-1)
          (linear_relu_stack): Sequential(
            (0): Linear(in_features=784, out_features=512, bias=True)
            (1): ReLU()
            (2): Linear(in_features=512, out_features=512, bias=True)
            (3): ReLU()
            (4): Linear(in_features=512, out_features=10, bias=True)
          )
        )
        (1,) 1.0
        669706
        """,
    ),
    "training_loop": (
        """
        import flambeau as torch
        from flambeau import nn
        from flambeau.utils.data import DataLoader, TensorDataset
        torch.manual_seed(0)
        X = torch.linspace(-1, 1, 64).unsqueeze(1)
        y = 3 * X + 0.5
        dataloader = DataLoader(TensorDataset(X, y), batch_size=16, shuffle=True)
        model = nn.Linear(1, 1)
        loss_fn = nn.MSELoss()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(60):
            for xb, yb in dataloader:
                pred = model(xb)
                loss = loss_fn(pred, yb)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        print(f"{model.weight.item():.3f} {model.bias.item():.3f}")
        """,
        """
        3.000 0.500
        """,
    ),
    "regression_by_hand": (
        """
        import math
        import flambeau as torch
        x = torch.linspace(-math.pi, math.pi, 200)
        y = torch.sin(x)
        a, b = torch.tensor(0.0, requires_grad=True), torch.tensor(0.0, requires_grad=True)
        for t in range(200):
            y_pred = a * x + b * x ** 3
            loss = (y_pred - y).pow(2).sum()
            loss.backward()
            with torch.no_grad():
                a -= 1e-5 * a.grad
                b -= 1e-5 * b.grad
                a.grad = None
                b.grad = None
        print(f"{a.item():.3f} {b.item():.3f} {loss.item():.2f}")
        """,
        """
        0.294 -0.014 34.45
        """,
    ),
    "custom_function": (
        """
        import flambeau as torch
        class Exp(torch.autograd.Function):
            @staticmethod
            def forward(ctx, i):
                result = i.exp()
                ctx.save_for_backward(result)
                return result

            @staticmethod
            def backward(ctx, grad_output):
                result, = ctx.saved_tensors
                return grad_output * result
        x = torch.zeros(2, requires_grad=True)
        y = Exp.apply(x)
        y.sum().backward()
        print(y, x.grad)
        """,
        """
        tensor([1., 1.], grad_fn=<ExpBackward>) tensor([1., 1.])
        """,
    ),
    "stepping_through": (
        """
        import flambeau as torch
        from flambeau import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = nn.Linear(2, 3)

            def forward(self, x):
                x = self.hidden(x)
                print("hidden:", tuple(x.shape), x.min().item() <= x.max().item())
                x = torch.relu(x)
                print("relu:", bool((x >= 0).all()))
                return x
        import sys
        seen = []
        def tracer(frame, event, arg):
            if frame.f_code.co_name == "forward" and "hidden" in str(frame.f_locals.get("self")):
                def local(frame, event, arg):
                    if event == "line":
                        seen.append(tuple(frame.f_locals["x"].shape))
                    return local
                return local
        net = Net()
        sys.settrace(tracer)
        out = net(torch.ones(1, 2))
        sys.settrace(None)
        print(seen[0], seen[-1])
        """,
        """
        hidden: (1, 3) True
        relu: True
        (1, 2) (1, 3)
        """,
    ),
    "save_and_load": (
        """
        import os, tempfile
        import flambeau as torch
        from flambeau import nn
        model = nn.Linear(2, 1)
        path = os.path.join(tempfile.mkdtemp(), "model.pt")
        torch.save(model.state_dict(), path)
        twin = nn.Linear(2, 1)
        print(twin.load_state_dict(torch.load(path)))
        print((model.weight == twin.weight).all().item())
        """,
        """
        <All keys matched successfully>
        True
        """,
    ),
}


def run(program):
    """What a program prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(textwrap.dedent(program), "introduction", "exec"), {"__name__": "program"})
    return printed.getvalue()


@pytest.mark.parametrize(("program", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_prints_what_pytorch_prints(program, expected):
    expected = textwrap.dedent(expected).lstrip("\n").replace("torch.float64", "flambeau.float64")
    assert run(program) == expected


@pytest.mark.oracle
@pytest.mark.parametrize(("program", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_pytorch_prints_that(program, expected):
    pytest.importorskip("torch")
    program = program.replace("import flambeau as torch", "import torch")
    assert run(program.replace("flambeau", "torch")) == textwrap.dedent(expected).lstrip("\n")


FAILURES = {
    "second_backward": (
        """
        import flambeau as torch
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        y.backward()
        y.backward()
        """,
        ["second time", "retain_graph=True"],
    ),
    "in_place_on_saved": (
        """
        import flambeau as torch
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.exp()
        z = y * y
        y.add_(1)
        z.sum().backward()
        """,
        ["has been modified by an in"],
    ),
    "in_place_on_leaf": (
        """
        import flambeau as torch
        x = torch.tensor([1.0], requires_grad=True)
        x.add_(1)
        """,
        ["leaf", "in-place"],
    ),
    "not_scalar": (
        """
        import flambeau as torch
        x = torch.ones(2, requires_grad=True)
        (x * 2).backward()
        """,
        ["scalar"],
    ),
    "nothing_to_differentiate": (
        """
        import flambeau as torch
        torch.ones(1).backward()
        """,
        ["does not require grad"],
    ),
    "numpy_of_a_tensor_with_grad": (
        """
        import flambeau as torch
        torch.ones(1, requires_grad=True).numpy()
        """,
        ["detach()"],
    ),
}


@pytest.mark.parametrize(("program", "words"), FAILURES.values(), ids=FAILURES)
def test_fails_with_a_clear_error(program, words):
    with pytest.raises(RuntimeError) as error:
        run(program)
    for word in words:
        assert word in str(error.value)


@pytest.mark.oracle
@pytest.mark.parametrize(("program", "words"), FAILURES.values(), ids=FAILURES)
def test_pytorch_fails_likewise(program, words):
    pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as error:
        run(program.replace("import flambeau as torch", "import torch"))
    for word in words:
        assert word in str(error.value)
