/* selftest.cu - the test of the emulation: right programs work, and mistakes are found.

     selftest                 all right programs; the exit status is the verdict
     selftest list            the mistakes, one a line: NAME|SETTING|WORDS
     selftest NAME            one mistake. With SETTING in the environment its exit status is
                              not 0, and WORDS are on stderr. */
#include <cublas_v2.h>
#include <cuda_runtime.h>

#define CU(call) check(!(call), #call, __LINE__)
#define CHECK(condition) check(condition, #condition, __LINE__)
static void check(bool right, const char *condition, int line) {
  if (right) return;
  fprintf(stderr, "line %d: wrong: %s: %s\n", line, condition,
          cudaGetErrorString(cudaGetLastError()));
  exit(1);
}

enum { N = 250, BYTES = N * sizeof(float) };
static cudaStream_t stream;
static cublasHandle_t blas;
static float here[N], back[N];
static float *a, *b, *workspace;                 /* on the device                             */

static void up(float *to) {
  CU(cudaMemcpyAsync(to, here, BYTES, cudaMemcpyHostToDevice, stream));
}
static void down(const float *from) {
  CU(cudaMemcpyAsync(back, from, BYTES, cudaMemcpyDeviceToHost, stream));
}
static void wait() { CU(cudaStreamSynchronize(stream)); }
static void begin() { CU(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); }

/* ---- Right programs */

__global__ static void scale(float *y, const float *x, float by, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = by * x[i];
}

/* The sum of each block of 128 threads in a tree, and of each warp. */
struct Sums { float *of_block; float *of_warp; };
__global__ static void tree(Sums out, const float *x) {
  __shared__ float part[128];
  float sum = x[threadIdx.x];
  part[threadIdx.x] = sum;
  for (unsigned half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, bit);
  if (threadIdx.x == 0) out.of_block[blockIdx.x] = part[0];
  if (threadIdx.x % 32 == 0) out.of_warp[threadIdx.x / 32] = sum;
}

static void kernels() {
  up(a);
  LAUNCH(scale, (N + 63) / 64, 64, stream, b, a, 2.0, N);
  down(b);
  CHECK(back[N - 1] == 2 * (N - 1));
  LAUNCH(tree, 3, 128, stream, Sums{ b, b + 10 }, a);
  down(b);
  CHECK(back[0] == 8128 && back[2] == 8128 && back[10] == 496 && back[13] == 3568);
}

static void product(int m, int n, int lda, long long stride, int batch, float *out) {
  float one = 1, zero = 0;
  CU(cublasGemmStridedBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, 4, &one, a, CUDA_R_32F,
                                lda, 0, a, CUDA_R_32F, 4, 0, &zero, out, CUDA_R_32F, m, stride,
                                batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static void graphs() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  long long before = cudashim_count("ops");
  begin();
  LAUNCH(scale, 4, 64, stream, b, a, 2, N);
  product(2, 2, 2, 0, 1, b);
  CU(cudaStreamEndCapture(stream, &graph));
  CU(cudaGraphInstantiate(&exec, graph, 0));
  CU(cudaGraphDestroy(graph));
  CHECK(cudashim_count("ops") == before);
  for (int i = 0; i < 3; i++) CU(cudaGraphLaunch(exec, stream));
  CHECK(cudashim_count("ops") == before + 6);
  down(b);                                       /* b[0,1] = a[0,1] 4 + a[2,3] 5 + ...        */
  CHECK(back[0] == 28 && back[1] == 34 && back[2] == 76 && back[4] == 8);
  CU(cudaGraphExecDestroy(exec));
}

/* ---- Mistakes */

static void follow_a_device_address() { back[0] = *(volatile float *)a; }
static void give_a_kernel_host_memory() { LAUNCH(scale, 4, 64, stream, here, a, 2, N); }
static void read_past_the_end() { LAUNCH(scale, 5, 64, stream, b, a, 2, 300), wait(); }
static void write_one_too_many() {
  up(a);
  LAUNCH(scale, 1, 64, stream, b + N, a, 2, 1), wait();
  CU(cudaFree(b));
}
static void copy_too_much() { up(a + 1); }
static void forget_to_free() {}
static void use_after_free() {
  CU(cudaFreeAsync(b, stream));
  LAUNCH(scale, 4, 64, stream, b, a, 2, N);
}
static void overwrite_pageable_memory_too_early() {
  up(a);
  here[5] = -1;
  down(a);
  CHECK(back[5] == 5);
}

__global__ static void half_waits() {
  if (threadIdx.x < 32) __syncthreads();
}
static void barrier_for_half_a_block() { LAUNCH(half_waits, 1, 64, stream), wait(); }

__global__ static void shift(float *x) { x[threadIdx.x] = x[threadIdx.x + 1]; }
static void count_on_an_order() {
  up(a);
  LAUNCH(shift, 1, 128, stream, a);
  down(a);
  CHECK(back[0] == 1);
}

static void start_no_block() { LAUNCH(scale, 0, 128, stream, b, a, 2, N); }
static void allocate_in_a_capture() {
  begin();
  CU(cudaMallocAsync(&a, BYTES, stream));
}
static void capture_without_a_workspace() {
  CU(cublasSetStream(blas, stream));
  begin();
  product(4, 4, 4, 0, 1, b);
}
static void batches_that_overlap() { product(4, 4, 4, 15, 2, b), wait(); }
static void product_in_place() { product(4, 4, 4, 0, 1, a + 8), wait(); }

/* Two products of 2 x 2, by tables of addresses at `at` in b. The matrices begin at a + first. */
static void by_tables(size_t at, int first, cublasComputeType_t compute) {
  const float *p[6] = { b + 100, b + 104, a + first, a + 8, a + 16, a + 24 }, one = 1, zero = 0;
  float **table = (float **)((char *)b + at);
  CU(cudaMemcpyAsync(table, p, sizeof p, cudaMemcpyHostToDevice, stream));
  CU(cublasGemmBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, (void **)(table + 2),
                         CUDA_R_32F, 2, (void **)(table + 4), CUDA_R_32F, 2, &zero,
                         (void **)table, CUDA_R_32F, 2, 2, compute, CUBLAS_GEMM_DEFAULT));
  wait();
}
static void tables() {
  by_tables(0, 0, CUBLAS_COMPUTE_32F_FAST_TF32);
  by_tables(16, 1, CUBLAS_COMPUTE_32F);
}
static void table_at_8_bytes() { by_tables(8, 0, CUBLAS_COMPUTE_32F); }
static void tf32_at_4_bytes() { by_tables(0, 1, CUBLAS_COMPUTE_32F_FAST_TF32); }
static void batches_backwards() { product(4, 4, 4, -16, 2, b + 16); }
static void keep_the_pool() {
  float *c;
  CU(cudaMallocAsync(&c, BYTES, stream));
  CU(cudaFreeAsync(c, stream));
  exit(0);
}

