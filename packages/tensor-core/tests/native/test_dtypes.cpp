/* The runtime knows no Python and so cannot include abi.h; its dtype codes must still be those. */
#include "check.h"
#include "error.h"
#include "flambeau/abi.h"

#include <string.h>

int main() {
    const struct {
        int code;
        const char *name;
        int64_t itemsize;
    } dtypes[] = {{FL_BOOL, "bool", 1},         {FL_U8, "uint8", 1},
                  {FL_I8, "int8", 1},           {FL_I16, "int16", 2},
                  {FL_I32, "int32", 4},         {FL_I64, "int64", 8},
                  {FL_U16, "uint16", 2},        {FL_U32, "uint32", 4},
                  {FL_U64, "uint64", 8},        {FL_F16, "float16", 2},
                  {FL_BF16, "bfloat16", 2},     {FL_F32, "float32", 4},
                  {FL_F64, "float64", 8},       {FL_C64, "complex64", 8},
                  {FL_C128, "complex128", 16},  {FL_F8_E4M3, "float8_e4m3fn", 1},
                  {FL_F8_E5M2, "float8_e5m2", 1}, {FL_F8_E4M3UZ, "float8_e4m3fnuz", 1},
                  {FL_F8_E5M2UZ, "float8_e5m2fnuz", 1}, {FL_F8_E8M0, "float8_e8m0fnu", 1},
                  {FL_C32, "complex32", 4}};
    CHECK(sizeof(dtypes) / sizeof(dtypes[0]) == FL_DTYPE_COUNT);
    for (auto &dtype : dtypes) {
        CHECK(strcmp(fl_dtype_name(dtype.code), dtype.name) == 0);
        CHECK(fl_itemsize(dtype.code) == dtype.itemsize);
    }
    static_assert(FL_F32 == 11 && FL_F64 == 12 && FL_C64 == 13 && FL_C128 == 14,
                  "blas.cpp and openblas.cpp spell these");
    return check_result();
}
