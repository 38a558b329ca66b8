"""Under the alias the arguments of losses broadcast where PyTorch lets them, with its warning."""
from __future__ import annotations

import pytest
from test_alias import lines

HEAD = """
import warnings, torch, torch.nn.functional as F
def said(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            shown = call().tolist()
        except (ValueError, RuntimeError) as error:
            shown = type(error).__name__
    print(shown, [str(each.message)[:25] for each in caught])
x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 4.0])
"""
WARNED = "['Using a target size (torc']"


def test_distances_warn_and_broadcast():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines(HEAD + "said(lambda: F.mse_loss(x, y))\n"                      # 0 9 1 4
                 "said(lambda: F.l1_loss(x, y, reduction='none'))\n"
                 "said(lambda: F.smooth_l1_loss(x, y, reduction='sum'))\n"
                 "said(lambda: F.huber_loss(x, y, reduction='sum'))\n"
                 "said(lambda: torch.vmap(F.mse_loss)(x.expand(3, 2, 1), y.expand(3, 2)))\n"
                 "said(lambda: F.mse_loss(x, x))\n") == [
        f"3.5 {WARNED}", f"[[0.0, 3.0], [1.0, 2.0]] {WARNED}", f"4.5 {WARNED}", f"4.5 {WARNED}",
        f"[3.5, 3.5, 3.5] {WARNED}", "0.0 []"]


def test_likelihoods_broadcast_or_raise_as_pytorch():
    pytest.importorskip("flambeau.nn", reason="needs flambeau-nn")
    assert lines(HEAD + "p = torch.tensor([[0.5], [0.5]])\n"
                 "said(lambda: F.binary_cross_entropy(p, y))\n"
                 "said(lambda: F.binary_cross_entropy_with_logits(p, y))\n"
                 "said(lambda: F.binary_cross_entropy(p, p, weight=y))\n"
                 "said(lambda: F.binary_cross_entropy_with_logits(p, p, pos_weight=y))\n"
                 "said(lambda: F.soft_margin_loss(x, y))\n"
                 "said(lambda: F.mse_loss(x, x, weight=y))\n"
                 "said(lambda: F.hinge_embedding_loss(x, torch.ones(2), reduction='none'))\n"
                 "said(lambda: F.multilabel_soft_margin_loss(0 * x, y))\n") == [
        "ArgumentError []"] * 6 + ["[[1.0, 1.0], [2.0, 2.0]] []", f"{1.3862943649291992} []"]
