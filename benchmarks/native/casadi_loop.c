/* Calls a function that CasADi has written, state after state; it is compiled together with that function. */
#include <string.h>

int NAME(const double **arg, double **res, long long *iw, double *w, int mem);

void loop(long long n, const double *q, long long nq, const double *v, const double *a, long long nv, double *out, long long size, long long parts) {
  long long iw[64];
  double w[64]; /* a function of scalars needs none */
  for (long long i = 0; i < n; ++i) {
    const double *arg[3] = {q + i * nq, v + i * nv, a + i * nv};
    double *res[2] = {out + i * size, out + i * size + size / parts};
    NAME(arg, res, iw, w, 0);
  }
}
