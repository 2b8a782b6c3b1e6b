/* edf_cuda.cu - the GPU behind edf.h 3.0: link edf_cuda.o to a program, and its kernels run
   through CUDA and cuBLAS. The program does not change.

     nvcc -std=c++17 -O3 -c edf_cuda.cu        or: make build/edf_cuda.o
     cc train.o edf_cuda.o -L/usr/local/cuda/lib64 -lcublas -lcudart -lstdc++ -lm

   How it works. edf.h hands its kernels over to a table of functions (`edf_device`, see >>api
   there). This file keeps a copy of every array on the GPU, known by the array's address
   on the host, runs each kernel on the copies, and brings a copy back when the program asks
   with edf_value or edf_grad. A host copy that is older than the GPU's begins with NaN, so a
   forgotten edf_value shows. A product of tensors becomes one gemm of cuBLAS, where needed
   between a packing and an adding kernel; everything thin is one general sum. The second time
   that the same Forward or Backward comes, it is recorded as a CUDA graph; from then on it is
   one launch. No sum depends on the order in which threads run: two runs are equal bit for bit.

   Environment     default
     EDF_DEVICE      auto    cpu: not on the GPU; cuda: an error where there is none
     EDF_PRECISION   fp32    of matrix products: fp32, tf32, bf16 (rounded before, summed in
                             fp32) or pedantic
     EDF_GRAPHS      1       0: nothing is recorded
     EDF_SYNC        0       1: after every kernel both copies are right; slow, any program runs
     EDF_CHECK       0       1: every kernel is compared with the C loops, and the first one
                             that differs is named
     EDF_CUDA_DEBUG  0       1: waits for each kernel, so that an error names it

   Contents:  >>errors  >>arrays  >>inputs  >>sums  >>products  >>windows  >>elements  >>rows
              >>layers  >>updates  >>passes  >>check  >>open

   Not here: cuDNN, flash attention, several GPUs (see edf.after_backward), half precision in
   memory. License: as edf.h. */
#define EDF_NO_SHORT_NAMES
#include "edf.h"
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef LAUNCH                           /* the tests have one of their own */
#define LAUNCH(kernel, grid, block, stream, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#endif

typedef edf_real real;
typedef unsigned long long u64;
enum { THREADS = 256, WARP = 32, MOST = EDF_MAX_INDEX };

/* ==== >>errors ============================================================================ */

static struct {
  int sync, asked_sync, check, debug, graphs;
  cudaStream_t stream;
  cublasHandle_t blas;
  void *workspace;
  cublasComputeType_t compute;
  const char *precision;
  int processors;
} gpu;

[[noreturn]] static void stop(void) {
  fprintf(stderr, "\n");
  fflush(stdout);
  exit(1);                               /* after an error nothing of CUDA's is called        */
}

static const char *running(void) {       /* which node                                        */
  int inside = edf.direction && edf.at >= 0 && edf.at < edf.n_compnodes;
  return inside ? edf.compnodes[edf.at]->name : NULL;
}

static void cuda_check(cudaError_t error, const char *call, int line) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "edf: %s failed (edf_cuda.cu:%d): %s", call, line, cudaGetErrorString(error));
  if (running()) fprintf(stderr, "\n  in %s of %s", edf.direction > 0 ? "forward" : "backward",
                         running());
  stop();
}

static void blas_check(cublasStatus_t status, const char *call, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fprintf(stderr, "edf: %s failed (edf_cuda.cu:%d): %s", call, line,
          cublasGetStatusString(status));
  stop();
}

#define CU(call) cuda_check(call, #call, __LINE__)
#define CB(call) blas_check(call, #call, __LINE__)

/* An error of a launch is asked for at once; one of its run shows later, in debug mode here. */
static void launched(const char *kernel, int line) {
  cuda_check(cudaGetLastError(), kernel, line);
  if (gpu.debug) cuda_check(cudaStreamSynchronize(gpu.stream), kernel, line);
}

static unsigned blocks_for(size_t n) {
  size_t blocks = (n + THREADS - 1) / THREADS;
  return (unsigned)(blocks < 1 ? 1 : blocks > 16384 ? 16384 : blocks);
}

/* One thread for each of n things: in the kernel, EACH(i, n). */
#define RUN(kernel, n, ...) \
  do { \
    LAUNCH(kernel, blocks_for(n), THREADS, gpu.stream, __VA_ARGS__); \
    launched(#kernel, __LINE__); \
  } while (0)
#define EACH(i, n) \
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); \
  i += (size_t)gridDim.x * blockDim.x

/* A graph is known by its first leaf. */
static unsigned graph_id(void) {
  const edf_node *leaf = edf.n_inputs ? edf.inputs[0]
                         : edf.n_parameters ? edf.parameters[0] : NULL;
  return (unsigned)((uintptr_t)leaf / 64 * 2654435761u >> 8);
}

/* ==== >>arrays  Copies of arrays on the GPU ================================================

   All lie in one piece of memory, the arena, at an offset that stays while the arena grows. A
   `private` array belongs to a node and has no host copy. */
struct array {
  const void *host;                      /* its address on the host, or its node's            */
  size_t at, bytes;
  char here, there, own, filled;         /* is the host's, the GPU's copy right; private      */
  size_t even;                           /* so many of its entries are known to be `number`   */
  real number;
  array *next, *all;                     /* of its bucket; of the list of all                 */
  const edf_node *owner;                 /* the node whose array it is, or NULL               */
  int which;                             /* EDF_VALUE and so on, or STATE                     */
  unsigned graph;                        /* graph_id() when it was made                       */
};
struct hole { size_t at, bytes; hole *next; };
enum { BUCKETS = 4096, ALIGN = 256 };

static struct {
  char *base;
  size_t bytes, used;
  hole *holes;                           /* sorted by offset; the last one reaches the end    */
  array *bucket[BUCKETS], *all;
  array **touched;                       /* written by the call that runs                     */
  int n_touched, room_touched, stale;    /* stale: something was pushed                       */
  int still;                             /* addresses are in use: it must not move            */
} arena;

static void drop_recordings(void);
static void forget_recordings(void);
static void note_written(array *a);
static int is_recording(void);
static void look_for_mistakes(void);

static void *grow(void *old, int n, int *room, size_t each) {
  if (n < *room) return old;
  *room = *room ? 2 * *room : 64;
  void *p = realloc(old, (size_t)*room * each);
  if (!p) { fprintf(stderr, "edf: out of memory: %zu bytes", (size_t)*room * each); stop(); }
  return p;
}

static size_t rounded(size_t bytes) { return (bytes + 2 * ALIGN - 1) / ALIGN * ALIGN; }

static array **bucket_of(const void *host) {
  return &arena.bucket[((uintptr_t)host / 64 * 2654435761u >> 8) % BUCKETS];
}

static array *find(const void *host) {
  array *a = *bucket_of(host);
  while (a && a->host != host) a = a->next;
  return a;
}

/* ---- Memory that ran out is a question of what was asked for: so the sizes are said. */
static void say_need(size_t free_bytes) {
  double parameters = 0, values = 0, grads = 0, giga = 1e-9 * sizeof(real);
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_node *p = edf.parameters[i];
    parameters += (double)p->size * (1 + (p->m != NULL) + (p->s != NULL));
    grads += p->grad ? (double)p->size : 0;
  }
  for (int i = 0; i < edf.n_compnodes; i++) {
    values += (double)edf.compnodes[i]->size;
    grads += edf.compnodes[i]->grad ? (double)edf.compnodes[i]->size : 0;
  }
  fprintf(stderr, "edf: the graph needs %.3g GB (parameters %.2g, values %.2g, grads %.2g) but "
          "the GPU has %.3g GB free", giga * (parameters + values + grads), giga * parameters,
          giga * values, giga * grads, 1e-9 * (double)free_bytes);
}

static void not_while_recording(const char *what) {
  if (!is_recording()) return;
  fprintf(stderr, "edf: a step that is being recorded asks for %s: EDF_GRAPHS=0", what);
  stop();
}

static char *allocate(size_t bytes) {
  void *p = NULL;
  size_t free_bytes = 0, total = 0;
  not_while_recording("memory");
  cudaError_t error = cudaMalloc(&p, bytes);
  if (error != cudaErrorMemoryAllocation) { CU(error); return (char *)p; }
  CU(cudaMemGetInfo(&free_bytes, &total));
  say_need(free_bytes);
  fprintf(stderr, "\n  %zu bytes could not be had", bytes);
  stop();
}

static void add_hole(size_t at, size_t bytes) {
  hole **h = &arena.holes;
  while (*h && (*h)->at + (*h)->bytes < at) h = &(*h)->next;
  if (*h && (*h)->at + (*h)->bytes == at) (*h)->bytes += bytes;      /* behind it             */
  else {
    hole *fresh = (hole *)malloc(sizeof *fresh);
    if (!fresh) { fprintf(stderr, "edf: out of memory"); stop(); }
    *fresh = { at, bytes, *h };
    *h = fresh;
  }
  hole *next = (*h)->next;
  if (!next || (*h)->at + (*h)->bytes != next->at) return;
  (*h)->bytes += next->bytes;
  (*h)->next = next->next;
  free(next);
}

/* What the whole graph will want, so that the arena seldom grows. */
static size_t estimate(void) {
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters; i++) n += 4 * edf.parameters[i]->size + ALIGN;
  for (int i = 0; i < edf.n_compnodes; i++) n += 2 * edf.compnodes[i]->size + 2 * ALIGN;
  return n * sizeof(real) + ((size_t)1 << 20);
}

static void grow_arena(size_t need) {
  size_t bytes = rounded(2 * arena.bytes > estimate() ? 2 * arena.bytes : estimate());
  if (bytes < arena.bytes + need) bytes = rounded(arena.bytes + need);
  if (arena.still) { fprintf(stderr, "edf: internal error: the arena moves"); stop(); }
  char *base = allocate(bytes);
  drop_recordings();
  if (arena.base) {
    CU(cudaMemcpyAsync(base, arena.base, arena.bytes, cudaMemcpyDeviceToDevice, gpu.stream));
    CU(cudaStreamSynchronize(gpu.stream));
    CU(cudaFree(arena.base));
  }
  add_hole(arena.bytes, bytes - arena.bytes);
  arena.base = base;
  arena.bytes = bytes;
}

static size_t take(size_t bytes) {       /* first fit                                         */
  bytes = rounded(bytes);
  for (;;) {
    hole **h = &arena.holes;
    while (*h && (*h)->bytes < bytes) h = &(*h)->next;
    if (!*h) { grow_arena(bytes); continue; }
    hole *found = *h;
    size_t at = found->at;
    found->at += bytes;
    found->bytes -= bytes;
    arena.used += bytes;
    if (!found->bytes) { *h = found->next; free(found); }
    return at;
  }
}

static void give(size_t at, size_t bytes) {
  arena.used -= rounded(bytes);
  add_hole(at, rounded(bytes));
}

/* ---- An array by its host address; NULL for memory that is not the framework's. */
static const real the_one = 1;           /* an absent factor                                  */

/* A node's array, as it is now. */
static real *array_now(const edf_node *x, int which) {
  return which == EDF_VALUE ? x->value : which == EDF_GRAD ? x->grad : which == EDF_M ? x->m
         : which == EDF_S ? x->s : (real *)x->state;
}
enum { STATE = EDF_S + 1 };
static edf_node *nth_node(int i) {
  if (i < edf.n_inputs) return edf.inputs[i];
  i -= edf.n_inputs;
  return i < edf.n_parameters ? edf.parameters[i] : edf.compnodes[i - edf.n_parameters];
}
static int count_nodes() { return edf.n_inputs + edf.n_parameters + edf.n_compnodes; }

static array *new_array(const void *host, size_t bytes, int own) {
  array *a = (array *)malloc(sizeof *a);
  if (!a) { fprintf(stderr, "edf: out of memory"); stop(); }
  *a = { host, take(bytes), bytes, (char)!own, (char)own, (char)own, 0, 0, 0,
         *bucket_of(host), arena.all, NULL, 0, graph_id() };
  return arena.all = *bucket_of(host) = a;
}

static array *array_of(const void *host) {
  array *a = find(host);
  size_t bytes = a || host == &the_one ? 0 : edf_array_bytes(host);
  if (!bytes) return a;
  a = new_array(host, bytes, 0);
  for (int i = 0; i < count_nodes() && !a->owner; i++)
    for (int k = 0; k <= STATE && !a->owner; k++)
      if (array_now(nth_node(i), k) == host) { a->owner = nth_node(i); a->which = k; }
  return a;
}

/* Copies bytes to the GPU. The caller may overwrite them when this function returns. CUDA does
   not promise that for pageable memory, so the bytes go through a ring of pinned memory. */
static const size_t RING = (size_t)8 << 20;
static struct {
  char *pinned;
  size_t used;
  cudaEvent_t sent;                      /* after the last copy from the ring                 */
} ring;

static void send(void *to, const void *from, size_t bytes) {
  if (!ring.pinned) {
    CU(cudaMallocHost((void **)&ring.pinned, RING));
    CU(cudaEventCreateWithFlags(&ring.sent, cudaEventDisableTiming));
  }
  for (size_t done = 0, n; done < bytes; done += n) {
    n = bytes - done < RING ? bytes - done : RING;
    if (ring.used + n > RING) {
      CU(cudaEventSynchronize(ring.sent));
      ring.used = 0;
    }
    char *part = ring.pinned + ring.used;
    memcpy(part, (const char *)from + done, n);
    CU(cudaMemcpyAsync((char *)to + done, part, n, cudaMemcpyHostToDevice, gpu.stream));
    CU(cudaEventRecord(ring.sent, gpu.stream));
    ring.used += (n + 255) / 256 * 256;
  }
}

static void free_ring(void) {
  if (!ring.pinned) return;
  CU(cudaEventDestroy(ring.sent));
  CU(cudaFreeHost(ring.pinned));
  ring.pinned = NULL;
  ring.used = 0;
}

static void upload(array *a) {
  not_while_recording("a copy");
  send(arena.base + a->at, a->host, a->bytes);
  a->there = 1;
  a->even = 0;
}

static void upload_stale(void) {
  for (array *a = arena.all; arena.stale && a; a = a->all)
    if (!a->there && a->here) upload(a);
  arena.stale = 0;
}

static void download(array *a, size_t bytes) {
  if (bytes > a->bytes) bytes = a->bytes;
  CU(cudaMemcpyAsync((void *)a->host, arena.base + a->at, bytes, cudaMemcpyDeviceToHost,
                     gpu.stream));
  CU(cudaStreamSynchronize(gpu.stream));
  a->here = 1;
}

/* The GPU's copy is newer from now on. The host's begins with NaN, once. */
static void mark_written(array *a) {
  enum { POISON = 4096 };
  if (a->here && !a->own && !gpu.sync)
    memset((void *)a->host, 0xff, a->bytes < POISON ? a->bytes : (size_t)POISON);
  a->here = (char)(gpu.sync && !a->own);
  a->there = 1;
}

static int is_touched(const array *a) {
  for (int i = 0; i < arena.n_touched; i++) if (arena.touched[i] == a) return 1;
  return 0;
}

