/* blas.h: every product against a plain loop in double; sizes around the edges of tiles, all
 * transposes, strides, batches, alpha and beta, NaN in C, epilogues, same bits for any number of
 * threads. argv[1] is the path of OpenBLAS. */
#include "blas.h"
#include "check.h"
#include "error.h"
#include "isa.h"
#include "pool.h"

#include <cmath>
#include <complex>
#include <random>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

enum { F32 = 11, F64 = 12, C64 = 13, C128 = 14 };

template <class T> struct Traits;
template <> struct Traits<float> { enum { CODE = F32 }; typedef double Wide; };
template <> struct Traits<double> { enum { CODE = F64 }; typedef long double Wide; };
template <> struct Traits<std::complex<float>> {
    enum { CODE = C64 };
    typedef std::complex<double> Wide;
};
template <> struct Traits<std::complex<double>> {
    enum { CODE = C128 };
    typedef std::complex<long double> Wide;
};

static std::mt19937 generator(7);

static void fill(float &x) { x = std::uniform_real_distribution<float>(-1, 1)(generator); }
static void fill(double &x) { x = std::uniform_real_distribution<double>(-1, 1)(generator); }
template <class R> static void fill(std::complex<R> &x) {
    R re, im;
    fill(re);
    fill(im);
    x = {re, im};
}

template <class T> static std::vector<T> random_vector(int64_t count) {
    std::vector<T> values(count);
    for (T &value : values)
        fill(value);
    return values;
}

template <class R> static R conjugate(R x) { return x; }
template <class R> static std::complex<R> conjugate(std::complex<R> x) { return std::conj(x); }

template <class T> static double tolerance(int64_t k) {
    double epsilon = sizeof(decltype(std::abs(T()))) == 4 ? 6e-8 : 1.2e-16;
    return epsilon * 8 * (static_cast<double>(k) + 4);
}

/* The matrices of a product, with `gap` unused elements behind every row. */
template <class T> struct Case {
    fl_gemm_args g = {};
    std::vector<T> a, b, c, bias;

    Case(int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, int64_t gap = 0,
         int64_t batch = 1) {
        int64_t a_rows = trans_a ? k : m, b_rows = trans_b ? n : k;
        g.dtype = Traits<T>::CODE;
        g.trans_a = static_cast<uint8_t>(trans_a);
        g.trans_b = static_cast<uint8_t>(trans_b);
        g.m = m;
        g.n = n;
        g.k = k;
        g.alpha = 1;
        g.lda = (trans_a ? m : k) + gap;
        g.ldb = (trans_b ? k : n) + gap;
        g.ldc = n + gap;
        g.batch = batch;
        g.stride_a = a_rows * g.lda + gap;
        g.stride_b = b_rows * g.ldb + gap;
        g.stride_c = m * g.ldc + gap;
        a = random_vector<T>(batch * g.stride_a);
        b = random_vector<T>(batch * g.stride_b);
        c = random_vector<T>(batch * g.stride_c);
    }

    T at(const std::vector<T> &x, int trans, int64_t stride, int64_t ld, int64_t batch, int64_t i,
         int64_t j) const {
        T value = x[batch * stride + (trans ? j * ld + i : i * ld + j)];
        return trans == FL_CONJ_TRANS ? conjugate(value) : value;
    }

    T expected(const std::vector<T> &before, int64_t batch, int64_t i, int64_t j) const {
        typename Traits<T>::Wide sum = 0;
        for (int64_t p = 0; p < g.k; p++)
            sum += static_cast<typename Traits<T>::Wide>(
                       at(a, g.trans_a, g.stride_a, g.lda, batch, i, p)) *
                   static_cast<typename Traits<T>::Wide>(
                       at(b, g.trans_b, g.stride_b, g.ldb, batch, p, j));
        T value = static_cast<T>(sum) * static_cast<decltype(std::abs(T()))>(g.alpha);
        if (g.beta != 0)
            value += before[batch * g.stride_c + i * g.ldc + j] *
                     static_cast<decltype(std::abs(T()))>(g.beta);
        if (!bias.empty())
            value += bias[j];
        return g.activation && !(std::real(value) > 0) ? T(0) : value;
    }

    void run() {
        g.a = a.data();
        g.b = b.data();
        g.c = c.data();
        g.bias = bias.empty() ? nullptr : bias.data();
        if (fl_gemm_run(&g))
            fprintf(stderr, "%s\n", fl_error_text());
    }

    /* All elements when there are few, else a sample; the gaps must be untouched. */
    bool right() {
        std::vector<T> before = c;
        run();
        int64_t all = g.batch * g.m * g.n;
        int64_t step = all > 20000 ? all / 997 : 1;
        for (int64_t e = 0; e < all; e += step) {
            int64_t batch = e / (g.m * g.n), i = e / g.n % g.m, j = e % g.n;
            T got = c[batch * g.stride_c + i * g.ldc + j];
            double error = std::abs(got - expected(before, batch, i, j));
            if (!(error <= tolerance<T>(g.k))) {
                fprintf(stderr,
                        "dtype %d trans %d %d sizes %lld %lld %lld: [%lld, %lld] off by %g\n",
                        g.dtype, g.trans_a, g.trans_b, (long long)g.m, (long long)g.n,
                        (long long)g.k, (long long)i, (long long)j, error);
                return false;
            }
        }
        for (int64_t row = 0; row < g.m; row++)
            for (int64_t j = g.n; j < g.ldc; j++)
                if (memcmp(&c[row * g.ldc + j], &before[row * g.ldc + j], sizeof(T)))
                    return false;
        return true;
    }
};

