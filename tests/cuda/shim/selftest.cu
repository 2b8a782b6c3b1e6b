/* selftest.cu - the shim's own test: right programs, which must work, and mistakes, which must
   be found. It is CUDA: nvcc takes it, too.

     selftest                 all right programs; the exit status is the verdict
     selftest list            the mistakes, one a line: NAME|SETTING|WORDS
     selftest NAME            one mistake. With SETTING in the environment its exit status is
                              not 0, and WORDS are on stderr. */

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef LAUNCH
#define LAUNCH(kernel, grid, block, stream, ...) \
  kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#endif

#ifdef CUDASHIM
static long long number_of(const char *name) { return cudashim_count(name); }
#else
static long long number_of(const char *) { return 0; }
#endif

#define CU(call) cu(call, #call, __LINE__)
#define CB(call) cb(call, #call, __LINE__)
#define CHECK(condition) check(condition, #condition, __LINE__)

static void cu(cudaError_t e, const char *call, int line) {
  if (!e) return;
  fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(e));
  exit(1);
}
static void cb(cublasStatus_t s, const char *call, int line) {
  if (!s) return;
  fprintf(stderr, "line %d: %s: %s\n", line, call, cublasGetStatusString(s));
  exit(1);
}
static void check(bool right, const char *condition, int line) {
  if (right) return;
  fprintf(stderr, "line %d: wrong: %s\n", line, condition);
  exit(1);
}

/* ---- What all need: a stream, a few numbers here and there */

enum { N = 250, BYTES = N * sizeof(float) };

static cudaStream_t stream;
static float here[N], back[N];
static float *a, *b;                             /* N numbers each, on the device */

static void open_all() {
  CU(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CU(cudaMalloc(&a, BYTES));
  CU(cudaMalloc(&b, BYTES));
  for (int i = 0; i < N; i++) here[i] = (float)i;
}
static void close_all() {
  CU(cudaFree(a));
  CU(cudaFree(b));
  CU(cudaStreamDestroy(stream));
}
static void up(float *to) {
  CU(cudaMemcpyAsync(to, here, BYTES, cudaMemcpyHostToDevice, stream));
}
static void down(const float *from) {
  CU(cudaMemcpyAsync(back, from, BYTES, cudaMemcpyDeviceToHost, stream));
}
static float *pinned() {
  float *p;
  CU(cudaMallocHost(&p, BYTES));
  return p;
}

/* ---- Kernels */

__global__ static void scale(float *y, const float *x, float by, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = by * x[i];
}

struct Add { __device__ float operator()(float x, float y) const { return x + y; } };
template <class F> __global__ void zip(float *z, const float *x, const float *y, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) z[i] = F()(x[i], y[i]);
}

/* Of a block of 128 threads, the sum in a tree. With `hurry` the barrier is missing. */
__global__ static void tree(float *out, const float *x, int n, int hurry) {
  __shared__ float part[128];
  float sum = 0;
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) sum += x[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    if (!hurry) __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

/* The sum of each warp, by two kinds of shuffles; the last warp may be a part. */
__global__ static void warps(float *out, float *same, const float *x, int n) {
  int i = (int)threadIdx.x;
  float sum = i < n ? x[i] : 0, all = sum;
  for (unsigned by = 16; by > 0; by /= 2) sum += __shfl_down_sync(0xffffffffu, sum, by);
  for (int bit = 16; bit > 0; bit /= 2) all += __shfl_xor_sync(0xffffffffu, all, bit);
  sum = __shfl_sync(0xffffffffu, sum, 0);
  if (i % warpSize == 0) { out[i / warpSize] = sum; same[i / warpSize] = all; }
}

__global__ static void histogram(int *count, unsigned long long *total, int *most, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  atomicAdd(&count[i % 7], 1);
  atomicAdd(total, (unsigned long long)i);
  atomicMax(most, i);
}

struct Grid { int nx, ny, nz; float number; };
__global__ static void where(float *x, Grid g) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned k = blockIdx.z * blockDim.z + threadIdx.z;
  if ((int)i < g.nx && (int)j < g.ny && (int)k < g.nz)
    x[((int)k * g.ny + (int)j) * g.nx + (int)i] = g.number + (float)(100 * k + 10 * j + i);
}

