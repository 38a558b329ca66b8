"""flex_attention: functions of scores, masks by blocks, gradients, and what is refused."""

from __future__ import annotations

import math

import pytest

import flambeau
from flambeau.nn.attention import _flex
from flambeau.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


def causal(b, h, q, kv):
    return q >= kv


def window(b, h, q, kv):
    return (q - kv).abs() < 40


DOCUMENTS = flambeau.tensor([0] * 70 + [1] * 50 + [2] * 80)
LENGTHS = flambeau.tensor([200, 130])
SLOPES = flambeau.tensor([0.5, 0.25, 0.125, 0.0625])


def document(b, h, q, kv):
    return DOCUMENTS[q] == DOCUMENTS[kv]


def padded(b, h, q, kv):
    return kv < LENGTHS[b]


def only_later_heads(b, h, q, kv):
    return (h > 1) & (q >= kv)


def late(b, h, q, kv):
    return (kv < q - 100) & (h < 2)


def alibi(score, b, h, q, kv):
    return score - SLOPES[h] * (q - kv).abs()


def softcap(score, b, h, q, kv):
    return 5 * flambeau.tanh(score / 5)


def inputs(heads=4, keys=4, length=200, features=8, dtype=flambeau.float32):
    flambeau.manual_seed(0)
    shapes = ((2, heads, length, features), (2, keys, length, features), (2, keys, length, 6))
    return [flambeau.randn(*shape).to(dtype).requires_grad_() for shape in shapes]


def dense(q, k, v, score_mod, mask_mod, scale=None):
    """The same with all scores at once, mask and scores written out element by element."""
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.mT * (scale or 1 / math.sqrt(q.shape[-1]))
    b, h, i, j = (flambeau.arange(n) for n in scores.shape)
    place = (b[:, None, None, None], h[:, None, None], i[:, None], j)
    if score_mod is not None:
        scores = score_mod(scores, *place)
    if mask_mod is not None:
        scores = flambeau.where(mask_mod(*place), scores, -math.inf)
    alone = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(alone, 0.0).softmax(-1).masked_fill(alone, 0.0)
    return weights @ v, scores.logsumexp(-1).detach()


MASKS = [None, causal, window, document, padded, only_later_heads, late, and_masks(causal, window),
         or_masks(document, window), noop_mask]


@pytest.mark.parametrize("mask_mod", MASKS, ids=lambda m: getattr(m, "__name__", "none"))
@pytest.mark.parametrize("score_mod", [None, alibi, softcap],
                         ids=lambda m: getattr(m, "__name__", "none"))
