/* What the graph promises: shapes before the first feed and as the batch changes, what runs and
   who gets a gradient, what stops, custom nodes, names, eager mode, several graphs; and random
   graphs against forward-mode differentiation.

   Built as: float double none cblas sanitized shim */

#define HARNESS_CATCH
#include "harness.h"
#include "edf.h"
#include <ctype.h>

static unsigned long long state = 20000101;

static int below(int n) {                                    /* 0 .. n-1 */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)n);
}

static int chance(int percent) { return below(100) < percent; }

static int nothing_but_zeros(const edf_node *x) {            /* also where there is none */
  for (size_t i = 0; x->grad && i < x->size; i++) if (x->grad[i] != 0) return 0;
  return 1;
}

/* A node that passes its input on and counts */
static int forwards, backwards;
static void count_forward(edf_node *y) {
  forwards++;
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}
static void count_backward(edf_node *y) {
  backwards++;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}
static edf_node *counted(edf_node *x) {
  forwards = backwards = 0;
  return edf_compnode("Counted", count_forward, count_backward, x);
}

static edf_node *parameter_with(const char *decl, const edf_real *numbers) {
  edf_node *p = edf_parameter("%s", decl);
  memcpy(p->value, numbers, p->size * sizeof *numbers);
  return p;
}

/* The message of a panic has this text in it. */
#define PANICS(text, ...) \
  do { \
    TRY(__VA_ARGS__); \
    CHECK(panicked && strstr(caught, text), "%s: %s", #__VA_ARGS__, panicked ? caught : ""); \
  } while (0)

static void declarations(void) {
  edf_node *x = edf_input("x[b,i=%d]", 784); int line = __LINE__;
  edf_node *w = edf_parameter("W[%d,64]", 784), *s = edf_input("s"), *v = edf_input("v[3]");
  CHECK(x->kind == EDF_INPUT && w->kind == EDF_PARAMETER, "kinds %d %d", x->kind, w->kind);
  CHECK(!strcmp(x->name, "x") && !strcmp(w->name, "W") && !strcmp(s->name, "s"), "%s %s %s",
        x->name, w->name, s->name);
  CHECK(x->line == line && !strcmp(x->file, __FILE__), "%s:%d", x->file, x->line);
  CHECK(x->rank == 2 && x->dim[0] == 0 && x->dim[1] == 784, "%d: %d,%d", x->rank, x->dim[0],
        x->dim[1]);
  CHECK(x->size == 0 && !x->value && !x->grad, "size %zu", x->size);
  CHECK(w->rank == 2 && w->size == 784 * 64, "size %zu", w->size);
  for (size_t i = 0; i < w->size; i++) CHECK(w->value[i] == 0, "W[%zu] starts at %g", i,
                                             (double)w->value[i]);
  CHECK(s->rank == 0 && s->size == 1 && v->size == 3, "sizes %zu %zu", s->size, v->size);
  CHECK(edf.n_inputs == 3 && edf.n_parameters == 1 && edf.inputs[2] == v &&
        edf.parameters[0] == w, "the lists");
  CHECK(edf.training == 1 && edf.eager == 0 && edf.accumulate == 0, "the defaults");
  edf_clear();
  CHECK(edf.n_inputs == 0 && edf.n_parameters == 0 && edf.n_compnodes == 0, "after edf_clear");
}

static void batch_unknown(void) {
  edf_real data[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  edf_node *x = edf_input("x[b,3]"), *w = edf_parameter("W[3,2]");
  edf_node *y = Einsum("y[b,j] = W[I,j] x[b,I]", w, x), *p = Softmax(Tanh(y)), *sum = Sum(p);
  edf_node *t = Einsum("t[j,b] = y[b,j]", y);
  CHECK(y->rank == 2 && y->dim[0] == 0 && y->dim[1] == 2 && !y->size && !y->value,
        "y [%d,%d] %zu", y->dim[0], y->dim[1], y->size);
  CHECK(p->dim[0] == 0 && !p->size && !p->value, "p");
  CHECK(t->dim[0] == 2 && t->dim[1] == 0 && !t->size && !t->value, "t [%d,%d] %zu", t->dim[0],
        t->dim[1], t->size);
  CHECK(sum->rank == 0 && sum->size == 1, "the sum has no batch: %zu", sum->size);
  for (int batch = 4; batch > 0; batch--) {
    edf_feed(x, data, batch);
    Forward();
    CHECK(x->dim[0] == batch && y->dim[0] == batch && t->dim[1] == batch, "not %d", batch);
    CHECK(y->size == 2 * (size_t)batch && y->value && t->size == y->size, "not %d", batch);
    CHECK(x->value == data, "the data was copied");
  }
  edf_clear();
}

/* The batch is no number, even where the numbers agree. */
static void batch_is_no_number(void) {
  static edf_real data[12];
  for (int i = 0; i < 12; i++) {
    edf_node *x = edf_input("x[b,3]"), *p = edf_parameter("fixed[4,3]");
    edf_node *t = Einsum("t[b] = x[b,J]", x), *v = edf_parameter("four[4]");
    if (i % 2) { edf_feed(x, data, 4); Forward(); }
    switch (i / 2) {
      case 0: PANICS("fixed", Einsum("y[b,j] = x[b,j] P[b,j]", x, p)); break;
      case 1: PANICS("fixed", Einsum("y[b,j] = P[b,j] - x[b,j]", p, x)); break;
      case 2: PANICS("fixed", Add(x, p)); break;
      case 3: PANICS("fixed", Div(p, x)); break;
      case 4: PANICS("four", Sub(t, v)); break;
      case 5: PANICS("four", LogLoss(x, v)); break;
    }
    edf_clear();
  }
}

/* What is wrong with the batch that was fed is said before anything is inferred anew: x keeps
   its rows. */
static void wrong_for_this_batch(void) {
  static edf_real data[12];
  edf_node *x = edf_input("x[b,3]"), *five = edf_parameter("five[5,3]");
  edf_node *y = Square(x);
  edf_feed(x, data, 4);
  Forward();
  PANICS("five", Add(x, five));
  CHECK(x->dim[0] == 4 && y->dim[0] == 4, "%d rows, %d", x->dim[0], y->dim[0]);
  Forward();
  CHECK(y->size == 12, "%zu entries", y->size);
  edf_clear();
}

/* Whatever an Input calls its batch, there is one. */
static void batch_has_one_extent(void) {
  edf_real data[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  edf_node *x = edf_input("x[b,3]"), *z = edf_input("z[n,3]"), *y = Mul(x, z);
  edf_feed(x, data, 4);
  edf_feed(z, data, 4);
  Forward();
  CLOSE(y->value[11], 144, 0, 0);
  edf_feed(z, data, 3);
  edf_feed(x, data, 3);
  Forward();
  CHECK(y->size == 9, "size %zu", y->size);
  edf_feed(z, data, 4);
  PANICS("z", Forward());
  edf_clear();
}

static void fixed_inputs(void) {
  edf_real data[3] = { 1, 2, 4 }, s = 3;
  edf_node *x = edf_input("x[3]"), *w = edf_input("w"), *y = Einsum("y[i] = w x[i]", w, x);
  CHECK(y->size == 3 && y->dim[0] == 3, "size %zu", y->size);
  edf_feed(x, data, 1);
  edf_feed(w, &s, 1);
  Forward();
  CLOSE(y->value[2], 12, 0, 0);
  PANICS("x", edf_feed(x, data, 2));
  edf_clear();
}

static struct { edf_node *x, *label, *q, *after, *loss; } model;
static edf_real rows[6] = { 1, 2, 3, 4, 5, 6 }, labels_of_rows[2] = { 0, 1 };

/* Only x is fed. */
static void model_new(void) {
  model.x = edf_input("x[b,3]");
  model.label = edf_input("label[b]");
  model.q = Softmax(Einsum("s[b,k] = W[I,k] x[b,I]", edf_parameter("W[3,2]"), model.x));
  model.after = counted(model.q);
  model.loss = LogLoss(model.q, model.label);
  edf_feed(model.x, rows, 2);
}

static void forward_to(void) {
  model_new();
  edf_forward_to(model.q);
  CLOSE(model.q->value[3], 0.5, 1e-6, 0);
  CHECK(forwards == 0, "a node after it ran");
  edf_feed(model.label, labels_of_rows, 2);
  edf_forward_to(model.loss);
  CHECK(forwards == 0, "a node that the loss does not need ran");
  Backward(model.loss);
  CLOSE(model.loss->value[0], log(2), 1e-6, 0);
  Forward();
  CHECK(forwards == 1 && model.after->value[0] == model.q->value[0], "Forward runs all");
  edf_clear();
}

static void what_stops(void) {
  for (int i = 0; i < 8; i++) {
    model_new();
    if (i == 2) edf_forward_to(model.q);
    if (i == 3) edf_feed(model.label, labels_of_rows, 2);
    if (i == 4) edf_feed(model.label, labels_of_rows, 1);
    switch (i) {
      case 0: PANICS("label", Forward()); break;
      case 1: PANICS("label", edf_forward_to(model.loss)); break;
      case 2: case 3: PANICS("LogLoss", Backward(model.loss)); break;
      case 4: PANICS("label", Forward()); break;
      case 5: PANICS("x", edf_feed(model.x, rows, 0)); break;
      case 6: PANICS("x", edf_feed(model.x, NULL, 2)); break;
      case 7: PANICS("Relu", Backward(Relu(model.label))); break;
    }
    edf_clear();
  }
}

static void feeding_ends_a_forward(void) {
  model_new();
  edf_feed(model.label, labels_of_rows, 2);
  Forward();
  edf_feed(model.x, rows, 2);
  PANICS("LogLoss", Backward(model.loss));
  edf_clear();
}

/* Messages say of an extent that it is the batch only where it is. */
static void extents_in_messages(void) {
  static const edf_real data[6] = { 1, 2, 3 };
  edf_node *x = edf_input("x[b]"), *k = edf_input("k[3]");
  edf_node *y = Einsum("y[b+D] = x[b] k[D]", x, k), *z = Square(x);
  PANICS("Einsum \"y\" [b]  ", edf_value(y));
  edf_feed(x, data, 4);
  edf_feed(k, data, 1);
  Forward();
  PANICS("Einsum \"y\" [6]  ", Backward(y));
  PANICS("Square \"Square1\" [b=4]  ", Backward(z));
  edf_clear();
}

/* What has run for another feed stays stale, however feeds, batches and new nodes go on; and a
   new node alone makes nothing stale. */
static void stale_nodes(void) {
  static const edf_real data[9] = { 1, 2, 3 };
  edf_node *x = edf_input("x[b,3]"), *p = edf_parameter("p[3]");
  edf_node *u = Einsum("u[b,i] = x[b,i] p[i]", x, p), *loss = Sum(u);
  unsigned long feeds = edf.feeds;
  edf_feed(x, data, 2);
  CHECK(edf.feeds == feeds + 1, "%lu, then %lu feeds", feeds, edf.feeds);
  Forward();
  edf_node *more = Einsum("v[b] = x[b,I]", x);
  Backward(loss);
  edf_feed(x, data, 3);
  edf_forward_to(more);
  PANICS("no value for the last feed", Backward(loss));
  edf_feed(x, data, 3);
  Forward();
  Sum(more);
  for (int i = 0; i < 3; i++) {
    edf_feed(x, data, 3);
    PANICS("no value for the last feed", Backward(loss));
  }
  Forward();
  Backward(loss);
  edf_clear();
}

static void prediction_with_another_batch(void) {
  edf_real data[15], labels[5] = { 0, 1, 1, 0, 1 }, first[6];
  for (int i = 0; i < 15; i++) data[i] = (edf_real)(i % 7) / 7;
  edf_node *x = edf_input("x[b,3]"), *label = edf_input("label[b]");
  AffineParams Phi = edf_affine_params(3, 2);
  edf_node *q = Softmax(Affine(Phi, x)), *loss = LogLoss(q, label);
  edf_feed(x, data, 5); edf_feed(label, labels, 5);
  Forward();
  Backward(loss);
  memcpy(first, Phi.w->grad, sizeof first);
  edf_feed(x, data, 2);
  edf_forward_to(q);                                         /* the labels are still 5 */
  CHECK(q->dim[0] == 2, "batch %d", q->dim[0]);
  edf_feed(x, data, 5);
  Forward();
  Backward(loss);
  CHECK(!memcmp(first, Phi.w->grad, sizeof first), "the gradients changed");
  edf_clear();
}

/* The batch goes 64, 10, 64: memory stays where it is, numbers come back as they were. */
static void batch_back_and_forth(void) {
  static edf_real data[64 * 5], labels[64];
  edf_real first[3][15];
  const int batch[] = { 64, 10, 64, 10 };
  for (int i = 0; i < 64 * 5; i++) data[i] = (edf_real)(i * 37 % 101) / 101;
  for (int i = 0; i < 64; i++) labels[i] = (edf_real)(i % 3);
  edf_node *x = edf_input("x[b,5]"), *y = edf_input("y[b]");
  AffineParams Phi = edf_affine_params(5, 3);
  edf_node *h = Sigmoid(Affine(Phi, x)), *loss = SoftmaxLogLoss(h, y);
  edf_real *place = NULL;
  for (int i = 0; i < 4; i++) {
    edf_feed(x, data, batch[i]); edf_feed(y, labels, batch[i]);
    Forward();
    Backward(loss);
    for (int b = 0; b < batch[i]; b++) CLOSE(loss->grad[b], 1.0 / batch[i], 0, 1e-6);
    if (i < 2) memcpy(first[i], Phi.w->grad, sizeof first[i]);
    else CHECK(!memcmp(first[i - 2], Phi.w->grad, sizeof first[i]), "batch %d again", batch[i]);
    if (i == 0) place = h->value;
    CHECK(h->value == place, "the buffer moved");
  }
  CHECK(memcmp(first[0], first[1], sizeof first[0]), "64 and 10 give the same");
  edf_clear();
}

/* ---- Who gets a gradient */

static void only_what_is_wanted(void) {
  edf_real data[3] = { 1, 2, 3 }, p_data[3] = { 2, 2, 2 };
  edf_node *x = edf_input("x[3]"), *z = edf_input("z[3]"), *p = parameter_with("p[3]", p_data);
  edf_node *xz = Mul(x, z), *loss = Sum(Mul(xz, p)), *free_of_p = Sum(xz);
  edf_feed(x, data, 1); edf_feed(z, data, 1);
  Forward();
  Backward(loss);
  CHECK(!x->grad && !z->grad && !xz->grad && !edf_grad(x), "a gradient that nobody asked for");
  CLOSE(p->grad[2], 9, 0, 0);
  CHECK(edf_want_grad(x) == x, "it returns its argument");
  Backward(loss);
  CLOSE(x->grad[2], 6, 0, 0);
  CLOSE(xz->grad[1], 2, 0, 0);
  CHECK(!z->grad, "z has a gradient");
  Backward(free_of_p);
  CLOSE(x->grad[2], 3, 0, 0);
  CHECK(nothing_but_zeros(p), "p is no ancestor of the loss");
  edf_clear();
}

static void only_ancestors_are_visited(void) {
  edf_real numbers[2] = { 3, 4 };
  edf_node *p = parameter_with("p[2]", numbers), *q = parameter_with("q[2]", numbers);
  edf_node *aside = counted(Mul(p, q)), *square = Square(p), *loss = Mean(square);
  Forward();
  CHECK(forwards == 1, "%d forwards", forwards);
  Backward(loss);
  CHECK(backwards == 0, "%d backwards", backwards);
  CHECK(nothing_but_zeros(aside) && nothing_but_zeros(q), "a gradient outside");
  CLOSE(loss->grad[0], 1, 0, 0);
  CLOSE(square->grad[0], 0.5, 0, 0);
  CLOSE(p->grad[1], 4, 0, 0);
  Backward(aside);
  CHECK(backwards == 1, "%d backwards", backwards);
  CLOSE(aside->grad[1], 0.5, 0, 0);
  CLOSE(p->grad[1], 2, 0, 0);
  CLOSE(q->grad[0], 1.5, 0, 0);
  CHECK(nothing_but_zeros(square), "square's gradient is an old one");
  edf_sgd(2);
  CLOSE(p->value[1], 0, 0, 0);
  CLOSE(q->value[0], 0, 0, 0);
  edf_clear();
}

static void sgd_without_gradient(void) {
  edf_real numbers[2] = { 3, 4 };
  edf_node *p = parameter_with("p[2]", numbers), *q = parameter_with("q[2]", numbers);
  edf_node *loss = Sum(p);
  Forward();
  Backward(loss);
  SGD(1);
  CLOSE(p->value[0], 2, 0, 0);
  CLOSE(q->value[0], 3, 0, 0);
  edf_clear();
}

/* c = a (a + a), a = p^2; and the parameter again: d/dp (2 p^4 + p) = 8 p^3 + 1 */
static void shared_nodes(void) {
  edf_real numbers[2] = { 2, -1 };
  edf_node *p = parameter_with("p[2]", numbers), *a = Mul(p, p), *c2 = Mul(a, Add(a, a));
  edf_node *loss = Sum(Add(c2, p));
  Forward();
  Backward(loss);
  CLOSE(loss->value[0], 32 + 2 + 2 - 1, 1e-6, 0);
  CLOSE(p->grad[0], 65, 1e-6, 0);
  CLOSE(p->grad[1], -7, 1e-6, 0);
  edf_node *two = Einsum("z = a[I] b[I] + a[I]", p, p);
  edf_node *three = Einsum("z = a[I] b[I] c[I]", p, p, p);
  Forward();
  Backward(two);
  CLOSE(p->grad[0], 5, 1e-6, 0);
  Backward(three);
  CLOSE(p->grad[0], 12, 1e-6, 0);
  edf_clear();
}

static void shared_weights(void) {                           /* the same layer twice */
  edf_real numbers[4] = { 1, 2, 3, 4 }, data[2] = { 1, -1 };
  edf_node *w = parameter_with("W[2,2]", numbers), *x = edf_want_grad(edf_input("x[2]"));
  edf_node *h = Einsum("h[i] = W[i,J] x[J]", w, x), *y = Einsum("y[i] = W[i,J] h[J]", w, h);
  edf_node *loss = Sum(y);
  edf_feed(x, data, 1);
  Forward();
  Backward(loss);
  const double dw[] = { -1 + 4, -1 - 4, -1 + 6, -1 - 6 };   /* h = -1, -1;  dh = 4, 6 */
  for (int i = 0; i < 4; i++) CLOSE(w->grad[i], dw[i], 1e-6, 0);
  CLOSE(x->grad[0], 4 + 18, 1e-6, 0);
  CLOSE(x->grad[1], 8 + 24, 1e-6, 0);
  edf_clear();
}

static void null_backward(void) {
  edf_real numbers[2] = { 3, 5 };
  edf_node *p = parameter_with("p[2]", numbers);
  edf_node *stop = edf_compnode("Stop", count_forward, NULL, p), *blocked = Sum(stop);
  edf_node *loss = Sum(Mul(p, stop));
  Forward();
  Backward(loss);
  CLOSE(p->grad[0], 3, 0, 0);                                /* and not 6 */
  CHECK(!stop->grad, "a gradient of a node that has no backward");
  PANICS("Sum", Backward(blocked));
  CHECK(strstr(caught, "Stop \"Stop0\""), "%s", caught);      /* where it ends */
  edf_clear();
}

/* A shape function may set nothing, for a scalar, or all dimensions and a smaller rank. */
static void no_shape(edf_node *y) { (void)y; }
static void rank_0(edf_node *y) {
  memcpy(y->dim, y->in[0]->dim, sizeof y->dim);
  y->rank = y->in[0]->rank - 2;
}
static void no_rank(edf_node *y) { y->dim[0] = y->in[0]->dim[0]; }

static void shapes_of_the_program(void) {
  edf_real data[6] = { 1, 2, 3, 4, 5, 6 };
  edf_node *x = edf_input("x[b,2]");
  edf_node *a = edf_compnode_shaped("A", no_shape, count_forward, NULL, x);
  edf_node *c = edf_compnode_shaped("C", rank_0, count_forward, NULL, x);
  for (int batch = 1; batch < 4; batch++) {
    edf_feed(x, data, batch);
    Forward();
    CHECK(a->rank == 0 && a->size == 1 && c->rank == 0 && c->size == 1, "batch %d", batch);
  }
  PANICS("its shape function set y->dim, but not y->rank",
         edf_compnode_shaped("R", no_rank, count_forward, NULL, x));
  edf_clear();
}

static void micro_batches(void) {
  edf_real data[4] = { 1, 2, 3, 4 };
  edf_node *x = edf_input("x[b]"), *w = edf_parameter("w"), *y = Einsum("y[b] = w x[b]", w, x);
  edf_node *unused = edf_parameter("u");
  edf_want_grad(x);
  edf.accumulate = 1;
  for (int step = 0; step < 3; step++) {
    for (int i = 0; i < 4; i += 2) {
      edf_feed(x, data + i, 2);
      Forward();
      Backward(y);
    }
    CLOSE(w->grad[0], 1.5 + 3.5, 1e-6, 0);
    CLOSE(x->grad[0], 0, 0, 0);
    edf_zero_grad();
    CHECK(w->grad[0] == 0 && nothing_but_zeros(unused), "edf_zero_grad");
  }
  edf.accumulate = 0;
  edf_clear();
}

/* ---- Custom nodes, names, state */

static void my_relu_forward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] < 0 ? 0 : x->value[i];
}
static void my_relu_backward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) edf_addgrad(x, i, x->value[i] > 0 ? y->grad[i] : 0);
}

