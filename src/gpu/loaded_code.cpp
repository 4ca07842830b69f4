// SPDX-License-Identifier: MIT
#include "loaded_code.hpp"

#include <optional>

#include "cache.hpp"
#include "nvrtc.hpp"

namespace gradwalk::gpu {

LoadedCode::LoadedCode(const char* call, const std::string& text, const std::vector<std::string>& flags, int device,
                       const std::string& cache)
    : driver_(Driver::get(call)) {
  driver_.use(call, device);
  const Nvrtc& nvrtc = Nvrtc::get(call);
  std::string key = "NVRTC " + nvrtc.version();
  for (const std::string& flag : flags) key += " " + flag;
  key += "\n" + text;
  const Cache kept(cache);
  std::optional<std::string> code = kept.find(key);
  if (code && driver_.load(&module_, code->data()) == 0) return;
  code = nvrtc.compile(call, text, flags);
  driver_.check(call, driver_.load(&module_, code->data()), "cuModuleLoadData");
  kept.keep(key, *code);
}

LoadedCode::~LoadedCode() {
  if (module_ != nullptr) driver_.unload(module_);
}

Handle LoadedCode::find(const char* call, const std::string& name) const {
  Handle function = nullptr;
  driver_.check(call, driver_.function(&function, module_, name.c_str()), "cuModuleGetFunction");
  return function;
}

std::string architecture_of(const char* call, int device) {
  Driver& driver = Driver::get(call);
  driver.use(call, device);  // throws for a device that does not exist
  return driver.devices(call)[static_cast<std::size_t>(device)].architecture;
}

}  // namespace gradwalk::gpu
