// Runs a fuzz target without libFuzzer: over files, or over inputs made up from a seed.
//
//   request_parser_fuzz [iterations [seed]]     default: 10000, and a new seed, which is printed
//   request_parser_fuzz -f path...              replay inputs, e.g. of a crash; whole folders
//
// An input is a row of the target's words, or an earlier input changed a little. It depends on the
// seed and the iteration's number alone. When a check fails the input is printed in hex.
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using sluice::FuzzWords;

constexpr size_t kWordsMax = 24;
constexpr size_t kInputBytesMax = 4096;
constexpr size_t kPoolSize = 64;

// The one global: what a signal handler can reach.
const std::string* current_input = nullptr;

void PrintInput() {
  if (current_input == nullptr) return;
  std::fprintf(stderr, "input:");
  for (const char c : *current_input) std::fprintf(stderr, " %02x", static_cast<uint8_t>(c));
  std::fprintf(stderr, "\n");
}

void OnAbort(int) {
  PrintInput();
  std::_Exit(1);
}

std::string RandomWords(std::mt19937_64& random) {
  const auto words = FuzzWords();
  std::string input;
  for (size_t n = random() % kWordsMax; n > 0; --n) input += words[random() % words.size()];
  return input;
}

void Mutate(std::string& input, std::mt19937_64& random) {
  const auto words = FuzzWords();
  const size_t at = random() % (input.size() + 1);
  switch (random() % 6) {
    case 0:
      input.insert(at, words[random() % words.size()]);
      break;
    case 1:
      input.erase(at, random() % 8);
      break;
    case 2:
      if (at < input.size()) input[at] = static_cast<char>(random());
      break;
    case 3:
      if (at < input.size()) input[at] ^= static_cast<char>(1 << random() % 8);
      break;
    case 4:
      input.resize(at);
      break;
    case 5:
      input.insert(at, input.substr(random() % (input.size() + 1), random() % 64));
      break;
  }
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
}

void Run(const std::string& input) {
  current_input = &input;
  // A copy of its exact size, so that a sanitizer sees a read beyond it.
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  current_input = nullptr;
}

void RunRandom(uint64_t iterations, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> pool(kPoolSize);
  for (uint64_t i = 0; i < iterations; ++i) {
    std::string& input = pool[random() % kPoolSize];
    if (random() % 8 == 0) input = RandomWords(random);
    for (size_t n = random() % 4; n > 0; --n) Mutate(input, random);
    Run(input);
  }
}

void RunFiles(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) {
    for (const auto& file : std::filesystem::directory_iterator(path)) RunFiles(file.path());
    return;
  }
  std::ifstream file(path, std::ios::binary);
  Run(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGABRT, OnAbort);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(PrintInput);
  if (argc > 1 && std::strcmp(argv[1], "-f") == 0) {
    for (int i = 2; i < argc; ++i) RunFiles(argv[i]);
    return 0;
  }
  const unsigned long long iterations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  const unsigned long long seed =
      argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  std::printf("repeat with: %s %llu %llu\n", argv[0], iterations, seed);
  std::fflush(stdout);
  RunRandom(iterations, seed);
}
