/* 17_oscillator.c - a network learns the solution of a differential equation

     make run EXAMPLE=17_oscillator

   A weight on a spring with friction moves by u'' + 0.2 u' + u = 0. It is let go at u(0) = 1, at
   rest: u'(0) = 0. No point of the solution is given. The network may only look at the equation:
   grad(u, t) is u' as a tensor, and the gradient of that is u''. The loss is the square of the
   left side of the equation. (1 - e^-t)^2 and its first derivative are 0 at t = 0. So both
   initial values hold for any network n. (Lagaris et al. 1998; Raissi et al. 2019.)

   At the end the program compares the network with the solution of the textbook,
   e^(-t/10) (cos wt + sin(wt) / 10w) with w = sqrt(0.99), which it has never seen:

     step   500  loss 0.000033
     ...
     step  2000  loss 0.000019
     t    network    solution
     0      1.000       1.000
     2     -0.258      -0.258
     4     -0.499      -0.498
     6      0.505       0.505
     8     -0.003      -0.003
     greatest error 0.0003
*/
#define EDF_REAL double
#define EDF_IMPLEMENTATION
#include "edf/derive.h"
#include "edf/data.h"

enum { POINTS = 64, STEPS = 2000, TESTS = 161 };
static const double END = 8;             /* of the time                                       */

static double solution(double t) {
  double w = sqrt(0.99);
  return exp(-t / 10) * (cos(w * t) + sin(w * t) / (10 * w));
}

int main(void) {
  static edf_real times[TESTS];
  Input *t = edf_input("t[b,1]");
  edf_seed(1);
  CompNode *loss = Equations(
    "h[b,j] = sin(W[j,I] t[b,I] - B[j])                | j<16 \n"
    "n[b,k] = sin(M[k,J] h[b,J] - C[k])                | k<16 \n"
    "u[b] = 1 + (1 - exp(-t[b,0]))^2 (Y[K] n[b,K])            \n"
    "v[b] = grad(u, t[b,0])                                   \n"
    "a[b] = grad(v, t[b,0])                                   \n"
    "loss[b] = (a[b] + 0.2 v[b] + u[b])^2                     ");
  CompNode *u = edf_find("u");

  for (int step = 1; step <= STEPS; step++) {
    for (int i = 0; i < POINTS; i++) times[i] = (i + edf_uniform(0, 1)) * END / POINTS;
    edf_feed(t, times, POINTS);
    Forward();
    Backward(loss);
    edf_adam(step < STEPS / 2 ? 0.003 : 0.0006, 0.9, 0.999, 1e-8);
    if (step % 500 == 0) printf("step %5d  loss %.6f\n", step, edf_mean_value(loss));
  }

  double worst = 0;
  for (int i = 0; i < TESTS; i++) times[i] = i * END / (TESTS - 1);
  edf_feed(t, times, TESTS);
  edf_forward_to(u);
  printf("t    network    solution\n");
  for (int i = 0; i < TESTS; i++) {
    double found = edf_value(u)[i], right = solution(times[i]);
    if (fabs(found - right) > worst) worst = fabs(found - right);
    if (i % 40 == 0) printf("%.0f   %8.3f    %8.3f\n", times[i], found, right);
  }
  printf("greatest error %.4f\n", worst);
  return 0;
}
