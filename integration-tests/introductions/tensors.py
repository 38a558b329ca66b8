"""Tensors, their first gradient, and NumPy."""

#: name -> (program, what it prints)
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
}
