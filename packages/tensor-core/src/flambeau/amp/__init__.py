"""Mixed precision: ``autocast`` is flambeau-autograd's, ``GradScaler`` flambeau-optim's."""

from flambeau.rooms import extend_path, lazy_attributes

__path__ = extend_path(__path__, __name__)
__getattr__ = lazy_attributes(__name__)
