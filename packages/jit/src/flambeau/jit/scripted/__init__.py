"""Functions as they are written, recorded with their branches and loops on values.

``convert``   Python's ``if``, ``while``, ``for``, ``and`` … as calls
``flow``      what these calls do: as Python where Python decides, else a branch or loop
``numbers``   tensors that stand for Python's numbers
``merge``     values of two bodies as one
``calls``     converted functions and modules, for as long as they are recorded
``objects``   what ``jit.script`` gives
"""
