/* kernels.c - the contraction kernels. Each loop nest runs through the reference,
   the built-in kernel and the fastest one. The numbers are small
   integers, so sums are exact and every order of summation gives the same bits. Then whole
   models: a batch that is cut in two has the same bits, and so do one, two and three threads.

   Variants: double, float, asan, a BLAS (-DEDF_CBLAS), threads (-fopenmp). */

#include "harness.h"
#include "edf/slide.h"
#ifdef _OPENMP
#include <omp.h>
#endif

/* All calls of the kernel interface are here. Returns 0 if the kernel cannot assign: then
   several passes write one entry of out. */
static int contract(const edf_nest *nest, int assign, edf_real *out, const edf_real *a,
                    const edf_real *b) {
  edf_route route = edf_plan(nest);
  if (assign && route.covers == 0) return 0;
  edf_contract(&route, assign, out, a, b);
  return 1;
}

static unsigned long long state = 20240229;

static int below(int n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)n);
}

static void add(edf_nest *q, ptrdiff_t n, ptrdiff_t out, ptrdiff_t a, ptrdiff_t b) {
  edf_loop *l = &q->loop[q->n++];
  memset(l, 0, sizeof *l);
  l->n = n;
  l->s[EDF_OUT] = out;
  l->s[EDF_A] = a;
  l->s[EDF_B] = b;
}

/* ---- An operand is an array of exactly the entries that the nest reaches. Entries that it
   jumps over are NaN, so that a wrong read or write shows. */

enum { MOST = 1 << 19 };
typedef struct { edf_real *block, *base; ptrdiff_t low, size; } array;
static edf_real before[MOST], expected[MOST];
static char touched[MOST];

static int is_empty(const edf_nest *q) {
  for (int i = 0; i < q->n; i++) if (q->loop[i].n <= 0) return 1;
  return 0;
}

static void touch(const edf_nest *q, int x, int d, ptrdiff_t at) {
  if (d == q->n) {
    touched[at] = 1;
    return;
  }
  ptrdiff_t n = q->loop[d].s[x] ? q->loop[d].n : 1;
  for (ptrdiff_t i = 0; i < n; i++) touch(q, x, d + 1, at + i * q->loop[d].s[x]);
}

/* The lowest entry is block[0]: either the start of the nest moves or the pointer. */
static array array_new(edf_nest *q, int x) {
  array r = { NULL, NULL, q->start[x], 1 };
  for (int i = 0; i < q->n && !is_empty(q); i++) {
    ptrdiff_t reach = (q->loop[i].n - 1) * q->loop[i].s[x];
    if (reach < 0) r.low += reach;
    r.size += reach < 0 ? -reach : reach;
  }
  r.block = (edf_real *)malloc((size_t)r.size * sizeof *r.block);
  if (!r.block || r.size > MOST) abort();
  if (r.low > 0 || below(2)) {
    q->start[x] -= r.low;
    r.low = 0;
  }
  r.base = r.block - r.low;
  memset(touched, 0, (size_t)r.size);
  if (!is_empty(q)) touch(q, x, 0, q->start[x] - r.low);
  for (ptrdiff_t i = 0; i < r.size; i++)
    r.block[i] = touched[i] ? (edf_real)(below(7) - 3) : (edf_real)NAN;
  return r;
}

/* ---- One nest through all kernels */

/* The definition, written independently: adds all products to expected[]. */
static void define(const edf_nest *q, int d, const ptrdiff_t at[3], const array x[3]) {
  ptrdiff_t next[3];
  if (d == q->n) {
    expected[at[0] - x[0].low] += q->alpha * x[1].base[at[1]] * x[2].base[at[2]];
    return;
  }
  for (ptrdiff_t i = 0; i < q->loop[d].n; i++) {
    for (int k = 0; k < 3; k++) next[k] = at[k] + i * q->loop[d].s[k];
    define(q, d + 1, next, x);
  }
}

static long nests;

