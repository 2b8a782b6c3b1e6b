/* derive.c - a derivative is a tensor. tests/random checks the first derivatives of random texts.
   Here the last line of each text has a derivative in it, so its gradient is one order higher.
   edf_gradcheck compares it with differences of the line's values. */

#include "given.h"
#include "models.h"
#include "edf/derive.h"

typedef struct { const char *tensors, *text; } example;

/* Checks the derivative of the last line by every Parameter. */
static void check(const example *e, size_t n) {
  for (; n-- > 0; e++) {
    double error = 1;
    declare(e->tensors);
    for (int i = 0; i < edf.n_parameters; i++)     /* class numbers, and the lengths          */
      if (strchr("kny", *edf.parameters[i]->name)) edf.parameters[i]->update = edf_frozen;
    TRY(edf_node *y = edf_equations("%s", e->text); edf_forward();
        CAPTURE(error = edf_gradcheck(y)));
    CHECK(!panicked && error < (EDF_REAL_IS_DOUBLE ? 1e-6 : 5e-3), "%s: error %g\n%s", e->text, error,
          panicked ? caught : captured);
    edf_clear();
  }
}
#define CASES(name, ...)                              \
  TEST(name) {                                        \
    static const example cases[] = { __VA_ARGS__ };   \
    check(cases, sizeof cases / sizeof *cases);       \
  }

#define X "x[2,3] = 0.5 -1.2 0.3 1.1 0.7 -0.4; a[2,3] = 0.3 0.2 -0.5 0.9 -0.7 0.4"
#define POSITIVE "x[2,3] = 0.5 1.2 0.3 1.1 0.7 0.4; a[2,3] = 0.3 0.2 -0.5 0.9 -0.7 0.4"
/* The gradient of L by x, times a. */
#define TIMES_A "\ng[b,i] = grad(L, x[b,i])\nz = g[B,I] a[B,I]"

CASES(functions_have_second_derivatives,
  { X, "L = sum_{b,i} (x[b,i]^3 + x[b,0] x[b,1]^2)" TIMES_A },
  { X, "L = sum_{b,i} (tanh(x[b,i]) + sigmoid(x[b,i]) x[b,i])" TIMES_A },
  { X, "L = sum_{b,i} (exp(x[b,i]) + softplus(x[b,i]) + sin(x[b,i]) cos(2 x[b,i]))" TIMES_A },
  { X, "L = sum_{b,i} (gelu(x[b,i]) + silu(x[b,i]) + erf(x[b,i]) + expm1(x[b,i]))" TIMES_A },
  { POSITIVE, "L = sum_{b,i} (ln(x[b,i]) + sqrt(x[b,i]) + 1/x[b,i] + log1p(x[b,i]))" TIMES_A },
  { POSITIVE, "L = sum_{b,i} (x[b,i]^a[b,i] + x[b,i]^2.5 + 2^x[b,i])" TIMES_A },
  { X, "L = sum_{b,i} ((relu(x[b,i]) + abs(x[b,i])) x[b,i] + max(x[b,i], a[b,i])^2)" TIMES_A },
  { X, "L = sum_{b,i} (clamp(x[b,i], -0.6, 0.6)^3 + min(x[b,i]^2, a[b,i]))" TIMES_A },
  { X, "L = sum_{b,i} (where(x[b,i] > 0, x[b,i]^3, exp(x[b,i])))" TIMES_A })

CASES(rows_have_second_derivatives,
  { X, "P[b,i] = softmax_i x[b,i]\nL = P[B,I]^2" TIMES_A },
  { X, "P[b,i] = softmax_i x[b,i]\nL = -sum_b ln P[b,1]" TIMES_A },
  { X "; y[2] = 2 0", "P[b,i] = softmax_i x[b,i]\nL = sum_b -ln P[b,y[b]]" TIMES_A },
  { X, "L = sum_b logsumexp_i(x[b,i])^2" TIMES_A },
  { X, "L = sum_b ln sum_i (2 + a[b,i]) exp(x[b,i])" TIMES_A },
  { X, "n[b,i] = normalize_i x[b,i]\nL = n[B,I]^3 a[B,I]" TIMES_A },
  { X, "L = (sum_b variance_i(x[b,i])^2) + (sum_b std_i x[b,i]) + sum_i mean_b(x[b,i])^2" TIMES_A },
  { X, "L = sum_b norm_i(x[b,i]) prod_i x[b,i]" TIMES_A },
  { X, "L = sum_b max_i(x[b,i])^3" TIMES_A })

