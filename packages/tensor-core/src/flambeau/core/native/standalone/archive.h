/* The files of a saved program: a zip of three stored entries, and tensors by name. */
#pragma once
#include "standalone/json.h"
#include <map>

/* Bytes of a file: mapped, and unmapped at the end; or given, which somebody else keeps. */
class Bytes {
  public:
    Bytes() {}
    ~Bytes();
    Bytes(const Bytes &) = delete;
    void map(const char *path);                     /* throws */
    void show(const void *data, size_t size);
    std::string_view all() const { return all_; }
    /* A part that is seldom read again: where it is mapped, its pages are the file's once more. */
    void forget(const void *at, size_t size) const;
    /* A part of which a run reads a little here and there. */
    void scatter(const void *at, size_t size) const;

  private:
    void advise(const void *at, size_t size, int advice) const;
    std::string_view all_;
    void *mapped_ = nullptr;
};

struct Archive {
    std::string_view version, graph, weights;
};
Archive read_archive(std::string_view bytes);       /* throws */

struct Stored {                                     /* a tensor of weights.safetensors */
    int dtype;
    std::vector<int64_t> shape;
    std::string_view bytes;
};
std::map<std::string, Stored> read_weights(std::string_view bytes);     /* throws */

/* The code of a dtype by its name; -1 for other names. */
int dtype_code(std::string_view name);
