/* What edf.h declares for tools: every trait of every kind of node, marks that are put back
   after somebody was told, statistics, a look aside that leaves nothing behind, the verdict on
   one node, memory, texts and files.

   Built as: float double none sanitized shim */
#include "temporary.h"
#include "told.h"
#include "capture.h"

static const edf_real four[] = { 1, 2, 3, 4 }, six[] = { 0, 1, 0, 3, 1, 1 };

static void copy_forward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i];
}
static void copy_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
}

/* ---- What a node is */
static unsigned traits_of(const edf_node *x, edf_trait from, edf_trait to) {
  unsigned bits = 0;
  for (int t = (int)from; t <= (int)to; t++) if (edf_is(x, (edf_trait)t)) bits |= 1u << t;
  return bits;
}
#define KIND(x, bits) do { \
    unsigned is = traits_of(x, EDF_IS_OWN, EDF_HAS_FORMULA); \
    CHECK(is == (bits), "%s: %x, expected %x", (x)->op, is, (unsigned)(bits)); \
  } while (0)
#define BIT(trait) (1u << (trait))

static void kinds(void) {
  edf_clear();
  unsigned f = BIT(EDF_HAS_FORMULA);
  Input *x = edf_input("x[b,2]"), *y = edf_input("y[b]");
  Parameter *W = edf_parameter("W[2,2]");
  int rows = 4;
  edf_array data = edf_new_array(1, &rows);
  CompNode *s = Softmax(x), *own = edf_compnode("Softmax", copy_forward, copy_backward, x);
  KIND(x, 0);
  KIND(W, 0);
  KIND(s, f | BIT(EDF_IS_SOFTMAX));
  KIND(SoftmaxOver("x[b,K]", x), f | BIT(EDF_IS_SOFTMAX));
  KIND(LogSoftmax(x), f);
  KIND(LogLoss(s, y), f | BIT(EDF_IS_CLASS_LOSS));
  KIND(SoftmaxLogLoss(x, y), f | BIT(EDF_IS_CLASS_LOSS) | BIT(EDF_IS_SOFTMAX));
  KIND(BCELoss(x, x), f | BIT(EDF_IS_BINARY_LOSS));
  KIND(Embed(W, y), f | BIT(EDF_IS_LOOKUP));
  KIND(Dropout(x, (edf_real)0.5), f | BIT(EDF_IS_DROPOUT));
  KIND(BatchNorm(edf_batch_norm_params(2), x)->in[1], f | BIT(EDF_IS_BATCH_NORM));
  KIND(Square(x), f | BIT(EDF_IS_SQUARE));
  KIND(Sub(x, x), BIT(EDF_IS_EQUATION) | BIT(EDF_IS_DIFFERENCE));
  KIND(Add(x, x), BIT(EDF_IS_EQUATION));
  KIND(MaxOver("x[b,K]", x), BIT(EDF_IS_EQUATION));
  KIND(edf_input_from(data, y), 0);
  KIND(Tanh(x), f);
  KIND(Einsum("h[b,j] = W[I,j] x[b,I]", W, x), BIT(EDF_IS_EQUATION));
  KIND(own, BIT(EDF_IS_OWN));
  edf_formula(own, "y[b,i] = x[b,i]", "x.grad[b,i] += y.grad[b,i]");
  edf_expect_mismatch(own);
  KIND(own, BIT(EDF_IS_OWN) | f | BIT(EDF_IS_MISMATCHED));
  edf_clear();
  edf_free_array(&data);
}

/* ---- How it stands */
static Input *x, *unused;
static Parameter *p, *frozen;
static CompNode *h, *loss, *apart;
static void build(void) {
  edf_clear();
  x = edf_input("x[b,2]");
  unused = edf_input("u[3]");
  p = edf_parameter("p[2]");
  frozen = edf_parameter("f[2]");
  frozen->update = edf_frozen;
  p->value[0] = 3;
  h = edf_name(Mul(x, p), "h");
  apart = Tanh(Mul(x, frozen));
  loss = edf_name(Sum(h), "loss");
  edf_feed(x, four, 2);
  edf_feed(unused, four, 1);
}
#define STATE(x, bits) do { \
    unsigned is = traits_of(x, EDF_IS_ACTIVE, EDF_MAY_STEP); \
    CHECK(is == (bits), "%s: %x, expected %x", (x)->name, is, (unsigned)(bits)); \
  } while (0)

