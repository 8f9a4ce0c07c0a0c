// FenceFile: the file fence-mark-file in the working directory. It keeps what is reserved ahead of
// what locks need (Reservation) and what a start has to know of those before it. One line:
//
//   <mark> <horizon> <held back until>[ doubt <token>][ unsure] <XXH3 of all that, 16 hex digits>\n
//
// The horizon, and until when a start has held names back (RestartGrace), are Unix times in ms; 0:
// there is none. "doubt": a start may have lacked grants up to this token (FenceMemory). "unsure":
// a sync of the log has failed (LogState::is_unsure). Older files lack all of these, and their
// checksum is that of the mark's digits. A file without a checksum is believed only if its number
// has the 16 digits of tokens that were microseconds.
//
// A worker writes it, one content at a time, between turns; a caller who cannot go on without it
// waits (Await).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/clients/host.h"
#include "server/config/config.h"

namespace sluice {

struct FenceContent {
  int64_t mark = 0;
  int64_t horizon_unix_ms = 0;
  int64_t held_back_until_unix_ms = 0;
  int64_t doubted = 0;  // a token; 0: none is
  bool is_unsure = false;
};

// The line of a content, and back. False: the text is not exactly what FenceText would write, nor
// what older servers wrote.
std::string FenceText(const FenceContent& content);
bool ReadFenceText(std::string_view text, FenceContent& content);

class FenceFile {
 public:
  FenceFile(const Config& config, Host& host)
      : disk_(config.disk()),
        host_(host),
        path_(config.settings().fence_mark_file.empty()
                  ? std::string()
                  : config.disk().Absolute(config.settings().fence_mark_file)) {}

  // Absolute: it stays where it was opened when `dir` changes. Empty: there is none.
  const std::string& path() const { return path_; }

  enum class Found : uint8_t { kNothing, kSound, kUseless };
  // Reads it; `why` says the reason where it is useless.
  Found Read(FenceContent& content, std::string& why) const;

  // The worker writes this content; `done` is called between two turns, or inside Await. Requires:
  // !is_writing().
  void Write(const FenceContent& content, std::function<void()> done);
  bool is_writing() const { return is_writing_; }
  // Blocks the thread until what is being written is on disk, if anything is.
  void Await();
  int fault() const { return fault_; }  // of the last write: 0, or an errno value

 private:
  Disk& disk_;
  Host& host_;
  const std::string path_;
  bool is_writing_ = false;
  uint64_t job_ = 0;  // the worker's number of it
  int fault_ = 0;     // the worker's, while it writes
};

}  // namespace sluice
