"""`torch.utils.model_zoo`, the former name of part of `torch.hub`."""
from flambeau.as_torch.stands.hub import load_state_dict_from_url, load_url, tqdm

__all__ = ["load_state_dict_from_url", "load_url", "tqdm"]
