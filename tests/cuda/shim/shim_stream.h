/* shim_stream.h - operations, the streams they wait in, events, and captured graphs.

   A stream is a queue. Nothing in it runs before something waits for it (CUDASHIM_LAZY=0: at
   once), so a program that forgets to wait sees old numbers. What an operation reads, it reads
   when it runs. A capturing stream puts operations into a graph instead of the queue. */

#ifndef CUDASHIM_STREAM_H
#define CUDASHIM_STREAM_H

#include <chrono>
#include <deque>
#include <functional>
#include <memory>

#include "shim_memory.h"

namespace cudashim {

enum Kind { KERNEL, GEMM, MEMSET, H2H, H2D, D2H, D2D };

struct Op {
  const char *what;
  Here here;
  Kind kind;
  size_t bytes;
  std::function<void()> run;
};
typedef std::shared_ptr<const Op> Work;

/* Until a stream has done so many of its entries. */
struct Until { cudaStream_t stream; unsigned long long number; };

struct Entry {
  Work work;                                 /* NULL in one that only waits */
  std::vector<Until> after;
  cudaEvent_t event;                         /* gets the time */
};

} /* namespace cudashim */

/* Streams and events are never deleted: others may point to them. */
struct CUstream_st {
  std::deque<cudashim::Entry> queue;
  unsigned long long submitted, done;
  bool blocking, broken;                     /* broken: its capture is invalid */
  cudaGraph_t graph;                         /* what it captures into, or NULL */
};
struct CUevent_st {
  bool timing, captured;
  cudashim::Until until;                     /* its stream is NULL if it was never recorded */
  double milliseconds;
};
struct CUgraph_st { std::vector<cudashim::Work> ops; };
struct CUgraphExec_st { std::vector<cudashim::Work> ops; };

