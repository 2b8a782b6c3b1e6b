/* formulas.c - the formula of an op, read by edf_equations, computes what the node computes.
   The lines of its gradient add what the node's backward adds. Each op with a formula must
   occur in a program below. The test finds the names of these ops in the headers.

   Before a line is read, the test replaces what only the printer of edf/slide.h knows, see
   >>formulas there: the indices i k b t u, the numbers p and q, the sign ? of a Test, the mask
   of a Dropout, and .flat. Index number 2 of a node becomes e2, and x.grad becomes dx. The test
   adds the sizes of the indices on the left as bounds. */

#include "models.h"

/* ---- The ops of the headers */

enum { OPS = 100, LINES = 200 };
static char op_name[OPS][32];
static const edf_op *op[OPS];                    /* NULL until a program has the op           */
static int n_ops;
static const char *line_read[LINES];             /* the lines that were read                  */
static int n_lines;

/* Finds the names between the braces of an op, or of a table of ops. A name is a quoted word
   that begins with a capital. */
static void find_names(const char *from, const char *to) {
  for (const char *c = from; (c = strchr(c, '"')) != NULL && c < to; c++) {
    const char *name = ++c;
    c += strcspn(c, "\"");
    size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz1");
    if (name + n != c || !isupper((unsigned char)*name)) continue;
    if (n_ops == OPS) abort();
    snprintf(op_name[n_ops++], sizeof *op_name, "%.*s", (int)n, name);
  }
}
static void find_ops(const char *header) {
  FILE *f = fopen(header, "rb");
  static char text[1 << 20];
  CHECK(f, "%s cannot be read", header);
  if (!f) return;
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  CHECK(feof(f), "%s is too long", header);
  fclose(f);
  for (const char *c = text; (c = strstr(c, "const edf_op ")) != NULL;) {
    c += strlen("const edf_op ");
    const char *begin = c + strspn(c, "abcdefghijklmnopqrstuvwxyz_1[]"), *end;
    if (strncmp(begin, " =", 2)) continue;
    if (!(end = strchr(begin, ';'))) abort();
    const char *none = strstr(begin, "NULL, NULL, NULL,");       /* an op without a formula   */
    if (!none || none > end) find_names(begin, end);
  }
}

static void remember_op(const edf_op *about) {
  int k = 0;
  while (k < n_ops && (strcmp(op_name[k], about->name) || (op[k] && op[k] != about))) k++;
  CHECK(k < n_ops, "the headers have no op %s", about->name);
  if (k < n_ops) op[k] = about;
}
static int was_read(const char *line) {
  int k = 0;
  while (k < n_lines && line_read[k] != line) k++;
  return k < n_lines;
}

/* ---- The line that is read */

static struct {
  const edf_node *y;                     /* the node whose formula it is                      */
  int n;                                 /* number of its indices                             */
  int row;                               /* how many of them form the row                     */
  int operand;                           /* of a Concat: the input for which it is read       */
  int lacks;                             /* 1 if this input has no joined index               */
  int part;                              /* where the part of this input begins               */
  int flat;                              /* 1 if tensors are read as arrays with one index    */
  int causal;                            /* 1 if row t uses only its first t+1 entries        */
} of;

static char text[4000], bounds[400];   /* its text for edf_equations, and what is after the | */

static void HARNESS_PRINTF(2, 3) add(char *to, const char *format, ...) {
  size_t n = strlen(to);
  va_list args;
  va_start(args, format);
  vsnprintf(to + n, (to == text ? sizeof text : sizeof bounds) - n, format, args);
  va_end(args);
}

static size_t word(const char *c) {
  size_t n = 0;
  if (isdigit((unsigned char)*c)) return 0;
  while (isalnum((unsigned char)c[n]) || c[n] == '_') n++;
  return n;
}

