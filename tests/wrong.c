/* wrong.c - wrong programs. Each must stop, and its message must contain the essential words.
   A case is a line or two:

     { "s[b,4]", "y[b] = 2 (s[b,J] + 1@", "')'|end" },
     STOP(edf_node2(&edf_add_op, AT, a("a[3]"), c("c[4]")), "Add|$1|$2");

   * Words are separated by '|'. $1 stands for the tensor that hw1.c:1 declares: its name
     and its line.
   * The caret of the message must stand at the @, counted in characters. The words must stand
     after the caret, so the equation that the message shows does not count.
   * After each case edf_clear must leave no block.

   The words are facts that any wording must give: names, shapes, lines, numbers, and what the
   manual (notes/notation.md, section 16) promises. The tables of that section are tests, too:
   notation.c. A line of an equation is line 9 of hw1.c. */

#include "harness.h"
#include "edf/slide.h"
#include "edf/layers.h"
#include "edf/judge.h"
#include "edf/derive.h"
#include "edf/data.h"
#include "edf/lab.h"

#define HW1(line) "hw1.c", line
#define AT HW1(3)                                        /* where a STOP makes its mistake */
#define END (edf_node *)0

static edf_real zeros[6400];

/* ---- Tensors of hw1.c */

static char name[4][24];                                 /* of $1, $2 and $3 */

/* Returns an Input if there is a batch or rows, else a Parameter. */
static edf_node *tensor(int line, const char *declaration, int rows) {
  int is_input = rows || strstr(declaration, "[b");
  edf_node *x = is_input ? edf_input_at(HW1(line), "%s", declaration)
                         : edf_parameter_at(HW1(line), "%s", declaration);
  snprintf(name[line], sizeof *name, "%.*s", (int)strcspn(declaration, "["), declaration);
  if (rows) edf_feed(x, zeros, rows);
  return x;
}

static edf_node *a(const char *declaration) { return tensor(1, declaration, 0); }
static edf_node *c(const char *declaration) { return tensor(2, declaration, 0); }
static edf_node *fed(const char *declaration, int rows) { return tensor(1, declaration, rows); }

/* ---- What is checked after each case */

/* Returns the words with "a" and hw1.c:1 in place of $1. */
static const char *spelled(const char *words) {
  static char to[1024];
  size_t n = 0;
  for (; *words; words++) {
    int line = *words == '$' && isdigit((unsigned char)words[1]) ? words[1] - '0' : 0;
    if (line) n += (size_t)snprintf(to + n, sizeof to - n, "\"%s\"|hw1.c:%d", name[line], line);
    else to[n++] = *words;
    words += line > 0;
  }
  to[n] = '\0';
  return to;
}

/* Checks the words of the last error, and that edf_clear leaves no block. */
static void check_stop(int line, const char *words) {
  edf.eager = 0;
  memory.limit = 0;
  harness_stopped(__FILE__, line, spelled(words));
}

#define TEXT_OF(line) #line
#define PLACE(line) __FILE__ ":" TEXT_OF(line)

/* The message of a STOP names line 3 of hw1.c, and that of a HERE names this line of this file.
   That of a CALL need not name a line of the call. A HERE stands on one line, since compilers
   give a call over several lines different numbers. */
#define STOP(statement, words) CALL(statement, "hw1.c:3|" words)
#define HERE(statement, words) CALL(statement, PLACE(__LINE__) "|" words)
#define CALL(statement, words)                     \
  do {                                             \
    TRY(statement);                                \
    check_stop(__LINE__, words);                   \
  } while (0)

static int characters(const char *from, const char *to) {
  int n = 0;
  for (; from < to; from++) n += (*from & 0xC0) != 0x80;
  return n;
}

/* Checks that the message shows the line of the text, with a caret below the place. */
static void check_caret(const char *text, const char *place) {
  char line[512], number[32];
  const char *begin = place, *copy, *start;
  int rows = 1;
  while (begin > text && begin[-1] != '\n') begin--;
  for (const char *t = text; t < begin; t++) rows += *t == '\n';
  snprintf(line, sizeof line, "%.*s", (int)strcspn(begin, "\n"), begin);
  for (char *l = line; *l; l++) if (*l == '\t' || *l == '\r') *l = ' ';
  copy = start = strstr(caught, line);
  while (copy && copy[strlen(line)] != '\n') copy = start = strstr(copy + 1, line);
  CHECK(copy, "the message does not show '%s':\n%s", line, caught);
  if (!copy) return;
  while (start > caught && start[-1] != '\n') start--;
  int expected = characters(start, copy) + characters(begin, place);
  int found = (int)strspn(copy + strlen(line) + 1, " ");
  CHECK(found == expected && copy[strlen(line) + 1 + (size_t)found] == '^',
        "the caret is %d columns off for\n%s\n%s", found - expected, text, caught);
  snprintf(number, sizeof number, "line %d", rows);
  CHECK(!strchr(text, '\n') || harness_has(caught, number), "no '%s' in\n%s", number, caught);
}

/* ---- Tables of wrong texts, which stand in line 9 */

typedef struct { const char *tensors, *text, *words; } wrong;

/* Declares the tensors in lines 1, 2 and 3, and builds the text: 'E' by edf_einsum, 'L' by
   edf_equations, 'D' by edf_input or edf_parameter. */
