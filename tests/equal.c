/* equal.c - no two nodes of one text compute the same. */

#include "harness.h"
#include "edf/slide.h"
#include "edf/judge.h"

static const edf_real rows[] = { 1, -2, 3, -4, 5, -6, 0.5f, -0.25f, 2, 0.125f, 0.75f, -1 };

/* Declares x[b,3] with 4 rows, k[b] with 4 class numbers, W, V[3,3] and u[3], and builds the
   text. The sizes of the columns and of the batch differ. */
static edf_node *build(const char *text) {
  static const edf_real classes[] = { 2, 0, 1, 2 };
  static const char *const of[] = { "W[3,3]", "V[3,3]", "u[3]" };
  edf_feed(edf_want_grad(edf_input("x[b,3]")), rows, 4);
  edf_feed(edf_input("k[b]"), classes, 4);
  for (int p = 0; p < 3; p++) edf_init_uniform(edf_parameter("%s", of[p]), 0.25f, 1);
  return edf_equations("%s", text);
}

/* Builds each line as a text of its own. Two texts share no nodes. */
static edf_node *build_apart(const char *text) {
  edf_node *y = build("start[b] = x[b,0]");
  for (const char *end; *text; text = end + (*end == '\n')) {
    end = text + strcspn(text, "\n");
    y = edf_equations("%.*s", (int)(end - text), text);
  }
  return y;
}