static void custom_node(void) {
  edf_real data[6] = { 1, -2, 3, -4, 5, -6 };
  edf_node *x = edf_want_grad(edf_input("x[b,2]"));
  edf_node *mine = edf_compnode("MyRelu", my_relu_forward, my_relu_backward, x);
  edf_node *difference = Sum(Square(Sub(mine, Relu(x)))), *loss = Square(mine);
  edf_feed(x, data, 3);
  Forward();
  CHECK(mine->rank == 2 && mine->dim[0] == 3 && mine->dim[1] == 2, "its shape");
  CHECK(!strcmp(mine->op, "MyRelu") && mine->n_in == 1 && mine->in[0] == x, "its fields");
  CLOSE(difference->value[0], 0, 0, 0);
  Backward(loss);
  for (size_t i = 0; i < 6; i++)
    CLOSE(x->grad[i], i % 2 ? 0 : (double)(i + 1) / 3, 0, 1e-6);
  edf_clear();
}

static void names(void) {
  char op[] = "Thing", name[] = "h1", equation[] = "y[i] = 2 x[i]", decl[] = "long_name[3]";
  edf_node *x = edf_parameter("%s", decl);
  edf_node *thing = edf_compnode(op, count_forward, count_backward, x);
  edf_node *other = edf_compnode(op, count_forward, count_backward, x);
  edf_node *y = edf_einsum(equation, x);
  CHECK(!strncmp(thing->name, "Thing", 5) && isdigit((unsigned char)thing->name[5]),
        "the default is %s", thing->name);
  CHECK(strcmp(thing->name, other->name), "two nodes are called %s", other->name);
  CHECK(edf_name(thing, name) == thing, "edf_name returns its argument");
  op[0] = name[0] = equation[7] = decl[0] = 'Z';             /* strings are copied */
  CHECK(!strcmp(thing->op, "Thing") && !strcmp(thing->name, "h1"), "%s %s", thing->op,
        thing->name);
  CHECK(!strcmp(x->name, "long_name") && !strcmp(y->op, "Einsum"), "%s %s", x->name, y->op);
  PANICS("h1", Add(thing, edf_parameter("P[4]")));
  edf_clear();
}