/* Returns the tensor of this name, or NULL. */
static edf_node *tensor_named(const char *name, size_t n) {
  const char *list = of.y->about->tensors;
  for (int k = 0; *list; k++, list += strspn(list, " ")) {
    size_t m = strcspn(list, " ");
    if (m == n && !strncmp(list, name, n))
      return k ? of.y->in[k - 1 + of.operand] : (edf_node *)of.y;
    list += m;
  }
  return NULL;
}
static int rank_of(const edf_node *x) { return of.flat ? 1 : x->rank; }
static int dim_of(const edf_node *x, int d) { return of.flat ? (int)x->size : x->dim[d]; }

/* Returns 1 for a scalar y that is looked up. It is read as y[0]. */
static int is_label(const edf_node *x, const char *name, size_t n) {
  char lookup[30];
  snprintf(lookup, sizeof lookup, "%.*s[b]]", (int)n, name);
  return x && !rank_of(x) && strstr(of.y->about->formula, lookup);
}

/* Returns 1 if an index of the formula stands for indices *from to *to - 1 of the node.
   Returns 0 if it stands for itself. */
static int range(char index, int *from, int *to) {
  char c = (char)tolower(index);
  int begin = of.n > of.row ? of.n - of.row : 0;
  *from = strchr("ktu", c) ? begin + (c == 'u') : 0;
  *to = c == 'b' ? begin : c == 't' ? begin + !of.lacks : of.n;
  return strchr("ibktu", c) != NULL;
}

static const char *add_tensor(const char *c, const edf_node *left);

/* Writes one position of a tensor: a lookup at c, or the name of an index, and where a part of
   Concat begins. */
static void add_position(const char *c, const char *name) {
  if (c[1] == '[') add_tensor(c, NULL);
  else if (c[1] != '+') add(text, "%s", name);
  else add(text, *name ? "%s+%d" : "%s%d", name, of.part);
}
/* Reads the positions of a tensor up to the bracket, and returns how many they are. If `writes`
   is 1, it writes them, except the first `skip`, and the bounds of the left side. */
static int add_positions(const char **at, int writes, int skip, const edf_node *left) {
  const char *c = *at;
  int n = 0, from, to;
  for (;; c++) {
    int several = range(*c, &from, &to), looks_up = c[1] == '[', sum = c[1] == '+';
    int count = looks_up || !several ? 1 : to - from;
    for (int k = 0; k < (sum && !count ? 1 : count); k++, n++) {
      char name[20] = "", first = isupper((unsigned char)*c) ? 'E' : 'e';
      if (!writes || n < skip) continue;
      if (several && count) snprintf(name, sizeof name, "%c%d", first, from + k);
      if (!several) snprintf(name, sizeof name, "%c", *c);
      if (looks_up) snprintf(name, sizeof name, "%.*s", (int)word(c), c);
      add(text, "%s", n > skip ? "," : "");
      add_position(c, name);
      if (left && !sum) add(bounds, ", %s<%d", name, dim_of(left, n - skip));
    }
    c += looks_up ? strcspn(c, "]") + 1 : sum ? 3 : 1;
    if (*c != ',') break;
  }
  *at = c + 1;
  return n;
}
/* Writes the tensor at c, and bounds if it is the left side. Returns what is after it. A short
   operand has the last indices. */
static const char *add_tensor(const char *c, const edf_node *left) {
  size_t n = word(c);
  const edf_node *x = tensor_named(c, n);
  const char *name = c, *begin;
  int grad = !strncmp(c += n, ".grad", 5), count, rank;
  add(text, "%s%.*s", grad ? "d" : "", (int)n, name);
  c += (grad ? 5 : 0) + (of.flat ? 5 : 0);
  if (*c != '[') return c;
  begin = ++c;
  count = add_positions(&c, 0, 0, NULL);
  rank = x ? rank_of(x) : count;
  if (rank) add(text, "[");
  add_positions(&begin, 1, count > rank ? count - rank : 0, left);
  if (rank) add(text, "]");
  else if (is_label(x, name, n)) add(text, "[0]");
  return c;
}

