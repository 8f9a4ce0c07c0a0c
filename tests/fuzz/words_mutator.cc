// libFuzzer's mutations, and every fourth time a word of the target's input language: what bytes
// alone would take hours to spell.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/fuzz_target.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t size_max);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t size_max,
                                          unsigned int seed) {
  const auto words = sluice::FuzzWords();
  if (seed % 4 != 0 || words.empty()) return LLVMFuzzerMutate(data, size, size_max);
  const std::string_view word = words[seed / 4 % words.size()];
  if (size + word.size() > size_max) return LLVMFuzzerMutate(data, size, size_max);
  uint8_t* const at = data + seed / 1024 % (size + 1);
  std::memmove(at + word.size(), at, size - static_cast<size_t>(at - data));
  std::memcpy(at, word.data(), word.size());
  return size + word.size();
}