/* The batch is called as the first Input has it. */
static void the_name_of_the_batch(void) {
  edf_node *x = edf_input("x[rows,3]");
  CHECK(!strcmp(edf.batch_name, "rows"), "the batch is called %s", edf.batch_name);
  PANICS("\"x\" [rows, 3]", Add(x, edf_parameter("P[4]")));
  edf_input("c[2]");
  edf_input("y[n]");                     /* a second one does not rename it                   */
  PANICS("\"x\" [rows, 3]", Add(x, edf_parameter("Q[4]")));
  edf_clear();
  CHECK(!strcmp(edf.batch_name, "b"), "then it is called %s", edf.batch_name);
}

static void the_equation_is_copied(void) {
  static edf_real data[3];
  char equation[] = "y[t] = x[t+1] w[t]";
  edf_node *x = edf_input("x[b]"), *w = edf_parameter("w[3]");
  edf_einsum(equation, x, w);
  memset(equation, 'Z', sizeof equation - 1);
  edf_feed(x, data, 3);                                      /* w asks for 4 */
  PANICS("y[t] = x[t+1] w[t]", Forward());
  edf_clear();
}

static void called(const edf_node *x, const char *name) {
  CHECK(!strcmp(x->name, name), "%s is called %s", name, x->name);
}

static void packages(void) {
  AffineParams one = edf_affine_params(3, 2), two = edf_affine_params(2, 4);
  called(one.w, "w1"); called(one.b, "b1"); called(two.w, "w2"); called(two.b, "b2");
  CHECK(one.w->rank == 2 && one.w->dim[0] == 3 && one.w->dim[1] == 2 && one.b->rank == 1 &&
        one.b->dim[0] == 2, "shapes");
  edf_real bias[2] = { 5, 7 }, data[3] = { 1, 2, 3 };
  memcpy(one.b->value, bias, sizeof bias);
  edf_node *x = edf_input("x[b,3]"), *y = Affine(one, x);
  CHECK(!strcmp(y->op, "Affine"), "its op is %s", y->op);
  edf_feed(x, data, 1);
  Forward();
  for (int j = 0; j < 2; j++) {
    double s = -(double)bias[j];                             /* the bias is a threshold */
    for (int i = 0; i < 3; i++) s += (double)one.w->value[i * 2 + j] * (double)data[i];
    CLOSE(y->value[j], s, 1e-6, 0);
  }
  edf_clear();
}

