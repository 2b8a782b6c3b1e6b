/* cublas_v2.h - a stand-in for cuBLAS: the two gemms that edf_cuda.cu calls, checked as the
   real ones are and more, computed by plain loops in a fixed order. */

#ifndef CUDASHIM_CUBLAS_H
#define CUDASHIM_CUBLAS_H

#include <algorithm>

#include "cuda_runtime.h"

#define CUBLAS_VER_MAJOR 13

#define CUDASHIM_STATUSES(X) \
  X(SUCCESS, 0, "success") \
  X(NOT_INITIALIZED, 1, "the library was not initialized") \
  X(ALLOC_FAILED, 3, "the resource allocation failed") \
  X(INVALID_VALUE, 7, "an unsupported value or parameter was passed to the function") \
  X(ARCH_MISMATCH, 8, "the requested feature is absent from the device architecture") \
  X(MAPPING_ERROR, 11, "an access to GPU memory space failed") \
  X(EXECUTION_FAILED, 13, "the function failed to launch on the GPU") \
  X(INTERNAL_ERROR, 14, "an internal operation failed") \
  X(NOT_SUPPORTED, 15, "the functionality requested is not supported") \
  X(LICENSE_ERROR, 16, "the functionality requested requires some license")

typedef enum {
#define X(name, number, text) CUBLAS_STATUS_##name = number,
  CUDASHIM_STATUSES(X)
#undef X
} cublasStatus_t;

typedef enum { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C } cublasOperation_t;
typedef enum { CUBLAS_DEFAULT_MATH = 0, CUBLAS_PEDANTIC_MATH = 2,
               CUBLAS_TF32_TENSOR_OP_MATH = 3 } cublasMath_t;
typedef enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_PEDANTIC = 69,
               CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_64F_PEDANTIC = 71,
               CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_16BF = 75,
               CUBLAS_COMPUTE_32F_FAST_TF32 = 77 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 } cudaDataType;
typedef cudaDataType cudaDataType_t;

struct cublasContext {
  cudaStream_t stream;
  char *workspace;                           /* the program's own, or NULL */
  size_t workspace_size;
  cublasMath_t math;
};
typedef struct cublasContext *cublasHandle_t;

inline const char *cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
#define X(name, number, text) case CUBLAS_STATUS_##name: return text;
    CUDASHIM_STATUSES(X)
#undef X
  }
  return "an unknown status";
}

inline const char *cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
#define X(name, number, text) case CUBLAS_STATUS_##name: return "CUBLAS_STATUS_" #name;
    CUDASHIM_STATUSES(X)
#undef X
  }
  return "an unknown status";
}

namespace cudashim {

/* The start of every function; a code that CUDASHIM_FAIL gives is one of cuBLAS's here. */
inline cublasStatus_t enter_blas(const char *name) {
  State &s = state();
  s.count.api++;
  if (s.sticky) return CUBLAS_STATUS_EXECUTION_FAILED;
  if (no_device()) return CUBLAS_STATUS_NOT_INITIALIZED;
  return (cublasStatus_t)injected(name, CUBLAS_STATUS_EXECUTION_FAILED);
}

#define CUDASHIM_BLAS(handle, here) \
  do { \
    cublasStatus_t entered = cudashim::enter_blas(__func__); \
    if (entered != CUBLAS_STATUS_SUCCESS) return entered; \
    cudashim::must_live(handle, "cuBLAS handle", __func__, here); \
  } while (0)

} /* namespace cudashim */

CUDASHIM_API cublasStatus_t cublasCreate(cublasHandle_t *handle, cudashim::Here here = {}) {
  cublasStatus_t entered = cudashim::enter_blas(__func__);
  if (entered) return entered;
  if (cudashim::state().capture) {                       /* it allocates */
    cudashim::invalidate_capture();
    return CUBLAS_STATUS_INTERNAL_ERROR;
  }
  *handle = new cublasContext{ NULL, NULL, 0, CUBLAS_DEFAULT_MATH };
  cudashim::born(*handle, "cuBLAS handle", here);
  return CUBLAS_STATUS_SUCCESS;
}