@pytest.mark.parametrize("keys", (4, 2, 1))
def test_it_is_what_all_scores_at_once_give(mask_mod, score_mod, keys):
    by_sample = mask_mod in (padded,)
    by_head = mask_mod in (only_later_heads, late)
    block_mask = None
    if mask_mod is not None:
        block_mask = create_block_mask(mask_mod, 2 if by_sample else None, 4 if by_head else None,
                                       200, 200, BLOCK_SIZE=32)
    q, k, v = inputs(keys=keys)
    result = flex_attention(q, k, v, score_mod, block_mask, enable_gqa=True)
    expected, sums = dense(q, k, v, score_mod, None if mask_mod is noop_mask else mask_mod)
    flambeau.testing.assert_close(result, expected, atol=2e-6, rtol=2e-5)
    weight = flambeau.randn(*result.shape)
    ours = flambeau.autograd.grad((result * weight).sum(), (q, k, v))
    theirs = flambeau.autograd.grad((expected * weight).sum(), (q, k, v))
    for a, b in zip(ours, theirs, strict=True):
        flambeau.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)
    again, lse = flex_attention(q, k, v, score_mod, block_mask, enable_gqa=True, return_lse=True)
    flambeau.testing.assert_close(again, expected, atol=2e-6, rtol=2e-5)
    flambeau.testing.assert_close(lse.detach(), sums, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kept", (1 << 40, 0))
def test_what_score_mod_uses_has_gradients(kept, monkeypatch):
    monkeypatch.setattr(_flex, "SCORES_KEPT", kept)
    q, k, v = inputs()
    bias = flambeau.randn(2, 4, 200, 200, requires_grad=True)
    slopes = SLOPES.clone().requires_grad_()

    def biased(score, b, h, i, j):
        return score * slopes[h] + bias[b, h, i, j]

    def table(score, b, h, i, j):   # the same, where indices are vectors
        return score * slopes[:, None, None] + bias

    block_mask = create_block_mask(causal, None, None, 200, 200, BLOCK_SIZE=64)
    result = flex_attention(q, k, v, biased, block_mask)
    expected, _ = dense(q, k, v, table, causal)
    flambeau.testing.assert_close(result, expected, atol=2e-6, rtol=2e-5)
    wanted = (q, k, v, bias, slopes)
    ours = flambeau.autograd.grad(result.square().sum(), wanted)
    theirs = flambeau.autograd.grad(expected.square().sum(), wanted)
    for a, b in zip(ours, theirs, strict=True):
        flambeau.testing.assert_close(a, b, atol=1e-4, rtol=1e-3)


def test_blocks_that_are_not_needed_are_not_computed(monkeypatch):
    jobs = []
    run = _flex._run
    monkeypatch.setattr(_flex, "_run", lambda call, job: (jobs.append(job), run(call, job))[1])
    block_mask = create_block_mask(and_masks(causal, window), None, None, 1024, 1024)
    q = flambeau.randn(1, 1, 1024, 4)
    flex_attention(q, q, q, block_mask=block_mask)
    assert max(job.keys for job in jobs) == 256 and len(jobs) == 8
    for length, mod in ((256, late), (96, causal)):
        mask = create_block_mask(mod, None, 4, length, length, BLOCK_SIZE=(32, 16))
        dense_mask = create_mask(mod, None, 4, length, length)
        assert mask.to_dense().bool().equal(
            dense_mask.reshape(1, 4, length // 32, 32, length // 16, 16).any(-1).any(3))


def test_queries_without_keys_give_zeros_and_no_gradient():
    q, k, v = inputs(length=64)
    nobody = create_block_mask(lambda b, h, i, j: (i > 40) & (j < 3), None, None, 64, 64,
                               BLOCK_SIZE=16)
    result, lse = flex_attention(q, k, v, softcap, nobody, return_lse=True)
    assert (result[:, :, :41] == 0).all() and lse[:, :, :41].isneginf().all()
    result.sum().backward()
    assert (q.grad[:, :, :41] == 0).all() and q.grad.isfinite().all()


def test_blocks_and_their_drawing():
    mask = create_block_mask(causal, None, None, 96, 96, BLOCK_SIZE=32)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 1]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 2]]]
    assert mask.kv_indices[0, 0, :, 0].tolist() == [0, 1, 2]
    assert mask.q_num_blocks.tolist() == [[[1, 1, 1]]]
    assert mask.full_q_num_blocks.tolist() == [[[2, 1, 0]]]
    assert mask.shape == (1, 1, 96, 96) and mask.numel() == 96 * 96
    assert mask.sparsity() == pytest.approx(100 / 3)
    assert str(mask) == ("BlockMask(shape=(1, 1, 96, 96), sparsity=33.33%, \n(0, 0)\n"
                         "██    \n████  \n██████\n)")
    assert "mask_mod=causal" in repr(mask) and mask.to("cpu").shape == mask.shape
    assert mask._adjust(64, 64).kv_num_blocks.tolist() == [[[1, 1]]]
    whole = BlockMask.from_kv_blocks(mask.kv_num_blocks, mask.kv_indices)
    assert whole.BLOCK_SIZE == (128, 128) and whole.shape == (1, 1, 384, 384)