static void touch(array *a) {
  if (is_touched(a)) return;
  arena.touched = (array **)grow(arena.touched, arena.n_touched, &arena.room_touched,
                                 sizeof a);
  arena.touched[arena.n_touched++] = a;
}

/* ---- What kernels are given: the copy of an array that is read, or that is written; `whole`
   says that nothing of what it held is needed. */
static char *staged(const void *host);

static void *in_bytes(const void *host) {
  array *a = find(host);
  char *input = a ? NULL : staged(host);
  if (input) return input;
  if (!a) a = array_of(host);
  if (!a) return NULL;
  if (!a->own && !is_touched(a) && (gpu.sync || !a->there)) upload(a);
  return arena.base + a->at;
}

static void *out_of(array *a, int whole) {
  if (!a->own && !is_touched(a) && (gpu.sync || (!whole && !a->there))) upload(a);
  mark_written(a);
  note_written(a);
  a->even = 0;
  if (gpu.sync) touch(a);
  return arena.base + a->at;
}

static void *out_bytes(const void *host, int whole) {
  array *a = array_of(host);
  return a ? out_of(a, whole) : NULL;
}

[[noreturn]] static void unknown(const char *kernel) {
  fprintf(stderr, "edf: %s was given memory that belongs to no node", kernel);
  if (running()) fprintf(stderr, ", in %s", running());
  stop();
}

static const real *in(const real *host, const char *kernel) {
  const real *x = (const real *)in_bytes(host);
  return x ? x : (unknown(kernel), x);
}

static real *out(real *host, int whole, const char *kernel) {
  real *x = (real *)out_bytes(host, whole);
  return x ? x : (unknown(kernel), x);
}

static void forget(const void *host) {
  array **b = bucket_of(host), **all = &arena.all, *a;
  while (*b && (*b)->host != host) b = &(*b)->next;
  if (!(a = *b)) return;
  while (*all != a) all = &(*all)->all;
  *b = a->next;
  *all = a->all;
  forget_recordings();
  give(a->at, a->bytes);
  free(a);
}

/* Forgets the arrays that their nodes no longer have: they have grown with the batch. */
static void forget_old(void) {
  static unsigned long feeds;
  static int nodes;
  if (feeds == edf.feeds && nodes == count_nodes()) return;
  feeds = edf.feeds;
  nodes = count_nodes();
  for (array *a = arena.all, *next; a; a = next) {
    next = a->all;
    if (a->owner && a->graph == graph_id() && (array_now(a->owner, a->which) != a->host ||
        edf_array_bytes(a->host) != a->bytes)) forget(a->host);
  }
}

/* A private array of node y. */
static real *own(const edf_node *y, size_t n) {
  array *a = find(y);
  if (a && a->bytes < n * sizeof(real)) { forget(y); a = NULL; }
  if (!a) a = new_array(y, n * sizeof(real), 1);
  return (real *)(arena.base + a->at);
}

/* At the end of a call: with EDF_SYNC, what it wrote comes back. */
static void finish(void) {
  for (int i = 0; i < arena.n_touched; i++)
    if (!arena.touched[i]->own) download(arena.touched[i], arena.touched[i]->bytes);
  arena.n_touched = 0;
  if (gpu.sync) look_for_mistakes();
}

/* Scratch memory: packed operands and result, partial sums, pointers, tables. It grows, and
   never shrinks. */
enum { PANEL_OUT, PANEL_A, PANEL_B, PARTIAL, POINTERS, TABLES, SCRATCHES = TABLES + 8 };
static struct { char *p; size_t bytes; } scratches[SCRATCHES];

static void *scratch(int which, size_t bytes) {
  if (scratches[which].bytes >= bytes) return scratches[which].p;
  char *p = allocate(rounded(bytes));
  drop_recordings();
  CU(cudaStreamSynchronize(gpu.stream));
  if (scratches[which].p) CU(cudaFree(scratches[which].p));
  scratches[which].p = p;
  scratches[which].bytes = rounded(bytes);
  return p;
}

/* ==== >>inputs  What was fed, copied together before a pass ================================

   The inputs of the graph lie one behind the other, behind the two numbers that masks are drawn
   with (edf.seed, edf.draws); so a step sends one copy. It goes through one of two pinned
   buffers: the program may feed again while the other is on its way. */
struct slot { const edf_node *x; const void *host; size_t at, bytes; };
enum { CONTROL = 2 * sizeof(u64) };
static struct {
  size_t at, bytes;                      /* in the arena                                      */
  char *pinned[2];
  cudaEvent_t sent[2];
  int turn, n, room, random;             /* random: a mask has been drawn                     */
  slot *slots;
  u64 control[2];                        /* what the GPU's copy holds                         */
} stage;

static void free_stage(void) {
  for (int k = 0; k < 2 && stage.bytes; k++) {
    CU(cudaEventDestroy(stage.sent[k]));
    CU(cudaFreeHost(stage.pinned[k]));
  }
  if (stage.bytes) give(stage.at, stage.bytes);
  stage.bytes = 0;
}

static void make_stage(size_t bytes) {
  drop_recordings();
  CU(cudaStreamSynchronize(gpu.stream));
  free_stage();
  stage.at = take(bytes);
  for (int k = 0; k < 2; k++) {
    CU(cudaMallocHost((void **)&stage.pinned[k], bytes));
    CU(cudaEventCreateWithFlags(&stage.sent[k], cudaEventDisableTiming));
  }
  stage.bytes = bytes;
  for (int i = 0; i < stage.n; i++) stage.slots[i].host = NULL;
  memset(stage.control, 0xff, sizeof stage.control);
}

/* Where each input belongs; one that has moved, or is another, is not there yet. */
static void lay_out(void) {
  size_t at = CONTROL;
  for (int i = 0; i < edf.n_inputs; i++) {
    const edf_node *x = edf.inputs[i];
    size_t bytes = x->fed >= 0 ? x->size * sizeof(real) : 0;
    stage.slots = (slot *)grow(stage.slots, i, &stage.room, sizeof *stage.slots);
    slot *s = &stage.slots[i];
    if (i >= stage.n || s->x != x || s->at != at || s->bytes != bytes)
      *s = { x, NULL, at, bytes };
    at += (bytes + 15) / 16 * 16;
  }
  stage.n = edf.n_inputs;
  if (at > stage.bytes) make_stage(2 * at);
}

/* Inputs first .. last-1 in one copy; with the control numbers from -1 on. */
static void send(int first, int last) {
  char *from = stage.pinned[stage.turn];
  size_t begin = first < 0 ? 0 : stage.slots[first].at, end = (size_t)CONTROL;
  not_while_recording("a copy");
  cudaError_t sent = cudaEventQuery(stage.sent[stage.turn]);
  if (sent == cudaErrorNotReady) {
    (void)cudaGetLastError();            /* it counts as an error                             */
    CU(cudaEventSynchronize(stage.sent[stage.turn]));
  } else cuda_check(sent, "cudaEventQuery(stage.sent[stage.turn])", __LINE__);
  if (first < 0) {
    stage.control[0] = edf.seed;
    stage.control[1] = edf.draws;
    memcpy(from, stage.control, CONTROL);
  }
  for (int i = first < 0 ? 0 : first; i < last; i++) {
    slot *s = &stage.slots[i];
    s->host = s->x->value;
    if (s->bytes) memcpy(from + s->at, s->host, s->bytes);
    end = s->at + s->bytes;
  }
  CU(cudaMemcpyAsync(arena.base + stage.at + begin, from + begin, end - begin,
                     cudaMemcpyHostToDevice, gpu.stream));
  CU(cudaEventRecord(stage.sent[stage.turn], gpu.stream));
  stage.turn = !stage.turn;
}

/* Forward sends every input that it needs, Backward what has not arrived yet. */
static int is_due(int i) {
  const slot *s = &stage.slots[i];
  if (i >= edf.n_inputs || !s->x->active || !s->bytes) return 0;
  return edf.direction > 0 || s->host != s->x->value;
}

static void stage_inputs(void) {
  lay_out();
  int control = edf.direction > 0 && stage.random &&
                (stage.control[0] != edf.seed || stage.control[1] != edf.draws);
  int first = 0;
  while (first < stage.n && is_due(first)) first++;
  if (control || first) send(control ? -1 : 0, first);
  for (int i = first, end; i < stage.n; i = end) {
    for (end = i; end < stage.n && is_due(end);) end++;
    if (end > i) send(i, end);
    else end++;
  }
}

/* The input that has this address, of several that the pass needs the longest: its number, or
   -1. */
static int input_at(const void *host) {
  int found = -1;
  for (int i = 0; i < edf.n_inputs; i++)
    if (edf.inputs[i]->value == host && edf.inputs[i]->fed >= 0 && edf.inputs[i]->active &&
        (found < 0 || edf.inputs[i]->size > edf.inputs[found]->size)) found = i;
  return found;
}

static char *staged(const void *host) {
  int i = input_at(host);
  if (i < 0) return NULL;
  lay_out();
  if (gpu.sync || stage.slots[i].host != host) send(i, i + 1);
  return arena.base + stage.at + stage.slots[i].at;
}

/* Before addresses are taken: all arrays have their place, and the arena stays. */
static void hold(const void *out, const void *a, const void *b) {
  arena.still = 0;
  lay_out();
  if (out) array_of(out);
  if (a && input_at(a) < 0) array_of(a);
  if (b && input_at(b) < 0) array_of(b);
  arena.still = 1;
}

/* ==== >>sums  out[..] += alpha a[..] b[..] by one general kernel ===========================

   Outer loops are those that out has, inner ones are summed. A block of 256 threads has `wide`
   entries of out beside each other and 256/wide threads for each, which share its sum; a long
   sum is cut into segments, and their partial sums are added in the same way. So copies,
   broadcasts, thresholds and their gradients, dot products and means are all this kernel. */
struct sum_nest {
  int n_out, n;                          /* loops; the first n_out are outer ones             */
  unsigned extent[MOST];
  long long s[3][MOST];
  size_t outs, terms, segments;
  unsigned wide;
  int assign;
  real alpha;
};

struct offsets { long long o, a, b; };

/* Iteration number i of loops first .. last-1. */
__device__ static offsets offsets_of(const sum_nest &t, int first, int last, size_t i) {
  offsets at = { 0, 0, 0 };
  unsigned rest = (unsigned)i;
  for (int k = last - 1; k >= first; k--) {
    unsigned quotient = k > first ? rest / t.extent[k] : 0, r = rest - quotient * t.extent[k];
    at.o += r * t.s[EDF_OUT][k];
    at.a += r * t.s[EDF_A][k];
    at.b += r * t.s[EDF_B][k];
    rest = quotient;
  }
  return at;
}

/* b is NULL where there is no such factor. */
__device__ static real part_of_sum(const sum_nest &t, offsets at, const real *a, const real *b,
                                   size_t first, size_t end, size_t step) {
  real sum = 0;
  for (size_t i = first; i < end; i += step) {
    offsets term = offsets_of(t, t.n_out, t.n, i);
    real x = a[at.a + term.a];
    sum += b ? x * b[at.b + term.b] : x;
  }
  return sum;
}

__global__ static void sum_kernel(real *out, real *partial, const real *a, const real *b,
                                  sum_nest t) {
  __shared__ real sums[THREADS];
  unsigned column = threadIdx.x % t.wide, row = threadIdx.x / t.wide, rows = THREADS / t.wide;
  size_t o = (size_t)blockIdx.x * t.wide + column, segment = blockIdx.y;
  size_t length = (t.terms + t.segments - 1) / t.segments, first = segment * length;
  size_t end = first + length < t.terms ? first + length : t.terms;
  offsets at = offsets_of(t, 0, t.n_out, o < t.outs ? o : 0);
  real sum = 0;
  if (o < t.outs) sum = part_of_sum(t, at, a, b, first + row, end, rows);
  if (rows > 1) {
    sums[threadIdx.x] = sum;
    for (unsigned half = rows / 2; half > 0; half /= 2) {
      __syncthreads();
      if (row < half) sums[threadIdx.x] += sums[threadIdx.x + half * t.wide];
    }
    sum = sums[threadIdx.x];
  }
  if (o >= t.outs || row > 0) return;
  if (partial) partial[segment * t.outs + o] = sum;
  else out[at.o] = t.assign ? t.alpha * sum : out[at.o] + t.alpha * sum;
}

/* A plain copy or scaled sum, where out and a are contiguous. */
__global__ static void axpy_kernel(real *out, const real *a, size_t n, real alpha, int assign) {
  for (EACH(i, n)) out[i] = assign ? alpha * a[i] : out[i] + alpha * a[i];
}

static ptrdiff_t absolute(ptrdiff_t s) { return s < 0 ? -s : s; }

/* Do all iterations of these loops write different entries of operand x? So it is if each
   stride is longer than the reach of all smaller ones; else `clash` is a loop for which it is
   not. */
static int writes_apart(const edf_loop *l, int n, int x, int *clash) {
  for (int i = 0; i < n; i++) {
    ptrdiff_t s = absolute(l[i].s[x]), reach = 0;
    for (int k = 0; k < n; k++) {
      ptrdiff_t other = absolute(l[k].s[x]);
      if (k != i && (other < s || (other == s && k < i))) reach += (l[k].n - 1) * other;
    }
    if (l[i].n > 1 && s <= reach) { if (clash) *clash = i; return 0; }
  }
  return 1;
}

static void sort_by(edf_loop *l, int n, int x) {
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && absolute(l[k].s[x]) > absolute(l[k - 1].s[x]); k--) {
      edf_loop swap = l[k];
      l[k] = l[k - 1];
      l[k - 1] = swap;
    }
}

/* Outer loops in front, by their stride in out; then the summed ones, by theirs in a. */
static int split_loops(edf_nest *t) {
  edf_loop sorted[MOST];
  int n = 0, n_out;
  for (int i = 0; i < t->n; i++) if (t->loop[i].s[EDF_OUT]) sorted[n++] = t->loop[i];
  n_out = n;
  for (int i = 0; i < t->n; i++) if (!t->loop[i].s[EDF_OUT]) sorted[n++] = t->loop[i];
  sort_by(sorted, n_out, EDF_OUT);
  sort_by(sorted + n_out, n - n_out, EDF_A);
  memcpy(t->loop, sorted, sizeof sorted);
  return n_out;
}

/* How many entries of out lie beside each other in a block: neighbouring threads should read
   neighbours. */
static unsigned width(const edf_nest *t, int n_out, size_t terms) {
  const edf_loop *inner = t->n > n_out ? &t->loop[t->n - 1] : NULL;
  if (terms < 8) return THREADS;
  int along = inner && (inner->s[EDF_A] == 1 || inner->s[EDF_B] == 1);
  const edf_loop *last = n_out ? &t->loop[n_out - 1] : NULL;
  int across = last && (last->s[EDF_A] == 1 || last->s[EDF_B] == 1);
  return across || !along ? 32 : terms >= 128 ? 1 : 8;
}

