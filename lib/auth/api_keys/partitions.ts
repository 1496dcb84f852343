/** Where an API key is stored: its record, and when it was last used, in a partition of its own. */

import { platformPartition } from "../../storage/mod.ts";

/** The key of the record. */
export const apiKeyRecord = "api_key";
/** The key of the last use, Unix ms. */
export const apiKeyUse = "api_key_use";

/** The partition of a key. */
export function apiKeyPartition(keyId: string): string {
  return platformPartition("api_key", keyId);
}
