"""A variational autoencoder learns what digits look like, and draws new ones.

    python vae.py --out results

An encoder turns a picture into a small cloud of codes, a decoder draws a picture from a code of
the cloud. The clouds are kept close to a normal distribution, so that its samples are codes of
new digits (Kingma and Welling, "Auto-Encoding Variational Bayes", 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers import draw_pictures, load_digits, options, plot_curves, report, start
from tqdm import tqdm

import flambeau
from flambeau import Tensor, nn, optim
from flambeau.nn import functional as F
from flambeau.utils.data import DataLoader, TensorDataset

PIXELS = 64


class Autoencoder(nn.Module):
    """Pictures of 64 pixels to codes and back."""

    def __init__(self, hidden: int = 256, codes: int = 12) -> None:
        super().__init__()
        self.codes = codes
        self.encoder = nn.Sequential(
            nn.Flatten(),
            nn.Linear(PIXELS, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, 2 * codes),
        )
        self.decoder = nn.Sequential(
            nn.Linear(codes, hidden),
            nn.GELU(),
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.Linear(hidden, PIXELS),
        )

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits of the pixels drawn from a random code, and the cloud it came from."""
        mean, log_variance = self.encoder(images).chunk(2, dim=1)
        code = mean + flambeau.randn_like(mean) * (log_variance / 2).exp()
        return self.decoder(code), mean, log_variance

    @flambeau.no_grad()
    def sample(self, count: int) -> Tensor:
        """New pictures."""
        logits = self.decoder(flambeau.randn(count, self.codes))
        return logits.sigmoid().reshape(count, 8, 8)

    @flambeau.no_grad()
    def redraw(self, images: Tensor) -> Tensor:
        """Pictures from the middle of the cloud of each."""
        mean = self.encoder(images)[:, : self.codes]
        return self.decoder(mean).sigmoid().reshape(-1, 8, 8)


def bound(model: Autoencoder, images: Tensor) -> Tensor:
    """The loss: nats to describe a picture, an upper bound in the mean of the batch."""
    logits, mean, log_variance = model(images)
    pixels = F.binary_cross_entropy_with_logits(logits, images.flatten(1), reduction="sum")
    distance = (mean.square() + log_variance.exp() - 1 - log_variance).sum() / 2
    return (pixels + distance) / len(images)


def train(
    model: Autoencoder, images: Tensor, held_out: Tensor, epochs: int
) -> tuple[list[float], list[float]]:
    """Teach the model, and return the mean loss of every epoch, in training and held out."""
    batches = DataLoader(TensorDataset(images), batch_size=64, shuffle=True)
    optimizer = optim.AdamW(model.parameters(), lr=2e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    losses, checks = [], []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        total = 0.0
        for (batch,) in batches:
            loss = bound(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        schedule.step()
        losses.append(total / len(images))
        with flambeau.no_grad():
            checks.append(bound(model, held_out).item())
        progress.set_postfix(loss=f"{losses[-1]:.3f}", held_out=f"{checks[-1]:.3f}")
    return losses, checks


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, evaluate, and draw."""
    parser = options("Learn to draw digits.", "vae")
    parser.add_argument("--epochs", type=int, default=200, help="passes over the digits")
    parser.add_argument("--codes", type=int, default=12, help="numbers that describe a digit")
    arguments = parser.parse_args(argv)
    began = start(arguments)

    digits, held_out = load_digits()
    model = Autoencoder(codes=arguments.codes)
    losses, checks = train(model, digits.images, held_out.images, arguments.epochs)

    originals = held_out.images[:10]
    redrawn = flambeau.cat([originals[:, 0], model.redraw(originals)])
    draw_pictures(arguments.out / "redrawn.png", redrawn)
    draw_pictures(arguments.out / "samples.png", model.sample(60))
    curves = {"training": losses, "held out": checks}
    plot_curves(arguments.out / "loss.png", "nats per picture", "epoch", curves)
    return report({"loss": losses, "held-out loss": checks}, began)


if __name__ == "__main__":
    main()
