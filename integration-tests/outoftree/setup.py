"""The C part of the package; everything else is in pyproject.toml."""

from setuptools import Extension, setup

from flambeau.core import get_include

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]

setup(
    ext_modules=[
        Extension(
            "flambeau_example._example",
            ["flambeau_example/_example.c"],
            include_dirs=[get_include()],
            libraries=["m"],
            extra_compile_args=["-std=c11", "-O1", *WARNINGS],
        )
    ]
)
