"""The cause of a failure, in words that group failures of one cause."""

from __future__ import annotations

import re

ABSENT = (
    (re.compile(r"Unsupported: ([\w.\[\]()]+)"), "{0}"),
    (re.compile(r"((?:torch|functorch)[\w.]*) is not part of Flambeau"), "{0}"),
    (re.compile(r"<((?:torch|functorch)[\w.]*), which Flambeau has not>"), "{0}"),
    (re.compile(r"<absent ([\w.\[\]()]+)>"), "{0}"),
    (re.compile(r"module '(?:flambeau|torch)\.?([\w.]*)' has no attribute '(\w+)'"),
     "torch.{0}.{1}"),
    (re.compile(r"No module named 'flambeau\.?([\w.]*)'"), "torch.{0}"),
    (re.compile(r"<module '(torch[\w.]*)'.*> does not have the attribute '(\w+)'"), "{0}.{1}"),
    (re.compile(r"'(?:Tensor|Parameter|flambeau\.core\._core\.Tensor)' (?:object )?has no "
                r"attribute '(\w+)'"), "Tensor.{0}"),
)
FROM = re.compile(r"cannot import name '(\w+)' from '((?:torch|functorch)[\w.]*)'")
NOISE = (
    (re.compile(r"0x[0-9a-f]+"), "0x.."),
    (re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?j?"), "N"),
    (re.compile(r"\((?:N(?:, N)*,?)?\)|\[(?:N(?:, N)*)?\]"), "(..)"),
    (re.compile(r"\b(?:float|bfloat|int|uint|complex)N?\b|\bbool\b"), "DTYPE"),
)


PRIVATE = re.compile(r"'?([\w.]+)'?(?: object)? has no attribute '(_(?!_)\w+)'")


def cause(kind: str, message: str, in_test: bool = False) -> str:
    """Return what groups failures: the absent name, or the error with its numbers taken out.

    A private attribute is an absent name only where the test itself asked for it.
    """
    for pattern, form in ABSENT:
        if match := pattern.search(message):
            return "absent: " + form.format(*match.groups()).replace("..", ".")
    if match := FROM.search(message):
        return f"absent: {match[2]}.{match[1]}"
    if in_test and kind == "AttributeError" and (match := PRIVATE.search(message)):
        return f"absent: {match[1]}.{match[2]}"
    if "The supported dtypes for" in message:
        return _dtypes(message)
    text = next((line.strip() for line in message.splitlines() if line.strip()), "")
    for pattern, stands_for in NOISE:
        text = pattern.sub(stands_for, text)
    return f"{kind}: {text[:140]}" if text else kind


def _dtypes(message: str) -> str:
    """Of a test of an operator's dtypes: which do not work and should, or that more work."""
    missing = re.findall(r"did not work in \w+ but are listed by the OpInfo: \{(.*?)\}", message)
    names = sorted({name.rpartition(".")[2] for each in missing for name in each.split(", ")})
    return "dtypes: " + (f"without {', '.join(names)}" if names else "more than PyTorch has")