static sum_nest sums_of(const edf_nest *t, int n_out, int assign) {
  sum_nest k;
  memset(&k, 0, sizeof k);
  k.n_out = n_out;
  k.n = t->n;
  k.outs = k.terms = k.segments = 1;
  k.assign = assign;
  k.alpha = t->alpha;
  for (int i = 0; i < t->n; i++) {
    k.extent[i] = (unsigned)t->loop[i].n;
    for (int x = 0; x < 3; x++) k.s[x][i] = t->loop[i].s[x];
    *(i < n_out ? &k.outs : &k.terms) *= (size_t)t->loop[i].n;
  }
  k.wide = width(t, n_out, k.terms);
  return k;
}

static void run_sums(real *o, real *partial, const real *a, const real *b, sum_nest k) {
  dim3 grid((unsigned)((k.outs + k.wide - 1) / k.wide), (unsigned)k.segments);
  LAUNCH(sum_kernel, grid, THREADS, gpu.stream, o, partial, a, b, k);
  launched("sum_kernel", __LINE__);
}

/* Few entries, long sums: in segments, so that all processors have work. */
static void run_in_segments(real *o, const real *a, const real *b, sum_nest k) {
  size_t blocks = (k.outs + k.wide - 1) / k.wide;
  size_t worth = 64 * (THREADS / k.wide);            /* terms, of a segment                   */
  size_t most = 2 * (size_t)gpu.processors / blocks, longest = k.terms / worth;
  k.segments = most < longest ? most : longest;
  if (k.segments < 2) { k.segments = 1; run_sums(o, NULL, a, b, k); return; }
  real *partial = (real *)scratch(PARTIAL, k.segments * k.outs * sizeof(real));
  run_sums(NULL, partial, a, b, k);
  sum_nest rest = k;                     /* out[..] += alpha sum_s partial[s,..]              */
  long long dense = 1;
  for (int i = k.n_out - 1; i >= 0; dense *= k.extent[i--]) rest.s[EDF_A][i] = dense;
  rest.n = k.n_out + 1;
  rest.extent[k.n_out] = (unsigned)k.segments;
  rest.s[EDF_OUT][k.n_out] = rest.s[EDF_B][k.n_out] = 0;
  rest.s[EDF_A][k.n_out] = (long long)k.outs;
  rest.terms = k.segments;
  rest.segments = 1;
  rest.wide = 32;
  run_sums(o, NULL, partial, NULL, rest);
}

static void sums(edf_nest t, int assign, real *o, const real *a, const real *b);

/* The kernel counts iterations in 32 bits. */
static void sums_in_halves(const edf_nest *t, int assign, real *o, const real *a,
                           const real *b) {
  int k = 0;
  for (int i = 0; i < t->n; i++) if (t->loop[i].n > t->loop[k].n) k = i;
  edf_nest half[2] = { *t, *t };
  ptrdiff_t n = t->loop[k].n;
  half[0].loop[k].n = n / 2;
  half[1].loop[k].n = n - n / 2;
  for (int x = 0; x < 3; x++) half[1].start[x] += n / 2 * t->loop[k].s[x];
  for (int i = 0; i < 2; i++)
    sums(half[i], assign && (i == 0 || t->loop[k].s[EDF_OUT]), o, a, b);
}

/* Any nest. Loops that write into each other run one after another, in the order of the
   stream. out, a and b are on the GPU. */
static void sums(edf_nest t, int assign, real *o, const real *a, const real *b) {
  int n_out = split_loops(&t), clash = 0;
  double total = 1;
  for (int i = 0; i < t.n; i++) total *= (double)t.loop[i].n;
  if (total == 0) return;
  if (total > 4e9) { sums_in_halves(&t, assign, o, a, b); return; }
  if (!writes_apart(t.loop, n_out, EDF_OUT, &clash)) {
    edf_nest part = t;
    part.loop[clash] = part.loop[--part.n];
    for (ptrdiff_t i = 0; i < t.loop[clash].n; i++) {
      for (int x = 0; x < 3; x++) part.start[x] = t.start[x] + i * t.loop[clash].s[x];
      sums(part, assign && (i == 0 || t.loop[clash].s[EDF_OUT]), o, a, b);
    }
    return;
  }
  o += t.start[EDF_OUT];
  a += t.start[EDF_A];
  if (b) b += t.start[EDF_B];
  const edf_loop *l = t.loop;
  if (!b && t.n == 1 && l->s[EDF_OUT] == 1 && l->s[EDF_A] == 1)
    RUN(axpy_kernel, (size_t)l->n, o, a, (size_t)l->n, t.alpha, assign);
  else run_in_segments(o, a, b, sums_of(&t, n_out, assign));
}

/* ==== >>products  Matrix products by cuBLAS ================================================

   The plan is edf_plan's. An operand that cuBLAS cannot read in
   place is packed by a sum of one term (that is im2col); a result that it cannot write is added
   from a panel, entry by entry, each by one thread (col2im). */
enum { MOST_PANEL = 1 << 24 };           /* entries: what is larger is cut                    */

/* A plan with its operands as matrices. */
struct route : edf_route { edf_matrix matrix[3]; };
static route route_of(const edf_nest *nest) {
  route r;
  (edf_route &)r = edf_plan(nest);
  for (int x = 0; x < 3 && r.product; x++) r.matrix[x] = edf_matrix_of(&r, x);
  return r;
}

/* An operand as gemm takes it. */
struct matrix {
  const real *p;
  long long ld, batch[MOST];             /* steps from one outer iteration to the next        */
  int tall;
};

/* The loops of operand x that it really has: outer ones, then its rows and columns with the
   faster last. */
static int loops_of(const route *r, int x, edf_loop *l, int *n_outer) {
  static const int axes[3][2] = { { 0, 1 }, { 0, 2 }, { 2, 1 } };
  int n = 0, tall = r->matrix[x].tall;
  for (int i = 0; i < r->first[0]; i++)
    if (r->nest.loop[i].s[x]) l[n++] = r->nest.loop[i];
  *n_outer = n;
  for (int k = 0; k < 2; k++) {
    int group = axes[x][tall ? 1 - k : k];
    for (int i = r->first[group]; i < r->first[group + 1]; i++) l[n++] = r->nest.loop[i];
  }
  return n;
}

static size_t entries(const edf_loop *l, int n) {
  size_t product = 1;
  for (int i = 0; i < n; i++) product *= (size_t)l[i].n;
  return product;
}

static size_t panel_size(const route *r, int x) {
  edf_loop l[MOST];
  int outer;
  return entries(l, loops_of(r, x, l, &outer));
}

/* The nest between operand x, whose strides go to `real_side`, and its dense panel. */
static edf_nest panel_nest(const route *r, int x, int real_side) {
  edf_nest t;
  int outer, n;
  ptrdiff_t dense = 1;
  memset(&t, 0, sizeof t);
  n = t.n = loops_of(r, x, t.loop, &outer);
  t.alpha = 1;
  for (int i = n - 1; i >= 0; dense *= t.loop[i--].n) {
    ptrdiff_t s = t.loop[i].s[x];
    t.loop[i].s[EDF_B] = 0;
    t.loop[i].s[real_side] = s;
    t.loop[i].s[real_side == EDF_OUT ? EDF_A : EDF_OUT] = dense;
  }
  t.start[real_side] = r->nest.start[x];
  return t;
}

static matrix matrix_of(const route *r, int x, const real *p, int packed) {
  const edf_matrix *m = &r->matrix[x];
  matrix g;
  ptrdiff_t dense = m->rows * m->columns;
  memset(&g, 0, sizeof g);
  g.tall = m->tall;
  g.p = packed ? p : p + r->nest.start[x];
  g.ld = packed ? (m->tall ? m->rows : m->columns) : m->step;
  for (int i = r->first[0] - 1; i >= 0; i--) {
    ptrdiff_t s = r->nest.loop[i].s[x];
    g.batch[i] = packed && s ? dense : s;
    if (s) dense *= r->nest.loop[i].n;
  }
  if (g.ld < 1) g.ld = 1;
  return g;
}

static const real *operand(const route *r, int x, const real *p, matrix *m) {
  if (!r->matrix[x].direct) {
    real *panel = (real *)scratch(x == EDF_A ? PANEL_A : PANEL_B,
                                  panel_size(r, x) * sizeof(real));
    sums(panel_nest(r, x, EDF_A), 1, panel, p, NULL);
    p = panel;
  }
  *m = matrix_of(r, x, p, !r->matrix[x].direct);
  return p;
}

/* ---- Several outer loops: the addresses of all matrices, computed there. */
struct batch_nest { int n; unsigned extent[MOST]; long long s[3][MOST]; };

__global__ static void pointers_kernel(u64 *pointer, u64 c, u64 a, u64 b, batch_nest t,
                                       size_t n) {
  for (EACH(i, n)) {
    unsigned rest = (unsigned)i;
    long long at[3] = { 0, 0, 0 };
    for (int k = t.n - 1; k >= 0; rest /= t.extent[k--])
      for (int x = 0; x < 3; x++) at[x] += rest % t.extent[k] * t.s[x][k];
    pointer[i] = a + (u64)at[EDF_A] * sizeof(real);
    pointer[n + i] = b + (u64)at[EDF_B] * sizeof(real);
    pointer[2 * n + i] = c + (u64)at[EDF_OUT] * sizeof(real);
  }
}

static u64 *pointers(const route *r, const matrix *m, size_t n) {
  batch_nest t;
  memset(&t, 0, sizeof t);
  t.n = r->first[0];
  for (int i = 0; i < t.n; i++) {
    t.extent[i] = (unsigned)r->nest.loop[i].n;
    for (int x = 0; x < 3; x++) t.s[x][i] = m[x].batch[i];
  }
  u64 *p = (u64 *)scratch(POINTERS, 3 * n * sizeof *p);
  RUN(pointers_kernel, n, p, (u64)(uintptr_t)m[EDF_OUT].p, (u64)(uintptr_t)m[EDF_A].p,
      (u64)(uintptr_t)m[EDF_B].p, t, n);
  return p;
}

/* cuBLAS is column-major: a tall matrix is itself, a wide one its transpose; a wide result is
   c' = b' a'. */
static void gemm(const route *r, const matrix *m, real beta) {
  const cudaDataType_t type = sizeof(real) == 8 ? CUDA_R_64F : CUDA_R_32F;
  int tall = m[EDF_OUT].tall, first = tall ? EDF_A : EDF_B, second = tall ? EDF_B : EDF_A;
  cublasOperation_t t1 = m[first].tall == tall ? CUBLAS_OP_N : CUBLAS_OP_T;
  cublasOperation_t t2 = m[second].tall == tall ? CUBLAS_OP_N : CUBLAS_OP_T;
  int rows = (int)r->extent[tall ? 0 : 1], columns = (int)r->extent[tall ? 1 : 0];
  int k = (int)r->extent[2], outer = r->first[0];
  size_t n = entries(r->nest.loop, outer);
  const real *alpha = &r->nest.alpha;
  if (outer <= 1) {
    CB(cublasGemmStridedBatchedEx(gpu.blas, t1, t2, rows, columns, k, alpha, m[first].p, type,
       (int)m[first].ld, m[first].batch[0], m[second].p, type, (int)m[second].ld,
       m[second].batch[0], &beta, (void *)m[EDF_OUT].p, type, (int)m[EDF_OUT].ld,
       m[EDF_OUT].batch[0], (int)n, gpu.compute, CUBLAS_GEMM_DEFAULT));
    return;
  }
  u64 *p = pointers(r, m, n), *of[3] = { p + 2 * n, p, p + n };
  CB(cublasGemmBatchedEx(gpu.blas, t1, t2, rows, columns, k, alpha,
     (const void *const *)of[first], type, (int)m[first].ld, (const void *const *)of[second],
     type, (int)m[second].ld, &beta, (void *const *)of[EDF_OUT], type, (int)m[EDF_OUT].ld,
     (int)n, gpu.compute, CUBLAS_GEMM_DEFAULT));
}

/* ---- Adding a panel where windows overlap: entries are found by their position. Loops whose
   strides overlap form a group of two, i and d, with address = (i*ri + d*rd) * unit; the
   thread of a position p takes all d and the i that fits. */
struct group { unsigned positions, ni, nd, unused; long long unit, ri, rd, si, sd; };
struct gather_nest { int n; group g[MOST]; size_t outs; unsigned all_d; int assign; };

__global__ static void gather_kernel(real *out, const real *panel, gather_nest t) {
  for (EACH(o, t.outs)) {
    unsigned position[MOST], rest = (unsigned)o;
    long long at = 0;
    real sum = 0;
    for (int k = t.n - 1; k >= 0; rest /= t.g[k--].positions) {
      position[k] = rest % t.g[k].positions;
      at += position[k] * t.g[k].unit;
    }
    for (unsigned all = 0; all < t.all_d; all++) {
      unsigned digits = all;
      long long from = 0;
      int fits = 1;
      for (int k = 0; k < t.n; digits /= t.g[k++].nd) {
        long long d = digits % t.g[k].nd, left = position[k] - d * t.g[k].rd;
        long long i = left / t.g[k].ri;
        fits &= left >= 0 && i * t.g[k].ri == left && i < t.g[k].ni;
        from += i * t.g[k].si + d * t.g[k].sd;
      }
      if (fits) sum += panel[from];
    }
    out[at] = t.assign ? sum : out[at] + sum;
  }
}

static ptrdiff_t divisor(ptrdiff_t a, ptrdiff_t b) { return b ? divisor(b, a % b) : a; }

/* l goes beside the one loop of group g; the shorter of the two is d. */
static int pair(group *g, const edf_loop *l) {
  long long unit = divisor((ptrdiff_t)g->unit, l->s[EDF_OUT]);
  group both = { 0, (unsigned)l->n, g->ni, 0, unit, l->s[EDF_OUT] / unit, g->unit / unit,
                 l->s[EDF_A], g->si };
  if (g->nd > 1) return 0;
  both.positions = (unsigned)((both.ni - 1) * both.ri + (both.nd - 1) * both.rd + 1);
  *g = both;
  if (both.nd > both.ni)
    *g = { both.positions, both.nd, both.ni, 0, unit, both.rd, both.ri, both.sd, both.si };
  return 1;
}

/* 0 where the loops do not form such groups. */
static int group_loops(const edf_nest *nest, gather_nest *t) {
  edf_nest sorted = *nest;
  ptrdiff_t reach = 0, below = 0;        /* of all loops so far; below the last group         */
  memset(t, 0, sizeof *t);
  sort_by(sorted.loop, sorted.n, EDF_OUT);
  t->outs = t->all_d = 1;
  for (int i = sorted.n - 1; i >= 0; i--) {
    edf_loop l = sorted.loop[i];
    group *g = t->n ? &t->g[t->n - 1] : NULL;
    if (l.s[EDF_OUT] <= 0) return 0;
    if (l.s[EDF_OUT] > reach) {
      t->g[t->n++] = { (unsigned)l.n, (unsigned)l.n, 1, 0, l.s[EDF_OUT], 1, 0, l.s[EDF_A], 0 };
      below = reach;
    } else if (!g || !pair(g, &l) || g->unit <= below) return 0;
    reach += (l.n - 1) * l.s[EDF_OUT];
  }
  for (int i = 0, k = t->n - 1; i < k; i++, k--) {           /* the fastest is to be last     */
    group swap = t->g[i];
    t->g[i] = t->g[k];
    t->g[k] = swap;
  }
  for (int i = 0; i < t->n; i++) { t->outs *= t->g[i].positions; t->all_d *= t->g[i].nd; }
  return 1;
}

