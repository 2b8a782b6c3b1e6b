/* The notation against brute force, a table of equations and thousands at random: whether they
   are accepted, the shape, the value and every gradient, for a batch that changes, in all
   kernels; Backward again, and accumulated. */

#include "harness.h"
#include "edf.h"
#include "equation_reference.h"

/* A part of the sum of the absolute values of what is added up: cancellation does not count. */
static const double tolerance = EDF_REAL_IS_DOUBLE ? 1e-14 : 1e-5;
static const char *const kernel_name[] = { "fastest", "builtin", "reference" };

static unsigned long long state = 19991231;

static int below(int n) {                                    /* 0 .. n-1 */
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (int)((state >> 33) % (unsigned)n);
}

static int chance(int percent) { return below(100) < percent; }

/* Thirds are rounded by every sum; whole numbers show that nothing else was. */
static int whole_numbers;
static double number(void) {
  return whole_numbers ? below(7) - 3 : (below(2001) - 1000) / 300.0;
}

static void *take(size_t n, size_t each) {
  void *p = calloc(n ? n : 1, each);
  if (!p) abort();
  return p;
}

/* ---- A random cotangent: the scalar sum of r[i] y[i], whatever the shape of y */

static edf_real cotangent_of(size_t i) { return (edf_real)((double)(i * 7919 % 13) - 6.5) / 2; }

#include "cotangent.h"

static edf_node *cotangent(edf_node *y) {
  return edf_compnode_shaped("Cotangent", scalar_shape, cotangent_forward, cotangent_backward,
                             y);
}

/* ---- A case: an equation and its operands on both sides

   Operands are declared in one text, W[3,4] x[b,3] !m[b,3]: one with a capital is a Parameter,
   the others are Inputs, of which ! does not want a gradient; an index without a number is the
   batch. */

enum { MOST = 8 };
typedef struct {
  edf_node *node;
  eq_tensor ref, magnitude;                                  /* the same of absolute values */
  edf_real *data;
  int wanted, batched;
  char decl[64];
} operand;

static struct {
  const char *text, *operands;
  int n;
  operand x[MOST];
  eq_equation e;
  eq_tensor out, magnitude;
  edf_node *y, *loss;
} c;

static void operand_parse(operand *x, const char *decl) {
  memset(x, 0, sizeof *x);
  x->wanted = *decl != '!';
  snprintf(x->decl, sizeof x->decl, "%s", decl + !x->wanted);
  const char *at = strpbrk(decl, "[");
  while (at) {
    x->batched |= !isdigit((unsigned char)at[1]);
    x->ref.dim[x->ref.rank++] = atoi(at + 1);
    at = strchr(at + 1, ',');
  }
}

static void case_parse(const char *text, const char *operands) {
  char copy[512];
  memset(&c, 0, sizeof c);
  c.text = text;
  c.operands = operands;
  snprintf(copy, sizeof copy, "%s", operands);
  for (char *s = strtok(copy, " "); s; s = strtok(NULL, " ")) operand_parse(&c.x[c.n++], s);
}

static void tensor_free(eq_tensor *x) {
  free(x->value); free(x->grad);
  x->value = x->grad = NULL;
}

static void tensor_new(eq_tensor *x) {
  tensor_free(x);
  x->value = (double *)take(eq_size(x), sizeof(double));
  x->grad = (double *)take(eq_size(x), sizeof(double));
}

static void operand_free(operand *x) {
  tensor_free(&x->ref);
  tensor_free(&x->magnitude);
  free(x->data);
  x->data = NULL;
}

static void case_free(void) {
  edf_clear();
  for (int k = 0; k < c.n; k++) operand_free(&c.x[k]);
  tensor_free(&c.out);
  tensor_free(&c.magnitude);
}

static void case_build(void) {
  edf_node *in[MOST + 1] = { NULL };
  for (int k = 0; k < c.n; k++) {
    operand *x = &c.x[k];
    int parameter = x->decl[0] >= 'A' && x->decl[0] <= 'Z';
    in[k] = x->node = parameter ? edf_parameter("%s", x->decl) : edf_input("%s", x->decl);
    if (!parameter && x->wanted) edf_want_grad(x->node);
  }
  c.y = edf_einsum_at(__FILE__, __LINE__, c.text, in[0], in[1], in[2], in[3], in[4], in[5],
                      in[6], in[7], (edf_node *)0);
  c.loss = cotangent(c.y);
}

/* New numbers of the same values on both sides */
static void operand_fill(operand *x, int batch) {
  if (x->batched) x->ref.dim[0] = batch;
  size_t n = eq_size(&x->ref);
  operand_free(x);
  tensor_new(&x->ref);
  x->magnitude.rank = x->ref.rank;
  memcpy(x->magnitude.dim, x->ref.dim, sizeof x->ref.dim);
  tensor_new(&x->magnitude);
  x->data = (edf_real *)take(n, sizeof(edf_real));
  for (size_t i = 0; i < n; i++) {
    x->ref.value[i] = (double)(x->data[i] = (edf_real)number());
    x->magnitude.value[i] = fabs(x->ref.value[i]);
  }
  if (x->node->kind == EDF_PARAMETER) memcpy(x->node->value, x->data, n * sizeof *x->data);
  else edf_feed(x->node, x->data, x->batched ? batch : 1);
}

/* What brute force says: NULL, or that the equation is wrong, for this batch. Before the batch
   is known extents that follow it are not; the equation is then judged at the first feed. */
static const char *case_solve(int batch) {
  eq_tensor *in[MOST];
  const char *wrong;
  for (int k = 0; k < c.n; k++) {
    in[k] = &c.x[k].ref;
    if (c.x[k].batched) in[k]->dim[0] = batch;
  }
  wrong = eq_parse(&c.e, c.text);
  if (!wrong) wrong = eq_bind(&c.e, c.n, in, &c.out);
  return wrong;
}

