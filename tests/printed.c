/* printed.c - what edf_print_program prints is what runs: interpreter.h evaluates the printed
   lines of models and of texts, forward and backward.

   What edf_print_equations prints is the same program too: read again and trained, it gives
   the same bits. */

#include "interpreter.h"
#include "models.h"
#include "cases.h"

/* ---- The programs: models, and texts. Their last node is the loss. */

enum { MOST = 1 << 16, STEPS = 20 };

static const struct { const char *tensors, *text; } texts[] = {
  { "x[b,5]", "h[b,j] = sig( W0[j,I] x[b,I] - C0[j] ) | j<4" },
  { "v[2,3,4] x[4,2]", "z[s] = v[T,K,s] relu(2 1[x[s,T] > 0.1] + x[s,T]) | T<s" },
  { "Phi[4] x[4] y", "L = (Phi[J] x[J] - y)^2" },
  { "L[b,6,6,2] W[2,2,2,3]", "M[b,x,y,j] = W[DX,DY,I,j] L[b,2*x+DX,2*y+DY,I]" },
  { "x[b,3,3,2] W[2,2,4,2]", "M[b,2*x+DX,2*y+DY,i] = W[DX,DY,i,J] x[b,x,y,J]" },
  { "A[b,3] C[b,2]", "L[b,J+K] = A[b,J] ; C[b,K]" },
  { "W[4,3,3] z[3]", "x[0,i] = z[i]\nx[t+1,i] = W[t,i,J] x[t,J] | t<4" },
  { "x[b,4,3]", "h[b,t,j] = tanh( V[j,I] h[b,t+1,I] + W[j,K] x[b,t,K] ) | j<3" },
  { "L[b,4,6]", "Q[b,k,t,i] = WQ[k,i,J] L[b,t,J] | k<2, i<3\n"
    "a[b,k,t,s] = softmax_s (1/sqrt I) Q[b,k,t,I] Q[b,k,s,I] | s<=t\n"
    "H[b,k,t,i] = a[b,k,t,S] Q[b,k,S,i]\nN[b,t,j] = W0[j,(K,I)] H[b,K,t,I] | j<6" },
  { "x[b,4]", "m[b] = mean_i x[b,i]\nv[b] = variance_i x[b,i]\n"
    "y[b,i] = A[i] (x[b,i] - m[b]) / sqrt(v[b] + 1e-5) + B[i]" },
  { "x[b,2,3,4]", "q[b,t,s,j] = logsoftmax_s x[b,t,s,j]\nr[b,t,s,j] = normalize_j(q[b,t,s,j], "
    "1e-2)\nm[b,t,j] = max_s r[b,t,s,j]" },
  { "x[4] C[3]", "a[t] = 0.5 h[t-1]\nh[t] = x[t] + a[t]\nfor t,i: z[t] += h[t] C[i] / (1+T)"
    "\nz[t] += 1/2 h[t]" },
  { "v[5] a[5]=3", "o[a[i]] += v[i] | a<3\nz = o[I] o[I]" },
  { "x[b,4] u[4] k[b]=4", "h[b,j] = relu(V[j,I] x[b,I]) + sum_i (tanh(x[b,i])^2 - u[i]^2 - 1) "
    "- sigmoid(u[I] x[b,I]) | j<3\nq[b] = mean_i (x[b,i] - u[i])^2 - gelu(u[I] x[b,I]) u[1]\n"
    "v[j] = (1/(B-1)) sum_b (h[b,j] - x[b,0])^2 / 2 + u[0] variance_b h[b,j]\n"
    "p[b] = max(q[b], u[k[b]] - 1)^2 - (q[b] - x[b,0]) / sqrt(u[I] u[I] + 1)\n"
    "y[b,j] = p[b] exp(-tanh(v[j]) (u[3] - tanh(p[b]))) - abs(h[b,j] - v[j])" },
  { "s[b,4] W[4,2]", "y[b,j] += W[i,j] s[b,i]\ny[b,j] -= W[0,j] s[b,0]\nz[b] = y[b,J] y[b,J]" }
};

