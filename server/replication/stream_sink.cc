// See stream_sink.h.
#include "server/replication/stream_sink.h"

#include <cassert>

#include "protocol/request_writer.h"
#include "protocol/text/free_memory.h"
#include "protocol/text/letters.h"
#include "protocol/text/number_text.h"
#include "server/core/log_clock.h"
#include "server/dispatch/command_table.h"
#include "server/replication/envelope.h"

namespace sluice {
namespace {

// A rare long turn leaves no more room than this behind.
constexpr size_t kStreamBytesKept = 256 * 1024;

const Command& TopOf(const Command& row) { return row.container ? *row.container : row; }

}  // namespace

// The row of an effect's words, its subcommand resolved; null: they name none. One command comes
// many times in a row: that of the last one is kept.
const Command* StreamSink::RowOf(Args words) {
  if (last_row_ && last_name_ == words[0]) return last_row_;
  const Command* const row = commands_.FindLogged(words[0]);
  if (!row) return nullptr;
  if (!row->subcommands.empty())
    return words.size() < 2 ? row : commands_.FindSubcommand(*row, words[1]);
  last_row_ = row;
  last_name_ = words[0];
  return row;
}

void StreamSink::Effect(int db, Args command, EffectTime time) {
  Begin(db, time);
  const Command* const row = RowOf(command);
  assert(row);
  // A group that names a command which Redis does not know would be lost there as a whole.
  if (!row || (row->spec->flags & kNotInRedis70)) return AppendForSluice(command);
  AppendUnderOwnName(*row, command);
}

void StreamSink::EffectForSluice(int db, Args command, EffectTime time) {
  Begin(db, time);
  AppendForSluice(command);
}

void StreamSink::AppendForSluice(Args command) {
  ++effects_for_sluice_;
  AppendEffectEnvelope(bytes_, command);
}

// As clients spell it, where that is only another case.
void StreamSink::AppendUnderOwnName(const Command& row, Args command) {
  const std::string_view own = TopOf(row).spec->name;
  if (own == command[0] || IsSameInAnyCase(own, command[0])) [[likely]]
    return AppendRequest(bytes_, command);
  std::vector<std::string_view> words(command.begin(), command.end());
  words[0] = own;
  AppendRequest(bytes_, words);
}

// The mark of an absolute deadline is the last thing before the command, or before its envelope.
void StreamSink::Begin(int db, EffectTime time) {
  NoteClock();
  if (db != selected_) {
    selected_ = db;
    const std::string index = Int64Text(db);
    const std::string_view select[] = {"SELECT", index};
    AppendRequest(bytes_, select);
  }
  if (time == EffectTime::kAbsolute) AppendAbsoluteEnvelope(bytes_);
}

void StreamSink::NoteClock() {
  const LogClock clock = LogClockOf(clock_);
  if (noted_clock_ == clock) return;
  noted_clock_ = clock;
  AppendClockEnvelope(bytes_, clock);
}

void StreamSink::GroupBegin() {
  assert(open_group_at_ == kNoGroup);
  NoteClock();
  open_group_at_ = bytes_.size();
  const std::string_view multi[] = {"MULTI"};
  AppendRequest(bytes_, multi);
}

void StreamSink::GroupEnd() {
  assert(open_group_at_ != kNoGroup);
  const std::string_view exec[] = {"EXEC"};
  AppendRequest(bytes_, exec);
  open_group_at_ = kNoGroup;
}

void StreamSink::Drop(size_t size) {
  if (open_group_at_ != kNoGroup) {
    bytes_.erase(0, size);
    open_group_at_ = 0;
  } else {
    ClearKeeping(bytes_, kStreamBytesKept);
  }
}

}  // namespace sluice
