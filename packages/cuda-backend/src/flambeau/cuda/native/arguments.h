/* Arguments of generated kernels: packed by the launch path, read by the kernels. */
#ifndef FL_ARGUMENTS_H
#define FL_ARGUMENTS_H
#define FL_DIMS 12

/* An operand or a result: a tensor's elements, or a number. */
struct fl_arg {
    char *data;
    int32_t dtype, is_number;       /* dtype: a code of flambeau/abi.h */
    double re, im;
    int64_t integer;                /* the number as an integer, wrapped around */
    int64_t strides[FL_DIMS];       /* over the shape of the call, in elements */
};

template <int N> struct fl_call {
    int64_t numel;
    int32_t ndim, unused;
    int64_t shape[FL_DIMS];
    fl_arg args[N];
};
#endif