#define MISTAKE(name, setting, words) { #name, setting, words, name }
static const struct { const char *name, *setting, *words; void (*run)(); } mistakes[] = {
  MISTAKE(follow_a_device_address, "", "host code touches .* 1000 bytes of device memory"),
  MISTAKE(give_a_kernel_host_memory, "", "scale: argument 1 .* host memory"),
  MISTAKE(read_past_the_end, "", "scale, thread .* past the end of 1000 bytes"),
  MISTAKE(write_one_too_many, "", "there was a store 0 bytes past the end of 1000 bytes"),
  MISTAKE(copy_too_much, "", "destination of the copy of 1000 bytes"),
  MISTAKE(forget_to_free, "CUDASHIM_LEAKS=1", "leak: 1000 bytes of memory .*selftest"),
  MISTAKE(use_after_free, "", "scale: argument 1 .* freed at"),
  MISTAKE(overwrite_pageable_memory_too_early, "", "wrong"),
  MISTAKE(barrier_for_half_a_block, "", "barrier divergence in half_waits: .* has returned"),
  MISTAKE(count_on_an_order, "CUDASHIM_ORDER=rev", "wrong"),
  MISTAKE(start_no_block, "", "nobody looked at the error of the launch of scale"),
  MISTAKE(allocate_in_a_capture, "", "not permitted when stream is capturing"),
  MISTAKE(capture_without_a_workspace, "", "captured gemm without cublasSetWorkspace"),
  MISTAKE(batches_that_overlap, "", "C overlaps itself"),
  MISTAKE(product_in_place, "", "C overlaps itself, or A or B"),
  MISTAKE(table_at_8_bytes, "", "wrong"),
  MISTAKE(tf32_at_4_bytes, "", "matrix A is not aligned"),
  MISTAKE(batches_backwards, "", "wrong"),
  MISTAKE(keep_the_pool, "CUDASHIM_LEAKS=1", "leak: memory in the pool")
};

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CU(cudaMalloc(&a, BYTES));
  CU(cudaMalloc(&b, BYTES));
  CU(cudaMalloc(&workspace, 4096));
  CU(cublasCreate(&blas));
  CU(cublasSetStream(blas, stream));
  CU(cublasSetWorkspace(blas, workspace, 4096));
  for (int i = 0; i < N; i++) here[i] = (float)i;
  for (auto &m : mistakes) {
    if (!strcmp(name, "list")) printf("%s|%s|%s\n", m.name, m.setting, m.words);
    if (!strcmp(name, m.name)) return m.run(), 0;
  }
  if (*name) return strcmp(name, "list") != 0;
  kernels();
  graphs();
  tables();
  CU(cublasDestroy(blas));
  CU(cudaFree(a));
  CU(cudaFreeAsync(b, stream));
  CU(cudaMemPoolTrimTo(NULL, 0));
  CU(cudaFree(workspace));
  CU(cudaStreamDestroy(stream));
  return 0;
}
