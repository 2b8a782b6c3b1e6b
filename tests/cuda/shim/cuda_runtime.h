/* cuda_runtime.h - a stand-in for the CUDA runtime, so that edf_cuda.cu runs without a GPU.

     g++ -x c++ -std=c++17 -Itests/cuda/shim -I. -c edf_cuda.cu       main is elsewhere

   Device memory is host memory behind addresses that the host may not follow, a stream is a
   queue that runs when something waits for it, a kernel is a loop over its threads. It is
   stricter than a GPU: a mistake that a GPU may forgive stops the program with `cudashim: ...`
   and exit status 98. What it cannot find: speed, registers, missing fences between blocks.

     CUDASHIM_LAZY=0          streams run at once
     CUDASHIM_ORDER=rev       blocks and threads backwards; a number: shuffled
     CUDASHIM_FAIL=7          the seventh call fails; cudaMalloc:2, cudaMemcpyAsync:1:700
     CUDASHIM_DEVICES=0       no GPU; -35: any error from then on
     CUDASHIM_MEM=1000000     bytes of device memory
     CUDASHIM_REUSE=1         freed addresses come again at once
     CUDASHIM_LEAKS=1         at exit, exit status 99 if something was not given back
     CUDASHIM_STATS=1         at exit, what was counted

   Restrictions on the .cu: kernels start by LAUNCH; __shared__ not in templates or inline functions, none of it dynamic; one host
   thread. */

#ifndef CUDASHIM_CUDA_RUNTIME_H
#define CUDASHIM_CUDA_RUNTIME_H

#define CUDASHIM 1

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

inline const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define X(name, number, text) case cuda##name: return "cuda" #name;
    CUDASHIM_ERRORS(X)
#undef X
  }
  return "unrecognized error code";
}

CUDASHIM_API cudaError_t cudaPeekAtLastError() {
  cudashim::State &s = cudashim::state();
  s.count.api++;
  s.unread = NULL;
  return s.sticky ? s.sticky : s.last;
}

CUDASHIM_API cudaError_t cudaGetLastError() {
  cudaError_t last = cudaPeekAtLastError();
  cudashim::state().last = cudaSuccess;
  return last;
}

/* ---- The device */

/* Without a device *n is not written, as in the real one. */
CUDASHIM_API cudaError_t cudaGetDeviceCount(int *n) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  *n = cudashim::state().devices;
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaSetDevice(int device) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  bool there = device >= 0 && device < cudashim::state().devices;
  return there ? cudaSuccess : cudashim::fail(cudaErrorInvalidDevice);
}

CUDASHIM_API cudaError_t cudaGetDevice(int *device) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  *device = 0;
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  if (device < 0 || device >= cudashim::state().devices)
    return cudashim::fail(cudaErrorInvalidDevice);
  *p = cudaDeviceProp();
  snprintf(p->name, sizeof p->name, "cudashim");
  p->totalGlobalMem = cudashim::state().memory;
  p->sharedMemPerBlock = 48 * 1024;
  p->major = 9;
  p->multiProcessorCount = 4;
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->l2CacheSize = 50 << 20;
  return cudaSuccess;
}

template <class F>
CUDASHIM_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, F *) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  *a = cudaFuncAttributes();
  a->maxThreadsPerBlock = 1024;
  a->ptxVersion = a->binaryVersion = 90;
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaRuntimeGetVersion(int *version) {
  cudashim::state().count.api++;
  *version = CUDART_VERSION;
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaDriverGetVersion(int *version) {
  return cudaRuntimeGetVersion(version);
}

CUDASHIM_API cudaError_t cudaDeviceSynchronize() {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  cudashim::state().count.syncs++;
  cudashim::run_everything();
  return cudaSuccess;
}

/* ---- Memory */

CUDASHIM_API cudaError_t cudaMemGetInfo(size_t *unused, size_t *total) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  *total = cudashim::state().memory;
  *unused = *total - cudashim::memory().used;
  return cudaSuccess;
}

template <class T>
CUDASHIM_API cudaError_t cudaMalloc(T **p, size_t size, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  return cudashim::allocate_for((void **)p, size, false, here);
}

template <class T>
CUDASHIM_API cudaError_t cudaMallocHost(T **p, size_t size, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  return cudashim::allocate_for((void **)p, size, true, here);
}

template <class T>
CUDASHIM_API cudaError_t cudaHostAlloc(T **p, size_t size, unsigned, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  return cudashim::allocate_for((void **)p, size, true, here);
}

/* Both wait for the device. */
CUDASHIM_API cudaError_t cudaFree(void *p, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  if (!p) return cudaSuccess;
  cudashim::state().count.frees++;
  cudashim::run_everything();
  cudashim::give_back(p, false, "cudaFree", here);
  return cudaSuccess;
}

