/* Numbers that are exact: nodes and initialisers whose results have no rounding, at lengths
   around those of vectors, with gradients that several uses of a node share.

   Built as: float double none sanitized */
#include "node_checks.h"

static edf_real cotangent_of(size_t i) { return (edf_real)((int)(i * 7 % 5) - 2); }

#include "cotangent.h"

/* The sum of cotangent_of(i) y[i]. */
static edf_node *paired(edf_node *y) {
  return edf_compnode_shaped("Cotangent", scalar_shape, cotangent_forward, cotangent_backward,
                             y);
}

/* ---- A row's greatest is found wherever it stands: else exp overflows */

static void greatest_anywhere(void) {
  static edf_real data[50];
  for (int K = 1; K <= 50; K++)
    for (int at_ = 0; at_ < K; at_ += 1 + (K > 20)) {
      begin(1);
      edf_node *s = edf_want_grad(feed(edf_input("s[%d]", K), data, 1));
      edf_node *P = edf_softmax(s), *l = edf_log_softmax(s), *y = edf_input("y");
      static edf_real class_;
      class_ = (edf_real)at_;
      edf_node *loss = edf_softmax_log_loss(s, feed(y, &class_, 1));
      for (int k = 0; k < K; k++) data[k] = k == at_ ? 0 : -5000 - (edf_real)k;
      edf_forward();
      for (int k = 0; k < K; k++) {
        CHECK(at(P, k) == (k == at_), "P[%d] is %g: %d of %d", k, at(P, k), at_, K);
        CHECK(at(l, k) == (k == at_ ? 0 : -5000 - k), "ln P[%d] is %g", k, at(l, k));
      }
      CHECK(at(loss, 0) == 0, "the loss is %g: %d of %d", at(loss, 0), at_, K);
    }
  edf_clear();
}

/* Rows of one entry: each is looked at, the last one too. */
static void rows_of_one(void) {
  static const edf_real odd[3] = { 7, -3, (edf_real)NAN };
  begin(1);
  edf_node *s = feed(edf_input("s[3,1]"), odd, 1), *l = edf_log_softmax(s), *P = edf_softmax(s);
  edf_forward();
  for (int i = 0; i < 2; i++) CHECK(at(l, i) == 0 && at(P, i) == 1, "row %d", i);
  CHECK(at(l, 2) != at(l, 2) && at(P, 2) != at(P, 2), "NaN becomes %g, %g", at(l, 2), at(P, 2));
  edf_clear();
}

/* Sums and means of every length, of whole numbers. */
static void sums_of_all_lengths(void) {
  static edf_real data[70];
  for (int n = 1; n <= 70; n++) {
    begin(1);
    double sum = 0, last = 0;
    for (int i = 0; i < n; i++) data[i] = (edf_real)(1 + i * 5 % 7);
    for (int i = 0; i < n; i++) sum += last = (double)data[i];
    edf_node *x = edf_want_grad(feed(edf_input("x[%d]", n), data, 1));
    edf_node *s = edf_sum(x), *m = edf_mean(x), *both = edf_einsum("y = s + m + m", s, m);
    edf_node *P = edf_softmax_over("x[I]", edf_mul(x, edf_sub(s, s)));
    edf_forward();
    edf_backward(both);
    CHECK(at(s, 0) == sum && (edf_real)sum / (edf_real)n == m->value[0], "%d: %g, %g", n,
          at(s, 0), at(m, 0));
    for (int i = 0; i < n; i++) {
      CLOSE(x->grad[i], 1 + 2.0 / n, 1e-6, 0);
      CHECK(P->value[i] == 1 / (edf_real)n, "P[%d] of %d is %g", i, n, at(P, i));
    }
    CHECK(last == 1 + (n - 1) * 5 % 7, "the last is %g", last);
  }
  edf_clear();
}

/* ---- Maxima of windows at widths around those of vectors, with many ties, and one NaN */

enum { ROWS = 2, WIDEST = 40 };

/* Entry k of the window of y[b,i], as an entry of x: kinds 0 and 1 go over places that lie
   apart and have neighbours, 2 and 3 over neighbours, 3 with windows that overlap. */
static int entry(int kind, int n, int b, int i, int k) {
  if (kind < 2) return (b * 3 + k) * n + i;
  return b * (2 * n + 1) + 2 * i + k;
}

static const char *maximum_of(int kind) {
  static const char *const spec[] = { "y[b,i] = x[b,J,i]", "y[b,i] = x[b,J+1,i] | J<2",
    "y[b,i] = x[b,2*i+J] | J<2", "y[b,i] = x[b,2*i+J] | J<3" };
  return spec[kind];
}

