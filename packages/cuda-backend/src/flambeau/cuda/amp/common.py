"""What is asked before mixed precision, by the module that older programs import it from."""
from flambeau.cuda.amp import amp_definitely_not_available

__all__ = ["amp_definitely_not_available"]
