"""Memory of tensors, under the name of the module that has it in PyTorch."""
from flambeau.core.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
