/* The contraction kernels against brute force: thousands of random loop nests and the nests of
   every kind of product that networks need, through all kernels; and the planner by itself.
   Numbers are small integers, for which float is exact: results are compared bit by bit.

   With OpenMP everything that can be cut is cut, into three slices.

   Built as: float double none cblas blis openmp sanitized optimised */

#include "harness.h"
#include "edf.h"
#include "inside.h"
#ifdef _OPENMP
#include <omp.h>
#endif

#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#elif defined __has_feature
#if __has_feature(address_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

static unsigned long long state = 20240229;

static int below(int n) {                                    /* 0 .. n-1 */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)n);
}

/* ---- Nests by hand */

static edf_nest nest_new(double alpha) {
  edf_nest q;
  memset(&q, 0, sizeof q);
  q.alpha = (edf_real)alpha;
  return q;
}

static void add(edf_nest *q, ptrdiff_t n, ptrdiff_t out, ptrdiff_t a, ptrdiff_t b) {
  edf_loop *l = &q->loop[q->n++];
  l->n = n;
  l->s[EDF_OUT] = out; l->s[EDF_A] = a; l->s[EDF_B] = b;
}

/* The backward nest for operand x: it changes roles with the output. */
static edf_nest swapped(edf_nest q, int x) {
  ptrdiff_t t;
  for (int i = 0; i < q.n; i++) {
    t = q.loop[i].s[EDF_OUT]; q.loop[i].s[EDF_OUT] = q.loop[i].s[x]; q.loop[i].s[x] = t;
  }
  t = q.start[EDF_OUT]; q.start[EDF_OUT] = q.start[x]; q.start[x] = t;
  return q;
}

static const char *text(const edf_nest *q) {
  static char s[2048];
  int at = 0;
  for (int i = 0; i < q->n; i++)
    at += snprintf(s + at, sizeof s - (size_t)at, "%td:%td,%td,%td ", q->loop[i].n,
                   q->loop[i].s[0], q->loop[i].s[1], q->loop[i].s[2]);
  snprintf(s + at, sizeof s - (size_t)at, "start %td,%td,%td alpha %g", q->start[0],
           q->start[1], q->start[2], (double)q->alpha);
  return s;
}

/* ---- Brute force, without recursion and without the header's code: an odometer */

typedef struct { ptrdiff_t at[EDF_MAX_INDEX], offset[3]; } odometer;

static int first(const edf_nest *q, odometer *o) {           /* 0: the nest is empty */
  memset(o->at, 0, sizeof o->at);
  for (int x = 0; x < 3; x++) o->offset[x] = q->start[x];
  for (int i = 0; i < q->n; i++) if (q->loop[i].n <= 0) return 0;
  return 1;
}

static int next(const edf_nest *q, odometer *o) {
  for (int i = q->n - 1; i >= 0; i--) {
    const edf_loop *l = &q->loop[i];
    if (++o->at[i] < l->n) {
      for (int x = 0; x < 3; x++) o->offset[x] += l->s[x];
      return 1;
    }
    for (int x = 0; x < 3; x++) o->offset[x] -= (l->n - 1) * l->s[x];
    o->at[i] = 0;
  }
  return 0;
}

/* ---- An operand in a guarded array: entries that the nest does not touch are NaN */

typedef struct { edf_real *block, *base, *copy; char *touched; ptrdiff_t lo, size; } array;

static void *take(ptrdiff_t n, size_t each) {
  void *p = calloc((size_t)n, each);
  if (!p) abort();
  return p;
}

/* Either the pointer or the nest's start is moved so that the lowest entry lies behind the
   guard. The sanitizer guards better than we do, where there is nothing in between. */
static void array_new(array *r, edf_nest *q, int x) {
  ptrdiff_t lo = q->start[x], hi = lo, guard = SANITIZED ? 0 : 1 + below(9), shift;
  for (int i = 0; i < q->n; i++) {
    ptrdiff_t reach = (q->loop[i].n - 1) * q->loop[i].s[x];
    if (q->loop[i].n > 0) { if (reach < 0) lo += reach; else hi += reach; }
  }
  r->size = hi - lo + 1 + 2 * guard;
  r->block = (edf_real *)take(r->size, sizeof *r->block);
  r->copy = (edf_real *)take(r->size, sizeof *r->copy);
  r->touched = (char *)take(r->size, 1);
  shift = guard - lo;
  if (shift < 0 || below(2)) { q->start[x] += shift; r->base = r->block; r->lo = 0; }
  else { r->base = r->block + shift; r->lo = shift; }
  for (ptrdiff_t i = 0; i < r->size; i++) r->block[i] = (edf_real)NAN;
}

static void array_free(array *r) { free(r->block); free(r->copy); free(r->touched); }

