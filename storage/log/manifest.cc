// See manifest.h.
#include "storage/log/manifest.h"

#include <algorithm>
#include <optional>

#include "protocol/text/concat.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"

namespace sluice {
namespace {

constexpr size_t kLineBytesMax = 1024;  // as Redis
constexpr size_t kNameBytesMax = 255;
constexpr int64_t kNumberMax = INT64_MAX - 1;  // there is a next one

// A manifest must not lead out of its folder.
bool IsNameOfFile(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && name != "." && name != ".." &&
         name.find('/') == name.npos && name.find('\0') == name.npos;
}

// --- lines

// Pairs of a name and a value in any order, at least the three that are needed; Redis skips pairs
// that it does not know, and so does this.
std::string ReadFile(const std::vector<std::string>& words, Manifest::File& file) {
  if (words.size() < 6 || words.size() % 2 != 0) return "it does not name a file";
  bool has_number = false, has_kind = false;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    if (IsSameInAnyCase("file", words[i])) {
      if (!IsNameOfFile(value)) return "its file is not one of this folder";
      file.name = value;
    } else if (IsSameInAnyCase("seq", words[i])) {
      const std::optional<int64_t> number = ParseInt64(value);
      if (!number || *number < 1 || *number > kNumberMax)
        return "its number is not one of 1 to 2^63 - 2";
      file.number = *number;
      has_number = true;
    } else if (IsSameInAnyCase("type", words[i])) {
      if (value != "b" && value != "h" && value != "i") return "its type is unknown";
      file.kind = static_cast<Manifest::Kind>(value[0]);
      has_kind = true;
    }
  }
  return has_number && has_kind && !file.name.empty() ? "" : "it does not say all of a file";
}

// Increments must ascend: they are loaded in the order of the lines, and numbered in that of
// writing.
std::string CheckOrder(const Manifest& manifest, const Manifest::File& file) {
  for (const Manifest::File& other : manifest.files) {
    if (other.name == file.name) return "its file is named twice";
    if (other.kind != file.kind) continue;
    if (file.kind == Manifest::Kind::kBase) return "it names a second base";
    if (file.kind == Manifest::Kind::kIncrement && other.number >= file.number)
      return "its number is not above those before";
  }
  return {};
}

}  // namespace

// --- what it says

// Null when the log began without one.
const Manifest::File* Manifest::base() const {
  const auto found = std::ranges::find(files, Kind::kBase, &File::kind);
  return found == files.end() ? nullptr : &*found;
}

std::vector<Manifest::File> Manifest::increments() const {
  std::vector<File> found;
  std::ranges::copy_if(files, std::back_inserter(found),
                       [](const File& file) { return file.kind == Kind::kIncrement; });
  return found;
}

// History counts for the names that it had.
int64_t Manifest::NextNumber(Kind kind) const {
  int64_t last = 0;
  for (const File& file : files) {
    if (file.kind == kind || file.kind == Kind::kHistory) last = std::max(last, file.number);
  }
  return last + 1;
}

// --- as text

// A line without an end is a write that was cut off: the whole manifest is refused.
Fault ReadManifest(std::string_view text, Manifest& manifest) {
  manifest = {};
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = text.find('\n');
    const auto fault = [&](std::string_view what) { return Concat("line ", line, ": ", what); };
    if (end == text.npos) return fault("it is not complete");
    if (end > kLineBytesMax) return fault("it is too long");
    const std::string_view content = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (content.starts_with('#')) continue;
    std::vector<std::string> words;
    Manifest::File file;
    if (content.find('\0') != content.npos || !SplitWords(content, words))
      return fault("its quotes are wrong");
    if (std::string what = ReadFile(words, file); !what.empty()) return fault(what);
    if (std::string what = CheckOrder(manifest, file); !what.empty()) return fault(what);
    manifest.files.push_back(std::move(file));
  }
  return {};
}

// Quotes only where a name needs them, as Redis writes it.
std::string WriteManifest(const Manifest& manifest) {
  std::string text;
  for (const Manifest::File& file : manifest.files) {
    const bool plain = file.name.find_first_of(" \"'\\\t\r\n") == std::string::npos;
    ConcatTo(text, "file ", plain ? file.name : QuotedWord(file.name), " seq ", file.number,
             " type ", static_cast<char>(file.kind), "\n");
  }
  return text;
}

}  // namespace sluice