static void state_of_a_node(void) {
  edf_node *p = edf_parameter("p[2]");
  edf_node *y = edf_compnode("Own", count_forward, count_backward, p);
  int *s = (int *)edf_state(y, 4 * sizeof *s);
  CHECK(s && y->state == s && !s[0] && !s[3], "it starts at zero");
  for (int i = 0; i < 4; i++) s[i] = i + 1;
  s = (int *)edf_state(y, 40000 * sizeof *s);
  CHECK(y->state == s && s[0] == 1 && s[3] == 4, "it kept %d %d", s[0], s[3]);
  edf_clear();
}

static void numbers_at_run_time(void) {
  edf_real numbers[3] = { 1, 2, 4 };
  edf_node *x = parameter_with("x[3]", numbers), *y[3];
  for (int i = 0; i < 3; i++)
    y[i] = Einsum(edf_fmt("y[i] = %g x[i] - %d w[%d]", 0.25 * i, i, i), x, x);
  CHECK(!strcmp(edf_fmt("%d %s", 7, "x"), "7 x"), "edf_fmt");
  Forward();
  CLOSE(y[0]->value[2], 0, 0, 0);
  CLOSE(y[1]->value[2], 1 - 2, 0, 0);
  CLOSE(y[2]->value[0], 0.5 - 8, 0, 0);
  CHECK(edf_value(y[2]) == y[2]->value, "edf_value");
  edf_clear();
}