static void maximum_is(edf_node *x, edf_node *y, int kind, int n, int added) {
  static double dx[ROWS * 3 * WIDEST];
  int from = kind == 1, to = kind == 1 || kind == 0 || kind == 3 ? 3 : 2;
  for (size_t i = 0; i < x->size; i++) dx[i] = added;
  for (int b = 0; b < ROWS; b++)
    for (int i = 0; i < n; i++) {
      int best = entry(kind, n, b, i, from), e;
      for (int k = from + 1; k < to; k++) {
        e = entry(kind, n, b, i, k);
        if (x->value[e] > x->value[best] || x->value[e] != x->value[e]) best = e;
      }
      dx[best] += (double)cotangent_of((size_t)(b * n + i));
      double found = at(y, b * n + i), right = at(x, best);
      CHECK(found == right || (found != found && right != right), "kind %d of %d: y[%d,%d] is "
            "%g, not %g", kind, n, b, i, found, right);
    }
  for (size_t i = 0; i < x->size; i++)
    CHECK((double)x->grad[i] == dx[i], "kind %d of %d: x.grad[%zu] is %g, not %g", kind, n, i,
          (double)x->grad[i], dx[i]);
}

static void maxima_of_windows(void) {
  static const int widths[] = { 1, 2, 15, 16, 17, 31, 32, 33, 40 };
  static edf_real data[ROWS * 3 * WIDEST];
  for (int i = 0; i < ROWS * 3 * WIDEST; i++) data[i] = (edf_real)(i * i * 7 % 11 % 4);
  data[5] = (edf_real)NAN;
  for (int i = 0; i < 9 * 4 * 3; i++) {                      /* alone; and before or behind */
    int n = widths[i / 12], kind = i / 3 % 4, way = i % 3;   /* another use of x */
    begin(1);
    edf_node *x = kind < 2 ? edf_input("x[b,3,%d]", n) : edf_input("x[b,%d]", 2 * n + 1);
    edf_want_grad(feed(x, data, ROWS));
    edf_node *first = way == 1 ? edf_sum(x) : NULL, *y = edf_max_over(maximum_of(kind), x);
    edf_node *z = paired(y), *last = way == 2 ? edf_sum(x) : first;
    if (way) z = edf_einsum("l = z + s", z, last);
    edf_forward();
    edf_backward(z);
    maximum_is(x, y, kind, n, way > 0);
  }
  edf_clear();
}

/* ---- Gradients that are shared: the same function of one tensor twice. Both uses are asked
   for alone, and then in one loss: the sum. With edf.accumulate all of it twice. */

static edf_node *leaky(edf_node *x) { return edf_leaky_relu(x, (edf_real)0.25); }
static edf_node *sigmoid(edf_node *x) { return edf_sigmoid(x); }
static edf_node *tanh_(edf_node *x) { return edf_tanh(x); }
static edf_node *relu(edf_node *x) { return edf_relu(x); }
static edf_node *gelu(edf_node *x) { return edf_gelu(x); }
static edf_node *softplus(edf_node *x) { return edf_softplus(x); }
static edf_node *exp_(edf_node *x) { return edf_exp(x); }
static edf_node *square(edf_node *x) { return edf_square(x); }
static edf_node *softmax(edf_node *x) { return edf_softmax(x); }
static edf_node *log_softmax(edf_node *x) { return edf_log_softmax(x); }
static edf_node *over_t(edf_node *x) { return edf_softmax_over("x[b,T,j]", x); }
static edf_node *causal(edf_node *x) { return edf_softmax_over("x[b,t,S] | S<=t", x); }
static edf_node *normalize(edf_node *x) {
  return edf_normalize_over("x[b,t,J]", x, (edf_real)0.5);
}
static edf_node *most(edf_node *x) { return edf_max_over("x[b,T,j]", x); }
static edf_node *reshape(edf_node *x) { return edf_reshape(x, "y[4,6]"); }
static edf_node *joined(edf_node *x) { return edf_concat("y[b,t,J]", x, x); }
static edf_node *quotient(edf_node *x) { return edf_div(x, edf_add(edf_square(x), x)); }
static edf_node *divided(edf_node *x) { return edf_div(x, edf_select("x[I,t,j]", x, 1)); }
static edf_node *bce(edf_node *x) { return edf_bce_loss(x, x); }
static edf_node *slice(edf_node *x) { return edf_slice("x[b,T,j]", x, 1, 2); }
static edf_node *mean_(edf_node *x) { return edf_mean(x); }
static edf_node *sum(edf_node *x) { return edf_sum(x); }
static edf_node *labelled(edf_node *x) {
  static const edf_real classes[6] = { 0, 3, 1, 2, 2, 0 };
  return edf_softmax_log_loss(x, feed(edf_input("y[2,3]"), classes, 1));
}

