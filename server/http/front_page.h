// FrontPage: the page at "/": one file of HTML with its style and script inside, made from the
// sources in server/http/page/ when the server is built (cmake/page.cmake).
//
// Its policy (Content-Security-Policy) lets a browser run this script and use this style, by their
// hashes, and nothing else: what a name of a key might smuggle in does not run, and the page talks
// to this server alone.
#pragma once

#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace sluice {

// The file. The definition is made by the build.
extern const std::string_view kPageText;

class FrontPage {
 public:
  FrontPage();
  HttpAnswer Answer() const;
  const std::string& policy() const { return policy_; }

 private:
  std::string policy_;
};

}  // namespace sluice
