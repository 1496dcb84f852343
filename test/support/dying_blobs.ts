/** Blobs whose process dies together with its store: an unfinished upload is not stored. */

import { AppError } from "../../lib/base/errors/mod.ts";
import type { Blobs } from "../../lib/storage/mod.ts";
import type { BlobInfo, BlobRange } from "../../lib/storage/ports.ts";
import type { DyingStore } from "./dying_store.ts";

/** Wraps blobs. The wrapped ones live on. */
export function createDyingBlobs(blobs: Blobs, life: Pick<DyingStore, "isDead" | "step">): Blobs {
  const alive = <T>(operation: () => Promise<T>): Promise<T> => life.step(operation);
  return {
    put: (name, body) => alive(() => blobs.put(name, endingWith(body, life))),
    get: (name, range) => alive(() => blobs.get(name, range)),
    remove: name => alive(() => blobs.remove(name)),
    [Symbol.asyncDispose]: async () => {},
  };
}

function endingWith(
  body: ReadableStream<Uint8Array>,
  life: Pick<DyingStore, "isDead">,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      if (life.isDead) throw new AppError("storage_unavailable", "Cannot go on: the process has died");
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** Blobs that a test can look into. */
export class WatchedBlobs implements Blobs {
  /** Sizes by name. */
  readonly sizes: Map<string, number> = new Map();
  /** Streams that were opened and neither read to their end nor cancelled. */
  open = 0;
  readonly #blobs: Blobs;

  constructor(blobs: Blobs) {
    this.#blobs = blobs;
  }

  async put(name: string, body: ReadableStream<Uint8Array>): Promise<BlobInfo> {
    const info = await this.#blobs.put(name, body);
    this.sizes.set(name, info.size);
    return info;
  }

  async get(name: string, range?: BlobRange): ReturnType<Blobs["get"]> {
    const found = await this.#blobs.get(name, range);
    if (found === null) return null;
    this.open += 1;
    const reader = found.body.getReader();
    const close = (): void => {
      this.open -= 1;
    };
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          close();
          controller.close();
        },
        async cancel(reason) {
          close();
          await reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    return { ...found, body };
  }

  async remove(name: string): Promise<void> {
    await this.#blobs.remove(name);
    this.sizes.delete(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#blobs[Symbol.asyncDispose]();
  }
}