namespace cudashim {

enum { QUEUE = 1024 };                       /* a launch waits when so many are queued */

/* All streams; the first is the legacy default stream, which programs call 0. */
inline std::vector<cudaStream_t> &streams() {
  static auto *all = new std::vector<cudaStream_t>{
      new CUstream_st{ {}, 0, 0, true, false, NULL } };
  return *all;
}

inline cudaStream_t stream_of(cudaStream_t stream, const char *call, Here here) {
  if (!stream) return streams()[0];
  must_live(stream, "stream", call, here);
  return stream;
}

/* ---- Running */

inline double milliseconds() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

inline void run_work(const Op &op) {
  State &s = state();
  s.op = op.what;
  s.op_here = op.here;
  op.run();
  s.op = NULL;
  check_all_margins(tidy(op.what).c_str(), op.here);
}

inline void run_until(Until until) {
  cudaStream_t s = until.stream;
  while (s->done < until.number) {
    Entry entry = std::move(s->queue.front());
    s->queue.pop_front();
    for (Until &other : entry.after) run_until(other);
    if (entry.work) run_work(*entry.work);
    if (entry.event) entry.event->milliseconds = milliseconds();
    s->done++;
  }
}

inline Until all_of(cudaStream_t stream) { return { stream, stream->submitted }; }
inline void run_all(cudaStream_t stream) { run_until(all_of(stream)); }
inline void run_everything() {
  for (cudaStream_t s : streams()) run_all(s);
}

/* ---- Submitting */

/* Counted when submitted, not when run: a test needs no synchronisation to read a count. */
inline void count(const Op &op) {
  Counters &c = state().count;
  c.ops++;
  switch (op.kind) {
    case KERNEL: c.kernels++; state().kernels[tidy(op.what)]++; break;
    case GEMM: c.gemms++; break;
    case MEMSET: c.memsets++; break;
    case H2D: c.copies_h2d++; c.bytes_h2d += (long long)op.bytes; break;
    case D2H: c.copies_d2h++; c.bytes_d2h += (long long)op.bytes; break;
    case D2D: c.copies_d2d++; break;
    case H2H: break;
  }
}

/* The legacy stream and blocking streams wait for each other. */
inline void wait_for_legacy(cudaStream_t stream, std::vector<Until> *after) {
  cudaStream_t legacy = streams()[0];
  if (stream != legacy && stream->blocking) after->push_back(all_of(legacy));
  if (stream == legacy)
    for (cudaStream_t s : streams())
      if (s != legacy && s->blocking) after->push_back(all_of(s));
}

inline void push(cudaStream_t stream, Entry entry) {
  wait_for_legacy(stream, &entry.after);
  stream->queue.push_back(std::move(entry));
  stream->submitted++;
  if (!state().lazy) run_all(stream);
  else if (stream->queue.size() > QUEUE) run_until({ stream, stream->done + 1 });
}

inline cudaError_t submit(cudaStream_t stream, Work work) {
  cudaStream_t capture = state().capture;
  if (capture && capture->blocking && stream == streams()[0]) {
    invalidate_capture();
    return fail(cudaErrorStreamCaptureImplicit);
  }
  if (stream->broken) return fail(cudaErrorStreamCaptureInvalidated);
  if (stream->graph) { stream->graph->ops.push_back(work); return cudaSuccess; }
  count(*work);
  push(stream, Entry{ work, {}, NULL });
  return cudaSuccess;
}

inline cudaError_t submit(cudaStream_t stream, Op op) {
  return submit(stream, std::make_shared<const Op>(std::move(op)));
}

inline void invalidate_capture() {
  if (state().capture) state().capture->broken = true;
}

/* Of calls that may not be made for a stream which captures. */
inline cudaError_t refuse_capture(cudaStream_t stream) {
  if (!stream->graph) return cudaSuccess;
  invalidate_capture();
  return fail(cudaErrorStreamCaptureUnsupported);
}

/* ---- Copies */

struct Copy { char *to, *from; bool to_device, from_device, to_pinned, from_pinned; };

inline Copy copy_of(void *to, const void *from, size_t n, cudaMemcpyKind kind, Here here) {
  if (kind == cudaMemcpyDefault) {
    bool in = is_device_address(to), out = is_device_address(from);
    kind = in ? out ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice
              : out ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
  }
  Copy c = {};
  c.to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  c.from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  c.to = c.to_device ? device_bytes(to, n, "the destination of the copy", here)
                     : host_bytes(to, n, "the destination of the copy", here, &c.to_pinned);
  c.from = c.from_device ? device_bytes(from, n, "the source of the copy", here)
                         : host_bytes(from, n, "the source of the copy", here, &c.from_pinned);
  if (c.to < c.from + n && c.from < c.to + n) fatal(here, "a copy overlaps itself");
  return c;
}

/* CUDA does not promise that pageable memory is read before the call returns: it is read when
   the copy runs. It is written before the call returns. */
inline cudaError_t copy(const char *call, void *to, const void *from, size_t n,
                        cudaMemcpyKind kind, cudaStream_t stream, bool waits, Here here) {
  if (!n) return cudaSuccess;
  Copy c = copy_of(to, from, n, kind, here);
  bool from_pageable = !c.from_device && !c.from_pinned;
  bool to_pageable = !c.to_device && !c.to_pinned;
  if ((from_pageable || to_pageable) && refuse_capture(stream)) return state().last;
  Kind counted = c.to_device ? c.from_device ? D2D : H2D : c.from_device ? D2H : H2H;
  cudaError_t e = submit(stream, Op{ call, here, counted, n, [=] {
    memcpy(c.to, c.from, n);
  } });
  bool wait = to_pageable || (waits && (!c.to_device || c.from_pinned));
  if (!e && wait && !stream->graph) run_all(stream);
  return e;
}

inline cudaError_t set(const char *call, void *to, int value, size_t n, cudaStream_t stream,
                       Here here) {
  if (!n) return cudaSuccess;
  char *bytes = device_bytes(to, n, "the destination of the memset", here);
  return submit(stream, Op{ call, here, MEMSET, n, [=] { memset(bytes, value, n); } });
}

} /* namespace cudashim */

#endif /* CUDASHIM_STREAM_H */
