/* cuda_runtime.h - emulates the CUDA runtime, so that edf_cuda.cu runs without a GPU. For Linux
   on x86-64.

     g++ -x c++ -std=c++17 -Itests/cuda/shim -I. -c edf_cuda.cu       main is elsewhere

   Device memory is host memory with addresses that the host may not follow. A stream is a queue
   that runs when something waits for it. A kernel is a loop over its threads. The emulation is
   stricter than a GPU: a mistake that a GPU may forgive stops the program with `cudashim: ...`
   and exit status 98. It cannot find: speed, registers, races between blocks that no order of
   the blocks shows.

     CUDASHIM_LAZY=0          streams run at once
     CUDASHIM_ORDER=rev       blocks and threads backwards; a number: shuffled
     CUDASHIM_FAIL=NAME:2     the second call of NAME fails
     CUDASHIM_DEVICES=0       no GPU
     CUDASHIM_MEM=1000000     bytes of device memory
     CUDASHIM_REUSE=1         freed addresses come again at once
     CUDASHIM_LEAKS=1         exit status 99 if something was not given back
     CUDASHIM_STATS=1         prints at exit what was counted

   The .cu starts kernels by LAUNCH. __shared__ is not in templates or inline functions, and
   none of it is dynamic. There is one host thread. */
#ifndef CUDASHIM_CUDA_RUNTIME_H
#define CUDASHIM_CUDA_RUNTIME_H

#include <deque>
#include <functional>
#include <memory>

#include "shim_core.h"

/* ---- Operations, and the streams in which they wait. An operation reads its sources when it
   runs. A stream that captures puts operations into a graph instead of the queue. */
namespace cudashim {

enum Kind { KERNEL, GEMM, MEMSET, H2D, D2H };
struct Op {
  const char *what;
  Here here;
  Kind kind;
  size_t bytes;
  std::function<void()> run;
};
typedef std::shared_ptr<const Op> Work;

} /* namespace cudashim */

struct CUstream_st {
  std::deque<cudashim::Work> queue;
  long long submitted;
  long long done;
  cudaGraph_t graph;                         /* into which it captures, or NULL               */
};
struct CUevent_st {
  cudaStream_t stream;                       /* NULL if it was never recorded                 */
  long long until;
};
struct CUgraph_st {
  std::vector<cudashim::Work> ops;
};

namespace cudashim {

enum { QUEUE = 1024 };                       /* A launch waits if so many are queued.         */

inline cudaStream_t live_stream(cudaStream_t stream, const char *call, Here here) {
  must_live(stream, "stream", call, here);   /* The default stream is not emulated.           */
  return stream;
}

inline void run_until(cudaStream_t stream, long long number) {
  State &s = state();
  while (stream->done < number) {
    Work work = stream->queue.front();
    stream->queue.pop_front();
    s.op = work->what;
    s.op_here = work->here;
    work->run();
    s.op = NULL;
    stream->done++;
  }
}
inline void run_all(cudaStream_t stream) { run_until(stream, stream->submitted); }

inline std::vector<cudaStream_t> &streams() {
  static auto *all = new std::vector<cudaStream_t>;
  return *all;
}
inline void run_everything() {
  for (cudaStream_t s : streams()) run_all(s);
}

/* Operations are counted when they are submitted: a test need not wait to read a count. */
inline void count(const Op &op) {
  Counters &c = state().count;
  long long *const each[] = { &c.kernels, &c.gemms, &c.memsets, &c.copies_h2d, &c.copies_d2h };
  c.ops++;
  ++*each[op.kind];
  if (op.kind == KERNEL) state().kernels[tidy(op.what)]++;
  if (op.kind == H2D) c.bytes_h2d += (long long)op.bytes;
  if (op.kind == D2H) c.bytes_d2h += (long long)op.bytes;
}

inline cudaError_t submit(cudaStream_t stream, Work work) {
  int broken = stream->graph && state().capture_is_broken;
  if (broken) return fail(cudaErrorStreamCaptureInvalidated);
  if (stream->graph) {
    stream->graph->ops.push_back(work);
    return cudaSuccess;
  }
  count(*work);
  stream->queue.push_back(work);
  stream->submitted++;
  if (!state().lazy) run_all(stream);
  else if (stream->queue.size() > QUEUE) run_until(stream, stream->done + 1);
  return cudaSuccess;
}
inline cudaError_t submit(cudaStream_t stream, Op op) {
  return submit(stream, std::make_shared<const Op>(std::move(op)));
}

/* Returns an error for a call that may not be made while the stream captures. */
inline cudaError_t refuse_capture(cudaStream_t stream) {
  if (!stream->graph) return cudaSuccess;
  state().capture_is_broken = 1;
  return fail(cudaErrorStreamCaptureUnsupported);
}

} /* namespace cudashim */

