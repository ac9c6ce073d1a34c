/* Andrews' squeezing mechanism written by hand from its published equations (Hairer & Wanner II, section VII.7): seven angles, three loops.  Each loop is
   two equations, solved by Cramer's rule: Theta and gamma by beta, then Phi and delta, then Omega and epsilon. */
#include <math.h>
#define N 14
static const double m1 = 0.04325, m2 = 0.00365, m3 = 0.02373, m4 = 0.00706, m5 = 0.07050, m6 = 0.00706, m7 = 0.05498;
static const double i1 = 2.194e-6, i2 = 4.410e-7, i3 = 5.255e-6, i4 = 5.667e-7, i5 = 1.169e-5, i6 = 5.667e-7, i7 = 1.912e-5;
static const double xa = -0.06934, ya = -0.00227, xb = -0.03635, yb = 0.03273, xc = 0.014, yc = 0.072, d = 0.028, da = 0.0115, e = 0.02;
static const double ea = 0.01421, rr = 0.007, ra = 0.00092, ss = 0.035, sa = 0.01874, sb = 0.01043, sc = 0.018, sd = 0.02, ta = 0.02308;
static const double tb = 0.00916, u = 0.04, ua = 0.01228, ub = 0.00449, zf = 0.02, zt = 0.04, fa = 0.01421, c0 = 4530.0, l0 = 0.07785;
static const double mom = 0.033;

enum { BETA, THETA, GAMMA, PHI, DELTA, OMEGA, EPSILON, BT, PD, OE, ANGLES };

typedef struct {
    double s[16], c[16];
    double bx, by, tx, ty; /* columns of beta and Theta, the same in all loops */
    double gx, gy, px, py, dx, dy, ox, oy, ex, ey;
    double over1, over2, over3;
} Loops;

/* Sines and cosines, columns of the Jacobian and the inverse determinants of the three pairs. */
static inline void look(const double *q, Loops *l) {
    double a[16] = {q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[0] + q[1], q[3] + q[4], q[5] + q[6]};
#ifdef SIDE_BY_SIDE
    for (int i = 0; i < 12; i++) l->s[i] = sin(a[i]);
    for (int i = 0; i < 12; i++) l->c[i] = cos(a[i]);
#else
    for (int i = 0; i < ANGLES; i++) {
        l->s[i] = sin(a[i]);
        l->c[i] = cos(a[i]);
    }
#endif
    const double *s = l->s, *c = l->c;
    l->tx = d * s[BT], l->ty = -d * c[BT];
    l->bx = l->tx - rr * s[BETA], l->by = l->ty + rr * c[BETA];
    l->gx = -ss * c[GAMMA], l->gy = -ss * s[GAMMA];
    l->px = -e * c[PD], l->py = -e * s[PD];
    l->dx = l->px + zt * s[DELTA], l->dy = l->py - zt * c[DELTA];
    l->ox = zf * s[OE], l->oy = -zf * c[OE];
    l->ex = l->ox - u * c[EPSILON], l->ey = l->oy - u * s[EPSILON];
    l->over1 = 1.0 / (l->tx * l->gy - l->gx * l->ty);
    l->over2 = 1.0 / (l->px * l->dy - l->dx * l->py);
    l->over3 = 1.0 / (l->ox * l->ey - l->ex * l->oy);
}

/* What six angles do where beta does b and the loops shall close at the rates g. */
static inline void dependent(const Loops *l, double b, const double *g, double *a) {
    double x = g[0] - l->bx * b, y = g[1] - l->by * b;
    double t = (x * l->gy - l->gx * y) * l->over1;
    a[BETA] = b, a[THETA] = t, a[GAMMA] = (l->tx * y - x * l->ty) * l->over1;
    double ex = l->bx * b + l->tx * t, ey = l->by * b + l->ty * t;
    x = g[2] - ex, y = g[3] - ey;
    a[PHI] = (x * l->dy - l->dx * y) * l->over2, a[DELTA] = (l->px * y - x * l->py) * l->over2;
    x = g[4] - ex, y = g[5] - ey;
    a[OMEGA] = (x * l->ey - l->ex * y) * l->over3, a[EPSILON] = (l->ox * y - x * l->oy) * l->over3;
}

