// SPDX-License-Identifier: MIT
// The driver and NVRTC for machines without a GPU, as one library: memory of a device is memory of the host, NVRTC
// calls g++, and kernels run on the CPU (cuda_shim.hpp). It has two devices, and only what gradwalk::gpu calls.
//
// Compile it with -DSHIM="<cuda_shim.hpp>" as libcuda.so.1, name its folder in LD_LIBRARY_PATH and the file in
// GRADWALK_NVRTC. FAKE_CUDA_BYTES is the memory of each device. FAKE_CUDA_GRAPHS says which part of capturing graphs
// fails: "capture" or "instantiate". Nothing but kernels and fills can be put on a stream while it captures. Memory
// that was freed is given away again late, and until then, kernels that use it crash: those of a graph with an old
// address.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <vector>

using Handle = void*;
using Address = unsigned long long;
using Kernel = void (*)(void** arguments, unsigned blocks, unsigned parts, unsigned threads);
using Work = std::function<void()>;
using Capture = Work* (*)(void** arguments, unsigned blocks, unsigned parts, unsigned threads);

namespace {

constexpr int invalidated = 901, not_while_capturing = 900;
std::map<Kernel, Capture> captures;  // a function for each kernel that keeps its arguments
std::vector<Work> captured;
bool is_capturing = false, is_invalidated = false;
size_t launches = 0, copied_bytes = 0;

bool graphs_fail(const char* part) {
  const char* const given = std::getenv("FAKE_CUDA_GRAPHS");
  return given != nullptr && std::string(given) == part;
}
// Returns the result of a call that a stream must not get while it captures.
int outside_of_captures() {
  is_invalidated |= is_capturing;
  return is_capturing ? not_while_capturing : 0;
}

constexpr int devices = 2, invalid_value = 1, out_of_memory = 2, no_such_kernel = 500;
std::map<Address, size_t> allocated;

size_t most_bytes() {
  const char* const given = std::getenv("FAKE_CUDA_BYTES");
  return given == nullptr ? size_t{1} << 30 : std::strtoull(given, nullptr, 10);
}
size_t used_bytes() {
  size_t bytes = 0;
  for (const auto& [address, size] : allocated) bytes += size;
  return bytes;
}
int copy(void* to, const void* from, size_t bytes) {
  copied_bytes += bytes;
  std::memcpy(to, from, bytes);
  return 0;
}
size_t in_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}
void* at(Address address) { return reinterpret_cast<void*>(address); }

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
std::filesystem::path new_folder() {
  std::string path = std::filesystem::temp_directory_path() / "fake_cuda_XXXXXX";
  return mkdtemp(path.data());
}

struct NvrtcProgram {
  std::string text, code, log;
};

// A function per kernel that takes its arguments as the driver passes them.
std::string with_launchers(const std::string& text) {
  std::string made =
      "#include \"" SHIM "\"\n" + text +
      "\n#include <tuple>\n#include <utility>\ntemplate <class... A, size_t... i>\nvoid gw_launch(void "
      "(*kernel)(A...), "
      "void** a, unsigned "
      "blocks, unsigned parts, unsigned threads, std::index_sequence<i...>) {\n  shim::launch(blocks, "
      "parts, threads, [&] { "
      "kernel(*static_cast<A*>(a[i])...); });\n}\ntemplate <class... A>\nvoid gw_launch(void "
      "(*kernel)(A...), void** a, "
      "unsigned blocks, unsigned parts, unsigned threads) {\n  gw_launch(kernel, a, blocks, parts, threads, "
      "std::index_sequence_for<A...>());\n}\n"
      "template <class... A, size_t... i>\nstd::function<void()>* gw_capture(void (*kernel)(A...), void** a, unsigned "
      "blocks, unsigned parts, unsigned threads, std::index_sequence<i...>) {\n  return new std::function<void()>([=, "
      "kept = std::tuple<A...>(*static_cast<A*>(a[i])...)] {\n    shim::launch(blocks, parts, threads, [&] { "
      "std::apply(kernel, kept); });\n  });\n}\ntemplate <class... A>\nstd::function<void()>* gw_capture(void "
      "(*kernel)(A...), void** a, unsigned blocks, unsigned parts, unsigned threads) {\n  return gw_capture(kernel, a, "
      "blocks, parts, threads, std::index_sequence_for<A...>());\n}\n";
  const std::regex kernel(R"(__global__\s+void\s+(?:__launch_bounds__\([^)]*\)\s+)?(\w+)\()");
  for (std::sregex_iterator found(text.begin(), text.end(), kernel), end; found != end; ++found) {
    const std::string name = (*found)[1];
    made += "extern \"C\" void launch_" + name +
            "(void** a, unsigned blocks, unsigned parts, unsigned threads) { gw_launch(" + name +
            ", a, blocks, parts, threads); }\nextern \"C\" std::function<void()>* capture_" + name +
            "(void** a, unsigned blocks, unsigned parts, unsigned threads) { return gw_capture(" + name +
            ", a, blocks, parts, threads); }\n";
  }
  return made;
}

}  // namespace