/* The loops in which operand x does not move come to the same entries again. */
static void array_fill(array *r, const edf_nest *nest, int x) {
  edf_nest q = *nest;
  odometer o;
  if (!first(nest, &o)) return;
  q.n = 0;
  for (int i = 0; i < nest->n; i++) if (nest->loop[i].s[x]) q.loop[q.n++] = nest->loop[i];
  first(&q, &o);
  do {
    ptrdiff_t i = r->lo + o.offset[x];
    if (!r->touched[i]) r->block[i] = (edf_real)(below(7) - 3);
    r->touched[i] = 1;
  } while (next(&q, &o));
}

/* ---- One nest through one kernel */

typedef struct { edf_nest nest; array x[3]; double *sum; ptrdiff_t distinct; } trial;

static void trial_new(trial *t, const edf_nest *nest) {
  odometer o;
  t->nest = *nest;
  for (int x = 0; x < 3; x++) {
    array_new(&t->x[x], &t->nest, x);
    array_fill(&t->x[x], &t->nest, x);
  }
  t->sum = (double *)take(t->x[0].size, sizeof *t->sum);
  t->distinct = 0;
  for (ptrdiff_t i = 0; i < t->x[0].size; i++) t->distinct += t->x[0].touched[i];
  memcpy(t->x[0].copy, t->x[0].block, (size_t)t->x[0].size * sizeof(edf_real));
  if (first(&t->nest, &o)) do {
    t->sum[t->x[0].lo + o.offset[0]] += (double)t->nest.alpha
      * (double)t->x[1].base[o.offset[1]] * (double)t->x[2].base[o.offset[2]];
  } while (next(&t->nest, &o));
}

static void trial_free(trial *t) {
  for (int x = 0; x < 3; x++) array_free(&t->x[x]);
  free(t->sum);
}

/* out as it was, or over garbage, where the kernel is to assign */
static void trial_reset(trial *t, int assign) {
  array *out = &t->x[0];
  for (ptrdiff_t i = 0; i < out->size; i++)
    out->block[i] = assign ? (edf_real)NAN : out->copy[i];
}

static void trial_compare(const trial *t, int assign, const char *what) {
  const array *out = &t->x[0];
  for (ptrdiff_t i = 0; i < out->size; i++) {
    edf_real found = out->block[i], was = assign ? 0 : out->copy[i];
    edf_real expected = out->touched[i] ? (edf_real)((double)was + t->sum[i]) : (edf_real)NAN;
    if (found == expected || (found != found && expected != expected)) continue;
    CHECK(0, "%s, assign %d, entry %td is %g and should be %g, of %s", what, assign,
          i - out->lo, (double)found, (double)expected, text(&t->nest));
    return;
  }
}

static const char *const kernel_name[] = { "fastest", "builtin", "reference" };

/* The reference has no blocks: of a large nest once is enough, below. */
static int large(const edf_nest *q) {
  double points = 1;
  for (int i = 0; i < q->n; i++) points *= (double)q->loop[i].n;
  return points > 1e5;
}

static void through_all_kernels(trial *t) {
  edf_route route = edf_plan(&t->nest);
  int last = large(&t->nest) ? EDF_BUILTIN : EDF_REFERENCE;
  CHECK(route.covers == 0 || route.covers == (size_t)t->distinct,
        "covers %zu of %td entries of %s", route.covers, t->distinct, text(&t->nest));
  for (edf.kernel = EDF_FASTEST; edf.kernel <= last; edf.kernel++)
    for (int assign = 0; assign <= (route.covers > 0); assign++) {
      trial_reset(t, assign);
      edf_contract(&route, assign, t->x[0].base, t->x[1].base, t->x[2].base);
      trial_compare(t, assign, kernel_name[edf.kernel]);
    }
  edf.kernel = EDF_FASTEST;
  trial_reset(t, 0);
  edf_contract_reference(&t->nest, t->x[0].base, t->x[1].base, t->x[2].base);
  trial_compare(t, 0, "edf_contract_reference");
}

/* ---- What must hold of every plan */

static ptrdiff_t group_extent(const edf_route *r, int g) {
  ptrdiff_t n = 1;
  for (int i = r->first[g]; i < r->first[g + 1]; i++) n *= r->nest.loop[i].n;
  return n;
}

static int can_fuse(const edf_loop *i, const edf_loop *j) {
  for (int x = 0; x < 3; x++) if (i->s[x] != j->n * j->s[x]) return 0;
  return 1;
}

static void canonical(const edf_route *r, const edf_nest *nest) {
  const edf_nest *q = &r->nest;
  CHECK(q->n <= nest->n, "the plan has more loops than %s", text(nest));
  for (int i = 0; i < q->n; i++) {
    const edf_loop *l = &q->loop[i];
    if (l->n <= 0) return;                               /* an empty nest may stay as it is */
    CHECK(l->n > 1, "an extent of %td in the plan of %s", l->n, text(nest));
    CHECK(l->s[0] || l->s[1] || l->s[2], "a loop over nothing in the plan of %s", text(nest));
    for (int j = 0; j < q->n; j++)
      CHECK(i == j || !can_fuse(l, &q->loop[j]), "loops %d and %d are one: %s", i, j, text(q));
  }
}

