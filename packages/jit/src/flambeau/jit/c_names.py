"""What is written into C: types of elements, and names."""

from __future__ import annotations

import re
from keyword import iskeyword

#: The C type of an element.
C_TYPES = {"float32": "float", "float64": "double", "bool": "uint8_t", "int8": "int8_t",
           "uint8": "uint8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
           "float16": "uint16_t", "bfloat16": "uint16_t", "uint16": "uint16_t",
           "uint32": "uint32_t", "uint64": "uint64_t"}

#: What C, C++ or CMake would read as something else.
_TAKEN = {"all", "clean", "help", "install", "main", "package", "test",
          "auto", "bool", "case", "char", "const", "data", "default", "delete", "do", "double",
          "enum", "extern", "float", "goto", "inline", "int", "long", "new", "register", "return",
          "short", "signed", "sizeof", "static", "struct", "switch", "template", "tensor", "this",
          "typedef", "union", "unsigned", "void", "volatile"}


def c_name(text: str) -> str:
    """A name for C: the text, other characters replaced.

    Example:
        >>> from flambeau.jit.c_names import c_name
        >>> c_name("N"), c_name("batch size"), c_name("int")
        ('N', 'batch_size', 'int_')
    """
    made = re.sub(r"[^A-Za-z0-9_]", "_", text)
    if not made[:1].isalpha():
        made = "n" + made
    return made + "_" if made in _TAKEN or iskeyword(made) else made
