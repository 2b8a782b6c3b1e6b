/* models.c - writes C files of models, of layers, and of random texts: see written.h.
     models            the models of models.h and those below
     models random     cases as run.c reads them, from stdin */
#include "../models.h"
#include "written.h"
#include "../cases.h"

static void gpt(void) {
  edf_node *h = edf_add(Embed(edf_find("E"), edf_find("t")), edf_find("p"));
  for (int layer = 0; layer < 2; layer++) {
    CompNode *a = LayerNorm(edf_layer_norm_params(8), h);
    h = Add(h, CausalAttention(edf_attention_params(8, 2), a));
    a = LayerNorm(edf_layer_norm_params(8), h);
    a = Gelu(Affine(edf_affine_params(8, 16), a));
    h = Add(h, Affine(edf_affine_params(16, 8), a));
  }
  Mean(SoftmaxLogLoss(Affine(edf_affine_params(8, 6), h), edf_find("y")));
}
static void lenet(void) {
  CompNode *h = Reshape(edf_find("x"), "image[b,16,16,1]");
  h = Relu(MaxPool(Conv(edf_conv_params(5, 1, 3), h), 2, 2));
  h = Relu(MaxPool(Conv(edf_conv_params(3, 3, 4), h), 2, 2));
  h = Relu(Affine(edf_affine_params(16, 7), Reshape(h, "flat[b,16]")));
  SoftmaxLogLoss(Affine(edf_affine_params(7, 5), h), edf_find("y"));
}
static void long_lstm(void) {
  edf_equations("f[b,t,j] = sig(Wf[j,I] x[b,t,I] + Uf[j,K] h[b,t-1,K] + bf[j]) | j<3 \n"
                "i[b,t,j] = sig(Wi[j,I] x[b,t,I] + Ui[j,K] h[b,t-1,K] + bi[j]) \n"
                "o[b,t,j] = sig(Wo[j,I] x[b,t,I] + Uo[j,K] h[b,t-1,K] + bo[j]) \n"
                "u[b,t,j] = tanh(Wu[j,I] x[b,t,I] + Uu[j,K] h[b,t-1,K] + bu[j]) \n"
                "c[b,t,j] = f[b,t,j] c[b,t-1,j] + i[b,t,j] u[b,t,j] \n"
                "h[b,t,j] = o[b,t,j] tanh(c[b,t,j]) \n"
                "loss = mean_{b,t,j} h[b,t,j]^2");
}
static void backwards(void) {
  edf_equations("h[b,t,j] = tanh(V[j,I] h[b,t+1,I] + W[j,K] x[b,t,K]) | j<3 \n"
                "g[b,t,j] = tanh(U[j,I] g[b,t-2,I] + h[b,t,j]) \n"
                "loss = mean_{b,t,j} (g[b,t,j] h[b,t,j])");
}
static void names(void) {
  edf_equations("L'[b,i] = tanh(x[b,i] + B[i]) \n\xCE\xB1''[b,i] = L'[b,i] int[i] \n"
                "y0[b] = \xCE\xB1''[b,I] x[b,I] \nW_grad[b] = y0[b] W[0] + y0[b]^2 | W<2 \n"
                "b[b] = W_grad[b] x[b,0] \nloss = mean_b b[b]");
}
static void in_training(void) {
  CompNode *h = BatchNorm(edf_batch_norm_params(3), edf_find("x"));
  Mean(Square(Affine(edf_affine_params(3, 2), h)));
}
static void evaluated(void) {
  edf.training = 0;
  CompNode *h = Dropout(BatchNorm(edf_batch_norm_params(3), edf_find("x")), 0.5);
  Mean(Square(Affine(edf_affine_params(3, 2), h)));
}
static void wide_softmax(void) {
  edf_equations("a[b,s,t] = softmax_{s,t} (2 x[b,s,t]) \nq[b,s,t] = logsoftmax_t x[b,s,t] \n"
                "m[b,s] = max_t x[b,s,t] \nr[b,s,t] = normalize_t(x[b,s,t], 1e-3) \n"
                "c[b,s] = argmax_t x[b,s,t] \n"
                "y[b,s] = a[b,s,T] q[b,s,T] + m[b,s] r[b,s,1] + c[b,s] x[b,s,0] \n"
                "loss = mean_{b,s} y[b,s]^2");
}
static void masks(void) {
  edf_equations("a[b,t,s] = softmax_s (x[b,t,I] x[b,s,I] / sqrt(I)) | s<=t \n"
                "w[b,t] = sum_s a[b,t,s] x[b,s,0] | s<t \n"
                "v[b,t] = ln sum_s exp(a[b,t,s]) | s<=t \n"
                "loss = mean_{b,t} (w[b,t] + v[b,t])^2");
}
/* Nodes that look like steps of a recurrence and are none */
static void three_tests(void) {
  edf_equations("p[b,i] = 1[x[b,i]<0] \nq[b,i] = 1[x[b,i]>0] \nr[b,i] = 1[x[b,i]>=0] \n"
                "loss = mean_{b,i} (p[b,i] + 2 q[b,i] + 4 r[b,i]) x[b,i] w[i]");
}
static void three_softmaxes(void) {
  edf_equations("P[b,t,s] = softmax_s a[b,t,s] \nQ[b,t,s] = softmax_s a[b,t,s] | s<=t \n"
                "R[b,t,s] = softmax_s a[b,t,s] \n"
                "loss = mean_{b,t,s} (P[b,t,s] + 2 Q[b,t,s] R[b,t,s])^2");
}
static void loop_index(void) {
  edf_equations("h[b,s,i] = tanh(t[i,J] h[b,s-1,J] + x[b,s,i]) \nloss = mean_{b,s,i} h[b,s,i]^2");
}
static void tall_softmax(void) {
  edf_equations("P[t,s] = softmax_s a[t,s] | s<=t \ny[b,t] = P[t,S] x[b,S] \n"
                "loss = mean_{b,t} y[b,t]^2");
}
static void unused_steps(void) {
  edf_equations("g[b,t] = tanh(h[b,t-1] + x[b,t]) \nh[b,t] = 0.5 h[b,t-1] + g[b,t-3] + x[b,t] \n"
                "loss = mean_{b,t} h[b,t]^2");
}
static void batch_in_the_middle(void) {
  CompNode *n = edf_equations("n[i,b,j] = W[i,j,K] x[b,K] | i<2, j<3");
  Mean(Square(Reshape(n, "r[c,3]")));
}
static void name_of_a_counter(void) {
  CompNode *n = edf_equations("n[b,i,j] = W[i,j,K] x[b,K] | i<2, j<3");
  Mean(Square(Reshape(n, "m[b,6]")));
}
static void learned_classes(void) {
  edf_equations("z[b,j] = x[b,k[j]] \no[b,k[j]] += x[b,j] | k<3, j<3 \n"
                "loss = mean_{b,j} z[b,j] W[j] o[b,j]");
}
static void functions_as_names(void) {
  edf_equations("printf[b,j] = acosh[j] nan[b,j] \nloss = mean_{b,j} printf[b,j]^2");
}
static void not_a_number(void) {
  edf_node *x = edf_find("x");
  x->value[1] = (edf_real)NAN;
  CompNode *y = Add(edf_clamp(x, 0, 1), edf_equations("l[i] = ln sum_j exp(x[i,j])\n"
                                                      "u[i,j] = l[i] x[i,j]"));
  Mean(Mul(y, edf_find("v")));
}
static void comment(void) { edf_name(Mean(edf_name(Square(edf_find("x")), "a*/b")), "loss"); }
static const struct { const char *tensors; void (*build)(void); } more[] = {
  { "x[b,4] w[4]", three_tests }, { "a[b,4,4]", three_softmaxes }, { "x[b,6,2] t[2,2]", loop_index },
  { "a[5,3] x[b,3]", tall_softmax }, { "x[b,6]", unused_steps }, { "x[b,2]", batch_in_the_middle },
  { "x[b,2]", name_of_a_counter }, { "x[b,4] k[3]=3 W[3]", learned_classes },
  { "acosh[3] nan[b,3]", functions_as_names }, { "x[2,3] v[2,3]", not_a_number },
  { "x[b,3]", comment },
  { "E[6,8] p[5,8] t[b,5]=6 y[b,5]=6", gpt }, { "x[b,256] y[b]=5", lenet },
  { "x[b,12,2]", long_lstm }, { "x[b,9,2]", backwards }, { "x[b,3] B[3] int[3] W[2]", names },
  { "x[b,3]", in_training }, { "x[b,3]", evaluated }, { "x[b,2,3]", wide_softmax },
  { "x[b,4,3]", masks }
};

