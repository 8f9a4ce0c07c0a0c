// See host_facts.h.
#include "server/embed/serving/host_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <string>

#include "protocol/text/concat.h"
#include "server/system/system_random.h"
#include "server/system/zone_files.h"

extern "C" int mi_version() __attribute__((weak));

namespace sluice {
namespace {

std::string ExecutablePath() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

std::string SystemName() {
  utsname name;
  if (uname(&name) < 0) return {};
  return Concat(name.sysname, ' ', name.release, ' ', name.machine);
}

// The program that links us may have put mimalloc in malloc's place.
std::string AllocatorName() {
  if (!mi_version) return "libc";
  const int version = mi_version();  // 209 is 2.0.9
  return Concat("mimalloc-", version / 100, '.', version / 10 % 10, '.', version % 10);
}

}  // namespace

EngineOptions HostFacts(const Settings& settings) {
  EngineOptions options;
  options.seed = settings.seed;
  if (settings.seed == 0) {
    options.seed = SystemRandom();
    options.hash_key = SipKey{SystemRandom(), SystemRandom()};
  }
  options.zones =
      std::make_shared<ZoneFiles>(settings.test_double ? kZonePatienceOfDoubles : kZonePatience);
  ProcessFacts process;
  process.executable = ExecutablePath();
  process.os = SystemName();
  process.allocator = AllocatorName();
  process.process_id = getpid();
  options.process = std::make_shared<const ProcessFacts>(std::move(process));
  return options;
}

}  // namespace sluice
