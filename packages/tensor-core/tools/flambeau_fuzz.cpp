/* Runs programs from standard input, each a length of four bytes and a file, and writes a line with
 * the code that each ended with. For a build with sanitizers: what is wrong ends the process. */
#include "flambeau/runtime.h"
#include <atomic>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

const size_t MEMORY = (size_t)1 << 28;          /* bytes that a program may hold at a time */
const size_t BUFFER = (size_t)1 << 22;          /* bytes of an input, at most */
const unsigned SECONDS = 20;                    /* for one program; SIGALRM ends the process */

std::atomic<size_t> held{0};

void *take(void *, size_t bytes) {
    if (bytes > MEMORY || held.fetch_add(bytes) + bytes > MEMORY) {
        held -= bytes <= MEMORY ? bytes : 0;
        return nullptr;
    }
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

void give(void *, void *memory, size_t bytes) {
    held -= bytes;
    free(memory);
}

/* Exactly as large as it has to be, so that the next byte is not ours. */
using Memory = std::vector<std::vector<char>>;

bool make(const flambeau_info &info, int64_t size, Memory &memory, flambeau_tensor &made) {
    size_t bytes = flambeau_dtype_size(info.dtype);
    made = {};
    made.dtype = info.dtype;
    made.ndim = info.ndim;
    for (int i = 0; i < info.ndim; i++) {
        made.shape[i] = info.shape[i] < 0 ? size : info.shape[i];
        if (__builtin_mul_overflow(bytes, (size_t)made.shape[i], &bytes) || bytes > BUFFER)
            return false;
    }
    memory.emplace_back(bytes, (char)(memory.size() + 1));
    made.data = memory.back().data();
    made.bytes = bytes;
    return true;
}

/* Calls that are wrong on purpose: a code, and nothing is read or written beyond the buffers. */
int misuse(flambeau_session *session, std::vector<flambeau_tensor> inputs, size_t outputs) {
    std::vector<flambeau_tensor> results(outputs + 1);
    int sum = flambeau_run(session, inputs.data(), inputs.size() + 1, results.data(), outputs);
    sum += flambeau_run(nullptr, inputs.data(), inputs.size(), results.data(), outputs);
    sum += flambeau_run(session, nullptr, inputs.size(), nullptr, outputs);
    for (size_t i = 0; i < inputs.size(); i++) {
        const flambeau_tensor right = inputs[i];
        for (int how = 0; how < 6; how++) {
            inputs[i] = right;
            switch (how) {
            case 0: inputs[i].bytes = right.bytes / 2; break;
            case 1: inputs[i].dtype = right.dtype ^ 0x55; break;
            case 2: inputs[i].ndim = 1 << 30; break;
            case 3: inputs[i].shape[0] = -5; break;
            case 4: inputs[i].shape[0] = (int64_t)1 << 62; break;
            case 5: inputs[i].data = nullptr; break;
            }
            std::vector<flambeau_tensor> out(outputs + 1);
            sum += flambeau_run(session, inputs.data(), inputs.size(), out.data(), outputs);
        }
        inputs[i] = right;
    }
    char small[1];
    for (size_t i = 0; i < outputs; i++) {
        results[i] = {};
        results[i].data = small;
        results[i].bytes = sizeof small;
    }
    return sum + flambeau_run(session, inputs.data(), inputs.size(), results.data(), outputs);
}

int run(const flambeau_program *program) {
    flambeau_session *session;
    int status = flambeau_session_new(program, &session);
    if (status)
        return status;
    const size_t count = flambeau_input_count(program), outputs = flambeau_output_count(program);
    flambeau_info info;
    for (size_t i = 0; i < outputs; i++)
        flambeau_output_info(program, i, &info);
    for (int64_t size = 1; size <= 3; size++) {
        std::vector<flambeau_tensor> inputs(count), results(outputs + 1);
        Memory memory;
        bool fits = true;
        for (size_t i = 0; i < count && fits; i++)
            fits = !flambeau_input_info(program, i, &info) && make(info, size, memory, inputs[i]);
        if (!fits)
            continue;
        status = flambeau_run(session, inputs.data(), count, results.data(), outputs);
        if (!status && size == 2)
            misuse(session, inputs, outputs);
    }
    flambeau_session_free(session);
    return status;
}

bool read_all(void *to, size_t bytes) { return fread(to, 1, bytes, stdin) == bytes; }

}  // namespace

int main() {
    flambeau_set_allocator(take, give, nullptr);
    flambeau_set_threads(1);
    for (uint32_t length; read_all(&length, sizeof length);) {
        std::vector<char> file(length);
        if (!read_all(file.data(), length))
            return 1;
        alarm(SECONDS);
        flambeau_program *program = nullptr;
        int status = flambeau_load_memory(file.data(), length, &program);
        const bool is_loaded = !status;
        if (is_loaded)
            status = run(program);
        flambeau_program_free(program);
        printf("%s %s\n", is_loaded ? "ran" : "refused", flambeau_status_name(status));
        fflush(stdout);
    }
}
