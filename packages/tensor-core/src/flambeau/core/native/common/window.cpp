/* Arguments of sliding windows: see window.h. */
#include "common/window.h"

static const char *const AXES[4] = {"", "", "two, for height and width",
                                    "three, for depth, height and width"};

int fl_read_pair(const fl_op *op, const char *param, const fl_value &v, int64_t least,
                 int64_t out[2]) {
    return fl_read_sizes(op, param, v, least, 2, out);
}

int fl_read_sizes(const fl_op *op, const char *param, const fl_value &v, int64_t least, int n,
                  int64_t *out) {
    const int64_t *list = v.tag == FL_INTS ? v.is : &v.i;
    uint32_t len = v.tag == FL_INTS ? v.len : 1;
    if (len != 1 && (int)len != n)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s is %s; it must be one number or %s",
                        fl_op_title(op), param, fl_shape_text(list, (int)len), AXES[n]);
    for (int i = 0; i < n; i++) {
        out[i] = list[len == 1 ? 0 : i];
        if (out[i] < least || out[i] > INT32_MAX)
            return fl_error(FL_RUNTIME_ERROR, "%s: %s is %s; its numbers must be %s",
                            fl_op_title(op), param, fl_shape_text(list, (int)len),
                            least ? "1 or more" : "0 or more (negative values are not supported)");
    }
    return 0;
}

int fl_check_windows(const fl_op *op, const char *name, int nd, const int64_t *shape, int n,
                     const int64_t *padding) {
    int64_t numel;
    bool fits = fl_count_elements(nd, shape, &numel);
    for (int i = 0; i < nd && fits; i++) {
        int64_t border = i < nd - n || !padding ? 0 : 2 * padding[i - nd + n];
        fits = shape[i] >= 0 && (i < nd - n || shape[i] <= INT32_MAX - border);
    }
    if (fits)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: %s is %s; sizes must not be negative, height and width "
                    "with their padding at most 2**31 - 1, and the product of all but zeros must "
                    "fit 64 bits", fl_op_title(op), name, fl_shape_text(shape, nd));
}
