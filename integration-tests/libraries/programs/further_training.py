"""What trains, measures and explains: each case is named after the library that it needs."""

from __future__ import annotations

import io
from typing import Any

import torch
from worker import fill, gradients, numbers, trained


class Network(torch.nn.Module):
    """Two layers, chances of two classes."""

    def __init__(self, width: int = 10) -> None:
        super().__init__()
        self.a, self.b = torch.nn.Linear(5, width), torch.nn.Linear(width, 2)

    def forward(self, x: Any) -> Any:
        return torch.softmax(self.b(torch.relu(self.a(x))), -1)


def small() -> Any:
    return fill(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)))


def loss(net: Any) -> Any:
    return net(numbers(5, 4)).square().mean()


def skorch() -> Any:
    from sklearn.model_selection import GridSearchCV
    from skorch import NeuralNetClassifier
    from skorch.callbacks import EarlyStopping, LRScheduler

    x = numbers(120, 5).numpy()
    y = (x[:, 0] + x[:, 1] > 0).astype("int64")
    net = NeuralNetClassifier(Network, max_epochs=8, lr=0.1, verbose=0,
                              iterator_train__shuffle=True,
                              callbacks=[LRScheduler("StepLR", step_size=2), EarlyStopping()])
    net.fit(x, y)
    file = io.BytesIO()
    net.save_params(f_params=file)
    file.seek(0)
    again = NeuralNetClassifier(Network).initialize()
    again.load_params(f_params=file)
    grid = GridSearchCV(NeuralNetClassifier(Network, max_epochs=3, verbose=0),
                        {"lr": [0.1, 0.01], "module__width": [4, 8]}, cv=2).fit(x, y)
    return (net.history[:, ("train_loss", "valid_loss", "valid_acc")], net.predict_proba(x),
            again.predict_proba(x), grid.cv_results_["mean_test_score"], grid.best_params_)


def pytorch_ignite() -> Any:
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.handlers import EMAHandler, PiecewiseLinear
    from ignite.metrics import Accuracy, ConfusionMatrix, Loss, Precision, Recall

    x = numbers(64, 4)
    data = torch.utils.data.TensorDataset(x, x[:, :3].argmax(1))
    loader = torch.utils.data.DataLoader(data, 8, shuffle=True)
    net, criterion = fill(torch.nn.Linear(4, 3)), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    trainer = create_supervised_trainer(net, optimizer, criterion)
    evaluator = create_supervised_evaluator(net, metrics={
        "accuracy": Accuracy(), "loss": Loss(criterion), "confusion": ConfusionMatrix(3),
        "f": (Precision() * Recall() * 2 / (Precision() + Recall())).mean()})
    rates = PiecewiseLinear(optimizer, "lr", [(0, 0.1), (20, 0.01)])
    trainer.add_event_handler(Events.ITERATION_STARTED, rates)
    average = EMAHandler(net, momentum=0.1)
    average.attach(trainer, name="average")
    found = []
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda _: found.append(
        dict(evaluator.run(loader).metrics)))
    trainer.run(loader, max_epochs=3)
    return found, dict(average.ema_model.state_dict())


