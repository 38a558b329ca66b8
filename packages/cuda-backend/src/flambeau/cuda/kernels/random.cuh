/* Random numbers: the bits that the core draws on the CPU. Thread b draws block b of the stream;
 * element i depends on the seed, the first block and i alone. */
struct fl_drawing {
    fl_call<3> call;            /* the result, and what depends on its elements */
    uint64_t seed, block;
    int64_t low;                /* of integers; columns of a row of weights */
    uint64_t range;             /* of integers; what a word is compared with; draws of a row */
    double a, b;
    int32_t bits, unused;       /* of a uniform number */
    const uint64_t *anew;       /* of a graph: the seed, and how many blocks go before; or null */
};

FL_INLINE uint64_t fl_seed_of(const fl_drawing &c) { return c.anew ? c.anew[0] : c.seed; }
FL_INLINE uint64_t fl_first_of(const fl_drawing &c) {
    return c.anew ? c.anew[1] + c.block : c.block;
}

struct fl_words {
    uint32_t w[4];
};

FL_INLINE fl_words fl_block_of(const fl_drawing &c, int64_t number) {
    const uint64_t at = fl_first_of(c) + (uint64_t)number;
    fl_words words = {{(uint32_t)at, (uint32_t)(at >> 32), 0, 0}};
    philox(words.w, fl_seed_of(c));
    return words;
}

FL_INLINE uint64_t fl_join(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

/* PER values of each block: make(words, values). */
template <class T, int PER, class Make>
FL_INLINE void fl_draw_blocks(const fl_drawing &c, const Make &make) {
    const int64_t blocks = (c.call.numel + PER - 1) / PER;
    for (int64_t b = FL_THREAD; b < blocks; b += FL_THREADS) {
        T values[PER];
        make(fl_block_of(c, b).w, values);
        for (int l = 0; l < PER && b * PER + l < c.call.numel; l++)
            fl_put<T>(c.call, 0, b * PER + l, values[l]);
    }
}

/* ---- uniform --------------------------------------------------------------------------------- */
template <class T> FL_INLINE T fl_between(T u, T low, T high) {
    const T x = low + u * (high - low);
    return x >= high ? low : x;
}

FL_INLINE float fl_unit(uint32_t word, int bits) {
    const uint32_t keep = 0xffffffffu << (32 - bits);
    return (float)(int32_t)((word & keep) >> 8) * 0x1p-24f;
}

FL_INLINE double fl_unit(uint32_t low, uint32_t high, int) {
    return (double)(int64_t)(fl_join(low, high) >> 11) * 0x1p-53;
}

FL_INLINE void fl_draw_uniform(const fl_drawing &c, float) {
    fl_draw_blocks<float, 4>(c, [&](const uint32_t *w, float *values) {
        for (int l = 0; l < 4; l++)
            values[l] = fl_between(fl_unit(w[l], c.bits), (float)c.a, (float)c.b);
    });
}

FL_INLINE void fl_draw_uniform(const fl_drawing &c, double) {
    fl_draw_blocks<double, 2>(c, [&](const uint32_t *w, double *values) {
        for (int l = 0; l < 2; l++)
            values[l] = fl_between(fl_unit(w[2 * l], w[2 * l + 1], 0), c.a, c.b);
    });
}

/* ---- normal ---------------------------------------------------------------------------------- */
FL_INLINE void fl_draw_normal(const fl_drawing &c, float) {
    fl_draw_blocks<float, 4>(c, [&](const uint32_t *w, float *values) {
        for (int l = 0; l < 4; l += 2) {
            float x, y;
            box_muller(w[l], w[l + 1], &x, &y);
            values[l] = fused(x, (float)c.b, (float)c.a);
            values[l + 1] = fused(y, (float)c.b, (float)c.a);
        }
    });
}

FL_INLINE void fl_draw_normal(const fl_drawing &c, double) {
    fl_draw_blocks<double, 2>(c, [&](const uint32_t *w, double *values) {
        double x, y;
        box_muller(fl_join(w[0], w[1]), fl_join(w[2], w[3]), &x, &y);
        values[0] = fused(x, c.b, c.a);
        values[1] = fused(y, c.b, c.a);
    });
}

/* ---- integers, ones and zeros ---------------------------------------------------------------- */
template <class T> FL_INLINE void fl_draw_integers(const fl_drawing &c, T) {
    fl_draw_blocks<T, 2>(c, [&](const uint32_t *w, T *values) {
        for (int l = 0; l < 2; l++) {
            const uint64_t bits = fl_join(w[2 * l], w[2 * l + 1]);
            const uint64_t below = c.range ? __umul64hi(bits, c.range) : bits;
            values[l] = (T)(int64_t)((uint64_t)c.low + below);
        }
    });
}

template <class T> FL_INLINE void fl_draw_bernoulli(const fl_drawing &c, T) {
    fl_draw_blocks<T, 4>(c, [&](const uint32_t *w, T *values) {
        for (int l = 0; l < 4; l++)
            values[l] = (T)(w[l] < c.range);
    });
}

/* Ones with the probabilities of the first operand. */
template <class T> FL_INLINE void fl_draw_chances(const fl_drawing &c, T) {
    constexpr int PER = 16 / sizeof(T);
    const int64_t blocks = (c.call.numel + PER - 1) / PER;
    for (int64_t b = FL_THREAD; b < blocks; b += FL_THREADS) {
        const fl_words x = fl_block_of(c, b);
        for (int l = 0; l < PER && b * PER + l < c.call.numel; l++) {
            const double u = PER == 4 ? (double)fl_unit(x.w[l], 24)
                                      : fl_unit(x.w[2 * l % 4], x.w[(2 * l + 1) % 4], 0);
            const double p = fl_get<double>(c.call, 1, b * PER + l);
            fl_put<T>(c.call, 0, b * PER + l, (T)(u < p));
        }
    }
}

/* ---- one element after the other ------------------------------------------------------------- */
/* make(i, draws) for every element, which has blocks of its own. */
template <class T, class Make> FL_INLINE void fl_draw_each(const fl_drawing &c, const Make &make) {
    for (int64_t i = FL_THREAD; i < c.call.numel; i += FL_THREADS) {
        philox_draws draws(fl_seed_of(c), fl_first_of(c) + (uint64_t)i);
        fl_put<T>(c.call, 0, i, (T)make(i, draws));
    }
}

template <class T> FL_INLINE void fl_draw_poisson(const fl_drawing &c, T) {
    fl_draw_each<T>(c, [&](int64_t i, philox_draws &draws) {
        return poisson(fl_get<double>(c.call, 1, i), draws);
    });
}

template <class T> FL_INLINE void fl_draw_binomial(const fl_drawing &c, T) {
    fl_draw_each<T>(c, [&](int64_t i, philox_draws &draws) {
        return binomial(floor(fl_get<double>(c.call, 1, i)), fl_get<double>(c.call, 2, i), draws);
    });
}

/* Gamma numbers, at least `a`. */
FL_INLINE void fl_draw_gamma(const fl_drawing &c, double) {
    fl_draw_each<double>(c, [&](int64_t i, philox_draws &draws) {
        const double y = exp(log_gamma_sample(fl_get<double>(c.call, 1, i), draws));
        return y < c.a ? c.a : y;
    });
}

FL_INLINE void fl_draw_log_gamma(const fl_drawing &c, double) {
    fl_draw_each<double>(c, [&](int64_t i, philox_draws &draws) {
        return log_gamma_sample(fl_get<double>(c.call, 1, i), draws);
    });
}

/* Rows of logarithms to Dirichlet samples between `a` and `b`; the first operand is contiguous. */
FL_INLINE void fl_draw_dirichlet(const fl_drawing &c, double) {
    const int64_t n = c.low;
    for (int64_t r = FL_THREAD; r < c.call.numel / n; r += FL_THREADS) {
        const double *y = (const double *)c.call.args[1].data + r * n;
        double most = -FL_INF_F64, sum = 0;
        for (int64_t i = 0; i < n; i++)
            most = y[i] > most ? y[i] : most;
        for (int64_t i = 0; i < n; i++)
            sum += exp(y[i] - most);
        for (int64_t i = 0; i < n; i++) {
            double x = exp(y[i] - most) / sum;
            x = x < c.a ? c.a : x;
            fl_put<double>(c.call, 0, r * n + i, x > c.b ? c.b : x);
        }
    }
}

/* ---- rows of weights ------------------------------------------------------------------------- */
/* Running sums of each row, one after the other as on the CPU. */
FL_INLINE void fl_draw_running(const fl_drawing &c, double) {
    const int64_t n = c.low;
    for (int64_t r = FL_THREAD; r < c.call.numel / n; r += FL_THREADS) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += fl_get<double>(c.call, 1, r * n + i);
            fl_put<double>(c.call, 0, r * n + i, sum);
        }
    }
}