/* M has a stride in out and a, N in out and b, K in a and b: the third is 0. */
static void classified(const edf_route *r) {
  for (int g = 0; g < 3; g++) {
    int without = g == 0 ? EDF_B : g == 1 ? EDF_A : EDF_OUT;
    CHECK(r->first[g] <= r->first[g + 1], "groups out of order");
    for (int i = r->first[g]; i < r->first[g + 1]; i++)
      for (int x = 0; x < 3; x++)
        CHECK((r->nest.loop[i].s[x] == 0) == (x == without), "loop %d is no %c of %s", i,
              "MNK"[g], text(&r->nest));
    CHECK(r->extent[g] == group_extent(r, g), "extent of %c", "MNK"[g]);
  }
  CHECK(r->first[3] == r->nest.n, "the groups end at %d of %d", r->first[3], r->nest.n);
  CHECK(group_extent(r, 2) > 1 && group_extent(r, 0) * group_extent(r, 1) > 1,
        "no product in %s", text(&r->nest));
}

/* The offset of item k of group g in operand x, its loops flattened */
static ptrdiff_t item(const edf_route *r, int g, int x, ptrdiff_t k) {
  ptrdiff_t offset = 0;
  for (int i = r->first[g + 1] - 1; i >= r->first[g]; i--) {
    offset += k % r->nest.loop[i].n * r->nest.loop[i].s[x];
    k /= r->nest.loop[i].n;
  }
  return offset;
}

/* What BLAS reads in place must be a matrix: even steps, one of them 1, and no overlap. */
static void direct_is_a_matrix(const edf_route *r, int x) {
  int g = x == EDF_B ? 2 : 0, h = x == EDF_A ? 2 : 1;        /* out [M,N], a [M,K], b [K,N] */
  const edf_matrix *m = &r->matrix[x];
  ptrdiff_t rows = group_extent(r, g), columns = group_extent(r, h), bad = 0;
  if (!m->direct) return;
  for (ptrdiff_t k = 0; k < rows; k++) bad += item(r, g, x, k) != k * m->row.step && rows > 1;
  for (ptrdiff_t k = 0; k < columns; k++)
    bad += item(r, h, x, k) != k * m->column.step && columns > 1;
  CHECK(bad == 0, "operand %d is direct with uneven steps, of %s", x, text(&r->nest));
  if (m->tall)
    CHECK((m->row.step == 1 || rows == 1) && (columns == 1 || m->column.step >= rows),
          "operand %d is no column-major matrix, of %s", x, text(&r->nest));
  else
    CHECK((m->column.step == 1 || columns == 1) && (rows == 1 || m->row.step >= columns),
          "operand %d is no row-major matrix, of %s", x, text(&r->nest));
}

static int same_nest(const edf_nest *p, const edf_nest *q) {
  if (p->n != q->n || p->alpha != q->alpha) return 0;
  for (int i = 0; i < p->n; i++)
    if (memcmp(&p->loop[i], &q->loop[i], sizeof p->loop[i])) return 0;
  return !memcmp(p->start, q->start, sizeof p->start);
}

static int same_route(const edf_route *p, const edf_route *q) {
  if (!same_nest(&p->nest, &q->nest) || p->product != q->product || p->covers != q->covers)
    return 0;
  if (!p->product) return 1;
  for (int g = 0; g < 3; g++)
    if (p->first[g] != q->first[g] || p->matrix[g].direct != q->matrix[g].direct
        || p->matrix[g].tall != q->matrix[g].tall) return 0;
  return 1;
}

static void plan_is_sound(const edf_nest *nest) {
  edf_route r = edf_plan(nest), again = edf_plan(nest), twice = edf_plan(&r.nest);
  canonical(&r, nest);
  CHECK(same_route(&r, &again), "two plans of one nest differ: %s", text(nest));
  CHECK(same_route(&r, &twice), "the plan of its plan differs: %s", text(nest));
  if (!r.product) return;
  classified(&r);
  for (int x = 0; x < 3; x++) direct_is_a_matrix(&r, x);
}

static edf_route check(const edf_nest *nest) {
  trial t;
  trial_new(&t, nest);
  plan_is_sound(&t.nest);
  through_all_kernels(&t);
  trial_free(&t);
  return edf_plan(nest);
}

/* The nest and both of its backward passes */
static void check3(const edf_nest *nest) {
  edf_nest a = swapped(*nest, EDF_A), b = swapped(*nest, EDF_B);
  check(nest);
  check(&a);
  check(&b);
}

