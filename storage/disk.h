// Disk: files as everything below server/net sees them, so that a test can use memory, refuse a
// write, break off in the middle of one, or lose what was not synced.
//
// Functions answer 0 or an errno value; paths are the system's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// An open file; its destructor closes it. A worker thread may append to one and sync it while the
// thread that opened it does nothing with it.
class DiskFile {
 public:
  virtual ~DiskFile() = default;
  // At the end of the file. `written` is how much got there, which after a fault may be some.
  virtual int Append(std::string_view bytes, size_t& written) = 0;
  // `got` is how much was read: less than asked only at the end of the file.
  virtual int ReadAt(uint64_t offset, std::span<char> into, size_t& got) = 0;
  virtual int Truncate(uint64_t bytes) = 0;
  // On return all that was written is durable. After a fault no part of it may count as that.
  virtual int Sync() = 0;
  virtual int Size(uint64_t& bytes) = 0;
  // Until the file is closed no other process gets it. EWOULDBLOCK: another has it.
  virtual int Lock() = 0;
};

// Which file or folder a path names, and when it was written last. Device and number stay the same
// while it is there; while a file is open no other has the same, later another may.
struct DiskIdentity {
  uint64_t device = 0;
  uint64_t number = 0;
  uint64_t bytes = 0;
  int64_t written_ns = 0;  // Unix time, as the system notes it
  bool IsSameFile(const DiskIdentity& other) const {
    return device == other.device && number == other.number;
  }
  // The same file, and not written since.
  bool operator==(const DiskIdentity&) const = default;
};

// Where the file of this path is: "." if the path has no folder.
inline std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The server's is in server/system/system_disk.h; tests have one in memory that can fail on demand.
class Disk {
 public:
  enum class Mode : uint8_t {
    kRead,      // regular files only
    kAppend,    // made if it is missing
    kAppendOwn  // the same; ELOOP where the last name is a symbolic link
  };
  static constexpr size_t kReadBytesMax = 64 * 1024 * 1024;

  virtual ~Disk() = default;
  virtual int Open(const std::string& path, Mode mode, std::unique_ptr<DiskFile>& file) = 0;
  virtual int Rename(const std::string& from, const std::string& to) = 0;
  virtual int Remove(const std::string& path) = 0;
  // A folder that is there already is no fault.
  virtual int MakeFolder(const std::string& path) = 0;
  // ENOENT: there is nothing of that name.
  virtual int Identify(const std::string& path, DiskIdentity& identity) = 0;
  // Makes the names of files that were made, renamed or removed in it durable.
  virtual int SyncFolder(const std::string& path) = 0;
  // The whole file into `bytes`. EISDIR for a directory, EINVAL for a pipe or device, EFBIG for
  // more than kReadBytesMax: it never waits, and never takes all memory.
  virtual int Read(const std::string& path, std::string& bytes) = 0;
  // Makes `bytes` the file's content: after a crash it is the old or the new one, and on return the
  // new one is durable. Permissions of an old file are kept.
  virtual int Replace(const std::string& path, std::string_view bytes) = 0;
  // The paths that the shell's pattern matches, sorted; none is no error.
  virtual std::vector<std::string> Match(const std::string& pattern) = 0;
  // Independent of later changes of the working directory.
  virtual std::string Absolute(const std::string& path) = 0;
  // How many bytes can still be written into this folder, as far as the system knows. It may wait
  // for the disk.
  virtual int Room(const std::string& folder, uint64_t& bytes) = 0;
};

}  // namespace sluice