static void compare(const edf_nest *q, const array *out, const char *kernel, int assign) {
  for (ptrdiff_t i = 0; i < out->size; i++) {
    edf_real found = out->block[i], right = expected[i];
    if (found == right || (found != found && right != right)) continue;
    CHECK(0, "nest %ld, %s, assign %d: entry %td is %g, not %g", nests, kernel, assign, i,
          (double)found, (double)right);
    for (int d = 0; d < q->n; d++)
      printf("  %td: %td %td %td\n", q->loop[d].n, q->loop[d].s[0], q->loop[d].s[1],
             q->loop[d].s[2]);
    return;
  }
}

static void check(const edf_nest *nest) {
  static const char *const kernel_name[] = { "fastest", "built-in", "reference" };
  edf_nest q = *nest;
  array x[3];
  nests++;
  for (int k = 2; k >= 0; k--) x[k] = array_new(&q, k);
  size_t n = (size_t)x[0].size;
  memcpy(before, x[0].block, n * sizeof *before);
  for (size_t i = 0; i < n; i++) expected[i] = touched[i] ? 0 : (edf_real)NAN;
  define(&q, 0, q.start, x);
  for (int assign = 1; assign >= 0; assign--) {
    for (size_t i = 0; i < n && !assign; i++) expected[i] += before[i];
    for (int kernel = EDF_FASTEST; kernel <= EDF_REFERENCE; kernel++) {
      for (size_t i = 0; i < n; i++) x[0].block[i] = assign ? (edf_real)NAN : before[i];
      edf.kernel = kernel;
      if (!contract(&q, assign, x[0].base, x[1].base, x[2].base)) break;
      compare(&q, &x[0], kernel_name[kernel], assign);
    }
  }
  for (int k = 0; k < 3; k++) free(x[k].block);
  edf.kernel = EDF_FASTEST;
}

/* Checks the nest and its two backward nests, which exchange out with a factor. */
static void check3(const edf_nest *nest) {
  check(nest);
  for (int x = EDF_A; x <= EDF_B; x++) {
    edf_nest q = *nest;
    for (int i = 0; i < q.n; i++) {
      q.loop[i].s[EDF_OUT] = nest->loop[i].s[x];
      q.loop[i].s[x] = nest->loop[i].s[EDF_OUT];
    }
    q.start[EDF_OUT] = nest->start[x];
    q.start[x] = nest->start[EDF_OUT];
    check(&q);
  }
}

static edf_nest nest_new(double alpha) {
  edf_nest q;
  memset(&q, 0, sizeof q);
  q.alpha = (edf_real)alpha;
  return q;
}

/* ---- Random nests */

/* Operand x is a tensor of the loops whose bit is set in `has`, in random order. */
static void random_tensor(edf_nest *q, int x, unsigned has) {
  ptrdiff_t stride = below(8) ? 1 : 1 + below(3);
  int first = below(q->n + 1), step = below(2) ? 1 : q->n - 1;
  for (int k = 0; k < q->n; k++) {
    edf_loop *l = &q->loop[(first + k * step) % q->n];
    l->s[x] = has >> (l - q->loop) & 1 ? stride : 0;
    if (l->s[x] && l->n > 1) stride *= below(6) ? l->n : l->n + below(3);
  }
}

/* Two loops step through one dimension, as i and DI in x[b,i+DI]. Or a stride is negative. Or
   all strides are arbitrary. */
static void disturb(edf_nest *q, int x) {
  static const ptrdiff_t some[] = { 0, 0, 0, 1, 1, 2, 3, 5, 7, -1, -2, -3, 4, 12 };
  int how = below(6);
  edf_loop *l = &q->loop[below(q->n)];
  if (how == 0) for (int i = 0; i < q->n; i++) q->loop[i].s[x] = some[below(14)];
  else if (how < 3) l->s[x] = (1 + below(2)) * q->loop[below(q->n)].s[x];
  else if (how == 3) l->s[x] = -l->s[x];
}