static edf_node *(*const functions[])(edf_node *) = { leaky, sigmoid, tanh_, relu, gelu,
  softplus, exp_, square, softmax, log_softmax, over_t, causal, normalize, most, reshape,
  joined, quotient, divided, bce, slice, mean_, sum, labelled };

static void gradients_are_shared(void) {
  for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
    double alone[24], weighed[24];
    begin((unsigned)k + 1);
    edf_node *x = parameter("x[2,3,4]", 0.25, 2), *f = functions[k](x);
    edf_node *one = paired(f), *other = edf_mean(functions[k](x));
    edf_node *both = edf_einsum("z = 2 a - 3 b", one, other);
    edf_forward();
    edf_backward(one);
    for (int i = 0; i < 24; i++) alone[i] = (double)x->grad[i];
    edf_backward(other);
    for (int i = 0; i < 24; i++) weighed[i] = 2 * alone[i] - 3 * (double)x->grad[i];
    edf_backward(both);
    for (int i = 0; i < 24; i++) CLOSE(x->grad[i], weighed[i], 1e-5, 1e-5);
    edf.accumulate = 1;
    edf_forward();
    edf_backward(both);
    for (int i = 0; i < 24; i++) CLOSE(x->grad[i], 2 * weighed[i], 2e-5, 1e-5);
    edf.accumulate = 0;
  }
  edf_clear();
}

/* ---- One operand wants no gradient, the other does */

static void one_without_a_gradient(void) {
  static const edf_real data[6] = { 1, 2, 4, 8, 16, 32 };
  for (int k = 0; k < 8; k++) {
    begin(1);
    edf_node *x = feed(edf_input("x[2,3]"), data, 1), *p = edf_parameter("p[2,3]");
    for (int i = 0; i < 6; i++) p->value[i] = (edf_real)(i % 2 ? 2 : 4);
    edf_node *y = k == 0 ? edf_div(x, p) : k == 1 ? edf_div(p, x) : k == 2 ? edf_bce_loss(x, p)
                : k == 3 ? edf_concat("y[i,J]", x, p) : k == 4 ? edf_concat("y[i,J]", p, x)
                : k == 5 ? edf_mul(x, p) : k == 6 ? edf_sub(x, p) : edf_add(p, x);
    edf_node *z = paired(y);
    edf_forward();
    edf_backward(z);
    CHECK(!x->grad, "%s gives x a gradient", y->op);
    for (int i = 0; i < 6; i++) {
      double v = at(x, i), w = at(p, i), c = (double)cotangent_of((size_t)i);
      double row = (double)cotangent_of((size_t)(i / 3 * 6 + i % 3 + (k == 3 ? 3 : 0)));
      double expected = k == 0 ? -c * v / (w * w) : k == 1 ? c / v : k == 2 ? -c * v
                      : k < 5 ? row : k == 5 ? c * v : k == 6 ? -c : c;
      CHECK((double)p->grad[i] == expected, "%s: p.grad[%d] is %g, not %g", y->op, i,
            (double)p->grad[i], expected);
    }
  }
  edf_clear();
}

/* ---- Initialisers: the draws in order, one parameter after another */

static void initialisers_draw_in_order(void) {
  begin(9);
  edf_node *p = edf_parameter("p[7]"), *q = edf_parameter("q[2,3]");
  edf_init_uniform(p, -2, 3);
  edf_init_normal(q, 1, 4);
  CHECK(edf.draws == 7 + 2 * 6 && edf.seed == 9, "%llu draws", edf.draws);
  edf_seed(9);
  CHECK(edf.draws == 0, "a seed begins with draw %llu", edf.draws);
  for (int i = 0; i < 7; i++) {
    edf_real right = edf_uniform(-2, 3);
    CHECK(p->value[i] == right && right >= -2 && right < 3, "p[%d] is %g", i, at(p, i));
  }
  for (int i = 0; i < 6; i++) {
    edf_real right = edf_normal(1, 4);
    CHECK(q->value[i] == right, "q[%d] is %g", i, at(q, i));
  }
  edf_clear();
}