static void build(int kind, const char *tensors, const char *text) {
  edf_node *x[4] = { NULL, NULL, NULL, NULL };
  for (int n = 0; kind != 'D' && *tensors; n++) {
    size_t length = strcspn(tensors, " ");
    x[n] = tensor(n + 1, edf_fmt("%.*s", (int)length, tensors), 0);
    tensors += length + (tensors[length] == ' ');
  }
  if (kind == 'D' && *tensors == 'i') edf_input_at(HW1(9), "%s", text);
  if (kind == 'D' && *tensors == 'p') edf_parameter_at(HW1(9), "%s", text);
  if (kind == 'E') edf_einsum_at(HW1(9), text, x[0], x[1], x[2], END);
  if (kind == 'L') edf_equations_at(HW1(9), "%s", text);
}

static void check_all(int kind, const wrong *w, size_t n) {
  static char text[512];
  for (; n-- > 0; w++) {
    int before = (int)strcspn(w->text, "@"), marked = w->text[before] == '@';
    snprintf(text, sizeof text, "%.*s%s", before, w->text, w->text + before + marked);
    TRY(build(kind, w->tensors, text));
    const char *caret = strstr(caught, "^\n"), *end = strchr(caught, '\n');
    int failures = harness.bad;
    harness_words(__FILE__, __LINE__, caret ? caret : end ? end : caught, spelled(w->words));
    if (panicked && marked) check_caret(text, text + before);
    check_stop(__LINE__, "hw1.c:9");
    if (harness.bad > failures) harness_fail(__FILE__, __LINE__, "the text is\n%s", text);
  }
}

#define CHECK_ALL(kind, table) check_all(kind, table, sizeof table / sizeof *table)

/* ---- Declarations */

static const wrong declarations[] = {
  { "input", "@", "name|end" },
  { "input", "x[b,784@x]", "']'|','|'x'" },
  { "input", "x[b,@i]", "i=10|batch" },
  { "input", "x[b, i = @1000000001]", "too large|1000000000" },
  { "parameter", "@3x", "name|'3'" },
  { "parameter", "W[@b,3]", "b=10|batch" },
  { "parameter", "W[1,2,3,4,5,6,7,8,@9]", "at most 8" },
};

TEST(wrong_declarations_stop) {
  CHECK_ALL('D', declarations);
}

/* ---- Equations of edf_einsum */

static const wrong equations[] = {
  /* Brackets, signs and other characters */
  { "W[784,64] x[b,784]", "", "no equation" },
  { "W[784,64] x[b,784]", "y[b,j] = W[I,j @x[b,I]", "']'|','|'x'" },
  { "W[784,64] x[b,784]", "bi@,ij->bj", "'='|','" },
  /* Numbers */
  { "v[7]", "y[i] = @1e400 v[i]", "number|out of range" },
  /* Terms and sides */
  { "v[7]", "y[i] = @1 - v[i]", "term|tensor" },
  { "W[784,64] x[b,784]", "y[b,j] = W[@i,j] x[b,i]", "index i|on the left|I" },
  /* Operands and ranks */
  { "W[784,64] x[b,784] B[64]", "@y[b,j] = W[I,j] x[b,I]", "2 operands|3|$1|$2|$3" },
  /* Sizes */
  { "W[784,64] x[b,64]", "y[b,j] = W[I,j] x[b,I]", "I is 64|I is 784|$1|$2" },
  { "x[b,9]", "y[b,@i] = x[b,i+DI]", "unknown|of i|i<n" },
  /* Bounds */
  { "v[7]", "y[i] = v[@i] | i<9", "this dimension|7|$1" },
  /* Limits */
  { "v[7]", "y[a,b,c,d,e,f,g,h,@i] = v[i]", "at most 8" },
  { "v[7]", "y[a,b,c,d,e,f,g,h] = v[I+J+K+L+M+N+O+P+@Q]", "at most 16" },
  { "v[7]", "y[i] = @v[i]v[i]v[i]v[i]v[i]v[i]v[i]v[i]v[i]", "at most 8" },
  /* An index and its capital in one equation */
  { "W[3,2] h[b,3] B[2]", "s[b,j] = @W[I,J] h[b,I] - B[j]", "j and J are two|this term" },
  { "W[3,2] h[b,3] B[2]", "s[b,j] = W[I,@k] h[b,I] - B[j]", "index k|on the left|K" },
};

TEST(wrong_equations_stop) {
  CHECK_ALL('E', equations);
}

/* ---- Lines of edf_equations */

