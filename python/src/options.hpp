// SPDX-License-Identifier: MIT
// Options of the engine from a dict of Python's keyword arguments.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "gradwalk/emit_cuda.hpp"

namespace gradwalk::python {

// In bind_emit.cpp, and for programs on GPUs, too.
CudaOptions::Derivatives to_derivatives(const std::string& name, const char* call);
py::dict dict_of(const CudaSource& source);

// The members of a struct of options by their names. Each is set from an argument of that name.
template <class Options> class OptionTable {
 public:
  template <class Member> OptionTable& add(const char* name, Member Options::* member) {
    fields_.emplace_back(name, [member](Options& options, py::handle object, const Place& place) {
      options.*member = static_cast<Member>(Convert<Argument<Member>>::from(object, place));
    });
    return *this;
  }
  // Sets the options that the dict has.
  void set(Options& options, const py::dict& given, const char* call) const {
    for (const auto& [name, set] : fields_)
      if (given.contains(name)) set(options, given[name], {call, name});
  }

 private:
  template <class Member> using Argument =
      std::conditional_t<std::is_same_v<Member, std::size_t>, std::uint64_t, Member>;
  std::vector<std::pair<const char*, std::function<void(Options&, py::handle, const Place&)>>> fields_;
};

}  // namespace gradwalk::python
