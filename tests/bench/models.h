/* models.h - the models of examples 05, 06 and 07 as the bench trains them, and the products of
   a step of each. */

#ifndef MODELS_H
#define MODELS_H

enum { LETTERS = 65, TIMES = 64 };

typedef struct {
  const char *name;
  int batch, width;                          /* rows of a step, and numbers of a row of x */
  edf_node *x, *y, *loss;
  void (*update)(void);
  const real *data, *classes;                /* of language models; else the images */
} trained;

static void trained_step(void *self, const real *x, const real *y) {
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

/* Letters: each is followed by one of three, so that there is something to learn. */
static real *letters(int rows) {
  real *x = reals((size_t)rows * (TIMES + 1));
  for (int i = 0; i < rows * (TIMES + 1); i++) {
    unsigned before = i ? (unsigned)x[i - 1] : 0;
    x[i] = (real)((before * 7 + 13 * (random_bits() % 3)) % LETTERS);
  }
  return x;
}

/* ---- LeNet: 5x5x16, maximum, 5x5x32, maximum, 128, 10 */
static trained build_lenet(void) {
  trained m = { "lenet", 64, PIXELS, NULL, NULL, NULL, update_momentum, NULL, NULL };
  edf_clear();
  edf_seed(1);
  m.x = edf_input("x[b,%d]", PIXELS);
  m.y = edf_input("y[b]");
  edf_conv_package c1 = edf_conv_params(2, 5, 1, 16), c2 = edf_conv_params(2, 5, 16, 32);
  edf_affine_package a3 = edf_affine_params(512, 128), a4 = edf_affine_params(128, CLASSES);
  edf_node *h = edf_reshape(m.x, "image[b,28,28,1]");
  h = edf_relu(edf_max_pool(edf_conv(c1, h), 2, 2));
  h = edf_relu(edf_max_pool(edf_conv(c2, h), 2, 2));
  h = edf_relu(edf_affine(a3, edf_reshape(h, "flat[b,512]")));
  m.loss = edf_softmax_log_loss(edf_affine(a4, h), m.y);
  return m;
}

static products lenet_products(void) {
  products p = { 0 };
  int B = 64;
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

/* ---- LSTM: 65 letters, 128 numbers for each, 128 hidden, 64 steps, batch 32 */
enum { LSTM_BATCH = 32, HIDDEN = 128 };

static trained build_lstm(void) {
  trained m = { "lstm", LSTM_BATCH, TIMES, NULL, NULL, NULL, update_adam, NULL, NULL };
  edf_clear();
  edf_seed(1);
  m.x = edf_input("x[b,%d]", TIMES);
  m.y = edf_input("y[b,%d]", TIMES);
  edf_node *E = edf_parameter("E[%d,%d]", LETTERS, HIDDEN);
  edf_init_normal(E, 0, (real)0.1);
  edf_recurrent_package cell = edf_lstm_params(HIDDEN, HIDDEN);
  edf_affine_package out = edf_affine_params(HIDDEN, LETTERS);
  m.loss = edf_softmax_log_loss(edf_affine(out, edf_unroll(cell, edf_embed(E, m.x))), m.y);
  return m;
}

/* All gates are one product, dWh of all times is one, and dWx. */
static products lstm_products(void) {
  products p = { 0 };
  int B = LSTM_BATCH, all = B * TIMES;
  add_forward(&p, all, 4 * HIDDEN, HIDDEN);
  add_product(&p, TIMES - 1, 0, 0, B, 4 * HIDDEN, HIDDEN, SHARE_B);
  add_forward(&p, all, LETTERS, HIDDEN);
  add_backward(&p, all, LETTERS, HIDDEN, 1);
  add_product(&p, TIMES - 1, 0, 1, B, HIDDEN, 4 * HIDDEN, SHARE_B);
  add_product(&p, 1, 1, 0, HIDDEN, 4 * HIDDEN, B * (TIMES - 1), 0);
  add_backward(&p, all, 4 * HIDDEN, HIDDEN, 1);
  return p;
}

/* ---- GPT: 4 layers, 4 heads, 128 numbers, 64 letters, batch 16 */
enum { GPT_BATCH = 16, WIDE = 128, LAYERS = 4, HEADS = 4 };

static edf_node *gpt_layer(edf_node *h) {
  edf_layer_norm_package norm1 = edf_layer_norm_params(WIDE);
  edf_layer_norm_package norm2 = edf_layer_norm_params(WIDE);
  edf_attention_package heads = edf_attention_params(WIDE, HEADS);
  edf_affine_package up = edf_affine_params(WIDE, 4 * WIDE);
  edf_affine_package down = edf_affine_params(4 * WIDE, WIDE);
  h = edf_add(h, edf_causal_attention(heads, edf_layer_norm(norm1, h)));
  return edf_add(h, edf_affine(down, edf_gelu(edf_affine(up, edf_layer_norm(norm2, h)))));
}

static trained build_gpt(void) {
  trained m = { "gpt", GPT_BATCH, TIMES, NULL, NULL, NULL, update_adamw, NULL, NULL };
  edf_clear();
  edf_seed(1);
  m.x = edf_input("x[b,%d]", TIMES);
  m.y = edf_input("y[b,%d]", TIMES);
  edf_node *E = edf_parameter("E[%d,%d]", LETTERS, WIDE), *at = edf_parameter("P[%d,%d]", TIMES,
                                                                              WIDE);
  edf_init_normal(E, 0, (real)0.02);
  edf_init_normal(at, 0, (real)0.02);
  edf_node *h = edf_add(edf_embed(E, m.x), at);
  for (int l = 0; l < LAYERS; l++) h = gpt_layer(h);
  edf_layer_norm_package norm = edf_layer_norm_params(WIDE);
  edf_affine_package out = edf_affine_params(WIDE, LETTERS);
  m.loss = edf_softmax_log_loss(edf_affine(out, edf_layer_norm(norm, h)), m.y);
  return m;
}

static products gpt_products(void) {
  products p = { 0 };
  int all = GPT_BATCH * TIMES, pairs = GPT_BATCH * HEADS, d = WIDE / HEADS;
  for (int l = 0; l < LAYERS; l++) {
    for (int k = 0; k < 3; k++) add_forward(&p, all, WIDE, WIDE);
    add_product(&p, pairs, 0, 1, TIMES, TIMES, d, 0);        /* scores */
    add_product(&p, pairs, 0, 0, TIMES, d, TIMES, 0);        /* context */
    add_forward(&p, all, WIDE, WIDE);
    add_forward(&p, all, 4 * WIDE, WIDE);
    add_forward(&p, all, WIDE, 4 * WIDE);
  }
  add_forward(&p, all, LETTERS, WIDE);
  add_backward(&p, all, LETTERS, WIDE, 1);
  for (int l = 0; l < LAYERS; l++) {
    add_backward(&p, all, WIDE, 4 * WIDE, 1);
    add_backward(&p, all, 4 * WIDE, WIDE, 1);
    add_backward(&p, all, WIDE, WIDE, 1);
    add_product(&p, pairs, 0, 1, TIMES, TIMES, d, 0);        /* dP = do v' */
    add_product(&p, pairs, 1, 0, TIMES, d, TIMES, 0);        /* dv = P' do */
    add_product(&p, pairs, 0, 0, TIMES, d, TIMES, 0);        /* dq = da k */
    add_product(&p, pairs, 1, 0, TIMES, d, TIMES, 0);        /* dk = da' q */
    for (int k = 0; k < 3; k++) add_backward(&p, all, WIDE, WIDE, 1);
  }
  return p;
}

#endif