/* Every fourth nest is a product: each loop is one of M, N, K or the outside loops. */
TEST(random_nests_are_right) {
  static const unsigned product[] = { 3, 3, 5, 5, 6, 6, 7 };   /* bit x: operand x has it */
  static const double alphas[] = { 1, 1, -1, 2, 0.5, -3 };
  for (int trial = 0; trial < 1400; trial++) {
    edf_nest q = nest_new(alphas[below(6)]);
    int is_product = trial % 4 == 0, n = is_product ? 2 + below(5) : 1 + below(7);
    ptrdiff_t total = 1, limit = trial % 40 == 0 ? 60000 : is_product ? 6000 : 3000;
    unsigned has[3] = { 0, 0, 0 };
    for (int i = 0; i < n; i++) {
      ptrdiff_t size = below(8) ? 2 + below(below(4) ? 6 : 50) : below(6) ? 1 : 0;
      unsigned in = is_product ? product[below(7)] : (unsigned)below(8);
      if (total * size > limit) size = 1 + below(2);
      if (size) total *= size;
      add(&q, size, 0, 0, 0);
      for (int x = 0; x < 3; x++) has[x] |= (in >> x & 1) << i;
    }
    for (int x = 0; x < 3; x++) {
      random_tensor(&q, x, has[x]);
      if (!is_product || below(12) == 0) disturb(&q, x);
      q.start[x] = below(3) ? 0 : below(40) - 20;
    }
    if (is_product) check3(&q);
    else check(&q);
  }
}

/* ---- Chosen nests */

/* out[M,N] += a[M,K] b[K,N]. Bit x of `tall`: operand x is column-major. */
static edf_nest matmul(ptrdiff_t M, ptrdiff_t N, ptrdiff_t K, int tall) {
  edf_nest q = nest_new(1);
  int o = tall & 1, a = tall & 2, b = tall & 4;
  add(&q, M, o ? 1 : N, a ? 1 : K, 0);
  add(&q, N, o ? M : 1, 0, b ? K : 1);
  add(&q, K, 0, a ? M : 1, b ? 1 : N);
  return q;
}

TEST(products_of_all_sizes_and_layouts_are_right) {
  static const ptrdiff_t size[] = { 1, 2, 3, 5, 8, 17, 33 };
  for (int i = 0; i < 7 * 7 * 7; i++) {
    edf_nest q = matmul(size[i % 7], size[i / 7 % 7], size[i / 49], i % 8);
    check(&q);
    q = matmul(size[i % 7], size[i / 7 % 7], size[i / 49], (i + 3) % 8);
    check(&q);
  }
}

/* Each kind of block has a second one and a remainder. Threads cut these products. */
TEST(products_of_several_blocks_are_right) {
  static const ptrdiff_t size[][4] = { { 67, 70, 301, 0 }, { 5, 530, 97, 4 }, { 530, 3, 66, 2 },
                                       { 65, 64, 84, 7 }, { 9, 10, 1100, 1 },
                                       { 531, 141, 91, 1 }, { 600, 150, 65, 5 },
                                       { 531, 141, 91, 2 }, { 600, 150, 65, 7 } };
  for (int i = 0; i < 9; i++) {
    edf_nest q = matmul(size[i][0], size[i][1], size[i][2], (int)size[i][3]);
    check(&q);
    for (int x = 0; x < 3; x++) q.loop[1].s[x] *= 2;            /* Every other column. */
    for (int x = 0; x < 3; x++) q.loop[0].s[x] = -q.loop[0].s[x];
    check(&q);
  }
}

/* ---- The same bits for any batch and any number of threads. A batch of one row is left out:
   it is a matrix times a vector, which version 2.0 sums in another order. */

enum { ROWS = 66, WIDE = 48 };
static edf_real data[ROWS * WIDE];

