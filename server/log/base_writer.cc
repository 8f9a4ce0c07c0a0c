// See base_writer.h.
#include "server/log/base_writer.h"

#include <array>
#include <vector>

#include "protocol/text/number_text.h"
#include "server/locks/lock_effect.h"
#include "server/log/log_loader.h"
#include "storage/rdb/rdb_value.h"

namespace sluice {
namespace {

constexpr size_t kFlushBytes = 1024 * 1024;

}  // namespace

int BaseWriter::Write(const std::string& boot) {
  const std::string header = LogHeaderLine(boot);
  size_t written = 0;
  fault_ = file_.Append(header, written);
  written_ = written;
  WriteFunctions();
  WritePolicies();
  WriteFences();
  WriteKeys();
  Flush();
  return fault_ != 0 ? fault_ : file_.Sync();
}

void BaseWriter::Tell(int db, Args command) {
  if (fault_ != 0) return;
  writer_.Effect(db, command);
  if (writer_.ready() >= kFlushBytes) Flush();
}

void BaseWriter::Flush() {
  if (fault_ != 0 || writer_.ready() == 0) return;
  // What was on disk is not known: damage in it is never taken for a torn end.
  const std::string turn = writer_.Take(now_.unix_ms(), kSyncUnknown, written_);
  size_t written = 0;
  fault_ = file_.Append(turn, written);
  written_ += written;
}

void BaseWriter::WriteFunctions() {
  for (const auto& [name, library] : source_.functions.all()) {
    const std::string_view words[] = {"FUNCTION", "LOAD", "REPLACE", library->code};
    Tell(0, words);
  }
}

void BaseWriter::WritePolicies() {
  for (const std::string_view name : source_.policies.Names()) {
    const LimitConfig& config = *source_.policies.Find(name);
    const std::string max = Int64Text(config.max);
    const std::string period = Int64Text(config.period_ms);
    const std::string burst = Int64Text(config.burst);
    std::vector<std::string_view> words = {
        "LIMIT.POLICY", "SET", name, LimitAlgorithmName(config.algorithm), max, period};
    if (config.burst > 0) words.insert(words.end(), {"BURST", burst});
    Tell(0, words);
  }
}

// A token is remembered of a lock that was given back: so it is said.
void BaseWriter::WriteFences() {
  source_.fences.ForEach([&](const LockName& name, int64_t token) {
    if (source_.fences.Newest(name, now_) != token) return;
    const std::string number = Int64Text(token);
    const std::string soon = Int64Text(now_.unix_ms() + 1);
    const std::string_view held[] = {
        "LOCK.RESTORE", name.key, number, "log", "exclusive", "1", "1", "1", soon, "-1", "0", ""};
    const std::string_view gone[] = {"LOCK.RESTORE", name.key, number};
    Tell(name.db, held);
    Tell(name.db, gone);
  });
}

void BaseWriter::WriteKeys() {
  Keyspace& keyspace = source_.keyspace;
  for (int db = 0; db < keyspace.databases() && fault_ == 0; ++db) {
    if (!keyspace.made(db)) continue;
    keyspace.db(db).ForEach([&](const Entry& entry) { WriteEntry(db, entry); });
  }
}

// A field that is over is there until a timer or a command meets it, and so is its hash: a later
// command of the log may count on that.
Now BaseWriter::AsLoaderSees(const Entry& entry) const {
  Now then = now_;
  if (entry.type() == ValueType::kHash) then.steady_us -= LogLoader::kHeldBackSeconds * 1'000'000;
  return then;
}

void BaseWriter::WriteEntry(int db, const Entry& entry) {
  if (entry.type() == ValueType::kLock) {
    const Lock& lock = static_cast<const Lock&>(entry.value());
    if (lock.Ended()) return;
    for (const auto& [token, holder] : lock.holders()) {
      TellHolder({db, entry.key()}, lock, holder, now_, [&](Args words) { Tell(db, words); });
    }
    return;
  }
  const Deadline deadline = entry.deadline();
  const std::string until = Int64Text(deadline.none() ? 0 : deadline.UnixMs(now_));
  const std::string dump = WriteDump(entry, {.now = AsLoaderSees(entry)});
  std::vector<std::string_view> words = {"RESTORE", entry.key(), until, dump, "REPLACE"};
  if (!deadline.none()) words.push_back("ABSTTL");
  Tell(db, words);
}

}  // namespace sluice
