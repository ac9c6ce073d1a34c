/* MuJoCo's functions of a tree, state after state, each with no more than it needs before it; model and data come from its Python package. */
#include <mujoco/mujoco.h>
#include <string.h>

enum { INVERSE, MASS, FORWARD, STEPS };

void loop(const mjModel *m, mjData *d, int what, long long n, const double *q, const double *v, const double *a, double *out) {
  int nq = m->nq, nv = m->nv;
  for (long long i = 0; i < n; ++i) {
    if (what == STEPS) {
      mj_step(m, d);
      continue;
    }
    memcpy(d->qpos, q + i * nq, nq * sizeof(double));
    mj_kinematics(m, d);
    mj_comPos(m, d);
    if (what != MASS) {
      memcpy(d->qvel, v + i * nv, nv * sizeof(double));
      mj_comVel(m, d);
    }
    if (what == INVERSE) {
      memcpy(d->qacc, a + i * nv, nv * sizeof(double));
      mj_rne(m, d, 1, out + i * nv);
    } else if (what == MASS) {
      mj_crb(m, d);
      mj_fullM(m, d, out + i * nv * nv);
    } else {
      double *x = out + i * nv;
      mj_crb(m, d);
      mj_factorM(m, d);
      mj_rne(m, d, 0, x);
      for (int j = 0; j < nv; ++j) x[j] = a[i * nv + j] - x[j];
      mj_solveM(m, d, x, x, 1);
    }
  }
}
