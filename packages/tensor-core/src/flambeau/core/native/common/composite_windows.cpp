/* What composites of windows along one to three dimensions share. */
#include "common/composite_windows.h"

int fl_spread(const fl_op *op, const char *param, const fl_value &v, int n, int64_t *out) {
    const int64_t *list = v.tag == FL_INTS ? v.is : &v.i;
    int len = v.tag == FL_INTS ? (int)v.len : 1;
    if (len != 1 && len != n) {
        fl_error(FL_RUNTIME_ERROR, "%s(): %s is %s; it must be one number or %d, one for each "
                 "dimension that the window slides over", op->name, param,
                 fl_shape_text(list, len), n);
        return fl_raise();
    }
    for (int i = 0; i < n; i++)
        out[i] = list[len == 1 ? 0 : i];
    return 0;
}

const char *fl_image_text(int n) {
    static const char *const TEXTS[] = {
        "[batch, channels, length], or 2 dimensions for a single image",
        "[batch, channels, height, width], or 3 dimensions for a single image",
        "[batch, channels, depth, height, width], or 4 dimensions for a single image"};
    return TEXTS[n - 1];
}

fl_tensor *fl_line_of(fl_tensor *plane) {
    static const int64_t height[] = {-2};
    Made made(plane);
    return plane ? fl_compose(FL_OP_squeeze, fl_tensor_value(plane), fl_ints_value(height, 1))
                 : nullptr;
}