/* ---- Eager mode and several graphs */

/* h = p^n, with n found by looking at the values: the smallest for which h > 10 */
static void eager(void) {
  const double start[] = { 3, 1.5, 20 };
  const int powers[] = { 3, 6, 1 };
  edf_node *p = edf_parameter("p");
  edf.eager = 1;
  for (int i = 0; i < 3; i++) {
    int n = 1;
    edf_clear_compnodes();
    p->value[0] = (edf_real)start[i];
    edf_node *h = Einsum("h = p", p);
    for (; h->value[0] <= 10; n++) h = Mul(h, p);
    CHECK(n == powers[i] && edf.n_compnodes == n, "%d factors, %d nodes", n, edf.n_compnodes);
    Backward(h);
    CLOSE(h->value[0], pow(start[i], n), 0, 1e-6);
    CLOSE(p->grad[0], n * pow(start[i], n - 1), 0, 1e-6);
  }
  edf.eager = 0;
  edf_clear();
}

static void eager_with_a_batch(void) {
  edf_real data[6] = { 1, 2, 3, 4, 5, 6 };
  edf.eager = 1;
  edf_node *x = edf_input("x[b,2]"), *w = edf_parameter("W[2]");
  for (int batch = 1; batch <= 3; batch++) {
    edf_clear_compnodes();
    edf_feed(x, data, batch);
    w->value[0] = 1;
    edf_node *y = Einsum("y[b] = W[I] x[b,I]", w, x);
    CHECK(y->size == (size_t)batch, "size %zu", y->size);
    CLOSE(y->value[batch - 1], 2 * batch - 1, 0, 0);
    Backward(Square(y));
    CLOSE(w->grad[0], batch == 1 ? 2 : batch == 2 ? 10 : 70.0 / 3, 0, 1e-6);
  }
  edf.eager = 0;
  edf_clear();
}

