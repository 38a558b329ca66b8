"""What convolutions and pooling share: numbers for each dimension, and ranks."""


SIZES = {1: "length", 2: "height, width", 3: "depth, height, width"}


def listed(name, parameter, values, n):
    """A number for each of ``n`` dimensions."""
    if len(values) == n:
        return list(values)
    if len(values) == 1:
        return list(values) * n
    raise RuntimeError(f"{name}(): {parameter} is {list(values)}; it must be one number or {n}, "
                       "one for each dimension that the window slides over")


def check_image(name, x, n):
    """Refuse what is not [batch,] channels and ``n`` dimensions that hold something."""
    if x.ndim not in (n + 1, n + 2) or 0 in x.shape[-n - 1:]:
        raise RuntimeError(f"{name}(): input has shape {list(x.shape)}; expected [batch, channels, "
                           f"{SIZES[n]}], or {n + 1} dimensions for a single image, of which only "
                           "the batch may be empty")
