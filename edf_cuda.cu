/* edf_cuda.cu - runs edf.h 4.0 on an NVIDIA GPU. Link edf_cuda.o to a program, and its nodes
   run through CUDA and cuBLAS. The program does not change.

     nvcc -std=c++17 -O3 -c edf_cuda.cu        or: make build/edf_cuda.o
     cc train.o edf_cuda.o -L/usr/local/cuda/lib64 -lcublas -lcudart -lstdc++ -lm

   How it works. edf.h calls a table of six functions, `edf_device`, in place of its own loops.
   Here each node has a twin. The twin holds the arrays of the node on the GPU, and knows on
   which side each array is right. A matrix product is one gemm of cuBLAS. All other sums run
   through one kernel, mostly in its short form. The other nodes have a line with their
   formulas, or a kernel for rows. A node without a kernel runs in C, between two copies. When
   the same Forward or Backward comes for the second time, it is recorded as a CUDA graph. From
   then on it is one launch. No sum depends on the order in which threads run, so two runs have
   the same bits. If a host array is older than the array on the GPU, it begins with NaN. So a
   forgotten edf_value shows.

   Environment       default
     EDF_DEVICE        auto    cpu: uses no GPU; cuda: stops if there is no GPU
     EDF_PRECISION     fp32    of matrix products: fp32, tf32 or bf16. The last two round the
                               operands, and sum in fp32.
     EDF_GRAPHS        1       0: records nothing. CUDA_LAUNCH_BLOCKING=1, a variable of
                               CUDA's, then lets an error name the kernel.

   Contents: search for >>errors, >>memory, >>sums, >>products, >>maxima, >>entries, >>rows,
   >>lookups, >>updates, >>passes, >>open.

   License: as edf.h. */
#define EDF_NO_SHORT_NAMES
#include "edf/slide.h"
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

/* A program without slides does not have these functions. */
extern "C" edf_contraction *edf_contraction_of(const edf_node *y) __attribute__((weak));
extern "C" edf_window edf_window_of(edf_node *y) __attribute__((weak));
extern "C" int edf_row_dims(const edf_node *y) __attribute__((weak));
extern "C" int edf_row_is_causal(const edf_node *y) __attribute__((weak));

#ifndef LAUNCH                           /* The tests have a macro of their own.              */
#define LAUNCH(kernel, grid, block, stream, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#endif

typedef edf_real real;
typedef unsigned long long u64;
enum { THREADS = 256, MOST_THREADS = 1024, WARP = 32, MOST_LOOPS = EDF_MAX_INDEX };

/* ==== >>errors ============================================================================ */

static struct {
  int graphs;                            /* EDF_GRAPHS                                        */
  int recording;                         /* 1 while launches go into a graph                  */
  int collecting;                        /* 1 while updates are collected                     */
  int processors;
  cudaStream_t stream;                   /* Everything runs on it, in order.                  */
  cublasHandle_t blas;
  void *workspace;                       /* of cuBLAS                                         */
  cublasComputeType_t compute;
  const char *precision;
  char *ring;                            /* pinned memory                                     */
  size_t ring_used;
  u64 ring_turn;
  cudaEvent_t ring_sent;                 /* after the last copy from the ring                 */
  u64 draws_sent[2];                     /* edf.seed and edf.draws, for Dropout               */
  cudaMemPool_t pool;
} gpu;

/* Raises an error with the node that runs, without another call of CUDA. */
[[noreturn]] static void fail(const char *format, ...) {
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  gpu.recording = gpu.collecting = 0;
  if (!edf.direction || edf.at < 0 || edf.at >= edf.n_compnodes) edf_stop("edf: %s", text);
  const edf_node *y = edf.compnodes[edf.at];
  edf_stop("edf: %s\n  in %s of %s, built at %s:%d", text,
           edf.direction > 0 ? "forward" : "backward", y->name, y->file, y->line);
}

static void cuda_check(cudaError_t error, const char *call, int line) {
  const char *why = cudaGetErrorString(error);
  if (error != cudaSuccess) fail("%s failed (edf_cuda.cu:%d): %s", call, line, why);
}
static void blas_check(cublasStatus_t status, const char *call, int line) {
  const char *why = cublasGetStatusString(status);
  if (status != CUBLAS_STATUS_SUCCESS) fail("%s failed (edf_cuda.cu:%d): %s", call, line, why);
}
#define CU(call) cuda_check(call, #call, __LINE__)
#define CB(call) blas_check(call, #call, __LINE__)

/* GRID launches any grid. RUN launches threads for n things; the kernel loops by EACH(i, n). An
   error of the launch shows here. An error inside the kernel shows at a later call. */
#define GRID(kernel, grid, block, ...) \
  (LAUNCH(kernel, grid, block, gpu.stream, __VA_ARGS__), \
   cuda_check(cudaGetLastError(), #kernel, __LINE__))
#define RUN(kernel, n, ...) GRID(kernel, blocks_for(n), THREADS, __VA_ARGS__)
#define EACH(i, n) \
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); \
  i += (size_t)gridDim.x * blockDim.x

static unsigned blocks_for(size_t n) {
  return (unsigned)std::clamp<size_t>((n + THREADS - 1) / THREADS, 1, 16384);
}

/* ==== >>memory  The arrays of a node on the GPU ============================================

   An array keeps its address until its node is cleared or needs more room. Then all recordings
   are dropped, since they have the address. */
struct array {
  real *at;
  size_t bytes;
  char host_is_old;
  char gpu_is_right;
};
enum { ARRAYS = EDF_S + 1 };
struct twin {
  void (*run)(edf_node *y, int backward);            /* the kernel of a node, or NULL         */
  array of[ARRAYS];                      /* by edf_which                                      */
  array own;                             /* what a kernel's forward keeps for its backward    */
  std::vector<char> own_copy;            /* on the host, while a call that looks runs passes  */
  const char *sent;                      /* the data of an Input that the GPU has, in the     */
  size_t sent_bytes;                     /* ring, until it begins its next turn               */
  u64 sent_in;
};
static std::unordered_map<edf_node *, twin> twins;

static void note_written(edf_node *x, int which);
static void drop_recordings(void);
static void flush_updates(void);

/* Returns 1 for the data of an Input. A pass sends them. */
static int is_data(const edf_node *x, int which) {
  return which == EDF_VALUE && x->kind == EDF_INPUT;
}

static real *host_of(const edf_node *x, int which) {
  real *const arrays[ARRAYS] = { x->value, x->grad, x->m, x->s };
  return arrays[which];
}

static void release(array *a) {
  if (a->at) {
    drop_recordings();
    CU(cudaFreeAsync(a->at, gpu.stream));
  }
  *a = array();
}

/* Gives an array at least so many bytes. If it has to grow, its contents are lost. */
static real *make_room(array *a, size_t bytes) {
  if (a->bytes >= bytes) return a->at;
  release(a);
  if (gpu.recording) fail("a step that is being recorded asks for memory: EDF_GRAPHS=0");
  CU(cudaMallocAsync((void **)&a->at, bytes, gpu.stream));
  a->bytes = bytes;
  return a->at;
}

static array *array_of(edf_node *x, int which) {
  array *a = &twins[x].of[which];
  flush_updates();
  make_room(a, x->size * sizeof(real));
  return a;
}

/* Copies bytes to the GPU. The caller may overwrite them when this function returns. CUDA does
   not promise that for pageable memory, so the bytes go through a ring of pinned memory.
   Returns where they are in the ring, or NULL if they did not fit at once. */
enum { RING = 8 << 20 };

static const char *send(void *to, const void *from, size_t bytes) {
  const char *part = NULL;
  if (gpu.recording) fail("a step that is being recorded asks for a copy: EDF_GRAPHS=0");
  for (size_t done = 0, n; done < bytes; done += n) {
    n = bytes - done < RING ? bytes - done : (size_t)RING;
    if (gpu.ring_used + n > RING) {
      CU(cudaEventSynchronize(gpu.ring_sent));
      gpu.ring_used = 0;
      gpu.ring_turn++;
    }
    part = gpu.ring + gpu.ring_used;
    memcpy(gpu.ring + gpu.ring_used, (const char *)from + done, n);
    CU(cudaMemcpyAsync((char *)to + done, part, n, cudaMemcpyHostToDevice, gpu.stream));
    CU(cudaEventRecord(gpu.ring_sent, gpu.stream));
    gpu.ring_used += (n + 255) / 256 * 256;
  }
  return bytes <= RING ? part : NULL;
}

static void fetch(void *to, const void *from, size_t bytes) {
  CU(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu.stream));
  CU(cudaStreamSynchronize(gpu.stream));
}

/* ---- Kernels get the address of an array that they read, or write. `whole` is 1 if they need
   nothing of its contents. */
static real *to_read(edf_node *x, int which) {
  array *a = array_of(x, which);
  twin *t = &twins[x];
  if (a->gpu_is_right) return a->at;
  size_t bytes = x->size * sizeof(real);
  const char *sent = send(a->at, host_of(x, which), bytes);
  if (is_data(x, which)) {
    t->sent = sent;
    t->sent_bytes = bytes;
    t->sent_in = gpu.ring_turn;
  }
  a->gpu_is_right = 1;
  return a->at;
}

/* From now on the GPU's array is newer. The host's begins with NaN. */
static void mark_written(edf_node *x, int which) {
  array *a = &twins[x].of[which];
  size_t bytes = std::min(x->size * sizeof(real), (size_t)4096);
  if (!a->host_is_old && host_of(x, which)) memset((void *)host_of(x, which), 0xff, bytes);
  a->host_is_old = 1;
  a->gpu_is_right = 1;
}
static real *to_write(edf_node *x, int which, int whole) {
  array *a = array_of(x, which);
  if (!whole) to_read(x, which);
  mark_written(x, which);
  note_written(x, which);
  return a->at;
}

static real *value_of(edf_node *x) { return to_read(x, EDF_VALUE); }
static real *dy_of(edf_node *y) { return to_read(y, EDF_GRAD); }
static real *result_of(edf_node *y) { return to_write(y, EDF_VALUE, 1); }

/* Returns the gradient that a kernel adds to. If *assign is 1, the gradient counts as 0, and
   the kernel has to write every entry. */
static real *grad_of(edf_node *x, int *assign) {
  *assign = x->grad_is_zero;
  x->grad_is_zero = 0;
  return to_write(x, EDF_GRAD, *assign);
}

static void *own(edf_node *y, size_t bytes) { return make_room(&twins[y].own, bytes); }

/* Scratch memory is for one node after the other. */
enum { PANEL_OUT, PANEL_A, PANEL_B, PARTIAL, POINTERS, DRAWS, SCRATCHES };
static array scratches[SCRATCHES];

static void *scratch(int which, size_t bytes) {
  return make_room(&scratches[which], bytes + (1 << 16));
}

/* ==== >>sums  out[..] += alpha a[..] b[..] by one kernel ===================================

   Outer loops are the loops that out has. The other loops are summed. A block has `wide`
   entries of out beside each other, and several threads for each entry, which share its sum. So
   copies, broadcasts, biases and their gradients, dot products and means are all this kernel.

   Two loops may write the same entries, as i and d in out[2 i + d]. They become an outer loop
   over the position p = 2 i + d, and a summed loop over d. A guard skips each d for which there
   is no i, that is (p - d) / 2. So one entry of out has one thread, and no two write it. */
struct guard {
  int p;                                 /* the loop over the position                        */
  int d;                                 /* the loop that is summed                           */
  unsigned of_p;                         /* of_p i = position - of_d d                        */
  unsigned of_d;
  unsigned n;                            /* size of i                                         */
  ptrdiff_t s[3];                        /* strides of i                                      */
};
struct nest {
  edf_nest t;                            /* slow loops first                                  */
  int assign;
  unsigned wide;
  size_t outs;                           /* steps of the outer loops                          */
  size_t terms;                          /* steps of the summed loops                         */
  int n_guard;
  guard g[MOST_LOOPS];
};

/* Adds the offsets of step i of the outer loops, or of the summed loops, to at[]. Writes the
   number of each of these loops, unless `number` is NULL. */
__device__ static void walk(const edf_nest &t, int outer, size_t i, ptrdiff_t at[3],
                            unsigned *number) {
  unsigned rest = (unsigned)i;
  for (int k = t.n - 1; k >= 0; k--) {
    const edf_loop &l = t.loop[k];
    if ((l.s[EDF_OUT] != 0) != outer) continue;
    unsigned r = rest % (unsigned)l.n;
    rest /= (unsigned)l.n;
    for (int x = 0; x < 3; x++) at[x] += (ptrdiff_t)r * l.s[x];
    if (number) number[k] = r;
  }
}

/* Adds the offsets of term i of entry o to at[]. Returns 0 if a guard skips the term. A loop
   that a guard has split may be the position of an earlier guard. */
__device__ static int find_term(const nest &k, size_t o, size_t i, ptrdiff_t at[3]) {
  unsigned number[MOST_LOOPS];
  ptrdiff_t ignored[3] = { 0, 0, 0 };
  walk(k.t, 0, i, at, k.n_guard ? number : NULL);
  if (k.n_guard) walk(k.t, 1, o, ignored, number);
  for (int j = k.n_guard - 1; j >= 0; j--) {
    const guard &g = k.g[j];
    ptrdiff_t left = (ptrdiff_t)number[g.p] - (ptrdiff_t)number[g.d] * g.of_d;
    if (left < 0 || left % g.of_p || left / g.of_p >= g.n) return 0;
    number[g.p] = (unsigned)(left / g.of_p);
    for (int x = 0; x < 3; x++) at[x] += number[g.p] * g.s[x];
  }
  return 1;
}