static const wrong lines[] = {
  /* The grammar of a line */
  { "s[b,4]", "", "no equation" },
  { "s[b,4]", "y[b] = @", "number|end" },
  { "s[b,4]", "y@(b) = s[b,J]", "square brackets" },
  { "s[b,4]", "y[b] = 2 (s[b,J] + 1@", "')'|end" },
  { "s[b,4]", "y[b,j] = 1[s[b,j] !@ 0]", "!=" },
  { "s[b,4]", "y[b,j] = s[b]@[j]", "comma|'['" },
  { "s[b,4]", "for b,j @y[b] += s[b,j]", "':'|'y'" },
  { "s[b,4]", "for b: y[b] += s[b,@i]", "the for|not i" },
  { "s[b,4]", "y[b] = s[b,0]\n@y[b] = s[b,1]", "y|already|+=" },
  /* Columns are characters */
  { "s[b,4]", "ŷ[b] = σ(s[b,J] − @θ)", "θ|%g" },
  { "s[b,4]", "z[b,j] = s[b,j]    # ŷ\r\n\ty[b,j] = s[b,j] ×\n\t  @q", "q|%g" },
  /* Bounds and sizes */
  { "s[b,4]", "y[b,j] = s[b,j] | j<@0", "at least 1" },
  { "s[b,4]", "y[b,j] = s[b,j] | j<3, @j<4", "j has|two bounds" },
  { "s[b,4] W[5,3]", "y[b,j] = W[I,j] s[b,@I]", "I has two|I is 4|I is 5|$1|$2" },
  { "s[b,4]", "y[b,t] = s[b,@t+1] s[b,t]", "reads entries 1 to 4|0 to 3|t<n|$1" },
  { "s[b,4]", "y[b,@k] = s[b,0]", "unknown|of k|k<n" },
  { "s[4]", "y[t] = @variance_s s[s] | s<=t, t<4", "max, min, prod, norm, logsumexp, argmax, argmin and softmax" },
  { "x[3] z[3]", "y = (sum_s x[s]) (sum_t z[t]) | s<=t", "mask has no effect" },
  /* Where an index is bound */
  { "s[b,4]", "y[b,j] = s[b,@i]", "index i|on the left|sum_i" },
  { "s[b,4]", "y[b] = exp(s[b,@J])", "J is|sum_J|(1/J)" },
  { "W[3,4] x[4] V[3,4]", "y[j] = W[j,I] x[I] σ(@V[j,I] x[I])", "one sum over I, or two" },
  { "s[b,4]", "y[b] = sum_j @sum_j s[b,j]", "j is|already|on the left|rename" },
  { "s[b,4]", "y[b] = s[b,J] + @c", "c|%g" },
  /* Names without brackets */
  { "s[b,4] j", "y[b,j] = @j s[b,j]", "j is a scalar and an index|rename" },
  { "s[b,4]", "y[b,j] = @s s[b,j]", "s|its indices" },
  { "s[b,4]", "y[b,j] = @softmax(s[b,j])", "softmax over which index" },
  { "s[b,4]", "y[b,j] = @sigmiod(s[b,j])", "no function|sigmiod" },
  /* Functions */
  { "s[b,4]", "y[b] = @max(s[b,0])", "max|2|found 1" },
  { "s[b,4]", "y[b] = @ln s[b,J] s[b,J]", "ln" },
  { "s[b,4]", "y[b,j] = @tanh[s[b,j]]", "tanh[...]|round brackets" },
  { "s[b,4]", "y[b,j] = dropout(s[b,j], @s[b,0])", "the rate is a number" },
  { "s[b,4]", "y[b] = s[b,0]^@*s[b,1]", "number|tensor|bracket" },
  { "s[b,4]", "y[b] = s[b,J] 2 / 3 @s[b,J]", "brackets" },
  { "s[b,4]", "h[b,j] = tanh(W[j,I] s[b,@i]) | j<3", "index i|write I" },
  { "s[b,4] y[b]", "L[b] = ln s[b,@y]", "index y|a lookup is y[...]" },
  /* New names */
  { "s[b,4]", "y[b,j] = s[b,j] +\n\n  2 q[@b,j]\nz = y[B,J]", "q|cannot have the batch|b" },
  { "s[b,4]", "y[b,j] = W[@j,I] s[b,I]", "W is|new|of j" },
  { "s[b,4] W[4,3]", "y[b,j] = @w[I,j] s[b,I] | j<3", "w is|W|parameter w[...]" },
  { "s[b,4]", "h[b,j] = W[j,I] s[b,I] | j<3\ny[b,k] = @H[k,J] h[b,J] | k<2",
    "H is|h|parameter H[...]" },
  { "images[b,4]", "y[b,j] = W[j,I] image[@b,I] | j<3", "image cannot|mean images?" },
  { "s[b,4]", "hidden[b,j] = W[j,I] s[b,I] | j<3\ny[b,k] = V[k,J] hiden[@b,J] | k<2",
    "hiden cannot|batch index b|mean hidden?" },
  { "s[b,4]", "y[b,j] = W[j,I] t[@b,I] | j<3", "t|cannot have the batch|b" },
  { "s[b,4] k[b]", "y[b] = e[@k[b]]", "how many classes" },
  /* Declarations */
  { "s[b,4]", "input @s[b,5]\ny[b] = s[b,J]", "another tensor|$1" },
  /* Lookups and groups */
  { "v[b] a[b]", "o[@a[b]] += v[b]", "a<n" },
  { "s[b,4] y[b]", "P[b,k] = softmax_k s[b,k]\nloss[b] = -ln @P", "P|its indices" },
  { "s[b,4] y[b]", "P[b,k] = softmax_k s[b,k]\nloss[b] = -ln @P[y[b]]",
    "P has 1 index|the tensor has 2|\"P\" [b, 4]" },
  { "s[3,4] u[11]", "z = s[I,J] u[@(I,J)]", "group has 12 entries|$2" },
  /* Several parts, several lines */
  { "s[b,4]", "@y[b,j] = s[b,j] ; s[b,j]", "';'|a sum of indices" },
  { "s[b,4] u[b,3]", "y[b,j] += s[b,j]\n@y[b,i] += u[b,i]", "one shape|[b, 4]|[b, 3]" },
  /* Recurrences */
  { "s[b,4]", "y[b] = @z[b]\nz[b] = s[b,0]", "z is computed below" },
  { "s[b,4]", "y[b,j] = @y[b,j] + s[b,j]", "y|h[b,t-1,j]" },
  { "s[b,4]", "h[b,@t] = h[b,t-1]", "number of steps|known" },
  { "s[b,4]", "@h[b,t] = s[b,t] h[b,t-1]\n", "all|0" },
  { "s[b,4]", "h[b,t] = s[b,t] + h[b,t-1] + h[b,@t+1]", "h is read before and after" },
  { "s[b,4]", "@h[b,9] = s[b,0]\nh[b,t] = s[b,t] + h[b,t-1]", "no such|of h" },
  { "x[b,4,3]", "c[b,t,j] = c[b,t-1,j] + g[b,t,j]\n@g[b,j] = tanh(c[b,3,j]) x[b,0,j]",
    "this line|recurrence over t" },
};