static void case_evaluate(void) {
  eq_tensor *in[MOST], *magnitude[MOST];
  eq_equation positive = c.e;
  for (int k = 0; k < c.n; k++) { in[k] = &c.x[k].ref; magnitude[k] = &c.x[k].magnitude; }
  for (int t = 0; t < c.e.terms; t++) positive.term[t].number = fabs(c.e.term[t].number);
  tensor_new(&c.out);
  c.magnitude.rank = c.out.rank;
  memcpy(c.magnitude.dim, c.out.dim, sizeof c.out.dim);
  tensor_new(&c.magnitude);
  for (size_t i = 0; i < eq_size(&c.out); i++) {
    c.out.grad[i] = (double)cotangent_of(i);
    c.magnitude.grad[i] = fabs(c.out.grad[i]);
  }
  eq_forward(&c.e, in, &c.out);
  eq_backward(&c.e, in, &c.out);
  eq_forward(&positive, magnitude, &c.magnitude);
  eq_backward(&positive, magnitude, &c.magnitude);
}

/* The array is factor times the expected one. */
static void compare(const char *what, const edf_real *found, const double *expected,
                    const double *magnitude, size_t n, double factor) {
  for (size_t i = 0; i < n; i++) {
    double a = (double)found[i], b = factor * expected[i];
    if (fabs(a - b) <= tolerance * factor * magnitude[i]) continue;
    CHECK(0, "%s of entry %zu is %.17g and should be %.17g: \"%s\" of %s, %s", what, i, a, b,
          c.text, c.operands, kernel_name[edf.kernel]);
    return;
  }
}

static void compare_grads(const char *what, double parameters) {
  for (int k = 0; k < c.n; k++) {
    const operand *x = &c.x[k];
    int none = !x->wanted, parameter = x->node->kind == EDF_PARAMETER;
    CHECK((x->node->grad == NULL) == none, "%s: the gradient of %s is %s: \"%s\"", what,
          x->decl, none ? "there" : "missing", c.text);
    if (x->node->grad && !none)
      compare(what, x->node->grad, x->ref.grad, x->magnitude.grad, x->node->size,
              parameter ? parameters : 1);
  }
}

static int shape_agrees(void) {
  int same = c.y->rank == c.out.rank && c.y->size == eq_size(&c.out);
  for (int d = 0; same && d < c.y->rank; d++) same = c.y->dim[d] == c.out.dim[d];
  CHECK(same, "rank %d, dimension 0 is %d, %zu entries; should be %d, %d, %zu: \"%s\" of %s",
        c.y->rank, c.y->dim[0], c.y->size, c.out.rank, c.out.dim[0], eq_size(&c.out), c.text,
        c.operands);
  return same;
}

/* Backward again gives the same; accumulate adds to Parameters alone. */
static void backward_again(void) {
  edf_backward(c.loss);
  compare_grads("gradient of the second Backward", 1);
  edf.accumulate = 1;
  edf_backward(c.loss);
  compare_grads("accumulated gradient", 2);
  edf_zero_grad();
  for (int k = 0; k < c.n; k++)
    for (size_t i = 0; c.x[k].node->kind == EDF_PARAMETER && i < c.x[k].node->size; i++)
      CHECK(c.x[k].node->grad[i] == 0, "edf_zero_grad left an entry of %s", c.x[k].decl);
  edf_backward(c.loss);
  compare_grads("gradient after edf_zero_grad", 1);
  edf.accumulate = 0;
}

static int any_wanted(void) {
  for (int k = 0; k < c.n; k++) if (c.x[k].wanted) return 1;
  return 0;
}

static void case_compare(void) {
  for (edf.kernel = EDF_FASTEST; edf.kernel <= EDF_REFERENCE; edf.kernel++) {
    edf_forward();
    if (!shape_agrees()) break;
    compare("value", c.y->value, c.out.value, c.magnitude.value, c.y->size, 1);
    if (!any_wanted()) continue;
    edf_backward(c.loss);
    compare_grads("gradient", 1);
  }
  edf.kernel = EDF_FASTEST;
  if (any_wanted()) backward_again();
}

/* Both sides accept the equation for this batch, and agree; 0: both refuse it. */
static int case_at_batch(int batch) {
  const char *wrong = case_solve(batch);
  TRY(edf_forward());
  CHECK(panicked == (wrong != NULL), "\"%s\" of %s, batch %d: %s, but: %s", c.text, c.operands,
        batch, wrong ? wrong : "it is right", panicked ? caught : "it was accepted");
  if (panicked || wrong) return 0;
  case_evaluate();
  case_compare();
  return 1;
}

/* Returns 1 where both sides accept the equation, with the first batch at least. */
static int agree_at(const char *text, const char *operands, const int *batch, int batches) {
  int accepted, fixed = 1;
  case_parse(text, operands);
  for (int k = 0; k < c.n; k++) fixed &= !c.x[k].batched;
  const char *mistake = case_solve(batch[0]);
  TRY(case_build());
  accepted = !panicked;
  CHECK(accepted || mistake, "\"%s\" of %s was refused: %s", text, operands, caught);
  CHECK(!accepted || !mistake || !fixed, "\"%s\" of %s was accepted, but: %s", text, operands,
        mistake);
  for (int i = 0; accepted && i < (fixed ? 1 : batches); i++) {
    for (int k = 0; k < c.n; k++) operand_fill(&c.x[k], batch[i]);
    if (!case_at_batch(batch[i])) { accepted = i > 0; break; }
  }
  case_free();
  return accepted;
}

