/* slide_messages.c - what edf_equations refuses, and the essential words of its messages */
#include "harness.h"
#include "edf_slide.h"

/* A text, and the words that its message must contain, between bars. */
static const struct { const char *text, *words; } refused[] = {
  { "", "the program has no equation" },
  { "input s[b,4]\ny[b] = s[b,0] $ 2", "expected an operator, '|' or the end of the line" },
  { "input s[b,4]\ny[b] = s[b", "expected ']' or ','" },
  { "input s[b,4]\ny(b) = s[b,0]", "square brackets" },
  { "input s[b,4]\ny[b,j] = s[b][j]", "a comma between indices" },
  { "input a[i=3], b[i=3]\ny[i] = a[i] / 2 b[i]", "ambiguous division: put brackets" },
  { "input a[i=3], b[i=3]\ny[i] = ln a[i] b[i]", "ln without brackets takes one factor" },
  { "input s[b,4]\ny[b] = max(s[b,0])", "max takes 2 arguments, found 1. Over an index: max_i" },
  { "input x[i=3]\ny[i] = sigmiod(x[i])", "no function sigmiod" },
  { "input s[b,4]\ny[b,j] = tanh[s[b,j]]", "tanh[...] is a tensor: use round brackets" },
  { "input x[i=3]\ny[i] = softmax(x[i])", "softmax over which index?" },
  { "input x[i=3], y[i=3]\nz[i] = x[i]^y[i]", "a power is a number, or a bracket without" },
  { "input x[i=3]\nz[i] = dropout(x[i], 2)", "the rate is a number" },
  { "input s[b,4]\ny[b,j] = s[b,i] | j<4", "index i is neither on the left nor summed: write I, or sum_i" },
  { "input s[b,4]\ny[b] = exp(s[b,J])", "J is not summed here. Write sum_J, or (1/J) sum_J" },
  { "input x[3], V[3]\ny = x[I] sigmoid(V[I] x[I])", "one sum over I, or two? Rename one" },
  { "input h[3], W[2,3]\ns[j] = W[I,J] h[I]", "j and J are two indices" },
  { "input s[b,4]\ny[b] = sum_j sum_j s[b,j]", "j is already used on the left or by an outer sum" },
  { "input s[b,4]\nP[b] = softmax_k s[b,k]", "softmax_k gives a value for each k: put k on the left" },
  { "input s[b,4]\nfor b: y[b] += s[b,i]", "the for names all indices, but not i" },
  { "input s[b,4]\ny[b,j] = c s[b,j]", "unknown name c. A new weight needs indices|'parameter c'|a number: %g" },
  { "input j, x[3]\ny[j] = j x[j]", "j is a scalar and an index here: rename one" },
  { "input P[b,4]\ny = ln P", "P is [b, 4]: write its indices" },
  { "input P[b,4], y[b]\nz[b] = ln P[y[b]]", "P has 1 index here, but the tensor has 2" },
  { "input s[b,4]\ninput s[b,5]\ny[b] = s[b,0]", "another tensor with that name" },
  { "input x[b,4], W[5,2]\ny[b,j] = W[I,j] x[b,I]", "index I has two different sizes" },
  { "parameter W[k]\ny = W[K]", "give k a size, as in k=10" },
  { "input x[b,3]\ny[b,k] = x[b,0]", "unknown size of k: it is not a plain index on the right. Add '| k<n'" },
  { "input x[3]\ny[j] = x[j] | j<5", "larger than this dimension" },
  { "input x[3]\ny[j] = x[j] | j<0", "at least 1" },
  { "input x[9]\ny[j] = x[j] | j<3, j<4", "two bounds" },
  { "input x[3]\ny[j] = x[j] | q<3", "q is not an index" },
  { "input x[4]\ny[t] = x[t+1] x[t]", "out of range: reads entries 1 to 4, but the dimension has 0 to 3. With a bound" },
  { "input x[4]\ny[j-1] = x[j]", "writes entry -1, below 0" },
  { "input x[4]\ny = x[J-J]", "index J cancels out" },
  { "input u[9], W[3,4]\ny = W[I,J] u[(I,J)]", "the group has 12 entries" },
  { "input x[b,4]\ny[b,t] = variance_s x[b,s] | s<=t, t<4", "a mask is for sum, mean, max, min, argmax, argmin and softmax" },
  { "input x[3], z[3]\ny = (sum_s x[s]) (sum_t z[t]) | s<=t", "the mask has no effect" },
  { "input x[b,4]\ny[b,j] = W[j,I] x[b,I]", "nothing gives the size of j: add '| j<64'" },
  { "input x[b,4]\ny[b,j] = q[b,j] + x[b,j]", "q cannot have the batch index b" },
  { "input h[3,4]\ny[k] = H[k,J] h[0,J] | k<3", "H is not defined. Did you mean h? If it is new, declare it: parameter H[...]" },
  { "input w[b]\ny[b,i] = E[w[b],i] | i<4", "how many classes? Add '| w<27'" },
  { "input a[5], v[5]\no[a[i]] += v[i]", "unknown size of o: add '| a<n'" },
  { "input x[3]\ny[j] = x[j]\ny[j] = 2 x[j]", "y is already defined above: write +=" },
  { "input a[3], c[3]\ny[j] = a[j] ; c[j]", "';' needs a sum of indices" },
  { "input x[b]\ny[b] = 2 z[b]\nz[b] = x[b]", "z is computed below: move its line up, or read an earlier step" },
  { "input s[4]\nh[t] = h[t] + s[t]", "h depends on itself: a recurrence must read an earlier step" },
  { "h[t] = 2 h[t-1]\nh[-1] = 1", "the number of steps must be known" },
  { "input x[b]\nh[b] = h[b-1] + x[b]", "b is the batch" },
  { "input s[4]\nh[t] = h[t-1] + h[t+1] + s[t]", "h is read before and after its own step" },
  { "input s[4]\nh[t] = s[t] h[t-1]", "h is 0 at all steps" },
  { "input s[4]\nh[t] = s[t] + h[t-1]\nh[9] = 1", "there is no such step of h" },
};

