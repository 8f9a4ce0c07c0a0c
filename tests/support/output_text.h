// What an OutputBuffer would send, as one string.
#pragma once

#include <string>
#include <vector>

#include "protocol/output_buffer.h"

namespace sluice {

inline std::string OutputText(const OutputBuffer& out) {
  std::vector<iovec> vectors(16);
  size_t filled;
  while ((filled = out.Peek(vectors.data(), vectors.size())) == vectors.size()) {
    vectors.resize(vectors.size() * 2);
  }
  std::string text;
  for (size_t i = 0; i < filled; ++i) {
    text.append(static_cast<const char*>(vectors[i].iov_base), vectors[i].iov_len);
  }
  return text;
}

}  // namespace sluice