TEST(models_of_layers) {
  for (size_t k = 0; k < MODELS + sizeof more / sizeof *more; k++) {
    edf_seed((unsigned)k + 1);
    edf.training = 1;
    declare_plain(k < MODELS ? models[k].tensors : more[k - MODELS].tensors);
    (k < MODELS ? models[k].build : more[k - MODELS].build)();
    written(edf.compnodes[edf.n_compnodes - 1], "model");
    edf_clear();
  }
}

/* ---- A node of one's own is a function that the reader supplies, and load reads what edf_save
   has written. The programs are written here as text. */
static void cube(edf_node *y) {
  for (size_t i = 0; i < y->size; i++) y->value[i] = (edf_real)pow((double)y->in[0]->value[i], 3);
}
static void cube_backward(edf_node *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, 3 * y->in[0]->value[i] * y->in[0]->value[i] * y->grad[i]);
}
static void write_text(const char *path, const char *text) {
  FILE *out = fopen(path, "w");
  if (!out) abort();
  fprintf(out, text, EDF_REAL_IS_DOUBLE ? "double" : "float");
  fclose(out);
}
TEST(own_nodes_and_saved_parameters) {
  static edf_real numbers[6] = { (edf_real)0.5, -1, 2, 1, (edf_real)0.25, 3 };
  const char *folder = getenv("WRITTEN");
  char path[400], saved[400];
  if (!folder) return;
  edf_node *x = edf_input("x[b,3]");
  edf_equations("h[b,j] = W[j,I] x[b,I] | j<2");
  edf_name(edf_compnode("My Cube", cube, cube_backward, edf_find("h")), "u");
  edf_node *loss = edf_equations("loss[b] = u[b,J] v[J]");
  edf_feed(x, numbers, 2);
  edf_forward();
  snprintf(path, sizeof path, "%s/own.model.c", folder);
  snprintf(saved, sizeof saved, "%s/own.safetensors", folder);
  edf_save(saved);
  edf_write_c_loading(path, loss);
  edf_backward(loss);
  snprintf(path, sizeof path, "%s/own.check.c", folder);
  write_text(path, "#define NO_MAIN\n#include \"own.model.c\"\ntypedef %s real;\n"
    "void My_Cube_forward(int n, real *y, int n_a, const real *a) {\n  (void)n_a;\n"
    "  for (int i = 0; i < n; i++) y[i] = a[i] * a[i] * a[i];\n}\n"
    "void My_Cube_backward(int n, const real *y, const real *dy, int n_a, const real *a, "
    "real *da) {\n  (void)y, (void)n_a;\n"
    "  for (int i = 0; i < n; i++) da[i] += 3 * a[i] * a[i] * dy[i];\n}\n"
    "#include \"compare.h\"\n#include \"own.numbers.h\"\n");
  snprintf(path, sizeof path, "%s/own.numbers.h", folder);
  FILE *out = fopen(path, "w");
  fprintf(out, "int main(void) {\n  if (load(\"missing\") || !load(\"own.safetensors\")) return 2;"
          "\n");
  written_block(out, "fill", "x", "x", numbers, 6);
  fprintf(out, "  forward(2);\n  backward(2);\n");
  written_block(out, "compare", "loss", "loss", edf_value(loss), 2);
  written_block(out, "compare", "W_grad", "W.grad", edf_grad(edf_find("W")), 6);
  fprintf(out, "  return bad;\n}\n");
  fclose(out);
}
TEST(what_cannot_be_written) {
  edf_node *x = edf_input("x[b,3]"), *y = edf_equations("y[b] = x[b,I] x[b+1,I] | b<1");
  edf_feed(x, edf_value(edf_parameter("data[2,3]")), 2);
  edf_forward();
  STOPS(edf_write_c("/dev/null", y), "edf_write_c|y|batch");
  x = edf_reshape(edf_input("u[b,2,3]"), "rows[r,3]");
  STOPS(edf_write_c("/dev/null", x), "edf_write_c|Reshape|before the first Forward");
}
/* Before the first Forward the file is the same, but for MOST. */
TEST(a_model_that_was_never_fed) {
  edf_node *x = edf_input("x[b,4]");
  edf_page before = { NULL, 0 }, after = before;
  edf_node *y = edf_equations("h[b,j] = relu(W[j,I] x[b,I] - B[j]) | j<3 \n"
                              "p[b,k] = softmax_k (V[k,J] h[b,J]) | k<2 \nl[b] = -ln p[b,0]");
  edf_write_c_text(&before, y);
  edf_feed(x, edf_value(edf_parameter("data[1,4]")), 1);
  edf_forward();
  edf_write_c_text(&after, y);
  CHECK(!strcmp(before.at, after.at), "the file differs:\n%s\n%s", before.at, after.at);
}
/* Two calls write the same. */
TEST(a_file_is_written_again) {
  edf_page once = { NULL, 0 }, again = once;
  edf_node *x = edf_parameter("x[2]"), *y = edf_mean(edf_square(x));
  edf_write_c_text(&once, y);
  edf_write_c_text(&again, y);
  CHECK(!strcmp(once.at, again.at), "the second file differs");
}