/* ---- Right programs */

static void copies() {
  float *p = pinned(), *q = pinned();
  memcpy(p, here, BYTES);
  CU(cudaMemcpyAsync(a, p, BYTES, cudaMemcpyHostToDevice, stream));
  CU(cudaMemcpyAsync(b, a, BYTES, cudaMemcpyDeviceToDevice, stream));
  CU(cudaMemsetAsync(b + 1, 0, sizeof *b, stream));
  CU(cudaMemcpyAsync(q, b, BYTES, cudaMemcpyDefault, stream));
  CU(cudaStreamSynchronize(stream));
  CHECK(q[0] == 0 && q[1] == 0 && q[2] == 2 && q[N - 1] == N - 1);
  CU(cudaFreeHost(p));
  CU(cudaFreeHost(q));
}

/* The legacy stream waits for streams that are not made with cudaStreamNonBlocking. */
static void legacy() {
  cudaStream_t blocking;
  CU(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault));
  CU(cudaMemcpy(a, here, BYTES, cudaMemcpyHostToDevice));
  LAUNCH(scale, 4, 64, blocking, b, a, 3, N);
  CU(cudaMemcpy(back, b, BYTES, cudaMemcpyDeviceToHost));
  CHECK(back[N - 1] == 3 * (N - 1));
  CU(cudaMemset(b, 0, BYTES));
  LAUNCH(scale, 4, 64, blocking, a, b, 1.f, N);
  CU(cudaMemcpyAsync(back, a, BYTES, cudaMemcpyDeviceToHost, blocking));
  CHECK(back[N - 1] == 0);
  CU(cudaStreamDestroy(blocking));
}

static void kernels() {
  up(a);
  LAUNCH(scale, (N + 63) / 64, 64, stream, b, a, 2.0, N);
  LAUNCH((zip<Add>), 5, 50, stream, b, a, b, N);
  CU(cudaGetLastError());
  down(b);
  for (int i = 0; i < N; i++) CHECK(back[i] == 3 * (float)i);
}

static void three_dimensions() {
  Grid g = { 5, 6, 7, 0.5f };
  LAUNCH(where, dim3(2, 2, 4), dim3(3, 4, 2), stream, a, g);
  down(a);
  CHECK(back[0] == 0.5f && back[4] == 4.5f && back[5] == 10.5f && back[209] == 654.5f);
}

static void barriers() {
  up(a);
  LAUNCH(tree, 3, 128, stream, b, a, N, 0);
  down(b);
  for (int i = 0; i < 3; i++) CHECK(back[i] == N * (N - 1) / 2);
}

static void shuffles() {
  up(a);
  LAUNCH(warps, 1, 96, stream, b, b + 10, a, 80);
  down(b);
  CHECK(back[0] == 496 && back[1] == 1520 && back[2] == 1144);
  CHECK(back[10] == 496 && back[11] == 1520 && back[12] == 1144);
}

static void atomics() {
  int *count, counts[8];
  unsigned long long *total, sum;
  CU(cudaMalloc(&count, 8 * sizeof *count));
  CU(cudaMalloc(&total, sizeof *total));
  CU(cudaMemsetAsync(count, 0, 8 * sizeof *count, stream));
  CU(cudaMemsetAsync(total, 0, sizeof *total, stream));
  LAUNCH(histogram, 2, 64, stream, count, total, count + 7, 100);
  CU(cudaMemcpyAsync(counts, count, sizeof counts, cudaMemcpyDeviceToHost, stream));
  CU(cudaMemcpyAsync(&sum, total, sizeof sum, cudaMemcpyDeviceToHost, stream));
  CHECK(counts[0] == 15 && counts[6] == 14 && counts[7] == 99 && sum == 4950);
  CU(cudaFree(count));
  CU(cudaFree(total));
}