static void states(void) {
  build();
  unsigned a = BIT(EDF_IS_ACTIVE), c = BIT(EDF_IS_CURRENT), n = BIT(EDF_NEEDS_GRAD);
  unsigned b = BIT(EDF_HAS_BACKWARD), r = BIT(EDF_IS_REACHED), m = BIT(EDF_MAY_STEP);
  edf_mark(loss);
  STATE(x, a);
  STATE(p, a | n);
  STATE(frozen, 0);
  STATE(h, a | n | b);
  STATE(apart, 0);
  edf_forward_to(h);
  STATE(h, a | n | b | c);
  STATE(loss, n);
  Forward();
  STATE(apart, a | c);
  Backward(loss);
  STATE(p, a | n | r | m);
  STATE(x, a);
  STATE(loss, a | n | b | c | r);
  edf_feed(x, four, 1);
  CHECK(!edf_is(h, EDF_IS_CURRENT), "it has run with these data");
  CHECK(!edf_is(p, EDF_GRAD_IS_ZERO), "its gradient is 4");
  edf_clear();
}

static void places(void) {
  build();
  CHECK(edf_position(x) == 0 && edf_position(unused) == 1, "inputs");
  CHECK(edf_position(p) == 0 && edf_position(frozen) == 1, "parameters");
  CHECK(edf_position(h) == 0 && edf_position(loss) == 3, "computed: %d", edf_position(loss));
  CHECK(edf_follows_batch(x, 0) && !edf_follows_batch(x, 1), "x");
  CHECK(!edf_follows_batch(p, 0) && edf_follows_batch(h, 0), "p, h");
  CompNode *turned = Einsum("t[i,b] = h[b,i]", h);
  CHECK(!edf_follows_batch(turned, 0) && edf_follows_batch(turned, 1), "turned");
  CHECK(edf_rows_fed(x) == 2 && edf_rows_fed(edf_input("z")) == -1, "rows");
  edf_clear();
}

/* ---- Marks */
static edf_watcher one, other;
static edf_event looks_at;
static void marks_another(edf_watcher *w, edf_event event, edf_node *node) {
  (void)w, (void)node;
  if (event != looks_at) return;
  edf_node *before = edf_mark(apart);
  tell("%s ", before ? before->name : "all");
}

static void marks_are_put_back(void) {
  static const edf_event events[] = { EDF_BEGIN_FORWARD, EDF_BEFORE_FORWARD, EDF_AFTER_FORWARD,
                                      EDF_END_FORWARD, EDF_BEGIN_BACKWARD, EDF_AFTER_BACKWARD };
  static const char *const told_so[] = { "loss all ", "loss loss all all all all ",
    "loss loss all all all all ", "loss all ", "loss ", "loss loss " };
  for (int k = 0; k < 6; k++) {
    build();
    told[0] = 0;
    looks_at = events[k];
    one.told = marks_another;
    edf_watch(&one);
    edf_forward_to(loss);
    CHECK(edf_is(loss, EDF_IS_ACTIVE) && !edf_is(apart, EDF_IS_ACTIVE), "event %d", k);
    CHECK(edf_is(loss, EDF_IS_CURRENT) && !edf_is(apart, EDF_IS_CURRENT), "event %d", k);
    Forward();
    CHECK(edf_is(loss, EDF_IS_ACTIVE) && edf_is(apart, EDF_IS_ACTIVE), "event %d", k);
    Backward(loss);
    CLOSE((double)p->grad[0], 4, 1e-6, 0);
    CHECK(!edf_is(apart, EDF_IS_ACTIVE), "event %d", k);
    CHECK(!strcmp(told, told_so[k]), "event %d: %s", k, told);
  }
  edf_clear();
}

