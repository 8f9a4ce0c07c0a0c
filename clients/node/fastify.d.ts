import type { LimitClient, RateLimitOptions, Verdict } from "./lib/http.js";
export { LimiterUnavailableError, RateLimitOptions, addressKey } from "./lib/http.js";

export interface FastifyOptions extends RateLimitOptions<any> {
  /** Answers a refusal in its own words; the status and the headers are set. */
  onRefused?: (request: any, reply: any, verdict: Verdict | undefined) => unknown;
}
/** A plugin for all routes; `request.rateLimit` is the verdict. */
export declare function rateLimit(fastify: any, options: FastifyOptions & { limits: LimitClient }): Promise<void>;
/** For one route: { onRequest: rateLimitHook(limits, { limit }) }. */
export declare function rateLimitHook(
  limits: LimitClient, options: FastifyOptions): (request: any, reply: any) => Promise<any>;
