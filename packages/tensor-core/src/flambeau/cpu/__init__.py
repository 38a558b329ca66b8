"""The CPU as a device like others, for programs that ask ``getattr(flambeau, device.type)``.

Operators run in the calling thread and are done when they return, so that there is nothing to wait
for: see ``core/compat/table.py``.
"""
from flambeau.core.compat.cpu_streams import Event, Stream, StreamContext, current_stream, stream
from flambeau.core.compat.modules import fill
from flambeau.cpu import amp

__all__ = ["Event", "Stream", "StreamContext", "amp", "current_stream", "stream",  # noqa: PLE0604
           *fill(__name__)]