extern "C" {

// ---- the driver ----

int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int* count) { return *count = devices, 0; }
int cuDeviceGet(int* device, int index) { return *device = index, index < devices ? 0 : invalid_value; }
int cuDeviceGetName(char* name, int size, int) { return std::snprintf(name, static_cast<size_t>(size), "fake GPU"), 0; }
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = most_bytes(), 0; }
int cuDeviceGetAttribute(int* value, int attribute, int) { return *value = attribute == 75 ? 9 : 0, 0; }
int cuDevicePrimaryCtxRetain(Handle* context, int device) {
  static char contexts[devices];
  return *context = &contexts[device], 0;
}
int cuCtxSetCurrent(Handle) { return 0; }
int cuCtxSynchronize() { return 0; }
int cuModuleLoadData(Handle* module, const void* image) {
  size_t size = 0;
  std::memcpy(&size, image, sizeof size);
  const std::filesystem::path folder = new_folder();
  std::ofstream(folder / "code.so", std::ios::binary)
      .write(static_cast<const char*>(image) + sizeof size, static_cast<std::streamsize>(size));
  *module = dlopen((folder / "code.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove_all(folder);
  return *module == nullptr ? invalid_value : 0;
}
int cuModuleUnload(Handle module) { return dlclose(module); }
int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  *function = dlsym(module, (std::string("launch_") + name).c_str());
  captures[reinterpret_cast<Kernel>(*function)] =
      reinterpret_cast<Capture>(dlsym(module, (std::string("capture_") + name).c_str()));
  return *function == nullptr ? no_such_kernel : 0;
}
int cuMemAlloc_v2(Address* address, size_t bytes) {
  if (outside_of_captures() != 0) return not_while_capturing;
  if (used_bytes() + bytes > most_bytes()) return out_of_memory;
  void* const made = mmap(nullptr, in_pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(made, 0xff, bytes);
  *address = reinterpret_cast<Address>(made);
  allocated[*address] = bytes;
  return 0;
}
int cuMemFree_v2(Address address) {
  constexpr size_t most_kept = 256;
  static std::deque<std::pair<void*, size_t>> freed;
  const size_t bytes = in_pages(allocated[address]);
  allocated.erase(address);
  mprotect(at(address), bytes, PROT_NONE);
  madvise(at(address), bytes, MADV_DONTNEED);
  freed.emplace_back(at(address), bytes);
  if (freed.size() > most_kept) munmap(freed.front().first, freed.front().second), freed.pop_front();
  return 0;
}
int cuPointerGetAttribute(void* device, int, Address address) {
  if (address < 4096) return invalid_value;
  return *static_cast<int*>(device) = 0, 0;
}
int cuMemGetInfo_v2(size_t* free_bytes, size_t* all) {
  return *all = most_bytes(), *free_bytes = most_bytes() - used_bytes(), 0;
}
int cuMemAllocHost_v2(void** data, size_t bytes) { return *data = std::malloc(bytes), 0; }
int cuMemFreeHost(void* data) { return std::free(data), 0; }
int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) { return copy(at(to), from, bytes); }
int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) { return copy(to, at(from), bytes); }
int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Handle) {
  return is_capturing ? outside_of_captures() : copy(at(to), from, bytes);
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Handle) {
  return is_capturing ? outside_of_captures() : copy(to, at(from), bytes);
}
int cuMemsetD32Async(Address to, unsigned value, size_t count, Handle) {
  const Work work = [=] { std::fill_n(static_cast<unsigned*>(at(to)), count, value); };
  if (is_capturing) return captured.push_back(work), 0;
  ++launches;
  return work(), 0;
}
int cuLaunchKernel(Handle function, unsigned blocks, unsigned parts, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned, Handle, void** arguments, void**) {
  const auto kernel = reinterpret_cast<Kernel>(function);
  if (is_capturing) {
    const std::unique_ptr<Work> work(captures.at(kernel)(arguments, blocks, parts, threads));
    return captured.push_back(*work), 0;
  }
  ++launches;
  kernel(arguments, blocks, parts, threads);
  return 0;
}
int cuStreamBeginCapture_v2(Handle, int) {
  if (graphs_fail("capture")) return invalid_value;
  captured.clear();
  is_capturing = true;
  return is_invalidated = false, 0;
}
int cuStreamEndCapture(Handle, Handle* graph) {
  is_capturing = false;
  *graph = is_invalidated ? nullptr : new std::vector<Work>(captured);
  captured.clear();  // their code may be unloaded
  return is_invalidated ? invalidated : 0;
}
int cuGraphInstantiateWithFlags(Handle* made, Handle graph, unsigned long long) {
  if (graphs_fail("instantiate")) return out_of_memory;
  return *made = new std::vector<Work>(*static_cast<std::vector<Work>*>(graph)), 0;
}
int cuGraphLaunch(Handle graph, Handle) {
  ++launches;
  for (const Work& work : *static_cast<std::vector<Work>*>(graph)) work();
  return 0;
}
int cuGraphDestroy(Handle graph) { return delete static_cast<std::vector<Work>*>(graph), 0; }
int cuGraphExecDestroy(Handle graph) { return cuGraphDestroy(graph); }
// Returns how often kernels, fills and graphs were launched.
size_t fake_cuda_launches() { return launches; }
// Returns how many bytes were copied between host and device.
size_t fake_cuda_copied_bytes() { return copied_bytes; }
int cuFuncSetAttribute(Handle, int attribute, int bytes) {
  constexpr int most_dynamic_shared_bytes = 8, most = 64 * 1024;
  return attribute == most_dynamic_shared_bytes && bytes <= most ? 0 : invalid_value;
}
int cuStreamCreate(Handle* stream, unsigned) { return *stream = nullptr, 0; }
int cuStreamDestroy_v2(Handle) { return 0; }
int cuStreamSynchronize(Handle) { return outside_of_captures(); }
int cuEventCreate(Handle* event, unsigned) { return *event = nullptr, 0; }
int cuEventDestroy_v2(Handle) { return 0; }
int cuEventRecord(Handle, Handle) { return 0; }
int cuEventElapsedTime(float* milliseconds, Handle, Handle) { return *milliseconds = 1, 0; }
int cuGetErrorString(int result, const char** text) {
  return *text = result == no_such_kernel ? "named symbol not found" : "invalid argument", 0;
}