enum { TEXTS = sizeof texts / sizeof *texts };

/* Builds model k, or behind the models text k - MODELS, and returns its name. */
static const char *build(int k) {
  edf_seed((unsigned)k + 1);
  declare_plain(k < MODELS ? models[k].tensors : texts[k - MODELS].tensors);
  if (k < MODELS) models[k].build();
  else edf_equations("%s", texts[k - MODELS].text);
  return k < MODELS ? edf_fmt("model %d", k) : texts[k - MODELS].text;
}

static edf_node *last(void) { return edf.compnodes[edf.n_compnodes - 1]; }

TEST(what_is_printed_is_what_runs) {
  for (int k = 0; k < MODELS + TEXTS; k++) {
    const char *what = build(k);
    CHECK(evaluate(what, last()), "%s: a NaN", what);
  }
}

/* ---- Equal steps */

/* Returns the number of lines that edf_print_program writes. */
static int printed_lines(void) {
  int lines = 0;
  CAPTURE(edf_print_program(stdout));
  for (const char *c = captured; *c; c++) lines += *c == '\n';
  return lines;
}

TEST(equal_steps_are_printed_once) {
  declare_plain("x[b,20,3] V[3,3]");
  edf_equations("h[b,t,j] = tanh(V[j,I] h[b,t-1,I] + x[b,t,j])");
  printed_lines();
  WORDS(captured, "  h[b,t,j] = tanh(V[j,I] h[b,t-1,I] + x[b,t,j])   [t=0]\n|  [t=1]\n|"
        "3  h@3[b,j] = tanh(h2[b,j])|  [t=2 to t=19] the same: nodes 4 to 39\n|"
        "  [t=19 to t=2] the same: nodes 39 to 4\n  [t=1]\n|1  h@1");
  CHECK(!strstr(captured, "x[b,2,j]"), "the third step is printed:\n%s", captured);
}

/* Only steps with the same nodes are the same. A line is shown at its first step with nodes. */
TEST(other_steps_are_printed) {
  declare_plain("x[7] a[7] u[4,5]");
  edf_equations("h[0] = 2\nh[3] = 5\nh[t] = x[t] h[t-1] + 1");
  printed_lines();
  WORDS(captured, "[t=1]\n|  [t=2] the same: node 4\n  [t=4]\n    5  h@5 = x[4] h@2 + 1|"
        "  [t=5 to t=6] the same: nodes 6 to 7\n");
  edf_clear_compnodes();
  edf_equations("h[t] = x[t] + a[t+2] h[t-1]");
  printed_lines();
  WORDS(captured, "  [t=2 to t=4] the same: nodes 2 to 4\n  [t=5]\n    5  h@5 = x[5]   Einsum|"
        "  [t=6] the same: node 6\n|  [t=6] the same: node 6\n  [t=5]\n    5  h@5\n|"
        "  [t=4 to t=2] the same: nodes 4 to 2\n");
  edf_clear_compnodes();
  edf_equations("g[t] = 0.5 h[t-1]\nh[t] = x[t] + g[t]");
  printed_lines();
  WORDS(captured, "  h[t] = x[t] + g[t]   [t=0]\n    0  h@0 = x[0]   Einsum|"
        "  g[t] = 0.5 h[t-1]   [t=1]\n    1  g@1 = 0.5 h@0   Einsum|"
        "  h[t] = x[t] + g[t]   [t=1]\n    2  h@2 = x[1] + g@1   Einsum|"
        "  [t=2 to t=6] the same: nodes 3 to 12\n");
  edf_clear_compnodes();
  edf_equations("h[l,t] = u[l,t] + h[l-1,t] h[l,t-1]");
  printed_lines();
  WORDS(captured, "  [l=0,t=2 to l=0,t=4] the same: nodes 2 to 4\n  [l=1,t=0]\n|  [l=1,t=1]\n|"
        "  [l=1,t=2 to l=3,t=4] the same: nodes 7 to 19\n");
}