static void add_panel(const edf_nest *nest, int assign, real *o, const real *panel) {
  gather_nest t;
  if (writes_apart(nest->loop, nest->n, EDF_OUT, NULL) || !group_loops(nest, &t)) {
    sums(*nest, assign, o, panel, NULL);
    return;
  }
  t.assign = assign;
  RUN(gather_kernel, t.outs, o + nest->start[EDF_OUT], panel, t);
}

static void product(route *r, int assign, real *o, const real *a, const real *b) {
  edf_loop l[MOST];
  matrix m[3];
  int outer, n = loops_of(r, EDF_OUT, l, &outer);
  if (!writes_apart(l, n, EDF_OUT, NULL)) r->matrix[EDF_OUT].direct = 0;
  int direct = r->matrix[EDF_OUT].direct;
  real *c = o;
  operand(r, EDF_A, a, &m[EDF_A]);
  operand(r, EDF_B, b, &m[EDF_B]);
  if (!direct) c = (real *)scratch(PANEL_OUT, panel_size(r, EDF_OUT) * sizeof(real));
  m[EDF_OUT] = matrix_of(r, EDF_OUT, c, !direct);
  gemm(r, m, (real)(direct && !assign));
  if (direct) return;
  edf_nest add = panel_nest(r, EDF_OUT, EDF_OUT);
  add_panel(&add, assign, o, c);
}

/* ---- Plans, remembered by the route that edf.h has made. */
enum { PLANS = 1024 };
static struct plan { const edf_route *key; edf_nest nest; route r; } plans[PLANS];

static const route *plan_of(const edf_route *key) {
  plan *p = &plans[((uintptr_t)key / 64 * 2654435761u >> 8) % PLANS];
  if (p->key == key && !memcmp(&p->nest, &key->nest, sizeof p->nest)) return &p->r;
  p->key = key;
  p->nest = key->nest;
  p->r = route_of(&key->nest);
  return &p->r;
}

/* gemm where the work is worth it, and where no sum would run outside. */
static int is_product(const route *r) {
  if (!r->product) return 0;
  for (int i = 0; i < r->first[0]; i++) if (!r->nest.loop[i].s[EDF_OUT]) return 0;
  double m = (double)r->extent[0], n = (double)r->extent[1], k = (double)r->extent[2];
  double batch = (double)entries(r->nest.loop, r->first[0]);
  if (m > INT_MAX || n > INT_MAX || k > INT_MAX || batch > INT_MAX) return 0;
  return k > 1 && m * n * k * batch >= 100000;     /* a small product is a sum */
}

static void run_route(const route *whole, int assign, real *o, const real *a,
                      const real *b);

/* Panels that are too large: the nest is halved along its longest loop. */
static int halve(const route *r, int assign, real *o, const real *a, const real *b) {
  int longest = -1;
  for (int x = 0; x < 3; x++)
    for (int i = 0; !r->matrix[x].direct && panel_size(r, x) > (size_t)MOST_PANEL &&
         i < r->nest.n; i++)
      if (r->nest.loop[i].s[x] && (longest < 0 || r->nest.loop[i].n > r->nest.loop[longest].n))
        longest = i;
  if (longest < 0 || r->nest.loop[longest].n < 2) return 0;
  edf_nest half[2] = { r->nest, r->nest };
  ptrdiff_t n = r->nest.loop[longest].n;
  half[0].loop[longest].n = n / 2;
  half[1].loop[longest].n = n - n / 2;
  for (int x = 0; x < 3; x++) half[1].start[x] += n / 2 * r->nest.loop[longest].s[x];
  for (int k = 0; k < 2; k++) {
    route part = route_of(&half[k]);
    run_route(&part, assign && (k == 0 || r->nest.loop[longest].s[EDF_OUT]), o, a, b);
  }
  return 1;
}

static void run_route(const route *whole, int assign, real *o, const real *a,
                      const real *b) {
  route r = *whole;
  if (!b || !is_product(&r)) sums(r.nest, assign, o, a, b);
  else if (!halve(&r, assign, o, a, b)) product(&r, assign, o, a, b);
}

/* A factor that is absent is the number 1, of the host's: it goes into alpha. */
static const real *factor(route *r, int x, const real *p) {
  int present = 0;
  for (int i = 0; i < r->nest.n; i++) present |= r->nest.loop[i].s[x] != 0;
  const real *there = (const real *)in_bytes(p);
  if (there || present) return there ? there : in(p, "edf_contract");
  r->nest.alpha *= *p;
  return NULL;
}

static void contract_there(const edf_route *key, int assign, real *o, const real *a,
                           const real *b) {
  route r = *plan_of(key);
  hold(o, a, b);
  const real *ga = factor(&r, EDF_A, a), *gb = factor(&r, EDF_B, b);
  for (int i = 0; i < r.nest.n; i++) if (r.nest.loop[i].n == 0) return;
  if (!ga) {                             /* then b stands in its place                        */
    for (int i = 0; i < r.nest.n; i++) r.nest.loop[i].s[EDF_A] = r.nest.loop[i].s[EDF_B];
    r.nest.start[EDF_A] = r.nest.start[EDF_B];
    ga = gb;
    gb = NULL;
  }
  run_route(&r, assign, out(o, assign, "edf_contract"), ga, gb);
}

/* ==== >>windows  The greatest entry of a window, and its gradient ==========================*/

struct window_nest {
  int n_kept, n;
  unsigned extent[MOST];
  long long sy[MOST], sx[MOST];
  size_t outs;
  unsigned window;
  int assign;
};

/* Where iteration i of the loops first .. last-1 is in x, and in y. */
__device__ static long long window_at(const window_nest &t, int first, int last, size_t i,
                                      long long *y) {
  long long x = 0;
  unsigned rest = (unsigned)i;
  for (int k = last - 1; k >= first; rest /= t.extent[k--]) {
    x += rest % t.extent[k] * t.sx[k];
    if (y) *y += rest % t.extent[k] * t.sy[k];
  }
  return x;
}

__global__ static void max_kernel(real *y, int *winner, const real *x, window_nest t) {
  for (EACH(o, t.outs)) {
    long long to = 0, at = window_at(t, 0, t.n_kept, o, &to);
    real most = x[at + window_at(t, t.n_kept, t.n, 0, NULL)];
    int first = 0;
    for (unsigned k = 1; k < t.window; k++) {
      real v = x[at + window_at(t, t.n_kept, t.n, k, NULL)];
      if (v > most || v != v) { most = v; first = (int)k; }
    }
    y[to] = most;
    winner[to] = first;
  }
}

/* Entries from .. end-1 of each window; with one thread where windows write into each other. */
__global__ static void pay_kernel(real *dx, const real *dy, const int *winner, window_nest t,
                                  unsigned from, unsigned end) {
  for (EACH(o, t.outs)) {
    long long to = 0, at = window_at(t, 0, t.n_kept, o, &to);
    for (unsigned k = from; k < end; k++) {
      real *d = &dx[at + window_at(t, t.n_kept, t.n, k, NULL)];
      real pay = winner[to] == (int)k ? dy[to] : 0;
      *d = t.assign ? pay : *d + pay;
    }
  }
}

static window_nest window_of(const edf_window *w) {
  window_nest t;
  memset(&t, 0, sizeof t);
  t.n_kept = w->n_kept;
  t.n = w->t.n;
  t.outs = entries(w->t.loop, w->n_kept);
  t.window = (unsigned)w->n;
  if (t.outs > UINT_MAX) { fprintf(stderr, "edf: MaxOver: more than 2^32 entries"); stop(); }
  t.assign = 0;
  for (int i = 0; i < t.n; i++) {
    t.extent[i] = (unsigned)w->t.loop[i].n;
    t.sy[i] = w->t.loop[i].s[EDF_OUT];
    t.sx[i] = w->t.loop[i].s[EDF_A];
  }
  return t;
}

static void pay_windows(const edf_window *w, const window_nest &t, real *dx, const real *dy,
                        const int *winner) {
  int apart = writes_apart(w->t.loop, w->t.n, EDF_A, NULL);
  if (apart) { RUN(pay_kernel, t.outs, dx, dy, winner, t, 0u, t.window); return; }
  size_t threads = writes_apart(w->t.loop, w->n_kept, EDF_A, NULL) ? t.outs : 0;
  for (unsigned k = 0; k < t.window; k++)
    if (threads) RUN(pay_kernel, threads, dx, dy, winner, t, k, k + 1);
    else {
      LAUNCH(pay_kernel, 1, 1, gpu.stream, dx, dy, winner, t, k, k + 1);
      launched("pay_kernel", __LINE__);
    }
}

static void window_there(const edf_window *w, edf_node *node_y, edf_node *node_x,
                         int backward) {
  window_nest t = window_of(w);
  ptrdiff_t start = w->t.start[EDF_A], to = w->t.start[EDF_OUT];
  real *y = backward ? node_y->grad : node_y->value;
  real *x = backward ? node_x->grad : node_x->value;
  hold(y, x, w->winner);
  int *winner = (int *)(backward ? in_bytes(w->winner) : out_bytes(w->winner, 1));
  if (!winner) unknown("MaxOver");
  if (!backward)
    RUN(max_kernel, t.outs, out(y, t.outs * sizeof(real) == find(y)->bytes, "MaxOver") + to,
        winner + to, in(x, "MaxOver") + start, t);
  else
    pay_windows(w, t, out(x, 0, "MaxOver") + start, in(y, "MaxOver") + to, winner + to);
}

/* ==== >>elements  Functions of single entries ==============================================

   A node's kernel stands in one place, with an object that enters itself into the list. An own
   array is private to the node; a node that takes classes may find one that is out of range. */
static const struct kernel *kernels;     /* all of them                                       */

struct kernel {
  const char *op;
  void (*run)(edf_node *y, int backward);
  size_t (*own)(const edf_node *y);      /* entries of its private array                      */
  int takes_classes;
  const kernel *next;
  kernel(const char *name, void (*runs)(edf_node *, int),
         size_t (*size)(const edf_node *) = NULL, int classes = 0)
      : op(name), run(runs), own(size), takes_classes(classes), next(kernels) {
    kernels = this;
  }
};

static const kernel *kernel_called(const char *op) {
  const kernel *k = kernels;
  while (k && strcmp(k->op, op)) k = k->next;
  return k;
}
static const kernel *kernel_of(const edf_node *y) {        /* the mean of an MSE is a Mean */
  const kernel *k = kernel_called(y->op);
  if (!k && y->about && y->about->name) k = kernel_called(y->about->name);
  return k;
}

static int row_dims(const edf_node *y) { return y->written ? y->written->row_dims : 1; }
static int is_causal(const edf_node *y) { return y->written && y->written->causal; }

/* ---- f is the function, d its derivative times dy, from x and y = f(x); c is the node's
   number. */
template <class F> static void element(edf_node *y, int backward);

#define ELEMENT(op, of_x, slope) \
  struct op { \
    __device__ static real f(real x, real c) { (void)x, (void)c; return of_x; } \
    __device__ static real d(real x, real y, real dy, real c) { \
      (void)x, (void)y, (void)c; \
      return slope; \
    } \
  }; \
  static const kernel op##_here(#op, element<op>)

ELEMENT(Sigmoid, 1 / (1 + exp(-x)), dy * y * (1 - y));
ELEMENT(Tanh, tanh(x), dy * (1 - y * y));
ELEMENT(Relu, x < 0 ? 0 : x, y > 0 ? dy : 0);
ELEMENT(LeakyRelu, x > 0 ? x : c * x, x > 0 ? dy : c * dy);
ELEMENT(Exp, exp(x), dy * y);
ELEMENT(Log, log(x), dy / x);
ELEMENT(Sqrt, sqrt(x), dy / (2 * y));
ELEMENT(Square, x * x, dy * 2 * x);
ELEMENT(Softplus, (x < 0 ? 0 : x) + log1p(exp(x < 0 ? x : -x)), dy / (1 + exp(-x)));
ELEMENT(Reshape, x, dy);

struct Gelu {
  static constexpr double C = 1.5957691216057308, D = C * 0.044715;   /* C = 2 sqrt(2/pi) */
  __device__ static real s(real x) {
    return 1 / (1 + exp(-x * ((real)C + (real)D * x * x)));
  }
  __device__ static real f(real x, real) { return x * s(x); }
  __device__ static real d(real x, real, real dy, real) {
    real du = (real)C + 3 * (real)D * x * x;
    return dy * (s(x) + x * s(x) * (1 - s(x)) * du);
  }
};
static const kernel gelu_here("Gelu", element<Gelu>);

template <class F>
__global__ void map_kernel(real *y, const real *x, size_t n, real c) {
  for (EACH(i, n)) y[i] = F::f(x[i], c);
}

template <class F>
__global__ void map_back_kernel(real *dx, const real *x, const real *y, const real *dy,
                                size_t n, real c, int assign) {
  for (EACH(i, n)) {
    real d = F::d(x[i], y[i], dy[i], c);
    dx[i] = assign ? d : dx[i] + d;
  }
}

/* The gradient that a node adds to; `assign` if it counts as zero: all of it is written. */
static real *grad_of(edf_node *x, int *assign) {
  *assign = x->grad_is_zero;
  x->grad_is_zero = 0;
  return out(x->grad, *assign, "a gradient");
}

static const real *value_of(const edf_node *x) { return in(x->value, "a node"); }
static const real *dy_of(const edf_node *y) { return in(y->grad, "a node"); }
static real *result_of(const edf_node *y) { return out(y->value, 1, "a node"); }

static real number_of(const edf_node *y) { return y->state ? *(const real *)y->state : 0; }

template <class F> static void element(edf_node *y, int backward) {
  edf_node *in = y->in[0];
  real c = number_of(y);
  int assign;
  if (!backward) RUN(map_kernel<F>, y->size, result_of(y), value_of(in), y->size, c);
  else if (in->grad) {
    const real *x = value_of(in), *v = value_of(y), *dy = dy_of(y);
    real *dx = grad_of(in, &assign);
    RUN(map_back_kernel<F>, y->size, dx, x, v, dy, y->size, c, assign);
  }
}

/* ---- Div: the shorter operand repeats, and one thread adds up all that meets its entry. */
__global__ static void div_kernel(real *y, const real *a, const real *b, size_t n, size_t na,
                                  size_t nb) {
  for (EACH(i, n)) y[i] = a[i % na] / b[i % nb];
}

__global__ static void div_back_kernel(real *dx, const real *y, const real *b, const real *dy,
                                       size_t n, size_t nx, size_t nb, int assign) {
  for (EACH(j, nx)) {
    real sum = 0;
    for (size_t i = j; i < n; i += nx) sum += y ? -dy[i] * y[i] / b[i % nb] : dy[i] / b[i % nb];
    dx[j] = assign ? sum : dx[j] + sum;
  }
}

