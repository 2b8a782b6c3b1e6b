/* peak.h - the peak of one core: independent multiply-adds of vectors in registers. No matrix
   product is faster. The share of a step counts only the multiply-adds of its products. */

#ifndef PEAK_H
#define PEAK_H

#if defined __AVX512F__
enum { PEAK_BYTES = 64 };
#elif defined __AVX__
enum { PEAK_BYTES = 32 };
#else
enum { PEAK_BYTES = 16 };
#endif
enum { PEAK_CHAINS = 12, PEAK_ROUNDS = 20000, PEAK_LANES = PEAK_BYTES / (int)sizeof(real) };

/* Adds to 12 sums in turn, because a sum waits some cycles for its last addition. */
#if defined __GNUC__ && !defined __clang__ && defined __STRICT_ANSI__
__attribute__((optimize("fp-contract=fast")))
#endif
static void peak_step(void *self, const real *x, const real *y) {
  typedef real vector __attribute__((vector_size(PEAK_BYTES)));
  vector sum[PEAK_CHAINS], factor, more;
  (void)x; (void)y;
  for (int i = 0; i < PEAK_LANES; i++) {
    factor[i] = (real)0.999;
    more[i] = *(real *)self;
    for (int c = 0; c < PEAK_CHAINS; c++) sum[c][i] = (real)c;
  }
  for (int n = 0; n < PEAK_ROUNDS; n++) {
#if defined __GNUC__ && !defined __clang__
#pragma GCC unroll 12
#endif
    for (int c = 0; c < PEAK_CHAINS; c++) sum[c] = sum[c] * factor + more;
  }
  for (int c = 0; c < PEAK_CHAINS; c++) *(real *)self += sum[c][0] * (real)1e-9;
}

/* Returns GFLOP/s if a peak_step takes `us` microseconds. */
static double peak_gflops(double us) {
  return 2e-3 * PEAK_CHAINS * PEAK_LANES * PEAK_ROUNDS / us;
}

#endif
