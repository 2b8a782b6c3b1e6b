/* A solution of problem set 0; @F@ and others are the choices of an id. */
#include "ps0.h"
#include <math.h>
#include <string.h>

Node *inputs[MOST], *parameters[MOST], *compnodes[MOST];
int n_inputs, n_parameters, n_compnodes;

static Node *new_node(int rows, int columns) {
  Node *x = calloc(1, sizeof *x);
  size_t size = (size_t)rows * (size_t)columns;
  x->rows = rows, x->columns = columns;
  x->value = calloc(size, sizeof *x->value);
  x->grad = calloc(size, sizeof *x->grad);
  return x;
}

Node *Input(int rows, int columns) {
  return inputs[n_inputs++] = new_node(rows, columns);
}
Node *Parameter(int rows, int columns) {
  return parameters[n_parameters++] = new_node(rows, columns);
}
Node *CompNode(int rows, int columns, void (*forward)(Node *y), void (*backward)(Node *y),
               Node *a, Node *b) {
  Node *y = new_node(rows, columns);
  y->forward = forward, y->backward = backward;
  y->in[0] = a, y->in[1] = b;
  return compnodes[n_compnodes++] = y;
}

void Forward(void) {
  for (int i = 0; i < n_compnodes; i++) compnodes[i]->forward(compnodes[i]);
}

static int size_of(const Node *x) { return x->rows * x->columns; }
static void clear_grads(Node **list, int n) {
  for (int i = 0; i < n; i++)
    memset(list[i]->grad, 0, (size_t)size_of(list[i]) * sizeof(double));
}

void Backward(Node *loss) {
  clear_grads(inputs, n_inputs);
  clear_grads(parameters, n_parameters);
  clear_grads(compnodes, n_compnodes);
  for (int i = 0; i < size_of(loss); i++) loss->grad[i] = 1.0 / size_of(loss);
  for (int i = n_compnodes - 1; i >= 0; i--) compnodes[i]->backward(compnodes[i]);
}

void SGD(double eta) {
  for (int i = 0; i < n_parameters; i++)
    for (int k = 0; k < size_of(parameters[i]); k++)
      parameters[i]->value[k] -= eta * parameters[i]->grad[k];
}

void sum_of_products(const Loop *loop, int n, double *y, const double *a, const double *b) {
  if (n == 0) *y += *a * *b;
  else for (int i = 0; i < loop->extent; i++)
    sum_of_products(loop + 1, n - 1, y + i * loop->y, a + i * loop->a, b + i * loop->b);
}

static void product_forward(Node *y) {
  memset(y->value, 0, (size_t)size_of(y) * sizeof(double));
  sum_of_products(y->loop, y->n_loops, y->value, y->in[0]->value, y->in[1]->value);
}
static void product_backward(Node *y) {
  Loop a[4], b[4];
  for (int i = 0; i < y->n_loops; i++) {
    Loop l = y->loop[i];
    a[i] = (Loop){ l.extent, l.a, l.y, l.b };      /* a.grad += y.grad b */
    b[i] = (Loop){ l.extent, l.b, l.a, l.y };      /* b.grad += a y.grad */
  }
  sum_of_products(a, y->n_loops, y->in[0]->grad, y->grad, y->in[1]->value);
  sum_of_products(b, y->n_loops, y->in[1]->grad, y->in[0]->value, y->grad);
}
Node *Product(int rows, int columns, const Loop *loop, int n, Node *a, Node *b) {
  Node *y = CompNode(rows, columns, product_forward, product_backward, a, b);
  if (n) memcpy(y->loop, loop, (size_t)n * sizeof *loop);
  y->n_loops = n;
  return y;
}

static Node *Layer(Node *W, Node *x) {
  Loop loop[3] = { { x->rows, W->rows, 0, x->columns }, { W->rows, 1, W->columns, 0 },
                   { W->columns, 0, 1, 1 } };
  return Product(x->rows, W->rows, loop, 3, W, x);
}