static edf_node *convolution(edf_node *x) {
  edf_node *w = edf_parameter("W[3,3,3,8]");
  edf_init_normal(w, 0, 1);
  x = Einsum("s[b,i,j,c] = x[b,12*i+3*j+c] | i<4, j<4, c<3", x);
  return Relu(Einsum("y[b,i,j,k] = W[DI,DJ,C,k] x[b,i+DI-1,j+DJ-1,C] | i<4, j<4", w, x));
}
static edf_node *attention(edf_node *x) {
  edf_node *w = edf_parameter("W[8,8]");
  edf_init_normal(w, 0, 1);
  x = Einsum("s[b,t,i] = x[b,8*t+i] | t<6, i<8", x);
  edf_node *a = Softmax(Einsum("a[b,t,s] = W[I,J] x[b,t,I] x[b,s,J]", w, x));
  return Einsum("y[b,t,i] = a[b,t,S] x[b,S,i]", a, x);
}
static edf_node *functions(edf_node *x) {
  /* More than 32768 entries, so that threads share the loops. */
  edf_node *h = Gelu(Tanh(Affine(edf_affine_params(WIDE, 700), x)));
  return LogSoftmax(Softplus(Exp(Softmax(Sigmoid(h)))));
}
static edf_node *recurrence(edf_node *x) {         /* Its steps share packed panels. */
  edf_node *in = edf_parameter("V[8,2,40]"), *w = edf_parameter("U[40,40]");
  edf_init_normal(in, 0, 1);
  edf_init_normal(w, 0, (edf_real)0.2);
  return edf_text("z[t,b,k,j] = V[I,k,j] x[b,8*t+I] | t<6, I<8\n"
                  "g[b,t,j] = sigmoid(z[t,b,0,j] + U[I,j] h[b,t-1,I])\n"
                  "m[b,t,j] = tanh(z[t,b,1,j] + U[I,j] h[b,t-1,I])\n"
                  "h[b,t,j] = 0.5 m[b,t,j] + g[b,t,j] m[b,t,j] + 0.25 h[b,t-1,j]",
                  in, x, w);
}
static edf_node *classes(edf_node *x) {      /* 32 rows and more: a product for each class. */
  edf_node *w = edf_parameter("W[6,700]"), *table = edf_parameter("E[4,6]");
  edf_init_normal(w, 0, 1);
  edf_init_normal(table, 0, 1);
  return edf_text("k[b] = floor(4 x[b,0] + 2)\ny[b,j] = W[I,j] E[k[b],I]", x, w, table);
}
static edf_node *terms(edf_node *x) {              /* A tile adds 0.3 of its sums. */
  edf_node *w = edf_parameter("W[187,48]"), *v = edf_parameter("V[187,48]");
  edf_init_normal(w, 0, 1);
  edf_init_normal(v, 0, 1);
  return Einsum("y[b,j] = W[j,I] x[b,I] + 0.3 V[j,I] x[b,I]", w, x, v);
}
static edf_node *(*const models[])(edf_node *x) = { convolution, attention, functions,
                                                   recurrence, classes, terms };
enum { MODELS = sizeof models / sizeof *models };

#ifdef _OPENMP
/* Returns all numbers of the graph after a Forward and a Backward, and their number. */
static edf_real *all_numbers(edf_node *y, size_t *n) {
  edf_real *numbers;
  size_t room = 0;
  edf_forward();
  edf_backward(y);
  for (int i = 0; i < edf.n_compnodes; i++) room += 2 * edf.compnodes[i]->size;
  for (int i = 0; i < edf.n_parameters; i++) room += edf.parameters[i]->size;
  numbers = (edf_real *)malloc(room * sizeof *numbers);
  *n = 0;
  for (int i = 0; i < edf.n_compnodes + edf.n_parameters; i++) {
    int param = i >= edf.n_compnodes;
    const edf_node *x = param ? edf.parameters[i - edf.n_compnodes] : edf.compnodes[i];
    if (!param) memcpy(numbers + *n, x->value, x->size * sizeof *numbers);
    *n += param ? 0 : x->size;
    memcpy(numbers + *n, x->grad, x->size * sizeof *numbers);
    *n += x->size;
  }
  return numbers;
}

/* Threads share the batch of small steps. Each value and gradient has the same bits. */
TEST(a_recurrence_has_the_same_bits_for_any_number_of_threads) {
  for (int i = 0; i < ROWS * WIDE; i++) data[i] = (edf_real)(i * 7919 % 1009 - 504) / 1009;
  edf.kernel = EDF_BUILTIN;
  edf_node *x = edf_input("x[b,%d]", WIDE), *y = recurrence(x);
  static const int rows[] = { ROWS, 13, 64, 2 };
  for (int k = 0; k < 4; k++) {
    size_t n, m;
    edf_feed(x, data, rows[k]);
    omp_set_num_threads(1);
    edf_real *one = all_numbers(y, &n);
    for (int threads = 2; threads <= 5; threads++) {
      omp_set_num_threads(threads);
      edf_real *several = all_numbers(y, &m);
      CHECK(n == m && !memcmp(one, several, n * sizeof *one), "batch %d in %d threads", rows[k],
            threads);
      free(several);
    }
    free(one);
  }
  omp_set_num_threads(3);
  edf.kernel = EDF_FASTEST;
}

