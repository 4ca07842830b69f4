// SPDX-License-Identifier: MIT
// Model files for the Python tests: reads a file, writes it again, and prints its contents.
// usage: gradwalk_safetensors FROM TO     exits with 1 and the message of the Error on stderr if FROM is refused
#include <cstdio>
#include <iostream>

#include "gradwalk/error.hpp"
#include "gradwalk/safetensors.hpp"

int main(int count, char** arguments) {
  if (count != 3) return 2;
  try {
    const gradwalk::SafetensorsFile file = gradwalk::SafetensorsFile::read(arguments[1]);
    file.write(arguments[2]);
    for (const gradwalk::Tensor& tensor : file.tensors) {
      std::printf("%s", tensor.name.c_str());
      for (const std::size_t size : tensor.shape) std::printf(" %zu", size);
      for (const double number : tensor.data) std::printf(" %a", number);
      std::printf("\n");
    }
  } catch (const gradwalk::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
