/* Regions of images: see regions.h. */
#include "standalone/regions.h"
#include "standalone/program.h"
#include "runtime/pool.h"
#include <algorithm>
#include <cmath>

namespace {

/* Points of a bin in a direction at most: more than any image has pixels. */
const double MAX_POINTS = 1 << 20;

/* Where a point lies between two pixels. */
template <class T> struct Point {
    int64_t first, second;
    T part;                     /* of the second */
    bool is_inside;
};

/* The points of all bins in one direction. */
template <class T>
std::vector<Point<T>> points_of(T start, T size, int64_t bins, int64_t count, int64_t pixels) {
    std::vector<Point<T>> found;
    for (int64_t bin = 0; bin < bins; bin++)
        for (int64_t i = 0; i < count; i++) {
            T at = start + ((T)bin + ((T)i + (T)0.5) / (T)count) * (size / (T)bins);
            const bool is_inside = at >= -1 && at <= (T)pixels;
            at = is_inside ? std::min(std::max(at, (T)0), (T)(pixels - 1)) : (T)0;
            const int64_t first = (int64_t)at;
            found.push_back({first, std::min(first + 1, pixels - 1), at - (T)first, is_inside});
        }
    return found;
}

template <class T> T mean_of(const T *plane, int64_t width, const Point<T> *y, int64_t rows,
                             const Point<T> *x, int64_t columns) {
    T sum = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            if (!y[i].is_inside || !x[j].is_inside)
                continue;
            const T *upper = plane + y[i].first * width, *lower = plane + y[i].second * width;
            const T right = x[j].part, left = 1 - right;
            sum += (upper[x[j].first] * left + upper[x[j].second] * right) * (1 - y[i].part) +
                   (lower[x[j].first] * left + lower[x[j].second] * right) * y[i].part;
        }
    return sum / (T)(rows * columns);
}

template <class T> class Regions {
  public:
    Regions(const fl_tensor *images, const fl_tensor *regions, const RegionBins &bins)
        : bins_(bins), count_(images->shape[0]), channels_(images->shape[1]),
          height_(images->shape[2]), width_(images->shape[3]), pixels_((const T *)images->data),
          corners_((size_t)regions->numel) {
        if (!(images->flags & FL_CONTIGUOUS)) {
            copy_.resize((size_t)images->numel);
            fl_pack(images, images->dtype, copy_.data());
            pixels_ = copy_.data();
        }
        fl_pack(regions, images->dtype, corners_.data());
    }

    void run(T *out, int64_t regions) const {
        for (int64_t k = 0; k < regions; k++, out += channels_ * bins_.down * bins_.across)
            one(corners_.data() + 5 * k, out);
    }

  private:
    const RegionBins bins_;
    const int64_t count_, channels_, height_, width_;
    const T *pixels_;
    std::vector<T> copy_, corners_;

    int64_t points(T size, int64_t bins) const {
        const double count =
            bins_.points > 0 ? (double)bins_.points : std::ceil((double)(size / (T)bins));
        if (!(count <= MAX_POINTS))
            throw Failure(FLAMBEAU_FAILED, "roi_align(): a region is too large");
        return std::max((int64_t)count, (int64_t)0);
    }

    void one(const T *region, T *out) const {
        const T scale = (T)bins_.scale, offset = bins_.has_centres ? (T)0.5 : (T)0;
        const T x = region[1] * scale - offset, y = region[2] * scale - offset;
        T w = region[3] * scale - offset - x, h = region[4] * scale - offset - y;
        if (!bins_.has_centres) {
            w = w < 1 ? 1 : w;
            h = h < 1 ? 1 : h;
        }
        if (!(region[0] > -1 && region[0] < (T)count_))
            throw Failure(FLAMBEAU_FAILED, "roi_align(): a region of an image that is not there");
        const int64_t a = points(h, bins_.down), b = points(w, bins_.across);
        const int64_t bins = bins_.down * bins_.across;
        if (!a || !b) {             /* without an area it has no points */
            std::fill(out, out + channels_ * bins, (T)0);
            return;
        }
        const auto rows = points_of(y, h, bins_.down, a, height_);
        const auto columns = points_of(x, w, bins_.across, b, width_);
        const T *image = pixels_ + (int64_t)region[0] * channels_ * height_ * width_;
        fl_parallel(channels_, 1, [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; c++)
                for (int64_t bin = 0; bin < bins; bin++)
                    out[c * bins + bin] = mean_of(
                        image + c * height_ * width_, width_, &rows[(size_t)(bin / bins_.across * a)],
                        a, &columns[(size_t)(bin % bins_.across * b)], b);
        });
    }
};

}  // namespace

Ref means_of_regions(const fl_tensor *images, const fl_tensor *regions, const RegionBins &bins) {
    if (images->ndim != 4 || regions->ndim != 2 || regions->shape[1] != 5)
        throw Failure(FLAMBEAU_FAILED, "roi_align(): images have 4 dimensions, regions 5 numbers");
    if (images->dtype != regions->dtype || (images->dtype != FL_F32 && images->dtype != FL_F64))
        throw Failure(FLAMBEAU_UNSUPPORTED, "roi_align(): images are float32, or float64");
    const int64_t shape[] = {regions->shape[0], images->shape[1], bins.down, bins.across};
    Ref result = made(fl_tensor_empty(images->dtype, 0, 4, shape));
    if (result->numel && !images->numel)
        throw Failure(FLAMBEAU_FAILED, "roi_align(): images without pixels");
    if (!result->numel)
        return result;
    if (images->dtype == FL_F32)
        Regions<float>(images, regions, bins).run((float *)result->data, shape[0]);
    else
        Regions<double>(images, regions, bins).run((double *)result->data, shape[0]);
    return result;
}
