# CMake reads this file inside llama.cpp's `project()`: `.cargo/config.toml` names it in `CMAKE_PROJECT_INCLUDE`, which
# the build script of `llama-cpp-sys-2` hands on.
#
# `common` is llama.cpp's library for its own programs: options, chat templates, downloads, an HTTP client. The bindings
# ask for it by default, Haft calls none of it, and it takes as long to compile as everything else together.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "Haft calls nothing of it" FORCE)

# About 160 kinds of models have a small file each, and most of the time goes into reading the same headers again.
if(PROJECT_NAME STREQUAL "llama.cpp" AND CMAKE_VERSION VERSION_GREATER_EQUAL 3.19)
    cmake_language(DEFER CALL target_precompile_headers llama PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/src/models/models.h")
endif()
