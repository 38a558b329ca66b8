/* The elementwise parts of recurrent layers: see recurrent.h. */
#include "recurrent/kernels/recurrent.h"
#include "common/kernels/vtanh.h"

namespace {

/* Some units of one row; beyond the last one, zeros are read and nothing is written. */
template <class T> struct Units {
    typedef Lanes<T> L;
    int64_t count;

    FL_TIGHT L read(const void *row, int64_t at) const {
        const T *p = (const T *)row + at;
        return count == L::COUNT ? L::load(p) : L::load_part(p, count, 0);
    }
    FL_TIGHT void write(void *row, int64_t at, const L &v) const {
        T *p = (T *)row + at;
        if (count == L::COUNT)
            v.store(p);
        else
            v.store_part(p, count);
    }
};

/* body(units, row, first unit) over all rows and units. */
template <class T, class Body>
FL_TIGHT void each(int64_t rows, int64_t units, const Body &body) {
    const int64_t L = Lanes<T>::COUNT;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < units; j += L)
            body(Units<T>{units - j < L ? units - j : L}, i, j);
}

template <class T> FL_TIGHT Lanes<T> one() { return Lanes<T>::fill(1); }

/* The derivatives of the two activations, from their values. */
template <class T> FL_TIGHT Lanes<T> tanh_slope(const Lanes<T> &y) { return one<T>() - y * y; }
template <class T> FL_TIGHT Lanes<T> sigmoid_slope(const Lanes<T> &y) {
    return y * (one<T>() - y);
}

/* x where y > 0, else 0; with y NaN, x. */
template <class T> FL_TIGHT Lanes<T> where_positive(const Lanes<T> &y, Lanes<T> x) {
    for (int i = 0; i < Lanes<T>::PARTS; i++)
        x.r[i] = y.r[i] <= 0 ? typename Lanes<T>::reg{} : x.r[i];
    return x;
}

/* ---- a step -------------------------------------------------------------------------------- */

template <class T> void lstm_step(const fl_recurrent_step *s) {
    typedef Lanes<T> L;
    each<T>(s->rows, s->units, [&](Units<T> u, int64_t row, int64_t j) {
        const int64_t at = row * s->gates_row + j, w = s->width;
        const L i = sigmoid_lanes(u.read(s->gates, at));
        const L f = sigmoid_lanes(u.read(s->gates, at + w));
        const L g = tanh_lanes(u.read(s->gates, at + 2 * w));
        const L o = sigmoid_lanes(u.read(s->gates, at + 3 * w));
        const L c = f * u.read(s->cell, row * s->cell_row + j) + i * g;
        const L h = o * tanh_lanes(c);
        u.write(s->cell, row * s->cell_row + j, c);
        u.write(s->hidden, row * s->hidden_row + j, h);
        if (s->result)
            u.write(s->result, row * s->result_row + j, h);
        if (!s->cells)
            return;
        u.write(s->cells, row * s->cells_row + j, c);
        u.write(s->gates, at, i);
        u.write(s->gates, at + w, f);
        u.write(s->gates, at + 2 * w, g);
        u.write(s->gates, at + 3 * w, o);
    });
}

template <class T> void lstm_output(const fl_recurrent_step *s) {
    each<T>(s->rows, s->units, [&](Units<T> u, int64_t row, int64_t j) {
        const Lanes<T> o = u.read(s->gates, row * s->gates_row + j + 3 * s->width);
        const Lanes<T> c = u.read(s->cells, row * s->cells_row + j);
        u.write(s->hidden, row * s->hidden_row + j, o * tanh_lanes(c));
    });
}

template <class T> void gru_step(const fl_recurrent_step *s) {
    typedef Lanes<T> L;
    each<T>(s->rows, s->units, [&](Units<T> u, int64_t row, int64_t j) {
        const int64_t at = row * s->gates_row + j, from = row * s->product_row + j, w = s->width;
        L hr = u.read(s->product, from), hz = u.read(s->product, from + w);
        L hn = u.read(s->product, from + 2 * w);
        if (s->bias) {
            hr = hr + u.read(s->bias, j);
            hz = hz + u.read(s->bias, j + w);
            hn = hn + u.read(s->bias, j + 2 * w);
        }
        const L r = sigmoid_lanes(u.read(s->gates, at) + hr);
        const L z = sigmoid_lanes(u.read(s->gates, at + w) + hz);
        const L n = tanh_lanes(u.read(s->gates, at + 2 * w) + r * hn);
        const L h = n + z * (u.read(s->hidden, row * s->hidden_row + j) - n);
        u.write(s->gates, at, r);
        u.write(s->gates, at + w, z);
        u.write(s->gates, at + 2 * w, n);
        u.write(s->gates, at + 3 * w, hn);
        u.write(s->hidden, row * s->hidden_row + j, h);
        u.write(s->result, row * s->result_row + j, h);
    });
}

