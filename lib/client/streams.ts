/** Reads bodies of answers as they arrive, within bounds. */

import { badAnswer } from "./errors.ts";

const charactersMax = 32 * 1_024 * 1_024;

/** Reads a text of bounded length. @throws {GrandstandError} It is longer. */
export async function textOf(response: Response): Promise<string> {
  let text = "";
  for await (const part of texts(response)) {
    text += part;
    if (text.length > charactersMax) throw badAnswer("The answer of the server is too large", response);
  }
  return text;
}

/** Decodes a body as it arrives. The transfer ends when the caller breaks off. */
async function* texts(response: Response): AsyncGenerator<string> {
  const { body } = response;
  if (body === null) return;
  // React Native reads answers as a whole.
  if (body === undefined) return yield await response.text();
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Splits texts at line ends. A line is bounded like an answer. */
export async function* lines(response: Response): AsyncGenerator<string> {
  let rest = "";
  for await (const part of texts(response)) {
    const parts = (rest + part).split(/\r?\n/);
    rest = parts.pop() ?? "";
    if (rest.length > charactersMax) throw badAnswer("A line of the answer is too large", response);
    yield* parts;
  }
  if (rest !== "") yield rest;
}

/** Reads lines of JSON as they arrive. Empty ones keep the connection open. @throws {GrandstandError} One is no JSON. */
export async function* jsonLines(response: Response): AsyncGenerator<unknown> {
  for await (const line of lines(response)) {
    if (line === "") continue;
    try {
      yield JSON.parse(line);
    } catch {
      throw badAnswer("A line of the answer is no JSON", response);
    }
  }
}
