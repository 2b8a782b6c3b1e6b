/* cuda.c - edf_cuda.cu on the GPU that tests/cuda/shim emulates, beside the C code in the same
   program: contractions of every shape, what a step costs, labels, files. tests/cuda.sh runs
   it. small.c has the models. */
#include "../harness.h"
#define EDF_IMPLEMENTATION
#include "edf_slide.h"

long long cudashim_count(const char *name);
void cudashim_reset(void);
int cudashim_leaks(void);
void edf_cuda_close(void);

/* ---- The same program on the CPU and on the GPU */
static edf_device_table *gpu;

static void use(edf_device_table *device) {
  edf_clear();
  edf_input("opens[b]");                     /* the first node opens the GPU */
  if (!gpu) gpu = edf_device;
  edf_clear();
  edf_seed(1);
  edf.training = 1;
  edf_device = device;
}

enum { MOST = 400000 };
typedef struct { size_t n; double x[MOST]; } numbers;
static numbers on_cpu, on_gpu, *result;

static void put(double x) {
  if (result->n < MOST) result->x[result->n++] = x;
}
static void put_all(const edf_real *x, size_t n) {
  for (size_t i = 0; i < n; i++) put((double)x[i]);
}
/* relative 0: bit for bit */
static void same(const char *what, void (*program)(void), double relative) {
  double most = 0;
  on_cpu.n = on_gpu.n = 0;
  use(NULL);
  result = &on_cpu;
  program();
  use(gpu);
  result = &on_gpu;
  program();
  CHECK(on_cpu.n == on_gpu.n && on_cpu.n > 0 && on_cpu.n < MOST, "%s: %zu and %zu numbers",
        what, on_cpu.n, on_gpu.n);
  for (size_t i = 0; i < on_cpu.n; i++) most = fmax(most, fabs(on_cpu.x[i]));
  CHECK(most > 0, "%s: all 0", what);
  for (size_t i = 0; i < on_cpu.n; i++) {
    double a = on_cpu.x[i], b = on_gpu.x[i];
    if (fabs(a - b) <= relative * most) continue;
    CHECK(0, "%s: number %zu of %zu is %.9g on the GPU, %.9g on the CPU", what, i, on_cpu.n, b,
          a);
    return;
  }
}

/* ---- Contractions: an equation, its gradients, in small whole numbers, so exactly */
typedef struct { const char *equation, *shape[4]; int gemms; } shape_case;
static const shape_case *now;

static edf_node *whole_numbers(const char *shape) {
  Parameter *p = edf_parameter(shape, "");
  for (size_t i = 0; i < p->size; i++) p->value[i] = (edf_real)(edf_below(5) - 2);
  edf_push(p);
  return p;
}

static void times_forward(CompNode *y) {                     /* a cotangent of whole numbers */
  for (size_t i = 0; i < y->size; i++) y->value[i] = y->in[0]->value[i] * (edf_real)(i % 3);
}
static void times_backward(CompNode *y) {
  for (size_t i = 0; i < y->size; i++)
    edf_addgrad(y->in[0], i, (edf_real)(i % 3));
}

static void contraction(void) {
  Node *in[4] = { NULL, NULL, NULL, NULL };
  int n = 0;
  while (n < 4 && now->shape[n]) { in[n] = whole_numbers(now->shape[n]); n++; }
  CompNode *y = n == 1 ? Einsum(now->equation, in[0]) : n == 2
    ? Einsum(now->equation, in[0], in[1]) : Einsum(now->equation, in[0], in[1], in[2]);
  CompNode *z = edf_compnode("Times", times_forward, times_backward, y);
  Forward();
  put_all(edf_value(y), y->size);
  Backward(z);
  for (int k = 0; k < n; k++) put_all(edf_grad(in[k]), in[k]->size);
}