static void bias_forward(Node *y) {
  for (int i = 0; i < size_of(y); i++)
    y->value[i] = y->in[0]->value[i] @Z@ y->in[1]->value[i % y->columns];
}
static void bias_backward(Node *y) {
  for (int i = 0; i < size_of(y); i++) {
    y->in[0]->grad[i] += y->grad[i];
    y->in[1]->grad[i % y->columns] @Z@= y->grad[i];
  }
}
Node *Bias(Node *x, Node *B) {
  return CompNode(x->rows, x->columns, bias_forward, bias_backward, x, B);
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double sigmoid_slope(double x, double y) { return (void)x, y * (1 - y); }
static double tanh_slope(double x, double y) { return (void)x, 1 - y * y; }
static double atan_slope(double x, double y) { return (void)y, 1 / (1 + x * x); }
static void activation_forward(Node *y) {
  for (int i = 0; i < size_of(y); i++) y->value[i] = @F@(y->in[0]->value[i]);
}
static void activation_backward(Node *y) {
  for (int i = 0; i < size_of(y); i++)
    y->in[0]->grad[i] += y->grad[i] * @F@_slope(y->in[0]->value[i], y->value[i]);
  (void)sigmoid, (void)sigmoid_slope, (void)tanh_slope, (void)atan_slope;
}
Node *Activation(Node *x) {
  return CompNode(x->rows, x->columns, activation_forward, activation_backward, x, NULL);
}

/* ln sum_k exp(s[k]), whichever is the greatest */
static double log_sum(const double *s, int n) {
  double most = s[0], sum = 0;
  for (int k = 1; k < n; k++) most = fmax(most, s[k]);
  for (int k = 0; k < n; k++) sum += exp(s[k] - most);
  return most + log(sum);
}
static void loss_forward(Node *l) {
  int n = l->in[0]->columns;
  for (int b = 0; b < l->rows; b++) {
    const double *s = l->in[0]->value + b * n;
    l->value[b] = log_sum(s, n) - s[(int)l->in[1]->value[b]];
  }
}
static void loss_backward(Node *l) {
  int n = l->in[0]->columns;
  for (int b = 0; b < l->rows; b++) {
    const double *s = l->in[0]->value + b * n;
    double *grad = l->in[0]->grad + b * n, sum = log_sum(s, n);
    for (int k = 0; k < n; k++)
      grad[k] += l->grad[b] * (exp(s[k] - sum) - (k == l->in[1]->value[b]));
  }
}
Node *LogLoss(Node *s, Node *y) {
  return CompNode(s->rows, 1, loss_forward, loss_backward, s, y);
}

/* Returns the scores of two layers. */
static Node *network(Node *x, int hidden, int classes) {
  Node *W0 = Parameter(hidden, x->columns), *B0 = Parameter(1, hidden);
  Node *h = Activation(Bias(Layer(W0, x), B0));
  Node *W1 = Parameter(classes, hidden), *B1 = Parameter(1, classes);
  return Bias(Layer(W1, h), B1);
}

void learn_xor(const double *start, int steps, double eta, double *end) {
  static const double points[8] = { 0, 0, 0, 1, 1, 0, 1, 1 }, classes[4] = { 0, 1, 1, 0 };
  Node *x = Input(4, 2), *y = Input(4, 1), *loss = LogLoss(network(x, 4, 2), y);
  memcpy(x->value, points, sizeof points);
  memcpy(y->value, classes, sizeof classes);
  for (int i = 0, at = 0; i < 4; at += size_of(parameters[i++]))
    for (int k = 0; k < size_of(parameters[i]); k++) parameters[i]->value[k] = start[at + k];
  for (int step = 0; step < steps; step++) {
    Forward();
    Backward(loss);
    SGD(eta);
  }
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < size_of(parameters[i]); k++) *end++ = parameters[i]->value[k];
}

void learn_digits(const double *x, const double *y, int n, const double *x_test, int m,
                  int *answer) {
  enum { B = 50, HIDDEN = 40 };
  int steps = 8 * n / B;
  double eta = 0.6 / sqrt(@F@_slope(0, @F@(0)));        /* A flat F wants larger steps. */
  Node *image = Input(B, 784), *label = Input(B, 1), *s = network(image, HIDDEN, 10);
  Node *loss = LogLoss(s, label);
  for (int i = 0; i < 4; i += 2)
    for (int k = 0; k < size_of(parameters[i]); k++)
      parameters[i]->value[k] = (rand() / (double)RAND_MAX - 0.5) / sqrt(parameters[i]->columns);
  for (int step = 0; step < steps; step++) {
    int at = step * B % n;
    memcpy(image->value, x + at * 784, B * 784 * sizeof *x);
    memcpy(label->value, y + at, B * sizeof *y);
    Forward();
    Backward(loss);
    SGD(eta * (steps - step) / steps);
  }
  for (int at = 0; at < m; at += B) {
    memcpy(image->value, x_test + at * 784, B * 784 * sizeof *x);
    Forward();
    for (int b = 0; b < B; b++) {
      answer[at + b] = 0;
      for (int k = 1; k < 10; k++)
        if (s->value[b * 10 + k] > s->value[b * 10 + answer[at + b]]) answer[at + b] = k;
    }
  }
}

int main(void) { return 0; }