static void eager_before_the_feed(void) {
  edf.eager = 1;
  edf_node *x = edf_input("x[b,2]");
  PANICS("x", Relu(x));
  edf.eager = 0;
  edf_clear();
}

static void nodes_of_other_graphs(void) {
  edf_graph start = edf, other;
  for (int i = 0; i < 5; i++) {
    edf = edf_new_graph();
    edf_node *p = edf_parameter("alien[2]"), *square = Square(p), *x = edf_input("foreign[b]");
    other = edf;
    edf = edf_new_graph();
    edf_node *q = edf_parameter("q[2]");
    switch (i) {
      case 0: PANICS("alien", Add(q, p)); break;
      case 1: PANICS("alien", Einsum("y = a[I] b[I]", q, p)); break;
      case 2: PANICS("Square", Backward(square)); break;
      case 3: PANICS("Square", edf_forward_to(square)); break;
      case 4: PANICS("foreign", edf_feed(x, rows, 1)); break;
    }
    edf_clear();
    edf = other;
    edf_clear();
  }
  edf = start;
}

static void several_graphs(void) {
  edf_real one[2] = { 1, 2 }, two[3] = { 5, 6, 7 };
  edf_graph start = edf, a, b;
  edf = edf_new_graph();
  edf_node *p = parameter_with("p[2]", one), *square = Square(p);
  edf.kernel = EDF_REFERENCE;
  edf_seed(7);
  edf_real drawn = edf_uniform(0, 1);
  edf_seed(7);
  a = edf;
  edf = edf_new_graph();
  CHECK(edf.n_parameters == 0 && edf.kernel == EDF_FASTEST && edf.training == 1, "not fresh");
  edf_node *q = parameter_with("q[3]", two), *loss = Sum(Mul(q, q));
  edf_uniform(0, 1);
  Forward();
  Backward(loss);
  CLOSE(q->grad[2], 14, 0, 0);
  b = edf;
  edf = a;
  CHECK(edf.n_compnodes == 1 && edf.compnodes[0] == square, "the lists of the first");
  CLOSE(edf_uniform(0, 1), drawn, 0, 0);
  Forward();
  Backward(square);
  CLOSE(p->grad[1], 2, 0, 0);
  CLOSE(q->grad[2], 14, 0, 0);
  SGD(1);
  CLOSE(p->value[1], 0, 0, 0);
  CLOSE(q->value[1], 6, 0, 0);
  edf_clear();
  edf = b;
  SGD(1);
  CLOSE(q->value[1], -6, 0, 0);
  edf_clear();
  edf = start;
}

