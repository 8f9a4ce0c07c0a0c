// See rdb_base.h. Plain keys go straight into the keyspace. Locks, policies and libraries are more
// than a value: each is played as the command that makes it, so that its part hears of it.
#include "server/log/rdb_base.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "protocol/request_parser.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "protocol/text/words.h"
#include "server/locks/lock_effect.h"
#include "storage/locks/lock.h"
#include "storage/rdb/rdb_format.h"
#include "storage/rdb/rdb_lock.h"

namespace sluice {
namespace {

constexpr size_t kModulesMax = 32;  // that are named in the log
constexpr size_t kMendedMax = 16;   // keys that are named there

constexpr std::string_view kTwice = "the key is there twice";

RdbContext ContextOf(const Settings& settings, Keyspace& keyspace, const Now& now) {
  const auto size = [](int64_t option) { return static_cast<size_t>(option); };
  HashKeys* const keys = &keyspace.hash_keys();
  return {.now = now,
          .hash = {size(settings.hash_max_listpack_entries), size(settings.hash_max_listpack_value),
                   keys},
          .set = {size(settings.set_max_intset_entries), keys},
          .sorted_set = {size(settings.zset_max_listpack_entries),
                         size(settings.zset_max_listpack_value), keys},
          .list = ListLimits::Of(settings.list_max_listpack_size)};
}

}  // namespace

RdbBase::RdbBase(DiskFile& file, uint64_t bytes, const Settings& settings, Keyspace& keyspace,
                 const Now& now, Player& player, const Options& options)
    : keyspace_(keyspace),
      player_(player),
      options_(options),
      bytes_(bytes),
      present_(player.Present()),
      context_(ContextOf(settings, keyspace, now)),
      source_(file, bytes),
      reader_(source_, context_,
              {.databases = static_cast<uint64_t>(settings.databases),
               .skip_unknown = settings.rdb_skip_unknown},
              *this),
      batch_(keyspace) {
  context_.make_lock = MakePlainLock;
}

RdbFileReader::State RdbBase::Step() {
  const RdbFileReader::State state = reader_.Step();
  if (state != RdbFileReader::State::kMore) {
    PutKeys();
    ExpectNoMore();
  }
  if (!error_.empty()) return RdbFileReader::State::kFault;
  if (state == RdbFileReader::State::kFault) error_ = reader_.error();
  return state;
}

std::string RdbBase::Key(RdbFileKey& key) {
  if (key.value.is_lock()) {
    PutKeys();
    return options_.keeps_locks ? std::string() : RestoreLock(key);
  }
  if (key.value.Ended(context_.now)) return {};
  if (options_.drops_ended && key.deadline.Passed(present_)) {
    ++ended_;
    if (!options_.keeps_ended_of_streams || !stream_.position()) return {};
    ++kept_ended_;
  }
  batch_.Add();
  if (batch_.full()) PutKeys();
  return {};
}

void RdbBase::PutKeys() {
  batch_.PutAll([this](Database& db, HashedKey name, RdbFileKey& key) {
    if (!error_.empty()) return false;
    if (Put(db, name, key)) return true;
    error_ = Concat("offset ", key.offset, ": ", RdbKeyFault(key, kTwice));
    return false;
  });
}

// False: the key was there already, which is told without a look-up of its own.
bool RdbBase::Put(Database& db, HashedKey name, RdbFileKey& key) {
  const size_t before = db.size();
  Entry& entry = PutRdbValue(db, name, std::move(key.value), key.deadline, context_.now);
  if (db.size() == before && !options_.merges) return false;
  if (db.counts_accesses()) {
    if (key.frequency) db.SetAccessCounter(entry, *key.frequency, context_.now);
  } else if (key.idle_s) {
    const int64_t used_s = db.AccessClock(context_.now) - static_cast<int64_t>(*key.idle_s);
    db.SetAccessClock(entry, static_cast<uint32_t>(used_s));
  }
  ++keys_;
  return true;
}

// The file says how many keys follow, and may lie: no more than what is left of it can hold, if the
// keys are of ordinary length.
void RdbBase::SizeHint(uint64_t db, uint64_t keys, uint64_t /*with_deadline*/) {
  constexpr uint64_t kKeyBytes = 16;
  const uint64_t most = (bytes_ - std::min(bytes_, reader_.offset())) / kKeyBytes;
  keyspace_.db(static_cast<int>(db)).Expect(std::min(keys, most));
}

void RdbBase::ExpectNoMore() {
  for (int db = 0; db < keyspace_.databases(); ++db) {
    if (keyspace_.made(db)) keyspace_.db(db).ExpectNoMore();
  }
}

// An empty value is no key, and needs no word. Names of modules are the file's: of few of them each
// is counted by itself.
void RdbBase::LeftOut(const RdbLeftOut& what) {
  if (what.module.empty()) return;
  std::string name = Concat(QuotedWord(what.module), what.key ? "" : " (data beside keys)");
  const bool is_named = unknown_.size() < kModulesMax || unknown_.contains(name);
  ++unknown_[is_named ? std::move(name) : std::string("others")];
}

void RdbBase::Mended(const RdbFileKey& key, std::string_view what) {
  if (++mended_keys_ > kMendedMax) return;
  mended_.push_back(RdbKeyFault(
      key, Concat("what it says of itself did not fit its content and was mended: ", what)));
}

std::vector<std::string> RdbBase::Notes() const {
  std::vector<std::string> notes = mended_;
  if (mended_keys_ > notes.size()) {
    notes.push_back(Concat(mended_keys_ - notes.size(), " more keys were mended"));
  }
  std::string text;
  for (const auto& [module, count] : unknown_) {
    ConcatTo(text, text.empty() ? "" : ", ", count, " of ", module);
  }
  if (text.empty()) return notes;
  notes.push_back(Concat("values of unknown modules were left out: ", text, " (rdb-skip-unknown)"));
  return notes;
}

// As a log would: a lock that is held is more than a value.
std::string RdbBase::RestoreLock(const RdbFileKey& key) {
  const auto& lock = static_cast<const Lock&>(*key.value.value);
  std::string fault;
  Database& db = keyspace_.db(static_cast<int>(key.db));
  if (db.Find(keyspace_.Hash(key.name), context_.now)) return std::string(kTwice);
  for (const LockHolder& holder : lock.holders()) {
    TellHolder({static_cast<int>(key.db), key.name}, lock, holder, context_.now, [&](Args words) {
      if (fault.empty()) fault = player_.PlayWords(static_cast<int>(key.db), words);
    });
  }
  ++keys_;
  return fault;
}

std::string RdbBase::Function(std::string_view code) {
  PutKeys();
  const std::string_view replaces[] = {"FUNCTION", "LOAD", "REPLACE", code};
  const std::string_view adds[] = {"FUNCTION", "LOAD", code};
  return options_.merges ? player_.PlayWords(0, replaces) : player_.PlayWords(0, adds);
}

// --- AUX fields (snapshot_writer.h)

std::string RdbBase::Aux(std::string_view name, std::string_view value) {
  PutKeys();
  if (name == kRdbSkewField) return TakeSkew(value);
  if (name == kRdbClockField) return TakeClock(value);
  stream_.Take(name, value);
  return name == kRdbCommandsField ? PlayCommands(value) : std::string();
}

std::string RdbBase::TakeSkew(std::string_view value) {
  const std::optional<int64_t> skew_ms = ParseInt64(value);
  if (!skew_ms || *skew_ms > kLogMomentMsMax || *skew_ms < -kLogMomentMsMax)
    return "it names no clock";
  skew_ms_ = *skew_ms;
  return {};
}

std::string RdbBase::TakeClock(std::string_view value) {
  int64_t numbers[3];
  for (int64_t& number : numbers) {
    const size_t space = value.find(' ');
    const std::optional<int64_t> parsed = ParseInt64(value.substr(0, space));
    if (space == std::string_view::npos || !parsed || *parsed > kLogMomentMsMax ||
        *parsed < -kLogMomentMsMax)
      return "it names no clock";
    number = *parsed;
    value.remove_prefix(space + 1);
  }
  if (keys_ == 0) {  // those before would be of another clock
    context_.now = player_.FollowClock({numbers[0], numbers[1], skew_ms_}, numbers[2], value);
    present_ = player_.Present();
  }
  return {};
}

std::string RdbBase::PlayCommands(std::string_view requests) {
  RequestParser parser;
  ArgumentList words;
  int db = 0;
  while (!requests.empty()) {
    words.Clear();
    if (parser.Next(requests, {}, words) != ParseStatus::kRequest || words.empty())
      return "it holds no requests";
    requests.remove_prefix(parser.consumed());
    const std::optional<int64_t> selected =
        words[0] == "SELECT" && words.size() == 2 ? ParseInt64(words[1]) : std::nullopt;
    if (selected && *selected >= 0 && *selected < keyspace_.databases()) {
      db = static_cast<int>(*selected);
    } else if (words[0] != "LIMIT.POLICY" && words[0] != "LOCK.RESTORE" &&
               words[0] != "REQUEST.REMEMBER") {
      return Concat("it may not hold ", QuotedWord(words[0]));
    } else if (std::string fault = player_.PlayWords(db, words); !fault.empty()) {
      return fault;
    }
  }
  return {};
}

}  // namespace sluice
