/* Loops over the elements of registers. A line: opcode, number of the target, of up to five
 * operands. */

#ifndef FL_BC_LOOP
#define FL_BC_LOOP(N) fl_bc_loop##N
#endif

/* One loop per opcode. Where the formula has a rare case, elements in it are corrected by a second
 * pass, which reads the operands again: such an opcode never writes over an operand. */
#define FL_BC_BODY(N, CALL)                                                                      \
    if constexpr (!fl_bc_##N##_has_rare) {                                                       \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) d[i] = fl_bc_##N CALL;              \
    } else {                                                                                     \
        int32_t rare = 0;                                                                        \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                   \
            d[i] = fl_bc_##N CALL;                                                               \
            rare |= (int32_t)fl_bc_##N##_rare CALL;                                              \
        }                                                                                        \
        for (int64_t i = 0; rare && i < n; i++)                                                  \
            if (fl_bc_##N##_rare CALL) d[i] = fl_bc_##N##_slow CALL;                             \
    }
#define FL_BC_HEAD(N, R)                                                                         \
    void FL_BC_LOOP(N)(const uint16_t *line, void *const *r, int64_t n) {                        \
        R *d = (R *)r[line[1]];
#define FL_BC_OPERAND(T, NAME, I) const T *NAME = (const T *)r[line[2 + I]];
#define FL_BC_LOOP1(N, R, A)                                                                     \
    FL_BC_HEAD(N, R)                                                                             \
    FL_BC_OPERAND(A, a, 0)                                                                       \
    FL_BC_BODY(N, (a[i]))                                                                        \
    }
#define FL_BC_LOOP2(N, R, A, B)                                                                  \
    FL_BC_HEAD(N, R)                                                                             \
    FL_BC_OPERAND(A, a, 0)                                                                       \
    FL_BC_OPERAND(B, b, 1)                                                                       \
    FL_BC_BODY(N, (a[i], b[i]))                                                                  \
    }
#define FL_BC_LOOP3(N, R, A, B, C)                                                               \
    FL_BC_HEAD(N, R)                                                                             \
    FL_BC_OPERAND(A, a, 0)                                                                       \
    FL_BC_OPERAND(B, b, 1)                                                                       \
    FL_BC_OPERAND(C, c, 2)                                                                       \
    FL_BC_BODY(N, (a[i], b[i], c[i]))                                                            \
    }
#define FL_BC_LOOP4(N, R, A, B, C, D)                                                            \
    FL_BC_HEAD(N, R)                                                                             \
    FL_BC_OPERAND(A, a, 0)                                                                       \
    FL_BC_OPERAND(B, b, 1)                                                                       \
    FL_BC_OPERAND(C, c, 2)                                                                       \
    FL_BC_OPERAND(D, e, 3)                                                                       \
    FL_BC_BODY(N, (a[i], b[i], c[i], e[i]))                                                      \
    }
#define FL_BC_LOOP5(N, R, A, B, C, D, E)                                                         \
    FL_BC_HEAD(N, R)                                                                             \
    FL_BC_OPERAND(A, a, 0)                                                                       \
    FL_BC_OPERAND(B, b, 1)                                                                       \
    FL_BC_OPERAND(C, c, 2)                                                                       \
    FL_BC_OPERAND(D, e, 3)                                                                       \
    FL_BC_OPERAND(E, f, 4)                                                                       \
    FL_BC_BODY(N, (a[i], b[i], c[i], e[i], f[i]))                                                \
    }