TEST(wrong_lines_stop) {
  CHECK_ALL('L', lines);
}

/* The mean of nothing is 0, and its argmax is an error. */
TEST(masks_may_exclude_all) {
  static edf_real numbers[4] = { 3, 1, 2, 5 };
  static const double means[4] = { 0, 3, 2, 2 };
  edf_feed(edf_input("x[4]"), numbers, 1);
  edf_node *y = edf_equations("y[t] = mean_s x[s] | s<t, t<4");
  edf_forward();
  for (int t = 0; t < 4; t++) CLOSE(edf_value(y)[t], means[t], 0, 0);
  edf_equations("z[t] = argmax_s x[s] | s<t, t<4");
  STOPS(edf_forward(), "argmax over no entry|row 0");
}

/* ---- Calls that build nodes */

static edf_affine_package affine(const char *w, const char *b) {
  edf_affine_package Phi = { NULL, NULL };
  if (w) Phi.w = c(w);
  Phi.b = edf_parameter("%s", b);
  return Phi;
}

TEST(simple_nodes_stop) {
  STOP(edf_affine_at(AT, affine("W[128,10]", "B[10]"),
                     edf_name(edf_node1(&edf_relu_op, HW1(55), fed("x[b,100]", 64)), "h")),
       "Affine|I is 100|I is 128|\"h\" [b=64, 100]|hw1.c:55|$2");
  STOP(edf_node1(&edf_relu_op, AT, NULL), "Relu|NULL");
  STOP(edf_node2(&edf_add_op, AT, a("a[3]"), NULL), "Add|operand 2|NULL");
  STOP(edf_node2(&edf_add_op, AT, a("a[3]"), c("c[4]")), "Add|$1|[3]|$2|[4]");
  STOP(edf_node2(&edf_sub_op, AT, a("a[3,4]"), c("c[3]")), "Sub|$1|$2");
  STOP(edf_node2(&edf_mul_op, AT, a("a[b,4]"), c("c[3,4]")), "Mul|batch|$1|[b, 4]|$2|[3, 4]");
  STOP(edf_clamp_at(AT, a("a[3]"), 2, 1), "Clamp|2|1");
  STOP(edf_node1(&edf_softmax_op, AT, a("s")), "Softmax|scalar|$1");
  STOP(edf_dropout_at(AT, a("a[3]"), 1), "Dropout|rate|1");
  STOP(edf_reshape_at(AT, a("x[b,4,5]"), "y[b,%d]", 21), "Reshape|21|$1");
  STOP(edf_reshape_at(AT, a("x[b,4,5]"), "y[4,5]"), "Reshape|batch|$1");
  STOP(edf_equations_at(AT, NULL), "Equations|NULL");
  CALL(edf_find(NULL), "edf_find|NULL");
}

/* Runs Forward with a number at one entry of the labels. */
static void label(const char *scores, const char *labels, int at, double number, int fused) {
  static edf_real numbers[8];
  edf_node *s = fed(scores, 2), *y = c(labels);
  memset(numbers, 0, sizeof numbers);
  numbers[at] = (edf_real)number;
  edf_feed(y, numbers, 2);
  if (fused) edf_node2(&edf_softmax_log_loss_op, AT, s, y);
  else edf_node2(&edf_log_loss_op, AT, s, y);
  edf_forward();
}

TEST(losses_stop) {
  STOP(edf_node2(&edf_log_loss_op, AT, a("Q[b,10]"), c("y[b,10]")), "LogLoss|label|$1|$2");
  STOP(edf_node2(&edf_log_loss_op, AT, a("y[b]"), c("Q[b,10]")), "LogLoss|the second operand?|$1|$2");
  STOP(edf_node2(&edf_softmax_log_loss_op, AT, a("Q[b,7,10]"), c("y[b]")), "SoftmaxLogLoss|label|$1|$2");
  STOP(edf_mse_at(AT, a("s[b,3]"), c("y[b,4]")), "MSE|$1|$2");
  STOP(label("s[b,10]", "y[b]", 1, 10, 0), "LogLoss|10|row 1|out of range|0 to 9|$2");
  STOP(label("s[b,10]", "y[b]", 0, -1, 1), "SoftmaxLogLoss|-1|row 0|out of range|0 to 9|$2");
  STOP(label("s[b,10]", "y[b]", 1, 1.5, 1), "SoftmaxLogLoss|1.5|row 1|whole number|$2");
  STOP(label("s[b,3,4]", "y[b,3]", 4, 12, 1), "12|row [1,1]|out of range|0 to 3|$2");
}