template <class T> static void sizes_and_transposes(int most_trans) {
    const int64_t sizes[][3] = {
        {1, 1, 1},    {2, 3, 4},     {1, 17, 5},    {17, 1, 5},   {5, 7, 0},     {16, 16, 16},
        {7, 15, 31},  {13, 14, 33},  {14, 32, 64},  {15, 33, 65}, {28, 31, 255}, {29, 63, 256},
        {27, 65, 257}, {1, 100, 300}, {100, 1, 300}, {3, 90, 130}, {90, 3, 130},  {17, 40, 1100},
        {40, 17, 1100}, {64, 64, 64}, {65, 97, 70},  {200, 30, 40}, {33, 290, 20}};
    for (auto &size : sizes)
        for (int trans_a = 0; trans_a <= most_trans; trans_a++)
            for (int trans_b = 0; trans_b <= most_trans; trans_b++)
                for (int64_t gap : {0, 3}) {
                    Case<T> product(trans_a, trans_b, size[0], size[1], size[2], gap);
                    CHECK(product.right());
                    product.g.alpha = -0.5;
                    product.g.beta = 0.25;
                    CHECK(product.right());
                }
}

template <class T> static void large() {
    for (int trans = 0; trans < 2; trans++) {
        CHECK(Case<T>(trans, 1 - trans, 385, 520, 300).right());
        CHECK(Case<T>(trans, trans, 640, 1100, 270).right());
        CHECK(Case<T>(trans, trans, 5, 3000, 700).right());
    }
}

template <class T> static void batches(int most_trans) {
    for (int trans = 0; trans <= most_trans; trans++) {
        CHECK(Case<T>(trans, 0, 9, 11, 13, 2, 7).right());
        CHECK(Case<T>(0, trans, 70, 50, 60, 0, 40).right());
        CHECK(Case<T>(trans, 1, 130, 140, 150, 0, 3).right());
        Case<T> shared(0, trans, 20, 30, 40, 0, 5);
        for (int64_t i = 0; i < 5; i++)
            std::copy(shared.b.begin(), shared.b.begin() + shared.g.stride_b,
                      shared.b.begin() + i * shared.g.stride_b);
        shared.run();
        std::vector<T> copied = shared.c;
        std::fill(shared.b.begin() + shared.g.stride_b, shared.b.end(), T(NAN));
        shared.g.stride_b = 0;
        shared.run();
        CHECK(memcmp(shared.c.data(), copied.data(), copied.size() * sizeof(T)) == 0);
    }
    Case<T> none(0, 0, 4, 4, 4, 0, 0);
    none.run();
    CHECK(fl_error_kind_get() == FL_NO_ERROR);
}

