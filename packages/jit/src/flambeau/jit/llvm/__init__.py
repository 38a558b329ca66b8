"""Machine code for pointwise regions, through LLVM.

``emitter``   instructions of the formula language as LLVM instructions
``memory``    loads and stores of every dtype
``machine``   the processor that code is made for
``kernel``    a region as a function over a grid
``segment``   its innermost loop, which LLVM turns into vectors
``wide``      the same of vectors that are written here
``vectors``   loads, stores and masks of vectors
``grid``      how the loops walk strided and broadcast operands
``engine``    assembly to machine code, cached
``launch``    running it on memory
"""
