// See front_page.h.
#include "server/http/front_page.h"

#include <cassert>

#include "protocol/text/concat.h"
#include "server/http/text/base64.h"
#include "storage/hashing/sha.h"

namespace sluice {
namespace {

// The text between the only pair of such tags.
std::string_view Inside(std::string_view page, std::string_view begin, std::string_view end) {
  const size_t from = page.find(begin);
  const size_t to = page.find(end, from);
  assert(from != page.npos && to != page.npos && page.find(begin, to) == page.npos);
  return page.substr(from + begin.size(), to - from - begin.size());
}

std::string HashSource(std::string_view text) {
  const auto digest = Sha256(text);
  const std::string bytes(digest.begin(), digest.end());
  return Concat("'sha256-", ToBase64(bytes), "'");
}

}  // namespace

FrontPage::FrontPage()
    : policy_(Concat("default-src 'none'; script-src ",
                     HashSource(Inside(kPageText, "<script>", "</script>")), "; style-src ",
                     HashSource(Inside(kPageText, "<style>", "</style>")),
                     "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                     "frame-ancestors 'none'; require-trusted-types-for 'script'; "
                     "trusted-types 'none'")) {}

HttpAnswer FrontPage::Answer() const {
  return {.type = "text/html; charset=utf-8",
          .body = std::string(kPageText),
          .headers = {{"Content-Security-Policy", policy_},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"}}};
}

}  // namespace sluice
