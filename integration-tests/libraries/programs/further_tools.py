"""What attacks, prunes, measures and follows networks: cases are named after the libraries."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from worker import fill, numbers, trained


def classes(*shape: int, most: int = 3) -> Any:
    """Numbers of classes."""
    return torch.arange(torch.Size(shape).numel()).mul(7).remainder(most).reshape(shape)


def pictures() -> Any:
    """A network for pictures of 8 x 8."""
    return fill(nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                              nn.MaxPool2d(2), nn.Conv2d(8, 6, 3, padding=1), nn.ReLU(),
                              nn.Flatten(), nn.Linear(96, 3)))


def layers() -> Any:
    """A small network."""
    return fill(nn.Sequential(nn.Linear(4, 6), nn.Sigmoid(), nn.Linear(6, 3)))


def loss(net: Any) -> Any:
    return nn.functional.cross_entropy(net(numbers(6, 4)), classes(6))


def schedulefree() -> Any:
    import schedulefree as kinds

    found = []
    for name in ("AdamWScheduleFree", "SGDScheduleFree", "RAdamScheduleFree",
                 "ScheduleFreeWrapper"):
        net = layers()
        if name == "ScheduleFreeWrapper":
            optimizer = kinds.ScheduleFreeWrapper(torch.optim.SGD(net.parameters(), 1e-2))
        else:
            optimizer = getattr(kinds, name)(net.parameters(), lr=0.01)
        optimizer.train()

        steps = []
        for _ in range(8):
            optimizer.zero_grad()
            value = loss(net)
            value.backward()
            optimizer.step()
            steps.append(value.detach())
        optimizer.eval()
        found.append([steps, dict(net.state_dict())])
    return found


def torch_ema() -> Any:
    from torch_ema import ExponentialMovingAverage

    net = layers()
    average = ExponentialMovingAverage(net.parameters(), decay=0.9)
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(5):
        loss(net).backward()
        optimizer.step()
        average.update()
    with average.average_parameters():
        inside = loss(net)
    return inside, loss(net), average.state_dict()["shadow_params"]


def torch_pruning() -> Any:
    import torch_pruning as kinds
    from torchvision.models import resnet18

    x, found = numbers(1, 3, 32, 32), []
    for net in (pictures(), fill(resnet18(num_classes=4))):
        picture = x if not isinstance(net, nn.Sequential) else numbers(1, 3, 8, 8)
        pruner = kinds.pruner.MetaPruner(
            net, picture, importance=kinds.importance.GroupMagnitudeImportance(),
            pruning_ratio=0.5, ignored_layers=[list(net.modules())[-1]])
        before = kinds.utils.count_ops_and_params(net, picture)
        pruner.step()
        net.eval()
        found.append([before, kinds.utils.count_ops_and_params(net, picture), net(picture),
                      {name: list(p.shape) for name, p in net.named_parameters()}])
    return found


def torchattacks() -> Any:
    import torchattacks as kinds

    net, x, found = pictures().eval(), numbers(4, 3, 8, 8).sigmoid(), {}
    options = {"PGD": {"random_start": False}, "CW": {"steps": 5}, "DeepFool": {"steps": 5},
               "AutoAttack": None}
    for name in ("FGSM PGD BIM MIFGSM CW DeepFool NIFGSM SINIFGSM VMIFGSM TIFGSM PGDL2 RFGSM "
                 "EOTPGD FFGSM TPGD PIFGSM").split():
        torch.manual_seed(0)
        found[name] = getattr(kinds, name)(net, **options.get(name, {}))(x, classes(4))
    return found


def grad_cam() -> Any:
    import pytorch_grad_cam as kinds
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

    net, found = pictures().eval(), {}
    goals = [ClassifierOutputTarget(1), ClassifierOutputTarget(2)]
    for name in "GradCAM GradCAMPlusPlus XGradCAM LayerCAM AblationCAM ScoreCAM".split():
        with getattr(kinds, name)(model=net, target_layers=[net[4]]) as cam:
            found[name] = cam(input_tensor=numbers(2, 3, 8, 8), targets=goals)
    return found


def backpack_for_pytorch() -> Any:
    from backpack import backpack, extend, extensions

    net = extend(fill(nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(),
                                    nn.Linear(144, 3))))
    criterion = extend(nn.CrossEntropyLoss())
    kinds = (extensions.BatchGrad(), extensions.BatchL2Grad(), extensions.SumGradSquared(),
             extensions.Variance(), extensions.DiagGGNExact(), extensions.DiagHessian(),
             extensions.KFAC(), extensions.KFLR())
    with backpack(*kinds):
        criterion(net(numbers(5, 3, 8, 8)), classes(5)).backward()
    return [{name: [getattr(p, name) for name in (
        "grad_batch", "batch_l2", "sum_grad_squared", "variance", "diag_ggn_exact", "diag_h")]}
        for name, p in net.named_parameters()], [p.kflr for p in net.parameters()]


def curvlinops_for_pytorch() -> Any:
    import curvlinops as kinds

    net, found = layers(), []
    data = [(numbers(6, 4), classes(6)), (numbers(6, 4, seed=2), classes(6))]
    criterion = nn.CrossEntropyLoss()
    parameters = list(net.parameters())
    for name in ("HessianLinearOperator", "GGNLinearOperator", "EFLinearOperator"):
        operator = getattr(kinds, name)(net, criterion, parameters, data)
        found.append(operator @ numbers(operator.shape[1]))
    return found


def opacus() -> Any:
    from opacus import GradSampleModule, PrivacyEngine

    net = fill(nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(),
                             nn.Linear(144, 3)))
    x, y = numbers(16, 1, 8, 8), classes(16)
    sampled = GradSampleModule(net)
    nn.functional.cross_entropy(sampled(x), y).backward()
    each = {name: p.grad_sample for name, p in sampled.named_parameters()}
    sampled.to_standard_module()
    net.zero_grad()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 4)
    engine, optimizer = PrivacyEngine(), torch.optim.SGD(net.parameters(), 0.1)
    private, optimizer, data = engine.make_private(
        module=net, optimizer=optimizer, data_loader=data, noise_multiplier=1.0, max_grad_norm=1.0)
    steps = []
    for a, b in data:
        optimizer.zero_grad()
        value = nn.functional.cross_entropy(private(a), b)
        value.backward()
        optimizer.step()
        steps.append([len(a), value.detach()])
    return each, steps, engine.get_epsilon(1e-5), dict(private.state_dict())


def torchopt() -> Any:
    import torchopt as kinds

    found = []
    for name in ("Adam", "AdamW", "SGD", "RMSprop", "AdaGrad", "Adamax", "RAdam", "Adadelta"):
        net = layers()
        found.append(trained(net, loss, getattr(kinds, name)(net.parameters(), lr=0.01)))
    function = kinds.adam(lr=0.1)
    params = tuple(layers().parameters())
    state = function.init(params)
    grads = torch.autograd.grad(sum(p.square().sum() for p in params), params)
    updates, state = function.update(grads, state)
    return found, kinds.apply_updates(params, updates)


def poutyne() -> Any:
    from poutyne import Model

    x, y = numbers(48, 4).numpy(), classes(48).numpy()
    model = Model(layers(), "adam", "cross_entropy", batch_metrics=["accuracy"],
                  epoch_metrics=["f1"])
    log = model.fit(x, y, epochs=3, batch_size=8, validation_data=(x, y), verbose=False)
    return [{k: v for k, v in row.items() if "time" not in k} for row in log], model.predict(x)


def pytorch_minimize() -> Any:
    import torchmin

    start, found = numbers(5, dtype="float64"), {}
    for method in ("bfgs l-bfgs newton-cg newton-exact trust-ncg trust-exact").split():
        def rosen(x: Any) -> Any:
            return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

        result = torchmin.minimize(rosen, start, method=method, max_iter=100)
        found[method] = [result.x, result.fun, result.nit]
    least = torchmin.least_squares(lambda x: x ** 2 - torch.arange(5.0).double(), start + 3)
    return found, least.x


def foolbox() -> Any:
    import foolbox as kinds

    net, x, found = pictures().eval(), numbers(4, 3, 8, 8).sigmoid(), {}
    model = kinds.PyTorchModel(net, bounds=(0, 1), device="cpu")
    for name in "LinfPGD FGSM L2DeepFoolAttack L2CarliniWagnerAttack DDNAttack".split():
        torch.manual_seed(0)
        attack = getattr(kinds.attacks, name)(**({"steps": 6} if name not in ("FGSM",) else {}))
        raw, clipped, good = attack(model, x, classes(4), epsilons=[0.03, 0.5])
        found[name] = [raw, clipped, good]
    return found


def thop() -> Any:
    from thop import profile
    from torchvision.models import mobilenet_v2, resnet18
    return [list(profile(net(), inputs=(numbers(1, 3, 32, 32),), verbose=False))
            for net in (resnet18, mobilenet_v2)]


def torchviz() -> Any:
    from torchviz import make_dot

    net = layers()
    text = make_dot(loss(net), params=dict(net.named_parameters())).source
    return "AddmmBackward0" in text, "SigmoidBackward0" in text, "0.weight" in text


def torchsummary() -> Any:
    import contextlib
    import io

    from torchsummary import summary

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        summary(pictures(), (3, 8, 8), device="cpu")
    return text.getvalue()


def webdataset() -> Any:
    import tempfile

    import webdataset as kinds

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/a.tar"
        with kinds.TarWriter(path) as file:
            for i in range(10):
                file.write({"__key__": f"{i:03}", "x.pth": numbers(3, seed=i), "y.cls": i % 3})
        data = kinds.WebDataset(path, shardshuffle=False).decode().to_tuple("x.pth", "y.cls")
        return [[each[0], each[1]] for each in kinds.WebLoader(data.batched(4), batch_size=None)]


def xitorch() -> Any:
    import xitorch as base
    from xitorch import integrate, linalg, optimize

    a = numbers(4, 4, dtype="float64")
    a = (a @ a.T + torch.eye(4).double()).requires_grad_()
    operator = base.LinearOperator.m(a)
    x = linalg.solve(operator, numbers(4, 2, dtype="float64"))
    values, vectors = linalg.symeig(operator)
    root = optimize.rootfinder(lambda y, a: a @ y + 0.1 * y ** 3 - 1, torch.zeros(4).double(), (a,))
    area = integrate.quad(lambda t, a: torch.cos(a[0] * t), torch.zeros(()).double(),
                          torch.ones(()).double(), (a,))
    (x.square().sum() + values.sum() + root.square().sum() + area.sum()).backward()
    return x, values, vectors.abs(), root, area, a.grad


CASES = {each.__name__: each for each in (
    schedulefree, torch_ema, torch_pruning, torchattacks, grad_cam, backpack_for_pytorch,
    curvlinops_for_pytorch, opacus, torchopt, poutyne, pytorch_minimize, foolbox, thop, torchviz,
    torchsummary, webdataset, xitorch)}
