/* between.c - what comes between two calls that belong together: an eager constructor, a caught
   mistake or a gradient check between two steps, another feed, a stop inside of a check, no
   memory for who watches. What is expected is what the calls give without it.

   Built as: float double none sanitized */
#define _POSIX_C_SOURCE 200112L             /* capture.h: fileno, ftruncate */
#define HARNESS_CATCH
#include "harness.h"
#include "edf_lab.h"
#include "inside.h"
#include "capture.h"

static char page[64];
static edf_real ones[64], ramp[64];
static Input *x, *z;
static Parameter *p, *q;
static CompNode *h, *side, *loss;

static void fill(void) {
  for (int i = 0; i < 64; i++) { ones[i] = 1; ramp[i] = (edf_real)(i - 20) / 16; }
}

/* loss = mean((p x)^2); `side` is beside it, and not of its ancestors. */
static void model(void) {
  fill();
  x = edf_input("x[b,3]");
  z = edf_input("z[b,3]");
  p = edf_parameter("p[3]");
  q = edf_parameter("q[3]");
  for (int i = 0; i < 3; i++) { p->value[i] = (edf_real)(i + 1); q->value[i] = 1; }
  h = Mul(x, p);
  side = Tanh(Mul(x, q));
  loss = Mean(Square(h));
  edf_feed(x, ramp, 4);
  edf_feed(z, ones, 4);
}

/* loss.p = 2/12 p sum_b x^2. */
static void gradient_is(double times) {
  for (int i = 0; i < 3; i++) {
    double sum = 0;
    for (int b = 0; b < 4; b++) sum += pow((double)ramp[3 * b + i], 2);
    CLOSE((double)p->grad[i], times * (i + 1) * sum / 6, 1e-5, 1e-5);
  }
}

static int all_steps_backward(void) {
  int n = 0;
  while (edf_step_backward()) n++;
  return n;
}

/* ---- A text of edf_fmt's is kept while constructors of the header make their own. */
static void a_text_is_kept(void) {
  Input *m = edf_input("m[b,2,2,1]");
  const edf_real four[] = { 1, 2, 3, 4 };
  const char *equation = edf_fmt("y[b] = %g m[b,I,J,C]", 3.0);
  CompNode *y = m;
  for (int i = 0; i < 20; i++) y = MaxPool(y, 1, 1);
  y = Conv(edf_conv_params(2, 1, 1, 1), LayerNorm(edf_layer_norm_params(1), y));
  for (int i = 0; i < 20; i++) edf_name(Tanh(y), "same");
  CHECK(strlen(edf_label(edf.compnodes[edf.n_compnodes - 1])) > 5, "it has a number");
  CHECK(!strcmp(equation, "y[b] = 3 m[b,I,J,C]"), "%s", equation);
  CompNode *s = Einsum(equation, m);
  edf_feed(m, four, 1);
  Forward();
  CHECK(s->value[0] == 30, "%g", (double)s->value[0]);
  edf_clear();
}

/* ---- Eager nodes between two steps */

/* What an eager node reads is not then stepped, though the loss does not come from it; and what
   is stepped goes on where it was, also if an operand had to run before. */
static void eager_beside_a_backward(void) {
  for (int n = 0; n < 8; n++) {
    model();
    Forward();
    Backward(loss);
    int all = all_steps_backward(), some = n % 4;
    CompNode *from = n < 4 ? side : Square(side);
    CHECK(all >= 3 && edf_is(from, EDF_IS_CURRENT) == (n < 4), "%d steps", all);
    for (int i = 0; i < some; i++) edf_step_backward();
    edf.eager = 1;
    CompNode *y = Sum(from);
    edf.eager = 0;
    CHECK(edf_is(y, EDF_IS_CURRENT), "it has not run");
    int rest = all_steps_backward();
    CHECK(some + rest == all, "%d steps, and %d more: expected %d", some, rest, all);
    gradient_is(1);
    CHECK(!q->grad || q->grad[0] == 0, "%g", (double)q->grad[0]);
    edf_clear();
  }
}