CUDASHIM_API cublasStatus_t cublasDestroy(cublasHandle_t handle, cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  cudashim::state().live.erase(handle);
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

/* Also gives the library its own workspace back. */
CUDASHIM_API cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream,
                                      cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  cudashim::stream_of(stream, "cublasSetStream", here);
  handle->stream = stream;
  handle->workspace = NULL;
  handle->workspace_size = 0;
  return CUBLAS_STATUS_SUCCESS;
}

CUDASHIM_API cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *p, size_t size,
                                         cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  if ((size_t)p % 256) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = size ? cudashim::device_bytes(p, size, "the workspace", here) : NULL;
  handle->workspace_size = size;
  return CUBLAS_STATUS_SUCCESS;
}

CUDASHIM_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode,
                                        cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- The product   C[i,j] = alpha sum_l op(A)[i,l] op(B)[l,j] + beta C[i,j], by columns */

namespace cudashim {

struct Gemm {
  bool ta, tb;
  int m, n, k, lda, ldb, ldc, batch;
  double alpha, beta;
  int drop;                                  /* bits of a float's mantissa that do not count */
  size_t size;                               /* of a number */
  Here here;
};

/* To the nearest number with fewer bits, ties to even, as tensor cores read their operands. */
inline float rounded(float x, int drop) {
  unsigned u = bits_as<unsigned>(x);
  if (!drop || (u & 0x7f800000) == 0x7f800000) return x;
  u += (1u << (drop - 1)) - 1 + (u >> drop & 1);
  return bits_as<float>(u >> drop << drop);
}
inline double rounded(double x, int) { return x; }

#ifdef CUDASHIM_TSAN
#define CUDASHIM_LOOPS CUDASHIM_UNSEEN
#elif defined __clang__
#define CUDASHIM_LOOPS
#else
#define CUDASHIM_LOOPS __attribute__((optimize("O3")))
#endif

/* to[l, i] = from at i steps of `row` and l steps of `column` */
template <class T>
CUDASHIM_LOOPS void pack(T *to, const T *from, int rows, int columns, long long row,
                         long long column, int drop) {
  for (int l = 0; l < columns; l++)
    for (int i = 0; i < rows; i++) *to++ = rounded(from[i * row + l * column], drop);
}

enum { TALL = 256, WIDE = 4 };               /* the sums that are formed at once */

template <class T>
CUDASHIM_LOOPS void tile(T (*sum)[TALL], const T *a, const T *b, int m, int n, int k, int tall,
                         int wide) {
  for (int l = 0; l < k; l++, a += m, b += n)
    for (int j = 0; j < wide; j++) {
      T y = b[j], *s = sum[j];
      for (int i = 0; i < tall; i++) s[i] += a[i] * y;
    }
}

/* C[i,j] at c[i row + j column]; a is [k, m], b is [k, n], both dense. */
template <class T>
CUDASHIM_LOOPS void product(const Gemm &g, int m, int n, const T *a, const T *b, T *c,
                            long long row, long long column) {
  for (int j0 = 0; j0 < n; j0 += WIDE)
    for (int i0 = 0; i0 < m; i0 += TALL) {
      T sum[WIDE][TALL] = {}, alpha = (T)g.alpha, beta = (T)g.beta;
      int tall = m - i0 < TALL ? m - i0 : TALL, wide = n - j0 < WIDE ? n - j0 : WIDE;
      tile(sum, a + i0, b + j0, m, n, g.k, tall, wide);
      for (int j = 0; j < wide; j++) for (int i = 0; i < tall; i++) {
        T *to = c + (i0 + i) * row + (j0 + j) * column;
        *to = beta == 0 ? alpha * sum[j][i] : alpha * sum[j][i] + beta * *to;
      }
    }
}

template <class T> void gemm(const Gemm &g, const void *a, const void *b, void *c) {
  std::vector<T> pa((size_t)g.m * g.k), pb((size_t)g.n * g.k);
  pack(pa.data(), (const T *)a, g.m, g.k, g.ta ? g.lda : 1, g.ta ? 1 : g.lda, g.drop);
  pack(pb.data(), (const T *)b, g.n, g.k, g.tb ? 1 : g.ldb, g.tb ? g.ldb : 1, g.drop);
  if (g.m >= g.n) product(g, g.m, g.n, pa.data(), pb.data(), (T *)c, 1, g.ldc);
  else product(g, g.n, g.m, pb.data(), pa.data(), (T *)c, g.ldc, 1);
}

/* ---- Checks */

/* Rows and columns as they lie in memory. */
struct Operand { const char *name; int rows, columns, ld; };

inline size_t extent(const Operand &o, size_t size) {
  if (!o.rows || !o.columns) return 0;
  return ((size_t)(o.columns - 1) * (size_t)o.ld + (size_t)o.rows) * size;
}

inline char *operand_bytes(const Gemm &g, const Operand &o, const void *p, int b) {
  size_t n = extent(o, g.size);
  if (!n) return NULL;
  std::string what = "gemm: " + std::string(o.name) + " of batch " + std::to_string(b);
  if ((size_t)p % g.size) fatal(g.here, "%s is not aligned: %p", what.c_str(), p);
  return device_bytes(p, n, what.c_str(), g.here);
}

struct Run { char *begin, *end; bool written; };         /* columns in memory */

inline void add_runs(std::vector<Run> *runs, const Gemm &g, const Operand &o, char *p,
                     bool out) {
  if (p && o.ld == o.rows) runs->push_back(Run{ p, p + extent(o, g.size), out });
  else for (int j = 0; p && j < o.columns; j++) {
    char *begin = p + (size_t)j * (size_t)o.ld * g.size;
    runs->push_back(Run{ begin, begin + (size_t)o.rows * g.size, out });
  }
}

/* No number of C may be written twice, nor be one of A or B. */
inline void check_overlap(const Gemm &g, std::vector<Run> *runs) {
  std::sort(runs->begin(), runs->end(), [](const Run &x, const Run &y) {
    return x.begin < y.begin;
  });
  char *end = NULL, *written = NULL;                     /* the furthest so far */
  for (const Run &r : *runs) {
    if (r.begin < written || (r.written && r.begin < end))
      fatal(g.here, "gemm: C overlaps %s", r.begin < written && r.written
            ? "itself: its batches would race" : "A or B");
    end = std::max(end, r.end);
    if (r.written) written = std::max(written, r.end);
  }
}

struct Batch { std::vector<char *> a, b, c; };

inline void run_gemm(const Gemm &g, const Batch &batch) {
  for (size_t i = 0; i < batch.c.size(); i++)
    if (g.size == sizeof(float)) gemm<float>(g, batch.a[i], batch.b[i], batch.c[i]);
    else gemm<double>(g, batch.a[i], batch.b[i], batch.c[i]);
}

inline Operand operand_a(const Gemm &g) {
  return { "A", g.ta ? g.k : g.m, g.ta ? g.m : g.k, g.lda };
}
inline Operand operand_b(const Gemm &g) {
  return { "B", g.tb ? g.n : g.k, g.tb ? g.k : g.n, g.ldb };
}
inline Operand operand_c(const Gemm &g) { return { "C", g.m, g.n, g.ldc }; }

/* Everything must be where it is said to be; C must be written once. */
inline void check_batch(const Gemm &g, Batch *batch) {
  Operand a = operand_a(g), b = operand_b(g), c = operand_c(g);
  std::vector<Run> all;
  for (int i = 0; i < g.batch; i++) {
    batch->a[i] = operand_bytes(g, a, batch->a[i], i);
    batch->b[i] = operand_bytes(g, b, batch->b[i], i);
    batch->c[i] = operand_bytes(g, c, batch->c[i], i);
    add_runs(&all, g, a, batch->a[i], false);
    add_runs(&all, g, b, batch->b[i], false);
    add_runs(&all, g, c, batch->c[i], true);
  }
  check_overlap(g, &all);
}

/* Bits of the mantissa that these modes ignore: of 23, tf32 has 10 and bf16 has 7. */
inline int dropped(cublasHandle_t handle, cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_32F_FAST_16BF) return 16;
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) return 13;
  return compute == CUBLAS_COMPUTE_32F && handle->math == CUBLAS_TF32_TENSOR_OP_MATH ? 13 : 0;
}

