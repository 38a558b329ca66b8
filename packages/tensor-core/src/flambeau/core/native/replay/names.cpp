/* Looking whether names of modules have changed: one comparison a module, as a rule. */
#include "replay/names.h"
#include "replay/guards.h"

namespace {

struct Names {
    PyObject *dict, *keys, *values;     /* references that are kept forever */
    uint64_t version;
};

std::vector<Names> watched;
uint64_t generation = 1;

PyObject *as_tuple(PyObject *list) {
    PyObject *tuple = list ? PyList_AsTuple(list) : nullptr;
    Py_XDECREF(list);
    return tuple;
}

int note(Names &n) {
    PyObject *keys = as_tuple(PyDict_Keys(n.dict)), *values = as_tuple(PyDict_Values(n.dict));
    if (!keys || !values) {
        Py_XDECREF(keys);
        Py_XDECREF(values);
        return -1;
    }
    n.keys = keys;
    n.values = values;
    n.version = fl_dict_version(n.dict);
    return 0;
}

/* Whether all that is new are modules below, which are there once somebody has imported them. */
bool only_got_modules(const Names &n) {
    PyObject *key, *value;
    Py_ssize_t at = 0, known = PyTuple_GET_SIZE(n.keys), i = 0;
    for (; PyDict_Next(n.dict, &at, &key, &value); i++)
        if (i < known ? key != PyTuple_GET_ITEM(n.keys, i) || value != PyTuple_GET_ITEM(n.values, i)
                      : !PyModule_CheckExact(value))
            return false;
    return i >= known;
}

}  // namespace

uint64_t fl_dict_version(const PyObject *dict) {
#if PY_VERSION_HEX < 0x030E0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return ((const PyDictObject *)dict)->ma_version_tag;
#pragma GCC diagnostic pop
#else
    (void)dict;
    return 0;
#endif
}

int fl_watch_names(PyObject *dict) {
    for (const Names &n : watched)
        if (n.dict == dict)
            return 0;
    Names n{dict, nullptr, nullptr, 0};
    if (note(n) < 0)
        return -1;
    Py_INCREF(dict);
    watched.push_back(n);
    return 0;
}

uint64_t fl_names_generation(void) {
    for (size_t i = 0; i < watched.size(); i++) {
        Names &n = watched[i];
        uint64_t version = fl_dict_version(n.dict);
        if (version && version == n.version)
            continue;
        if (fl_same_dict(n.dict, n.keys, n.values)) {
            n.version = version;
            continue;
        }
        generation += !only_got_modules(n);
        const Names before = n;
        if (note(n) < 0) {
            PyErr_Clear();              /* found again next time */
            continue;
        }
        Py_DECREF(before.keys);         /* which may run Python, which may have others watched */
        Py_DECREF(before.values);
    }
    return generation;
}