static edf_conv_package conv(const char *w, int stride, int padding) {
  edf_conv_package Phi = { c(w), edf_parameter("B[8]"), stride, padding };
  return Phi;
}

static edf_batch_norm_package norm(void) { return edf_batch_norm_params_at(HW1(2), 3); }
static edf_attention_package heads(void) { return edf_attention_params_at(HW1(2), 6, 2); }
static edf_recurrent_package cell(const edf_cell *of) {
  return edf_recurrent_params_at(HW1(2), of, 5, 3);
}

static edf_node *step(const edf_cell *of, const edf_cell *made, edf_node *x, edf_node *h) {
  edf_recurrent_state state = { h, NULL };
  return edf_cell_at(AT, of, cell(made), x, state).h;
}

static void embed(int at, double number) {
  static edf_real numbers[4];
  edf_node *k = c("k[b,2]");
  memset(numbers, 0, sizeof numbers);
  numbers[at] = (edf_real)number;
  edf_feed(k, numbers, 2);
  edf_embed_at(AT, a("E[5,8]"), k);
  edf_forward();
}

TEST(layers_stop) {
  STOP(edf_conv_at(AT, conv("W[3,3,2,8]", 1, 0), a("x[b,6,6,3]")), "Conv|C is 3|C is 2|$1|$2");
  STOP(edf_conv_at(AT, conv("W[7,7,3,8]", 1, 0), a("x[b,6,6,3]")), "Conv|7|6|$1");
  STOP(edf_conv_at(AT, conv("W[3,3,3,8]", 0, 0), a("x[b,6,6,3]")), "Conv|stride 0");
  STOP(edf_max_pool_at(AT, a("x[b,6]"), 2, 2), "MaxPool|$1");
  STOP(edf_batch_norm_at(AT, norm(), a("x[b,5]")), "BatchNorm|$1|[3]|hw1.c:2");
  STOP(edf_batch_norm_at(AT, norm(), fed("x[b,3]", 1)); edf_forward(), "BatchNorm|one row|$1");
  STOP(embed(3, 5), "Embed|5|row [1,1]|out of range|0 to 4|$2");
  STOP(edf_attention_params_at(AT, 10, 4), "4|10");
  STOP(edf_causal_attention_at(AT, heads(), a("x[b,4,5]")),
       "CausalAttention|I is 5|I is 6|$1|[6, 2, 3]|hw1.c:2");
  STOP(step(&edf_lstm_cell, &edf_lstm_cell, a("x[b,4]"), NULL), "LSTM|I is 4|$1|hw1.c:2");
  STOP(step(&edf_lstm_cell, &edf_lstm_cell, a("x[b,5]"), c("h[b,3]")), "LSTM|h and c");
  STOP(step(&edf_lstm_cell, &edf_gru_cell, a("x[b,5]"), NULL), "LSTM|GRU|hw1.c:2");
  STOP(edf_unroll_at(AT, cell(&edf_rnn_cell), a("x[b,5]")), "Unroll|$1");
  STOP(edf_recurrence_at(AT, "h[b,t,j] = U[j,I] h[b,t-1,I] + x[b,t,j]", c("U[3,3]"),
                         a("x[b,4,5]"), END), "Recurrence|$1|$2");
  STOP(edf_recurrence_at(AT, "h[t] = h[t-1] + x[t]", a("x[b]"), END), "t is the batch");
}

/* ---- Messages about large tensors: each part of a message must be whole */

#define A8 "[2, 3, 1, 4, 1, 1, 2, 5]"
#define C8 "[2, 3, 1, 4, 1, 1, 2, 6]"
#define B8 "[b=2, 3, 1, 4, 1, 1, 2, 5]"

static edf_node *a8(void) { return a("a[2,3,1,4,1,1,2,5]"); }
static edf_node *c8(void) { return c("c[2,3,1,4,1,1,2,6]"); }
static edf_node *b8(void) { return fed("x[b,3,1,4,1,1,2,5]", 2); }

static const wrong rank_8[] = {
  { "a[2,3,1,4,1,1,2,5] c[2,3,1,4,1,1,2,6]", "y[i] = a[i,J,K,L,M,N,O,P] c[i,J,K,L,M,N,O,@P]",
    "P is 6 in c|\"c\" " C8 "|hw1.c:2|P is 5 in a|\"a\" " A8 "|hw1.c:1" },
  { "a[2,3,1,4,1,1,2,5]", "y[i] = @a[i,J,K,L,M,N,O]", "8|a = Parameter \"a\" " A8 },
  { "a[2,3,1,4,1,1,2,5] c[2,3,1,4,1,1,2,6]", "y[p] = a[I,J,K,L,M,N,O,@p+1] c[I,J,K,L,M,N,O,p]",
    "1 to 6|0 to 4|\"a\" " A8 "|hw1.c:1|p is 6 in c|\"c\" " C8 "|hw1.c:2" },
  { "a[2,3,1,4,1,1,2,5]", "y[i,j,k,l,m,n,o,p] = a[i,j,k,l,m,n,o,@p] | p<9", "\"a\" " A8 },
};

