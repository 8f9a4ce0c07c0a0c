import type { Limit, LimitClient, Verdict } from "../index.js";

export declare class LimiterUnavailableError extends Error {}

/** Who an address stands for: of IPv6 the network of 64 bits. */
export declare function addressKey(address: string): string;

export interface RateLimitOptions<Request> {
  /** The limit, or which one a request has; null: none. */
  limit: Limit | ((request: Request) => Limit | null | Promise<Limit | null>);
  /** Who asks (addressKey(request.ip)). */
  key?: (request: Request) => string | Promise<string>;
  cost?: number | ((request: Request) => number | Promise<number>);
  skip?: (request: Request) => boolean | Promise<boolean>;
  /** The name of the limit in headers and keys ("default"). */
  name?: string;
  /** Stands before the keys ("http:"). */
  prefix?: string;
  /** Whether requests go on when the limit cannot be asked (true); otherwise they get 503. */
  failOpen?: boolean;
  /** How long the limit may take to answer, in ms (500). */
  timeout?: number;
  /** X-RateLimit-Limit, -Remaining and -Reset as well (false). */
  legacyHeaders?: boolean;
  onError?: (error: LimiterUnavailableError, request: Request) => void;
}
export type { LimitClient, Verdict };
