"""Where gradients go: leaves, accumulation, second passes, parts cut off."""

#: name -> (program, what it prints)
PROGRAMS = {
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
}
