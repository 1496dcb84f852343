import type { NewKey, Result } from "../command.ts";

/** Shows a new secret: to stdout, once, as the variables of an environment. */
export function secretResult({ key, secret, permissions }: NewKey, ...notes: readonly string[]): Result {
  return {
    data: { key, secret, permissions },
    shown: `GRANDSTAND_API_KEY=${key}\nGRANDSTAND_API_SECRET=${secret}\n`,
    notes: [
      ...notes,
      "The secret is shown this once: keep it where only the back end that uses it can read it",
    ],
  };
}