/* Writes sum_{E0,E1}, or nothing if there is no index. */
static const char *add_over(const char *c) {
  size_t n = word(c), over = strcspn(c, "_") + 1;
  int from, to;
  if (!range(c[over], &from, &to)) {
    add(text, "%.*s", (int)n, c);
    return c + n;
  }
  if (from < to) add(text, "%.*s{", (int)over, c);
  for (int k = from; k < to; k++) add(text, "E%d%s", k, k + 1 < to ? "," : "}");
  return c + n + (from == to);
}
/* Writes the sizes of the indices for which a capital stands, or the value of the index k. */
static void add_sizes(char index) {
  int from, to;
  range(index, &from, &to);
  if (from == to) add(text, "1");
  if (to > from + 1) add(text, "(");
  for (int k = from; k < to; k++)
    add(text, "%c%d%s", index == 'k' ? 'e' : 'E', k, k + 1 < to ? " " : "");
  if (to > from + 1) add(text, ")");
}

/* Writes a part of a formula as a text for edf_equations. */
static void add_words(const char *c, const char *end) {
  static const char *const sign[] = { "", "<", "=", "<=", ">", "!=", ">=" };
  const edf_real *state = (const edf_real *)of.y->state;
  for (size_t n; c < end;) {
    n = word(c);
    if (!n && *c == '?') add(text, "%s", sign[(int)*state]);
    else if (!n) add(text, "%c", *c);
    if (!n) c++;
    else if (memchr(c, '_', n)) c = add_over(c);
    else if (tensor_named(c, n) || c[n] == '[') c = add_tensor(c, NULL);
    else {
      if (n == 1 && strchr("pq", *c)) add(text, "(%.17g)", (double)state[*c == 'q']);
      else if (n == 1 && strchr("kIBKT", *c)) add_sizes(*c);
      else add(text, "%.*s", (int)n, c);
      c += n;
    }
  }
}

/* ---- Running it */

/* Makes an Input with the numbers of a node. */
static void give(const char *name, const edf_node *x, const edf_real *numbers) {
  char decl[200];
  size_t n = (size_t)snprintf(decl, sizeof decl, "%s", name);
  const char *end = rank_of(x) ? "]" : is_label(x, name, n) ? "[1]" : "";
  for (int d = 0; d < rank_of(x); d++)
    n += (size_t)snprintf(decl + n, sizeof decl - n, d ? ",%d" : "[%d", dim_of(x, d));
  snprintf(decl + n, sizeof decl - n, "%s", end);
  edf_feed(edf_input("%s", decl), numbers, rank_of(x) ? dim_of(x, 0) : 1);
}
/* Gives the node's tensors, y.grad, and the mask of a Dropout, which is 0 where y is 0. */
static void give_all(int backward) {
  static edf_real mask[ENTRIES];
  const char *list = of.y->about->tensors;
  for (int k = 0; *list; k++, list += strspn(list, " ")) {
    char name[20], dy[24];
    size_t n = strcspn(list, " ");
    snprintf(name, sizeof name, "%.*s", (int)n, list);
    snprintf(dy, sizeof dy, "d%s", name);
    edf_node *x = tensor_named(list, n);
    if (k || backward) give(name, x, x->value);
    if (!k && backward) give(dy, x, x->grad);
    list += n;
  }
  if (!strstr(of.y->about->formula, "mask")) return;
  for (size_t i = 0; i < of.y->size; i++) mask[i] = of.y->value[i] != 0;
  give("mask", of.y, mask);
}

/* Adds the entries of r to those of x at the same positions. A part of a Concat is shorter. */
static void add_entries(const edf_node *x, double *to, const edf_node *r) {
  int joins = !strcmp(of.y->about->name, "Concat"), same = r->rank == rank_of(x);
  for (int d = 0; same && d < r->rank; d++)
    same = joins ? r->dim[d] <= dim_of(x, d) : r->dim[d] == dim_of(x, d);
  CHECK(same, "%s: another shape:\n%s", of.y->about->name, text);
  for (size_t i = 0; i < r->size && same; i++) {
    size_t at = 0, apart = 1, rest = i;
    for (int d = r->rank - 1; d >= 0; d--) {
      at += rest % (size_t)r->dim[d] * apart;
      apart *= (size_t)dim_of(x, d);
      rest /= (size_t)r->dim[d];
    }
    to[at] += (double)r->value[i];
  }
}