/* An operand that has not run runs before; nothing else does, and the steps go on. */
static void eager_runs_what_is_stale(void) {
  BatchNormParams norm;
  model();
  norm = edf_batch_norm_params(3);
  CompNode *n = BatchNorm(norm, x), *other = Square(z);
  edf.accumulate = 1;
  edf_forward_to(loss);
  edf_forward_to(n);
  Backward(loss);
  gradient_is(1);
  edf_real mean = norm.mean->value[0];
  CHECK(mean != 0, "nothing was normalised");
  edf_step_backward();
  edf.eager = 1;
  CompNode *y = Add(n, other);
  CHECK(edf_is(other, EDF_IS_CURRENT) && y->value[0] == n->value[0] + 1, "%g",
        (double)y->value[0]);
  CHECK(norm.mean->value[0] == mean, "what has run runs again: %g", (double)mean);
  all_steps_backward();
  gradient_is(2);
  edf.eager = edf.accumulate = 0;
  edf_clear();
}

/* Steps forward: an eager node does not end them; one that stops does, and they begin anew. */
static void eager_between_steps_forward(void) {
  for (int bad = 0; bad < 2; bad++) {
    model();
    edf_step_forward();
    edf_step_forward();
    Input *late = edf_input("late[b,3]");
    edf.eager = 1;
    TRY(Add(h, bad ? late : z));
    edf.eager = 0;
    CHECK(panicked == bad && edf.direction == !bad, "%d: %s", edf.direction, caught);
    if (bad) edf_feed(late, ones, 4);
    int steps = 0;
    while (edf_step_forward()) steps++;
    CHECK(steps == edf.n_compnodes - (bad ? 0 : 2), "%d steps", steps);
    Backward(loss);
    gradient_is(1);
    edf_clear();
  }
}

static void eager_stop_ends_the_steps(void) {
  model();
  Forward();
  Backward(loss);
  edf_step_backward();
  CompNode *late = Relu(z);
  Input *never = edf_input("never[b,3]");
  edf.eager = 1;
  TRY(Add(late, never));
  CHECK(panicked && strstr(caught, "an input was never fed"), "%s", caught);
  edf.eager = 0;
  CHECK(edf.direction == 0 && edf.compnodes[edf.n_compnodes - 1] == late, "it is there");
  all_steps_backward();
  gradient_is(1);
  edf_clear();
}

/* ---- The trace page, begun in the middle, and nodes that it has not met. */
/* Does the page know an input z with 2 rows? */
static int page_has_two_rows_of_z(void) {
  static char text[1 << 18];
  FILE *f = fopen(page, "rb");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  int found = 0;
  if (f) fclose(f);
  text[n] = '\0';
  for (const char *at = text; (at = strstr(at, "\"name\":\"z\"")) != NULL; at++) {
    const char *dim = strstr(at, "\"dim\":[");
    found |= dim && !strncmp(dim + 7, "2,3]", 4);
  }
  return found;
}

static void a_trace_in_the_middle(void) {
  for (int where = 0; where < 3; where++) {
    edf_real *two = (edf_real *)malloc(6 * sizeof *two);     /* what lies behind is not read */
    memcpy(two, ramp, 6 * sizeof *two);
    model();
    CompNode *of_z = Relu(z);
    if (where == 0) { edf_step_forward(); edf_step_forward(); }
    if (where == 1) edf_trace_begin(page);
    if (where > 0) Forward();
    edf_feed(x, two, 2);
    if (where > 0) TRY(Forward());                           /* z has 4 rows                */
    if (where > 0) CHECK(panicked, "the inputs disagree");
    if (where != 1) edf_trace_begin(page);
    if (where == 0) { edf_feed(x, ramp, 4); edf_step_forward(); }
    edf_forward_to(h);
    edf_feed(z, ones, 2);
    if (where == 0) edf_feed(x, two, 2);
    edf_forward_to(h);
    edf.eager = 1;
    CompNode *y = Square(z);
    edf.eager = 0;
    CHECK(y->dim[0] == 2 && y->value[5] == 1, "%d", y->dim[0]);
    CHECK(!edf_is(of_z, EDF_IS_CURRENT), "it has not run since");
    edf_trace_end();
    CHECK(page_has_two_rows_of_z(), "the page has another z, or none");
    remove(page);
    edf_clear();
    free(two);
  }
}

/* No memory for the page where a Forward begins, with a smaller batch: the steps go on in it,
   and the page shows the nodes as they are. */
static void a_trace_without_memory(void) {
  for (int n = 1; n < 40; n++) {
    model();
    CompNode *of_z = Relu(z);
    edf_trace_begin(page);
    Forward();
    edf_feed(x, ramp, 2);
    edf_feed(z, ones, 2);
    memory.until_failure = n;
    TRY(Forward());
    memory.until_failure = 0;
    CHECK(panicked && strstr(caught, "out of memory"), "failure %d: %s", n, caught);
    while (edf_step_forward()) { }
    CHECK(of_z->dim[0] == 2 && edf_is(of_z, EDF_IS_CURRENT), "%d rows", of_z->dim[0]);
    edf_feed(x, ramp, 4);
    edf_feed(z, ones, 4);
    Forward();
    edf_trace_end();
    CHECK(page_has_two_rows_of_z(), "failure %d: the page has another z, or none", n);
    remove(page);
    edf_clear();
  }
}