static void finds_watchers(void) {
  edf_clear();
  one.told = marks_another;
  other.told = marks_another;
  CHECK(!edf_find_watcher(marks_another), "there is none yet");
  edf_watch_passes(&one);
  CHECK(edf_find_watcher(marks_another) == &one, "of passes");
  edf_watch(&other);
  CHECK(edf_find_watcher(marks_another) == &other, "of nodes first");
  edf_graph a = edf;
  edf = edf_new_graph();
  CHECK(!edf_find_watcher(marks_another), "of another graph");
  edf = a;
  edf_clear();
  CHECK(!edf_find_watcher(marks_another), "cleared");
}

/* ---- Statistics */
static void numbers(void) {
  static const edf_real v[] = { 1, -3, 5, 1, 1 };
  edf_statistics s = edf_statistics_of(v, 5);
  CLOSE(s.mean, 1, 1e-12, 0);
  CLOSE(s.deviation, sqrt(32.0 / 5), 1e-12, 0);
  CLOSE(s.norm, sqrt(37.0), 1e-12, 0);
  CHECK(s.least == -3 && s.greatest == 5, "%g %g", s.least, s.greatest);
  CHECK(s.bad == 0, "%zu", s.bad);
  edf_real bad[] = { 2, (edf_real)NAN, (edf_real)INFINITY, -(edf_real)INFINITY };
  s = edf_statistics_of(bad, 2);
  CHECK(s.bad == 1 && s.least == 2 && s.greatest == 2, "%zu %g %g", s.bad, s.least, s.greatest);
  s = edf_statistics_of(bad, 4);
  CHECK(s.bad == 3 && s.least == -HUGE_VAL && s.greatest == HUGE_VAL, "%zu", s.bad);
}

/* ---- A look aside */
static int events;
static void counts(edf_watcher *w, edf_event event, edf_node *node) {
  (void)w, (void)event, (void)node;
  events++;
}

static void *count_of(CompNode *y) { return edf_state(y, sizeof(edf_real)); }
static void counting_forward(CompNode *y) {
  copy_forward(y);
  *(edf_real *)count_of(y) += 1;
}

/* Runs with 2 rows, looks aside at 1 row of others, and goes on as if nothing had been. */
static void aside_leaves_nothing(void) {
  edf_clear();
  edf_seed(5);
  x = edf_input("x[b,2]");
  p = edf_parameter("p[2]");
  h = edf_compnode("Counting", counting_forward, copy_backward, Mul(x, p));
  CompNode *dropped = Dropout(BatchNorm(edf_batch_norm_params(2), h), (edf_real)0.5);
  loss = Sum(dropped);
  p->value[0] = p->value[1] = 1;
  edf_feed(x, four, 2);
  Forward();
  Backward(loss);
  edf_node *mean = edf.parameters[edf.n_parameters - 2];
  edf_real kept_loss = edf_value(loss)[0], kept_grad = edf_grad(p)[0];
  edf_real count = *(edf_real *)h->state;
  edf_real running = edf_value(mean)[0];
  unsigned long long draws = edf.draws;
  unsigned long feeds = edf.feeds;
  one.told = counts;
  edf_watch(&one);
  events = 0;
  edf_aside *aside = edf_begin_aside();
  edf_feed(x, six, 3);
  edf_forward_to(h);
  CHECK(x->size == 6 && edf_value(h)[3] == 3, "%zu %g", x->size, (double)h->value[3]);
  edf_forward_to(loss);
  edf_uniform(0, 1);
  edf_end_aside(aside);
  CHECK(events == 0, "%d events were told", events);
  CHECK(edf.draws == draws && edf.feeds == feeds && edf.seed == 5, "random numbers, feeds");
  CHECK(x->value == four && edf_rows_fed(x) == 2 && x->size == 4, "the feed");
  CHECK(*(edf_real *)h->state == count, "the state: %g", (double)*(edf_real *)h->state);
  CHECK(edf_value(mean)[0] == running, "the running mean: %g", (double)running);
  CHECK(edf_is(loss, EDF_IS_CURRENT), "its value is not put back");
  CHECK(edf_value(loss)[0] == kept_loss && loss->size == 1, "%g", (double)edf_value(loss)[0]);
  Backward(loss);
  CHECK(edf_grad(p)[0] == kept_grad, "the mask of Dropout is another");
  edf.draws = 0;
  Forward();
  CLOSE((double)edf_value(loss)[0], (double)kept_loss, 1e-6, 1e-6);
  CHECK(events > 0, "nobody is told any more");
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks", memory.live);
}