/* Uniform in +-sqrt(3/n): the bound is reached to a hundredth, and never passed. */
static void bound_is(const edf_node *p, double n) {
  double largest = 0, least = 0, bound = sqrt(3 / n);
  for (size_t i = 0; i < p->size; i++) {
    largest = fmax(largest, (double)p->value[i]);
    least = fmin(least, (double)p->value[i]);
  }
  CHECK(largest <= bound * 1.000001 && least >= -bound * 1.000001, "%s: %g to %g of %g",
        p->name, least, largest, bound);
  CHECK(largest > 0.97 * bound && least < -0.97 * bound, "%s: %g to %g of %g", p->name, least,
        largest, bound);
}

static int shape_is(const edf_node *p, const char *name, int rank, int a, int b, int c, int d) {
  int right = !strcmp(p->name, name) && p->rank == rank && p->kind == EDF_PARAMETER;
  return right && p->dim[0] == a && (rank < 2 || p->dim[1] == b) && (rank < 3 || p->dim[2] == c)
      && (rank < 4 || p->dim[3] == d);
}

static void packages(void) {
  begin(3);
  edf_affine_package a = edf_affine_params(30, 40);
  edf_conv_package c = edf_conv_params(2, 3, 8, 10);
  edf_conv_package g = edf_grouped_conv_params(1, 5, 24, 36, 4);
  edf_attention_package t = edf_attention_params(24, 4);
  edf_recurrent_package r = edf_lstm_params(15, 20);
  bound_is(a.w, 30); bound_is(c.w, 9 * 8); bound_is(g.w, 5 * 4 * 6);
  bound_is(t.wq, 24); bound_is(t.wk, 24); bound_is(t.wv, 24); bound_is(t.wo, 24);
  bound_is(r.wx, 35); bound_is(r.wh, 35);
  CHECK(shape_is(a.w, "w1", 2, 30, 40, 0, 0) && shape_is(a.b, "b1", 1, 40, 0, 0, 0), "Affine");
  CHECK(shape_is(c.w, "w2", 4, 3, 3, 8, 10) && shape_is(c.b, "b2", 1, 10, 0, 0, 0), "Conv");
  CHECK(shape_is(g.w, "w3", 4, 5, 4, 6, 9) && shape_is(g.b, "b3", 1, 36, 0, 0, 0), "groups");
  CHECK(shape_is(t.wq, "wq4", 3, 24, 4, 6, 0) && shape_is(t.wk, "wk4", 3, 24, 4, 6, 0)
        && shape_is(t.wv, "wv4", 3, 24, 4, 6, 0) && shape_is(t.wo, "wo4", 3, 4, 6, 24, 0),
        "Attention");
  CHECK(shape_is(r.wx, "wx5", 3, 15, 4, 20, 0) && shape_is(r.wh, "wh5", 3, 20, 4, 20, 0)
        && shape_is(r.b, "b5", 2, 4, 20, 0, 0), "LSTM");
  CHECK(c.stride == 1 && c.dilation == 1 && c.padding == 0 && c.groups == 1 && g.groups == 4
        && g.stride == 1 && g.dilation == 1 && g.padding == 0, "the numbers of a Conv");
  for (int i = 0; i < 80; i++)
    CHECK(at(r.b, i) == (i < 20 ? -1 : 0), "threshold %d is %g", i, at(r.b, i));
  for (int i = 0; i < 36; i++) CHECK(at(g.b, i) == 0, "a threshold is %g", at(g.b, i));
  edf_clear();
}

static void more_packages(void) {
  begin(4);
  edf_layer_norm_package l = edf_layer_norm_params(1);
  edf_batch_norm_package n = edf_batch_norm_params(2);
  edf_residual_package s = edf_residual_params(1, 5, 6);
  edf_highway_package h = edf_highway_params(7);
  CHECK(shape_is(l.gain, "gain1", 1, 1, 0, 0, 0) && shape_is(l.bias, "bias1", 1, 1, 0, 0, 0)
        && shape_is(n.gain, "gain2", 1, 2, 0, 0, 0) && shape_is(n.bias, "bias2", 1, 2, 0, 0, 0)
        && shape_is(n.mean, "mean2", 1, 2, 0, 0, 0)
        && shape_is(n.variance, "variance2", 1, 2, 0, 0, 0), "the norms");
  CHECK(at(l.gain, 0) == 1 && at(l.bias, 0) == 0 && at(n.gain, 1) == 1 && at(n.bias, 1) == 0
        && at(n.mean, 1) == 0 && at(n.variance, 0) == 1 && at(n.variance, 1) == 1, "a start");
  CHECK(n.mean->update == edf_frozen && n.variance->update == edf_frozen && !n.gain->update
        && !n.bias->update, "what is frozen");
  CHECK(shape_is(s.first.w, "w3", 3, 5, 6, 6, 0) && shape_is(s.second.w, "w4", 3, 5, 6, 6, 0)
        && s.first.padding == 2 && s.second.padding == 2, "Residual");
  CHECK(shape_is(h.gate.w, "w5", 2, 7, 7, 0, 0) && shape_is(h.transform.w, "w6", 2, 7, 7, 0, 0),
        "Highway");
  CHECK(edf.n_parameters == 2 + 4 + 4 + 4, "%d parameters", edf.n_parameters);
  edf_clear();
}