/* ---- A stop inside of a gradient check: who watches is told, arrays are the program's */
static int calls, stops_at, told;

static void stopping_forward(CompNode *y) {
  if (++calls == stops_at) edf_backward(NULL);
  for (size_t i = 0; i < y->size; i++) y->value[i] = 2 * y->in[0]->value[i];
}
static void stopping_backward(CompNode *y) {
  if (++calls == stops_at) edf_backward(NULL);
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 2 * y->grad[i]);
}
static void count_told(edf_watcher *w, edf_event event, edf_node *y) {
  (void)w, (void)event, (void)y;
  told++;
}

static void a_stop_in_a_check(void) {
  int stopped = 0;
  for (stops_at = 1; stopped == stops_at - 1; stops_at++) {
    edf_watcher w = { count_told, NULL, 0 };
    calls = -100000;
    model();
    edf_want_grad(x);
    CompNode *twice = edf_compnode("Twice", stopping_forward, stopping_backward, h);
    CompNode *all = Mean(Square(twice));
    Forward();
    edf_watch(&w);
    edf_real *values[] = { twice->value, h->value };
    calls = 0;
    capture_begin();
    TRY(edf_gradcheck(all));
    capture_end();
    stopped += panicked;
    calls = -100000;
    told = 0;
    CHECK(x->value == ramp, "the values of x are a copy");
    CHECK(twice->value == values[0] && h->value == values[1], "the arrays are copies");
    Forward();
    Backward(all);
    gradient_is(4);
    CHECK(told > 20, "who watches was told %d times", told);
    edf_unwatch(&w);
    edf_clear();
    if (stops_at > 400) break;
  }
  CHECK(stopped > 60, "%d stops", stopped);
}

/* ---- A check leaves no values that belong to other states. */
static void kept_forward(CompNode *y) {
  edf_real *kept = (edf_real *)edf_state(y, y->size * sizeof *kept);
  for (size_t i = 0; i < y->size; i++) {
    kept[i] = 2 * y->in[0]->value[i];
    y->value[i] = y->in[0]->value[i] * y->in[0]->value[i];
  }
}
static void kept_backward(CompNode *y) {
  const edf_real *kept = (const edf_real *)y->state;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i] * kept[i]);
}

static void a_state_after_a_check(void) {
  for (int forward = 0; forward < 2; forward++) {
    model();
    CompNode *kept = Mean(edf_compnode("Kept", kept_forward, kept_backward, h));
    edf_feed(x, ones, 4);
    Forward();
    edf_feed(x, ramp, 4);
    if (forward) Forward();
    capture_begin();
    edf_gradcheck(kept);
    capture_end();
    gradient_is(1);
    TRY(Backward(kept));
    if (panicked) {
      CHECK(!forward && strstr(caught, "call edf_forward first"), "%s", caught);
      Forward();
      Backward(kept);
    }
    gradient_is(1);
    edf_clear();
  }
}

/* Its gradients are another's: the steps begin anew. */
static void a_check_between_steps(void) {
  model();
  Forward();
  Backward(loss);
  edf_step_backward();
  edf_step_backward();
  capture_begin();
  edf_gradcheck(side);
  capture_end();
  Backward(loss);
  edf_step_backward();
  edf_step_backward();
  capture_begin();
  edf_gradcheck(loss);
  capture_end();
  CHECK(edf_step_backward() == loss, "it goes on");
  all_steps_backward();
  gradient_is(1);
  edf_clear();
}

/* ---- A mistake in a constructor changes nothing. */
static void a_mistake_between_steps(void) {
  model();
  edf_step_forward();
  TRY(Concat("y[B,j]", x, x));
  CHECK(panicked && x->dim[0] == 4 && x->size == 12, "%s", caught);
  while (edf_step_forward()) { }
  CHECK(edf_is(loss, EDF_IS_CURRENT) && loss->value[0] > 0, "%g", (double)loss->value[0]);
  Backward(loss);
  gradient_is(1);
  edf_step_backward();
  TRY(Reshape(h, "y[b,5]"));
  CHECK(panicked, "it does not fit");
  TRY(Backward(x));
  CHECK(panicked && strstr(caught, "not a computed node"), "%s", caught);
  TRY(Backward(Relu(z)));
  CHECK(panicked && strstr(caught, "reaches the loss"), "%s", caught);
  all_steps_backward();
  gradient_is(1);
  edf_clear();
}

