// Pinocchio at its best: header-only C++ with the flags of this machine, and the C that CasADi writes from the same algorithms.
//   fast time model.txt states rounds   prints µs a state
//   writes write model.txt folder       (compiled with PEER_CASADI) writes one C file for each function
#ifdef PEER_CASADI
#include <pinocchio/autodiff/casadi.hpp>
#endif
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

using Vector = Eigen::VectorXd;

pinocchio::Model read(const std::string &path);

#ifdef PEER_CASADI
static void write(const pinocchio::Model &given, const std::string &folder) {
  using SX = casadi::SX;
  using Symbols = Eigen::Matrix<SX, Eigen::Dynamic, 1>;
  auto model = given.cast<SX>();
  auto symbols = [](const char *name, int n, SX &all) {
    all = SX::sym(name, n);
    Symbols found(n);
    for (int i = 0; i < n; ++i) found[i] = all(i);
    return found;
  };
  auto table = [](const auto &m) {
    SX found(m.rows(), m.cols());
    for (int i = 0; i < m.rows(); ++i)
      for (int j = 0; j < m.cols(); ++j) found(i, j) = m(i, j);
    return SX::densify(found);
  };
  SX q_, v_, a_;
  auto q = symbols("q", model.nq, q_), v = symbols("v", model.nv, v_), a = symbols("a", model.nv, a_);
  auto put = [&](const std::string &name, const std::vector<SX> &out) {
    casadi::Function f(name, std::vector<SX>{q_, v_, a_}, out, {{"cse", true}});
    casadi::CodeGenerator code(name + ".c", {{"with_header", false}});
    code.add(f);
    code.generate(folder + "/");
  };
  { pinocchio::DataTpl<SX> d(model); put("inverse_dynamics", {table(pinocchio::rnea(model, d, q, v, a))}); }
  { pinocchio::DataTpl<SX> d(model); pinocchio::crba(model, d, q, pinocchio::Convention::LOCAL);
    d.M.triangularView<Eigen::StrictlyLower>() = d.M.transpose().triangularView<Eigen::StrictlyLower>(); put("mass_matrix", {table(d.M)}); }
  { pinocchio::DataTpl<SX> d(model); put("forward_dynamics", {table(pinocchio::aba(model, d, q, v, a, pinocchio::Convention::LOCAL))}); }
  { pinocchio::DataTpl<SX> d(model); pinocchio::computeRNEADerivatives(model, d, q, v, a);
    put("inverse_dynamics_derivatives", {table(d.dtau_dq), table(d.dtau_dv)}); }
}

#else
static double now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

template <class F> static void measure(const char *name, int states, int rounds, F f) {
  double least = 1e9;
  for (int r = 0; r < rounds; ++r) {
    double begun = now();
    for (int i = 0; i < states; ++i) f(i);
    least = std::min(least, now() - begun);
  }
  std::printf("%s %.6g\n", name, least / states * 1e6);
}

static void time_all(const pinocchio::Model &model, int states, int rounds) {
  pinocchio::Data data(model);
  std::vector<Vector> q, v, a;
  Vector low = model.lowerPositionLimit.cwiseMax(-1.0), high = model.upperPositionLimit.cwiseMin(1.0);
  for (int i = 0; i < states; ++i) {
    q.push_back(pinocchio::randomConfiguration(model, low, high));
    v.push_back(Vector::Random(model.nv));
    a.push_back(Vector::Random(model.nv));
  }
  measure("inverse_dynamics", states, rounds, [&](int i) { pinocchio::rnea(model, data, q[i], v[i], a[i]); });
  measure("mass_matrix", states, rounds, [&](int i) { pinocchio::crba(model, data, q[i], pinocchio::Convention::LOCAL); });
  measure("forward_dynamics", states, rounds, [&](int i) { pinocchio::aba(model, data, q[i], v[i], a[i], pinocchio::Convention::LOCAL); });
  measure("inverse_dynamics_derivatives", states, rounds, [&](int i) { pinocchio::computeRNEADerivatives(model, data, q[i], v[i], a[i]); });
}
#endif

int main(int count, char **given) {
  if (count < 4) return 2;
  auto model = read(given[2]);
#ifdef PEER_CASADI
  write(model, given[3]);
#else
  time_all(model, std::stoi(given[3]), std::stoi(given[4]));
#endif
}
