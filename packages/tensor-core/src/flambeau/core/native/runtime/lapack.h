/* LAPACK, from the OpenBLAS library that products use; every routine is looked up on first use.
 *
 * The library runs on one thread, and its routines may be called from several threads at once.
 * Matrices are stored column after column; integers have 32 bits. */
#ifndef FLAMBEAU_RUNTIME_LAPACK_H
#define FLAMBEAU_RUNTIME_LAPACK_H
#include "runtime/complex.h"
#include <stddef.h>
#include <stdint.h>

enum fl_lapack_routine {
    FL_GETRF, FL_GETRS, FL_GESV, FL_POTRF, FL_TRSM, FL_GEQRF, FL_ORGQR, FL_SYEVD, FL_GEEV, FL_GESDD,
    FL_GELSY, FL_GELSD, FL_GELSS, FL_GELS, FL_SYTRF, FL_SYTRS, FL_HETRF, FL_HETRS, FL_ORMQR,
    FL_LAPACK_COUNT
};

/* The routine for a dtype of abi.h (float32 to complex128); NULL with an error stored. */
void *fl_lapack_find(int routine, int dtype);

/* The dtype code and the real and complex types of a number type. */
template <class T> struct fl_number;
template <> struct fl_number<float> {
    enum { dtype = 11, is_complex = 0 };
    using real = float;
    using complex = fl_complex64;
};
template <> struct fl_number<double> {
    enum { dtype = 12, is_complex = 0 };
    using real = double;
    using complex = fl_complex128;
};
template <> struct fl_number<fl_complex64> {
    enum { dtype = 13, is_complex = 1 };
    using real = float;
    using complex = fl_complex64;
};
template <> struct fl_number<fl_complex128> {
    enum { dtype = 14, is_complex = 1 };
    using real = double;
    using complex = fl_complex128;
};

/* Gfortran passes the length of every character argument after the last argument. */
typedef size_t fl_fortran_length;

/* Call `function<T>(...)` for the number type of a dtype. */
#define FL_BY_NUMBER(dtype, function, ...)                                                       \
    ((dtype) == FL_F32   ? function<float>(__VA_ARGS__)                                          \
     : (dtype) == FL_F64 ? function<double>(__VA_ARGS__)                                         \
     : (dtype) == FL_C64 ? function<fl_complex64>(__VA_ARGS__)                                  \
                         : function<fl_complex128>(__VA_ARGS__))
#endif
