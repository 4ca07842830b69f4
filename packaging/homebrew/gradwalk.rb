# SPDX-License-Identifier: MIT
# A formula for Homebrew. tools/sdist makes the archive that it builds:
#   tools/sdist
#   brew tap-new gradwalk/local
#   cp packaging/homebrew/gradwalk.rb "$(brew --repository gradwalk/local)/Formula/"
#   HOMEBREW_GRADWALK_SDIST=$PWD/build/sdist/gradwalk-0.2.0.tar.gz brew install gradwalk/local/gradwalk
class Gradwalk < Formula
  desc "Scalar autograd engine, fast and visible"
  homepage "file://#{ENV.fetch("HOMEBREW_GRADWALK_SDIST", "")}"
  url "file://#{ENV.fetch("HOMEBREW_GRADWALK_SDIST", "")}"
  version "0.2.0"
  license "MIT"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "eigen" => :build
  depends_on "ninja" => :build
  depends_on "nlohmann-json" => :build
  depends_on "pkgconf" => :build
  depends_on "cairo"
  depends_on "fmt"
  depends_on "graphviz"
  depends_on "highway"
  depends_on "ncurses"
  depends_on "webp"

  # The server of the lesson uses Linux's sockets.
  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *std_cmake_args,
           "-DGRADWALK_CLI=ON", "-DGRADWALK_LESSON=OFF", "-DGRADWALK_TESTS=OFF", "-DGRADWALK_WERROR=OFF"
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match "6", shell_output("#{bin}/gradwalk eval 'a=2; a*3'")
  end
end