/* Makes the text for a line. */
static void translate(const char *line, const edf_node *left, int backward) {
  const char *name = of.y->about->name, *all = " + 0 x[I]";
  *text = *bounds = '\0';
  add_words(add_tensor(line, left), line + strcspn(line, "\n"));
  if (of.causal && of.n > 1) {
    int s = of.n - 1, t = of.n - 2, is_log = !strcmp(name, "LogSoftmax") && !backward;
    if (is_log) add(text, " + ln(1[e%d <= e%d])", s, t);
    else add(bounds, ", e%d<=e%d", s, t);
    add(bounds, ", E%d<=e%d", s, t);
  }
  if (*bounds) add(text, " |%s", bounds + 1);
}

/* Reads one line, runs it in a graph of its own, and adds its left side to the result. */
static void run_line(const char *line, const edf_node *left, int backward, double *result) {
  static edf_graph program;
  static edf_node *r;
  translate(line, left, backward);
  program = edf;
  edf = edf_new_graph();
  TRY(give_all(backward); r = edf_equations("%s", text); edf_forward());
  CHECK(!panicked, "%s: %.*s\ncannot be read as\n%s\n%s", of.y->about->name,
        (int)strcspn(line, "\n"), line, text, caught);
  CHECK(!edf.n_parameters, "%s: a name is unknown:\n%s", of.y->about->name, text);
  if (!panicked) add_entries(left, result, r);
  edf_clear();
  edf = program;
  if (was_read(line)) return;
  if (n_lines == LINES) abort();
  line_read[n_lines++] = line;
}

/* Runs the lines of y's formula or of its gradient whose left side is x or x.grad. */
static void run_lines(const edf_node *y, const edf_node *x, int backward, double *result) {
  const char *lines = backward ? y->about->gradient : y->about->formula;
  const char *blank = edf.training ? NULL : strstr(lines, "\n\n");
  int index = !strcmp(y->about->name, "Index"), joins = !strcmp(y->about->name, "Concat");
  const edf_node *longer = y->n_in && !index ? y->in[0] : y;
  if (longer->rank <= y->rank) longer = y;
  if (x->size > ENTRIES) abort();
  memset(&of, 0, sizeof of);
  of.y = y;
  of.flat = strstr(lines, ".flat") != NULL;
  of.n = longer->rank;
  of.row = longer != y ? longer->rank - y->rank : edf_row_dims(y);
  of.causal = edf_row_is_causal(y);
  memset(result, 0, x->size * sizeof *result);
  for (; of.operand < (joins ? y->n_in : 1); of.operand++) {
    of.lacks = joins && y->in[of.operand]->rank < y->rank;
    for (const char *c = blank ? blank + 2 : lines; *c && *c != '\n'; c += *c == '\n') {
      if (tensor_named(c, word(c)) == x) run_line(c, x, backward, result);
      c += strcspn(c, "\n");
    }
    if (joins) of.part += of.lacks ? 1 : y->in[of.operand]->dim[y->rank - of.row];
  }
}

/* ---- Compared */

static char program_name[600];
static double sum[ENTRIES];

/* Compares the numbers that the node computes, without what was there before, with the sum. */
static void compare(const edf_node *y, const char *what, const edf_real *found,
                    const edf_real *before, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double by_node = (double)found[i] - (before ? (double)before[i] : 0);
    double error = fabs(by_node - sum[i]), most = 1e-9 * (1 + fabs(by_node));
    if (by_node == sum[i] || (error <= most && error < HUGE_VAL)) continue;
    CHECK(0, "%s\n%s: entry %zu of %s is %.17g by the node, and %.17g by its formula\n%s",
          program_name, y->about->name, i, what, by_node, sum[i], text);
    return;
  }
}