#include "shim_block.h"

/* ---- Errors */

inline const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define X(name, number, text) case cuda##name: return text;
    CUDASHIM_ERRORS(X)
#undef X
  }
  return "unrecognized error code";
}

CUDASHIM_API cudaError_t cudaGetLastError() {
  cudashim::State &s = cudashim::state();
  cudaError_t last = s.last;
  s.count.api++;
  s.unread = NULL;
  s.last = cudaSuccess;
  return last;
}

/* ---- The device */

struct cudaDeviceProp {
  char name[256];
  int major;
  int minor;
  int multiProcessorCount;
};

/* Without a device *n is not written, as in the real function. */
CUDASHIM_API cudaError_t cudaGetDeviceCount(int *n) {
  CUDASHIM_ENTER(ANYTIME);
  *n = cudashim::state().devices;
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaGetDevice(int *device) {
  CUDASHIM_ENTER(ANYTIME);
  *device = 0;
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  CUDASHIM_ENTER(ANYTIME);
  *p = { "cudashim", 9, 0, 4 };
  return cudaSuccess;
}

/* Every kernel is there, unless CUDASHIM_FAIL says that this call fails. */
struct cudaFuncAttributes { int numRegs; };
template <class F> CUDASHIM_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, F *) {
  CUDASHIM_ENTER(ANYTIME);
  *a = { 32 };
  return cudaSuccess;
}

/* ---- Memory */

typedef struct CUmemPool_st *cudaMemPool_t;
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

CUDASHIM_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int) {
  CUDASHIM_ENTER(ANYTIME);
  *pool = NULL;
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) {
  CUDASHIM_ENTER(ANYTIME);
  return cudaSuccess;
}
/* Memory that cudaFreeAsync frees stays in the pool until this call. */
CUDASHIM_API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::state().live.erase(&cudashim::streams());
  return cudaSuccess;
}

template <class T>
CUDASHIM_API cudaError_t cudaMalloc(T **p, size_t size, cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  return cudashim::allocate((void **)p, size, 0, here);
}
template <class T>
CUDASHIM_API cudaError_t cudaMallocHost(T **p, size_t size, cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  return cudashim::allocate((void **)p, size, 1, here);
}
template <class T>
CUDASHIM_API cudaError_t cudaMallocAsync(T **p, size_t size, cudaStream_t stream,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  cudashim::live_stream(stream, "cudaMallocAsync", here);
  return cudashim::allocate((void **)p, size, 0, here);
}

/* These wait for the device. */
CUDASHIM_API cudaError_t cudaFree(void *p, cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  cudashim::run_everything();
  if (p) cudashim::give_back(p, 0, "cudaFree", here);
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaFreeHost(void *p, cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  cudashim::run_everything();
  if (p) cudashim::give_back(p, 1, "cudaFreeHost", here);
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaFreeAsync(void *p, cudaStream_t stream, cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  cudashim::run_all(cudashim::live_stream(stream, "cudaFreeAsync", here));
  cudashim::give_back(p, 0, "cudaFreeAsync", here);
  cudashim::born(&cudashim::streams(), "memory in the pool", here);
  return cudaSuccess;
}

/* CUDA does not promise that pageable memory is read before the call returns: it is read when
   the copy runs. Pageable memory is written before the call returns. */
CUDASHIM_API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n,
                                         cudaMemcpyKind kind, cudaStream_t stream,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::live_stream(stream, "cudaMemcpyAsync", here);
  int down = kind == cudaMemcpyDeviceToHost, pinned;
  const char *destination = "the destination of the copy", *source = "the source of the copy";
  char *t = down ? cudashim::host_bytes(to, n, destination, here, &pinned)
                 : cudashim::device_bytes(to, n, destination, here);
  char *f = down ? cudashim::device_bytes(from, n, source, here)
                 : cudashim::host_bytes(from, n, source, here, &pinned);
  if (!pinned && cudashim::refuse_capture(stream)) return cudashim::state().last;
  cudashim::Kind kind_of_op = down ? cudashim::D2H : cudashim::H2D;
  cudaError_t e = cudashim::submit(stream, cudashim::Op{ "cudaMemcpyAsync", here, kind_of_op, n,
                                   [=] { memcpy(t, f, n); } });
  if (!e && down && !pinned) cudashim::run_all(stream);
  return e;
}

CUDASHIM_API cudaError_t cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t stream,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::live_stream(stream, "cudaMemsetAsync", here);
  char *t = cudashim::device_bytes(to, n, "the destination of the memset", here);
  return cudashim::submit(stream, cudashim::Op{ "cudaMemsetAsync", here, cudashim::MEMSET, n,
                          [=] { memset(t, value, n); } });
}

