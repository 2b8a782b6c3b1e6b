/* memory.c - memory that edf.h takes and gives back: nothing is left after edf_clear, any
   allocation may fail, and training does not call the allocator after the first steps. */

#include "models.h"
#include "edf/data.h"
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
int __asan_address_is_poisoned(void const volatile *p);
#endif

static edf_node *loss;

static void build(int model) {
  edf_seed(1);
  declare_plain(models[model].tensors);
  models[model].build();
  loss = edf.compnodes[edf.n_compnodes - 1];
}

static void feed(int rows) {
  for (int i = 0; i < edf.n_inputs; i++) edf_feed(edf.inputs[i], edf.inputs[i]->value, rows);
}

static void train(int steps) {
  for (int t = 0; t < steps; t++) {
    feed(t % 2 ? BATCH : 2);
    Forward();
    Backward(loss);
    edf_l2((edf_real)0.01);
    edf_clip(1);
    AdamDefault((edf_real)0.1);
  }
}

/* ---- Training in constant memory */

static long calls(void) { return memory.mallocs + memory.frees; }

TEST(training_allocates_only_in_the_first_steps) {
  for (int k = 0; k < MODELS; k++) {
    build(k);
    train(4);
    long before = calls();
    train(20);
    CHECK(before > 0 && calls() == before, "model %d: %ld calls of the allocator", k,
          calls() - before);
    CHECK(edf.parameters[0]->steps == 24, "model %d does not train", k);
    harness_clear(__FILE__, __LINE__, models[k].tensors);
  }
}

/* ---- Memory beside the arrays, and time to read a text */

TEST(an_einsum_needs_at_most_12_KB) {
  enum { EQUATIONS = 100 };
  edf_node *a = edf_parameter("a[4,4]"), *y = edf_parameter("b[4]");
  size_t before = memory.bytes;
  for (int k = 0; k < EQUATIONS; k++) y = Einsum("y[i] = a[i,J] b[J]", a, y);
  edf_forward();
  edf_backward(y);
  size_t each = (memory.bytes - before) / EQUATIONS;
  CHECK(each <= 12 * 1024, "an Einsum takes %zu bytes", each);
}

/* CPU seconds to read n lines. In a line, # is its number, and @ is the number before. */
static double seconds_to_read(const char *line, int n) {
  edf_page page = { NULL, 0 };
  edf_input("x[b,4]");
  edf_write(&page, "h0[b,j] = tanh(x[b,j])\n");
  for (int k = 1; k < n; k++)
    for (const char *c = line; *c; c++)
      if (*c == '#' || *c == '@') edf_write(&page, "%d", k - (*c == '@'));
      else edf_write(&page, "%c", *c);
  clock_t begin = clock();
  edf_equations("%s", page.at);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  edf_release(page.at);
  edf_clear();
  return seconds;
}
TEST(reading_is_linear_in_lines) {
  static const char *const lines[] = {
    "h#[b,j] = tanh(h@[b,j] + x[b,j])\n",
    "h#[b,j] = tanh(W#[j,I] h@[b,I] - B#[j]) | j<4\n",
    "parameter p#[4]\nh#[b,j] = p#[j] h@[b,j]\n",
    "y[b,j] += # x[b,j]\n",
    "h#[b,j] = h@[b,j] + h#[b,j-1]\n",
  };
#ifdef __SANITIZE_ADDRESS__
  enum { LINES = 1 };                    /* It takes long there. */
#else
  enum { LINES = sizeof lines / sizeof *lines };
#endif
  for (int k = 0; k < LINES; k++) {
    double few = HUGE_VAL, many = HUGE_VAL;
    for (int turn = 0; turn < 3; turn++) {
      few = fmin(few, seconds_to_read(lines[k], 750));
      many = fmin(many, seconds_to_read(lines[k], 3000));
    }
    CHECK(many < 8 * few, "3000 lines take %.3f s, 750 lines %.3f s: %s", many, few, lines[k]);
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

/* What a program does after it has built the model and has run Forward */
static void train_twice(void) { train(2); }
static void check_it(void) { edf_gradcheck(loss); }
static void check_a_custom_node(void) {
  edf_node *h = edf_compnode("Copy", copy_forward, copy_backward, loss);
  edf_formula(h, "y[@] = x[@]", "x.grad[@] += y.grad[@]");
  edf_forward();
  edf_gradcheck(h);
}
static void print_it(void) {
  edf_print(loss);
  edf_print_node(nowhere, edf.inputs[0]);
  edf_print_program(nowhere);
}
static void rebuild_it(void) {
  edf_clear_compnodes();
  edf.eager = 1;
  Einsum(edf_fmt("d = %g x[B,I] x[B,I]", 0.5), edf.inputs[0]);
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

static const struct { const char *name; int model; void (*use)(void); } programs[] = {
  { "an MLP", MLP, train_twice },
  { "a convolution", CONVOLUTION, train_twice },
  { "an LSTM", LSTM, train_twice },
  { "a slide", SLIDE_WITH_CLASSES, train_twice },
  { "a printed convolution", CONVOLUTION, print_it },
  { "a printed slide", SLIDE_WITH_CLASSES, print_it },
  { "a checked slide", SLIDE_WITH_CLASSES, check_it },
  { "a checked custom node", MLP, check_a_custom_node },
  { "a new graph", SLIDE_WITH_CLASSES, rebuild_it },
  { "steps", SLIDE_WITH_CLASSES, step_through_it },
  { "a saved slide", SLIDE_WITH_CLASSES, save_and_load_it },
};

static void run(int k) {
  build(programs[k].model);
  feed(BATCH);
  Forward();
  programs[k].use();
}

TEST(every_allocation_may_fail) {
  nowhere = fopen("/dev/null", "w");
  CAPTURE(run(0));
  harness_clear(__FILE__, __LINE__, "a run");
  int fd = lowest_free_fd();
  for (int k = 0; k < (int)(sizeof programs / sizeof *programs); k++) {
    const char *name = programs[k].name;
    long n = 0;
    do {
      memory.until_failure = ++n;
      CAPTURE(run(k));
      int failed = !memory.until_failure;
      memory.until_failure = 0;
      edf.eager = 0;
      CHECK(panicked == failed, "%s, allocation %ld: an error? %s", name, n, caught);
      if (failed) WORDS(caught, "memory|bytes");
      CHECK(lowest_free_fd() == fd, "%s: a file is open after failure %ld", name, n);
      harness_clear(__FILE__, __LINE__, name);
      if (!failed) break;
    } while (harness.bad == 0);
    CHECK(n > 10, "%s has only %ld allocations", name, n - 1);
  }
  fclose(nowhere);
}

/* ---- Arrays that are too large */

/* impl.c poisons the bytes after an array. So asan finds a write after the last entry. */
#ifdef __SANITIZE_ADDRESS__
TEST(arrays_are_guarded) {
  edf_node *p = edf_parameter("p[5]");
  CHECK(!__asan_address_is_poisoned(p->value + 4), "the last entry is poisoned");
  CHECK(__asan_address_is_poisoned(p->value + 5), "the entry after the last is not poisoned");
}
#endif

int main(void) { return harness_main(); }
