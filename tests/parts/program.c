/* program.c - what Part One of edf.h can do, for tests/parts.sh: an own node, batches of
   three sizes, two graphs, and equations of every kind. It prints each value and gradient in
   hexadecimal; the same with the whole header, with Part One alone, and without a chapter. */
#define EDF_IMPLEMENTATION
#include "edf.h"

static void numbers(const char *what, const Node *x, const edf_real *v) {
  printf("%s%s", x->name, what);
  for (size_t i = 0; v && i < x->size; i++) printf(" %a", (double)v[i]);
  printf("\n");
}

static void print_graph(void) {
  for (int i = 0; i < edf.n_inputs; i++) numbers(".grad", edf.inputs[i], edf.inputs[i]->grad);
  for (int i = 0; i < edf.n_parameters; i++) {
    numbers("", edf.parameters[i], edf.parameters[i]->value);
    numbers(".grad", edf.parameters[i], edf.parameters[i]->grad);
  }
  for (int i = 0; i < edf.n_compnodes; i++) {
    numbers("", edf.compnodes[i], edf.compnodes[i]->value);
    numbers(".grad", edf.compnodes[i], edf.compnodes[i]->grad);
  }
}

static void cube_forward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++) y->value[i] = x->value[i] * x->value[i] * x->value[i];
}
static void cube_backward(CompNode *y) {
  Node *x = y->in[0];
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(x, i, 3 * x->value[i] * x->value[i] * y->grad[i]);
}

static edf_real data[60], classes[10];

static void step(Input *x, Input *t, CompNode *loss, int batch) {
  edf_feed(x, data, batch);
  edf_feed(t, classes, batch);
  Forward();
  Backward(loss);
  SGD((edf_real)0.125);
  print_graph();
}

/* Three batches, and a second graph between the second and the third. */
static void graphs(void) {
  Input *x = edf_want_grad(edf_input("x[b,6]")), *t = edf_input("t[b]");
  AffineParams Phi1 = edf_affine_params(6, 5), Phi2 = edf_affine_params(5, 3);
  CompNode *a = Tanh(Affine(Phi1, x));
  CompNode *h = edf_compnode("Cube", cube_forward, cube_backward, a);
  CompNode *loss = SoftmaxLogLoss(Affine(Phi2, Relu(h)), t);
  step(x, t, loss, 4);
  step(x, t, loss, 10);
  edf_graph first = edf;
  edf = edf_new_graph();
  edf.kernel = EDF_REFERENCE;
  Input *u = edf_input("u[b,6]"), *v = edf_input("v[b]");
  CompNode *P = Softmax(Affine(edf_affine_params(6, 3), u));
  Input *two = edf_input("two");           /* compilers differ in the order of arguments */
  CompNode *ell = Mean(LogLoss(P, v)), *q = Div(Sum(Sqrt(Exp(Square(P)))), two);
  CompNode *all = Add(ell, q);
  edf_real number = 2;
  edf_feed(two, &number, 1);
  step(u, v, all, 3);
  edf_clear();
  edf = first;
  step(x, t, loss, 1);
  edf_clear();
}

static const char *const equations[][4] = {
  { "y[b,j] = W[I,j] x[b,I] - B[j]", "W[3,4]", "x[5,3]", "B[4]" },
  { "y[i] = x[2*i+D] w[D]", "x[9]", "w[3]", NULL },
  { "y[i,j,k] = W[DI,DJ,C,k] x[i+DI,j+DJ,C]", "W[2,2,3,2]", "x[4,5,3]", NULL },
  { "y[i,j,k] = W[DI,DJ,C,k] x[i+DI-1,j+DJ-1,C] | i<4, j<5", "W[3,3,2,2]", "x[4,5,2]", NULL },
  { "y[2*i+D] = w[D] x[i]", "w[3]", "x[4]", NULL },
  { "y[2*i+D,k] = W[D,k,C] x[i,C]", "W[2,3,2]", "x[4,2]", NULL },
  { "y[i] = A[i,i] v[i]", "A[4,4]", "v[4]", NULL },
  { "y = A[I,I]", "A[3,3]", NULL, NULL },
  { "y[i,j] = x[i] | j<3", "x[4]", NULL, NULL },
  { "d[j] = x[j+1] - x[j] | j<5", "x[6]", NULL, NULL },
  { "p[i,c] = 0.5 x[2*i+D,c] | D<2", "x[6,2]", NULL, NULL },
  { "y[i,l] = A[i,J] B[J,K] C[K,l]", "A[2,5]", "B[5,3]", "C[3,4]" },
  { "y = x[I] A[I,J] z[J]", "x[3]", "A[3,4]", "z[4]" },
  { "g[i,j] = x[i,K] x[j,K]", "x[3,4]", NULL, NULL },
  { "y[i] = 1.5 x[i] x[i] - 2 w[i]", "x[4]", "w[4]", NULL },
  { "y[i,j] = a[i] b[j] + c[i,j]", "a[3]", "b[2]", "c[3,2]" },
  { "y[j] = x[0,j] - x[2,j]", "x[3,4]", NULL, NULL },
  { "y[h,t,s] = 0.25 q[t,h,I] k[s,h,I]", "q[3,2,4]", "k[5,2,4]", NULL },
  { "y[t] = x[t-1] + x[t+1] | t<4", "x[4]", NULL, NULL },
  { "y[j,i] = - x[i,j]", "x[2,3]", NULL, NULL },
};

static Parameter *operand(const char *decl) {
  if (!decl) return NULL;
  Parameter *p = edf_parameter("%s", decl);
  edf_init_uniform(p, -1, 1);
  return p;
}

static void all_equations(void) {
  for (size_t k = 0; k < sizeof equations / sizeof *equations; k++) {
    const char *const *e = equations[k];
    Parameter *a = operand(e[1]), *b = operand(e[2]), *c = operand(e[3]);
    CompNode *y = c ? Einsum(e[0], a, b, c) : b ? Einsum(e[0], a, b) : Einsum(e[0], a);
    Forward();
    Backward(y);
    print_graph();
    edf_clear();
  }
}

int main(void) {
  edf.kernel = EDF_REFERENCE;
  for (int i = 0; i < 60; i++) data[i] = (edf_real)((i * 37 % 21) - 10) / 8;
  for (int i = 0; i < 10; i++) classes[i] = (edf_real)(i % 3);
  graphs();
  all_equations();
  return 0;
}
