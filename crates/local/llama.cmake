# CMake reads this file inside llama.cpp's `project()`: `.cargo/config.toml` names it in `CMAKE_PROJECT_INCLUDE`, which
# the build script of `llama-cpp-sys-2` hands on.
#
# `common` is llama.cpp's library for its own programs: options, chat templates, downloads, an HTTP client. The bindings
# ask for it by default, Haft calls none of it, and it takes as long to compile as everything else together.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "Haft calls nothing of it" FORCE)

if(PROJECT_NAME STREQUAL "llama.cpp" AND CMAKE_VERSION VERSION_GREATER_EQUAL 3.19)
    # About 160 kinds of models have a small file each, and most of the time goes into reading the same headers again.
    cmake_language(DEFER CALL target_precompile_headers llama PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/src/models/models.h")

    # Most of the library reads model files and builds graphs, once for each: `-O1` compiles that in three quarters of the
    # time. What works for each token is compiled for speed, as are the kernels, which are a library of their own.
    cmake_language(DEFER CALL target_compile_options llama PRIVATE -O1)
    set(each_token llama-batch llama-context llama-grammar llama-kv-cache llama-sampler llama-vocab unicode)
    list(TRANSFORM each_token REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/src/\\1.cpp")
    cmake_language(DEFER CALL set_source_files_properties
        ${each_token} TARGET_DIRECTORY llama PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
endif()
