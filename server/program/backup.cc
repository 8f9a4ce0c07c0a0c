// See backup.h.
#include "server/program/backup.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "protocol/text/concat.h"
#include "protocol/text/info_field.h"
#include "server/net/redis_link.h"
#include "server/program/full_sync.h"
#include "server/program/top/safe_text.h"
#include "server/program/top/terminal.h"
#include "storage/log/rdb_source.h"
#include "storage/rdb/crc64.h"

namespace sluice {
namespace {

constexpr int kPollMs = 100;
// A scheduled save begins within a second or so of the end of what it waits for.
constexpr int kIdleLooksMax = 30;
constexpr size_t kPieceBytes = 1024 * 1024;
constexpr uint64_t kFooterBytes = 8;
constexpr int kReadsMax = 3;  // of a file that other saves replace

// Which file stands under a name.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;
  timespec changed = {};
  static Identity Of(const std::string& path) {
    struct stat about;
    if (::stat(path.c_str(), &about) != 0) return {};
    return {about.st_dev, about.st_ino, about.st_ctim};
  }
  bool operator==(const Identity& other) const {
    return device == other.device && inode == other.inode &&
           changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
  }
};

// The server's part. Each function answers a sentence why not, or nothing.
class Saver {
 public:
  explicit Saver(const BackupOrder& order) : order_(order), link_(order.tls) {}

  std::string Connect() { return LogIn(link_, order_); }

  // Where it saves to.
  std::string FindPath(std::string& path) {
    std::string dir, name;
    if (std::string fault = GetOption("dir", dir); !fault.empty()) return fault;
    if (std::string fault = GetOption("dbfilename", name); !fault.empty()) return fault;
    path = Concat(dir, '/', name);
    return {};
  }

  RedisLink& link() { return link_; }

  // One that begins now. Another that runs already is waited for.
  std::string Save() {
    State before;
    while (true) {
      if (std::string fault = Look(before); !fault.empty()) return fault;
      const std::optional<Reply> reply = link_.Call({"BGSAVE", "SCHEDULE"});
      if (!reply) return Concat(order_.server, ": ", link_.fault());
      if (reply->kind != Reply::Kind::kError) break;
      if (!before.saving && reply->text.find("already in progress") == std::string::npos)
        return Concat(order_.server, ": BGSAVE is refused: ", reply->text);
      ::poll(nullptr, 0, kPollMs);
    }
    return AwaitSave(before.saves);
  }

 private:
  struct State {
    bool saving = false;
    std::string saves;
    bool waits = false;  // for the log to be written anew
    bool failed = false;
  };

  std::string GetOption(std::string_view option, std::string& value) {
    const std::optional<Reply> reply = link_.Call({"CONFIG", "GET", option});
    if (!reply) return Concat(order_.server, ": ", link_.fault());
    if (reply->kind == Reply::Kind::kError) return Concat(order_.server, ": ", reply->text);
    if (reply->elements.size() != 2 || reply->elements[1].text.empty())
      return Concat(order_.server, ": does not say where it saves to (CONFIG GET ", option, ")");
    value = reply->elements[1].text;
    return {};
  }

  std::string Look(State& state) {
    const std::optional<Reply> reply = link_.Call({"INFO", "persistence"});
    if (!reply) return Concat(order_.server, ": ", link_.fault());
    if (reply->kind == Reply::Kind::kError) return Concat(order_.server, ": ", reply->text);
    state.saving = InfoField(reply->text, "rdb_bgsave_in_progress") == "1";
    state.waits = InfoField(reply->text, "aof_rewrite_in_progress") == "1";
    state.failed = InfoField(reply->text, "rdb_last_bgsave_status") == "err";
    state.saves = InfoField(reply->text, "rdb_saves");
    if (state.saves.empty())
      return Concat(order_.server, ": its INFO has no rdb_saves: it is older than Redis 7");
    return {};
  }

  // Redis counts a save when it begins, Sluice when it is done: both have it when none runs any
  // more.
  std::string AwaitSave(const std::string& saves_before) {
    int idle = 0;
    for (State state; idle < kIdleLooksMax; ::poll(nullptr, 0, kPollMs)) {
      if (std::string fault = Look(state); !fault.empty()) return fault;
      const bool is_over = !state.saving && !state.waits;
      if (is_over && state.saves != saves_before && !state.failed) return {};
      if (is_over && state.saves != saves_before) break;
      idle = is_over ? idle + 1 : 0;
    }
    return Concat(order_.server,
                  ": its snapshot could not be saved: the log of the server says why");
  }

  const BackupOrder& order_;
  RedisLink link_;
};

// The file that the server has saved, read over the connection (SLUICE.SNAPSHOT). Another save may
// replace it meanwhile: then reading fails, and what was read is to be given up.
class RemoteSnapshot final : public DiskFile {
 public:
  RemoteSnapshot(RedisLink& link, const std::string& server) : link_(link), server_(server) {}

