// SPDX-License-Identifier: MIT
// The smallest user of gradwalk::train: exits with 0 if a tensor is equal after a round trip through bytes.

#include <gradwalk/safetensors.hpp>

int main() {
  const gradwalk::SafetensorsFile file{{{"w", {2}, {1.5, 2.5}}}, {}};
  const gradwalk::SafetensorsFile again = gradwalk::SafetensorsFile::parse(file.to_bytes());
  return again.find("w") != nullptr && again.find("w")->data[1] == 2.5 ? 0 : 1;
}