/* Runs in place of the backward of y. */
static void checked_backward(edf_node *y) {
  enum { INPUTS = 16 };
  static edf_real before[INPUTS][ENTRIES];
  if (y->n_in > INPUTS) abort();
  for (int k = 0; k < y->n_in; k++)
    if (y->in[k]->grad) memcpy(before[k], y->in[k]->grad, y->in[k]->size * sizeof **before);
  y->about->backward(y);
  for (int k = 0, first = 0; k < y->n_in; k++, first = 0) {
    edf_node *x = y->in[k];
    while (y->in[first] != x) first++;
    if (!x->grad || first < k) continue;
    run_lines(y, x, 1, sum);
    compare(y, say("the gradient of input %d", k), x->grad, before[k], x->size);
  }
}

/* Checks all nodes of the graph. The loss is the sum of all their entries, each times a number
   of its own, so each node has a gradient. */
static void check_program(const char *name) {
  edf_node *loss = NULL;
  int n = edf.n_compnodes;
  snprintf(program_name, sizeof program_name, "%s", name);
  for (int k = 0; k < n; k++) {
    edf_node *z = JUDGED(edf.compnodes[k]);
    loss = loss ? edf_add(loss, z) : z;
  }
  edf_forward();
  for (int k = 0; k < n; k++) {
    edf_node *y = edf.compnodes[k];
    if (!y->about || !y->about->formula) continue;
    remember_op(y->about);
    run_lines(y, y, 0, sum);
    compare(y, "its value", y->value, NULL, y->size);
    CHECK(!*y->about->gradient == !y->backward, "%s has a backward without a gradient, or a "
          "gradient without a backward", y->about->name);
    if (y->backward) y->backward = checked_backward;
  }
  edf_backward(loss);
  CAPTURE(edf_print_program(stdout));              /* The sanitizer runs the printer.         */
  CHECK(!panicked, "%s cannot be printed: %s", name, caught);
}

/* ---- The programs */

static void check_built(const char *tensors, const char *what, void (*build)(void)) {
  static char declared[200];
  snprintf(declared, sizeof declared, "%s", tensors);
  for (int training = 1; training >= 0; training--) {
    edf_seed(3);
    declare_plain(declared);
    for (int k = 0; k < slide.leaves; k++)         /* Class numbers have no gradient.         */
      if (slide.leaf[k].low < 0) edf_want_grad(slide.leaf[k].node);
    if (build) build();
    else edf_equations("%s", what);
    edf.training = training;
    check_program(say("%s: %s", declared, what));
    edf_clear();
    edf.training = 1;
  }
}

/* The op that edf.h shows above edf_node1. */
static void cube_forward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) y->value[i] = x[i] * x[i] * x[i];
}
static void cube_backward(edf_node *y) {
  const edf_real *x = y->in[0]->value;
  for (size_t i = 0; i < y->size; i++) edf_addgrad(y->in[0], i, y->grad[i] * 3 * x[i] * x[i]);
}
static const edf_op cube_op = { "Cube", NULL, cube_forward, cube_backward, "y x",
  "y[i] = x[i]^3", "x.grad[i] += y.grad[i] 3 x[i]^2", 0, NULL };
#define Cube(x) edf_node1(&cube_op, __FILE__, __LINE__, x)

static void functions(void) {
  edf_node *x = edf_find("x"), *p = edf_find("p"), *w = edf_find("w");
  edf_node *all[] = { x, w };
  for (int k = 0; k < 2; k++) {
    edf_node *a = all[k];
    Sigmoid(a); Tanh(a); Relu(a); Gelu(a); Exp(a); Square(a); Softplus(a); Abs(a); Sin(a);
    Cos(a); LeakyRelu(a, (edf_real)0.1); Clamp(a, -1, 1); Clamp(a, -0.5, (edf_real)0.25);
    Clamp(a, (edf_real)0.25, (edf_real)HUGE_VAL); Clamp(a, -(edf_real)HUGE_VAL, (edf_real)0.25);
    Pow(a, 3); Pow(a, 2); Pow(a, 1); Sum(a); Mean(a);
  }
  Log(p); Sqrt(p); Pow(p, -1.5); Pow(p, 0); Pow(p, (edf_real)0.3); Dropout(x, 0.4); Cube(x);
}

