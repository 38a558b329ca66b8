"""What PyTorch refuses, and words that its error has."""

#: name -> (program, words of the error)
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
