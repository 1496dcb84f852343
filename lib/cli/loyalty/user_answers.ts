/** What the commands about one user's loyalty have in common. */

import { CliError, type FlagSpec } from "../command.ts";
import { exits } from "../exits.ts";
import { serverFlags } from "../server.ts";

const { url, key } = serverFlags;

/** Flags of commands about one user. */
export const userFlags: Readonly<Record<"url" | "key" | "user", FlagSpec>> = {
  url: { ...url, description: "Address of the platform, with the host name of the space" },
  key,
  user: { value: "id", description: "The user", required: true },
};

/** The path of what operators do with a user's loyalty. */
export function userPath(user: string): string {
  return `/internal/loyalty/users/${encodeURIComponent(user)}`;
}

/**
 * The data of an answer that has this member.
 *
 * @throws {CliError} It has not.
 */
export function dataOf<T>(json: unknown, member: keyof T): T {
  const { data } = (json ?? {}) as { readonly data?: T };
  if (typeof data === "object" && data !== null && member in data) return data;
  throw new CliError(exits.failed, "The server answered something that is not known here", {
    code: "wrong_answer",
  });
}