/* Stream-ordered memory: given out at once, taken back when the stream comes to it. */
typedef struct CUmemPool_st *cudaMemPool_t;
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
CUDASHIM_API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  *pool = NULL;
  return cudaSuccess;
}
CUDASHIM_API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  return cudaSuccess;
}
template <class T>
CUDASHIM_API cudaError_t cudaMallocAsync(T **p, size_t size, cudaStream_t stream,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  cudashim::stream_of(stream, "cudaMallocAsync", here);
  return cudashim::allocate_for((void **)p, size, false, here);
}
CUDASHIM_API cudaError_t cudaFreeAsync(void *p, cudaStream_t stream, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  cudashim::run_all(cudashim::stream_of(stream, "cudaFreeAsync", here));
  cudashim::state().count.frees++;
  cudashim::give_back(p, false, "cudaFreeAsync", here);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaFreeHost(void *p, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  if (!p) return cudaSuccess;
  cudashim::state().count.frees++;
  cudashim::run_everything();
  cudashim::give_back(p, true, "cudaFreeHost", here);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n,
                                         cudaMemcpyKind kind, cudaStream_t stream = 0,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  return cudashim::copy("cudaMemcpyAsync", to, from, n, kind,
                        cudashim::stream_of(stream, "cudaMemcpyAsync", here), false, here);
}

/* In the legacy stream: it does not wait for streams made with cudaStreamNonBlocking. */
CUDASHIM_API cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind,
                                    cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  return cudashim::copy("cudaMemcpy", to, from, n, kind, cudashim::streams()[0], true, here);
}

CUDASHIM_API cudaError_t cudaMemsetAsync(void *to, int value, size_t n, cudaStream_t stream = 0,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  return cudashim::set("cudaMemsetAsync", to, value, n,
                       cudashim::stream_of(stream, "cudaMemsetAsync", here), here);
}

CUDASHIM_API cudaError_t cudaMemset(void *to, int value, size_t n, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::NOT_IN_CAPTURE);
  return cudashim::set("cudaMemset", to, value, n, cudashim::streams()[0], here);
}

/* ---- Streams */

