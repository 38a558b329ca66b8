"""The collating functions; see ``flambeau.utils.data.collate``."""

from ..collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]
