/**
 * Bodies that are passed on as streams: uploads and files, whose size and time are no limits of memory.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import { abandon, type BodyLimits, brokenOff, requireAcceptable, tooLarge } from "./body.ts";
import { badJson } from "./json.ts";

/** Longest time for which a client may send nothing while its body is awaited, in ms. */
export const idleMsMaxDefault = 30_000;

interface StreamLimits extends BodyLimits {
  /** Longest time for which nothing may arrive while a chunk is awaited, in ms. */
  readonly idleMsMax: number;
  /** Rejects if the client may send no more. Called for every chunk and at the end, before the reader gets to know of it. */
  readonly recheck: (isEnd: boolean) => Promise<void>;
}

/**
 * Opens a body as a stream, which reads ahead nothing: who reads slowly makes the client wait. An absent body is an empty stream.
 *
 * Reading fails with the error of credentials that ended meanwhile, with `payload_too_large`, or `bad_json` for a body that breaks off or a client that is silent for too long.
 *
 * @throws `unsupported_media_type` or `payload_too_large` by the header fields.
 */
export function openBody(request: Request, limits: StreamLimits): ReadableStream<Uint8Array> {
  requireAcceptable(request, request.headers.get("content-type") ?? "", limits);
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = request.body?.getReader();
  let length = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = reader === undefined ? undefined : await nextChunk(reader, limits);
        await limits.recheck(chunk === undefined).catch((error: unknown) => {
          if (reader !== undefined) abandon(reader);
          throw error;
        });
        if (chunk === undefined) return controller.close();
        length += chunk.byteLength;
        if (length > limits.bytesMax) {
          if (reader !== undefined) abandon(reader);
          throw tooLarge(limits.bytesMax);
        }
        controller.enqueue(chunk);
      },
      cancel: reason => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Reads a chunk that is not empty; undefined at the end. */
async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { timer, idleMsMax }: StreamLimits,
): Promise<Uint8Array | undefined> {
  let isSilent = false;
  const stop = timer(() => {
    isSilent = true;
    abandon(reader);
  }, idleMsMax);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isSilent) throw badJson(`nothing of it arrived for ${idleMsMax / 1000} seconds`);
      if (done) return undefined;
      if (value.byteLength > 0) return value;
    }
  } catch (error) {
    throw error instanceof AppError ? error : brokenOff();
  } finally {
    stop();
  }
}
