/* shim_types.h - the constants and small types of the CUDA runtime, with its numbers. */

#ifndef CUDASHIM_TYPES_H
#define CUDASHIM_TYPES_H

#include <stddef.h>

#define CUDART_VERSION 13000

#define CUDASHIM_ERRORS(X) \
  X(Success, 0, "no error") \
  X(ErrorInvalidValue, 1, "invalid argument") \
  X(ErrorMemoryAllocation, 2, "out of memory") \
  X(ErrorInitializationError, 3, "initialization error") \
  X(ErrorInvalidConfiguration, 9, "invalid configuration argument") \
  X(ErrorInvalidDevicePointer, 17, "invalid device pointer") \
  X(ErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy") \
  X(ErrorInsufficientDriver, 35, \
    "CUDA driver version is insufficient for CUDA runtime version") \
  X(ErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable") \
  X(ErrorInvalidDeviceFunction, 98, "invalid device function") \
  X(ErrorNoDevice, 100, "no CUDA-capable device is detected") \
  X(ErrorInvalidDevice, 101, "invalid device ordinal") \
  X(ErrorNoKernelImageForDevice, 209, \
    "no kernel image is available for execution on the device") \
  X(ErrorUnsupportedPtxVersion, 222, \
    "the provided PTX was compiled with an unsupported toolchain.") \
  X(ErrorInvalidResourceHandle, 400, "invalid resource handle") \
  X(ErrorIllegalState, 401, \
    "the operation cannot be performed in the present state") \
  X(ErrorNotReady, 600, "device not ready") \
  X(ErrorIllegalAddress, 700, "an illegal memory access was encountered") \
  X(ErrorLaunchOutOfResources, 701, "too many resources requested for launch") \
  X(ErrorLaunchTimeout, 702, "the launch timed out and was terminated") \
  X(ErrorAssert, 710, "device-side assert triggered") \
  X(ErrorIllegalInstruction, 715, "an illegal instruction was encountered") \
  X(ErrorMisalignedAddress, 716, "misaligned address") \
  X(ErrorLaunchFailure, 719, "unspecified launch failure") \
  X(ErrorNotPermitted, 800, "operation not permitted") \
  X(ErrorNotSupported, 801, "operation not supported") \
  X(ErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
  X(ErrorStreamCaptureInvalidated, 901, \
    "operation failed due to a previous error during capture") \
  X(ErrorStreamCaptureMerge, 902, "operation would result in a merge of separate captures") \
  X(ErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began") \
  X(ErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work") \
  X(ErrorStreamCaptureIsolation, 905, \
    "dependency created on uncaptured work in another stream") \
  X(ErrorStreamCaptureImplicit, 906, \
    "operation would make the legacy stream depend on a capturing blocking stream") \
  X(ErrorCapturedEvent, 907, \
    "operation not permitted on an event last recorded in a capturing stream") \
  X(ErrorUnknown, 999, "unknown error")

typedef enum cudaError {
#define X(name, number, text) cuda##name = number,
  CUDASHIM_ERRORS(X)
#undef X
} cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;

enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                      cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive,
                               cudaStreamCaptureStatusInvalidated };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
                             cudaStreamCaptureModeRelaxed };

#define cudaStreamDefault 0u
#define cudaStreamNonBlocking 1u
#define cudaEventDefault 0u
#define cudaEventBlockingSync 1u
#define cudaEventDisableTiming 2u
#define cudaHostAllocDefault 0u
#define cudaHostAllocPortable 1u
#define cudaHostAllocMapped 2u
#define cudaHostAllocWriteCombined 4u

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock;
  int major, minor, multiProcessorCount, warpSize, maxThreadsPerBlock, integrated;
  int maxThreadsPerMultiProcessor, l2CacheSize;
};
struct cudaFuncAttributes {
  size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
};

#endif /* CUDASHIM_TYPES_H */
