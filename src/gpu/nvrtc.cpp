// SPDX-License-Identifier: MIT
#include "nvrtc.hpp"

#include <cstdlib>

#include "gradwalk/error.hpp"
#include "gradwalk/gpu.hpp"

namespace gradwalk::gpu {
namespace {

// A library that the user names, those of the linker's path, and the usual place.
std::vector<std::string> names_of_nvrtc() {
  if (const char* given = std::getenv("GRADWALK_NVRTC")) return {given};
  std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  if (const char* home = std::getenv("CUDA_HOME")) names.push_back(std::string(home) + "/lib64/libnvrtc.so");
  names.emplace_back("/usr/local/cuda/lib64/libnvrtc.so");
  return names;
}

}  // namespace

Nvrtc::Nvrtc(const char* call)
    : library_(call, "NVRTC, the run-time compiler of CUDA 12 or 13", names_of_nvrtc(),
               "install it (Debian: libnvrtc12, pip: nvidia-cuda-nvrtc), or name its file in GRADWALK_NVRTC") {
  library_.find(create_, "nvrtcCreateProgram");
  library_.find(compile_, "nvrtcCompileProgram");
  library_.find(log_size_, "nvrtcGetProgramLogSize");
  library_.find(log_, "nvrtcGetProgramLog");
  library_.find(ptx_size_, "nvrtcGetPTXSize");
  library_.find(ptx_, "nvrtcGetPTX");
  library_.find(cubin_size_, "nvrtcGetCUBINSize");
  library_.find(cubin_, "nvrtcGetCUBIN");
  library_.find(destroy_, "nvrtcDestroyProgram");
  library_.find(version_, "nvrtcVersion");
}

const Nvrtc& Nvrtc::get(const char* call) {
  static const Nvrtc nvrtc(call);
  return nvrtc;
}

std::string Nvrtc::version() const {
  int major = 0, minor = 0;
  version_(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string Nvrtc::compile(const char* call, const std::string& text, const std::vector<std::string>& flags) const {
  Handle program = nullptr;
  if (create_(&program, text.c_str(), "gradwalk.cu", 0, nullptr, nullptr) != 0)
    throw Error(call, "NVRTC to accept a text", "a failure", "report this as a bug");
  std::vector<const char*> raw;
  for (const std::string& one : flags) raw.push_back(one.c_str());
  const bool has_failed = compile_(program, static_cast<int>(raw.size()), raw.data()) != 0;
  const bool is_machine_code = flags[0].find("=sm_") != std::string::npos;
  std::size_t size = 0;
  std::string made;
  if (has_failed) {
    log_size_(program, &size);
    made.resize(size);
    log_(program, made.data());
  } else {
    (is_machine_code ? cubin_size_ : ptx_size_)(program, &size);
    made.resize(size);
    (is_machine_code ? cubin_ : ptx_)(program, made.data());
  }
  destroy_(&program);
  if (has_failed)
    throw Error(call, "a text that NVRTC " + version() + " compiles", made.substr(0, 2000),
                "report this as a bug, with the graph");
  if (!is_machine_code && !made.empty()) made.pop_back();  // the 0 after the text
  return made;
}

std::vector<std::string> flags_for(const CudaSource& source, const std::string& architecture, bool exact) {
  std::vector<std::string> flags{"--gpu-architecture=" + architecture, "--std=c++17"};
  if (exact) {
    flags.emplace_back("-fmad=false");
  } else if (source.precision == Precision::float32) {
    for (const char* one : {"-prec-div=false", "-prec-sqrt=false", "-ftz=true"}) flags.emplace_back(one);
  }
  return flags;
}

std::string machine_code(const CudaSource& source, const std::string& architecture, bool exact) {
  constexpr const char* call = "gpu::machine_code";
  return Nvrtc::get(call).compile(call, source.text, flags_for(source, architecture, exact));
}

}  // namespace gradwalk::gpu
