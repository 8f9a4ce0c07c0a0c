// See scan_args.h.
#include "server/commands/shared/scan_args.h"

#include "server/dispatch/arg_reader.h"

namespace sluice {

bool ScanOptions::Wants(std::string_view name) const { return !glob || glob->Matches(name); }

bool ReadScanOptions(CommandCall& call, size_t first, ScanTarget target, ScanOptions& options) {
  std::string_view pattern = "*";
  ArgReader args(call.args, first);
  while (args.more()) {
    const bool has_value = args.left() >= 2;
    if (has_value && args.TakeWord("COUNT")) {
      options.count = args.Int();
      if (options.count < 1) args.Fail(ErrorCode::kSyntax);
    } else if (has_value && args.TakeWord("MATCH")) {
      pattern = args.Bytes();
    } else if (has_value && target == ScanTarget::kKeys && args.TakeWord("TYPE")) {
      // An unknown type matches nothing. Redis compares C strings.
      const std::string_view type = args.Bytes();
      options.type = type.substr(0, type.find('\0'));
    } else {
      args.Fail(ErrorCode::kSyntax);
    }
  }
  if (args.failed()) {
    call.reply.Error(args.error());
    return false;
  }
  if (!MatchesAll(pattern)) options.glob.emplace(pattern);
  return true;
}

void ReplyScan(CommandCall& call, uint64_t cursor, const std::vector<std::string>& found) {
  call.reply.Array(2);
  call.reply.Bulk(std::to_string(cursor));
  call.reply.Array(found.size());
  for (const std::string& text : found) call.reply.Bulk(text);
}

void ReplyEmptyScan(CommandCall& call) { ReplyScan(call, 0, {}); }

}  // namespace sluice
