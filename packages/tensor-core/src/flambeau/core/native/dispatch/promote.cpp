/* Type promotion as in PyTorch, and numbers inside values. */
#include "dispatch/core.h"

const uint8_t fl_kind_of_dtype[FL_DTYPE_COUNT] = {
    FL_K_BOOL, FL_K_I64, FL_K_I64, FL_K_I64, FL_K_I64, FL_K_I64, FL_K_I64, FL_K_I64, FL_K_I64,
    FL_K_F32, FL_K_F32, FL_K_F32, FL_K_F64, FL_K_C64, FL_K_C128,
    FL_K_F32, FL_K_F32, FL_K_F32, FL_K_F32, FL_K_F32, FL_K_C64};
const uint8_t fl_dtype_of_kind[FL_KIND_COUNT + 1] = {FL_F32, FL_F64,  FL_I64, FL_BOOL,
                                                      FL_C64, FL_C128, FL_I16};
const uint8_t fl_kind_size[FL_KIND_COUNT + 1] = {4, 8, 8, 1, 8, 16, 2};
int fl_default_dtype = FL_F32;
bool fl_promote_by_dtype = false;

/* Rank of a dtype's family: bool, integer, floating, complex. */
static int family(int d) {
    return d == FL_BOOL ? 0 : fl_is_complex(d) ? 3 : fl_is_int(d) ? 1 : 2;
}

static int promote_ints(int a, int b) {
    static const int8_t bits[9] = {0, 8, 8, 16, 32, 64, 16, 32, 64};
    static const bool is_signed[9] = {false, false, true, true, true, true, false, false, false};
    if (is_signed[a] == is_signed[b])
        return bits[a] >= bits[b] ? a : b;
    int s = is_signed[a] ? a : b;
    int u = is_signed[a] ? b : a;
    if (bits[s] > bits[u])
        return s;
    return bits[u] == 8 ? FL_I16 : bits[u] == 16 ? FL_I32 : FL_I64;
}

static int promote_floats(int a, int b) {
    if (a == FL_F64 || b == FL_F64)
        return FL_F64;
    return FL_F32;      /* two different ones of f32, f16, bf16, float8 */
}

int fl_promote(int a, int b) {
    if (a == b)
        return a;
    int fa = family(a), fb = family(b);
    if (fa != fb && fa < 3 && fb < 3)
        return fa > fb ? a : b;
    if (fa == 3 || fb == 3) {
        bool wide = a == FL_C128 || b == FL_C128 || a == FL_F64 || b == FL_F64;
        return wide ? FL_C128 : FL_C64;
    }
    return fa == 1 ? promote_ints(a, b) : promote_floats(a, b);
}

static int dtype_of_number(const fl_value &v) {
    switch (v.tag) {
    case FL_BOOLEAN: return FL_BOOL;
    case FL_INT: return FL_I64;
    case FL_FLOAT: return fl_default_dtype;
    case FL_COMPLEX: return fl_default_dtype == FL_F64 ? FL_C128 : FL_C64;
    default: return FL_NO_DTYPE;
    }
}

/* Combine priorities: tensors with dimensions, then 0-d tensors, then numbers. A lower priority
 * only counts when its family is higher. By the array API's rule 0-d tensors are as others. */
static int combine(int high, int low) {
    if (high == FL_NO_DTYPE)
        return low;
    if (low == FL_NO_DTYPE || family(high) >= family(low))
        return high;
    if (family(low) == 3 && fl_is_float(high))
        return high == FL_F64 ? FL_C128 : FL_C64;
    return low;
}

/* The dtype of two tensors that agree in it, the common case, or FL_NO_DTYPE. */
static inline int plain_result_type(const fl_value *const *values, int n) {
    if (n == 2 && values[0]->tag == FL_TENSOR && values[1]->tag == FL_TENSOR &&
        values[0]->t->dtype == values[1]->t->dtype)
        return values[0]->t->dtype;
    return n == 1 && values[0]->tag == FL_TENSOR ? values[0]->t->dtype : (int)FL_NO_DTYPE;
}

int fl_result_type(const fl_value *const *values, int n) {
    int plain = plain_result_type(values, n);
    if (plain != FL_NO_DTYPE)
        return plain;
    int dim = FL_NO_DTYPE, zero = FL_NO_DTYPE, number = FL_NO_DTYPE;
    for (int i = 0; i < n; i++) {
        const fl_value &v = *values[i];
        int d = v.tag == FL_TENSOR ? v.t->dtype : dtype_of_number(v);
        if (d == FL_NO_DTYPE)
            continue;
        int &slot = v.tag != FL_TENSOR ? number : v.t->ndim || fl_promote_by_dtype ? dim : zero;
        slot = slot == FL_NO_DTYPE ? d : fl_promote(slot, d);
    }
    return combine(dim, combine(zero, number));
}

bool fl_can_cast(int from, int to) {
    return family(from) <= family(to);
}

double fl_as_double(const fl_value &v) {
    switch (v.tag) {
    case FL_FLOAT: return v.d;
    case FL_COMPLEX: return v.c[0];
    default: return (double)v.i;
    }
}

int64_t fl_as_int(const fl_value &v) {
    if (v.tag == FL_FLOAT || v.tag == FL_COMPLEX)
        return (int64_t)v.d;
    return v.i;
}
