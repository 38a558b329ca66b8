/* flambeau-run: a saved program on NumPy files, from the command line. */
#include "flambeau/runtime.h"
#include <chrono>
#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <vector>

namespace {

const char USAGE[] =
    "usage: flambeau-run MODEL.program [--input NAME=FILE.npy]... [--output NAME=FILE.npy]...\n"
    "                    [--bench [SECONDS]] [--threads N] [--seed N] [--blas LIBRARY]\n"
    "Without inputs and outputs: say what the program takes and gives. NAME= may be left out\n"
    "where there is one. Inputs that are not given are zeros, with sizes that vary of 1.\n";

[[noreturn]] void stop(const std::string &why) {
    fprintf(stderr, "flambeau-run: %s\n", why.c_str());
    exit(1);
}

void check(int status) {
    if (status)
        stop(std::string(flambeau_status_name(status)) + ": " + flambeau_error_text());
}

/* ---- NumPy's files ------------------------------------------------------------------------- */

const struct {
    const char *code;
    int dtype;
} CODES[] = {{"|b1", 0}, {"|u1", 1}, {"|i1", 2}, {"<i2", 3}, {"<i4", 4}, {"<i8", 5}, {"<u2", 6},
             {"<u4", 7}, {"<u8", 8}, {"<f2", 9}, {"<f4", 11}, {"<f8", 12}, {"<c8", 13},
             {"<c16", 14}};

struct Array {
    flambeau_tensor tensor = {};
    std::vector<char> bytes;
};

/* What stands behind a key of the header, up to a character that ends it. */
std::string entry(const std::string &header, const char *key, char begin, char end) {
    size_t at = header.find(key);
    at = at == std::string::npos ? at : header.find(begin, at + strlen(key));
    size_t stop_at = at == std::string::npos ? at : header.find(end, at + 1);
    return stop_at == std::string::npos ? "" : header.substr(at + 1, stop_at - at - 1);
}

Array read_array(const std::string &path) {
    FILE *file = fopen(path.c_str(), "rb");
    if (!file)
        stop(path + ": no such file");
    std::string all;
    char part[65536];
    for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
        all.append(part, n);
    fclose(file);
    if (all.size() < 12 || all.compare(0, 6, "\x93NUMPY"))
        stop(path + ": not a file of numpy.save");
    const size_t wide = all[6] > 1 ? 4 : 2;
    size_t length = 0;
    for (size_t i = wide; i-- > 0;)
        length = length << 8 | (unsigned char)all[8 + i];
    if (length > all.size() - 8 - wide)
        stop(path + ": the file is cut off");
    const std::string header = all.substr(8 + wide, length);
    const std::string code = entry(header, "'descr':", '\'', '\'');
    Array array;
    array.tensor.dtype = -1;
    for (const auto &each : CODES)
        if (code == each.code)
            array.tensor.dtype = each.dtype;
    if (array.tensor.dtype < 0 || header.find("'fortran_order': False") == std::string::npos)
        stop(path + ": an array of dtype " + code + ", or not in C order");
    const std::string shape = entry(header, "'shape':", '(', ')');
    for (const char *at = shape.c_str(); *at;) {
        char *end;
        const long long size = strtoll(at, &end, 10);
        if (end == at || size < 0 || array.tensor.ndim == FLAMBEAU_MAX_DIMS)
            stop(path + ": no shape");
        array.tensor.shape[array.tensor.ndim++] = size;
        for (at = end; *at == ',' || *at == ' ';)
            at++;
    }
    array.bytes.assign(all.begin() + (long)(8 + wide + length), all.end());
    return array;
}

void write_array(const std::string &path, const flambeau_tensor &tensor) {
    const char *code = nullptr;
    for (const auto &each : CODES)
        if (tensor.dtype == each.dtype)
            code = each.code;
    if (!code)
        stop(path + ": NumPy has no dtype " + flambeau_dtype_name(tensor.dtype));
    std::string header = "{'descr': '";
    header.append(code).append("', 'fortran_order': False, 'shape': (");
    size_t count = 1;
    for (int i = 0; i < tensor.ndim; i++) {
        header += std::to_string(tensor.shape[i]);
        header += i + 1 < tensor.ndim || tensor.ndim == 1 ? ", " : "";
        count *= (size_t)tensor.shape[i];
    }
    header += "), }";
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    FILE *file = fopen(path.c_str(), "wb");
    const unsigned char head[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)header.size(),
                                  (unsigned char)(header.size() >> 8)};
    const size_t bytes = count * flambeau_dtype_size(tensor.dtype);
    if (!file || fwrite(head, 1, sizeof head, file) != sizeof head ||
        fwrite(header.data(), 1, header.size(), file) != header.size() ||
        (bytes && fwrite(tensor.data, 1, bytes, file) != bytes) || fclose(file))
        stop(path + ": cannot be written");
}

/* ---- the command --------------------------------------------------------------------------- */

struct Options {
    std::string model, blas;
    std::vector<std::string> inputs, outputs;
    double bench = 0;
    int threads = 0;
    long long seed = -1;
};

