/**
 * The passwords that everybody tries first: the head of the list of `@zxcvbn-ts/language-common` (MIT), which is ordered by
 * how often leaks hold them.
 *
 * @module
 */

/** Shortest password, in UTF-16 units. */
export const passwordUnitsMin = 8;
/** How many of the most common passwords of an acceptable length are refused (OWASP ASVS 5.0, 6.2.4). */
export const commonPasswordsMax = 3_000;

let loading: Promise<ReadonlySet<string>> | undefined;

/** Whether the password, in any case of its letters, is one of the most common. The list is loaded when first asked. */
export async function isCommonPassword(password: string): Promise<boolean> {
  loading ??= load();
  return (await loading).has(password.toLowerCase());
}

async function load(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import("@zxcvbn-ts/language-common");
  const acceptable = dictionary["passwords-common"].filter(password => password.length >= passwordUnitsMin);
  return new Set(acceptable.slice(0, commonPasswordsMax));
}
