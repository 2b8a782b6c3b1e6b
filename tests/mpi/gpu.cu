/* gpu.cu - edf_cuda.cu, and the copies that tests/mpi/nccl.h needs of its GPU's memory */
#include "../../edf_cuda.cu"

extern "C" void fake_gpu_copy(void *to, const void *from, size_t bytes, int back) {
  CU(cudaMemcpyAsync(to, from, bytes, back ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost,
                     gpu.stream));
  CU(cudaStreamSynchronize(gpu.stream));
}