/* The code of nodes that waits is run before other code reads its numbers: an infinity that a
   mask excludes has no influence, and a node of the user finds the values. */
static void sum_forward(edf_node *y) {
  const edf_node *x = y->in[0];
  size_t n = x->size / y->size;
  memset(y->value, 0, y->size * sizeof *y->value);
  for (size_t i = 0; i < x->size; i++) y->value[i / n] += x->value[i];
}
static void sum_shape(edf_node *y) {
  y->rank = 1;
  y->dim[0] = y->in[0]->dim[0];
}
TEST(waiting_nodes_run_before_their_numbers_are_read) {
  static edf_real x_data[16 * 4];
  for (int i = 0; i < 16 * 4; i++)
    x_data[i] = i % 4 == 3 ? (edf_real)INFINITY : (edf_real)(i % 7);
  edf_node *x = edf_input("x[b,4]");
  edf_node *y = edf_text("u[b,t] = sum_s x[b,s] x[b,t] | s<=t\n"          /* The mask runs */
                         "a[b,t] = 2 x[b,t]\n"                           /* before a.     */
                         "y[b,t] = sum_s a[b,s] a[b,t] | s<=t", x);
  y = Einsum("z[b,t] = y[b,t] | t<3", y);
  edf_node *sum = edf_compnode_shaped("Sums", sum_shape, sum_forward, NULL, edf_sigmoid(y));
  edf_feed(x, x_data, 16);
  edf_forward();
  for (int i = 0; i < 16; i++) {
    double wanted = 0;
    for (int t = 0; t < 3; t++) {
      double partial = 0;
      for (int s = 0; s <= t; s++) partial += 2 * (double)x_data[4 * i + s];
      partial *= 2 * (double)x_data[4 * i + t];
      wanted += 1 / (1 + exp(-partial));
      CHECK(fabs((double)y->value[3 * i + t] - partial) < 1e-4, "y[%d,%d]", i, t);
    }
    CHECK(fabs((double)sum->value[i] - wanted) < 1e-4, "sum %d", i);
  }
}
#endif

/* Runs rows of the data, and compares with what the run of all rows has left. */
static edf_real whole[ROWS * 700], grad[WIDE * 700];
static void same_bits(int model, int first, int n, int threads) {
  edf_node *x = edf.inputs[0], *y = edf.compnodes[edf.n_compnodes - 1];
  edf_feed(x, data + first * WIDE, n);
  edf_forward();
  size_t row = y->size / (size_t)n;
  CHECK(!memcmp(y->value, whole + (size_t)first * row, y->size * sizeof *whole),
        "model %d: rows %d to %d, in %d threads", model, first, first + n, threads);
}

TEST(any_batch_and_threads_give_the_same_bits) {
  static const int cuts[] = { 2, 3, 9, 31, 64 };
  for (int i = 0; i < ROWS * WIDE; i++) data[i] = (edf_real)(i * 7919 % 1009 - 504) / 1009;
  edf.kernel = EDF_BUILTIN;
  for (int k = 0; k < MODELS; k++) {
    edf_node *x = edf_input("x[b,%d]", WIDE), *y = models[k](x), *p = edf.parameters[0];
    edf_feed(x, data, ROWS);
    edf_forward();
    edf_backward(y);
    if (y->size * sizeof *whole > sizeof whole || p->size * sizeof *grad > sizeof grad) abort();
    memcpy(whole, y->value, y->size * sizeof *whole);
    memcpy(grad, p->grad, p->size * sizeof *grad);
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
      same_bits(k, 0, cuts[c], 3);
      same_bits(k, cuts[c], ROWS - cuts[c], 3);
    }
#ifdef _OPENMP
    for (int threads = 1; threads <= 3; threads++) {
      omp_set_num_threads(threads);
      same_bits(k, 0, ROWS, threads);
      edf_backward(y);
      CHECK(!memcmp(grad, p->grad, p->size * sizeof *grad), "model %d: gradients in %d threads",
            k, threads);
    }
#endif
    edf_clear();
  }
  edf.kernel = EDF_FASTEST;
}