/* ---- Random nests */

static ptrdiff_t random_stride(void) {
  static const ptrdiff_t some[] = { 0, 0, 0, 1, 1, 2, 3, 5, 7, -1, -2, -3, 4, 12 };
  return some[below((int)(sizeof some / sizeof *some))];
}

static void shuffle(int *p, int n) {
  for (int i = 0; i < n; i++) p[i] = i;
  for (int i = n - 1; i > 0; i--) {
    int j = below(i + 1), t = p[i];
    p[i] = p[j]; p[j] = t;
  }
}

/* Operand x as a tensor with the indices whose bit is set in `has`, in random order */
static void tensor_strides(edf_nest *q, int x, unsigned has) {
  int order[EDF_MAX_INDEX];
  ptrdiff_t stride = below(8) ? 1 : 1 + below(3);
  shuffle(order, q->n);
  for (int k = 0; k < q->n; k++) {
    edf_loop *l = &q->loop[order[k]];
    l->s[x] = has >> order[k] & 1 ? stride : 0;
    if (l->s[x] && l->n > 1) stride *= below(6) ? l->n : l->n + below(3);
  }
}

/* Some index steps like another, as DI in x[b,i+DI]; or every stride is anything. */
static void disturb(edf_nest *q, int x) {
  if (below(4) == 0)
    for (int i = 0; i < q->n; i++) q->loop[i].s[x] = random_stride();
  else if (q->n > 1 && below(3) == 0)
    q->loop[below(q->n)].s[x] = (1 + below(2)) * q->loop[below(q->n)].s[x];
  else if (q->n > 0 && below(4) == 0) {
    edf_loop *l = &q->loop[below(q->n)];
    l->s[x] = -l->s[x];
  }
}

static edf_nest random_nest(void) {
  static const double alphas[] = { 1, 1, -1, 2, 0.5, -3 };
  edf_nest q = nest_new(alphas[below(6)]);
  ptrdiff_t limit = below(20) ? 3000 : 40000, total = 1;
  int n = below(8);
  for (int i = 0; i < n; i++) {
    ptrdiff_t extent = below(8) == 0 ? 1 : below(40) == 0 ? 0 : 2 + below(below(3) ? 4 : 30);
    if (total * extent > limit) extent = 1 + below(2);
    if (extent) total *= extent;
    add(&q, extent, 0, 0, 0);
  }
  for (int x = 0; x < 3; x++) {
    tensor_strides(&q, x, (unsigned)below(1 << 8));
    disturb(&q, x);
    q.start[x] = below(3) ? 0 : below(40) - 20;
  }
  return q;
}

/* A product: each loop is one of M, N, K or the batch, and the layouts are random. */
static edf_nest random_product(void) {
  static const unsigned char operands[] = { 3, 3, 5, 5, 6, 6, 7 };   /* bit 0 out, 1 a, 2 b */
  edf_nest q = nest_new(1);
  ptrdiff_t total = 1, limit = below(10) ? 8000 : 120000;
  unsigned has[3] = { 0, 0, 0 };
  int n = 2 + below(5);
  for (int i = 0; i < n; i++) {
    ptrdiff_t extent = 1 + below(below(4) ? 9 : 60);
    unsigned char in = operands[below(7)];
    if (total * extent > limit) extent = 2;
    total *= extent;
    add(&q, extent, 0, 0, 0);
    for (int x = 0; x < 3; x++) has[x] |= (unsigned)(in >> x & 1) << i;
  }
  for (int x = 0; x < 3; x++) {
    tensor_strides(&q, x, has[x]);
    if (below(12) == 0) disturb(&q, x);
  }
  return q;
}

static void random_nests(void) {
  for (int i = 0; i < (SANITIZED ? 2000 : 6000); i++) {
    edf_nest q = random_nest();
    check(&q);
  }
}

static void random_products(void) {
  for (int i = 0; i < (SANITIZED ? 300 : 1000); i++) {
    edf_nest q = random_product();
    check3(&q);
  }
}

/* ---- Products of matrices */

/* out[M,N] += a[M,K] b[K,N], each row-major or (its bit in `tall`) column-major */
static edf_nest matmul(ptrdiff_t M, ptrdiff_t N, ptrdiff_t K, int tall) {
  edf_nest q = nest_new(1);
  int o = tall & 1, a = tall & 2, b = tall & 4;
  add(&q, M, o ? 1 : N, a ? 1 : K, 0);
  add(&q, N, o ? M : 1, 0, b ? K : 1);
  add(&q, K, 0, a ? M : 1, b ? 1 : N);
  return q;
}

static void matmul_in_all_layouts(void) {
  static const ptrdiff_t size[] = { 1, 2, 3, 8, 17, 33 };
  for (int tall = 0; tall < 8; tall++)
    for (int i = 0; i < 6 * 6 * 6; i++) {
      edf_nest q = matmul(size[i % 6], size[i / 6 % 6], size[i / 36], tall);
      check(&q);
    }
}

