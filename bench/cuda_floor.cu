/* cuda_floor.cu - the GPU's side of cuda.c: edf_cuda.cu itself, and with its stream, cuBLAS
   handle and precision the matrix products of a step alone.

   Each product is one plain cuBLAS call, on operands of its own that are packed and are not
   zeros; nothing else runs between them. They are recorded as one CUDA graph, so that launching
   them costs as little as it can. */
#include "../edf_cuda.cu"

/* c = a b: `batch` at a time, `turns` times one after another. Bit x of `shared`: all of them
   have the same operand x. */
struct product_of_floor {
  int turns, batch, ta, tb, m, n, k, shared;
  real *x[3];                            /* a, b, c                                           */
};
enum { FLOOR_PRODUCTS = 128 };

static struct {
  int n;
  product_of_floor product[FLOOR_PRODUCTS];
  cudaGraphExec_t exec;
} lowest;

__global__ static void noise_kernel(real *x, size_t n) {
  for (EACH(i, n)) {
    unsigned u = (unsigned)i * 2654435761u;
    u = (u ^ u >> 15) * 2246822519u;
    x[i] = (real)(u >> 8) / (1 << 24) - (real)0.5;
  }
}

static long long entries_of(const product_of_floor &p, int x) {
  return (long long)(x == 1 ? p.k : p.m) * (x == 0 ? p.k : p.n);
}

static long long step_of(const product_of_floor &p, int x) {
  return p.shared >> x & 1 ? 0 : entries_of(p, x);
}

extern "C" void floor_add(int turns, int batch, int ta, int tb, int m, int n, int k,
                          int shared) {
  product_of_floor p = { turns, batch, ta, tb, m, n, k, shared, { NULL, NULL, NULL } };
  if (lowest.n == FLOOR_PRODUCTS) fail("bench: too many products");
  for (int x = 0; x < 3; x++) {
    size_t count = (size_t)entries_of(p, x) * (size_t)(shared >> x & 1 ? 1 : turns * batch);
    CU(cudaMalloc((void **)&p.x[x], count * sizeof(real)));
    RUN(noise_kernel, count, p.x[x], count);
  }
  lowest.product[lowest.n++] = p;
}

/* cuBLAS is column-major: c' = b' a'. */
static void run_product(const product_of_floor &p) {
  const cudaDataType_t type = sizeof(real) == 8 ? CUDA_R_64F : CUDA_R_32F;
  const real one = 1, zero = 0;
  long long a = step_of(p, 0), b = step_of(p, 1), c = step_of(p, 2);
  for (long long i = 0; i < p.turns; i++)
    CB(cublasGemmStridedBatchedEx(gpu.blas, p.tb ? CUBLAS_OP_T : CUBLAS_OP_N,
       p.ta ? CUBLAS_OP_T : CUBLAS_OP_N, p.n, p.m, p.k, &one, p.x[1] + i * p.batch * b, type,
       p.tb ? p.k : p.n, b, p.x[0] + i * p.batch * a, type, p.ta ? p.m : p.k, a, &zero,
       p.x[2] + i * p.batch * c, type, p.n, c, p.batch, gpu.compute, CUBLAS_GEMM_DEFAULT));
}

/* Once plainly, since cuBLAS prepares itself at the first call, and once into the graph. */
extern "C" void floor_record(void) {
  cudaGraph_t graph;
  for (int i = 0; i < lowest.n; i++) run_product(lowest.product[i]);
  CU(cudaStreamSynchronize(gpu.stream));
  CU(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < lowest.n; i++) run_product(lowest.product[i]);
  CU(cudaStreamEndCapture(gpu.stream, &graph));
  CU(cudaGraphInstantiate(&lowest.exec, graph, 0));
  CU(cudaGraphDestroy(graph));
}

extern "C" void floor_run(int steps) {
  for (int i = 0; i < steps; i++) CU(cudaGraphLaunch(lowest.exec, gpu.stream));
  CU(cudaStreamSynchronize(gpu.stream));
}

extern "C" void floor_free(void) {
  if (lowest.exec) CU(cudaGraphExecDestroy(lowest.exec));
  for (int i = 0; i < lowest.n; i++)
    for (real *x : lowest.product[i].x) CU(cudaFree(x));
  lowest.exec = NULL;
  lowest.n = 0;
}
