"""Machine code and plans that outlive the process: a directory of files.

``disk``      the directory: whose it is, what a file must look like, how much is kept
``stamp``     what all files depend on: processor, versions, the sources of the code generator
``kernels``   machine code by key: in memory, on disk, or compiled now
``plans``     which code runs in place of kernels that waited

Nothing here imports the code generator; a process that finds everything runs without it.
"""
