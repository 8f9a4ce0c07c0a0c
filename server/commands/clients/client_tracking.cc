// CLIENT TRACKING, CACHING, TRACKINGINFO and GETREDIR: what a client asks of client-side caching.
// server/notify/tracking.h keeps track and tells the client.
//
//   > HELLO 3
//   > CLIENT TRACKING ON
//   > GET user:1                     remembered for this client
//   < invalidate ["user:1"]          a push, once another client has changed it

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "protocol/limits.h"
#include "protocol/text/concat.h"
#include "protocol/text/number_text.h"
#include "server/clients/clients.h"
#include "server/commands/clients/client_commands.h"
#include "server/commands/shared/option_table.h"
#include "server/dispatch/arg_reader.h"
#include "server/notify/tracking.h"

namespace sluice {
namespace {

// `call` is what REDIRECT looks its client up with.
struct TrackingRequest {
  const CommandCall& call;
  TrackingOptions options;
  std::vector<std::string_view> prefixes;
};

// The other client must be there now; if it leaves later, tracking goes on and is shown as broken.
void ReadRedirect(ArgReader& args, TrackingRequest& request) {
  TrackingOptions& options = request.options;
  if (options.redirect != 0) {
    return args.Fail("ERR A client can only redirect to a single other client");
  }
  const std::optional<int64_t> id = ParseInt64(args.Bytes());
  if (!id) return args.Fail(ErrorCode::kNotInteger);
  options.redirect = static_cast<uint64_t>(*id);
  if (!request.call.part<Clients>().FindClient(options.redirect)) {
    args.Fail("ERR The client ID you want redirect to does not exist");
  }
}

template <bool TrackingOptions::*kSwitch>
void SwitchOn(ArgReader&, TrackingRequest& request) {
  request.options.*kSwitch = true;
}

// CLIENT TRACKING ON | OFF [REDIRECT id] [PREFIX p ...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP].
constexpr OptionRow<TrackingRequest> kClientTrackingOptions[] = {
    {"REDIRECT", ReadRedirect, 1},
    {"PREFIX",
     [](ArgReader& args, TrackingRequest& request) { request.prefixes.push_back(args.Bytes()); },
     1},
    {"BCAST", SwitchOn<&TrackingOptions::broadcast>},
    {"OPTIN", SwitchOn<&TrackingOptions::opt_in>},
    {"OPTOUT", SwitchOn<&TrackingOptions::opt_out>},
    {"NOLOOP", SwitchOn<&TrackingOptions::no_loop>},
};

// False: the error has been answered. Options are read before the word ON or OFF is looked at, as
// in Redis.
bool ReadRequest(CommandCall& call, TrackingRequest& request) {
  ArgReader args(call.args, 3);
  ReadOptions(args, kClientTrackingOptions, request);
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// Whether the options go together and with what the client had before; else the reason.
std::string_view Clash(const TrackingRequest& request, const TrackingState* before) {
  const TrackingOptions& options = request.options;
  if (!options.broadcast && !request.prefixes.empty()) {
    return "ERR PREFIX option requires BCAST mode to be enabled";
  }
  if (before && before->options.broadcast != options.broadcast) {
    return "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and "
           "then re-enabling it with a different mode.";
  }
  if (options.broadcast && (options.opt_in || options.opt_out)) {
    return "ERR OPTIN and OPTOUT are not compatible with BCAST";
  }
  if (options.opt_in && options.opt_out)
    return "ERR You can't specify both OPTIN mode and OPTOUT mode";
  if (before && ((options.opt_in && before->options.opt_out) ||
                 (options.opt_out && before->options.opt_in))) {
    return "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and "
           "then re-enabling it with a different mode.";
  }
  return {};
}

// Whether a key could begin with both of them.
bool Overlap(std::string_view a, std::string_view b) {
  return a.starts_with(b) || b.starts_with(a);
}

// The first of the sorted `prefixes` that overlaps with `prefix`; null: none does. They don't
// overlap with each other, but for the empty one, which is there for "all keys" and overlaps with
// all.
const std::string* FindOverlap(const absl::btree_set<std::string>& prefixes,
                               std::string_view prefix) {
  if (prefixes.empty()) return nullptr;
  if (prefixes.begin()->empty()) return &*prefixes.begin();
  // Only the neighbours in order can overlap with it: one before that it begins with, one behind
  // that begins with it.
  const auto behind = prefixes.lower_bound(absl::string_view(prefix.data(), prefix.size()));
  if (behind != prefixes.begin() && prefix.starts_with(*std::prev(behind))) {
    return &*std::prev(behind);
  }
  return behind != prefixes.end() && behind->starts_with(prefix) ? &*behind : nullptr;
}

// The number of the first prefix that overlaps with any other; none: how many there are. Sorted,
// what lies inside a prefix follows it.
size_t FirstOverlapping(const std::vector<std::string_view>& prefixes) {
  std::vector<size_t> sorted(prefixes.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::stable_sort(sorted, {}, [&](size_t i) { return prefixes[i]; });
  struct Around {
    std::string_view prefix;
    size_t least;  // number of it and of those around it
  };
  size_t first = prefixes.size();
  std::vector<Around> around;  // the one at hand lies in all of them, each in the one before
  for (const size_t i : sorted) {
    // Prefixes that the one at hand does not lie in are closed: nothing that follows in order lies
    // in them either.
    while (!around.empty() && !prefixes[i].starts_with(around.back().prefix)) around.pop_back();
    const size_t least = around.empty() ? i : std::min(i, around.back().least);
    if (!around.empty()) first = std::min(first, least);
    around.push_back({prefixes[i], least});
  }
  return first;
}

// A client must not be told twice of one key: its prefixes may not lie inside each other. As Redis,
// which compares all with all, tells of the first such pair.
std::string Collision(const std::vector<std::string_view>& prefixes, const TrackingState* before) {
  constexpr std::string_view kEnd = "'. Prefixes for a single client must not overlap.";
  const size_t overlapping = FirstOverlapping(prefixes);
  for (size_t i = 0; i < prefixes.size(); ++i) {
    const std::string* const old = before ? FindOverlap(before->prefixes, prefixes[i]) : nullptr;
    if (old) {
      return Concat("ERR Prefix '", prefixes[i], "' overlaps with an existing prefix '", *old,
                    kEnd);
    }
    if (i != overlapping) continue;
    const auto other =
        std::find_if(prefixes.begin() + static_cast<ptrdiff_t>(i) + 1, prefixes.end(),
                     [&](std::string_view prefix) { return Overlap(prefixes[i], prefix); });
    return Concat("ERR Prefix '", prefixes[i], "' overlaps with another provided prefix '", *other,
                  kEnd);
  }
  return {};
}

}  // namespace

// OFF forgets everything, whatever options stand behind it. ON adds prefixes to those there are,
// and replaces the other options.
//   CLIENT TRACKING ON PREFIX a                  → -ERR PREFIX option requires BCAST mode to ...
//   CLIENT TRACKING ON OPTIN OPTOUT              → -ERR You can't specify both OPTIN mode and ...
//   CLIENT TRACKING ON BCAST PREFIX ab PREFIX a  → -ERR Prefix 'ab' overlaps with another ...
//   CLIENT TRACKING ON REDIRECT 999999           → -ERR The client ID you want redirect to ...
void ClientTracking(CommandCall& call) {
  TrackingRequest request{.call = call};
  if (!ReadRequest(call, request)) return;
  Tracking& tracking = call.part<Tracking>();
  if (IsWord(call.args[2], "OFF")) {
    tracking.Disable(call.client);
    return call.reply.Ok();
  }
  if (!IsWord(call.args[2], "ON")) return call.reply.Error(ErrorCode::kSyntax);
  const TrackingState* const before = TrackingOf(call.client);
  if (const std::string_view clash = Clash(request, before); !clash.empty()) {
    return call.reply.Error(clash);
  }
  const size_t held = before ? before->prefixes.size() : 0;
  if (held + request.prefixes.size() > kTrackingPrefixesMax) {
    return call.reply.Error(
        Concat("ERR a client tracks at most ", kTrackingPrefixesMax, " prefixes"));
  }
  if (const std::string clash = Collision(request.prefixes, before); !clash.empty()) {
    return call.reply.Error(clash);
  }
  tracking.Enable(call.client, request.options, request.prefixes);
  call.reply.Ok();
}

// It concerns the next command, or all of the next transaction. YES needs OPTIN, NO needs OPTOUT.
void ClientCaching(CommandCall& call) {
  TrackingState* const state = TrackingOf(call.client);
  if (!state) {
    return call.reply.Error(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "
        "OPTOUT mode enabled");
  }
  const bool yes = IsWord(call.args[2], "YES");
  if (!yes && !IsWord(call.args[2], "NO")) return call.reply.Error(ErrorCode::kSyntax);
  if (yes && !state->options.opt_in) {
    return call.reply.Error(
        "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.");
  }
  if (!yes && !state->options.opt_out) {
    return call.reply.Error(
        "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.");
  }
  state->caching = true;
  call.reply.Ok();
}

// -1 without tracking, 0 if the client itself is told.
void ClientGetRedir(CommandCall& call) {
  const TrackingState* const state = TrackingOf(call.client);
  call.reply.Integer(state ? static_cast<int64_t>(state->options.redirect) : -1);
}

// Words and their order are Redis's; clients without tracking get the same three fields.
void ClientTrackingInfo(CommandCall& call) {
  const TrackingState* const state = TrackingOf(call.client);
  const TrackingOptions options = state ? state->options : TrackingOptions();
  std::vector<std::string_view> flags = {state ? "on" : "off"};
  const auto flag = [&](bool on, std::string_view name) {
    if (on) flags.push_back(name);
  };
  flag(options.broadcast, "bcast");
  flag(options.opt_in, "optin");
  flag(options.opt_in && state->caching, "caching-yes");
  flag(options.opt_out, "optout");
  flag(options.opt_out && state->caching, "caching-no");
  flag(options.no_loop, "noloop");
  flag(state && state->redirect_broken, "broken_redirect");
  call.reply.Map(3);
  call.reply.Bulk("flags");
  call.reply.Set(flags.size());
  for (const std::string_view name : flags) call.reply.Bulk(name);
  call.reply.Bulk("redirect");
  call.reply.Integer(state ? static_cast<int64_t>(options.redirect) : -1);
  call.reply.Bulk("prefixes");
  call.reply.Array(state ? state->prefixes.size() : 0);
  if (!state) return;
  for (const std::string& prefix : state->prefixes) call.reply.Bulk(prefix);
}

}  // namespace sluice
