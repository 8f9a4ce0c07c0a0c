// CLIENT TRACKING, CACHING, TRACKINGINFO and GETREDIR: what a client asks of client-side caching. What
// comes of it is in server/engine/tracking.h.

#include <optional>
#include <string>
#include <vector>

#include "protocol/concat.h"
#include "protocol/number_text.h"
#include "server/commands/client_commands.h"
#include "server/engine/arg_reader.h"
#include "server/engine/engine.h"
#include "server/engine/tracking.h"

namespace sluice {
namespace {

struct Request {
  TrackingOptions options;
  std::vector<std::string_view> prefixes;
};

void ReadRedirect(CommandCall& call, ArgReader& args, TrackingOptions& options) {
  if (options.redirect != 0) {
    return args.Fail("ERR A client can only redirect to a single other client");
  }
  const std::optional<int64_t> id = ParseInt64(args.Bytes());
  if (!id) return args.Fail(ErrorCode::kNotInteger);
  options.redirect = static_cast<uint64_t>(*id);
  if (!call.engine.FindClient(options.redirect)) {
    args.Fail("ERR The client ID you want redirect to does not exist");
  }
}

struct SwitchWord {
  std::string_view word;
  bool TrackingOptions::*on;
};
constexpr SwitchWord kSwitches[] = {{"BCAST", &TrackingOptions::broadcast},
                                    {"OPTIN", &TrackingOptions::opt_in},
                                    {"OPTOUT", &TrackingOptions::opt_out},
                                    {"NOLOOP", &TrackingOptions::no_loop}};

// False: the error has been answered.
bool ReadRequest(CommandCall& call, Request& request) {
  ArgReader args(call.args, 3);
  while (args.more()) {
    if (args.left() > 1 && args.TakeWord("REDIRECT")) {
      ReadRedirect(call, args, request.options);
    } else if (args.left() > 1 && args.TakeWord("PREFIX")) {
      request.prefixes.push_back(args.Bytes());
    } else {
      bool taken = false;
      for (const SwitchWord& row : kSwitches) {
        if (taken || !args.TakeWord(row.word)) continue;
        request.options.*row.on = taken = true;
      }
      if (!taken) args.Fail(ErrorCode::kSyntax);
    }
  }
  if (args.failed()) call.reply.Error(args.error());
  return !args.failed();
}

// Whether the options go together and with what the client had before; else the reason.
std::string_view Clash(const Request& request, const TrackingState* before) {
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
  if (options.opt_in && options.opt_out) return "ERR You can't specify both OPTIN mode and OPTOUT mode";
  if (before && ((options.opt_in && before->options.opt_out) ||
                 (options.opt_out && before->options.opt_in))) {
    return "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and "
           "then re-enabling it with a different mode.";
  }
  return {};
}

bool Overlap(std::string_view a, std::string_view b) {
  return a.starts_with(b) || b.starts_with(a);
}

// A client must not be told twice of one key: its prefixes may not lie inside each other.
std::string Collision(const std::vector<std::string_view>& prefixes, const TrackingState* before) {
  constexpr std::string_view kEnd = "'. Prefixes for a single client must not overlap.";
  for (size_t i = 0; i < prefixes.size(); ++i) {
    if (before) {
      for (const std::string& old : before->prefixes) {
        if (!Overlap(old, prefixes[i])) continue;
        return Concat("ERR Prefix '", prefixes[i], "' overlaps with an existing prefix '", old,
                      kEnd);
      }
    }
    for (size_t j = i + 1; j < prefixes.size(); ++j) {
      if (!Overlap(prefixes[i], prefixes[j])) continue;
      return Concat("ERR Prefix '", prefixes[i], "' overlaps with another provided prefix '",
                    prefixes[j], kEnd);
    }
  }
  return {};
}

}  // namespace

void ClientTracking(CommandCall& call) {
  Request request;
  if (!ReadRequest(call, request)) return;
  Tracking& tracking = call.engine.tracking();
  if (IsWord(call.args[2], "OFF")) {
    tracking.Disable(call.client);
    return call.reply.Ok();
  }
  if (!IsWord(call.args[2], "ON")) return call.reply.Error(ErrorCode::kSyntax);
  const TrackingState* const before = call.client.tracking.get();
  if (const std::string_view clash = Clash(request, before); !clash.empty()) {
    return call.reply.Error(clash);
  }
  if (const std::string clash = Collision(request.prefixes, before); !clash.empty()) {
    return call.reply.Error(clash);
  }
  tracking.Enable(call.client, request.options, request.prefixes);
  call.reply.Ok();
}

void ClientCaching(CommandCall& call) {
  TrackingState* const state = call.client.tracking.get();
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

void ClientGetRedir(CommandCall& call) {
  const TrackingState* const state = call.client.tracking.get();
  call.reply.Integer(state ? static_cast<int64_t>(state->options.redirect) : -1);
}

void ClientTrackingInfo(CommandCall& call) {
  const TrackingState* const state = call.client.tracking.get();
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
