"""Utilities, to which other packages add: `utils.data` comes from flambeau-nn."""

from flambeau.rooms import extend_path, lazy_attributes

__path__ = extend_path(__path__, __name__)
__getattr__ = lazy_attributes(__name__)
