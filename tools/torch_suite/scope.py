"""What Flambeau does not set out to do: the short list behind the words "out of scope".

A failure is out of scope when its cause (or, where said, its test id) matches. Everything that is
public, documented and runs on the CPU is in scope, however much of it is absent.
"""

from __future__ import annotations

import re

# (reason, pattern of causes, pattern of test ids); an empty pattern matches nothing.
RULES: tuple[tuple[str, str, str], ...] = (
    (
        "named tensors: an experiment that PyTorch no longer develops",
        r"absent: .*(?:refine_names|align_to|align_as|rename_?|names)\b|'names'",
        r"[Nn]amed_?[Tt]ensor|named_(?:inference|any)",
    ),
    (
        "TorchScript, dynamo and ONNX: Flambeau has its own tracer",
        r"absent: torch\.(?:jit|onnx|compile|package)\b"
        r"|absent: (?:functorch|torch\.func)\.(?:\w+\.)?functionalize\b",
        r"torchscript|_script_|dynamo",
    ),
    (
        "other devices: CUDA, MPS, XLA, lazy and user-made ones are not on the test machine",
        r"absent: torch\.(?:cuda|mps|xpu|lazy|backends\.\w+)\b",
        r"_cuda\b|CUDA",
    ),
    (
        "dtypes without kernels: complex32, float8 and bit types",
        r"absent: torch\.bits\w+"
        r"|not implemented for (?:complex32|float8\w*), whose numbers are stored",
        r"",
    ),
    (
        "what PyTorch refuses and Flambeau computes: dtypes, and `out=` of functions without it",
        r"dtypes: more than PyTorch has|dtypes: without complex32$"
        r"|^out= where PyTorch takes none",
        r"",
    ),
    (
        "hub, mobile: not part of Flambeau",
        r"absent: torch\.(?:hub|futures|utils\.mobile\w*)\b",
        r"[Nn]ested_?[Tt]ensor",
    ),
    (
        "data pipes of data frames, which need pandas",
        r"absent: torch\.utils\.data\.datapipes\.dataframe\b",
        r"",
    ),
    (
        "functorch.make_functional and its companions: deprecated since PyTorch 2.0 for "
        "torch.func.functional_call, which is here",
        r"absent: functorch\.(?:make_functional\w*|combine_state_for_ensemble)\b",
        r"",
    ),
    (
        "private: names with an underscore, those of torch._C among them, are no interface",
        r"absent: (?:torch|functorch)\.(?:\w+\.)*_(?!_)\w|absent: \w+\._[a-z]",
        r"",
    ),
)


def reason(cause: str, test: str) -> str | None:
    """Return why a failure is out of scope, or None when it counts."""
    for text, causes, tests in RULES:
        if (causes and re.search(causes, cause)) or (tests and re.search(tests, test)):
            return text
    return None
