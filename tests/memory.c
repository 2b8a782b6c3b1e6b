/* memory.c - memory that edf.h takes and gives back: nothing is left after edf_clear, any
   allocation may fail, and training does not call the allocator after the first steps. */

#include "harness.h"
#include "edf_slide.h"
#include "edf_data.h"

#ifdef __SANITIZE_ADDRESS__
int __asan_address_is_poisoned(void const volatile *p);
#endif

static void nothing_is_left(const char *after) {
  edf_clear();
  CHECK(memory.live == 0, "%ld blocks are left after %s", memory.live, after);
  memory.live = 0;
}

/* ---- Four models of 12 numbers and 3 classes */

enum { ROWS = 5 };
static edf_real points[ROWS * 12], labels[ROWS];

static edf_node *mlp(edf_node *x, edf_node *y) {
  edf_node *h = Tanh(Affine(edf_affine_params(12, 4), x));
  h = Dropout(Relu(Sub(h, Square(Sigmoid(h)))), 0.25);
  h = Mul(Exp(h), Softplus(Sqrt(Add(Abs(h), Gelu(h)))));
  return Add(SoftmaxLogLoss(Affine(edf_affine_params(4, 3), h), y), Mean(Div(h, Sum(Exp(h)))));
}

static edf_node *cnn(edf_node *x, edf_node *y) {
  edf_node *W = edf_parameter("W[3,3,2]"), *image = Reshape(x, "image[b,3,4]");
  edf_init_normal(W, 0, 1);
  edf_node *h = Einsum("c[b,i,j,k] = W[DI,DJ,k] x[b,i+DI-1,j+DJ-1] | i<3, j<4", W, image);
  h = MaxPool(Relu(h), 2, 1);
  h = Einsum("u[b,i+DI,j+DJ] = W[DI,DJ,K] h[b,i,j,K]", W, h);
  return LogLoss(Softmax(Affine(edf_affine_params(20, 3), Reshape(h, "rows[b,20]"))), y);
}

static edf_node *lstm(edf_node *x, edf_node *y) {
  edf_node *h = Unroll(edf_lstm_params(6, 3), Reshape(x, "steps[b,2,6]"));
  return SoftmaxLogLoss(Affine(edf_affine_params(6, 3), Reshape(h, "rows[b,6]")), y);
}

static edf_node *slide(edf_node *x, edf_node *y) {
  (void)x;
  (void)y;
  return Equations("h[b,j] = sigmoid(U[j,I] x[b,I] - B[j])  | j<4 \n"
                   "a[b,j] = h[b,j] h[b,j] h[b,J] \n"
                   "P[b,k] = softmax_k V[k,J] a[b,J]        | k<3 \n"
                   "loss[b] = -ln P[b,y[b]]");
}

typedef edf_node *model(edf_node *x, edf_node *y);
static const struct { const char *name; model *build; } models[] = {
  { "an MLP", mlp }, { "a CNN", cnn }, { "an LSTM", lstm },
  { "a slide", slide } };
enum { MODELS = sizeof models / sizeof *models };

static edf_node *x, *y, *loss;

static void build(model *m) {
  edf_seed(1);
  x = edf_want_grad(edf_input("x[b,%d]", 12));
  y = edf_input("y[b]");
  loss = edf_name(m(x, y), "loss");
}

static void feed(int rows) {
  edf_feed(x, points, rows);
  edf_feed(y, labels, rows);
}

static void train(int steps) {
  for (int t = 0; t < steps; t++) {
    feed(t % 2 ? ROWS : 3);
    Forward();
    Backward(loss);
    edf_l2((edf_real)0.01);
    edf_clip(1);
    AdamDefault((edf_real)0.1);
  }
}

/* ---- Training in constant memory */

static long calls(void) { return memory.mallocs + memory.frees; }

static void training_allocates_only_in_the_first_steps(void) {
  for (int k = 0; k < MODELS; k++) {
    build(models[k].build);
    train(4);
    long before = calls();
    train(20);
    CHECK(before > 0 && calls() == before, "%s: %ld calls of the allocator in 20 steps",
          models[k].name, calls() - before);
    CHECK(edf.parameters[0]->steps == 24, "%s: does not train", models[k].name);
    nothing_is_left(models[k].name);
  }
}

/* ---- Every allocation fails once */

static FILE *nowhere;