/* A line is a heading. Below it are the nodes that run. */
TEST(lines_are_headings) {
  declare_plain("x[b,3] y[b,20,3]");
  edf_equations("h[b,t,j] = tanh( y[b,t,j]  + h[b,t-1,j])\n"
                "m[j] = mean_b x[b,j]\n"
                "v[j] = mean_b (x[b,j] - m[j])^2\n"
                "z[b,j] = A[j] (x[b,j] - m[j]) / sqrt(v[j] + 1e-5) + C[j]");
  printed_lines();
  WORDS(captured, "  h[b,t,j] = tanh( y[b,t,j] + h[b,t-1,j])   [t=0]\n|"
        "  v[j] = mean_b (x[b,j] - m[j])^2\n|"
        "  z[b,j] = A[j] (x[b,j] - m[j]) / sqrt(v[j] + 1e-5) + C[j]\n|\nbackward\n|  z\n|"
        "  z[b,j] = A[j]");
}

/* A line that became one node is its own heading, forward and backward. It does not look like a
   node of the line before. */
TEST(a_line_of_one_node_is_printed_once) {
  declare_plain("x[b,3] W[2,3]");
  edf_node *z = edf_equations("h[b,j] = tanh(2 W[j,I] x[b,I])\nz[b] = h[b,J] h[b,J]");
  edf_name(Mean(z), "loss");
  printed_lines();
  WORDS(captured, "\nforward\n  h[b,j] = tanh(2 W[j,I] x[b,I])\n"
        "    0  h0[b,j] = 2 W[j,I] x[b,I]   Einsum|\n    1  h[b,j] = tanh(h0[b,j])   Tanh|"
        "\n  z[b] = h[b,J] h[b,J]\n    2  z[b] = h[b,J]^2   Einsum|"
        "\n  3  loss = mean_B z[B]   Mean");
  WORDS(captured, "\nbackward\n  3  loss\n       for b: z.grad[b] +=|"
        "\n  z[b] = h[b,J] h[b,J]\n    2  z\n       for b,j: h.grad|"
        "\n  h[b,j] = tanh(2 W[j,I] x[b,I])\n    1  h\n");
  edf_clear();
  declare_plain("x[b,3] W[2,3]");
  edf_equations("s[b,j] = W[j,I] x[b,I]\nh[b,j] = tanh(2 s[b,j])");
  printed_lines();
  WORDS(captured, "\nforward\n  0  s[b,j] = W[j,I] x[b,I]   Einsum|"
        "\n  h[b,j] = tanh(2 s[b,j])\n    1  h1[b,j] = 2 s[b,j]   Einsum|"
        "\nbackward\n  h[b,j] = tanh(2 s[b,j])\n    2  h\n|"
        "\n  0  s[b,j] = W[j,I] x[b,I]\n       for b,i,j: W.grad");
  CHECK(!strstr(captured, "  s[b,j] = W[j,I] x[b,I]\n    0"), "%s", captured);
  edf_clear();
  declare_plain("x[b,3]");
  edf_equations("s[b,j] = W[j,I] x[b,I] | j<2\nr[b,j] = s[b,j] - x[b,j] | j<1\n"
                "P[j,k] = softmax_k V[j,k] | k<=j, k<2");
  printed_lines();
  CHECK(strstr(captured, "\n  0  s[b,j] = W[j,I] x[b,I] | j<2   Einsum") &&
        strstr(captured, "\n  1  r[b,j] = s[b,j] - x[b,j] | j<1   Einsum") &&
        strstr(captured, "\n  P[j,k] = softmax_k V[j,k] | k<=j, k<2\n    2  P[j,k] ="), "%s",
        captured);
}