/* Large enough that every kind of block has a second one and an end */
static void matmul_in_blocks(void) {
  static const ptrdiff_t size[][3] = { { 203, 131, 301 }, { 5, 700, 97 }, { 1030, 3, 66 },
                                       { 65, 64, 784 }, { 9, 10, 2500 } };
  for (int i = 0; i < (SANITIZED ? 1 : 5); i++)
    for (int tall = 0; tall < 8; tall += 1 + 2 * SANITIZED) {
      edf_nest q = matmul(size[i][0], size[i][1], size[i][2], tall);
      check(&q);
      for (int l = 0; l < 3; l++)                            /* packed: no step is 1 */
        for (int x = 0; x < 3; x++) q.loop[l].s[x] *= 2;
      check(&q);
      for (int x = 0; x < 3; x++) q.loop[0].s[x] = -q.loop[0].s[x];
      check(&q);
    }
}

static void matmul_of_views(void) {                          /* rows of a wider matrix */
  edf_nest q = nest_new(-2);
  add(&q, 19, 40, 30, 0);
  add(&q, 23, 1, 0, 50);
  add(&q, 29, 0, 1, 1);
  q.start[EDF_OUT] = 7; q.start[EDF_A] = 1; q.start[EDF_B] = 12;
  check3(&q);
}

static void matrix_and_vector(void) {
  edf_nest q = nest_new(1), p = nest_new(1);
  add(&q, 37, 1, 53, 0); add(&q, 53, 0, 1, 1);               /* y[i] = A[i,J] x[J] */
  add(&p, 37, 2, 1, 0); add(&p, 53, 0, 37, 3);               /* y[2i] = A[J,i] x[3J] */
  check3(&q);
  check3(&p);
}

static void batched(void) {
  for (int inner = 0; inner < 2; inner++) {                 /* batch outside, batch innermost */
    ptrdiff_t B = 5, M = 11, N = 7, K = 13, f = inner ? B : 1;
    edf_nest q = nest_new(1);
    add(&q, B, inner ? 1 : M * N, inner ? 1 : M * K, inner ? 1 : K * N);
    add(&q, M, N * f, K * f, 0);
    add(&q, N, f, 0, f);
    add(&q, K, 0, f, N * f);
    check3(&q);
  }
}

static void affine(void) {                                   /* y[b,j] = W[I,j] x[b,I] */
  for (int transposed = 0; transposed < 2; transposed++) {
    ptrdiff_t B = 31, n_in = 85, n_out = 10;
    edf_nest q = nest_new(1);
    add(&q, B, n_out, n_in, 0);
    add(&q, n_out, 1, 0, transposed ? n_in : 1);
    add(&q, n_in, 0, 1, transposed ? 1 : n_out);
    check3(&q);
  }
}

/* a[b,h,t,s] = 0.5 Q[b,h,t,I] K[b,h,s,I], and c[b,h,t,d] = a[b,h,t,S] V[b,h,S,d]; tensors are
   stored [b,t,h,d], as a projection leaves them, or [b,h,t,d]. */
static void attention(void) {
  ptrdiff_t B = 2, H = 3, T = 9, D = 8;
  for (int bhtd = 0; bhtd < 2; bhtd++) {
    ptrdiff_t h = bhtd ? T * D : D, t = bhtd ? D : H * D, b = T * H * D;
    edf_nest scores = nest_new(0.5), context = nest_new(1);
    add(&scores, B, H * T * T, b, b);
    add(&scores, H, T * T, h, h);
    add(&scores, T, T, t, 0);
    add(&scores, T, 1, 0, t);
    add(&scores, D, 0, 1, 1);
    check3(&scores);
    add(&context, B, b, H * T * T, b);
    add(&context, H, h, T * T, h);
    add(&context, T, t, T, 0);
    add(&context, T, 0, 1, t);
    add(&context, D, 1, 0, 1);
    check3(&context);
  }
}

/* ---- Convolutions of 1 to 3 dimensions, "valid": y[b,i..,k] = W[D..,C,k] x[b,s i+d D..,C] */

typedef struct { int dims, batch, size, width, stride, dilation, channels, out, nchw; } conv;

static ptrdiff_t power(ptrdiff_t x, int n) {
  ptrdiff_t y = 1;
  while (n-- > 0) y *= x;
  return y;
}