CASES(indices_have_second_derivatives,
  { X, "P[b,i] = softmax_i x[b,i]^2 | i<=b\nL = P[B,I] a[B,I]" TIMES_A },
  { X "; n[2] = 2 3", "L = sum_b (mean_i x[b,i]^3) | i<n[b]" TIMES_A },
  { X "; k[3] = 1 0 1", "e[t,i] = x[k[t],i]^2\nL = e[T,I] e[T,I]" TIMES_A },
  { X "; k[2] = 1 1", "o[k[b],i] += x[b,i]^2 | k<3\nL = o[C,I]^2" TIMES_A },
  { X, "y[b,i] = a[b,D] x[b,i+D-1] | D<2, i<4\nL = tanh(y[0,1]) + y[B,I]^2" TIMES_A },
  { X, "y[b,2*i+D] = x[b,i] a[b,D] | D<2\nL = sum_{b,j} sin(y[b,j])" TIMES_A },
  { X, "y[b,I+J] = x[b,I] ; a[b,J]^2\nL = sum_{b,j} tanh(y[b,j]) y[b,j]" TIMES_A },
  { X, "h[t,b] = tanh(h[t-1,b] + x[b,t])\nL = h[T,B]^2" TIMES_A },
  { "x[40] = 1; a[40] = 1", "x'[t] = x[t] + 0.1 t | t<40\nh[t] = tanh(0.9 h[t-1] + x'[t])\n"
    "L = h[T]^2 + h[39]^3\ng[t] = grad(L, x[t])\nz = g[T] a[T]" },
  { X, "y[b,t] = max_{d<2} x[b,t+d]^2 | t<2\nL = y[B,T]^2" TIMES_A },
  { "x[2,2] = 1 2 3 -4; a[2,2] = 1 -1 0.5 2", "L = sum_b (x[b,0] - x[b,b])^4" TIMES_A })

CASES(what_papers_do_with_derivatives,
  /* gradient penalty (Gulrajani 2017) */
  { "x[b,2] = 0.5 -1.2 0.3 1.1; W[3,2] = 1 -0.5 0.3 0.2 0.8 -1; B[3] = 0.1 0 -0.2; V[3] = 1 -1 2",
    "h[b,j] = tanh(W[j,I] x[b,I] - B[j])\nu[b] = V[J] h[b,J]\ng[b,i] = grad(u, x[b,i])\n"
    "loss = mean_b (norm_i(g[b,i]) - 1)^2" },
  /* Hessian times vector, and a Newton step for one number */
  { X, "L = sum_b exp(x[b,I] a[b,I])\ng[b,i] = grad(L, x[b,i])\ns = g[B,I] a[B,I]\n"
       "h[b,i] = grad(s, x[b,i])\nz = h[B,I]^2" },
  { "x = 0.7; c = 2", "L = c x^4 - exp(x)\ng = grad(L, x)\nh = grad(g, x)\nz = (x - g / h)^2" },
  /* saliency */
  { "x[2,3] = 0.5 -1.2 0.3 1.1 0.7 -0.4; W[2,3] = 1 -0.5 0.3 0.2 0.8 -1; y[2] = 1 0",
    "s[b,k] = tanh(W[k,I] x[b,I])\nq = s[0,y[0]] + s[1,y[1]]\ng[b,i] = grad(q, x[b,i])\n"
    "z = sum_{b,i} g[b,i]^2" },
  /* a differential equation, u'' = -u */
  { "x[b,1] = 0.5 -1.2 0.3; W[3] = 1 -0.5 0.3; B[3] = 0.1 0 -0.2; V[3] = 1 -1 2",
    "u[b] = V[J] tanh(W[J] x[b,0] - B[J])\nd[b,i] = grad(u, x[b,i])\n"
    "e[b,i] = grad(d, x[b,i])\nloss = mean_b (e[b,0] + u[b])^2" },
  /* MAML (Finn 2017): the loss after one step of the inner loss */
  { "W[2] = 0.5 -0.3; x[2,2] = 1 2 -1 0.5; y[2] = 1 0; s[2,2] = 0.3 1 1 -1; t[2] = 0.5 2",
    "L = mean_b (tanh(sum_i W[i] x[b,i]) - y[b])^2\nU[i] = W[i] - 0.1 grad(L, W[i])\n"
    "z = mean_b (tanh(sum_i U[i] s[b,i]) - t[b])^2" })

