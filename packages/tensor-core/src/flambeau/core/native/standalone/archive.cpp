#include "standalone/archive.h"
#include "dispatch/core.h"
#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

Bytes::~Bytes() {
    if (mapped_)
        munmap(mapped_, all_.size());
}

void Bytes::map(const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file < 0 || fstat(file, &about) < 0 || !S_ISREG(about.st_mode)) {
        if (file >= 0)
            close(file);
        throw Failure(FLAMBEAU_NO_FILE, std::string(path) + ": no such file, or it cannot be read");
    }
    const size_t size = (size_t)about.st_size;
    void *start = size ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
    close(file);
    if (start == MAP_FAILED)
        throw Failure(FLAMBEAU_NO_FILE, std::string(path) + ": cannot be mapped into memory");
    mapped_ = start;
    all_ = std::string_view((const char *)start, size);
}

void Bytes::show(const void *data, size_t size) {
    all_ = std::string_view((const char *)data, size);
}

void Bytes::advise(const void *at, size_t size, int advice) const {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)at;
    const uintptr_t first = (start + page - 1) / page * page, end = (start + size) / page * page;
    const uintptr_t mapped = (uintptr_t)mapped_;
    if (mapped_ && start >= mapped && start + size <= mapped + all_.size() && first < end)
        madvise((void *)first, end - first, advice);
}

/* Where the page cache holds huge pages, a read of anything beside would bring all back. */
void Bytes::forget(const void *at, size_t size) const {
    advise(at, size, MADV_NOHUGEPAGE);
    advise(at, size, MADV_DONTNEED);
}

void Bytes::scatter(const void *at, size_t size) const { advise(at, size, MADV_NOHUGEPAGE); }

int dtype_code(std::string_view name) {
    for (int code = 0; code < FL_DTYPE_COUNT; code++)
        if (name == fl_dtype_name(code))
            return code;
    return -1;
}

namespace {

uint64_t little(std::string_view bytes, size_t at, int count) {
    uint64_t number = 0;
    for (int i = count - 1; i >= 0; i--)
        number = number << 8 | (unsigned char)bytes[at + (size_t)i];
    return number;
}

[[noreturn]] void not_a_zip() {
    bad_program("not a program: it is no zip of version.json, graph.json and weights.safetensors");
}

/* A part of the file, or an error where it does not lie in it. */
std::string_view part(std::string_view bytes, uint64_t at, uint64_t size) {
    if (at > bytes.size() || size > bytes.size() - at)
        bad_program("the file is cut off");
    return bytes.substr(at, size);
}

/* Where the zip's directory ends: the record that stands last, before a comment. */
size_t find_end(std::string_view bytes) {
    const size_t least = 22, most = std::min(bytes.size(), least + 0xFFFF);
    for (size_t back = least; back <= most; back++)
        if (bytes.substr(bytes.size() - back, 4) == "PK\5\6")
            return bytes.size() - back;
    not_a_zip();
}

/* Sizes and offset of an entry of more than 4 GB stand in its extra field. */
void read_wide(std::string_view extra, uint64_t *const *numbers, int count) {
    for (size_t at = 0; at + 4 <= extra.size();) {
        const size_t kind = little(extra, at, 2), size = little(extra, at + 2, 2);
        std::string_view field = part(extra, at + 4, size);
        size_t next = 0;
        for (int i = 0; kind == 1 && i < count; i++)
            if (*numbers[i] == 0xFFFFFFFF && next + 8 <= field.size()) {
                *numbers[i] = little(field, next, 8);
                next += 8;
            }
        at += 4 + size;
    }
}

struct Entry {
    std::string_view name, content;
    size_t length;                          /* of its record in the directory */
};

Entry read_entry(std::string_view bytes, uint64_t at) {
    std::string_view head = part(bytes, at, 46);
    if (head.substr(0, 4) != "PK\1\2")
        not_a_zip();
    uint64_t packed = little(head, 20, 4), size = little(head, 24, 4), start = little(head, 42, 4);
    const uint64_t name = little(head, 28, 2), extra = little(head, 30, 2),
                   comment = little(head, 32, 2);
    uint64_t *wide[] = {&size, &packed, &start};
    read_wide(part(bytes, at + 46 + name, extra), wide, 3);
    if (little(head, 10, 2) || little(head, 8, 2) & 1 || packed != size)
        bad_program("entries of a program must be stored, not compressed");
    std::string_view local = part(bytes, start, 30);
    if (local.substr(0, 4) != "PK\3\4")
        not_a_zip();
    const uint64_t skip = 30 + little(local, 26, 2) + little(local, 28, 2);
    return {part(bytes, at + 46, name), part(part(bytes, start, bytes.size() - start), skip, size),
            static_cast<size_t>(46 + name + extra + comment)};
}

}  // namespace

