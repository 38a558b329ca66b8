"""Memory of tensors, under the name of the module that has it in PyTorch."""
from flambeau.core.storages import UntypedStorage
from flambeau.core.typed_storages import TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
