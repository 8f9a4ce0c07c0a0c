// See lcs.h. The whole table is kept where the pieces are asked for, two of its rows where only the
// length is.
#include "storage/types/lcs.h"

#include <algorithm>
#include <memory>
#include <new>

namespace sluice {
namespace {

// One row of the table from the one above: out[j] is the length for the prefixes of i and j bytes.
void FillRow(char a, std::string_view b, const uint32_t* above, uint32_t* out) {
  out[0] = 0;
  for (size_t j = 1; j <= b.size(); ++j) {
    out[j] = a == b[j - 1] ? above[j - 1] + 1 : std::max(above[j], out[j - 1]);
  }
}

}  // namespace

// "ohmytext" and "mynewtext": "mytext" of 6; pieces, last first: text (4, 5, 4), my (2, 0, 2).
std::optional<Lcs> FindLcs(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  const std::unique_ptr<uint32_t[]> table(new (std::nothrow) uint32_t[(a.size() + 1) * width]);
  if (!table) return std::nullopt;
  std::fill_n(table.get(), width, 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    FillRow(a[i - 1], b, table.get() + (i - 1) * width, table.get() + i * width);
  }

  // Back from the end of both: equal bytes are taken, else the longer neighbour wins, and on a tie
  // the shorter prefix of `b`.
  Lcs lcs;
  bool adjoins = false;  // the piece at the back of `matches` can still grow
  for (size_t i = a.size(), j = b.size(); i > 0 && j > 0;) {
    if (a[i - 1] == b[j - 1]) {
      if (!adjoins) lcs.matches.push_back({i, j, 0});
      adjoins = true;
      --i, --j;
      LcsMatch& match = lcs.matches.back();
      match = {i, j, match.length + 1};
      lcs.text.push_back(a[i]);
    } else {
      adjoins = false;
      table[(i - 1) * width + j] > table[i * width + j - 1] ? --i : --j;
    }
  }
  std::reverse(lcs.text.begin(), lcs.text.end());
  return lcs;
}

size_t LcsLength(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);  // rows as short as can be
  std::vector<uint32_t> rows((b.size() + 1) * 2);
  uint32_t* above = rows.data();
  uint32_t* row = rows.data() + b.size() + 1;
  for (const char byte : a) {
    FillRow(byte, b, above, row);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace sluice
