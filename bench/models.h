/* models.h - the models of examples 05, 06 and 07 for the benchmarks, and the products of their
   steps. A function is `static inline` if some program does not use it. */

#ifndef BENCH_MODELS_H
#define BENCH_MODELS_H

enum { LETTERS = 65 };

/* Times of a text, LSTM units, width and layers of the GPT. cuda --quick makes them smaller. */
static struct { int times, hidden, wide, layers; } sizes = { 64, 128, 128, 4 };

typedef struct {
  const char *name;
  int batch, width;                          /* rows of a step, numbers in a row of x */
  edf_node *x, *y, *loss;
  void (*update)(void);
  const real *data, *classes;                /* the text; NULL for images */
} trained;

static inline void trained_step(void *self, const real *x, const real *y) {
  trained *m = (trained *)self;
  edf.kernel = EDF_FASTEST;
  edf_feed(m->x, m->data ? m->data : x, m->batch);
  edf_feed(m->y, m->data ? m->classes : y, m->batch);
  edf_forward();
  edf_backward(m->loss);
  m->update();
}

static void update_momentum(void) { edf_momentum((real)0.005, (real)0.9); }
static void update_adam(void) {
  edf_clip(1);
  edf_adam((real)0.001, (real)0.9, (real)0.99, (real)1e-8);
}
static void update_adamw(void) {
  edf_clip(1);
  edf_adamw((real)0.0005, (real)0.9, (real)0.99, (real)1e-8, (real)0.1);
}

/* Returns random letters. Only three letters can follow a letter, so a model can learn this. */
static inline real *letters(int rows) {
  real *x = reals((size_t)rows * (size_t)(sizes.times + 1));
  for (int i = 0; i < rows * (sizes.times + 1); i++) {
    unsigned before = i ? (unsigned)x[i - 1] : 0;
    x[i] = (real)((before * 7 + 13 * (random_bits() % 3)) % LETTERS);
  }
  return x;
}

/* ---- LeNet: 5x5x16, maximum, 5x5x32, maximum, 128, 10 */
static edf_node *lenet_loss(edf_node *x, edf_node *y) {
#ifdef edf_text
  edf_conv_package c1 = edf_conv_params(5, 1, 16), c2 = edf_conv_params(5, 16, 32);
#else                                    /* MODELS=against an edf.h before edf_text */
  edf_conv_package c1 = edf_conv_params(2, 5, 1, 16), c2 = edf_conv_params(2, 5, 16, 32);
#endif
  edf_affine_package a3 = edf_affine_params(512, 128), a4 = edf_affine_params(128, CLASSES);
  edf_node *h = edf_reshape(x, "image[b,28,28,1]");
  h = edf_relu(edf_max_pool(edf_conv(c1, h), 2, 2));
  h = edf_relu(edf_max_pool(edf_conv(c2, h), 2, 2));
  h = edf_relu(edf_affine(a3, edf_reshape(h, "flat[b,512]")));
  return edf_softmax_log_loss(edf_affine(a4, h), y);
}

static inline trained image_model(const char *name, edf_node *(*loss)(edf_node *x,
                                                                     edf_node *y)) {
  trained m = { name, 64, PIXELS, NULL, NULL, NULL, update_momentum, NULL, NULL };
  edf_clear();
  edf_seed(1);
  m.x = edf_input("x[b,%d]", PIXELS);
  m.y = edf_input("y[b]");
  m.loss = loss(m.x, m.y);
  return m;
}
static inline trained build_lenet(void) { return image_model("lenet", lenet_loss); }

static inline products lenet_products(int B) {
  products p = { 0 };
  add_product(&p, B, 0, 0, 24 * 24, 16, 25, SHARE_B);
  add_product(&p, B, 0, 0, 8 * 8, 32, 400, SHARE_B);
  add_forward(&p, B, 128, 512);
  add_forward(&p, B, CLASSES, 128);
  add_backward(&p, B, CLASSES, 128, 1);
  add_backward(&p, B, 128, 512, 1);
  add_product(&p, B, 1, 0, 400, 32, 8 * 8, SHARE_C);
  add_product(&p, B, 0, 1, 8 * 8, 400, 32, SHARE_B);
  add_product(&p, B, 1, 0, 25, 16, 24 * 24, SHARE_C);
  return p;
}

static inline trained text_model(const char *name, int batch, void (*update)(void),
                                 edf_node *(*loss)(edf_node *x, edf_node *y)) {
  trained m = { name, batch, sizes.times, NULL, NULL, NULL, update, NULL, NULL };
  edf_clear();
  edf_seed(1);
  m.x = edf_input("x[b,%d]", sizes.times);
  m.y = edf_input("y[b,%d]", sizes.times);
  m.loss = loss(m.x, m.y);
  return m;
}

/* ---- LSTM: 65 letters, 128 numbers for each, 128 hidden, 64 steps, batch 32 */
enum { LSTM_BATCH = 32 };

