// NearWord: which of the words that are known a person may have meant by one that is not.
//
//   NearWord("prot", {"port", "bind"})  → "port"
//   NearWord("nonsense", {"port"})      → ""
//
// Near is what a few slips of the fingers lead to (letters left out, doubled, exchanged with their
// neighbour or wrong: a third of the letters at most, and three), or what begins alike. In any
// case. Costs O(letters^2) for each candidate: it is for errors, not for requests.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sluice {

// The nearest candidate, the first of several; empty: none is near.
std::string_view NearWord(std::string_view word, std::span<const std::string_view> candidates);
// "; did you mean 'port'?", or nothing. `before` stands before the candidate: "--".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view before = {});

}  // namespace sluice