/* Adds to an entry, or writes it. */
__device__ static void put(real *to, real v, int assign) { *to = v + (assign ? 0 : *to); }

/* Adds up the numbers v of all threads with the same threadIdx.x % wide. Each gets the sum.
   sums[] is shared memory, with an entry for each thread. */
template <class T> __device__ T block_sum(T *sums, T v, unsigned wide) {
  __syncthreads();                       /* Now all have read the sum before.                 */
  sums[threadIdx.x] = v;
  for (unsigned half = blockDim.x / 2; half >= wide; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[threadIdx.x % wide];
}

/* If a or b is NULL, there is no such factor. In the gradient of a maximum the offset in b is
   the number of an entry in its window. The term counts only if that entry is the winner. This
   number begins at start[EDF_B], which is not 0 if a loop runs backwards. */
__global__ static void __launch_bounds__(THREADS)
sum_kernel(real *out, const real *a, const real *b, const int *winner, nest k) {
  __shared__ real shared[THREADS];
  unsigned column = threadIdx.x % k.wide, row = threadIdx.x / k.wide;
  unsigned rows = blockDim.x / k.wide;
  size_t o = (size_t)blockIdx.x * k.wide + column;
  ptrdiff_t base[3] = { 0, 0, winner ? k.t.start[EDF_B] : 0 };
  real sum = 0;
  if (o < k.outs) walk(k.t, 1, o, base, NULL);
  for (size_t i = row; o < k.outs && i < k.terms; i += rows) {
    ptrdiff_t at[3] = { base[0], base[1], base[2] };
    if (!find_term(k, o, i, at)) continue;
    if (winner && winner[at[EDF_A]] != at[EDF_B]) continue;
    real x = a ? a[at[EDF_A]] : 1;
    sum += b ? x * b[at[EDF_B]] : x;
  }
  if (rows > 1) sum = block_sum(shared, sum, k.wide);
  if (o >= k.outs || row > 0) return;
  put(&out[base[EDF_OUT]], k.t.alpha * sum, k.assign);
}

/* Turns the loops l[i] and l[d] into a position, in place of i, and a summed loop d. */
static guard split(edf_loop *l, int i, int d) {
  unsigned si = (unsigned)l[i].s[EDF_OUT], sd = (unsigned)l[d].s[EDF_OUT];
  unsigned unit = std::gcd(si, sd);
  guard g = { i, d, si / unit, sd / unit, (unsigned)l[i].n,
              { 0, l[i].s[EDF_A], l[i].s[EDF_B] } };
  ptrdiff_t last = (l[i].n - 1) * (ptrdiff_t)g.of_p + (l[d].n - 1) * (ptrdiff_t)g.of_d;
  l[i] = { last + 1, { (ptrdiff_t)unit, 0, 0 }, NULL };
  l[d].s[EDF_OUT] = 0;
  return g;
}

/* Returns 1 if loop i is the position of a guard, which needs the number of the whole loop. */
static int is_position(const nest *k, int i) {
  int found = 0;
  for (int j = 0; j < k->n_guard; j++) found |= k->g[j].p == i;
  return found;
}

/* Splits outer loops until each stride is longer than the reach of all shorter ones. */
static void keep_apart(nest *k) {
  int placed[MOST_LOOPS], n = 0;
  ptrdiff_t reach[MOST_LOOPS + 1] = { 0 };           /* of the first loops that are placed    */
  edf_loop *l = k->t.loop;
  for (int i = k->t.n - 1; i >= 0; i--) {
    if (!l[i].s[EDF_OUT]) continue;
    while (n && l[i].s[EDF_OUT] <= reach[n]) {
      int d = placed[--n];
      ptrdiff_t part = std::gcd(l[i].s[EDF_OUT] / l[d].s[EDF_OUT], l[d].n);
      if (part > 1 && part < l[d].n && k->t.n < MOST_LOOPS && !is_position(k, d)) {
        edf_loop *inner = &l[k->t.n];    /* edf.h has fused two loops: only one is split.     */
        *inner = l[d];
        inner->n = part;
        l[d].n /= part;
        for (int x = 0; x < 3; x++) l[d].s[x] *= part;
        reach[n + 1] = reach[n] + (part - 1) * inner->s[EDF_OUT];
        placed[n++] = k->t.n++;
      }
      k->g[k->n_guard++] = split(l, i, d);
    }
    reach[n + 1] = reach[n] + (l[i].n - 1) * l[i].s[EDF_OUT];
    placed[n++] = i;
  }
}

static nest nest_of(edf_nest t, int assign) {
  nest k;
  memset((void *)&k, 0, sizeof k);
  std::stable_sort(t.loop, t.loop + t.n, [](const edf_loop &l, const edf_loop &m) {
    ptrdiff_t s = l.s[EDF_OUT] - m.s[EDF_OUT];
    return s ? s > 0 : std::abs(l.s[EDF_A]) > std::abs(m.s[EDF_A]);
  });
  k.t = t;
  k.assign = assign;
  keep_apart(&k);
  k.outs = k.terms = 1;
  for (const edf_loop *l = k.t.loop; l < k.t.loop + k.t.n; l++)
    *(l->s[EDF_OUT] ? &k.outs : &k.terms) *= (size_t)l->n;
  if ((double)k.outs > UINT_MAX || (double)k.terms > UINT_MAX)
    fail("a sum is too large: %zu entries of %zu terms", k.outs, k.terms);
  return k;
}

/* Returns 1 if neighbours in the outer (or summed) loops are neighbours in a or b. */
static int reads_neighbours(const nest &k, int outer) {
  int i = k.t.n - 1;
  while (i >= 0 && (k.t.loop[i].s[EDF_OUT] != 0) != outer) i--;
  return i >= 0 && (k.t.loop[i].s[EDF_A] == 1 || k.t.loop[i].s[EDF_B] == 1);
}

/* Returns how many entries of out a block has. Neighbouring threads should read neighbours. But
   if there are few entries with long sums, each processor should have a block. */
static unsigned width_of(const nest &k) {
  unsigned wide = k.terms >= 128 ? 1 : 8;
  if (k.terms < 8) return THREADS;
  if (reads_neighbours(k, 1) || !reads_neighbours(k, 0)) wide = WARP;
  while (wide > 1 && k.terms > 1024 && k.outs / wide < (size_t)gpu.processors) wide /= 2;
  return wide;
}

/* ---- The same kernel with the loops in registers, for at most 6 outer and 3 summed loops,
   whose offsets are below 2^31. A product and a shift take the place of a division: x / n is
   (x magic / 2^32 + x) / 2^shift for x < 2^31. A guard is one more stride of the loops: the
   position, less of_d times the step of d. */
struct divisor { unsigned n, magic, shift; };
struct short_loop { divisor by; int s[3], left[2]; };
struct short_nest {
  short_loop outer[6], inner[3];         /* from [0], the slowest                             */
  unsigned outs, terms, part;            /* blockIdx.y adds up one part of the terms          */
  unsigned wide, shift;                  /* wide is 2^shift                                   */
  int assign, first_b;                   /* first_b: the number of a window's first entry     */
  real alpha;
  struct { divisor of_p; unsigned n; int s[3]; } guard[2];
};

static divisor divisor_of(unsigned n) {
  divisor d = { n, 0, 0 };
  while ((1ull << d.shift) < n) d.shift++;
  d.magic = (unsigned)((((1ull << d.shift) - n) << 32) / n + 1);
  return d;
}
__device__ static unsigned divide(unsigned x, const divisor &d) {
  return (__umulhi(x, d.magic) + x) >> d.shift;
}

template <int N, int GUARDS>
__device__ void walk_short(const short_loop *l, unsigned i, int at[3], int left[2]) {
  for (int k = N - 1; k >= 0; k--) {
    unsigned rest = k ? divide(i, l[k].by) : 0;
    int r = (int)(i - rest * l[k].by.n);
    i = rest;
    for (int x = 0; x < 3; x++) at[x] += r * l[k].s[x];
    for (int g = 0; g < GUARDS; g++) left[g] += r * l[k].left[g];
  }
}

/* A template has no shared memory in the emulation. */
__device__ static real *shared_numbers(void) {
  __shared__ real shared[MOST_THREADS];
  return shared;
}

/* SHAPE has three digits: the outer loops, the summed loops, and the guards. */
template <int SHAPE> __global__ void __launch_bounds__(MOST_THREADS)
short_sum_kernel(real *out, const real *a, const real *b, const int *winner, short_nest k) {
  const int OUTER = SHAPE / 100, INNER = SHAPE / 10 % 10, GUARDS = SHAPE % 10;
  unsigned o = threadIdx.x + blockIdx.x * THREADS, row = 0, rows = 1;
  if (INNER) {
    o = blockIdx.x * k.wide + (threadIdx.x & (k.wide - 1));
    row = threadIdx.x >> k.shift;
    rows = blockDim.x >> k.shift;
  }
  unsigned first = blockIdx.y * k.part, last = first + k.part;
  int base[3] = { 0, 0, k.first_b }, base_left[2] = { 0, 0 };
  real sum = 0;
  if (o < k.outs) walk_short<OUTER, GUARDS>(k.outer, o, base, base_left);
  if (last > k.terms) last = k.terms;
  for (unsigned i = first + row; o < k.outs && i < last; i += rows) {
    int at[3] = { base[0], base[1], base[2] }, left[2] = { base_left[0], base_left[1] };
    int keep = 1;
    walk_short<INNER, GUARDS>(k.inner, i, at, left);
    for (int g = 0; g < GUARDS; g++) {
      unsigned q = divide((unsigned)left[g], k.guard[g].of_p);
      keep &= left[g] >= 0 && q * k.guard[g].of_p.n == (unsigned)left[g] && q < k.guard[g].n;
      for (int x = 0; x < 3; x++) at[x] += (int)q * k.guard[g].s[x];
    }
    if (!keep || (INNER && winner && winner[at[EDF_A]] != at[EDF_B])) continue;
    real x = a ? a[at[EDF_A]] : 1;
    sum += b ? x * b[at[EDF_B]] : x;
    if (!INNER) break;                   /* There is one term.                                */
  }
  if (INNER && rows > 1) sum = block_sum(shared_numbers(), sum, k.wide);
  if (o >= k.outs || row > 0) return;
  if (gridDim.y > 1) out[(size_t)blockIdx.y * k.outs + o] = sum;
  else put(&out[base[EDF_OUT]], k.alpha * sum, k.assign);
}

/* Adds a loop in front of n others. */
static void add_short(short_loop *to, int n, const edf_loop &l) {
  memmove((void *)(to + 1), to, (size_t)n * sizeof *to);
  *to = { divisor_of((unsigned)l.n), { (int)l.s[0], (int)l.s[1], (int)l.s[2] }, { 0, 0 } };
}

/* Writes k in its short form. Returns its shape, or 0 if it has none. */
static int shorten(const nest &k, int has_winner, int first_b, short_nest *f) {
  const edf_loop none = { 1, { 0, 0, 0 }, NULL };
  ptrdiff_t reach[3] = { 0, 0, 0 };
  int n[2] = { 0, 0 }, guards = k.n_guard ? 2 : 0;
  memset((void *)f, 0, sizeof *f);
  for (int i = k.t.n - 1; i >= 0; i--) {
    const edf_loop &l = k.t.loop[i];
    int outer = l.s[EDF_OUT] != 0, used = 0;
    for (int g = 0; g < k.n_guard; g++) used += (k.g[g].p == i) + (k.g[g].d == i);
    if (l.n == 1 && !used) continue;
    if (n[outer] == (outer ? 6 : 3) || used > 1) return 0;
    short_loop *to = outer ? f->outer : f->inner;
    add_short(to, n[outer]++, l);
    for (int g = 0; g < k.n_guard && g < 2; g++)
      to->left[g] = k.g[g].p == i ? 1 : k.g[g].d == i ? -(int)k.g[g].of_d : 0;
    for (int x = 0; x < 3; x++) reach[x] += (l.n - 1) * std::abs(l.s[x]);
  }
  for (int g = 0; g < guards; g++) {
    guard of = { 0, 0, 1, 0, 1, { 0, 0, 0 } };
    if (g < k.n_guard) of = k.g[g];
    f->guard[g] = { divisor_of(of.of_p), of.n, { (int)of.s[0], (int)of.s[1], (int)of.s[2] } };
    for (int x = 0; x < 3; x++) reach[x] += (of.n - 1) * std::abs(of.s[x]);
  }
  for (int x = 0; x < 3; x++) if (reach[x] > INT_MAX) return 0;
  if (k.n_guard > 2 || k.outs > INT_MAX || k.terms > INT_MAX) return 0;
  int outer = guards || n[1] > 3 ? 6 : n[1] ? n[1] : 1;
  int inner = guards || n[0] > 1 ? 3 : n[0] || has_winner;
  while (n[1] < outer) add_short(f->outer, n[1]++, none);
  while (n[0] < inner) add_short(f->inner, n[0]++, none);
  f->outs = (unsigned)k.outs;
  f->terms = f->part = (unsigned)k.terms;
  f->wide = k.wide;
  while (1u << f->shift < k.wide) f->shift++;
  f->assign = k.assign;
  f->first_b = first_b;
  f->alpha = k.t.alpha;
  return 100 * outer + 10 * inner + guards;
}

static void run_short(int shape, dim3 blocks, unsigned threads, real *o, const real *a,
                      const real *b, const int *winner, const short_nest &f) {
#define SHAPE(s) \
  case s: GRID((short_sum_kernel<s>), blocks, threads, o, a, b, winner, f); break
  switch (shape) {
    SHAPE(100); SHAPE(110); SHAPE(130); SHAPE(200); SHAPE(210); SHAPE(230); SHAPE(300);
    SHAPE(310); SHAPE(330); SHAPE(600); SHAPE(610); SHAPE(630); SHAPE(632);
  }
}

/* Returns the nest that adds up the parts of each sum, which lie in `a` one after the other. */
static edf_nest sum_of_parts(const nest &k, size_t parts) {
  edf_nest t = k.t;
  ptrdiff_t dense = 1;
  t.n = 0;
  memset(t.start, 0, sizeof t.start);
  for (int i = k.t.n - 1; i >= 0; i--) {
    const edf_loop &l = k.t.loop[i];
    if (!l.s[EDF_OUT]) continue;
    t.loop[t.n++] = { l.n, { l.s[EDF_OUT], dense, 0 }, NULL };
    dense *= l.n;
  }
  t.loop[t.n++] = { (ptrdiff_t)parts, { 0, dense, 0 }, NULL };
  return t;
}

/* Turns loops round until no stride in out is negative. */
static void turn_forward(edf_nest *t) {
  for (edf_loop *l = t->loop; l < t->loop + t->n; l++)
    for (int x = 0, back = l->s[EDF_OUT] < 0; back && x < 3; x++) {
      t->start[x] += (l->n - 1) * l->s[x];
      l->s[x] = -l->s[x];
    }
}

/* Runs any nest. o, a and b are on the GPU. A few long sums are split, so that each processor
   has a part, and the parts are added in their order. */
enum { LONG_SUM = 8192 };                /* terms of a part, at least                         */
static void sums(edf_nest t, int assign, real *o, const real *a, const real *b,
                 const int *winner) {
  for (int i = 0; i < t.n; i++) if (t.loop[i].n == 0) return;
  turn_forward(&t);
  nest k = nest_of(t, assign);
  k.wide = width_of(k);
  unsigned blocks = (unsigned)((k.outs + k.wide - 1) / k.wide);
  unsigned threads = k.terms * k.wide / THREADS >= 16 ? MOST_THREADS : THREADS;
  o += t.start[EDF_OUT];
  a += t.start[EDF_A];
  if (winner) winner += t.start[EDF_A];
  if (b) b += t.start[EDF_B];
  short_nest f;
  int shape = shorten(k, winner != NULL, winner ? (int)t.start[EDF_B] : 0, &f);
  if (!shape) {
    GRID(sum_kernel, blocks, THREADS, o, a, b, winner, k);
    return;
  }
  size_t parts = std::min((size_t)gpu.processors * 2 / blocks, k.terms / LONG_SUM);
  if (parts < 2 || winner || k.n_guard) {
    run_short(shape, blocks, threads, o, a, b, winner, f);
    return;
  }
  real *partial = (real *)scratch(PARTIAL, parts * k.outs * sizeof(real));
  f.part = (f.terms + (unsigned)parts - 1) / (unsigned)parts;
  run_short(shape, dim3(blocks, (unsigned)parts), threads, partial, a, b, NULL, f);
  sums(sum_of_parts(k, parts), assign, o, partial, NULL, NULL);
}

/* ---- Terms with masks: one thread an entry. The loops keep their order and direction, since
   masks compare their numbers. */
struct masks { int n; edf_mask of[16]; };
__global__ static void kept_kernel(real *out, const real *a, const real *b, edf_nest t,
                                   masks m, size_t terms, size_t outs) {
  for (EACH(o, outs)) {
    ptrdiff_t base[3] = { t.start[EDF_OUT], t.start[EDF_A], t.start[EDF_B] };
    unsigned number[MOST_LOOPS];
    real sum = 0;
    walk(t, 1, o, base, number);
    for (size_t i = 0; i < terms; i++) {
      ptrdiff_t at[3] = { base[0], base[1], base[2] };
      int keep = 1;
      walk(t, 0, i, at, number);
      for (int k = 0; k < m.n; k++) {
        int low = m.of[k].low, high = m.of[k].high;
        int from = low < 0 ? 0 : (int)number[low], to = high < 0 ? 0 : (int)number[high];
        keep &= from - to + m.of[k].constant <= 0;
      }
      if (keep) sum += (a ? a[at[EDF_A]] : 1) * (b ? b[at[EDF_B]] : 1);
    }
    out[base[EDF_OUT]] += t.alpha * sum;
  }
}

/* Returns 1 if no two steps of the outer loops write the same entry. */
static int writes_apart(const edf_nest &t) {
  for (int i = 0; i < t.n; i++) {
    ptrdiff_t s = std::abs(t.loop[i].s[EDF_OUT]), reach = 0;
    for (int k = 0; k < t.n; k++) {
      ptrdiff_t other = std::abs(t.loop[k].s[EDF_OUT]);
      if (k != i && other <= s) reach += (t.loop[k].n - 1) * other;
    }
    if (s && s <= reach) return 0;
  }
  return 1;
}

/* Returns a nest of two loops, of n and m steps, with their strides in out and in a. */
static edf_nest two_loops(ptrdiff_t n, ptrdiff_t out, ptrdiff_t a, ptrdiff_t m,
                          ptrdiff_t out_of_m, ptrdiff_t a_of_m) {
  edf_nest t;
  memset(&t, 0, sizeof t);
  t.n = 2;
  t.alpha = 1;
  t.loop[0] = { n, { out, a, 0 }, NULL };
  t.loop[1] = { m, { out_of_m, a_of_m, 0 }, NULL };
  return t;
}

/* ==== >>products  Matrix products by cuBLAS ================================================

   The route of edf.h has the loops in four groups: outside | M | N | K. An operand that cuBLAS
   cannot read in place is copied to a dense panel by a sum of one term (for a convolution that
   is im2col). A result that cuBLAS cannot write in place is added from a panel (col2im). */

/* Gives operand x a dense panel: changes its strides in the route. Returns the nest between the
   operand, whose strides go to `side`, and the panel. */
static edf_nest panel_of(edf_route *r, int x, int side, size_t *size) {
  static const int groups[3][2] = { { 0, 1 }, { 0, 2 }, { 2, 1 } };      /* rows, columns     */
  int tall = edf_matrix_of(r, x).tall;
  int first[3] = { 0, r->first[groups[x][tall]], r->first[groups[x][!tall]] };
  int end[3] = { r->first[0], r->first[groups[x][tall] + 1], r->first[groups[x][!tall] + 1] };
  edf_nest t;
  ptrdiff_t dense = 1;
  memset(&t, 0, sizeof t);
  t.alpha = 1;
  t.start[side] = r->nest.start[x];
  r->nest.start[x] = 0;
  for (int k = 2; k >= 0; k--)           /* the loops outside are the slowest                 */
    for (int i = end[k] - 1; i >= first[k]; i--) {
      edf_loop *l = &r->nest.loop[i];
      if (!l->s[x]) continue;
      edf_loop *to = &t.loop[t.n++];
      to->n = l->n;
      to->s[side] = l->s[x];
      to->s[side == EDF_OUT ? EDF_A : EDF_OUT] = dense;
      l->s[x] = dense;
      dense *= l->n;
    }
  *size = (size_t)dense;
  return t;
}

/* Makes a table of the addresses of all matrices, for several loops outside. */
__global__ static void pointers_kernel(const real **p, const real *c, const real *a,
                                       const real *b, edf_nest t, size_t n, size_t pitch) {
  for (EACH(i, n)) {
    ptrdiff_t at[3] = { 0, 0, 0 };
    walk(t, 1, i, at, NULL);
    p[i] = c + at[EDF_OUT];
    p[pitch + i] = a + at[EDF_A];
    p[2 * pitch + i] = b + at[EDF_B];
  }
}

/* Returns the table. It depends on addresses and strides alone, so it is kept. Only a pass that
   is recorded cannot keep one: it makes the table again in each step. */
static std::map<std::vector<ptrdiff_t>, array> tables;
static const real **find_table(const edf_nest &outside, real *const at[3], size_t n,
                               size_t pitch) {
  size_t bytes = 3 * pitch * sizeof(real *);
  const real **table = (const real **)scratch(POINTERS, bytes);
  std::vector<ptrdiff_t> key;
  for (int x = 0; x < 3; x++) {
    key.push_back((ptrdiff_t)at[x]);
    for (int i = 0; i < outside.n; i++) key.push_back(outside.loop[i].s[x]);
  }
  for (int i = 0; i < outside.n; i++) key.push_back(outside.loop[i].n);
  auto kept = tables.find(key);
  if (kept != tables.end()) return (const real **)kept->second.at;
  if (!gpu.recording) table = (const real **)make_room(&tables[key], bytes);
  RUN(pointers_kernel, n, table, at[EDF_OUT], at[EDF_A], at[EDF_B], outside, n, pitch);
  return table;
}
static void forget_tables(void) {
  for (auto &t : tables) release(&t.second);
  tables.clear();
}

/* Returns how a table of matrices is multiplied. tf32 and bf16 want each at 16 bytes. */
static cublasComputeType_t compute_of(const edf_nest &outside, real *const at[3]) {
  int aligned = 1;
  for (int x = 0; x < 3; x++) {
    aligned &= (uintptr_t)at[x] % 16 == 0;
    for (int i = 0; i < outside.n; i++)
      aligned &= outside.loop[i].s[x] * (ptrdiff_t)sizeof(real) % 16 == 0;
  }
  return aligned || sizeof(real) == 8 ? gpu.compute : CUBLAS_COMPUTE_32F;
}

/* cuBLAS is column-major. A tall matrix is as it expects, a wide one is the transpose. A wide
   result is computed as the transpose, c' = b' a'. */
static void gemm(const edf_route *r, real *const p[3], real beta) {
  const cudaDataType_t type = sizeof(real) == 8 ? CUDA_R_64F : CUDA_R_32F;
  edf_matrix m[3];
  edf_nest outside = r->nest;
  ptrdiff_t batch[3] = { 0, 0, 0 };
  real *at[3];
  size_t n = 1;
  outside.n = r->first[0];
  for (int i = 0; i < outside.n; i++) n *= (size_t)outside.loop[i].n;
  turn_forward(&outside);
  for (int x = 0; x < 3; x++) {
    m[x] = edf_matrix_of(r, x);
    at[x] = p[x] + outside.start[x];
    if (outside.n) batch[x] = outside.loop[0].s[x];
  }
  int tall = m[EDF_OUT].tall, first = tall ? EDF_A : EDF_B, second = tall ? EDF_B : EDF_A;
  cublasOperation_t op_1 = m[first].tall == tall ? CUBLAS_OP_N : CUBLAS_OP_T;
  cublasOperation_t op_2 = m[second].tall == tall ? CUBLAS_OP_N : CUBLAS_OP_T;
  int rows = (int)r->extent[tall ? 0 : 1], columns = (int)r->extent[tall ? 1 : 0];
  int k = (int)r->extent[2], step = (int)m[EDF_OUT].step;
  int step_1 = (int)m[first].step, step_2 = (int)m[second].step;
  if (outside.n <= 1 && batch[EDF_A] >= 0 && batch[EDF_B] >= 0) {
    CB(cublasGemmStridedBatchedEx(gpu.blas, op_1, op_2, rows, columns, k, &r->nest.alpha,
       at[first], type, step_1, batch[first], at[second], type, step_2, batch[second], &beta,
       at[EDF_OUT], type, step, batch[EDF_OUT], (int)n, gpu.compute, CUBLAS_GEMM_DEFAULT));
    return;
  }
  size_t pitch = (n + 31) / 32 * 32;     /* Each of the three tables is aligned.              */
  const real **table = find_table(outside, at, n, pitch);
  const void *const *of_1 = (const void *const *)(table + (size_t)first * pitch);
  const void *const *of_2 = (const void *const *)(table + (size_t)second * pitch);
  CB(cublasGemmBatchedEx(gpu.blas, op_1, op_2, rows, columns, k, &r->nest.alpha, of_1,
     type, step_1, of_2, type, step_2, &beta, (void *const *)table, type, step, (int)n,
     compute_of(outside, at), CUBLAS_GEMM_DEFAULT));
}

static void product(const edf_route *route, int assign, real *o, real *a, real *b) {
  edf_route r = *route;
  real *p[3] = { o, a, b };
  int direct = edf_matrix_of(&r, EDF_OUT).direct && r.covers > 0;
  edf_nest t;
  size_t size;
  for (int x = EDF_A; x <= EDF_B; x++) {
    if (edf_matrix_of(&r, x).direct) continue;
    t = panel_of(&r, x, EDF_A, &size);
    real *panel = (real *)scratch(PANEL_OUT + x, size * sizeof(real));
    sums(t, 1, panel, p[x], NULL, NULL);
    p[x] = panel;
  }
  if (!direct) {
    t = panel_of(&r, EDF_OUT, EDF_OUT, &size);
    p[EDF_OUT] = (real *)scratch(PANEL_OUT, size * sizeof(real));
  }
  gemm(&r, p, (real)(direct && !assign));
  if (!direct) sums(t, assign, o, p[EDF_OUT], NULL, NULL);
}

/* Returns 1 if a gemm is worth its launch, and if no sum runs outside of it. */
static int is_product(const edf_route *r) {
  double work = (double)r->extent[0] * (double)r->extent[1] * (double)r->extent[2];
  for (int i = 0; i < r->first[0]; i++) {
    if (!r->nest.loop[i].s[EDF_OUT]) return 0;
    work *= (double)r->nest.loop[i].n;
  }
  return r->product && work >= 100000;
}

static real *to_read(edf_operand a) { return a.of ? to_read(a.of, a.which) : NULL; }

/* Runs a route with masks. Returns 0 if two steps write one entry. */
static int run_kept(const edf_route *r, edf_operand out, edf_operand a, edf_operand b) {
  const edf_nest &t = r->nest;
  size_t outs = 1, terms = 1;
  masks m;
  for (const edf_loop *l = t.loop; l < t.loop + t.n; l++)
    *(l->s[EDF_OUT] ? &outs : &terms) *= (size_t)l->n;
  if (!writes_apart(t) || (double)outs > UINT_MAX || (double)terms > UINT_MAX) return 0;
  memset(&m, 0, sizeof m);
  m.n = r->n_mask;
  memcpy(m.of, r->mask, (size_t)m.n * sizeof *m.of);
  const real *va = to_read(a), *vb = to_read(b);
  RUN(kept_kernel, outs, to_write(out.of, out.which, 0), va, vb, t, m, terms, outs);
  return 1;
}

static int run(const edf_route *r, int assign, edf_operand out, edf_operand a, edf_operand b) {
  if (r->n_mask) return run_kept(r, out, a, b);
  int whole = assign && r->covers == out.of->size;
  real *va = to_read(a), *vb = to_read(b), *o = to_write(out.of, out.which, whole);
  if (vb && is_product(r)) product(r, assign, o, va, vb);
  else sums(r->nest, assign, o, va, vb, NULL);
  return 1;
}

/* ==== >>maxima  The greatest entry of a window, and its gradient ===========================*/

/* Returns 1 if entry `at` of a window, which is v, wins against `first`, which is `most`. The
   first of equal ones wins. NaN wins, and of those the last one. */
__device__ static int beats(real v, int at, real most, int first) {
  if (v != v) return most == most || at > first;
  return v > most || (v == most && at < first);
}

/* An entry of y has one lane, or a warp for a large window. */
__global__ static void max_kernel(real *y, int *winner, const real *x, unsigned lanes, nest k) {
  for (EACH(i, k.outs * lanes)) {
    ptrdiff_t base[3] = { 0, 0, 0 };
    int first = -1;
    real most = 0;
    walk(k.t, 1, i / lanes, base, NULL);
    for (size_t j = i % lanes; j < k.terms; j += lanes) {
      ptrdiff_t at[3] = { base[0], base[1], base[2] };
      walk(k.t, 0, j, at, NULL);
      real v = x[at[EDF_A]];
      if (first >= 0 && !beats(v, (int)at[EDF_B], most, first)) continue;
      most = v;
      first = (int)at[EDF_B];
    }
    for (int bit = (int)lanes / 2; bit > 0; bit /= 2) {
      real v = __shfl_xor_sync(0xffffffffu, most, bit);
      int at = __shfl_xor_sync(0xffffffffu, first, bit);
      if (!beats(v, at, most, first)) continue;
      most = v;
      first = at;
    }
    if (i % lanes) continue;
    y[base[EDF_OUT]] = most;
    winner[base[EDF_OUT]] = first;
  }
}

/* The offset in b is the number of an entry in its window. The first greatest entry wins, in
   the order of these numbers. Backward is a sum over the windows that have the entry. */
static void window(edf_node *y, int backward) {
  edf_window w = edf_window_of(y);
  edf_node *x = y->in[edf_contraction_of(y)->e.ref[1].operand];
  edf_nest t = w.t;
  ptrdiff_t number = 1;
  int assign;
  if (backward && !x->grad) return;
  t.alpha = 1;
  for (int i = t.n - 1; i >= 0; i--) {
    edf_loop *l = &t.loop[i];
    int kept = i < w.n_kept;
    l->s[EDF_B] = kept ? 0 : number;
    if (!kept) number *= l->n;
    if (backward) std::swap(l->s[EDF_OUT], l->s[EDF_A]);
  }
  int *winner = (int *)own(y, y->size * sizeof *winner);
  if (backward) {
    std::swap(t.start[EDF_OUT], t.start[EDF_A]);
    const real *dy = dy_of(y);
    real *dx = grad_of(x, &assign);
    turn_forward(&t);
    int all = nest_of(t, 0).outs == x->size;         /* or windows leave entries out          */
    edf_nest zeros = two_loops((ptrdiff_t)x->size, 1, 0, 1, 0, 0);
    zeros.alpha = 0;
    if (assign && !all) sums(zeros, 1, dx, NULL, NULL, NULL);
    sums(t, assign && all, dx, dy, NULL, winner);
    return;
  }
  const real *v = value_of(x) + t.start[EDF_A];
  ptrdiff_t start = t.start[EDF_OUT];
  nest k = nest_of(t, 1);
  real *to = to_write(y, EDF_VALUE, k.outs == y->size);
  unsigned lanes = k.terms < 64 ? 1 : WARP;
  RUN(max_kernel, k.outs * lanes, to + start, winner + start, v, lanes, k);
}

/* ==== >>entries  Functions of single entries ===============================================

   A kernel enters itself into a table, by the name that edf_op has. */
typedef std::map<std::string, void (*)(edf_node *y, int backward)> kernel_table;
static kernel_table &kernels(void) {
  static kernel_table table;
  return table;
}
struct kernel {
  kernel(const char *name, void (*run)(edf_node *, int)) { kernels()[name] = run; }
};

/* Returns a number of the node's own, # and ## in its formula. The node has `n` numbers. */
static real number_of(const edf_node *y, int k, int n) {
  return k < n ? ((const real *)y->state)[k] : 0;
}

/* The shorter of two operands repeats. An absent operand is NULL. */
__device__ static real entry_of(const real *x, size_t size, size_t n, size_t i) {
  return x ? x[size < n ? i % size : i] : 0;
}

/* A thread computes N entries, 16 bytes of each array, so that more bytes are on their way.
   Arrays begin at 256 bytes. One entry at a time may be of an operand that repeats. */
template <int N> struct alignas(N * sizeof(real)) entries { real at[N]; };
enum { WIDE = 16 / sizeof(real) };

template <int N>
__device__ static entries<N> entries_of(const real *x, size_t size, size_t n, size_t i) {
  if (N > 1 && x) return ((const entries<N> *)x)[i];
  return { { entry_of(x, size, n, i) } };
}

template <class F, int N>
__global__ void map_kernel(real *y, const real *x, const real *w, size_t nx, size_t nw, real p,
                           real q, size_t n) {
  for (EACH(i, n / N)) {
    entries<N> v = entries_of<N>(x, nx, n, i), u = entries_of<N>(w, nw, n, i);
    for (int k = 0; k < N; k++) v.at[k] = F::f(v.at[k], u.at[k], p, q);
    ((entries<N> *)y)[i] = v;
  }
}

/* A slope of 0 stops an infinite y.grad too. */
template <class F, int N>
__global__ void map_back_kernel(real *dx, int second, const real *x, const real *w, size_t nx,
                                size_t nw, real p, real q, const real *y, const real *dy,
                                int assign, size_t n) {
  for (EACH(i, n / N)) {
    entries<N> v = entries_of<N>(x, nx, n, i), u = entries_of<N>(w, nw, n, i), to = { };
    entries<N> value = ((const entries<N> *)y)[i], d = ((const entries<N> *)dy)[i];
    if (!assign) to = ((const entries<N> *)dx)[i];
    for (int k = 0; k < N; k++) {
      real slope = F::d(second, v.at[k], u.at[k], value.at[k], p, q);
      to.at[k] += slope == 0 ? 0 : d.at[k] * slope;
    }
    ((entries<N> *)dx)[i] = to;
  }
}

/* Computes the gradient of operand k of y: back(dx, assign) computes it for each entry of y. An
   operand that repeats receives the sum over all entries that it meets. */
template <class B> static void spread(const edf_node *y, int k, B back) {
  edf_node *x = y->in[k];
  int assign;
  if (!x->grad) return;
  real *dx = grad_of(x, &assign), *each = dx;
  ptrdiff_t m = (ptrdiff_t)x->size, n = (ptrdiff_t)y->size;
  if (m < n) each = (real *)scratch(PANEL_A, y->size * sizeof(real));
  back(each, m < n || assign);
  if (m < n) sums(two_loops(m, 1, 1, n / m, 0, m), assign, dx, each, NULL, NULL);
}

template <class F> static void map(edf_node *y, int backward) {
  edf_node *in_w = y->n_in > 1 ? y->in[1] : NULL;
  const real *x = value_of(y->in[0]), *w = in_w ? value_of(in_w) : NULL;
  size_t n = y->size, nx = y->in[0]->size, nw = in_w ? in_w->size : 0;
  real p = number_of(y, 0, F::NUMBERS), q = number_of(y, 1, F::NUMBERS);
  int N = n % WIDE == 0 && nx == n && (!w || nw == n) ? WIDE : 1;
  if (!backward) {
    auto any_map_kernel = N > 1 ? map_kernel<F, WIDE> : map_kernel<F, 1>;
    RUN(any_map_kernel, n / N, result_of(y), x, w, nx, nw, p, q, n);
    return;
  }
  auto any_map_back_kernel = N > 1 ? map_back_kernel<F, WIDE> : map_back_kernel<F, 1>;
  const real *v = value_of(y), *dy = dy_of(y);
  for (int k = 0; k < y->n_in; k++)
    spread(y, k, [&](real *dx, int assign) {
      RUN(any_map_back_kernel, n / N, dx, k, x, w, nx, nw, p, q, v, dy, assign, n);
    });
}

/* A line of the table has the name, how many numbers of its own the node has (p and q), the
   value from x and w, and the slopes from x, w and the value y. */
#pragma GCC diagnostic ignored "-Wunused-parameter"      /* Most formulas do not need all.    */
#define FUNCTION_OF_TWO(Name, numbers, value, slope, slope_w) \
  struct Name { \
    enum { NUMBERS = numbers }; \
    __device__ static real f(real x, real w, real p, real q) { return value; } \
    __device__ static real d(int second, real x, real w, real y, real p, real q) { \
      return second ? slope_w : slope; \
    } \
  }; \
  static const kernel Name##_here(#Name, map<Name>);
#define FUNCTION(Name, numbers, value, slope) FUNCTION_OF_TWO(Name, numbers, value, slope, 0)

__device__ static real sigmoid(real x) { return 1 / (1 + exp(-x)); }
__device__ static real softplus(real x) { return (x < 0 ? 0 : x) + log1p(exp(x < 0 ? x : -x)); }
/* Gelu is x s(x). The two numbers are those of edf.h. */
constexpr real gelu_c = (real)1.5957691216057308;
constexpr real gelu_d = (real)(1.5957691216057308 * 0.044715);
__device__ static real gelu_s(real x) { return sigmoid(x * (gelu_c + gelu_d * x * x)); }
__device__ static real gelu_slope(real x) {
  real s = gelu_s(x), du = gelu_c + 3 * gelu_d * x * x;
  return s + x * s * (1 - s) * du;
}
__device__ static int first(real x, real w, int s) { return x != x || s * w <= s * x; }
__device__ static int test(real x, real p) {
  int bit = x < 0 ? 0 : x > 0 ? 2 : 1;
  return ((int)p >> bit & 1) && x == x;
}

FUNCTION(Sigmoid,   0, sigmoid(x),                y * (1 - y))
FUNCTION(Tanh,      0, tanh(x),                   1 - y * y)
FUNCTION(Relu,      0, x < 0 ? 0 : x,             y > 0)
FUNCTION(LeakyRelu, 1, x > 0 ? x : p * x,         x > 0 ? 1 : p)
FUNCTION(Exp,       0, exp(x),                    y)
FUNCTION(Log,       0, log(x),                    1 / x)
FUNCTION(Sqrt,      0, sqrt(x),                   1 / (2 * y))
FUNCTION(Square,    0, x * x,                     2 * x)
FUNCTION(Silu,      0, x * sigmoid(x),            sigmoid(x) * (1 + x * sigmoid(-x)))
FUNCTION(Root,      0, sqrt(x),                   x == 0 ? 0 : 1 / (2 * y))
FUNCTION(Erf,       0, erf(x),                    (real)1.1283791670955126 * exp(-x * x))
FUNCTION(Log1p,     0, log1p(x),                  1 / (1 + x))
FUNCTION(Expm1,     0, expm1(x),                  exp(x))
FUNCTION(Softplus,  0, softplus(x),               sigmoid(x))
FUNCTION(Gelu,      0, x * gelu_s(x),             gelu_slope(x))
FUNCTION(Abs,       0, fabs(x),                   (x > 0) - (x < 0))
FUNCTION(Sin,       0, sin(x),                    cos(x))
FUNCTION(Cos,       0, cos(x),                    -sin(x))
FUNCTION(Pow,       1, pow(x, p),                 p == 0 ? 0 : p * pow(x, p - 1))
FUNCTION(Clamp,     2, x < p ? p : x > q ? q : x, x < p || x > q ? 0 : 1)
FUNCTION(Sign,      0, (x > 0) - (x < 0),         0)
FUNCTION(Floor,     0, floor(x),                  0)
FUNCTION(Stop,      0, x,                         0)
FUNCTION(Ones,      0, 1,                         0)
FUNCTION(Test,      1, test(x, p),                0)
FUNCTION(Reshape,   0, x,                         1)
FUNCTION_OF_TWO(Div,     0, x / w,                   1 / w,           -y / w)
FUNCTION_OF_TWO(Power,   0, pow(x, w),  w == 0 ? 0 : w * pow(x, w - 1), x == 0 ? 0 : y * log(x))
FUNCTION_OF_TWO(Max,     0, first(x, w, 1) ? x : w,  first(x, w, 1),  !first(x, w, 1))
FUNCTION_OF_TWO(Min,     0, first(x, w, -1) ? x : w, first(x, w, -1), !first(x, w, -1))
FUNCTION_OF_TWO(Masked,  0, w == 0 ? 0 : x * w,      w,               x)
FUNCTION_OF_TWO(BCELoss, 0, softplus(x) - w * x,     sigmoid(x) - w,  -x)

/* ---- Where: y = a where c is not 0, else b. The other one receives 0. */
__global__ static void choose_kernel(real *y, const real *c, const real *a, const real *b,
                                     size_t nc, size_t na, size_t nb, size_t n) {
  for (EACH(i, n))
    y[i] = entry_of(c, nc, n, i) != 0 ? entry_of(a, na, n, i) : entry_of(b, nb, n, i);
}
__global__ static void choose_back_kernel(real *dx, int second, const real *c, size_t nc,
                                          const real *dy, int assign, size_t n) {
  for (EACH(i, n)) put(&dx[i], (entry_of(c, nc, n, i) == 0) == second ? dy[i] : 0, assign);
}
static void choose(edf_node *y, int backward) {
  const real *x[3];
  size_t n = y->size, nc = y->in[0]->size;
  for (int k = 0; k < 3; k++) x[k] = value_of(y->in[k]);
  if (!backward)
    RUN(choose_kernel, n, result_of(y), x[0], x[1], x[2], nc, y->in[1]->size, y->in[2]->size,
        n);
  for (int k = 1; backward && k < 3; k++)
    spread(y, k, [&](real *dx, int assign) {
      RUN(choose_back_kernel, n, dx, k - 1, x[0], nc, dy_of(y), assign, n);
    });
}
static const kernel where_here("Where", choose);

/* ---- Number and Index: one number, or 0, 1, 2 ... */
__global__ static void count_kernel(real *y, size_t n, real number, int counts) {
  for (EACH(i, n)) y[i] = counts ? (real)i : number;
}
static void count(edf_node *y, int) {
  real number = number_of(y, 0, 1);
  RUN(count_kernel, y->size, result_of(y), y->size, number, y->rank > 0);
}
static const kernel number_here("Number", count);
static const kernel index_here("Index", count);

/* ---- Mean is a sum, and its gradient is a broadcast. Concat is a copy of each. */
static void total(edf_node *y, int backward) {
  edf_node *x = y->in[0];
  int assign = 1;
  if (backward && !x->grad) return;
  const real *from = backward ? dy_of(y) : value_of(x);
  real *to = backward ? grad_of(x, &assign) : result_of(y);
  edf_nest t = two_loops((ptrdiff_t)x->size, backward, !backward, 1, 0, 0);
  t.alpha = 1 / (real)x->size;
  sums(t, assign, to, from, NULL, NULL);
}
static const kernel mean_here("Mean", total);

static int row_dims(const edf_node *y) { return edf_row_dims ? edf_row_dims(y) : 1; }
static size_t columns_of(const edf_node *y) {
  size_t K = 1;
  for (int d = y->rank - row_dims(y); d < y->rank; d++) K *= (size_t)y->dim[d];
  return K;
}

static void concat(edf_node *y, int backward) {
  ptrdiff_t row = (ptrdiff_t)columns_of(y), rows = (ptrdiff_t)y->size / row, at = 0;
  for (int k = 0; k < y->n_in; k++) {
    edf_node *x = y->in[k];
    ptrdiff_t part = (ptrdiff_t)x->size / rows;
    int assign = 1;
    edf_nest t = two_loops(rows, backward ? part : row, backward ? row : part, part, 1, 1);
    t.start[backward ? EDF_A : EDF_OUT] = at;
    at += part;
    if (backward && !x->grad) continue;
    const real *from = backward ? dy_of(y) : value_of(x);
    real *to = backward ? grad_of(x, &assign) : to_write(y, EDF_VALUE, k == 0);
    sums(t, assign, to, from, NULL, NULL);
  }
}
static const kernel concat_here("Concat", concat);

/* ---- Dropout. The number of entry i is edf.h's hash of the seed and i. A pass sends edf.seed
   and edf.draws. Nodes before this one have added what they draw. */
static void send_draws(void) {
  gpu.draws_sent[0] = edf.seed;
  gpu.draws_sent[1] = edf.draws;
  send(scratch(DRAWS, sizeof gpu.draws_sent), gpu.draws_sent, sizeof gpu.draws_sent);
}

__device__ static int is_kept(u64 seed, u64 n, unsigned limit) {
  u64 z = n * 0x9E3779B97F4A7C15ull + seed * 0xD1342543DE82EF95ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return (unsigned)((z ^ z >> 31) >> 40) >= limit;
}

__global__ static void dropout_kernel(real *y, real *mask, const real *x, const u64 *draws,
                                      u64 before, real rate, size_t n) {
  unsigned limit = (unsigned)((double)rate * 16777216);      /* of 24 random bits             */
  for (EACH(i, n)) {
    int kept = is_kept(draws[0], draws[1] + before + i + 1, limit);
    mask[i] = kept ? 1 / (1 - rate) : 0;
    y[i] = x[i] * mask[i];
  }
}

static void dropout(edf_node *y, int backward) {
  edf_node *x = y->in[0];
  real *mask = (real *)own(y, y->size * sizeof(real));
  real rate = edf.training ? number_of(y, 0, 1) : 0;
  int assign;
  if (backward && x->grad) {             /* dx += dy mask                                     */
    const real *dy = dy_of(y);
    edf_nest t = two_loops((ptrdiff_t)y->size, 1, 1, 1, 0, 0);
    t.loop[0].s[EDF_B] = 1;
    real *dx = grad_of(x, &assign);
    sums(t, assign, dx, dy, mask, NULL);
  }
  if (backward) return;
  array *draws = &scratches[DRAWS];
  if (!draws->at || gpu.draws_sent[0] != edf.seed) send_draws();       /* outside of a pass   */
  u64 before = edf.draws - gpu.draws_sent[1];
  RUN(dropout_kernel, y->size, result_of(y), mask, value_of(x), (const u64 *)draws->at, before,
      rate, y->size);
  if (rate > 0) edf.draws += y->size;
}
static const kernel dropout_here("Dropout", dropout);

/* ==== >>rows  Functions of rows: a warp runs a row =========================================*/

#define EACH_ROW(b, rows) \
  size_t b = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP; b < (rows); \
  b += (size_t)gridDim.x * blockDim.x / WARP
#define EACH_LANE(k, n) unsigned k = threadIdx.x % WARP; k < (n); k += WARP
#define RUN_ROWS(kernel, rows, ...) RUN(kernel, (rows) * WARP, __VA_ARGS__, rows, (unsigned)K)

/* Each lane gets the result. */
__device__ static real warp_sum(real v) {
  for (int k = WARP / 2; k > 0; k /= 2) v += __shfl_xor_sync(0xffffffffu, v, k);
  return v;
}
__device__ static real greater(real x, real y) { return y > x || y != y ? y : x; }
__device__ static real warp_max(real v) {
  for (int k = WARP / 2; k > 0; k /= 2) v = greater(v, __shfl_xor_sync(0xffffffffu, v, k));
  return v;
}

/* A row function reduces a row to u, then to v, and computes y from x, u and v. Backward
   reduces y and dy to two other numbers, and computes dx from these and `was`, the v of
   forward. With a bound | S<=t row t has only its first t+1 entries. Then `period` is the
   number of these rows, else it is 0. */
template <class F>
__global__ void row_kernel(real *y, real *keep, const real *x, real p, unsigned period,
                           size_t rows, unsigned K) {
  for (EACH_ROW(b, rows)) {
    unsigned end = period && b % period < K ? (unsigned)(b % period) + 1 : K;
    const real *row = x + b * K;
    real n = (real)end, u = F::MAX ? row[0] : 0, v = 0;
    for (EACH_LANE(k, end)) u = F::MAX ? greater(u, row[k]) : u + F::u(row[k], n);
    u = F::MAX ? warp_max(u) : warp_sum(u);
    for (EACH_LANE(k, end)) v += F::v(row[k], u, n);
    v = warp_sum(v);
    for (EACH_LANE(k, K))                /* exp(-inf) is 0                                    */
      y[b * K + k] = k < end ? F::y(row[k], u, v, p) : F::y(-(real)HUGE_VAL, 0, 1, p);
    if (threadIdx.x % WARP == 0) keep[b] = v;
  }
}

template <class F>
__global__ void row_back_kernel(real *dx, const real *y, const real *dy, const real *keep,
                                real p, unsigned period, int assign, size_t rows,
                                unsigned K) {
  for (EACH_ROW(b, rows)) {
    unsigned end = period && b % period < K ? (unsigned)(b % period) + 1 : K;
    const real *y_row = y + b * K, *dy_row = dy + b * K;
    real n = (real)K, u = 0, v = 0;
    for (EACH_LANE(k, end)) {
      u += F::du(y_row[k], dy_row[k], n);
      v += F::dv(y_row[k], dy_row[k], n);
    }
    u = warp_sum(u);
    v = warp_sum(v);
    for (EACH_LANE(k, K))
      put(&dx[b * K + k], k < end ? F::dx(y_row[k], dy_row[k], u, v, keep[b], p) : 0, assign);
  }
}

template <class F> static void map_rows(edf_node *y, int backward) {
  size_t K = columns_of(y), rows = y->size / K;
  edf_node *x = y->in[0];
  real *keep = (real *)own(y, rows * sizeof(real)), p = number_of(y, 0, F::NUMBERS);
  int causal = edf_row_is_causal && edf_row_is_causal(y), assign;
  unsigned period = causal ? (unsigned)y->dim[y->rank - row_dims(y) - 1] : 0;
  if (!backward) RUN_ROWS(row_kernel<F>, rows, result_of(y), keep, value_of(x), p, period);
  if (!backward || !x->grad) return;
  const real *v = value_of(y), *dy = dy_of(y);
  real *dx = grad_of(x, &assign);
  RUN_ROWS(row_back_kernel<F>, rows, dx, v, dy, keep, p, period, assign);
}

/* A line of the table has the name, how many numbers of its own the node has (p), 1 if u is the
   maximum and 0 if it is a sum; the terms of u and v, and y; then backward's terms of u and v,
   and dx. n is the length of the row. */
#define ROW(Name, numbers, is_max, u_, v_, y_, du_, dv_, dx_) \
  struct Name { \
    enum { NUMBERS = numbers, MAX = is_max }; \
    __device__ static real u(real x, real n) { return u_; } \
    __device__ static real v(real x, real u, real n) { return v_; } \
    __device__ static real y(real x, real u, real v, real p) { return y_; } \
    __device__ static real du(real y, real dy, real n) { return du_; } \
    __device__ static real dv(real y, real dy, real n) { return dv_; } \
    __device__ static real dx(real y, real dy, real u, real v, real was, real p) { \
      return dx_; \
    } \
  }; \
  static const kernel Name##_here(#Name, map_rows<Name>);

ROW(Softmax,       0, 1, x, exp(x - u),                exp(x - u) / v,
                         y * dy, 0,                    y * (dy - u))
ROW(LogSoftmax,    0, 1, x, exp(x - u),                x - u - log(v),
                         dy, 0,                        dy - exp(y) * u)
ROW(NormalizeOver, 1, 0, x / n, (x - u) * (x - u) / n, (x - u) / sqrt(v + p),
                         dy / n, y * dy / n,           (dy - u - y * v) / sqrt(was + p))

/* ---- MaskedSoftmax and its logarithm. Entries with m = 0 are left out. */
__global__ static void masked_softmax_kernel(real *y, const real *s, const real *m, int log_of,
                                             size_t rows, unsigned K) {
  for (EACH_ROW(b, rows)) {
    size_t at = b * K;
    real most = -(real)HUGE_VAL, Z = 0;
    for (EACH_LANE(k, K)) if (m[at + k] != 0) most = greater(most, s[at + k]);
    most = warp_max(most);
    for (EACH_LANE(k, K)) Z += m[at + k] != 0 ? exp(s[at + k] - most) : 0;
    Z = warp_sum(Z);
    for (EACH_LANE(k, K)) {
      real of = s[at + k] - most, out = log_of ? -(real)HUGE_VAL : 0;
      y[at + k] = m[at + k] == 0 ? out : log_of ? of - log(Z) : exp(of) / Z;
    }
  }
}
__global__ static void masked_softmax_back_kernel(real *ds, const real *y, const real *m,
                                                  const real *dy, int log_of, int assign,
                                                  size_t rows, unsigned K) {
  for (EACH_ROW(b, rows)) {
    size_t at = b * K;
    real sum = 0;
    for (EACH_LANE(k, K))
      sum += m[at + k] == 0 ? 0 : log_of ? dy[at + k] : y[at + k] * dy[at + k];
    sum = warp_sum(sum);
    for (EACH_LANE(k, K)) {
      real d = log_of ? dy[at + k] - exp(y[at + k]) * sum : y[at + k] * (dy[at + k] - sum);
      put(&ds[at + k], m[at + k] != 0 ? d : 0, assign);
    }
  }
}
static void masked_softmax(edf_node *y, int backward) {
  edf_node *s = y->in[0];
  size_t K = columns_of(y), rows = y->size / K;
  int log_of = number_of(y, 0, 1) != 0, assign;
  const real *m = value_of(y->in[1]);
  if (!backward) {
    const real *x = value_of(s);
    RUN_ROWS(masked_softmax_kernel, rows, result_of(y), x, m, log_of);
  } else if (s->grad) {
    const real *P = value_of(y), *dP = dy_of(y);
    real *ds = grad_of(s, &assign);
    RUN_ROWS(masked_softmax_back_kernel, rows, ds, P, m, dP, log_of, assign);
  }
}
static const kernel masked_softmax_here("MaskedSoftmax", masked_softmax);
static const kernel masked_log_softmax_here("MaskedLogSoftmax", masked_softmax);

/* ---- LogSumExp: y = ln sum w exp(x). `keep` has the maximum and the sum of each row. The
   kernel of backward computes x.grad, or w.grad. */
__global__ static void log_sum_kernel(real *y, real *keep, const real *x, const real *w,
                                      size_t rows, unsigned K) {
  for (EACH_ROW(b, rows)) {
    size_t at = b * K;
    real most = -(real)HUGE_VAL, sum = 0;
    for (EACH_LANE(k, K)) if (!w || w[at + k] != 0) most = greater(most, x[at + k]);
    most = warp_max(most);
    if (!(most - most == 0)) most = 0;
    for (EACH_LANE(k, K))
      if (!w || w[at + k] != 0) sum += (w ? w[at + k] : 1) * exp(x[at + k] - most);
    sum = warp_sum(sum);
    if (threadIdx.x % WARP) continue;
    y[b] = log(sum) + most;
    keep[2 * b] = most;
    keep[2 * b + 1] = sum;
  }
}
__global__ static void log_sum_back_kernel(real *d, const real *x, const real *w,
                                           const real *dy, const real *keep, int to_x,
                                           int assign, size_t rows, unsigned K) {
  for (EACH_ROW(b, rows))
    for (EACH_LANE(k, K)) {
      size_t i = b * K + k;
      real e = x[i] == -(real)HUGE_VAL ? 0 : exp(x[i] - keep[2 * b]) / keep[2 * b + 1];
      real factor = !to_x || !w ? 1 : w[i];
      put(&d[i], factor == 0 ? 0 : dy[b] * factor * e, assign);
    }
}
static void log_sum(edf_node *y, int backward) {
  edf_node *x = y->in[0], *w = y->n_in > 1 ? y->in[1] : NULL;
  size_t rows = y->size, K = x->size / rows;
  real *keep = (real *)own(y, 2 * rows * sizeof(real));
  const real *of = value_of(x), *weights = w ? value_of(w) : NULL;
  if (!backward) RUN_ROWS(log_sum_kernel, rows, result_of(y), keep, of, weights);
  for (int k = 0; backward && k < y->n_in; k++) {
    int assign;
    if (!y->in[k]->grad) continue;
    const real *dy = dy_of(y);
    real *d = grad_of(y->in[k], &assign);
    RUN_ROWS(log_sum_back_kernel, rows, d, of, weights, dy, keep, k == 0, assign);
  }
}
static const kernel log_sum_here("LogSumExp", log_sum);
static const kernel weighted_log_sum_here("WeightedLogSumExp", log_sum);

/* ---- Prod: the product of a row. Its gradient is the product of the others. */
__global__ static void prod_kernel(real *y, const real *x, size_t rows, unsigned K) {
  for (EACH_ROW(b, rows)) {
    real all = 1;
    for (EACH_LANE(k, K)) all *= x[b * K + k];
    for (int bit = WARP / 2; bit > 0; bit /= 2) all *= __shfl_xor_sync(0xffffffffu, all, bit);
    if (threadIdx.x % WARP == 0) y[b] = all;
  }
}
__global__ static void prod_back_kernel(real *dx, const real *x, const real *dy, int assign,
                                        size_t rows, unsigned K) {
  for (EACH_ROW(b, rows))
    for (EACH_LANE(k, K)) {
      real others = 1;
      for (unsigned j = 0; j < K; j++) if (j != k) others *= x[b * K + j];
      put(&dx[b * K + k], dy[b] * others, assign);
    }
}
static void prod(edf_node *y, int backward) {
  edf_node *x = y->in[0];
  int assign;
  size_t rows = y->size, K = x->size / rows;
  const real *of = value_of(x);
  if (!backward) RUN_ROWS(prod_kernel, rows, result_of(y), of);
  if (!backward || !x->grad) return;
  const real *dy = dy_of(y);
  real *dx = grad_of(x, &assign);
  RUN_ROWS(prod_back_kernel, rows, dx, of, dy, assign);
}
static const kernel prod_here("Prod", prod);

/* ---- BatchNorm normalises columns. A block has 8 columns. Forward has no y, and u and v are
   the mean and the variance of a column. In training they are the batch's, and the running ones
   move towards them. In backward they are the means of y.grad and of y y.grad (that of y is 0),
   or 0 after a forward outside of training. `keep` has 1 or 0 for that, then the factors. */
enum { COLUMNS = 8 };

__global__ static void __launch_bounds__(MOST_THREADS)
batch_norm_kernel(real *out, const real *x, const real *y, real *mean, real *variance,
                  real *keep, real eps, int trains, int assign, size_t n, unsigned C) {
  __shared__ real shared[MOST_THREADS];
  unsigned c = blockIdx.x * COLUMNS + threadIdx.x % COLUMNS;
  size_t first = (size_t)(threadIdx.x / COLUMNS) * C + c;
  size_t step = (size_t)(blockDim.x / COLUMNS) * C;
  real rows = (real)(n / C), rate = (real)0.1, u = 0, v = 0;
  if (y) trains = keep[0] != 0;
  if (trains) {
    for (size_t i = first; i < n; i += step) u += x[i];
    u = block_sum(shared, u, COLUMNS) / rows;
    for (size_t i = first; i < n; i += step) v += (x[i] - u) * (y ? y[i] : x[i] - u);
    v = block_sum(shared, v, COLUMNS) / rows;
  } else if (!y && c < C) {
    u = mean[c];
    v = variance[c];
  }
  if (c >= C) return;
  real factor = y ? keep[1 + c] : 1 / sqrt(v + eps);
  for (size_t i = first; i < n; i += step)
    put(&out[i], factor * (x[i] - u - (y ? y[i] * v : 0)), assign);
  if (y || first >= C) return;
  if (c == 0) keep[0] = (real)trains;
  keep[1 + c] = factor;
  if (!trains) return;
  mean[c] += rate * (u - mean[c]);
  variance[c] += rate * (rows / (rows - 1) * v - variance[c]);
}

static void batch_norm(edf_node *y, int backward) {
  edf_node *x = y->in[0], *mean = y->in[1], *variance = y->in[2];
  unsigned C = (unsigned)mean->size;
  size_t rows = y->size / C;
  int trains = edf.training && !backward, assign = 1;
  real *keep = (real *)own(y, (1 + (size_t)C) * sizeof(real));
  if (backward && !x->grad) return;
  if (trains && rows < 2) fail("one row has no variance: training needs 2 rows or more");
  real *m = trains ? to_write(mean, EDF_VALUE, 0) : value_of(mean);
  real *v = trains ? to_write(variance, EDF_VALUE, 0) : value_of(variance);
  const real *from = backward ? dy_of(y) : value_of(x), *value = backward ? value_of(y) : NULL;
  real *to = backward ? grad_of(x, &assign) : result_of(y);
  unsigned threads = rows < MOST_THREADS / COLUMNS ? THREADS : MOST_THREADS;
  GRID(batch_norm_kernel, (C + COLUMNS - 1) / COLUMNS, threads, to, from, value, m, v, keep,
       number_of(y, 0, 1), trains, assign, y->size, C);
}
static const kernel batch_norm_here("BatchNorm", batch_norm);

/* ---- LogLoss, and SoftmaxLogLoss, which keeps the logarithms of P. edf.h checks the labels of
   an Input. A computed label that is no class gives NaN. Returns the class, or -1. */
__device__ static long long class_of(real number, size_t K) {
  int is_class = number >= 0 && number < (real)K && floor(number) == number;
  return is_class ? (long long)number : -1;
}

__global__ static void loss_kernel(real *loss, const real *P, const real *label, int logs,
                                   size_t rows, unsigned K) {
  for (EACH(b, rows)) {
    long long c = class_of(label[b], K);
    real at = c < 0 ? (real)NAN : P[b * K + (size_t)c];
    loss[b] = logs ? -at : -log(at);
  }
}

/* From probabilities dx = -dl [k = label] / P, from scores dx = dl (P - [k = label]). */
__global__ static void loss_back_kernel(real *dx, const real *P, const real *label,
                                        const real *dl, int logs, int assign, size_t rows,
                                        unsigned K) {
  for (EACH_ROW(b, rows))
    for (EACH_LANE(k, K)) {
      size_t i = b * K + k;
      int is_label = (real)k == label[b];
      real of_probability = is_label ? -dl[b] / P[i] : 0;
      put(&dx[i], logs ? dl[b] * (exp(P[i]) - (real)is_label) : of_probability, assign);
    }
}

static void loss_of(edf_node *l, int backward) {
  int logs = !strcmp(l->about->name, "SoftmaxLogLoss");
  edf_node *x = l->in[0];
  size_t rows = l->size, K = x->size / rows;
  real *P = logs ? (real *)own(l, (x->size + rows) * sizeof(real)) : value_of(x);
  const real *label = value_of(l->in[1]);
  int assign;
  if (!backward && logs)
    RUN_ROWS(row_kernel<LogSoftmax>, rows, P, P + x->size, value_of(x), (real)0, 0u);
  if (!backward) RUN(loss_kernel, rows, result_of(l), P, label, logs, rows, (unsigned)K);
  if (!backward || !x->grad) return;
  const real *dl = dy_of(l);
  real *dx = grad_of(x, &assign);
  RUN_ROWS(loss_back_kernel, rows, dx, P, label, dl, logs, assign);
}
static const kernel log_loss_here("LogLoss", loss_of);
static const kernel softmax_log_loss_here("SoftmaxLogLoss", loss_of);

/* ---- ArgMax: the place of the first greatest of order times x. NaN is never greater. */
__global__ static void argmax_kernel(real *y, const real *x, real order, size_t rows,
                                     unsigned K) {
  for (EACH_ROW(b, rows)) {
    const real *row = x + b * K;
    real most = -(real)HUGE_VAL;
    unsigned best = 0;
    for (EACH_LANE(k, K)) {
      if (!(order * row[k] > most)) continue;
      most = order * row[k];
      best = k;
    }
    for (int bit = WARP / 2; bit > 0; bit /= 2) {
      real v = __shfl_xor_sync(0xffffffffu, most, bit);
      unsigned at = __shfl_xor_sync(0xffffffffu, best, bit);
      if (!(v > most || (v == most && at < best))) continue;
      most = v;
      best = at;
    }
    if (threadIdx.x % WARP == 0) y[b] = row[0] == row[0] ? (real)best : 0;
  }
}
static void argmax(edf_node *y, int) {
  size_t rows = y->size, K = y->in[0]->size / rows;
  RUN_ROWS(argmax_kernel, rows, result_of(y), value_of(y->in[0]), number_of(y, 0, 1));
}
static const kernel argmax_here("ArgMax", argmax);

/* ==== >>lookups  Entries by value, and back ================================================

   A Lookup reads entries of a table at positions that other tensors give: y[b,j] = W[k[b],j]. A
   Scatter adds its entries there. A group is entries that lie together in both, here along j.
   First where_kernel finds the place of each group in the table. Then groups are moved. If
   several groups add to one place, the first of them adds them all up, in their order. So no
   two warps write one entry. A class that is none is read as NaN, and is written nowhere. */
enum { OUTSIDE = -1, NO_CLASS = -2 };
struct position {                        /* in a dimension of the table                       */
  const real *by;                        /* the tensor that gives it, or NULL                 */
  int constant;                          /* It is constant + sum of step[d] digit[d], or the  */
  int step[EDF_MAX_RANK];                /* class that `by` has there.                        */
  int dim;
  long long stride;
};
struct places {
  int n_digit;                           /* digits of a group: its indices                    */
  int n_position;
  unsigned extent[EDF_MAX_RANK];
  position of[EDF_MAX_RANK];
};

__global__ static void where_kernel(long long *to, places t, size_t groups) {
  for (EACH(g, groups)) {
    long long at = 0;
    int wrong = 0;
    for (int k = 0; k < t.n_position; k++) {
      const position &p = t.of[k];
      long long i = p.constant, rest = (long long)g;
      for (int d = t.n_digit - 1; d >= 0; d--) {
        i += rest % t.extent[d] * p.step[d];
        rest /= t.extent[d];
      }
      if (p.by) i = class_of(p.by[i], (size_t)p.dim);
      if (i < 0 || i >= p.dim) wrong = p.by ? NO_CLASS : OUTSIDE;
      at += i * p.stride;
    }
    to[g] = wrong ? wrong : at;
  }
}

__global__ static void gather_kernel(real *y, const real *x, const long long *to, size_t n,
                                     size_t length, int assign) {
  for (EACH(i, n)) {
    long long at = to[i / length];
    real v = at >= 0 ? x[(size_t)at + i % length] : at == NO_CLASS ? (real)NAN : 0;
    put(&y[i], v, assign);
  }
}

/* A warp looks for the other groups of its place, 32 at a time. */
__global__ static void scatter_kernel(real *y, const real *x, const long long *to,
                                      size_t groups, unsigned length) {
  unsigned lane = threadIdx.x % WARP;
  for (EACH_ROW(g, groups)) {
    long long at = to[g];
    unsigned found = 0;
    for (size_t j = 0; at >= 0 && !found && j < g; j += WARP)
      found = __ballot_sync(0xffffffffu, j + lane < g && to[j + lane] == at);
    if (at < 0 || found) continue;
    for (size_t j = g; j < groups; j += WARP) {
      found = __ballot_sync(0xffffffffu, j + lane < groups && to[j + lane] == at);
      for (; found; found &= found - 1) {
        const real *from = x + (j + (size_t)__ffs((int)found) - 1) * length;
        for (EACH_LANE(k, length)) y[(size_t)at + k] += from[k];
      }
    }
  }
}

/* ---- Lookups. The compiled form says where the classes are: see edf_contraction. */
/* Returns the last index of an expression. */
static int index_of(const edf_place &e) {
  int i = EDF_MAX_INDEX - 1;
  while (i > 0 && !e.factor[i]) i--;
  return i;
}

/* Returns 1 if both tensors end with the same index, and no other position has it. */
static int has_groups(const edf_equation *all, const edf_ref &x, const edf_ref &table) {
  if (!x.rank || !table.rank) return 0;
  const edf_place &e = x.place[x.rank - 1], &f = table.place[table.rank - 1];
  int i = index_of(e), uses = 0;
  for (const edf_ref *t = all->ref; t < all->ref + all->n_ref; t++)
    for (int d = 0; d < t->rank; d++) uses += t->place[d].factor[i] != 0;
  return uses == 2 && e.constant == f.constant && e.by == f.by
         && !memcmp(e.factor, f.factor, sizeof e.factor);
}

/* Adds an expression, times a stride, to a position. Digit d of a group is index[d]. */
static void add_expression(position *p, const edf_place &e, int stride, const int *index,
                           int n_digit) {
  p->constant += e.constant * stride;
  for (int d = 0; d < n_digit; d++) p->step[d] += e.factor[index[d]] * stride;
}

/* Finds where the entries of node x lie in node `table`. Returns the length of a group. */
static size_t find_places(const edf_equation *all, int scatters, edf_node *const *in,
                          const edf_node *x, const edf_node *table, places *t) {
  const edf_ref &of_x = all->ref[scatters], &of_table = all->ref[!scatters];
  int index[EDF_MAX_RANK] = { 0 }, n = x->rank ? x->dim[x->rank - 1] : 0;
  int grouped = has_groups(all, of_x, of_table) && n <= table->dim[table->rank - 1];
  long long stride = 1;
  memset((void *)t, 0, sizeof *t);
  t->n_digit = of_x.rank - grouped;
  t->n_position = of_table.rank;
  for (int d = 0; d < t->n_digit; d++) {
    index[d] = index_of(of_x.place[d]);
    t->extent[d] = (unsigned)x->dim[d];
  }
  for (int k = of_table.rank - 1; k >= 0; k--) {
    position *p = &t->of[k];
    const edf_ref &by = all->ref[of_table.place[k].by];
    edf_node *classes = of_table.place[k].by ? in[by.operand] : NULL;
    int of_class = 1;
    p->dim = table->dim[k];
    p->stride = stride;
    stride *= p->dim;
    if (!classes) add_expression(p, of_table.place[k], 1, index, t->n_digit);
    else p->by = value_of(classes);
    for (int d = by.rank - 1; classes && d >= 0; d--) {
      add_expression(p, by.place[d], of_class, index, t->n_digit);
      of_class *= classes->dim[d];
    }
  }
  return grouped ? (size_t)n : 1;
}

/* In a Scatter the table is y, else it is the first operand. */
static void look_up(edf_node *y, int backward) {
  const edf_equation *all = &edf_contraction_of(y)->e;
  edf_node *x = y->in[0];
  places t;
  int scatters = 0, assign = 1;
  for (int d = 0; d < all->ref->rank; d++) scatters |= all->ref->place[d].by > 0;
  edf_node *entries = scatters ? x : y, *table = scatters ? y : x;
  size_t length = find_places(all, scatters, y->in, entries, table, &t);
  size_t n = entries->size, groups = n / length;
  long long *to = (long long *)own(y, groups * sizeof *to);
  if (backward && !x->grad) return;
  if (!backward) RUN(where_kernel, groups, to, t, groups);
  const real *from = backward ? dy_of(y) : value_of(x);
  real *moved = backward ? grad_of(x, &assign) : result_of(y);
  if (scatters == backward) {
    RUN(gather_kernel, n, moved, from, to, n, length, assign);
    return;
  }
  if (assign) CU(cudaMemsetAsync(moved, 0, table->size * sizeof(real), gpu.stream));
  RUN(scatter_kernel, groups * WARP, moved, from, to, groups, (unsigned)length);
}
static const kernel lookup_here("Lookup", look_up);

/* ==== >>updates  Optimisers: many parameters in one launch =================================

   Updates are collected, and launched before anything else is read or written. */
enum { RULE_NUMBERS = 8, STEPS = 32 };
struct step {
  real *p;
  real *g;
  real *m;                               /* NULL if the rule has none                         */
  real *s;
  size_t n;
  int of_grad;                           /* 1 if the rule changes the gradient                */
  unsigned first;                        /* of its blocks                                     */
  real c[RULE_NUMBERS];
};
struct steps {
  int n;
  step of[STEPS];
};
static steps pending;
static_assert(sizeof(steps) <= 4096, "the arguments of a kernel have at most 4 KB");

/* Returns how many blocks a step has. */
static unsigned blocks_of(const step &e) { return std::min(blocks_for(e.n), 512u); }

/* m = c0 m + c1 g;  s = c2 s + c3 g^2;  p = c4 p - c5 m / (c6 sqrt(s) + c7). Without m it is g,
   and without s the divisor is 1. For gradients g = c0 g + c1 p + c2 sign(p). */
__global__ static void update_kernel(steps t) {
  int k = 0;
  while (k + 1 < t.n && blockIdx.x >= t.of[k + 1].first) k++;
  const step &e = t.of[k];
  unsigned blocks = (k + 1 < t.n ? t.of[k + 1].first : gridDim.x) - e.first;
  const real *c = e.c;
  size_t i = (size_t)(blockIdx.x - e.first) * THREADS + threadIdx.x;
  for (; i < e.n; i += (size_t)blocks * THREADS) {
    real p = e.p[i], g = e.g[i], m = e.m ? e.m[i] : 0, s = e.s ? e.s[i] : 0, divisor = 1;
    if (e.of_grad) {
      e.g[i] = c[0] * g + c[1] * p + c[2] * (real)((p > 0) - (p < 0));
      continue;
    }
    if (e.s) {
      e.s[i] = s = c[2] * s + c[3] * g * g;
      divisor = c[6] * sqrt(s) + c[7];
    }
    if (e.m) e.m[i] = g = c[0] * m + c[1] * g;
    e.p[i] = c[4] * p - c[5] * g / divisor;
  }
}

static void flush_updates(void) {
  unsigned blocks = 0;
  if (!pending.n || gpu.collecting) return;
  for (step *e = pending.of; e < pending.of + pending.n; blocks += blocks_of(*e++))
    e->first = blocks;
  GRID(update_kernel, blocks, THREADS, pending);
  memset((void *)&pending, 0, sizeof pending);
}

/* Writes the numbers of a rule with the arguments a. Returns 0 if the rule is for parameters, 1
   if it is for gradients, and -1 if it is the program's own. */
static int rule_of(const edf_rule *rule, const real *a, long made, real *c) {
  double t = (double)(made > 0 ? made : 1);
  int slides = rule == &edf_adam_slides_rule;
  int clip = !strcmp(rule->name, "edf_clip"), l2 = !strcmp(rule->name, "edf_l2");
  memset(c, 0, RULE_NUMBERS * sizeof *c);
  c[0] = clip ? a[0] : 1;
  c[l2 ? 1 : 2] = clip ? 0 : a[0];
  if (clip || l2 || !strcmp(rule->name, "edf_l1")) return 1;
  c[4] = 1;
  c[5] = a[0];
  if (rule == &edf_sgd_rule) return 0;
  if (rule == &edf_momentum_rule) {
    c[0] = a[1];
    c[1] = a[0];
    c[5] = 1;
    return 0;
  }
  c[6] = 1;
  c[7] = a[2];
  c[2] = a[1];
  c[3] = 1 - a[1];
  if (rule == &edf_rmsprop_rule) return 0;
  if (rule != &edf_adam_rule && !slides) return -1;
  real first = 1 - 1 / (real)t;
  c[0] = slides && first < a[1] ? first : a[1];
  c[1] = 1 - c[0];
  c[2] = slides && first < a[2] ? first : a[2];
  c[3] = 1 - c[2];
  c[4] = slides ? 1 : 1 - a[0] * a[4];
  c[5] = slides ? a[0] : (real)((double)a[0] / (1 - pow((double)a[1], t)));
  c[6] = slides ? 1 : (real)(1 / sqrt(1 - pow((double)a[2], t)));
  c[7] = a[3];
  return 0;
}

/* ---- The norm of all gradients: the sum of their squares in double, a part for each block. */
enum { NORM_BLOCKS = 64 };

__global__ static void norm_kernel(double *partial, steps t) {
  __shared__ double shared[THREADS];
  const step &e = t.of[blockIdx.y];
  double sum = 0;
  for (EACH(i, e.n)) sum += (double)e.g[i] * (double)e.g[i];
  sum = block_sum(shared, sum, 1);
  if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ static void add_norms_kernel(double *partial, int n) {
  __shared__ double shared[THREADS];
  double sum = 0;
  for (int i = (int)threadIdx.x; i < n; i += THREADS) sum += partial[i];
  sum = block_sum(shared, sum, 1);
  if (threadIdx.x == 0) partial[0] = sum;
}

static double squares_of(edf_node **p, int n) {
  double sum, *partial = (double *)scratch(PARTIAL, (size_t)n * NORM_BLOCKS * sizeof sum);
  for (int i = 0; i < n; i += STEPS) {
    steps t;
    memset((void *)&t, 0, sizeof t);
    for (; t.n < STEPS && i + t.n < n; t.n++) {
      t.of[t.n].g = dy_of(p[i + t.n]);
      t.of[t.n].n = p[i + t.n]->size;
    }
    GRID(norm_kernel, dim3(NORM_BLOCKS, (unsigned)t.n), THREADS, partial + i * NORM_BLOCKS, t);
  }
  GRID(add_norms_kernel, 1, THREADS, partial, n * NORM_BLOCKS);
  fetch(&sum, partial, sizeof sum);
  return sum;
}

/* A parameter that is pending already has its steps one after the other. */
static double update(edf_node **p, int n, const edf_rule *rule, const real *c) {
  step e;
  if (!rule) return n ? squares_of(p, n) : 0;
  for (int i = 0; i < n; i++) {
    int waits = pending.n == STEPS;
    for (int k = 0; k < pending.n; k++)
      waits |= pending.of[k].p == twins[p[i]].of[EDF_VALUE].at;
    if (waits) flush_updates();
    memset((void *)&e, 0, sizeof e);     /* The emulation looks at the padding too.           */
    e.of_grad = rule_of(rule, c, p[i]->steps, e.c);
    if (e.of_grad < 0) return -1;
    gpu.collecting = 1;
    e.p = to_read(p[i], EDF_VALUE);
    e.g = to_read(p[i], EDF_GRAD);
    e.m = rule->needs_m ? to_write(p[i], EDF_M, 0) : NULL;
    e.s = rule->needs_s ? to_write(p[i], EDF_S, 0) : NULL;
    e.n = p[i]->size;
    to_write(p[i], e.of_grad ? EDF_GRAD : EDF_VALUE, 0);
    gpu.collecting = 0;
    pending.of[pending.n++] = e;
  }
  return 0;
}

/* ==== >>passes  Nodes, and whole passes as CUDA graphs =====================================*/

struct recording {
  int seen;                              /* 1 if the pass has run once                        */
  int needs_host;                        /* 1 if C code ran in between                        */
  u64 draws;                             /* numbers that its masks take                       */
  cudaGraphExec_t exec;
  std::vector<std::pair<edf_node *, int>> writes;      /* arrays: a node, and an edf_which    */
};
static std::unordered_map<u64, recording> recordings;        /* by the key of the pass        */
static recording *current;               /* the recording of the pass that runs, or NULL      */

static void note_written(edf_node *x, int which) {
  if (gpu.recording) current->writes.push_back({ x, which });
}

static void drop_recordings(void) {
  for (auto r = recordings.begin(); r != recordings.end();) {
    int runs = &r->second == current;
    if (r->second.exec && !runs) CU(cudaGraphExecDestroy(r->second.exec));
    r = runs ? std::next(r) : recordings.erase(r);
  }
}

/* The key of a pass has all that the host's code depends on. */
static u64 mix(u64 key, u64 x) { return (key ^ x) * 0x9E3779B97F4A7C15ull ^ key >> 29; }

static u64 key_of_node(u64 key, const edf_node *x) {
  int back = edf.direction < 0;          /* Gradients matter to a Backward alone.             */
  int grad = x->needs_grad | x->grad_is_zero << 1 | (x->grad != NULL) << 2;
  key = mix(mix(key, (u64)(uintptr_t)x), x->size);
  return mix(key, (u64)x->active | (u64)(back ? grad : 0) << 1);
}
static u64 key_of_pass(void) {
  u64 key = mix((u64)(edf.direction + 2), (u64)edf.training << 1 | (u64)edf.accumulate);
  key = mix(key, edf.direction < 0 ? (u64)(uintptr_t)edf.loss : 0);
  for (int i = 0; i < edf.n_inputs; i++) key = key_of_node(key, edf.inputs[i]);
  for (int i = 0; i < edf.n_parameters; i++) key = key_of_node(key, edf.parameters[i]);
  for (int i = 0; i < edf.n_compnodes; i++) key = key_of_node(key, edf.compnodes[i]);
  return key;
}

/* Runs the nodes once more, and their launches go into a graph. */
static void record(recording *r, void (*nodes)(void)) {
  cudaGraph_t graph = NULL;
  u64 before = edf.draws;
  CU(cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal));
  gpu.recording = 1;
  nodes();
  gpu.recording = 0;
  r->draws = edf.draws - before;
  CU(cudaStreamEndCapture(gpu.stream, &graph));
  CU(cudaGraphInstantiate(&r->exec, graph, 0));
  CU(cudaGraphDestroy(graph));
  CU(cudaGraphLaunch(r->exec, gpu.stream));
}
static void replay(recording *r) {
  CU(cudaGraphLaunch(r->exec, gpu.stream));
  for (auto &w : r->writes) mark_written(w.first, w.second);
  edf.draws += r->draws;
}

/* Returns 1 if the GPU has the present data of an Input, as far as the ring still shows. */
static int has_sent(edf_node *x) {
  const twin &t = twins[x];
  size_t bytes = x->size * sizeof(real);
  return t.sent && t.sent_in == gpu.ring_turn && t.sent_bytes == bytes &&
         !memcmp(t.sent, x->value, bytes);
}

/* Forward sends each Input that it needs, if the program has changed the data. Backward sends
   an Input that was fed in between. */
static void send_inputs(void) {
  for (int i = 0; i < edf.n_inputs; i++) {
    edf_node *x = edf.inputs[i];
    if (!x->active || x->fed < 0) continue;
    if (edf.direction > 0 && !has_sent(x)) array_of(x, EDF_VALUE)->gpu_is_right = 0;
    value_of(x);
  }
  int old = gpu.draws_sent[0] != edf.seed || gpu.draws_sent[1] != edf.draws;
  if (edf.direction > 0 && scratches[DRAWS].at && old) send_draws();
}

/* Each batch size has recordings of its own. With more than 16, all but the current one go. */
static int pass(void (*nodes)(void), int whole) {
  enum { MOST_RECORDINGS = 16 };
  current = NULL;
  flush_updates();
  send_inputs();
  recording *r = current = gpu.graphs && whole ? &recordings[key_of_pass()] : NULL;
  if (recordings.size() > MOST_RECORDINGS) drop_recordings();
  int recorded_before = r && r->exec;
  if (recorded_before) replay(r);
  else if (r && r->seen && !r->needs_host) record(r, nodes);
  else nodes();
  if (r) r->seen = 1;                    /* Not after an error in a node.                     */
  current = NULL;
  return recorded_before;
}

/* ---- A node. One without a kernel runs on the host. That is said once for each kind. */
static void run_on_host(edf_node *y, int backward) {
  static std::set<std::string> told;
  if (current) current->needs_host = 1;
  if (told.insert(y->op).second)
    fprintf(stderr, "edf: note: node %s is CPU code: its inputs and results are copied between "
            "GPU and CPU in every step\n", y->op);
  edf_run_code(y, backward);
}
static void find_kernel(edf_node *y) {
  auto k = kernels().find(y->about && y->about->name ? y->about->name : "");
  const edf_contraction *m = edf_contraction_of ? edf_contraction_of(y) : NULL;
  twins[y].run = k != kernels().end() ? k->second : m && m->kind == 'x' ? window : run_on_host;
}
/* Without a device, as for a copy in the gradient check, the C code runs. */
static void run_node(edf_node *y, int backward) {
  if (!edf_device) edf_run_code(y, backward);
  else {
    if (!twins[y].run) find_kernel(y);   /* after edf_cuda_close                              */
    twins[y].run(y, backward);
  }
}
static void gpu_forward(edf_node *y) { run_node(y, 0); }
static void gpu_backward(edf_node *y) { run_node(y, 1); }

/* Loops ask for each of their nests. */
static void built(edf_node *y) {
  if (y->about && y->about->flags & EDF_LOOPS) return;
  find_kernel(y);
  y->forward = gpu_forward;
  if (y->backward) y->backward = gpu_backward;
}

/* ---- What a kernel keeps is copied to the host, and the copy is sent back. */
static void pull_own(twin *t) {
  if (current) current->needs_host = 1;
  t->own_copy.resize(t->own.bytes);
  if (t->own.at) fetch(t->own_copy.data(), t->own.at, t->own.bytes);
}
static void push_own(twin *t) {
  size_t bytes = t->own_copy.size();
  if (current) current->needs_host = 1;
  if (bytes) send(make_room(&t->own, bytes), t->own_copy.data(), bytes);
  t->own_copy = std::vector<char>();
}

/* ---- Brings an array to the host, and notes that the host has written it. If the batch has
   grown since the node ran, the GPU has only the rows of the earlier batch. Then these are
   copied, and the host's other rows stay as they are, as on the CPU. */
static void pull(edf_node *x, edf_which which) {
  if (which == EDF_OWN) { pull_own(&twins[x]); return; }
  array *a = &twins[x].of[which];
  size_t bytes = std::min(a->bytes, x->size * sizeof(real));
  flush_updates();
  if (!a->host_is_old || !host_of(x, which)) return;
  if (current) current->needs_host = 1;
  fetch(host_of(x, which), a->at, bytes);
  a->host_is_old = 0;
}
/* The array is sent at once, since nothing can be sent while a pass is recorded. */
static void push(edf_node *x, edf_which which) {
  if (which == EDF_OWN) { push_own(&twins[x]); return; }
  array *a = &twins[x].of[which];
  flush_updates();
  if (current) current->needs_host = 1;
  a->host_is_old = 0;
  a->gpu_is_right = 0;
  if (a->at && !is_data(x, which)) to_read(x, which);
}

static void sync(edf_node *x, edf_which which, edf_access by) {
  if (by == EDF_READS) pull(x, which);
  else push(x, which);
}

static void forget(edf_node *x) {
  for (array &a : twins[x].of) release(&a);
  release(&twins[x].own);
  twins.erase(x);
}
static void clear(int all) {
  current = NULL;
  flush_updates();
  forget_tables();
  for (int i = 0; i < edf.n_compnodes; i++) forget(edf.compnodes[i]);
  for (int i = 0; all && i < edf.n_parameters; i++) forget(edf.parameters[i]);
  for (int i = 0; all && i < edf.n_inputs; i++) forget(edf.inputs[i]);
}

/* ==== >>open  What a linked edf_cuda.o does when the first node is made ====================*/

static edf_device_table table = { built, pass, run, update, sync, clear };

static void choose_precision(void) {
  const char *asked = getenv("EDF_PRECISION");
  gpu.precision = asked && *asked ? asked : "fp32";
  if (!strcmp(gpu.precision, "fp32")) gpu.compute = CUBLAS_COMPUTE_32F;
  else if (!strcmp(gpu.precision, "tf32")) gpu.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  else if (!strcmp(gpu.precision, "bf16")) gpu.compute = CUBLAS_COMPUTE_32F_FAST_16BF;
  else fail("EDF_PRECISION is %s: expected fp32, tf32 or bf16", asked);
  if (sizeof(real) == 8) gpu.compute = CUBLAS_COMPUTE_64F;
}

static edf_device_table *open_gpu(void) {
  const char *asked = getenv("EDF_DEVICE"), *graphs = getenv("EDF_GRAPHS");
  cudaDeviceProp p;
  cudaFuncAttributes kernel;
  size_t workspace = (size_t)32 << 20;
  u64 all = ~0ull;
  int n = 0, which = 0;                  /* An error leaves n as it is.                       */
  if (!asked || !*asked) asked = "auto";
  if (strcmp(asked, "auto") && strcmp(asked, "cpu") && strcmp(asked, "cuda"))
    fail("EDF_DEVICE is %s: expected auto, cpu or cuda", asked);
  if (!strcmp(asked, "cpu")) return NULL;
  choose_precision();
  cudaError_t error = cudaGetDeviceCount(&n);
  if (error == cudaSuccess && n == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess) error = cudaFree(NULL);          /* This opens a context.         */
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&kernel, count_kernel);
  if (error != cudaSuccess) {
    cudaGetLastError();
    if (!strcmp(asked, "cuda")) fail("no usable GPU (%s)", cudaGetErrorString(error));
    fprintf(stderr, "edf: no usable GPU (%s); running on the CPU\n", cudaGetErrorString(error));
    return NULL;
  }
  CU(cudaGetDevice(&which));
  CU(cudaGetDeviceProperties(&p, which));
  gpu.processors = p.multiProcessorCount;
  gpu.graphs = !graphs || strcmp(graphs, "0");
  CU(cudaDeviceGetDefaultMemPool(&gpu.pool, which)); /* It keeps memory that is freed.        */
  CU(cudaMemPoolSetAttribute(gpu.pool, cudaMemPoolAttrReleaseThreshold, &all));
  CU(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
  CU(cudaMallocHost((void **)&gpu.ring, RING));
  CU(cudaEventCreateWithFlags(&gpu.ring_sent, cudaEventDisableTiming));
  CB(cublasCreate(&gpu.blas));
  CB(cublasSetStream(gpu.blas, gpu.stream));
  CU(cudaMalloc(&gpu.workspace, workspace));         /* A recorded gemm needs one of ours.    */
  CB(cublasSetWorkspace(gpu.blas, gpu.workspace, workspace));
  fprintf(stderr, "edf: GPU: %s, %s, %s\n", p.name,
          sizeof(real) == 8 ? "fp64" : gpu.precision, gpu.graphs ? "graphs" : "no graphs");
  return &table;
}

/* These are for NCCL. edf_cuda_grad returns the address of p's gradient, up to date. The caller
   may change the gradient until the next Backward. Everything runs on edf_cuda_stream. */
extern "C" edf_real *edf_cuda_grad(edf_node *p) {
  if (edf_device != &table) fail("edf_cuda_grad: no GPU is in use");
  edf_expect_node("edf_cuda_grad", "the node", p);
  return to_write(p, EDF_GRAD, 0);
}
extern "C" void *edf_cuda_stream(void) { return gpu.stream; }

/* Brings all numbers to the host, and gives everything back. A node that is made afterwards
   opens the GPU again. */
extern "C" void edf_cuda_close(void) {
  if (!gpu.stream) return;
  current = NULL;
  for (auto &t : twins)
    for (int k = 0; k < ARRAYS; k++) pull(t.first, (edf_which)k);
  while (!twins.empty()) forget(twins.begin()->first);
  for (array &a : scratches) release(&a);
  forget_tables();
  drop_recordings();
  CU(cudaStreamSynchronize(gpu.stream));
  CU(cudaFreeHost(gpu.ring));
  CU(cudaEventDestroy(gpu.ring_sent));
  CB(cublasDestroy(gpu.blas));
  CU(cudaFree(gpu.workspace));
  CU(cudaStreamDestroy(gpu.stream));
  CU(cudaMemPoolTrimTo(gpu.pool, 0));
  memset(&gpu, 0, sizeof gpu);
  if (edf_device == &table) edf_device = NULL;
  edf_open_device = open_gpu;
}

/* This runs before main. No function of CUDA is called yet. */
static const int registered __attribute__((used)) = (edf_open_device = open_gpu, 1);