static int agree(const char *text, const char *operands) {
  static const int batch[] = { 3, 1, 4, 3, 4, 2 };
  return agree_at(text, operands, batch, 6);
}

/* ---- Brute force itself, where the answer is known by heart */

static void known(const char *text, int n, double *x, int n_out, const double *expected,
                  const double *gradient) {
  double y[16], dy[16], dx[16] = { 0 };
  eq_tensor in = { 1, { n }, x, dx }, out = { 0, { 0 }, y, dy }, *ins = &in;
  eq_equation e;
  const char *wrong = eq_parse(&e, text);
  if (!wrong) wrong = eq_bind(&e, 1, &ins, &out);
  CHECK(!wrong && (int)eq_size(&out) == n_out, "%s: %s", text, wrong ? wrong : "its size");
  if (wrong || (int)eq_size(&out) != n_out) return;
  eq_forward(&e, &ins, &out);
  for (int i = 0; i < n_out; i++) CLOSE(y[i], expected[i], 0, 0);
  for (int i = 0; i < n_out; i++) dy[i] = i + 1;
  eq_backward(&e, &ins, &out);
  for (int i = 0; i < n; i++) CLOSE(dx[i], gradient[i], 0, 0);
}

static void brute_force(void) {
  double x[] = { 1, 2, 4, 8, 16, 32 };
  double pooled[] = { 1.5, 6, 24 }, pooled_dx[] = { .5, .5, 1, 1, 1.5, 1.5 };
  double slope[] = { 1, 2, 4, 8, 16 }, slope_dx[] = { -1, -1, -1, -1, -1, 5 };
  double same[] = { 3, 7, 14, 28, 56, 48 }, same_dx[] = { 3, 6, 9, 12, 15, 11 };
  double spread[] = { 1, 0, 2, 0, 4 }, spread_dx[] = { 1, 3, 5 };
  double square[] = { 21 }, square_dx[] = { 2, 4, 8 };
  double reversed[] = { 4, 2, 1 }, reversed_dx[] = { 3, 2, 1 };
  double diagonal[] = { 1, 0, 0, 2 }, diagonal_dx[] = { 1, 4 };
  known("y[i] = 0.5 x[2*i+DI] | DI<2", 6, x, 3, pooled, pooled_dx);
  known("y[i] = x[i+1] - x[i] | i<5", 6, x, 5, slope, slope_dx);
  known("y[i] = x[i+DI-1] | i<6, DI<3", 6, x, 6, same, same_dx);
  known("y[2*i] = x[i]", 3, x, 5, spread, spread_dx);
  known("y = x[I] x[I]", 3, x, 1, square, square_dx);
  known("y[i] = x[2-i]", 3, x, 3, reversed, reversed_dx);
  known("y[i,i] = x[i]", 2, x, 4, diagonal, diagonal_dx);
}

/* ---- The table */

