/* cublas_v2.h - emulates cuBLAS: the two gemms that edf_cuda.cu calls, checked as the real ones
   are and more, computed by plain loops in a fixed order. */
#ifndef CUDASHIM_CUBLAS_H
#define CUDASHIM_CUBLAS_H

#include <algorithm>

#include "cuda_runtime.h"

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T } cublasOperation_t;
typedef enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70,
               CUBLAS_COMPUTE_32F_FAST_16BF = 75,
               CUBLAS_COMPUTE_32F_FAST_TF32 = 77 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1 } cublasGemmAlgo_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_64F = 1 } cudaDataType;
typedef cudaDataType cudaDataType_t;

struct cublasContext {
  cudaStream_t stream;
  char *workspace;                           /* the program's own, or NULL                    */
  size_t workspace_size;
};
typedef struct cublasContext *cublasHandle_t;

inline const char *cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "success" : "an error";
}

/* The start of every function. */
#define CUDASHIM_BLAS(handle, here) \
  do { \
    cudashim::state().count.api++; \
    if (cudashim::injected(__func__)) return CUBLAS_STATUS_EXECUTION_FAILED; \
    if (handle) cudashim::must_live(handle, "cuBLAS handle", __func__, here); \
  } while (0)

CUDASHIM_API cublasStatus_t cublasCreate(cublasHandle_t *handle, cudashim::Here here = {}) {
  CUDASHIM_BLAS((void *)NULL, here);
  *handle = new cublasContext{ NULL, NULL, 0 };
  cudashim::born(*handle, "cuBLAS handle", here);
  return CUBLAS_STATUS_SUCCESS;
}
CUDASHIM_API cublasStatus_t cublasDestroy(cublasHandle_t handle, cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  cudashim::state().live.erase(handle);
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
/* This also gives the library its own workspace back. */
CUDASHIM_API cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream,
                                            cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  *handle = { cudashim::live_stream(stream, "cublasSetStream", here), NULL, 0 };
  return CUBLAS_STATUS_SUCCESS;
}
CUDASHIM_API cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *p, size_t size,
                                               cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  if ((size_t)p % 256) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = cudashim::device_bytes(p, size, "the workspace", here);
  handle->workspace_size = size;
  return CUBLAS_STATUS_SUCCESS;
}

/* ---- The product   C[i,j] = alpha sum_l op(A)[i,l] op(B)[l,j] + beta C[i,j], by columns */
namespace cudashim {

struct Gemm {
  int ta;
  int tb;
  int m;
  int n;
  int k;
  int lda;
  int ldb;
  int ldc;
  int batch;
  double alpha;
  double beta;
  size_t size;                               /* of a number                                   */
  Here here;
  int at_16;                                 /* 1 if each matrix has to be at 16 bytes        */
};

#ifdef __clang__
#define CUDASHIM_LOOPS
#else
#define CUDASHIM_LOOPS __attribute__((optimize("O3")))
#endif

template <class T>
CUDASHIM_LOOPS void gemm(const Gemm &g, const T *a, const T *b, T *c) {
  std::vector<T> sum((size_t)g.m), column((size_t)g.m * g.k);
  for (int l = 0; l < g.k; l++)
    for (int i = 0; i < g.m; i++)
      column[(size_t)l * g.m + i] = a[g.ta ? l + (size_t)i * g.lda : i + (size_t)l * g.lda];
  for (int j = 0; j < g.n; j++) {
    std::fill(sum.begin(), sum.end(), (T)0);
    for (int l = 0; l < g.k; l++) {
      T y = b[g.tb ? j + (size_t)l * g.ldb : l + (size_t)j * g.ldb];
      const T *x = &column[(size_t)l * g.m];
      for (int i = 0; i < g.m; i++) sum[i] += x[i] * y;
    }
    for (int i = 0; i < g.m; i++) {
      T *to = c + i + (size_t)j * g.ldc;
      *to = (T)g.alpha * sum[i] + (g.beta == 0 ? 0 : (T)g.beta * *to);
    }
  }
}

/* ---- Checks: everything is where it is said to be, and no number of C is written twice, or is
   also one of A or B. */
struct Run {
  char *begin;
  char *end;
  int written;
};

/* Adds the columns of a matrix in memory. */
inline char *add_runs(std::vector<Run> *runs, const Gemm &g, const char *name, const void *p,
                      int rows, int columns, int ld) {
  std::string what = "gemm: matrix " + std::string(name);
  size_t n = ((size_t)(columns - 1) * (size_t)ld + (size_t)rows) * g.size;
  char *at = device_bytes(p, n, what.c_str(), g.here);
  if ((size_t)p % g.size || (g.at_16 && !is_at_16(p)))
    fatal(g.here, "%s is not aligned: %p", what.c_str(), p);
  for (int j = 0; j < columns; j++) {
    char *begin = at + (size_t)j * (size_t)ld * g.size;
    runs->push_back(Run{ begin, begin + (size_t)rows * g.size, *name == 'C' });
  }
  return at;
}

struct Batch {
  std::vector<char *> a;
  std::vector<char *> b;
  std::vector<char *> c;
};

inline void check_batch(const Gemm &g, Batch *all) {
  std::vector<Run> runs;
  char *end = NULL, *written = NULL;         /* the furthest so far                           */
  for (size_t i = 0; i < all->c.size(); i++) {
    all->a[i] = add_runs(&runs, g, "A", all->a[i], g.ta ? g.k : g.m, g.ta ? g.m : g.k, g.lda);
    all->b[i] = add_runs(&runs, g, "B", all->b[i], g.tb ? g.n : g.k, g.tb ? g.k : g.n, g.ldb);
    all->c[i] = add_runs(&runs, g, "C", all->c[i], g.m, g.n, g.ldc);
  }
  std::sort(runs.begin(), runs.end(), [](const Run &x, const Run &y) {
    return x.begin < y.begin;
  });
  for (const Run &r : runs) {
    if (r.begin < written || (r.written && r.begin < end))
      fatal(g.here, "gemm: C overlaps itself, or A or B");
    end = std::max(end, r.end);
    if (r.written) written = std::max(written, r.end);
  }
}

/* A gemm writes into its workspace: nothing else may be there. */
inline cublasStatus_t submit_gemm(cublasHandle_t handle, const Gemm &g,
                                  std::function<Batch()> find) {
  cublasContext h = *handle;
  if (h.stream->graph && !h.workspace)
    fatal(g.here, "a captured gemm without cublasSetWorkspace: every graph would hold a "
          "workspace of its own (cublasSetStream resets it)");
  cudaError_t e = submit(h.stream, Op{ "gemm", g.here, GEMM, 0, [=] {
    Batch all = find();
    check_batch(g, &all);
    if (h.workspace) memset(h.workspace, 0xff, std::min(h.workspace_size, (size_t)PAGE));
    for (size_t i = 0; i < all.c.size(); i++)
      if (g.size == 4) gemm(g, (float *)all.a[i], (float *)all.b[i], (float *)all.c[i]);
      else gemm(g, (double *)all.a[i], (double *)all.b[i], (double *)all.c[i]);
  } });
  return e ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* Completes g. Every precision is computed in fp32, or in double. */
inline cublasStatus_t check_gemm(Gemm *g, const void *alpha, const void *beta, cudaDataType a,
                                 cudaDataType b, cudaDataType c, cublasComputeType_t t) {
  cudaDataType type = t == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F;
  int steps_fit = g->lda >= (g->ta ? g->k : g->m) && g->ldb >= (g->tb ? g->n : g->k) &&
                  g->ldc >= g->m;
  int is_float = type == CUDA_R_32F;
  if (a != type || b != type || c != type) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!steps_fit || g->m < 1 || g->n < 1 || g->k < 1 || g->batch < 1)
    return CUBLAS_STATUS_INVALID_VALUE;
  g->size = is_float ? 4 : 8;
  g->alpha = is_float ? (double)*(const float *)alpha : *(const double *)alpha;
  g->beta = is_float ? (double)*(const float *)beta : *(const double *)beta;
  return CUBLAS_STATUS_SUCCESS;
}

} /* namespace cudashim */

