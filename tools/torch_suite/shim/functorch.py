"""What `import functorch` finds: the same finder as for `torch`."""

import importlib

importlib.import_module("torch")
importlib.import_module("functorch")