/* ---- Recurrences of whole numbers: what a place, a sign, a number, a bound may be */

static edf_node *numbers(const char *decl, int first, int step) {
  edf_node *p = edf_parameter("%s", decl);
  for (size_t i = 0; i < p->size; i++) p->value[i] = (edf_real)(first + step * (int)i);
  return p;
}

static void values_are(edf_node *y, int n, const double *expected) {
  edf_forward();
  CHECK((int)y->size == n, "%s %s: %zu entries, not %d", y->op, y->name, y->size, n);
  for (int i = 0; i < n && i < (int)y->size; i++)
    CHECK(at(y, i) == expected[i], "%s %s: entry %d is %g, not %g", y->op, y->name, i, at(y, i),
          expected[i]);
}

#define ARE(y, ...)                                                             \
  do {                                                                          \
    static const double expected[] = { __VA_ARGS__ };                           \
    values_are(y, (int)(sizeof expected / sizeof *expected), expected);         \
  } while (0)

static void recurrences(void) {
  begin(1);
  edf_node *a = numbers("a[4]", 1, 1), *x = numbers("x[7]", 1, 2), *m = numbers("m[3,2]", 1, 1);
  edf_node *w = numbers("w[2,2]", 0, 1), *one = numbers("one[1]", 3, 0);
  edf_node *c = numbers("c", 2, 0);
  ARE(edf_recurrence("h[t] = -2 a[3-t] + h[t-1] h[t-1] - 0.5 h[t-1] a[t] | t<3", a),
      -8, 66, 4253);
  ARE(edf_recurrence("h[t] = x[2*t+1] - h[t-1] | t<3", x), 3, 4, 7);
  ARE(edf_recurrence("h[t] = 0.5 h[t+1] + a[t]", a), 3.25, 4.5, 5, 4);
  ARE(edf_recurrence("h[t] = a[t] - 3 h[t+1]", a), -86, 29, -9, 4);
  ARE(edf_recurrence("h[t,j] = h[t-1,j] + x[t+j] | t<3, j<2", x), 1, 3, 4, 8, 9, 15);
  ARE(edf_recurrence("h[t,i] = w[i,J] h[t-1,J] + m[t,i]", w, m), 1, 2, 5, 12, 17, 52);
  ARE(edf_recurrence("h[i,t] = h[i,t-1] + m[t,i]", m), 1, 4, 9, 2, 6, 12);
  ARE(edf_recurrence("h[t] = c h[t-1] + one[t]", c, one), 3);
  ARE(edf_recurrence("h[t] = c - h[t-1] + a[t]", c, a), 3, 1, 4, 2);
  ARE(edf_recurrence("h[t] = a[t] h[t-1] + c c a[t] - a[t]", a, c), 3, 12, 45, 192);
  ARE(edf_recurrence("h[t] = h[t-1] x[2*t+2] - x[t] | t<4", x), -1, -12, -161, -7);
  ARE(edf_recurrence("h[t] = h[t-1] + a[t+1] | t<4", a), 2, 5, 9, 9);
  ARE(edf_recurrence("h[t] = h[t-1] a[t+1] + a[t] | t<4", a), 1, 5, 23, 4);
  ARE(edf_recurrence("h[t] = h[t+1] a[t] + a[t] | t<4", a), 33, 32, 15, 4);
  ARE(edf_recurrence("h[t] = h[t+1] a[t-1] + a[t] | t<4", a), 1, 13, 11, 4);
  ARE(edf_recurrence("h[t] = h[t-1] + a[t] | t<2", a), 1, 3);
  ARE(edf_recurrence("h[t] = h[t-2] + a[t]", a), 1, 2, 4, 6);
  ARE(edf_recurrence("h[t] = relu(a[t]) - h[t-1]", a), 1, 1, 2, 2);
  ARE(edf_recurrence("h[t,j] = h[t-1,j-1] + m[t,j]", m), 1, 2, 3, 5, 5, 9);
  ARE(edf_recurrence("h[t,s] = h[t-1,s] + h[t,s-1] + m[t,s]", m), 1, 3, 4, 11, 9, 26);
  edf_clear();
}

