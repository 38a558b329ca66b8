"""Bytes of an element of each dtype, by name."""

SIZE = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4,
    "int64": 8, "uint64": 8, "bfloat16": 2, "float16": 2, "float32": 4, "float64": 8,
    "complex64": 8, "complex128": 16,
}