static edf_nest conv_nest(const conv *c) {
  ptrdiff_t n = (c->size - 1 - c->dilation * (c->width - 1)) / c->stride + 1;
  ptrdiff_t pixels = power(c->size, c->dims), places = power(n, c->dims);
  ptrdiff_t taps = power(c->width, c->dims), C = c->channels, K = c->out;
  ptrdiff_t x = c->nchw ? 1 : C, y = c->nchw ? 1 : K, w = c->nchw ? 1 : C * K;
  edf_nest q = nest_new(1);
  add(&q, c->batch, places * K, pixels * C, 0);
  for (int d = 0; d < c->dims; d++) {                        /* the last dimension first */
    add(&q, n, y, x * c->stride, 0);
    add(&q, c->width, 0, x * c->dilation, w);
    y *= n; x *= c->size; w *= c->width;
  }
  add(&q, C, 0, c->nchw ? pixels : 1, c->nchw ? taps : K);
  add(&q, K, c->nchw ? places : 1, 0, c->nchw ? C * taps : 1);
  return q;
}

static void convolutions(void) {
  for (int dims = 1; dims <= 3; dims++)
    for (int i = 0; i < 2 * 3 * 2 * 2; i++) {
      conv c = { dims, 2, dims == 3 ? 6 : 11, 3, 1, 1, i / 12 ? 4 : 1, 5, i % 2 };
      c.stride = 1 + i / 2 % 3;
      c.dilation = 1 + i / 6 % 2;
      edf_nest q = conv_nest(&c);
      check3(&q);
    }
}

static void convolutions_in_blocks(void) {
  static const conv some[] = {
    { 2, 5, 28, 5, 1, 1, 1, 16, 0 }, { 2, 5, 28, 5, 1, 1, 1, 16, 1 },
    { 2, 4, 12, 5, 1, 1, 16, 32, 0 }, { 2, 4, 12, 5, 1, 1, 16, 32, 1 },
    { 2, 4, 17, 3, 2, 1, 16, 24, 0 }, { 2, 4, 17, 3, 2, 1, 16, 24, 1 },
    { 2, 4, 16, 1, 1, 1, 16, 24, 1 }, { 1, 3, 900, 9, 3, 2, 4, 8, 0 }
  };
  for (int i = 0; i < (SANITIZED ? 2 : 8); i++) {
    edf_nest q = conv_nest(&some[i]);
    check3(&q);
  }
}

static void depthwise(void) {                    /* y[b,i,j,c] = w[DI,DJ,c] x[b,i+DI,j+DJ,c] */
  ptrdiff_t C = 6, S = 9, n = 7;
  edf_nest q = nest_new(1);
  add(&q, 2, n * n * C, S * S * C, 0);
  add(&q, n, n * C, S * C, 0);
  add(&q, n, C, C, 0);
  add(&q, 3, 0, S * C, 3 * C);
  add(&q, 3, 0, C, C);
  add(&q, C, 1, 1, 1);
  check3(&q);
}

static void pooling(void) {                                  /* p[b,i,c] = 0.5 x[b,2*i+DI,c] */
  edf_nest q = nest_new(0.5);
  add(&q, 3, 8 * 5, 16 * 5, 0);
  add(&q, 8, 5, 2 * 5, 0);
  add(&q, 2, 0, 5, 0);
  add(&q, 5, 1, 1, 0);
  check3(&q);
}

/* ---- Small and degenerate nests */

typedef struct { const char *what; int n; edf_loop loop[3]; } shape;

static void thin_work(void) {
  static const shape some[] = {
    { "scalar",            0, { { 0, { 0, 0, 0 } } } },
    { "dot",               1, { { 101, { 0, 1, 1 } } } },
    { "strided dot",       1, { { 101, { 0, 2, -3 } } } },
    { "element-wise",      2, { { 9, { 11, 11, 11 } }, { 11, { 1, 1, 1 } } } },
    { "transposed sum",    2, { { 9, { 11, 1, 0 } }, { 11, { 1, 9, 0 } } } },
    { "outer",             2, { { 9, { 11, 1, 0 } }, { 11, { 1, 0, 1 } } } },
    { "outer to a tall",   2, { { 9, { 1, 1, 0 } }, { 11, { 9, 0, 1 } } } },
    { "broadcast",         2, { { 9, { 11, 0, 0 } }, { 11, { 1, 1, 0 } } } },
    { "column sums",       2, { { 90, { 0, 11, 0 } }, { 11, { 1, 1, 0 } } } },
    { "row sums",          2, { { 9, { 1, 110, 0 } }, { 110, { 0, 1, 0 } } } },
    { "sum of everything", 2, { { 9, { 0, 11, 0 } }, { 11, { 0, 1, 0 } } } },
    { "trace",             1, { { 9, { 0, 10, 0 } } } },
    { "diagonal",          1, { { 9, { 1, 10, 0 } } } },
    { "to a diagonal",     1, { { 9, { 10, 1, 0 } } } },
    { "trace of A B",      2, { { 9, { 0, 7, 1 } }, { 7, { 0, 1, 9 } } } },
    { "diagonal of A B",   2, { { 9, { 1, 7, 1 } }, { 7, { 0, 1, 9 } } } },
    { "scalar times x",    1, { { 33, { 1, 1, 0 } } } },
    { "sum times sum",     2, { { 9, { 0, 1, 0 } }, { 11, { 0, 0, 1 } } } },
    { "sum of one side",   2, { { 9, { 1, 0, 1 } }, { 11, { 0, 1, 0 } } } },
    { "index in nothing",  2, { { 9, { 1, 1, 1 } }, { 11, { 0, 0, 0 } } } },
    { "to windows",        2, { { 9, { 1, 5, 0 } }, { 5, { 1, 1, 0 } } } },
    { "product into windows", 3,
      { { 9, { 1, 5, 0 } }, { 5, { 1, 0, 4 } }, { 4, { 0, 1, 1 } } } },
    { "product into one place", 3,
      { { 9, { 0, 5, 0 } }, { 5, { 0, 0, 4 } }, { 4, { 0, 1, 1 } } } },
    { "no rows",           3, { { 0, { 5, 4, 0 } }, { 5, { 1, 0, 1 } }, { 4, { 0, 1, 5 } } } },
    { "an empty sum",      3, { { 3, { 5, 4, 0 } }, { 5, { 1, 0, 1 } }, { 0, { 0, 1, 5 } } } },
    { "extents of one",    3,
      { { 1, { 99, 98, 0 } }, { 1, { 7, 0, -3 } }, { 6, { 0, 1, 1 } } } },
  };
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
    edf_nest q = nest_new(2);
    q.n = some[i].n;
    memcpy(q.loop, some[i].loop, sizeof some[i].loop);
    check3(&q);
  }
}

