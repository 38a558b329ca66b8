"""Memory that several tensors of a file share, which is stored once.

Overlapping views of one storage become one entry, and the file says how each view lies in it.
"""
from __future__ import annotations


def share(found: dict) -> tuple[dict, dict]:
    """Tensors to store by name, and for every key of ``found`` the reference to it.

    Args:
        found: A name and a tensor for every key (storage, dtype, offset, shape, stride).
    """
    tensors: dict = {}
    references: dict = {}
    groups: dict = {}
    for key in found:
        groups.setdefault(key[:2], []).append(key)
    bases = {}
    for keys in groups.values():
        for cluster in _overlapping(keys):
            if len(cluster) > 1:
                bases.update(dict.fromkeys(cluster, _base(cluster, found)))
    names: dict = {}
    for key, (name, x) in found.items():
        base_name, base, start = bases.get(key, (name, x, key[2]))
        base_name = _own_name(base_name, base, tensors, names)
        references[key] = {"t": base_name} if base is x else \
            {"s": [base_name, list(x.shape), list(x.stride()), key[2] - start]}
    return tensors, references


def _own_name(name: str, base, tensors: dict, names: dict) -> str:
    """Put a tensor under a name that no other has; keys with dots can lead to the same one."""
    if id(base) not in names:
        while name in tensors:
            name += "'"
        names[id(base)] = name
        tensors[name] = base
    return names[id(base)]


def _span(key) -> tuple[int, int]:
    """First and last element, and one more, that a tensor touches in its storage."""
    _, _, offset, shape, stride = key
    if 0 in shape:
        return offset, offset
    return offset, offset + 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))


def _overlapping(keys: list) -> list[list]:
    """Keys of one storage in clusters that have elements in common."""
    clusters: list[list] = []
    reach = -1
    for key in sorted(keys, key=_span):
        start, end = _span(key)
        if start < reach and end > start:
            clusters[-1].append(key)
        else:
            clusters.append([key])
        reach = max(reach, end)
    return clusters


def _base(cluster: list, found: dict):
    """Name, tensor and first element of what is stored for overlapping views."""
    start = min(_span(key)[0] for key in cluster)
    end = max(_span(key)[1] for key in cluster)
    first_name = None
    for key in found:
        if key in cluster:
            name, x = found[key]
            first_name = first_name or name
            if x.is_contiguous() and _span(key) == (start, end):
                return name, x, start
    flat = found[cluster[0]][1].detach().as_strided((end - start,), (1,), start)
    return f"{first_name}.storage", flat, start