CUDASHIM_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags,
                                                   cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  if (flags > cudaStreamNonBlocking) return cudashim::fail(cudaErrorInvalidValue);
  *stream = new CUstream_st{ {}, 0, 0, flags != cudaStreamNonBlocking, false, NULL };
  cudashim::streams().push_back(*stream);
  cudashim::born(*stream, "stream", here);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaStreamDestroy(cudaStream_t stream, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::died(stream, "stream", "cudaStreamDestroy", here);
  if (stream->graph) cudashim::fatal(here, "cudaStreamDestroy of a stream that captures");
  cudashim::run_all(stream);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaStreamSynchronize(cudaStream_t stream, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  stream = cudashim::stream_of(stream, "cudaStreamSynchronize", here);
  if (cudashim::refuse_capture(stream)) return cudashim::state().last;
  cudashim::state().count.syncs++;
  cudashim::run_all(stream);
  return cudaSuccess;
}

/* Answers first, then runs one operation: a loop of queries comes to an end. */
CUDASHIM_API cudaError_t cudaStreamQuery(cudaStream_t stream, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  stream = cudashim::stream_of(stream, "cudaStreamQuery", here);
  if (cudashim::refuse_capture(stream)) return cudashim::state().last;
  if (stream->done == stream->submitted) return cudaSuccess;
  cudashim::run_until({ stream, stream->done + 1 });
  return cudashim::fail(cudaErrorNotReady);
}

/* ---- Events */

CUDASHIM_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags,
                                                  cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  *event = new CUevent_st{ !(flags & cudaEventDisableTiming), false, { NULL, 0 }, 0 };
  static auto *all = new std::vector<cudaEvent_t>;       /* never deleted, nor lost */
  all->push_back(*event);
  cudashim::born(*event, "event", here);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaEventCreate(cudaEvent_t *event, cudashim::Here here = {}) {
  return cudaEventCreateWithFlags(event, cudaEventDefault, here);
}

CUDASHIM_API cudaError_t cudaEventDestroy(cudaEvent_t event, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::died(event, "event", "cudaEventDestroy", here);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::must_live(event, "event", "cudaEventRecord", here);
  stream = cudashim::stream_of(stream, "cudaEventRecord", here);
  event->captured = stream->graph != NULL;
  if (event->captured) return cudaSuccess;
  cudashim::push(stream, { NULL, {}, event });
  event->until = cudashim::all_of(stream);
  return cudaSuccess;
}

/* For cudaEventQuery and cudaEventSynchronize: not in a capture, nor of a captured event. */
namespace cudashim {
inline cudaError_t may_wait_for(cudaEvent_t event, const char *call, Here here) {
  must_live(event, "event", call, here);
  invalidate_capture();
  if (event->captured) return fail(cudaErrorCapturedEvent);
  if (state().capture) return fail(cudaErrorStreamCaptureUnsupported);
  return cudaSuccess;
}
} /* namespace cudashim */

CUDASHIM_API cudaError_t cudaEventQuery(cudaEvent_t event, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  if (cudaError_t e = cudashim::may_wait_for(event, "cudaEventQuery", here)) return e;
  cudashim::Until &u = event->until;
  if (!u.stream || u.stream->done >= u.number) return cudaSuccess;
  cudashim::run_until({ u.stream, u.stream->done + 1 });
  return cudashim::fail(cudaErrorNotReady);
}

CUDASHIM_API cudaError_t cudaEventSynchronize(cudaEvent_t event, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  if (cudaError_t e = cudashim::may_wait_for(event, "cudaEventSynchronize", here)) return e;
  cudashim::state().count.event_syncs++;
  if (event->until.stream) cudashim::run_until(event->until);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to,
                                              cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  for (cudaEvent_t e : { from, to }) {
    cudashim::must_live(e, "event", "cudaEventElapsedTime", here);
    if (!e->timing || !e->until.stream) return cudashim::fail(cudaErrorInvalidResourceHandle);
    if (e->until.stream->done < e->until.number) return cudashim::fail(cudaErrorNotReady);
  }
  *ms = (float)(to->milliseconds - from->milliseconds);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                             unsigned = 0, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::must_live(event, "event", "cudaStreamWaitEvent", here);
  stream = cudashim::stream_of(stream, "cudaStreamWaitEvent", here);
  if (stream->graph && event->captured) return cudaSuccess;
  if (event->captured) cudashim::fatal(here, "cudashim: no captures of more than one stream");
  if (stream->graph) {
    cudashim::invalidate_capture();
    return cudashim::fail(cudaErrorStreamCaptureIsolation);
  }
  if (event->until.stream) cudashim::push(stream, { NULL, { event->until }, NULL });
  return cudaSuccess;
}

/* ---- Graphs */

CUDASHIM_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode,
                                                cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  if (!stream) return cudashim::fail(cudaErrorStreamCaptureUnsupported);
  cudashim::must_live(stream, "stream", "cudaStreamBeginCapture", here);
  if (stream->graph) return cudashim::fail(cudaErrorIllegalState);
  if (cudashim::state().capture) cudashim::fatal(here, "cudashim: one capture at a time");
  cudashim::state().capture = stream;
  stream->graph = new CUgraph_st;
  cudashim::born(stream->graph, "graph", here);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph,
                                              cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  stream = cudashim::stream_of(stream, "cudaStreamEndCapture", here);
  *graph = NULL;
  if (!stream->graph) return cudashim::fail(cudaErrorIllegalState);
  cudaGraph_t captured = stream->graph;
  bool broken = stream->broken;
  stream->graph = NULL;
  stream->broken = false;
  cudashim::state().capture = NULL;
  if (!broken) { cudashim::state().count.captures++; *graph = captured; return cudaSuccess; }
  cudashim::state().unread = NULL;                       /* this call tells of it */
  cudashim::state().live.erase(captured);
  delete captured;
  return cudashim::fail(cudaErrorStreamCaptureInvalidated);
}

CUDASHIM_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                               cudaStreamCaptureStatus *status,
                                               cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  stream = cudashim::stream_of(stream, "cudaStreamIsCapturing", here);
  *status = !stream->graph ? cudaStreamCaptureStatusNone
          : stream->broken ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                              unsigned long long = 0,
                                              cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::must_live(graph, "graph", "cudaGraphInstantiate", here);
  cudashim::state().count.instantiations++;
  *exec = new CUgraphExec_st{ graph->ops };
  cudashim::born(*exec, "executable graph", here);
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream,
                                         cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::must_live(exec, "executable graph", "cudaGraphLaunch", here);
  stream = cudashim::stream_of(stream, "cudaGraphLaunch", here);
  cudashim::state().count.graph_launches++;
  for (cudashim::Work &work : exec->ops)
    if (cudaError_t e = cudashim::submit(stream, work)) return e;
  return cudaSuccess;
}

/* With nodes NULL, how many there are. */
CUDASHIM_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n,
                                           cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::must_live(graph, "graph", "cudaGraphGetNodes", here);
  if (!nodes) *n = graph->ops.size();
  for (size_t i = 0; nodes && i < *n; i++)
    nodes[i] = i < graph->ops.size() ? (cudaGraphNode_t)(void *)graph->ops[i].get() : NULL;
  if (*n > graph->ops.size()) *n = graph->ops.size();
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaGraphDestroy(cudaGraph_t graph, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::died(graph, "graph", "cudaGraphDestroy", here);
  delete graph;
  return cudaSuccess;
}

CUDASHIM_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec, cudashim::Here here = {}) {
  CUDASHIM_ENTER(cudashim::ANYTIME);
  cudashim::died(exec, "executable graph", "cudaGraphExecDestroy", here);
  delete exec;
  return cudaSuccess;
}

#endif /* CUDASHIM_CUDA_RUNTIME_H */