/* A Forward that stopped is at the node where it did: steps do not pass it. */
/* A Forward that stops at its feeds ends the one that stopped in a node: no step goes on. */
static void steps_of_another_forward(void) {
  model();
  CompNode *stops = edf_compnode("Stops", stopping_forward, stopping_backward, x);
  edf_feed(z, ones, 1);
  CompNode *other = Tanh(Add(side, z));
  calls = 0;
  stops_at = 1;
  TRY(edf_forward_to(stops));
  CHECK(panicked && calls == 1, "%s", caught);
  stops_at = 0;
  for (int i = 0; i < 3; i++) {
    if (i) TRY(edf_step_forward());
    else TRY(Forward());
    CHECK(panicked && strstr(caught, "disagree on the batch"), "%d: %s", i, caught);
  }
  CHECK(!edf_is(other, EDF_IS_CURRENT), "it has not run");
  edf_clear();
}

static void steps_after_a_stop(void) {
  const edf_real bad[] = { 0, 7, 0, 0 }, good[] = { 0, 1, 0, 2 };
  model();
  Input *label = edf_input("label[b]");
  CompNode *ell = SoftmaxLogLoss(h, label), *mean = Mean(ell);
  for (int ran = 0; ran < 2; ran++) {                        /* before, with the same feed   */
    edf_feed(label, good, 4);
    if (ran) Forward();
    if (ran) label->value = (edf_real *)bad;
    else edf_feed(label, bad, 4);
    TRY(Forward());
    CHECK(panicked && !edf_is(ell, EDF_IS_CURRENT), "%s", caught);
    for (int i = 0; i < 2; i++) {
      TRY(edf_step_forward());
      CHECK(panicked && strstr(caught, "label 7 in row 1"), "%s", caught);
    }
    label->value = (edf_real *)good;
    CHECK(edf_step_forward() == ell && edf_step_forward() == mean, "the next ones");
    CHECK(!edf_step_forward(), "there is no other");
    Backward(mean);
  }
  edf_clear();
}

/* Fewer rows than before were fed: their memory ends where they end. */
static void looks_after_a_mistake(void) {
  for (int stop = 0; stop < 2; stop++) {
    model();
    Input *label = edf_input("label[b]");
    edf_real *rows = (edf_real *)malloc(6 * sizeof *rows), *two = rows + 4;
    for (int i = 0; i < 6; i++) rows[i] = 1;
    edf_feed(label, ones, 4);
    Forward();
    edf_feed(x, rows, 2);
    edf_feed(label, two, 2);
    if (stop) TRY(Concat("y[B,j]", x, x));
    capture_begin();
    edf_print(x);
    CHECK(!edf_find_nan(), "there is none");
    capture_end();
    CHECK(strstr(captured, "value: 1 to 1"), "%s", captured);
    CHECK(edf_view(x).dim[0] == 2 && edf_view(x).size == 6, "%d", edf_view(x).dim[0]);
    TRY(edf_error_rate(x, label));
    CHECK(panicked && strstr(caught, "for 4 rows"), "%s", caught);
    edf_feed(label, ones, 4);
    TRY(edf_error_rate(x, label));
    CHECK(panicked && strstr(caught, "call edf_forward first"), "%s", caught);
    free(rows);
    edf_clear();
  }
}

/* More rows were fed than the gradient has. */
static void looks_after_a_feed(void) {
  model();
  edf_want_grad(x);
  Forward();
  Backward(loss);
  edf_feed(x, ramp, 16);
  capture_begin();
  edf_print(x);
  capture_end();
  CHECK(strstr(captured, "value:") && strstr(captured, "grad:"), "%s", captured);
  edf_clear();
}

/* No memory for a larger batch: nothing is shown beyond the memory of the smaller one. */
static void looks_without_memory(void) {
  int failed = 0;
  for (int n = 1, over = 0; !over; n++) {
    model();
    edf_want_grad(x);
    Forward();
    Backward(loss);
    edf_feed(x, ramp, 16);
    edf_feed(z, ones, 16);
    memory.until_failure = n;
    TRY(Forward());
    over = memory.until_failure > 0;
    memory.until_failure = 0;
    failed += panicked;
    capture_begin();
    edf_print(x);
    for (int i = 0; i < edf.n_compnodes; i++) edf_print(edf.compnodes[i]);
    capture_end();
    edf_feed(x, ramp, 4);
    edf_feed(z, ones, 4);
    Forward();
    Backward(loss);
    gradient_is(1);
    edf_clear();
  }
  CHECK(failed > 5, "%d failures", failed);
}

