// What happened in a server or a space: the requests of its journal, and between them how its clock was moved, which the
// journal does not tell.
"use strict";

const MOVES_MAX = 1000; // the newest are kept

/** Commands of SLUICE.CLOCK that one object has sent, each with the number of the request before it (0: none). */
class Moves {
  #execute;
  #moves = [];

  constructor(execute) { this.#execute = execute; }

  /** Any command; one that moves the clock is noted. */
  async execute(...words) {
    const upper = words.slice(0, 2).map((word) => String(word).toUpperCase());
    if (upper[0] !== "SLUICE.CLOCK" || upper[1] === "NOW") return this.#execute(...words);
    const [newest] = await this.#execute("SLUICE.JOURNAL", "GET", "COUNT", 1);
    const answer = await this.#execute(...words);
    const line = [...upper, ...words.slice(2), typeof answer === "number" ? `:${answer}` : `+${answer}`].join(" ");
    this.#moves.push({ after: newest ? newest[0] : 0, line });
    if (this.#moves.length > MOVES_MAX) this.#moves.shift();
    return answer;
  }

  /** Those for which that holds of the number of the request before. */
  where(holds) { return this.#moves.filter(({ after }) => holds(after)).map(({ line }) => line); }

  clear() { this.#moves = []; }
}

const shown = ({ number, words, client, answer }) => `#${number} ${words.join(" ")} (client ${client}) ${answer ?? "no answer"}`;

/** The last `count` requests and the moves among them, the oldest first. */
async function lines(journal, moves, count) {
  const requests = await journal.requests(undefined, { count });
  if (!requests.length) return moves.where(() => true);
  const behind = (number) => moves.where((after) => after === number);
  return [...behind(requests[0].number - 1), ...requests.flatMap((each) => [shown(each), ...behind(each.number)])];
}

module.exports = { Moves, lines };