def test_a_part_of_a_mask_needs_a_function_of_its_own():
    mask = create_block_mask(padded, 2, None, 200, 200, BLOCK_SIZE=32)
    q, k, v = (x[1:] for x in inputs())
    part = mask[1]
    assert part.shape == (1, 1, 200, 200)
    with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
        flex_attention(q, k, v, block_mask=part)
    part.mask_mod = lambda b, h, i, j: j < LENGTHS[b + 1]
    whole = flex_attention(*inputs(), block_mask=mask)
    flambeau.testing.assert_close(flex_attention(q, k, v, block_mask=part), whole[1:])


def test_what_is_asked_for_is_returned():
    q, k, v = inputs(length=32)
    out, aux = flex_attention(q, k, v, return_aux=AuxRequest(max_scores=True))
    assert aux.lse is None
    scores = (q @ k.mT / math.sqrt(8)).detach()
    flambeau.testing.assert_close(aux.max_scores, scores.amax(-1))
    half = flex_attention(*inputs(length=32, dtype=flambeau.bfloat16), alibi)
    assert half.dtype is flambeau.bfloat16
    assert flex_attention(q[:, :, :0], k, v).shape == (2, 4, 0, 6)


@pytest.mark.parametrize(("change", "message"), [
    (lambda q, k, v: (q[0], k, v), "four dimensions"),
    (lambda q, k, v: (q, k[:, :2], v[:, :2]), "same number of heads, unless enable_gqa"),
    (lambda q, k, v: (q, k, v.double()), "one floating dtype"),
    (lambda q, k, v: (q, k[..., :3], v), "equally many features"),
    (lambda q, k, v: (q[:1], k, v), "same batch size"),
])
def test_shapes_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        flex_attention(*change(*inputs(length=16)))


def test_masks_of_other_lengths_are_refused():
    mask = create_block_mask(causal, None, None, 64, 64)
    with pytest.raises(ValueError, match=r"_adjust\(q_len, kv_len\)"):
        flex_attention(*inputs(length=32), block_mask=mask)
    flex_attention(*inputs(length=32), block_mask=mask._adjust(32, 32))
    with pytest.raises(ValueError, match="not of 2 samples and 4 heads"):
        flex_attention(*inputs(length=64), block_mask=create_block_mask(causal, 3, 4, 64, 64))


def test_masks_of_functions():
    assert create_mask(causal, 2, 3, 4, 5).shape == (2, 3, 4, 5)
    scores = create_mask(lambda s, b, h, i, j: flambeau.where(i >= j, s, -math.inf), None, None, 4,
                         4)
    assert scores.equal(create_mask(causal, None, None, 4, 4))
    with pytest.raises(RuntimeError, match="takes 2 arguments"):
        create_mask(lambda i, j: i >= j, None, None, 4, 4)
    with pytest.raises(RuntimeError, match="should be callable"):
        or_masks(causal, 3)


@pytest.mark.oracle
@pytest.mark.parametrize("mask", ("causal", "window", "document"))
def test_pytorch_gives_the_same(mask):
    torch = pytest.importorskip("torch")
    theirs_module = pytest.importorskip("torch.nn.attention.flex_attention")
    documents = torch.tensor(DOCUMENTS.tolist())
    theirs_mod = {
        "causal": causal, "window": window,
        "document": lambda b, h, q, kv: documents[q] == documents[kv],
    }[mask]
    ours_mod = globals()[mask]
    ours = create_block_mask(ours_mod, None, None, 200, 200, BLOCK_SIZE=64)
    theirs = theirs_module.create_block_mask(theirs_mod, None, None, 200, 200, "cpu", 64)
    for name in ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
                 "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"):
        assert getattr(ours, name).tolist() == getattr(theirs, name).tolist(), name
    assert str(ours) == str(theirs) and ours.sparsity() == theirs.sparsity()
    theirs_dense = theirs_module.create_mask(theirs_mod, None, None, 200, 200, "cpu")
    assert create_mask(ours_mod, None, None, 200, 200).tolist() == theirs_dense.tolist()