static void operand_twice(void) {                            /* g[i,j] = x[i,K] x[j,K] */
  edf_real x[6 * 5], g[6 * 6];
  edf_nest q = nest_new(1);
  add(&q, 6, 6, 5, 0); add(&q, 6, 1, 0, 5); add(&q, 5, 0, 1, 1);
  for (int i = 0; i < 30; i++) x[i] = (edf_real)(below(7) - 3);
  edf_route route = edf_plan(&q);
  for (edf.kernel = EDF_FASTEST; edf.kernel <= EDF_REFERENCE; edf.kernel++) {
    memset(g, 0, sizeof g);
    edf_contract(&route, 0, g, x, x);
    for (int i = 0; i < 36; i++) {
      edf_real sum = 0;
      for (int k = 0; k < 5; k++) sum += x[i / 6 * 5 + k] * x[i % 6 * 5 + k];
      CHECK(g[i] == sum, "%s: g[%d,%d]", kernel_name[edf.kernel], i / 6, i % 6);
    }
  }
  edf.kernel = EDF_FASTEST;
}

/* ---- What the planner must find */

static void plan_fuses_elementwise(void) {                   /* any rank becomes one loop */
  edf_nest q = nest_new(3);
  add(&q, 5, 1, 1, 1); add(&q, 7, 20, 20, 20); add(&q, 4, 5, 5, 5); add(&q, 1, 9, 8, 7);
  add(&q, 6, 0, 0, 0);
  edf_route r = edf_plan(&q);
  CHECK(!r.product && r.nest.n == 1, "%d loops: %s", r.nest.n, text(&r.nest));
  CHECK(r.nest.loop[0].n == 140, "extent %td", r.nest.loop[0].n);
  CHECK(r.nest.alpha == 18, "alpha %g", (double)r.nest.alpha);
  CHECK(r.covers == 140, "covers %zu", r.covers);
}

static void plan_affine_is_direct(void) {
  for (int transposed = 0; transposed < 2; transposed++)
    for (int pass = 0; pass < 3; pass++) {                   /* forward, dx, dW */
      edf_nest q = nest_new(1);
      add(&q, 64, 10, 84, 0);
      add(&q, 10, 1, 0, transposed ? 84 : 1);
      add(&q, 84, 0, 1, transposed ? 1 : 10);
      q = swapped(q, pass);
      edf_route r = edf_plan(&q);
      CHECK(r.product && r.first[0] == 0, "pass %d is no product: %s", pass, text(&r.nest));
      for (int x = 0; x < 3; x++)
        CHECK(r.matrix[x].direct, "pass %d: operand %d is packed: %s", pass, x, text(&r.nest));
      size_t entries = pass == 0 ? 640 : pass == 1 ? 64 * 84 : 840;
      CHECK(r.covers == entries, "pass %d covers %zu, not %zu", pass, r.covers, entries);
    }
}

static void plan_matmul_orientation(void) {                  /* sizes at which all are direct */
  for (int tall = 0; tall < 8; tall++) {
    edf_nest q = matmul(65, 66, 67, tall);
    edf_route r = edf_plan(&q);
    CHECK(r.product && r.nest.n == 3, "layout %d: %s", tall, text(&r.nest));
    for (int x = 0; x < 3; x++)
      CHECK(r.matrix[x].direct && r.matrix[x].tall == (tall >> x & 1), "layout %d, operand %d: "
            "direct %d tall %d", tall, x, r.matrix[x].direct, r.matrix[x].tall);
  }
}