/* The sums lie in the result itself. */
template <class T, bool RELU> void rnn_step(const fl_recurrent_step *s) {
    each<T>(s->rows, s->units, [&](Units<T> u, int64_t row, int64_t j) {
        const Lanes<T> x = u.read(s->result, row * s->result_row + j);
        const Lanes<T> h = RELU ? where_positive(x, x) : tanh_lanes(x);
        u.write(s->result, row * s->result_row + j, h);
        u.write(s->hidden, row * s->hidden_row + j, h);
    });
}

/* ---- a step back --------------------------------------------------------------------------- */

/* The gradient of the hidden state after the step. */
template <class T>
FL_TIGHT Lanes<T> arriving(const fl_recurrent_back *s, Units<T> u, int64_t row, int64_t j) {
    const Lanes<T> dh = u.read(s->hidden, row * s->hidden_row + j);
    return s->grad ? dh + u.read(s->grad, row * s->grad_row + j) : dh;
}

template <class T> void lstm_back(const fl_recurrent_back *s) {
    typedef Lanes<T> L;
    each<T>(s->rows, s->units, [&](Units<T> u, int64_t row, int64_t j) {
        const int64_t at = row * s->gates_row + j, w = s->width, to = row * s->slopes_row + j;
        const L dh = arriving(s, u, row, j);
        const L i = u.read(s->gates, at), f = u.read(s->gates, at + w);
        const L g = u.read(s->gates, at + 2 * w), o = u.read(s->gates, at + 3 * w);
        const L tc = tanh_lanes(u.read(s->cells, row * s->cells_row + j));
        const L before = u.read(s->cells_before, row * s->cells_before_row + j);
        const L dc = u.read(s->cell, row * s->cell_row + j) + dh * o * tanh_slope(tc);
        u.write(s->cell, row * s->cell_row + j, dc * f);
        u.write(s->slopes, to, dc * g * sigmoid_slope(i));
        u.write(s->slopes, to + w, dc * before * sigmoid_slope(f));
        u.write(s->slopes, to + 2 * w, dc * i * tanh_slope(g));
        u.write(s->slopes, to + 3 * w, dh * tc * sigmoid_slope(o));
    });
}

template <class T> void gru_back(const fl_recurrent_back *s) {
    typedef Lanes<T> L;
    each<T>(s->rows, s->units, [&](Units<T> u, int64_t row, int64_t j) {
        const int64_t at = row * s->gates_row + j, w = s->width, to = row * s->slopes_row + j;
        const L dh = arriving(s, u, row, j);
        const L r = u.read(s->gates, at), z = u.read(s->gates, at + w);
        const L n = u.read(s->gates, at + 2 * w), hn = u.read(s->gates, at + 3 * w);
        const L before = u.read(s->hidden_before, row * s->hidden_before_row + j);
        const L dn = dh * (one<T>() - z) * tanh_slope(n);
        u.write(s->slopes, to, dn);
        u.write(s->slopes, to + w, dn * hn * sigmoid_slope(r));
        u.write(s->slopes, to + 2 * w, dh * (before - n) * sigmoid_slope(z));
        u.write(s->slopes, to + 3 * w, dn * r);
        u.write(s->hidden, row * s->hidden_row + j, dh * z);
    });
}

template <class T, bool RELU> void rnn_back(const fl_recurrent_back *s) {
    each<T>(s->rows, s->units, [&](Units<T> u, int64_t row, int64_t j) {
        const Lanes<T> dh = arriving(s, u, row, j);
        const Lanes<T> y = u.read(s->result, row * s->result_row + j);
        u.write(s->slopes, row * s->slopes_row + j,
                RELU ? where_positive(y, dh) : dh * tanh_slope(y));
    });
}

template <class T> constexpr fl_recurrent_dtype table() {
    return {{lstm_step<T>, gru_step<T>, rnn_step<T, false>, rnn_step<T, true>},
            {lstm_back<T>, gru_back<T>, rnn_back<T, false>, rnn_back<T, true>},
            lstm_output<T>};
}

}  // namespace

extern const fl_recurrent_kernels FL_LEVEL(fl_recurrent_kernels) = {table<float>(),
                                                                   table<double>()};