TEST(messages_of_rank_8_are_whole) {
  CHECK_ALL('E', rank_8);
  CHECK_ALL('L', rank_8);
  STOP(edf_node2(&edf_add_op, AT, a8(), c8()), "\"a\" " A8 "|hw1.c:1|\"c\" " C8 "|hw1.c:2");
  STOP(edf_node2(&edf_div_op, AT, a8(), c8()), "\"a\" " A8 "|hw1.c:1|\"c\" " C8 "|hw1.c:2");
  STOP(edf_mse_at(AT, b8(), c8()), "\"x\" " B8 "|hw1.c:1|\"c\" " C8 "|hw1.c:2");
  STOP(edf_node2(&edf_log_loss_op, AT, b8(), c("y[b,3,1,4,1,2]")),
       "y is [b=2, 3, 1, 4, 1, 2], not [b=2, 3, 1, 4, 1, 1, 2]|\"x\" " B8 "|hw1.c:1|"
       "\"y\" [b=2, 3, 1, 4, 1, 2]|hw1.c:2");
  STOP(edf_reshape_at(AT, a8(), "y[3,3,3,3,3,3,3,3]"), "240|\"a\" " A8 "|hw1.c:1");
  STOP(edf_max_pool_at(AT, a8(), 2, 1), "\"a\" " A8 "|hw1.c:1");
  STOP(edf_batch_norm_at(AT, norm(), b8()), "\"x\" " B8 "|hw1.c:1|\"mean1\" [3]|hw1.c:2");
  STOP(edf_embed_at(AT, a8(), c8()), "\"a\" " A8 "|hw1.c:1|\"c\" " C8 "|hw1.c:2");
  CALL(memory.limit = 1 << 20; a("a[100,3,1,40,10,1,2,50]"),
       "memory|\"a\" [100, 3, 1, 40, 10, 1, 2, 50]|hw1.c:1");
  CALL(label("x[b,3,1,4,1,1,1,5]", "y[b,3,1,4,1,1,1]", 7, 9, 0),
       "9 in row [0,1,0,3,0,0,0] is out of range|\"y\" [b=2, 3, 1, 4, 1, 1, 1]|hw1.c:2");
}

/* Builds an equation of n tensors with long names, of which one operand is missing. */
static void build_long(int n, int length) {
  static char names[32][400], text[16000];
  edf_node *x[33] = { NULL };
  size_t m = (size_t)snprintf(text, sizeof text, "y[i] =");
  for (int k = 0; k < n; k++) {
    snprintf(names[k], sizeof *names, "n%02d%0*d", k, length - 3, 0);
    m += (size_t)snprintf(text + m, sizeof text - m, "%s n%d[i,J,K,L,M,N,O,P]", k ? " +" : "",
                          k);
    x[k] = edf_name(edf_parameter_at(HW1(1), "p[2,3,1,4,1,1,2,5]"), names[k]);
  }
  edf_einsum_at(AT, text, x[0], x[1], x[2], x[3], x[4], x[5], x[6], n > 9 ? x[7] : END, x[8],
                x[9], x[10], x[11], x[12], x[13], x[14], x[15], x[16], x[17], x[18], x[19],
                x[20], x[21], x[22], x[23], x[24], x[25], x[26], x[27], x[28], x[29], END);
}

TEST(lists_of_operands_are_whole) {
  static char row[500];
  for (int n = 9; n <= 31; n += 22) {
    int length = n == 9 ? 300 : 100, given = n == 9 ? 7 : 30;
    TRY(build_long(n, length));
    WORDS(caught, edf_fmt("hw1.c:3|Einsum|%d operands, but %d were given", n, given));
    for (int k = 0; k < n; k++) {
      snprintf(row, sizeof row, "\n  n%d = Parameter \"n%02d%0*d\" " A8 " declared at hw1.c:1",
               k, k, length - 3, 0);
      if (k >= given) snprintf(row, sizeof row, "\n  n%d = NULL or missing", k);
      CHECK(strstr(caught, row), "row %d is missing:%s in\n%s", k, row, caught);
    }
    check_stop(__LINE__, "hw1.c:3");
  }
}

/* ---- Calls that run */

static edf_node *tanh_of(edf_node *x) { return edf_name(edf_node1(&edf_tanh_op, AT, x), "h"); }

static edf_node *ran(edf_node *x, int freeze) {
  if (freeze) x->update = edf_frozen;
  edf_node *y = tanh_of(x);
  edf_forward();
  return y;
}

static edf_node *with_gradient(void) {
  edf_node *y = ran(a("w[3]"), 0);
  edf_backward(y);
  return y;
}

static edf_node *fed_again(void) {
  edf_node *x = edf_want_grad(fed("x[b,3]", 2)), *y = ran(x, 0);
  edf_feed(x, zeros, 2);
  return y;
}