static void functions_around(void) {
  begin(1);
  edf_node *a = numbers("a[3]", -2, 3), *m = numbers("m[2,1]", 4, 1);
  ARE(edf_recurrence("h[t] = relu(a[t] + 2 h[t-1])", a), 0, 1, 6);
  ARE(edf_recurrence("h[t,j] = softmax(m[t,j] + h[t-1,j])", m), 1, 1);
  static const char *const name[] = { "tanh", "sigmoid", "gelu", "softplus", "exp" };
  for (int k = 0; k < 5; k++) {
    edf_node *h = edf_recurrence(edf_fmt("h[t] = %s(a[t] - h[t-1])", name[k]), a);
    edf_forward();
    double before = 0;
    for (int t = 0; t < 3; t++) {
      double v = at(a, t) - before, u = sqrt(2 / 3.14159265358979323846);
      before = k == 0 ? tanh(v) : k == 1 ? 1 / (1 + exp(-v)) : k == 3 ? log(1 + exp(v))
             : k == 4 ? exp(v) : v / 2 * (1 + tanh(u * (v + 0.044715 * v * v * v)));
      CLOSE(h->value[t], before, 1e-5, 1e-5);
    }
  }
  edf_clear();
}

/* ---- What moves numbers: each place of an index, first, between and last */

static void joined_and_cut(void) {
  begin(1);
  edf_node *a = numbers("a[1,2]", 1, 1), *b = numbers("b[2,2]", 3, 1);
  edf_node *c = numbers("c[2]", 7, 1);
  edf_node *d = numbers("d[1]", 9, 0), *s = numbers("s", 5, 0), *e = numbers("e[2,2,2]", 1, 1);
  ARE(edf_concat("y[I,j]", a, b, c), 1, 2, 3, 4, 5, 6, 7, 8);
  ARE(edf_concat("y[i,J]", c, b, c), 7, 3, 4, 7, 8, 5, 6, 8);
  ARE(edf_concat("y[J]", s, c, d, s), 5, 7, 8, 9, 5);
  ARE(edf_concat("y[i,J,k]", b, e), 3, 4, 1, 2, 3, 4, 5, 6, 5, 6, 7, 8);
  ARE(edf_concat("y[J]", s), 5);
  ARE(edf_slice("e[I,j,k]", e, 1, 1), 5, 6, 7, 8);
  ARE(edf_slice("e[i,J,k]", e, 0, 1), 1, 2, 5, 6);
  ARE(edf_slice("e[i,j,K]", e, 1, 1), 2, 4, 6, 8);
  ARE(edf_select("e[I,j,k]", e, 0), 1, 2, 3, 4);
  ARE(edf_select("e[i,J,k]", e, 1), 3, 4, 7, 8);
  ARE(edf_select("e[i,j,K]", e, 1), 2, 4, 6, 8);
  ARE(edf_select("c[I]", c, 1), 8);
  edf_clear();
}

static void rows_by_number(void) {
  static const edf_real two[2] = { 1, 0 };
  static edf_real held[4] = { 5, 6, 7, 8 };
  edf_array flat = { 1, { 4 }, 4, held }, rows = { 2, { 2, 2 }, 4, held };
  begin(1);
  edf_node *E = numbers("E[2]", 4, 1), *F = numbers("F[2,1,2]", 1, 1), *k = edf_input("k[b]");
  edf_node *n = edf_input("n"), *one = edf_embed(F, n), *y = edf_embed(F, k), *z = paired(y);
  feed(k, two, 2);
  feed(n, two, 1);
  ARE(edf_embed(E, k), 5, 4);
  ARE(y, 3, 4, 1, 2);
  ARE(one, 3, 4);
  ARE(edf_input_from(flat, k), 6, 5);
  ARE(edf_input_from(flat, n), 6);
  ARE(edf_input_from(rows, n), 7, 8);
  CHECK(one->rank == 2 && y->rank == 3 && y->dim[0] == 2 && y->dim[1] == 1 && y->dim[2] == 2,
        "the shape");
  edf_backward(z);                                           /* cotangents -2, 0, 2, -1 */
  CHECK(F->grad[0] == 2 && F->grad[1] == -1 && F->grad[2] == -2 && F->grad[3] == 0,
        "%g %g %g %g", (double)F->grad[0], (double)F->grad[1], (double)F->grad[2],
        (double)F->grad[3]);
  edf_clear();
}

