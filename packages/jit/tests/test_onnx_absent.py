"""What `flambeau.onnx` does where the package onnx is not installed: everything but writing."""

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["onnx"] = None      # importing it fails
import flambeau.onnx
flambeau.onnx.register_custom_op_symbolic("aten::sin", lambda g, x: g.op("Sin", x))
flambeau.onnx.unregister_custom_op_symbolic("aten::sin")
try:
    flambeau.onnx.export(lambda x: x, flambeau.ones(1))
except ModuleNotFoundError as error:
    print(error)
"""


def test_forms_are_registered_without_onnx():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True,
                           check=False)
    assert "pip install 'flambeau-jit[onnx]'" in found.stdout, found.stderr
