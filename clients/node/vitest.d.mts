import type { TestAPI } from "vitest";
import type { Space } from "./index.js";
/** Adds the fixture `sluice` to a `test` that has others already. */
export declare function withSluice<T>(test: TestAPI<T>): TestAPI<T & { sluice: Space }>;
export declare const test: TestAPI<{ sluice: Space }>;
export declare const it: typeof test;
