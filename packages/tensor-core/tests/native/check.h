/* Checks for the native tests: a failed one is printed and makes the program exit with 1. */
#ifndef FLAMBEAU_TESTS_CHECK_H
#define FLAMBEAU_TESTS_CHECK_H
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int check_failures = 0;

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) {                                                      \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            check_failures++;                                                    \
        }                                                                        \
    } while (0)

/* Run `body` in a forked child; true when it returned true there within 20 s. */
template <class Body> static bool in_child(const Body &body) {
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        bool good = body();
        fflush(nullptr);
        _exit(good && !check_failures ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static inline int check_result() {
    if (check_failures)
        fprintf(stderr, "%d checks failed\n", check_failures);
    return check_failures ? 1 : 0;
}
#endif
