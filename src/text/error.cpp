// SPDX-License-Identifier: MIT
// Puts the message of an Error together.
#include "gradwalk/error.hpp"

namespace gradwalk {
namespace {

std::string sentence(std::string_view call, std::string_view needs, std::string_view got, std::string_view advice) {
  std::string text;
  for (const std::string_view part :
       {call, std::string_view(": needs "), needs, std::string_view(", got "), got, std::string_view("; "), advice})
    text += part;
  return text;
}

}  // namespace

Error::Error(std::string_view call, std::string_view needs, std::string_view got, std::string_view advice)
    : std::runtime_error(sentence(call, needs, got, advice)) {}
Error::~Error() = default;

}  // namespace gradwalk
