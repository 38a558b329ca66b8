/* Run programs that flambeau.jit saved, from C++17: flambeau/runtime.h with owners and exceptions.
 *
 *     flambeau::Program program("model.program");
 *     flambeau::Session session(program);
 *     std::vector<float> x{1, 2, 3};
 *     std::vector<flambeau::Tensor> results = session.run({flambeau::buffer(x, {3})});
 *     std::vector<float> y = results.at(0).values<float>();
 *
 * A program is shared by threads, each with a session of its own. A session may be called by
 * several threads; they wait for each other. It keeps its program alive. Every failure is a
 * flambeau::Error. */
#ifndef FLAMBEAU_RUNTIME_HPP
#define FLAMBEAU_RUNTIME_HPP
#include "flambeau/runtime.h"
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace flambeau {

/* A code of flambeau_status, and the text that explains it. */
class Error : public std::runtime_error {
public:
    Error(int code, const std::string &text) : std::runtime_error(text), code_(code) {}
    int code() const noexcept { return code_; }

private:
    int code_;
};

using Shape = std::vector<std::int64_t>;

namespace detail {

inline void check(int code) {
    if (code)
        throw Error(code, flambeau_error_text());
}

inline std::string name_of(int dtype) {
    const char *name = flambeau_dtype_name(dtype);
    return name ? name : "no dtype";
}

template <class T> constexpr int integer_dtype() {
    constexpr int from_bytes[] = {-1, 0, 1, -1, 2, -1, -1, -1, 3};
    constexpr int is_signed[] = {FLAMBEAU_INT8, FLAMBEAU_INT16, FLAMBEAU_INT32, FLAMBEAU_INT64};
    constexpr int is_unsigned[] = {FLAMBEAU_UINT8, FLAMBEAU_UINT16, FLAMBEAU_UINT32,
                                   FLAMBEAU_UINT64};
    return (std::is_signed_v<T> ? is_signed : is_unsigned)[from_bytes[sizeof(T)]];
}

}  // namespace detail

/* The dtype whose elements are a T. float16 and bfloat16 have no type in C++17. */
template <class T> constexpr int dtype_of() {
    if constexpr (std::is_same_v<T, bool>)
        return FLAMBEAU_BOOL;
    else if constexpr (std::is_same_v<T, float>)
        return FLAMBEAU_FLOAT32;
    else if constexpr (std::is_same_v<T, double>)
        return FLAMBEAU_FLOAT64;
    else if constexpr (std::is_same_v<T, std::complex<float>>)
        return FLAMBEAU_COMPLEX64;
    else if constexpr (std::is_same_v<T, std::complex<double>>)
        return FLAMBEAU_COMPLEX128;
    else {
        static_assert(std::is_integral_v<T>, "no dtype has elements of this type");
        return detail::integer_dtype<T>();
    }
}

/* Memory of the caller's, in C order, which outlives the run it is given to. */
struct Buffer {
    flambeau_tensor tensor;
    bool is_constant;       /* a run that writes to it is refused */
};

/* A buffer of any dtype; `bytes` is the size of the memory, which the runtime checks. */
inline Buffer buffer(void *data, std::size_t bytes, int dtype, const Shape &shape) {
    if (shape.size() > FLAMBEAU_MAX_DIMS)
        throw Error(FLAMBEAU_INVALID, "a tensor has at most 32 dimensions, not " +
                                          std::to_string(shape.size()));
    Buffer made{};
    made.tensor.data = data;
    made.tensor.bytes = bytes;
    made.tensor.dtype = dtype;
    made.tensor.ndim = static_cast<std::int32_t>(shape.size());
    for (std::size_t i = 0; i < shape.size(); i++)
        made.tensor.shape[i] = shape[i];
    return made;
}

inline Buffer buffer(const void *data, std::size_t bytes, int dtype, const Shape &shape) {
    Buffer made = buffer(const_cast<void *>(data), bytes, dtype, shape);
    made.is_constant = true;
    return made;
}

template <class T> Buffer buffer(std::vector<T> &values, const Shape &shape) {
    return buffer(static_cast<void *>(values.data()), values.size() * sizeof(T), dtype_of<T>(),
                  shape);
}

template <class T> Buffer buffer(const std::vector<T> &values, const Shape &shape) {
    return buffer(static_cast<const void *>(values.data()), values.size() * sizeof(T),
                  dtype_of<T>(), shape);
}

/* A result with memory of its own. */
class Tensor {
public:
    explicit Tensor(const flambeau_tensor &from)
        : dtype_(from.dtype), shape_(from.shape, from.shape + from.ndim) {
        for (std::int64_t size : shape_)
            count_ *= static_cast<std::size_t>(size);
        bytes_.resize(count_ * flambeau_dtype_size(dtype_));
        if (!bytes_.empty())
            std::memcpy(bytes_.data(), from.data, bytes_.size());
    }

    int dtype() const noexcept { return dtype_; }
    const Shape &shape() const noexcept { return shape_; }
    std::size_t count() const noexcept { return count_; }
    const std::vector<char> &bytes() const noexcept { return bytes_; }

    /* The elements in C order; an Error if they are no Ts. */
    template <class T> std::vector<T> values() const {
        if (dtype_of<T>() != dtype_)
            throw Error(FLAMBEAU_INVALID, "values(): the tensor has dtype " +
                                              detail::name_of(dtype_) + ", not " +
                                              detail::name_of(dtype_of<T>()));
        std::vector<T> all(count_);
        if constexpr (std::is_same_v<T, bool>)
            for (std::size_t i = 0; i < count_; i++)
                all[i] = bytes_[i] != 0;
        else if (count_)
            std::memcpy(static_cast<void *>(all.data()), bytes_.data(), bytes_.size());
        return all;
    }

private:
    int dtype_;
    Shape shape_;
    std::size_t count_ = 1;
    std::vector<char> bytes_;
};

/* What a program takes or gives. */
struct Info {
    std::string name;
    int dtype;
    Shape shape;                        /* -1 where the size may vary */
    std::vector<std::string> symbols;   /* "N" there, else empty */
    bool is_written;                    /* of an input: a run changes its buffer */
};

class Program {
public:
    explicit Program(const std::string &path) {
        flambeau_program *made = nullptr;
        detail::check(flambeau_load(path.c_str(), &made));
        own(made);
    }
    /* From memory, which stays as it is until the program and its sessions are gone. */
    Program(const void *bytes, std::size_t size) {
        flambeau_program *made = nullptr;
        detail::check(flambeau_load_memory(bytes, size, &made));
        own(made);
    }
    Program(Program &&) noexcept = default;
    Program &operator=(Program &&) noexcept = default;

    std::vector<Info> inputs() const {
        return describe(flambeau_input_count(get()), flambeau_input_info);
    }
    std::vector<Info> outputs() const {
        return describe(flambeau_output_count(get()), flambeau_output_info);
    }
    const flambeau_program *get() const noexcept { return held_.get(); }

private:
    friend class Session;
    std::shared_ptr<const flambeau_program> held_;

    void own(flambeau_program *made) {
        held_ = {made, [](const flambeau_program *p) {
                     flambeau_program_free(const_cast<flambeau_program *>(p));
                 }};
    }

    template <class Fill> std::vector<Info> describe(std::size_t count, Fill fill) const {
        std::vector<Info> all;
        for (std::size_t i = 0; i < count; i++) {
            flambeau_info info;
            detail::check(fill(get(), i, &info));
            Info one{info.name, info.dtype, {}, {}, info.is_written != 0};
            for (int d = 0; d < info.ndim; d++) {
                one.shape.push_back(info.shape[d]);
                one.symbols.emplace_back(info.symbols[d] ? info.symbols[d] : "");
            }
            all.push_back(std::move(one));
        }
        return all;
    }
};

class Session {
public:
    explicit Session(const Program &program) : state_(std::make_unique<State>()) {
        state_->program = program.held_;
        detail::check(flambeau_session_new(program.get(), &state_->session));
        for (const Info &info : program.inputs())
            state_->is_written.push_back(info.is_written);
    }

    /* Run once; results have memory of their own. */
    std::vector<Tensor> run(const std::vector<Buffer> &inputs) {
        std::vector<flambeau_tensor> outputs(flambeau_output_count(state_->program.get()));
        std::lock_guard<std::mutex> held(state_->mutex);    // the session's memory is read below
        call(inputs, outputs);
        return {outputs.begin(), outputs.end()};
    }

    /* Run once into the caller's buffers, whose dtype and shape are filled in. */
    void run(const std::vector<Buffer> &inputs, std::vector<Buffer> &outputs) {
        std::vector<flambeau_tensor> tensors;
        for (const Buffer &out : outputs) {
            if (out.is_constant || !out.tensor.data)
                throw Error(FLAMBEAU_INVALID, "run(): an output's buffer is constant or NULL");
            tensors.push_back(out.tensor);
        }
        std::lock_guard<std::mutex> held(state_->mutex);
        const int code = try_call(inputs, tensors);
        for (std::size_t i = 0; i < outputs.size(); i++)
            outputs[i].tensor = tensors[i];
        detail::check(code);
    }

    /* Begin the stream of random numbers that flambeau.manual_seed(seed) begins. */
    void seed(std::uint64_t seed) { detail::check(flambeau_session_seed(get(), seed)); }
    flambeau_session *get() const noexcept { return state_->session; }

private:
    struct State {
        std::shared_ptr<const flambeau_program> program;
        flambeau_session *session = nullptr;
        std::vector<bool> is_written;
        std::mutex mutex;
        ~State() { flambeau_session_free(session); }
    };
    std::unique_ptr<State> state_;

    int try_call(const std::vector<Buffer> &inputs, std::vector<flambeau_tensor> &outputs) {
        std::vector<flambeau_tensor> tensors;
        for (std::size_t i = 0; i < inputs.size(); i++) {
            if (inputs[i].is_constant && i < state_->is_written.size() && state_->is_written[i])
                throw Error(FLAMBEAU_WRONG_INPUT, "run(): the program writes to input " +
                                                      std::to_string(i) +
                                                      ", and its buffer is constant");
            tensors.push_back(inputs[i].tensor);
        }
        return flambeau_run(get(), tensors.data(), tensors.size(), outputs.data(), outputs.size());
    }

    void call(const std::vector<Buffer> &inputs, std::vector<flambeau_tensor> &outputs) {
        detail::check(try_call(inputs, outputs));
    }
};

}  // namespace flambeau
#endif
