// See zone_files.h. abseil remembers each name that it was ever asked for, and takes paths: so it
// is asked only for names that stay in the folder, and of which there is a file that looks sound.
#include "server/system/zone_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/time/time.h"

namespace sluice {
namespace {

class FileRules final : public ZoneRules {
 public:
  explicit FileRules(absl::TimeZone zone) : zone_(zone) {}

  absl::CivilSecond LocalAt(int64_t unix_s) const override {
    return zone_.At(absl::FromUnixSeconds(unix_s)).cs;
  }
  // `pre` is by the clocks before they were set: the first of two, and it lies behind what they go
  // over.
  int64_t FirstAt(absl::CivilSecond local) const override {
    const absl::TimeZone::TimeInfo info = zone_.At(local);
    const bool is_skipped = info.kind == absl::TimeZone::TimeInfo::SKIPPED;
    return absl::ToUnixSeconds(is_skipped ? info.trans : info.pre);
  }
  std::optional<int64_t> NextChange(int64_t unix_s) const override {
    absl::TimeZone::CivilTransition change;
    if (!zone_.NextTransition(absl::FromUnixSeconds(unix_s), &change)) return std::nullopt;
    // The clocks show that time once, or for the second time.
    const absl::TimeZone::TimeInfo info = zone_.At(change.to);
    const bool is_repeated = info.kind == absl::TimeZone::TimeInfo::REPEATED;
    return absl::ToUnixSeconds(is_repeated ? info.trans : info.pre);
  }

 private:
  const absl::TimeZone zone_;
};

// Words of letters, digits, '_', '+' and '-' with '/' between: no way out of the folder.
bool IsName(std::string_view name) {
  const bool is_plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_+-/").find(c) != std::string_view::npos;
  });
  return is_plain && !name.empty() && name.front() != '/' && name.back() != '/';
}

// The number of bytes that a header of a zone file promises behind itself, for times of `width`;
// -1: it is none.
int64_t PromisedBytes(std::string_view header, int64_t width) {
  if (!header.starts_with("TZif")) return -1;
  const auto count = [&](size_t place) {
    int64_t number = 0;
    for (size_t i = 0; i < 4; ++i)
      number = number * 256 + static_cast<uint8_t>(header[20 + 4 * place + i]);
    return number;
  };
  enum : size_t { kUtcMarks, kStandardMarks, kLeaps, kTimes, kTypes, kLetters };
  return count(kTimes) * (width + 1) + count(kTypes) * 6 + count(kLetters) +
         count(kLeaps) * (width + 4) + count(kStandardMarks) + count(kUtcMarks);
}

// abseil makes room for what a header promises before it reads: so that must be there. A file has
// one part with times of 32 bits, and from version 2 on another, with 64, behind it.
bool KeepsItsPromises(std::string_view file) {
  constexpr size_t kHeaderBytes = 44;
  constexpr size_t kVersionAt = 4;
  for (const int64_t width : {4, 8}) {
    if (file.size() < kHeaderBytes) return false;
    const int64_t promised = PromisedBytes(file.substr(0, kHeaderBytes), width);
    const size_t behind = file.size() - kHeaderBytes;
    if (promised < 0 || static_cast<uint64_t>(promised) > behind) return false;
    if (file[kVersionAt] == '\0') return true;
    file.remove_prefix(kHeaderBytes + static_cast<size_t>(promised));
  }
  return true;
}

// A pipe opens at once, and is refused; a file of any size is read up to the bound.
bool HasFile(std::string_view name) {
  const char* const folder = std::getenv("TZDIR");
  std::string path = folder && *folder ? folder : "/usr/share/zoneinfo";
  path.append("/").append(name);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  struct stat facts = {};
  std::string bytes;
  if (::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
      facts.st_size <= static_cast<off_t>(kZoneFileBytesMax)) {
    bytes.resize(static_cast<size_t>(facts.st_size));
    const ssize_t got = ::read(descriptor, bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  }
  ::close(descriptor);
  return KeepsItsPromises(bytes);
}

std::unique_ptr<ZoneRules> ReadRules(const std::string& name) {
  absl::TimeZone zone;
  if (!HasFile(name) || !absl::LoadTimeZone(name, &zone)) return nullptr;
  return std::make_unique<FileRules>(zone);
}

// False: the system has no thread to give. Signals are the loop's.
bool StartThread(std::function<void()> work) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace

class ZoneFiles::Reading {
 public:
  explicit Reading(std::string_view name) : name_(name) {}

  const std::string& name() const { return name_; }
  // The thread's.
  void Run() {
    std::unique_ptr<ZoneRules> rules = ReadRules(name_);
    const std::lock_guard lock(mutex_);
    rules_ = std::move(rules);
    is_finished_ = true;
    finished_.notify_one();
  }
  // Whether it is finished by then.
  bool Await(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return finished_.wait_for(lock, patience, [this] { return is_finished_; });
  }
  // Requires: it is finished. Null: there is no such zone.
  std::unique_ptr<ZoneRules> TakeRules() { return std::move(rules_); }

 private:
  const std::string name_;
  std::mutex mutex_;  // of all below
  std::condition_variable finished_;
  bool is_finished_ = false;
  std::unique_ptr<ZoneRules> rules_;
};

// A zone that was not there in time is not waited for again, and the next is read after it.
ZoneSource::Answer ZoneFiles::Read(std::string_view name) {
  if (!IsName(name)) return {};
  const bool is_other = !reading_ || reading_->name() != name;
  if (is_other && reading_ && !reading_->Await(std::chrono::milliseconds(0)))
    return {ZoneFound::kNotYet, nullptr};
  if (is_other) {
    reading_ = std::make_shared<Reading>(name);
    if (!StartThread([reading = reading_] { reading->Run(); })) {
      reading_ = nullptr;
      return {ZoneFound::kNotYet, nullptr};
    }
  }
  if (!reading_->Await(is_other ? patience_ : std::chrono::milliseconds(0)))
    return {ZoneFound::kNotYet, nullptr};
  std::unique_ptr<ZoneRules> rules = reading_->TakeRules();
  reading_ = nullptr;
  return {rules ? ZoneFound::kHere : ZoneFound::kNone, std::move(rules)};
}

}  // namespace sluice
