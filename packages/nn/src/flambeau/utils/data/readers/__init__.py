"""Datasets that read files: MNIST's format, CSV, folders of images, NumPy archives.

No file can run code: nothing here unpickles.
"""

from .csv import CSVDataset
from .idx import IDXDataset, read_idx
from .images import ImageFolder, read_image
from .npz import NPZDataset

__all__ = [
    "CSVDataset",
    "IDXDataset",
    "ImageFolder",
    "NPZDataset",
    "read_idx",
    "read_image",
]
