/* Two ways: what edf_print_equations writes of models of every kind, read into an empty graph,
   gives the same nodes, and after 100 steps the same bits.

   A model file has that text: in a fresh process it gives the model, filled. Wrong files leave
   the graph empty.

   Built as: float double none sanitized shim */
#include "temporary.h"
#include "texts.h"

enum { MOST = 1 << 17, STEPS = 100 };
static char text[2][MOST];
static edf_real start[MOST], numbers[2][MOST];

static void print_to(char *to) {
  FILE *f = tmpfile();
  edf_print_equations(f);
  rewind(f);
  to[fread(to, 1, MOST - 1, f)] = 0;
  fclose(f);
}

/* All parameters, into or out of an array; how many numbers there are. */
static size_t parameters(edf_real *at, int into) {
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters; n += edf.parameters[i++]->size) {
    Parameter *p = edf.parameters[i];
    if (into) memcpy(at + n, edf_value(p), p->size * sizeof *at);
    else memcpy(p->value, at + n, p->size * sizeof *at);
    edf_push(p);
  }
  return n;
}

static size_t train(edf_real *to) {
  CompNode *loss = edf.compnodes[edf.n_compnodes - 1];
  edf_seed(5);
  for (int step = 0; step < STEPS; step++) {
    Forward();
    if (!loss->needs_grad && step) continue;
    TRY(edf_backward(loss));
    if (!panicked) edf_adam((edf_real)0.003, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
  }
  size_t n = parameters(to, 1);
  memcpy(to + n, edf_value(loss), loss->size * sizeof *to);
  return n + loss->size;
}

/* The graph, printed, read, and trained both times. */
static void both_ways(const char *what) {
  const edf_real *data[16];
  int rows[16], n_data = edf.n_inputs;
  for (int i = 0; i < n_data; i++) {
    data[i] = edf.inputs[i]->value;
    rows[i] = edf.inputs[i]->fed;
  }
  parameters(start, 1);
  print_to(text[0]);
  size_t n = train(numbers[0]);
  edf_clear();
  TRY(edf_equations_at("text.c", 1, "%s", text[0]));
  CHECK(!panicked, "%s: %s\n%s", what, caught, text[0]);
  if (panicked) { edf_clear(); return; }
  print_to(text[1]);
  CHECK(!strcmp(text[0], text[1]), "%s:\n%s\nis read as\n%s", what, text[0], text[1]);
  parameters(start, 0);
  for (int i = 0; i < n_data; i++) {
    if (rows[i] >= 0) edf_feed(edf.inputs[i], data[i], rows[i]);
    edf_want_grad(edf.inputs[i]);
  }
  size_t again = train(numbers[1]);
  CHECK(n == again && !memcmp(numbers[0], numbers[1], n * sizeof **numbers),
        "%s: other numbers from\n%s", what, text[0]);
  edf_clear();
}

static void the_courses_lines(void) {
  for (size_t k = 0; k < sizeof slides / sizeof *slides; k++) {
    edf_seed(k);
    declare(slides[k].tensors, 3);
    edf_equations("%s", slides[k].text);
    both_ways(slides[k].text);
  }
}

/* ---- Models of every family, by constructors: what they feed, and what they build. */
static Input *x, *y;
static void feeds(const char *list, int batch) {
  edf_seed(3);
  declare(list, batch);
  x = edf_find("x");
  y = strstr(list, "y") ? edf_find("y") : NULL;
}

static void mlp(void) {
  feeds("x[b,6] y[b]=4", 5);
  CompNode *h = Tanh(Affine(edf_affine_params(6, 8), x));
  h = Relu(Affine(edf_affine_params(8, 8), Dropout(h, 0.3)));
  LogLoss(Softmax(Affine(edf_affine_params(8, 4), h)), y);
}
static void lenet(void) {
  feeds("x[b,8,8,2] y[b]=3", 4);
  ConvParams one = edf_conv_params(2, 3, 2, 4), two = edf_conv_params(2, 3, 4, 4);
  one.padding = 1;
  CompNode *h = MaxPool(Relu(Conv(one, x)), 2, 2);
  h = AvgPool(LeakyRelu(Conv(two, h), (edf_real)0.1), 2, 1);
  h = Reshape(h, "flat[b,4]");
  edf_name(SoftmaxLogLoss(Affine(edf_affine_params(4, 3), h), y), "loss");
}
static void autoencoder(void) {
  feeds("x[b,4,4,2]", 3);
  ConvParams one = edf_conv_params(2, 2, 2, 3), two = edf_conv_params(2, 2, 2, 3);
  one.stride = two.stride = 2;
  edf_batch_norm_package norm = edf_batch_norm_params(3);
  CompNode *h = edf_batch_norm(norm, Conv(one, x));
  ConvParams back = edf_conv_params(2, 2, 3, 2);
  back.stride = 2;
  MSE(TransposedConv(back, Gelu(h)), x);
  (void)two;
}
static void lstm(void) {
  feeds("x[b,4,3] y[b,4]=5", 3);
  CompNode *h = Unroll(edf_lstm_params(3, 6), x);
  h = Unroll(edf_gru_params(6, 6), h);
  h = Unroll(edf_ugrnn_params(6, 6), h);
  h = Unroll(edf_rnn_params(6, 6), h);
  Mean(SoftmaxLogLoss(Affine(edf_affine_params(6, 5), h), y));
}
static void long_lstm(void) {
  feeds("x[b,40,2] y[b]", 2);
  CompNode *h = Unroll(edf_lstm_params(2, 3), x);
  CompNode *s = Affine(edf_affine_params(3, 1), Select("h[b,T,j]", h, 39));
  Mean(BCELoss(Reshape(s, "s[b]"), Sigmoid(y)));
}
static void gpt(void) {
  feeds("x[b,5]=7 y[b,5]=7 m[b,5]=2", 3);
  Parameter *E = edf_parameter("E[7,6]"), *P = edf_parameter("P[5,6]");
  edf_init_normal(E, 0, (edf_real)0.3);
  CompNode *h = Add(Embed(E, x), P);
  for (int l = 0; l < 2; l++) {
    CompNode *a = CausalAttention(edf_attention_params(6, 2),
                                  LayerNorm(edf_layer_norm_params(6), h));
    h = Add(h, Dropout(a, 0.1));
    a = Gelu(Affine(edf_affine_params(6, 12), LayerNorm(edf_layer_norm_params(6), h)));
    h = Add(h, Affine(edf_affine_params(12, 6), a));
  }
  CompNode *s = edf_einsum("s[b,t,w] = E[w,J] h[b,t,J]", E, h);
  edf_name(MaskedMean(SoftmaxLogLoss(s, y), edf_find("m")), "mean_loss");
}
static void attention(void) {
  feeds("x[b,5,6]", 3);
  CompNode *h = Attention(edf_attention_params(6, 3), x);
  h = Highway(edf_highway_params(6), h);
  h = Residual(edf_residual_params(1, 3, 6), h);
  h = NormalizeOver("h[b,T,j]", h, (edf_real)1e-3);
  Sum(VarianceOver("h[b,T,j]", h));
}
static void functions(void) {
  feeds("x[b,4] y[b,4] k[b]=3 c", 3);
  Parameter *w = edf_parameter("w[4]"), *exp_ = edf_parameter("exp"), *b = edf_parameter("b");
  edf_init_uniform(w, (edf_real)0.5, 1);
  edf_init_uniform(exp_, (edf_real)0.5, 1);
  CompNode *h = Mul(x, w);
  h = Add(Sin(h), Cos(Mul(h, exp_)));
  h = Clamp(Pow(Add(Abs(h), w), (edf_real)1.7), (edf_real)-0.1, (edf_real)1.25);
  h = Div(Exp(h), Softplus(Sqrt(Square(Mul(h, b)))));
  h = Min(Max(h, w), Log(Add(h, Exp(w))));
  h = edf_name(Pow(h, 2), "my node!");
  h = edf_name(Sub(Log(Softmax(h)), LogSoftmax(h)), "h");
  h = edf_name(Add(h, MeanOver("q[B,j]", y)), "h");
  h = edf_name(Mul(h, SampleVarianceOver("q[B,j]", y)), "");
  CompNode *t = edf_name(Sum(MaxOver("q[b,J]", h)), "t");
  h = edf_name(edf_einsum("z[b,t] = t x[b,t] | t<3", t, h), "sum_b");
  t = edf_name(Sum(h), "sum_b");
  Mean(LogLoss(Softmax(Mul(SoftmaxOver("h[b,T]", h), t)), edf_find("k")));
}
static void moves(void) {
  feeds("x[b,3,4] y[b,4]", 3);
  Parameter *W = edf_parameter("W[3,4]"), *V = edf_parameter("W[3,4]");
  edf_init_uniform(W, -1, 1);
  edf_init_uniform(V, -1, 1);
  CompNode *a = Mul(x, W), *c = Select("a[b,T,j]", Mul(x, V), 1);
  CompNode *h = Concat("h[b,T,j]", a, c, x, c);
  h = Concat("h[b,t,J]", h, Slice("h[b,t,J]", h, 1, 2));
  h = SumOver("q[b,i] = h[b,2*i+DI,J] | DI<2, i<3", h);
  h = LogSoftmaxOver("h[B,i,k]", Reshape(h, "r[b,3,1]"));
  Sum(SoftmaxOver("s[i,j,K] | K<=j", edf_einsum("s[i,j,k] = W[i,A] W[j,A] V[k,A]", W, V)));
  Mean(h);
}

static void (*const all_models[])(void) = { mlp, lenet, autoencoder, lstm, long_lstm, gpt,
                                            attention, functions, moves };
enum { N_MODELS = sizeof all_models / sizeof *all_models };

static void models(void) {
  for (int k = 0; k < N_MODELS; k++) {
    all_models[k]();
    both_ways("a model");
  }
}

/* ---- Files: what the next steps give, here and where the file was loaded. */
static size_t five_steps(edf_real *to) {
  CompNode *loss = edf.compnodes[edf.n_compnodes - 1];
  for (int step = 0; step < 5; step++) {
    edf_forward();
    edf_backward(loss);
    edf_adam((edf_real)0.01, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
  }
  edf_forward();
  size_t n = parameters(to, 1);
  memcpy(to + n, loss->value, loss->size * sizeof *to);
  return n + loss->size;
}

static unsigned long long bits_of(const edf_real *v, size_t n) {
  unsigned long long hash = 5381;
  for (size_t i = 0; i < n * sizeof *v; i++) hash = hash * 33 + ((const unsigned char *)v)[i];
  return hash;
}

/* In a process of its own: model k, from the file. What it is fed is declared elsewhere. */
static int loaded(int k, const char *name) {
  static edf_real fed[16][512];
  int rows[16], n = 0;
  all_models[k]();
  for (; n < edf.n_inputs; n++) {
    rows[n] = edf.inputs[n]->fed;
    if (rows[n] >= 0) memcpy(fed[n], edf.inputs[n]->value, sizeof *fed);
  }
  edf_clear();
  edf_seed(99);
  edf_load(name);
  for (int i = 0; i < n; i++) if (rows[i] >= 0) edf_feed(edf.inputs[i], fed[i], rows[i]);
  size_t count = five_steps(numbers[0]);
  printf("%zu %llu\n", count, bits_of(numbers[0], count));
  edf_clear();
  return 0;
}

static const char *program;
static void files_of_models(void) {
  for (int k = 0; k < N_MODELS; k++) {
    char command[512], found[100] = "", expected[100];
    all_models[k]();
    for (int i = 0; i < edf.n_inputs; i++) edf.inputs[i]->wanted = 0;
    five_steps(numbers[0]);
    edf_save(file("model.st"));
    size_t n = five_steps(numbers[0]);
    snprintf(expected, sizeof expected, "%zu %llu\n", n, bits_of(numbers[0], n));
    snprintf(command, sizeof command, "%s %d %s", program, k, path);
    FILE *f = popen(command, "r");
    if (!f || !fgets(found, sizeof found, f)) found[0] = 0;
    if (f) pclose(f);
    CHECK(!strcmp(found, expected), "model %d: %s, loaded: %s", k, expected, found);
    edf_clear();
    remove(path);
  }
}

/* ---- Wrong files: a good one, in which `from` becomes `to`. */
static char good[1 << 14];
static size_t n_good;

static void a_good_file(void) {
  edf_seed(1);
  Input *in = edf_input("x[b,3]");
  CompNode *h = Tanh(Affine(edf_affine_params(3, 4), in));
  edf_name(Sum(Square(h)), "loss");
  edf_save(file("good.st"));
  edf_clear();
  FILE *f = fopen(path, "rb");
  n_good = f ? fread(good, 1, sizeof good, f) : 0;
  if (f) fclose(f);
  remove(path);
}

static void write_changed(const char *from, const char *to, size_t cut) {
  static char bytes[1 << 14];
  memcpy(bytes, good, n_good);
  char *at = NULL;
  for (size_t i = 8; !at && i + strlen(from) < n_good; i++)
    if (!memcmp(good + i, from, strlen(from))) at = bytes + i;
  CHECK(at, "%s is not in the file", from);
  if (!at) return;
  size_t before = (size_t)(at - bytes), n = strlen(to), header = n - strlen(from);
  for (int k = 0; k < 2; k++) header += (size_t)(unsigned char)good[k] << 8 * k;
  memcpy(at, to, n);
  memcpy(at + n, good + before + strlen(from), n_good - before - strlen(from));
  for (int k = 0; k < 2; k++) bytes[k] = (char)(header >> 8 * k);
  file("bad.st");
  write_bytes(bytes, n_good + n - strlen(from) - cut);
}

/* The file is refused with these words, and nothing is left. */
static void refused(const char *what, const char *words) {
  TRY(edf_load(path));
  CHECK(panicked && strstr(caught, path) && strstr(caught, words), "%s:\n%s\nnot\n%s", what,
        panicked ? caught : "(no error)", words);
  CHECK(!edf.n_inputs && !edf.n_parameters && !edf.n_compnodes, "%s leaves nodes", what);
  TRY(edf_clear());
  CHECK(memory.live == 0, "%s leaves %ld blocks", what, memory.live);
  memory.live = 0;
  remove(path);
}

static const struct { const char *from, *to, *words; } wrong[] = {
  { "parameter w1[3,4]", "parameter w1[3,5]", "j is 5 in w1 = Parameter \"w1\" [3, 5]  " },
  { "parameter w1[3,4]", "parameter w1[3,5]", "declared at build" },
  { "parameter w1[3,4]", "parameter w1[1000000000,1000000000]", "the tensor is too large" },
  { "parameter w1[3,4]", "parameter w1[1000000000,4]", ":2: Equations: line 2: parameter w1" },
  { "parameter w1[3,4]", "parameter w1[1000000000,4]", "more numbers than the file has" },
  { "parameter w1[3,4]", "parameter v1[3,4]", "no tensor for parameter \"v1\", declared at " },
  { "parameter b1[4]", "parameter b1[4,1]", "b1 has 1 index here, but the tensor has 2" },
  { "parameter b1[4]", "parameter b1[4], c[5]", "no tensor for parameter \"c\", declared" },
  { " - b1[j]", " - b1[j] + V[I,j] x[b,I]", "no tensor for parameter \"V\", declared at " },
  { "\"b1\":", "\"b2\":", "tensor b2 is no parameter of this program" },
  { "tanh(Affine0[b,j])", "tanh(Affine0[b,j]", "expected ')'" },
  { "tanh(Affine0[b,j])", "tanh(Affine0[b,k])", "index k is not on the left" },
  { "tanh(Affine0", "tanh(Affine7", "Affine7" },
  { "sum(Square2[b,j])", "sum(Square2[b,j], 3)", "takes 1 tensors and 0 numbers" },
  { "sum(Square2[b,j])", "concat_t(Square2[b,j])", "expected an index of the left" },
  { "square(Tanh1[b,j])", "pow(Tanh1[b,j])", "takes 1 tensors and 1 numbers" },
  { "square(Tanh1[b,j])", "square()", "takes 1 tensors and 0 numbers, found 0 and 0" },
  { "square(Tanh1[b,j])", "own(Tanh1[b,j])", "own" },
  { "square(Tanh1[b,j])", "argmax(Tanh1[b,j], 1)", "Square2" },
  { "square(Tanh1[b,j])", "reshape(Tanh1[b,j]) | j<7", "do not fill the shape" },
  { "loss = ", "big[i] = index(900000000)\\u000aloss = ", "of more than 268435456 numbers" },
  { "loss = ", "n = extent(x[b,i], 2)\\u000aloss = ", "there is no dimension 2" },
  { "loss = ", "n[i] = index(x[b,i], -1)\\u000aloss = ", "there is no dimension -1" },
  { "loss = ", "n[i] = index(1e30)\\u000aloss = ", "there is no dimension 1e+30" },
  { "loss = ", "z[t] = z[t-1] + b1[0] | t<999999999\\u000aloss = ", "steps" },
  { "loss = ", "z[i,j,k,l] = b1[i] b1[j] b1[k] b1[l] | i<999999999\\u000aloss = ", "" },
  { "input x[b,3]", "input x[b,4]", "I is 4 in x" },
  { "input x[b,3]", "input x[b,0]", "an extent is at least 1" },
  { "input x[b,3]", "input x[b,3", "']'" },
  { "input x[b,3]", "", "x" },
  { "input x[b,3]\\u000a", "", "x" },
  { "\"edf.equations\":\"", "\"edf.equations\":\"# none\",\"more\":\"", "no equation" },
  { "\"edf.equations\":\"", "\"edf.equations\":7,\"more\":\"", "expected '\"'" },
  { "\"shape\":[3,4]", "\"shape\":[3,4,1]", "tensor w1 has the shape [3, 4, 1], but parameter "
    "\"w1\" [3, 4], declared at build" },
  { "\"shape\":[3,4]", "\"shape\":[3,99999999999]", "has the shape [3, 99999999999], but" },
  { "\"data_offsets\":[0,", "\"data_offsets\":[4,", "offsets" },
  { "\"F32\"", "\"F16\"", "expected F32 or F64" },
  { "\"F64\"", "\"F16\"", "expected F32 or F64" }
};

static void wrong_files(void) {
  const char *type = sizeof(edf_real) == 4 ? "\"F64\"" : "\"F32\"";
  a_good_file();
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    if (!strcmp(wrong[k].from, type)) continue;
    write_changed(wrong[k].from, wrong[k].to, 0);
    refused(wrong[k].to, wrong[k].words);
  }
  for (size_t cut = 1; cut < n_good; cut += 1 + cut / 8) {
    write_changed("input", "input", cut);
    refused("a cut file", "");
  }
}

/* One node too many; then it is given up early. */
static void too_many_nodes(void) {
  static char bytes[1 << 22];
  size_t n = 8;
  n += (size_t)sprintf(bytes + n, "{\"__metadata__\":{\"edf.equations\":\"input x[b]");
  for (int k = 0; k < 65536; k++)
    n += (size_t)sprintf(bytes + n, "\\u000ay%d[b] = tanh(x[b])", k);
  n += (size_t)sprintf(bytes + n, "\"}}");
  for (int k = 0; k < 8; k++) bytes[k] = (char)((unsigned long long)(n - 8) >> 8 * k);
  file("many.st");
  write_bytes(bytes, n);
  refused("too many nodes", "65536");
}

/* A file without the key, and one that is loaded into a graph that has nodes: as before. */
static void as_before(void) {
  a_good_file();
  write_changed("edf.equations", "not.equations", 0);
  refused("without the key", "which has none: build them first");
  write_changed("parameter w1[3,4]", "parameter w1[3,5]", 0);
  AffineParams Phi = edf_affine_params(3, 4);
  TRY(edf_load(path));
  CHECK(!panicked && edf.n_parameters == 2 && !edf.n_compnodes, "%s", caught);
  edf_real first = Phi.w->value[0];
  edf_clear();
  write_changed("input", "input", 0);
  edf_load(path);
  CHECK(edf.n_parameters == 2 && edf.n_compnodes == 4, "%d nodes", edf.n_compnodes);
  CHECK(edf_find("w1")->value[0] == first && edf_find("loss")->rank == 0, "other numbers");
  remove(path);
  edf_clear();
}

static void copy_forward(CompNode *c) {
  memcpy(c->value, c->in[0]->value, c->size * sizeof *c->value);
}

/* A node of the program's own is a comment, and an error; the file is written without. */
static void own_nodes(void) {
  Input *in = edf_input("x[b,3]");
  Parameter *w = edf_parameter("w[3]");
  edf_name(edf_compnode("Copy", copy_forward, NULL, Mul(in, w)), "c");
  print_to(text[0]);
  CHECK(strstr(text[0], "\n# Copy has no words"), "%s", text[0]);
  fflush(stderr);
  edf_save(file("own.st"));
  edf_clear();
  TRY(edf_equations("%s", text[0]));
  CHECK(panicked, "%s", text[0]);
  edf_clear();
  refused("an own node", "which has none: build them first");
}

int main(int argc, char **argv) {
  program = argv[0];
  if (argc == 3) return loaded(atoi(argv[1]), argv[2]);
  make_directory("ways");
  RUN(the_courses_lines);
  RUN(models);
  RUN(files_of_models);
  RUN(wrong_files);
  RUN(too_many_nodes);
  RUN(as_before);
  RUN(own_nodes);
  rmdir(dir);
  return harness_report();
}
