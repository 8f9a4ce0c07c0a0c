// See readiness.h. A descriptor that is not open now could become one of our sockets later, so it
// is looked at, and copied, first of all.
#include "server/net/readiness.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "protocol/text/concat.h"

namespace sluice {
namespace {

// The reader may be gone already, which is no fault of ours: SIGPIPE is ignored by then.
void Say(int& descriptor, std::string_view line) {
  if (descriptor < 0) return;
  while (!line.empty()) {
    const ssize_t written = ::write(descriptor, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    line.remove_prefix(static_cast<size_t>(written));
  }
  ::close(std::exchange(descriptor, -1));
}

}  // namespace

Readiness::Readiness(const Settings& settings, bool has_predecessor) : path_(settings.port_file) {
  const auto given = static_cast<int>(settings.ready_fd);
  const bool wants_line =
      settings.ready_line == "yes" || (settings.ready_line == "auto" && settings.any_port);
  if (wants_line || given == STDOUT_FILENO) {
    log_output_ = stderr;
    if (!has_predecessor) Take(STDOUT_FILENO, "ready-line", line_);
  }
  if (given < 0 || given == STDOUT_FILENO || has_predecessor) return;
  Take(given, "ready-fd", descriptor_);
  if (given > STDERR_FILENO) ::close(given);  // who reads sees the end of it
}

void Readiness::Take(int given, std::string_view option, int& copy) {
  copy = ::fcntl(given, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (copy < 0)
    fault_ = Concat("can't use descriptor ", given, " (", option, "): ", std::strerror(errno));
}

Readiness::~Readiness() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (line_ >= 0) ::close(line_);
  if (has_file_) ::unlink(path_.c_str());
}

Fault Readiness::Tell(const std::string& address, int port) {
  Fault fault = path_.empty() ? Fault() : WriteFile(port);
  const std::string line = Concat("ready on ", address, '\n');
  Say(line_, line);
  Say(descriptor_, line);
  return fault;
}

Fault Readiness::WriteFile(int port) {
  const std::string beside = Concat(path_, ".temp-", getpid());
  std::FILE* const file = std::fopen(beside.c_str(), "we");
  const bool is_written = file && std::fprintf(file, "%d\n", port) > 0;
  const bool is_closed = file && std::fclose(file) == 0;
  if (is_written && is_closed && std::rename(beside.c_str(), path_.c_str()) == 0) {
    has_file_ = true;
    return {};
  }
  const std::string why = std::strerror(errno);
  if (file) ::unlink(beside.c_str());
  return Concat("can't write the port file '", path_, "': ", why);
}

}  // namespace sluice