/* A coefficient is printed as it was written. The number 1 is no factor. A mask is printed. */
TEST(coefficients_are_printed_as_written) {
  declare_plain("x[b,3] a[3]");
  edf_equations("z[b,j] = (1/3) x[b,j] - sqrt(2) a[j] + 0.1234567891 x[b,j] | j<3\n"
                "y[b,j] = 2 * abs(1-B) * x[b,j]\n"
                "w[b,j] = max(x[b,j],a[j])\n"
                "v[b,j] = x[b,j]/7\n"
                "g[t] = a[t] (1 - g[t-1])\n"
                "c[t] = sum_s exp(a[s]) | s<=t");
  printed_lines();
  WORDS(captured, "  0  z[b,j] = (1/3) x[b,j] - sqrt(2) a[j] + 0.1234567891 x[b,j]|"
        "  1  y[b,j] = 2 * abs(1-B) * x[b,j]   Einsum|  2  w[b,j] = max(x[b,j],a[j])   Max|"
        "= (1/7) x[b,j]   Einsum|  g@5 = a[0]   Einsum|"
        "= Exp10[S] Test13[t,S] | S<=t   Einsum|"
        "Exp10.grad[s] += c.grad[t] Test13[t,s] | s<=t\n");
  CHECK(!strstr(captured, "Number"), "%s", captured);
}

/* Numbers and sizes are coefficients, not nodes. */
TEST(batch_normalisation_has_three_nodes_a_line) {
  declare_plain("x[b,3]");
  edf_equations("m[j] = (1/B) sum_b x[b,j]\nv[j] = (1/(B-1)) sum_b (x[b,j] - m[j])^2\n"
                "z[b,j] = A[j] (x[b,j] - m[j]) / sqrt(v[j] + 1e-5) + C[j]");
  CAPTURE(edf_print_program(stdout));
  int lines = 0;
  for (const char *c = strstr(captured, "forward\n"); !is(c, "backward\n"); c++)
    lines += *c == '\n';
  CHECK(lines == 1 + 3 + 1 + 2 + 3, "3 headings and 6 nodes, not %d lines:\n%s", lines,
        captured);
  WORDS(captured, "m[j] = (1/B) x[B,j]|  v[j] = (1/(B-1)) sum_b (x[b,j] - m[j])^2\n|"
        "v[j] = (1/(B-1)) v1[B,j]^2|z[b,j] = A[j] v1[b,j] Pow4[j] + C[j]|"
        "for b,j: v1.grad[b,j] += (2/(B-1)) v.grad[j] v1[b,j]");
}

/* A mask is computed once for all tensors of a line. */
TEST(a_mask_is_built_once) {
  declare_plain("v[3] u[3,2]");
  edf_node *y = edf_equations("y[t] = v[t] - 2 ln(sum_{s,k} 2 exp(u[s,k])) | t<=s");
  CAPTURE(edf_print_program(stdout));
  const char *test = strstr(captured, "= 1[");
  CHECK(y->position == 13 && test && !strstr(test + 1, "= 1["), "%s", captured);
}

/* Nodes are not equal if they have other numbers, names or tensors. */
TEST(other_nodes_are_printed) {
  declare_plain("x[b,3] a[3] c[3]");
  edf_node *y = edf_find("x");
  for (int k = 0; k < 12; k++) y = LeakyRelu(y, k == 6 ? 0.25 : 0.125);
  for (int k = 0; k < 12; k++) y = edf_name(Tanh(y), edf_fmt("%c", 'A' + k));
  for (int k = 0; k < 12; k++) y = edf_name(Mul(y, edf_find(k == 6 ? "a" : "c")), "y");
  int lines = printed_lines();
  CHECK(!strstr(captured, "more times") && lines > 36, "%d lines:\n%s", lines, captured);
}

/* ---- Only the backward that runs is printed */