inline bool types_fit(cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t t) {
  bool is64 = t == CUBLAS_COMPUTE_64F || t == CUBLAS_COMPUTE_64F_PEDANTIC;
  cudaDataType type = is64 ? CUDA_R_64F : CUDA_R_32F;
  return a == type && b == type && c == type && t != CUBLAS_COMPUTE_32F_FAST_16F;
}

inline bool sizes_fit(const Gemm &g) {
  return g.m >= 0 && g.n >= 0 && g.k >= 0 && g.batch >= 0 &&
         g.lda >= std::max(1, operand_a(g).rows) && g.ldb >= std::max(1, operand_b(g).rows) &&
         g.ldc >= std::max(1, g.m);
}

inline double host_number(const void *p, size_t size, const char *what, Here here) {
  bool pinned;
  host_bytes(p, size, what, here, &pinned);
  return size == sizeof(float) ? (double)*(const float *)p : *(const double *)p;
}

/* A gemm writes into its workspace: nothing else may live there. */
inline cublasStatus_t submit_gemm(cublasHandle_t handle, const char *call, const Gemm &g,
                                  std::function<Batch()> find) {
  cudaStream_t stream = stream_of(handle->stream, call, g.here);
  if (stream->graph && !handle->workspace)
    fatal(g.here, "a captured gemm without cublasSetWorkspace: %s",
          "every graph would hold a workspace of its own (cublasSetStream resets it)");
  char *workspace = handle->workspace;
  size_t used = std::min(handle->workspace_size, (size_t)4096);
  cudaError_t e = submit(stream, Op{ call, g.here, GEMM, 0, [=] {
    if (workspace) memset(workspace, 0xff, used);
    run_gemm(g, find());
  } });
  return e ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

} /* namespace cudashim */