static void reshapes(void) {
  static const edf_real data[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  begin(1);
  edf_node *x = edf_input("x[b,4]"), *s = numbers("s", 5, 0), *W = numbers("W[4,5]", 1, 1);
  edf_node *four = edf_reshape(x, "y[b,2,2]"), *wide = edf_reshape(x, "z[b,8]");
  edf_node *rows = edf_reshape(W, "v[b,10]"), *one = edf_reshape(s, "o[1,1]");
  feed(x, data, 2);
  edf_forward();
  CHECK(four->dim[0] == 2 && four->dim[1] == 2 && four->rank == 3 && at(four, 7) == 8, "y");
  CHECK(wide->dim[0] == 1 && wide->dim[1] == 8 && at(wide, 7) == 8, "z");
  CHECK(rows->dim[0] == 2 && rows->rank == 2 && at(rows, 19) == 20, "v");
  CHECK(one->rank == 2 && one->size == 1 && at(one, 0) == 5, "o");
  feed(x, data, 3);                                          /* 12 numbers are no rows of 8 */
  TRY(edf_forward());
  CHECK(panicked && strstr(caught, "do not fill the shape, which has 8 a row"), "%s",
        panicked ? caught : "no error");
  edf_clear();
}

/* A constructor gives back what it borrowed: a list of operands as arguments leaves as much as
   a list of ours. */
static void nothing_is_borrowed(void) {
  long grown[2];
  for (int k = 0; k < 2; k++) {
    begin(1);
    edf_node *list[3], *c = edf_parameter("c[2]");
    for (int i = 0; i < 3; i++) list[i] = c;
    edf_concat("y[J]", c);                                   /* the tables have grown */
    grown[k] = memory.live;
    if (k) edf_concat("y[J]", c, c, c);
    else edf_concat_list("y[J]", 3, list);
    grown[k] = memory.live - grown[k];
  }
  CHECK(grown[0] == grown[1], "%ld blocks, and %ld", grown[0], grown[1]);
  edf_clear();
}

/* A diagonal is written with steps, however wide it is. */
static void diagonal_of_maxima(void) {
  begin(1);
  edf_node *x = numbers("x[2,20]", 1, 1), *y = edf_max_over("y[b,b] = x[J,b]", x);
  edf_forward();
  for (int i = 0; i < 400; i++)
    CHECK(at(y, i) == (i % 21 ? 0 : 21 + i / 21), "y[%d] is %g", i, at(y, i));
  edf_clear();
}

/* Indices may begin with A and with Z; a bound may be for the first index. */
static void specs(void) {
  begin(1);
  edf_node *m = numbers("m[2,2]", 1, 1), *P = edf_softmax_over("m[t,S] | S<=t", m);
  ARE(edf_sum_over("m[A,j]", m), 4, 6);
  ARE(edf_sum_over("m[i,Z]", m), 3, 7);
  ARE(edf_max_over("m[Alpha,Zeta]", m), 4);
  ARE(edf_mean_over("m[i,Jot]", m), 1.5, 3.5);
  CHECK(at(P, 0) == 1 && at(P, 1) == 0 && at(P, 2) + at(P, 3) > 0.999, "%g %g", at(P, 0),
        at(P, 1));
  edf_clear();
}

static void pools(void) {
  begin(1);
  edf_node *x = numbers("x[1,4,1]", 1, 1), *c = numbers("c[1,2,2,2,1]", 1, 1);
  edf_node *q = numbers("q[1,3,3,1]", 1, 1);
  ARE(edf_max_pool(x, 2, 1), 2, 3, 4);
  ARE(edf_avg_pool(x, 2, 1), 1.5, 2.5, 3.5);
  ARE(edf_max_pool(x, 1, 3), 1, 4);
  ARE(edf_avg_pool(x, 2, 2), 1.5, 3.5);
  ARE(edf_max_pool(c, 2, 1), 8);
  ARE(edf_avg_pool(c, 2, 5), 4.5);
  ARE(edf_max_pool(q, 2, 1), 5, 6, 8, 9);
  ARE(edf_avg_pool(q, 2, 1), 3, 4, 6, 7);
  edf_clear();
}

/* ---- BatchNorm and Dropout, entry by entry */

/* Columns 1, 3 and -2, 6: means 2 and 2, variances 1 and 16, of a sample 2 and 32. */
static void batch_norm_by_hand(void) {
  static const edf_real rows[4] = { 1, -2, 3, 6 };
  begin(1);
  edf_batch_norm_package N = edf_batch_norm_params(2);
  edf_node *x = feed(edf_input("x[b,2]"), rows, 2), *y = edf_batch_norm(N, x);
  double mean = 0, variance[2] = { 1, 1 };
  for (int t = 1; t <= 3; t++) {
    edf_forward();
    mean += 0.1 * (2 - mean);
    for (int c = 0; c < 2; c++) {
      variance[c] += 0.1 * ((c ? 32 : 2) - variance[c]);
      CLOSE(N.mean->value[c], mean, 1e-6, 0);
      CLOSE(N.variance->value[c], variance[c], 1e-5, 0);
      CLOSE(y->value[c], -(c ? 4 : 1) / sqrt((c ? 16 : 1) + 1e-5), 1e-6, 0);
      CLOSE(y->value[2 + c], (c ? 4 : 1) / sqrt((c ? 16 : 1) + 1e-5), 1e-6, 0);
    }
  }
  edf.training = 0;
  edf_feed(x, rows, 1);                                      /* one row, which is fine here */
  edf_forward();
  for (int c = 0; c < 2; c++)
    CLOSE(y->value[c], ((double)rows[c] - mean) / sqrt(variance[c] + 1e-5), 1e-5, 0);
  edf.training = 1;
  edf_clear();
}

/* Entry i is dropped where the i-th number drawn is below the rate; outside of training none
   is, and nothing is drawn. */
static void dropout_by_draws(void) {
  static edf_real data[60];
  static const double rates[] = { 0, 0.5, 0.75, 0.9375 };
  for (int i = 0; i < 60; i++) data[i] = (edf_real)(i + 1);
  for (int k = 0; k < 4; k++) {
    begin(5);
    edf_node *x = edf_want_grad(feed(edf_input("x[60]"), data, 1));
    edf_node *y = edf_dropout(x, rates[k]), *z = paired(y);
    edf.draws = 3;
    edf_forward();
    edf_backward(z);
    CHECK(edf.draws == (k ? 63u : 3u), "%llu draws", edf.draws);
    edf.draws = 3;
    for (int i = 0; i < 60; i++) {
      double unit = rates[k] > 0 ? (double)edf_uniform(0, 1) : 1;
      double factor = unit >= rates[k] ? 1 / (1 - rates[k]) : 0;
      CHECK(at(y, i) == at(x, i) * factor, "rate %g: y[%d] is %g", rates[k], i, at(y, i));
      CHECK((double)x->grad[i] == (double)cotangent_of((size_t)i) * factor, "x.grad[%d] is %g",
            i, (double)x->grad[i]);
    }
    edf.training = 0;
    edf_forward();
    for (int i = 0; i < 60; i++) CHECK(at(y, i) == at(x, i), "y[%d] is %g", i, at(y, i));
    edf.training = 1;
  }
  edf_clear();
}

/* A rate that is a number drawn, to its 24 bits, keeps the entry; one more drops it. */
static void dropout_at_a_draw(void) {
  for (int i = 0; i < 3; i++) {
    static const edf_real one[1] = { 1 };
    double step = 1 / 16777216.0;
    begin(6);
    edf.draws = (unsigned long long)i;
    double rate = edf_below(16777216) * step;
    edf_node *x = feed(edf_input("x[1]"), one, 1);
    edf_node *kept = edf_dropout(x, rate), *dropped = edf_dropout(x, rate + step);
    edf.draws = (unsigned long long)i;
    edf_forward();
    CHECK(at(kept, 0) > 0, "the rate %.9g drops it", rate);
    edf.draws = (unsigned long long)i - 1;                   /* the second's comes after it */
    edf_forward();
    CHECK(at(dropped, 0) == 0, "the rate %.9g keeps it", rate + step);
  }
  edf_clear();
}

int main(void) {
  RUN(greatest_anywhere);
  RUN(rows_of_one);
  RUN(sums_of_all_lengths);
  RUN(maxima_of_windows);
  RUN(gradients_are_shared);
  RUN(one_without_a_gradient);
  RUN(initialisers_draw_in_order);
  RUN(packages);
  RUN(more_packages);
  RUN(recurrences);
  RUN(functions_around);
  RUN(joined_and_cut);
  RUN(rows_by_number);
  RUN(reshapes);
  RUN(nothing_is_borrowed);
  RUN(diagonal_of_maxima);
  RUN(specs);
  RUN(pools);
  RUN(batch_norm_by_hand);
  RUN(dropout_by_draws);
  RUN(dropout_at_a_draw);
  return harness_report();
}
