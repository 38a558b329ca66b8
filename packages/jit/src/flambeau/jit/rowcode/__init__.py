"""Machine code for whole rows: reductions, what they reduce and what uses them, as one function.

A row is walked in passes. Each pass computes elements, reduces them or stores them; a later pass
uses what an earlier one reduced. Elements stay in registers, or in memory of one row that the
nearest cache holds. Reductions add in the order of the core's own kernels, so that the bits are
those of uncompiled calls.

``formulas``    the core's kernels as formulas around reductions
``orders``      in which order each reduction takes its elements
``program``     the calls of a group as one list of instructions, and the memory they use
``schedule``    what each pass computes, and what is kept for the next
``code``        the function in LLVM's assembly
``walk``        one pass of it
``sums``        one reduction of a pass
"""