static inline void rates(const double *x, double *f) {
    const double *v = x + 7;
    Loops l;
    look(x, &l);
    const double *s = l.s, *c = l.c;
    double rel = e - ea, off = zf - fa;
    double m11 = m1 * ra * ra + m2 * (rr * rr - 2 * da * rr * c[THETA] + da * da) + i1 + i2, m21 = m2 * (da * da - da * rr * c[THETA]) + i2;
    double m22 = m2 * da * da + i2, m33 = m3 * (sa * sa + sb * sb) + i3, m44 = m4 * rel * rel + i4, m54 = m4 * (rel * rel + zt * rel * s[PHI]) + i4;
    double m55 = m4 * (zt * zt + 2 * zt * rel * s[PHI] + rel * rel) + m5 * (ta * ta + tb * tb) + i4 + i5, m66 = m6 * off * off + i6;
    double m76 = m6 * (off * off - u * off * s[OMEGA]) + i6, m77 = m6 * (off * off - 2 * u * off * s[OMEGA] + u * u) + m7 * (ua * ua + ub * ub) + i6 + i7;
    double xd = sd * c[GAMMA] + sc * s[GAMMA] + xb, yd = sd * s[GAMMA] - sc * c[GAMMA] + yb;
    double lx = xd - xc, ly = yd - yc, lang = sqrt(lx * lx + ly * ly), force = -c0 * (lang - l0) / lang, fx = force * lx, fy = force * ly;
    double b = v[0], th = v[1], ga = v[2], ph = v[3], de = v[4], om = v[5], ep = v[6];
    double r[7] = {
        mom - m2 * da * rr * th * (th + 2 * b) * s[THETA], m2 * da * rr * b * b * s[THETA],
        fx * (sc * c[GAMMA] - sd * s[GAMMA]) + fy * (sd * c[GAMMA] + sc * s[GAMMA]), m4 * zt * rel * de * de * c[PHI],
        -m4 * zt * rel * ph * (ph + 2 * de) * c[PHI], -m6 * u * off * ep * ep * c[OMEGA], m6 * u * off * om * (om + 2 * ep) * c[OMEGA],
    };
    /* what the loops' accelerations have besides those of the angles, with the sign changed */
    double bt = (b + th) * (b + th), pd = (ph + de) * (ph + de), oe = (om + ep) * (om + ep);
    double kx = rr * c[BETA] * b * b - d * c[BT] * bt, ky = rr * s[BETA] * b * b - d * s[BT] * bt;
    double g[6] = {
        kx - ss * s[GAMMA] * ga * ga, ky + ss * c[GAMMA] * ga * ga, kx - e * s[PD] * pd - zt * c[DELTA] * de * de,
        ky + e * c[PD] * pd - zt * s[DELTA] * de * de, kx - zf * c[OE] * oe - u * s[EPSILON] * ep * ep, ky - zf * s[OE] * oe + u * c[EPSILON] * ep * ep,
    };
    double z[7], a[7], none[6] = {0};
    dependent(&l, 1.0, none, z);
    dependent(&l, 0.0, g, a);
    double mz[7] = {
        m11 + m21 * z[1], m21 + m22 * z[1], m33 * z[2], m44 * z[3] + m54 * z[4], m54 * z[3] + m55 * z[4], m66 * z[5] + m76 * z[6], m76 * z[5] + m77 * z[6],
    };
    double mass = 0, rest = 0;
    for (int i = 0; i < 7; i++) mass += z[i] * mz[i], rest += z[i] * r[i] - mz[i] * a[i];
    double beta = rest / mass;
    for (int i = 0; i < 7; i++) f[i] = v[i], f[7 + i] = a[i] + z[i] * beta;
}

/* Six angles by Newton's method, then their rates; beta and its rate stay. */
static inline void project(double *x) {
    Loops l;
    double a[7], none[6] = {0};
    for (int k = 0; k < 4; k++) {
        look(x, &l);
        const double *s = l.s, *c = l.c;
        double px = rr * c[BETA] - d * c[BT], py = rr * s[BETA] - d * s[BT];
        double h[6] = {
            px - ss * s[GAMMA] - xb, py + ss * c[GAMMA] - yb, px - e * s[PD] - zt * c[DELTA] - xa, py + e * c[PD] - zt * s[DELTA] - ya,
            px - zf * c[OE] - u * s[EPSILON] - xa, py - zf * s[OE] + u * c[EPSILON] - ya,
        };
        double worst = 0;
        for (int i = 0; i < 6; i++) worst = fmax(worst, fabs(h[i]));
        if (worst < 1e-13) break;
        dependent(&l, 0.0, h, a);
        for (int i = 1; i < 7; i++) x[i] -= a[i];
    }
    dependent(&l, x[7], none, x + 7);
}

#include "dop853.h"
