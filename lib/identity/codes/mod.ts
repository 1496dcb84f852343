/**
 * One-time codes by e-mail, and the names of e-mail addresses.
 *
 * @module
 */

export * from "./codes.ts";
export { codeDigits } from "./digits.ts";
export { emailHashKey, emailKey, normaliseEmail } from "./email.ts";
export { codeAgeMsMax, codeTriesMax, wrongTriesMax, wrongTriesWindowMs } from "./rules.ts";