static edf_node *lstm_loss(edf_node *x, edf_node *y) {
  edf_node *E = edf_parameter("E[%d,%d]", LETTERS, sizes.hidden);
  edf_init_normal(E, 0, (real)0.1);
  edf_recurrent_package cell = edf_lstm_params(sizes.hidden, sizes.hidden);
  edf_affine_package out = edf_affine_params(sizes.hidden, LETTERS);
  return edf_softmax_log_loss(edf_affine(out, edf_unroll(cell, edf_embed(E, x))), y);
}

static inline trained build_lstm(void) {
  return text_model("lstm", LSTM_BATCH, update_adam, lstm_loss);
}

/* The four gates are one product. dWh of all times is one product, and so is dWx. x has only as
   many different rows as there are letters, and a CPU multiplies each of them once. */
static inline products lstm_products(int B) {
  products p = { 0 };
  int T = sizes.times, H = sizes.hidden, rows = edf_device ? B * T : LETTERS;
  add_forward(&p, rows, 4 * H, H);
  add_product(&p, T - 1, 0, 0, B, 4 * H, H, SHARE_B | IN_TURN);
  add_forward(&p, B * T, LETTERS, H);
  add_backward(&p, B * T, LETTERS, H, 1);
  add_product(&p, T - 1, 0, 1, B, H, 4 * H, SHARE_B | IN_TURN);
  add_product(&p, 1, 1, 0, H, 4 * H, B * (T - 1), 0);
  add_product(&p, 1, 1, 0, H, 4 * H, rows, 0);
  add_product(&p, 1, 0, 1, B * T, H, 4 * H, 0);
  return p;
}

/* ---- GPT: 4 layers, 4 heads, 128 numbers, 64 letters, batch 16 */
enum { GPT_BATCH = 16, HEADS = 4 };

static edf_node *gpt_layer(edf_node *h) {
  edf_layer_norm_package norm1 = edf_layer_norm_params(sizes.wide);
  edf_layer_norm_package norm2 = edf_layer_norm_params(sizes.wide);
  edf_attention_package heads = edf_attention_params(sizes.wide, HEADS);
  edf_affine_package up = edf_affine_params(sizes.wide, 4 * sizes.wide);
  edf_affine_package down = edf_affine_params(4 * sizes.wide, sizes.wide);
  h = edf_add(h, edf_causal_attention(heads, edf_layer_norm(norm1, h)));
  return edf_add(h, edf_affine(down, edf_gelu(edf_affine(up, edf_layer_norm(norm2, h)))));
}

static edf_node *gpt_loss(edf_node *x, edf_node *y) {
  edf_node *E = edf_parameter("E[%d,%d]", LETTERS, sizes.wide);
  edf_node *at = edf_parameter("P[%d,%d]", sizes.times, sizes.wide);
  edf_init_normal(E, 0, (real)0.02);
  edf_init_normal(at, 0, (real)0.02);
  edf_node *h = edf_add(edf_embed(E, x), at);
  for (int l = 0; l < sizes.layers; l++) h = gpt_layer(h);
  edf_layer_norm_package norm = edf_layer_norm_params(sizes.wide);
  edf_affine_package out = edf_affine_params(sizes.wide, LETTERS);
  return edf_softmax_log_loss(edf_affine(out, edf_layer_norm(norm, h)), y);
}

static inline trained build_gpt(void) {
  return text_model("gpt", GPT_BATCH, update_adamw, gpt_loss);
}

static inline products gpt_products(int B) {
  products p = { 0 };
  int T = sizes.times, D = sizes.wide, d = D / HEADS, all = B * T, pairs = B * HEADS;
  for (int l = 0; l < sizes.layers; l++) {
    for (int k = 0; k < 3; k++) add_forward(&p, all, D, D);
    add_product(&p, pairs, 0, 1, T, T, d, 0);                /* scores */
    add_product(&p, pairs, 0, 0, T, d, T, 0);                /* context */
    add_forward(&p, all, D, D);
    add_forward(&p, all, 4 * D, D);
    add_forward(&p, all, D, 4 * D);
  }
  add_forward(&p, all, LETTERS, D);
  add_backward(&p, all, LETTERS, D, 1);
  for (int l = 0; l < sizes.layers; l++) {
    add_backward(&p, all, D, 4 * D, 1);
    add_backward(&p, all, 4 * D, D, 1);
    add_backward(&p, all, D, D, 1);
    add_product(&p, pairs, 0, 1, T, T, d, 0);                /* dP = do v' */
    add_product(&p, pairs, 1, 0, T, d, T, 0);                /* dv = P' do */
    add_product(&p, pairs, 0, 0, T, d, T, 0);                /* dq = da k */
    add_product(&p, pairs, 1, 0, T, d, T, 0);                /* dk = da' q */
    for (int k = 0; k < 3; k++) add_backward(&p, all, D, D, 1);
  }
  return p;
}

#endif
