// SPDX-License-Identifier: MIT
// Error, the exception type of the whole library. Its message always has the form
// `<call>: needs <rule>, got <value>; <what to do>`.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "gradwalk/export.hpp"

namespace gradwalk {

// Every function of gradwalk that refuses its arguments throws an Error.
class GRADWALK_EXPORT Error : public std::runtime_error {
 public:
  // Builds the message "<call>: needs <needs>, got <got>; <advice>".
  Error(std::string_view call, std::string_view needs, std::string_view got, std::string_view advice);
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  // Defined in the library, so that the type has one identity there and every plugin's `catch (Error&)` catches it.
  ~Error() override;
};

}  // namespace gradwalk
