/** The HTTP client as commands see it: requests, answers, and failures that commands find themselves. */

import type * as v from "valibot";
import type { Immutable } from "../../http/mod.ts";
import { CliError, exits } from "./errors.ts";
import type { CliHost } from "./host.ts";
import type { Settings } from "./profile.ts";

export interface ApiRequest {
  /** @default "GET" */
  readonly method?: string;
  readonly body?: unknown;
  /** Sent as it is, in place of `body`; every attempt calls it. */
  readonly stream?: (() => ReadableStream<Uint8Array>) | undefined;
  /** Takes the lines of JSON of a good answer as they come, in place of one document; every attempt calls it. */
  readonly lines?: () => (line: unknown) => void;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses outside of 2xx that are no failures. @default [] */
  readonly expected?: readonly number[];
  /** False if it must be sent only once. @default true */
  readonly isRepeatable?: boolean | undefined;
  /** True if it changes nothing although it is no GET. @default false */
  readonly isTrial?: boolean;
  /** Longest time, in ms. @default that of the settings */
  readonly timeoutMs?: number | undefined;
}

export type AnswerOf<S extends v.GenericSchema> = Immutable<v.InferOutput<S>>;

export interface ApiAnswer<A> {
  readonly status: number;
  readonly etag: string | null;
  readonly json: A;
}

export interface ClientContext extends CliHost {
  readonly settings: Settings;
  /** Prints a note to stderr at once. */
  readonly note: (text: string) => void;
}

export interface ApiClient {
  readonly url: string;
  /** Sends a request. @throws {CliError} The server is unreachable, or refused it. */
  send<S extends v.GenericSchema>(path: string, ask?: ApiRequest): Promise<ApiAnswer<AnswerOf<S>>>;
}

/**
 * Returns the data of an answer.
 *
 * @throws {CliError} It lacks the member, so that it is not an answer of this route.
 */
export function dataOf<D>({ json }: ApiAnswer<{ readonly data: D }>, member: keyof D): D {
  const { data } = (json ?? {}) as { readonly data?: D };
  if (typeof data === "object" && data !== null && member in data) return data;
  throw unknownAnswer();
}

export function unknownAnswer(): CliError {
  const message = "Cannot read the answer of the server: its form is unknown";
  const hint = "Check that --control-url names the platform itself";
  return new CliError(exits.failed, message, { code: "wrong_answer", hint });
}

export function interrupted(): CliError {
  return new CliError(exits.interrupted, "Interrupted", { code: "interrupted" });
}