static void events() {
  cudaEvent_t from, to;
  cudaStream_t other;
  float ms = -1;
  CU(cudaEventCreate(&from));
  CU(cudaEventCreate(&to));
  CU(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaEventQuery(from) == cudaSuccess);
  CU(cudaEventRecord(from, stream));
  up(a);
  LAUNCH(scale, 4, 64, stream, b, a, 2, N);
  CU(cudaEventRecord(to, stream));
  CU(cudaStreamWaitEvent(other, to, 0));
  CU(cudaMemcpyAsync(back, b, BYTES, cudaMemcpyDeviceToHost, other));
  CHECK(back[N - 1] == 2 * (N - 1));
  cudaError_t e;
  while ((e = cudaEventQuery(to)) == cudaErrorNotReady)
    CHECK(cudaGetLastError() == cudaErrorNotReady);      /* it counts as an error */
  CU(e);
  CU(cudaEventSynchronize(to));
  CU(cudaEventElapsedTime(&ms, from, to));
  CHECK(ms >= 0);
  CU(cudaStreamDestroy(other));
  CU(cudaEventDestroy(from));
  CU(cudaEventDestroy(to));
}

static cudaGraphExec_t record() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCaptureStatus status;
  size_t nodes;
  CU(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CU(cudaStreamIsCapturing(stream, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  LAUNCH(scale, 4, 64, stream, b, a, 2, N);
  LAUNCH((zip<Add>), 4, 64, stream, a, a, b, N);
  CU(cudaStreamEndCapture(stream, &graph));
  CU(cudaGraphGetNodes(graph, NULL, &nodes));
  CHECK(nodes == 2);
  CU(cudaGraphInstantiate(&exec, graph, 0));
  CU(cudaGraphDestroy(graph));
  return exec;
}

static void graphs() {
  up(a);
  long long before = number_of("ops"), launches = number_of("launches");
  cudaGraphExec_t exec = record();
  CHECK(number_of("ops") == before && number_of("launches") == launches);
  for (int i = 0; i < 3; i++) CU(cudaGraphLaunch(exec, stream));
  CHECK(number_of("ops") == before + (launches ? 6 : 0));
  down(a);
  CHECK(back[0] == 0 && back[10] == 270 && back[N - 1] == 27 * (N - 1));
  CU(cudaGraphExecDestroy(exec));
}

/* ---- gemm */

static cublasHandle_t blas;
static void *workspace;

static void open_blas() {
  CB(cublasCreate(&blas));
  CB(cublasSetStream(blas, stream));
  CU(cudaMalloc(&workspace, 65536));
  CB(cublasSetWorkspace(blas, workspace, 65536));
}
static void close_blas() {
  CB(cublasDestroy(blas));
  CU(cudaFree(workspace));
}

struct Shape { int ta, tb, m, n, k, lda, ldb, ldc, batch; long long sa, sb, sc; double beta; };

template <class T> static void plain_gemm(const Shape &s, const T *x, const T *y, T *z) {
  for (int q = 0; q < s.batch; q++)
    for (int i = 0; i < s.m; i++)
      for (int j = 0; j < s.n; j++) {
        double sum = 0;
        for (int l = 0; l < s.k; l++)
          sum += (double)x[q * s.sa + (s.ta ? l + i * s.lda : i + l * s.lda)] *
                 (double)y[q * s.sb + (s.tb ? j + l * s.ldb : l + j * s.ldb)];
        T *to = &z[q * s.sc + i + j * s.ldc];
        *to = (T)(2 * sum + (s.beta == 0 ? 0 : s.beta * (double)*to));
      }
}

template <class T> struct Types;
template <> struct Types<float> {
  static const cudaDataType type = CUDA_R_32F;
  static const cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};
template <> struct Types<double> {
  static const cudaDataType type = CUDA_R_64F;
  static const cublasComputeType_t compute = CUBLAS_COMPUTE_64F;
};

enum { M = 4000 };                               /* numbers in each operand */

/* By strides and by pointers, against plain loops; C is NaN at first where beta is 0. */
template <class T> static void one_gemm(const Shape &s) {
  static T x[M], y[M], z[M], got[M];
  T *dx, *dy, *dz, two = 2, beta = (T)s.beta;
  const cudaDataType type = Types<T>::type;
  for (int i = 0; i < M; i++) {
    x[i] = (T)(i * 7 % 11 - 5);
    y[i] = (T)(i * 5 % 13 - 6);
    z[i] = s.beta == 0 ? (T)NAN : (T)(i % 3);
  }
  CU(cudaMalloc(&dx, sizeof x));
  CU(cudaMalloc(&dy, sizeof y));
  CU(cudaMalloc(&dz, sizeof z));
  CU(cudaMemcpyAsync(dx, x, sizeof x, cudaMemcpyHostToDevice, stream));
  CU(cudaMemcpyAsync(dy, y, sizeof y, cudaMemcpyHostToDevice, stream));
  void *at[3][8];
  for (int q = 0; q < s.batch; q++) {
    at[0][q] = dx + q * s.sa;
    at[1][q] = dy + q * s.sb;
    at[2][q] = dz + q * s.sc;
  }
  void **array;
  CU(cudaMalloc(&array, sizeof at));
  CU(cudaMemcpyAsync(array, at, sizeof at, cudaMemcpyHostToDevice, stream));
  cublasOperation_t ta = s.ta ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t tb = s.tb ? CUBLAS_OP_T : CUBLAS_OP_N;
  for (int pointers = 0; pointers < 2; pointers++) {
    CU(cudaMemcpyAsync(dz, z, sizeof z, cudaMemcpyHostToDevice, stream));
    if (pointers)
      CB(cublasGemmBatchedEx(blas, ta, tb, s.m, s.n, s.k, &two, array, type, s.lda, array + 8,
                             type, s.ldb, &beta, array + 16, type, s.ldc, s.batch,
                             Types<T>::compute, CUBLAS_GEMM_DEFAULT));
    else
      CB(cublasGemmStridedBatchedEx(blas, ta, tb, s.m, s.n, s.k, &two, dx, type, s.lda, s.sa,
                                    dy, type, s.ldb, s.sb, &beta, dz, type, s.ldc, s.sc,
                                    s.batch, Types<T>::compute, CUBLAS_GEMM_DEFAULT));
    CU(cudaMemcpyAsync(got, dz, sizeof got, cudaMemcpyDeviceToHost, stream));
    static T expected[M];
    memcpy(expected, z, sizeof z);
    plain_gemm(s, x, y, expected);                 /* whole numbers: exact */
    for (int i = 0; i < M; i++) CHECK(got[i] == expected[i] || (got[i] != got[i] && z[i] != z[i]
                                                                && expected[i] != expected[i]));
  }
  CU(cudaFree(dx));
  CU(cudaFree(dy));
  CU(cudaFree(dz));
  CU(cudaFree(array));
}

static void gemms() {
  open_blas();
  for (int t = 0; t < 4; t++)
    for (int beta = 0; beta < 2; beta++) {
      Shape s = { t & 1, t >> 1, 17, 9, 5, 20, 19, 17, 3, 400, 400, 200, (double)beta };
      one_gemm<float>(s);
      one_gemm<double>(s);
    }
  Shape mat_vec = { 1, 0, 1, 30, 40, 40, 40, 1, 1, 0, 0, 0, 0 };
  Shape broadcast = { 0, 0, 3, 270, 4, 3, 4, 3, 4, 12, 0, 810, 1 };
  Shape interleaved = { 0, 0, 4, 6, 3, 12, 9, 12, 3, 4, 3, 4, 0 };
  Shape nothing = { 0, 0, 2, 3, 0, 2, 1, 2, 1, 0, 0, 0, 0 };
  Shape tall = { 0, 1, 600, 5, 6, 600, 5, 700, 1, 0, 0, 0, 1 };
  one_gemm<float>(mat_vec);
  one_gemm<float>(broadcast);
  one_gemm<double>(interleaved);
  one_gemm<float>(nothing);
  one_gemm<float>(tall);
  close_blas();
}

/* A product of one row and one column, at a precision. */
static float one_product(cublasComputeType_t compute) {
  float one = 1, zero = 0;
  CB(cublasGemmStridedBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_32F, 1,
                                0, a, CUDA_R_32F, 1, 0, &zero, b, CUDA_R_32F, 1, 0, 1, compute,
                                CUBLAS_GEMM_DEFAULT));
  down(b);
  return back[0];
}

static void precisions() {
  const float tf32 = 1 + 1.f / 1024, bf16 = 1 + 1.f / 128, x = 1 + 1.f / 1024 + 1.f / 8192;
  open_blas();
  here[0] = x;
  up(a);
  CHECK(one_product(CUBLAS_COMPUTE_32F) == x * x);
  CHECK(one_product(CUBLAS_COMPUTE_32F_PEDANTIC) == x * x);
  CHECK(one_product(CUBLAS_COMPUTE_32F_FAST_TF32) == tf32 * tf32);
  CB(cublasSetMathMode(blas, CUBLAS_TF32_TENSOR_OP_MATH));
  CHECK(one_product(CUBLAS_COMPUTE_32F) == tf32 * tf32);
  here[0] = 1 + 3.f / 512;
  up(a);
  CHECK(one_product(CUBLAS_COMPUTE_32F_FAST_16BF) == bf16 * bf16);
  here[0] = 0;
  close_blas();
}

/* A gemm in a graph, twice. */
static void captured_gemm() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  open_blas();
  here[0] = 3;
  up(a);
  float one = 1;
  CU(cudaMemsetAsync(b, 0, BYTES, stream));
  CU(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CB(cublasGemmStridedBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_32F, 1,
                                0, a, CUDA_R_32F, 1, 0, &one, b, CUDA_R_32F, 1, 0, 1,
                                CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  CU(cudaStreamEndCapture(stream, &graph));
  CU(cudaGraphInstantiate(&exec, graph, 0));
  CU(cudaGraphLaunch(exec, stream));
  CU(cudaGraphLaunch(exec, stream));
  down(b);
  CHECK(back[0] == 18);
  here[0] = 0;
  CU(cudaGraphExecDestroy(exec));
  CU(cudaGraphDestroy(graph));
  close_blas();
}

static void device() {
  int n = 0, which = -1;
  size_t unused, total;
  cudaDeviceProp p;
  cudaFuncAttributes f;
  CU(cudaGetDeviceCount(&n));
  CU(cudaSetDevice(0));
  CU(cudaGetDevice(&which));
  CU(cudaGetDeviceProperties(&p, 0));
  CU(cudaFuncGetAttributes(&f, scale));
  CU(cudaFuncGetAttributes(&f, zip<Add>));
  CU(cudaMemGetInfo(&unused, &total));
  CU(cudaDeviceSynchronize());
  CHECK(n > 0 && which == 0 && p.major > 0 && unused <= total && f.maxThreadsPerBlock > 0);
  CU(cudaFree(0));
}

/* ---- Mistakes with memory */

static void keep_a_device_address_on_the_host() { back[0] = *(volatile float *)a; }

static void give_a_kernel_host_memory() { LAUNCH(scale, 4, 64, stream, here, a, 2, N); }

static void give_a_kernel_pinned_memory() {
  LAUNCH(scale, 4, 64, stream, a, pinned(), 2, N);
}

static void read_past_the_end() {
  LAUNCH(scale, 5, 64, stream, b, a, 2, 300);
  CU(cudaStreamSynchronize(stream));
}

static void write_past_the_end() {
  up(a);
  LAUNCH(scale, 1, 1, stream, b + N, a, 2, 1);
  CU(cudaStreamSynchronize(stream));
}

static void write_before_the_start() {
  float *inside = a + 1;
  CU(cudaMemsetAsync(inside - 2, 0, 4, stream));
}

__global__ static void backwards(float *x) { x[-1] = 1; }
static void kernel_writes_before_the_start() {
  LAUNCH(backwards, 1, 1, stream, a);
  CU(cudaStreamSynchronize(stream));
}

static void use_after_free() {
  float *p;
  CU(cudaMalloc(&p, BYTES));
  CU(cudaFree(p));
  LAUNCH(scale, 4, 64, stream, b, p, 2, N);
}

static void free_what_a_graph_reads() {
  up(a);
  cudaGraphExec_t exec = record();
  CU(cudaFree(b));
  CU(cudaGraphLaunch(exec, stream));
  CU(cudaStreamSynchronize(stream));
}

static void free_twice() {
  CU(cudaFree(a));
  CU(cudaFree(a));
}

static void free_a_part() { CU(cudaFree(a + 1)); }

static void copy_in_the_wrong_direction() {
  CU(cudaMemcpyAsync(a, here, BYTES, cudaMemcpyDeviceToHost, stream));
}

static void copy_too_much() {
  CU(cudaMemcpyAsync(a + 1, here, BYTES, cudaMemcpyHostToDevice, stream));
}

static void forget_to_free() { CU(cudaStreamDestroy(stream)); }

static void read_fresh_memory() {
  down(a);
  CHECK(back[7] == 0);
}

__global__ static void follow(float *const *x) { x[0][0] = 1; }
static void keep_an_address_in_device_memory() {
  float **p;
  CU(cudaMalloc(&p, sizeof *p));
  CU(cudaMemcpyAsync(p, &a, sizeof *p, cudaMemcpyHostToDevice, stream));
  LAUNCH(follow, 1, 1, stream, p);
  CU(cudaStreamSynchronize(stream));
}

/* ---- Mistakes with time */

static void read_before_it_is_there() {
  float *p = pinned();
  p[5] = -1;
  up(a);
  CU(cudaMemcpyAsync(p, a, BYTES, cudaMemcpyDeviceToHost, stream));
  CHECK(p[5] == 5);
}

static void reuse_a_buffer_too_early() {
  float *p = pinned();
  memcpy(p, here, BYTES);
  CU(cudaMemcpyAsync(a, p, BYTES, cudaMemcpyHostToDevice, stream));
  p[5] = -1;
  down(a);
  CHECK(back[5] == 5);
}

static void copy_in_another_stream() {
  up(a);
  CU(cudaMemcpy(back, a, BYTES, cudaMemcpyDeviceToHost));
  CHECK(back[5] == 5);
}

static void use_a_destroyed_event() {
  cudaEvent_t e;
  CU(cudaEventCreate(&e));
  CU(cudaEventDestroy(e));
  CU(cudaEventRecord(e, stream));
}

/* ---- Mistakes in kernels */

__global__ static void half_waits() {
  if (threadIdx.x < 32) __syncthreads();
}
static void barrier_for_half_a_block() {
  LAUNCH(half_waits, 1, 64, stream);
  CU(cudaStreamSynchronize(stream));
}

__global__ static void waits_twice() {
  if (threadIdx.x < 32) __syncthreads();
  else
    __syncthreads();
}
static void barriers_at_two_places() {
  LAUNCH(waits_twice, 1, 64, stream);
  CU(cudaStreamSynchronize(stream));
}

__global__ static void half_shuffles(float *x) {
  float y = 1;
  if (threadIdx.x < 16) y = __shfl_xor_sync(0xffffffffu, y, 1);
  else __syncthreads();
  x[threadIdx.x] = y;
}
static void shuffle_for_half_a_warp() {
  LAUNCH(half_shuffles, 1, 32, stream, a);
  CU(cudaStreamSynchronize(stream));
}

__global__ static void reads_old_shared(float *x) {
  __shared__ float kept[4];
  x[threadIdx.x] = kept[threadIdx.x];
  kept[threadIdx.x] = 5;
}
static void shared_memory_of_the_block_before() {
  LAUNCH(reads_old_shared, 2, 4, stream, a);
  down(a);
  CHECK(back[0] == back[0]);
}

__global__ static void shift(float *x, int n) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 < n) x[i] = x[i + 1];
}
static void count_on_an_order() {
  up(a);
  LAUNCH(shift, 4, 32, stream, a, 128);
  down(a);
  CHECK(back[0] == 1);
}

