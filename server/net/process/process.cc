// See process.h.
#include "server/net/process/process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "protocol/text/concat.h"
#include "server/clients/process_services.h"

namespace sluice {
namespace {

int64_t Micros(const timeval& time) { return time.tv_sec * 1'000'000LL + time.tv_usec; }

int64_t ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (!file) return 0;
  long total = 0, resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

int64_t RaiseDescriptorLimit(int64_t wanted) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return wanted;
  if (static_cast<int64_t>(limit.rlim_cur) >= wanted) return static_cast<int64_t>(limit.rlim_cur);
  rlimit raised = limit;
  raised.rlim_cur = static_cast<rlim_t>(wanted);
  raised.rlim_max = std::max(limit.rlim_max, raised.rlim_cur);
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return wanted;
  raised = limit;
  raised.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(wanted));
  setrlimit(RLIMIT_NOFILE, &raised);
  return static_cast<int64_t>(raised.rlim_cur);
}

int64_t DescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return INT64_MAX;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX));
}

ProcessUsage ReadProcessUsage() {
  ProcessUsage usage;
  usage.resident_bytes = ResidentBytes();
  rusage process, thread;
  getrusage(RUSAGE_SELF, &process);
  getrusage(RUSAGE_THREAD, &thread);
  usage.resident_peak_bytes = process.ru_maxrss * 1024;
  usage.user_us = Micros(process.ru_utime);
  usage.system_us = Micros(process.ru_stime);
  usage.thread_user_us = Micros(thread.ru_utime);
  usage.thread_system_us = Micros(thread.ru_stime);
  return usage;
}

uint64_t MachineMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  return pages < 0 || page_bytes < 0
             ? 0
             : static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
}

Fault Daemonize() {
  const pid_t child = fork();
  if (child < 0) return Concat("can't go into the background: ", std::strerror(errno));
  if (child > 0) std::_Exit(0);
  setsid();
  const int null = ::open("/dev/null", O_RDWR);
  if (null < 0) return {};
  for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
  if (null > 2) ::close(null);
  return {};
}

Fault WritePidFile(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) return Concat("can't write the pid file '", path, "': ", std::strerror(errno));
  std::fprintf(file, "%d\n", getpid());
  std::fclose(file);
  return {};
}

}  // namespace sluice