/* ---- Random texts. The mean of the squares of the last line is the loss. */
static char one_case[20000];
static int refused, computed, unwritten;

static void random_text(void) {
  char *lines = strstr(one_case, "---\n") + 4;
  int n = 0, small = 1;
  edf_node *y = NULL;
  lines[-4] = '\0';
  for (char *line = strtok(one_case, "\n"); line; line = strtok(NULL, "\n"))
    small &= declare_case(line, n++);
  TRY(y = build_case(lines); y = edf_mean(edf_square(y)); edf_forward());
  refused += panicked;
  if (panicked || !small || !(edf_value(y)[0] < 1e6)) return;
  computed++;
  TRY(written(y, "text"));
  if (!panicked) return;
  unwritten++;
  CHECK(strstr(caught, "batch"), "it is not written: %s", caught);
}
static int written_cases(void) {
  static char line[sizeof one_case];
  written_eta = 1e-4;                    /* Some of them diverge with more.                   */
  while (fgets(line, sizeof line, stdin)) {
    if (strcmp(line, "END\n")) { strcat(one_case, line); continue; }
    harness_run("random_text", random_text);
    *one_case = '\0';
  }
  printf("%d texts are computed, %d not written because of their batch, %d are errors\n",
         computed, unwritten, refused);
  return harness.failed > 0;
}

int main(int n, char **words) {
  (void)words;
  return n > 1 ? written_cases() : harness_main();
}