static void texts_are_refused(void) {
  for (size_t k = 0; k < sizeof refused / sizeof *refused; k++) {
    STOPS(edf_equations("%s", refused[k].text), refused[k].words);
    edf_clear();
  }
}

/* A mask acts where its other index is known: on the inner of two nested sums. */
static void masks_act_on_the_inner_sum(void) {
  static edf_real a[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, x[3] = { (edf_real)0.1, (edf_real)0.2, (edf_real)-0.1 };
  edf_feed(edf_input("a[3,3]"), a, 1);
  edf_feed(edf_input("x[3]"), x, 1);
  edf_node *y = edf_equations("y = sum_t x[t] tanh(a[t,S] x[S]) | S<=t");
  double sum = 0;
  edf_forward();
  for (int t = 0; t < 3; t++) {
    double inner = 0;
    for (int s = 0; s <= t; s++) inner += (double)a[3 * t + s] * (double)x[s];
    sum += (double)x[t] * tanh(inner);
  }
  CLOSE(edf_value(y)[0], sum, 1e-7, 1e-6);
  edf_clear();
}

/* The least of nothing is infinity, the mean of nothing is 0, and its argmax is an error. */
static void masks_may_exclude_all(void) {
  static edf_real numbers[4] = { 3, 1, 2, 5 };
  static const struct { const char *text; double y[4]; } right[] = {
    { "y[t] = max_s x[s] | s<t, t<4", { -HUGE_VAL, 3, 3, 3 } },
    { "y[t] = min_s x[s] | s<t, t<4", { HUGE_VAL, 3, 1, 1 } },
    { "y[t] = mean_s x[s] | s<t, t<4", { 0, 3, 2, 2 } },
    { "y[t] = sum_s x[s] | s<t, t<4", { 0, 3, 4, 6 } } };
  for (size_t k = 0; k < sizeof right / sizeof *right; k++) {
    edf_node *x = edf_input("x[4]");
    edf_feed(x, numbers, 1);
    edf_node *y = edf_equations("%s", right[k].text);
    edf_forward();
    for (int t = 0; t < 4; t++)
      CHECK((double)edf_value(y)[t] == right[k].y[t], "%s: y[%d] is %g", right[k].text, t,
            (double)y->value[t]);
    edf_clear();
  }
  edf_feed(edf_input("x[4]"), numbers, 1);
  edf_equations("y[t] = argmax_s x[s] | s<t, t<4");
  STOPS(edf_forward(), "argmax over no entry|row 0");
}

/* A mean over the batch is one node, in each way to write it, and follows the batch. */
static void a_mean_over_the_batch_is_one_node(void) {
  static edf_real numbers[8] = { 3, 1, 2, 5, -1, 4, 0, 7 };
  static const char *const text[] = { "y = (1/B) x[B,J]", "s[j] = mean_b x[b,j]",
    "s[j] = (1/B) sum_b x[b,j]", "s[j] = (1/B) x[B,j]", "s[j] = sum_b x[b,j] / B",
    "y = 2 mean_{b,j} x[b,j]" };
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    edf_node *x = edf_input("x[b,2]"), *y = edf_equations("%s", text[k]);
    CHECK(edf.n_compnodes == 1 + (k == 5), "%s has %d nodes", text[k], edf.n_compnodes);
    if (y->rank) y = edf_sum(y);
    for (int n = 1; n <= 4; n++) {
      double sum = 0;
      for (int i = 0; i < 2 * n; i++) sum += (double)numbers[i];
      edf_feed(x, numbers, n);
      edf_forward();
      CLOSE(edf_value(y)[0], sum / n, 1e-6, 1e-6);
    }
    edf_clear();
  }
}

int main(void) {
  RUN(a_mean_over_the_batch_is_one_node);
  RUN(masks_act_on_the_inner_sum);
  RUN(masks_may_exclude_all);
  RUN(texts_are_refused);
  return harness_report();
}
