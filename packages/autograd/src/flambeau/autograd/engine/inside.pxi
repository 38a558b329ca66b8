# What is refused inside a function that a transform (vmap, grad, jvp ...) was given: what works on
# the one graph outside, of which the transforms' variables are no part.

cdef dict _inside = {}                  # thread -> how many such functions it runs


def enter_function():
    """This thread calls a function that a transform was given."""
    thread = PyThread_get_thread_ident()
    _inside[thread] = _inside.get(thread, 0) + 1


def exit_function():
    """The function has returned."""
    thread = PyThread_get_thread_ident()
    _inside[thread] -= 1
    if not _inside[thread]:
        del _inside[thread]


cdef bint is_inside():
    return len(_inside) > 0 and PyThread_get_thread_ident() in _inside


def refuse_inside(str what, str instead):
    """Refuse ``what`` inside a function that a transform was given.

    Args:
        what: what was called.
        instead: what to write instead.
    """
    if is_inside():
        raise RuntimeError(
            f"{what} was called inside a function that a transform (vmap, grad, vjp, jvp, jacrev, "
            f"jacfwd, hessian) was given: it works on the graph outside, where the variables of "
            f"the transform are not. {instead}")