static void rebuilt_every_step(void) {
  edf_real data[2] = { 1, 2 };
  edf_node *x = edf_input("x[b]"), *w = edf_parameter("w");
  edf_feed(x, data, 2);
  for (int step = 0; step < 3; step++) {
    edf_clear_compnodes();
    CHECK(edf.n_compnodes == 0 && edf.n_inputs == 1 && edf.n_parameters == 1, "what is kept");
    edf_node *loss = Square(Einsum("y[b] = w x[b] - x[b]", w, x));
    Forward();                                               /* x need not be fed again */
    Backward(loss);
    SGD((edf_real)0.1);
  }
  CLOSE(w->value[0], 1 - 0.125, 1e-6, 0);                    /* w <- w - 0.1 * 5 (w - 1) */
  edf_clear();
}

/* ---- Random graphs against forward-mode differentiation: every number carries its derivatives
   with respect to all numbers of three leaves. Nodes are used many times, equations and other
   nodes add to the same gradients, and the loss changes from one Backward to the next. */

enum { N = 4, LEAVES = 3, SEEDS = LEAVES * N, NODES = 12 };
typedef struct { double v[N], d[N][SEEDS]; int need; } dual;

/* y[i] += number a[j] b[k], or without b */
static void dual_add(dual *y, int i, double n, const dual *a, int j, const dual *b, int k) {
  y->v[i] += n * a->v[j] * (b ? b->v[k] : 1);
  for (int s = 0; s < SEEDS; s++)
    y->d[i][s] += n * (a->d[j][s] * (b ? b->v[k] : 1) + (b ? a->v[j] * b->d[k][s] : 0));
}

enum { AS_TANH, AS_SIGMOID, AS_SQUARE, AS_STOP, AS_RELU, AS_EXP, AS_SOFTMAX, MAPS };

static double dual_function(int what, double v, double *slope) {
  double f = what == AS_TANH ? tanh(v) : what == AS_SIGMOID ? 1 / (1 + exp(-v))
           : what == AS_SQUARE ? v * v : what == AS_RELU ? (v > 0 ? v : 0)
           : what == AS_STOP ? v : exp(v);
  *slope = what == AS_TANH ? 1 - f * f : what == AS_SIGMOID ? f * (1 - f)
         : what == AS_SQUARE ? 2 * v : what == AS_RELU ? v > 0 : what == AS_STOP ? 0 : f;
  return f;
}

static void dual_map(dual *y, const dual *a, int what) {
  double slope, sum = 0;
  for (int i = 0; i < N; i++) {
    sum += y->v[i] = dual_function(what, a->v[i], &slope);
    for (int s = 0; s < SEEDS; s++) y->d[i][s] = slope * a->d[i][s];
  }
  for (int s = 0; s < SEEDS && what == AS_SOFTMAX; s++) {    /* y = e / sum */
    double ds = 0;
    for (int i = 0; i < N; i++) ds += y->d[i][s];
    for (int i = 0; i < N; i++) y->d[i][s] = (y->d[i][s] - y->v[i] / sum * ds) / sum;
  }
  for (int i = 0; i < N && what == AS_SOFTMAX; i++) y->v[i] /= sum;
}

enum { KINDS = MAPS + 10 };
static void dual_node(dual *y, int kind, const dual *a, const dual *b) {
  memset(y, 0, sizeof *y);
  y->need = kind != AS_STOP && (a->need || (kind >= MAPS && b->need));
  if (kind < MAPS) dual_map(y, a, kind);
  for (int i = 0; i < N; i++) switch (kind - MAPS) {
    case 0: dual_add(y, i, 1, a, i, NULL, 0); dual_add(y, i, 1, b, i, NULL, 0); break;
    case 1: dual_add(y, i, 1, a, i, NULL, 0); dual_add(y, i, -1, b, i, NULL, 0); break;
    case 2: dual_add(y, i, 1, a, i, b, i); break;
    case 3: dual_add(y, i, 1, a, i, b, 3 - i); dual_add(y, i, -0.5, a, i, NULL, 0); break;
    case 4: for (int j = 0; j < N; j++) dual_add(y, i, 1, a, j, b, i); break;
    case 5: if (i) dual_add(y, i, 1, a, i - 1, b, i); break;
    case 6: if (i < 2) dual_add(y, i + 2, 1, a, i, b, 0); break;
    case 7: for (int j = 0; j < 3; j++) dual_add(y, i, 0.5, a, j, b, j + 1);
            dual_add(y, i, 0.5, a, 3, b, 0); dual_add(y, i, 1, b, i, NULL, 0); break;
    case 8: dual_add(y, i, 2, b, i, NULL, 0); dual_add(y, 3 - i, 1, a, i, a, i); break;
    case 9: for (int j = 0; j < N; j++) dual_add(y, i, 0.25, a, i, b, j); break;
  }
}

