/**
 * The commands. Their table is data: the frame parses command lines by it, runs them and prints what they return. The runtime
 * provides what is outside.
 */

export * from "./frame/command.ts";
export * from "./frame/errors.ts";
export type * from "./frame/host.ts";
export { type Rows, text } from "./frame/output.ts";
export { runCommandLine } from "./frame/run.ts";
export { groups } from "./groups.ts";
