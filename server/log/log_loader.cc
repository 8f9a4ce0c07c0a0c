// See log_loader.h. Files are played at a moment long ago, at the offset that each of them names,
// so nothing has ended; what of it is over is found in the present.
//
// Commands run through their handlers alone: Play finds the row and calls it, without gates,
// statistics or effects.
#include "server/log/log_loader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "protocol/null_sink.h"
#include "protocol/text/concat.h"
#include "server/core/planted_faults.h"
#include "server/log/ended_keys.h"
#include "storage/log/held_clock.h"
#include "storage/log/rdb_source.h"

namespace sluice {
namespace {

constexpr int64_t kSliceNanos = 5'000'000;
constexpr int64_t kReportEveryNanos = 5'000'000'000;
constexpr int kPartsPerLook = 16;       // at the clock, of an RDB file; of a log each batch
constexpr int kStepsPerSlice = 20'000;  // for clocks that stand still
constexpr size_t kWordShownMax = 128;
constexpr uint64_t kLargeBytes = 32 * 1024 * 1024;  // of files whose loading is worth preparations
constexpr uint64_t kMemoryPerByte = 8;              // of a file: hardly ever more
constexpr int64_t kEngineMsMax = TimerWheel::kDeadlineMsMax / 2;  // whatever a file says

// As Redis refuses a bad middle, whatever aof-load-truncated says: what is behind it was written
// later, and what of that a repair may cut off is for a person to say.
std::string WhatHelps(bool is_last, const std::string& path) {
  if (!is_last) return "restore it from a backup: no repair cuts a file that others follow";
  return Concat("sluice --check-aof ", FolderOf(path), " says what can be saved, and with --fix ",
                "cuts the rest off (a copy stays)");
}

// Forgets the answer of a command, unless it is an error. Those inside an array are none of its
// own.
class FaultSink final : public NullSink {
 public:
  explicit FaultSink(std::string& fault) : fault_(fault) {}
  void Array(size_t) override { is_inside_ = true; }
  void Error(std::string_view text) override {
    if (!is_inside_) fault_ = text.substr(0, text.find_first_of("\r\n"));
  }

