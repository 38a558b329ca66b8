/* Opening OpenBLAS and calling its products: see openblas.h. */
#include "runtime/openblas.h"

#include "runtime/blas.h"
#include "runtime/error.h"
#include "runtime/isa.h"
#include "runtime/mutex.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include <atomic>
#include <string>

namespace {

/* Shared with everything that names a dtype by its code; abi.h has the full list. */
enum { F32 = 11, F64 = 12, C64 = 13, C128 = 14 };

Mutex lock;
std::atomic<const fl_openblas *> opened{nullptr};
void *handle = nullptr;

std::string &library_path() {
    static std::string *path = new std::string; /* outlives every static destructor */
    return *path;
}

/* Sets an environment variable and puts back what was there. */
class EnvironmentGuard {
  public:
    EnvironmentGuard(const char *name, const char *value) : name_(name) {
        const char *before = getenv(name);
        was_set_ = before != nullptr;
        if (was_set_)
            before_ = before;
        setenv(name, value, 1);
    }
    ~EnvironmentGuard() {
        if (was_set_)
            setenv(name_, before_.c_str(), 1);
        else
            unsetenv(name_);
    }

  private:
    const char *name_;
    bool was_set_;
    std::string before_;
};

bool amd_with_avx512() {
#if defined(__x86_64__)
    unsigned highest, b, c, d;
    return fl_isa_level() == FL_ISA_V4 && __get_cpuid(0, &highest, &b, &c, &d) &&
           b == signature_AMD_ebx && c == signature_AMD_ecx && d == signature_AMD_edx;
#else
    return false;
#endif
}

/* The library reads these variables while it is loaded, and at no other time. Some versions and
 * some environments take kernels for AVX2 on AMD processors with AVX-512, at half the speed;
 * FLAMBEAU_ISA=v3 leaves the choice to them. A library that another module of the process opened
 * before keeps the kernels it chose then: results may differ in the last bits. */
void *open_library(const char *path) {
    EnvironmentGuard threads("OPENBLAS_NUM_THREADS", "1");
    if (!amd_with_avx512())
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    EnvironmentGuard core("OPENBLAS_CORETYPE", "SkylakeX");
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Wheels of scipy-openblas32 put a prefix before every name; other builds do not. */
void *find(const char *name) {
    void *symbol = dlsym(handle, (std::string("scipy_") + name).c_str());
    return symbol ? symbol : dlsym(handle, name);
}

const fl_openblas *fill() {
    static fl_openblas blas;
    auto set_threads = reinterpret_cast<void (*)(int)>(find("openblas_set_num_threads"));
    auto core_name = reinterpret_cast<const char *(*)(void)>(find("openblas_get_corename"));
    blas.sgemm = find("cblas_sgemm");
    blas.dgemm = find("cblas_dgemm");
    blas.cgemm = find("cblas_cgemm");
    blas.zgemm = find("cblas_zgemm");
    blas.cdotu_sub = find("cblas_cdotu_sub");
    blas.zdotu_sub = find("cblas_zdotu_sub");
    if (!set_threads || !core_name || !blas.sgemm || !blas.dgemm || !blas.cgemm || !blas.zgemm ||
        !blas.cdotu_sub || !blas.zdotu_sub)
        return nullptr;
    set_threads(1);
    blas.core = core_name();
    return &blas;
}

const fl_openblas *open_locked() {
    const std::string &path = library_path();
    if (path.empty()) {
        fl_error(FL_RUNTIME_ERROR, "OpenBLAS is not installed: pip install scipy-openblas32");
        return nullptr;
    }
    handle = open_library(path.c_str());
    if (!handle) {
        fl_error(FL_RUNTIME_ERROR, "cannot open OpenBLAS: %s; pip install scipy-openblas32",
                 dlerror());
        return nullptr;
    }
    const fl_openblas *blas = fill();
    if (!blas)
        fl_error(FL_RUNTIME_ERROR, "%s is not an OpenBLAS with CBLAS; pip install scipy-openblas32",
                 path.c_str());
    return blas;
}

template <class T>
void real_gemm(void *function, const fl_cblas_gemm &g) {
    using Gemm = void (*)(int, int, int, int, int, int, T, const T *, int, const T *, int, T, T *,
                          int);
    reinterpret_cast<Gemm>(function)(
        CBLAS_ROW_MAJOR, g.trans_a, g.trans_b, g.m, g.n, g.k, static_cast<T>(g.alpha),
        static_cast<const T *>(g.a), g.lda, static_cast<const T *>(g.b), g.ldb,
        static_cast<T>(g.beta), static_cast<T *>(g.c), g.ldc);
}

/* One row by one column, neither conjugated, instead of what is there. */
bool is_dot(const fl_cblas_gemm &g) {
    return g.m == 1 && g.n == 1 && g.alpha == 1 && g.beta == 0 &&
           g.trans_a != CBLAS_CONJ_TRANS && g.trans_b != CBLAS_CONJ_TRANS;
}

void complex_dot(void *function, const fl_cblas_gemm &g) {
    using Dot = void (*)(int, const void *, int, const void *, int, void *);
    const int a_step = g.trans_a == CBLAS_NO_TRANS ? 1 : g.lda;
    const int b_step = g.trans_b == CBLAS_NO_TRANS ? g.ldb : 1;
    reinterpret_cast<Dot>(function)(g.k, g.a, a_step, g.b, b_step, g.c);
}

template <class T>
void complex_gemm(void *function, void *dot, const fl_cblas_gemm &g) {
    if (is_dot(g))
        return complex_dot(dot, g);
    using Gemm = void (*)(int, int, int, int, int, int, const void *, const void *, int,
                          const void *, int, const void *, void *, int);
    T alpha[2] = {static_cast<T>(g.alpha), 0};
    T beta[2] = {static_cast<T>(g.beta), 0};
    reinterpret_cast<Gemm>(function)(CBLAS_ROW_MAJOR, g.trans_a, g.trans_b, g.m, g.n, g.k, alpha,
                                     g.a, g.lda, g.b, g.ldb, beta, g.c, g.ldc);
}

} // namespace

const fl_openblas *fl_openblas_get(void) {
    const fl_openblas *blas = opened.load(std::memory_order_acquire);
    if (blas)
        return blas;
    MutexGuard held(lock);
    if (!opened.load())
        opened.store(open_locked(), std::memory_order_release);
    return opened.load();
}

void fl_openblas_gemm(const fl_openblas *blas, int dtype, const fl_cblas_gemm *args) {
    switch (dtype) {
    case F32: real_gemm<float>(blas->sgemm, *args); break;
    case F64: real_gemm<double>(blas->dgemm, *args); break;
    case C64: complex_gemm<float>(blas->cgemm, blas->cdotu_sub, *args); break;
    case C128: complex_gemm<double>(blas->zgemm, blas->zdotu_sub, *args); break;
    }
}

/* A fork waits until the library is open: its child could not take the lock. */
static void before_fork() { lock.lock(); }
static void after_fork() { lock.unlock(); }

void fl_blas_set_path(const char *path) {
    static const int guarded = pthread_atfork(before_fork, after_fork, after_fork);
    (void)guarded;
    MutexGuard held(lock);
    library_path() = path ? path : "";
}

void *fl_blas_symbol(const char *name) {
    if (!fl_openblas_get())
        return nullptr;
    void *symbol = find(name);
    if (!symbol)
        fl_error(FL_RUNTIME_ERROR, "OpenBLAS (%s) has no function %s", library_path().c_str(),
                 name);
    return symbol;
}

const char *fl_blas_core(void) {
    const fl_openblas *blas = fl_openblas_get();
    return blas ? blas->core : nullptr;
}
