/** Reads lists to their end, however their pages are linked. */

import { GrandstandError } from "./errors.ts";

export type CallInput = Readonly<Record<string, unknown>>;

/** Members by which documents of lists link pages: a cursor, the link of JSON:API, or a total for offsets. */
interface PageDocument {
  readonly data?:
    | readonly unknown[]
    | { readonly entries?: readonly unknown[]; readonly cursor?: string | null };
  readonly lastEvaluatedKey?: string | null;
  readonly cursor?: string | null;
  readonly links?: { readonly next?: string | null };
}

export function entriesOf(document: unknown): readonly unknown[] {
  const { data } = (document ?? {}) as PageDocument;
  if (Array.isArray(data)) return data;
  const { entries } = (data ?? {}) as { readonly entries?: readonly unknown[] };
  return entries ?? [];
}

/**
 * Returns the input of the call for the next page; null at the end.
 *
 * @throws {GrandstandError} `bad_answer`: the page links to itself.
 */
export function nextInput(input: CallInput, document: unknown, byOffset: boolean): CallInput | null {
  const next = followed(input, document, byOffset);
  if (next === null || JSON.stringify(next) !== JSON.stringify(input)) return next;
  throw new GrandstandError("bad_answer", "A page of the list links to itself");
}

function followed(input: CallInput, document: unknown, byOffset: boolean): CallInput | null {
  const { data, lastEvaluatedKey, cursor, links } = (document ?? {}) as PageDocument;
  if (byOffset) {
    const { length } = entriesOf(document);
    return length === 0 ? null : { ...input, offset: Number(input.offset ?? 0) + length };
  }
  if (links?.next) {
    // The parameters alone are taken, so that a link never leads the credentials to another server.
    return { ...input, ...parametersOf(links.next) };
  }
  if (lastEvaluatedKey) {
    const { body } = input;
    const isInBody = typeof body === "object" && body !== null;
    return isInBody ? { ...input, body: { ...body, lastEvaluatedKey } } : { ...input, lastEvaluatedKey };
  }
  const inner = (data as { readonly cursor?: string | null } | undefined)?.cursor;
  return cursor || inner ? { ...input, cursor: cursor || inner } : null;
}

function parametersOf(link: string): CallInput {
  const query = /\?([^#]*)/.exec(link)?.[1] ?? "";
  const decoded = (text = ""): string => decodeURIComponent(text.replaceAll("+", " "));
  try {
    return Object.fromEntries(
      [...query.matchAll(/([^&=]+)=([^&]*)/g)].map(([, name, value]) => [decoded(name), decoded(value)]),
    );
  } catch (cause) {
    throw new GrandstandError("bad_answer", "A page of the list links wrongly", { cause });
  }
}
