/** The bound on the parts of an upload, which the protocol sets. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { S3Upload } from "../../../adapters/s3/blobs.ts";
import type { S3Requests } from "../../../adapters/s3/requests.ts";
import { partBytes, partsMax } from "../../../adapters/s3/requests.ts";
import { AppError } from "../../../lib/base/errors/mod.ts";

describe("an upload in parts", () => {
  it(`has at most ${partsMax} of them, which no file of the platform comes near`, async () => {
    let parts = 0;
    const requests: Pick<S3Requests, "send"> = {
      async send({ method }) {
        if (method === "PUT") parts += 1;
        const response = new Response(null, { headers: { etag: `"${parts}"` } });
        return { response, text: "<R><UploadId>u</UploadId></R>", abort: () => {}, watch: () => () => {} };
      },
    };
    const upload = await S3Upload.begin(requests as S3Requests, "blob");
    const part = new Uint8Array(1);
    for (let n = 0; n < partsMax; n++) await upload.add(part);
    await assert.rejects(upload.add(part), (error: unknown) => {
      assert.ok(error instanceof AppError);
      assert.match(error.message, new RegExp(`${partsMax * partBytes} bytes`));
      return true;
    });
    assert.equal(parts, partsMax);
  });
});
