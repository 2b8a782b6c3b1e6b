/* mpi_mnist.c - example 03 by several processes: each takes its part of every batch

     mpicc -O3 -march=native -I. examples/mpi_mnist.c -o build/mpi_mnist -lm
     mpirun -n 4 build/mpi_mnist --batch 512         --hostfile FILE: on several machines

   All ranks have all images and the same parameters, and shuffle in the same way. Rank r takes
   n_r of the n rows of a batch. Its Backward computes the derivative of L_r, the mean loss of
   these rows. The loss of the whole batch is

     L = 1/n sum_b ell[b] = sum_r n_r/n L_r     so     p.grad = sum_r n_r/n p.grad_r

   This sum is the function at edf.after_backward, and then every rank makes the same step. The
   weights n_r/n are not all alike: 11 rows are 2, 3, 3 and 3. A rank that gets no row runs one
   of the batch's with the weight 0: it has to take part, since the others wait for it.

   So any number of ranks gives the parameters of one, to rounding; and all ranks' are equal to
   the last bit, which is checked. (Where the rows of a batch meet, in BatchNorm, a rank's meet
   its own alone.) Rank 0 prints, and saves build/mpi_mnist.safetensors after each epoch. A rank
   that stops or dies ends all of them; the file is then that of the last whole epoch.

   On GPUs, one rank each, the sum goes from GPU to GPU by NCCL:
     mpicc -DEDF_NCCL -I. -I$CUDA/include examples/mpi_mnist.c edf_cuda.o -L$CUDA/lib64 -lnccl
           -lcublas -lcudart -lstdc++ -lm

   With the digits that it draws it prints, for any number of ranks:

     4 ranks, 64 rows a batch
     epoch   1  training loss 0.5869  error 16.35 %  ...  test loss 0.2759  error 7.75 %
     epoch   2  training loss 0.2092  error 5.96 %  ...  test loss 0.1955  error 5.54 %
     ...
*/
#include <mpi.h>
#include <stdio.h>

/* This rank; its rows of the batch, and the batch's; sums of its losses and its mistakes. */
static struct { int rank, ranks, rows, batch; double sum[2]; } my;

static void stop(const char *message) {
  fflush(stdout);
  fprintf(stderr, "rank %d of %d: %s\n", my.rank, my.ranks, message);
  MPI_Abort(MPI_COMM_WORLD, 1);          /* without this the others would wait for ever */
}

#define EDF_PANIC(message) stop(message)
#define EDF_IMPLEMENTATION
#include "edf_data.h"
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
  if (!my.rank) option_output(MODEL ".tmp");       /* what edf_save writes, and then renames */
  options_end();
}

/* ---- p.grad = sum_r n_r/n p.grad_r, called at the end of Backward */

#ifndef EDF_NCCL

/* All parameters travel in one buffer, one after the other: a step costs one message. */
static void sum_gradients(void) {
  static edf_real *all = NULL;
  edf_real weight = (edf_real)my.rows / (edf_real)my.batch, *to, *from;
  size_t n = 0;
  for (int i = 0; i < edf.n_parameters; i++) n += edf.parameters[i]->size;
  if (!all && !(all = (edf_real *)malloc(n * sizeof *all))) stop("no memory for gradients");
  to = from = all;
  for (int i = 0; i < edf.n_parameters; i++) {
    const edf_real *grad = edf_grad(edf.parameters[i]);      /* NULL of a frozen one */
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

#else /* EDF_NCCL: run with a stand-in for NCCL, tests/mpi/nccl.h; with NVIDIA's compiled and
         linked, but not yet run on GPUs */
#include <nccl.h>

extern edf_real *edf_cuda_grad(edf_node *p);   /* edf_cuda.cu: p's gradient on the GPU, where */
extern void *edf_cuda_stream(void);            /* it is written; what everything runs on */
static ncclComm_t nccl;

static void must(ncclResult_t result) {
  if (result != ncclSuccess) stop(ncclGetErrorString(result));
}

/* One rank for each GPU: before the first node, which takes the GPU that is set. */
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

/* Where they lie, on the stream behind Backward; a group goes in as few messages as can be. */
static void sum_gradients(void) {
  edf_real weight = (edf_real)my.rows / (edf_real)my.batch;
  ncclDataType_t type = EDF_REAL_IS_DOUBLE ? ncclDouble : ncclFloat;
  cudaStream_t stream = (cudaStream_t)edf_cuda_stream();
  ncclRedOp_t weighted;
  must(ncclRedOpCreatePreMulSum(&weighted, &weight, type, ncclScalarHostImmediate, nccl));
  must(ncclGroupStart());
  for (int i = 0; i < edf.n_parameters; i++) {
    Parameter *p = edf.parameters[i];
    edf_real *grad = p->grad ? edf_cuda_grad(p) : NULL;      /* NULL of a frozen one */
    if (grad) must(ncclAllReduce(grad, grad, p->size, type, weighted, nccl, stream));
  }
  must(ncclGroupEnd());
  must(ncclRedOpDestroy(weighted, nccl));
}

#endif

/* ---- All ranks must have the same: a number that hangs on every bit of it tells */

static uint64_t digest(uint64_t h, const void *data, size_t bytes) {
  const unsigned char *byte = (const unsigned char *)data;
  for (size_t i = 0; i < bytes; i++) h = (h ^ byte[i]) * UINT64_C(0x100000001b3);   /* FNV-1a */
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

static void check_same(uint64_t mine, const char *complaint) {
  uint64_t first = mine;
  MPI_Bcast(&first, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (mine != first) stop(complaint);
  MPI_Barrier(MPI_COMM_WORLD);           /* nobody goes on before all have compared */
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

/* Of n rows, the first of rank r; rank r + 1 begins where r's end. */
static int first_of(int r, int n) { return (int)((long long)n * r / my.ranks); }

/* This rank's part of the batch of the rows i .. i+n-1. */
static void forward(network net, digits_set set, int i, int n) {
  int first = i + first_of(my.rank, n);
  my.rows = i + first_of(my.rank + 1, n) - first;
  my.batch = n;
  int fed = my.rows ? my.rows : 1;       /* without a row, one that counts nothing */
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
    forward(net, set, i, n - i < batch ? n - i : batch);     /* the last may be short */
    Backward(net.ell);
    SGD((edf_real)chosen.eta);
  }
}

/* Mean loss and error rate of `rows` rows, which all ranks together have run. */
static void report(const char *what, int rows) {
  double all[2];
  MPI_Allreduce(my.sum, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  my.sum[0] = my.sum[1] = 0;
  printf("%s loss %.4f  error %.2f %%", what, all[0] / rows, 100 * all[1] / rows);
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
  if (my.rank && !freopen("/dev/null", "w", stdout)) stop("no /dev/null");   /* 0 prints */
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