static edf_node *same_node(int kind, edf_node *a, edf_node *b) {
  switch (kind) {
    case AS_TANH: return Tanh(a);
    case AS_SIGMOID: return Sigmoid(a);
    case AS_SQUARE: return Square(a);
    case AS_STOP: return edf_compnode("Stop", count_forward, NULL, a);
    case AS_RELU: return Relu(a);
    case AS_EXP: return Exp(a);
    case AS_SOFTMAX: return Softmax(a);
    case MAPS: return Add(a, b);
    case MAPS + 1: return Sub(a, b);
    case MAPS + 2: return Mul(a, b);
    case MAPS + 3: return Einsum("y[i] = a[i] b[3-i] - 0.5 a[i]", a, b);
    case MAPS + 4: return Einsum("y[i] = a[J] b[i]", a, b);
    case MAPS + 5: return Einsum("y[i] = a[i-1] b[i] | i<4", a, b);
    case MAPS + 6: return Einsum("y[i+2] = a[i] b[0] | i<2", a, b);
    case MAPS + 7: return Einsum("y[i] = 0.5 a[J] b[J+1] + 0.5 a[3] b[0] + b[i] | J<3", a, b);
    case MAPS + 8: return Einsum("y[3-i] = 2 b[3-i] + a[i] a[i]", b, a);
    default: return Mul(a, Mean(b));
  }
}

static dual expected[LEAVES + NODES];
static edf_node *built[LEAVES + NODES];

static void random_graph_new(edf_real data[LEAVES][N]) {
  for (int l = 0; l < LEAVES; l++) {
    memset(&expected[l], 0, sizeof expected[l]);
    for (int i = 0; i < N; i++) {
      expected[l].v[i] = (double)(data[l][i] = (edf_real)((below(2001) - 1000) / 1200.0));
      expected[l].d[i][l * N + i] = 1;
    }
    expected[l].need = 1;
    if (l < LEAVES - 1) built[l] = parameter_with("p[4]", data[l]);
    else edf_feed(built[l] = edf_want_grad(edf_input("x[4]")), data[l], 1);
  }
  for (int n = LEAVES; n < LEAVES + NODES; n++) {
    int kind = below(KINDS), a = below(n), b = chance(30) ? a : below(n);
    dual_node(&expected[n], kind, &expected[a], &expected[b]);
    built[n] = same_node(kind, built[a], built[b]);
  }
}

static void random_graph_backward(int loss) {
  const dual *y = &expected[loss];
  edf_backward(built[loss]);
  for (int s = 0; s < SEEDS; s++) {
    const edf_node *x = built[s / N];
    double sum = 0, scale = 1;
    for (int i = 0; i < N; i++) { sum += y->d[i][s] / N; scale += fabs(y->d[i][s]); }
    double found = x->grad ? (double)x->grad[s % N] : 0;
    CHECK(fabs(found - sum) <= scale * (EDF_REAL_IS_DOUBLE ? 1e-11 : 1e-3),
          "leaf %d, entry %d: %.17g and should be %.17g", s / N, s % N, found, sum);
  }
}

static int tame(void) {                                      /* squares of squares grow */
  for (int n = 0; n < LEAVES + NODES; n++)
    for (int i = 0; i < N; i++) if (!(fabs(expected[n].v[i]) < 30)) return 0;
  return 1;
}

static void random_graphs(void) {
  edf_real data[LEAVES][N];
  int graphs = 0;
  for (int trial = 0; trial < 400 && !harness.bad; trial++) {
    random_graph_new(data);
    edf_forward();
    for (int k = 0; k < 6 && tame(); k++) {
      int loss = k ? LEAVES + below(NODES) : LEAVES + NODES - 1;
      graphs += k == 0;
      for (int i = 0; i < N; i++)
        CLOSE(built[loss]->value[i], expected[loss].v[i], EDF_REAL_IS_DOUBLE ? 1e-11 : 1e-3, 0);
      if (expected[loss].need) random_graph_backward(loss);
    }
    edf_clear();
  }
  CHECK(graphs > 200, "only %d graphs", graphs);
}

int main(void) {
  RUN(declarations);
  RUN(batch_unknown);
  RUN(batch_is_no_number);
  RUN(wrong_for_this_batch);
  RUN(batch_has_one_extent);
  RUN(fixed_inputs);
  RUN(forward_to);
  RUN(stale_nodes);
  RUN(extents_in_messages);
  RUN(prediction_with_another_batch);
  RUN(what_stops);
  RUN(feeding_ends_a_forward);
  RUN(batch_back_and_forth);
  RUN(only_what_is_wanted);
  RUN(only_ancestors_are_visited);
  RUN(sgd_without_gradient);
  RUN(shared_nodes);
  RUN(shared_weights);
  RUN(random_graphs);
  RUN(null_backward);
  RUN(shapes_of_the_program);
  RUN(micro_batches);
  RUN(custom_node);
  RUN(names);
  RUN(the_name_of_the_batch);
  RUN(the_equation_is_copied);
  RUN(packages);
  RUN(state_of_a_node);
  RUN(numbers_at_run_time);
  RUN(eager);
  RUN(eager_with_a_batch);
  RUN(eager_before_the_feed);
  RUN(several_graphs);
  RUN(nodes_of_other_graphs);
  RUN(rebuilt_every_step);
  edf_clear();
  return harness_report();
}
