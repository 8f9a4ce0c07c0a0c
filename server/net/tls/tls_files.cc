// See tls_files.h.
#include "server/net/tls/tls_files.h"

#include <sys/stat.h>

#include <utility>

namespace sluice {

bool TlsFiles::Look(const Settings& settings) {
  bool is_changed = false;
  std::map<std::string, State> now;
  for (const std::string* path :
       {&settings.tls_cert_file, &settings.tls_key_file, &settings.tls_ca_cert_file,
        &settings.tls_ca_cert_dir, &settings.tls_dh_params_file}) {
    const auto before = seen_.find(*path);
    struct stat file;
    if (path->empty()) continue;
    if (::stat(path->c_str(), &file) == 0) {
      constexpr int64_t kNanosPerSecond = 1'000'000'000;
      const State state{file.st_dev, file.st_ino, file.st_size,
                        file.st_mtim.tv_sec * kNanosPerSecond + file.st_mtim.tv_nsec};
      is_changed |= before != seen_.end() && before->second != state;
      now[*path] = state;
    } else if (before != seen_.end()) {
      now.insert(*before);
    }
  }
  seen_ = std::move(now);
  return is_changed;
}

}  // namespace sluice