/* ---- The nodes of a text, its values and its gradient. The text is printed and read again. */
static const struct { const char *text; int nodes; } table[] = {
  { "y[b,i] = 2 (2 (2 x[b,i]))", 1 },
  { "y[b,i] = tanh(x[b,i]) + tanh(x[b,i])", 2 },
  { "a[b,i] = tanh(x[b,i])\nc[b,j] = tanh(x[b,j])\ny[b,i] = a[b,i] c[b,i]", 2 },
  { "a[b,i] = 2 x[b,i]\nc[b,j] = 2 x[b,j]\ny[b,i] = a[b,i] c[b,i]", 2 },
  /* other names of indices, another order of factors and of terms */
  { "a[b,i] = W[i,J] x[b,J]\nc[b,j] = x[b,K] W[j,K]\ny[b] = a[b,I] c[b,I]", 2 },
  { "a[b,i] = x[b,i] + u[i]\nc[b,j] = u[j] + x[b,j]\ny[b] = a[b,I] c[b,I]", 2 },
  { "a[b,i] = x[b,i] - u[i]\nc[b,j] = u[j] - x[b,j]\ny[b] = a[b,I] c[b,I]", 3 },
  { "a[i,j] = W[i,j] - W[j,i]\nc[j,i] = W[j,i] - W[i,j]\ny[i,j] = a[i,j] c[i,j]", 2 },
  { "a[i,j] = W[i,j] - W[j,i]\nc[i,j] = W[j,i] - W[i,j]\ny[i,j] = a[i,j] c[i,j]", 3 },
  { "a[i] = W[i,J] V[J,i] + W[J,i] V[i,J]\nc[k] = V[k,J] W[J,k] + W[k,L] V[L,k]\n"
    "y[i] = a[i] c[i]", 2 },
  /* other numbers, tensors, places, bounds and sizes */
  { "a[b,i] = 2 x[b,i]\nc[b,i] = 3 x[b,i]\ny[b,i] = a[b,i] c[b,i]", 3 },
  { "a[b,i] = W[i,J] x[b,J]\nc[b,j] = V[j,J] x[b,J]\ny[b,i] = a[b,i] c[b,i]", 3 },
  { "a[b,i] = W[i,J] x[b,J]\nc[b,j] = W[J,j] x[b,J]\ny[b,i] = a[b,i] c[b,i]", 3 },
  { "a[b] = x[b,0]\nc[b] = x[b,1]\ny[b] = a[b] c[b]", 3 },
  { "a[b] = sum_i x[b,i] | i<2\nc[b] = sum_i x[b,i] | i<3\ny[b] = a[b] c[b]", 3 },
  { "a[b,i] = max(x[b,i], 0)\nc[b,i] = min(x[b,i], 0)\ny[b,i] = a[b,i] c[b,i]", 5 },
  { "a[b,i] = x[b,i]^3\nc[b,i] = x[b,i]^5\ny[b,i] = a[b,i] c[b,i]", 3 },
  { "a[b,i] = x[b,i]^3\nc[b,i] = x[b,i]^3\ny[b,i] = a[b,i] c[b,i]", 2 },
  /* rows, means and masks */
  { "P[b,i] = softmax_i x[b,i]\nQ[b,j] = softmax_j x[b,j]\ny[b,i] = P[b,i] Q[b,i]", 2 },
  { "P[b,i] = softmax_i x[b,i]\nQ[b,i] = softmax_b x[b,i]\ny[b,i] = P[b,i] Q[b,i]", 5 },
  { "m[i] = mean_b x[b,i]\ny[b,i] = (x[b,i] - m[i]) / sqrt(variance_c x[c,i])", 5 },
  /* mean_{i,j} is 1/(I J), and no other coefficient is a mean */
  { "m = mean_{i,j} W[i,j]\nc = (1/(I J)) W[I,J]\ny = m c + variance_{i,j} W[i,j]", 4 },
  { "m = mean_{b,i} x[b,i]\nc = (1/(B B)) x[B,I]\nd = (B/I) x[B,I]\ny = m c d", 5 },
  { "m = mean_i u[i]\nc = (1/(I I)) u[I]\nd = (2/I) u[I]\ny = m c d + variance_i u[i]", 7 },
  { "a[t] = sum_s W[t,s] | s<=t\nc[t] = sum_r W[t,r] | r<=t\ny[t] = a[t] c[t]", 5 },
  { "a[t] = sum_s W[t,s] | s<=t\nc[t] = sum_s W[t,s] | s<t\ny[t] = a[t] c[t]", 7 },
  { "a[t] = sum_s 1[s<t] W[t,s]\nc[t] = sum_s W[t,s] | s<t\ny[t] = a[t] c[t]", 6 },
  /* products of three, lookups, and joined parts */
  { "a[b] = u[I] x[b,I] W[0,I]\nc[i] = W[0,i] u[i]\nd[b] = c[I] x[b,I]\ny[b] = a[b] d[b]", 3 },
  { "c[i] = W[0,i] u[i]\na[b] = u[I] x[b,I] W[0,I]\nd[b] = c[I] x[b,I]\ny[b] = a[b] d[b]", 3 },
  { "a[b,i] = W[k[b],i]\nc[b,j] = W[k[b],j]\ny[b,i] = a[b,i] c[b,i]", 2 },
  { "a[b,i] = W[k[b],i]\nc[b,j] = W[j,k[b]]\ny[b,i] = a[b,i] c[b,i]", 3 },
  { "a[b,I+J] = x[b,I] ; u[J]\nc[b,I+J] = x[b,I] ; u[J]\ny[b,i] = a[b,i] c[b,i]", 4 },
  /* copies, added lines, recurrences */
  { "a[b,i] = x[b,i] + u[i]\nc[b,j] = a[b,j]\ny[b,i] = a[b,i] c[b,i]", 2 },
  { "a[i,j] = W[i,j] + 1\nc[i,j] = a[j,i]\ny[i,j] = a[i,j] c[i,j]", 3 },
  { "a[b,i] += x[b,i]\na[b,i] += x[b,i]\ny[b,i] = a[b,i]^2", 3 },
  { "h[b,t] = tanh(x[b,t] + 0.5 h[b,t-1])\ng[b,s] = tanh(x[b,s] + 0.5 g[b,s-1])\n"
    "y[b,t] = h[b,t] g[b,t]", 8 },
  { "h[b,t] = tanh(x[b,t] + 0.5 h[b,t-1])\ng[b,s] = tanh(x[b,s] + 0.5 g[b,s+1])\n"
    "y[b,t] = h[b,t] g[b,t]", 15 },
  { NULL, 0 }
};
TEST(no_two_nodes_compute_the_same) {
  static char printed[sizeof captured];
  for (int k = 0; table[k].text; k++) {
    edf_seed(1);
    edf_node *y = build(table[k].text);
    CHECK(edf.n_compnodes == table[k].nodes, "%d nodes, expected %d:\n%s", edf.n_compnodes,
          table[k].nodes, table[k].text);
    edf_forward();
    double error = 1, right[24], found[24];
    size_t n = y->size;
    memcpy(found, edf_value(y), n * sizeof *found);
    CAPTURE(error = edf_gradcheck(y));
    CHECK(error < 1e-6, "error %g of\n%s\n%s", error, table[k].text, captured);
    CAPTURE(edf_print_equations(stdout));
    strcpy(printed, captured);
    edf_clear();
    edf_equations("%s", printed);
    CHECK(edf.n_compnodes == table[k].nodes, "%d nodes of\n%s", edf.n_compnodes, printed);
    CAPTURE(edf_print_equations(stdout));
    CHECK(!strcmp(printed, captured), "%s, and again\n%s", printed, captured);
    edf_clear();
    edf_seed(1);
    if (strstr(table[k].text, "+=")) continue;
    y = build_apart(table[k].text);
    edf_forward();
    memcpy(right, edf_value(y), n * sizeof *right);
    for (size_t i = 0; i < n; i++) CLOSE(found[i], right[i], 1e-12, 1e-12);
    edf_clear();
  }
}

