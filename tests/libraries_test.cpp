// SPDX-License-Identifier: MIT
// Two shared libraries in one process share one tape: a host that is not linked to gradwalk loads two plug-ins and
// passes a Value from one to the other.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

#include "plugins/plugin.hpp"

namespace {

class Plugin {
 public:
  explicit Plugin(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(dlerror());
    find(make, "plugin_make");
    find(square_plus, "plugin_square_plus");
    find(gradient, "plugin_gradient");
    find(use, "plugin_use");
    find(message, "plugin_message");
  }

  decltype(&plugin_make) make;
  decltype(&plugin_square_plus) square_plus;
  decltype(&plugin_gradient) gradient;
  decltype(&plugin_use) use;
  decltype(&plugin_message) message;

 private:
  template <class Function> void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
  }
  void* library_;
};

TEST(TwoSharedLibraries, ShareTheTape) {
  const Plugin one(GRADWALK_PLUGIN_ONE), two(GRADWALK_PLUGIN_TWO);
  ASSERT_NE(one.make, two.make);
  void* leaf = one.make(3);
  void* root = two.square_plus(leaf);
  EXPECT_EQ(one.gradient(root, leaf), 7);
  void* other = two.make(1);
  EXPECT_EQ(two.gradient(one.square_plus(other), other), 3);
}

TEST(TwoSharedLibraries, ShareTheTapeOnEveryThread) {
  const Plugin one(GRADWALK_PLUGIN_ONE), two(GRADWALK_PLUGIN_TWO);
  std::thread([&] {
    void* leaf = two.make(3);
    EXPECT_EQ(two.gradient(one.square_plus(leaf), leaf), 7);
  }).join();
}

TEST(TwoSharedLibraries, CatchTheLibrarysErrors) {
  const Plugin one(GRADWALK_PLUGIN_ONE), two(GRADWALK_PLUGIN_TWO);
  for (const Plugin* plugin : {&one, &two})
    EXPECT_STREQ(plugin->message(),
                 "backward: needs a Value, got one that was moved from; assign to it before you use it again");
}

// Each copy of the library has its own tape. One copy must neither read nor leak the nodes of the other.
TEST(TwoCopiesOfTheLibrary, RefuseEachOthersValues) {
  const Plugin shared(GRADWALK_PLUGIN_ONE), with_its_own(GRADWALK_PLUGIN_WITH_ITS_OWN);
  const std::string refused =
      "mul: needs a Value of this copy of the library, got one of another copy in the same process; link everything in "
      "the process to one shared libgradwalk";
  void *one = shared.make(0.1), *other = with_its_own.make(0.1);
  EXPECT_EQ(shared.use(with_its_own.make(0.3)), refused);
  EXPECT_EQ(with_its_own.use(shared.make(0.3)), refused);
  EXPECT_STREQ(shared.use(one), "");
  EXPECT_STREQ(with_its_own.use(other), "");
}

}  // namespace