TEST(functions_of_one_entry) {
  static const char *const shape[] = { "", "[5]", "[3,4]", "[2,3,2]", "[b]", "[b,4]",
                                       "[b,2,3]" };
  for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
    check_built(say("x%s p%s+ w%s~2", shape[k], shape[k], shape[k]), "functions", functions);
}

static void pairs(void) {
  edf_node *x = edf_find("x"), *y = edf_find("y"), *v = edf_find("v"), *w = edf_find("w");
  Add(x, y); Sub(x, y); Mul(x, y); Div(x, y); Max(x, y); Min(x, y); MSE(x, y);
  Max(v, w); Min(v, w); Mul(x, x); Div(y, y); Max(x, x);
  if (x->rank == y->rank) BCELoss(x, y);
  if (x->rank >= y->rank) MaskedMean(x, y);
}
TEST(functions_of_two_entries) {
  static const char *const shape[][2] = { { "", "" }, { "[5]", "[5]" }, { "[3,4]", "[3,4]" },
    { "[b,2,3]", "[b,2,3]" }, { "[b,2,3]", "[3]" }, { "[2,3]", "[b,2,3]" }, { "[4]", "[b,4]" },
    { "[b,4]", "" }, { "", "[2,3]" } };
  for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
    const char *a = shape[k][0], *b = shape[k][1];
    check_built(say("x%s y%s+ v%s~1 w%s~1", a, b, a, b), "pairs", pairs);
  }
}

static void rows(void) {
  edf_node *x = edf_find("x"), *k = edf_find("k");
  Softmax(x); LogSoftmax(x); LogLoss(edf_find("P"), k); SoftmaxLogLoss(x, k);
  Affine(edf_affine_params(4, 3), x);
  if (x->rank > 1) BatchNorm(edf_batch_norm_params(4), x);
}
TEST(functions_of_a_row) {
  check_built("x[4] P[4]+ k=4", "rows", rows);
  check_built("x[3,4] P[3,4]+ k[3]=4", "rows", rows);
  check_built("x[b,4] P[b,4]+ k[b]=4", "rows", rows);
  check_built("x[b,2,4] P[b,2,4]+ k[b,2]=4", "rows", rows);
}

static void reshaped(void) {
  Reshape(edf_find("x"), "y[b,6]");
  Reshape(edf_find("x"), "y[b,3,2]");
  Reshape(edf_find("v"), "v[2,2,3]");
  Reshape(edf_find("v"), "v[12]");
}
TEST(other_shapes) { check_built("x[b,2,3] v[4,3]", "reshaped", reshaped); }

