/* mpi_mnist.c - example 03 in several processes: each process runs a part of every batch

     mpicc -O3 -march=native -I. examples/mpi_mnist.c -o build/mpi_mnist -lm
     mpirun -n 4 build/mpi_mnist --batch 512         --hostfile FILE: on several machines

   A process is called a rank. All ranks have all images and the same Parameters, and shuffle in
   the same way. Rank r runs n_r of the n rows of a batch. Its Backward computes the derivative
   of L_r, the mean loss of these rows. The loss of the whole batch is

     L = 1/n sum_b ell[b] = sum_r n_r/n L_r     so     p.grad = sum_r n_r/n p.grad_r

   edf.after_backward computes this sum. Then every rank makes the same step. The weights n_r/n
   differ if the parts differ: 4 ranks divide 11 rows into 2, 3, 3 and 3. A rank without a row
   runs one row of the batch with weight 0, because the other ranks wait for its gradient.

   So the number of ranks changes the Parameters only by rounding. (BatchNorm is different: it
   uses only the rows of its rank.) The program checks that all ranks have the same bits.
   Rank 0 prints, and saves build/mpi_mnist.safetensors after each epoch. If a rank stops or
   dies, all ranks end. The file then has the Parameters of the last complete epoch.

   On GPUs, with one rank for each GPU, NCCL computes the sum:
     mpicc -DEDF_NCCL -I. -I$CUDA/include examples/mpi_mnist.c edf_cuda.o -L$CUDA/lib64 -lnccl
           -lcublas -lcudart -lstdc++ -lm

   With drawn digits the program prints, for any number of ranks:

     4 ranks, 64 rows a batch
     epoch   1  training loss 0.5869  error 16.35 %  ...  test loss 0.2759  error 7.75 %
     epoch   2  training loss 0.2092  error 5.96 %  ...  test loss 0.1955  error 5.54 %
     ...
*/
#include <mpi.h>
#include <stdio.h>

static struct {
  int rank;
  int ranks;
  int rows;                              /* rows of the batch that this rank runs */
  int batch;                             /* rows of the batch */
  double sum[2];                         /* sum of this rank's losses, number of mistakes */
} my;

static void stop(const char *message) {
  fflush(stdout);
  fprintf(stderr, "rank %d of %d: %s\n", my.rank, my.ranks, message);
  MPI_Abort(MPI_COMM_WORLD, 1);          /* ends the other ranks, which would wait forever */
}

#define EDF_PANIC(message) stop(message)
#define EDF_IMPLEMENTATION
#include "edf/data.h"
#include "digits.h"
#include "options.h"

#define MODEL "build/mpi_mnist.safetensors"
enum { CLASSES = 10 };

static struct { double epochs, batch, hidden, seed, eta, shuffle; } chosen;

static void read_options(int argc, char **argv) {
  options_begin("mpi_mnist", argc, argv);
  chosen.epochs  = option("--epochs", 10, 1, 1000);
  chosen.batch   = option("--batch", 64, 1, 1e5);
  chosen.hidden  = option("--hidden", 64, 1, 1e5);
  chosen.seed    = option("--seed", 1, 0, 1e9);
  chosen.eta     = option_real("--eta", 0.5, 0, 1e3);
  chosen.shuffle = !option_flag("--no-shuffle");
  if (!my.rank) option_output(MODEL ".tmp");     /* edf_save writes this file and renames it. */
  options_end();
}

/* ---- p.grad = sum_r n_r/n p.grad_r at the end of Backward */

#ifndef EDF_NCCL