/* ---- The two calls */

CUDASHIM_API cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void *alpha, const void *A, cudaDataType type_a, int lda, long long stride_a,
    const void *B, cudaDataType type_b, int ldb, long long stride_b, const void *beta, void *C,
    cudaDataType type_c, int ldc, long long stride_c, int batch, cublasComputeType_t compute,
    cublasGemmAlgo_t, cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  using namespace cudashim;
  size_t size = type_c == CUDA_R_64F ? 8 : 4;
  Gemm g = { ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, batch, 0, 0,
             dropped(handle, compute), size, here };
  if (!types_fit(type_a, type_b, type_c, compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!sizes_fit(g) || !alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  g.alpha = host_number(alpha, size, "gemm: alpha", here);
  g.beta = host_number(beta, size, "gemm: beta", here);
  if (!m || !n || !batch) return CUBLAS_STATUS_SUCCESS;
  Batch all;
  long long bytes = (long long)size;
  for (int b = 0; b < batch; b++) {
    all.a.push_back((char *)A + b * stride_a * bytes);
    all.b.push_back((char *)B + b * stride_b * bytes);
    all.c.push_back((char *)C + b * stride_c * bytes);
  }
  check_batch(g, &all);
  return submit_gemm(handle, "cublasGemmStridedBatchedEx", g, [all] { return all; });
}

/* The arrays of pointers are read when the gemm runs. */
CUDASHIM_API cublasStatus_t cublasGemmBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void *alpha, const void *const A[], cudaDataType type_a, int lda,
    const void *const B[], cudaDataType type_b, int ldb, const void *beta, void *const C[],
    cudaDataType type_c, int ldc, int batch, cublasComputeType_t compute, cublasGemmAlgo_t,
    cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  using namespace cudashim;
  size_t size = type_c == CUDA_R_64F ? 8 : 4;
  Gemm g = { ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, lda, ldb, ldc, batch, 0, 0,
             dropped(handle, compute), size, here };
  if (!types_fit(type_a, type_b, type_c, compute)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!sizes_fit(g) || !alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  g.alpha = host_number(alpha, size, "gemm: alpha", here);
  g.beta = host_number(beta, size, "gemm: beta", here);
  if (!m || !n || !batch) return CUBLAS_STATUS_SUCCESS;
  size_t bytes = (size_t)batch * sizeof(void *);
  char **a = (char **)device_bytes(A, bytes, "gemm: the array of A's addresses", here);
  char **b = (char **)device_bytes(B, bytes, "gemm: the array of B's addresses", here);
  char **c = (char **)device_bytes(C, bytes, "gemm: the array of C's addresses", here);
  return submit_gemm(handle, "cublasGemmBatchedEx", g, [=] {
    Batch all = { { a, a + batch }, { b, b + batch }, { c, c + batch } };
    check_batch(g, &all);
    return all;
  });
}

#endif /* CUDASHIM_CUBLAS_H */