static const char *const table[][2] = {
  /* products of the course */
  { "z = x[I] y[I]", "x[4] y[4]" },
  { "y[i] = W[i,J] x[J]", "W[3,4] x[4]" },
  { "y[j] = W[I,j] x[I]", "W[3,4] x[3]" },
  { "A[i,j] = B[K,i] C[K,j]", "B[5,3] C[5,4]" },
  { "Y[h,i,j] = A[h,i,K] B[h,j,K]", "A[2,3,4] B[2,5,4]" },
  { "z[i,j] = x[i] y[j]", "x[3] y[4]" },
  { "y[b,j] = W[I,j] x[b,I] - B[j]", "W[5,4] x[b,5] B[4]" },
  { "y[b,j] = W[j,I] x[b,I] + B[j]", "W[4,5] x[b,5] B[4]" },
  { "y[b,j]=W[I,j]x[b,I]-B[j]", "W[5,4] !x[b,5] B[4]" },
  { "  y [ b , j ]  =  W [ I , j ] * x [ b , I ]  -  B [ j ]  ", "W[5,4] x[b,5] B[4]" },
  { "y[B,J] = W[I,J] x[B,I]", "W[3,4] x[b,3]" },
  { "y[b,j] = - W[I,j] x[b,I]", "W[3,4] x[b,3]" },
  { "a[b,h,t,s] = 0.125 Q[b,h,t,I] K[b,h,s,I]", "q[b,2,3,4] k[b,2,5,4]" },
  { "o[b,t,j] = a[b,H,t,S] v[b,S,H,j]", "a[b,2,3,4] v[b,4,2,3]" },
  { "L[b,t,j] = W[j,K,I] H[b,K,t,I]", "W[5,2,3] h[b,2,4,3]" },
  { "h[b,j] = W[j,I] g[b,I] + U[j,K] x[b,K] - B[j]", "W[3,3] g[b,3] U[3,4] x[b,4] B[3]" },
  { "h[b,j] = g[b,j] c[b,j] + r[b,j] - g[b,j] r[b,j]", "g[b,3] c[b,3] r[b,3]" },
  { "p[w] = e[w,I] W[I,J] h[J]", "E[5,3] W[3,4] h[4]" },
  { "y[i] = W[i,J] m[J] x[J]", "W[3,4] !m[4] x[4]" },
  { "y[b] = x[b,I] A[I,J] x[b,J]", "x[b,3] A[3,3]" },
  { "y[b] = x[b,I] A[I,J] B[J,K] C[K,L] x[b,L]", "x[b,3] A[3,4] B[4,2] C[2,3]" },
  { "z = a[I] b[I] c[I] d[I] e[I] f[I] g[I] h[I]", "a[3] b[3] c[3] d[3] e[3] f[3] g[3] h[3]" },
  { "z = a[I] b[J] c[K] d[L]", "a[3] b[2] c[4] d[5]" },
  { "y[i,j,k,l] = a[i] b[j] c[k] d[l]", "a[3] b[2] c[4] d[5]" },
  /* numbers and signs */
  { "y[i] = 2 x[i]", "x[3]" },
  { "y[i] = 2*x[i]", "x[3]" },
  { "y[i] = - 0.5 x[i] - 1.5*w[i] + .25 v[i]", "x[3] w[3] v[3]" },
  { "y[i] = x[i] - x[i] + 3 x[i]", "x[3]" },
  { "y[i] = 0 x[i] + w[i]", "x[3] w[3]" },
  { "y[i] = 1e-1 x[i] + 2e0 w[i] + 1.e+1 x[i]", "x[3] w[3]" },
  { "y[i] = 4 * x[i] * w[i]", "x[3] w[3]" },
  /* scalars */
  { "z = x", "x" },
  { "z = 2 x y - w", "x y W" },
  { "y[i] = s x[i]", "S x[3]" },
  { "y[i] = s s x[i] - s", "S x[3]" },
  { "z = x[I]", "x[4]" },
  { "z = x[B,I]", "x[b,4]" },
  { "y[i] = one - g[i]", "!one g[4]" },
  /* sums of their own, repeated terms */
  { "y[i] = x[i,J] + w[i,J]", "x[2,3] w[2,3]" },
  { "y[i] = x[i,J] + w[J]", "x[2,3] w[3]" },
  { "y[i,j] = x[i] + w[j]", "x[2] w[3]" },
  { "y[i,j] = x[K] + w[i,j]", "x[4] w[2,3]" },
  { "y[b,j] = B[j] + 0 x[b,K]", "B[4] x[b,4]" },
  { "mu[j] = 0.25 x[B,j]", "x[b,4]" },
  { "y[b,j] = B[j] | b<4", "B[3]" },
  { "y[i,j] = s | i<2, j<3", "S" },
  { "y[t,b,j] = x[b,j] | t<2", "x[b,3]" },
  /* permutations, diagonals, constants */
  { "y[j,i] = x[i,j]", "x[3,4]" },
  { "y[k,b,j] = x[b,j,k]", "x[b,2,3]" },
  { "z = x[I,I]", "x[4,4]" },
  { "y[i] = x[i,i]", "x[4,4]" },
  { "y[i,i] = x[i]", "x[4]" },
  { "y[i,j,i] = x[i,j]", "x[3,2]" },
  { "y[i,i] = x[i,i] + x[I,i]", "x[3,3]" },
  { "z = A[I,J] B[J,I]", "A[3,4] B[4,3]" },
  { "y[b] = x[b,0]", "x[b,3]" },
  { "y[b] = x[b,2] - x[b,0]", "x[b,3]" },
  { "y[b,j] = W[j,I] x[b,1,I]", "W[3,2] x[b,4,2]" },
  { "z = x[1,2]", "x[3,4]" },
  { "y[b,2] = x[b]", "x[b]" },
  { "y[i,1,j] = x[j,i]", "x[2,3]" },
  { "y[3] = s", "S" },
  /* a tensor twice, in two places */
  { "z = x[I] x[I]", "x[4]" },
  { "g[i,j] = x[i,K] x[j,K]", "x[3,4]" },
  { "g[b,c] = x[b,K] x[c,K]", "x[b,4]" },
  { "y[b,c,j] = x[b,j] - x[c,j]", "x[b,3]" },
  { "y[i] = x[i] x[i] x[i]", "X[4]" },
  { "y[i,j] = x[i,j] x[j,i]", "X[3,3]" },
  { "y[i] = x[i] - 0.25 x[J]", "X[4]" },
  { "d[b,j] = x[b,j+1] - x[b,j] | j<4", "x[b,5]" },
  { "d[b,j] = x[b,j+1] - x[b,j+0] | j<4", "x[b,4]" },
  { "d[t,j] = x[t+1,j] - x[t,j] | t<3", "x[4,2]" },
  { "r[i] = x[i+K] x[K]", "X[5]" },
  { "r[k] = x[I+k] x[I] | k<3", "X[5]" },
  /* convolutions */
  { "y[i] = w[DI] x[i+DI]", "w[3] x[7]" },
  { "y[b,x,y,j] = W[DX,DY,I,j] L[b,x+DX,y+DY,I] - B[j]", "W[2,3,2,3] l[b,4,5,2] B[3]" },
  { "y[b,x,y,n] = K[n,DX,DY,I] L[b,x+DX,y+DY,I] - B[n]", "K[3,2,3,2] l[b,4,5,2] B[3]" },
  { "y[b,i,j,k] = W[DI,DJ,C,k] x[b,2*i+DI,2*j+DJ,C]", "W[3,3,2,2] x[b,7,8,2]" },
  { "y[b,i,j,k] = W[DI,DJ,C,k] x[b,i+2*DI,j+2*DJ,C]", "W[2,2,2,2] x[b,5,6,2]" },
  { "y[b,i,k] = W[DI,C,k] x[b,3*i+2*DI,C]", "W[2,2,2] x[b,9,2]" },
  { "y[b,k,i,j] = W[k,C,DI,DJ] x[b,C,i+DI,j+DJ]", "W[2,2,2,2] x[b,2,4,5]" },
  { "y[b,i,j,c] = W[DI,DJ,c] x[b,i+DI,j+DJ,c]", "W[2,2,3] x[b,4,5,3]" },
  { "y[b,i,j,k] = W[DI,DJ,C,k] x[b,i+DI-1,j+DJ-1,C] | i<4, j<5", "W[3,3,2,2] x[b,4,5,2]" },
  { "y[b,i,k] = W[DI,C,k] x[b,2*i+DI-1,C] | i<3", "W[3,2,2] x[b,5,2]" },
  { "y[b,i,k] = W[DI,C,k] x[b,i+2*DI-2,C] | i<5", "W[3,2,2] x[b,5,2]" },
  { "y[i] = w[D] x[i-D] | i<8", "w[3] x[6]" },
  { "y[i] = w[D] x[i+2-D]", "w[3] x[6]" },
  { "y[i] = x[5-i]", "x[6]" },
  { "y[i] = x[6-2*i] | i<3", "x[7]" },
  { "y[i] = x[-i+3] | i<6", "x[4]" },
  { "y[i] = x[2i+1]", "x[6]" },
  { "p[b,i,c] = 0.5 x[b,2*i+DI,c] | DI<2", "x[b,6,2]" },
  { "p[b,i,c] = x[b,2*i+DI,c] | DI<3", "x[b,6,2]" },
  { "p[b,i,j,c] = 0.25 x[b,2*i+DI,2*j+DJ,c] | DI<2, DJ<2", "x[b,4,5,2]" },
  { "m[b,x,y,dx,dy,i] = L[b,x+dx,y+dy,i] | dx<2, dy<2", "l[b,4,3,2]" },
  { "p[b,x,i] = x[b,x-2,i] | x<7", "x[b,3,2]" },
  { "y[i] = x[i+10] | i<2", "x[3]" },
  { "y[i] = x[i-10] + w[i] | i<2", "x[3] w[2]" },
  { "y[b,i] = g[b,i-1] P[i] | i<4", "g[b,4] P[4]" },
  { "f[n] = p[2,0] g[n] + p[2,Z] q[n,Z] g[n-1] | n<4", "p[4,3] g[4] !q[4,3]" },
  { "y[i] = x[i+J+K] w[J] v[K]", "x[9] w[3] v[2]" },
  { "y[i,j] = x[2*i+j] | j<2", "x[6]" },
  { "y[i,j,k] = x[4*i+2*j+k] | j<2, k<2", "x[12]" },
  { "y[i] = x[i+DI,i] w[DI] | DI<3, i<4", "X[6,4] w[3]" },
  { "y[i] = x[i,i+1] | i<3", "X[3,3]" },
  { "y[i,c] = x[i,2*c,c]", "X[2,5,3]" },
  { "y[b,i] = x[b,i] | i<2", "x[b,4]" },
  { "y[i,j] = x[i,j] | i<2, j<3", "x[4,3]" },
  { "z = x[I] | I<2", "x[4]" },
  { "y[b,j] = x[b,j] | b<2", "x[b,3]" },
  /* scatter */
  { "y[b,2*i+DI,k] = W[DI,k,C] x[b,i,C]", "W[3,2,2] x[b,4,2]" },
  { "y[b,2*x+dx,2*y+dy,i] = W[dx,dy,i,J] L[b,x,y,J]", "W[3,2,2,2] l[b,2,3,2]" },
  { "y[3*i+j] = x[i,j]", "x[4,2]" },
  { "y[i+j] = x[i] w[j]", "x[4] w[3]" },
  { "y[i+j,i] = x[i] w[j]", "x[4] w[3]" },
  { "y[2-i] = x[i]", "x[3]" },
  { "y[i+1] = x[i]", "x[3]" },
  { "y[b,x+1,i] = L[b,x,i]", "l[b,3,2]" },
  { "y[b,12*x+3*y+c] = L[b,x,y,c]", "l[b,2,4,3]" },
  { "y[b,2*x+p,2*y+q,c] = L[b,x,y,4*c+2*p+q] | p<2, q<2", "l[b,2,3,8]" },
  { "y[2*i+p] = x[i] o[p]", "x[3] !o[2]" },
  { "y[i+j] = x[i,j] - w[j] v[i] + 2 x[i,j] v[i]", "x[3,2] w[2] v[3]" },
  { "y[b,2*i] = x[b,i] + s[i]", "x[b,3] s[3]" },
  { "y[2*i,j] = x[i] | j<3", "x[4]" },
  { "y[i+j+1] = x[i-j] | i<3, j<2", "x[4]" },
  { "y[i,i+j] = x[i,j]", "x[3,2]" },
  /* batch in odd places */
  { "y[t] = x[t+1]", "x[b]" },
  { "z = x[0]", "x[b]" },
  { "y[j,b] = x[b,j]", "x[b,2]" },
  { "y[b,b] = x[b]", "x[b]" },
  { "y[b+1,j] = x[b,j]", "x[b,2]" },
  { "y[b,j] = x[b,j] - 0.5 x[N,j]", "x[b,3]" },
  { "y[b,c] = x[b,J] w[c,J]", "x[b,3] w[b,3]" },
  { "z = x[B,J] w[B,J]", "x[b,3] w[b,3]" },
  { "y[b,t,j] = W[t,j,I] x[b,t,I]", "W[2,3,3] x[b,2,3]" },
  /* names */
  { "x[b,x] = y[b,x] b[x]", "y[b,3] B[3]" },
  { "i[i] = j[i,J] J[J]", "i[3,4] J[4]" },
  { "h_1[to] = alpha_2[to,T9] Value[T9]", "a[3,4] V[4]" },
  { "y[batch,out_1] = W[In,out_1] x[batch,In]", "W[3,2] x[n,3]" },
  { "y[a,b,c,d,e,f,g,h] = x[a,b,c,d] w[e,f,g,h]", "x[2,1,2,1] w[1,2,1,2]" },
};

