/**
 * The commands. Their table is data: a runtime parses command lines by it and prints the results.
 *
 * @module
 */

export * from "./command.ts";
export { commands } from "./commands.ts";
export { type Printed, type PrintOptions, printedError, printedResult } from "./print.ts";