static void copy_forward(edf_node *c) {
  edf_real *kept = (edf_real *)edf_state(c, c->size * sizeof *kept);
  memcpy(kept, c->in[0]->value, c->size * sizeof *kept);
  memcpy(c->value, kept, c->size * sizeof *kept);
}
static void copy_backward(edf_node *c) {
  for (size_t i = 0; i < c->size; i++) edf_addgrad(c->in[0], i, c->grad[i]);
}

static edf_node *custom(edf_node *from, edf_node *to) {
  edf_node *h = edf_compnode("Copy", copy_forward, copy_backward, mlp(from, to));
  return Mean(edf_formula(h, "y[@] = x[@]", "x.grad[@] += y.grad[@]"));
}

/* What a program does after it has built the model and has run Forward */
static void train_twice(void) { train(2); }
static void check_it(void) { edf_gradcheck(loss); }
static void print_it(void) {
  edf_print(loss);
  edf_print_node(nowhere, x);
  edf_print_program(nowhere);
}
static void rebuild_it(void) {
  edf_clear_compnodes();
  edf.eager = 1;
  Einsum(edf_fmt("d = %g x[B,I] x[B,I]", 0.5), x);
}
static void step_through_it(void) {
  edf_step_forward();
  while (edf_step_backward()) {}
}
static void save_and_load_it(void) {
  train(1);
  edf_save(file("model"));
  edf_load(file("model"));
}

static const struct { const char *name; model *build; void (*use)(void); } programs[] = {
  { "an MLP", mlp, train_twice },
  { "a CNN", cnn, train_twice },
  { "an LSTM", lstm, train_twice },
  { "a slide", slide, train_twice },
  { "a printed CNN", cnn, print_it },
  { "a printed slide", slide, print_it },
  { "a checked slide", slide, check_it },
  { "a checked custom node", custom, check_it },
  { "a new graph", slide, rebuild_it },
  { "steps", slide, step_through_it },
  { "a saved slide", slide, save_and_load_it },
};

static void run(int k) {
  build(programs[k].build);
  feed(3);
  Forward();
  programs[k].use();
}

static void run_silently(int k) {
  capture_begin();
  TRY(run(k));
  capture_end();
}

static void every_allocation_may_fail(void) {
  make_directory("memory");
  nowhere = fopen("/dev/null", "w");
  run_silently(0);
  nothing_is_left("a run");
  int fd = lowest_free_fd();
  for (int k = 0; k < (int)(sizeof programs / sizeof *programs); k++) {
    const char *name = programs[k].name;
    long n = 0;
    do {
      memory.until_failure = ++n;
      run_silently(k);
      int failed = !memory.until_failure;
      memory.until_failure = 0;
      edf.eager = 0;
      CHECK(panicked == failed, "%s, allocation %ld: an error? %s", name, n, caught);
      if (failed) WORDS(caught, "memory|bytes");
      CHECK(lowest_free_fd() == fd, "%s: a file is open after failure %ld", name, n);
      nothing_is_left(name);
      if (!failed) break;
    } while (harness.bad == 0);
    CHECK(n > 10, "%s has only %ld allocations", name, n - 1);
  }
  fclose(nowhere);
  remove_directory();
}

/* ---- Arrays that are too large */

/* impl.c poisons the bytes after an array. So asan finds a write after the last entry. */
#ifdef __SANITIZE_ADDRESS__
static void arrays_are_guarded(void) {
  edf_node *p = edf_parameter("p[5]");
  CHECK(!__asan_address_is_poisoned(p->value + 4), "the last entry is poisoned");
  CHECK(__asan_address_is_poisoned(p->value + 5), "the entry after the last is not poisoned");
  nothing_is_left("a Parameter");
}
#endif

int main(void) {
  for (int i = 0; i < ROWS * 12; i++) points[i] = (edf_real)((i * 7 % 11) / 11.0 - 0.4);
  for (int i = 0; i < ROWS; i++) labels[i] = (edf_real)(i % 3);
  RUN(training_allocates_only_in_the_first_steps);
  RUN(every_allocation_may_fail);
#ifdef __SANITIZE_ADDRESS__
  RUN(arrays_are_guarded);
#endif
  CHECK(memory.mallocs > 0 && memory.frees > 0, "EDF_MALLOC or EDF_FREE was never called");
  return harness_report();
}