static void equations(void) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    whole_numbers = i % 2 == 0;
    CHECK(agree(table[i][0], table[i][1]), "\"%s\" was refused", table[i][0]);
  }
}

/* Sizes at which the matrix products are blocked, packed, and cut */
static void larger_equations(void) {
  static const int batch[] = { 64, 10, 64 }, few[] = { 3, 2, 3 };
  static const char *const some[][2] = {
    { "y[b,j] = W[I,j] x[b,I] - B[j]", "W[50,33] x[b,50] B[33]" },
    { "y[b,j] = W[j,I] x[b,I] + U[j,K] g[b,K]", "W[33,40] x[b,40] U[33,33] !g[b,33]" },
    { "y[b] = x[b,I] A[I,J] w[b,J]", "x[b,20] A[20,30] w[b,30]" },
    { "g[b,c] = x[b,K] x[c,K]", "x[b,19]" },
    { "C[j,k] = 0.1 x[B,j] x[B,k]", "x[b,19]" },
  };
  static const char *const images[][2] = {
    { "y[b,i,j,k] = W[DI,DJ,C,k] x[b,i+DI,j+DJ,C] - B[k]", "W[3,3,5,17] x[b,12,11,5] B[17]" },
    { "y[b,i,j,k] = W[DI,DJ,C,k] x[b,2*i+DI-1,2*j+DJ-1,C] | i<6, j<6",
      "W[3,3,5,9] x[b,12,11,5]" },
    { "y[b,k,i,j] = W[k,C,DI,DJ] x[b,C,i+DI,j+DJ]", "W[9,5,3,3] x[b,5,12,11]" },
    { "y[b,2*i+DI,2*j+DJ,k] = W[DI,DJ,k,C] x[b,i,j,C]", "W[3,3,9,5] x[b,6,5,5]" },
    { "a[b,h,t,s] = 0.25 q[b,t,h,I] k[b,s,h,I]", "q[b,17,3,16] k[b,18,3,16]" },
    { "o[b,t,h,i] = a[b,h,t,S] v[b,S,h,i]", "a[b,3,17,18] v[b,18,3,16]" },
  };
  whole_numbers = 0;
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    CHECK(agree_at(some[i][0], some[i][1], batch, 3), "\"%s\" was refused", some[i][0]);
  for (size_t i = 0; i < sizeof images / sizeof *images; i++)
    CHECK(agree_at(images[i][0], images[i][1], few, 3), "\"%s\" was refused", images[i][0]);
}

