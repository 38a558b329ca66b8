# Machine code that flambeau.jit made: position independent bytes, in memory of their own.

cdef extern from "runtime/code.h":
    char *fl_code_map(const char *, size_t) noexcept
    int fl_code_seal(char *, size_t) noexcept
    void fl_code_unmap(char *, size_t) noexcept
    void *fl_code_symbol(const char *) noexcept


cdef class MachineCode:
    """Machine code in memory that may be run and no longer written, as long as this object lives.

    Args:
        image: the bytes; they run wherever they lie.
        entry: where in them the function begins.
        imports: ``(offset, name)`` for each function of the C library that they call: its address
            is written there, as 8 bytes.
    """
    cdef char *base
    cdef size_t size
    cdef readonly uintptr_t address

    def __cinit__(self, bytes image not None, Py_ssize_t entry, imports=()):
        cdef Py_ssize_t n = len(image), offset
        cdef void *target
        if not 0 <= entry < n:
            raise ValueError(f"the entry {entry} is outside of {n} bytes of machine code")
        self.base = fl_code_map(image, n)
        if self.base == NULL:
            raise MemoryError(f"no memory for {n} bytes of machine code")
        self.size = n
        for offset, name in imports:
            target = fl_code_symbol(name.encode())
            if not 0 <= offset <= n - 8 or target == NULL:
                raise ValueError(f"machine code needs {name!r} at {offset}, which cannot be given")
            memcpy(self.base + offset, &target, 8)
        if fl_code_seal(self.base, n) < 0:
            raise PermissionError("this system does not let programs run code that they made")
        self.address = <uintptr_t>self.base + entry

    def __dealloc__(self):
        if self.base != NULL:
            fl_code_unmap(self.base, self.size)
