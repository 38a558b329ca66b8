"""Automatic mixed precision: ``autocast`` comes from flambeau-autograd."""

from flambeau.rooms import extend_path, lazy_attributes

__path__ = extend_path(__path__, __name__)
__getattr__ = lazy_attributes(__name__)
