/**
 * The files of assets in the storage of blobs.
 *
 * A file is stored before its asset exists and goes after its asset has gone. A note in the space precedes both, so that what a process
 * leaves behind that dies in between is removed.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import type { Hash } from "../../../fans/exports/mod.ts";
import type { Blobs, Store } from "../../../storage/mod.ts";
import { assetKey, digestKey } from "../../table/mod.ts";
import { type Home, homePartition } from "../kind.ts";
import type { ControlWork } from "../work.ts";
import { ByteFlow, type Size, type Walk } from "./byte_flow.ts";
import { walkDrawing } from "./drawings.ts";
import { photos } from "./photos.ts";
import { type FileKind, headBytes, kindOfFile, sized } from "./sniff.ts";

/** Largest file in bytes: 2 GiB. */
export const fileBytesMax = 2_147_483_648;
/** Time in ms within which an upload has to end. */
const uploadMsMax = 21_600_000;
/** Age in ms of an upload from which a file without an asset is left behind; later than any upload ends on any clock. */
const leftoverMs = 86_400_000;
/** The board of a space with files that may have no asset, by the time in Unix ms at which that is certain. */
export const notesKey = "asset_files";
const notesAtOnce = 100;

export interface FileFacts {
  readonly bytes: number;
  readonly sha256: string;
  /** Returns what the file is under a name. */
  readonly kindAs: (name: string) => FileKind;
}

export interface AssetFilesOptions {
  readonly store: Store;
  /** Undefined: uploads are refused. */
  readonly blobs: Blobs | undefined;
  /** Unix ms. */
  readonly clock: () => number;
  readonly work: ControlWork;
  /** @default portable code */
  readonly sha256?: (() => Hash) | undefined;
}

/** Stores, opens and removes the files of assets. */
export class AssetFiles {
  readonly #options: AssetFilesOptions;

  constructor(options: AssetFilesOptions) {
    this.#options = options;
    options.work.add((home, now) => this.#removeLeftovers(home, now));
  }

  /**
   * Stores a file under the id of an asset to be. Its memory does not grow with the file.
   *
   * @throws {AppError} `not_available`: there is no storage for files; `validation_failed`: the file is empty or took too long.
   */
  async put(home: Home, id: string, { name, body, faultOf }: NewFile): Promise<FileFacts> {
    const { clock } = this.#options;
    const blobs = this.#blobs();
    const began = clock();
    await this.#note(home, id, began + leftoverMs);
    const hash = this.#options.sha256?.() ?? sha256.create();
    const flow = new ByteFlow(body, faultOf);
    const head = await flow.peek(headBytes + 1);
    const kindAs = (as: string) => kindOfFile(head.subarray(0, headBytes), as, head.length <= headBytes);
    const { mime } = kindAs(name);
    let size: Size | null = null;
    let length = 0;
    const chunks = (walks[mime] ?? walkOther)(flow);
    const file = streamOf(flow, async () => {
      const { done, value } = await chunks.next();
      if (done) {
        size = value;
        return null;
      }
      length += value.length;
      if (length > fileBytesMax)
        throw new AppError("payload_too_large", `Cannot store the file as it exceeds ${fileBytesMax} bytes`);
      hash.update(value);
      return value;
    });
    const { size: bytes } = await blobs.put(blobName(home, id), file);
    if (bytes === 0)
      throw invalidField("Cannot store the file as it is empty", "", "Expected at least one byte");
    if (clock() - began > uploadMsMax)
      throw invalidField("Cannot store the file as it arrived too slowly", "", "Expected it within 6 hours");
    return {
      bytes,
      sha256: bytesToHex(Uint8Array.from(hash.digest())),
      kindAs: as => (size === null ? kindAs(as) : sized(mime, size)),
    };
  }

  /** Finds the file of a space that has a digest. */
  async find(home: Home, digest: string): Promise<DigestNote | null> {
    const [note] = await this.#options.store.read(homePartition(home), [
      { type: "record", key: digestKey(digest) },
    ]);
    return note === null ? null : (JSON.parse(note.value) as DigestNote);
  }

  /** Opens bytes of a file, or returns null if it is gone. */
  async open(
    home: Home,
    id: string,
    range: { readonly start: number; readonly end: number },
  ): Promise<ReadableStream<Uint8Array> | null> {
    const found = await this.#options.blobs?.get(blobName(home, id), range);
    return found?.body ?? null;
  }

  async remove(home: Home, id: string): Promise<void> {
    await this.#blobs().remove(blobName(home, id));
  }

  /** Removes noted files that have no asset. Returns the time of the next note. */
  async #removeLeftovers(home: Home, now: number): Promise<number | null> {
    const { store, blobs } = this.#options;
    const partition = homePartition(home);
    for (;;) {
      const [{ entries }] = await store.read(partition, [
        { type: "board", key: notesKey, limit: notesAtOnce },
      ]);
      const due = entries.filter(({ score }) => score <= now);
      for (const { member: id } of due) {
        const [asset] = await store.read(partition, [{ type: "record", key: assetKey(id) }]);
        if (asset === null) await blobs?.remove(blobName(home, id));
        await store.commit(partition, { writes: [{ type: "unscore", key: notesKey, member: id }] });
      }
      if (due.length < entries.length || due.length === 0) return entries[due.length]?.score ?? null;
    }
  }

  async #note(home: Home, id: string, at: number): Promise<void> {
    const { store, work } = this.#options;
    const note = { type: "score", op: "set", key: notesKey, member: id, score: at } as const;
    await store.commit(homePartition(home), { writes: [note] });
    await work.expect(home);
  }

  #blobs(): Blobs {
    const { blobs } = this.#options;
    if (blobs === undefined)
      throw new AppError("not_available", "Cannot store the file as the platform has no storage for files");
    return blobs;
  }
}

export interface NewFile {
  readonly name: string;
  readonly body: ReadableStream<Uint8Array>;
  /** Returns the error of an upload for what reading the body failed with. @default itself */
  readonly faultOf?: (error: unknown) => unknown;
}

/** The asset of a space that has a file, and what serving it needs. */
export interface DigestNote {
  readonly id: string;
  readonly mime: string;
  readonly bytes: number;
}

function blobName({ id: spaceId }: Home, id: string): string {
  return `assets/${spaceId}/${id}`;
}

const walks: Readonly<Record<string, Walk>> = { ...photos, "image/svg+xml": walkDrawing };

async function* walkOther(flow: ByteFlow): AsyncGenerator<Uint8Array, null> {
  yield* flow.pass(Number.POSITIVE_INFINITY);
  return null;
}

/** Streams the chunks that a function returns until it returns null. */
function streamOf(flow: ByteFlow, next: () => Promise<Uint8Array | null>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = await next();
        if (chunk === null) controller.close();
        else controller.enqueue(chunk);
      },
      cancel: reason => flow.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