FL_INLINE double fl_unit_at(const fl_drawing &c, int64_t i) {
    const fl_words x = fl_block_of(c, i / 2);
    return i % 2 ? fl_unit(x.w[2], x.w[3], 0) : fl_unit(x.w[0], x.w[1], 0);
}

/* Draws with replacement: `range` of each row, searched in its running sums. */
FL_INLINE void fl_draw_choices(const fl_drawing &c, int64_t) {
    const int64_t n = c.low;
    for (int64_t i = FL_THREAD; i < c.call.numel; i += FL_THREADS) {
        const double *running = (const double *)c.call.args[1].data + i / (int64_t)c.range * n;
        const double at = fl_unit_at(c, i) * running[n - 1];
        int64_t k = 0;
        for (int64_t end = n; k < end;) {
            const int64_t middle = (k + end) / 2;
            if (at < running[middle])
                end = middle;
            else
                k = middle + 1;
        }
        while (k >= n || (k > 0 && running[k] == running[k - 1]))
            k--;
        fl_put<int64_t>(c.call, 0, i, k);
    }
}

/* Draws without: waiting times at the rates of the weights, which are sorted then. */
FL_INLINE void fl_draw_waiting(const fl_drawing &c, double) {
    for (int64_t i = FL_THREAD; i < c.call.numel; i += FL_THREADS) {
        const double weight = fl_get<double>(c.call, 1, i);
        fl_put<double>(c.call, 0, i,
                       weight > 0 ? -log1p(-fl_unit_at(c, i)) / weight : FL_INF_F64);
    }
}
