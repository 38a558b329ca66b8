/* The C interface (flambeau/runtime.h): buffers in, buffers out, failures as codes and texts. */
#include "standalone/program.h"
#include "standalone/rooms.h"
#include "dispatch/pointwise.h"
#include "runtime/alloc_cache.h"
#include "runtime/blas.h"
#include "standalone/custom.h"
#include <algorithm>
#include <new>

static thread_local std::string last_error;

static int fail(int status, const char *text) {
    try {
        last_error = text;
    } catch (...) {
        last_error.clear();
    }
    return status;
}

/* The status of a piece of work; nothing is thrown beyond it. */
template <class Work> static int guarded(const Work &work) {
    try {
        work();
        return FLAMBEAU_OK;
    } catch (const Failure &failure) {
        return fail(failure.status, failure.what());
    } catch (const std::bad_alloc &) {
        return fail(FLAMBEAU_NO_MEMORY, "there is not enough memory");
    } catch (const std::exception &error) {
        return fail(FLAMBEAU_BAD_PROGRAM, error.what());
    }
}

static void start() {
    static const bool done = (fl_kernels_init(), true);
    (void)done;
}

const char *flambeau_version(void) { return FLAMBEAU_VERSION; }
const char *flambeau_error_text(void) { return last_error.c_str(); }

const char *flambeau_status_name(int status) {
    static const char *const names[] = {"ok", "invalid call", "no file", "bad program",
                                        "unsupported", "wrong input", "small buffer",
                                        "no memory", "failed"};
    return status >= 0 && status <= FLAMBEAU_FAILED ? names[status] : "unknown status";
}

const char *flambeau_dtype_name(int dtype) {
    return dtype >= 0 && dtype < FL_DTYPE_COUNT ? fl_dtype_name(dtype) : nullptr;
}

size_t flambeau_dtype_size(int dtype) {
    return dtype >= 0 && dtype < FL_DTYPE_COUNT ? (size_t)fl_itemsize(dtype) : 0;
}

/* ---- programs ------------------------------------------------------------------------------ */

template <class Fill> static int load(flambeau_program **made, const Fill &fill) {
    *made = nullptr;
    return guarded([&] {
        start();
        auto program = std::make_unique<flambeau_program>();
        fill(program->bytes);
        open_program(*program);
        *made = program.release();
    });
}

int flambeau_load(const char *path, flambeau_program **program) {
    if (!path || !program)
        return fail(FLAMBEAU_INVALID, "flambeau_load(): NULL");
    return load(program, [&](Bytes &bytes) { bytes.map(path); });
}

int flambeau_load_memory(const void *bytes, size_t size, flambeau_program **program) {
    if (!bytes || !program)
        return fail(FLAMBEAU_INVALID, "flambeau_load_memory(): NULL");
    return load(program, [&](Bytes &own) { own.show(bytes, size); });
}

void flambeau_program_free(flambeau_program *program) { delete program; }

size_t flambeau_input_count(const flambeau_program *p) { return p ? p->takes.size() : 0; }
size_t flambeau_output_count(const flambeau_program *p) { return p ? p->gives.size() : 0; }

static int info_of(const flambeau_program *p, const std::vector<Shown> &all, size_t index,
                   flambeau_info *info) {
    if (index >= all.size())
        return fail(FLAMBEAU_INVALID, "there is no input or output of this number");
    const Shown &shown = all[index];
    const Type &type = p->graph.types[(size_t)shown.value];
    memset((void *)info, 0, sizeof *info);
    info->name = shown.name.c_str();
    info->dtype = type.dtype;
    info->ndim = (int32_t)type.shape.size();
    for (size_t i = 0; i < type.shape.size(); i++) {
        const bool is_fixed = type.shape[i].is_fixed();
        info->shape[i] = is_fixed ? type.shape[i].offset : -1;
        info->symbols[i] = is_fixed ? nullptr : shown.symbols[i].c_str();
    }
    info->is_written = &all == &p->takes && p->changes[(size_t)shown.value];
    return FLAMBEAU_OK;
}

int flambeau_input_info(const flambeau_program *program, size_t index, flambeau_info *info) {
    if (!program || !info)
        return fail(FLAMBEAU_INVALID, "flambeau_input_info(): NULL");
    return info_of(program, program->takes, index, info);
}

int flambeau_output_info(const flambeau_program *program, size_t index, flambeau_info *info) {
    if (!program || !info)
        return fail(FLAMBEAU_INVALID, "flambeau_output_info(): NULL");
    return info_of(program, program->gives, index, info);
}

/* ---- sessions ------------------------------------------------------------------------------ */

int flambeau_session_new(const flambeau_program *program, flambeau_session **session) {
    if (!program || !session)
        return fail(FLAMBEAU_INVALID, "flambeau_session_new(): NULL");
    *session = nullptr;
    return guarded([&] {
        auto made = std::make_unique<flambeau_session>();
        made->program = program;
        open_session(*made);
        *session = made.release();
    });
}

void flambeau_session_free(flambeau_session *session) { delete session; }