/* The operand x of a convolution overlaps itself as a matrix: it must be packed (im2col), y and
   W are direct. Backwards out overlaps (col2im): entries are written more than once. */
static void plan_convolution_packs(void) {
  conv c = { 2, 16, 28, 5, 1, 1, 1, 16, 0 };
  edf_nest q = conv_nest(&c), dx = swapped(q, EDF_A), dw = swapped(q, EDF_B);
  edf_route r = edf_plan(&q);
  CHECK(r.product, "no product: %s", text(&r.nest));
  CHECK(!r.matrix[EDF_A].direct, "x is direct: %s", text(&r.nest));
  CHECK(r.matrix[EDF_OUT].direct && r.matrix[EDF_B].direct, "y or W is packed");
  CHECK(r.covers == 16 * 24 * 24 * 16, "forward covers %zu", r.covers);
  r = edf_plan(&dx);
  CHECK(!r.product || !r.matrix[EDF_OUT].direct, "dx is direct: %s", text(&r.nest));
  CHECK(r.covers == 0, "dx covers %zu, but entries are written several times", r.covers);
  r = edf_plan(&dw);
  CHECK(r.product && r.covers == 5 * 5 * 16, "dW covers %zu", r.covers);
}

static void plan_pointwise_convolution_is_a_matmul(void) {   /* 1x1, NHWC: three loops remain */
  conv c = { 2, 4, 12, 1, 1, 1, 16, 24, 0 };
  edf_nest q = conv_nest(&c);
  edf_route r = edf_plan(&q);
  CHECK(r.product && r.nest.n == 3, "%s", text(&r.nest));
  for (int x = 0; x < 3; x++) CHECK(r.matrix[x].direct, "operand %d is packed", x);
}

static void plan_batch_stays_outside(void) {
  edf_nest q = nest_new(1);
  add(&q, 12, 64 * 64, 64 * 32, 64 * 32);
  add(&q, 64, 64, 32, 0);
  add(&q, 64, 1, 0, 32);
  add(&q, 32, 0, 1, 1);
  edf_route r = edf_plan(&q);
  CHECK(r.product && r.first[0] == 1 && r.nest.loop[0].n == 12, "%s", text(&r.nest));
  CHECK(r.covers == 12 * 64 * 64, "covers %zu", r.covers);
}

static void plan_thin_work_is_no_product(void) {
  edf_nest dot = nest_new(1), outer = nest_new(1), bias = nest_new(1);
  add(&dot, 1000, 0, 1, 1);
  add(&outer, 30, 40, 1, 0); add(&outer, 40, 1, 0, 1);
  add(&bias, 64, 10, 0, 0); add(&bias, 10, 1, 1, 0);
  CHECK(!edf_plan(&dot).product, "a dot is a product");
  CHECK(!edf_plan(&outer).product, "an outer product has no sum");
  CHECK(!edf_plan(&bias).product, "a broadcast is a product");
  CHECK(edf_plan(&outer).covers == 1200, "outer covers %zu", edf_plan(&outer).covers);
  CHECK(edf_plan(&bias).covers == 640, "bias covers %zu", edf_plan(&bias).covers);
}

static void plan_of_nothing(void) {
  edf_nest q = matmul(4, 0, 5, 0), one = nest_new(2);
  CHECK(edf_plan(&q).covers == 0, "an empty nest covers %zu", edf_plan(&q).covers);
  CHECK(edf_plan(&one).covers == 1 && edf_plan(&one).nest.n == 0, "a scalar covers %zu",
        edf_plan(&one).covers);
}

int main(void) {
#ifdef _OPENMP
  inside_cut_work_above(0);
  omp_set_num_threads(3);
#endif
  RUN(plan_fuses_elementwise);
  RUN(plan_affine_is_direct);
  RUN(plan_matmul_orientation);
  RUN(plan_convolution_packs);
  RUN(plan_pointwise_convolution_is_a_matmul);
  RUN(plan_batch_stays_outside);
  RUN(plan_thin_work_is_no_product);
  RUN(plan_of_nothing);
  RUN(thin_work);
  RUN(operand_twice);
  RUN(matmul_in_all_layouts);
  RUN(matmul_in_blocks);
  RUN(matmul_of_views);
  RUN(matrix_and_vector);
  RUN(batched);
  RUN(affine);
  RUN(attention);
  RUN(convolutions);
  RUN(convolutions_in_blocks);
  RUN(depthwise);
  RUN(pooling);
  RUN(random_nests);
  RUN(random_products);
  edf_clear();
  return harness_report();
}