/* In the middle of a Forward, where h has run and the loss has not. */
static void looks_aside(edf_watcher *w, edf_event event, edf_node *node) {
  (void)w;
  if (event != EDF_BEFORE_FORWARD || node != loss) return;
  edf_aside *aside = edf_begin_aside();
  edf_feed(x, six, 3);
  edf_forward_to(apart);
  edf_forward_to(h);
  CHECK(edf_value(h)[2] == 0, "%g", (double)edf_value(h)[2]);
  edf_end_aside(aside);
}

static void aside_inside_of_a_forward(void) {
  build();
  one.told = looks_aside;
  edf_watch(&one);
  edf_forward_to(loss);
  CLOSE((double)edf_value(loss)[0], 12, 1e-6, 0);
  CHECK(!edf_is(apart, EDF_IS_CURRENT) && !edf_is(apart, EDF_IS_ACTIVE), "apart");
  Backward(loss);
  CLOSE((double)edf_grad(p)[0], 4, 1e-6, 0);
  edf_clear();
}

static void aside_with_other_nodes(void) {
  build();
  static edf_aside *aside;
  aside = edf_begin_aside();
  Tanh(h);
  TRY(edf_end_aside(aside));
  CHECK(panicked && strstr(caught, "edf_end_aside: nodes were made or cleared"), "%s", caught);
  Forward();
  CLOSE((double)edf_value(loss)[0], 12, 1e-6, 0);
  edf_clear();
}

/* Without a feed what runs there is current afterwards. */
static void aside_with_the_same_data(void) {
  build();
  Forward();
  Backward(loss);
  edf_aside *aside = edf_begin_aside();
  edf_forward_to(loss);
  edf_end_aside(aside);
  CHECK(edf_is(loss, EDF_IS_CURRENT), "it has not run");
  Backward(loss);
  CLOSE((double)p->grad[0], 4, 1e-6, 0);
  edf_clear();
}

static void stop_forward(CompNode *y) {
  if (y->in[0]->size == 6) edf_stop("it stops");
  copy_forward(y);
}

/* A stop inside of two of them: as if nothing had been, and the next one works. */
static void aside_that_stops(void) {
  static edf_aside *outer, *inner;
  edf_clear();
  x = edf_input("x[b,2]");
  p = edf_parameter("p[2]");
  p->value[0] = 1;
  h = edf_compnode("Counting", counting_forward, copy_backward, Mul(x, p));
  loss = Sum(edf_compnode("Stops", stop_forward, copy_backward, h));
  edf_feed(x, four, 2);
  Forward();
  Backward(loss);
  unsigned long feeds = edf.feeds;
  unsigned long long draws = edf.draws;
  edf_real count = *(edf_real *)h->state;
  one.told = counts;
  edf_watch(&one);
  outer = edf_begin_aside();
  edf_uniform(0, 1);
  inner = edf_begin_aside();
  edf_feed(x, six, 3);
  TRY(edf_forward_to(loss));
  CHECK(panicked && !strcmp(caught, "it stops"), "%s", caught);
  CHECK(edf.draws == draws && edf.feeds == feeds, "random numbers, feeds");
  CHECK(x->value == four && edf_rows_fed(x) == 2, "the feed");
  CHECK(*(edf_real *)h->state == count, "the state: %g", (double)*(edf_real *)h->state);
  CHECK(outer != inner && memory.live > 0, "blocks");
  events = 0;
  Forward();
  CHECK(events > 0 && x->size == 4, "nobody is told any more: %zu", x->size);
  CLOSE((double)edf_value(loss)[0], 4, 1e-6, 0);
  edf_end_aside(edf_begin_aside());
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks", memory.live);
}

/* ---- The verdict */
static double wrong_by = 1;
static int assigns, forgets;
static void faulty_forward(CompNode *y) {
  for (size_t i = (size_t)forgets; i < y->size; i++)
    y->value[i] = y->in[0]->value[i] * y->in[0]->value[i];
}
static void faulty_backward(CompNode *y) {
  edf_node *in = y->in[0];
  for (size_t i = 0; i < y->size; i++) {
    edf_real d = (edf_real)wrong_by * 2 * in->value[i] * y->grad[i];
    if (assigns && in->grad) in->grad[i] = d;
    else edf_addgrad(in, i, d);
  }
}

