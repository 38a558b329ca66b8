"""The operator table: every operator of the core as one row of data.

Everything else (entry points, methods, in-place and ``out=`` forms, kernels, stubs, reference
pages, test parameters, backends' work lists) is derived from these rows.
"""
from flambeau.core.table.row import Param, Row
from flambeau.core.table.rows import ROWS, by_name

__all__ = ["ROWS", "Param", "Row", "by_name"]
