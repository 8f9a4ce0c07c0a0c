import type { CurrentSpace, ServerOptions } from "./index.js";
/** A server for this file (or this describe), a space for each test. */
export declare function useSluice(options?: ServerOptions): CurrentSpace;