Options read_options(int count, char **words) {
    Options options;
    for (int i = 1; i < count; i++) {
        const std::string word = words[i];
        auto next = [&] {
            if (i + 1 >= count)
                stop(word + " needs a value\n" + USAGE);
            return std::string(words[++i]);
        };
        if (word == "--input")
            options.inputs.push_back(next());
        else if (word == "--output")
            options.outputs.push_back(next());
        else if (word == "--threads")
            options.threads = atoi(next().c_str());
        else if (word == "--seed")
            options.seed = atoll(next().c_str());
        else if (word == "--blas")
            options.blas = next();
        else if (word == "--bench")
            options.bench = i + 1 < count && atof(words[i + 1]) > 0 ? atof(words[++i]) : 1;
        else if (word[0] == '-' || !options.model.empty())
            stop(word + "?\n" + USAGE);
        else
            options.model = word;
    }
    if (options.model.empty())
        stop(std::string("which program?\n") + USAGE);
    return options;
}

typedef int (*InfoOf)(const flambeau_program *, size_t, flambeau_info *);

std::vector<flambeau_info> all_of(const flambeau_program *program, size_t count, InfoOf info_of) {
    std::vector<flambeau_info> all(count);
    for (size_t i = 0; i < count; i++)
        check(info_of(program, i, &all[i]));
    return all;
}

void describe(const char *what, const std::vector<flambeau_info> &all) {
    for (const flambeau_info &info : all) {
        printf("%s %s: %s[", what, info.name, flambeau_dtype_name(info.dtype));
        for (int i = 0; i < info.ndim; i++)
            printf("%s%s", i ? ", " : "",
                   info.symbols[i] ? info.symbols[i] : std::to_string(info.shape[i]).c_str());
        printf("]%s\n", info.is_written ? ", written to" : "");
    }
}

/* "NAME=FILE", or a file for the only one. */
size_t choose(const std::vector<flambeau_info> &all, std::string &word) {
    for (size_t i = 0; i < all.size(); i++) {
        const std::string name = std::string(all[i].name) + "=";
        if (word.compare(0, name.size(), name) == 0) {
            word = word.substr(name.size());
            return i;
        }
    }
    if (all.size() == 1 && word.find('=') == std::string::npos)
        return 0;
    stop(word + ": there is no input or output of this name");
}

Array zeros(const flambeau_info &info) {
    Array array;
    size_t bytes = flambeau_dtype_size(info.dtype);
    array.tensor.dtype = info.dtype;
    array.tensor.ndim = info.ndim;
    for (int i = 0; i < info.ndim; i++) {
        array.tensor.shape[i] = info.shape[i] < 0 ? 1 : info.shape[i];
        bytes *= (size_t)array.tensor.shape[i];
    }
    array.bytes.assign(bytes, 0);
    return array;
}

void bench(flambeau_session *session, const std::vector<flambeau_tensor> &inputs,
           std::vector<flambeau_tensor> &outputs, double seconds) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> times;
    for (double total = 0; total < seconds || times.size() < 3;) {
        for (flambeau_tensor &out : outputs)
            out.data = nullptr;
        const Clock::time_point start = Clock::now();
        check(flambeau_run(session, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
        times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
        total += times.back();
    }
    std::sort(times.begin(), times.end());
    printf("%zu runs, %d threads: least %.1f us, median %.1f us\n", times.size(),
           flambeau_get_threads(), times[0] * 1e6, times[times.size() / 2] * 1e6);
}

}  // namespace

int main(int count, char **words) {
    Options options = read_options(count, words);
    flambeau_program *program;
    flambeau_session *session;
    if (options.threads)
        check(flambeau_set_threads(options.threads));
    if (!options.blas.empty())
        check(flambeau_use_blas(options.blas.c_str()));
    check(flambeau_load(options.model.c_str(), &program));
    auto takes = all_of(program, flambeau_input_count(program), flambeau_input_info);
    auto gives = all_of(program, flambeau_output_count(program), flambeau_output_info);
    if (options.inputs.empty() && options.outputs.empty() && !options.bench) {
        describe("input", takes);
        describe("output", gives);
        flambeau_program_free(program);
        return 0;
    }
    std::vector<Array> arrays;
    for (const flambeau_info &info : takes)
        arrays.push_back(zeros(info));
    for (std::string &word : options.inputs) {
        const size_t i = choose(takes, word);
        arrays[i] = read_array(word);
    }
    std::vector<flambeau_tensor> inputs, outputs(gives.size());
    for (Array &array : arrays) {
        array.tensor.data = array.bytes.data();
        array.tensor.bytes = array.bytes.size();
        inputs.push_back(array.tensor);
    }
    check(flambeau_session_new(program, &session));
    if (options.seed >= 0)
        check(flambeau_session_seed(session, (uint64_t)options.seed));
    check(flambeau_run(session, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    for (std::string &word : options.outputs) {
        const size_t i = choose(gives, word);
        write_array(word, outputs[i]);
    }
    if (options.bench)
        bench(session, inputs, outputs, options.bench);
    flambeau_session_free(session);
    flambeau_program_free(program);
}
