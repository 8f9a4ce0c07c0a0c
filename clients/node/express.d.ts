import type { IncomingMessage, ServerResponse } from "node:http";
import type { LimitClient, RateLimitOptions, Verdict } from "./lib/http.js";
export { LimiterUnavailableError, RateLimitOptions, addressKey } from "./lib/http.js";

export type Next = (error?: any) => void;
export interface ExpressOptions<Req, Res> extends RateLimitOptions<Req> {
  /** Answers a refusal in its own words; the status and the headers are set. */
  onRefused?: (req: Req, res: Res, next: Next, verdict: Verdict | undefined) => unknown;
}
/** Middleware of Express and Connect; `req.rateLimit` is the verdict. */
export declare function rateLimit<Req extends IncomingMessage = any, Res extends ServerResponse = any>(
  limits: LimitClient, options: ExpressOptions<Req, Res>): (req: Req, res: Res, next: Next) => void;