static void divide(edf_node *y, int backward) {
  edf_node *a = y->in[0], *b = y->in[1];
  int assign;
  const real *vb = value_of(b);
  if (!backward) {
    RUN(div_kernel, y->size, result_of(y), value_of(a), vb, y->size, a->size, b->size);
    return;
  }
  const real *dy = dy_of(y), *v = value_of(y);
  for (int k = 0; k < 2; k++) {
    edf_node *x = y->in[k];
    if (!x->grad) continue;
    real *dx = grad_of(x, &assign);
    RUN(div_back_kernel, x->size, dx, k ? v : (const real *)NULL, vb, dy, y->size, x->size,
        b->size, assign);
  }
}
static const kernel div_here("Div", divide);

/* ---- Sum and Mean are sums, and their gradient a broadcast. */
static void total(edf_node *y, int backward, real alpha) {
  edf_node *x = y->in[0];
  edf_nest t;
  int assign = 1;
  memset(&t, 0, sizeof t);
  t.n = 1;
  t.alpha = alpha;
  t.loop[0] = { (ptrdiff_t)x->size, { backward, !backward, 0 }, NULL };
  if (backward && !x->grad) return;
  const real *from = backward ? dy_of(y) : value_of(x);
  real *to = backward ? grad_of(x, &assign) : result_of(y);
  sums(t, assign, to, from, NULL);
}

static void sum(edf_node *y, int backward) { total(y, backward, 1); }
static void mean(edf_node *y, int backward) { total(y, backward, 1 / (real)y->in[0]->size); }
static const kernel sum_here("Sum", sum);
static const kernel mean_here("Mean", mean);

/* ---- BCELoss */
__global__ static void bce_kernel(real *l, const real *s, const real *y, size_t n) {
  for (EACH(i, n)) l[i] = Softplus::f(s[i], 0) - y[i] * s[i];
}

__global__ static void bce_back_kernel(real *ds, real *dy, const real *s, const real *y,
                                       const real *dl, size_t n, int set_s, int set_y) {
  for (EACH(i, n)) {
    real d = dl[i] * (1 / (1 + exp(-s[i])) - y[i]), e = -dl[i] * s[i];
    if (ds) ds[i] = set_s ? d : ds[i] + d;
    if (dy) dy[i] = set_y ? e : dy[i] + e;
  }
}

static void bce(edf_node *l, int backward) {
  edf_node *s = l->in[0], *y = l->in[1];
  int set_s = 0, set_y = 0;
  if (!backward) {
    RUN(bce_kernel, l->size, result_of(l), value_of(s), value_of(y), l->size);
    return;
  }
  const real *vs = value_of(s), *vy = value_of(y), *dl = dy_of(l);
  real *ds = s->grad ? grad_of(s, &set_s) : NULL, *dy = y->grad ? grad_of(y, &set_y) : NULL;
  RUN(bce_back_kernel, l->size, ds, dy, vs, vy, dl, l->size, set_s, set_y);
}
static const kernel bce_here("BCELoss", bce);

/* ==== >>rows  Functions of rows: one warp for each row =====================================*/

#define EACH_ROW(b, rows) \
  size_t b = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP; b < (rows); \
  b += (size_t)gridDim.x * blockDim.x / WARP
#define EACH_LANE(k, n) unsigned k = threadIdx.x % WARP; k < (n); k += WARP
enum { ALL_LANES = -1 };

__device__ static real warp_sum(real v) {          /* the same in every lane                  */
  for (int k = WARP / 2; k > 0; k /= 2) v += __shfl_xor_sync((unsigned)ALL_LANES, v, k);
  return v;
}

__device__ static real warp_max(real v) {
  for (int k = WARP / 2; k > 0; k /= 2) {
    real other = __shfl_xor_sync((unsigned)ALL_LANES, v, k);
    v = other > v || other != other ? other : v;
  }
  return v;
}

__device__ static real row_max(const real *s, unsigned n) {
  real most = s[0];
  for (EACH_LANE(k, n)) most = s[k] > most || s[k] != s[k] ? s[k] : most;
  return warp_max(most);
}

static size_t columns(const edf_node *y) {
  size_t K = 1;
  for (int d = y->rank - row_dims(y); d < y->rank; d++) K *= (size_t)y->dim[d];
  return K;
}

/* P = exp(s - max) / Z over the first n entries of a row, or its logarithm; the rest is 0.
   Returns ln Z. */
__device__ static real softmax_row(real *P, const real *s, unsigned n, unsigned K, real most,
                                   int logs) {
  real Z = 0;
  for (EACH_LANE(k, n)) Z += exp(s[k] - most);
  Z = warp_sum(Z);
  real ln_Z = log(Z);
  for (EACH_LANE(k, K))
    P[k] = k >= n ? 0 : logs ? s[k] - most - ln_Z : exp(s[k] - most) / Z;
  return ln_Z;
}

/* n is row % period + 1 with a bound | S<=t, else (period 0) all K. */
__global__ static void softmax_kernel(real *P, const real *s, size_t rows, unsigned K,
                                      unsigned period, int logs) {
  for (EACH_ROW(b, rows)) {
    unsigned n = period ? (unsigned)(b % period) + 1 : K;
    n = n < K ? n : K;
    softmax_row(P + b * K, s + b * K, n, K, row_max(s + b * K, n), logs);
  }
}

__global__ static void softmax_back_kernel(real *ds, const real *P, const real *dP, size_t rows,
                                           unsigned K, int logs, int assign) {
  for (EACH_ROW(b, rows)) {
    const real *p = P + b * K, *dp = dP + b * K;
    real e = 0;
    for (EACH_LANE(k, K)) e += logs ? dp[k] : p[k] * dp[k];
    e = warp_sum(e);
    for (EACH_LANE(k, K)) {
      real d = logs ? dp[k] - exp(p[k]) * e : p[k] * (dp[k] - e);
      ds[b * K + k] = assign ? d : ds[b * K + k] + d;
    }
  }
}

static void softmax_rows(edf_node *P, int backward, int logs) {
  size_t K = columns(P), rows = P->size / K;
  edf_node *s = P->in[0];
  int assign;
  if (!backward) {
    int bound = !logs && is_causal(P);
    unsigned period = bound ? (unsigned)P->dim[P->rank - row_dims(P) - 1] : 0;
    RUN(softmax_kernel, rows * WARP, result_of(P), value_of(s), rows, (unsigned)K, period,
        logs);
  } else if (s->grad) {
    const real *v = value_of(P), *dP = dy_of(P);
    real *ds = grad_of(s, &assign);
    RUN(softmax_back_kernel, rows * WARP, ds, v, dP, rows, (unsigned)K, logs, assign);
  }
}
static void softmax(edf_node *P, int backward) { softmax_rows(P, backward, 0); }
static void log_softmax(edf_node *y, int backward) { softmax_rows(y, backward, 1); }
static const kernel softmax_here("Softmax", softmax);
static const kernel softmax_over_here("SoftmaxOver", softmax);
static const kernel log_softmax_here("LogSoftmax", log_softmax);
static const kernel log_softmax_over_here("LogSoftmaxOver", log_softmax);

/* ---- Class numbers. The host checks the class numbers of Inputs. Any other number that is not
   a class gives NaN, and the program reports it when it next waits for the GPU. */
static array *mistake;                   /* the number + 1 of the node that found one         */

__device__ static long long class_of(real number, size_t K, unsigned *mistake, unsigned node) {
  if (number >= 0 && number < (real)K && floor(number) == number) return (long long)number;
  if (mistake) atomicCAS(mistake, 0u, node);
  return -1;
}

enum { NODE_BITS = 20 };                 /* of the word; above them the graph                 */

static unsigned number_in_list(const edf_node *y) {
  unsigned i = 0, last = (1u << NODE_BITS) - 1;
  while (i < (unsigned)edf.n_compnodes && edf.compnodes[i] != y) i++;
  return (graph_id() & 4095) << NODE_BITS | (i + 1 < last ? i + 1 : last);
}

static edf_node *node_of(unsigned word) {
  unsigned i = word & ((1u << NODE_BITS) - 1), graph = word >> NODE_BITS;
  return graph == (graph_id() & 4095) && i <= (unsigned)edf.n_compnodes ? edf.compnodes[i - 1]
                                                                    : NULL;
}

/* NULL where the numbers come from an Input. */
static unsigned *mistake_word(const edf_node *y) {
  if (y->in[y->n_in - 1]->kind == EDF_INPUT) return NULL;
  if (!mistake) {
    mistake = new_array(&mistake, sizeof(unsigned), 1);
    CU(cudaMemsetAsync(arena.base + mistake->at, 0, sizeof(unsigned), gpu.stream));
  }
  return (unsigned *)(arena.base + mistake->at);
}

__device__ static real not_a_number(void) { return (real)NAN; }

__global__ static void log_loss_kernel(real *l, const real *P, const real *y, size_t rows,
                                       size_t K, unsigned *mistake, unsigned node) {
  for (EACH(b, rows)) {
    long long k = class_of(y[b], K, mistake, node);
    l[b] = k < 0 ? not_a_number() : -log(P[b * K + (size_t)k]);
  }
}

/* The gradient of P, or with `scores` that of the scores that P is the softmax of. */
__global__ static void loss_back_kernel(real *dx, const real *P, const real *y, const real *dl,
                                        size_t rows, unsigned K, int scores, int assign) {
  for (EACH_ROW(b, rows))
    for (EACH_LANE(k, K)) {
      size_t i = b * K + k;
      int hit = (real)k == y[b];
      real d = scores ? dl[b] * (P[i] - hit) : hit ? -dl[b] / P[i] : 0;
      dx[i] = assign ? d : dx[i] + d;
    }
}

static void loss_back(edf_node *l, const real *P, unsigned K, int scores) {
  int assign;
  const real *labels = value_of(l->in[1]), *dl = dy_of(l);
  real *dx = grad_of(l->in[0], &assign);
  RUN(loss_back_kernel, l->size * WARP, dx, P, labels, dl, l->size, K, scores, assign);
}

static void log_loss(edf_node *l, int backward) {
  edf_node *P = l->in[0], *y = l->in[1];
  size_t K = (size_t)P->dim[P->rank - 1];
  if (!backward)
    RUN(log_loss_kernel, l->size, result_of(l), value_of(P), value_of(y), l->size, K,
        mistake_word(l), number_in_list(l));
  else if (P->grad) loss_back(l, value_of(P), (unsigned)K, 0);
}
static const kernel log_loss_here("LogLoss", log_loss, NULL, 1);

/* ---- SoftmaxLogLoss keeps P, a private array. */
__global__ static void softmax_loss_kernel(real *l, real *P, const real *s, const real *y,
                                           size_t rows, unsigned K, unsigned *mistake,
                                           unsigned node) {
  for (EACH_ROW(b, rows)) {
    const real *row = s + b * K;
    real most = row_max(row, K), ln_Z = softmax_row(P + b * K, row, K, K, most, 0);
    if (threadIdx.x % WARP) continue;
    long long k = class_of(y[b], K, mistake, node);
    l[b] = k < 0 ? not_a_number() : (most - row[k]) + ln_Z;   /* nothing is lost where both
                                                                 are large                    */
  }
}

static size_t softmax_loss_size(const edf_node *l) { return l->in[0]->size; }

static void softmax_loss(edf_node *l, int backward) {
  edf_node *s = l->in[0], *y = l->in[1];
  unsigned K = (unsigned)s->dim[s->rank - 1];
  real *P = own(l, softmax_loss_size(l));
  if (!backward)
    RUN(softmax_loss_kernel, l->size * WARP, result_of(l), P, value_of(s), value_of(y),
        l->size, K, mistake_word(l), number_in_list(l));
  else if (s->grad) loss_back(l, P, K, 1);
}
static const kernel softmax_loss_here("SoftmaxLogLoss", softmax_loss, softmax_loss_size, 1);

/* ==== >>layers  Normalisation, dropout, embedding, joining =================================*/

/* ---- NormalizeOver, LayerNorm: r of each row is private. */
__global__ static void normalize_kernel(real *y, real *r, const real *x, size_t rows,
                                        unsigned K, real eps) {
  for (EACH_ROW(b, rows)) {
    const real *row = x + b * K;
    real m = 0, v = 0;
    for (EACH_LANE(k, K)) m += row[k];
    m = warp_sum(m) / (real)K;
    for (EACH_LANE(k, K)) v += (row[k] - m) * (row[k] - m);
    v = 1 / sqrt(warp_sum(v) / (real)K + eps);
    for (EACH_LANE(k, K)) y[b * K + k] = (row[k] - m) * v;
    if (threadIdx.x % WARP == 0) r[b] = v;
  }
}

__global__ static void normalize_back_kernel(real *dx, const real *y, const real *r,
                                             const real *dy, size_t rows, unsigned K,
                                             int assign) {
  for (EACH_ROW(b, rows)) {
    const real *row = y + b * K, *d = dy + b * K;
    real mean = 0, cross = 0;
    for (EACH_LANE(k, K)) { mean += d[k]; cross += row[k] * d[k]; }
    mean = warp_sum(mean) / (real)K;
    cross = warp_sum(cross) / (real)K;
    for (EACH_LANE(k, K)) {
      real g = r[b] * (d[k] - mean - row[k] * cross);
      dx[b * K + k] = assign ? g : dx[b * K + k] + g;
    }
  }
}

static size_t normalize_size(const edf_node *y) { return y->size / columns(y); }

static void normalize(edf_node *y, int backward) {
  size_t K = columns(y), rows = y->size / K;
  edf_node *x = y->in[0];
  real *r = own(y, normalize_size(y));
  int assign;
  if (!backward)
    RUN(normalize_kernel, rows * WARP, result_of(y), r, value_of(x), rows, (unsigned)K,
        number_of(y));
  else if (x->grad) {
    const real *v = value_of(y), *dy = dy_of(y);
    real *dx = grad_of(x, &assign);
    RUN(normalize_back_kernel, rows * WARP, dx, v, r, dy, rows, (unsigned)K, assign);
  }
}
static const kernel normalize_here("NormalizeOver", normalize, normalize_size);
static const kernel layer_norm_here("LayerNorm", normalize, normalize_size);

/* ---- BatchNormalize: private are m, q and the two means of backward, a row each, then whether
   it trained. Sums over a column are `sums`. */
static edf_nest column_mean(size_t rows, size_t C, int product) {
  edf_nest t;
  memset(&t, 0, sizeof t);
  t.n = 2;
  t.alpha = 1 / (real)rows;
  t.loop[0] = { (ptrdiff_t)C, { 1, 1, product }, NULL };
  t.loop[1] = { (ptrdiff_t)rows, { 0, (ptrdiff_t)C, product ? (ptrdiff_t)C : 0 }, NULL };
  return t;
}

__global__ static void center_kernel(real *y, const real *x, const real *m, size_t n,
                                     size_t C) {
  for (EACH(i, n)) y[i] = x[i] - m[i % C];
}

__global__ static void scale_kernel(real *y, const real *q, size_t n, size_t C) {
  for (EACH(i, n)) y[i] *= q[i % C];
}