/* beta == 0 writes C without reading it, also when there is nothing to add up. */
template <class T> static void nan_in_c_does_not_spread() {
    for (int64_t k : {0, 1, 40, 300, 600})
        for (int64_t n : {1, 16, 33, 300}) {
            Case<T> product(0, 0, 21, n, k);
            std::fill(product.c.begin(), product.c.end(), T(NAN));
            CHECK(product.right());
            std::fill(product.c.begin(), product.c.end(), T(NAN));
            product.g.alpha = 0;
            CHECK(product.right());
        }
    Case<T> kept(0, 0, 3, 20, 5);
    kept.c[7] = T(NAN);
    kept.g.beta = 1;
    kept.run();
    CHECK(std::isnan(std::real(kept.c[7])) && !std::isnan(std::real(kept.c[8])));
}

template <class T> static void nothing_to_do() {
    for (auto &size : {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {0, 0}}) {
        Case<T> product(0, 0, size.first, size.second, 3);
        product.run();
        CHECK(fl_error_kind_get() == FL_NO_ERROR);
    }
    Case<T> scaled(0, 0, 6, 7, 0);
    scaled.g.beta = 2;
    CHECK(scaled.right());
}

template <class T> static void epilogues() {
    const int64_t sizes[][3] = {{16, 16, 16}, {64, 64, 64}, {3, 100, 700}, {100, 3, 700},
                                {50, 1, 90},  {1, 50, 90},  {65, 66, 600}, {520, 530, 540},
                                {9, 9, 0}};
    for (auto &size : sizes)
        for (int relu = 0; relu < 2; relu++)
            for (double beta : {0.0, 1.0}) {
                Case<T> product(0, 1, size[0], size[1], size[2]);
                product.bias = random_vector<T>(size[1]);
                product.g.activation = relu ? FL_ACT_RELU : FL_ACT_NONE;
                product.g.beta = beta;
                CHECK(product.right());
            }
    Case<T> spoiled(0, 0, 4, 4, 4);
    spoiled.g.activation = FL_ACT_RELU;
    spoiled.a[0] = T(NAN);
    spoiled.run();
    CHECK(std::isnan(spoiled.c[0]) && !std::isnan(spoiled.c[4]));
}

/* A stride of 0 repeats one row of A; only real dtypes take it. */
template <class T> static void repeated_rows() {
    Case<T> product(0, 0, 30, 40, 50);
    for (int64_t i = 1; i < 30; i++)
        std::copy(product.a.begin(), product.a.begin() + 50, product.a.begin() + i * 50);
    product.run();
    std::vector<T> copied = product.c;
    product.g.lda = 0;
    product.run();
    CHECK(memcmp(product.c.data(), copied.data(), copied.size() * sizeof(T)) == 0);
}

template <class T> static void same_bits_for_any_number_of_threads(int most_trans) {
    const int64_t sizes[][4] = {{1, 300, 310, 320}, {1, 700, 600, 500}, {1, 4, 2000, 800},
                                {1, 2000, 4, 800},  {30, 40, 50, 60},   {1, 30, 31, 5000}};
    for (auto &size : sizes)
        for (int trans = 0; trans <= most_trans; trans++) {
            Case<T> product(0, trans, size[1], size[2], size[3], 0, size[0]);
            fl_set_num_threads(1);
            product.run();
            std::vector<T> expected = product.c;
            for (int threads : {2, 3}) {
                fl_set_num_threads(threads);
                std::fill(product.c.begin(), product.c.end(), T(0));
                product.run();
                CHECK(memcmp(product.c.data(), expected.data(), expected.size() * sizeof(T)) == 0);
            }
        }
}

