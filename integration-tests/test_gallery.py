"""The scripts of the manual's gallery learn, repeat themselves, and run in PyTorch as well."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from gallery import load

import flambeau

np = pytest.importorskip("numpy")

# A small run of each script, the figure that is to fall (or rise), and to which share of its
# first values it gets.
SMALL = {
    "digits": (["--epochs", "3"], "loss", 0.4),
    "resnet": (["--epochs", "2", "--size", "32", "--digits", "320", "--width", "16"], "loss", 0.5),
    "gpt": (["--network", "gpt", "--steps", "40", "--width", "64", "--batch", "8"], "loss", 0.8),
    "lstm": (["--network", "lstm", "--steps", "40", "--width", "64", "--batch", "8"], "loss", 0.85),
    "vae": (["--epochs", "8"], "loss", 0.85),
    "languages": (["--epochs", "2", "--names", "3000", "--width", "64"], "loss", 0.9),
    "cartpole": (["--updates", "60"], "return in training", 2.0),
}
LETTERS = ("gpt", "lstm")


def script(case: str, library: str, folder: Path) -> ModuleType:
    return load("letters" if case in LETTERS else case, library, folder)


def small(case: str, library: str, folder: Path) -> dict[str, Any]:
    """Run the small version, which writes little text, and none in PyTorch: it has no cache."""
    options = list(SMALL[case][0])
    if case in LETTERS:
        options += ["--letters", "40" if library == "flambeau" else "0"]
    return script(case, library, folder).main(["--out", str(folder), *options])


def ends(case: str, figures: dict[str, Any]) -> tuple[float, float]:
    """The mean of the first fifth of the figure's values, and of the last."""
    values = figures[SMALL[case][1]]
    some = max(1, len(values) // 5)
    return sum(values[:some]) / some, sum(values[-some:]) / some


def change(case: str, figures: dict[str, Any]) -> float:
    """The last values of the figure over the first ones."""
    first, last = ends(case, figures)
    return last / first


def learned(case: str, figures: dict[str, Any]) -> bool:
    share = SMALL[case][2]
    return change(case, figures) > share if share > 1 else change(case, figures) < share


@pytest.mark.parametrize("case", SMALL)
def test_learns_and_learns_the_same_again(case, tmp_path):
    first, second = (small(case, "flambeau", tmp_path) for _ in range(2))
    assert learned(case, first), change(case, first)
    assert first == second
    assert list(tmp_path.glob("*.png"))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")  # of torch.jit
@pytest.mark.parametrize("case", SMALL)
def test_learns_as_much_in_pytorch(case, tmp_path):
    torch = pytest.importorskip("torch")
    # Its threads wait for each other in loops, which takes minutes on a busy machine.
    torch.set_num_threads(1)
    ours, theirs = (small(case, library, tmp_path) for library in ("flambeau", "torch"))
    assert learned(case, theirs), change(case, theirs)
    assert ours.keys() == theirs.keys()
    if SMALL[case][1] == "loss":
        # They draw different random numbers, so that small runs end some way from each other.
        assert ends(case, ours)[1] == pytest.approx(ends(case, theirs)[1], rel=0.5)


def torchvision_keys() -> list[str]:
    """The names in torchvision's file of ResNet-18, written down from its layers."""
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    keys = ["conv1.weight", *(f"bn1.{each}" for each in norm)]
    for stage in range(1, 5):
        for block in range(2):
            at = f"layer{stage}.{block}"
            for i in (1, 2):
                keys += [f"{at}.conv{i}.weight", *(f"{at}.bn{i}.{each}" for each in norm)]
            if stage > 1 and block == 0:
                down = f"{at}.downsample"
                keys += [f"{down}.0.weight", *(f"{down}.1.{each}" for each in norm)]
    return [*keys, "fc.weight", "fc.bias"]


def test_resnet_has_the_parameters_of_torchvision(tmp_path):
    model = load("resnet", "flambeau", tmp_path).ResNet()
    assert list(model.state_dict()) == torchvision_keys()
    assert sum(each.numel() for each in model.parameters()) == 11_689_512


def outcome(base: Any, model: Any, pictures: Any, dtype: str) -> dict[str, Any]:
    """What a network computes from pictures: scores, gradients and running statistics."""
    x = base.from_numpy(pictures).to(getattr(base, dtype)).requires_grad_()
    scores = model(x)
    weights = base.arange(scores.numel()).reshape(scores.shape).to(scores.dtype).cos()
    (scores * weights).sum().backward()
    gradients = {name: each.grad for name, each in model.named_parameters()}
    found = {"scores": scores, "x": x.grad, **gradients}
    statistics = {f"{name} after": each for name, each in model.named_buffers()}
    return {name: each.detach().numpy() for name, each in {**found, **statistics}.items()}


@pytest.mark.oracle
@pytest.mark.parametrize(("dtype", "close"), [("float32", 1e-4), ("float64", 1e-9)])
@pytest.mark.parametrize("training", [False, True])
def test_resnet_computes_what_pytorch_does(training, dtype, close, tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs = load("resnet", "torch", tmp_path).ResNet(classes=10)
    ours = load("resnet", "flambeau", tmp_path).ResNet(classes=10)
    torch.save(theirs.state_dict(), tmp_path / "resnet18.pt")
    ours.load_state_dict(flambeau.load(tmp_path / "resnet18.pt"))
    pictures = np.random.default_rng(0).normal(size=(4, 3, 64, 64))
    found, expected = (
        outcome(base, model.to(getattr(base, dtype)).train(training), pictures, dtype)
        for base, model in ((flambeau, ours), (torch, theirs))
    )
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        scale = max(1.0, abs(value).max())
        assert abs(found[name] - value).max() <= close * scale, name


@pytest.mark.parametrize("network", LETTERS)
def test_writing_letter_by_letter_reads_what_training_reads(network, tmp_path):
    letters = load("letters", "flambeau", tmp_path)
    flambeau.manual_seed(0)
    model = letters.NETWORKS[network](30, 16, 2).eval()
    ids = flambeau.randint(0, 30, (2, letters.CONTEXT))
    with flambeau.no_grad():
        read = model.reader()
        parts = [read(ids[:, :20]), *(read(ids[:, i : i + 1]) for i in range(20, ids.shape[1]))]
        assert flambeau.allclose(flambeau.cat(parts, dim=1), model(ids), atol=1e-5)


def test_names_in_a_batch_are_heard_as_each_alone(tmp_path):
    languages = load("languages", "flambeau", tmp_path)
    flambeau.manual_seed(0)
    model = languages.Listener(letters=40, width=16).eval()
    names = [languages.Name(flambeau.randint(0, 40, (n,)), 0) for n in (5, 1, 17, 5, 2)]
    with flambeau.no_grad():
        together = model(languages.collate(names)[0])
        alone = flambeau.cat([model(languages.collate([name])[0]) for name in names])
    assert flambeau.allclose(together, alone, atol=1e-5)


def resident() -> int:
    """Bytes of memory that the process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


class Watch:
    """A progress bar that notes how much memory there is at each step."""

    def __init__(self, steps: Any, **_: Any) -> None:
        self.steps = steps
        self.bytes: list[int] = []

    def __iter__(self):
        for step in self.steps:
            self.bytes.append(resident())
            yield step
        self.bytes.append(resident())

    def set_postfix(self, **_: Any) -> None:
        """Nobody looks."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
@pytest.mark.parametrize("case", ["digits", "vae", "languages"])
def test_memory_stays_flat_over_ten_epochs(case, tmp_path, monkeypatch):
    watches: list[Watch] = []

    def watch(steps: Any, **options: Any) -> Watch:
        watches.append(Watch(steps, **options))
        return watches[-1]

    module = script(case, "flambeau", tmp_path)
    monkeypatch.setattr(module, "tqdm", watch)
    module.main(["--out", str(tmp_path), "--epochs", "14"])
    # The lowest of the last three, since sequences make batches of many sizes, which come and go.
    after_three, after_ten_more = watches[0].bytes[3], min(watches[0].bytes[-3:])
    assert after_ten_more < 1.02 * after_three
