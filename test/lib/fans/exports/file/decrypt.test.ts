/** Decryption of whole files: a genuine one is returned, and not a byte of any other. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { before, describe, it } from "node:test";
import { nativeExportKernels } from "../../../../../adapters/native/mod.ts";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { headerBytes } from "../../../../../lib/fans/exports/file/header.ts";
import { decryptExport } from "../../../../../lib/fans/exports/file/mod.ts";
import { type SealedExport, sealedExport } from "../../../../support/export_files.ts";

/** Reads everything; `released` counts the bytes, also if reading fails. */
async function drain(stream: ReadableStream<Uint8Array>, released = { bytes: 0 }): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) {
    chunks.push(chunk);
    released.bytes += chunk.length;
  }
  return Buffer.concat(chunks);
}

function isCode(code: string): (error: unknown) => boolean {
  return error => error instanceof AppError && error.code === code;
}

/** A file as a stream of chunks of this size. */
function streamOf(bytes: Uint8Array, chunkBytes: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + chunkBytes));
      at += chunkBytes;
    },
  });
}

describe("decryptExport", () => {
  let small: SealedExport;
  let large: SealedExport;
  before(async () => {
    small = await sealedExport(Buffer.from("userId,name\r\nu1,Anna\r\n"));
    large = await sealedExport(randomBytes(1_585_209));
  });

  it("returns what was encrypted, from a Blob and from a function, with kernels and without", async () => {
    for (const { file, plain, password } of [small, large, await sealedExport(new Uint8Array(0))]) {
      const blob = new Blob([Uint8Array.from(file)]);
      assert.ok((await drain(await decryptExport(blob, { password }))).equals(plain));
      const open = (): ReadableStream<Uint8Array> => streamOf(file, 10_007);
      const options = { password, kernels: nativeExportKernels() };
      assert.ok((await drain(await decryptExport(open, options))).equals(plain));
    }
  });

  it("reads chunks of any size", async () => {
    const { file, plain, password } = small;
    for (const chunkBytes of [1, 2, 66, 67, 68, file.length]) {
      const open = async (): Promise<ReadableStream<Uint8Array>> => streamOf(file, chunkBytes);
      assert.ok((await drain(await decryptExport(open, { password }))).equals(plain), `${chunkBytes}`);
    }
  });

  it("reports a wrong password and a change in any of the four parts alike", async () => {
    const { file, password } = small;
    const messages = new Set<string>();
    const attempts: [Uint8Array, string][] = [[file, `${password.slice(0, -1)}!`]];
    // A digit of each part that decodes to whole bytes, so that the change is canonical Base64.
    for (const position of [0, 25, 42, headerBytes]) {
      const changed = Uint8Array.from(file);
      changed[position] = changed[position] === 65 ? 66 : 65;
      attempts.push([changed, password]);
    }
    attempts.push([file.subarray(0, -4), password]);
    for (const [bytes, tried] of attempts) {
      const attempt = decryptExport(new Blob([Uint8Array.from(bytes)]), { password: tried });
      await assert.rejects(attempt, error => {
        messages.add((error as Error).message);
        return isCode("invalid_credentials")(error);
      });
    }
    assert.equal(messages.size, 1);
  });

  it("rejects a change at the end of a large file before releasing any of it", async () => {
    const changed = Uint8Array.from(large.file);
    const last = changed.length - 8;
    changed[last] = changed[last] === 65 ? 66 : 65;
    let opened = 0;
    const open = (): ReadableStream<Uint8Array> => {
      opened += 1;
      return streamOf(changed, 65_536);
    };
    await assert.rejects(decryptExport(open, { password: large.password }), isCode("invalid_credentials"));
    assert.equal(opened, 1);
  });

  it("fails the stream of a file that changes after it was verified", async () => {
    const changed = Uint8Array.from(large.file);
    changed[headerBytes] = changed[headerBytes] === 65 ? 66 : 65;
    let opened = 0;
    const open = (): ReadableStream<Uint8Array> => streamOf(opened++ === 0 ? large.file : changed, 65_536);
    const stream = await decryptExport(open, { password: large.password });
    await assert.rejects(drain(stream), isCode("invalid_credentials"));
  });

  it("rejects another layout", async () => {
    const text = Buffer.from(small.file).toString("latin1");
    const [salt = "", iv = "", tag = "", data = ""] = text.split(":");
    const short = (bytes: number): string => randomBytes(bytes).toString("base64");
    const wrong = {
      "nothing at all": "",
      "plain text": "userId,name\r\nu1,Anna\r\n".repeat(10),
      "three parts": `${salt}:${iv}:${tag}`,
      "another order": `${iv}:${salt}:${tag}:${data}`,
      "hexadecimal parts": `${randomBytes(12).toString("hex")}:${iv}:${tag}:${data}`,
      "a short salt": `${short(15)}:${iv}:${tag}:${data}`,
      "a long salt": `${short(18)}:${iv}:${tag}:${data}`,
      "a short iv": `${salt}:${short(11)}:${tag}:${data}`,
      "a long iv": `${salt}:${short(16)}:${tag}:${data}`,
      "a tag of 12 bytes": `${salt}:${iv}:${short(12)}:${data}`,
      "a tag of 15 bytes": `${salt}:${iv}:${short(15)}:${data}`,
      "a salt with stray bits": `${salt.slice(0, 21)}${strayed(salt.charAt(21))}==:${iv}:${tag}:${data}`,
      "a salt in base64url": `${"_".repeat(22)}==:${iv}:${tag}:${data}`,
      "white space before": ` ${text.slice(1)}`,
    };
    for (const [name, file] of Object.entries(wrong)) {
      const attempt = decryptExport(new Blob([file]), { password: small.password });
      await assert.rejects(attempt, isCode("validation_failed"), name);
    }
  });

  it("rejects data that is not canonical Base64", async () => {
    const text = Buffer.from(small.file).toString("latin1");
    const wrong = [
      `${text}\n`,
      `${text}:`,
      `${text}AAAA`,
      text.slice(0, -1),
      `${text.slice(0, -1)}-`,
      `${text} `,
    ];
    for (const file of wrong) {
      const attempt = decryptExport(new Blob([file]), { password: small.password });
      await assert.rejects(attempt, isCode("validation_failed"), file);
    }
  });

  it("closes its source on cancel, and reports a source that fails", async () => {
    const cancelled: string[] = [];
    const open = (): ReadableStream<Uint8Array> => {
      const inner = streamOf(large.file, 65_536).getReader();
      return new ReadableStream({
        async pull(controller) {
          const { done, value } = await inner.read();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => void cancelled.push("cancelled"),
      });
    };
    const reader = (await decryptExport(open, { password: large.password })).getReader();
    await reader.read();
    await reader.cancel();
    assert.deepEqual(cancelled, ["cancelled"]);
    const broken = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(large.file.slice(0, 1_000));
      },
      pull(controller) {
        controller.error(new Error("the disk broke"));
      },
    });
    await assert.rejects(
      decryptExport(() => broken, { password: large.password }),
      isCode("internal_error"),
    );
  });
});

/** The digit with one more of the bits that Base64 leaves unused in it. */
function strayed(digit: string): string {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return digits.charAt(digits.indexOf(digit) | 1);
}