/* Copies all gradients into one buffer and back, so that a step needs one message. */
static void sum_gradients(void) {
  static edf_real *all = NULL;
  edf_real weight = (edf_real)my.rows / (edf_real)my.batch, *to, *from;
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters; i++) n += edf.parameters[i]->size;
  if (!all && !(all = (edf_real *)malloc(n * sizeof *all))) stop("no memory for gradients");
  to = from = all;
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_real *grad = edf_grad(edf.parameters[i]);      /* NULL if frozen */
    for (size_t k = 0; grad && k < edf.parameters[i]->size; k++) *to++ = weight * grad[k];
  }
  MPI_Allreduce(MPI_IN_PLACE, all, (int)(to - all), EDF_REAL_IS_DOUBLE ? MPI_DOUBLE : MPI_FLOAT,
                MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < edf.n_parameters; i++) {
    Parameter *p = edf.parameters[i];
    for (size_t k = 0; p->grad && k < p->size; k++) p->grad[k] = *from++;
    edf_push_grad(p);
  }
}

#else /* EDF_NCCL: compiled and linked with NVIDIA's NCCL, but not yet run on GPUs */
#include <nccl.h>

/* From edf_cuda.cu: the gradient of p on the GPU, and the stream of all kernels. */
extern edf_real *edf_cuda_grad(edf_node *p);
extern void *edf_cuda_stream(void);
static ncclComm_t nccl;

static void must(ncclResult_t result) {
  if (result != ncclSuccess) stop(ncclGetErrorString(result));
}

/* Chooses the GPU of this rank, before the first node opens it. */
static void open_nccl(void) {
  int local, gpus = 0;
  ncclUniqueId id;
  MPI_Comm machine;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &local);
  MPI_Comm_free(&machine);
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || !gpus) stop("no GPU");
  if (cudaSetDevice(local % gpus) != cudaSuccess) stop("the GPU cannot be used");
  if (!my.rank) must(ncclGetUniqueId(&id));
  MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  must(ncclCommInitRank(&nccl, my.ranks, id, my.rank));
}

/* Adds the gradients on the GPUs, on the stream of Backward. A group saves messages. */
static void sum_gradients(void) {
  edf_real weight = (edf_real)my.rows / (edf_real)my.batch;
  ncclDataType_t type = EDF_REAL_IS_DOUBLE ? ncclDouble : ncclFloat;
  cudaStream_t stream = (cudaStream_t)edf_cuda_stream();
  ncclRedOp_t weighted;
  must(ncclRedOpCreatePreMulSum(&weighted, &weight, type, ncclScalarHostImmediate, nccl));
  must(ncclGroupStart());
  for (int i = 0; i < edf.n_parameters; i++) {
    Parameter *p = edf.parameters[i];
    edf_real *grad = p->grad ? edf_cuda_grad(p) : NULL;      /* NULL if frozen */
    if (grad) must(ncclAllReduce(grad, grad, p->size, type, weighted, nccl, stream));
  }
  must(ncclGroupEnd());
  must(ncclRedOpDestroy(weighted, nccl));
}

#endif

/* ---- All ranks must have the same numbers. They compare digests, which read every bit. */

/* Adds data to the digest h, by FNV-1a. Returns the new digest. */
static uint64_t digest(uint64_t h, const void *data, size_t bytes) {
  const unsigned char *byte = (const unsigned char *)data;
  for (size_t i = 0; i < bytes; i++) h = (h ^ byte[i]) * UINT64_C(0x100000001b3);
  return h;
}

static uint64_t digest_parameters(void) {
  uint64_t h = 1;
  for (int i = 0; i < edf.n_parameters; i++) {
    Parameter *p = edf.parameters[i];
    h = digest(h, edf_value(p), p->size * sizeof(edf_real));
  }
  return h;
}

/* Stops unless this rank has the digest of rank 0. */
static void check_same(uint64_t mine, const char *complaint) {
  uint64_t first = mine;
  MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (mine != first) stop(complaint);
  MPI_Barrier(MPI_COMM_WORLD);           /* No rank continues before all have compared. */
}

/* ---- The model of example 03, and its training */

typedef struct { Input *x, *y; CompNode *Q, *ell; } network;

