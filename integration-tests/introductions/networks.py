"""Modules, training loops, looking inside, saving."""

#: name -> (program, what it prints)
PROGRAMS = {
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