/* The running numbers move; then q is 1/sqrt(variance + eps). */
__global__ static void running_kernel(real *m, real *q, real *mean, real *variance, size_t C,
                                      real sample, real eps) {
  for (EACH(c, C)) {
    if (sample > 0) {
      mean[c] += (real)0.1 * (m[c] - mean[c]);
      variance[c] += (real)0.1 * (sample * q[c] - variance[c]);
    }
    q[c] = 1 / sqrt(q[c] + eps);
    if (c == 0) m[4 * C] = sample;       /* whether it trained, for backward                  */
  }
}

__global__ static void batch_back_kernel(real *dx, const real *y, const real *dy,
                                         const real *own, size_t n, size_t C, int assign) {
  const real *q = own + C, *mean = q + C, *cross = mean + C;
  int trained = own[4 * C] > 0;
  for (EACH(i, n)) {
    size_t c = i % C;
    real d = q[c] * (trained ? dy[i] - mean[c] - y[i] * cross[c] : dy[i]);
    dx[i] = assign ? d : dx[i] + d;
  }
}

static void copy(real *to, const real *from, size_t n) {
  RUN(axpy_kernel, n, to, from, n, (real)1, 1);
}

static size_t batch_size(const edf_node *y) { return 4 * columns(y) + 1; }

static void batch_forward(edf_node *y) {
  edf_node *x = y->in[0], *mean = y->in[1], *variance = y->in[2];
  size_t C = columns(y), rows = y->size / C;
  int training = edf.training;
  real *m = own(y, batch_size(y)), *q = m + C, *v = result_of(y);
  const real *from = value_of(x);
  if (training) sums(column_mean(rows, C, 0), 1, m, from, NULL);
  else copy(m, value_of(mean), C);
  RUN(center_kernel, y->size, v, from, m, y->size, C);
  if (training) sums(column_mean(rows, C, 1), 1, q, v, v);
  else copy(q, value_of(variance), C);
  real sample = training ? (real)rows / (real)(rows - 1) : 0;
  real *a = training ? out(mean->value, 0, "BatchNorm") : NULL;
  real *b = training ? out(variance->value, 0, "BatchNorm") : NULL;
  RUN(running_kernel, C, m, q, a, b, C, sample, number_of(y));
  RUN(scale_kernel, y->size, v, q, y->size, C);
}

static void batch_backward(edf_node *y) {
  edf_node *x = y->in[0];
  size_t C = columns(y), rows = y->size / C;
  int assign;
  real *m = own(y, batch_size(y));
  if (!x->grad) return;
  const real *v = value_of(y), *dy = dy_of(y);
  sums(column_mean(rows, C, 0), 1, m + 2 * C, dy, NULL);
  sums(column_mean(rows, C, 1), 1, m + 3 * C, dy, v);
  real *dx = grad_of(x, &assign);
  RUN(batch_back_kernel, y->size, dx, v, dy, m, y->size, C, assign);
}

/* One row in training is an error, which the C code tells. */
static void batch_normalize(edf_node *y, int backward) {
  if (backward) batch_backward(y);
  else if (edf.training && y->size / columns(y) < 2) y->forward(y);
  else batch_forward(y);
}
static const kernel batch_norm_here("BatchNorm", batch_normalize, batch_size);

/* ---- Dropout: entry i's number is the hash of edf.h's edf__draw. The draws before this node
   are those before the pass, which every pass sends, and those of the nodes before it. Backward
   draws the mask again, from the private copy of where it began. */
__device__ static int is_kept(u64 seed, u64 n, unsigned limit) {
  u64 z = n * 0x9E3779B97F4A7C15ull + seed * 0xD1342543DE82EF95ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return (unsigned)(z >> 40) >= limit;
}

/* Private: edf.seed, the draws before this node, the rate. */
struct mask { u64 seed, draws; real rate; };

__global__ static void mask_kernel(mask *m, const u64 *control, u64 before, real rate) {
  *m = { control[0], control[1] + before, rate };
}

__global__ static void dropout_kernel(real *y, const real *x, const mask *m, size_t n,
                                      int assign) {
  unsigned limit = (unsigned)((double)m->rate * 16777216);   /* of 24 random bits             */
  real factor = 1 / (1 - m->rate);
  for (EACH(i, n)) {
    real v = x[i] * (real)is_kept(m->seed, m->draws + i + 1, limit) * factor;
    y[i] = assign ? v : y[i] + v;
  }
}

static const u64 *control_numbers(void) {
  int old = !stage.random || stage.control[0] != edf.seed;   /* outside of a pass             */
  if (old && !is_recording()) send(-1, 0);
  stage.random = 1;
  return (const u64 *)(void *)(arena.base + stage.at);
}

static size_t mask_size(const edf_node *y) { return (void)y, sizeof(mask) / sizeof(real) + 1; }

static void dropout(edf_node *y, int backward) {
  edf_node *x = y->in[0];
  mask *m = (mask *)(void *)own(y, mask_size(y));
  int assign = 1;
  if (backward && !x->grad) return;
  if (!backward) {
    real rate = edf.training ? number_of(y) : 0;
    const u64 *control = control_numbers();
    LAUNCH(mask_kernel, 1, 1, gpu.stream, m, control, (u64)(edf.draws - stage.control[1]),
           rate);
    launched("mask_kernel", __LINE__);
    if (rate > 0) edf.draws += y->size;
  }
  const real *v = backward ? dy_of(y) : value_of(x);
  real *to = backward ? grad_of(x, &assign) : result_of(y);
  RUN(dropout_kernel, y->size, to, v, m, y->size, assign);
}
static const kernel dropout_here("Dropout", dropout, mask_size);

/* ---- Embed: rows by their number. A row's gradient is added up by the threads
   of that row alone, in the order of the class numbers: no two threads write one entry. */
__global__ static void rows_kernel(real *y, const real *W, const real *k, size_t n, size_t K,
                                   size_t J, unsigned *mistake, unsigned node) {
  for (EACH(i, n)) {
    long long row = class_of(k[i / J], K, mistake, node);
    y[i] = row < 0 ? not_a_number() : W[(size_t)row * J + i % J];
  }
}

__global__ static void rows_back_kernel(real *dW, const real *k, const real *dy, size_t n,
                                        size_t J, size_t rows, int assign) {
  for (EACH(i, n)) {
    real row = (real)(i / J), sum = 0;
    for (size_t b = 0; b < rows; b++) if (k[b] == row) sum += dy[b * J + i % J];
    dW[i] = assign ? sum : dW[i] + sum;
  }
}

static void embed(edf_node *y, int backward) {
  edf_node *W = y->in[0], *k = y->in[1];
  size_t K = (size_t)W->dim[0], J = W->size / K;
  int assign;
  if (!backward)
    RUN(rows_kernel, y->size, result_of(y), value_of(W), value_of(k), y->size, K, J,
        mistake_word(y), number_in_list(y));
  else if (W->grad) {
    const real *classes = value_of(k), *dy = dy_of(y);
    real *dW = grad_of(W, &assign);
    RUN(rows_back_kernel, W->size, dW, classes, dy, W->size, J, y->size / J, assign);
  }
}
static const kernel embed_here("Embed", embed, NULL, 1);

/* ---- Concat: up to 64 operands in one launch. They lie in the arena, so offsets name them. */
enum { PARTS = 64 };
struct joined { int n; unsigned end[PARTS]; u64 at[PARTS]; u64 set; };

__global__ static void join_kernel(char *base, joined t, real *y, size_t rows, unsigned begin,
                                   unsigned row, int backward) {
  unsigned width = t.end[t.n - 1] - begin;
  for (EACH(i, rows * width)) {
    unsigned column = begin + (unsigned)(i % width), part = 0;
    size_t b = i / width;
    while (column >= t.end[part]) part++;
    unsigned first = part ? t.end[part - 1] : begin;
    if (t.at[part] == ~0ull) continue;
    real *x = (real *)(void *)(base + t.at[part]) + b * (t.end[part] - first) + column - first;
    real *at = y + b * row + column;
    if (!backward) *at = *x;
    else *x = t.set >> part & 1 ? *at : *x + *at;
  }
}

static u64 offset_of(const void *p) { return (u64)((const char *)p - arena.base); }

static int joined_before(const edf_node *y, int first, int k) {
  for (int i = first; i < k; i++) if (y->in[i] == y->in[k]) return 1;
  return 0;
}

static void concat(edf_node *y, int backward) {
  size_t row = columns(y), rows = y->size / row;
  const real *dy = backward ? dy_of(y) : NULL;
  real *to = backward ? NULL : result_of(y);
  unsigned begin = 0, end = 0;
  for (int k = 0, first = 0; k < y->n_in; first = k, begin = end) {
    joined t;
    memset(&t, 0, sizeof t);
    for (; k < y->n_in && t.n < PARTS && !(backward && joined_before(y, first, k)); k++) {
      edf_node *x = y->in[k];
      int set = 0;
      t.end[t.n] = end += (unsigned)(x->size / rows);
      t.at[t.n] = backward && !x->grad ? ~0ull
                : offset_of(backward ? grad_of(x, &set) : value_of(x));
      t.set |= (u64)set << t.n++;
    }
    RUN(join_kernel, rows * (end - begin), arena.base, t, backward ? (real *)dy : to, rows,
        begin, (unsigned)row, backward);
  }
}
static const kernel concat_here("Concat", concat);

/* ==== >>updates  Optimisers: all parameters in one launch ==================================

   Updates are collected while they follow the same rule, and launched together before anything
   else runs. Rates and corrections change in each step and are arguments of the kernel. The
   table of arrays is copied only when it changes. */
enum { SETS = 8 };
struct entry { u64 p, g, m, s, n; unsigned set, unused; };   /* offsets in the arena          */
enum rule_kind { SGD_RULE, MOMENTUM_RULE, SQUARE_RULE, ADAM_RULE, SCALE_RULE, L2_RULE, L1_RULE,
  NO_RULE };
enum { RULE_NUMBERS = 6 };
struct number_sets { real c[SETS][RULE_NUMBERS]; };
static struct {
  edf_node **p;
  unsigned *set;
  int n, room, room_set, n_sets;
  rule_kind rule;
  number_sets sets;
} pending;

/* A table for each rule, and one for the norm: what the GPU's copy holds. */
enum { NORM_TABLE = L1_RULE + 1, TABLE_KINDS };
static struct { entry *held; int n, room; } tables[TABLE_KINDS];

/* As the rules of edf.h, see there. */
__device__ static void apply(int rule, const real *c, real *p, real *g, real *m, real *s) {
  real d = *g;
  if (rule == SGD_RULE) *p -= c[0] * d;
  else if (rule == SCALE_RULE) *g = d * c[0];
  else if (rule == L2_RULE) *g = d + c[0] * *p;
  else if (rule == L1_RULE) *g = d + (*p > 0 ? c[0] : *p < 0 ? -c[0] : 0);
  else if (rule == MOMENTUM_RULE) {
    *m = c[1] * *m + c[0] * d;
    *p -= c[2] * *m;
  } else if (rule == SQUARE_RULE) {
    *s = c[1] * *s + c[2] * d * d;
    *p -= c[0] * d / (sqrt(*s) + c[3]);
  } else {
    *m = c[0] * *m + (1 - c[0]) * d;
    *s = c[1] * *s + (1 - c[1]) * d * d;
    *p = c[5] * *p - c[2] * *m / (c[3] * sqrt(*s) + c[4]);
  }
}

__global__ static void update_kernel(char *base, const entry *table, int rule,
                                     number_sets sets) {
  entry e = table[blockIdx.y];
  real *p = (real *)(void *)(base + e.p), *g = (real *)(void *)(base + e.g);
  real *m = (real *)(void *)(base + e.m), *s = (real *)(void *)(base + e.s);
  for (EACH(i, e.n)) apply(rule, sets.c[e.set], p + i, g + i, m + i, s + i);
}

static int has_m(rule_kind rule) { return rule == MOMENTUM_RULE || rule == ADAM_RULE; }
static int has_s(rule_kind rule) { return rule == SQUARE_RULE || rule == ADAM_RULE; }

static u64 place_of(const void *host) {  /* 0 where the rule does not need it                 */
  const array *a = host ? find(host) : NULL;
  return a ? a->at : 0;
}

static entry entry_of(const edf_node *p, rule_kind rule, unsigned set) {
  entry e = { place_of(p->value), place_of(p->grad), has_m(rule) ? place_of(p->m) : 0,
              has_s(rule) ? place_of(p->s) : 0, p->size, set, 0 };
  return e;
}

/* The table on the GPU, copied there if a line of it has changed. */
static entry *table_of(edf_node **p, const unsigned *set, int n, int kind) {
  entry *there = (entry *)scratch(TABLES + kind, (size_t)n * sizeof(entry));
  auto *t = &tables[kind];
  int same = t->n == n;
  for (int i = 0; i < n; i++) {
    entry e = entry_of(p[i], kind == NORM_TABLE ? SCALE_RULE : (rule_kind)kind,
                       set ? set[i] : 0);
    t->held = (entry *)grow(t->held, i, &t->room, sizeof e);
    same = same && !memcmp(&t->held[i], &e, sizeof e);
    t->held[i] = e;
  }
  t->n = n;
  if (!same) send(there, t->held, (size_t)n * sizeof(entry));
  return there;
}

static dim3 grid_of(edf_node **p, int n) {
  size_t longest = 1;
  for (int i = 0; i < n; i++) if (p[i]->size > longest) longest = p[i]->size;
  unsigned blocks = blocks_for(longest);
  return dim3(blocks < 512 ? blocks : 512, (unsigned)n);
}

static void flush_updates(void) {
  int n = pending.n;
  if (!n) return;
  pending.n = 0;
  entry *table = table_of(pending.p, pending.set, n, pending.rule);
  LAUNCH(update_kernel, grid_of(pending.p, n), THREADS, gpu.stream, arena.base, table,
         (int)pending.rule, pending.sets);
  launched("update_kernel", __LINE__);
  pending.n_sets = 0;
}

/* The number of the set that has these numbers; SETS where there is no room for another. */
static int set_of(const real *numbers, int n) {
  size_t bytes = (size_t)n * sizeof(real);
  int k = 0;
  while (k < pending.n_sets && memcmp(pending.sets.c[k], numbers, bytes)) k++;
  if (k == pending.n_sets && k < SETS) {
    memset(pending.sets.c[k], 0, sizeof pending.sets.c[k]);
    memcpy(pending.sets.c[k], numbers, bytes);
    pending.n_sets++;
  }
  return k;
}

static int is_pending(const edf_node *p) {
  for (int i = 0; i < pending.n; i++) if (pending.p[i] == p) return 1;
  return 0;
}

static void recover(void);

