"""The operators of torchaudio's compiled library, against all there is to try."""
from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path

import pytest

import flambeau

# By its file: importing it by name starts the alias.
FILE = Path(flambeau.__file__).parent / "as_torch" / "stands" / "compiled" / "audio.py"
SPEC = importlib.util.spec_from_file_location("audio_stand", FILE)
audio = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(audio)


def test_filters_are_their_recurrence():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    flambeau.manual_seed(0)
    x = flambeau.randn(2, 3, 7, dtype=flambeau.float64)
    a = flambeau.cat([flambeau.randn(3, 2, dtype=flambeau.float64) / 3,
                      flambeau.ones(3, 1, dtype=flambeau.float64)], 1)
    padded = flambeau.zeros(2, 3, 9, dtype=flambeau.float64)
    audio._lfilter_core_loop(x, a, padded)
    for row, line in itertools.product(range(2), range(3)):
        y = [0.0, 0.0]
        for each in x[row, line].tolist():
            y.append(each - a[line, 1].item() * y[-1] - a[line, 0].item() * y[-2])
        assert padded[row, line].tolist() == pytest.approx(y)


def test_distortion_is_its_recurrence():
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    wave, temp = flambeau.randn(1, 5), flambeau.randn(1, 5)
    last_in, last_out, out = flambeau.zeros(1), flambeau.zeros(1), flambeau.zeros(1, 5)
    audio._overdrive_core_loop(wave, temp, last_in, last_out, out)
    before, kept, wanted = 0.0, 0.0, []
    for w, t in zip(wave[0].tolist(), temp[0].tolist(), strict=True):
        kept = t - before + 0.995 * kept
        before = t
        wanted.append(w * 0.5 + kept * 0.75)
    assert out[0].tolist() == pytest.approx(wanted, abs=1e-6)
    assert (last_in.item(), last_out.item()) == pytest.approx((before, kept))


@pytest.mark.parametrize("text", [[1, 1, 2], [3], [1, 2, 1], []])
@pytest.mark.parametrize("seed", range(3))
def test_an_alignment_is_the_best_of_all(text, seed):
    flambeau.manual_seed(seed)
    scores = flambeau.randn(1, 6, 4).log_softmax(-1)
    path, same = audio.forced_align(scores, flambeau.tensor([text], dtype=flambeau.int64),
                                    flambeau.tensor([6]), flambeau.tensor([len(text)]), 0)

    def told(classes):
        return [each for each, _ in itertools.groupby(classes) if each]

    def total(classes):
        return sum(scores[0, k, each].item() for k, each in enumerate(classes))

    best = max(total(each) for each in itertools.product(range(4), repeat=6) if told(each) == text)
    assert told(path[0].tolist()) == text and total(path[0].tolist()) == pytest.approx(best)
    assert same is scores


def test_a_text_that_is_too_long_has_no_alignment():
    with pytest.raises(RuntimeError, match="too long for CTC.*length: 2, .*length: 2.*repeats: 1"):
        audio.forced_align(flambeau.zeros(1, 2, 3), flambeau.tensor([[1, 1]]),
                           flambeau.tensor([2]), flambeau.tensor([2]), 0)


def likelihood(scores, text, blank):
    """The sum over all ways through the lattice, one by one."""
    ways = []
    for at in itertools.combinations(range(len(scores) - 1 + len(text)), len(text)):
        t = u = 0
        found = 0.0
        for step in range(len(scores) - 1 + len(text)):
            found = found + (scores[t, u, text[u]] if step in at else scores[t, u, blank])
            t, u = (t, u + 1) if step in at else (t + 1, u)
        ways.append(found + scores[t, u, blank])
    return -flambeau.logsumexp(flambeau.stack(ways), 0)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("clamp", [-1.0, 0.1])
def test_the_loss_of_transducers_sums_all_alignments(fused, clamp):
    pytest.importorskip("flambeau.autograd", reason="needs flambeau-autograd")
    flambeau.manual_seed(0)
    logits = flambeau.randn(3, 4, 3, 3, dtype=flambeau.float64)
    texts, frames = [[1, 2], [2], []], [4, 3, 2]
    targets = flambeau.tensor([[1, 2], [2, 0], [0, 0]], dtype=flambeau.int32)
    costs, grads = audio.rnnt_loss_forward(
        logits, targets, flambeau.tensor(frames), flambeau.tensor([2, 1, 0]), 0, clamp, fused)
    given = logits.clone().requires_grad_()
    scores = given.log_softmax(-1) if fused else given
    wanted = flambeau.stack([likelihood(scores[row, :length], text, 0)
                             for row, (length, text) in enumerate(zip(frames, texts, strict=True))])
    wanted.sum().backward()
    slow = given.grad.clamp(-clamp, clamp) if clamp > 0 else given.grad
    assert flambeau.allclose(costs, wanted) and flambeau.allclose(grads, slow)
