/**
 * The commands that talk to a platform. Their table is data; a runtime parses command lines by it and shows what they give back.
 *
 * @module
 */

export { attemptsMax, firstPauseMsMax, pauseMsMax } from "./attempts.ts";
export * from "./command.ts";
export { commands } from "./commands.ts";
export { type Exit, exitOf, exits } from "./exits.ts";
export { type Printed, type PrintOptions, printedError, printedResult } from "./print.ts";
export { requestMsMax } from "./server.ts";
