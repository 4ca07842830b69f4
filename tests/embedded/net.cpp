// SPDX-License-Identifier: MIT
// Writes the C files of the embedded test: a 2-16-16-1 network with its training step, in float, its parameters and the
// rows. usage: embedded_net FOLDER
#include <fstream>
#include <string>

#include "gradwalk/emit.hpp"
#include "gradwalk/gradwalk.hpp"

int main(int argc, char** argv) {
  using namespace gradwalk;
  if (argc != 2) return 2;
  const MLP network(2, {16, 16, 1}, {.activation = Activation::tanh, .seed = 1});
  std::vector<Value> row(3);
  const Value loss = pow(network(std::vector{row[0], row[1]})[0] - row[2], 2);
  const EmitOptions options{.name = "net",
                            .inputs = row,
                            .parameters = network.parameters(),
                            .precision = Precision::float32,
                            .step = true,
                            .parameter_values = true};
  const std::string folder = argv[1];
  std::ofstream(folder + "/net.c") << emit_c(loss, options);
  std::ofstream(folder + "/net.h") << emit_c_header(std::span(&loss, 1), options);
}