Archive read_archive(std::string_view bytes) {
    if (bytes.size() < 22)
        not_a_zip();
    const size_t end = find_end(bytes);
    uint64_t count = little(bytes, end + 10, 2), at = little(bytes, end + 16, 4);
    if (at == 0xFFFFFFFF && end >= 20 && bytes.substr(end - 20, 4) == "PK\6\7") {
        std::string_view wide = part(bytes, little(bytes, end - 12, 8), 56);
        count = little(wide, 32, 8);
        at = little(wide, 48, 8);
    }
    if (count != 3)
        not_a_zip();
    Archive found;
    for (uint64_t i = 0; i < count; i++) {
        Entry entry = read_entry(bytes, at);
        at += entry.length;
        (entry.name == "version.json"  ? found.version
         : entry.name == "graph.json"  ? found.graph
         : entry.name == "weights.safetensors" ? found.weights
                                               : (not_a_zip(), found.weights)) = entry.content;
    }
    if (!found.version.data() || !found.graph.data() || !found.weights.data())
        not_a_zip();
    return found;
}

/* ---- weights.safetensors ------------------------------------------------------------------- */

namespace {

const char *const DTYPES[][2] = {
    {"F64", "float64"}, {"F32", "float32"}, {"F16", "float16"}, {"BF16", "bfloat16"},
    {"I64", "int64"}, {"I32", "int32"}, {"I16", "int16"}, {"I8", "int8"}, {"U8", "uint8"},
    {"U16", "uint16"}, {"U32", "uint32"}, {"U64", "uint64"}, {"BOOL", "bool"},
    {"C64", "complex64"}, {"C128", "complex128"}, {"C32", "complex32"},
    {"F8_E4M3", "float8_e4m3fn"}, {"F8_E5M2", "float8_e5m2"}, {"F8_E4M3FNUZ", "float8_e4m3fnuz"},
    {"F8_E5M2FNUZ", "float8_e5m2fnuz"}, {"F8_E8M0", "float8_e8m0fnu"}};

int stored_dtype(const std::string &name) {
    for (const char *const *pair : DTYPES)
        if (name == pair[0])
            return dtype_code(pair[1]);
    bad_program("weights.safetensors holds a dtype that is not known: " + name.substr(0, 40));
}

Stored read_tensor(const Json &entry, std::string_view room) {
    Stored made;
    made.dtype = stored_dtype(entry.at("dtype").string());
    for (const Json &size : entry.at("shape").list())
        made.shape.push_back(size.number());
    const std::vector<Json> &ends = entry.at("data_offsets").list();
    int64_t count;
    bool fits = ends.size() == 2 && made.shape.size() <= FL_MAX_DIMS &&
                std::all_of(made.shape.begin(), made.shape.end(),
                            [](int64_t size) { return size >= 0; }) &&
                fl_count_elements((int)made.shape.size(), made.shape.data(), &count);
    if (!fits)
        bad_program("weights.safetensors: an entry is damaged");
    const int64_t start = ends[0].number(), end = ends[1].number();
    int64_t bytes;
    if (start < 0 || end < start ||
        __builtin_mul_overflow(count, fl_itemsize(made.dtype), &bytes) || bytes != end - start)
        bad_program("weights.safetensors: the bytes of a tensor are not those of its shape");
    made.bytes = part(room, (uint64_t)start, (uint64_t)bytes);
    return made;
}

}  // namespace

std::map<std::string, Stored> read_weights(std::string_view bytes) {
    if (bytes.size() < 8)
        bad_program("weights.safetensors is cut off");
    const uint64_t size = little(bytes, 0, 8);
    Json header = parse_json(part(bytes, 8, size));
    std::string_view room = bytes.substr(8 + size);
    if (!header.is(Json::OBJECT))
        bad_program("weights.safetensors has no header");
    std::map<std::string, Stored> made;
    for (size_t i = 0; i < header.keys.size(); i++)
        if (header.keys[i] != "__metadata__")
            made.emplace(header.keys[i], read_tensor(header.items[i], room));
    return made;
}