static edf_verdict judge(double by, int assigned, int from) {
  edf_clear();
  edf_seed(1);
  wrong_by = by;
  assigns = assigned;
  forgets = from;
  p = edf_parameter("p[6]");
  for (int i = 0; i < 6; i++) p->value[i] = (edf_real)(i + 1) / 2;
  h = edf_compnode("Faulty", faulty_forward, faulty_backward, p);
  loss = Sum(h);
  Forward();
  Backward(loss);
  unsigned long long draws = edf.draws;
  edf_real grad = edf_grad(p)[5], value = edf_value(h)[5];
  edf_verdict v = edf_verdict_of(h);
  CHECK(edf.draws == draws, "random numbers were drawn");
  CHECK(edf_grad(p)[5] == grad && edf_value(h)[5] == value, "values or gradients have changed");
  return v;
}

static int stops_now;
static void stopping_backward(CompNode *y) {
  if (stops_now) edf_stop("it stops");
  copy_backward(y);
}

/* Values and gradients are the node's own again. */
static void verdict_that_stops(void) {
  edf_clear();
  p = edf_parameter("p[2]");
  h = edf_compnode("Stops", copy_forward, stopping_backward, p);
  loss = Sum(h);
  Forward();
  Backward(loss);
  edf_real *values[] = { p->value, p->grad, h->value, h->grad };
  stops_now = 1;
  TRY(edf_verdict_of(h));
  stops_now = 0;
  CHECK(panicked && !strcmp(caught, "it stops"), "%s", caught);
  CHECK(p->value == values[0] && p->grad == values[1], "p has copies");
  CHECK(h->value == values[2] && h->grad == values[3], "h has copies");
  Forward();
  Backward(loss);
  CLOSE((double)edf_grad(p)[0], 1, 1e-6, 0);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks", memory.live);
}

/* So they are where a check stops, and the next batch finds its shapes. */
static edf_real *lent_for;
static void picky_backward(CompNode *y) {
  if (y->value != lent_for) edf_stop("it stops");
  copy_backward(y);
}

static void check_that_stops(void) {
  edf_clear();
  x = edf_want_grad(edf_input("x[b,2]"));
  h = edf_compnode("Picky", copy_forward, picky_backward, Square(x));
  loss = Sum(h);
  edf_feed(x, four, 2);
  Forward();
  lent_for = h->value;
  Backward(loss);
  edf_node *square = h->in[0];
  edf_real *values[] = { square->value, square->grad, h->value, h->grad };
  capture_begin();
  TRY(edf_gradcheck(loss));
  capture_end();
  CHECK(panicked && !strcmp(caught, "it stops"), "%s", caught);
  CHECK(square->value == values[0] && square->grad == values[1], "the square has copies");
  CHECK(h->value == values[2] && h->grad == values[3], "h has copies");
  edf_feed(x, six, 3);
  Forward();
  lent_for = h->value;
  Backward(loss);
  CLOSE((double)edf_grad(x)[3], 6, 1e-6, 0);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks", memory.live);
}

static void verdicts(void) {
  edf_verdict v = judge(1, 0, 0);
  CHECK(!v.wrong_in && !v.assigned && !v.unwritten && v.factor == 0, "it is right");
  v = judge(3, 0, 0);
  CHECK(v.wrong_in == p && !v.assigned && !v.unwritten, "a factor");
  CLOSE(v.factor, 3, 0.2, 0);
  v = judge(-1, 0, 0);
  CHECK(v.wrong_in == p, "a sign");
  CLOSE(v.factor, -1, 0.05, 0);
  v = judge(1, 1, 0);
  CHECK(!v.wrong_in && v.assigned == p && v.factor == 0, "it assigns");
  v = judge(1, 0, 2);
  CHECK(v.unwritten == 2 && v.first == 0, "%zu from %zu", v.unwritten, v.first);
  TRY(edf_verdict_of(loss));
  CHECK(panicked && strstr(caught, "edf_verdict_of: the node is not one of your own"), "%s",
        caught);
  edf_clear();
  p = edf_parameter("p[2]");
  h = edf_compnode("Copy", copy_forward, copy_backward, p);
  TRY(edf_verdict_of(h));
  CHECK(panicked && strstr(caught, "edf_verdict_of: the node has no value yet"), "%s", caught);
  Forward();
  v = edf_verdict_of(h);
  CHECK(!v.wrong_in && !v.assigned && !v.unwritten, "without a Backward there is none");
  edf_clear();
}