/* A derivative of a derivative, in the last line. */
#define TWICE "\ng[b,i] = grad(L, x[b,i])\ns = g[B,I] a[B,I]\nh[b,i] = grad(s, x[b,i])\nz = h[B,I]^2"
CASES(third_derivatives,
  { X, "L = sum_{b,i} (x[b,i]^4 + x[b,0]^2 x[b,1])" TWICE },
  { X, "L = sum_{b,i} (tanh(x[b,i]) exp(x[b,i]))" TWICE },
  { X, "P[b,i] = softmax_i x[b,i]\nL = P[B,I] a[B,I]" TWICE },
  { X "; y[2] = 2 0", "P[b,i] = softmax_i x[b,i]^2\nL = sum_b -ln P[b,y[b]]" TWICE },
  { X, "L = sum_b norm_i(x[b,i]) logsumexp_i(x[b,i])" TWICE },
  { X, "r[t,b] = sigmoid(r[t-1,b] x[b,t] + x[b,t])\nL = r[T,B]^2" TWICE },
  { POSITIVE, "L = sum_{b,i} (gelu(x[b,i]) sqrt(x[b,i]))" TWICE })

/* Values that are known. */
TEST(values_of_derivatives) {
  static const example cases[] = {
    { "x[3] = 1 2 -3", "u = sum_i x[i]^4\ng[i] = grad(u, x[i])\nh[i] = grad(g, x[i])" },
    { "x[3] = 1 2 -3", "u[i] = relu(x[i])\ng[i] = grad(u, x[i])\nh[i] = grad(g, x[i])" },
    { "x[3] = 1 2 -3", "y[i] = 2 x[i]\nu = y[I]^2\nh[i] = grad(u, y[i])" },
    { "x[3] = 1 2 -3; c = 2", "u = x[I]^2\ng = grad(u, c)\nh[i] = g + x[i]" } };
  static const char *const right[] = { "h = 12 48 108", "h = 0 0 0", "h = 4 8 -12", "h = 1 2 -3" };
  for (int k = 0; k < 4; k++) {
    declare(cases[k].tensors);
    edf_equations("%s", cases[k].text);
    edf_forward();
    compare(cases[k].text, right[k], 1e-6);
    edf_clear();
  }
}

/* In C, with names, and with the mask of this Forward. */
TEST(derivatives_in_c) {
  Parameter *x = edf_parameter("x[200]");
  for (int i = 0; i < 200; i++) x->value[i] = (edf_real)(i % 3 - 1);
  CompNode *y = edf_name(Dropout(x, 0.4), "y"), *g = edf_derivative(y, x);
  CHECK(!strcmp(g->name, "y.x") && edf_find("y.x") == g, "it is called %s", g->name);
  edf_forward();
  edf_backward(y);
  for (int i = 0; i < 200; i++) CLOSE(edf_value(g)[i], 200 * edf_grad(x)[i], 1e-6, 1e-6);
  edf_clear();
  Input *in = edf_input("x[b,2]");
  CompNode *z = Relu(Reshape(in, "z[b,2,1]")), *d = edf_derivative(z, in);
  edf_feed(in, (edf_real[]){ 1, -1, 2, 3 }, 2);
  edf_forward();
  CHECK(d->rank == 2 && d->value[0] == 1 && d->value[1] == 0 && d->value[3] == 1, "%g %g",
        (double)d->value[0], (double)d->value[1]);
}