 private:
  std::string& fault_;
  bool is_inside_ = false;
};

}  // namespace

LogLoader::LogLoader(const Uses& uses, Disk& disk, std::vector<std::string> paths,
                     LogLoadOptions options)
    : on_(uses),
      disk_(disk),
      paths_(std::move(paths)),
      options_(std::move(options)),
      batch_(uses.dispatcher.commands(), uses.keyspace),
      session_(SessionId{}, 0, Peer{}, uses.clock.now().ms()),
      pace_(uses.settings),
      offset_ms_(uses.clock.now().unix_offset_ms),
      begun_ns_(uses.clock.clock().TickNanos()),
      reported_ns_(begun_ns_) {
  session_.conditions = kInScript;  // nothing may block
  session_.authenticated = true;
  session_.replays = true;
  on_.state.progress = {};
  on_.state.last_rdb = {};
  for (const std::string& path : paths_) {
    std::unique_ptr<DiskFile> opened;
    uint64_t bytes = 0;
    if (disk_.Open(path, Disk::Mode::kRead, opened) == 0) opened->Size(bytes);
    on_.state.progress.total_bytes += bytes;
  }
  on_.state.progress.started_unix_s = on_.clock.now().unix_s();
  is_large_ = on_.state.progress.total_bytes >= kLargeBytes;
  if (is_large_) on_.host.process().ExpectGrowth(on_.state.progress.total_bytes * kMemoryPerByte);
}

LogLoader::~LogLoader() {
  if (is_large_) on_.host.process().ExpectGrowth(0);
}

void LogLoader::Empty() {
  const std::string_view all[] = {"FLUSHALL"};
  const std::string_view functions[] = {"FUNCTION", "FLUSH"};
  Play(0, all, on_.clock.now());
  Play(0, functions, on_.clock.now());
  fault_.clear();
}

bool LogLoader::Slice() {
  moment_ = on_.clock.clock().Sample();
  if (moment_.ms() < pace_.next_ms()) [[unlikely]]
    return true;
  pace_.BeginSlice(on_.state.progress.loaded_bytes);
  moment_.steady_us -= kHeldBackSeconds * 1'000'000;
  if (clock_) FollowOffsetOf(*clock_);
  const int64_t begin_ns = on_.clock.clock().TickNanos();
  bool more = true;
  for (int steps = 0; more && steps < kStepsPerSlice; ++steps) {
    more = reader_ || rdb_ || OpenNext() ? PlayNext() : false;
    const bool looks = reader_ || steps % kPartsPerLook == 0;
    if (looks && on_.clock.clock().TickNanos() - begin_ns > kSliceNanos) break;
    if (pace_.IsSliceOver(on_.state.progress.loaded_bytes, LoadedSoFar())) break;
  }
  pace_.EndSlice(LoadedSoFar(), on_.clock.clock().Sample().ms());
  if (on_.locks.pending()) {
    const TurnClock::Hold hold = on_.clock.HoldAt(moment_);
    on_.locks.CatchUp();
  }
  if (on_.clock.Refresh()) is_stepped_ = true;  // a slice is long for a turn
  Report();
  return more;
}

bool LogLoader::Fail(std::string_view what, uint64_t offset) {
  fault_ = Concat(Path(), ", offset ", offset, ": ", what);
  return false;
}

// False without a next one too.
bool LogLoader::OpenNext() {
  if (at_ == paths_.size()) return false;
  if (const int fault = disk_.Open(paths_[at_], Disk::Mode::kRead, file_))
    return Fail(WhyUnopened(fault), 0);
  if (const int fault = file_->Size(file_bytes_)) return Fail(std::strerror(fault), 0);
  session_.db = 0;
  char begin[8];
  size_t got = 0;
  if (const int fault = file_->ReadAt(0, begin, got)) return Fail(std::strerror(fault), 0);
  if (file_bytes_ == 0 && paths_[at_].ends_with(".rdb"))
    return Fail("it is empty, which an RDB file never is: put a backup in its place", 0);
  if (!BeginsAsRdb({begin, got})) {
    if (options_.is_snapshot)
      return Fail("it is no RDB file: move it away, or name another one (dbfilename)", 0);
    reader_ = std::make_unique<LogReader>(*file_, file_bytes_);
    return true;
  }
  RdbBase::Player& player = *this;
  rdb_ = std::make_unique<RdbBase>(
      *file_, file_bytes_, on_.settings, on_.keyspace, moment_, player,
      RdbBase::Options{.drops_ended = options_.is_snapshot && !options_.keeps_ended,
                       .keeps_ended_of_streams = !options_.is_foreign,
                       .merges = options_.merges,
                       .keeps_locks = options_.is_live});
  return true;
}

std::string LogLoader::PlayWords(int db, Args words) {
  session_.replays_relative = false;
  Play(db, words, moment_);
  return std::exchange(fault_, {});
}

Now LogLoader::FollowClock(const LogClock& clock, int64_t unix_ms, std::string_view boot) {
  clock_ = clock;
  last_unix_ms_ = unix_ms;
  last_engine_ms_ = unix_ms - clock.unix_offset_ms;
  boot_ = boot;
  FollowOffsetOf(clock);
  offset_ms_ = moment_.unix_offset_ms;
  return moment_;
}

bool LogLoader::PlayNext() { return rdb_ ? PlayPart() : PlayTurns(); }

bool LogLoader::PlayPart() {
  const RdbFileReader::State state = rdb_->Step();
  on_.state.progress.loaded_bytes = done_bytes_ + rdb_->offset();
  if (state == RdbFileReader::State::kMore) return true;
  if (state == RdbFileReader::State::kEnd) return EndRdb();
  fault_ = Concat(Path(), ": ", rdb_->error());
  return false;
}

// As Redis: behind the RDB file in a log stand commands (servers before 7.0 wrote the rest of their
// log there); behind a snapshot nothing that is read.
bool LogLoader::EndRdb() {
  for (const std::string& note : rdb_->Notes()) {
    on_.host.Log(LogLevel::kWarning, Concat(Path(), ": ", note));
  }
  commands_ += rdb_->keys();
  stream_ = rdb_->stream();
  on_.state.last_rdb = {.loaded = rdb_->keys(), .expired = rdb_->ended()};
  const uint64_t end = rdb_->offset();
  rdb_.reset();
  if (end == file_bytes_) return EndFile();
  if (!options_.is_snapshot) {
    reader_ = std::make_unique<LogReader>(*file_, file_bytes_, end);
    return true;
  }
  on_.host.Log(LogLevel::kWarning, Concat(Path(), ": the RDB file ends at offset ", end, "; ",
                                          file_bytes_ - end, " bytes behind it are not read"));
  return EndFile();
}

// Some turns together, where they are small: a step is a batch of commands.
bool LogLoader::PlayTurns() {
  switch (reader_->NextTurns(ReplayBatch::kCommands)) {
    case LogReader::Step::kEnd:
      return EndFile();
    case LogReader::Step::kFault:
      if (is_last() && reader_->IsTorn(clock_.has_value())) return CutBack();
      return Fail(Concat(reader_->fault(), "; ", WhatHelps(is_last(), Path())), reader_->whole());
    case LogReader::Step::kTurn:
      break;
  }
  for (size_t i = 0; i < reader_->commands(); ++i) {
    if (i % ReplayBatch::kCommands == 0) batch_.Fetch(*reader_, i);
    if (!PlayCommand(i))
      return Fail(Concat("its command is refused: ", std::exchange(fault_, {})),
                  reader_->offset(i));
  }
  on_.state.progress.loaded_bytes = done_bytes_ + reader_->whole();
  if (reader_->unix_ms() > 0) last_unix_ms_ = reader_->unix_ms();
  stream_ = reader_->stream();
  if (!reader_->clock()) return true;
  clock_ = reader_->clock();
  last_engine_ms_ = reader_->unix_ms() - clock_->unix_offset_ms;
  if (boot_ != reader_->boot()) boot_ = reader_->boot();
  return true;
}

bool LogLoader::PlayCommand(size_t index) {
  if (reader_->clock(index)) FollowOffsetOf(*reader_->clock(index));
  const int64_t offset_ms = std::exchange(offset_ms_, moment_.unix_offset_ms);
  if (commands_ > 0 && offset_ms != offset_ms_) is_stepped_ = true;
  session_.replays_relative = reader_->is_relative(index);
  return Run(reader_->db(index), reader_->Words(index), batch_.Take(index), moment_);
}

bool LogLoader::Play(int db, Args words, const Now& moment) {
  const Command* const known = on_.dispatcher.commands().FindLogged(words[0]);
  return Run(db, words, {.command = known, .key = {}}, moment);
}

bool LogLoader::Run(int db, Args words, const ReplayBatch::Looked& looked, const Now& moment) {
  if (db >= on_.settings.databases) {
    fault_ = Concat("there is no database ", db, " (databases)");
    return false;
  }
  const CommandTable& commands = on_.dispatcher.commands();
  const std::optional<Request> request = commands.Check(words, looked.command);
  if (!request) {
    fault_ = commands.TextOf(commands.WhyNot(words, looked.command)).substr(0, kWordShownMax);
    return false;
  }
  const Command& command = request->command;
  if (!(command.spec->flags & (kWrite | kMayReplicate))) {
    fault_ = Concat(command.full_name, " changes nothing and does not belong in a log");
    return false;
  }
  if (options_.is_live && (command.spec->categories & kCatLock)) return true;
  session_.db = db;
  const TurnClock::Hold hold = on_.clock.HoldAt(moment);
  FaultSink sink(fault_);
  CommandCall call = on_.dispatcher.CallOf(session_, *request, sink, looked.key);
  command.spec->run(call);
  // SWAPDB and FLUSHALL cut locks loose: their names are free before the next command.
  if (on_.locks.pending() && !(command.spec->categories & kCatLock)) on_.locks.CatchUpInFull();
  ++commands_;
  return fault_.empty();
}

void LogLoader::BringTimeBack() {
  if (!options_.is_live) {
    on_.locks.memory().Shift(kHeldBackSeconds * 1000);
    on_.clock.clock().Shift(ShiftMs());
  }
  if (options_.made_ms && clock_) on_.clock.clock().ShowUnixOffset(clock_->unix_offset_ms);
  on_.clock.Refresh();  // with the shift, which is no step
  if (is_stepped_ || offset_ms_ != on_.clock.now().unix_offset_ms) on_.keyspace.WallStepped();
}

void LogLoader::SortOutEndedKeys() {
  if (!options_.is_foreign) return;
  // Of a snapshot some were left out when they were read.
  const EndedFate fate = options_.keeps_ended ? EndedFate::kKept : EndedFate::kTakenOut;
  const EndedKeys ended = SortOutEnded(on_.keyspace, on_.clock.now(), fate);
  on_.state.ended = {.keys = ended.keys + on_.state.last_rdb.expired, .fields = ended.fields};
}

// The commands are of that clock. To a server that is live, what was relative ends as long from now
// as by that clock.
void LogLoader::FollowOffsetOf(const LogClock& clock) {
  int64_t offset_ms = clock.unix_offset_ms;
  if (options_.is_live) {
    clock_ = clock;
    if (reader_) boot_ = reader_->boot();
    offset_ms += ShiftMs();
  }
  moment_.unix_offset_ms = offset_ms;
}

Now LogLoader::Present() const {
  Now now = on_.clock.clock().Sample();
  if (options_.is_live || !clock_) return now;
  const int64_t shift_ms = ShiftMs();
  now.steady_us += shift_ms * 1000;
  now.unix_offset_ms -= shift_ms;
  return now;
}

// How much later engine time has to be for that of the log to go on. A clock that is behind the
// last turn has not gone on since; and of that turn no more is known than its ms.
int64_t LogLoader::ShiftMs() const {
  if (!clock_) return 0;
  Clock& clock = on_.clock.clock();
  const Now now = clock.Sample();
  if (options_.made_ms && !IsPlanted(PlantedFault::kUnixDeadlines)) {
    const int64_t passed_ms = std::max<int64_t>(0, now.ms() - clock.shift_ms() - *options_.made_ms);
    return std::clamp(last_engine_ms_ + passed_ms, int64_t{0}, kEngineMsMax) - now.ms();
  }
  const bool same_boot =
      options_.boot == boot_ && boot_ != kUnknownBoot && !IsPlanted(PlantedFault::kUnixDeadlines);
  const int64_t own_unix_ms = now.unix_ms() + clock.skew_ms();
  const int64_t goes_on_ms = same_boot ? now.ms() - clock.shift_ms() + clock_->shift_ms
                                       : own_unix_ms - clock_->skew_ms - clock_->unix_offset_ms;
  const bool has_gone_on = options_.is_live || goes_on_ms > last_engine_ms_ - (same_boot ? 1 : 0);
  const int64_t at_ms = has_gone_on ? goes_on_ms : last_engine_ms_ + 1;
  return std::clamp(at_ms, int64_t{0}, kEngineMsMax) - now.ms();
}

bool LogLoader::EndFile() {
  done_bytes_ += file_bytes_;
  on_.state.progress.loaded_bytes = done_bytes_;
  reader_.reset();
  file_.reset();
  ++at_;
  return at_ < paths_.size();
}

// The part that is cut off was acknowledged to no client.
bool LogLoader::CutBack() {
  const uint64_t whole = reader_->whole();
  if (!on_.settings.aof_load_truncated)
    return Fail(Concat(reader_->fault(), " (aof-load-truncated is no)"), whole);
  if (options_.is_foreign) {
    on_.host.Log(LogLevel::kWarning, Concat(Path(), " ends in the middle of a turn: ", whole,
                                            " of ", file_bytes_, " bytes are taken"));
    return EndFile();
  }
  std::unique_ptr<DiskFile> cut;
  int fault = disk_.Open(paths_[at_], Disk::Mode::kAppend, cut);
  if (fault == 0) fault = cut->Truncate(whole);
  if (fault == 0) {
    fault = cut->Sync();
    if (fault != 0) on_.state.is_unsure = true;
  }
  if (fault != 0) return Fail(Concat("its end cannot be cut off: ", std::strerror(fault)), whole);
  on_.host.Log(LogLevel::kWarning, Concat(Path(), " ends in the middle of a turn: cut back from ",
                                          file_bytes_, " to ", whole, " bytes"));
  return EndFile();
}

void LogLoader::Report() {
  const int64_t now_ns = on_.clock.clock().TickNanos();
  on_.state.progress.taken_ms = (now_ns - begun_ns_) / 1'000'000;
  if (now_ns - reported_ns_ < kReportEveryNanos) return;
  reported_ns_ = now_ns;
  on_.host.Log(LogLevel::kNotice, Concat("loading: ", on_.state.progress.loaded_bytes, " of ",
                                         on_.state.progress.total_bytes, " bytes"));
}

}  // namespace sluice