// ---- NVRTC ----

// Code that another shim was compiled into is not taken from the cache, because this changes the version.
int nvrtcVersion(int* major, int* minor) {
  const size_t hash = std::hash<std::string>()(content(SHIM) + with_launchers("__global__ void kernel()"));
  return *major = 0, *minor = static_cast<int>(hash % 1'000'000), 0;
}
int nvrtcCreateProgram(Handle* program, const char* text, const char*, int, const char* const*, const char* const*) {
  return *program = new NvrtcProgram{text, "", ""}, 0;
}
int nvrtcCompileProgram(Handle handle, int, const char* const*) {
  auto& program = *static_cast<NvrtcProgram*>(handle);
  const std::filesystem::path folder = new_folder();
  std::ofstream(folder / "code.cpp") << with_launchers(program.text);
  const int status = std::system(("cd " + folder.string() +
                                  " && g++ -std=c++17 -O0 -w -ffp-contract=off -fno-gnu-unique -fPIC -shared code.cpp "
                                  "-o code.so > log 2>&1")
                                     .c_str());
  const std::string library = content(folder / "code.so");
  const size_t size = library.size();
  program.code.assign(reinterpret_cast<const char*>(&size), sizeof size);
  program.code += library;
  program.log = content(folder / "log");
  std::filesystem::remove_all(folder);
  return status;
}
int nvrtcGetProgramLogSize(Handle handle, size_t* size) {
  return *size = static_cast<NvrtcProgram*>(handle)->log.size(), 0;
}
int nvrtcGetProgramLog(Handle handle, char* to) {
  const std::string& log = static_cast<NvrtcProgram*>(handle)->log;
  return copy(to, log.data(), log.size());
}
int nvrtcGetCUBINSize(Handle handle, size_t* size) {
  return *size = static_cast<NvrtcProgram*>(handle)->code.size(), 0;
}
int nvrtcGetCUBIN(Handle handle, char* to) {
  const std::string& code = static_cast<NvrtcProgram*>(handle)->code;
  return copy(to, code.data(), code.size());
}
int nvrtcGetPTXSize(Handle handle, size_t* size) { return nvrtcGetCUBINSize(handle, size); }
int nvrtcGetPTX(Handle handle, char* to) { return nvrtcGetCUBIN(handle, to); }
int nvrtcDestroyProgram(Handle* program) {
  delete static_cast<NvrtcProgram*>(*program);
  return 0;
}

}  // extern "C"
