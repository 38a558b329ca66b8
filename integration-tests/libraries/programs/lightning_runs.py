"""lightning: training, checkpoints that a run goes on from, callbacks, metrics, Fabric."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

import torch
import torchmetrics
from lightning import fabric, pytorch
from worker import fill, numbers

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)


class Network(pytorch.LightningModule):
    """Two layers that tell three classes apart."""

    def __init__(self, width: int = 16, rate: float = 0.05) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.inner = fill(torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Dropout(0.2),
            torch.nn.Linear(width, 3)))
        self.accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3)
        self.seen: list[float] = []

    def training_step(self, batch: Any, index: int) -> Any:
        loss = torch.nn.functional.cross_entropy(self.inner(batch[0]), batch[1])
        self.log("loss", loss)
        self.seen.append(loss.item())
        return loss

    def validation_step(self, batch: Any, index: int) -> None:
        scores = self.inner(batch[0])
        self.accuracy(scores, batch[1])
        self.log("accuracy", self.accuracy, on_epoch=True)
        self.log("val_loss", torch.nn.functional.cross_entropy(scores, batch[1]))

    def predict_step(self, batch: Any, index: int) -> Any:
        return self.inner(batch[0]).argmax(1)

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.AdamW(self.parameters(), self.hparams.rate)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


def loader(seed: int, shuffle: bool = False) -> Any:
    x = numbers(32, 4, seed=seed)
    data = torch.utils.data.TensorDataset(x, x[:, :3].argmax(1))
    return torch.utils.data.DataLoader(data, 8, shuffle=shuffle)


def trainer(folder: str, epochs: int, **options: Any) -> Any:
    options = {"enable_checkpointing": False, **options}
    return pytorch.Trainer(
        max_epochs=epochs, logger=False, enable_progress_bar=False, enable_model_summary=False,
        accelerator="cpu", devices=1, default_root_dir=folder, **options)


def fit() -> Any:
    """Losses with shuffled data, clipped gradients in two parts, metrics."""
    pytorch.seed_everything(3)
    with tempfile.TemporaryDirectory() as folder:
        network = Network()
        runner = trainer(folder, 3, gradient_clip_val=0.5, accumulate_grad_batches=2)
        runner.fit(network, loader(1, shuffle=True), loader(2))
        found = runner.validate(network, loader(2), verbose=False)
        return network.seen, found, runner.predict(network, loader(2))


def resume() -> Any:
    """A run that ends after two epochs, and one that goes on from its checkpoint."""
    pytorch.seed_everything(4)
    with tempfile.TemporaryDirectory() as folder:
        keep = pytorch.callbacks.ModelCheckpoint(folder, "best", monitor="val_loss", save_last=True)
        stop = pytorch.callbacks.EarlyStopping("val_loss", patience=5)
        first = Network()
        trainer(folder, 2, callbacks=[keep, stop], enable_checkpointing=True).fit(
            first, loader(1), loader(2))
        again = Network()
        runner = trainer(folder, 4)
        runner.fit(again, loader(1), loader(2), ckpt_path=str(Path(folder) / "last.ckpt"),
                   weights_only=False)
        loaded = Network.load_from_checkpoint(str(Path(folder) / "best.ckpt"), weights_only=False)
        return (first.seen, again.seen, runner.global_step, loaded.hparams.width,
                {name: value.float().norm() for name, value in loaded.state_dict().items()},
                {name: value.float().norm() for name, value in again.state_dict().items()})


def averaged() -> Any:
    """Stochastic weight averaging."""
    pytorch.seed_everything(5)
    with tempfile.TemporaryDirectory() as folder:
        network = Network()
        swa = pytorch.callbacks.StochasticWeightAveraging(swa_lrs=0.01, swa_epoch_start=1)
        trainer(folder, 4, callbacks=[swa]).fit(network, loader(1))
        return network.seen, [each.detach() for each in network.inner.parameters()]


def fabrics() -> Any:
    """A loop of one's own, with bfloat16."""
    helper = fabric.Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    helper.launch()
    helper.seed_everything(6)
    model = fill(torch.nn.Linear(4, 3))
    model, optimizer = helper.setup(model, torch.optim.SGD(model.parameters(), 0.1))
    losses = []
    for x, y in helper.setup_dataloaders(loader(1)):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x).float(), y)
        helper.backward(loss)
        optimizer.step()
        losses.append(round(loss.item(), 2))    # bfloat16
    return losses


CASES = {each.__name__: each for each in (fit, resume, averaged, fabrics)}