/* ---- Each name finds the node, also in a later text, and after an error. */
TEST(a_node_has_all_names) {
  build("a[b,i] = tanh(x[b,i])\nc[b,j] = tanh(x[b,j])\nd[b,i] = a[b,i]\ny[b,i] = exp(c[b,i])");
  edf_node *a = edf_find("a");
  CHECK(a == edf_find("c") && a == edf_find("d") && edf.n_compnodes == 2, "%s and %s",
        edf_find("c")->name, edf_find("d")->name);
  CHECK(!strcmp(a->name, "a"), "it is called %s", a->name);
  edf_node *z = edf_equations("z[b,i] = c[b,i] d[b,i]");
  CHECK(z->in[0] == a && z->n_in == 1, "z reads %s", z->in[0]->name);
  edf_equations("c[b,i] = 3 x[b,i]");          /* the newest c                               */
  CHECK(edf_find("c") != a && edf_find("d") == a, "c is %s", edf_find("c")->op);
}
TEST(steps_have_all_names) {
  build("h[b,t] = tanh(x[b,t] + 0.5 h[b,t-1])\ng[b,s] = tanh(x[b,s] + 0.5 g[b,s-1])\n"
        "y[b] = h[b,2] + g[b,2]");
  edf_forward();
  edf_node *h = edf_find("h"), *g = edf_find("g");
  edf_forward();
  CHECK(h->rank == 2 && g->rank == 2 && h->dim[1] == 3, "ranks %d and %d", h->rank, g->rank);
  for (size_t i = 0; i < h->size; i++)
    CHECK(edf_value(h)[i] == edf_value(g)[i], "entry %zu: %g and %g", i,
          (double)edf_value(h)[i], (double)edf_value(g)[i]);
}
/* A text of more than 512 lines finds names in a table. */
TEST(a_long_text_finds_all_names) {
  static char text[600 * 40];
  build("a[b,i] = tanh(x[b,i])\nc[b,j] = tanh(x[b,j])");
  size_t n = 0;
  for (int k = 0; k < 600; k++)
    n += (size_t)snprintf(text + n, sizeof text - n, "q%d[b,i] = c[b,i] + %d a[b,i]\n", k, k);
  edf_node *y = edf_equations("%s", text);
  CHECK(y->in[0] == edf_find("a") && y->n_in == 1, "it reads %s", y->in[0]->name);
}

