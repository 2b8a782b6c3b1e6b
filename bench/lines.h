/* lines.h - the models of models.h as texts of edf_equations, without layers */

#ifndef LINES_H
#define LINES_H

static edf_node *lenet_lines(edf_node *x, edf_node *y) {
  (void)x; (void)y;
  return edf_equations(
    "L0[b,i,j,c] = x[b,(i,j,c)]                                           | i<28, j<28, c<1 \n"
    "L1[b,i,j,n] = W1[DI,DJ,C,n] L0[b,i+DI,j+DJ,C] - B1[n]                | DI<5, DJ<5, n<16 \n"
    "M1[b,i,j,n] = relu(max_{di,dj} L1[b,2*i+di,2*j+dj,n])                | di<2, dj<2      \n"
    "L2[b,i,j,n] = W2[DI,DJ,C,n] M1[b,i+DI,j+DJ,C] - B2[n]                | DI<5, DJ<5, n<32 \n"
    "M2[b,i,j,n] = relu(max_{di,dj} L2[b,2*i+di,2*j+dj,n])                | di<2, dj<2      \n"
    "h[b,k]      = relu(W3[(I,J,N),k] M2[b,I,J,N] - B3[k])                | k<128           \n"
    "P[b,k]      = softmax_k (W4[J,k] h[b,J] - B4[k])                     | k<10            \n"
    "loss[b]     = -ln P[b,y[b]]");
}

/* Gates 0, 1 and 2 are the forget, input and output gates. */
static edf_node *lstm_lines(edf_node *x, edf_node *y) {
  (void)x; (void)y;
  return edf_equations(
    "parameter E[%d,%d], Wx[%d,4,%d], Wh[%d,4,%d]                                           \n"
    "e[b,t,i]   = E[x[b,t],i]                                                               \n"
    "z[b,t,k,j] = Wx[I,k,j] e[b,t,I] - B[k,j]                                               \n"
    "G[b,t,k,j] = sigmoid(z[b,t,k,j] + Wh[I,k,j] h[b,t-1,I])                          | k<3 \n"
    "R[b,t,j]   = tanh(z[b,t,3,j] + Wh[I,3,j] h[b,t-1,I])                                   \n"
    "c[b,t,j]   = G[b,t,0,j] c[b,t-1,j] + G[b,t,1,j] R[b,t,j]                               \n"
    "h[b,t,j]   = G[b,t,2,j] tanh(c[b,t,j])                                                 \n"
    "P[b,t,w]   = softmax_w (V[I,w] h[b,t,I] - C[w])                                | w<%d \n"
    "loss[b,t]  = -ln P[b,t,y[b,t]]", LETTERS, sizes.hidden, sizes.hidden, sizes.hidden,
    sizes.hidden, sizes.hidden, LETTERS);
}

/* Appends the lines of layer l to the text. @ becomes l, and & becomes l + 1. */
static void add_lines(char *text, size_t room, int l, const char *format, ...) {
  size_t n = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + n, room - n, format, args);
  va_end(args);
  for (char *c = text + n; *c; c++)
    if (*c == '@' || *c == '&') *c = (char)((*c == '@' ? '0' : '1') + l);
}

static edf_node *gpt_lines(edf_node *x, edf_node *y) {
  char text[8192] = "";
  int d = sizes.wide / HEADS;
  (void)x; (void)y;
  add_lines(text, sizeof text, 0,
    "h0[b,t,i]   = E[x[b,t],i] + T[t,i]                             | x<%d, i<%d \n",
    LETTERS, sizes.wide);
  for (int l = 0; l < sizes.layers; l++)
    add_lines(text, sizeof text, l,
      "n@[b,t,i]   = G@[i] normalize_i(h@[b,t,i]) + C@[i]                           \n"
      "q@[b,t,k,d] = WQ@[I,k,d] n@[b,t,I]                             | k<%d, d<%d  \n"
      "k@[b,t,k,d] = WK@[I,k,d] n@[b,t,I]                             | k<%d, d<%d  \n"
      "v@[b,t,k,d] = WV@[I,k,d] n@[b,t,I]                             | k<%d, d<%d  \n"
      "P@[b,k,t,s] = softmax_s (1/sqrt D) q@[b,t,k,D] k@[b,s,k,D]     | s<=t        \n"
      "o@[b,t,k,d] = P@[b,k,t,S] v@[b,S,k,d]                                        \n"
      "m@[b,t,i]   = h@[b,t,i] + WO@[K,D,i] o@[b,t,K,D]                             \n"
      "n@'[b,t,i]  = G@'[i] normalize_i(m@[b,t,i]) + C@'[i]                         \n"
      "u@[b,t,j]   = gelu(U@[I,j] n@'[b,t,I] - A@[j])                 | j<%d        \n"
      "h&[b,t,i]   = m@[b,t,i] + (D@[J,i] u@[b,t,J] - B@[i])                        \n",
      HEADS, d, HEADS, d, HEADS, d, 4 * sizes.wide);
  add_lines(text, sizeof text, sizes.layers,
    "n[b,t,i]    = G[i] normalize_i(h@[b,t,i]) + C[i]                             \n"
    "P[b,t,w]    = softmax_w (W[I,w] n[b,t,I] - B[w])               | w<%d        \n"
    "loss[b,t]   = -ln P[b,t,y[b,t]]", LETTERS);
  return edf_equations("%s", text);
}

/* ---- A model by its name, built of layers or as lines */
static trained build_as_layers(const char *name) {
  return !strcmp(name, "lenet") ? build_lenet() : !strcmp(name, "lstm") ? build_lstm()
                                                                        : build_gpt();
}

static trained build_as_lines(const char *name) {
  if (!strcmp(name, "lstm")) return text_model("lstm", LSTM_BATCH, update_adam, lstm_lines);
  if (!strcmp(name, "gpt")) return text_model("gpt", GPT_BATCH, update_adamw, gpt_lines);
  return image_model("lenet", lenet_lines);
}

/* Copies the Parameters of the layers to the Parameters of the lines. Parameters of the same
   shape are copied in their order. */
static void same_parameters(const edf_graph *lines, const edf_graph *layers) {
  char used[256] = { 0 };
  int k = 0;
  for (int i = 0; i < lines->n_parameters; i++) {
    edf_node *p = lines->parameters[i];
    for (k = 0; k < layers->n_parameters; k++) {
      const edf_node *q = layers->parameters[k];
      if (!used[k] && q->rank == p->rank && !memcmp(q->dim, p->dim, sizeof p->dim)) break;
    }
    if (k == layers->n_parameters) {
      fprintf(stderr, "bench: the layers have no parameter like %s\n", p->name);
      exit(1);
    }
    used[k] = 1;
    memcpy(p->value, layers->parameters[k]->value, p->size * sizeof *p->value);
  }
}

#endif