/* ---- If x looks up rows of a table, a product of x runs once for each class. Each text runs,
   and runs again by the definition of its loops. Between two steps, somebody may change a
   number of x, of the table or a class, and a row of the table that no class reads may be NaN.
   All other numbers are integers. */
#define X "x[b,t,i] = E[k[b,t],i]\n"
#define SUM "\nL = z[B,T,J] z[B,T,J]"
static const char *const of_classes[] = {
  X "z[b,t,j] = -B[j] + 2 W[j,I] x[b,t,I]" SUM,
  X "z[b,t,j] = W[j,t] + W[j,I] x[b,t,I] | t<4" SUM,
  X "z[t,b,j] = W[j,I] x[b,t,I] - B[j]\nL = z[T,B,J] z[T,B,J]",
  X "z[b,j,t] = W[j,I] x[b,t,I]\nL = z[B,J,T] z[B,J,T]",
  X "z[b,t,j] = W[j,I] x[b,t,I] | t<5" SUM,
  X "z[b,t,j] = W[j,I] x[b,t+1,I] | t<5" SUM,
  X "z[b,t,j] = V[j,I] x[b,t,I+t] | t<3" SUM,
  X "z[b,t+1,j] = W[j,I] x[b,t,I]" SUM,
  X "z[b,t+j] = W[j,I] x[b,t,I]\nL = z[B,T] z[B,T]",
  X "z[b,j] = W[j,I] x[b,T,I]\nL = z[B,J] z[B,J]",
  X "z[t,b,j] = U[t,j,I] x[b,t,I]\nL = z[T,B,J] z[T,B,J]",
  X "g[b,t,j] = W[j,I] x[b,t,I] + B[j]\nz[i,j] = sum_b x[b,T,i] g[b,T,j]\nL = z[I,J]",
  X "y[b,t,j] = W[j,I] x[b,t,I]\nz[b,t,j] = relu(y[b,t,j]) + x[b,t,0]" SUM,
  "x[b,t,i] = E[k[b,t]-1,i] | t<6\nz[b,t,j] = W[j,I] x[b,t,I]" SUM,
  "x[b,t,i] = E[k[b,t],i+1] | i<3\nz[b,t,j] = W[j,I+1] x[b,t,I]" SUM,
  "x[b,t,i] = E[k[b,t],i+2] | i<2\nz[b,t,j] = W[j,I+2] x[b,t,I]" SUM,
  "F[c,i] = 2 E[c,i] - 1\nx[b,t,i] = F[k[b,t],i]\nz[b,t,j] = W[j,I] x[b,t,I]" SUM,
};
#undef X
#undef SUM
enum { EXAMPLES = 9, TIMES = 6, CLASSES = 3, CHANGES = 5 };
static edf_node *some_integers(const char *decl) {
  edf_node *p = edf_parameter("%s", decl);
  for (size_t i = 0; i < p->size; i++) p->value[i] = (edf_real)((int)(i * i + 3 * i) % 5 - 2);
  return p;
}
static double sum_of_integers(int backward) {
  double sum = 0;
  for (int i = 0; i < edf.n_compnodes + edf.n_parameters; i++) {
    int n = edf.n_compnodes;
    const edf_node *x = i < n ? edf.compnodes[i] : edf.parameters[i - n];
    const edf_real *v = backward ? x->grad : x->value;
    for (size_t k = 0; v && k < x->size; k++)
      if (backward || v[k] == v[k]) sum += (double)(k % 13 + 1) * (double)v[k];
  }
  return sum;
}
/* Returns the sums of all values and of all gradients. */
static void run_classes(edf_node *loss, int kernel, int change, double sum[2]) {
  static edf_real k[EXAMPLES * TIMES];
  edf_node *table = edf.parameters[0], *x = edf_find("x"), *z = edf_find("z");
  for (int i = 0; i < EXAMPLES * TIMES; i++) k[i] = (edf_real)(i * i % CLASSES);
  edf.kernel = kernel;
  edf_feed(edf.inputs[0], k, EXAMPLES);
  for (size_t i = 0; i < z->size; i++) z->value[i] = 99;       /* from a run before */
  if (change == 4) table->value[CLASSES * 4 + 1] = (edf_real)NAN;
  if (change != 1) edf_forward();
  else for (edf_node *y; (y = edf_step_forward()) != NULL; ) if (y == x) x->value[5] += 1;
  sum[0] = sum_of_integers(0);
  if (change == 2) table->value[5] += 1;
  if (change == 3) edf.inputs[0]->value[0] = CLASSES - 1;
  edf_backward(loss);
  sum[1] = sum_of_integers(1);
  if (change == 2) table->value[5] -= 1;
  if (change == 4) table->value[CLASSES * 4 + 1] = 1;
  edf.kernel = EDF_FASTEST;
}
TEST(a_product_of_a_lookup_is_right_for_each_class) {
  for (size_t i = 0; i < sizeof of_classes / sizeof *of_classes; i++) {
    some_integers("E[4,4]");
    some_integers("W[5,4]");
    some_integers("B[5]");
    some_integers("U[6,5,4]");
    some_integers("V[5,2]");
    edf_input("k[b,%d]", TIMES);
    edf_node *loss = edf_equations("%s", of_classes[i]);
    for (int change = 0; change < CHANGES; change++) {
      double is[2], wanted[2];
      run_classes(loss, EDF_BUILTIN, change, is);
      run_classes(loss, EDF_REFERENCE, change, wanted);
      for (int k = 0; k < 2; k++)
        CHECK(is[k] == wanted[k], "%s\nchange %d, %s: %.17g, not %.17g", of_classes[i], change,
              k ? "gradients" : "values", is[k], wanted[k]);
    }
    edf_clear();
  }
}

