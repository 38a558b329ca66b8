/* What values select, by operators that Python composes of others. */
#include "standalone/selecting.h"
#include "standalone/program.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

template <class T> std::vector<T> packed(const fl_tensor *t, int dtype) {
    std::vector<T> found((size_t)t->numel);
    if (t->numel)
        fl_pack(t, dtype, found.data());
    return found;
}

Ref integers(const std::vector<int64_t> &numbers) {
    const int64_t count = (int64_t)numbers.size();
    Ref result = made(fl_tensor_empty(FL_I64, 0, 1, &count));
    std::copy(numbers.begin(), numbers.end(), (int64_t *)result->data);
    return result;
}

template <class T> T least(T a, T b) { return std::isnan(a) || a < b ? a : b; }
template <class T> T most(T a, T b) { return std::isnan(a) || a > b ? a : b; }

template <class T> class Boxes {
  public:
    Boxes(const fl_tensor *boxes, const fl_tensor *scores, int dtype, double threshold)
        : corners_(packed<T>(boxes, dtype)), scores_(packed<T>(scores, dtype)),
          threshold_((T)threshold) {}

    std::vector<int64_t> best() const {
        std::vector<int64_t> left(scores_.size()), kept;
        std::iota(left.begin(), left.end(), 0);
        std::stable_sort(left.begin(), left.end(), [this](int64_t a, int64_t b) {
            const T x = scores_[(size_t)a], y = scores_[(size_t)b];
            return std::isnan(x) ? !std::isnan(y) : x > y;
        });
        while (!left.empty()) {
            const int64_t first = left[0];
            kept.push_back(first);
            left.erase(left.begin());
            left.erase(std::remove_if(left.begin(), left.end(),
                                      [&](int64_t other) { return overlap(first, other); }),
                       left.end());
        }
        return kept;
    }

  private:
    const std::vector<T> corners_, scores_;
    const T threshold_;

    bool overlap(int64_t a, int64_t b) const {
        const T *one = corners_.data() + 4 * a, *other = corners_.data() + 4 * b;
        const T width = most(least(one[2], other[2]) - most(one[0], other[0]), (T)0);
        const T height = most(least(one[3], other[3]) - most(one[1], other[1]), (T)0);
        const T shared = width * height;
        return shared / (area(one) + area(other) - shared) > threshold_;
    }

    static T area(const T *box) { return (box[2] - box[0]) * (box[3] - box[1]); }
};

}  // namespace

Ref numbers_below(const fl_tensor *number) {
    if (number->numel != 1 || number->dtype == FL_C64 || number->dtype == FL_C128)
        bad_program("a size is one number");
    int64_t count = 0;
    fl_pack(number, FL_I64, &count);
    count = std::max<int64_t>(count, 0);
    Ref result = made(fl_tensor_empty(FL_I64, 0, 1, &count));
    std::iota((int64_t *)result->data, (int64_t *)result->data + count, 0);
    return result;
}

Ref best_boxes(const fl_tensor *boxes, const fl_tensor *scores, double threshold) {
    if (boxes->ndim != 2 || boxes->shape[1] != 4 || scores->ndim != 1 ||
        scores->shape[0] != boxes->shape[0])
        throw Failure(FLAMBEAU_FAILED, "nms(): boxes have shape (N, 4) and scores (N,)");
    if (boxes->dtype != scores->dtype || (boxes->dtype != FL_F32 && boxes->dtype != FL_F64))
        throw Failure(FLAMBEAU_UNSUPPORTED, "nms(): boxes and scores are float32, or float64");
    return integers(boxes->dtype == FL_F32
                        ? Boxes<float>(boxes, scores, FL_F32, threshold).best()
                        : Boxes<double>(boxes, scores, FL_F64, threshold).best());
}