/* How C is cut must not show: a product of many columns equals its parts, bit for bit. */
static void tiling_does_not_show() {
    Case<float> whole(0, 0, 500, 600, 700);
    whole.run();
    for (int64_t j = 0; j < 600; j += 100) {
        std::vector<float> part(500 * 100);
        fl_gemm(F32, 0, 0, 500, 100, 700, 1, whole.a.data(), 700, whole.b.data() + j, 600, 0,
                part.data(), 100);
        for (int64_t i = 0; i < 500; i++)
            CHECK(memcmp(&part[i * 100], &whole.c[i * 600 + j], 100 * sizeof(float)) == 0);
    }
}

static void children_can_multiply() {
    fl_set_num_threads(2);
    CHECK((in_child([] {
        Case<float> real(0, 1, 200, 210, 220);
        Case<std::complex<float>> complex(0, 1, 300, 310, 50);
        return real.right() && complex.right();
    })));
}

static void mistakes_are_explained() {
    float x = 0;
    CHECK(fl_gemm(5, 0, 0, 1, 1, 1, 1, &x, 1, &x, 1, 0, &x, 1) == -1);
    CHECK(fl_error_kind_get() == FL_NOT_IMPLEMENTED && strstr(fl_error_text(), "int64"));
    CHECK(fl_gemm(F32, 0, 0, -1, 1, 1, 1, &x, 1, &x, 1, 0, &x, 1) == -1);
    CHECK(fl_error_kind_get() == FL_VALUE_ERROR);
    CHECK(fl_gemm(C64, 0, 0, 4, 4, 4, 1, &x, 2, &x, 4, 0, &x, 4) == -1);
    CHECK(fl_error_kind_get() == FL_VALUE_ERROR && strstr(fl_error_text(), "copy"));
    Case<std::complex<float>> fused(0, 0, 2, 2, 2);
    fused.g.activation = FL_ACT_RELU;
    CHECK(fl_gemm_run(&fused.g) == -1 && fl_error_kind_get() == FL_TYPE_ERROR);
    CHECK(fl_blas_symbol("no_such_function") == nullptr);
    CHECK(strstr(fl_error_text(), "no_such_function"));
    fl_error_clear();
}

static std::string environment(const char *name) {
    const char *value = getenv(name);
    return value ? value : "(unset)";
}

static void library() {
    std::string core_before = environment("OPENBLAS_CORETYPE");
    std::string threads_before = environment("OPENBLAS_NUM_THREADS");
    CHECK(fl_blas_symbol("dgetrf_") != nullptr);
    const char *core = fl_blas_core();
    CHECK(core && *core);
    printf("level %s, OpenBLAS core %s\n", fl_isa_name(fl_isa_level()), core);
    CHECK(environment("OPENBLAS_CORETYPE") == core_before);
    CHECK(environment("OPENBLAS_NUM_THREADS") == threads_before);
}

template <class T> static void real() {
    sizes_and_transposes<T>(1);
    large<T>();
    batches<T>(1);
    nan_in_c_does_not_spread<T>();
    nothing_to_do<T>();
    epilogues<T>();
    repeated_rows<T>();
    same_bits_for_any_number_of_threads<T>(1);
}

template <class T> static void complex() {
    sizes_and_transposes<T>(2);
    batches<T>(2);
    nan_in_c_does_not_spread<T>();
    nothing_to_do<T>();
    same_bits_for_any_number_of_threads<T>(2);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    CHECK(in_child([] { return fl_blas_core() == nullptr && strstr(fl_error_text(), "pip"); }));
    fl_blas_set_path(argv[1]);
    fl_set_num_threads(2);
    library();
    real<float>();
    real<double>();
    complex<std::complex<float>>();
    complex<std::complex<double>>();
    tiling_does_not_show();
    children_can_multiply();
    mistakes_are_explained();
    return check_result();
}