  // A sentence why the server does not hand it out, or empty.
  std::string Begin() {
    std::string piece;
    mark_.clear();
    was_replaced_ = false;
    return Ask(0, 1, piece) ? std::string() : fault_;
  }
  bool was_replaced() const { return was_replaced_; }
  const std::string& fault() const { return fault_; }

  // --- DiskFile
  int Size(uint64_t& bytes) override { return bytes = size_, 0; }
  int ReadAt(uint64_t offset, std::span<char> into, size_t& got) override {
    std::string piece;
    if (!Ask(offset, into.size(), piece)) return EIO;
    got = piece.copy(into.data(), into.size());
    return 0;
  }
  int Append(std::string_view, size_t&) override { return EROFS; }
  int Truncate(uint64_t) override { return EROFS; }
  int Sync() override { return EROFS; }
  int Lock() override { return EROFS; }

 private:
  bool Fail(std::string_view why) {
    fault_ = Concat(server_, ": ", why);
    return false;
  }
  bool Ask(uint64_t offset, size_t bytes, std::string& piece) {
    const std::optional<Reply> reply =
        link_.Call({"SLUICE.SNAPSHOT", Concat(offset), Concat(bytes)});
    if (!reply) return Fail(link_.fault());
    if (reply->kind == Reply::Kind::kError) return Fail(reply->text);
    const bool is_sound = reply->elements.size() == 3 && !reply->elements[0].text.empty() &&
                          reply->elements[1].integer >= 0 &&
                          reply->elements[2].text.size() <= bytes;
    if (!is_sound) return Fail("its answer to SLUICE.SNAPSHOT is none");
    if (mark_.empty()) {
      mark_ = reply->elements[0].text;
      size_ = static_cast<uint64_t>(reply->elements[1].integer);
    }
    was_replaced_ = mark_ != reply->elements[0].text ||
                    size_ != static_cast<uint64_t>(reply->elements[1].integer);
    if (was_replaced_) return Fail("its snapshot was replaced while it was read");
    piece = reply->elements[2].text;
    return true;
  }

  RedisLink& link_;
  const std::string& server_;
  std::string mark_;  // of the file that is read; empty: not known yet
  uint64_t size_ = 0;
  bool was_replaced_ = false;
  std::string fault_;
};

// Copies an RDB file and compares its checksum on the way.
class Copy {
 public:
  Copy(Disk& disk, const std::string& from, const std::string& to)
      : disk_(disk), from_(from), to_(to) {}

  // A sentence, or nothing. `bytes` of the file.
  std::string Run(DiskFile& source, uint64_t& bytes) {
    const std::string temporary = Concat(to_, ".temp-", int64_t{::getpid()});
    std::string fault = Write(source, temporary, bytes);
    int named = 0;
    if (fault.empty()) named = disk_.Rename(temporary, to_);
    if (fault.empty() && named == 0) named = disk_.SyncFolder(FolderOf(to_));
    if (named != 0) fault = Concat(to_, ": cannot be made: ", std::strerror(named));
    if (!fault.empty()) disk_.Remove(temporary);
    return fault;
  }

 private:
  std::string Write(DiskFile& source, const std::string& temporary, uint64_t& bytes) {
    if (const int fault = source.Size(bytes)) return Concat(from_, ": ", std::strerror(fault));
    std::unique_ptr<DiskFile> target;
    int fault = disk_.Open(temporary, Disk::Mode::kAppend, target);
    if (fault == 0) fault = target->Truncate(0);
    if (fault != 0) return Concat(temporary, ": cannot be made: ", std::strerror(fault));
    std::vector<char> piece(kPieceBytes);
    uint64_t crc = 0;
    uint64_t footer = 0;
    for (uint64_t at = 0; at < bytes;) {
      size_t got = 0;
      fault = source.ReadAt(at, piece, got);
      if (fault != 0 || got == 0) return Concat(from_, ", offset ", at, ": cannot be read on");
      const std::string_view read(piece.data(), got);
      if (at == 0 && !BeginsAsRdb(read)) return Concat(from_, ": is no RDB file");
      size_t written = 0;
      if (const int unwritten = target->Append(read, written))
        return Concat(temporary, ": cannot be written: ", std::strerror(unwritten));
      const uint64_t body = bytes < kFooterBytes ? 0 : bytes - kFooterBytes;
      for (size_t i = body > at ? std::min<uint64_t>(body - at, got) : 0; i < got; ++i)
        footer = footer >> 8 | uint64_t{static_cast<uint8_t>(read[i])} << 56;
      if (at < body) crc = Crc64(read.substr(0, std::min<uint64_t>(body - at, got)), crc);
      at += got;
    }
    if (footer != 0 && footer != crc)
      return Concat(from_, ": its checksum is wrong: see sluice --check-rdb");
    if (const int unsynced = target->Sync())
      return Concat(temporary, ": cannot be synced: ", std::strerror(unsynced));
    return {};
  }

