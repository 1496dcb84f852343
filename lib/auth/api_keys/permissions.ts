/** What an API key may do. */

/** Every permission, in the order in which documents list them. */
export const permissions = [
  "actions:write",
  "users:read",
  "users:write",
  "rewards:write",
  "users:export",
  "config:read",
  "config:write",
  "keys:write",
] as const;

/** A permission of an API key. */
export type Permission = (typeof permissions)[number];

/** Whether a text names a permission. */
export function isPermission(text: unknown): text is Permission {
  return permissions.some(permission => permission === text);
}