/* Prints the program, and checks the words after "backward". One with a ! must be missing. */
static void prints_backward(const char *words) {
  char word[200];
  CAPTURE(edf_print_program(stdout));
  const char *back = strstr(captured, "\nbackward\n");
  CHECK(back, "no backward in\n%s", captured);
  for (size_t n; back && *words; words += n + (words[n] == '|')) {
    n = strcspn(words, "|");
    snprintf(word, sizeof word, "%.*s", (int)n, words);
    if (*word == '!') CHECK(!strstr(back, word + 1), "%s in\n%s", word, captured);
    else WORDS(back, word);
  }
}

#define PRINTS_AS_BEFORE(then, words)                                          \
  do {                                                                         \
    prints_backward(words);                                                    \
    strcpy(before, captured);                                                  \
    then;                                                                      \
    prints_backward(words);                                                    \
    CHECK(!strcmp(before, captured), "before\n%s\nafter\n%s", before, captured); \
  } while (0)

TEST(only_the_backward_that_runs_is_printed) {
  static char before[sizeof captured];
  declare_plain("x[b,3] y[b]=2");
  edf_node *loss = edf_equations("h[b,j] = tanh(W[j,I] x[b,I]) | j<4\n"
                                 "P[b,k] = softmax_k V[k,J] h[b,J] | k<2\n"
                                 "d[b] = h[b,J] h[b,J]\nloss[b] = -ln P[b,y[b]]");
  edf_node *d = edf_find("d"), *P = edf_find("P"), *W = edf_find("W");
  Forward();
  PRINTS_AS_BEFORE(Backward(loss), "V.grad[k,j] += P2.grad[b,k] h[b,j]|!P.grad|!d.grad");
  CAPTURE(edf_print_node(stdout, P));
  CHECK(!strstr(captured, "+="), "%s", captured);
  WORDS(captured, "loss does not depend on P");
  prints_backward("!d.grad");
  PRINTS_AS_BEFORE(W->update = edf_frozen; Backward(loss); W->update = NULL, "W.grad");
  W->update = edf_frozen;
  PRINTS_AS_BEFORE(Backward(loss), "V.grad|!W.grad");
  W->update = NULL;
  PRINTS_AS_BEFORE(Backward(d); Backward(loss), "P2.grad");
  Backward(d);
  prints_backward("h.grad[b,j] += 2 d.grad[b] h[b,j]|!loss.grad|!P2.grad");
}

/* A node after the loss that has no gradient is not the loss. */
TEST(a_test_after_the_loss_is_not_the_loss) {
  declare_plain("x[b,3] y[b,2]");
  edf_equations("s[b,k] = W[k,I] x[b,I] | k<2\nloss[b] = sum_k (s[b,k] - y[b,k])^2\n"
                "guess[b] = argmax_k s[b,k]");
  prints_backward("W.grad[k,i] += s.grad[b,k] x[b,i]");
  Forward();
  CHECK(edf_step_backward() == edf_find("loss"), "a step begins with the loss");
}

/* To print between two steps does not change which nodes run. */
TEST(printing_does_not_change_a_pass) {
  static edf_real grad[8];
  declare_plain("x[b,3] V[2,3]");
  edf_node *x = edf_find("x"), *V = edf_find("V");
  edf_node *s = edf_einsum("s[b,j] = V[j,I] x[b,I]", V, x), *loss = Square(s), *other = Tanh(s);
  Forward();
  Backward(loss);
  memcpy(grad, V->grad, V->size * sizeof *grad);
  edf_step_forward();
  CAPTURE(edf_print_program(stdout); edf_where(); edf_print_node(stdout, s));
  CHECK(edf_step_forward() == loss && edf_step_forward() == other, "not all nodes run");
  CHECK(!edf_step_forward() && s->active && other->active, "the marks of Forward");
  CHECK(edf_step_backward() == loss, "the loss runs backward");
  V->update = edf_frozen;
  CAPTURE(edf_print_program(stdout); edf_where(); edf_print_node(stdout, s));
  V->update = NULL;
  CHECK(edf_step_backward() == s && !edf_step_backward(), "not all nodes run backward");
  CHECK(!memcmp(grad, V->grad, V->size * sizeof *grad), "other gradients");
}

