// A model of Pinocchio from the text that its Python module writes; apart, because this takes long to compile.
#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>
#include <string>

pinocchio::Model read(const std::string &path) {
  pinocchio::Model model;
  pinocchio::serialization::loadFromText(model, path);
  return model;
}