TEST(a_frozen_table_needs_no_classes_in_backward) {
  edf_node *table = some_integers("E[3,4]"), *w = some_integers("W[5,4]");
  edf_node *k = edf_input("k[b]");
  edf_node *loss = edf_equations("z[b,j] = W[j,I] E[k[b],I]\nL = z[B,J]");
  static edf_real classes_of[32];
  table->update = edf_frozen;
  edf_feed(k, classes_of, 32);
  edf_forward();
  for (int b = 0; b < 32; b++) k->value[b] = -7;
  edf_backward(loss);
  for (int i = 0; i < 4; i++) CLOSE(w->grad[i], 32 * table->value[i], 1e-6, 1e-6);
}
/* The gradients of a class, added up, may be infinite, or 0 times an infinite number of x. Then
   each row is multiplied by itself. */
TEST(a_product_of_a_lookup_has_the_infinities_of_its_rows) {
  enum { N = 64 };
  static edf_real classes_of[N], factor[N];
  edf_node *table = edf_parameter("E[2,4]"), *w = edf_parameter("W[4,4]");
  edf_node *k = edf_input("k[b]"), *c = edf_input("c[b]");
  edf_node *loss = edf_equations("z[b,j] = W[j,I] E[k[b],I]\nL = z[B,J] c[B]");
  edf_real large = (edf_real)(EDF_REAL_IS_DOUBLE ? 1e308 : 2e38);
  for (int b = 0; b < N; b++) classes_of[b] = (edf_real)(b % 2), factor[b] = large;
  for (size_t i = 0; i < table->size; i++) table->value[i] = (edf_real)1e-10;
  edf_feed(k, classes_of, N);
  edf_feed(c, factor, N);
  edf_forward();
  edf_backward(loss);
  for (size_t i = 0; i < w->size; i++) CLOSE(w->grad[i], N * 1e-10 * (double)large, 0, 1e-5);
  for (int b = 0; b < N; b++) factor[b] = b < 4 ? -1 : 1;
  table->value[1] = (edf_real)INFINITY;
  edf_feed(c, factor, N);
  edf_forward();
  edf_backward(loss);
  CHECK(isnan((double)w->grad[1]), "infinity - infinity is %g", (double)w->grad[1]);
}
TEST(a_sum_over_a_large_class_has_a_small_error) {
  enum { N = 1 << 15 };
  static edf_real classes_of[N];
  edf_node *table = edf_parameter("E[2,4]"), *w = edf_parameter("W[4,4]");
  edf_node *k = edf_input("k[b]");
  edf_node *loss = edf_equations("z[b,j] = W[j,I] E[k[b],I]\nL = 0.1 z[B,J]");
  for (size_t i = 0; i < table->size; i++) table->value[i] = 1;
  for (int b = 0; b < N; b++) classes_of[b] = (edf_real)(b % 64 == 0);
  edf_feed(k, classes_of, N);
  edf_forward();
  edf_backward(loss);
  for (size_t i = 0; i < w->size; i++) CLOSE(w->grad[i], 0.1 * N, 0, 1e-5);
}

