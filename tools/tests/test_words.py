"""The glossary of CONTRIBUTING.md is the list of words that tools/words.py refuses."""

import pytest
from inventory import ROOT
from words import found, glossary

TABLE = """
## Words

| write | not |
|---|---|
| integer | `whole number` |
| small | few |
| the unit | `MANY` |

## Tests
"""


@pytest.mark.parametrize(("text", "said"), [
    ("a Whole  number", "f.py:1: 'Whole  number': write integer"),
    ("x\nMANY = 3", "f.py:2: 'MANY': write the unit"),
    ("few, many, MANY_ROWS, wholenumber", None),
])
def test_what_the_last_column_quotes_is_found(text, said):
    assert list(found("f.py", text, glossary(TABLE))) == ([said] if said else [])


def test_the_glossary_is_read():
    standard = {entry.pattern.pattern: entry.standard for entry in glossary(
        (ROOT / "CONTRIBUTING.md").read_text())}
    assert standard[r"\bMANY\b"].startswith("what is counted")
    assert standard[r"\bshort\s+way\b"] == "fast path"
    assert len(standard) >= 25