/* Its print is the program of the backward, and is read again. */
TEST(derivatives_are_printed) {
  static const char text[] = "u = tanh(W[I] x[I])\ng[i] = grad(u, x[i])\nz = g[I]^2";
  declare("x[2] = 1 2; W[2] = 0.3 -0.2");
  edf_node *z = edf_equations("%s", text);
  edf_forward();
  double before = (double)*edf_value(z);
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "u.x = grad(u, x)|u.u = 1|u.u0 = |g[i] = u.u0 W[i]|z = g[I]^2");
  CAPTURE(edf_print_equations(stdout));
  WORDS(captured, "parameter x[2]|g[i] = grad(u, x[i])");
  static char again[400];
  snprintf(again, sizeof again, "%.399s", captured);
  edf_clear();
  declare("x[2] = 1 2; W[2] = 0.3 -0.2");
  z = edf_equations("%s", again);
  edf_forward();
  CHECK((double)*edf_value(z) == before, "it is %g, and was %g", (double)*edf_value(z), before);
}

/* The nodes compute the gradients of all layers. */
TEST(models_with_all_layers) {
  for (int k = 0; k < MODELS; k++) {
    edf_node *g[64], *y;
    static char tensors[200];
    snprintf(tensors, sizeof tensors, "%s", models[k].tensors);
    edf_seed(3);
    declare_plain(tensors);
    models[k].build();
    y = edf.compnodes[edf.n_compnodes - 1];
    int n = edf.n_parameters < 64 ? edf.n_parameters : 64;
    for (int i = 0; i < n; i++) g[i] = edf_derivative(y, edf.parameters[i]);
    edf_forward();
    edf_backward(y);
    for (int i = 0; i < n; i++) {
      const edf_real *right = edf_grad(edf.parameters[i]), *found = edf_value(g[i]);
      double most = 0, error = 0;
      for (size_t j = 0; j < g[i]->size; j++) {
        double is = (double)found[j] / (double)y->size, want = right ? (double)right[j] : 0;
        most = fmax(most, fabs(want));
        error = fmax(error, fabs(is - want));
      }
      CHECK(error <= (EDF_REAL_IS_DOUBLE ? 1e-9 : 1e-4) * (most + 1e-2), "model %d, %s: %g of %g",
            k, edf.parameters[i]->name, error, most);
    }
    edf_clear();
  }
}

static void no_code(edf_node *y) { memcpy(y->value, y->in[0]->value, y->size * sizeof *y->value); }
static const edf_op own_op = { "Own", NULL, no_code, no_code, NULL, NULL, NULL, 0, NULL };
TEST(mistakes_stop) {
  declare("x[b,2] = 1 2 3 4");
  STOPS(edf_equations("u = x[0,I]^2\ng[b,i] = grad(u, x[b,i])"), "batch|x[0,i]");
  edf_clear();
  declare("x[2] = 1 2");
  STOPS(edf_equations("u = x[I]^2\ng[i] = grad(u[0], x[i])"), "L alone");
  edf_clear();
  declare("x[2] = 1 2");
  STOPS(edf_equations("g[i] = grad(u, x[i])\nu = x[I]^2"), "u has no line above");
  edf_clear();
  declare("x[2] = 1 2");
  STOPS(edf_equations("u = x[I]^2\ng[i] = grad(u, q[i])"), "q has no line above");
  edf_clear();
  declare("x[2] = 1 2");
  STOPS(edf_equations("u = x[I]^2\ng[i,j] = grad(u, x[i,j])"), "2 indices|has 1");
  edf_clear();
  Parameter *x = edf_parameter("x[2]");
  edf_node *own = edf_node1(&own_op, __FILE__, __LINE__, x);
  STOPS(edf_derivative(edf_sum(own), x), "needs a formula|Own");
  edf_clear();
  x = edf_parameter("x[2]");
  STOPS(edf_derivative(x, x), "expected a CompNode");
}

int main(void) { return harness_main(); }
