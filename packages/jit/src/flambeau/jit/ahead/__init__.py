"""Programs as object files: machine code, a plan of memory and weights, without any runtime.

``entry``      ``jit.aot``: checks, and the files that are written
``fixed``      a program's graph with a number for every size
``expand``     operators without machine code, in terms of others; ``rewritten``: cases of some;
               ``grids``: points of a grid
``unit``       the steps of a program: functions of machine code and where their operands lie
``lowering``   which function computes each operator
``views``      operators that only look at memory in another way
``loops``      loops over constant sizes in LLVM's assembly
``pointwise``  fused regions and copies
``rows``       softmax, normalizations and reductions
``channels``   batch normalization by running statistics
``columns``    reductions over other dimensions than the last ones
``product``    matrix products; ``linear``: the operators that are made of them
``conv``       convolutions; ``pooling``: windows
``attention``  scores, softmax and values of each head
``lookup``     rows of a table
``moves``      joined tensors, and elements chosen by index
``draws``      random numbers
``searches``   where the greatest element is; all, any, counts
``state``      programs that write to buffers, which live from run to run
``memory``     where each buffer lies in the arena
``emit``       the object file
``header``     the C header
"""