/* Both sides refuse these; what the messages say is not this test's business. */
static const char *const wrong[][2] = {
  { "y[i] = x[i+1]-x[i]", "x[4]" },                        /* reads entry 4 */
  { "y[i] = x[i,j]", "x[3,4]" },                           /* a sum in lower case */
  { "y[i] = x[i] + w[j]", "x[3] w[4]" },
  { "y[i] = x[i] w[i]", "x[3] w[4]" },                     /* two extents */
  { "y[i] = x[i,i]", "x[3,4]" },
  { "y[b] = x[b,I] w[I]", "x[b,3] w[4]" },
  { "y[i] = x[i] | i<4", "x[3]" },                         /* a bound over the dimension */
  { "y[i] = x[i] | i<0", "x[3]" },
  { "y[i] = x[i] | i", "x[3]" },
  { "y[i] = x[i] | k<2", "x[3]" },
  { "y[i] = x[i] |", "x[3]" },
  { "y[i,j] = x[i]", "x[3]" },                             /* an extent is unknown */
  { "y[i] = x[i+DI]", "x[3]" },
  { "y[i] = x[i+DI-1] | DI<3", "x[3]" },                   /* no extent keeps it inside */
  { "y[i] = w[DI] x[i+DI]", "w[4] x[3]" },                 /* a kernel over the image */
  { "y[i] = w[DI] x[i+DI-1]", "w[3] x[5]" },
  { "y[i,c] = x[i+c] w[i,c]", "x[4] w[3,3]" },
  { "y[b] = x[b,3]", "x[b,3]" },                           /* a constant outside */
  { "y[b] = x[b,0-1]", "x[b,3]" },
  { "y[b] = x[b,3] | b<1", "x[b,3]" },
  { "y[i-1] = x[i]", "x[3]" },                             /* writes below 0 */
  { "y[2*i+p] = x[i] | p<2", "x[3]" },                     /* a term lacks part of a sum */
  { "y[i+j] = x[i] w[j] + x[i]", "x[3] w[2]" },
  { "y[i] = y[i]", "x[3]" },                               /* the left name on the right */
  { "y[i] = x[i] + y[i]", "x[3] w[3]" },
  { "y[i] = 1 - x[i]", "x[3]" },                           /* a term without a tensor */
  { "y[i] = x[i] - 1", "x[3]" },
  { "y[i] = 2 3 x[i]", "x[3]" },
  { "y[i] = x[i] w[i]", "x[3]" },                          /* operands */
  { "y[i] = x[i]", "x[3] w[3]" },
  { "y[i] = x[i] x[i]", "x[3] w[3]" },
  { "y[i,j] = x[I] + w[i,j]", "x[4] w[2,3]" },             /* i and I are two indices */
  { "y[j] = w[j] + 0 x[J]", "w[4] x[4]" },
  { "y[dj] = w[dj] + x[I] w[DJ]", "w[4] x[3]" },
  { "y[i] = x", "x[3]" },                                  /* ranks */
  { "y[i] = x[i]", "x[3,4]" },
  { "y[i] = x[i,J]", "x[3]" },
  { "y[i] = x[i] + x[i,J]", "x[3]" },
  { "y[i] = x[i", "x[3]" },                                /* punctuation */
  { "y[i] = x]i[", "x[3]" },
  { "y[i = x[i]", "x[3]" },
  { "y[i] x[i]", "x[3]" },
  { "y[i] = ", "x[3]" },
  { "y[i] = + x[i]", "x[3]" },
  { "y[i] = x[i] +", "x[3]" },
  { "y[i] = x[i] - - x[i]", "x[3]" },
  { "y[i] = x[]", "x[3]" },
  { "y[i] = x[i,]", "x[3]" },
  { "y[] = x[I]", "x[3]" },
  { "y[i] = x[i*2]", "x[3]" },
  { "y[i] = x[i+]", "x[3]" },
  { "y[i] = x[1.5*i]", "x[3]" },
  { "y[i] = x[i] * ", "x[3]" },
  { "y[i] = x[i] / w[i]", "x[3] w[3]" },
  { "y[i] = (x[i])", "x[3]" },
  { "y[i] += x[i]", "x[3]" },
  { "y[i] = x[i];", "x[3]" },
  { "= x[I]", "x[3]" },
  { "", "x[3]" },
  { "y", "x[3]" },
  { "y[a,b,c,d,e,f,g,h,i] = x[a] w[b,c,d,e,f,g,h,i]", "x[2] w[1,1,1,1,1,1,1,2]" },
};

