// A request of HTTP as its pages see it, and what they answer. No socket and no bytes of the
// protocol: those are server/net/http's.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

// All of it is the client's words, of bounded length; none is decoded.
struct HttpRequest {
  std::string method;         // "GET"
  std::string path;           // what stands before '?'
  std::string query;          // and behind it
  std::string host;           // the header, with its port; empty: there is none
  std::string authorization;  // likewise the others
  std::string accept;
  std::string origin;
  std::string fetch_site;  // Sec-Fetch-Site
  std::string page_token;  // X-Sluice-Token
  std::string content_type;
  std::string body;
  // The visitor's.
  std::string address;        // "127.0.0.1:54321"
  bool is_local = false;      // from this machine
  bool is_certified = false;  // has shown a client's certificate that was verified
};

// `body` is sent but for HEAD.
struct HttpAnswer {
  int status = 200;
  std::string_view type = "text/plain; charset=utf-8";  // a constant
  std::string body;
  std::vector<std::pair<std::string_view, std::string>> headers;  // besides those of each answer
};

// The words of a status line; for those that are answered here.
std::string_view HttpReason(int status);

// A sentence to read, with its line end.
HttpAnswer HttpSentence(int status, std::string_view sentence);

}  // namespace sluice
