"""`torch.utils.model_zoo`, the former name of part of `torch.hub`."""
from flambeau.as_torch.stands.hub import __getattr__
from flambeau.hub import load_state_dict_from_url

load_url = load_state_dict_from_url     # its former name

__all__ = ["__getattr__", "load_state_dict_from_url", "load_url"]
