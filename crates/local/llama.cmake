# CMake reads this file inside llama.cpp's `project()`: `.cargo/config.toml` names it in `CMAKE_PROJECT_INCLUDE`, which
# the build script of `llama-cpp-sys-2` hands on.
#
# `common` is llama.cpp's library for its own programs: options, chat templates, downloads, an HTTP client. The bindings
# ask for it by default, Haft calls none of it, and it takes as long to compile as everything else together.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "Haft calls nothing of it" FORCE)