TEST(runs_stop) {
  static edf_node *y;
  HERE(edf_feed(a("x[b,3]"), NULL, 4), "edf_feed|NULL|$1");
  HERE(edf_feed(a("x[b,3]"), zeros, 0), "edf_feed|0|$1");
  HERE(edf_feed(edf_input_at(HW1(1), "x[3]"), zeros, 2), "edf_feed|2|1|\"x\" [3]|hw1.c:1");
  HERE(edf_feed(a("W[3]"), zeros, 1), "edf_feed|Input|$1");
  HERE(tanh_of(fed("x[b]", 2)); tanh_of(c("y[b]")); edf_forward(), "never fed|\"y\"|hw1.c:2");
  tanh_of(fed("x[b,3]", 4));
  tanh_of(tensor(2, "y[b]", 5));
  HERE(edf_forward(), "$1|[b=4, 3]|$2|[b=5]");
  HERE(edf_backward(tanh_of(a("W[3]"))), "edf_backward|edf_forward|\"h\" [3]|hw1.c:3");
  HERE(y = fed_again(); edf_backward(y), "edf_backward|edf_forward|\"h\"|hw1.c:3");
  HERE(y = ran(fed("x[b]", 2), 0); edf_backward(y), "edf_want_grad|\"h\" [b=2]|hw1.c:3");
  HERE(y = ran(a("w[3]"), 1); edf_backward(y), "edf_backward|frozen|\"h\" [3]|hw1.c:3");
  STOP(edf.eager = 1; tanh_of(a("x[b,3]")), "Tanh|$1");
  STOP(edf_einsum_at(AT, "y[i] = x[3,i]", fed("x[b,9]", 2), END); edf_forward(),
       "Einsum|entry 3|0 to 1|$1");
  STOP(edf_einsum_at(AT, "y[b,i] = x[b,i] | b<4", fed("x[b,9]", 2), END); edf_forward(),
       "Einsum|this dimension|2|$1");
  CALL(edf_at(edf_parameter("W[2,3]"), 1, 3), "edf_at|index 3 of dimension 1|0 to 2|W");
  CALL(edf_at(edf_parameter("W[2,3]"), -1, 0), "edf_at|index -1 of dimension 0|0 to 1");
  CALL(edf_value(tanh_of(a("x[b,3]"))), "edf_value|edf_forward|\"h\" [b, 3]|hw1.c:3");
  CALL(edf_gradcheck(tanh_of(fed("x[b,3]", 1))), "edf_gradcheck|edf_want_grad|\"h\"|hw1.c:3");
  CALL(edf_name(a("W[3]"), NULL), "edf_name|NULL");
}

/* ---- Calls that need a node of one kind. The compiler takes any node. */

static edf_array rows(int n) {
  edf_array array = { 2, { n, 3 }, (size_t)n * 3, zeros };
  return array;
}
static void batches(edf_node *x, edf_node *y) {
  edf_all all;
  edf_batches(&all, x, rows(4), y, rows(4), 2);
}
static void next(edf_node *x, edf_node *y) {
  edf_all all = { x, y, rows(4), rows(4), 2, 0, 0 };
  edf_next(&all);
}
static void statistics(edf_node *mean, edf_node *variance) {
  edf_batch_norm_package Phi = norm();
  if (mean) Phi.mean = mean;
  if (variance) Phi.variance = variance;
  edf_batch_norm(Phi, edf_input("z[b,3]"));
}

#define CALLS_OF_A_KIND(OF) \
  OF(EDF_INPUT, "edf_feed", edf_feed(x, zeros, 2)) \
  OF(EDF_INPUT, "edf_batches", batches(x, NULL)) \
  OF(EDF_INPUT, "edf_batches", batches(edf_input("x[b,3]"), x)) \
  OF(EDF_INPUT, "edf_next", next(x, NULL)) \
  OF(EDF_INPUT, "edf_next", next(edf_input("x[b,3]"), x)) \
  OF(EDF_PARAMETER, "edf_update", edf_update(x, &edf_sgd_rule, zeros)) \
  OF(EDF_PARAMETER, "edf_init_uniform", edf_init_uniform(x, 0, 1)) \
  OF(EDF_PARAMETER, "edf_init_normal", edf_init_normal(x, 0, 1)) \
  OF(EDF_PARAMETER, "edf_set", edf_set(x, rows(4))) \
  OF(EDF_PARAMETER, "BatchNorm", statistics(x, NULL)) \
  OF(EDF_PARAMETER, "BatchNorm", statistics(NULL, x)) \
  OF(EDF_PARAMETER, "call", edf_expect_kind("call", "x", x, EDF_PARAMETER)) \
  OF(EDF_COMPNODE, "edf_backward", edf_backward(x)) \
  OF(EDF_COMPNODE, "edf_gradcheck", edf_gradcheck(x)) \
  OF(EDF_COMPNODE, "edf_formula", edf_formula(x, "y = x", "")) \
  OF(EDF_COMPNODE, "edf_expect_mismatch", edf_expect_mismatch(x)) \
  OF(EDF_COMPNODE, "edf_check_backward", edf_check_backward(x, "")) \
  OF(EDF_COMPNODE, "edf_derivative", edf_derivative(x, edf_parameter("x[2]"))) \
  OF(EDF_COMPNODE, "edf_doctor", edf_doctor(x)) \
  OF(EDF_COMPNODE, "edf_check", edf_check(x))

static const struct { edf_kind kind; const char *call; } of_a_kind[] = {
#define ROW(kind, name, call) { kind, name },
  CALLS_OF_A_KIND(ROW)
};
static void call_with(int k, edf_node *x) {
  int n = 0;
#define RUN(kind, name, call) if (n++ == k) { (void)(call); return; }
  CALLS_OF_A_KIND(RUN)
}
static edf_node *of_kind(int kind) {
  return kind == EDF_INPUT ? fed("x[b,3]", 2) : kind == EDF_PARAMETER ? a("W[2,3]")
         : edf_name(edf_node1(&edf_tanh_op, HW1(1), c("V[2,3]")), "W");
}

