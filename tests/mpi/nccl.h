/* nccl.h - a stand-in for NVIDIA's: MPI adds up, in the host's memory

   tests/mpi.sh compiles examples/mpi_mnist.c with EDF_NCCL and this: so its calls are run where
   there is no GPU. The gradients are those of the CPU, or with FAKE_GPU those of edf_cuda.cu,
   which runs on tests/cuda/shim. What NCCL forbids ends the run. */
#include <assert.h>

typedef enum { ncclSuccess, ncclInvalidUsage } ncclResult_t;
typedef enum { ncclFloat = 7, ncclDouble = 8 } ncclDataType_t;
typedef enum { ncclScalarDevice, ncclScalarHostImmediate } ncclScalarResidence_t;
typedef enum { ncclSum, fake_weighted = 5 } ncclRedOp_t;
typedef struct fake_comm { int ranks, rank; } *ncclComm_t;
typedef struct { char internal[128]; } ncclUniqueId;

static struct { int grouped, weighted; double weight; struct fake_comm comm; } fake;

static void fake_sum(edf_real *x, size_t n) {
  for (size_t i = 0; i < n; i++) x[i] *= (edf_real)fake.weight;
  MPI_Allreduce(MPI_IN_PLACE, x, (int)n, sizeof *x == 8 ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

/* ---- CUDA: a machine with two GPUs */
typedef enum { cudaSuccess } cudaError_t;
typedef struct fake_stream *cudaStream_t;
edf_real *edf_cuda_grad(edf_node *p);
void *edf_cuda_stream(void);

static cudaError_t cudaGetDeviceCount(int *n) { *n = 2; return cudaSuccess; }

static cudaError_t cudaSetDevice(int gpu) {
  assert(gpu >= 0 && gpu < 2 && !edf.n_inputs && !edf.n_parameters);
  return cudaSuccess;
}

#ifdef FAKE_GPU

void fake_gpu_copy(void *to, const void *from, size_t bytes, int back);       /* in gpu.cu */

static void fake_all_reduce(edf_real *grad, size_t n) {
  edf_real *x = (edf_real *)malloc(n * sizeof *x);
  assert(x && edf_device);
  fake_gpu_copy(x, grad, n * sizeof *x, 0);
  fake_sum(x, n);
  fake_gpu_copy(grad, x, n * sizeof *x, 1);
  free(x);
}

#else

edf_real *edf_cuda_grad(edf_node *p) { return edf_grad(p); }
void *edf_cuda_stream(void) { return &fake; }
static void fake_all_reduce(edf_real *grad, size_t n) { fake_sum(grad, n); }

#endif

/* ---- NCCL */
static const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "invalid usage";
}

static ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  strcpy(id->internal, "of rank 0");
  return ncclSuccess;
}

static ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) {
  if (strcmp(id.internal, "of rank 0")) return ncclInvalidUsage;
  fake.comm.ranks = ranks;
  fake.comm.rank = rank;
  *comm = &fake.comm;
  return ncclSuccess;
}

static ncclResult_t ncclGroupStart(void) { fake.grouped++; return ncclSuccess; }
static ncclResult_t ncclGroupEnd(void) { fake.grouped--; return ncclSuccess; }

static ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *weight, ncclDataType_t type,
                                             ncclScalarResidence_t where, ncclComm_t comm) {
  if (where != ncclScalarHostImmediate || comm != &fake.comm || fake.weighted++)
    return ncclInvalidUsage;
  fake.weight = type == ncclDouble ? *(double *)weight : (double)*(float *)weight;
  *op = fake_weighted;
  return ncclSuccess;
}

static ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  if (op != fake_weighted || comm != &fake.comm || fake.grouped) return ncclInvalidUsage;
  fake.weighted--;
  return ncclSuccess;
}

static ncclResult_t ncclAllReduce(const void *from, void *to, size_t n, ncclDataType_t type,
                                  ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  int right = (type == ncclDouble) == (sizeof(edf_real) == 8) && op == fake_weighted;
  right &= stream == (cudaStream_t)edf_cuda_stream();
  if (!right || comm != &fake.comm || from != to || fake.grouped != 1) return ncclInvalidUsage;
  fake_all_reduce((edf_real *)to, n);
  return ncclSuccess;
}
