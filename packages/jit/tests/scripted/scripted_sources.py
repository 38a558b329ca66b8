"""Random functions with branches, loops and jumps on values, as source."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

TENSORS = ("a", "b", "c")
OPERATIONS = ("{0} + {1} * 0.5", "{0} * 0.75 - {1}", "{0}.abs() + {1}", "({0} - {1}) / 2",
              "{0}.clamp(-3, 3)", "{0}.flip(0)", "{0} + {n}", "{0}.sin() + {1}.relu()",
              "{0} if {test} else {1}", "{0}.cumsum(0) / 4")
TESTS = ("{0}.sum() > {k}", "{0}.max() < {1}.mean() + {k}", "{n} > {j}", "({0} > {k}).any()",
         "-{j} < {0}.sum() < {k} + 2", "not {0}.min() > {k}", "({0}.numel() > 3)")


class Source:
    """One function; ``text`` is its source.

    Args:
        seed: which one.
    """

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.loops = 0
        lines = ["n = 0", *self.block(depth=0, in_loop=False), "return a, b + n, c"]
        self.text = "def program(a, b, c):\n" + "".join(f"    {line}\n" for line in lines)

    def test(self) -> str:
        first = self.one_test()
        if self.draw.random() < 0.3:
            first += self.draw.choice((" and ", " or ")) + self.one_test()
        return first

    def one_test(self) -> str:
        one, other = self.draw.choices(TENSORS, k=2)
        numbers = {"k": round(self.draw.uniform(-2, 4), 1), "j": self.draw.randint(0, 3)}
        return self.draw.choice(TESTS).format(one, other, n="n", **numbers)

    def value(self) -> str:
        one, other = self.draw.choices(TENSORS, k=2)
        return self.draw.choice(OPERATIONS).format(one, other, n="n", test=self.test())

    def block(self, depth: int, in_loop: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw.randint(1, 3)):
            lines += self.statement(depth, in_loop)
        return lines

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        kind = self.draw.random()
        if depth > 2 or kind < 0.35:
            return [f"{self.draw.choice(TENSORS)} = {self.value()}"]
        if kind < 0.45:
            return [self.draw.choice(("n = n + 1", "n += 2", "a = a * (n > 1 and 2 or n)"))]
        if kind < 0.7:
            lines = [f"if {self.test()}:", *self.inside(depth, in_loop)]
            if self.draw.random() < 0.3:
                lines += [f"elif {self.test()}:", *self.inside(depth, in_loop)]
            return lines + (["else:", *self.inside(depth, in_loop)]
                            if self.draw.random() < 0.5 else [])
        if kind < 0.8:
            self.loops += 1
            count = f"w{self.loops}"
            most = self.draw.randint(1, 4)
            return [f"{count} = 0", f"while ({self.test()}) and {count} < {most}:",
                    f"    {count} = {count} + 1", *self.inside(depth, True)]
        if kind < 0.9:
            items = self.draw.choice(("range(3)", "range((b.sum().abs() % 4).long())", "(0.5, n)"))
            self.loops += 1
            return [f"for i{self.loops} in {items}:",
                    f"    a = a + i{self.loops}", *self.inside(depth, True)]
        jumps = ["return b, a, c * 2"] + (["break", "continue"] if in_loop else [])
        return [f"if {self.test()}:", f"    {self.draw.choice(jumps)}"]

    def inside(self, depth: int, in_loop: bool) -> list[str]:
        return [f"    {line}" for line in self.block(depth + 1, in_loop)]

    def function(self, folder: Path) -> Any:
        """The function, from a file, where its source can be read."""
        path = folder / "program.py"
        path.write_text(self.text)
        spec = importlib.util.spec_from_file_location(f"program_{id(self)}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.program