/* ---- Nodes of the user's own */

static void cube_forward(CompNode *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = x[i] * x[i] * x[i];
}

static void cube_backward(CompNode *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, 3 * y->grad[i] * x[i] * x[i]);
}

static CompNode *own(edf_node *a, edf_node *b) {
  CompNode *y = b ? edf_compnode("Mine", cube_forward, cube_backward, a, b)
                  : edf_compnode("Mine", cube_forward, cube_backward, a);
  return edf_name(y, "y");
}

TEST(a_formula_of_a_users_node_runs) {
  declare_plain("x[b,3]");
  CompNode *y = own(edf_find("x"), NULL);
  CHECK(edf_formula(y, "y[b,i] = x[b,i]^3", "for b,i: x.grad[b,i] += 3 y.grad[b,i] x[b,i]^2")
        == y,
        "it returns the node");
  CHECK(evaluate("an own formula", Mean(y)), "a NaN");
}

/* ---- Printed equations, read again */

/* Copies all parameters into the array, or out of it, and returns how many numbers they are. */
static size_t parameters(edf_real *at, int into) {
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters; n += edf.parameters[i++]->size) {
    Parameter *p = edf.parameters[i];
    memcpy(into ? at + n : p->value, into ? p->value : at + n, p->size * sizeof *at);
  }
  return n;
}

static size_t train(edf_real *to) {
  edf_seed(5);
  for (int step = 0; step < STEPS; step++) {
    Forward();
    Backward(last());
    edf_adam((edf_real)0.003, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
  }
  size_t n = parameters(to, 1);
  memcpy(to + n, last()->value, last()->size * sizeof *to);
  return n + last()->size;
}

static void print_equations(char *to) {
  CAPTURE(edf_print_equations(stdout));
  snprintf(to, MOST, "%s", captured);
}

static void both_ways(const char *what) {
  static char text[2][MOST];
  static edf_real start[MOST], found[2][MOST];
  const edf_real *data[12];
  int rows[12], n_data = edf.n_inputs;
  for (int i = 0; i < n_data; i++) {
    data[i] = edf.inputs[i]->value;
    rows[i] = edf.inputs[i]->fed;
  }
  parameters(start, 1);
  print_equations(text[0]);
  size_t n = train(found[0]);
  edf_clear();
  edf_equations("%s", text[0]);
  print_equations(text[1]);
  CHECK(!strcmp(text[0], text[1]), "%s:\n%s\nis read as\n%s", what, text[0], text[1]);
  parameters(start, 0);
  for (int i = 0; i < n_data; i++) edf_feed(edf_want_grad(edf.inputs[i]), data[i], rows[i]);
  size_t again = train(found[1]);
  CHECK(n == again && !memcmp(found[0], found[1], n * sizeof **found),
        "%s: other numbers from\n%s", what, text[0]);
  edf_clear();
}

TEST(printed_equations_give_the_same_bits) {
  for (int k = MODELS; k < MODELS + TEXTS; k++) {
    const char *what = build(k);
    both_ways(what);
  }
}

/* Texts that define one name become one text, with several names. */
TEST(several_texts_become_one) {
  declare_plain("x[b,3] y[b,2] W[3]");
  edf_parameter("W[2]");                 /* It is called W@1. */
  edf_equations("h[b] = x[b,I] v[I] \xE2\x88\x92 1   # a comment\nz[b] = 2 h[b]");
  edf_equations("h[b] += x[b,I] v[I]\nz[b] = 2 h[b].");
  edf_equations("u[b] += 3 h[b] z[b]\nk[b] = 1[y[b,0] > 0]");
  edf_name(edf_find("k"), "class of b");
  edf_equations("k[b] = 1[y[b,1] > 0]\no[b] = u[b] h[b] E[k[b]] + W[0] | k<2");
  edf_equations("h[-1] = 2\nh[t] = W[t] h[t-1] | t<3\nl[b] = o[b] + h[2]");
  both_ways("several texts");
  declare_plain("x[b,3]");
  edf_equations("h[b] += 2 x[b,I]");
  edf_equations("h[b] += 3 x[b,I]");
  CAPTURE(edf_print_equations(stdout));
  WORDS(captured, "h[b] += 2 x[b,I]\n|h_2[b] += 3 x[b,I]\n");
}
TEST(one_parameter_has_one_number) {
  edf_node *w = edf_parameter("w");
  Tanh(w);
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "parameters, 1 number\n");
  edf_parameter("v[3]");
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "parameters, 4 numbers\n");
  edf_clear();
}