def captum() -> Any:
    from captum import attr

    net = fill(torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Linear(64, 3)))
    x, mask = numbers(2, 1, 8, 8), (torch.arange(64) // 8).reshape(1, 1, 8, 8)
    further = {
        **dict.fromkeys(("IntegratedGradients", "Saliency", "InputXGradient", "DeepLift",
                         "GuidedBackprop", "Deconvolution"), {}),
        **dict.fromkeys(("GradientShap", "DeepLiftShap"), {"baselines": torch.zeros(3, 1, 8, 8)}),
        **dict.fromkeys(("FeatureAblation", "ShapleyValueSampling"), {"feature_mask": mask}),
        "Occlusion": {"sliding_window_shapes": (1, 3, 3)}}
    found = {name: getattr(attr, name)(net).attribute(x, target=1, **options)
             for name, options in further.items()}
    return (found, attr.LayerConductance(net, net[0]).attribute(x, target=1),
            attr.LayerGradCam(net, net[0]).attribute(x, target=1))


def pytorch_metric_learning() -> Any:
    from pytorch_metric_learning import losses, miners

    labels, found = torch.arange(12) // 3, {}
    classes = {"num_classes": 4, "embedding_size": 8}
    names = ("TripletMarginLoss ContrastiveLoss NTXentLoss MultiSimilarityLoss CircleLoss "
             "NPairsLoss SupConLoss AngularLoss LiftedStructureLoss FastAPLoss").split()
    learned = "ArcFaceLoss CosFaceLoss ProxyAnchorLoss ProxyNCALoss SoftTripleLoss".split()
    for name in names + learned:
        x = numbers(12, 8).requires_grad_()
        criterion = fill(getattr(losses, name)(**(classes if name in learned else {})))
        value = criterion(x, labels)
        value.backward()
        found[name] = [value, x.grad, gradients(criterion)]
    mined = [list(getattr(miners, name)()(numbers(12, 8), labels)) for name in (
        "MultiSimilarityMiner", "TripletMarginMiner", "PairMarginMiner", "BatchHardMiner")]
    return found, mined


def vector_quantize_pytorch() -> Any:
    import vector_quantize_pytorch as kinds

    found = []
    for made in (kinds.VectorQuantize(dim=16, codebook_size=12),
                 kinds.VectorQuantize(dim=16, codebook_size=12, use_cosine_sim=True),
                 kinds.VectorQuantize(dim=16, codebook_size=12, kmeans_init=True),
                 kinds.ResidualVQ(dim=16, num_quantizers=3, codebook_size=12),
                 kinds.FSQ(levels=[5, 4, 3], dim=16), kinds.SimVQ(dim=16, codebook_size=12),
                 kinds.LFQ(codebook_size=16, dim=16, entropy_loss_weight=0.1)):
        x = numbers(2, 20, 16).requires_grad_()
        results = [made(x) for _ in range(3)]
        results[-1][0].square().sum().backward()
        found.append([results, x.grad, dict(made.state_dict())])
    return found


def torch_optimizer() -> Any:
    import torch_optimizer as kinds

    return [trained(net, loss, kind(net.parameters(), lr=1e-3)) for kind, net in (
        (getattr(kinds, name), small()) for name in (
            "AdaBound AdaMod AdamP DiffGrad Lamb NovoGrad QHAdam RAdam Ranger SGDP "
            "SGDW Yogi AdaBelief PID AggMo").split())]


def pytorch_optimizer() -> Any:
    import pytorch_optimizer as kinds

    return [trained(net, loss, kinds.create_optimizer(net, name, lr=1e-3)) for name, net in (
        (name, small()) for name in ("adan adopt came lion muon prodigy ranger stableadamw tiger "
                                     "adamp").split())]


def lion_pytorch() -> Any:
    from lion_pytorch import Lion

    net = small()
    return trained(net, loss, Lion(net.parameters(), 1e-2, weight_decay=0.1))


def ema_pytorch() -> Any:
    from ema_pytorch import EMA

    net = fill(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3)))
    average = EMA(net, beta=0.9, update_after_step=1, update_every=2)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(8):
        loss(net).backward()
        optimizer.step()
        average.update()
    return average(numbers(5, 4)), dict(average.state_dict())


def julius() -> Any:
    import julius

    x = numbers(2, 1, 4000).requires_grad_()
    found = [julius.resample_frac(x, 4, 5), julius.lowpass_filter(x, 0.1),
             julius.bandpass_filter(x, 0.1, 0.2), julius.split_bands(x, 8000, n_bands=4)]
    sum(each.square().mean() for each in found).backward()
    return found, x.grad


def fastai() -> Any:
    import fastai.callback.progress
    import fastai.callback.schedule  # noqa: F401  (both patch the class)
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner
    from fastai.metrics import accuracy

    x = numbers(64, 4)
    data = torch.utils.data.TensorDataset(x, x[:, :3].argmax(1))
    loaders = DataLoaders(*(torch.utils.data.DataLoader(data, 8) for _ in range(2)), device="cpu")
    learner = Learner(loaders, fill(torch.nn.Linear(4, 3)), torch.nn.CrossEntropyLoss(),
                      metrics=accuracy)
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(3, 0.01)
    return [list(map(float, row)) for row in learner.recorder.values], dict(
        learner.model.state_dict())


CASES = {each.__name__: each for each in (
    skorch, pytorch_ignite, captum, pytorch_metric_learning, vector_quantize_pytorch,
    torch_optimizer, pytorch_optimizer, lion_pytorch, ema_pytorch, julius, fastai)}