int flambeau_session_seed(flambeau_session *session, uint64_t seed) {
    const uint64_t state[2] = {seed, 0};
    return flambeau_session_set_random(session, state);
}

int flambeau_session_set_random(flambeau_session *session, const uint64_t state[2]) {
    if (!session || !state)
        return fail(FLAMBEAU_INVALID, "flambeau_session_set_random(): NULL");
    std::lock_guard<std::mutex> held(session->mutex);
    session->generator.state.seed = state[0];
    session->generator.state.offset = state[1];
    return FLAMBEAU_OK;
}

int flambeau_session_get_random(flambeau_session *session, uint64_t state[2]) {
    if (!session || !state)
        return fail(FLAMBEAU_INVALID, "flambeau_session_get_random(): NULL");
    std::lock_guard<std::mutex> held(session->mutex);
    state[0] = session->generator.state.seed;
    state[1] = session->generator.state.offset;
    return FLAMBEAU_OK;
}

/* ---- runs ---------------------------------------------------------------------------------- */

static std::string described(int dtype, int ndim, const int64_t *shape) {
    return std::string(fl_dtype_name(dtype)) + fl_shape_text(shape, ndim);
}

static std::string wanted_text(const flambeau_program &p, const Shown &shown) {
    const Type &type = p.graph.types[(size_t)shown.value];
    std::string text = std::string(fl_dtype_name(type.dtype)) + "[";
    for (size_t i = 0; i < type.shape.size(); i++)
        text += (i ? ", " : "") + (shown.symbols[i].empty() ? std::to_string(type.shape[i].offset)
                                                            : shown.symbols[i]);
    return text + "]";
}

[[noreturn]] static void wrong(const Shown &shown, const std::string &why) {
    throw Failure(FLAMBEAU_WRONG_INPUT, "input " + shown.name + ": " + why);
}

static void check_form(const Shown &shown, const flambeau_tensor &given) {
    if (given.ndim < 0 || given.ndim > FLAMBEAU_MAX_DIMS || given.dtype < 0 ||
        given.dtype >= FL_DTYPE_COUNT ||
        std::any_of(given.shape, given.shape + given.ndim, [](int64_t size) { return size < 0; }))
        wrong(shown, "no dtype or shape");
}

static void check_buffer(const Shown &shown, const flambeau_tensor &given) {
    int64_t count, bytes;
    if (!fl_count_elements(given.ndim, given.shape, &count) ||
        __builtin_mul_overflow(count, fl_itemsize(given.dtype), &bytes) ||
        (uint64_t)bytes > given.bytes)
        wrong(shown, described(given.dtype, given.ndim, given.shape) +
              " takes more bytes than the " + std::to_string(given.bytes) + " of its buffer");
    if (bytes && !given.data)
        wrong(shown, "its buffer is NULL");
    const uintptr_t unit = std::min<uintptr_t>((uintptr_t)fl_itemsize(given.dtype), 8);
    if ((uintptr_t)given.data % unit)
        wrong(shown, "its buffer is not aligned to its elements");
}

/* The sizes of the symbols: those of dimensions that are a symbol alone. */
static void bind(const flambeau_program &p, const Shown &shown, const flambeau_tensor &given,
                 std::vector<int64_t> &sizes) {
    const Type &type = p.graph.types[(size_t)shown.value];
    bool fits = given.dtype == type.dtype && (size_t)given.ndim == type.shape.size();
    for (size_t i = 0; i < type.shape.size() && fits; i++) {
        const Dim &dim = type.shape[i];
        if (dim.is_symbol() && sizes[(size_t)dim.terms[0].symbols[0]] < 0)
            sizes[(size_t)dim.terms[0].symbols[0]] = given.shape[i];
        for (const Term &term : dim.terms)
            for (int symbol : term.symbols)
                if (sizes[(size_t)symbol] < 0)
                    bad_program("a size of an input cannot be read from it");
        fits = dim.evaluate(sizes.data()) == given.shape[i];
    }
    if (!fits)
        wrong(shown, "must be " + wanted_text(p, shown) + ", got " +
              described(given.dtype, given.ndim, given.shape) + "; trace again with an example "
              "like it, or name the size that varies with dynamic=");
}

static void check_sizes(const flambeau_program &p, const std::vector<int64_t> &sizes) {
    for (size_t i = 0; i < sizes.size(); i++) {
        const Symbol &symbol = p.graph.symbols[i];
        if (symbol.is_found && sizes[i] < 0)
            continue;
        if (sizes[i] < 0)
            bad_program("the size " + symbol.name + " is no size of an input");
        if (sizes[i] >= symbol.least && sizes[i] <= symbol.most)
            continue;
        const std::string &why = sizes[i] < symbol.least ? symbol.below : symbol.above;
        throw Failure(FLAMBEAU_WRONG_INPUT, symbol.name + " is " + std::to_string(sizes[i]) +
                      ", but the program was traced for sizes from " +
                      std::to_string(symbol.least) +
                      (symbol.most < (int64_t)1 << 62 ? " to " + std::to_string(symbol.most) : "") +
                      (why.empty() ? "" : ": " + why));
    }
}