static void wrong_equations(void) {
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK(!agree(wrong[i][0], wrong[i][1]), "\"%s\" was accepted", wrong[i][0]);
}

/* ---- Random equations. Extents are drawn first and tensors made to fit them, mostly; brute
   force says what the equation means, or that it is wrong after all. */

enum { FREE = 5, LETTERS = 9, BATCH = 0 };
static const char *const letter[LETTERS] = { "b", "i", "j", "k", "t2", "M", "N", "DI", "K_1" };
typedef struct { int rank, dim[4], batched; char decl[64]; } shape;

static struct {
  char text[1024], operands[512];
  int extent[LETTERS], bounded[LETTERS], on_left[LETTERS], in_offset[LETTERS];
  int operands_n, has_batch;
  shape operand[MOST];
} r;

static void append(char *s, size_t size, const char *text) {
  size_t at = strlen(s), n = strlen(text);
  if (at + n + 1 > size) abort();
  memcpy(s + at, text, n + 1);
}

static void write_text(const char *s) { append(r.text, sizeof r.text, s); }

static void write_number(int n) {
  char s[16];
  snprintf(s, sizeof s, "%d", n);
  write_text(s);
}

static void space(void) { if (chance(30)) write_text(" "); }

/* A letter that may stand in a term: free ones on the left, or summed ones */
static int any_letter(void) {
  for (int tries = 0; tries < 20; tries++) {
    int l = 1 + below(LETTERS - 1);
    if (l >= FREE || r.on_left[l]) return l;
  }
  return FREE + below(LETTERS - FREE);
}

static void write_scaled(int factor, int l, int first) {
  if (factor < 0) write_text("-");
  else if (!first) write_text("+");
  if (abs(factor) != 1) { write_number(abs(factor)); if (chance(80)) write_text("*"); }
  write_text(letter[l]);
}

/* A sum of letters and a constant, and the dimension that it fits; with a bounded letter any
   dimension will do. */
static int write_sum(void) {
  static const int factors[] = { 1, 1, 1, 1, 2, 2, 3, -1, -1, -2 };
  int n = 1 + below(3), low = 0, high = 0, bounded = 0, used[LETTERS] = { 0 };
  for (int k = 0; k < n; k++) {
    int l = any_letter(), f = factors[below(10)], reach = f * (r.extent[l] - 1);
    if (used[l]++) continue;                                 /* what i - i means is left open */
    write_scaled(f, l, k == 0);
    if (reach < 0) low += reach; else high += reach;
    bounded |= r.bounded[l];
  }
  int shift = bounded && chance(70) ? below(5) - 2 : -low + (chance(30) ? below(3) : 0);
  if (shift > 0) write_text("+");
  if (shift) write_number(shift);
  if (bounded && chance(70)) return 1 + below(6);
  high += shift + 1 + (chance(30) ? below(3) : 0);
  return high < 1 ? 1 : high;
}

/* One place of a new tensor; returns the dimension to declare */
static int write_place(void) {
  int kind = below(100), l = any_letter();
  if (kind < 60) {
    write_text(letter[l]);
    return r.extent[l] + (r.bounded[l] && chance(40) ? below(3) : 0);
  }
  if (kind < 70) {
    int at = below(3);
    write_number(at);
    return at + 1 + below(2);
  }
  return write_sum();
}

/* One place of a tensor that has this dimension already */
static void write_place_for(int dim) {
  for (int tries = 0; tries < 12; tries++) {
    int l = any_letter();
    if (r.extent[l] != dim && !(r.bounded[l] && r.extent[l] <= dim)) continue;
    write_text(letter[l]);
    return;
  }
  write_number(below(dim));
}

static void write_name(int k) {
  static const char *const parameter[] = { "W", "U", "V", "P", "Q", "B2", "C_c", "D" };
  static const char *const input[] = { "x", "u", "v", "p", "q", "i", "c_c", "d" };
  const char *decl = r.operand[k].decl;
  write_text((decl[0] == 'P' ? parameter : input)[k]);
}

static void declare(int k, const char *kind) {
  shape *x = &r.operand[k];
  char dim[16];
  snprintf(x->decl, sizeof x->decl, "%s%d", kind, k);
  for (int d = 0; d < x->rank; d++) {
    if (d == 0 && x->batched) snprintf(dim, sizeof dim, "[b");
    else snprintf(dim, sizeof dim, "%c%d", d ? ',' : '[', x->dim[d]);
    append(x->decl, sizeof x->decl, dim);
  }
  if (x->rank) append(x->decl, sizeof x->decl, "]");
}

static void write_old(int k) {
  const shape *x = &r.operand[k];
  write_name(k);
  for (int d = 0; d < x->rank; d++) {
    write_text(d ? "," : "[");
    if (d == 0 && x->batched) write_text(r.on_left[BATCH] || chance(50) ? "b" : "1");
    else write_place_for(x->dim[d]);
  }
  if (x->rank) write_text("]");
}