static void start_no_block() { LAUNCH(scale, 0, 128, stream, b, a, 2, N); }

static void start_too_many_threads() {
  LAUNCH(scale, 1, 1025, stream, b, a, 2, N);
  CU(cudaGetLastError());
}

/* ---- Mistakes in captures */

static void begin() { CU(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); }

static void allocate_in_a_capture() {
  float *p;
  begin();
  CU(cudaMalloc(&p, BYTES));
}

static void wait_in_a_capture() {
  begin();
  CU(cudaStreamSynchronize(stream));
}

static void go_on_after_a_bad_capture() {
  cudaGraph_t graph;
  begin();
  cudaDeviceSynchronize();
  LAUNCH(scale, 4, 64, stream, b, a, 2, N);
  cudaGetLastError();
  CU(cudaStreamEndCapture(stream, &graph));
}

static void copy_pageable_memory_in_a_capture() {
  begin();
  up(a);
}

/* ---- Mistakes with cuBLAS: C[m,n] = A[m,4] B[4,n], batches of it */

static void product(int m, int n, int lda, long long stride, int batch, float *out) {
  float one = 1, zero = 0;
  CB(cublasGemmStridedBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, m, n, 4, &one, a, CUDA_R_32F,
                                lda, 0, a, CUDA_R_32F, 4, 0, &zero, out, CUDA_R_32F, m, stride,
                                batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static void capture_without_a_workspace() {
  open_blas();
  CB(cublasSetStream(blas, stream));
  begin();
  product(4, 4, 4, 0, 1, b);
}

static void leading_dimension_too_small() { open_blas(); product(4, 4, 3, 0, 1, b); }
static void product_past_the_end() { open_blas(); product(4, 4, 400, 0, 1, b); }
static void batches_that_overlap() { open_blas(); product(4, 4, 4, 15, 2, b); }
static void product_in_place() { open_blas(); product(4, 4, 4, 0, 1, a + 8); }

static void addresses_on_the_host() {
  float one = 1, zero = 0;
  void *x[1] = { a }, *y[1] = { b };
  open_blas();
  CB(cublasGemmBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, x, CUDA_R_32F, 4, x,
                         CUDA_R_32F, 4, &zero, y, CUDA_R_32F, 4, 1, CUBLAS_COMPUTE_32F,
                         CUBLAS_GEMM_DEFAULT));
}

static void addresses_of_the_host() {
  float one = 1, zero = 0;
  void *x[2] = { a, here }, **array;
  open_blas();
  CU(cudaMalloc(&array, sizeof x));
  CU(cudaMemcpyAsync(array, x, sizeof x, cudaMemcpyHostToDevice, stream));
  CB(cublasGemmBatchedEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, array, CUDA_R_32F, 4,
                         array, CUDA_R_32F, 4, &zero, array + 1, CUDA_R_32F, 4, 1,
                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  CU(cudaStreamSynchronize(stream));
}

/* ---- All of them */

#define RIGHT(X) \
  X(device) X(copies) X(legacy) X(kernels) X(three_dimensions) X(barriers) X(shuffles) \
  X(atomics) X(events) X(graphs) X(gemms) X(precisions) X(captured_gemm)

struct Mistake { const char *name, *setting, *words; void (*run)(); };
#define MISTAKE(name, setting, words) { #name, setting, words, name }

static const Mistake mistakes[] = {
  MISTAKE(keep_a_device_address_on_the_host, "", "host code reads at a device address"),
  MISTAKE(give_a_kernel_host_memory, "", "scale: argument 1 is .* host memory"),
  MISTAKE(give_a_kernel_pinned_memory, "", "scale: argument 2 is .* pinned host memory"),
  MISTAKE(read_past_the_end, "", "scale, thread .* reads .* past the end of 1000 bytes"),
  MISTAKE(write_past_the_end, "", "scale wrote beside 1000 bytes"),
  MISTAKE(write_before_the_start, "", "destination of the memset"),
  MISTAKE(kernel_writes_before_the_start, "", "backwards wrote beside 1000 bytes .* -4 bytes"),
  MISTAKE(use_after_free, "", "scale: argument 2 .* freed at"),
  MISTAKE(free_what_a_graph_reads, "", "scale, thread .* writes .* freed at"),
  MISTAKE(free_twice, "", "no block of its own.* freed at"),
  MISTAKE(free_a_part, "", "no block of its own"),
  MISTAKE(copy_in_the_wrong_direction, "", "destination of the copy .* host memory"),
  MISTAKE(copy_too_much, "", "destination of the copy needs 1000 bytes .* 4 into 1000 bytes"),
  MISTAKE(forget_to_free, "CUDASHIM_LEAKS=1", "leak: 1000 bytes of device memory .*selftest"),
  MISTAKE(read_fresh_memory, "", "wrong"),
  MISTAKE(keep_an_address_in_device_memory, "", "follow.* an address that was no argument"),
  MISTAKE(read_before_it_is_there, "", "wrong"),
  MISTAKE(reuse_a_buffer_too_early, "", "wrong"),
  MISTAKE(copy_in_another_stream, "", "wrong"),
  MISTAKE(use_a_destroyed_event, "", "not a live event"),
  MISTAKE(barrier_for_half_a_block, "", "barrier divergence in half_waits: .* has returned"),
  MISTAKE(barriers_at_two_places, "", "barrier divergence in waits_twice: .* but .* waits in"),
  MISTAKE(shuffle_for_half_a_warp, "", "barrier divergence in half_shuffles"),
  MISTAKE(shared_memory_of_the_block_before, "", "wrong"),
  MISTAKE(count_on_an_order, "CUDASHIM_ORDER=rev", "wrong"),
  MISTAKE(start_no_block, "", "nobody looked at the error of the launch of scale"),
  MISTAKE(start_too_many_threads, "", "invalid configuration argument"),
  MISTAKE(allocate_in_a_capture, "", "not permitted when stream is capturing"),
  MISTAKE(wait_in_a_capture, "", "not permitted when stream is capturing"),
  MISTAKE(go_on_after_a_bad_capture, "", "previous error during capture"),
  MISTAKE(copy_pageable_memory_in_a_capture, "", "not permitted when stream is capturing"),
  MISTAKE(capture_without_a_workspace, "", "captured gemm without cublasSetWorkspace"),
  MISTAKE(leading_dimension_too_small, "", "unsupported value or parameter"),
  MISTAKE(product_past_the_end, "", "A of batch 0 needs 4816 bytes"),
  MISTAKE(batches_that_overlap, "", "C overlaps itself"),
  MISTAKE(product_in_place, "", "C overlaps A or B"),
  MISTAKE(addresses_on_the_host, "", "the array of A's addresses is .* host memory"),
  MISTAKE(addresses_of_the_host, "", "C of batch 0 is .* host memory"),
};

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "list")) {
    for (const Mistake &m : mistakes) printf("%s|%s|%s\n", m.name, m.setting, m.words);
    return 0;
  }
  open_all();
  for (const Mistake &m : mistakes)
    if (!strcmp(name, m.name)) { m.run(); return 0; }
  check(!*name, "there is such a mistake", __LINE__);
#define X(program) program();
  RIGHT(X)
#undef X
  close_all();
  return 0;
}
