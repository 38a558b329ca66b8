"""Python's own control flow makes the graph: loops, branches, recursion, lengths."""

#: name -> (program, what it prints)
PROGRAMS = {
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
}
