"""What this package may import, and what it must not cost."""

import subprocess
import sys

CODE = """
import sys
import flambeau.jit as jit
import flambeau
for name in ("flambeau.nn", "flambeau.optim", "flambeau.cuda", "flambeau.autograd", "llvmlite",
             "numpy", "onnx", "torch"):
    assert name not in sys.modules, name
program = jit.trace(lambda x: (x * 2).sum(1), flambeau.ones(3, 2))
assert program(flambeau.ones(1, 2)).tolist() == [4.0]
assert "flambeau.autograd" not in sys.modules
assert "numpy" not in sys.modules
print(sorted(jit.__all__))
"""


def test_imports_no_sibling_and_llvm_only_when_needed():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'trace'" in done.stdout