/* ---- Memory, texts, messages, files */
static void keeps(void) {
  edf_clear();
  unsigned char *m = (unsigned char *)edf_keep(NULL, 100);
  for (int i = 0; i < 100; i++) { CHECK(m[i] == 0, "byte %d", i); m[i] = (unsigned char)i; }
  m = (unsigned char *)edf_keep(m, 5000);
  for (int i = 0; i < 100; i++) CHECK(m[i] == i, "byte %d is lost", i);
  for (int i = 100; i < 5000; i++) CHECK(m[i] == 0, "byte %d", i);
  CHECK(edf_keep(m, 50) == m && memory.live == 1, "%ld blocks", memory.live);
  edf_release(m);
  edf_release(NULL);
  CHECK(memory.live == 0, "%ld blocks", memory.live);
  edf_keep(NULL, 10);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks", memory.live);
}

static void texts(void) {
  build();
  edf_page t = { NULL, 0 };
  edf_write_quoted(&t, "a\"b\\<\n\x7f&>z", 10);
  CHECK(!strcmp(t.at, "\"a\\u0022b\\u005c\\u003c\\u000a\\u007f\\u0026\\u003ez\""), "%s", t.at);
  CHECK(t.n == strlen(t.at), "%zu", t.n);
  for (int i = 0; i < 1000; i++) edf_write(&t, "%d,", i % 10);
  CHECK(t.n == strlen(t.at) && t.n == 47 + 2000, "%zu", t.n);
  t.n = 0;
  edf_write(&t, "%g ", 0.5);
  Forward();
  edf_write_node(&t, h, EDF_SHAPE);
  edf_write(&t, "; ");
  edf_write_node(&t, h, EDF_FORWARD_LINE);
  CHECK(!strcmp(t.at, "0.5  [b=2, 2]; h[b,i] = x[b,i] p[i]") ||
        !strcmp(t.at, "0.5 [b=2, 2]; h[b,i] = x[b,i] p[i]"), "%s", t.at);
  t.n = 0;
  edf_write_node(&t, loss, EDF_SITE);
  CHECK(strstr(t.at, "Sum \"loss\" ") && strstr(t.at, "built at tests/tools.c:"), "%s", t.at);
  t.n = 0;
  edf_mark(loss);
  edf_write_node(&t, h, EDF_BACKWARD_LINES);
  CHECK(strstr(t.at, "p.grad[i] += x[b,i] h.grad[b,i]") ||
        strstr(t.at, "p.grad[i] += h.grad[b,i] x[b,i]"), "%s", t.at);
  edf_clear();
}

/* Every word of a line, one behind the other, with its kind and its brackets. */
static void words(void) {
  static const struct { const char *text; char kind; int depth; } wanted[] = {
    { "dx2", 'a', 0 }, { ".grad", 'g', 0 }, { "[", '[', 1 }, { "b", 'a', 1 }, { ",", ',', 1 },
    { "2", '0', 1 }, { "*", '*', 1 }, { "k", 'a', 1 }, { "[", '[', 2 }, { "b", 'a', 2 },
    { "]", ']', 1 }, { "]", ']', 0 }, { " ", ' ', 0 }, { "-=", '-', 0 }, { "1.5e-05", '0', 0 },
    { " ", ' ', 0 }, { "sum_B,J", '_', 0 }, { ",", ',', 0 }, { "2e20", '0', 0 },
    { "variance_", '_', 0 }, { "@", '@', 0 }, { "summed", 'a', 0 }, { "<=", '<', 0 },
    { "2", '0', 0 }, { "eps", 'a', 0 }, { ".flat", '.', 0 }, { ".", '.', 0 }, { "5", '0', 0 },
    { "+=", '+', 0 }, { "-", '-', 0 }, { "7", '0', 0 } };
  edf_word w = { "dx2.grad[b,2*k[b]] -=1.5e-05 sum_B,J,2e20variance_@summed<=2eps.flat.5+=-7"
                 "\nx", 0, 0, 0 };
  for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
    CHECK(edf_next_word(&w), "word %d is missing", (int)k);
    CHECK(w.n == strlen(wanted[k].text) && !memcmp(w.at, wanted[k].text, w.n) &&
          w.kind == wanted[k].kind && w.depth == wanted[k].depth,
          "word %d is %.*s: %c %d, not %s", (int)k, (int)w.n, w.at, w.kind, w.depth,
          wanted[k].text);
  }
  CHECK(!edf_next_word(&w) && w.n == 0 && *w.at == '\n', "the line ends here");
  CHECK(!edf_next_word(&w) && *w.at == '\n', "and stays at its end");
}

