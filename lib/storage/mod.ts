/** Storage: the contract that adapters implement and the helpers that areas use. @module */
export * from "./contract.ts";
export * from "./limits.ts";
export * from "./ports.ts";
export { compareUtf8, utf8Length } from "./utf8.ts";
export { validateBatch, validateReads } from "./validate.ts";
