/* A slider-crank written by hand: crank phi, rod psi (both from the line of the slider), slider s; the rod's end is the slider: r cos(phi) + l cos(psi) = s,
   r sin(phi) + l sin(psi) = 0.  No gravity. */
#include <math.h>
#define N 6
static const double r = 0.05, l = 0.15, m1 = 0.5, m2 = 0.4, m3 = 0.3;

static inline void rates(const double *x, double *f) {
    double sp = sin(x[0]), cp = cos(x[0]), sr = sin(x[1]), cr = cos(x[1]), w = x[3], o = x[4];
    double m11 = m1 * r * r / 3 + m2 * r * r, m12 = 0.5 * m2 * r * l * (cp * cr + sp * sr), m22 = m2 * l * l / 3;
    double curve = 0.5 * m2 * r * l * (sp * cr - cp * sr);
    double f1 = -curve * o * o, f2 = curve * w * w;
    /* psi by phi from the second equation, s from the first */
    double over = 1.0 / (l * cr), z1 = -r * cp * over, z2 = -r * sp - l * sr * z1;
    double a1 = (r * sp * w * w + l * sr * o * o) * over, a2 = -(r * cp * w * w + l * cr * o * o) - l * sr * a1;
    double mass = m11 + 2 * m12 * z1 + m22 * z1 * z1 + m3 * z2 * z2;
    double a = (f1 - m12 * a1 + z1 * (f2 - m22 * a1) - z2 * m3 * a2) / mass;
    f[0] = w, f[1] = o, f[2] = x[5], f[3] = a, f[4] = a1 + z1 * a, f[5] = a2 + z2 * a;
}

/* psi and s from phi in closed form, with their rates; the rod is longer than the crank. */
static inline void project(double *x) {
    double sp = sin(x[0]), cp = cos(x[0]), sr = -r * sp / l, cr = sqrt(1.0 - sr * sr);
    x[1] = asin(sr), x[2] = r * cp + l * cr;
    x[4] = -r * cp * x[3] / (l * cr), x[5] = -r * sp * x[3] - l * sr * x[4];
}

#include "dop853.h"