CUDASHIM_API cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void *alpha, const void *A, cudaDataType type_a, int lda, long long stride_a,
    const void *B, cudaDataType type_b, int ldb, long long stride_b, const void *beta, void *C,
    cudaDataType type_c, int ldc, long long stride_c, int batch, cublasComputeType_t compute,
    cublasGemmAlgo_t, cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  cudashim::Gemm g = { ta, tb, m, n, k, lda, ldb, ldc, batch, 0, 0, 0, here, 0 };
  cublasStatus_t status = cudashim::check_gemm(&g, alpha, beta, type_a, type_b, type_c,
                                               compute);
  cudashim::Batch all;
  if (stride_a < 0 || stride_b < 0 || stride_c < 0) return CUBLAS_STATUS_INVALID_VALUE;
  for (int b = 0; !status && b < batch; b++) {
    long long bytes = (long long)g.size * b;
    all.a.push_back((char *)A + stride_a * bytes);
    all.b.push_back((char *)B + stride_b * bytes);
    all.c.push_back((char *)C + stride_c * bytes);
  }
  return status ? status : cudashim::submit_gemm(handle, g, [all] { return all; });
}

/* The arrays of addresses are read when the gemm runs. tf32 and bf16 want 16-byte addresses. */
CUDASHIM_API cublasStatus_t cublasGemmBatchedEx(
    cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
    const void *alpha, const void *const A[], cudaDataType type_a, int lda,
    const void *const B[], cudaDataType type_b, int ldb, const void *beta, void *const C[],
    cudaDataType type_c, int ldc, int batch, cublasComputeType_t compute, cublasGemmAlgo_t,
    cudashim::Here here = {}) {
  CUDASHIM_BLAS(handle, here);
  cudashim::Gemm g = { ta, tb, m, n, k, lda, ldb, ldc, batch, 0, 0, 0, here, 0 };
  cublasStatus_t status = cudashim::check_gemm(&g, alpha, beta, type_a, type_b, type_c,
                                               compute);
  if (status) return status;
  size_t bytes = (size_t)batch * sizeof(void *);
  char **a = (char **)cudashim::device_bytes(A, bytes, "gemm: the addresses of A", here);
  char **b = (char **)cudashim::device_bytes(B, bytes, "gemm: the addresses of B", here);
  char **c = (char **)cudashim::device_bytes(C, bytes, "gemm: the addresses of C", here);
  int at_16 = cudashim::is_at_16(A) && cudashim::is_at_16(B) && cudashim::is_at_16(C);
  if (!at_16) return CUBLAS_STATUS_NOT_SUPPORTED;
  g.at_16 = compute == CUBLAS_COMPUTE_32F_FAST_16BF || compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  return cudashim::submit_gemm(handle, g, [=] {
    return cudashim::Batch{ { a, a + batch }, { b, b + batch }, { c, c + batch } };
  });
}

#endif /* CUDASHIM_CUBLAS_H */
