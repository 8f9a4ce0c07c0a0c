// See openssl.h. A library's name has the number that its interface is kept under. A program
// without shared libraries (SLUICE_STATIC) has OpenSSL inside, and loads none of the modules that
// the machine's openssl.cnf names.
#include "server/net/tls/openssl.h"

#include <dlfcn.h>

#include <cstdint>
#include <iterator>

#include "protocol/text/concat.h"

namespace sluice {

#ifdef SLUICE_STATIC

const OpenSsl& openssl() {
  static const OpenSsl linked = [] {
    OpenSsl functions;
    ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
#define SLUICE_TAKE(library, name) functions.name = &::name;
    SLUICE_OPENSSL_FUNCTIONS(SLUICE_TAKE)
#undef SLUICE_TAKE
    return functions;
  }();
  return linked;
}

#else

namespace {

enum Library : uint8_t { kCrypto, kSsl };

#define SLUICE_NAME_OF(version) "." #version
#define SLUICE_NAME(version) SLUICE_NAME_OF(version)
constexpr const char* kFiles[] = {"libcrypto.so" SLUICE_NAME(OPENSSL_SHLIB_VERSION),
                                  "libssl.so" SLUICE_NAME(OPENSSL_SHLIB_VERSION)};
#undef SLUICE_NAME
#undef SLUICE_NAME_OF

// The libraries, opened one after the other; what is missing is told of once.
class Finder {
 public:
  explicit Finder(std::string& fault) : fault_(fault) {
    for (size_t i = 0; i < std::size(kFiles); ++i) {
      libraries_[i] = ::dlopen(kFiles[i], RTLD_NOW | RTLD_LOCAL);
      if (libraries_[i] == nullptr && fault_.empty()) fault_ = Missing(::dlerror());
    }
  }
  template <typename Function>
  void Find(Library library, const char* name, Function& found) {
    if (!fault_.empty()) return;
    found = reinterpret_cast<Function>(::dlsym(libraries_[library], name));
    if (found == nullptr) fault_ = Missing(::dlerror());
  }

 private:
  static std::string Missing(const char* what) {
    return Concat("TLS needs the system's ", kFiles[kSsl], " and ", kFiles[kCrypto], ": ",
                  what ? what : "a function is missing");
  }

  std::string& fault_;
  void* libraries_[std::size(kFiles)] = {};
};

OpenSsl Load() {
  OpenSsl loaded;
  Finder finder(loaded.fault);
#define SLUICE_FIND(library, name) finder.Find(library, #name, loaded.name);
  SLUICE_OPENSSL_FUNCTIONS(SLUICE_FIND)
#undef SLUICE_FIND
  return loaded;
}

}  // namespace

const OpenSsl& openssl() {
  static const OpenSsl loaded = Load();
  return loaded;
}

#endif

std::string TakeOpenSslError() {
  char text[256];
  openssl().ERR_error_string_n(openssl().ERR_get_error(), text, sizeof text);
  openssl().ERR_clear_error();
  return text;
}

}  // namespace sluice