/* The room that the compiler knew belongs to the call that stopped. */
static void a_room_of_another_feed(void) {
  const edf_real few[3] = { 1, 1, 1 };
  model();
  TRY(edf_feed(p, few, 1));
  CHECK(panicked && strstr(caught, "only an Input"), "%s", caught);
  TRY((edf_feed)(x, ramp, 4));
  CHECK(!panicked, "%s", caught);
  edf_clear();
}

static void a_reshape_after_a_forward(void) {
  fill();
  x = edf_input("x[b,4]");
  h = Relu(x);
  edf_feed(x, ones, 3);
  Forward();
  CompNode *y = Add(Reshape(Reshape(h, "s[b,2,2]"), "y[b,4]"), x);
  TRY(Reshape(h, "y[12]"));
  CHECK(panicked && strstr(caught, "its first index has no number"), "%s", caught);
  edf_feed(x, ones, 5);
  Forward();
  CHECK(y->dim[0] == 5 && y->size == 20 && y->value[19] == 2, "%d", y->dim[0]);
  edf_clear();
}

/* ---- Who watches: another loss, no memory */
static void train(int steps) {
  for (int i = 0; i < steps; i++) {
    edf_feed(x, i % 2 ? ones : ramp, 4 + i % 2);
    edf_feed(z, ones, 4 + i % 2);
    Forward();
    Backward(loss);
    SGD((edf_real)0.01);
  }
}

/* What was held for the old loss is not fed to the new one, which needs another input. */
static void another_loss(void) {
  model();
  CompNode *both = Mean(Square(Mul(Add(x, z), q)));
  CHECK(both->line == __LINE__ - 1, "%d", both->line);
  capture_begin();
  edf_doctor(loss);
  train(1);
  edf_doctor(both);
  for (int i = 0; i < 4; i++) {
    edf_feed(x, ones, 5 + i);
    edf_feed(z, ramp, 5 + i);
    Forward();
    Backward(both);
    SGD((edf_real)0.01);
  }
  capture_end();
  CHECK(inside_doctor_has().steps == 5, "%ld steps", inside_doctor_has().steps);
  edf_clear();
}

static void watch_all(void) {
  edf_doctor(loss);
  edf_trace_begin(page);
  train(2);
  edf_doctor(side);
  train(1);
  edf.eager = 1;
  Square(z);
  edf.eager = 0;
  edf_doctor(loss);
  train(1);
  edf_trace_end();
}

static void no_memory_for_who_watches(void) {
  int over = 0;
  long n = 0;
  while (!over) {
    model();
    memory.until_failure = ++n;
    capture_begin();
    TRY(watch_all());
    over = memory.until_failure > 0;
    memory.until_failure = 0;
    edf.eager = 0;
    train(2);                                                /* they go on as they are      */
    if (!over) TRY(edf_doctor(side));
    train(2);
    if (inside_traces()) TRY(edf_trace_end());
    capture_end();
    edf_clear();
    CHECK(memory.live == 0, "failure %ld leaves %ld blocks", n, memory.live);
  }
  CHECK(!panicked && n > 100, "%ld allocations: %s", n, caught);
  remove(page);
}

int main(void) {
  snprintf(page, sizeof page, "build/between.%ld.html", (long)getpid());
  RUN(a_text_is_kept);
  RUN(eager_beside_a_backward);
  RUN(eager_runs_what_is_stale);
  RUN(eager_between_steps_forward);
  RUN(eager_stop_ends_the_steps);
  RUN(a_trace_in_the_middle);
  RUN(a_trace_without_memory);
  RUN(a_stop_in_a_check);
  RUN(a_state_after_a_check);
  RUN(a_check_between_steps);
  RUN(a_mistake_between_steps);
  RUN(steps_after_a_stop);
  RUN(steps_of_another_forward);
  RUN(looks_after_a_mistake);
  RUN(looks_after_a_feed);
  RUN(looks_without_memory);
  RUN(a_room_of_another_feed);
  RUN(a_reshape_after_a_forward);
  RUN(another_loss);
  RUN(no_memory_for_who_watches);
  return harness_report();
}