TEST(other_kinds_stop) {
  static const char *const kinds[] = { "an Input", "a Parameter", "a CompNode" };
  static char words[100];
  for (int k = 0; k < (int)(sizeof of_a_kind / sizeof *of_a_kind); k++)
    for (int kind = EDF_INPUT; kind <= EDF_COMPNODE; kind++) {
      if (kind == (int)of_a_kind[k].kind) continue;
      snprintf(words, sizeof words, "%s|%s|expected %s|\"%s\"|hw1.c:1", of_a_kind[k].call,
               kinds[kind], kinds[of_a_kind[k].kind], kind == EDF_INPUT ? "x" : "W");
      CALL(call_with(k, of_kind(kind)), words);
    }
}

TEST(optimisers_stop) {
  CALL(with_gradient(); edf_clip(0), "edf_clip|0");
  HERE(ran(a("w[3]"), 0); edf_sgd(1), "edf_step|edf_backward");
  HERE(ran(a("w[3]"), 0); edf_adam_default(1), "edf_step|edf_backward");
  HERE(with_gradient(); edf_sgd(1); edf_sgd(1), "edf_step|edf_backward|edf.reuse_gradients");
  HERE(with_gradient(); edf_sgd(1); edf_backward(edf.loss), "edf_backward|$1|\"h\"|hw1.c:3");
  HERE(with_gradient(); edf_momentum(1, 1), "edf_momentum|mu|1");
  HERE(with_gradient(); edf_rmsprop(1, 1, 1), "edf_rmsprop|beta|1");
  HERE(with_gradient(); edf_adam(1, 1, 0, 1), "edf_adam|beta1|1");
  HERE(with_gradient(); edf_adam_slides(1, 0, 2, 1), "edf_adam_slides|beta2|2");
  CALL(edf_init_uniform(a("x[b,3]"), 0, 1), "edf_init_uniform|Parameter|$1");
  CALL(edf_below(0), "edf_below|0|at least 1");
}

/* ---- Nodes of one's own, limits */

static void nothing(edf_node *y) { (void)y; }
static void rank_9(edf_node *y) { y->rank = 9; }
static void minus_2(edf_node *y) { y->rank = 1; y->dim[0] = y->in[0]->dim[0] - 5; }

TEST(own_nodes_stop) {
  HERE(edf_compnode_shaped("Mine", rank_9, nothing, nothing, a("v[3]")), "Mine|9|8");
  HERE(edf_compnode_shaped("Mine", minus_2, nothing, nothing, a("v[3]")), "Mine|-2");
  HERE(edf_compnode("Mine", NULL, nothing, a("v[3]")), "edf_compnode|forward|NULL");
}

static const char *in_brackets(int n) {
  static char text[6000];
  memset(text, '(', sizeof text);
  memcpy(text, "y[b] = ", 7);
  memset(text + 7 + n + 6, ')', (size_t)n);
  memcpy(text + 7 + n, "s[b,0]", 6);
  text[7 + n + 6 + n] = '\0';
  return text;
}

TEST(too_large_stops) {
  static const char *const texts[] = {
    "y[b,j] = W[j,I] s[b,I] | j<1000000000", "y[b] = e[k[b]] | k<1000000000",
    "y[b,i,j,k] = W[i,j,k,I] s[b,I] | i<1000000, j<1000000, k<1000000",
    "y[i+99999999,j] = s[i,0] | j<1000000000", "h[t,b] = h[t-1,b] + s[b,1] | t<30000000",
    "h[b,t] = s[b,0] h[b,t-1] + s[b,1] | t<1000000000",
  };
  static char long_line[3002];
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    memory.limit = 1 << 24;
    TRY(build('L', "s[b,4] k[b]", texts[k]));
    check_stop(__LINE__, "hw1.c:9");
  }
  CALL(a("W[1000000000,1000000000,1000000000]"), "too large|\"W\"|hw1.c:1");
  CALL(memory.limit = 1 << 20; a("W[1000,1000]"), "memory|\"W\" [1000, 1000]|hw1.c:1");
  memory.limit = 1 << 24;
  STOP(edf_einsum_at(AT, "y[i,j,k,l,m,n,o] = v[i] v[j] v[k] v[l] v[m] v[n] v[o]", a("v[1000]"),
                     END), "Product|memory");
  CALL(build('L', "s[b,4]", in_brackets(2000)), "hw1.c:9|nested");
  snprintf(long_line, sizeof long_line, "%-3000s$", "y[b] = s[b,0]");
  CALL(build('L', "s[b,4]", long_line), "hw1.c:9|'$'");
  CALL(edf_fmt("y = %0508d x", 3), "edf_fmt|511");
}

TEST(at_the_limit_nothing_stops) {
  CHECK(strlen(edf_fmt("y = %0505d x", 3)) == 511, "edf_fmt");
  edf_dropout(a("p[3]"), 0);
  edf_affine(affine("V[3,2]", "D[2]"), a("f[3]"));
  edf_reshape(a("r[1,1,1,1,1,1,1,2]"), "y[1,1,1,1,1,1,2,1]");
  edf_max_pool(a("x[b,6,6,3]"), 6, 1);
  edf_conv(conv("W[8,8,3,8]", 1, 1), a("z[b,6,6,3]"));
  edf_einsum("y[i] = u[i]u[i]u[i]u[i]u[i]u[i]u[i]u[i]", a("u[7]"));
  edf_clear();
  a("x[b,3,4]");
  edf_equations("y%0600d[b,i%0300d,j%0300d] = exp(2 x[b,i%0300d,j%0300d] + 1)", 0, 1, 2, 1, 2);
  edf_clear();
  build('L', "s[b,4]", in_brackets(30));
}

int main(void) { return harness_main(); }
