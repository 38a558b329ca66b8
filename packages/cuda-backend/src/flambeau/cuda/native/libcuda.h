/* NVIDIA's driver, found when it is first asked for: nothing is linked, nothing of CUDA is needed
 * to build. */
#pragma once
#include <Python.h>

PyObject *fl_nvidia_driver(PyObject *, PyObject *);
