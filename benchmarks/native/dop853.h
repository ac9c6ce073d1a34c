/* The Runge-Kutta method of order 8 with the estimates of orders 5 and 3 (Hairer, Norsett & Wanner I, section II.5), written out for N states that are
   known when it is compiled.  The sums of its stages come from table.h; each problem has rates() and project(), which is called after each step. */
#include <math.h>
#include <string.h>
#include "table.h"

static double scale(double a, double b, double rtol, double atol) { return atol + rtol * fmax(fabs(a), fabs(b)); }

/* The first step (section II.4). */
static double first_step(const double *x, const double *f, double end, double rtol, double atol) {
    double d0 = 0, d1 = 0, d2 = 0, y[N], g[N];
    for (int i = 0; i < N; i++) {
        double s = 1.0 / scale(x[i], x[i], rtol, atol);
        d0 += x[i] * s * x[i] * s;
        d1 += f[i] * s * f[i] * s;
    }
    double h = d0 <= 1e-10 || d1 <= 1e-10 ? 1e-6 : 0.01 * sqrt(d0 / d1);
    h = fmin(h, end);
    for (int i = 0; i < N; i++) y[i] = x[i] + h * f[i];
    rates(y, g);
    for (int i = 0; i < N; i++) {
        double e = (g[i] - f[i]) / scale(x[i], x[i], rtol, atol);
        d2 += e * e;
    }
    double rate = fmax(sqrt(d2) / h, sqrt(d1));
    double h1 = rate <= 1e-15 ? fmax(1e-6, 1e-3 * h) : pow(0.01 / rate, 0.125);
    return fmin(fmin(100 * h, h1), end);
}

/* From x at time 0 to the end, in place; counts are steps, rejected steps and evaluations.  0 when it got there. */
int solve(double *x, double end, double rtol, double atol, long long *counts) {
    double k[STAGES][N], y[N], z[N], t = 0, h;
    int rejected = 0;
    counts[0] = counts[1] = 0;
    counts[2] = 2;
    rates(x, k[0]);
    h = first_step(x, k[0], end, rtol, atol);
    while (t < end) {
        int last = t + 1.01 * h >= end;
        if (last) h = end - t;
        if (counts[0] + counts[1] > 1000000 || !(h > 1e-16 * end)) return 1;
#define STAGE(s) for (int i = 0; i < N; i++) y[i] = x[i] + h * SUM_##s(i); rates(y, k[s]);
        STAGE(1) STAGE(2) STAGE(3) STAGE(4) STAGE(5) STAGE(6) STAGE(7) STAGE(8) STAGE(9) STAGE(10) STAGE(11)
        counts[2] += STAGES - 1;
        double high = 0, low = 0;
        for (int i = 0; i < N; i++) {
            z[i] = x[i] + h * SUM_B(i);
            double s = 1.0 / scale(x[i], z[i], rtol, atol), e = SUM_HIGH(i) * s, e_low = SUM_LOW(i) * s;
            high += e * e;
            low += e_low * e_low;
        }
        double error = high > 0 ? h * high / sqrt((high + 0.01 * low) * N) : 0;
        double factor = fmin(6.0, fmax(0.333, 0.9 * pow(fmax(error, 1e-30), -0.125)));
        if (error <= 1.0) {
            t = last ? end : t + h;
            memcpy(x, z, sizeof z);
            project(x);
            if (t < end) {
                rates(x, k[0]);
                counts[2]++;
            }
            counts[0]++;
            h *= rejected ? fmin(factor, 1.0) : factor;
            rejected = 0;
        } else {
            h *= fmin(factor, 1.0);
            counts[1]++;
            rejected = 1;
        }
    }
    return 0;
}

/* The mean time of an evaluation is measured on these. */
double evaluations(const double *x, long long n) {
    double y[N], f[N], total = 0;
    memcpy(y, x, sizeof y);
    for (long long i = 0; i < n; i++) {
        rates(y, f);
        total += f[N - 1];
        y[0] += 1e-9;
    }
    return total;
}