/* ---- From its second product in a pass on, a Parameter has packed panels. Four products in a
   row read W, and a node may change W between them. The numbers are integers. */

enum { BATCH = 7, SIDE = 37 };
static edf_node *weights;
static int changes;

static void turn_weights(void) {
  for (size_t i = 0; i < weights->size; i++)
    weights->value[i] = (edf_real)((int)(i * 7 + (size_t)weights->value[0] + 5) % 3 - 1);
}
static void copy_forward(edf_node *y) {
  memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value);
  if (changes) turn_weights();
}
static void copy_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i]);
  if (changes) turn_weights();
}

/* Runs a Forward and a Backward by the kernel, or steps, with a change of W after step `at`.
   Returns the sum of all values and gradients, each with a factor of its own. */
static double sum_of(edf_node *loss, int kernel, int steps, int at) {
  double sum = 0;
  edf.kernel = kernel;
  for (size_t i = 0; i < weights->size; i++) weights->value[i] = (edf_real)((int)(i % 5) - 2);
  if (!steps) { edf_forward(); edf_backward(loss); }
  for (int k = 0; steps && edf_step_forward(); k++) if (k == at) turn_weights();
  for (int k = 0; steps && edf_step_backward(); k++) if (k == at) turn_weights();
  for (int i = 0; i < edf.n_compnodes; i++)
    for (size_t k = 0; k < edf.compnodes[i]->size; k++)
      sum += (double)(k % 11 + 1) * ((double)edf.compnodes[i]->value[k] +
                                     (double)edf.compnodes[i]->grad[k]);
  for (size_t k = 0; k < weights->size; k++) sum += (double)(k % 7) * (double)weights->grad[k];
  edf.kernel = EDF_FASTEST;
  return sum;
}

static edf_real rows[BATCH * SIDE];
static edf_node *four_products(void) {
  edf_node *x = edf_input("x[b,%d]", SIDE), *h = x;
  weights = edf_parameter("W[%d,%d]", SIDE, SIDE);
  for (int k = 0; k < 4; k++) {
    h = Einsum("y[b,j] = W[I,j] x[b,I]", weights, h);
    h = Einsum("y[b,j] = 0.015625 x[b,j]", h);
    if (changes && k < 3) h = edf_compnode("Copy", copy_forward, copy_backward, h);
  }
  h = Einsum("L = x[B,J]", h);
  edf_feed(x, rows, BATCH);
  return h;
}

TEST(a_product_reads_the_weights_as_they_are_now) {
  for (int i = 0; i < BATCH * SIDE; i++) rows[i] = (edf_real)(below(3) - 1);
  for (changes = 0; changes < 2; changes++) {
    edf_node *loss = four_products();
    for (int at = -1; at < 8; at++) {
      double is = sum_of(loss, EDF_BUILTIN, at >= 0, at);
      double wanted = sum_of(loss, EDF_REFERENCE, at >= 0, at);
      CHECK(fabs(is - wanted) <= 1e-6 * (1 + fabs(wanted)), "changes %d, step %d: %g, not %g",
            changes, at, is, wanted);
    }
    edf_clear();
  }
}

int main(void) {
#ifdef _OPENMP
  omp_set_num_threads(3);
#endif
  return harness_main();
}
