/**
 * Who authors, and what they may do. Every platform has it, as back ends and authors share some routes.
 *
 * @module
 */

export { type Author, type AuthorUser, requirePerson, type TokenInfo } from "./author.ts";
export { Authors } from "./authors.ts";
export { authorGuard } from "./guard.ts";
export { Roles } from "./roles.ts";
