"""Settings of PyTorch's code generator: programs read them back, and nothing uses them."""
from __future__ import annotations

from flambeau.as_torch.stands._dynamo.settings import patcher

patch = patcher(__name__)
