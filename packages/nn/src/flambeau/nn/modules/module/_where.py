"""Tells in an error's notes which module of a network raised it."""

from __future__ import annotations

from typing import Any

_KEY = "_flambeau_module"


def note_where(module: Any, error: Exception) -> None:
    """Add, or complete, the note that names the module an error comes from.

    Every ``Module.__call__`` the error passes through calls this, the innermost first; each
    outer module replaces the note by a longer path. A module that the outer one does not
    contain keeps the path found so far.
    """
    inner = error.__dict__.get(_KEY)
    if inner is None:
        error.__dict__[_KEY] = (module, _note(type(module).__name__, error))
        return
    raiser, old_note = inner
    path = _path(module, raiser)
    if path:
        _remove_note(error, old_note)
        text = f"model.{path} ({type(raiser).__name__})"
        error.__dict__[_KEY] = (raiser, _note(text, error))


def _note(text: str, error: Exception) -> str:
    note = f"in {text}"
    error.add_note(note)
    return note


def _remove_note(error: Exception, note: str) -> None:
    notes = getattr(error, "__notes__", [])
    if note in notes:
        notes.remove(note)


def _path(outer: Any, inner: Any) -> str:
    for path, module in outer.named_modules():
        if module is inner:
            return path
    return ""
