// What a fuzz target gives: libFuzzer's entry point, and the words of its input language. With
// clang it is linked to libFuzzer; with other compilers to replay_main.cc, which makes up inputs of
// its own from the words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace sluice {

std::span<const std::string_view> FuzzWords();

// An assertion that release builds keep.
inline void FuzzCheck(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz check failed: %s\n", what);
  std::abort();
}

}  // namespace sluice