static const shape_case shapes[] = {
  { "y[b,j] = W[I,j] x[b,I]", { "W[150,90]", "x[110,150]" }, 3 },
  { "y[b,j] = W[j,I] x[b,I]", { "W[90,150]", "x[110,150]" }, 3 },
  { "y[j,b] = W[I,j] x[b,I]", { "W[150,90]", "x[110,150]" }, 3 },
  { "y[j,b] = W[j,I] x[I,b] - B[j]", { "W[90,150]", "x[150,110]", "B[90]" }, 3 },
  { "y[b,j] = W[I,0,j] x[b,I]", { "W[150,2,90]", "x[110,150]" }, 3 },
  { "y[b,j] = W[I,j] x[b,I]", { "W[15,9]", "x[11,15]" }, 0 },
  { "y = 0.5 a[I] c[I]", { "a[40000]", "c[40000]" }, 0 },              /* in segments */
  { "y[b,i,j] = x[b,I,i] z[b,I,j]", { "x[9,64,64]", "z[9,64,64]" }, 3 },
  { "a[b,h,t,s] = 0.5 q[b,t,h,D] k[b,s,h,D]", { "q[4,64,3,32]", "k[4,64,3,32]" }, 3 },
  { "o[b,t,h,d] = P[b,h,t,S] v[b,S,h,d]", { "P[4,3,64,64]", "v[4,64,3,32]" }, 3 },
  { "y[b,i,j,n] = W[DI,DJ,C,n] x[b,i+DI,j+DJ,C]", { "W[3,3,8,40]", "x[4,16,16,8]" }, 3 },
  { "y[b,i,j,n] = W[DI,DJ,C,n] x[b,2*i+DI,2*j+DJ,C]", { "W[3,3,8,60]", "x[6,25,25,8]" }, 3 },
  { "y[b,i,j,n] = W[DI,DJ,C,n] x[b,i+2*DI-1,j+2*DJ-1,C] | i<14, j<14",
    { "W[3,3,8,40]", "x[4,16,16,8]" }, 3 },
  { "y[b,n,i,j] = W[n,C,DI,DJ] x[b,C,i+DI,j+DJ]", { "W[40,8,3,3]", "x[4,8,16,16]" }, 3 },
  { "y[b,i,j,k,n] = W[DI,DJ,DK,C,n] x[b,i+DI,j+DJ,k+DK,C]",
    { "W[2,2,2,3,4]", "x[2,5,6,7,3]" }, 0 },
  { "y[b,2*i+DI,2*j+DJ,n] = W[DI,DJ,C,n] x[b,i,j,C]", { "W[3,3,40,8]", "x[4,12,12,40]" }, 3 },
  { "y[b,i,j,c] = W[DI,DJ,c] x[b,i+DI,j+DJ,c]", { "W[3,3,5]", "x[2,8,8,5]" }, 0 },
  { "y[b,i,4*g+n] = W[DI,g,C,n] x[b,i+DI,3*g+C]", { "W[3,2,3,4]", "x[2,9,6]" }, 0 },
  { "y[i+j] = a[i] c[j]", { "a[30]", "c[20]" }, 0 },
  { "y[2*i+3*j] = a[i] c[j]", { "a[30]", "c[20]" }, 0 },
  { "y[i+j+k] = a[i] c[j] e[k]", { "a[9]", "c[7]", "e[5]" }, 0 },
  { "y[5-i] = a[i] | i<6", { "a[6]" }, 0 },
  { "y = A[I,I]", { "A[40,40]" }, 0 },
  { "y[i] = A[i,J] c[J] e[J,i]", { "A[20,30]", "c[30]", "e[30,20]" }, 0 },
};

static void contractions(void) {
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
    now = &shapes[k];
    cudashim_reset();
    same(now->equation, contraction, 0);
    long long gemms = cudashim_count("gemms");
    CHECK(gemms == now->gemms, "%s: %lld calls of gemm, expected %d", now->equation, gemms,
          now->gemms);
  }
}

/* ---- A model */
static edf_real pixels[40 * 12 * 12 * 2], classes[40];

static void fill_data(void) {
  edf_seed(5);
  for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) pixels[i] = edf_uniform(0, 1);
  for (size_t i = 0; i < 40; i++) classes[i] = (edf_real)edf_below(4);
}

/* The mask is the CPU's, bit for bit, also when it is recorded. */
static void masks(void) {
  Input *x = edf_input("x[b,50]");
  CompNode *y = Dropout(Dropout(x, 0.3), 0.5);
  Parameter *p = edf_parameter("p[50]");
  CompNode *loss = Mean(Mul(y, p));
  for (int i = 0; i < 6; i++) {
    edf_feed(x, pixels, 20);
    Forward();
    put_all(edf_value(y), y->size);
    Backward(loss);
    put_all(edf_grad(p), p->size);
    edf_uniform(0, 1);
  }
}

static void dropout(void) { same("masks", masks, 1e-7); }

/* ---- What a step costs */
static void count_step(int i, long long most) {
  if (i < 4) return;
  CHECK(cudashim_count("ops") <= most && cudashim_count("ops") > most / 2,
        "step %d: %lld operations, at most %lld", i, cudashim_count("ops"), most);
  CHECK(cudashim_count("mallocs") == 0 && cudashim_count("syncs") == 0 &&
        cudashim_count("copies_d2h") == 0, "step %d: %lld allocations, %lld waits, %lld copies "
        "back", i, cudashim_count("mallocs"), cudashim_count("syncs"),
        cudashim_count("copies_d2h"));
  CHECK(cudashim_count("copies_h2d") == 2 && cudashim_count("graph_launches") == 2,
        "step %d: %lld copies, %lld graphs", i, cudashim_count("copies_h2d"),
        cudashim_count("graph_launches"));
}