static network build(void) {
  network net;
  net.x = edf_input("x[b,%d]", DIGITS_PIXELS);
  net.y = edf_input("y[b]");
  AffineParams Phi1 = edf_affine_params(DIGITS_PIXELS, (int)chosen.hidden);
  AffineParams Phi2 = edf_affine_params((int)chosen.hidden, CLASSES);
  CompNode *h = Sigmoid(Affine(Phi1, net.x));
  net.Q   = Softmax(Affine(Phi2, h));
  net.ell = LogLoss(net.Q, net.y);
  return net;
}

/* Divides n rows among the ranks. Returns the first row of rank r. */
static int first_of(int r, int n) { return (int)((long long)n * r / my.ranks); }

/* Runs Forward on this rank's part of the rows i .. i+n-1, and adds to my.sum. */
static void forward(network net, digits_set set, int i, int n) {
  int first = i + first_of(my.rank, n);
  my.rows = i + first_of(my.rank + 1, n) - first;
  my.batch = n;
  int fed = my.rows ? my.rows : 1;       /* A rank without rows feeds one, with weight 0. */
  edf_feed(net.x, set.x.value + (size_t)first * DIGITS_PIXELS, fed);
  edf_feed(net.y, set.y.value + first, fed);
  Forward();
  const edf_real *ell = edf_value(net.ell);
  for (int b = 0; b < my.rows; b++) my.sum[0] += (double)ell[b];
  my.sum[1] += my.rows * edf_error_rate(net.Q, net.y);
}

static void train_epoch(network net, digits_set set) {
  int n = set.x.dim[0], batch = (int)chosen.batch;
  if (chosen.shuffle > 0) edf_shuffle(&set.x, &set.y);
  for (int i = 0; i < n; i += batch) {
    forward(net, set, i, n - i < batch ? n - i : batch);     /* The last may be short. */
    Backward(net.ell);
    SGD((edf_real)chosen.eta);
  }
}

/* Prints the mean loss and the error rate of `rows` rows, which all ranks have run together. */
static void report(const char *set, int rows) {
  double all[2];
  MPI_Allreduce(my.sum, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  my.sum[0] = my.sum[1] = 0;
  printf("%s loss %.4f  error %.2f %%", set, all[0] / rows, 100 * all[1] / rows);
}

static void train(network net, digits_set images, digits_set test) {
  for (int epoch = 1; epoch <= chosen.epochs; epoch++) {
    double start = MPI_Wtime();
    train_epoch(net, images);
    double speed = images.x.dim[0] / (MPI_Wtime() - start);
    check_same(digest_parameters(), "its parameters are no longer those of rank 0");
    printf("epoch %3d  ", epoch);
    report("training", images.x.dim[0]);
    printf("  %.0f images/s  ", speed);
    forward(net, test, 0, test.x.dim[0]);
    report("test", test.x.dim[0]);
    printf("\n");
    fflush(stdout);
    if (!my.rank) edf_save(MODEL);
  }
}

int main(int argc, char **argv) {
  digits_set images, test;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &my.ranks);
  if (my.rank && !freopen("/dev/null", "w", stdout)) stop("no /dev/null");
  read_options(argc, argv);
  digits_find(&images, &test);
#ifdef EDF_NCCL
  open_nccl();
#endif
  edf_seed((unsigned)chosen.seed);
  network net = build();
  edf.after_backward = sum_gradients;
  uint64_t start = digest(digest_parameters(), &chosen, sizeof chosen);
  start = digest(start, images.x.value, images.x.size * sizeof(edf_real));
  start = digest(start, images.y.value, images.y.size * sizeof(edf_real));
  check_same(start, "it starts with other options, parameters or images than rank 0");
  printf("%d ranks, %g rows a batch\n", my.ranks, chosen.batch);
  train(net, images, test);
  digits_free(&images);
  digits_free(&test);
  edf_clear();
  MPI_Finalize();
  return 0;
}
