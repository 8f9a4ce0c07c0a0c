// Command lines as people write them for redis-cli, and requests as clients send them: the text
// side of transcripts and failure messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Splits as redis-cli does: "..." with \n \r \t \b \a \xHH \" \\ escapes, '...' with \' alone. Null
// when a quote is not closed or is followed by something else than a blank.
std::optional<std::vector<std::string>> SplitCommandLine(std::string_view line);

// The request as a RESP array of bulk strings.
std::string EncodeRequest(const std::vector<std::string>& arguments);

}  // namespace sluice
