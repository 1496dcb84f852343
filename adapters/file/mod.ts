/**
 * Native adapters on the files of this machine.
 *
 * @module
 */
export * from "./journal/mod.ts";
