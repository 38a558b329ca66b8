"""Calls that are replayed without Python: what ``compile(fn, replay=True)`` does.

A call is recorded twice at once: the core notes which kernels run over which memory, and the
function is run in a form that tells everything it reads, which becomes guards.
"""
