# SPDX-License-Identifier: MIT
"""A recipe for Conan 2. It builds the sources around it:
conan create packaging/conan -s compiler.cppstd=20 -o "gradwalk/*:compile=True"
"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps


class Gradwalk(ConanFile):
    name = "gradwalk"
    description = "A scalar autograd engine, fast and visible"
    license = "MIT"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "compile": [True, False], "solve": [True, False], "train": [True, False]}
    default_options = {"shared": True, "compile": False, "solve": False, "train": False}

    @property
    def _project(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        self.version = re.search(r"project\(gradwalk VERSION ([0-9.]+)", load(self, os.path.join(self._project, "CMakeLists.txt")))[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._project, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.options.solve and not self.options.compile:
            raise ConanInvalidConfiguration("gradwalk: solve needs compile, got compile=False; add -o 'gradwalk/*:compile=True'")

    def requirements(self):
        if self.options.compile:
            self.requires("highway/[>=1.0 <2]")
        if self.options.solve:
            self.requires("eigen/[>=3.4 <6]", visible=False)
        if self.options.train:
            self.requires("nlohmann_json/[>=3.11 <4]", visible=False)

    def build_requirements(self):
        if self.options.compile and not self.conf.get("tools.gnu:pkg_config", check_type=str):
            self.tool_requires("pkgconf/[>=1.7 <3]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["GRADWALK_TESTS"] = False
        toolchain.cache_variables["GRADWALK_WERROR"] = False
        for component in ("compile", "solve", "train"):
            toolchain.cache_variables[f"GRADWALK_{component.upper()}"] = bool(self.options.get_safe(component))
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))  # Conan writes its own from package_info()
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "gradwalk")
        self._component("gradwalk", "gradwalk")
        core = self.cpp_info.components["gradwalk"]
        core.cxxflags = ["-ffp-contract=off"]
        if self.settings.os in ("Linux", "FreeBSD"):
            core.system_libs = ["m", "pthread"]
        if self.options.compile:
            self._component("compile", "gradwalk-compile", "gradwalk", "highway::highway")
        if self.options.solve:
            self._component("solve", "gradwalk-solve", "gradwalk", "compile", "eigen::eigen")
        if self.options.train:
            self._component("train", "gradwalk-train", "gradwalk", "nlohmann_json::nlohmann_json")

    def _component(self, name, library, *requires):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"gradwalk::{name}")
        component.set_property("pkg_config_name", library)
        component.libs = [library]
        component.requires = list(requires)