static void write_batch_place(void) {
  write_text(r.on_left[BATCH] ? (chance(95) ? "b" : chance(50) ? "b+1" : "2*b") : "Bt");
}

static void write_new(void) {
  static const char *const kinds[] = { "P", "P", "x", "x", "!x" };
  int k = r.operands_n++;
  shape *x = &r.operand[k];
  memset(x, 0, sizeof *x);
  int needed = r.on_left[BATCH] && !r.has_batch && chance(95);
  const char *kind = kinds[needed ? 2 + below(3) : below(5)];
  snprintf(x->decl, sizeof x->decl, "%s", kind);
  x->rank = chance(8) && !needed ? 0 : 1 + below(3);
  x->batched = needed || (x->rank && kind[0] != 'P' && chance(60));
  r.has_batch |= x->batched;
  write_name(k);
  for (int d = 0; d < x->rank; d++) {
    write_text(d ? "," : "[");
    space();
    if (d == 0 && x->batched) write_batch_place();
    else x->dim[d] = write_place();
    space();
  }
  if (x->rank) write_text("]");
  declare(k, kind);
}

/* The letters that a term must have, since they are part of a sum on the left */
static void write_required(void) {
  static const char *const kind = "P";
  int k = r.operands_n++;
  shape *x = &r.operand[k];
  memset(x, 0, sizeof *x);
  snprintf(x->decl, sizeof x->decl, "%s", kind);
  write_name(k);
  for (int l = 1; l < FREE; l++) {
    if (!r.in_offset[l]) continue;
    write_text(x->rank ? "," : "[");
    write_text(letter[l]);
    x->dim[x->rank++] = r.extent[l];
  }
  write_text("]");
  declare(k, kind);
}

static void write_term(void) {
  static const char *const numbers[] = { "2 ", "0.5*", "3* ", ".125 ", "1.5" };
  static const int factors[] = { 1, 1, 1, 2, 2, 2, 3, 4 };
  int n = factors[below(8)], needs = 0;
  if (chance(35)) write_text(numbers[below(5)]);
  for (int l = 1; l < FREE; l++) needs |= r.in_offset[l];
  for (int i = 0; i < n; i++) {
    if (i) write_text(chance(50) ? "*" : " ");
    if (needs && i == 0 && r.operands_n < MOST) write_required();
    else if (r.operands_n < MOST && !(r.operands_n && chance(20))) write_new();
    else write_old(below(r.operands_n));
  }
}

static void write_left_sum(void) {
  int n = 1 + below(2);
  for (int k = 0; k < n; k++) {
    int l = 1 + below(FREE - 1), f = 1 + below(2);
    if (k) write_text("+");
    if (f > 1) { write_number(f); write_text("*"); }
    write_text(letter[l]);
    r.on_left[l] = r.in_offset[l] = 1;
  }
  if (chance(30)) { write_text("+"); write_number(1 + below(2)); }
}

static void write_left(void) {
  int rank = below(4), batch = chance(60);
  write_text("y");
  for (int d = 0; d < rank; d++) {
    int l = 1 + below(FREE - 1);
    write_text(d ? "," : "[");
    if (d == 0 && batch) { write_text("b"); r.on_left[BATCH] = 1; }
    else if (chance(75)) { write_text(letter[l]); r.on_left[l] = 1; }
    else if (chance(80)) write_left_sum();
    else write_number(below(3));
  }
  if (rank) write_text("]");
  write_text(" = ");
}

static int occurs(const char *text, const char *name) {      /* as a whole word */
  size_t n = strlen(name);
  for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
    char after = at[n], before = at == text ? ' ' : at[-1];
    if (isalnum((unsigned char)after) || after == '_') continue;
    if (!isalpha((unsigned char)before) && before != '_') return 1;
  }
  return 0;
}

static void write_bounds(void) {
  int n = 0;
  for (int l = 1; l < LETTERS; l++) {
    int unknown = r.on_left[l] && !occurs(strchr(r.text, '='), letter[l]) && chance(95);
    if (!unknown && !(r.bounded[l] && occurs(r.text, letter[l]))) continue;
    write_text(n++ ? "," : " |");
    write_text(" ");
    write_text(letter[l]);
    write_text("<");
    write_number(r.extent[l]);
  }
}

static int random_equation(void) {
  memset(&r, 0, sizeof r);
  whole_numbers = chance(50);
  for (int l = 0; l < LETTERS; l++) {
    r.extent[l] = 1 + below(4);
    r.bounded[l] = l != BATCH && chance(25);
  }
  write_left();
  if (chance(20)) write_text("-");
  for (int t = 0, terms = 1 + below(3); t < terms; t++) {
    if (t) write_text(chance(50) ? " + " : " - ");
    write_term();
  }
  write_bounds();
  for (int k = 0; k < r.operands_n; k++) {
    if (k) append(r.operands, sizeof r.operands, " ");
    append(r.operands, sizeof r.operands, r.operand[k].decl);
  }
  return agree(r.text, r.operands);
}

static void random_equations(void) {
  enum { TRIALS = 1500 };
  int accepted = 0;
  for (int i = 0; i < TRIALS && harness.bad < 5; i++) accepted += random_equation();
  printf("# %d of %d random equations are right\n", accepted, TRIALS);
  CHECK(accepted > TRIALS / 3, "only %d of %d are right", accepted, TRIALS);
}

int main(void) {
  RUN(brute_force);
  RUN(equations);
  RUN(larger_equations);
  RUN(wrong_equations);
  RUN(random_equations);
  edf_clear();
  return harness_report();
}