static void update_there(edf_node *p, rule_kind rule, const real *numbers, int n) {
  int change = rule >= SCALE_RULE;   /* of the gradient; the others move the parameter    */
  recover();
  if (pending.n && (pending.rule != rule || is_pending(p) || pending.n == 65535))
    flush_updates();
  int set = set_of(numbers, n);
  if (set == SETS) { flush_updates(); set = set_of(numbers, n); }
  arena.still = 0;
  const void *all[4] = { p->value, p->grad, has_m(rule) ? p->m : NULL,
                         has_s(rule) ? p->s : NULL };
  for (int k = 0; k < 4; k++)
    if (all[k] && !array_of(all[k])) unknown("an optimiser");
  in_bytes(p->value);
  in_bytes(p->grad);
  out_bytes(change ? p->grad : p->value, 0);
  for (int k = 2; k < 4; k++) if (all[k]) out_bytes(all[k], 0);
  pending.p = (edf_node **)grow(pending.p, pending.n, &pending.room, sizeof p);
  pending.set = (unsigned *)grow(pending.set, pending.n, &pending.room_set, sizeof(unsigned));
  pending.set[pending.n] = (unsigned)set;
  pending.p[pending.n++] = p;
  pending.rule = rule;
}

/* ---- The norm of all gradients: blocks of partial sums in double, added up in their order. */
enum { NORM_BLOCKS = 64 };