  Disk& disk_;
  const std::string from_;
  const std::string to_;
};

// Why the file of that name here is none that the server has just saved; empty: it is.
std::string WhyNotHere(Disk& disk, const std::string& path, const Identity& before,
                       std::unique_ptr<DiskFile>& source) {
  if (const int unopened = disk.Open(path, Disk::Mode::kRead, source))
    return Concat("here that cannot be opened: ", std::strerror(unopened));
  return Identity::Of(path) == before ? "the file of that name here has stayed what it was" : "";
}

// The image that the server sends a replica, as a file. Its copy is what is durable and proved.
std::string CopyOfSync(const BackupOrder& order, RedisLink& link, Disk& disk, uint64_t& bytes) {
  const std::string received = Concat(order.file, ".sync-", int64_t{::getpid()});
  const absl::Cleanup remove = [&] { disk.Remove(received); };
  std::unique_ptr<DiskFile> file;
  int fault = disk.Open(received, Disk::Mode::kAppend, file);
  if (fault == 0) fault = file->Truncate(0);
  if (fault != 0) return Concat(received, ": cannot be made: ", std::strerror(fault));
  if (Fault untaken = FetchFullSync(link, order.server, *file, bytes)) return untaken;
  if (const int unread = disk.Open(received, Disk::Mode::kRead, file))
    return Concat(received, ": ", std::strerror(unread));
  return Copy(disk, Concat(order.server, ", its data"), order.file).Run(*file, bytes);
}

// From another machine, or as a user who may not read the server's files.
std::string CopyFromAfar(const BackupOrder& order, RedisLink& link, const std::string& path,
                         Disk& disk, std::string_view why_not_here, uint64_t& bytes) {
  RemoteSnapshot source(link, order.server);
  Copy copy(disk, Concat(order.server, ", ", path), order.file);
  std::string fault;
  for (int tries = 0; tries < kReadsMax; ++tries) {
    if (const std::string unheard = source.Begin(); !unheard.empty()) {
      fault = CopyOfSync(order, link, disk, bytes);
      if (fault.empty()) return {};
      return Concat(order.server, " has saved ", path, ", but ", why_not_here,
                    ", it does not hand ", "it out (", unheard,
                    "), nor does it send its data as to a replica (", fault,
                    "): run this on the machine of the server, as a user who may read the file");
    }
    fault = copy.Run(source, bytes);
    if (!source.was_replaced()) break;
  }
  return fault.empty() || source.fault().empty() ? fault : source.fault();
}

}  // namespace

Fault LogIn(RedisLink& link, const BackupOrder& order) {
  if (Fault fault = link.Connect(order.server)) return fault;
  if (order.password.empty()) return {};
  const std::optional<Reply> reply = order.user.empty()
                                         ? link.Call({"AUTH", order.password})
                                         : link.Call({"AUTH", order.user, order.password});
  if (!reply) return Concat(order.server, ": ", link.fault());
  if (reply->kind == Reply::Kind::kError) return Concat(order.server, ": ", reply->text);
  return {};
}

Fault FetchBackup(const BackupOrder& order, Disk& disk, std::string& done) {
  Saver saver(order);
  std::string path;
  if (std::string fault = saver.Connect(); !fault.empty()) return fault;
  if (std::string fault = saver.FindPath(path); !fault.empty()) return fault;
  const Identity before = Identity::Of(path);
  if (std::string fault = saver.Save(); !fault.empty()) return fault;
  std::unique_ptr<DiskFile> source;
  uint64_t bytes = 0;
  const std::string why = WhyNotHere(disk, path, before, source);
  std::string fault = why.empty() ? Copy(disk, path, order.file).Run(*source, bytes)
                                  : CopyFromAfar(order, saver.link(), path, disk, why, bytes);
  if (!fault.empty()) return fault;
  done = Concat(order.file, ": ", bytes, " bytes, as ", order.server, " has saved them to ", path);
  return {};
}

int Backup(const BackupOrder& order, Disk& disk, std::FILE* out, std::FILE* errors) {
  std::string done;
  const std::string fault = FetchBackup(order, disk, done);
  const std::string said = HarmlessLine(fault.empty() ? done : fault, TextOfTerminal());
  std::fprintf(fault.empty() ? out : errors, "%s%s\n",
               fault.empty() ? "" : "sluice: ", said.c_str());
  return fault.empty() ? 0 : 1;
}

}  // namespace sluice