static Ref over_buffer(const flambeau_tensor &given, bool is_written) {
    static char nothing[16];
    return over_memory(given.data ? given.data : nothing, given.bytes, !is_written, given.dtype,
                       given.ndim, given.shape);
}

/* What a run gives, in the caller's buffer; false where it has too few bytes. Memory of the session,
 * where there is no buffer: the result's own, if it `is_alone`. */
static bool hand_over(flambeau_session &session, const Ref &result, bool is_alone,
                      flambeau_tensor &out) {
    const fl_tensor *t = result.get();
    const size_t bytes = (size_t)(t->numel * fl_itemsize(t->dtype));
    out.dtype = t->dtype;
    out.ndim = t->ndim;
    std::copy(t->shape, t->shape + t->ndim, out.shape);
    if (!out.data) {
        Ref own = is_alone ? result : made(fl_tensor_empty(t->dtype, 0, t->ndim, t->shape));
        out.data = own->data;
        out.bytes = bytes;
        session.given.push_back(own);
    }
    if (out.bytes < bytes)
        return false;
    if (out.data == t->data)
        return true;
    if (t->flags & FL_CONTIGUOUS)
        memmove(out.data, t->data, bytes);
    else
        fl_pack(t, t->dtype, out.data);
    return true;
}

static void run(flambeau_session &session, const flambeau_tensor *inputs,
                flambeau_tensor *outputs) {
    const flambeau_program &p = *session.program;
    std::vector<int64_t> sizes(p.graph.symbols.size(), -1);
    for (size_t i = 0; i < p.takes.size(); i++) {
        check_form(p.takes[i], inputs[i]);
        bind(p, p.takes[i], inputs[i], sizes);
        check_buffer(p.takes[i], inputs[i]);
    }
    check_sizes(p, sizes);
    std::vector<Ref> tensors;
    for (size_t i = 0; i < p.takes.size(); i++)
        tensors.push_back(over_buffer(inputs[i], p.changes[i]));
    const Rooms rooms = find_rooms(p, inputs, outputs);
    std::vector<Ref> results = run_session(session, tensors, sizes, rooms);
    session.given.clear();
    std::string small;
    for (size_t i = 0; i < results.size(); i++) {
        if (!results[i])
            bad_program("a result is used that nothing computes");
        const bool is_own = !outputs[i].data && is_alone(results, i, tensors, session);
        if (!hand_over(session, results[i], is_own, outputs[i]))
            small += (small.empty() ? "" : ", ") + p.gives[i].name;
    }
    if (!small.empty())
        throw Failure(FLAMBEAU_SMALL_BUFFER, "output " + small + " has more bytes than its buffer; "
                      "its shape is filled in");
}

int flambeau_run(flambeau_session *session, const flambeau_tensor *inputs, size_t input_count,
                 flambeau_tensor *outputs, size_t output_count) {
    if (!session || (input_count && !inputs) || (output_count && !outputs))
        return fail(FLAMBEAU_INVALID, "flambeau_run(): NULL");
    return guarded([&] {
        const flambeau_program &p = *session->program;
        if (input_count != p.takes.size() || output_count != p.gives.size())
            throw Failure(FLAMBEAU_WRONG_INPUT, "the program takes " +
                          std::to_string(p.takes.size()) + " inputs and gives " +
                          std::to_string(p.gives.size()) + " outputs, not " +
                          std::to_string(input_count) + " and " + std::to_string(output_count));
        std::lock_guard<std::mutex> held(session->mutex);
        run(*session, inputs, outputs);
    });
}

/* ---- the process --------------------------------------------------------------------------- */

int flambeau_set_threads(int count) {
    if (count < 1)
        return fail(FLAMBEAU_INVALID, "flambeau_set_threads(): at least 1");
    return fl_set_num_threads(count) < 0 ? fail(FLAMBEAU_FAILED, "threads cannot be started") : 0;
}

int flambeau_get_threads(void) { return fl_get_num_threads(); }

int flambeau_use_blas(const char *path) {
    if (!path)
        return fail(FLAMBEAU_INVALID, "flambeau_use_blas(): NULL");
    fl_blas_set_path(path);
    return FLAMBEAU_OK;
}

int flambeau_register_kernel(const char *name, const flambeau_kernel *kernel) {
    if (!name || !*name || !kernel || !kernel->describe || !kernel->run)
        return fail(FLAMBEAU_INVALID, "flambeau_register_kernel(): a name, and both functions");
    return guarded([&] {
        if (!register_kernel(name, *kernel))
            throw Failure(FLAMBEAU_INVALID, std::string(name) + " is an operator of the runtime");
    });
}

int flambeau_set_allocator(void *(*take)(void *, size_t), void (*give)(void *, void *, size_t),
                           void *context) {
    if (!take != !give)
        return fail(FLAMBEAU_INVALID, "flambeau_set_allocator(): both functions, or none");
    fl_alloc_info info;
    fl_alloc_stats(&info);
    if (info.system_count)
        return fail(FLAMBEAU_INVALID, "flambeau_set_allocator(): memory was taken already");
    alloc_source = AllocSource{take, give, context};
    return FLAMBEAU_OK;
}
