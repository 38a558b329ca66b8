"""Memory of tensors, under the name of the module that has it in PyTorch."""
from flambeau.core.compat.typed_storages import TypedStorage
from flambeau.core.storages import UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
