// SPDX-License-Identifier: MIT
// Goal: a whole training loop: forward pass, loss, zero the gradients, backward pass, update.
// A network of 41 parameters memorises four rows. The program prints the loss of 20 steps, and then the network's
// output for each row.
#include <cstdio>
#include <gradwalk/gradwalk.hpp>

using namespace gradwalk;

int main() {
  const std::vector<std::vector<double>> rows{{2, 3, -1}, {3, -1, 0.5}, {0.5, 1, 1}, {1, 1, -1}};
  const std::vector<double> wanted{1, -1, -1, 1};

  const MLP model(3, {4, 4, 1}, {.activation = Activation::tanh, .output = Activation::tanh, .seed = 1});
  std::vector<Value> parameters = model.parameters();
  std::printf("%zu parameters\n", parameters.size());

  for (int step = 1; step <= 20; ++step) {
    Value loss = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) loss += pow(model.scalar(rows[i]) - wanted[i], 2);

    for (Value& p : parameters) p.grad() = 0;
    loss.backward();
    for (Value& p : parameters) p.data() -= 0.05 * p.grad();

    std::printf("step %2d  loss %.4f\n", step, loss.data());
  }

  for (std::size_t i = 0; i < rows.size(); ++i)
    std::printf("wanted %2.0f, got %7.4f\n", wanted[i], model.scalar(rows[i]).data());
}