__device__ static double block_sum(double v) {
  __shared__ double sums[THREADS];
  sums[threadIdx.x] = v;
  for (unsigned half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  return threadIdx.x ? 0 : sums[0];      /* thread 0 has it: another might read too early     */
}

__global__ static void norm_kernel(double *partial, const char *base, const entry *table) {
  entry e = table[blockIdx.y];
  const real *g = (const real *)(const void *)(base + e.g);
  double sum = 0;
  for (EACH(i, e.n)) sum += (double)g[i] * (double)g[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

__global__ static void add_up_kernel(double *result, const double *partial, size_t n) {
  double sum = 0;
  for (size_t i = threadIdx.x; i < n; i += THREADS) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *result = sum;
}

static double norm_there(edf_node **p, int n) {
  enum { AT_ONCE = 32768 };              /* a grid has at most 65535 rows                     */
  double sum = 0;
  if (n > AT_ONCE) return norm_there(p, AT_ONCE) + norm_there(p + AT_ONCE, n - AT_ONCE);
  recover();
  flush_updates();
  arena.still = 0;
  for (int i = 0; i < n; i++) in(p[i]->grad, "edf_clip");
  if (!n) return 0;
  entry *table = table_of(p, NULL, n, NORM_TABLE);
  size_t parts = (size_t)n * NORM_BLOCKS;
  double *partial = (double *)scratch(PARTIAL, (parts + 1) * sizeof(double));
  LAUNCH(norm_kernel, dim3(NORM_BLOCKS, (unsigned)n), THREADS, gpu.stream, partial, arena.base,
         table);
  launched("norm_kernel", __LINE__);
  LAUNCH(add_up_kernel, 1, THREADS, gpu.stream, partial + parts, partial, parts);
  launched("add_up_kernel", __LINE__);
  CU(cudaMemcpyAsync(&sum, partial + parts, sizeof sum, cudaMemcpyDeviceToHost, gpu.stream));
  CU(cudaStreamSynchronize(gpu.stream));
  look_for_mistakes();
  return sum;
}

/* ==== >>passes  Nodes, and whole passes as CUDA graphs =====================================*/

static void hold_arrays(const edf_node *x) {
  if (x->value && x->kind != EDF_INPUT) array_of(x->value);
  if (x->grad) array_of(x->grad);
}

static void run_node(edf_node *y, int backward) {
  const kernel *k = kernel_of(y);
  flush_updates();
  arena.still = 0;
  lay_out();
  if (k->takes_classes) mistake_word(y);
  hold_arrays(y);
  for (int i = 0; i < y->n_in; i++) hold_arrays(y->in[i]);
  if (k->own) own(y, k->own(y));
  arena.still = 1;
  k->run(y, backward);
  finish();
}

__global__ static void fill_kernel(real *x, size_t n, real number) {
  for (EACH(i, n)) x[i] = number;
}

static void fill(edf_node *node, edf_which which, real number) {
  forget_old();
  real *x = array_now(node, which);
  size_t n = node->size;
  flush_updates();
  hold(x, NULL, NULL);
  array *a = find(x);
  for (size_t i = 0; !a && i < n; i++) x[i] = number;      /* memory of a check, say          */
  if (!a) return;
  if (a->even >= n && a->number == number && !gpu.sync) return;      /* as it was left        */
  real *there = (real *)out_of(a, 1);
  a->even = n;
  a->number = number;
  if (number == 0) CU(cudaMemsetAsync(there, 0, n * sizeof(real), gpu.stream));
  else RUN(fill_kernel, n, there, n, number);
  finish();
}

static void run_contract(const edf_route *r, int assign, real *o, const real *a,
                         const real *b) {
  flush_updates();
  contract_there(r, assign, o, a, b);
  finish();
}

static void run_window(const edf_window *w, edf_node *y, edf_node *x, int backward) {
  flush_updates();
  window_there(w, y, x, backward);
  finish();
}

static void run_update(edf_node *p, rule_kind rule, const real *numbers, int n) {
  update_there(p, rule, numbers, n);
  if (!gpu.sync && !gpu.debug) return;
  flush_updates();
  finish();
}

/* ==== >>check  EDF_CHECK: every kernel against the C loops =================================

   With both copies of everything right, the C code runs first, what it wrote is put aside and
   taken back, then the GPU's kernel runs, and the two are compared. */
enum { MOST_CHECKED = 64, WATCHED = MOST_CHECKED + 4 };   /* inputs of a node, arrays         */
struct watched { real *x, *before, *expected; size_t n; };
static struct { int n; watched w[WATCHED]; } compared;

static void watch(real *x) {
  size_t n = edf_array_bytes(x) / sizeof(real);
  for (int i = 0; i < compared.n; i++) if (compared.w[i].x == x) return;
  if (!x || !n || compared.n == WATCHED) return;
  watched w = { x, (real *)malloc(n * sizeof(real)), (real *)malloc(n * sizeof(real)), n };
  if (!w.before || !w.expected) { fprintf(stderr, "edf: out of memory"); stop(); }
  memcpy(w.before, x, n * sizeof(real));
  compared.w[compared.n++] = w;
}

/* After the C code: its results are put aside, and what was there comes back. */
static void take_back(void) {
  for (int i = 0; i < compared.n; i++) {
    watched *w = &compared.w[i];
    memcpy(w->expected, w->x, w->n * sizeof(real));
    memcpy(w->x, w->before, w->n * sizeof(real));
  }
}

[[noreturn]] static void differs(const char *kernel, const watched *w, size_t i) {
  fprintf(stderr, "edf: EDF_CHECK: %s", kernel);
  if (running())
    fprintf(stderr, " in the %s of %s, built at %s:%d",
            edf.direction > 0 ? "forward" : "backward",
            running(), edf.compnodes[edf.at]->file, edf.compnodes[edf.at]->line);
  fprintf(stderr, ": entry %zu of %zu is %.9g on the GPU, %.9g by the C loops", i, w->n,
          (double)w->x[i], (double)w->expected[i]);
  stop();
}

/* After the GPU's kernel. */
static void compare(const char *kernel) {
  double part = sizeof(real) == 8 ? 1e-9 : *gpu.precision == 'f' || *gpu.precision == 'p' ? 2e-4
              : 3e-2;
  for (int i = 0; i < compared.n; i++) {
    watched *w = &compared.w[i];
    double most = 0;
    for (size_t k = 0; k < w->n; k++)
      if (fabs((double)w->expected[k]) > most) most = fabs((double)w->expected[k]);
    for (size_t k = 0; k < w->n; k++) {
      double e = (double)w->expected[k], d = (double)w->x[k];
      int close = fabs(d - e) <= part * most + 1e-6 || (d != d && e != e);
      if (d != e && !close) differs(kernel, w, k);
    }
    free(w->before);
    free(w->expected);
  }
  compared.n = 0;
}

static edf_device_table *device;         /* this file's                                       */
static void here(const edf_node *y);

/* What the C code does, with the device away. */
template <class Code> static void by_loops(Code code) {
  u64 draws = edf.draws;
  flush_updates();
  edf_device = NULL;
  code();
  edf_device = device;
  edf.draws = draws;
  take_back();
}

static void node_by_loops(edf_node *y, int backward) {
  char fresh[MOST_CHECKED];
  int n = y->n_in;
  watch(backward ? y->grad : y->value);
  for (int k = 0; k < n; k++) watch(backward ? y->in[k]->grad : y->in[k]->value);
  for (int k = 0; k < n; k++) {
    edf_node *x = y->in[k];
    fresh[k] = x->grad_is_zero;
    if (!backward || !x->grad_is_zero || !x->grad) continue;
    memset(x->grad, 0, x->size * sizeof(real));
    x->grad_is_zero = 0;
  }
  by_loops([=] { backward ? y->backward(y) : y->forward(y); });
  for (int k = 0; k < n; k++) y->in[k]->grad_is_zero = fresh[k];
}

static int node(edf_node *y, int backward) {
  const kernel *k = kernel_of(y);
  if (!k) { here(y); return 0; }
  int check = gpu.check && y->n_in <= MOST_CHECKED;
  if (check) node_by_loops(y, backward);
  run_node(y, backward);
  if (check) compare(k->op);
  return 1;
}

static void contract(const edf_route *r, int assign, edf_node *const of[3], unsigned grads) {
  real *v[3];
  for (int k = 0; k < 3; k++)
    v[k] = !of[k] ? (real *)&the_one : grads >> k & 1 ? of[k]->grad : of[k]->value;
  if (gpu.check) {
    watch(v[0]);
    by_loops([=] {
      edf_contract(r, assign, v[0], v[1], v[2]);
    });
  }
  run_contract(r, assign, v[0], v[1], v[2]);
  if (gpu.check) compare("edf_contract");
}

static void window(const edf_window *w, edf_node *y, edf_node *x, int backward) {
  run_window(w, y, x, backward);
}

/* The loop of a rule, and its numbers; NO_RULE if there is no kernel. */
static rule_kind kind_of(const edf_rule *rule, const real *c, long steps, real *to) {
  double t = (double)(steps > 0 ? steps : 1);
  memset(to, 0, RULE_NUMBERS * sizeof *to);
  to[0] = c[0];
  if (rule == &edf_sgd_rule) return SGD_RULE;
  if (!strcmp(rule->name, "edf_clip")) return SCALE_RULE;
  if (!strcmp(rule->name, "edf_l2")) return L2_RULE;
  if (!strcmp(rule->name, "edf_l1")) return L1_RULE;
  if (rule == &edf_momentum_rule) { to[1] = c[1]; to[2] = 1; return MOMENTUM_RULE; }
  if (rule == &edf_rmsprop_rule) {
    to[1] = c[1]; to[2] = 1 - c[1]; to[3] = c[2];
    return SQUARE_RULE;
  }
  real first = 1 - 1 / (real)t;
  int slides = rule == &edf_adam_slides_rule;
  if (!slides && rule != &edf_adam_rule) return NO_RULE;
  to[0] = slides && first < c[1] ? first : c[1];
  to[1] = slides && first < c[2] ? first : c[2];
  to[2] = slides ? c[0] : (real)((double)c[0] / (1 - pow((double)c[1], t)));
  to[3] = slides ? 1 : (real)(1 / sqrt(1 - pow((double)c[2], t)));
  to[4] = c[3];
  to[5] = slides ? 1 : 1 - c[0] * c[4];
  return ADAM_RULE;
}

static double update(edf_node **p, int n, const edf_rule *rule, const real *c) {
  real numbers[RULE_NUMBERS];
  if (!rule) return norm_there(p, n);
  forget_old();
  for (int i = 0; i < n; i++) {
    rule_kind kind = kind_of(rule, c, p[i]->steps, numbers);
    edf_node *x = p[i];
    if (kind == NO_RULE) return -1;
    if (gpu.check) {
      real *all[4] = { x->value, x->grad, x->m, x->s };
      for (real *v : all) watch(v);
      by_loops([=] { rule->run(x, c); });
    }
    run_update(x, kind, numbers, RULE_NUMBERS);
    if (gpu.check) compare("an optimiser");
  }
  return 0;
}

/* ---- Recordings, found by a key of all that the host's code depends on. */
enum { RECORDINGS = 16 };
struct written { array *a; size_t even; real number; };      /* and how the pass leaves it    */
struct recording {
  u64 key;
  int batch, seen, needs_host, n, room;  /* needs_host: in between                            */
  unsigned graph;
  u64 draws;                             /* how many numbers its masks take                   */
  struct written *written;
  cudaGraphExec_t exec;
};
static recording recordings[RECORDINGS], *current, *recorded;
static int next_recording;

static int is_recording(void) { return recorded != NULL; }

static void drop(recording *r) {
  if (r->exec) CU(cudaGraphExecDestroy(r->exec));
  free(r->written);
  memset(r, 0, sizeof *r);
}

/* The memory has moved: they are made again. */
static void drop_recordings(void) {
  for (recording &r : recordings) {
    if (r.exec) CU(cudaGraphExecDestroy(r.exec));
    r.exec = NULL;
  }
}

/* Nodes are gone: others may get their addresses. */
static void forget_recordings(void) {
  for (recording &r : recordings) if (&r != current) drop(&r);
}

static void note_written(array *a) {
  recording *r = recorded;
  if (!r) return;
  for (int i = 0; i < r->n; i++) if (r->written[i].a == a) return;
  r->written = (written *)grow(r->written, r->n, &r->room, sizeof *r->written);
  r->written[r->n++].a = a;
}

static u64 mix(u64 key, u64 x) { return (key ^ x) * 0x9E3779B97F4A7C15ull ^ key >> 29; }
static u64 mix_pointer(u64 key, const void *p) { return mix(key, (u64)(uintptr_t)p); }

static u64 key_of_node(u64 key, const edf_node *x) {
  int back = edf.direction < 0;          /* gradients matter to a Backward alone              */
  const array *grad = back && x->grad ? find(x->grad) : NULL;
  u64 even = 0;                          /* then a fill is left out                           */
  if (grad && grad->even) memcpy(&even, &grad->number, sizeof grad->number);
  key = mix_pointer(mix_pointer(key, x), back ? x->grad : NULL);
  key = mix(key, grad ? even + grad->even : 0);
  key = mix(mix_pointer(key, x->kind == EDF_INPUT ? NULL : x->value), x->size);
  return mix(key, (u64)x->active | (u64)(back ? x->needs_grad | x->grad_is_zero << 1 : 0) << 1);
}

static u64 key_of_pass(void) {
  u64 key = mix(graph_id(), (u64)(edf.direction + 2) << 8);
  key = mix(key, (u64)(edf.training << 1 | edf.accumulate));
  key = mix_pointer(mix(key, (u64)edf.n_compnodes), edf.direction < 0 ? edf.loss : NULL);
  for (int i = 0; i < edf.n_inputs; i++) {
    const edf_node *x = edf.inputs[i];
    const array *a = x->value ? find(x->value) : NULL;
    key = mix(key_of_node(key, x), a ? a->at + 1 : 0);
    if (x->active) key = mix(mix(key, stage.slots[i].at), (u64)input_at(x->value));
  }
  for (int i = 0; i < edf.n_parameters; i++) key = key_of_node(key, edf.parameters[i]);
  for (int i = 0; i < edf.n_compnodes; i++) key = key_of_node(key, edf.compnodes[i]);
  return key;
}

/* With another batch, the buffers of equations have other contents: what was recorded for the
   old one is dropped. */
static recording *recording_of(u64 key) {
  for (recording &r : recordings)
    if (r.key && r.graph == graph_id() && r.batch != edf.batch) drop(&r);
  for (recording &r : recordings) if (r.key == key) return &r;
  recording *r = &recordings[next_recording++ % RECORDINGS];
  drop(r);
  r->key = key;
  r->graph = graph_id();
  r->batch = edf.batch;
  return r;
}

static void no_graphs(const char *why, cudaError_t error) {
  fprintf(stderr, "edf: note: %s: %s; without CUDA graphs\n", why, cudaGetErrorString(error));
  cudaGetLastError();
  gpu.graphs = 0;
}

/* What a pass changes on the host, in case that it has to run again. */
struct snapshot { u64 draws; char *fresh; };

static int all_nodes(edf_node **at[3], int n[3]) {
  at[0] = edf.inputs, at[1] = edf.parameters, at[2] = edf.compnodes;
  n[0] = edf.n_inputs, n[1] = edf.n_parameters, n[2] = edf.n_compnodes;
  return n[0] + n[1] + n[2];
}

static void each_fresh(snapshot *s, int restore) {
  edf_node **at[3];
  int n[3];
  all_nodes(at, n);
  char *fresh = s->fresh;
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < n[k]; i++, fresh++)
      if (restore) at[k][i]->grad_is_zero = *fresh;
      else *fresh = at[k][i]->grad_is_zero;
}

static snapshot look_at_host(void) {
  edf_node **at[3];
  int n[3];
  snapshot s = { edf.draws, (char *)malloc((size_t)all_nodes(at, n) + 1) };
  if (!s.fresh) { fprintf(stderr, "edf: out of memory"); stop(); }
  each_fresh(&s, 0);
  return s;
}

/* The nodes run once more, their launches into a graph. 0: it did not work, and nothing has run
   on the GPU. */
static int record(recording *r, void (*nodes)(void)) {
  cudaGraph_t graph = NULL;
  u64 before = edf.draws;
  cudaError_t error = cudaStreamBeginCapture(gpu.stream, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) { no_graphs("cudaStreamBeginCapture", error); return 0; }
  r->n = 0;
  recorded = r;
  nodes();
  recorded = NULL;
  r->draws = edf.draws - before;
  for (int i = 0; i < r->n; i++) {
    r->written[i].even = r->written[i].a->even;
    r->written[i].number = r->written[i].a->number;
  }
  error = cudaStreamEndCapture(gpu.stream, &graph);
  if (error != cudaSuccess) { no_graphs("cudaStreamEndCapture", error); return 0; }
  error = cudaGraphInstantiate(&r->exec, graph, 0);
  if (error != cudaSuccess) { r->exec = NULL; no_graphs("cudaGraphInstantiate", error); }
  CU(cudaGraphDestroy(graph));
  if (!r->exec) return 0;
  CU(cudaGraphLaunch(r->exec, gpu.stream));
  return 1;
}

static void try_to_record(recording *r, void (*nodes)(void)) {
  snapshot s = look_at_host();
  if (!record(r, nodes)) {               /* fills have not run either                         */
    for (int i = 0; i < r->n; i++) r->written[i].a->even = 0;
    edf.draws = s.draws;
    each_fresh(&s, 1);
    nodes();
  }
  free(s.fresh);
}

static void replay(recording *r) {
  CU(cudaGraphLaunch(r->exec, gpu.stream));
  for (int i = 0; i < r->n; i++) {
    array *a = r->written[i].a;
    mark_written(a);
    a->even = r->written[i].even;
    a->number = r->written[i].number;
  }
  edf.draws += r->draws;
}

/* After a panic that has jumped out of a pass. */
static void recover(void) {
  cudaGraph_t graph = NULL;
  if (!recorded) return;
  if (cudaStreamEndCapture(gpu.stream, &graph) == cudaSuccess) CU(cudaGraphDestroy(graph));
  (void)cudaGetLastError();
  recorded = current = NULL;
}

static int pass(void (*nodes)(void), int whole) {
  forget_old();
  recover();
  current = NULL;
  arena.n_touched = arena.still = 0;
  flush_updates();
  stage_inputs();
  if (!gpu.graphs || gpu.sync || !whole) { nodes(); return 0; }
  upload_stale();
  recording *r = current = recording_of(key_of_pass());
  int replayed = r->exec != NULL;
  if (replayed) replay(r);
  else if (r->seen && !r->needs_host) try_to_record(r, nodes);
  else { nodes(); r->seen = 1; }         /* a pass that a panic has left is not seen          */
  current = NULL;
  return replayed;
}

/* ---- What comes back, and what the program has written */
static void look_for_mistakes(void) {
  unsigned word = 0;
  if (!mistake) return;
  CU(cudaMemcpyAsync(&word, arena.base + mistake->at, sizeof word, cudaMemcpyDeviceToHost,
                     gpu.stream));
  CU(cudaStreamSynchronize(gpu.stream));
  if (!word) return;
  CU(cudaMemsetAsync(arena.base + mistake->at, 0, sizeof word, gpu.stream));
  edf_node *y = node_of(word);
  if (y && (!kernel_of(y) || !kernel_of(y)->takes_classes)) y = NULL;
  for (int i = 0; y && i < y->n_in; i++) edf_value(y->in[i]);
  if (y) y->forward(y);                  /* the C code says what is wrong                     */
  fprintf(stderr, "edf: a class number was out of range%s%s", y ? " in " : "",
          y ? y->name : "");
  stop();
}

static void pull(edf_node *node, edf_which which) {
  real *x = array_now(node, which);
  forget_old();
  if (!x) return;
  array *a = find(x);
  recover();
  flush_updates();
  if (!a || a->here || a->own) return;
  if (current) current->needs_host = 1;
  download(a, node->size * sizeof(real));
  look_for_mistakes();
}

/* The data of an Input is sent with the inputs. */
static void push(edf_node *node, edf_which which) {
  real *x = array_now(node, which);
  forget_old();
  if (!x) return;
  array *a = find(x);
  recover();
  flush_updates();
  if (current) current->needs_host = 1;
  for (int i = 0; i < stage.n && i < edf.n_inputs; i++)
    if (stage.slots[i].host == x) stage.slots[i].host = NULL;
  if (!a || !node->size || (node->kind == EDF_INPUT && which == EDF_VALUE)) return;
  a->here = 1;
  a->there = 0;
  a->even = 0;
  arena.stale = 1;
}

/* Once for each kind of node. */
static void here(const edf_node *y) {
  enum { KINDS = 64 };
  static u64 told[KINDS];
  static int n;
  u64 name = 1;
  for (const char *c = y->op; *c; c++) name = mix(name, (u64)*c);
  if (current) current->needs_host = 1;
  for (int i = 0; i < n; i++) if (told[i] == name) return;
  if (n == KINDS) return;
  told[n++] = name;
  fprintf(stderr, "edf: note: node %s is CPU code: its inputs and results are copied between "
          "GPU and CPU in every step\n", y->op);
}

/* What the host did meanwhile, it did without a word: afterwards its copies count. */
static void sync_there(int on) {
  int was = gpu.sync;
  recover();
  flush_updates();
  if (!on && mistake)                    /* edf_clear: what it was about may be gone          */
    CU(cudaMemsetAsync(arena.base + mistake->at, 0, sizeof(unsigned), gpu.stream));
  gpu.sync = on || gpu.asked_sync;
  for (array *a = arena.all; a; a = a->all)
    if (a->own) continue;
    else if (on && !a->here) download(a, a->bytes);
    else if (was && !gpu.sync) { a->there = 0; a->even = 0; }
  arena.stale |= was && !gpu.sync;
}

/* ==== >>open  What a linked edf_cuda.o does when the first node is made ====================*/

static int is_set(const char *name) {
  const char *value = getenv(name);
  return value && *value && strcmp(value, "0");
}

/* 0, and why: in `why`. */
static int is_usable(char *why, size_t room) {
  int n = 0, which = 0;                  /* an error leaves n as it is                        */
  cudaFuncAttributes attributes;
  cudaDeviceProp properties;
  cudaError_t error = cudaGetDeviceCount(&n);
  if (error == cudaSuccess && n == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess) error = cudaFree(NULL);          /* does a context open?          */
  if (error == cudaSuccess) error = cudaGetDevice(&which);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, which);
  snprintf(why, room, "no usable GPU (%s)", cudaGetErrorString(error));
  if (error != cudaSuccess) { cudaGetLastError(); return 0; }
  error = cudaFuncGetAttributes(&attributes, (const void *)sum_kernel);
  snprintf(why, room, "this program has no code for the GPU, which is sm_%d%d (%s): "
           "make -B build/edf_cuda.o CUDA_ARCH=%d%d", properties.major, properties.minor,
           cudaGetErrorString(error), properties.major, properties.minor);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess;
}

static void choose_precision(void) {
  static const struct { const char *name; cublasComputeType_t type; } known[] = {
    { "fp32", CUBLAS_COMPUTE_32F }, { "tf32", CUBLAS_COMPUTE_32F_FAST_TF32 },
    { "bf16", CUBLAS_COMPUTE_32F_FAST_16BF }, { "pedantic", CUBLAS_COMPUTE_32F_PEDANTIC } };
  const char *asked = getenv("EDF_PRECISION");
  gpu.precision = NULL;
  for (const auto &k : known)
    if (!strcmp(k.name, asked && *asked ? asked : "fp32")) {
      gpu.precision = k.name;
      gpu.compute = sizeof(real) == 8 ? CUBLAS_COMPUTE_64F : k.type;
    }
  if (gpu.precision) return;
  fprintf(stderr, "edf: EDF_PRECISION is %s: expected fp32, tf32, bf16 or pedantic", asked);
  stop();
}

/* cublasSetStream takes the workspace away: so it comes first. A recorded gemm needs one of
   ours. */
static void open_blas(int major) {
  size_t bytes = (size_t)(major >= 9 ? 32 : 4) << 20;
  CU(cudaStreamCreateWithFlags(&gpu.stream, cudaStreamNonBlocking));
  CB(cublasCreate(&gpu.blas));
  CB(cublasSetStream(gpu.blas, gpu.stream));
  CU(cudaMalloc(&gpu.workspace, bytes));
  CB(cublasSetWorkspace(gpu.blas, gpu.workspace, bytes));
}

static void say_start(const cudaDeviceProp *p) {
  int slow = !strcmp(gpu.precision, "fp32") && p->major >= 8 && sizeof(real) == 4;
  fprintf(stderr, "edf: GPU: %s, %s%s, %s\n", p->name,
          sizeof(real) == 8 ? "fp64" : gpu.precision,
          slow ? " (EDF_PRECISION=tf32 makes large matrix products several times faster)" : "",
          gpu.check ? "every kernel is checked" : gpu.asked_sync ? "both copies always right"
          : gpu.graphs ? "graphs" : "no graphs");
}

/* All arrays go, or those that belong to no Input and no Parameter. */
static void clear(int all) {
  sync_there(0);
  for (array *a = arena.all, *next; a; a = next) {
    next = a->all;
    int keep = !all && a->owner && a->owner->kind != EDF_COMPNODE;
    if (!keep && a != mistake && a->graph == graph_id()) forget(a->host);
  }
}

static edf_device_table table = { node, contract, window, pass, fill, update, pull, push,
                                  clear };

static edf_device_table *open_gpu(void) {
  char why[300];
  const char *asked = getenv("EDF_DEVICE"), *graphs = getenv("EDF_GRAPHS");
  cudaDeviceProp properties;
  if (asked && *asked && strcmp(asked, "auto") && strcmp(asked, "cpu") &&
      strcmp(asked, "cuda")) {
    fprintf(stderr, "edf: EDF_DEVICE is %s: expected auto, cpu or cuda", asked);
    stop();
  }
  if (asked && !strcmp(asked, "cpu")) return NULL;
  choose_precision();
  if (!is_usable(why, sizeof why)) {
    int must = asked && !strcmp(asked, "cuda");
    fprintf(stderr, "edf: %s%s", why, must ? "" : "; running on the CPU\n");
    if (must) stop();
    return NULL;
  }
  int which = 0;
  CU(cudaGetDevice(&which));
  CU(cudaGetDeviceProperties(&properties, which));
  gpu.processors = properties.multiProcessorCount;
  gpu.check = is_set("EDF_CHECK");
  gpu.sync = gpu.asked_sync = gpu.check || is_set("EDF_SYNC");
  gpu.debug = is_set("EDF_CUDA_DEBUG");
  gpu.graphs = !gpu.debug && !(graphs && !strcmp(graphs, "0"));
  open_blas(properties.major);
  say_start(&properties);
  return device = &table;
}

/* For programs that add up gradients on the GPU (NCCL): where p.grad is, up to date, which the
   caller may change until the next Backward; and the stream that everything runs on. */
extern "C" edf_real *edf_cuda_grad(edf_node *p) {
  if (!device) { fprintf(stderr, "edf: edf_cuda_grad: no GPU is in use"); stop(); }
  flush_updates();
  arena.still = 0;
  for (int i = 0; i < edf.n_parameters; i++)           /* so that no later call moves them    */
    if (edf.parameters[i]->grad) array_of(edf.parameters[i]->grad);
  return out(p->grad, 0, "edf_cuda_grad");
}

extern "C" void *edf_cuda_stream(void) { return gpu.stream; }

/* Gives everything back; the numbers on the GPU come here first. A node that is made afterwards
   opens the GPU again. */
extern "C" void edf_cuda_close(void) {
  if (!device) return;
  flush_updates();
  for (array *a = arena.all; a; a = a->all) if (!a->own && !a->here) download(a, a->bytes);
  CU(cudaStreamSynchronize(gpu.stream));
  forget_recordings();
  while (arena.all) forget(arena.all->host);
  free_stage();
  free_ring();
  for (auto &s : scratches) {
    if (s.p) CU(cudaFree(s.p));
    s = { NULL, 0 };
  }
  for (hole *h; (h = arena.holes) != NULL; free(h)) arena.holes = h->next;
  if (arena.base) CU(cudaFree(arena.base));
  for (auto &t : tables) { free(t.held); t = { NULL, 0, 0 }; }
  free(arena.touched);
  free(stage.slots);
  free(pending.p);
  free(pending.set);
  memset((void *)&arena, 0, sizeof arena);
  memset((void *)&stage, 0, sizeof stage);
  memset((void *)&pending, 0, sizeof pending);
  mistake = NULL;
  CB(cublasDestroy(gpu.blas));
  CU(cudaFree(gpu.workspace));
  CU(cudaStreamDestroy(gpu.stream));
  if (edf_device == device) edf_device = NULL;
  device = NULL;
  edf_open_device = open_gpu;
}

/* Before main: nothing of CUDA's is called yet. */
static const int registered __attribute__((used)) = (edf_open_device = open_gpu, 1);