static void budget_mlp(void) {
  use(gpu);
  static edf_real images[64 * 784];
  Input *x = edf_input("x[b,784]"), *y = edf_input("y[b]");
  AffineParams a = edf_affine_params(784, 64), c = edf_affine_params(64, 10);
  CompNode *ell = LogLoss(Softmax(Affine(c, Sigmoid(Affine(a, x)))), y);
  for (int i = 0; i < 8; i++) {
    cudashim_reset();
    edf_feed(x, images, 64);
    edf_feed(y, images, 64);
    Forward();
    Backward(ell);
    SGD((edf_real)0.1);
    count_step(i, 19);
    if (i > 3) CHECK(cudashim_count("bytes_h2d") == 64 * 785 * 4, "%lld bytes",
                     cudashim_count("bytes_h2d"));
  }
}

static void budget_cnn(void) {
  use(gpu);
  Input *x = edf_input("x[b,12,12,2]"), *y = edf_input("y[b]");
  CompNode *h = MaxPool(Relu(Conv(edf_conv_params(3, 2, 5), x)), 2, 2);
  h = Reshape(h, "h[b,125]");
  CompNode *ell = SoftmaxLogLoss(Affine(edf_affine_params(125, 4), h), y);
  for (int i = 0; i < 8; i++) {
    cudashim_reset();
    edf_feed(x, pixels, 8);
    edf_feed(y, classes, 8);
    Forward();
    Backward(ell);
    Adam((edf_real)0.01, (edf_real)0.9, (edf_real)0.99, (edf_real)1e-8);
    count_step(i, 23);                   /* one clears the gradient in front of the pooling */
  }
}

/* ---- What goes wrong */
/* The labels of an Input are looked at before the pass. A computed one that is no class gives
   NaN. */
static void labels(void) {
  edf_real wrong[4] = { 0, 1, 7, 2 };
  for (int computed = 0; computed < 2; computed++) {
    use(gpu);
    wrong[2] = computed ? 3 : 7;
    Input *x = edf_input("x[b,6]"), *y = edf_input("y[b]");
    CompNode *P = Softmax(Affine(edf_affine_params(6, 4), x));
    CompNode *a = LogLoss(P, computed ? Add(y, y) : y);      /* 0, 2, 6, 4                    */
    edf_feed(x, pixels, 4);
    edf_feed(y, wrong, 4);
    TRY(Forward());
    CHECK(panicked == !computed, "%s", computed ? caught : "label 7 of 4 is not an error");
    if (!computed) WORDS(caught, "label 7|row 2|y");
    else CHECK(edf_value(a)[1] > 0 && a->value[2] != a->value[2], "not NaN");
  }
}

/* ---- Checks and files, with the numbers there */
static void gradient_check(void) {
  use(gpu);
  Input *x = edf_input("x[b,6]"), *y = edf_input("y[b]");
  CompNode *h = Tanh(Affine(edf_affine_params(6, 5), x));
  CompNode *ell = LogLoss(Softmax(Affine(edf_affine_params(5, 4), h)), y);
  edf_feed(x, pixels, 3);
  edf_feed(y, classes, 3);
  for (int i = 0; i < 4; i++) { Forward(); Backward(ell); SGD((edf_real)0.1); }
  capture_begin();
  double error = edf_gradcheck(ell);
  capture_end();
  CHECK(error < 1e-2, "%g", error);
  Forward();
  CHECK(ell->value[0] != ell->value[0], "still brought back: %g", (double)ell->value[0]);
}

/* Rebuilding keeps nothing, and in the end all is given back. */
static void all_is_given_back(void) {
  use(gpu);
  Input *x = edf_input("x[b,50]");
  AffineParams p = edf_affine_params(50, 40);
  for (int i = 0; i < 30; i++) {
    edf_feed(x, pixels, 20);
    CompNode *loss = Mean(Tanh(Affine(p, x)));
    Forward();
    Backward(loss);
    SGD((edf_real)0.1);
    edf_clear_compnodes();
    if (i == 3) cudashim_reset();
  }
  CHECK(cudashim_count("mallocs") == cudashim_count("frees"), "%lld allocations, %lld freed",
        cudashim_count("mallocs"), cudashim_count("frees"));
  edf_clear();
  edf_cuda_close();
  CHECK(cudashim_leaks() == 0, "leaks");
  CHECK(!edf_device && edf_open_device, "it would not open again");
}

int main(void) {
  fill_data();
  use(NULL);
  if (!gpu) return printf("not ok main: no device\n"), 1;
  RUN(contractions);
  RUN(dropout);
  RUN(budget_mlp);
  RUN(budget_cnn);
  RUN(labels);
  RUN(gradient_check);
  RUN(all_is_given_back);
  return harness_report();
}
