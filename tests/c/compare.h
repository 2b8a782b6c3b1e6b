/* written_compare.h - for the programs of written.h: compares arrays with numbers. */
#include <stdio.h>
static int bad;
static inline void fill(const char *what, real *to, const double *v, int n) {
  (void)what;
  for (int i = 0; i < n; i++) to[i] = (real)v[i];
}
static inline void compare(const char *what, const real *found, const double *v, int n) {
  double near = sizeof(real) == sizeof(double) ? 1e-12 : 1e-5, most = 1;
  for (int i = 0; i < n; i++) if (fabs(v[i]) < 1e30) most = fmax(most, fabs(v[i]));
  for (int i = 0; i < n && !bad; i++)
    if (!(found[i] == v[i] || fabs(v[i]) > 1e30 || fabs(found[i] - v[i]) <= near * most ||
          (found[i] != found[i] && v[i] != v[i]))) {
      printf("%s: entry %d is %.17g, expected %.17g\n", what, i, (double)found[i], v[i]);
      bad = 1;
    }
}
