// INFO is a list of sections, each a row with the function that writes it. A section belongs to
// the part that knows what is true of it; a new one is a row in info.cc.
//
// info_fields.cc says what each field is: a field without a row fails a test.
//
// Names and order of fields are an interface: monitoring systems parse them. A field stays even if
// Sluice has nothing to count there.
#pragma once

#include <string>
#include <string_view>

#include "protocol/text/concat.h"
#include "server/core/parts.h"

namespace sluice {

class Histogram;

// The text of INFO while it is written: "name:value" lines below "# Title" lines.
class InfoText {
 public:
  // A blank line stands between two sections.
  void Title(std::string_view title) {
    ConcatTo(text_, text_.empty() ? "# " : "\r\n# ", title, "\r\n");
  }
  // Field("db", 0, ":keys=", 1) would be written in one piece: name and value are joined as given.
  template <typename... Pieces>
  void Field(std::string_view name, const Pieces&... value) {
    ConcatTo(text_, name, ':', value..., "\r\n");
  }
  // "name_human:1.49M", as Redis's bytesToHuman: two digits behind the point from a kilobyte on.
  void Human(std::string_view name, uint64_t bytes);
  // The number, and below it the same for people.
  void Bytes(std::string_view name, uint64_t bytes) {
    Field(name, bytes);
    Human(name, bytes);
  }
  // The whole text; valid until the next field is written.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// `by_default`: INFO without arguments shows it.
struct InfoSection {
  std::string_view name;  // as a client asks for it, lower case
  std::string_view title;
  bool by_default;
  void (*write)(const Parts& parts, InfoText& text);
};

// info_server.cc: what the process and its clients are
void WriteServer(const Parts& parts, InfoText& text);
void WriteClients(const Parts& parts, InfoText& text);
void WriteMemory(const Parts& parts, InfoText& text);
void WritePersistence(const Parts& parts, InfoText& text);
void WriteReplication(const Parts& parts, InfoText& text);
void WriteCpu(const Parts& parts, InfoText& text);
void WriteModules(const Parts& parts, InfoText& text);
void WriteCluster(const Parts& parts, InfoText& text);
void WriteKeyspace(const Parts& parts, InfoText& text);
// info_statistics.cc: what has been counted
void WriteStats(const Parts& parts, InfoText& text);
void WriteErrorStats(const Parts& parts, InfoText& text);
void WriteCommandStats(const Parts& parts, InfoText& text);
void WriteLatencyStats(const Parts& parts, InfoText& text);
void WriteLocks(const Parts& parts, InfoText& text);
void WriteTurns(const Parts& parts, InfoText& text);
void WriteTimers(const Parts& parts, InfoText& text);
// info_limits.cc: what limiters have decided
void WriteLimits(const Parts& parts, InfoText& text);

// "%.*f" without a locale.
std::string FixedText(double value, int digits);

}  // namespace sluice