/* ---- Streams and events. They are never deleted, since others may point to them. */

#define cudaStreamNonBlocking 1u
#define cudaEventDisableTiming 2u

CUDASHIM_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned,
                                                   cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  *stream = new CUstream_st{ {}, 0, 0, NULL };
  cudashim::streams().push_back(*stream);
  cudashim::born(*stream, "stream", here);
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaStreamDestroy(cudaStream_t stream, cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::died(stream, "stream", "cudaStreamDestroy", here);
  cudashim::run_all(stream);
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaStreamSynchronize(cudaStream_t stream, cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::live_stream(stream, "cudaStreamSynchronize", here);
  if (cudashim::refuse_capture(stream)) return cudashim::state().last;
  cudashim::state().count.syncs++;
  cudashim::run_all(stream);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned,
                                                  cudashim::Here here = {}) {
  static auto *all = new std::vector<cudaEvent_t>;
  CUDASHIM_ENTER(ANYTIME);
  *event = new CUevent_st{ NULL, 0 };
  all->push_back(*event);
  cudashim::born(*event, "event", here);
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaEventDestroy(cudaEvent_t event, cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::died(event, "event", "cudaEventDestroy", here);
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  cudashim::must_live(event, "event", "cudaEventRecord", here);
  event->stream = cudashim::live_stream(stream, "cudaEventRecord", here);
  event->until = stream->submitted;
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaEventSynchronize(cudaEvent_t event, cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  cudashim::must_live(event, "event", "cudaEventSynchronize", here);
  if (event->stream) cudashim::run_until(event->stream, event->until);
  return cudaSuccess;
}

/* ---- Graphs */

enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };

CUDASHIM_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode,
                                                cudashim::Here here = {}) {
  CUDASHIM_ENTER(NOT_IN_CAPTURE);
  cudashim::live_stream(stream, "cudaStreamBeginCapture", here);
  cudashim::state().capture = stream;
  cudashim::state().capture_is_broken = 0;
  stream->graph = new CUgraph_st;
  cudashim::born(stream->graph, "graph", here);
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph,
                                              cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::live_stream(stream, "cudaStreamEndCapture", here);
  *graph = stream->graph;
  stream->graph = NULL;
  cudashim::state().capture = NULL;
  if (!cudashim::state().capture_is_broken) return cudaSuccess;
  cudashim::state().unread = NULL;           /* This call tells of it.                        */
  cudashim::died(*graph, "graph", "cudaStreamEndCapture", here);
  delete *graph;
  *graph = NULL;
  return cudashim::fail(cudaErrorStreamCaptureInvalidated);
}
CUDASHIM_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                              unsigned long long, cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::must_live(graph, "graph", "cudaGraphInstantiate", here);
  *exec = new CUgraph_st{ graph->ops };
  cudashim::born(*exec, "executable graph", here);
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::must_live(exec, "executable graph", "cudaGraphLaunch", here);
  cudashim::live_stream(stream, "cudaGraphLaunch", here);
  cudashim::state().count.graph_launches++;
  for (cudashim::Work &work : exec->ops)
    if (cudaError_t e = cudashim::submit(stream, work)) return e;
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaGraphDestroy(cudaGraph_t graph, cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::died(graph, "graph", "cudaGraphDestroy", here);
  delete graph;
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec, cudashim::Here here = {}) {
  CUDASHIM_ENTER(ANYTIME);
  cudashim::died(exec, "executable graph", "cudaGraphExecDestroy", here);
  delete exec;
  return cudaSuccess;
}

#endif /* CUDASHIM_CUDA_RUNTIME_H */
