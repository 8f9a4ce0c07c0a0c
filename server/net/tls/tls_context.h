// TlsContext: what all TLS connections of a server have in common: certificate, key, the
// authorities of clients, protocols and ciphers, as the options tls-* say.
//
//   TlsContext context;
//   if (std::string fault = context.Load(settings); !fault.empty()) ...   // the one before stays
//   TlsStream stream(*context.get(), wire, descriptor);
//
// A connection keeps the context that it began with, so files can be loaded anew at any time. A
// session of an older one is not resumed under a new one: its keys for tickets are new.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "protocol/text/fault.h"
#include "server/config/settings.h"

namespace sluice {

class TlsContext {
 public:
  // Reads the files that the options name. A sentence, as Redis's log has it, or empty.
  Fault Load(const Settings& settings);
  bool is_loaded() const { return context_ != nullptr; }
  ssl_ctx_st* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

}  // namespace sluice
