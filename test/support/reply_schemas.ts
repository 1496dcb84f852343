/** Comparison of every reply of a platform with the schema of its route. */

import { isDeepStrictEqual } from "node:util";
import { safeParse } from "valibot";
import type { AnyRoute, Reply } from "../../lib/http/mod.ts";

/** Collects the differences between replies and their schemas. */
export class ReplySchemas {
  readonly #faults: string[] = [];

  /** Compares a reply with the response of its status. Members that the schema does not name are differences too. */
  readonly inspect = (reply: Reply, { operation, responses }: AnyRoute): void => {
    const response = responses[reply.status];
    if (response === undefined) {
      // An error that an idempotency key replays is written by its family.
      if (reply.status >= 400) return;
      this.#faults.push(`${operation} answers ${reply.status}, which its responses do not list`);
      return;
    }
    const value = jsonOf(reply);
    if (response.schema === undefined) {
      if (value !== undefined) this.#faults.push(`${operation} answers JSON without a schema`);
      return;
    }
    if (value === undefined) return;
    const parsed = safeParse(response.schema, value);
    if (!parsed.success) {
      const [issue] = parsed.issues;
      const path = issue.path?.map(({ key }) => String(key)).join(".") ?? "";
      this.#faults.push(`${operation} ${reply.status} ${path}: ${issue.message}`);
    } else if (!isDeepStrictEqual(parsed.output, value)) {
      this.#faults.push(
        `${operation} ${reply.status} has members without a schema: ${JSON.stringify(value)} is not ${JSON.stringify(parsed.output)}`,
      );
    }
  };

  /** Throws the differences that were found since the last call. */
  assertNone(): void {
    const faults = this.#faults.splice(0);
    if (faults.length > 0) throw new Error(`Replies differ from their schemas:\n${faults.join("\n")}`);
  }
}

/** Returns the JSON of a reply as a client parses it; undefined where it has none. */
function jsonOf({ json, text, headers }: Reply): unknown {
  if (json !== undefined) return JSON.parse(JSON.stringify(json));
  const isJson = headers?.["content-type"]?.includes("json") === true;
  return isJson && text !== undefined ? JSON.parse(text) : undefined;
}