/* ---- Dropouts, nodes of C calls and nodes of two texts stay two nodes. */
TEST(other_nodes_stay_two) {
  edf_node *x = build("y[b,i] = dropout(x[b,i], 0.5) + dropout(x[b,i], 0.5)")->in[0]->in[0];
  CHECK(edf.n_compnodes == 3, "%d nodes", edf.n_compnodes);
  CHECK(Tanh(x) != Tanh(x), "two calls");
  CHECK(Einsum("p[b,i] = 2 x[b,i]", x) != Einsum("p[b,i] = 2 x[b,i]", x), "two Einsums");
  CHECK(Equations("p[b,i] = 2 x[b,i]") != Equations("p[b,i] = 2 x[b,i]"), "two texts");
  CHECK(edf_text("p[b,i] = 2 x[b,i]", x) != edf_text("p[b,i] = 2 x[b,i]", x), "two texts");
}
TEST(a_stop_ends_a_text) {
  TRY(build("a[b,i] = tanh(x[b,i])\ny[b,i] = a[b,i] + x[b,i,b]"));
  CHECK(panicked, "no error");
  edf_node *x = edf_find("x");
  CHECK(Tanh(x) != Tanh(x), "two calls after a text that stopped");
}

/* ---- A heading for each line. */
TEST(all_lines_are_headings) {
  build("a[b,i] = tanh(x[b,i])\nc[b,j] = tanh(x[b,j])\ny[b,i] = a[b,i] c[b,i]");
  CAPTURE(edf_print_program(stdout));
  WORDS(captured, "  a[b,i] = tanh(x[b,i])\n  c[b,j] = tanh(x[b,j])\n    0  a[b,i] = tanh(|"
        "  y[b,i] = a[b,i] c[b,i]\n    1  y[b,i] = a[b,i]^2   Einsum");
}

/* ---- A backward of each line is judged by the names of that line. */
TEST(a_backward_is_judged_by_each_name) {
  static const char *const answer[][3] = {
    { "a", "u.grad[i] += a.grad[b,i] (1 - a[b,i]^2)", "" },
    { "c", "u.grad[i] += c.grad[b,i] (1 - c[b,i]^2)", "" },
    { "c", "u.grad[i] += c.grad[b,i] (1 - c[b,i])", "wrong" },
    { "d", "a.grad[b,i] += d.grad[b,i] d[b,i]", "" },
    { "e", "c.grad[b,i] += e.grad[b,i] e[b,i]", "" },
    { "e", "c.grad[b,i] += e.grad[b,i] c[b,i]", "wrong" },
    { "e", "c.grad[b,i] += e.grad[b,i] e[b,i]\nu.grad[i] += c.grad[b,i] (1 - c[b,i]^2)", "" },
    { "p", "d.grad[b,i] += p.grad[b,i] e[b,i]\ne.grad[b,i] += p.grad[b,i] d[b,i]", "" },
    { "p", "d.grad[b,i] += p.grad[b,i] e[b,i]\ne.grad[b,i] += 2 p.grad[b,i] d[b,i]", "wrong" },
    { "z", "p.grad[b,i] += z.grad[b,i]", "" },
    { "z", "p.grad[b,i] += 2 z.grad[b,i]", "wrong" },
    { "z", "p.grad[b,i] += z.grad[b,i]\nd.grad[b,i] += p.grad[b,i] e[b,i]\n"
           "e.grad[b,i] += p.grad[b,i] d[b,i]", "" } };
  build("a[b,i] = tanh(x[b,i] + u[i])\nc[b,j] = tanh(x[b,j] + u[j])\nd[b,i] = exp(a[b,i])\n"
        "e[b,i] = exp(c[b,i])\np[b,i] = d[b,i] e[b,i]\nz[b,i] = p[b,i]");
  edf_forward();
  CHECK(edf.n_compnodes == 4, "%d nodes", edf.n_compnodes);
  for (size_t k = 0; k < sizeof answer / sizeof *answer; k++) {
    double error = 1;
    CAPTURE(error = edf_check_backward(edf_find(answer[k][0]), answer[k][1]));
    CHECK(*answer[k][2] ? error > 0.01 : error < 1e-6, "error %g of %s\n%s", error, answer[k][1],
          captured);
  }
}

int main(void) { return harness_main(); }