static void equation_data(void) {
  edf_clear();
  Parameter *W = edf_parameter("W[3]");
  Input *in = edf_input("x[5]");
  CompNode *y = Einsum("y[i] = 2 W[DI] x[i+2*DI-1] - x[i] | i<4", W, in);
  edf_page t = { NULL, 0 };
  edf_feed(in, six, 1);
  edf_write_node(&t, Tanh(in), EDF_EQUATION_DATA);
  CHECK(t.n == 0, "%zu bytes of no equation", t.n);
  edf_write_node(&t, y, EDF_EQUATION_DATA);
  CHECK(!strcmp(t.at, "{\"kind\":0,\"name\":[\"i\",\"DI\"],\"ext\":[4,3],\"left\":[1,0],"
                "\"ref\":[[-1,[[0,0,1]]],[0,[[0,1,1]]],[1,[[-1,0,1,1,2]]],[1,[[0,0,1]]]],"
                "\"term\":[[2,1,2],[-1,3,1]]}"), "%s", t.at);
  edf_clear();
}

static void stops(void) {
  edf_clear();
  TRY(edf_stop("tool: %d of %s", 3, "four"));
  CHECK(panicked && !strcmp(caught, "tool: 3 of four"), "%s", caught);
  TRY(edf_expect_node("tool", NULL));
  CHECK(panicked && !strcmp(caught, "tool: the node is NULL"), "%s", caught);
  build();
  TRY(edf_expect_node("tool", h));
  CHECK(!panicked, "%s", caught);
  edf_clear();
}

static void whole_files(void) {
  edf_clear();
  make_directory("tools");
  file("whole");
  edf_writer w = edf_create_file("tool", path);
  fputs("half", w.file);
  CHECK(fopen(path, "r") == NULL, "it is there before its end");
  edf_finish_file(&w);
  FILE *f = fopen(path, "r");
  char text[10] = { 0 };
  CHECK(f && fread(text, 1, 9, f) == 4 && !strcmp(text, "half"), "%s", text);
  if (f) fclose(f);
  remove(path);
  rmdir(dir);
  TRY(edf_create_file("tool", "/no/such/folder/file"));
  CHECK(panicked && strstr(caught, "tool: /no/such/folder/file: cannot be written: "), "%s",
        caught);
  TRY(edf_create_file("tool", NULL));
  CHECK(panicked && strstr(caught, "tool: the path of a file to write is NULL"), "%s", caught);
  TRY(edf_create_file(NULL, NULL));
  CHECK(panicked && strstr(caught, "edf: the path of a file to write is NULL"), "%s", caught);
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks", memory.live);
}

int main(void) {
  RUN(kinds);
  RUN(states);
  RUN(places);
  RUN(marks_are_put_back);
  RUN(finds_watchers);
  RUN(numbers);
  RUN(aside_leaves_nothing);
  RUN(aside_with_the_same_data);
  RUN(aside_inside_of_a_forward);
  RUN(aside_with_other_nodes);
  RUN(aside_that_stops);
  RUN(verdicts);
  RUN(verdict_that_stops);
  RUN(check_that_stops);
  RUN(keeps);
  RUN(texts);
  RUN(words);
  RUN(equation_data);
  RUN(stops);
  RUN(whole_files);
  return harness_report();
}