/* A scalar is a row of one number. It has no index. */
TEST(sums_of_a_scalar_are_printed) {
  edf_node *x = edf_parameter("x");
  edf_node *y = edf_name(edf_sum(x), "y"), *z = edf_name(edf_mean(y), "z");
  CHECK(evaluate("sums of a scalar", edf_mul(z, z)), "a NaN");
}

/* The search for the names of indices visits many nodes twice, but it ends. */
TEST(a_long_chain_is_printed) {
  edf_node *y = edf_parameter("x[3]");
  for (int k = 0; k < 60; k++) y = edf_add(y, edf_tanh(y));
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "Add1[i] = x[i] + Tanh0[i]");
  edf_clear();
}

/* Row t of a causal softmax or its logarithm uses only its first t+1 entries. */
TEST(causal_rows_have_bounds) {
  declare_plain("x[3,3] m[3,3]");
  edf_equations("P[t,s] = softmax_s x[t,s] | s<=t\nQ[t,s] = ln P[t,s]\n"
                "z = sum_{t,s} Q[t,s] m[t,s] + sum_{t,s} P[t,s] m[t,s] | s<=t");
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "exp(x[t,s]) / sum_S exp(x[t,S]) | s<=t, S<=t|ln(1[s <= t]) | S<=t|"
        "exp(Q[t,s]) sum_S Q.grad[t,S] | s<=t, S<=t");
  edf_clear();
}

/* ---- Random texts, for random.sh: cases as run.c reads them. The last line is the loss. */

static char one_case[20000];
static int refused, huge, undefined, computed;

static void random_text(void) {
  static char text[sizeof one_case];
  char *lines = strstr(one_case, "---\n") + 4;
  int n = 0, small = 1;
  snprintf(text, sizeof text, "%s", lines);
  lines[-4] = '\0';
  for (char *line = strtok(one_case, "\n"); line; line = strtok(NULL, "\n"))
    small &= declare_case(line, n++);
  edf_node *loss = NULL;
  TRY(loss = build_case(lines); edf_forward());
  refused += panicked;
  if (panicked) return;
  huge += !small;
  if (!small) return;
  computed++;
  undefined += !evaluate(text, loss);
}

/* Formulas such as exp(s) / sum exp(s) hold for numbers that do not overflow. A division by a
   small difference makes the error of a printed number larger. */
static int random_texts(void) {
  print_error = 1e-3;
  static char line[sizeof one_case];
  while (fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "END\n")) { strcat(one_case, line); continue; }
    harness_run("random_text", random_text);
    *one_case = '\0';
  }
  int few = undefined * 50 < computed && harness.failed == 0;
  printf("%s printed texts: %d computed, %d of them give a NaN; %d have huge numbers, %d are "
         "errors\n", few ? "ok" : "not ok", computed, undefined, huge, refused);
  return !few;
}

int main(int n, char **words) {
  (void)words;
  return n > 1 ? random_texts() : harness_main();
}