TEST(texts) {
  static const struct { const char *tensors, *text; } texts[] = {
    { "x[b,3] w[b,3]~2", "y[b,i] = sign(x[b,i]) + floor(3 x[b,i]) + stop(x[b,i])\n"
      "z[b,i] = 1[w[b,i] > 0] + 1[w[b,i] >= 0] + 1[w[b,i] = 0] + 1[w[b,i] != 0] + "
      "1[w[b,i] <= 0] + 1[w[b,i] < 1]" },
    { "x[b,4,3]", "y[b,t,s] = (t - s)^2 x[b,t,s] / B\n"
      "z = 3 + (1/B) sum_b x[b,0,0]" },
    { "x[b,2]", "y[j,b] = x[b,j]\nz[b] = B J + sum_j y[j,b]\ns = 3\nu[j] = j + J + s | j<4" },
    { "x[b,4]", "m[b] = argmax_i x[b,i]\nn[b] = argmin_i x[b,i]\ny[b,i] = normalize_i x[b,i]\n"
      "l[b] = ln sum_i exp(x[b,i])\nP[b,i] = softmax_i x[b,i]\nq[b,i] = ln P[b,i]" },
    { "x[4] w[4]+", "m = argmax_i x[i]\ny[i] = normalize_i(x[i], 0.1)\nl = ln sum_i exp(x[i])\n"
      "P[i] = softmax_i x[i]\nq[i] = logsoftmax_i x[i]\nr = ln sum_i w[i] exp(x[i])" },
    { "x[b,2,3,4] w[b,2,3,4]+", "m[b,i] = argmax_{j,k} x[b,i,j,k]\n"
      "n[b] = argmin_{i,j,k} x[b,i,j,k]\ny[b,i,j,k] = normalize_{j,k} x[b,i,j,k]\n"
      "l[b,i] = ln sum_{j,k} exp(x[b,i,j,k])\nP[b,i,j,k] = softmax_{j,k} x[b,i,j,k]\n"
      "q[b,i,j,k] = logsoftmax_{j,k} x[b,i,j,k]\n"
      "r[b,i] = ln sum_{j,k} w[b,i,j,k] exp(x[b,i,j,k])" },
    { "x[b,3,3]", "P[b,t,s] = softmax_s x[b,t,s] | s<=t\nq[b,t,s] = softmax_s x[b,t,s] | t<=s\n"
      "r[b,t,s] = ln q[b,t,s]" },
    { "x[3,3]", "P[t,s] = softmax_s x[t,s] | s<=t\ny[t,s] = ln P[t,s]" },
    { "x[b,4] w[b,4]+ a[4]+",
      "y[b,i] = silu(x[b,i]) + erf(x[b,i]) + log1p(w[b,i]) + expm1(x[b,i])\n"
      "z[b,i] = w[b,i]^x[b,i] + w[b,i]^2.5 + 2^x[b,i] + a[i]^x[b,i]\n"
      "u[b,i] = where(x[b,i] > 0.1, w[b,i], a[i]) + where(a[i] > w[b,0], 1, x[b,i])" },
    { "x[b,2,3]", "p[b,i] = prod_j x[b,i,j]\nq[b] = prod_{i,j} x[b,i,j]\n"
      "n[b,i] = norm_j x[b,i,j]\nm[b] = norm_{i,j} x[b,i,j]\ns[b,i] = std_j x[b,i,j]\n"
      "r[b] = std_{i,j} x[b,i,j]\nt[j] = norm_i x[0,i,j]" },
    { "x[b,3] n[b]=4", "y[b,s] = exp(x[b,s]) | s<n[b]\nz[b] = mean_s x[b,s] | s<n[b]" },
    { "A[b,3] C[b,2] D[b]", "L[b,J+K] = A[b,J]; C[b,K]\n"
      "M[b,J+K+L] = A[b,J]; D[b]; C[b,L] | K<1" },
    { "W[4,3,3] z[3]", "x[0,i] = z[i]\nx[t+1,i] = W[t,i,J] x[t,J] | t<4" },
    { "x[b,4,3]", "h[b,t,j] = tanh(V[j,I] h[b,t+1,I] + W[j,K] x[b,t,K]) | j<3" }
  };
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    check_built(texts[k].tensors, texts[k].text, NULL);
}

TEST(models_with_all_layers) {
  for (int k = 0; k < MODELS; k++) check_built(models[k].tensors, "a model", models[k].build);
}

/* ---- All of them */

static void all_lines_were_read(const char *name, const char *lines) {
  for (const char *c = lines; *c; c += strspn(c, "\n")) {
    CHECK(was_read(c), "%s: no program reads this line: %s", name, c);
    c += strcspn(c, "\n");
  }
}
TEST(every_formula_was_read) {
  CHECK(n_ops > 40, "%d ops were found in the headers", n_ops);
  for (int k = 0; k < n_ops; k++) {
    CHECK(op[k], "no program has the op %s", op_name[k]);
    if (!op[k]) continue;
    all_lines_were_read(op_name[k], op[k]->formula);
    all_lines_were_read(op_name[k], op[k]->gradient);
  }
}

int main(void) {
  find_ops("edf.h");
  find_ops("edf/slide.h");
  find_ops("edf/layers.h");
  return harness_main();
}
