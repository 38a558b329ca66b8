"""`torch._inductor`: its settings."""
from flambeau.as_torch.stands._inductor import config as config
